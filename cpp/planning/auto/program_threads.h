// The outermost loops of a program's nests that may be parallel run on threads.
#pragma once

#include "planning/auto/legal_mapping.h"
#include "planning/auto/nest_times.h"
#include "planning/computation_shape.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

class ProgramThreads {
public:
  using Names = std::vector<std::string>;

  /// `now`: what threads are given to; `endless`: the parameters that bound loops which data end;
  /// `strips`: statements that share a loop over strips, of which none is worth threads, by name
  /// with the loops around that one.
  ProgramThreads(LegalMapping &now, const Nests &nests, const Names &endless,
                 std::map<std::string, size_t> strips = {})
      : now_(now), nests_(nests), endless_(endless), strips_(std::move(strips)) {}

  /// Of each nest of these computations the outermost loop that may be. Whether there is one.
  bool run(const Names &all);

  /// Might the loop be parallel that all of these share, which have `depth` loops around it?
  bool can_be_parallel(const Names &names, size_t depth) const;

private:
  bool try_threads(const std::vector<Command> &commands, std::uint64_t operations);
  /// The outermost nests, each at its first loop, asked about together and then by halves.
  void run_nests_on_threads(std::span<const Names> nests);
  /// What `run_on_threads` tries first of a nest.
  std::vector<Command> first_on_threads(const Names &names) const;
  /// Of these, which share `depth` loops, none of which is parallel.
  void run_on_threads(const Names &members, size_t depth);
  /// By what shares the next loop as well.
  std::map<std::int64_t, Names> nests_of(const Names &members, size_t depth) const;
  /// The loop that all of these share, and for each of its iterations an element of the scalars
  /// that they write; nothing if data choose its iterations.
  std::vector<Command> together_on_threads(const Names &names, size_t depth) const;
  Shape shape_of(const std::string &name) const;
  /// Has the loop one iteration, which data choose?
  bool is_chosen(const std::string &name, const NestLoop &loop) const;
  /// Loops to be tried, the outermost ones that the statement has for itself. Within other loops
  /// only what is worth it: the outermost one, of several, or a vector loop within one loop that
  /// all is in.
  Names levels_alone(const std::string &name, size_t depth) const;

  LegalMapping &now_;
  const Nests &nests_;
  const Names &endless_;
  std::map<std::string, size_t> strips_;
  bool threads_ = false;
};

} // namespace tilewright
