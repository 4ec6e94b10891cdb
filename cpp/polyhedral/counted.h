// Numbers of things, as messages write them.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// "1 argument", "2 arguments": a number of what has a name in the singular.
inline std::string counted(std::int64_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

} // namespace tilewright
