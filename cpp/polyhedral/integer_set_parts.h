// What IntegerSet and IntegerMap share: their parts, one for each tuple, and their parameters. For
// these two classes and for what counts and enumerates their points.
#pragma once

#include "polyhedral/integer_set.h"

#include <isl/printer.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace tilewright::integer_set_parts {

/// Of one operation.
inline constexpr std::uint64_t operation_limit = 100'000'000;

/// What `work` gives, within the limit.
template <class Work>
auto limited(const char *what, const Work &work) {
  const OperationLimit limit(operation_limit);
  return checked(work(), what);
}

/// Throws Error(Set) where isl found that a set has no least or greatest point.
void require_optimum(bool is_null, const char *what);

/// What `work` gives, which looks for lexicographically least or greatest points.
template <class Work>
auto optimum(const char *what, const Work &work) {
  const OperationLimit limit(operation_limit);
  auto result = work();
  require_optimum(result.is_null(), what);
  return checked(result, what);
}

/// The text that isl has allocated.
std::string text_of(char *text);

std::string joined(const std::vector<std::string> &names);

std::vector<std::string> parameters_of(const isl::space &space);

/// One for each tuple, in the order of their shape's text.
std::vector<isl::set> sets_of(const isl::union_set &points);
std::vector<isl::map> maps_of(const isl::union_map &pairs);

/// The spaces of those that are not empty.
template <class Part>
std::string spaces_of(const std::vector<Part> &parts) {
  std::vector<std::string> spaces;
  for (const Part &part : parts) {
    if (!checked(part.is_empty(), "the parts of a set")) {
      spaces.push_back(shape_of(part.space()).without_dimension_names());
    }
  }
  std::sort(spaces.begin(), spaces.end());
  return joined(spaces);
}

/// Of each tuple of a map, its domain's (0) or range's (1).
std::vector<TupleShape> sides_of(const IntegerMap &map, size_t side);

/// Refuses a set of parameter values.
void require_points(const IntegerSet &set, const char *what);

/// As an isl set without tuple; refuses what has one.
isl::set parameter_part(const IntegerSet &values);

void require_positions(const std::vector<unsigned> &positions, unsigned dimensions,
                       const char *what);
std::vector<unsigned> descending(std::vector<unsigned> positions);

template <class Part>
Part only(const std::vector<Part> &parts, const char *what, const char *kind) {
  if (parts.size() != 1) {
    throw Error(ErrorKind::Set,
                std::string(what) + " needs exactly one " + kind + ", and there " +
                    (parts.empty() ? "is none" : "are " + std::to_string(parts.size())));
  }
  return parts.front();
}

isl::union_set project_parameter(const isl::union_set &points, unsigned position);
isl::union_map project_parameter(const isl::union_map &pairs, unsigned position);

template <class Union>
Union without(Union points, const std::vector<std::string> &names) {
  for (const std::string &name : names) {
    const int position =
        isl_space_find_dim_by_name(points.space().get(), isl_dim_param, name.c_str());
    if (position >= 0) {
      points = checked(project_parameter(points, static_cast<unsigned>(position)), "parameters");
    }
  }
  return points;
}

/// The parameter values that are these, for parameters of `space`.
isl::set values_set(const isl::space &space, const std::map<std::string, std::int64_t> &values);

template <class Union>
Union fixed(const Union &points, const std::map<std::string, std::int64_t> &values) {
  std::vector<std::string> names;
  for (const auto &[name, value] : values) {
    names.push_back(name);
  }
  const isl::space space = checked(points.space(), "fix");
  require_parameters(names, parameters_of(space), "fix");
  return without(points.intersect_params(values_set(space, values)), names);
}

} // namespace tilewright::integer_set_parts
