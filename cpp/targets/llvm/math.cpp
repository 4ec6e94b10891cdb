// The frame around the bodies: one function for each use, pieces, padding.
#include "targets/llvm/math.h"

#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

#include <bit>

namespace tilewright {

namespace {

unsigned lanes_of(const llvm::Type *type) {
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 1 : vector->getNumElements();
}

lanes::Real body(Op op, const std::vector<lanes::Real> &arguments, bool fast,
                 MathLibrary &library) {
  const lanes::Real x = arguments[0];
  switch (op) {
  case Op::Exp:
  case Op::Exp2:
  case Op::Expm1:
    return math::exponential(op, x, fast);
  case Op::Sinh:
  case Op::Cosh:
  case Op::Tanh:
    return math::hyperbolic(op, x, fast);
  case Op::Log:
  case Op::Log2:
  case Op::Log10:
  case Op::Log1p:
    return math::logarithm(op, x, fast);
  case Op::Arcsinh:
  case Op::Arccosh:
  case Op::Arctanh:
    return math::inverse_hyperbolic(op, x, fast);
  case Op::Cbrt:
    return math::cube_root(x, fast);
  case Op::Hypot:
    return math::hypotenuse(x, arguments[1], fast);
  case Op::Sin:
  case Op::Cos:
  case Op::Tan:
    return math::trigonometric(op, x, fast, library);
  case Op::Arcsin:
  case Op::Arccos:
  case Op::Arctan:
  case Op::Arctan2:
    return math::inverse(op, arguments);
  case Op::Erf:
    return math::error_function(x, fast);
  case Op::Pow:
    return math::power(x, arguments[1]);
  default:
    throw Error(ErrorKind::Internal, "no code for the function " + op_name(op));
  }
}

} // namespace

MathTarget math_target(const llvm::TargetMachine &machine) {
  const llvm::MCSubtargetInfo &subtarget = *machine.getMCSubtargetInfo();
  MathTarget target;
  if (machine.getTargetTriple().isX86()) {
    target.has_fma = subtarget.checkFeatures("+fma");
    target.has_gathers = subtarget.checkFeatures("+avx512f,+avx512vl");
    target.has_mask_registers = subtarget.checkFeatures("+avx512bw,+avx512vl");
    target.vector_bits = subtarget.checkFeatures("+avx512f") ? 512
                         : subtarget.checkFeatures("+avx2")  ? 256
                                                             : 128;
  } else {
    target.has_fma = machine.getTargetTriple().isAArch64() || machine.getTargetTriple().isNVPTX();
  }
  return target;
}

llvm::Function *MathLibrary::make(const std::string &name, llvm::Type *result,
                                  const std::vector<llvm::Type *> &parameters) {
  auto *function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                          llvm::Function::InternalLinkage, name, module_);
  function->setCallingConv(llvm::CallingConv::Fast);
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  function->addFnAttr(llvm::Attribute::NoFree);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::NoSync);
  // Not speculatable: LLVM would then run the slow paths always.
  return function;
}

llvm::Function *MathLibrary::function(Op op, llvm::Type *type, bool exact) {
  const std::string name = "tilewright." + (op == Op::Pow ? "power" : op_name(op)) + "." +
                           std::to_string(lanes_of(type)) + "xf" +
                           std::to_string(type->getScalarSizeInBits()) +
                           (exact && fast_math_ ? ".exact" : "");
  if (llvm::Function *known = module_.getFunction(name)) {
    return known;
  }
  const auto count = static_cast<size_t>(operation(op).arguments());
  llvm::Function *function = make(name, type, std::vector<llvm::Type *>(count, type));
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
  const bool is_short = fast_math_ && !exact;
  lanes::Frame frame{builder, is_short && target_.has_fma, is_short && target_.has_exp2};
  if (target_.is_inlined && op == Op::Exp && type->getScalarType()->isFloatTy()) {
    function->removeFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::AlwaysInline);
  }
  std::vector<lanes::Real> arguments;
  for (llvm::Argument &argument : function->args()) {
    arguments.push_back(lanes::Real{{&frame, &argument}});
  }
  builder.CreateRet(body(op, arguments, is_short, *this).value);
  return function;
}

unsigned MathLibrary::largest_piece(Op op, llvm::Type *scalar) const {
  // Two registers in flight hide the latency of the chains; float32 is computed in float64 unless
  // fast_math, except by exp.
  const unsigned bits = scalar->isFloatTy() && (fast_math_ || op == Op::Exp) ? 32 : 64;
  return std::max(1U, 2 * target_.vector_bits / bits);
}

llvm::Value *MathLibrary::call(llvm::IRBuilder<> &builder, Op op,
                               const std::vector<llvm::Value *> &arguments) {
  llvm::Type *type = arguments[0]->getType();
  llvm::Type *scalar = type->getScalarType();
  const unsigned lanes = lanes_of(type);
  auto apply = [&](const std::vector<llvm::Value *> &values) {
    llvm::Function *callee = function(op, values[0]->getType(), false);
    llvm::CallInst *result = builder.CreateCall(callee, values);
    result->setCallingConv(callee->getCallingConv());
    return result;
  };
  const unsigned largest = largest_piece(op, scalar);
  if (lanes <= largest && std::has_single_bit(lanes)) {
    return apply(arguments);
  }
  llvm::Value *result = llvm::PoisonValue::get(type);
  for (unsigned first = 0; first < lanes; first += largest) {
    const unsigned count = std::min(largest, lanes - first);
    const unsigned width = std::bit_ceil(count);
    llvm::SmallVector<int, 16> pick;
    for (unsigned k = 0; k < width; ++k) {
      pick.push_back(static_cast<int>(first + std::min(k, count - 1)));
    }
    std::vector<llvm::Value *> parts;
    for (llvm::Value *argument : arguments) {
      parts.push_back(width == 1 ? builder.CreateExtractElement(argument, first)
                                 : builder.CreateShuffleVector(argument, pick));
    }
    llvm::Value *part = apply(parts);
    if (width == 1) {
      result = builder.CreateInsertElement(result, part, first);
      continue;
    }
    llvm::SmallVector<int, 32> widen;
    llvm::SmallVector<int, 32> merge;
    for (unsigned k = 0; k < lanes; ++k) {
      const bool here = k >= first && k < first + count;
      widen.push_back(here ? static_cast<int>(k - first) : -1);
      merge.push_back(static_cast<int>(here ? lanes + k : k));
    }
    result = builder.CreateShuffleVector(result, builder.CreateShuffleVector(part, widen), merge);
  }
  return result;
}

} // namespace tilewright
