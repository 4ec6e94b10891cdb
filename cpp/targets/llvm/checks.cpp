// What kernels watch beside their work: subscripts, and values that are no numbers.
#include "runtime/abi.h"
#include "targets/llvm/code_emitter.h"

#include <algorithm>

namespace tilewright {

void CodeEmitter::check_index(const CheckIndex &statement) {
  const int lanes = statement.value->type.lanes;
  llvm::Value *index = scalar(*statement.value);
  llvm::Value *extent = scalar(*statement.upper);
  // One unsigned comparison also finds negative subscripts, unless the extent itself is negative.
  llvm::Value *bound =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent, builder_.getInt64(0));
  if (lanes > 1) {
    bound = builder_.CreateVectorSplat(static_cast<unsigned>(lanes), bound);
  }
  fail_where(builder_.CreateICmpUGE(index, bound), statement, index, extent, KernelIndexError);
}

void CodeEmitter::check_value(const CheckValue &statement) {
  fail_where(scalar(*statement.value), statement, builder_.getInt64(0), builder_.getInt64(0),
             KernelNotANumber);
}

void CodeEmitter::fail_where(llvm::Value *wrong, const RuntimeCheck &statement, llvm::Value *index,
                             llvm::Value *extent, std::int32_t status) {
  const int lanes = statement.value->type.lanes;
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::BasicBlock *failing = new_block("outside");
  llvm::BasicBlock *passing = new_block("inside");
  llvm::Value *first = nullptr; // of the lanes that fail
  if (lanes > 1 && statement.mask) {
    wrong = builder_.CreateAnd(wrong, scalar(*statement.mask));
  }
  note_check(statement, wrong);
  if (lanes == 1) {
    builder_.CreateCondBr(wrong, failing, passing);
    builder_.SetInsertPoint(failing);
  } else {
    builder_.CreateCondBr(builder_.CreateOrReduce(wrong), failing, passing);
    builder_.SetInsertPoint(failing);
    llvm::Value *bits =
        builder_.CreateBitCast(wrong, builder_.getIntNTy(static_cast<unsigned>(lanes)));
    first = builder_.CreateZExtOrTrunc(
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder_.getTrue()), i64);
  }
  const auto of_lane = [&](llvm::Value *value) {
    return value->getType()->isVectorTy() ? builder_.CreateExtractElement(value, first) : value;
  };
  Failure failure{
      builder_.getInt64(static_cast<std::uint64_t>(statement.site)),
      of_lane(index),
      extent,
      nullptr,
      std::min(statement.reported.size(), static_cast<size_t>(KernelFailure::max_reported)),
      status,
      passing};
  if (failure.report_count > 0) {
    llvm::ArrayType *list = llvm::ArrayType::get(i64, failure.report_count);
    failure.reports = entry_alloca(list, "reports");
    for (size_t k = 0; k < failure.report_count; ++k) {
      llvm::Value *value = of_lane(scalar(*statement.reported[k]));
      builder_.CreateStore(builder_.CreateBitCast(value, i64),
                           builder_.CreateConstInBoundsGEP2_64(list, failure.reports, 0,
                                                               static_cast<std::uint64_t>(k)));
    }
  }
  report(failure);
  builder_.SetInsertPoint(passing);
  // What was emitted for the report alone is not there.
  frame_.forget();
}

} // namespace tilewright
