// What our own passes over LLVM's code have in common.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tilewright {

/// Of a pass that has changed instructions, if anything, and no branches.
inline llvm::PreservedAnalyses all_but_instructions(bool changed) {
  if (!changed) {
    return llvm::PreservedAnalyses::all();
  }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

} // namespace tilewright
