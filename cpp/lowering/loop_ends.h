// Loops as isl makes them that have no end.
#pragma once

#include "polyhedral/isl.h"

namespace tilewright {

/// Does a loop end by a condition in which its own counter stands beside the comparison, or by
/// none?
bool ends_by_its_own_counter(const isl::ast_node &root);

} // namespace tilewright
