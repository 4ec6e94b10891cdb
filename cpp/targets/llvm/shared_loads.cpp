#include "targets/llvm/shared_loads.h"

#include "hardware/processor.h"
#include "targets/llvm/passes.h"

#include <llvm/ADT/APInt.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

/// Shuffles of two whole vectors are one instruction for these.
constexpr unsigned smallest_element_bits = 32;

/// load(base + offset)
struct Wide {
  llvm::LoadInst *load;
  std::int64_t offset;
};

/// Of one base and type, in the order of the block; nothing is written between them.
using Wides = llvm::MapVector<std::pair<llvm::Value *, llvm::Type *>, std::vector<Wide>>;

/// As wide as a line, or what shuffles take a part from, such as every other element: they may as
/// well take it from two vectors, and two that take theirs from the same ones have steps in common.
bool is_wide(const llvm::LoadInst &load, const llvm::DataLayout &layout,
             const llvm::TargetTransformInfo &target) {
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(load.getType());
  if (type == nullptr || !load.isSimple() || type->getScalarSizeInBits() < smallest_element_bits) {
    return false;
  }
  const bool is_line =
      layout.getTypeStoreSize(type) == static_cast<std::uint64_t>(cache_line_bytes) &&
      target.isTypeLegal(type);
  return is_line || (type->getNumElements() > 1 && !load.use_empty() &&
                     std::all_of(load.user_begin(), load.user_end(), [](const llvm::User *user) {
                       return llvm::isa<llvm::ShuffleVectorInst>(user);
                     }));
}

bool may_write(const llvm::Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return instruction.mayWriteToMemory() &&
         (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::prefetch);
}

/// Loads each of which begins within the one before, or at its end.
class Run {
public:
  Run(llvm::Value *base, const std::vector<Wide> &wides, size_t first, size_t end)
      : base_(base), wides_(wides.begin() + static_cast<std::ptrdiff_t>(first),
                            wides.begin() + static_cast<std::ptrdiff_t>(end)) {}

  bool share() {
    const std::int64_t lowest = wides_.front().offset;
    const std::int64_t highest = wides_.back().offset;
    auto *type = llvm::cast<llvm::FixedVectorType>(wides_.front().load->getType());
    element_bytes_ = type->getScalarSizeInBits() / 8;
    lanes_ = static_cast<int>(type->getNumElements());
    for (std::int64_t offset = lowest; offset < highest; offset += bytes()) {
      parts_[offset] = nullptr;
    }
    parts_[highest] = nullptr;
    const bool fits = std::all_of(wides_.begin(), wides_.end(), [&](const Wide &wide) {
      return (wide.offset - lowest) % element_bytes_ == 0;
    });
    if (!fits || parts_.size() >= wides_.size()) {
      return false;
    }
    load_parts();
    for (const Wide &wide : wides_) {
      llvm::IRBuilder<> builder(wide.load);
      wide.load->replaceAllUsesWith(value_at(wide.offset, builder));
    }
    for (const Wide &wide : wides_) {
      wide.load->eraseFromParent();
    }
    return true;
  }

private:
  /// In the place of the load that comes first.
  void load_parts() {
    llvm::LoadInst *first = wides_.front().load;
    llvm::Align alignment = first->getAlign();
    for (const Wide &wide : wides_) {
      first = wide.load->comesBefore(first) ? wide.load : first;
      alignment = std::min(alignment, wide.load->getAlign());
    }
    llvm::IRBuilder<> builder(first);
    for (auto &[offset, part] : parts_) {
      llvm::Value *address = builder.CreateGEP(
          builder.getInt8Ty(), base_, llvm::ConstantInt::getSigned(builder.getInt64Ty(), offset));
      llvm::LoadInst *load = builder.CreateAlignedLoad(first->getType(), address, alignment);
      load->copyMetadata(*first);
      part = load;
    }
  }

  llvm::Value *value_at(std::int64_t offset, llvm::IRBuilder<> &builder) const {
    const auto after = parts_.upper_bound(offset);
    const auto before = std::prev(after);
    if (before->first == offset) {
      return before->second;
    }
    llvm::SmallVector<int, 16> pick;
    for (int lane = 0; lane < lanes_; ++lane) {
      const std::int64_t at = offset + lane * element_bytes_;
      const bool is_before = at < before->first + bytes();
      const std::int64_t within = (at - (is_before ? before : after)->first) / element_bytes_;
      pick.push_back(static_cast<int>(within) + (is_before ? 0 : lanes_));
    }
    return builder.CreateShuffleVector(before->second, after->second, pick);
  }

  std::int64_t bytes() const { return lanes_ * element_bytes_; }

  llvm::Value *base_;
  std::vector<Wide> wides_; ///< by offset
  std::map<std::int64_t, llvm::Value *> parts_;
  std::int64_t element_bytes_ = 0;
  int lanes_ = 0;
};

bool share(Wides &&of_bases) {
  bool changed = false;
  for (auto &[key, wides] : of_bases) {
    std::sort(wides.begin(), wides.end(),
              [](const Wide &a, const Wide &b) { return a.offset < b.offset; });
    for (size_t first = 0; first < wides.size();) {
      size_t end = first + 1;
      const auto bytes =
          static_cast<std::int64_t>(key.second->getPrimitiveSizeInBits().getFixedValue() / 8);
      while (end < wides.size() && wides[end].offset - wides[end - 1].offset <= bytes) {
        ++end;
      }
      changed = Run(key.first, wides, first, end).share() || changed;
      first = end;
    }
  }
  return changed;
}

} // namespace

llvm::PreservedAnalyses ShareLoads::run(llvm::Function &function,
                                        llvm::FunctionAnalysisManager &analyses) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  const auto &target = analyses.getResult<llvm::TargetIRAnalysis>(function);
  bool changed = false;
  for (llvm::BasicBlock &block : function) {
    Wides unchanging; // of memory that is not written while the function runs
    Wides others;
    const auto end = [&](Wides &wides) { changed = share(std::exchange(wides, {})) || changed; };
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
      auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load != nullptr && is_wide(*load, layout, target)) {
        llvm::APInt offset(layout.getIndexTypeSizeInBits(load->getPointerOperandType()), 0);
        llvm::Value *base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
            layout, offset, /*AllowNonInbounds=*/true);
        Wides &wides =
            load->hasMetadata(llvm::LLVMContext::MD_invariant_load) ? unchanging : others;
        wides[{base, load->getType()}].push_back({load, offset.getSExtValue()});
      } else if (!llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction)) {
        end(unchanging);
        end(others);
      } else if (may_write(instruction)) {
        end(others);
      }
    }
    end(unchanging);
    end(others);
  }
  return all_but_instructions(changed);
}

} // namespace tilewright
