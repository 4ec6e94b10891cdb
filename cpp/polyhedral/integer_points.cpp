#include "polyhedral/integer_points.h"

#include "polyhedral/cardinality.h"
#include "polyhedral/count_points.h"
#include "polyhedral/integer_set_parts.h"
#include "polyhedral/integer_value.h"
#include "polyhedral/set_text.h"

#include <isl/point.h>
#include <isl/set.h>

#include <algorithm>

namespace tilewright {

using namespace integer_set_parts;

namespace {

constexpr std::uint64_t enumeration_limit = 2'000'000'000;

/// The parts of a set that depends on no parameter, without the parameters that are listed.
std::vector<isl::set> concrete_parts(const IntegerSet &set, const char *what) {
  require_points(set, what);
  std::vector<isl::set> parts;
  for (isl::set part : sets_of(set.points())) {
    part = checked(isl::manage(isl_set_remove_redundancies(part.release())), what);
    const std::vector<std::string> names = parameter_names(part);
    std::vector<std::string> needed;
    for (unsigned p = 0; p < names.size(); ++p) {
      if (isl_set_involves_dims(part.get(), isl_dim_param, p, 1) != isl_bool_false) {
        needed.push_back(names[p]);
      }
    }
    if (!needed.empty()) {
      throw Error(ErrorKind::Set, std::string(what) + ": the points of " +
                                      shape_of(part.space()).text() + " depend on " +
                                      joined(needed) + "; give the values, as in " + what + "(" +
                                      needed.front() + "=4)");
    }
    part = checked(part.project_out_all_params(), what);
    if (!checked(isl::manage(isl_set_is_bounded(part.get())), what)) {
      throw Error(ErrorKind::Set, std::string(what) + ": " + shape_of(part.space()).text() +
                                      " has infinitely many points: " + braced_text(part) +
                                      "; intersect it with a set that has an end");
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

constexpr std::int64_t few_steps = 10'000;
constexpr std::int64_t many_steps = 4'000'000;

/// The points of all parts, each counted in so many steps; nothing where these are not enough.
std::optional<std::int64_t> counted(const std::vector<isl::set> &parts, std::int64_t steps) {
  std::int64_t sum = 0;
  for (const isl::set &part : parts) {
    const std::optional<std::int64_t> count = count_points(part, steps);
    if (!count || __builtin_add_overflow(sum, *count, &sum)) {
      return std::nullopt;
    }
  }
  return sum;
}

std::int64_t coordinate(const isl::val &value) {
  const std::optional<std::int64_t> number = small_integer(checked(value, "points"));
  if (!number) {
    throw Error(ErrorKind::Set, "points: a coordinate does not fit into 64 bits");
  }
  return *number;
}

} // namespace

IntegerPoints points_of(const IntegerSet &set, size_t most) {
  const OperationLimit limit(enumeration_limit);
  IntegerPoints all;
  for (const isl::set &part : concrete_parts(set, "points")) {
    const size_t tuple = all.tuples.size();
    all.tuples.push_back(shape_of(part.space()));
    const unsigned dimensions = checked(part.tuple_dim(), "points");
    const size_t first = all.points.size();
    bool is_too_much = false;
    std::optional<Error> problem;
    const isl::stat status = part.foreach_point([&](const isl::point &point) {
      is_too_much = all.points.size() == most;
      if (is_too_much) {
        return isl::stat::error();
      }
      IntegerPoint found{tuple, {}};
      try {
        for (unsigned d = 0; d < dimensions; ++d) {
          found.coordinates.push_back(coordinate(isl::manage(
              isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d)))));
        }
      } catch (const Error &error) { // not through isl
        problem = error;
        return isl::stat::error();
      }
      all.points.push_back(std::move(found));
      return isl::stat::ok();
    });
    if (is_too_much || problem) {
      isl_ctx_reset_error(isl_context().get());
    }
    if (problem) {
      throw Error(*problem);
    }
    if (is_too_much) {
      throw Error(ErrorKind::Set, "points: there are more than " + std::to_string(most) +
                                      "; give smaller sizes, or a larger limit as most=");
    }
    if (status.is_error()) {
      throw_isl_error("points");
    }
    std::sort(all.points.begin() + static_cast<std::ptrdiff_t>(first), all.points.end(),
              [](const auto &a, const auto &b) { return a.coordinates < b.coordinates; });
  }
  return all;
}

std::optional<SampledPoint> sample_of(const IntegerSet &set) {
  const OperationLimit limit(operation_limit);
  require_points(set, "sample");
  for (const isl::set &part : sets_of(set.points())) {
    Point point;
    if (sample_point(part, point)) {
      return SampledPoint{shape_of(part.space()), point.coordinates, point.parameters};
    }
  }
  return std::nullopt;
}

std::string count_of(const IntegerSet &set) {
  const OperationLimit limit(enumeration_limit);
  const std::vector<isl::set> parts = concrete_parts(set, "count");
  if (const auto count = counted(parts, few_steps)) {
    return std::to_string(*count);
  }
  // Too many steps one after the other, but sums of polynomials may do it in a few.
  std::map<std::string, std::int64_t> values;
  for (const std::string &name : set.parameters()) {
    values[name] = 0; // nothing depends on them
  }
  if (const std::optional<Cardinality> cardinality = cardinality_of(set.fix(values))) {
    return cardinality->at({});
  }
  if (const auto count = counted(parts, many_steps)) {
    return std::to_string(*count);
  }
  throw Error(ErrorKind::Limit, "count: the points take too many steps to count");
}

bool contains(const IntegerSet &set, const IntegerSet &point) {
  const IntegerSet common = set.intersect(point);
  if (common.is_empty()) {
    return false;
  }
  if (point.is_subset(set)) {
    return true;
  }
  const std::string where = common.parameter_values().text();
  const std::string braced = point.text();
  const std::string text = braced.substr(2, braced.size() - 4);
  throw Error(ErrorKind::Set, "whether " + text + " is in the set depends on " +
                                  joined(set.parameters()) + ": it is for " + where +
                                  "; give the values first, by fix(...)");
}

} // namespace tilewright
