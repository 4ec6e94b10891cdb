// Vectors that overlap in memory, as x[j], x[j + 3] ... x[j + 18] of a stencil. Where a vector is
// as wide as a line of the cache, each load that is not aligned touches two of them, and they take
// longer than the sums. Loads that begin where the one before ends take their place, and shuffles
// of two neighbours give what lies between. Nothing else is read than before.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tilewright {

/// Wants addresses as common subexpression elimination leaves them: a pointer and a constant.
class ShareLoads : public llvm::PassInfoMixin<ShareLoads> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tilewright
