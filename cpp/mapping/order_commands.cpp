// after before then: the order among computations and the loops they share.
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/joined_dimensions.h"
#include "polyhedral/counted.h"

#include <algorithm>

namespace tilewright {

namespace {

/// Whether `computation` is placed, directly or not, relative to `other`.
bool depends_on(const MappingState &state, const std::string &computation,
                const std::string &other) {
  const Placement *placement = find_placement(state, computation);
  while (placement != nullptr) {
    if (placement->other == other) {
      return true;
    }
    placement = find_placement(state, placement->other);
  }
  return false;
}

/// How many loops a computation has, those it shares by compute_at included.
size_t loop_count(const MappingState &state, const std::string &computation) {
  const Placement *placement = find_placement(state, computation);
  return state.time_space.at(computation).dimensions.size() +
         (placement != nullptr && placement->compute_at ? static_cast<size_t>(placement->shared)
                                                        : 0);
}

/// The position among all loops of `other` of the one named `level`; shared ones by compute_at come
/// first.
int shared_with(const MappingState &state, const Command &command, const std::string &other,
                const std::string &level) {
  if (level.empty()) {
    return 0;
  }
  const LoopRange own = find_loops(state.time_space.at(other), level, command);
  return static_cast<int>(own.end() - 1 + loop_count(state, other) -
                          state.time_space.at(other).dimensions.size()) +
         1;
}

void place(MappingState &state, const Command &command, const std::string &computation,
           const std::string &other, const std::string &level, bool before) {
  if (computation == other) {
    refuse(command, "a computation cannot be placed relative to itself");
  }
  const int shared = shared_with(state, command, other, level);
  const size_t own = state.time_space.at(computation).dimensions.size();
  if (static_cast<size_t>(shared) > own) {
    refuse(command, computation + " has " + counted(own, "loop") + " and cannot share the " +
                        std::to_string(shared) + " outermost loops of " + other);
  }
  if (depends_on(state, other, computation)) {
    refuse(command, other + " is itself placed relative to " + computation +
                        "; the order would be circular");
  }
  std::erase_if(state.placements, [&](const Placement &p) { return p.computation == computation; });
  state.time_space.at(computation).explicit_time = false;
  state.placements.push_back({computation, other, shared, before, false});
  state.allocations.erase(computation);
}

std::string existing_computation(const MappingState &state, const Command &command,
                                 const std::string &name) {
  if (state.time_space.count(name) == 0) {
    refuse(command, "there is no computation named '" + name +
                        "'; the computations are: " + computation_list(state));
  }
  return name;
}

/// Where a buffer inside loops shall be: an optional argument.
std::string memory_argument(const CommandArguments &arguments, const Command &command,
                            size_t position) {
  const std::string memory = arguments.optional_name(position, "the memory").value_or("auto");
  if (memory != "auto" && memory != "registers" && memory != "stack" && memory != "heap" &&
      memory != "shared" && memory != "private") {
    refuse(command,
           "the memory must be \"auto\", \"registers\", \"stack\", \"heap\", \"shared\" or "
           "\"private\", got \"" +
               memory + "\"");
  }
  return memory;
}

void place_by_arguments(MappingState &state, const Command &command, bool before, bool swap) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 2, "(other, level=None)");
  const std::string other =
      existing_computation(state, command, arguments.name(0, "a computation"));
  const std::string level = arguments.optional_name(1, "a loop").value_or("");
  if (swap) {
    place(state, command, other, command.computation, level, before);
  } else {
    place(state, command, command.computation, other, level, before);
  }
}

} // namespace

void after_command(MappingState &state, const Command &command) {
  place_by_arguments(state, command, false, false);
}

void before_command(MappingState &state, const Command &command) {
  place_by_arguments(state, command, true, false);
}

void compute_at_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 2, "compute_at(C, j)");
  const std::string consumer =
      existing_computation(state, command, arguments.name(0, "the reader"));
  const std::string &name = command.computation;
  if (consumer == name || depends_on(state, consumer, name)) {
    refuse(command,
           consumer + " is itself placed relative to " + name + "; the order would be circular");
  }
  for (const ComputationPtr &output : state.function->outputs) {
    if (output->name == name) {
      refuse(command, name + " is an output; all of it has to be computed, whoever reads it");
    }
  }
  const int shared =
      shared_with(state, command, consumer, arguments.name(1, "a loop of the reader"));
  std::erase_if(state.placements, [&](const Placement &p) { return p.computation == name; });
  state.time_space.at(name).explicit_time = false;
  state.placements.push_back({name, consumer, shared, true, true});
  state.allocations.erase(name);
}

