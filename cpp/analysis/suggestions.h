// What would be legal instead of a refused command: the loops that can be parallel or vectors, the
// shift that repairs a fusion, the placement that takes computations out of a shared loop. Each
// suggestion has been tried before it is made.
#pragma once

#include "analysis/legality.h"

#include <string>

namespace tilewright {

/// One sentence, or nothing when there is nothing to say. `mapping`: before the command, or null
/// where it is not known.
std::string suggest(const Program &program, const Command &command, const Violation &violation,
                    const Mapping *mapping);

} // namespace tilewright
