// gpu gpu_tile gpu_block gpu_thread gpu_spread gpu_mma: which loops become the blocks and threads
// of a GPU's kernel. These only tag loops (and tile them, where asked); what a kernel is made of,
// and whether its loops stand where they may, is decided in analysis/gpu_kernels.h.
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "polyhedral/counted.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr size_t max_axes = 3;
/// Threads of a block that gpu() takes for one, two and three loops, outermost first.
constexpr std::int64_t default_tiles[max_axes][max_axes] = {{256}, {8, 32}, {4, 4, 32}};

/// Beside loops of a warp's tile, whose threads lie along x, loops over threads are along y and z:
/// they count warps.
void make_room_for_lanes(TimeSpaceMap &map, const Command &command) {
  bool has_tiles = false;
  int first = static_cast<int>(max_axes);
  int last = 0;
  for (const LoopDimension &loop : map.dimensions) {
    has_tiles = has_tiles || loop.tag.tag == Tag::GpuMma;
    if (loop.tag.tag == Tag::GpuThread) {
      first = std::min(first, loop.tag.axis);
      last = std::max(last, loop.tag.axis);
    }
  }
  if (!has_tiles || first != 0) {
    return;
  }
  if (last + 1 >= static_cast<int>(max_axes)) {
    refuse(command, "the threads of a warp, which have a tile together (gpu_mma), are those along "
                    "x, so at most two loops are over threads besides (gpu_thread): along y and z");
  }
  for (LoopDimension &loop : map.dimensions) {
    loop.tag.axis += loop.tag.tag == Tag::GpuThread ? 1 : 0;
  }
}

/// Tags `loops`, outermost first; the innermost of them is x.
void tag_axes(MappingState &state, const Command &command, const std::vector<std::string> &loops,
              Tag tag) {
  if (loops.empty() || loops.size() > max_axes) {
    refuse(command, "a grid and a block have one to three dimensions, and this is given " +
                        (loops.empty() ? "no loops" : counted(loops.size(), "loop")));
  }
  TimeSpaceMap &map = state.time_space.at(command.computation);
  std::vector<size_t> positions;
  for (const std::string &name : loops) {
    const size_t position = find_loop(map, name, command);
    if (!positions.empty() && position <= positions.back()) {
      refuse(command, "the loops must be given outermost first, each once; '" + name +
                          "' stands outside of '" + map.dimensions[positions.back()].name +
                          "' or is it");
    }
    positions.push_back(position);
  }
  for (LoopDimension &loop : map.dimensions) {
    if (loop.tag.tag == tag) {
      loop.tag = {}; // the axes are given anew
    }
  }
  for (size_t p = 0; p < positions.size(); ++p) {
    require_no_other_tag(map.dimensions[positions[p]], tag, command);
    LoopTag &own = map.dimensions[positions[p]].tag;
    own = {};
    own.tag = tag;
    own.axis = static_cast<int>(positions.size() - 1 - p);
  }
  make_room_for_lanes(map, command);
}

std::vector<std::string> names_of(const Command &command, size_t first, size_t count) {
  const CommandArguments arguments(command);
  std::vector<std::string> names;
  for (size_t position = first; position < first + count; ++position) {
    names.push_back(arguments.name(position, "a loop"));
  }
  return names;
}

/// tile_command with these sizes; gives the names of the loops over tiles and of those in them.
std::vector<std::string> tiled(MappingState &state, const Command &command,
                               const std::vector<std::string> &loops,
                               const std::vector<std::int64_t> &sizes,
                               std::vector<std::string> names) {
  if (names.empty()) {
    for (const char *suffix : {"0", "1"}) {
      for (const std::string &loop : loops) {
        names.push_back(loop + suffix);
      }
    }
  }
  Command tile = command;
  tile.arguments.clear();
  for (const std::string &loop : loops) {
    tile.arguments.emplace_back(loop);
  }
  for (const std::int64_t size : sizes) {
    tile.arguments.emplace_back(size);
  }
  for (const std::string &name : names) {
    tile.arguments.emplace_back(name);
  }
  const TimeSpaceMap &map = state.time_space.at(command.computation);
  for (const std::string &loop : loops) {
    require_no_other_tag(map.dimensions[find_loop(map, loop, command)], Tag::GpuBlock, command);
  }
  apply_part(command, tile, [&] { tile_command(state, tile); });
  return names;
}

