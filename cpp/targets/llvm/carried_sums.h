// Sums of which a term comes from the iteration before: it is added last.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tilewright {

/// Of a sum whose terms may be added in any order (fast_math), those terms come last that wait for
/// the sum itself in an earlier iteration of the innermost loop, the one of the last iteration
/// behind all others:
///     y = ((b0 * x - a1 * y_1) - a2 * y_2) + c   # y_1, y_2: y one and two iterations ago
/// becomes
///     y = ((b0 * x + c) - a2 * y_2) - a1 * y_1
/// so that an iteration waits for one product and one addition of the one before, and not for as
/// many as there are terms. Of sums that are made of each other (the sections of a cascade of
/// filters), what is known last comes behind that, if there is enough to do besides. LLVM's own
/// order (Reassociate) is by where values are defined, which puts what a loop carries first.
///
/// The least and the largest of whole numbers are combined likewise, always, as no order of them
/// changes a bit: min(min(y_1 + 1, up + 1), diagonal) of an edit distance waits for one of them.
class AddCarriedLast : public llvm::PassInfoMixin<AddCarriedLast> {
public:
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &analyses);
};

} // namespace tilewright
