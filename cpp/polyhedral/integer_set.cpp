#include "polyhedral/integer_set.h"

#include "polyhedral/integer_set_parts.h"
#include "polyhedral/set_text.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>

namespace tilewright {

using namespace integer_set_parts;

IntegerSet IntegerSet::read(const std::string &text) {
  const OperationLimit limit(operation_limit);
  std::string problem;
  const isl::union_set points = parse_union_set(text, problem);
  if (points.is_null()) {
    std::string other;
    if (!parse_union_map(text, other).is_null()) {
      throw Error(ErrorKind::Set, "\"" + text + "\" is a map; tw.Map reads it");
    }
    throw Error(ErrorKind::Set, "isl cannot read the set \"" + text + "\": " + problem +
                                    "; expected sets such as \"[N] -> { S[i, j] : 0 <= j <= i < "
                                    "N; T[] }\"");
  }
  return IntegerSet(points);
}

std::string IntegerSet::text() const {
  const OperationLimit limit(operation_limit);
  return text_of(isl_union_set_to_str(points_.get()));
}

std::vector<std::string> IntegerSet::parameters() const {
  const OperationLimit limit(operation_limit);
  return parameters_of(checked(points_.space(), "the parameters of a set"));
}

std::vector<TupleShape> IntegerSet::tuples() const {
  const OperationLimit limit(operation_limit);
  std::vector<TupleShape> shapes;
  for (const isl::set &set : sets_of(points_)) {
    if (isl_set_is_params(set.get()) != isl_bool_true) {
      shapes.push_back(shape_of(set.space()));
    }
  }
  return shapes;
}

std::string IntegerSet::spaces() const {
  const OperationLimit limit(operation_limit);
  return spaces_of(sets_of(points_));
}

bool IntegerSet::is_parameter_set() const {
  return isl_union_set_is_params(points_.get()) == isl_bool_true;
}

// ---- questions ----

bool IntegerSet::is_empty() const {
  return limited("is_empty", [&] { return points_.is_empty(); });
}

bool IntegerSet::equals(const IntegerSet &other) const {
  return limited("comparing sets", [&] { return points_.is_equal(other.points_); });
}

bool IntegerSet::is_subset(const IntegerSet &other) const {
  return limited("comparing sets", [&] { return points_.is_subset(other.points_); });
}

// ---- of several sets ----

IntegerSet IntegerSet::unite(const IntegerSet &other) const {
  if (is_parameter_set() != other.is_parameter_set() && !is_empty() && !other.is_empty()) {
    throw Error(ErrorKind::Set, "union: one operand is a set of parameter values, which has no "
                                "points; use intersect_params to restrict a set by it");
  }
  return IntegerSet(limited("union", [&] { return points_.unite(other.points_); }));
}

IntegerSet IntegerSet::intersect(const IntegerSet &other) const {
  require_matching(tuples(), other.tuples(), "intersect");
  return IntegerSet(limited("intersect", [&] { return points_.intersect(other.points_); }));
}

IntegerSet IntegerSet::subtract(const IntegerSet &other) const {
  require_matching(tuples(), other.tuples(), "subtract");
  return IntegerSet(limited("subtract", [&] { return points_.subtract(other.points_); }));
}

IntegerSet IntegerSet::product(const IntegerSet &other) const {
  require_points(*this, "product");
  require_points(other, "product");
  return IntegerSet(limited("product", [&] {
    return isl::manage(isl_union_set_product(points_.copy(), other.points_.copy()));
  }));
}

IntegerSet IntegerSet::gist(const IntegerSet &context) const {
  require_matching(tuples(), context.tuples(), "gist");
  return IntegerSet(limited("gist", [&] { return points_.gist(context.points_); }));
}

IntegerSet IntegerSet::apply(const IntegerMap &map) const {
  require_matching(tuples(), sides_of(map, 0), "apply");
  return IntegerSet(limited("apply", [&] { return points_.apply(map.pairs()); }));
}

IntegerMap IntegerSet::before(const IntegerSet &other, bool or_same) const {
  require_points(*this, "before");
  require_points(other, "before");
  require_matching(tuples(), other.tuples(), "before");
  return IntegerMap(limited("before", [&] {
    return isl::manage(or_same
                           ? isl_union_set_lex_le_union_set(points_.copy(), other.points_.copy())
                           : isl_union_set_lex_lt_union_set(points_.copy(), other.points_.copy()));
  }));
}

// ---- of one set ----

IntegerSet IntegerSet::lexmin() const {
  return IntegerSet(optimum("lexmin", [&] { return points_.lexmin(); }));
}

IntegerSet IntegerSet::lexmax() const {
  return IntegerSet(optimum("lexmax", [&] { return points_.lexmax(); }));
}

IntegerSet IntegerSet::coalesce() const {
  return IntegerSet(limited("coalesce", [&] { return points_.coalesce(); }));
}

IntegerSet IntegerSet::hull(Hull kind) const {
  return IntegerSet(limited("hull", [&] {
    const isl::union_set points = points_.coalesce();
    switch (kind) {
    case Hull::Simple:
      return isl::manage(isl_union_set_simple_hull(points.copy()));
    case Hull::Affine:
      return points.affine_hull();
    case Hull::Polyhedral:
      return points.polyhedral_hull();
    case Hull::Convex:
      break;
    }
    isl::union_set hulls = points.subtract(points);
    for (const isl::set &set : sets_of(points)) {
      const isl::basic_set hull = isl::manage(isl_set_convex_hull(set.copy()));
      hulls = hulls.unite(isl::union_set(checked(hull, "hull")));
    }
    return hulls;
  }));
}

IntegerSet IntegerSet::project_out(const std::vector<unsigned> &positions) const {
  return IntegerSet(limited("project_out", [&] {
    isl::set set = only(sets_of(points_), "project_out", "tuple");
    require_positions(positions, checked(set.tuple_dim(), "project_out"), "project_out");
    for (const unsigned position : descending(positions)) {
      set = set.project_out(isl::dim::set, position, 1);
    }
    return isl::union_set(set);
  }));
}

IntegerMap IntegerSet::identity() const {
  require_points(*this, "identity");
  return IntegerMap(limited("identity", [&] { return points_.identity(); }));
}

IntegerMap IntegerSet::unwrap() const {
  for (const TupleShape &shape : tuples()) {
    if (shape.nested.empty()) {
      throw Error(ErrorKind::Set,
                  "unwrap: " + shape.text() + " is no wrapped pair, as [A[i] -> B[j]] is one");
    }
  }
  require_points(*this, "unwrap");
  return IntegerMap(limited("unwrap", [&] { return points_.unwrap(); }));
}

// ---- parameters ----

IntegerSet IntegerSet::parameter_values() const {
  return IntegerSet(limited("params", [&] { return isl::union_set(points_.params()); }));
}

IntegerSet IntegerSet::intersect_parameters(const IntegerSet &values) const {
  return IntegerSet(limited("intersect_params",
                            [&] { return points_.intersect_params(parameter_part(values)); }));
}

IntegerSet IntegerSet::fix(const std::map<std::string, std::int64_t> &values) const {
  return IntegerSet(limited("fix", [&] { return fixed(points_, values); }));
}

IntegerSet IntegerSet::project_out_parameters(const std::vector<std::string> &names) const {
  require_parameters(names, parameters(), "project_out_params");
  return IntegerSet(limited("project_out_params", [&] { return without(points_, names); }));
}

void require_parameters(const std::vector<std::string> &names,
                        const std::vector<std::string> &parameters, const char *what) {
  for (const std::string &name : names) {
    if (std::find(parameters.begin(), parameters.end(), name) == parameters.end()) {
      throw Error(ErrorKind::Set,
                  std::string(what) + ": " + name + " is no parameter; " +
                      (parameters.empty() ? "there are none" : "there are " + joined(parameters)));
    }
  }
}

} // namespace tilewright