void store_at_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 4, "store_at(C, j, memory=\"auto\", pad=0)");
  const std::string reader = existing_computation(state, command, arguments.name(0, "the reader"));
  const std::string &name = command.computation;
  const Placement *placement = find_placement(state, name);
  if (placement == nullptr || !placement->compute_at || placement->other != reader) {
    refuse(command,
           name + " is not computed inside the loops of " + reader + "; give compute_at first");
  }
  const int levels = shared_with(state, command, reader, arguments.name(1, "a loop of the reader"));
  if (levels > placement->shared) {
    refuse(command, "the buffer would live inside a loop in which " + name + " is not computed; " +
                        name + " shares " + counted(placement->shared, "loop") + " with " + reader);
  }
  const std::string memory = memory_argument(arguments, command, 2);
  const std::int64_t pad = arguments.size() > 3 ? arguments.integer(3, "the padding", 0) : 0;
  if (pad > 0 && (memory == "registers" || memory == "private")) {
    refuse(command, "padding is for memory with an order of its own; in memory=\"" + memory +
                        "\" elements have none");
  }
  if (pad > 0 && (**state.function->find(name)).rank() == 0) {
    refuse(command, name + " has no dimension that could be padded");
  }
  state.storage[name] = Storage::identity(**state.function->find(name));
  state.allocations[name] = {reader,        levels, memory, {}, to_string(command),
                             command.where, pad,    1,      {}};
}

namespace {

std::vector<std::string> all_in(const MappingState &state, const std::string &buffer) {
  std::vector<std::string> names;
  for (const auto &[name, storage] : state.storage) {
    if (storage.buffer == buffer) {
      names.push_back(name);
    }
  }
  return names;
}

/// `position`: of the loop among those of the computation itself.
void make_private(MappingState &state, const Command &command, const std::string &name,
                  size_t position, const std::string &memory) {
  const Placement *placement = find_placement(state, name);
  if (placement != nullptr && placement->compute_at) {
    refuse(command, name + " is computed inside the loops of " + placement->other +
                        "; give it a buffer there with store_at");
  }
  const std::vector<LoopDimension> &loops =
      state.time_space.at(loops_owner(state, name)).dimensions;
  if (position >= loops.size()) {
    refuse(command, name + " is stored in the same buffer, and has no loop where " +
                        command.computation + " has '" +
                        CommandArguments(command).name(0, "a loop") + "'");
  }
  Allocation allocation;
  allocation.levels = static_cast<int>(position) + 1;
  allocation.memory = memory;
  allocation.command = to_string(command);
  allocation.where = command.where;
  allocation.loop = loops[position].name;
  state.allocations[name] = std::move(allocation);
}

} // namespace

void private_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 2, "private(i, memory=\"auto\")");
  const std::string &name = command.computation;
  const std::string loop = arguments.name(0, "a loop");
  for (const ComputationPtr &output : state.function->outputs) {
    if (output->name == name) {
      refuse(command, name + " is an output; its elements are in the caller's array");
    }
  }
  const std::string memory = memory_argument(arguments, command, 1);
  const auto position =
      static_cast<size_t>(find_loop(state.time_space.at(loops_owner(state, name)), loop, command));
  const std::string buffer = state.storage.at(name).buffer;
  const std::vector<std::string> names = all_in(state, buffer);
  const bool has_own_buffer = names.size() == 1 && buffer == name;
  if (has_own_buffer || is_callers_array(state, **state.function->find(name))) {
    make_private(state, command, name, position, memory);
    state.storage[name] = Storage::identity(**state.function->find(name));
    return;
  }
  if (state.storage.at(name).packing != Packing::None ||
      !(state.storage.at(name).record == Record{})) {
    refuse(command, "buffer '" + buffer +
                        "' is a packed triangle, or a field of records; only plain arrays live "
                        "inside of loops");
  }
  for (const std::string &each : names) {
    make_private(state, command, each, position, memory);
  }
}

void fuse_with_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 2, "fuse_with(other, level=None)");
  Command placed = command;
  const std::string other = arguments.name(0, "a computation");
  if (arguments.size() == 1 && state.time_space.count(other) != 0) {
    const std::vector<LoopDimension> &loops = state.time_space.at(other).dimensions;
    const size_t common =
        std::min(loops.size(), state.time_space.at(command.computation).dimensions.size());
    if (common == 0) {
      refuse(command, "the two computations have no loops to share");
    }
    placed.arguments.emplace_back(loops[common - 1].name);
  }
  place_by_arguments(state, placed, false, false);
}

void fission_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 1, "fission(i)");
  const auto level = static_cast<int>(
      find_loop(state.time_space.at(command.computation), arguments.name(0, "the loop"), command));
  bool changed = false;
  for (Placement &placement : state.placements) {
    if ((placement.computation == command.computation || placement.other == command.computation) &&
        placement.shared > level) {
      placement.shared = level;
      changed = true;
      if (level == 0 && placement.compute_at) {
        // In no loop of its reader any more, all of it is computed before.
        placement.compute_at = false;
        state.allocations.erase(placement.computation);
      }
    }
  }
  if (!changed) {
    refuse(command,
           "loop '" + arguments.name(0, "the loop") + "' is not shared with another computation");
  }
}

void then_command(MappingState &state, const Command &command) {
  place_by_arguments(state, command, false, true);
}

} // namespace tilewright
