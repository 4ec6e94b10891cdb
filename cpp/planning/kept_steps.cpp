#include "planning/kept_steps.h"

#include "planning/auto/legal_mapping.h"
#include "planning/recurrence_groups.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

namespace {

/// Computations that need earlier values of their own, directly or through others.
std::set<std::string> recurrent(const Function &function) {
  std::set<std::string> names;
  for (const ComputationPtr &computation : function.computations) {
    if (computations_read_by(*computation).contains(computation->name)) {
      names.insert(computation->name);
    }
  }
  for (const std::vector<std::string> &group : recurrence_groups(function)) {
    names.insert(group.begin(), group.end());
  }
  return names;
}

/// Does the loop over the outermost iterator stand outside of others, so that the place in the
/// folded memory is the same for all of their iterations? Or that over strips of it, of chains that
/// run side by side?
bool has_outer_steps(const Mapping &mapping, const Computation &computation) {
  const std::vector<LoopDimension> &loops = mapping.time_space(computation.name).dimensions;
  const std::string &outer = computation.iterators.front();
  return loops.size() > 1 && loops.front().tag.tag == Tag::Sequential &&
         (loops.front().name == outer || loops.front().name == outer + "0");
}

/// Is its memory its own, and for the library to choose?
bool has_own_memory(const MappingState &state, const Computation &computation) {
  const auto &outputs = state.function->outputs;
  const auto shares = [&](const auto &entry) {
    return entry.first != computation.name && entry.second.buffer == computation.name;
  };
  return !computation.is_view && !state.allocations.contains(computation.name) &&
         std::none_of(outputs.begin(), outputs.end(),
                      [&](const auto &output) { return output->name == computation.name; }) &&
         state.storage.at(computation.name).buffer == computation.name &&
         std::none_of(state.storage.begin(), state.storage.end(), shares);
}

} // namespace

Mapping with_kept_steps(const Mapping &mapping) {
  const Function &function = mapping.function();
  if (function.stop) {
    return mapping; // plan_iterations keeps as many iterations as are needed
  }
  LegalMapping now{mapping, nullptr};
  for (const std::string &name : recurrent(function)) {
    const Computation &computation = **function.find(name);
    if (computation.rank() < 2 || !has_outer_steps(now.mapping, computation) ||
        !has_own_memory(now.mapping.state(), computation)) {
      continue;
    }
    Decisions decisions;
    now = with_folded_storage(now, name, computation.iterators.front(), decisions);
  }
  return now.mapping;
}

} // namespace tilewright
