// Comparisons of vectors of half-precision numbers on machines that only store these. LLVM computes
// sums and products of such vectors in single precision, and takes comparisons apart, lane by lane,
// at some ten instructions each. Here they compare single-precision numbers, which is as exact.
#pragma once

#include <llvm/IR/PassManager.h>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// Belongs behind all passes that simplify: they would take the conversions away again.
class WidenHalfComparisons : public llvm::PassInfoMixin<WidenHalfComparisons> {
public:
  explicit WidenHalfComparisons(const llvm::TargetMachine &machine) : machine_(&machine) {}

  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);

private:
  const llvm::TargetMachine *machine_;
};

} // namespace tilewright
