#include "targets/nvptx/tiles.h"

#include "runtime/gpu_tiles.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <array>
#include <functional>
#include <vector>

namespace tilewright {

namespace {

constexpr unsigned sums_of_thread = 4;

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

TileOperands operands_of(ScalarType factor) {
  return factor == Float16    ? TileOperands::Half
         : factor == BFloat16 ? TileOperands::BFloat
                              : TileOperands::Tf32;
}

/// Puts what `make` makes in the place of each call, and forgets the function.
void replace_calls(
    llvm::Module &module, const std::string &name,
    const std::function<llvm::Value *(llvm::CallInst *, llvm::IRBuilder<> &)> &make) {
  llvm::Function *function = module.getFunction(name);
  if (function == nullptr) {
    return;
  }
  std::vector<llvm::CallInst *> calls;
  for (llvm::User *user : function->users()) {
    calls.push_back(llvm::cast<llvm::CallInst>(user));
  }
  for (llvm::CallInst *call : calls) {
    llvm::IRBuilder<> builder(call);
    call->replaceAllUsesWith(make(call, builder));
    call->eraseFromParent();
  }
  function->eraseFromParent();
}

} // namespace

std::string mma_function(MmaShape shape) {
  const MmaLayout &layout = layout_of(shape);
  return std::string("tilewright_gpu_mma_") + layout.name + "_" + layout.operands;
}

std::string matrices_function(int count, bool transposed) {
  return "tilewright_gpu_matrices_" + std::to_string(count) + (transposed ? "_transposed" : "");
}

namespace {

constexpr std::array numbers_of_matrices = {1, 2, 4};

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

/// Memory at the start of the call's function, in which it hands registers over.
llvm::Value *slot_for(llvm::CallInst *call, llvm::Type *type) {
  llvm::BasicBlock &entry = call->getFunction()->getEntryBlock();
  return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
}

void lower_matrices_for_emulator(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i32 = llvm::Type::getInt32Ty(context);
  llvm::Type *pointer = llvm::PointerType::get(context, 0);
  std::uint32_t number = 0;
  for (const int count : numbers_of_matrices) {
    for (const bool transposed : {false, true}) {
      replace_calls(module, matrices_function(count, transposed),
                    [&](llvm::CallInst *call, llvm::IRBuilder<> &builder) {
                      llvm::FunctionCallee load =
                          module.getOrInsertFunction("tilewright_gpu_matrices", builder.getVoidTy(),
                                                     i32, i32, i32, i32, pointer, pointer);
                      llvm::cast<llvm::Function>(load.getCallee())->setDoesNotThrow();
                      llvm::Value *slot = slot_for(call, call->getType());
                      builder.CreateCall(load, {builder.getInt32(number++), call->getArgOperand(1),
                                                builder.getInt32(static_cast<std::uint32_t>(count)),
                                                builder.getInt32(transposed ? 1 : 0),
                                                call->getArgOperand(0), slot});
                      return builder.CreateAlignedLoad(call->getType(), slot, llvm::Align(4));
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

void lower_tiles_for_emulator(llvm::Module &module) {
  lower_matrices_for_emulator(module);
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i32 = llvm::Type::getInt32Ty(context);
  llvm::Type *pointer = llvm::PointerType::get(context, 0);
  std::int32_t count = 0;
  for (int number = 0; number < mma_shapes; ++number) {
    const auto shape = static_cast<MmaShape>(number);
    const MmaLayout &layout = layout_of(shape);
    replace_calls(
        module, mma_function(shape), [&](llvm::CallInst *call, llvm::IRBuilder<> &builder) {
          llvm::FunctionCallee product =
              module.getOrInsertFunction("tilewright_gpu_mma", llvm::Type::getVoidTy(context), i32,
                                         i32, i32, pointer, pointer);
          llvm::cast<llvm::Function>(product.getCallee())->setDoesNotThrow();
          const unsigned registers = call->arg_size() - sums_of_thread;
          llvm::Value *factors = slot_for(call, llvm::ArrayType::get(i32, registers));
          llvm::Value *sums = slot_for(call, call->getType());
          for (unsigned k = 0; k < call->arg_size(); ++k) {
            const bool is_factor = k < registers;
            llvm::Value *place = builder.CreateConstInBoundsGEP1_64(i32, is_factor ? factors : sums,
                                                                    is_factor ? k : k - registers);
            builder.CreateStore(call->getArgOperand(k), place);
          }
          builder.CreateCall(
              product, {builder.getInt32(static_cast<std::uint32_t>(count++)),
                        builder.getInt32(static_cast<std::uint32_t>(operands_of(layout.type))),
                        builder.getInt32(static_cast<std::uint32_t>(layout.depth)), factors, sums});
          return builder.CreateAlignedLoad(call->getType(), sums, llvm::Align(4));
        });
  }
}

} // namespace tilewright
