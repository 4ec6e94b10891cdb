// Subscripts that data give, and that count from the end where they are negative: seldom are they.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tilewright {

/// A subscript is looked at as it is before it is moved by the extent:
///     at = value < 0 ? value + n : value;  if (at is not in [0, n)) fail;  use at
/// becomes
///     at = value;  if (value is not in [0, n)) { at = value < 0 ? value + n : value;
///                                                if (at is not in [0, n)) fail; }  use at
/// so that most elements are found without the choice. Belongs behind all passes that simplify:
/// they would make the choice of it again.
class WrapSeldom : public llvm::PassInfoMixin<WrapSeldom> {
public:
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &analyses);
};

} // namespace tilewright
