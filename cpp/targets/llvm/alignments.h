// Alignment that follows from that of neighbours.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tilewright {

/// Loads and stores of a block at constant distances from each other are as well aligned as the
/// best aligned of them says:
///     load p, align 16; load p + 272, align 4; load p + 280, align 4
/// has, after it, align 16, 16 and 8. LLVM finds alignments by a search of limited depth, which
/// misses that of some addresses a step beyond others; a GPU's loads of 16 bytes need it.
class ShareAlignments : public llvm::PassInfoMixin<ShareAlignments> {
public:
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &analyses);
};

} // namespace tilewright
