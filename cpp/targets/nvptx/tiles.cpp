#include "targets/nvptx/tiles.h"

#include "targets/llvm/calls.h"
#include "targets/llvm/device_calls.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <vector>

namespace tilewright {

namespace {

llvm::Intrinsic::ID instruction_of(MmaShape shape) {
  switch (shape) {
  case MmaShape::HalfOf8:
    return llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_f32_f32;
  case MmaShape::HalfOf16:
    return llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32;
  case MmaShape::BFloatOf8:
    return llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_bf16;
  case MmaShape::BFloatOf16:
    return llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
  case MmaShape::Tf32Of8:
    return llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32;
  }
  return llvm::Intrinsic::not_intrinsic;
}

llvm::Intrinsic::ID matrix_load_of(int count, bool transposed) {
  using namespace llvm::Intrinsic;
  switch (count) {
  case 1:
    return transposed ? nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16
                      : nvvm_ldmatrix_sync_aligned_m8n8_x1_b16;
  case 2:
    return transposed ? nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                      : nvvm_ldmatrix_sync_aligned_m8n8_x2_b16;
  default:
    return transposed ? nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                      : nvvm_ldmatrix_sync_aligned_m8n8_x4_b16;
  }
}

/// A register's worth of several, which an intrinsic gives as a structure, as a vector.
llvm::Value *as_vector(llvm::IRBuilder<> &builder, llvm::Value *parts, llvm::Type *vector) {
  llvm::Value *result = llvm::PoisonValue::get(vector);
  const unsigned count = llvm::cast<llvm::FixedVectorType>(vector)->getNumElements();
  for (unsigned k = 0; k < count; ++k) {
    llvm::Value *part =
        parts->getType()->isStructTy() ? builder.CreateExtractValue(parts, k) : parts;
    result = builder.CreateInsertElement(result, part, builder.getInt64(k));
  }
  return result;
}

void lower_matrices_for_ptx(llvm::Module &module) {
  constexpr unsigned shared_space = 3;
  for (const int count : numbers_of_matrices) {
    for (const bool transposed : {false, true}) {
      replace_calls(module, matrices_function(count, transposed),
                    [&](llvm::CallInst *call, llvm::IRBuilder<> &builder) {
                      llvm::Type *shared =
                          llvm::PointerType::get(module.getContext(), shared_space);
                      llvm::CallInst *loaded = builder.CreateIntrinsic(
                          matrix_load_of(count, transposed), {shared},
                          {builder.CreateAddrSpaceCast(call->getArgOperand(0), shared)});
                      loaded->addFnAttr(llvm::Attribute::Convergent);
                      return as_vector(builder, loaded, call->getType());
                    });
    }
  }
}

} // namespace

void lower_tiles_for_ptx(llvm::Module &module) {
  lower_matrices_for_ptx(module);
  for (int number = 0; number < mma_shapes; ++number) {
    const auto shape = static_cast<MmaShape>(number);
    const bool is_half = layout_of(shape).type == Float16;
    replace_calls(
        module, mma_function(shape), [&](llvm::CallInst *call, llvm::IRBuilder<> &builder) {
          std::vector<llvm::Value *> arguments;
          for (llvm::Value *argument : call->args()) {
            const bool is_factor = argument->getType()->isIntegerTy();
            arguments.push_back(is_half && is_factor
                                    ? builder.CreateBitCast(argument, llvm::FixedVectorType::get(
                                                                          builder.getHalfTy(), 2))
                                    : argument);
          }
          llvm::CallInst *sums = builder.CreateIntrinsic(instruction_of(shape), {}, arguments);
          sums->addFnAttr(llvm::Attribute::Convergent);
          return as_vector(builder, sums, call->getType());
        });
  }
  replace_calls(module, tf32_function, [](llvm::CallInst *call, llvm::IRBuilder<> &builder) {
    return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_f2tf32_rna, {}, {call->getArgOperand(0)});
  });
}

} // namespace tilewright
