#include "polyhedral/isl.h"

#include "polyhedral/integer_value.h"
#include "polyhedral/interruption.h"

#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/options.h>
#include <isl/val.h>
#include <isl/version.h>

#include <cstdlib>
#include <optional>

namespace tilewright {

namespace {

/// What isl may do outside all OperationLimits; every entry opens one, so this is reached by
/// mistake only.
std::uint64_t unscoped_limit = 100'000'000;
int open_limits = 0;
AnalysisScope analysis_scope;

constexpr std::uint64_t printing_limit = 5'000'000;

} // namespace

isl::ctx isl_context() {
  // Never freed: isl objects with static storage elsewhere may outlive any static of this file.
  static isl_ctx *const context = [] {
    isl_ctx *made = isl_ctx_alloc();
    if (made == nullptr) {
      throw Error(ErrorKind::Internal, "isl could not allocate its context");
    }
    isl_options_set_on_error(made, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(made, unscoped_limit);
    return made;
  }();
  return {context};
}

std::string isl_version_text() {
  std::string text = isl_version();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

OperationLimit::OperationLimit(std::uint64_t operations, Inside inside) {
  if (open_limits == 0 && analysis_scope.begin != nullptr) {
    analysis_scope.begin();
  }
  try {
    check_interruption();
  } catch (...) {
    if (open_limits == 0 && analysis_scope.end != nullptr) {
      analysis_scope.end();
    }
    throw;
  }
  if (open_limits == 0) {
    begin_charging_visits();
  }
  isl_ctx *context = isl_context().get();
  previous_ = isl_ctx_get_max_operations(context);
  if (open_limits++ == 0 || (inside == Inside::Tighten && operations < previous_)) {
    is_own_ = true;
    isl_ctx_reset_operations(context);
    isl_ctx_set_max_operations(context, operations);
    begin_isl_work(operations);
  }
}

OperationLimit::~OperationLimit() {
  isl_ctx *context = isl_context().get();
  const bool is_last = --open_limits == 0;
  if (is_own_) {
    const std::uint64_t restored = is_last ? unscoped_limit : previous_;
    isl_ctx_reset_operations(context);
    isl_ctx_set_max_operations(context, restored);
    begin_isl_work(restored);
  }
  if (is_last) {
    end_charging_visits();
  }
  if (is_last && analysis_scope.end != nullptr) {
    analysis_scope.end();
  }
}

void set_analysis_scope(AnalysisScope scope) { analysis_scope = scope; }

void set_unscoped_limit(std::uint64_t operations) {
  unscoped_limit = operations;
  if (open_limits == 0) {
    isl_ctx_reset_operations(isl_context().get());
    isl_ctx_set_max_operations(isl_context().get(), operations);
  }
}

void throw_isl_error(const char *what) {
  isl_ctx *context = isl_context().get();
  const isl_error error = isl_ctx_last_error(context);
  const char *message = isl_ctx_last_error_msg(context);
  const std::string detail = message != nullptr ? message : "no reason given";
  isl_ctx_reset_error(context);
  check_interruption();
  if (error == isl_error_abort) {
    throw Interrupted();
  }
  if (error == isl_error_quota || isl_work_is_spent) {
    throw Error(ErrorKind::Limit,
                std::string(what) + ": the analysis needs more integer-set operations than its "
                                    "limit allows; simplify the domains, conditions or subscripts");
  }
  throw Error(ErrorKind::Internal, std::string(what) + ": isl failed: " + detail);
}

std::optional<std::int64_t> whole_number(isl_val *raw) {
  const isl::val value = isl::manage(raw);
  if (value.is_null() || isl_val_is_int(value.get()) != isl_bool_true) {
    return std::nullopt;
  }
  return isl_val_get_num_si(value.get());
}

namespace {

/// The value of an isl integer, or nothing for infinities and not-a-number.
std::optional<std::int64_t> integer_of(isl_val *value) {
  const isl::val owned = checked(isl::manage(value), "reading an isl value");
  if (isl_val_is_int(owned.get()) != isl_bool_true) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> number = small_integer(owned);
  if (!number) {
    throw Error(ErrorKind::Limit, "sampling a set: a coordinate does not fit into 64 bits");
  }
  return number;
}

isl::set fix(const isl::set &set, int position, std::int64_t value) {
  isl_val *isl_value = isl_val_int_from_si(isl_context().get(), value);
  return checked(isl::manage(isl_set_fix_val(set.copy(), isl_dim_set, position, isl_value)),
                 "sampling a set");
}

/// The set without parts that hold no integer point: those have no minimum, and hide that of the
/// others.
isl::set without_empty_parts(const isl::set &set) {
  isl::set result = checked(set.subtract(set), "sampling a set");
  const isl::basic_set_list parts = checked(set.basic_set_list(), "sampling a set");
  const isl_size count = isl_basic_set_list_n_basic_set(parts.get());
  for (isl_size p = 0; p < count; ++p) {
    const isl::set part(
        checked(isl::manage(isl_basic_set_list_get_at(parts.get(), p)), "sampling a set"));
    if (!checked(part.is_empty(), "sampling a set")) {
      result = result.unite(part);
    }
  }
  return checked(result, "sampling a set");
}

bool has_value(const isl::set &set, int position, std::int64_t value) {
  return !checked(fix(set, position, value).is_empty(), "sampling a set");
}

/// The most readable value that dimension `position` takes in the non-empty `set`: the smallest
/// that is not negative where the set is bounded below by zero, else zero, the values around it,
/// then whatever bound there is.
std::int64_t small_value(const isl::set &set, int position) {
  const auto lowest = integer_of(isl_set_dim_min_val(set.copy(), position));
  if (lowest && *lowest >= 0) {
    return *lowest;
  }
  constexpr std::int64_t preferred = 8;
  for (std::int64_t value = 0; value <= preferred; ++value) {
    if (has_value(set, position, value)) {
      return value;
    }
    if (value != 0 && has_value(set, position, -value)) {
      return -value;
    }
  }
  if (const auto highest = integer_of(isl_set_dim_max_val(set.copy(), position));
      highest && *highest < 0) {
    return *highest;
  }
  if (lowest) {
    return *lowest;
  }
  const isl::point sample =
      checked(isl::manage(isl_set_sample_point(set.copy())), "sampling a set");
  return integer_of(isl_point_get_coordinate_val(sample.get(), isl_dim_set, position)).value_or(0);
}

} // namespace

bool sample_point(const isl::set &set, Point &point) {
  checked(set, "sampling a set");
  if (checked(set.is_empty(), "testing a set for emptiness")) {
    return false;
  }
  isl_set *raw = set.copy();
  if (isl_set_is_params(raw) == isl_bool_true) {
    raw = isl_set_from_params(raw);
  }
  const isl_size parameters = isl_set_dim(raw, isl_dim_param);
  const isl_size dimensions = isl_set_dim(raw, isl_dim_set);
  std::vector<std::string> names;
  for (isl_size p = 0; p < parameters; ++p) {
    const char *name = isl_set_get_dim_name(raw, isl_dim_param, p);
    names.emplace_back(name != nullptr ? name : "");
  }
  raw = isl_set_move_dims(isl_set_flatten(raw), isl_dim_set, 0, isl_dim_param, 0, parameters);
  isl::set rest = without_empty_parts(checked(isl::manage(raw), "sampling a set"));

  point = Point();
  for (isl_size position = 0; position < parameters + dimensions; ++position) {
    std::int64_t value = 0;
    if (position < parameters) {
      value = small_value(rest, position);
      point.parameters.emplace_back(names[position], value);
    } else {
      const auto lowest = integer_of(isl_set_dim_min_val(rest.copy(), position));
      value = lowest ? *lowest : small_value(rest, position);
      point.coordinates.push_back(value);
    }
    rest = without_empty_parts(fix(rest, position, value));
  }
  return true;
}

std::vector<std::string> parameter_names(const isl::map &map) {
  std::vector<std::string> names;
  const isl_size count = isl_map_dim(checked(map, "parameters").get(), isl_dim_param);
  for (isl_size p = 0; p < count; ++p) {
    names.emplace_back(isl_map_get_dim_name(map.get(), isl_dim_param, static_cast<unsigned>(p)));
  }
  return names;
}

std::vector<std::string> parameter_names(const isl::set &set) {
  return parameter_names(isl::manage(isl_map_from_range(set.copy())));
}

std::vector<std::string> parameter_names(const isl::union_map &maps) {
  return parameter_names(
      isl::manage(isl_set_universe(isl_union_map_get_space(checked(maps, "parameters").get()))));
}

std::string to_text(const isl::set &set) {
  const OperationLimit limit(printing_limit, OperationLimit::Inside::Keep);
  char *text = isl_set_to_str(set.get());
  if (text == nullptr) {
    throw_isl_error("printing a set");
  }
  std::string result = text;
  std::free(text);
  // isl leaves the place of a parameter set's missing tuple empty.
  const size_t gap = result.find("{  :");
  return gap == std::string::npos ? result : result.erase(gap + 1, 1);
}

std::string to_text(const isl::map &map) {
  const OperationLimit limit(printing_limit, OperationLimit::Inside::Keep);
  char *text = isl_map_to_str(map.get());
  if (text == nullptr) {
    throw_isl_error("printing a map");
  }
  std::string result = text;
  std::free(text);
  return result;
}

} // namespace tilewright
