// What a kernel's cache key is taken over: everything that decides the machine code, as text. Two
// mappings with the same text lower to the same loops; source locations and the order in which
// commands were given play no part.
#pragma once

#include "compiler/compiler.h"
#include "mapping/mapping.h"
#include "runtime/jit.h"

#include <string>

namespace tilewright {

std::string canonical_text(const Mapping &mapping, const CompileOptions &options,
                           const CpuDescription &cpu);

} // namespace tilewright
