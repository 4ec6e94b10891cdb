// split tile interchange reverse scale shift skew parallelize vectorize unroll: changes of one
// computation's time-space map.
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/command_table.h"
#include "mapping/commands.h"
#include "mapping/copies.h"
#include "mapping/joined_dimensions.h"
#include "mapping/loop_extent.h"
#include "mapping/parametric_split.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace tilewright {

namespace {

isl::val integer_value(std::int64_t value) {
  return isl::val(isl_context(), static_cast<long>(value));
}

/// The tag that the outer of two loops has of the one that they were: blocks of parallel iterations
/// are as parallel, and so many blocks to a chunk as hold its iterations. What else is said of a
/// loop is said of its iterations, and neither of the two has them.
LoopTag tag_of_blocks(const LoopDimension &loop, std::int64_t size, const Command &command) {
  const Tag tag = loop.tag.tag;
  if (tag != Tag::Sequential && tag != Tag::Parallel && tag != Tag::GpuSpread) {
    refuse(command, "loop '" + loop.name + "' is " + tag_description(tag) +
                        ", which neither of the loops that it is cut into would be; cut it first, "
                        "and tag the loops that come of it");
  }
  LoopTag blocks = loop.tag;
  blocks.chunk = (blocks.chunk + size - 1) / size;
  return blocks;
}

/// The two loops that stripmining makes of one: floor(d / size) and d mod size.
std::pair<LoopDimension, LoopDimension> stripmined(const LoopDimension &loop, std::int64_t size,
                                                   const std::string &outer,
                                                   const std::string &inner,
                                                   const Command &command) {
  const LoopTag tag = tag_of_blocks(loop, size, command);
  const isl::pw_aff block = loop.value.scale_down(integer_value(size)).floor();
  const isl::pw_aff rest = loop.value.sub(block.scale(integer_value(size)));
  // What threads share out is shared out in both loops together. The iterations are those of the
  // inner loop, and so many of them later is the same place as before.
  return {LoopDimension{outer, checked(block, "split"), tag, 0},
          LoopDimension{inner, checked(rest, "split"), tag.tag == Tag::GpuSpread ? tag : LoopTag{},
                        size, loop.prefetches}};
}

/// Refuses argument `position`, a loop, where one before it is the same.
void require_new_loop(const CommandArguments &arguments, size_t position, const Command &command) {
  for (size_t before = 0; before < position; ++before) {
    if (arguments.name(before, "a loop") == arguments.name(position, "a loop")) {
      refuse(command, "loop '" + arguments.name(position, "a loop") + "' is given twice");
    }
  }
}

/// Replaces loop `position` by the two that it is cut into.
void put_halves(TimeSpaceMap &map, size_t position, LoopDimension block, LoopDimension rest,
                const Command &command) {
  map.dimensions.erase(map.dimensions.begin() + static_cast<std::ptrdiff_t>(position));
  require_new_name(map, block.name, command);
  require_new_name(map, rest.name, command);
  if (block.name == rest.name) {
    refuse(command, "the two loops need two names, got '" + block.name + "' twice");
  }
  map.dimensions.insert(map.dimensions.begin() + static_cast<std::ptrdiff_t>(position),
                        {std::move(block), std::move(rest)});
}

/// Replaces loop `position` by its two halves.
void split_at(TimeSpaceMap &map, size_t position, std::int64_t size, const std::string &outer,
              const std::string &inner, const Command &command) {
  auto [block, rest] = stripmined(map.dimensions[position], size, outer, inner, command);
  put_halves(map, position, std::move(block), std::move(rest), command);
}

std::int64_t require_constant_extent(MappingState &state, const Command &command, size_t position) {
  LoopDimension &loop = state.time_space.at(command.computation).dimensions[position];
  std::int64_t extent = constant_extent(state, command, loop);
  if (extent > 0) {
    loop.extent = extent;
  } else {
    extent = extent_inside(state, command.computation, position); // until compute_at changes
  }
  if (extent <= 0 || extent > max_copies) {
    refuse(command, "loop '" + loop.name + "' has no constant extent of at most " +
                        std::to_string(max_copies) + "; give a size, e.g. " + command.name + "(\"" +
                        loop.name + "\", 8)");
  }
  return extent;
}

/// What iterations of a loop ask for that become one piece of code, asked for by that piece.
void ask_by_blocks(LoopDimension &blocks, LoopDimension &iterations, std::int64_t size) {
  for (Prefetch prefetch : iterations.prefetches) {
    const std::int64_t whole = (std::abs(prefetch.distance) + size - 1) / size;
    prefetch.distance = prefetch.distance < 0 ? -whole : whole;
    blocks.prefetches.push_back(prefetch);
  }
  iterations.prefetches.clear();
}

/// Tags the strips of joined loops, which it cuts unless they are.
void tag_strips(TimeSpaceMap &map, const LoopRange &loops, const CommandArguments &arguments,
                const Command &command, Tag tag) {
  const std::string name = arguments.name(0, "the loop");
  const std::int64_t given = map.dimensions[loops.first].tag.strip;
  if (arguments.size() == 1 && !loops.is_strip) {
    refuse(command, "loop '" + name + "' has no constant extent; give a size, e.g. " +
                        command.name + "(\"" + name + "\", 8)");
  }
  const std::int64_t size = arguments.size() > 1 ? arguments.integer(1, "the size", 1) : given;
  if (size > max_copies) {
    refuse(command, "the size must be at most " + std::to_string(max_copies) + ", got " +
                        std::to_string(size));
  }
  if (!loops.is_strip || size != given) {
    cut_into_strips(map, loops, size,
                    arguments.optional_name(2, "the outer loop").value_or(name + "0"),
                    arguments.optional_name(3, "the inner loop").value_or(name + "1"), command);
  }
  for (size_t d = loops.first; d < loops.end(); ++d) {
    if (map.dimensions[d].tag.strips != Tag::Sequential && map.dimensions[d].tag.strips != tag) {
      refuse(command, "loop '" + map.dimensions[loops.end() - 1].name + "' is " +
                          tag_description(map.dimensions[d].tag.strips) +
                          " already and cannot be " + tag_description(tag) + " too");
    }
    map.dimensions[d].tag.strips = tag;
  }
}

/// Tags a loop of constant extent `size`, splitting when the loop is longer.
void tag_strip(MappingState &state, const Command &command, Tag tag) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 4,
                           tag == Tag::Vector ? "vectorize(i, v, i0=None, i1=None)"
                                              : "unroll(i, v=None, i0=None, i1=None)");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  const std::string name = arguments.name(0, "the loop");
  if (const LoopRange joined = find_loops(map, name, command); joined.count > 1) {
    tag_strips(map, joined, arguments, command, tag);
    return;
  }
  size_t position = find_loop(map, name, command);
  std::int64_t extent = 0;
  if (arguments.size() == 1) {
    extent = require_constant_extent(state, command, position);
  } else {
    const std::int64_t size = arguments.integer(1, "the size", 1);
    if (size > max_copies) {
      refuse(command, "the size must be at most " + std::to_string(max_copies) + ", got " +
                          std::to_string(size));
    }
    if (map.dimensions[position].extent != size) {
      split_at(map, position, size,
               arguments.optional_name(2, "the outer loop").value_or(name + "0"),
               arguments.optional_name(3, "the inner loop").value_or(name + "1"), command);
      ask_by_blocks(map.dimensions[position], map.dimensions[position + 1], size);
      ++position;
    }
    extent = map.dimensions[position].extent;
  }
  require_no_other_tag(map.dimensions[position], tag, command);
  if (!map.dimensions[position].prefetches.empty()) {
    refuse(command, "the iterations of loop '" + map.dimensions[position].name +
                        "' become one piece of code, but '" +
                        map.dimensions[position].prefetches[0].array +
                        "' is prefetched for later ones of them; prefetch for later iterations of "
                        "a loop around it, after this command");
  }
  map.dimensions[position].tag = {tag, extent};
}

