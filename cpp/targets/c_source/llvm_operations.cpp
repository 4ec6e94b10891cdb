// The instructions of elementary functions as expressions of C.
#include "polyhedral/error.h"
#include "targets/c_source/llvm_as_c.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>

namespace tilewright {

namespace {

std::string c_name_of(const llvm::Value &value) {
  std::string name = "tw" + value.getName().str().substr(std::string("tilewright").size());
  for (char &c : name) {
    c = c == '.' ? '_' : c;
  }
  return name;
}

} // namespace

void unknown_to_c(const std::string &what) {
  throw Error(ErrorKind::Internal, "no C for " + what + " of an elementary function");
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
  unknown_to_c(instruction.getOpcodeName());
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
    unknown_to_c(instruction.getOpcodeName());
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
    unknown_to_c("a comparison");
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
    unknown_to_c("a comparison");
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
    unknown_to_c(instruction.getOpcodeName());
  }
}

CText LlvmAsC::call(const llvm::CallInst &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (callee == nullptr) {
    unknown_to_c("a call");
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
    unknown_to_c(call.getCalledFunction()->getName().str());
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
    unknown_to_c("a load");
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

} // namespace tilewright
