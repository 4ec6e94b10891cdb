#include "planning/auto/program_threads.h"

#include "planning/auto/local_scalars.h"
#include "planning/auto/nest_candidates.h"

#include <isl/aff.h>

#include <algorithm>

namespace tilewright {

bool ProgramThreads::run(const Names &all) {
  std::vector<Names> outermost;
  for (auto &[place, names] : nests_of(all, 0)) {
    outermost.push_back(names);
  }
  if (!outermost.empty()) {
    run_nests_on_threads(outermost);
  }
  return threads_;
}

bool ProgramThreads::can_be_parallel(const Names &names, size_t depth) const {
  const std::vector<Command> commands = together_on_threads(names, depth);
  return !commands.empty() && after_commands(now_, commands).has_value();
}

bool ProgramThreads::try_threads(const std::vector<Command> &commands, std::uint64_t operations) {
  auto found = after_commands(now_, commands, operations);
  if (found) {
    now_ = std::move(*found);
    threads_ = true;
  }
  return found.has_value();
}

void ProgramThreads::run_nests_on_threads(std::span<const Names> nests) {
  if (nests.size() == 1) {
    run_on_threads(nests.front(), 0);
    return;
  }
  std::vector<Command> commands;
  std::vector<Names> others; // nothing is tried first
  for (const Names &names : nests) {
    const std::vector<Command> own = first_on_threads(names);
    commands.insert(commands.end(), own.begin(), own.end());
    if (own.empty()) {
      others.push_back(names);
    }
  }
  const std::uint64_t operations =
      std::min(whole_operation_limit, nests.size() * candidate_operation_limit);
  if (!commands.empty() && !try_threads(commands, operations)) {
    run_nests_on_threads(nests.first(nests.size() / 2));
    run_nests_on_threads(nests.subspan(nests.size() / 2));
    return;
  }
  for (const Names &names : others) {
    run_on_threads(names, 0);
  }
}

std::vector<Command> ProgramThreads::first_on_threads(const Names &names) const {
  if (names.size() > 1) {
    return together_on_threads(names, 0);
  }
  const Names levels = levels_alone(names.front(), 0);
  if (levels.empty()) {
    return {};
  }
  return {{names.front(), "parallelize", {levels.front()}, {}}};
}

void ProgramThreads::run_on_threads(const Names &members, size_t depth) {
  for (const auto &[place, names] : nests_of(members, depth)) {
    const auto strips = strips_.find(names.front());
    if (strips != strips_.end() && depth > strips->second) {
      continue;
    }
    if (names.size() == 1) {
      for (const std::string &level : levels_alone(names.front(), depth)) {
        if (try_threads({{names.front(), "parallelize", {level}, {}}}, candidate_operation_limit)) {
          break;
        }
      }
      continue;
    }
    const std::vector<Command> commands = together_on_threads(names, depth);
    if (commands.empty() || !try_threads(commands, candidate_operation_limit)) {
      run_on_threads(names, depth + 1);
    }
  }
}

std::map<std::int64_t, ProgramThreads::Names> ProgramThreads::nests_of(const Names &members,
                                                                       size_t depth) const {
  std::map<std::int64_t, Names> nests;
  for (const std::string &name : members) {
    if (nests_.times(name).loops.size() > depth) {
      nests[nests_.times(name).places[depth]].push_back(name);
    }
  }
  return nests;
}

std::vector<Command> ProgramThreads::together_on_threads(const Names &names, size_t depth) const {
  std::vector<Command> commands = scalars_along(now_.mapping, nests_, names, depth, endless_);
  const std::vector<Command> arrays = private_arrays(now_.mapping, nests_, names, depth);
  commands.insert(commands.end(), arrays.begin(), arrays.end());
  for (const std::string &name : names) {
    if (is_chosen(name, nests_.times(name).loops[depth])) {
      return {};
    }
    commands.push_back({name, "parallelize", {nests_.times(name).loops[depth].name}, {}});
  }
  return commands;
}

Shape ProgramThreads::shape_of(const std::string &name) const {
  return shape_in_memory(now_.legal->program, **now_.mapping.function().find(name));
}

bool ProgramThreads::is_chosen(const std::string &name, const NestLoop &loop) const {
  return loop.iterator && shape_of(name).is_chosen(*loop.iterator);
}

ProgramThreads::Names ProgramThreads::levels_alone(const std::string &name, size_t depth) const {
  const size_t own = nests_.times(name).loops.size() - depth;
  const std::vector<LoopDimension> loops = now_.mapping.time_space(name).dimensions;
  const auto iterators =
      static_cast<unsigned>((**now_.mapping.function().find(name)).iterators.size());
  const Shape shape = shape_of(name);
  const bool is_vector = std::any_of(loops.begin(), loops.end(),
                                     [](const auto &loop) { return loop.tag.tag == Tag::Vector; });
  const size_t most = depth == 0 ? 2 : own > 1 || (depth == 1 && is_vector) ? 1 : 0;
  Names levels;
  for (size_t level = 2 * depth + 1; level < loops.size() && levels.size() < most; ++level) {
    if (isl_pw_aff_involves_dims(loops[level].value.get(), isl_dim_in, 0, iterators) !=
        isl_bool_true) {
      continue; // a place
    }
    if (shape.is_chosen(loops[level]) || shape.is_ranged(loops[level]) ||
        loops[level].tag.tag != Tag::Sequential) {
      break;
    }
    levels.push_back(loops[level].name);
  }
  return levels;
}

} // namespace tilewright
