// Values of several iterations of a loop in the lanes of a vector, where what is read lies side by
// side.
#pragma once

#include "loops/build.h"

#include <cstdint>

namespace tilewright {

/// Of one vector of terms: two registers of 32 bytes, or one of 64.
inline constexpr int term_vector_bytes = 64;
/// Loops of fewer vectors stay as they are.
inline constexpr std::int64_t fewest_vectors = 2;

/// Has it fewer, whatever the sizes are?
bool is_short(const For &loop, int lanes);

/// Makes of a value of one iteration that of `lanes` iterations, the first of which is `at`.
class TermsInLanes {
public:
  TermsInLanes(std::int64_t variable, int lanes) : variable_(variable), lanes_(lanes) {}

  /// Null where elements that are read do not lie side by side.
  ValuePtr operator()(const ValuePtr &value, const ValuePtr &at) const;

private:
  ValuePtr loaded(const Load &read, const ValuePtr &at) const;

  std::int64_t variable_;
  int lanes_;
};

} // namespace tilewright
