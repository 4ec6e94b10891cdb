// set_schedule: the time-space map of one computation as isl text, with the papers' tags.
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/loop_extent.h"
#include "polyhedral/set_text.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace tilewright {

namespace {

/// After take_tags: names what stands where a tag would and is none.
void refuse_unknown_tag(const std::string &text, const Command &command) {
  const size_t arrow = text.rfind("->");
  const std::string times = arrow == std::string::npos ? text : text.substr(arrow);
  static const std::regex pattern(R"((\w+)\s*\(\s*([A-Za-z_]\w*(?:\s*\(\s*\w*\s*\))?)\s*\))");
  static const std::set<std::string> functions = {"floor", "ceil", "floord", "ceild",
                                                  "min",   "max",  "abs",    "mod"};
  for (std::sregex_iterator match(times.begin(), times.end(), pattern), end; match != end;
       ++match) {
    if (!functions.contains((*match)[1].str())) {
      refuse(command, "there is no tag '" + (*match)[2].str() +
                          "'; the tags of a dimension are cpu, vec(s), unroll, gpu_block_x, "
                          "gpu_thread_x (or y, z), gpu_spread, gpu_mma_m, gpu_mma_n, gpu_mma_k and "
                          "gpu_mma_tf32");
    }
  }
}

/// Takes the tags out of a map as the papers write it, "{ C[i,j] -> [i, j(vec(8))] }", leaving what
/// isl reads. Tags are found in the last tuple, by position.
std::map<size_t, LoopTag> take_tags(std::string &text, const Command &command) {
  std::map<size_t, LoopTag> tags;
  static const std::regex pattern(
      R"(\(\s*(cpu|unroll|gpu_block_[xyz]|gpu_thread_[xyz]|gpu_spread|gpu_mma_(?:m|n|k|tf32)|vec\s*\(\s*(\d+)\s*\))\s*\))");
  std::smatch match;
  while (std::regex_search(text, match, pattern)) {
    const std::string before = match.prefix();
    const size_t tuple = before.rfind('[');
    const size_t arrow = before.rfind("->");
    if (tuple == std::string::npos || arrow == std::string::npos || arrow > tuple ||
        before.find(']', tuple) != std::string::npos) {
      refuse(command, "the tag '" + match.str() + "' does not stand behind a dimension");
    }
    const auto position = static_cast<size_t>(
        std::count(before.begin() + static_cast<std::ptrdiff_t>(tuple), before.end(), ','));
    LoopTag tag;
    if (match[1].str() == "cpu") {
      tag = {Tag::Parallel, 0};
    } else if (match[1].str() == "unroll") {
      tag = {Tag::Unroll, 0};
    } else if (match[1].str().starts_with("gpu_")) {
      const std::string text_of_tag = match[1].str();
      tag.tag = text_of_tag.starts_with("gpu_block")    ? Tag::GpuBlock
                : text_of_tag.starts_with("gpu_thread") ? Tag::GpuThread
                : text_of_tag.starts_with("gpu_mma")    ? Tag::GpuMma
                                                        : Tag::GpuSpread;
      tag.axis = tag.tag == Tag::GpuSpread ? 0 : text_of_tag.back() - 'x';
      for (int axis = 0; axis < 4 && tag.tag == Tag::GpuMma; ++axis) {
        tag.axis = gpu_tag_name(tag.tag, axis) == text_of_tag ? axis : tag.axis;
      }
    } else {
      constexpr size_t max_digits = 4;
      const std::string lanes = match[2].str();
      tag = {Tag::Vector, lanes.size() > max_digits ? max_copies + 1 : std::stoll(lanes)};
      if (tag.factor < 1 || tag.factor > max_copies) {
        refuse(command, "a vector loop has between 1 and " + std::to_string(max_copies) +
                            " iterations, got vec(" + lanes + ")");
      }
    }
    const auto [entry, fresh] = tags.emplace(position, tag);
    if (!fresh && entry->second != tag) {
      refuse(command, "dimension " + std::to_string(position) + " has two different tags");
    }
    text = before + std::string(match.length(), ' ') + match.suffix().str(); // columns stay
  }
  return tags;
}

/// A function that is one formula wherever it is known, as that formula.
isl::pw_aff everywhere(const isl::pw_aff &value) {
  const isl::pw_aff known = checked(value.coalesce(), "set_schedule");
  if (isl_pw_aff_n_piece(known.get()) != 1) {
    return known;
  }
  isl_pw_aff *formula = nullptr;
  isl_pw_aff_foreach_piece(
      known.get(),
      [](isl_set *domain, isl_aff *aff, void *user) {
        isl_set_free(domain);
        *static_cast<isl_pw_aff **>(user) = isl_pw_aff_from_aff(aff);
        return isl_stat_ok;
      },
      static_cast<void *>(&formula));
  return checked(isl::manage(formula), "set_schedule");
}

/// The map must start from the computation's instances.
void require_domain(const Command &command, const isl::map &given, const InstanceSpace &instances) {
  const auto dimensions = static_cast<size_t>(checked(given.domain_tuple_dim(), "set_schedule"));
  if (given.has_domain_tuple_id().is_true() &&
      given.domain_tuple_id().name() == command.computation &&
      dimensions == instances.iterators.size()) {
    return;
  }
  std::string expected = command.computation + "[";
  for (size_t d = 0; d < instances.iterators.size(); ++d) {
    expected += (d ? "," : "") + instances.iterators[d];
  }
  refuse(command, "the map must start from " + expected + "]");
}

/// Two instances at one time, for a message; empty where isl finds none to name.
std::string same_time_example(const Command &command, const isl::map &map,
                              const InstanceSpace &instances) {
  const isl::map same = map.apply_range(map.reverse());
  const isl::map distinct = same.intersect(isl::map::lex_lt(instances.domain.space()));
  Point point;
  if (!sample_point(checked(distinct.wrap(), "set_schedule"), point)) {
    return "";
  }
  // Both instances one after the other; what the parameters are is said once.
  const size_t dimensions = instances.iterators.size();
  Point first{{}, point.coordinates};
  first.coordinates.resize(dimensions);
  Point second{point.parameters, point.coordinates};
  second.coordinates.erase(second.coordinates.begin(),
                           second.coordinates.begin() + static_cast<std::ptrdiff_t>(dimensions));
  return ", for example " + instance_text(command.computation, first) + " and " +
         instance_text(command.computation, second);
}

/// The map on the instances that there are: each has a time, and no other has the same.
isl::map on_instances(const MappingState &state, const Command &command, const isl::map &written,
                      const InstanceSpace &instances) {
  const isl::set scheduled = instances.domain.intersect_params(state.function->context);
  isl::map map = checked(written.intersect_domain(scheduled), "set_schedule");
  const isl::set unscheduled = scheduled.subtract(map.domain());
  Point point;
  if (sample_point(checked(unscheduled, "set_schedule"), point)) {
    refuse(command, "the map gives no time to " + instance_text(command.computation, point));
  }
  if (!checked(map.is_single_valued(), "set_schedule")) {
    refuse(command, "the map gives several times to one instance");
  }
  if (!checked(map.is_injective(), "set_schedule")) {
    refuse(command, "the map gives the same time to two instances" +
                        same_time_example(command, map, instances));
  }
  return map;
}

/// A loop that runs over one iterator has its name; others are t0, t1 and so on.
std::vector<LoopDimension> loops_of(const isl::pw_multi_aff &times, unsigned count,
                                    const InstanceSpace &instances) {
  std::vector<LoopDimension> loops;
  for (unsigned d = 0; d < count; ++d) {
    const isl::pw_aff value = everywhere(times.at(static_cast<int>(d)));
    std::string name = "t" + std::to_string(d);
    for (size_t i = 0; i < instances.iterators.size(); ++i) {
      const isl::pw_aff iterator = isl::pw_aff::var_on_domain(
          isl::local_space(instances.domain.space()), isl::dim::set, static_cast<unsigned>(i));
      const bool taken = std::any_of(loops.begin(), loops.end(), [&](const auto &loop) {
        return loop.name == instances.iterators[i];
      });
      if (!taken && checked(value.is_equal(iterator), "set_schedule")) {
        name = instances.iterators[i];
      }
    }
    loops.push_back({name, value, {}, 0});
  }
  return loops;
}

void tag_loops(const MappingState &state, const Command &command,
               const std::map<size_t, LoopTag> &tags, std::vector<LoopDimension> &loops) {
  for (const auto &[position, tag] : tags) {
    LoopDimension &loop = loops.at(position);
    loop.tag = tag;
    if (tag.tag != Tag::Vector && tag.tag != Tag::Unroll) {
      continue;
    }
    const std::int64_t extent = constant_extent(state, command, loop);
    if (extent <= 0 || extent > max_copies || (tag.tag == Tag::Vector && extent > tag.factor)) {
      refuse(command, "dimension " + std::to_string(position) +
                          " of the map does not have the constant extent, of at most " +
                          std::to_string(max_copies) +
                          ", that its tag needs; take it modulo the size");
    }
    loop.tag.factor = tag.tag == Tag::Vector ? tag.factor : extent;
    loop.extent = loop.tag.factor;
  }
}

} // namespace

