#include "mapping/compare_loops.h"

#include "polyhedral/compare_values.h"

#include <isl/aff.h>
#include <isl/map.h>

#include <vector>

namespace tilewright {

namespace {

constexpr const char *doing_compare_loops = "the order of instances";

/// Loops with so few pairs of cases are compared at once, by isl's own functions.
constexpr isl_size few_pairs = 8;

bool is_empty(const isl::map &map) { return checked(map.is_empty(), doing_compare_loops); }

bool has_few_cases(const isl::pw_aff &first, const isl::pw_aff &second) {
  return isl_pw_aff_n_piece(first.get()) * isl_pw_aff_n_piece(second.get()) <= few_pairs;
}

struct Case {
  isl::set where;
  isl::pw_aff value;
};

std::vector<Case> cases_of(const isl::pw_aff &loop) {
  std::vector<Case> cases;
  const isl::stat done = loop.foreach_piece([&](const isl::set &where, const isl::aff &value) {
    cases.push_back({where, isl::pw_aff(value)});
    return isl::stat::ok();
  });
  if (done.is_error()) {
    throw_isl_error(doing_compare_loops);
  }
  return cases;
}

/// Case by case: of the first loop, then of the second one where pairs are left.
ComparedLoops by_cases(const isl::map &pairs, const isl::pw_aff &first, const isl::pw_aff &second) {
  const isl::map none = isl::map::empty(pairs.space());
  ComparedLoops found{none, none, none};
  const std::vector<Case> others = cases_of(second);
  for (const Case &one : cases_of(first)) {
    const isl::map from = pairs.intersect_domain(one.where);
    if (is_empty(from)) {
      continue;
    }
    for (const Case &other : others) {
      const isl::map both = from.intersect_range(other.where);
      if (is_empty(both)) {
        continue;
      }
      const isl::map larger = both.intersect(larger_values(both.space(), one.value, other.value));
      const isl::map smaller = both.intersect(smaller_values(both.space(), one.value, other.value));
      const bool differs = !is_empty(larger) || !is_empty(smaller);
      found.larger = found.larger.unite(larger);
      found.smaller = found.smaller.unite(smaller);
      found.equal = found.equal.unite(
          differs ? both.intersect(equal_values(both.space(), one.value, other.value)) : both);
    }
  }
  if (is_empty(found.larger) && is_empty(found.smaller)) {
    found.equal = pairs; // in as few parts as it was
  }
  return {checked(found.larger, doing_compare_loops), checked(found.smaller, doing_compare_loops),
          checked(found.equal, doing_compare_loops)};
}

} // namespace

ComparedLoops compare_loops(const isl::map &pairs, const isl::pw_aff &first,
                            const isl::pw_aff &second, bool with_smaller) {
  if (!has_few_cases(first, second)) {
    return by_cases(pairs, first, second);
  }
  return {
      checked(pairs.intersect(larger_values(pairs.space(), first, second)), doing_compare_loops),
      with_smaller ? checked(pairs.intersect(smaller_values(pairs.space(), first, second)),
                             doing_compare_loops)
                   : isl::map(),
      checked(pairs.intersect(equal_values(pairs.space(), first, second)), doing_compare_loops)};
}

isl::map with_equal_loops(const isl::map &pairs, const isl::pw_aff &first,
                          const isl::pw_aff &second) {
  return has_few_cases(first, second)
             ? checked(pairs.intersect(equal_values(pairs.space(), first, second)),
                       doing_compare_loops)
             : by_cases(pairs, first, second).equal;
}

bool have_equal_loops(const isl::map &pairs, const isl::pw_aff &first, const isl::pw_aff &second) {
  if (has_few_cases(first, second)) {
    return checked(pairs.is_subset(equal_values(pairs.space(), first, second)),
                   doing_compare_loops);
  }
  const ComparedLoops found = by_cases(pairs, first, second);
  return is_empty(found.larger) && is_empty(found.smaller);
}

} // namespace tilewright
