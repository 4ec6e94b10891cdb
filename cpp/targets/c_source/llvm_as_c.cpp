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

[[noreturn]] void unknown(const std::string &what) {
  throw Error(ErrorKind::Internal, "no C for " + what + " of an elementary function");
}

constexpr size_t longest_inside = 60; ///< letters of an expression inside another one

std::string c_name_of(const llvm::Value &value) {
  std::string name = "tw" + value.getName().str().substr(std::string("tilewright").size());
  for (char &c : name) {
    c = c == '.' ? '_' : c;
  }
  return name;
}

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
  unknown("a type");
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
  unknown("a value");
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
  unknown("a constant");
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
        unknown("an exchange of variables");
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

CText LlvmAsC::expression(const llvm::Instruction &instruction) {
  if (const auto *operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
    return binary(*operation);
  }
  if (const auto *compared = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
    return comparison(*compared);
  }
  if (const auto *converted = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
    return conversion(*converted);
  }
  if (const auto *chosen = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
    return {value(chosen->getCondition()).at_least(CPrecedence::Or) + " ? " +
                value(chosen->getTrueValue()).at_least(CPrecedence::Or) + " : " +
                value(chosen->getFalseValue()).at_least(CPrecedence::Conditional),
            CPrecedence::Conditional};
  }
  if (instruction.getOpcode() == llvm::Instruction::FNeg) {
    return {"-" + value(instruction.getOperand(0)).beside(CPrecedence::Prefix),
            CPrecedence::Prefix};
  }
  if (const auto *called = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    return call(*called);
  }
  if (const auto *loaded = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    return load(*loaded);
  }
  if (const auto *part = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    return {fmt::format("{}.f{}", value(part->getAggregateOperand()).text, part->getIndices()[0])};
  }
  unknown(instruction.getOpcodeName());
}

CText LlvmAsC::binary(const llvm::BinaryOperator &instruction) {
  using I = llvm::Instruction;
  const CText a = value(instruction.getOperand(0));
  const CText b = value(instruction.getOperand(1));
  const bool truth = instruction.getType()->isIntegerTy(1);
  const auto with = [&](const char *sign, CPrecedence own, CPrecedence left, CPrecedence right) {
    return CText{a.at_least(left) + " " + sign + " " + b.beside(right), own};
  };
  switch (instruction.getOpcode()) {
  case I::FAdd:
  case I::Add:
    return with("+", CPrecedence::Sum, CPrecedence::Sum, CPrecedence::Product);
  case I::FSub:
  case I::Sub:
    return with("-", CPrecedence::Sum, CPrecedence::Sum, CPrecedence::Product);
  case I::FMul:
  case I::Mul:
    return with("*", CPrecedence::Product, CPrecedence::Product, CPrecedence::Prefix);
  case I::FDiv:
    return with("/", CPrecedence::Product, CPrecedence::Product, CPrecedence::Prefix);
  case I::And:
    return truth ? with("&&", CPrecedence::And, CPrecedence::Equality, CPrecedence::Equality)
                 : with("&", CPrecedence::BitAnd, CPrecedence::Prefix, CPrecedence::Prefix);
  case I::Or:
    return truth ? with("||", CPrecedence::Or, CPrecedence::Equality, CPrecedence::Equality)
                 : with("|", CPrecedence::BitOr, CPrecedence::Prefix, CPrecedence::Prefix);
  case I::Xor:
    if (const auto *all = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
        truth && all != nullptr && all->isOne()) {
      return {"!" + a.at_least(CPrecedence::Prefix), CPrecedence::Prefix};
    }
    return truth ? with("!=", CPrecedence::Equality, CPrecedence::Prefix, CPrecedence::Prefix)
                 : with("^", CPrecedence::BitXor, CPrecedence::Prefix, CPrecedence::Prefix);
  case I::Shl:
    return with("<<", CPrecedence::Shift, CPrecedence::Prefix, CPrecedence::Prefix);
  case I::LShr:
    return with(">>", CPrecedence::Shift, CPrecedence::Prefix, CPrecedence::Prefix);
  default:
    unknown(instruction.getOpcodeName());
  }
}

