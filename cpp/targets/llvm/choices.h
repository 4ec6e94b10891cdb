// Choices that data make. A branch that is guessed wrong costs as much as some twenty operations,
// so LLVM is told not to make branches of them; choices that indices make are guessed well.
#pragma once

#include <llvm/IR/Value.h>

namespace tilewright {

/// Marks a select of which the condition compares what was loaded, unless one side of it is so
/// costly (a division, a root, a call) that it is better left out. Anything else stays as it is.
void mark_choice_of_data(llvm::Value *choice);

} // namespace tilewright