/// Determinant by cofactors, in as many bits as it takes; the matrices are as large as a loop nest
/// is deep.
isl::val integer_determinant(const std::vector<std::int64_t> &matrix, size_t size) {
  if (size == 1) {
    return integer_value(matrix[0]);
  }
  isl::val result = integer_value(0);
  for (size_t column = 0; column < size; ++column) {
    std::vector<std::int64_t> minor;
    for (size_t r = 1; r < size; ++r) {
      for (size_t c = 0; c < size; ++c) {
        if (c != column) {
          minor.push_back(matrix[r * size + c]);
        }
      }
    }
    const isl::val part = integer_value(matrix[column]).mul(integer_determinant(minor, size - 1));
    result = column % 2 == 0 ? result.add(part) : result.sub(part);
  }
  return checked(result, "the determinant of a matrix");
}

/// Computations with an explicit time share their loops with all others that have one.
bool has_loops_of_its_own(const MappingState &state, const TimeSpaceMap &map,
                          const Command &command) {
  if (!map.explicit_time) {
    return true;
  }
  const Computation &computation = **state.function->find(command.computation);
  return instance_space(computation).reduced == 0 &&
         std::count_if(state.time_space.begin(), state.time_space.end(),
                       [](const auto &entry) { return entry.second.explicit_time; }) == 1;
}

} // namespace

