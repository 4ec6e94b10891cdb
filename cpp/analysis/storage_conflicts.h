// Which values are alive at one time, so that they cannot share a place. A value lives from its
// first write to its last read; where loops are not ordered, lives that may overlap do. Smallest
// buffers follow: a dimension of the places may be folded (taken modulo m) where no two values that
// are alive at one time lie a multiple of m apart (successive modulo: Lefebvre and Feautrier).
#pragma once

#include "mapping/program.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright {

/// Of two places, which coordinates agree where one of them, the folded one, differs.
enum class Agreeing {
  Others, ///< all but the folded one: it alone is folded
  Outer ///< those before it, which are folded already so that values whose others differ are apart
};

/// The places (without names) of a computation's elements and the dimension that is to be folded.
struct FoldQuestion {
  std::string computation;
  isl::map places; ///< computation[iterators] -> [index]
  unsigned dimension = 0;
  Agreeing agreeing = Agreeing::Others;
};

/// The distances along the dimension between places of values that are alive at one time, a set of
/// one dimension; 0 is none of them. `program` says when everything runs; where it stores the
/// computation does not matter.
isl::set distances_of_lives(const Program &program, const FoldQuestion &question);

/// The smallest number from 1 to `most` of which no distance is a multiple; nothing where there is
/// none.
std::optional<std::int64_t> smallest_modulus(const isl::set &distances, std::int64_t most);

} // namespace tilewright
