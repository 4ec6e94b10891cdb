#include "polyhedral/integer_set.h"
#include "polyhedral/integer_set_parts.h"
#include "polyhedral/set_text.h"

#include <isl/map.h>
#include <isl/union_map.h>

#include <algorithm>

namespace tilewright {

using namespace integer_set_parts;

IntegerMap IntegerMap::read(const std::string &text) {
  const OperationLimit limit(operation_limit);
  std::string problem;
  const isl::union_map pairs = parse_union_map(text, problem);
  if (pairs.is_null()) {
    std::string other;
    if (!parse_union_set(text, other).is_null()) {
      throw Error(ErrorKind::Set, "\"" + text + "\" is a set; tw.Set reads it");
    }
    throw Error(ErrorKind::Set, "isl cannot read the map \"" + text + "\": " + problem +
                                    "; expected maps such as \"[N] -> { S[i] -> A[i + 1] : 0 <= i "
                                    "< N; T[] -> A[0] }\"");
  }
  return IntegerMap(pairs);
}

std::string IntegerMap::text() const {
  const OperationLimit limit(operation_limit);
  return text_of(isl_union_map_to_str(pairs_.get()));
}

std::vector<std::string> IntegerMap::parameters() const {
  const OperationLimit limit(operation_limit);
  return parameters_of(checked(pairs_.space(), "the parameters of a map"));
}

std::vector<TupleShape> IntegerMap::tuples() const {
  const OperationLimit limit(operation_limit);
  std::vector<TupleShape> shapes;
  for (const isl::map &map : maps_of(pairs_)) {
    shapes.push_back(shape_of(map.space()));
  }
  return shapes;
}

std::string IntegerMap::spaces() const {
  const OperationLimit limit(operation_limit);
  return spaces_of(maps_of(pairs_));
}

// ---- questions ----

bool IntegerMap::is_empty() const {
  return limited("is_empty", [&] { return pairs_.is_empty(); });
}

bool IntegerMap::equals(const IntegerMap &other) const {
  return limited("comparing maps", [&] { return pairs_.is_equal(other.pairs_); });
}

bool IntegerMap::is_subset(const IntegerMap &other) const {
  return limited("comparing maps", [&] { return pairs_.is_subset(other.pairs_); });
}

bool IntegerMap::is_single_valued() const {
  return limited("is_single_valued", [&] { return pairs_.is_single_valued(); });
}

bool IntegerMap::is_injective() const {
  return limited("is_injective", [&] { return pairs_.is_injective(); });
}

// ---- of several maps ----

IntegerMap IntegerMap::unite(const IntegerMap &other) const {
  return IntegerMap(limited("union", [&] { return pairs_.unite(other.pairs_); }));
}

IntegerMap IntegerMap::intersect(const IntegerMap &other) const {
  require_matching(sides_of(*this, 0), sides_of(other, 0), "intersect (domains)");
  require_matching(sides_of(*this, 1), sides_of(other, 1), "intersect (ranges)");
  return IntegerMap(limited("intersect", [&] { return pairs_.intersect(other.pairs_); }));
}

IntegerMap IntegerMap::subtract(const IntegerMap &other) const {
  require_matching(sides_of(*this, 0), sides_of(other, 0), "subtract (domains)");
  require_matching(sides_of(*this, 1), sides_of(other, 1), "subtract (ranges)");
  return IntegerMap(limited("subtract", [&] { return pairs_.subtract(other.pairs_); }));
}

IntegerMap IntegerMap::product(const IntegerMap &other) const {
  return IntegerMap(limited("product", [&] { return pairs_.product(other.pairs_); }));
}

IntegerMap IntegerMap::range_product(const IntegerMap &other) const {
  require_matching(sides_of(*this, 0), sides_of(other, 0), "range_product");
  return IntegerMap(limited("range_product", [&] { return pairs_.range_product(other.pairs_); }));
}

IntegerMap IntegerMap::gist(const IntegerMap &context) const {
  require_matching(sides_of(*this, 0), sides_of(context, 0), "gist (domains)");
  require_matching(sides_of(*this, 1), sides_of(context, 1), "gist (ranges)");
  return IntegerMap(limited("gist", [&] { return pairs_.gist(context.pairs_); }));
}

IntegerMap IntegerMap::apply_range(const IntegerMap &other) const {
  require_matching(sides_of(*this, 1), sides_of(other, 0), "apply_range");
  return IntegerMap(limited("apply_range", [&] { return pairs_.apply_range(other.pairs_); }));
}

IntegerMap IntegerMap::apply_domain(const IntegerMap &other) const {
  require_matching(sides_of(*this, 0), sides_of(other, 0), "apply_domain");
  return IntegerMap(limited("apply_domain", [&] { return pairs_.apply_domain(other.pairs_); }));
}

IntegerMap IntegerMap::intersect_domain(const IntegerSet &set) const {
  require_matching(sides_of(*this, 0), set.tuples(), "intersect_domain");
  return IntegerMap(
      limited("intersect_domain", [&] { return pairs_.intersect_domain(set.points()); }));
}

IntegerMap IntegerMap::intersect_range(const IntegerSet &set) const {
  require_matching(sides_of(*this, 1), set.tuples(), "intersect_range");
  return IntegerMap(
      limited("intersect_range", [&] { return pairs_.intersect_range(set.points()); }));
}

IntegerMap IntegerMap::subtract_domain(const IntegerSet &set) const {
  require_matching(sides_of(*this, 0), set.tuples(), "subtract_domain");
  return IntegerMap(
      limited("subtract_domain", [&] { return pairs_.subtract_domain(set.points()); }));
}

IntegerMap IntegerMap::subtract_range(const IntegerSet &set) const {
  require_matching(sides_of(*this, 1), set.tuples(), "subtract_range");
  return IntegerMap(limited("subtract_range", [&] { return pairs_.subtract_range(set.points()); }));
}

// ---- of one map ----

IntegerMap IntegerMap::reverse() const {
  return IntegerMap(limited("reverse", [&] { return pairs_.reverse(); }));
}

IntegerSet IntegerMap::domain() const {
  return IntegerSet(limited("domain", [&] { return pairs_.domain(); }));
}

IntegerSet IntegerMap::range() const {
  return IntegerSet(limited("range", [&] { return pairs_.range(); }));
}

IntegerSet IntegerMap::deltas() const {
  for (const TupleShape &shape : tuples()) {
    if (!shape.nested[0].matches(shape.nested[1])) {
      throw Error(ErrorKind::Set, "deltas: " + shape.nested[0].text() + " -> " +
                                      shape.nested[1].text() +
                                      " leads from one space to another, so there is no "
                                      "difference; map both into one space first");
    }
  }
  return IntegerSet(limited("deltas", [&] { return pairs_.deltas(); }));
}

IntegerSet IntegerMap::wrap() const {
  return IntegerSet(limited("wrap", [&] { return pairs_.wrap(); }));
}

IntegerMap IntegerMap::lexmin() const {
  return IntegerMap(optimum("lexmin", [&] { return pairs_.lexmin(); }));
}

IntegerMap IntegerMap::lexmax() const {
  return IntegerMap(optimum("lexmax", [&] { return pairs_.lexmax(); }));
}

IntegerMap IntegerMap::coalesce() const {
  return IntegerMap(limited("coalesce", [&] { return pairs_.coalesce(); }));
}

IntegerMap IntegerMap::hull(Hull kind) const { return wrap().hull(kind).unwrap(); }

IntegerMap IntegerMap::project_out(bool of_range, const std::vector<unsigned> &positions) const {
  return IntegerMap(limited("project_out", [&] {
    isl::map map = only(maps_of(pairs_), "project_out", "pair of tuples");
    const unsigned dimensions =
        checked(of_range ? map.range_tuple_dim() : map.domain_tuple_dim(), "project_out");
    require_positions(positions, dimensions, "project_out");
    for (const unsigned position : descending(positions)) {
      map = map.project_out(of_range ? isl::dim::out : isl::dim::in, position, 1);
    }
    return isl::union_map(map);
  }));
}

IntegerMap IntegerMap::power(std::int64_t steps) const {
  if (steps == 0) {
    throw Error(ErrorKind::Set,
                "power: no step leads from each point to itself, and a map does not say which "
                "points there are; use the identity of a set, s.identity()");
  }
  return IntegerMap(limited("power", [&] { return pairs_.fixed_power(static_cast<long>(steps)); }));
}

std::pair<IntegerMap, bool> IntegerMap::transitive_closure() const {
  isl_bool exact = isl_bool_error;
  IntegerMap closure(limited("transitive_closure", [&] {
    return isl::manage(isl_union_map_transitive_closure(pairs_.copy(), &exact));
  }));
  return {std::move(closure), exact == isl_bool_true};
}

// ---- parameters ----

IntegerSet IntegerMap::parameter_values() const {
  return IntegerSet(limited("params", [&] { return isl::union_set(pairs_.params()); }));
}

IntegerMap IntegerMap::intersect_parameters(const IntegerSet &values) const {
  return IntegerMap(
      limited("intersect_params", [&] { return pairs_.intersect_params(parameter_part(values)); }));
}

IntegerMap IntegerMap::fix(const std::map<std::string, std::int64_t> &values) const {
  return IntegerMap(limited("fix", [&] { return fixed(pairs_, values); }));
}

IntegerMap IntegerMap::project_out_parameters(const std::vector<std::string> &names) const {
  require_parameters(names, parameters(), "project_out_params");
  return IntegerMap(limited("project_out_params", [&] { return without(pairs_, names); }));
}

} // namespace tilewright