void tag_tiles(MappingState &state, const Command &command, const std::vector<std::string> &names) {
  const auto half = static_cast<std::ptrdiff_t>(names.size() / 2);
  tag_axes(state, command, {names.begin(), names.begin() + half}, Tag::GpuBlock);
  tag_axes(state, command, {names.begin() + half, names.end()}, Tag::GpuThread);
}

} // namespace

void gpu_block_command(MappingState &state, const Command &command) {
  tag_axes(state, command, names_of(command, 0, command.arguments.size()), Tag::GpuBlock);
}

void gpu_thread_command(MappingState &state, const Command &command) {
  tag_axes(state, command, names_of(command, 0, command.arguments.size()), Tag::GpuThread);
}

void gpu_spread_command(MappingState &state, const Command &command) {
  tag_axes(state, command, names_of(command, 0, command.arguments.size()), Tag::GpuSpread);
}

void gpu_mma_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 4, "gpu_mma(i, j, k=None, precision=None)");
  std::vector<std::string> loops = {arguments.name(0, "the loop over rows"),
                                    arguments.name(1, "the loop over columns")};
  if (const auto sum = arguments.optional_name(2, "the loop of the sum")) {
    loops.push_back(*sum);
  }
  const auto precision = arguments.optional_name(3, "the precision");
  if (precision && (*precision != "tf32" || loops.size() != 3)) {
    refuse(command, "the precision is \"tf32\", for products of float32 in the loop of a sum, or "
                    "none; got \"" +
                        *precision + "\"");
  }
  TimeSpaceMap &map = state.time_space.at(command.computation);
  std::vector<size_t> positions;
  for (const std::string &name : loops) {
    positions.push_back(find_loop(map, name, command));
    if (std::count(positions.begin(), positions.end(), positions.back()) > 1) {
      refuse(command, "'" + name + "' is given twice");
    }
  }
  for (LoopDimension &loop : map.dimensions) {
    if (loop.tag.tag == Tag::GpuMma) {
      loop.tag = {};
    }
  }
  for (size_t p = 0; p < positions.size(); ++p) {
    require_no_other_tag(map.dimensions[positions[p]], Tag::GpuMma, command);
    LoopTag &own = map.dimensions[positions[p]].tag;
    own = {};
    own.tag = Tag::GpuMma;
    own.axis = static_cast<int>(p) + (p == 2 && precision ? 1 : 0);
  }
  make_room_for_lanes(map, command);
}

void gpu_command(MappingState &state, const Command &command) {
  const size_t count = command.arguments.size();
  const std::vector<std::string> loops = names_of(command, 0, count);
  if (count == 2 * 2 || count == 2 * max_axes) {
    tag_tiles(state, command, loops);
    return;
  }
  if (count == 0 || count > max_axes) {
    refuse(command, "expected gpu(i), gpu(i, j) or gpu(i, j, k), an element for each thread, or "
                    "gpu(i0, j0, i1, j1), blocks and then threads; got " +
                        counted(count, "loop"));
  }
  const std::int64_t *sizes = default_tiles[count - 1];
  tag_tiles(state, command, tiled(state, command, loops, {sizes, sizes + count}, {}));
}

void gpu_tile_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  size_t count = 0;
  while (arguments.is_name(count)) {
    ++count;
  }
  const size_t given = arguments.size();
  if (count == 0 || count > max_axes || (given != 2 * count && given != 4 * count)) {
    refuse(command, "expected gpu_tile(i, j, t1, t2, i0=None, j0=None, i1=None, j1=None): one to "
                    "three loops, as many numbers of threads, and names for all new loops or none");
  }
  std::vector<std::int64_t> sizes;
  for (size_t d = 0; d < count; ++d) {
    sizes.push_back(arguments.integer(count + d, "the number of threads", 1));
  }
  const std::vector<std::string> names =
      given == 4 * count ? names_of(command, 2 * count, 2 * count) : std::vector<std::string>();
  tag_tiles(state, command, tiled(state, command, names_of(command, 0, count), sizes, names));
}

} // namespace tilewright
