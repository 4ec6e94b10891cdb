// Payne and Hanek's argument reduction ("Radian reduction for trigonometric functions", 1983): the
// product of a float64's 53 digits with the 192 bits of 2/pi that matter at its exponent, modulo 4.
// No float64 is closer to a multiple of pi/2 than 2^-62 of one, so 126 fraction bits leave 64.
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"

namespace tilewright {

namespace {

constexpr const char *table_name = "tilewright.two_over_pi";

/// A word of zeros and then the bits of 2/pi.
llvm::GlobalVariable *table_of(llvm::Module &module) {
  if (llvm::GlobalVariable *known = module.getGlobalVariable(table_name, true)) {
    return known;
  }
  std::vector<std::uint64_t> words = {0};
  words.insert(words.end(), math_coefficients::two_over_pi.begin(),
               math_coefficients::two_over_pi.end());
  llvm::Constant *data = llvm::ConstantDataArray::get(module.getContext(), words);
  auto *table = new llvm::GlobalVariable(module, data->getType(), true,
                                         llvm::GlobalValue::PrivateLinkage, data, table_name);
  table->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return table;
}

/// What the steps below write with.
struct Words {
  explicit Words(lanes::Frame &used)
      : frame(used), builder(used.builder), i64(builder.getInt64Ty()), i128(builder.getInt128Ty()) {
  }
  llvm::Value *wide(llvm::Value *value) const { return builder.CreateZExt(value, i128); }
  llvm::Value *high(llvm::Value *value) const {
    return builder.CreateTrunc(builder.CreateLShr(value, 64), i64);
  }

  lanes::Frame &frame;
  llvm::IRBuilder<> &builder;
  llvm::Type *i64;
  llvm::Type *i128;
};

/// 2 |x| / pi modulo 4 of the number with this pattern: two integer bits, 126 of the fraction.
llvm::Value *turns_of(const Words &words, llvm::Module &module, llvm::Value *pattern) {
  llvm::IRBuilder<> &builder = words.builder;
  // |x| = m 2^(e - 52); the 192 bits start two integer digits above the point.
  llvm::Value *biased = builder.CreateAnd(builder.CreateLShr(pattern, 52), builder.getInt64(0x7ff));
  llvm::Value *m = builder.CreateOr(builder.CreateAnd(pattern, builder.getInt64(0xfffffffffffffU)),
                                    builder.getInt64(0x10000000000000U));
  // The first bit wanted, e - 54, after the table's 64 zeros. Small numbers are not hard; the
  // lowest place keeps the loads inside the table whatever comes.
  llvm::Value *place = builder.CreateSub(biased, builder.getInt64(1023 + 54 - 64));
  place = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, place, builder.getInt64(0));
  place = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, place, builder.getInt64(1088));
  llvm::Value *word = builder.CreateLShr(place, 6);
  llvm::Value *shift = builder.CreateAnd(place, builder.getInt64(63));
  llvm::GlobalVariable *table = table_of(module);
  llvm::Value *loaded[4];
  for (unsigned k = 0; k < 4; ++k) {
    llvm::Value *index = builder.CreateAdd(word, builder.getInt64(k));
    loaded[k] = builder.CreateLoad(words.i64, builder.CreateInBoundsGEP(words.i64, table, {index}));
  }
  llvm::Value *aligned[3];
  for (unsigned k = 0; k < 3; ++k) {
    aligned[k] = builder.CreateIntrinsic(llvm::Intrinsic::fshl, {words.i64},
                                         {loaded[k], loaded[k + 1], shift});
  }
  // The top 128 bits of m times them, modulo 2^192.
  llvm::Value *lowest =
      words.wide(words.high(builder.CreateMul(words.wide(m), words.wide(aligned[2]))));
  llvm::Value *middle =
      builder.CreateAdd(builder.CreateMul(words.wide(m), words.wide(aligned[1])), lowest);
  llvm::Value *top = builder.CreateAdd(builder.CreateMul(m, aligned[0]), words.high(middle));
  return builder.CreateOr(builder.CreateShl(words.wide(top), 64),
                          words.wide(builder.CreateTrunc(middle, words.i64)));
}