bool keeps_order(const Mapping &mapping, const Command &command) {
  const CommandTraits &asked = traits(command);
  if (!asked.keeps_order || (asked.tag && is_concurrent(*asked.tag))) {
    return false;
  }
  const MappingState &state = mapping.state();
  const TimeSpaceMap &map = state.time_space.at(command.computation);
  const LoopRange loops = find_loops(map, CommandArguments(command).name(0, "the loop"), command);
  const size_t position = loops.first;
  const Tag tag = map.dimensions[position].tag.tag;
  const bool may_end_early = state.function->stop && position == 0;
  return has_loops_of_its_own(state, map, command) && !may_end_early &&
         (tag == Tag::Sequential || tag == Tag::Unroll) &&
         std::none_of(state.placements.begin(), state.placements.end(),
                      [&](const Placement &placement) {
                        return (placement.computation == command.computation ||
                                placement.other == command.computation) &&
                               position < static_cast<size_t>(placement.shared);
                      });
}

std::optional<Command> split_before_tag(const Mapping &mapping, const Command &command) {
  const CommandTraits &asked = traits(command);
  if (!asked.keeps_order || !asked.tag || !is_concurrent(*asked.tag) ||
      command.arguments.size() < 2) {
    return std::nullopt;
  }
  const TimeSpaceMap &map = mapping.time_space(command.computation);
  const CommandArguments arguments(command);
  const LoopRange loops = find_loops(map, arguments.name(0, "the loop"), command);
  const size_t position = loops.first;
  if (loops.count > 1 || map.dimensions[position].extent == arguments.integer(1, "the size", 1)) {
    return std::nullopt; // it is tagged as it is
  }
  Command split = command;
  split.name = "split";
  return keeps_order(mapping, split) ? std::optional(split) : std::nullopt;
}

void split_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 4, "split(i, s, i0=None, i1=None)");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  const std::string name = arguments.name(0, "the loop");
  const std::string outer = arguments.optional_name(2, "the outer loop").value_or(name + "0");
  const std::string inner = arguments.optional_name(3, "the inner loop").value_or(name + "1");
  const LoopRange joined = find_loops(map, name, command);
  if (joined.count > 1 && !arguments.is_name(1)) {
    cut_into_strips(map, joined, arguments.integer(1, "the size", 1), outer, inner, command);
    return;
  }
  const size_t position = find_loop(map, name, command);
  std::int64_t size = 0;
  if (!arguments.is_name(1)) {
    size = arguments.integer(1, "the size", 1);
  } else if (auto halves = stripmined_by_parameters(state, command, map.dimensions[position],
                                                    arguments.name(1, "the size"), size)) {
    halves->first.name = outer;
    halves->second.name = inner;
    put_halves(map, position, std::move(halves->first), std::move(halves->second), command);
    return;
  }
  split_at(map, position, size, outer, inner, command);
}

