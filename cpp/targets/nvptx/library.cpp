#include "targets/nvptx/library.h"

#include "targets/llvm/device_calls.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

namespace tilewright {

namespace {

constexpr std::uint64_t lock_bits = 10;
constexpr std::uint64_t lock_count = std::uint64_t{1} << lock_bits;
constexpr const char *power_signed = "tilewright_power_signed";
constexpr const char *power_unsigned = "tilewright_power_unsigned";

/// By squaring, modulo 2^64, as runtime/math_support.cpp has it.
void define_power(llvm::Function &function, bool is_signed) {
  llvm::LLVMContext &context = function.getContext();
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  const auto block = [&](const char *name) {
    return llvm::BasicBlock::Create(context, name, &function);
  };
  llvm::BasicBlock *entry = block("entry");
  llvm::BasicBlock *loop = block("loop");
  llvm::BasicBlock *step = block("step");
  llvm::BasicBlock *done = block("done");
  llvm::Value *base = function.getArg(0);
  llvm::Value *exponent = function.getArg(1);
  llvm::IRBuilder<> builder(entry);
  llvm::Type *i64 = builder.getInt64Ty();
  llvm::Value *one = builder.getInt64(1);
  llvm::Value *zero = builder.getInt64(0);
  if (is_signed) {
    // The power truncated towards zero: 0 but for 1 and -1.
    llvm::BasicBlock *negative = block("negative");
    llvm::BasicBlock *whole = block("whole");
    builder.CreateCondBr(builder.CreateICmpSLT(exponent, zero), negative, whole);
    builder.SetInsertPoint(negative);
    llvm::Value *is_unit = builder.CreateICmpULE(builder.CreateAdd(base, one), builder.getInt64(2));
    llvm::Value *is_odd = builder.CreateTrunc(exponent, builder.getInt1Ty());
    llvm::Value *of_unit = builder.CreateSelect(is_odd, base, one);
    llvm::Value *is_zero = builder.CreateICmpEQ(base, zero);
    llvm::Value *unit = builder.CreateAnd(is_unit, builder.CreateNot(is_zero));
    builder.CreateRet(builder.CreateSelect(unit, of_unit, zero));
    builder.SetInsertPoint(whole);
  }
  llvm::BasicBlock *before = builder.GetInsertBlock();
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode *result = builder.CreatePHI(i64, 2, "result");
  llvm::PHINode *square = builder.CreatePHI(i64, 2, "square");
  llvm::PHINode *rest = builder.CreatePHI(i64, 2, "rest");
  builder.CreateCondBr(builder.CreateICmpEQ(rest, zero), done, step);
  builder.SetInsertPoint(step);
  llvm::Value *is_odd = builder.CreateTrunc(rest, builder.getInt1Ty());
  llvm::Value *next = builder.CreateSelect(is_odd, builder.CreateMul(result, square), result);
  result->addIncoming(one, before);
  result->addIncoming(next, step);
  square->addIncoming(base, before);
  square->addIncoming(builder.CreateMul(square, square), step);
  rest->addIncoming(exponent, before);
  rest->addIncoming(builder.CreateLShr(rest, one), step);
  builder.CreateBr(loop);
  builder.SetInsertPoint(done);
  builder.CreateRet(result);
}

/// A word for each of these, nonzero where a thread has the lock.
llvm::GlobalVariable *lock_table(llvm::Module &module) {
  constexpr const char *name = "tilewright_locks";
  if (llvm::GlobalVariable *known = module.getGlobalVariable(name, true)) {
    return known;
  }
  auto *type = llvm::ArrayType::get(llvm::Type::getInt32Ty(module.getContext()), lock_count);
  return new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                  llvm::Constant::getNullValue(type), name, nullptr,
                                  llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/1);
}

/// Threads of one warp may wait for each other here: from sm_70 on, each of them makes progress.
void define_lock(llvm::Function &function, bool locks) {
  llvm::LLVMContext &context = function.getContext();
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", &function));
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  // The accesses around are relaxed; LLVM 19 has no fence instruction for this target.
  const auto fence = [&] { builder.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_gl, {}, {}); };
  const llvm::Align alignment(sizeof(std::uint32_t));
  llvm::GlobalVariable *table = lock_table(*function.getParent());
  llvm::Value *place = builder.CreatePtrToInt(function.getArg(0), builder.getInt64Ty());
  place = builder.CreateXor(place, builder.CreateLShr(place, lock_bits));
  place = builder.CreateAnd(place, builder.getInt64(lock_count - 1));
  llvm::Value *lock =
      builder.CreateInBoundsGEP(table->getValueType(), table, {builder.getInt64(0), place});
  if (!locks) {
    fence();
    builder.CreateAlignedStore(builder.getInt32(0), lock, alignment)->setAtomic(relaxed);
    builder.CreateRetVoid();
    return;
  }
  auto *attempt = llvm::BasicBlock::Create(context, "attempt", &function);
  auto *taken = llvm::BasicBlock::Create(context, "taken", &function);
  builder.CreateBr(attempt);
  builder.SetInsertPoint(attempt);
  llvm::Value *before = builder.CreateAtomicCmpXchg(lock, builder.getInt32(0), builder.getInt32(1),
                                                    alignment, relaxed, relaxed);
  builder.CreateCondBr(builder.CreateExtractValue(before, 1), taken, attempt);
  builder.SetInsertPoint(taken);
  fence();
  builder.CreateRetVoid();
}

} // namespace

void define_locks(llvm::Module &module) {
  for (const char *name : {gpu_lock, gpu_unlock}) {
    if (llvm::Function *function = module.getFunction(name)) {
      define_lock(*function, name == gpu_lock);
    }
  }
}

void define_powers(llvm::Module &module) {
  for (const char *name : {power_signed, power_unsigned}) {
    if (llvm::Function *function = module.getFunction(name)) {
      define_power(*function, name == power_signed);
    }
  }
}

} // namespace tilewright