CText LlvmAsC::floats_compared(const llvm::CmpInst &instruction) {
  using P = llvm::CmpInst;
  const CText a = value(instruction.getOperand(0));
  const CText b = value(instruction.getOperand(1));
  const bool same = instruction.getOperand(0) == instruction.getOperand(1);
  const auto with = [&](const char *sign) {
    return a.at_least(CPrecedence::Sum) + " " + sign + " " + b.at_least(CPrecedence::Sum);
  };
  const auto unless = [&](const char *sign) {
    return CText{"!(" + with(sign) + ")", CPrecedence::Prefix};
  };
  switch (instruction.getPredicate()) {
  case P::FCMP_OLT:
    return {with("<"), CPrecedence::Relation};
  case P::FCMP_OLE:
    return {with("<="), CPrecedence::Relation};
  case P::FCMP_OGT:
    return {with(">"), CPrecedence::Relation};
  case P::FCMP_OGE:
    return {with(">="), CPrecedence::Relation};
  case P::FCMP_OEQ:
    return {with("=="), CPrecedence::Equality};
  case P::FCMP_UNE:
    return {with("!="), CPrecedence::Equality};
  case P::FCMP_ULT:
    return unless(">=");
  case P::FCMP_ULE:
    return unless(">");
  case P::FCMP_UGT:
    return unless("<=");
  case P::FCMP_UGE:
    return unless("<");
  case P::FCMP_ONE:
    return {with("<") + " || " + with(">"), CPrecedence::Or};
  case P::FCMP_UNO: {
    const std::string first = a.text + " != " + a.text;
    return same ? CText{first, CPrecedence::Equality}
                : CText{first + " || " + b.text + " != " + b.text, CPrecedence::Or};
  }
  case P::FCMP_ORD: {
    const std::string first = a.text + " == " + a.text;
    return same ? CText{first, CPrecedence::Equality}
                : CText{first + " && " + b.text + " == " + b.text, CPrecedence::And};
  }
  default:
    unknown("a comparison");
  }
}

CText LlvmAsC::comparison(const llvm::CmpInst &instruction) {
  using P = llvm::CmpInst;
  if (instruction.isFPPredicate()) {
    return floats_compared(instruction);
  }
  const llvm::Type *type = instruction.getOperand(0)->getType();
  CText a = value(instruction.getOperand(0));
  CText b = value(instruction.getOperand(1));
  if (instruction.isSigned()) {
    const std::string own = type_of(type); // an unsigned one
    const std::string as = own == "tw_uint128" ? "tw_int128" : own.substr(1);
    a = c_cast(as, a);
    b = c_cast(as, b);
  }
  const auto with = [&](const char *sign, CPrecedence own) {
    return CText{a.at_least(CPrecedence::Sum) + " " + sign + " " + b.at_least(CPrecedence::Sum),
                 own};
  };
  switch (instruction.getPredicate()) {
  case P::ICMP_EQ:
    return with("==", CPrecedence::Equality);
  case P::ICMP_NE:
    return with("!=", CPrecedence::Equality);
  case P::ICMP_SLT:
  case P::ICMP_ULT:
    return with("<", CPrecedence::Relation);
  case P::ICMP_SGT:
  case P::ICMP_UGT:
    return with(">", CPrecedence::Relation);
  case P::ICMP_SLE:
  case P::ICMP_ULE:
    return with("<=", CPrecedence::Relation);
  case P::ICMP_SGE:
  case P::ICMP_UGE:
    return with(">=", CPrecedence::Relation);
  default:
    unknown("a comparison");
  }
}

CText LlvmAsC::conversion(const llvm::CastInst &instruction) {
  using I = llvm::Instruction;
  const CText from = value(instruction.getOperand(0));
  const llvm::Type *source = instruction.getSrcTy();
  const llvm::Type *target = instruction.getDestTy();
  switch (instruction.getOpcode()) {
  case I::FPExt:
  case I::FPTrunc:
  case I::UIToFP:
  case I::ZExt:
  case I::Trunc:
    return c_cast(type_of(target), from);
  case I::SIToFP:
    return c_cast(type_of(target), c_cast(type_of(source).substr(1), from));
  case I::BitCast:
    return c_call(source->isDoubleTy()   ? helpers_.bits_of_double()
                  : source->isFloatTy()  ? helpers_.bits_of_float()
                  : target->isDoubleTy() ? helpers_.double_of_bits()
                                         : helpers_.float_of_bits(),
                  from);
  default:
    unknown(instruction.getOpcodeName());
  }
}