/// A fraction of a quarter turn, in units of 2^-128, as an angle in two numbers.
lanes::Pair angle_of(const Words &words, llvm::Value *size) {
  llvm::IRBuilder<> &builder = words.builder;
  llvm::Type *f64 = builder.getDoubleTy();
  llvm::Value *upper = words.high(size);
  // At least 64 of the bits are there; so the first one set is among the upper 64 but for zero.
  llvm::Value *zeros =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, upper, builder.getFalse());
  zeros = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, zeros, builder.getInt64(63));
  size = builder.CreateShl(size, words.wide(zeros));
  llvm::Value *first = builder.CreateLShr(words.high(size), 11);
  llvm::Value *second =
      builder.CreateAnd(builder.CreateTrunc(builder.CreateLShr(size, 22), words.i64),
                        builder.getInt64(0x1fffffffffffffU));
  using lanes::Real;
  const Real unit = lanes::real_of(lanes::Bits{
      {&words.frame, builder.CreateShl(builder.CreateSub(builder.getInt64(1023), zeros), 52)}});
  const Real hi = Real{{&words.frame, builder.CreateSIToFP(first, f64)}} * 0x1p-53 * unit;
  const Real lo = Real{{&words.frame, builder.CreateSIToFP(second, f64)}} * 0x1p-106 * unit;
  // Times pi/2.
  const auto &half_pi = math_coefficients::half_pi_double;
  const lanes::Pair exact = lanes::product(hi, lanes::constant(hi, half_pi[0]));
  return lanes::fast_sum(exact.hi, exact.lo + (hi * half_pi[1] + lo * half_pi[0]));
}

} // namespace

llvm::Function *MathLibrary::scalar_reduction() {
  const std::string name = "tilewright.reduce.scalar";
  if (llvm::Function *known = module_.getFunction(name)) {
    return known;
  }
  llvm::LLVMContext &context = module_.getContext();
  llvm::Type *f64 = llvm::Type::getDoubleTy(context);
  llvm::Type *i64 = llvm::Type::getInt64Ty(context);
  auto *result_type = llvm::StructType::get(context, {f64, f64, i64});
  llvm::Function *function = make(name, result_type, {f64});
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  lanes::Frame frame{builder};
  const Words words(frame);

  llvm::Value *pattern = builder.CreateBitCast(function->getArg(0), i64);
  llvm::Value *turns = turns_of(words, module_, pattern);
  // To the nearest integer: the fraction as a signed number of 128 bits.
  llvm::Value *fraction = builder.CreateShl(turns, 2);
  llvm::Value *negative = builder.CreateICmpSLT(fraction, llvm::ConstantInt::get(words.i128, 0));
  llvm::Value *quadrant = builder.CreateAdd(builder.CreateLShr(words.high(turns), 62),
                                            builder.CreateZExt(negative, i64));
  const lanes::Pair r =
      angle_of(words, builder.CreateSelect(negative, builder.CreateNeg(fraction), fraction));
  // The signs of the fraction and of x.
  llvm::Value *x_negative = builder.CreateICmpSLT(pattern, builder.getInt64(0));
  const lanes::Bits sign{
      {&frame,
       builder.CreateShl(builder.CreateZExt(builder.CreateXor(negative, x_negative), i64), 63)}};
  llvm::Value *turned = builder.CreateSelect(x_negative, builder.CreateNeg(quadrant), quadrant);
  llvm::Value *result = llvm::PoisonValue::get(result_type);
  result = builder.CreateInsertValue(result, lanes::flip_sign(r.hi, sign).value, 0);
  result = builder.CreateInsertValue(result, lanes::flip_sign(r.lo, sign).value, 1);
  builder.CreateRet(builder.CreateInsertValue(result, turned, 2));
  return function;
}

