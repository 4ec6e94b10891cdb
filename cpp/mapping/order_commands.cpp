// after before then: the order among computations and the loops they share.
#include <algorithm>

#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"

namespace tilewright {

namespace {

/// Whether `computation` is placed, directly or not, relative to `other`.
bool depends_on(const MappingState &state, const std::string &computation, const std::string &other) {
  std::string current = computation;
  while (true) {
    const auto found = std::find_if(state.placements.begin(), state.placements.end(),
                                    [&](const Placement &p) { return p.computation == current; });
    if (found == state.placements.end()) {
      return false;
    }
    current = found->other;
    if (current == other) {
      return true;
    }
  }
}

void place(MappingState &state, const Command &command, const std::string &computation, const std::string &other,
           const std::string &level, bool before) {
  if (computation == other) {
    refuse(command, "a computation cannot be placed relative to itself");
  }
  int shared = 0;
  if (!level.empty()) {
    const TimeSpaceMap &theirs = state.time_space.at(other);
    shared = static_cast<int>(find_loop(theirs, level, command)) + 1;
    const size_t own = state.time_space.at(computation).dimensions.size();
    if (static_cast<size_t>(shared) > own) {
      refuse(command, computation + " has " + std::to_string(own) + " loops and cannot share the " +
                          std::to_string(shared) + " outermost loops of " + other);
    }
  }
  if (depends_on(state, other, computation)) {
    refuse(command, other + " is itself placed relative to " + computation + "; the order would be circular");
  }
  std::erase_if(state.placements, [&](const Placement &p) { return p.computation == computation; });
  state.time_space.at(computation).explicit_time = false;
  state.placements.push_back({computation, other, shared, before});
}

void place_by_arguments(MappingState &state, const Command &command, bool before, bool swap) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 2, "(other, level=None)");
  const std::string other = arguments.name(0, "a computation");
  if (state.time_space.count(other) == 0) {
    std::string known;
    for (const auto &[name, map] : state.time_space) {
      known += (known.empty() ? "" : ", ") + name;
    }
    refuse(command, "there is no computation named '" + other + "'; the computations are: " + known);
  }
  const std::string level = arguments.optional_name(1, "a loop").value_or("");
  if (swap) {
    place(state, command, other, command.computation, level, before);
  } else {
    place(state, command, command.computation, other, level, before);
  }
}

}  // namespace

void after_command(MappingState &state, const Command &command) { place_by_arguments(state, command, false, false); }

void before_command(MappingState &state, const Command &command) { place_by_arguments(state, command, true, false); }

void fuse_with_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 2, "fuse_with(other, level=None)");
  Command placed = command;
  const std::string other = arguments.name(0, "a computation");
  if (arguments.size() == 1 && state.time_space.count(other) != 0) {
    const std::vector<LoopDimension> &loops = state.time_space.at(other).dimensions;
    const size_t common = std::min(loops.size(), state.time_space.at(command.computation).dimensions.size());
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
    }
  }
  if (!changed) {
    refuse(command, "loop '" + arguments.name(0, "the loop") + "' is not shared with another computation");
  }
}

void then_command(MappingState &state, const Command &command) { place_by_arguments(state, command, false, true); }

}  // namespace tilewright
