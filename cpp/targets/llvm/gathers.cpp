#include "targets/llvm/gathers.h"

#include "targets/llvm/passes.h"

#include <llvm/ADT/APInt.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

constexpr unsigned element_bits = 32;
constexpr std::int64_t element_bytes = element_bits / 8;

/// llvm.masked.gather(base + distance + offsets, mask)
struct Gather {
  llvm::IntrinsicInst *call;
  llvm::Value *pointer; ///< base + distance
  llvm::Value *base;
  std::int64_t distance;
  llvm::Value *offsets;

  llvm::Value *mask() const { return call->getArgOperand(2); }
  bool is_beside(const Gather &other) const {
    const std::int64_t apart = distance - other.distance;
    return base == other.base && offsets == other.offsets && mask() == other.mask() &&
           call->getType() == other.call->getType() &&
           (apart == element_bytes || apart == -element_bytes);
  }
};

/// What lanes without part get: nothing that matters.
bool is_nothing(const llvm::Value *value) {
  const auto *constant = llvm::dyn_cast<llvm::Constant>(value);
  return constant != nullptr &&
         (constant->isNullValue() || llvm::isa<llvm::UndefValue>(constant)); // or poison
}

std::optional<Gather> as_gather(llvm::Instruction &instruction, const llvm::DataLayout &layout) {
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::masked_gather ||
      call->getType()->getScalarSizeInBits() != element_bits ||
      !llvm::isa<llvm::FixedVectorType>(call->getType()) || !is_nothing(call->getArgOperand(3))) {
    return std::nullopt;
  }
  const auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(call->getArgOperand(0));
  if (address == nullptr || address->getNumIndices() != 1 ||
      !address->getSourceElementType()->isIntegerTy(8) ||
      address->getPointerOperand()->getType()->isVectorTy()) {
    return std::nullopt;
  }
  Gather gather{call, address->getOperand(0), nullptr, 0, address->getOperand(1)};
  llvm::APInt distance(layout.getIndexTypeSizeInBits(gather.pointer->getType()), 0);
  gather.base = gather.pointer->stripAndAccumulateConstantOffsets(layout, distance,
                                                                  /*AllowNonInbounds=*/true);
  gather.distance = distance.getSExtValue();
  return gather;
}

/// In the place of the one that comes first.
void merge(const Gather &first, const Gather &second) {
  llvm::IRBuilder<> builder(first.call);
  auto *type = llvm::cast<llvm::FixedVectorType>(first.call->getType());
  const unsigned lanes = type->getNumElements();
  const bool is_lower = first.distance < second.distance;
  llvm::Value *lowest =
      is_lower
          ? first.pointer
          : builder.CreateGEP(builder.getInt8Ty(), first.pointer,
                              llvm::ConstantInt::getSigned(builder.getInt64Ty(), -element_bytes));
  auto *pairs = llvm::FixedVectorType::get(builder.getIntNTy(2 * element_bits), lanes);
  const auto *alignment = llvm::cast<llvm::ConstantInt>(first.call->getArgOperand(1));
  llvm::CallInst *both = builder.CreateMaskedGather(
      pairs, builder.CreateGEP(builder.getInt8Ty(), lowest, first.offsets),
      alignment->getMaybeAlignValue().valueOrOne(), first.mask(),
      llvm::Constant::getNullValue(pairs));
  both->copyMetadata(*first.call);
  llvm::Value *elements =
      builder.CreateBitCast(both, llvm::FixedVectorType::get(type->getElementType(), 2 * lanes));
  llvm::SmallVector<int, 32> even;
  llvm::SmallVector<int, 32> odd;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    even.push_back(static_cast<int>(2 * lane));
    odd.push_back(static_cast<int>(2 * lane + 1));
  }
  first.call->replaceAllUsesWith(builder.CreateShuffleVector(elements, is_lower ? even : odd));
  second.call->replaceAllUsesWith(builder.CreateShuffleVector(elements, is_lower ? odd : even));
  first.call->eraseFromParent();
  second.call->eraseFromParent();
}

} // namespace

llvm::PreservedAnalyses MergeGathers::run(llvm::Function &function,
                                          llvm::FunctionAnalysisManager & /*analyses*/) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  if (!layout.isLittleEndian()) {
    return llvm::PreservedAnalyses::all();
  }
  bool changed = false;
  for (llvm::BasicBlock &block : function) {
    std::vector<Gather> open; // which nothing has been written since
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
      if (instruction.mayWriteToMemory()) {
        open.clear();
        continue;
      }
      const std::optional<Gather> gather = as_gather(instruction, layout);
      if (!gather) {
        continue;
      }
      const auto partner = std::find_if(
          open.begin(), open.end(), [&](const Gather &other) { return gather->is_beside(other); });
      if (partner == open.end()) {
        open.push_back(*gather);
        continue;
      }
      merge(*partner, *gather);
      open.erase(partner);
      changed = true;
    }
  }
  return all_but_instructions(changed);
}

} // namespace tilewright
