// What must not be done where the program does not ask for it: memory is read that may not be
// there, and functions are called with arguments that they do not take.
#pragma once

#include "loops/statement.h"

namespace tilewright {

/// Whether the node itself, without its operands, may be computed anywhere.
inline bool is_speculable(const Value &value) { return !is<Load>(value) && !is<Extern>(value); }

/// Whether all values of the statements are such.
bool is_speculable(const StmtPtr &root);

} // namespace tilewright
