#include "mapping/commands.h"

#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/command_table.h"
#include "mapping/copies.h"
#include "mapping/joined_dimensions.h"

#include <algorithm>
#include <map>

namespace tilewright {

namespace {

/// A private buffer lives in the loop that was named, wherever that is now; of a loop that was
/// split, in what took its place.
bool fits_private(const MappingState &state, const std::string &name, Allocation &allocation) {
  const std::vector<LoopDimension> &loops =
      state.time_space.at(loops_owner(state, name)).dimensions;
  const auto loop = std::find_if(loops.begin(), loops.end(), [&](const LoopDimension &candidate) {
    return candidate.name == allocation.loop;
  });
  if (loop != loops.end()) {
    allocation.levels = static_cast<int>(loop - loops.begin()) + 1;
  } else if (static_cast<size_t>(allocation.levels) <= loops.size()) {
    allocation.loop = loops[static_cast<size_t>(allocation.levels) - 1].name;
  } else {
    return false;
  }
  const Placement *placement = find_placement(state, name);
  return placement == nullptr || !placement->compute_at;
}

/// A buffer lives no deeper than its computation runs, and only while that runs in its reader.
void fit_allocations(MappingState &state) {
  for (auto entry = state.allocations.begin(); entry != state.allocations.end();) {
    Allocation &allocation = entry->second;
    if (allocation.is_private()) {
      entry = fits_private(state, entry->first, allocation) ? std::next(entry)
                                                            : state.allocations.erase(entry);
      continue;
    }
    const Placement *placement = find_placement(state, entry->first);
    const bool inside = placement != nullptr && placement->compute_at &&
                        placement->other == allocation.other && placement->shared > 0;
    if (inside) {
      allocation.levels = std::min(allocation.levels, placement->shared);
      ++entry;
    } else {
      entry = state.allocations.erase(entry);
    }
  }
}

/// Loops that run as one stand directly inside each other: the outermost of them is the first, and
/// one that other loops or tags have come between is a parallel loop of its own.
void fit_joined_loops(MappingState &state) {
  for (auto &[name, map] : state.time_space) {
    std::vector<LoopDimension> &loops = map.dimensions;
    for (size_t d = 0; d < loops.size(); ++d) {
      if (!loops[d].tag.joined || (d > 0 && loops[d - 1].tag.tag == Tag::Parallel)) {
        continue;
      }
      size_t next = d + 1;
      while (next < loops.size() && loops[next].tag.joined) {
        ++next;
      }
      loops[d].tag.joined = false;
      if (next < loops.size() && loops[next].tag.tag == Tag::Parallel) {
        loops[next].tag.joined = true;
      }
    }
  }
}

/// A buffer inside the loops of a reader holds one computation only; one that is private to an
/// iteration of a loop, those that are so together.
void require_private_buffers(const MappingState &state, const Command &command) {
  for (const auto &[owner, allocation] : state.allocations) {
    const std::string &buffer = state.storage.at(owner).buffer;
    const auto is_beside = [&state, &own = allocation](const std::string &name) {
      const auto found = state.allocations.find(name);
      return own.is_private() && found != state.allocations.end() && found->second.is_private() &&
             found->second.levels == own.levels;
    };
    for (const auto &[name, storage] : state.storage) {
      if (name != owner && storage.buffer == buffer && !is_beside(name)) {
        refuse(command,
               "buffer '" + buffer + "' of " + owner +
                   (allocation.is_private()
                        ? " is private to an iteration of loop '" + allocation.loop + "'"
                        : " lives inside the loops of " + allocation.other + " (store_at)") +
                   ", so it cannot hold " + name + " too");
      }
    }
  }
}

/// A command that rewrote a computation may have made other instances of it: what was promised of
/// the old ones says nothing about them. Computations that it only copied keep their promises.
void drop_promises(MappingState &state, const Function &before) {
  const auto rewritten = [&](const std::string &name) {
    const ComputationPtr *now = state.function->find(name);
    if (now == nullptr) {
      return true;
    }
    const InstanceSpace instances = instance_space(**now);
    const InstanceSpace earlier = instance_space(**before.find(name));
    return instances.iterators != earlier.iterators ||
           !checked(instances.domain.is_equal(earlier.domain), "promises");
  };
  for (IndependencePromise &promise : state.independent) {
    std::erase_if(promise.values, [&](const auto &entry) { return rewritten(entry.first); });
  }
  std::erase_if(state.assumed,
                [&](const ValuePromise &promise) { return rewritten(promise.computation); });
  std::erase_if(state.atomic, [&](const std::string &name) {
    const ComputationPtr *now = state.function->find(name);
    return now == nullptr || instance_space(**now).reduced == 0;
  });
}

/// What was promised of memory (every second promise) says nothing of other places.
void drop_promises_of_places(MappingState &state, const std::map<std::string, Storage> &before) {
  for (size_t p = 1; p < state.independent.size(); p += 2) {
    std::erase_if(state.independent[p].values, [&](const auto &entry) {
      const auto earlier = before.find(entry.first);
      return earlier != before.end() &&
             !checked(state.storage.at(entry.first).relation.is_equal(earlier->second.relation),
                      "promises");
    });
  }
}

} // namespace

std::string instance_text(const std::string &name, const Point &point) {
  std::string text = name + "[";
  for (size_t d = 0; d < point.coordinates.size(); ++d) {
    text += (d ? "," : "") + std::to_string(point.coordinates[d]);
  }
  text += "]";
  std::string parameters;
  for (const auto &[parameter, value] : point.parameters) {
    parameters += (parameters.empty() ? "" : ", ") + parameter + " = " + std::to_string(value);
  }
  return parameters.empty() ? text : text + " (" + parameters + ")";
}

std::string computation_list(const MappingState &state) {
  std::string known;
  for (const auto &[name, map] : state.time_space) {
    known += (known.empty() ? "" : ", ") + name;
  }
  return known;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto &[name, traits] : command_table()) {
    names.push_back(name);
  }
  return names;
}

void apply_command(MappingState &state, const Command &command) {
  const CommandTraits &asked = traits(command);
  const bool to_function = command.computation.empty();
  const auto handler = to_function ? asked.of_function : asked.handler;
  if (handler == nullptr && to_function && asked.handler != nullptr) {
    refuse(command, "this is a command of a computation, not of the whole function");
  }
  if (handler == nullptr && !to_function && asked.of_function != nullptr) {
    refuse(command,
           "this is a command of the whole function, not of one computation; give it as f." +
               command.name + "(...)");
  }
  if (handler == nullptr) {
    std::string known;
    for (const std::string &name : command_names()) {
      known += (known.empty() ? "" : ", ") + name;
    }
    refuse(command, "there is no such command; the commands are: " + known);
  }
  if (!to_function && state.time_space.count(command.computation) == 0) {
    refuse(command, "'" + command.computation + "' is not a computation of function '" +
                        state.function->name +
                        "'; its computations are: " + computation_list(state));
  }
  require_one_time(state, command);
  require_fits_blocks(state, command);
  const std::shared_ptr<const Function> before = state.function;
  const bool has_promises = !state.independent.empty();
  const auto places = has_promises ? state.storage : std::map<std::string, Storage>();
  handler(state, command);
  if (state.function != before) {
    drop_promises(state, *before);
  }
  if (has_promises) {
    drop_promises_of_places(state, places);
  }
  fit_allocations(state);
  fit_joined_loops(state);
  require_private_buffers(state, command);
  require_independent_joins(state, command);
  require_whole_joins(state, command);
  require_replaceable(state, command);
}

} // namespace tilewright
