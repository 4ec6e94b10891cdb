// Statements that a vector's masks make cheap enough to run for no lane at all.
#pragma once

#include "loops/statement.h"

namespace tilewright {

/// Is it one store of a sum or product of a few elements side by side, which takes less time under
/// a mask of no lane than a branch around it that is predicted wrongly?
bool is_cheap_store(const StmtPtr &statement);

/// Does it read what all lanes share, which is there only where one lane reads it?
bool reads_shared(const StmtPtr &statement);

} // namespace tilewright
