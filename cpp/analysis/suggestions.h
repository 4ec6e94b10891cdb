// What would be legal instead of a refused command: the loops that can be parallel or vectors, the
// shift that repairs a fusion. Each suggestion has been tried before it is made.
#pragma once

#include "analysis/legality.h"

#include <string>

namespace tilewright {

/// One sentence, or nothing when there is nothing to say.
std::string suggest(const Program &program, const Command &command, const Violation &violation);

} // namespace tilewright
