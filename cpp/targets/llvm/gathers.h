// Neighbours of one address for each lane, as x[i] and x[i + 1] in an interpolation: two gathers of
// four-byte elements beside each other become one of eight bytes and two shuffles, since a gather
// costs about as much as its lanes, however wide. Nothing else is read than before.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tilewright {

/// Wants addresses as common subexpression elimination leaves them: a pointer for all lanes, and
/// equal offsets in the same value.
class MergeGathers : public llvm::PassInfoMixin<MergeGathers> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tilewright
