#include "targets/c_source/llvm_as_c.h"

#include "polyhedral/error.h"
#include "targets/llvm/math.h"

#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>

#include <cstdio>

namespace tilewright {

namespace {

constexpr size_t longest_inside = 60; ///< letters of an expression inside another one

/// What was emitted and never used, and what only that used.
void erase_dead(llvm::Function &function) {
  for (bool erased = true; erased;) {
    erased = false;
    for (llvm::BasicBlock &block : function) {
      for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::reverse(block))) {
        if (instruction.use_empty() && !instruction.isTerminator() &&
            !instruction.mayHaveSideEffects()) {
          instruction.eraseFromParent();
          erased = true;
        }
      }
    }
  }
}

/// Predicates whose C mentions an operand twice.
bool repeats_operands(llvm::CmpInst::Predicate predicate) {
  using P = llvm::CmpInst;
  return predicate == P::FCMP_UNO || predicate == P::FCMP_ORD || predicate == P::FCMP_ONE ||
         predicate == P::FCMP_UEQ;
}

} // namespace

std::string LlvmAsC::type_of(const llvm::Type *type) {
  if (type->isDoubleTy()) {
    return "double";
  }
  if (type->isFloatTy()) {
    return "float";
  }
  if (type->isIntegerTy(1)) {
    return "bool";
  }
  if (type->isIntegerTy(32) || type->isIntegerTy(64)) {
    return fmt::format("uint{}_t", type->getIntegerBitWidth());
  }
  if (type->isIntegerTy(128)) {
    return helpers_.need("tw_uint128", [] {
      return std::string("__extension__ typedef unsigned __int128 tw_uint128;\n"
                         "__extension__ typedef __int128 tw_int128;\n");
    });
  }
  if (type->isStructTy() && type->getStructNumElements() == 3) {
    return "struct " + helpers_.need("tw_angle", [] {
      return std::string("/* An angle in two numbers, and its quarter turns. */\n"
                         "struct tw_angle {\n  double f0;\n  double f1;\n  uint64_t f2;\n};\n");
    });
  }
  unknown_to_c("a type");
}

std::string LlvmAsC::signature(const llvm::Function &function, const std::string &name) {
  std::string text = "static " + type_of(function.getReturnType()) + " " + name + "(";
  static constexpr const char *letters = "xyzuv";
  for (const llvm::Argument &argument : function.args()) {
    const unsigned number = argument.getArgNo();
    const std::string own = std::string(1, letters[number]);
    values_[&argument] = CText{own};
    text += (number == 0 ? "" : ", ") + type_of(argument.getType()) + " " + own;
  }
  return text + ")";
}

std::string LlvmAsC::definition(const llvm::Function &function, const std::string &name) {
  LlvmAsC inside(helpers_);
  const std::string head = inside.signature(function, name);
  for (const llvm::Argument &argument : function.args()) {
    if (argument.use_empty()) {
      inside.line("(void)" + inside.value(&argument).text + ";");
    }
  }
  for (const llvm::BasicBlock &block : function) {
    for (const llvm::PHINode &phi : block.phis()) {
      const std::string own = inside.new_name();
      inside.values_[&phi] = CText{own};
      inside.line(inside.type_of(phi.getType()) + " " + own + ";");
    }
  }
  for (const llvm::BasicBlock &block : function) {
    if (!block.isEntryBlock()) {
      inside.body_ += inside.label(block) + ":;\n";
    }
    for (const llvm::Instruction &instruction : block) {
      inside.statement(instruction);
    }
  }
  return head + " {\n" + inside.body_ + "}\n";
}

std::string LlvmAsC::label(const llvm::BasicBlock &block) {
  const auto [found, is_new] = labels_.try_emplace(&block);
  if (is_new) {
    found->second = "step_" + std::to_string(labels_.size());
  }
  return found->second;
}

CText LlvmAsC::value(const llvm::Value *value) {
  if (const auto found = values_.find(value); found != values_.end()) {
    return found->second;
  }
  if (const auto *known = llvm::dyn_cast<llvm::Constant>(value)) {
    return constant(*known);
  }
  unknown_to_c("a value");
}

CText LlvmAsC::constant(const llvm::Constant &constant) {
  if (const auto *number = llvm::dyn_cast<llvm::ConstantInt>(&constant)) {
    if (number->getBitWidth() == 1) {
      return {number->isZero() ? "false" : "true"};
    }
    const std::uint64_t bits = number->getZExtValue();
    constexpr std::uint64_t largest_plain = 4096;
    const char *suffix = number->getBitWidth() > 32 ? "ull" : "u";
    return {fmt::format(
        "{}{}", bits <= largest_plain ? fmt::format("{}", bits) : fmt::format("0x{:x}", bits),
        suffix)};
  }
  if (const auto *number = llvm::dyn_cast<llvm::ConstantFP>(&constant)) {
    const bool is_float = number->getType()->isFloatTy();
    const llvm::APFloat &real = number->getValueAPF();
    const std::string cast = is_float ? "" : "(double)";
    if (real.isNaN()) {
      return {cast + "NAN", CPrecedence::Prefix};
    }
    const double exact =
        is_float ? static_cast<double>(real.convertToFloat()) : real.convertToDouble();
    if (real.isInfinity()) {
      return {(exact < 0 ? "-" : "") + cast + "INFINITY", CPrecedence::Prefix};
    }
    char text[64];
    std::snprintf(text, sizeof text, "%a", exact);
    const std::string suffixed = std::string(text) + (is_float ? "f" : "");
    return {suffixed, text[0] == '-' ? CPrecedence::Prefix : CPrecedence::Atom};
  }
  unknown_to_c("a constant");
}

