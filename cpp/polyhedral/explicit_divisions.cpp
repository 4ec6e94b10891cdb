#include "polyhedral/explicit_divisions.h"

#include "polyhedral/integer_set_parts.h"

#include <isl/union_set.h>

namespace tilewright {

IntegerSet explicit_divisions(const IntegerSet &set) {
  return IntegerSet(integer_set_parts::limited("explicit_divisions", [&] {
    return isl::manage(isl_union_set_compute_divs(set.points().copy()));
  }));
}

} // namespace tilewright