void set_schedule_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 1, "set_schedule(\"{ C[i,j] -> [...] }\")");
  std::string text = arguments.name(0, "an isl map");
  const std::map<size_t, LoopTag> tags = take_tags(text, command);
  if (std::string problem; parse_map(text, problem).is_null()) {
    refuse_unknown_tag(text, command);
  }
  const isl::map given = read_command_map(state, command, text, "{ C[i, j] -> [j, i] }");
  const InstanceSpace instances = instance_space(**state.function->find(command.computation));
  require_domain(command, given, instances);
  const isl::map written = isl::manage(isl_map_reset_tuple_id(given.copy(), isl_dim_out));
  const isl::map map = on_instances(state, command, written, instances);
  // As it was written, not as it could be simplified on these instances: what a reduction
  // initialises are others, and a loop over a reduced iterator stays one where it takes a single
  // value.
  const isl::map &meant = checked(written.is_single_valued(), "set_schedule") ? written : map;
  TimeSpaceMap result;
  result.explicit_time = true;
  result.dimensions = loops_of(checked(meant.as_pw_multi_aff(), "set_schedule"),
                               checked(map.range_tuple_dim(), "set_schedule"), instances);
  tag_loops(state, command, tags, result.dimensions);
  state.time_space[command.computation] = std::move(result);
  std::erase_if(state.placements,
                [&](const Placement &p) { return p.computation == command.computation; });
}

} // namespace tilewright
