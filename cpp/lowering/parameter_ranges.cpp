#include "lowering/parameter_ranges.h"

#include <isl/ilp.h>
#include <isl/set.h>
#include <isl/val.h>

namespace tilewright {

Ranges parameter_ranges(const Program &program) {
  Ranges ranges;
  isl::set points = program.context;
  const int count = isl_set_dim(points.get(), isl_dim_param);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    const char *name = isl_set_get_dim_name(points.get(), isl_dim_param, static_cast<unsigned>(i));
    names.emplace_back(name == nullptr ? "" : name);
  }
  isl_set *moved = isl_set_move_dims(isl_set_from_params(points.copy()), isl_dim_set, 0,
                                     isl_dim_param, 0, static_cast<unsigned>(count));
  points = checked(isl::manage(moved), "reading the context");
  const auto bound = [](isl_val *raw) -> std::optional<std::int64_t> {
    const isl::val value = isl::manage(raw);
    constexpr long widest = 1L << 62;
    if (value.is_null() || isl_val_is_int(value.get()) != isl_bool_true ||
        isl_val_cmp_si(value.get(), widest) > 0 || isl_val_cmp_si(value.get(), -widest) < 0) {
      return std::nullopt;
    }
    return isl_val_get_num_si(value.get());
  };
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    for (int d = 0; d < count; ++d) {
      if (names[static_cast<size_t>(d)] == program.parameters[i]) {
        ranges.parameters[static_cast<std::int64_t>(i)] = {
            bound(isl_set_dim_min_val(points.copy(), d)),
            bound(isl_set_dim_max_val(points.copy(), d))};
      }
    }
  }
  return ranges;
}

} // namespace tilewright