CText LlvmAsC::call(const llvm::CallInst &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (callee == nullptr) {
    unknown("a call");
  }
  if (callee->isIntrinsic()) {
    return intrinsic(call);
  }
  const std::string name =
      helpers_.need(c_name_of(*callee), [&] { return definition(*callee, c_name_of(*callee)); });
  std::string arguments;
  for (const llvm::Value *argument : call.args()) {
    arguments += (arguments.empty() ? "" : ", ") + value(argument).text;
  }
  return {name + "(" + arguments + ")"};
}

CText LlvmAsC::intrinsic(const llvm::CallInst &call) {
  const CText a = value(call.getArgOperand(0));
  const bool is_float = call.getType()->isFloatTy();
  const auto of_library = [&](const std::string &name) { return name + (is_float ? "f" : ""); };
  const auto own = [&](const char *name, const char *text) {
    return helpers_.need(name, [&] { return std::string(text); });
  };
  switch (call.getIntrinsicID()) {
  case llvm::Intrinsic::fabs:
    return c_call(of_library("fabs"), a);
  case llvm::Intrinsic::sqrt:
    return c_call(of_library("sqrt"), a);
  case llvm::Intrinsic::floor:
    return c_call(of_library("floor"), a);
  case llvm::Intrinsic::trunc:
    return c_call(of_library("trunc"), a);
  case llvm::Intrinsic::rint:
    return c_call(of_library("rint"), a);
  case llvm::Intrinsic::copysign:
    return c_call(of_library("copysign"), a, value(call.getArgOperand(1)));
  case llvm::Intrinsic::ctlz:
    return c_call(own("tw_leading_zeros",
                      R"(static inline uint64_t tw_leading_zeros(uint64_t bits) {
  uint64_t count = 64;
  for (; bits != 0; bits >>= 1) {
    --count;
  }
  return count;
}
)"),
                  a);
  case llvm::Intrinsic::umin:
    return c_call(own("tw_least", "static inline uint64_t tw_least(uint64_t a, uint64_t b) { "
                                  "return a < b ? a : b; }\n"),
                  a, value(call.getArgOperand(1)));
  case llvm::Intrinsic::smin:
    return c_call(own("tw_least_signed",
                      "static inline uint64_t tw_least_signed(uint64_t a, uint64_t b) {\n"
                      "  return (int64_t)a < (int64_t)b ? a : b;\n}\n"),
                  a, value(call.getArgOperand(1)));
  case llvm::Intrinsic::smax:
    return c_call(own("tw_largest_signed",
                      "static inline uint64_t tw_largest_signed(uint64_t a, uint64_t b) {\n"
                      "  return (int64_t)a > (int64_t)b ? a : b;\n}\n"),
                  a, value(call.getArgOperand(1)));
  case llvm::Intrinsic::fshl: {
    const std::string name =
        own("tw_shift_from", R"(/* The upper half of two words, shifted by less than 64 digits. */
static inline uint64_t tw_shift_from(uint64_t high, uint64_t low, uint64_t digits) {
  return digits == 0 ? high : high << digits | low >> (64 - digits);
}
)");
    return {name + "(" + a.text + ", " + value(call.getArgOperand(1)).text + ", " +
            value(call.getArgOperand(2)).text + ")"};
  }
  default:
    unknown(call.getCalledFunction()->getName().str());
  }
}

/// From a table of constants.
CText LlvmAsC::load(const llvm::LoadInst &load) {
  const llvm::Value *pointer = load.getPointerOperand();
  CText index{"0"};
  if (const auto *place = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
    index = value(place->getOperand(1));
    pointer = place->getPointerOperand();
  }
  const auto *table = llvm::dyn_cast<llvm::GlobalVariable>(pointer);
  if (table == nullptr || !table->hasInitializer()) {
    unknown("a load");
  }
  const auto *data = llvm::cast<llvm::ConstantDataArray>(table->getInitializer());
  const std::string name = helpers_.need(c_name_of(*table), [&] {
    std::string text = "static const uint64_t " + c_name_of(*table) + "[] = {\n";
    for (unsigned k = 0; k < data->getNumElements(); ++k) {
      text +=
          fmt::format("{}0x{:016x}ull,{}", k % 4 == 0 ? "  " : " ", data->getElementAsInteger(k),
                      k % 4 == 3 || k + 1 == data->getNumElements() ? "\n" : "");
    }
    return text + "};\n";
  });
  return {name + "[" + index.text + "]"};
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
