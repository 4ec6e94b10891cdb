// set_schedule: the time-space map of one computation, or of all, as isl text with the papers'
// tags.
#include "algorithm/block.h"
#include "algorithm/convergence.h"
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/copies.h"
#include "mapping/number_limits.h"
#include "mapping/written_times.h"
#include "polyhedral/counted.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>

namespace tilewright {

namespace {

/// A parameter as a function of instances.
isl::pw_aff parameter_on(const isl::set &universe, const std::string &name) {
  isl_space *space = isl_set_get_space(universe.get());
  const int found = isl_space_find_dim_by_name(space, isl_dim_param, name.c_str());
  auto position = static_cast<unsigned>(std::max(found, 0));
  if (found < 0) {
    position = static_cast<unsigned>(std::max(isl_size(0), isl_space_dim(space, isl_dim_param)));
    space = isl_space_add_dims(space, isl_dim_param, 1);
    space = isl_space_set_dim_name(space, isl_dim_param, position, name.c_str());
  }
  isl_aff *value =
      isl_aff_var_on_domain(isl_local_space_from_space(space), isl_dim_param, position);
  return checked(isl::manage(isl_pw_aff_from_aff(value)), "set_schedule");
}

/// The map must start from the computation's instances.
void require_domain(const Command &command, const std::string &computation, const isl::map &given,
                    const InstanceSpace &instances) {
  const auto dimensions = static_cast<size_t>(checked(given.domain_tuple_dim(), "set_schedule"));
  if (given.has_domain_tuple_id().is_true() && given.domain_tuple_id().name() == computation &&
      dimensions == instances.iterators.size()) {
    return;
  }
  std::string expected = computation + "[";
  for (size_t d = 0; d < instances.iterators.size(); ++d) {
    expected += (d ? "," : "") + instances.iterators[d];
  }
  refuse(command, "the map must start from " + expected + "]");
}

/// Two expressions that are defined everywhere are equal if they look so: that takes no search.
bool is_same_value(const isl::pw_aff &value, const isl::pw_aff &iterator) {
  if (isl_pw_aff_isa_aff(value.get()) == isl_bool_true &&
      isl_aff_dim(value.as_aff().get(), isl_dim_div) == 0) {
    return isl_pw_aff_plain_is_equal(value.get(), iterator.get()) == isl_bool_true;
  }
  return checked(value.is_equal(iterator), "set_schedule");
}

/// A loop that runs over one iterator has its name, unless the map gives it another one. Of copies
/// of instances, some loops stand before the iterators in what the values are functions of.
std::vector<std::string> names_of_iterators(const std::vector<isl::pw_aff> &values,
                                            const InstanceSpace &instances,
                                            const TimeSpaceMap &map) {
  const size_t loops = map.copying_loops(instances.iterators.size());
  std::vector<std::string> names(values.size());
  for (size_t d = 0; d < values.size(); ++d) {
    for (size_t i = 0; i < instances.iterators.size(); ++i) {
      const isl::pw_aff iterator = isl::pw_aff::var_on_domain(
          isl::local_space(isl::manage(isl_pw_aff_get_domain_space(values[d].get()))),
          isl::dim::set, static_cast<unsigned>(loops + i));
      const bool is_same =
          map.copies ? checked(map.copies->is_subset(values[d].eq_set(iterator)), "set_schedule")
                     : is_same_value(values[d], iterator);
      names[d] = is_same ? instances.iterators[i] : names[d];
    }
  }
  return names;
}

/// The names of dimensions count: loops have them.
bool is_same_map(const isl::map &one, const isl::map &other) {
  if (isl_map_plain_is_equal(one.get(), other.get()) != isl_bool_true) {
    return false;
  }
  const auto name_of = [](const isl::map &map, unsigned d) {
    const char *name = isl_map_get_dim_name(map.get(), isl_dim_out, d);
    return std::string(name == nullptr ? "" : name);
  };
  for (unsigned d = 0; d < checked(one.range_tuple_dim(), "set_schedule"); ++d) {
    if (name_of(one, d) != name_of(other, d)) {
      return false;
    }
  }
  return true;
}

const TimeSpaceMap *known_times(const MappingState &state, const std::string &computation,
                                const isl::map &given) {
  for (const GivenTimes::Known &known : state.given_times->by_computation[computation]) {
    if (known.function == state.function && is_same_map(known.given, given)) {
      return &known.times;
    }
  }
  return nullptr;
}

void keep_times(const MappingState &state, const std::string &computation, const isl::map &given,
                const TimeSpaceMap &times) {
  constexpr size_t most_kept = 8;
  std::vector<GivenTimes::Known> &known = state.given_times->by_computation[computation];
  if (known.size() == most_kept) {
    known.erase(known.begin());
  }
  known.push_back({state.function, given, times});
}

/// The times with their tags.
void take_times(MappingState &state, const Command &command, const std::string &computation,
                TimeSpaceMap times, const std::map<size_t, LoopTag> &tags) {
  state.time_space[computation] = times; // tags ask of its loops
  tag_loops(state, command, computation, tags, times.dimensions);
  state.time_space[computation] = std::move(times);
  std::erase_if(state.placements, [&](const Placement &p) { return p.computation == computation; });
}

void give_times(MappingState &state, const Command &command, const std::string &computation,
                const isl::map &given, const std::map<size_t, LoopTag> &tags) {
  const InstanceSpace instances = instance_space(**state.function->find(computation));
  require_domain(command, computation, given, instances);
  if (state.given_times == nullptr) {
    state.given_times = make_isl_shared<GivenTimes>();
  }
  if (const TimeSpaceMap *known = known_times(state, computation, given)) {
    take_times(state, command, computation, *known, tags);
    return;
  }
  const isl::map written = isl::manage(isl_map_reset_tuple_id(given.copy(), isl_dim_out));
  const isl::map map =
      times_of_instances(state, command, computation, written, instances, nullptr, true);
  TimeSpaceMap result;
  result.explicit_time = true;
  std::vector<isl::pw_aff> values;
  if (checked(map.is_single_valued(), "set_schedule")) {
    values = written_values(written, map);
  } else {
    require_copies(state, command, computation, map, tags);
    CopiedTimes copied = copied_times(map, instances.domain);
    values = std::move(copied.values);
    result.copies = std::move(copied.copies);
  }
  const std::vector<std::string> names =
      written_names(written, names_of_iterators(values, instances, result));
  for (size_t d = 0; d < values.size(); ++d) {
    result.dimensions.push_back({names[d], values[d], {}, 0});
  }
  if (!result.copies) { // what copies may be asks of tags and other things
    keep_times(state, computation, given, result);
  }
  take_times(state, command, computation, std::move(result), tags);
}

// ---- of the whole function ----

/// The computation of the map in which something stands at `at`: the name in front of the tuple
/// before the last arrow.
std::string mapped_at(const std::string &text, size_t at) {
  const size_t arrow = text.rfind("->", at);
  const size_t open = arrow == std::string::npos ? arrow : text.rfind('[', arrow);
  if (open == std::string::npos || open == 0) {
    return "";
  }
  const size_t end = text.find_last_not_of(" \t\r\n", open - 1);
  size_t begin = end;
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  while (begin > 0 && is_of_name(static_cast<unsigned char>(text[begin - 1]))) {
    --begin;
  }
  return text.substr(begin, end + 1 - begin);
}

std::string in_front(const std::string &place) { return place.empty() ? "" : place + ": "; }

/// The parts of "[N] -> { A[i] -> [i]; B[i] -> [i] }", each a text of its own with the parameters;
/// none of a text that is not written so.
std::vector<std::string> single_maps(const std::string &text) {
  const size_t open = text.find('{');
  const size_t close = text.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return {};
  }
  std::vector<std::string> found;
  for (size_t begin = open + 1; begin < close;) {
    const size_t end = std::min(text.find(';', begin), close);
    found.push_back(text.substr(0, open + 1) + text.substr(begin, end - begin) +
                    text.substr(close));
    begin = end + 1;
  }
  return found;
}

/// The maps of a text of which each is the only one of its computation, those that were read before
/// as they were; nothing of another text, or one with something wrong.
std::optional<std::map<std::string, isl::map>> known_maps(const MappingState &state,
                                                          const std::string &text) {
  constexpr size_t most_kept = 4096;
  std::unordered_map<std::string, isl::map> &read = state.given_times->read;
  std::map<std::string, isl::map> found;
  for (const std::string &one : single_maps(text)) {
    auto known = read.find(one);
    if (known == read.end()) {
      std::string problem;
      const isl::map map = parse_map(one, problem);
      if (map.is_null()) {
        return std::nullopt;
      }
      if (read.size() >= most_kept) {
        read.clear();
      }
      known = read.emplace(one, map).first;
    }
    const isl::map &map = known->second;
    const std::string name =
        map.has_domain_tuple_id().is_true() ? map.domain_tuple_id().name() : "";
    const std::vector<std::string> parameters = parameter_names(map);
    const bool is_right = state.time_space.contains(name) &&
                          std::all_of(parameters.begin(), parameters.end(), [&](const auto &used) {
                            const std::vector<std::string> &all = state.function->parameters;
                            return std::find(all.begin(), all.end(), used) != all.end();
                          });
    if (!is_right || !found.emplace(name, map).second) {
      return std::nullopt;
    }
  }
  return found.empty() ? std::nullopt : std::optional(std::move(found));
}

/// The maps of a text, each for one computation of the function.
std::map<std::string, isl::map>
maps_by_computation(const MappingState &state, const Command &command, const std::string &text) {
  if (auto known = known_maps(state, text)) {
    return std::move(*known);
  }
  std::vector<isl::map> maps;
  const isl::stat walked =
      read_command_maps(state, command, text, "{ A[i] -> [i, 0]; B[i] -> [i, 1] }")
          .foreach_map([&](const isl::map &map) {
            maps.push_back(map);
            return isl::stat::ok();
          });
  if (walked.is_error()) {
    throw_isl_error("set_schedule");
  }
  std::map<std::string, isl::map> found;
  for (const isl::map &map : maps) {
    const std::string name =
        map.has_domain_tuple_id().is_true() ? map.domain_tuple_id().name() : "";
    if (name.empty()) {
      refuse(command, "a map starts from a tuple without a name; each starts from a computation, "
                      "such as " +
                          state.time_space.begin()->first + "[...]");
    }
    if (!state.time_space.contains(name)) {
      const ComputationPtr *input = state.function->find(name);
      refuse(command, in_front(place_of_word(text, name)) +
                          (input == nullptr ? "there is no computation named '" + name + "'"
                                            : "'" + name + "' is an input, which is not run") +
                          "; the computations are: " + computation_list(state));
    }
    if (!found.emplace(name, map).second) {
      refuse(command, in_front(place_of_word(text, name)) + "the maps of " + name +
                          " differ in the number of their dimensions");
    }
  }
  return found;
}

/// Times of one space for all computations.
void require_one_space(const MappingState &state, const Command &command, const std::string &text,
                       const std::map<std::string, isl::map> &maps) {
  std::string missing;
  for (const auto &[name, loops] : state.time_space) {
    const bool has_times = !is_block_result(**state.function->find(name)); // others have the call's
    missing += maps.contains(name) || !has_times ? "" : (missing.empty() ? "" : ", ") + name;
  }
  if (!missing.empty()) {
    refuse(command, "the map says nothing of " + missing +
                        "; it is the schedule of the whole function, in which each computation has "
                        "its times (C.set_schedule(...) gives those of C alone)");
  }
  const auto dimensions = [](const isl::map &map) {
    return checked(map.range_tuple_dim(), "set_schedule");
  };
  const auto &[first, first_map] = *maps.begin();
  for (const auto &[name, map] : maps) {
    if (dimensions(map) != dimensions(first_map)) {
      refuse(command, in_front(place_of_word(text, name)) + "the times of " + name + " have " +
                          counted(dimensions(map), "dimension") + " and those of " + first + " " +
                          counted(dimensions(first_map), "dimension") +
                          "; fill the shorter ones up with 0, so that all are in one space");
    }
  }
}

// ---- iterations until data say so ----

/// Whether all instances have times of the outermost dimension that are `test` of `bound`.
template <class Test>
bool all_times(const TimeSpaceMap &map, const isl::set &instances, const isl::pw_aff &bound,
               Test &&test) {
  return checked(instances.is_subset(test(map.dimensions.front().value, bound)), "set_schedule");
}

/// The number that the outermost dimension is for all instances, if it is one.
std::optional<std::int64_t> outermost_number(const TimeSpaceMap &map, const isl::set &instances) {
  const isl::pw_aff value = map.dimensions.front().value.intersect_domain(instances);
  const isl::val first = isl::manage(isl_pw_aff_min_val(value.copy()));
  const isl::val last = isl::manage(isl_pw_aff_max_val(value.copy()));
  return first.is_int().is_true() && first.eq(last).is_true() ? std::optional(first.num_si())
                                                              : std::nullopt;
}

/// The loop that data end is a loop of its own, which nothing shares that runs in front of it or
/// behind. A map says so by an outermost dimension that is a number everywhere, the place in the
/// order, or by times that lie before 0 or from T on, which no iteration comes to.
void find_phases(MappingState &state) {
  const Function &function = *state.function;
  const auto is_one_of = [&](const std::string &name) {
    return state.time_space.at(name).explicit_time && !is_block_result(**function.find(name));
  };
  std::map<std::string, std::int64_t> numbers;
  bool all_numbers = true;
  for (const auto &[name, map] : state.time_space) {
    if (!is_one_of(name)) {
      continue;
    }
    const auto number = outermost_number(map, scheduled_instances(state, name));
    const bool fits = number && !map.copies && map.dimensions.size() > 1 &&
                      std::abs(*number) <= largest_size && map.dimensions.front().tag == LoopTag{};
    all_numbers = all_numbers && fits;
    numbers[name] = fits ? *number : 0;
  }
  for (auto &[name, map] : state.time_space) {
    if (!is_one_of(name)) {
      continue;
    }
    if (all_numbers) {
      map.phase = static_cast<int>(numbers.at(name));
      map.dimensions.erase(map.dimensions.begin());
      continue;
    }
    map.phase = 0;
    if (is_iterated(function, **function.find(name))) {
      continue;
    }
    const isl::set instances = scheduled_instances(state, name);
    const isl::set universe = isl::set::universe(instances.space());
    const isl::pw_aff zero(universe, isl::val(isl_context(), 0L));
    const isl::pw_aff count = parameter_on(universe, function.stop->parameter);
    if (all_times(map, instances, count, [](const isl::pw_aff &time, const isl::pw_aff &bound) {
          return time.ge_set(bound);
        })) {
      map.phase = 1;
    } else if (all_times(map, instances, zero,
                         [](const isl::pw_aff &time, const isl::pw_aff &bound) {
                           return time.lt_set(bound);
                         })) {
      map.phase = -1;
    }
  }
}

} // namespace

