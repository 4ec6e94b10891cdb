// The elementary functions as C: the very code that the CPU target emits for them (targets/llvm/
// math.h), scalar LLVM IR of a few kinds of instructions, printed. So exported source has the bits
// of compiled kernels, and nothing is written twice. Such code has no loops over lanes, no fused
// multiply-add and no library calls but those that are exact.
#pragma once

#include "targets/c_source/helpers.h"
#include "targets/c_source/text.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <string>

namespace tilewright {

/// Throws Error(Internal).
[[noreturn]] void unknown_to_c(const std::string &what);

class LlvmAsC {
public:
  explicit LlvmAsC(CHelpers &helpers) : helpers_(helpers) {}

  /// The definition of `function` under this name; what it calls is defined before. Throws
  /// Error(Internal) for an instruction that no elementary function has.
  std::string definition(const llvm::Function &function, const std::string &name);

private:
  std::string type_of(const llvm::Type *type);
  std::string signature(const llvm::Function &function, const std::string &name);
  CText value(const llvm::Value *value);
  CText expression(const llvm::Instruction &instruction);
  CText binary(const llvm::BinaryOperator &instruction);
  CText comparison(const llvm::CmpInst &instruction);
  CText floats_compared(const llvm::CmpInst &instruction);
  CText conversion(const llvm::CastInst &instruction);
  CText call(const llvm::CallInst &call);
  CText intrinsic(const llvm::CallInst &call);
  CText load(const llvm::LoadInst &load);
  static CText constant(const llvm::Constant &constant);
  void statement(const llvm::Instruction &instruction);
  void insert(const llvm::InsertValueInst &instruction);
  void jump(const llvm::BasicBlock &from, const llvm::BasicBlock &to);
  void branch(const llvm::BranchInst &branch);
  std::string label(const llvm::BasicBlock &block);
  static bool is_named(const llvm::Instruction &instruction, const CText &text);
  std::string new_name() { return "v" + std::to_string(++count_); }
  void line(const std::string &text) { body_ += "  " + text + "\n"; }

  CHelpers &helpers_;
  std::map<const llvm::Value *, CText> values_;
  std::map<const llvm::BasicBlock *, std::string> labels_;
  std::string body_;
  int count_ = 0;
};

} // namespace tilewright
