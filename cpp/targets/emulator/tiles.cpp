#include "targets/emulator/tiles.h"

#include "runtime/gpu_tiles.h"
#include "targets/llvm/calls.h"
#include "targets/llvm/device_calls.h"

namespace tilewright {

namespace {

constexpr unsigned sums_of_thread = 4;

TileOperands operands_of(ScalarType factor) {
  return factor == Float16    ? TileOperands::Half
         : factor == BFloat16 ? TileOperands::BFloat
                              : TileOperands::Tf32;
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
