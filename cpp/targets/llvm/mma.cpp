// A product of a warp's tile: the thread's elements, two of two bytes in a register, and its sums.
#include "mapping/mma_shapes.h"
#include "targets/llvm/device_calls.h"
#include "targets/llvm/thread_emitter.h"

namespace tilewright {

Term ThreadEmitter::mma(const Mma &value) {
  const MmaLayout &layout = layout_of(value.shape);
  const size_t factors = layout.left.size() + layout.right.size();
  if (value.operands.size() != factors + 4) {
    throw Error(ErrorKind::Internal, "a product of a tile is none of a GPU's warp");
  }
  llvm::Type *i32 = builder_.getInt32Ty();
  llvm::Type *single = builder_.getFloatTy();
  std::vector<llvm::Value *> arguments;
  if (layout.type == Float32) {
    llvm::FunctionCallee round = module_.getOrInsertFunction(tf32_function, i32, single);
    auto *function = llvm::cast<llvm::Function>(round.getCallee());
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();
    for (size_t k = 0; k < factors; ++k) {
      arguments.push_back(builder_.CreateCall(round, {scalar(*value.operands[k])}));
    }
  } else {
    for (size_t k = 0; k < factors; k += 2) {
      llvm::Value *first = scalar(*value.operands[k]);
      llvm::Value *pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(first->getType(), 2));
      pair = builder_.CreateInsertElement(pair, first, builder_.getInt64(0));
      pair =
          builder_.CreateInsertElement(pair, scalar(*value.operands[k + 1]), builder_.getInt64(1));
      arguments.push_back(builder_.CreateBitCast(pair, i32));
    }
  }
  for (size_t k = factors; k < value.operands.size(); ++k) {
    arguments.push_back(scalar(*value.operands[k]));
  }
  std::vector<llvm::Type *> types;
  for (const llvm::Value *argument : arguments) {
    types.push_back(argument->getType());
  }
  llvm::FunctionCallee product = module_.getOrInsertFunction(
      mma_function(value.shape),
      llvm::FunctionType::get(llvm::FixedVectorType::get(single, 4), types, false));
  auto *function = llvm::cast<llvm::Function>(product.getCallee());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::Convergent);
  return Term{builder_.CreateCall(product, arguments), nullptr};
}

Term ThreadEmitter::matrices(const Matrices &value) {
  const int count = value.type.lanes / 2;
  llvm::Type *i32 = builder_.getInt32Ty();
  auto *registers = llvm::FixedVectorType::get(i32, static_cast<unsigned>(count));
  llvm::FunctionCallee load = module_.getOrInsertFunction(
      matrices_function(count, value.transposed), registers, builder_.getPtrTy(), i32);
  auto *function = llvm::cast<llvm::Function>(load.getCallee());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::Convergent);
  const auto b = static_cast<size_t>(value.buffer);
  llvm::Value *row = address(b, value.subscripts(), 1).first;
  if (llvm::Value *inside = inside_of(value.subscripts())) {
    row = builder_.CreateSelect(inside, row, frame_.buffers.at(b).base);
  }
  llvm::Value *loaded =
      builder_.CreateCall(load, {row, builder_.getInt32(static_cast<std::uint32_t>(b))});
  return Term{
      builder_.CreateBitCast(loaded, register_type(context_, value.type.scalar, value.type.lanes)),
      nullptr};
}

} // namespace tilewright