void tile_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  size_t count = 0;
  while (arguments.is_name(count)) {
    ++count;
  }
  const size_t given = arguments.size();
  if (count == 0 || (given != 2 * count && given != 4 * count)) {
    refuse(command, "expected tile(i, j, t1, t2, i0=None, j0=None, i1=None, j1=None): as many "
                    "sizes as loops, and names "
                    "for all new loops or none");
  }
  TimeSpaceMap &map = state.time_space.at(command.computation);
  const size_t first = find_loop(map, arguments.name(0, "a loop"), command);
  std::vector<LoopDimension> blocks;
  std::vector<LoopDimension> points;
  for (size_t d = 0; d < count; ++d) {
    const std::string name = arguments.name(d, "a loop");
    require_new_loop(arguments, d, command);
    if (find_loop(map, name, command) != first + d) {
      refuse(command, "the loops must be neighbours in this order; bring '" + name +
                          "' there with interchange first");
    }
    const std::int64_t size = arguments.integer(count + d, "a tile size", 1);
    const bool named = given == 4 * count;
    auto [block, point] =
        stripmined(map.dimensions[first + d], size,
                   named ? arguments.name(2 * count + d, "a loop") : name + "0",
                   named ? arguments.name(3 * count + d, "a loop") : name + "1", command);
    blocks.push_back(block);
    points.push_back(point);
  }
  const auto start = map.dimensions.begin() + static_cast<std::ptrdiff_t>(first);
  map.dimensions.erase(start, start + static_cast<std::ptrdiff_t>(count));
  blocks.insert(blocks.end(), points.begin(), points.end());
  for (const LoopDimension &loop : blocks) {
    require_new_name(map, loop.name, command);
    if (std::count_if(blocks.begin(), blocks.end(),
                      [&](const auto &other) { return other.name == loop.name; }) > 1) {
      refuse(command, "the new loops need different names, got '" + loop.name + "' twice");
    }
  }
  map.dimensions.insert(map.dimensions.begin() + static_cast<std::ptrdiff_t>(first), blocks.begin(),
                        blocks.end());
}

void interchange_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 2, "interchange(i, j)");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  const size_t a = find_loop(map, arguments.name(0, "a loop"), command);
  const size_t b = find_loop(map, arguments.name(1, "a loop"), command);
  std::swap(map.dimensions[a], map.dimensions[b]);
}

void reverse_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 1, "reverse(i)");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  LoopDimension &loop = map.dimensions[find_loop(map, arguments.name(0, "the loop"), command)];
  loop.value = checked(loop.value.neg(), "reverse");
}

void scale_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 2, "scale(i, s)");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  LoopDimension &loop = map.dimensions[find_loop(map, arguments.name(0, "the loop"), command)];
  const std::int64_t factor = arguments.any_integer(1, "the factor");
  if (factor < 1) {
    refuse(command, "the factor must be 1 or more, got " + std::to_string(factor) +
                        "; reverse(i) runs a loop backwards");
  }
  loop.value = checked(loop.value.scale(integer_value(factor)), "scale");
  loop.extent = 0;
}

void shift_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 2, "shift(i, s)");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  LoopDimension &loop = map.dimensions[find_loop(map, arguments.name(0, "the loop"), command)];
  loop.value = checked(
      loop.value.add_constant(integer_value(arguments.any_integer(1, "the shift"))), "shift");
}

void skew_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 3, "skew(i, j, f=1)");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  const size_t by = find_loop(map, arguments.name(0, "the outer loop"), command);
  const size_t skewed = find_loop(map, arguments.name(1, "the skewed loop"), command);
  if (by == skewed) {
    refuse(command, "a loop cannot be skewed by itself");
  }
  const std::int64_t factor = arguments.size() > 2 ? arguments.any_integer(2, "the factor") : 1;
  LoopDimension &loop = map.dimensions[skewed];
  loop.value =
      checked(loop.value.add(map.dimensions[by].value.scale(integer_value(factor))), "skew");
  loop.extent = 0;
}

void reorder_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  if (arguments.size() < 2) {
    refuse(command, "expected reorder(i, j, ...): the loops in their new order, outermost first");
  }
  TimeSpaceMap &map = state.time_space.at(command.computation);
  std::vector<size_t> positions;
  std::vector<LoopDimension> loops;
  for (size_t d = 0; d < arguments.size(); ++d) {
    const size_t position = find_loop(map, arguments.name(d, "a loop"), command);
    if (std::find(positions.begin(), positions.end(), position) != positions.end()) {
      refuse(command, "loop '" + map.dimensions[position].name + "' is named twice");
    }
    positions.push_back(position);
    loops.push_back(map.dimensions[position]);
  }
  std::sort(positions.begin(), positions.end());
  for (size_t d = 0; d < positions.size(); ++d) {
    map.dimensions[positions[d]] = loops[d];
  }
}

