// What kernels watch beside their work: subscripts, values that are no numbers, time.
#include "runtime/abi.h"
#include "targets/llvm/function_emitter.h"

#include <algorithm>

namespace tilewright {

void KernelEmitter::check_index(const CheckIndex &statement) {
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

void KernelEmitter::check_value(const CheckValue &statement) {
  fail_where(scalar(*statement.value), statement, builder_.getInt64(0), builder_.getInt64(0),
             KernelNotANumber);
}

void KernelEmitter::fail_where(llvm::Value *wrong, const RuntimeCheck &statement,
                               llvm::Value *index, llvm::Value *extent, std::int32_t status) {
  const int lanes = statement.value->type.lanes;
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::BasicBlock *failing = llvm::BasicBlock::Create(context_, "outside", frame_.function);
  llvm::BasicBlock *passing = llvm::BasicBlock::Create(context_, "inside", frame_.function);
  llvm::Value *first = nullptr; // of the lanes that fail
  if (lanes > 1 && statement.mask) {
    wrong = builder_.CreateAnd(wrong, scalar(*statement.mask));
  }
  if (frame_.failed != nullptr) {
    note_check(statement, wrong);
  }
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
  std::vector<llvm::Value *> arguments = {
      frame_.record, builder_.getInt64(static_cast<std::uint64_t>(statement.site)), of_lane(index),
      extent};
  std::vector<llvm::Type *> types = {builder_.getPtrTy(), i64, i64, i64};
  if (!statement.reported.empty()) {
    const size_t count =
        std::min(statement.reported.size(), static_cast<size_t>(KernelFailure::max_reported));
    llvm::ArrayType *list = llvm::ArrayType::get(i64, count);
    llvm::AllocaInst *reports = entry_alloca(list, "reports");
    for (size_t k = 0; k < count; ++k) {
      llvm::Value *value = of_lane(scalar(*statement.reported[k]));
      builder_.CreateStore(
          builder_.CreateBitCast(value, i64),
          builder_.CreateConstInBoundsGEP2_64(list, reports, 0, static_cast<std::uint64_t>(k)));
    }
    arguments.insert(arguments.end(), {reports, builder_.getInt64(count)});
    types.insert(types.end(), {builder_.getPtrTy(), i64});
  }
  if (is_device_) {
    fail_on_device(arguments[1], arguments[2], extent, status, passing);
    builder_.SetInsertPoint(passing);
    frame_.known.clear();
    frame_.depths.clear();
    return;
  }
  llvm::FunctionCallee report = module_.getOrInsertFunction(
      statement.reported.empty() ? "tilewright_report_index" : "tilewright_report_check",
      llvm::FunctionType::get(builder_.getVoidTy(), types, false));
  auto *function = llvm::cast<llvm::Function>(report.getCallee());
  function->setDoesNotThrow();
  function->setOnlyAccessesArgMemory();
  function->addFnAttr(llvm::Attribute::Cold);
  builder_.CreateCall(report, arguments);
  fail_with(builder_.getInt32(static_cast<std::uint32_t>(status)));
  builder_.SetInsertPoint(passing);
  // What was emitted for the report alone is not there.
  frame_.known.clear();
  frame_.depths.clear();
}

void KernelEmitter::timed(const Timed &statement) {
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::FunctionCallee clock = module_.getOrInsertFunction("tilewright_clock", i64);
  llvm::FunctionCallee add = module_.getOrInsertFunction(
      "tilewright_add_time", builder_.getVoidTy(), builder_.getPtrTy(), i64, i64);
  for (llvm::FunctionCallee callee : {clock, add}) {
    llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  }
  llvm::Value *start = builder_.CreateCall(clock, {});
  this->statement(*statement.children.at(0));
  builder_.CreateCall(
      add, {frame_.record, builder_.getInt64(static_cast<std::uint64_t>(statement.nest)), start});
}

} // namespace tilewright
