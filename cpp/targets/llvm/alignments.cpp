#include "targets/llvm/alignments.h"

#include "targets/llvm/passes.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Alignment.h>

#include <cstdint>

namespace tilewright {

namespace {

/// An access at a constant distance from a pointer.
struct Place {
  const llvm::Value *base;
  std::int64_t offset;
};

Place place_of(const llvm::Instruction &access, const llvm::DataLayout &layout) {
  const llvm::Value *pointer = llvm::getLoadStorePointerOperand(&access);
  llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const llvm::Value *base =
      pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  return {base, offset.getSExtValue()};
}

void set_alignment(llvm::Instruction &access, llvm::Align alignment) {
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&access)) {
    load->setAlignment(alignment);
  } else {
    llvm::cast<llvm::StoreInst>(access).setAlignment(alignment);
  }
}

/// Of all accesses by one pointer: the best alignment, and where.
struct Known {
  llvm::Align alignment;
  std::int64_t offset = 0;
};

bool share_in(llvm::BasicBlock &block, const llvm::DataLayout &layout) {
  llvm::DenseMap<const llvm::Value *, Known> best;
  const auto each_access = [&block](auto &&use) {
    for (llvm::Instruction &instruction : block) {
      if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) {
        use(instruction);
      }
    }
  };
  each_access([&](llvm::Instruction &access) {
    const Place place = place_of(access, layout);
    const llvm::Align own = llvm::getLoadStoreAlignment(&access);
    if (Known &known = best[place.base]; own > known.alignment) {
      known = {own, place.offset};
    }
  });
  bool changed = false;
  each_access([&](llvm::Instruction &access) {
    const Place place = place_of(access, layout);
    const Known &known = best[place.base];
    const auto distance = static_cast<std::uint64_t>(place.offset - known.offset);
    const llvm::Align alignment = llvm::commonAlignment(known.alignment, distance);
    if (alignment > llvm::getLoadStoreAlignment(&access)) {
      set_alignment(access, alignment);
      changed = true;
    }
  });
  return changed;
}

} // namespace

llvm::PreservedAnalyses ShareAlignments::run(llvm::Function &function,
                                             llvm::FunctionAnalysisManager & /*analyses*/) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  bool changed = false;
  for (llvm::BasicBlock &block : function) {
    changed = share_in(block, layout) || changed;
  }
  return all_but_instructions(changed);
}

} // namespace tilewright
