// What a kernel's cache key is taken over: everything that decides the machine code, as text. Two
// mappings with the same text lower to the same loops; source locations and the order in which
// commands were given play no part.
#pragma once

#include "compiler/compiler.h"
#include "mapping/mapping.h"

#include <string>

namespace tilewright {

/// Throws Error(Argument) for a CPU or device that the target does not know.
std::string canonical_text(const Mapping &mapping, const CompileOptions &options);

/// What decides it of all functions of these options: the versions, the processor and the options.
std::string canonical_text(const CompileOptions &options);

/// What the legality of a function's schedules follows from, beside their commands: the function,
/// and this build of the library.
std::string canonical_text(const Function &function);

} // namespace tilewright
