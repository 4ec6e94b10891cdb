#include "polyhedral/integer_value.h"

#include <isl/val.h>

#include <limits>

namespace tilewright {

std::optional<std::int64_t> small_integer(const isl::val &value) {
  if (value.is_null() || isl_val_is_int(value.get()) != isl_bool_true ||
      isl_val_n_abs_num_chunks(value.get(), sizeof(std::uint64_t)) > 1) {
    return std::nullopt;
  }
  std::uint64_t magnitude = 0;
  if (isl_val_get_abs_num_chunks(value.get(), sizeof magnitude, &magnitude) < 0 ||
      magnitude > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  const auto number = static_cast<std::int64_t>(magnitude);
  return isl_val_sgn(value.get()) < 0 ? -number : number;
}

} // namespace tilewright