void transform_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  size_t count = 0;
  while (arguments.is_name(count)) {
    ++count;
  }
  const auto *matrix = count + 1 == arguments.size()
                           ? std::get_if<std::vector<std::int64_t>>(&command.arguments[count])
                           : nullptr;
  if (count == 0 || matrix == nullptr || matrix->size() != count * count) {
    refuse(command, "expected transform(i, j, [a, b, c, d]): as many loops as the square matrix "
                    "(row by row) has rows");
  }
  const isl::val determinant = integer_determinant(*matrix, count);
  if (!determinant.is_one().is_true() && !determinant.is_negone().is_true()) {
    std::ostringstream text;
    text << determinant;
    refuse(command, "the matrix must be unimodular (determinant 1 or -1), but its determinant is " +
                        text.str());
  }
  TimeSpaceMap &map = state.time_space.at(command.computation);
  std::vector<size_t> positions;
  std::vector<LoopDimension> loops;
  for (size_t d = 0; d < count; ++d) {
    const size_t position = find_loop(map, arguments.name(d, "a loop"), command);
    if (std::find(positions.begin(), positions.end(), position) != positions.end()) {
      refuse(command, "loop '" + map.dimensions[position].name + "' is named twice");
    }
    positions.push_back(position);
    loops.push_back(map.dimensions[position]);
  }
  for (size_t row = 0; row < count; ++row) {
    LoopDimension &loop = map.dimensions[positions[row]];
    loop.value = loops[0].value.scale(integer_value((*matrix)[row * count]));
    for (size_t column = 1; column < count; ++column) {
      loop.value =
          loop.value.add(loops[column].value.scale(integer_value((*matrix)[row * count + column])));
    }
    loop.value = checked(loop.value, "transform");
    loop.extent = 0;
  }
}

void parallelize_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  size_t count = 0;
  const auto is_dealing = [&](size_t position) {
    return position > 0 && arguments.is_name(position) &&
           (arguments.name(position, "") == "static" || arguments.name(position, "") == "dynamic");
  };
  while (arguments.is_name(count) && !is_dealing(count)) {
    ++count;
  }
  const size_t rest = arguments.size() - count;
  if (count == 0 || rest > 2 || (rest > 0 && !is_dealing(count))) {
    refuse(command, "expected parallelize(i, ..., schedule=\"static\" or \"dynamic\", chunk=None): "
                    "loops that stand directly inside each other, then the schedule and the "
                    "number of iterations in a chunk");
  }
  LoopTag tag;
  tag.tag = Tag::Parallel;
  if (rest > 0 && arguments.name(count, "the schedule") == "dynamic") {
    tag.dealing = Dealing::Dynamic;
  }
  if (rest > 1) {
    tag.chunk = arguments.integer(count + 1, "the chunk", 1);
  }
  TimeSpaceMap &map = state.time_space.at(command.computation);
  const size_t first = find_loops(map, arguments.name(0, "the loop"), command).first;
  size_t end = first;
  for (size_t d = 0; d < count; ++d) {
    const std::string name = arguments.name(d, "a loop");
    require_new_loop(arguments, d, command);
    const LoopRange loops = find_loops(map, name, command);
    if (loops.first != end) {
      refuse(command, "loops that run as one must be neighbours in this order; bring '" + name +
                          "' there with interchange first");
    }
    if (loops.is_strip || (count > 1 && map.dimensions[loops.first].tag.strip > 0)) {
      refuse(command, "loop '" + map.dimensions[loops.end() - 1].name +
                          "' holds strips of a loop that counts through others (join); the loop "
                          "over them, '" +
                          map.dimensions[loops.first].name + "', is what can be parallel, alone");
    }
    end = loops.end();
  }
  require_independent_bounds(state, command, first, end - first,
                             "parallelize(\"" + map.dimensions[first].name +
                                 "\", \"dynamic\") deals out uneven iterations");
  for (size_t d = end; d < map.dimensions.size() && map.dimensions[d].tag.joined; ++d) {
    if (map.dimensions[d].tag.counts == 0) {
      map.dimensions[d].tag = {}; // ran as one with these until now
    }
  }
  for (size_t d = first; d < end; d = joined_range(map, d).end()) {
    require_no_other_tag(map.dimensions[d], Tag::Parallel, command);
    tag_loops(map, joined_range(map, d), tag);
    tag.joined = true;
  }
}

void vectorize_command(MappingState &state, const Command &command) {
  tag_strip(state, command, Tag::Vector);
}

void unroll_command(MappingState &state, const Command &command) {
  tag_strip(state, command, Tag::Unroll);
}

} // namespace tilewright
