#include "mapping/written_times.h"

#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/loop_extent.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <regex>
#include <set>

namespace tilewright {

namespace {

constexpr const char *doing_written_times = "the times of a computation";

std::string tuple_text(const std::vector<std::int64_t> &values) {
  return instance_text("", values);
}

/// The coordinates [first, first + count) of a point.
std::vector<std::int64_t> part(const Point &point, size_t first, size_t count) {
  const auto begin = point.coordinates.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// Pairs of instances that have one time and had two before.
isl::map brought_together(const isl::map &times, const InstanceSpace &instances,
                          const EarlierTimes *before) {
  isl::map same =
      times.apply_range(times.reverse()).intersect(isl::map::lex_lt(instances.domain.space()));
  if (before != nullptr) {
    same = same.subtract(before->loops.apply_range(before->loops.reverse()));
  }
  return checked(same, doing_written_times);
}

/// ", for example C[0,1] and C[1,0] (N = 2)" of two instances; empty where isl finds none to name.
std::string pair_example(const std::string &computation, const isl::map &pairs,
                         const InstanceSpace &instances) {
  Point point;
  if (!sample_point(checked(pairs.wrap(), doing_written_times), point)) {
    return "";
  }
  // Both instances one after the other; what the parameters are is said once.
  const size_t dimensions = instances.iterators.size();
  return ", for example " + instance_text(computation, Point{{}, part(point, 0, dimensions)}) +
         " and " +
         instance_text(computation, Point{point.parameters, part(point, dimensions, dimensions)});
}

/// An instance with two times, for a message.
std::string several_times_example(const std::string &computation, const isl::map &map,
                                  const InstanceSpace &instances) {
  const isl::set later = isl::map::lex_lt(map.range().space()).wrap();
  const isl::map both = map.range_product(map).intersect_range(later);
  Point point;
  if (!sample_point(checked(both.wrap(), doing_written_times), point)) {
    return "";
  }
  const size_t dimensions = instances.iterators.size();
  const size_t times = (point.coordinates.size() - dimensions) / 2;
  return ", for example " + tuple_text(part(point, dimensions, times)) + " and " +
         tuple_text(part(point, dimensions + times, times)) + " to " +
         instance_text(computation, Point{point.parameters, part(point, 0, dimensions)});
}

} // namespace

std::vector<WrittenTag> take_tags(std::string &text, const Command &command) {
  std::vector<WrittenTag> tags;
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
    tags.push_back({static_cast<size_t>(match.position()), position, tag});
    text = before + std::string(match.length(), ' ') + match.suffix().str(); // columns stay
  }
  return tags;
}

void refuse_unknown_tag(const std::string &text, const Command &command) {
  const size_t arrow = text.find("->");
  const std::string times = arrow == std::string::npos ? text : text.substr(arrow);
  static const std::regex pattern(R"((\w+)\s*\(\s*([A-Za-z_]\w*(?:\s*\(\s*\w*\s*\))?)\s*\))");
  static const std::set<std::string> functions = {"floor", "ceil",   "floord", "ceild", "min",
                                                  "max",   "abs",    "mod",    "and",   "or",
                                                  "not",   "exists", "implies"};
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

std::map<size_t, LoopTag> tags_by_position(const std::vector<WrittenTag> &tags,
                                           const Command &command) {
  std::map<size_t, LoopTag> found;
  for (const WrittenTag &written : tags) {
    const auto [entry, fresh] = found.emplace(written.position, written.tag);
    if (!fresh && entry->second != written.tag) {
      refuse(command, "dimension " + std::to_string(written.position) + " has two different tags");
    }
  }
  return found;
}

void tag_loops(const MappingState &state, const Command &command, const std::string &computation,
               const std::map<size_t, LoopTag> &tags, std::vector<LoopDimension> &loops) {
  const Command own{computation, command.name, {}, command.where};
  for (const auto &[position, tag] : tags) {
    LoopDimension &loop = loops.at(position);
    require_no_other_tag(loop, tag.tag, command);
    loop.tag = tag;
    if (tag.tag != Tag::Vector && tag.tag != Tag::Unroll) {
      continue;
    }
    const std::int64_t extent = constant_extent(state, own, loop);
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

isl::map times_of_instances(const MappingState &state, const Command &command,
                            const std::string &computation, const isl::map &written,
                            const InstanceSpace &instances, const EarlierTimes *before,
                            bool copies) {
  const isl::set scheduled = instances.domain.intersect_params(state.function->context);
  isl::map map = checked(written.intersect_domain(scheduled), doing_written_times);
  const isl::set unscheduled = scheduled.subtract(map.domain());
  Point point;
  if (sample_point(checked(unscheduled, doing_written_times), point)) {
    refuse(command, "the map gives no time to " + instance_text(computation, point) +
                        (before != nullptr ? before->place(point) : ""));
  }
  if (!copies && !checked(map.is_single_valued(), doing_written_times)) {
    refuse(command, "the map gives several times to one instance" +
                        several_times_example(computation, map, instances));
  }
  if (!checked(map.is_injective(), doing_written_times)) {
    const isl::map pairs = brought_together(map, instances, before);
    if (!checked(pairs.is_empty(), doing_written_times)) {
      refuse(command, "the map gives the same time to two instances" +
                          pair_example(computation, pairs, instances));
    }
  }
  return map;
}

isl::pw_aff everywhere(const isl::pw_aff &value) {
  const isl::pw_aff known = checked(value.coalesce(), doing_written_times);
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
  return checked(isl::manage(formula), doing_written_times);
}

std::vector<isl::pw_aff> written_values(const isl::map &written, const isl::map &on_instances) {
  const isl::map &meant =
      checked(written.is_single_valued(), doing_written_times) ? written : on_instances;
  const isl::pw_multi_aff functions = checked(meant.as_pw_multi_aff(), doing_written_times);
  std::vector<isl::pw_aff> values;
  for (unsigned d = 0; d < checked(written.range_tuple_dim(), doing_written_times); ++d) {
    values.push_back(everywhere(functions.at(static_cast<int>(d))));
  }
  return values;
}

std::vector<std::string> written_names(const isl::map &written,
                                       const std::vector<std::string> &defaults) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (unsigned d = 0; d < checked(written.range_tuple_dim(), doing_written_times); ++d) {
    const char *given = isl_map_get_dim_name(written.get(), isl_dim_out, d);
    const bool plain = given != nullptr && is_isl_identifier(given) && taken.insert(given).second;
    names.emplace_back(plain ? given : "");
  }
  for (size_t d = 0; d < names.size(); ++d) {
    if (!names[d].empty()) {
      continue;
    }
    names[d] = defaults[d];
    if (names[d].empty() || !taken.insert(names[d]).second) {
      names[d] = "t" + std::to_string(d);
      while (!taken.insert(names[d]).second) {
        names[d] += "_";
      }
    }
  }
  return names;
}

} // namespace tilewright
