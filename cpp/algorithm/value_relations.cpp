#include "algorithm/value_relations.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

namespace tilewright {

namespace {

/// So many pieces of a relation are kept.
constexpr int most_pieces = 24;

} // namespace

Possible kept(isl_map *pairs, double lo, double hi) {
  isl::map found = checked(isl::manage(pairs), doing_possible_values).coalesce();
  if (isl_map_n_basic_map(found.get()) > most_pieces) {
    return std::nullopt;
  }
  return Values{found, lo, hi};
}

Possible computed(isl_map *pairs, double lo, double hi) {
  const Possible found = kept(pairs, lo, hi);
  return found && !found->may_wrap() ? found : std::nullopt;
}

isl::map any_value(const isl::set &instances) {
  isl_space *space = isl_space_from_domain(isl_set_get_space(instances.get()));
  return checked(isl::manage(isl_map_universe(isl_space_add_dims(space, isl_dim_out, 1))),
                 doing_possible_values);
}

Possible between(const isl::set &instances, double lo, double hi) {
  if (!(lo >= -largest_value && hi <= largest_value)) {
    return std::nullopt;
  }
  isl_map *pairs = any_value(instances).release();
  const auto number = [](double value) {
    return isl_val_int_from_si(isl_context().get(), static_cast<long>(value));
  };
  pairs = isl_map_lower_bound_val(pairs, isl_dim_out, 0, number(lo));
  pairs = isl_map_upper_bound_val(pairs, isl_dim_out, 0, number(hi));
  return kept(pairs, lo, hi);
}

isl::map value_relation(const std::string &conditions) {
  return checked(isl::map(isl_context(), "{ [a] -> [v] : " + conditions + " }"),
                 doing_possible_values);
}

isl_map *then(const Values &values, const isl::map &next) {
  return isl_map_apply_range(values.pairs.copy(), next.copy());
}

isl_map *sum(const Values &a, const Values &b, bool negate) {
  // isl_map_sum does not align parameters by itself.
  isl_map *first = isl_map_align_params(a.pairs.copy(), isl_map_get_space(b.pairs.get()));
  isl_map *second = isl_map_align_params(b.pairs.copy(), isl_map_get_space(first));
  return isl_map_sum(first, negate ? isl_map_neg(second) : second);
}

Possible either(const Possible &a, const Possible &b) {
  if (!a || !b) {
    return std::nullopt;
  }
  return kept(isl_map_union(a->pairs.copy(), b->pairs.copy()), std::min(a->lo, b->lo),
              std::max(a->hi, b->hi));
}

} // namespace tilewright