void set_schedule_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 1, "set_schedule(\"{ C[i,j] -> [...] }\")");
  std::string text = arguments.name(0, "an isl map");
  const std::vector<WrittenTag> tags = take_tags(text, command);
  if (std::string problem; parse_map(text, problem).is_null()) {
    refuse_unknown_tag(text, command);
  }
  const isl::map given = read_command_map(state, command, text, "{ C[i, j] -> [j, i] }");
  give_times(state, command, command.computation, given, tags_by_position(tags, command));
}

void set_schedules_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 1, "set_schedule(\"{ A[i] -> [...]; B[i] -> [...] }\")");
  std::string text = arguments.name(0, "an isl map");
  const std::vector<WrittenTag> tags = take_tags(text, command);
  if (state.given_times == nullptr) {
    state.given_times = make_isl_shared<GivenTimes>();
  }
  std::map<std::string, isl::map> maps;
  try {
    maps = maps_by_computation(state, command, text);
  } catch (const Error &) {
    if (std::string problem; parse_union_map(text, problem).is_null()) {
      refuse_unknown_tag(text, command);
    }
    throw;
  }
  require_one_space(state, command, text, maps);
  for (const auto &[name, map] : maps) {
    std::vector<WrittenTag> own;
    std::copy_if(tags.begin(), tags.end(), std::back_inserter(own),
                 [&](const WrittenTag &tag) { return mapped_at(text, tag.at) == name; });
    give_times(state, command, name, map, tags_by_position(own, command));
  }
  if (state.function->stop) {
    find_phases(state);
  }
}

} // namespace tilewright