bool LlvmAsC::is_named(const llvm::Instruction &instruction, const CText &text) {
  if (instruction.getType()->isStructTy() || !instruction.hasOneUse() ||
      text.text.size() > longest_inside) {
    return true;
  }
  const auto *user = llvm::cast<llvm::Instruction>(*instruction.user_begin());
  const auto *compares = llvm::dyn_cast<llvm::CmpInst>(user);
  const bool repeats = compares != nullptr && repeats_operands(compares->getPredicate());
  return llvm::isa<llvm::PHINode>(user) || user->getParent() != instruction.getParent() ||
         (repeats && text.precedence != CPrecedence::Atom);
}

void LlvmAsC::statement(const llvm::Instruction &instruction) {
  if (llvm::isa<llvm::PHINode>(instruction) || llvm::isa<llvm::GetElementPtrInst>(instruction)) {
    return; // declared at the top; printed by the load
  }
  if (const auto *result = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) {
    line("return " + value(result->getReturnValue()).text + ";");
    return;
  }
  if (const auto *leaving = llvm::dyn_cast<llvm::BranchInst>(&instruction)) {
    branch(*leaving);
    return;
  }
  if (const auto *inserted = llvm::dyn_cast<llvm::InsertValueInst>(&instruction)) {
    insert(*inserted);
    return;
  }
  const CText text = expression(instruction);
  if (!is_named(instruction, text)) {
    values_[&instruction] = text;
    return;
  }
  const std::string own = new_name();
  line("const " + type_of(instruction.getType()) + " " + own + " = " + text.text + ";");
  values_[&instruction] = CText{own};
}

/// One variable for all steps of a struct: each is used once, by the next.
void LlvmAsC::insert(const llvm::InsertValueInst &instruction) {
  const llvm::Value *before = instruction.getAggregateOperand();
  std::string own;
  if (llvm::isa<llvm::UndefValue>(before)) { // poison is one of them
    own = new_name();
    line(type_of(instruction.getType()) + " " + own + ";");
  } else {
    own = value(before).text;
  }
  line(fmt::format("{}.f{} = {};", own, instruction.getIndices()[0],
                   value(instruction.getInsertedValueOperand()).text));
  values_[&instruction] = CText{own};
}

void LlvmAsC::jump(const llvm::BasicBlock &from, const llvm::BasicBlock &to) {
  std::string moves;
  const llvm::BasicBlock *const origin = &from;
  size_t count = 0;
  for (const llvm::PHINode &phi : to.phis()) {
    const llvm::Value *incoming = phi.getIncomingValueForBlock(origin);
    moves += value(&phi).text + " = " + value(incoming).text + "; ";
    ++count;
  }
  if (count > 1) {
    // Fine as long as no assigned one is read by another, which no elementary function does.
    for (const llvm::PHINode &phi : to.phis()) {
      if (llvm::isa<llvm::PHINode>(phi.getIncomingValueForBlock(origin))) {
        unknown_to_c("an exchange of variables");
      }
    }
  }
  body_ += moves + "goto " + label(to) + ";";
}

void LlvmAsC::branch(const llvm::BranchInst &branch) {
  const llvm::BasicBlock &from = *branch.getParent();
  body_ += "  ";
  if (branch.isConditional()) {
    body_ += "if (" + value(branch.getCondition()).text + ") { ";
    jump(from, *branch.getSuccessor(0));
    body_ += " }\n  ";
    jump(from, *branch.getSuccessor(1));
  } else {
    jump(from, *branch.getSuccessor(0));
  }
  body_ += "\n";
}

std::string CHelpers::elementary(Op op, ScalarType type) {
  const bool is_double = type.bits == 64;
  const std::string name = fmt::format("tw_{}_{}", op == Op::Pow ? "power" : op_name(op),
                                       is_double ? "double" : "float");
  return need(name, [&] {
    llvm::LLVMContext context;
    llvm::Module module("elementary", context);
    MathLibrary library(module, MathTarget{}, /*fast_math=*/false);
    llvm::Type *scalar =
        is_double ? llvm::Type::getDoubleTy(context) : llvm::Type::getFloatTy(context);
    const llvm::Function *function = library.function(op, scalar, /*exact=*/true);
    for (llvm::Function &made : module) {
      erase_dead(made);
    }
    return LlvmAsC(*this).definition(*function, name);
  });
}

} // namespace tilewright
