#include "mapping/commands.h"

#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/command_table.h"

#include <algorithm>
#include <map>

namespace tilewright {

namespace {

/// A buffer lives no deeper than its computation runs, and only while that runs in its reader.
void fit_allocations(MappingState &state) {
  for (auto entry = state.allocations.begin(); entry != state.allocations.end();) {
    Allocation &allocation = entry->second;
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

/// A buffer inside the loops of a reader holds one computation only.
void require_private_buffers(const MappingState &state, const Command &command) {
  for (const auto &[owner, allocation] : state.allocations) {
    const std::string &buffer = state.storage.at(owner).buffer;
    for (const auto &[name, storage] : state.storage) {
      if (name != owner && storage.buffer == buffer) {
        refuse(command, "buffer '" + buffer + "' of " + owner + " lives inside the loops of " +
                            allocation.other + " (store_at), so it cannot hold " + name + " too");
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

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto &[name, traits] : command_table()) {
    names.push_back(name);
  }
  return names;
}

void apply_command(MappingState &state, const Command &command) {
  const auto handler = traits(command).handler;
  if (handler == nullptr) {
    std::string known;
    for (const std::string &name : command_names()) {
      known += (known.empty() ? "" : ", ") + name;
    }
    refuse(command, "there is no such command; the commands are: " + known);
  }
  if (state.time_space.count(command.computation) == 0) {
    std::string known;
    for (const auto &[name, map] : state.time_space) {
      known += (known.empty() ? "" : ", ") + name;
    }
    refuse(command, "'" + command.computation + "' is not a computation of function '" +
                        state.function->name + "'; its computations are: " + known);
  }
  const std::shared_ptr<const Function> before = state.function;
  handler(state, command);
  if (state.function != before) {
    drop_promises(state, *before);
  }
  fit_allocations(state);
  fit_joined_loops(state);
  require_private_buffers(state, command);
}

} // namespace tilewright
