// Updates of elements that become less, or more: of distances in graphs, of tables of dynamic
// programming.
#pragma once

#include "loops/statement.h"

namespace tilewright {

/// Is it `if value < x[i]: x[i] = value`, or with another comparison, of a value that is computed
/// from a few elements side by side? Data decide about that as they like, so that a branch around
/// the lanes that take part is predicted wrongly again and again: a store under a mask of no lane
/// takes less time. (Other tests hold for none of the lanes more often, and then a branch saves
/// what is loaded.)
bool is_relaxation(const If &node);

/// Does it read what all lanes share, which is there only where one lane reads it?
bool reads_shared(const StmtPtr &statement);

} // namespace tilewright