llvm::Function *MathLibrary::exact_reduction(llvm::Type *type) {
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const unsigned count = vector == nullptr ? 1 : vector->getNumElements();
  const std::string name = "tilewright.reduce." + std::to_string(count) + "xf64";
  if (llvm::Function *known = module_.getFunction(name)) {
    return known;
  }
  llvm::LLVMContext &context = module_.getContext();
  auto shaped = [&](llvm::Type *scalar) -> llvm::Type * {
    return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, count);
  };
  llvm::Type *integers = shaped(llvm::Type::getInt64Ty(context));
  auto *result_type = llvm::StructType::get(context, {type, type, integers});
  llvm::Function *function =
      make(name, result_type, {type, shaped(llvm::Type::getInt1Ty(context)), type, type, integers});
  llvm::Function *scalar = scalar_reduction();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value *easy[3] = {function->getArg(2), function->getArg(3), function->getArg(4)};
  auto call_scalar = [&](llvm::Value *x) {
    llvm::CallInst *found = builder.CreateCall(scalar, {x});
    found->setCallingConv(scalar->getCallingConv());
    return found;
  };
  llvm::Value *result = llvm::PoisonValue::get(result_type);
  if (vector == nullptr) { // called only where the lane is hard
    builder.CreateRet(call_scalar(function->getArg(0)));
    return function;
  }
  // A loop over the lanes in memory: unrolled, it would take longer to compile than sin itself.
  auto spill = [&](llvm::Value *value) {
    llvm::AllocaInst *slot = builder.CreateAlloca(value->getType());
    builder.CreateStore(value, slot);
    return slot;
  };
  llvm::Type *i64 = builder.getInt64Ty();
  llvm::Type *f64 = builder.getDoubleTy();
  llvm::Value *x = spill(function->getArg(0));
  llvm::Value *hard = spill(builder.CreateSExt(function->getArg(1), integers));
  llvm::Value *slots[3] = {spill(easy[0]), spill(easy[1]), spill(easy[2])};
  llvm::Type *elements[3] = {f64, f64, i64};
  llvm::BasicBlock *entry = builder.GetInsertBlock();
  auto *loop = llvm::BasicBlock::Create(context, "lane", function);
  auto *slow = llvm::BasicBlock::Create(context, "hard", function);
  auto *next = llvm::BasicBlock::Create(context, "next", function);
  auto *done = llvm::BasicBlock::Create(context, "done", function);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode *lane = builder.CreatePHI(i64, 2);
  lane->addIncoming(builder.getInt64(0), entry);
  auto element = [&](llvm::Type *type, llvm::Value *slot) {
    return builder.CreateInBoundsGEP(type, slot, {lane});
  };
  llvm::Value *flag = builder.CreateLoad(i64, element(i64, hard));
  builder.CreateCondBr(builder.CreateICmpNE(flag, builder.getInt64(0)), slow, next);
  builder.SetInsertPoint(slow);
  llvm::CallInst *found = call_scalar(builder.CreateLoad(f64, element(f64, x)));
  for (unsigned p = 0; p < 3; ++p) {
    builder.CreateStore(builder.CreateExtractValue(found, p), element(elements[p], slots[p]));
  }
  builder.CreateBr(next);
  builder.SetInsertPoint(next);
  llvm::Value *following = builder.CreateAdd(lane, builder.getInt64(1));
  lane->addIncoming(following, next);
  builder.CreateCondBr(builder.CreateICmpULT(following, builder.getInt64(count)), loop, done);
  builder.SetInsertPoint(done);
  for (unsigned p = 0; p < 3; ++p) {
    result = builder.CreateInsertValue(result, builder.CreateLoad(easy[p]->getType(), slots[p]), p);
  }
  builder.CreateRet(result);
  return function;
}

} // namespace tilewright
