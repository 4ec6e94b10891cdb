#include "planning/default_tags.h"

#include "algorithm/block.h"
#include "algorithm/reductions.h"
#include "analysis/legality.h"
#include "mapping/program.h"
#include "planning/auto/flow_graph.h"
#include "planning/auto/inner_loops.h"
#include "planning/chains.h"
#include "planning/computation_shape.h"
#include "planning/kept_steps.h"
#include "planning/recurrence_groups.h"
#include "planning/register_tiles.h"
#include "planning/shared_rows.h"
#include "planning/tagging.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

namespace {

/// The same where many loops each ask whether threads are worth while.
constexpr size_t several = 3;
constexpr std::int64_t little_for_several = 600;
/// The same of chains side by side: their borders cost more.
constexpr std::int64_t little_for_chains = 1'500;
/// What asking about chains may take of isl.
constexpr std::uint64_t chain_operation_limit = 1'000'000;
/// Functions of more computations run as they are declared: their code would take too long to make.
constexpr size_t max_computations = 128;

/// The program of `mapping` where it is legal, else null. `before` is one that is.
std::shared_ptr<const LegalProgram> legal_program(const Mapping &mapping,
                                                  const LegalProgram *before) {
  try {
    return find_legal(build_program(mapping, before != nullptr ? &before->program : nullptr),
                      before);
  } catch (const Error &error) {
    if (error.kind == ErrorKind::Internal) {
      throw;
    }
    return nullptr;
  }
}

bool has_parallel_loops(const Mapping &mapping) {
  const auto &maps = mapping.state().time_space;
  return std::any_of(maps.begin(), maps.end(), [](const auto &entry) {
    const std::vector<LoopDimension> &loops = entry.second.dimensions;
    return std::any_of(loops.begin(), loops.end(),
                       [](const LoopDimension &loop) { return loop.tag.tag == Tag::Parallel; });
  });
}

bool reads_itself(const Computation &computation) {
  return std::any_of(computation.pieces.begin(), computation.pieces.end(),
                     [&](const Piece &piece) { return reads(piece.value, computation); });
}

/// Has the planner left the loops of a computation as they were declared, in a nest of their own?
bool is_apart(const MappingState &state, const std::string &computation) {
  return !state.time_space.at(computation).explicit_time &&
         std::none_of(state.placements.begin(), state.placements.end(), [&](const auto &placement) {
           return placement.computation == computation || placement.other == computation;
         });
}

/// A computation whose loops may get tags.
struct Candidate {
  std::string name;
  Shape shape;
  bool reads_itself;
  std::optional<Chains> chains; ///< of its two innermost loops
};

/// Of a computation that reads itself, in loops as they were declared.
std::optional<Chains> chains_of(const Mapping &plain, const Computation &computation) {
  const std::string &name = computation.name;
  const std::vector<LoopDimension> &loops = plain.time_space(name).dimensions;
  const size_t rank = computation.rank();
  if (rank < 2 || loops.size() != rank || instance_space(computation).reduced > 0 ||
      !is_worth_chains(iteration_cost(plain.function(), {{name, computation.iterators.back()}}))) {
    return std::nullopt;
  }
  ChainLoops chain{{}, loops[rank - 2].value, loops[rank - 1].value};
  for (size_t d = 0; d + 2 < rank; ++d) {
    chain.outside.push_back(loops[d].value);
  }
  try {
    const OperationLimit limit(chain_operation_limit);
    return find_chains(flow_graph(build_program(plain), {name}), {{name, chain}});
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return std::nullopt;
  }
}

/// A mapping with default tags.
struct DefaultSchedule {
  Mapping mapping;
  /// Less work than this altogether is done sooner by the loops as they were; 0 where these are
  /// never faster.
  std::int64_t little = 0;
  /// That is work in one iteration of so many outermost loops: of one product of a batch.
  int around = 0;
  /// Something is tiled whose first loop others might share.
  bool has_rows = false;
};

/// Does an output only show what lies in its array (algorithm/views.h)? Then no loop is its own.
bool is_shown(const MappingState &state, const Computation &computation) {
  return computation.is_view &&
         std::all_of(computation.pieces.begin(), computation.pieces.end(), [&](const Piece &piece) {
           const auto storage = state.storage.find(piece.value->producer->name);
           return storage != state.storage.end() &&
                  storage->second.buffer == state.storage.at(computation.name).buffer;
         });
}

/// Chooses the tags: all at once where that is legal, else one computation after the other.
class TagChoice {
public:
  /// `parts`: null for all computations.
  TagChoice(const Mapping &plain, const std::vector<std::string> *parts, bool wide)
      : plain_(plain), wide_(wide), threads_(parts == nullptr || has_parallel_loops(plain)) {
    for (const ComputationPtr &computation : plain.function().computations) {
      const bool is_asked = parts == nullptr || std::find(parts->begin(), parts->end(),
                                                          computation->name) != parts->end();
      if (is_asked && is_apart(plain.state(), computation->name) &&
          !is_shown(plain.state(), *computation) && block_node(*computation) == nullptr) {
        const bool recurs = reads_itself(*computation);
        candidates_.push_back({computation->name,
                               Shape::from_begin(*computation, plain.state().fixed), recurs,
                               recurs ? chains_of(plain, *computation) : std::nullopt});
      }
    }
  }

  /// Of parts: nobody else's loops are touched.
  DefaultSchedule choose_apart() const {
    if (candidates_.empty() || candidates_.size() > max_computations) {
      return {plain_};
    }
    DefaultSchedule all = together(true, false, streamable());
    return legal_program(all.mapping, nullptr) ? all : one_by_one();
  }

  DefaultSchedule choose() const {
    if (candidates_.size() > max_computations) {
      return {plain_};
    }
    const std::optional<DefaultSchedule> row_by_row = with_streams({});
    if (!row_by_row) {
      return one_by_one();
    }
    const std::set<std::string> streams = apart_or_together(row_by_row->mapping.state());
    const auto streamed = streams.empty() ? std::nullopt : with_streams(streams);
    return streamed && placements(streamed->mapping) >= placements(row_by_row->mapping)
               ? *streamed
               : *row_by_row;
  }

private:
  static size_t placements(const Mapping &mapping) { return mapping.state().placements.size(); }

  /// All at once, if that is legal; `streams` sum several rows at a time.
  std::optional<DefaultSchedule> with_streams(const std::set<std::string> &streams) const {
    const bool several_loops = candidates_.size() > 1;
    DefaultSchedule all = together(true, several_loops, streams);
    std::shared_ptr<const LegalProgram> legal = legal_program(all.mapping, nullptr);
    if (!legal) {
      return std::nullopt;
    }
    DefaultSchedule shared = in_rows(all, *legal);
    if (!several_loops || !all.has_rows || placements(shared.mapping) > placements(plain_)) {
      return shared;
    }
    // Nobody shares a loop, so blocks need not be kept apart for it.
    const DefaultSchedule joined = together(true, false, streams);
    return legal_program(joined.mapping, legal.get()) ? joined : shared;
  }

  /// The computations that could sum several rows at a time.
  std::set<std::string> streamable() const {
    std::set<std::string> names;
    for (const Candidate &candidate : candidates_) {
      if (candidate.shape.simple() &&
          (find_streamed_row(candidate.shape) || plan_result_tile(candidate.shape, wide_))) {
        names.insert(candidate.name);
      }
    }
    return names;
  }

  /// Those of them whose rows nobody shares, but for others of them: who reads a row that is in a
  /// cache gains more.
  std::set<std::string> apart_or_together(const MappingState &state) const {
    std::set<std::string> names = streamable();
    for (bool changed = true; changed;) {
      changed = false;
      for (const Placement &placement : state.placements) {
        if (names.contains(placement.computation) != names.contains(placement.other)) {
          names.erase(placement.computation);
          names.erase(placement.other);
          changed = true;
        }
      }
    }
    return names;
  }

  /// Computations that read each other's rows share a loop, if that is legal.
  static DefaultSchedule in_rows(const DefaultSchedule &given, const LegalProgram &legal) {
    const Mapping shared = with_shared_rows(given.mapping);
    if (placements(shared) == placements(given.mapping)) {
      return given;
    }
    const auto legal_shared = legal_program(shared, &legal);
    if (!legal_shared) {
      return given;
    }
    const Mapping stored = with_rows_in_results(shared);
    const bool is_stored = stored.schedule().commands.size() > shared.schedule().commands.size();
    DefaultSchedule result = given;
    result.mapping = is_stored && legal_program(stored, legal_shared.get()) ? stored : shared;
    const Mapping own = with_private_rows(result.mapping);
    if (own.schedule().commands.size() > result.mapping.schedule().commands.size() &&
        legal_program(own, nullptr)) {
      result.mapping = own;
    }
    return result;
  }

  /// Which loops of a computation run on threads.
  struct Threads {
    std::optional<size_t> loop; ///< a single one
    bool joined = false;        ///< or those over blocks
    bool keeps_rows = false;    ///< of these, not the first one if others might share it
  };

  /// `before` with the tags of one more computation; nothing where it cannot have them.
  std::optional<DefaultSchedule> tagged(const DefaultSchedule &before, const Candidate &candidate,
                                        bool vector, const Threads &threads,
                                        bool streams = false) const {
    Tagging tagging(before.mapping, candidate.name, candidate.shape, wide_, streams);
    try {
      if (vector && candidate.chains) {
        tagging.set_side_by_side(*candidate.chains);
      } else if (vector) {
        tagging.vectorize();
      }
      if ((threads.joined && !tagging.join_blocks(threads.keeps_rows)) ||
          (threads.loop && !tagging.parallelize(*threads.loop))) {
        return std::nullopt;
      }
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Schedule && error.kind != ErrorKind::Limit) {
        throw;
      }
      return std::nullopt;
    }
    const std::int64_t little = vector && candidate.chains ? little_for_chains : tagging.little();
    DefaultSchedule next{tagging.mapping(), std::max(before.little, little), before.around,
                         before.has_rows || tagging.has_rows()};
    if (tagging.little() > 0) {
      next.around =
          before.little > 0 ? std::min(before.around, tagging.around()) : tagging.around();
    }
    return next;
  }

  /// All at once, which is legal where no computation reads itself.
  DefaultSchedule together(bool with_recurrences, bool keeps_rows,
                           const std::set<std::string> &streams) const {
    DefaultSchedule all{plain_};
    for (const Candidate &candidate : candidates_) {
      if (with_recurrences || !candidate.reads_itself) {
        const bool streamed = streams.contains(candidate.name);
        auto next = threads_ ? tagged(all, candidate, true, {std::nullopt, true, keeps_rows})
                             : std::nullopt;
        next = next || !threads_ ? next : tagged(all, candidate, true, {0}, streamed);
        next = next ? next : tagged(all, candidate, true, {}, streamed);
        all = next ? *next : all;
      }
    }
    if (candidates_.size() >= several) {
      all.little = std::max(all.little, little_for_several);
      all.around = 0;
    }
    return all;
  }

  /// One after the other, of each what is legal: of those that read themselves where that is
  /// enough.
  DefaultSchedule one_by_one() const {
    DefaultSchedule result = together(false, true, {});
    std::shared_ptr<const LegalProgram> legal = legal_program(result.mapping, nullptr);
    const bool only_recurrences = legal != nullptr;
    if (!only_recurrences) {
      result = {plain_};
      legal = legal_program(plain_, nullptr);
    }
    const auto accept = [&](const std::optional<DefaultSchedule> &next) {
      auto now = next ? legal_program(next->mapping, legal.get()) : nullptr;
      if (!now) {
        return false;
      }
      result = *next;
      legal = std::move(now);
      return true;
    };
    for (const Candidate &candidate : candidates_) {
      if (only_recurrences && !candidate.reads_itself) {
        continue;
      }
      const bool is_wave = candidate.chains && candidate.chains->skew != 0; // no loop is parallel
      bool found = is_wave && accept(tagged(result, candidate, true, {}));
      for (const bool vector : {true, false}) {
        found = found ||
                (threads_ && accept(tagged(result, candidate, vector, {std::nullopt, true, true})));
        for (size_t loop = 0; threads_ && !found && loop < candidate.shape.rank(); ++loop) {
          found = accept(tagged(result, candidate, vector, {loop}));
        }
        found = found || (vector && (candidate.shape.simple() || candidate.chains) &&
                          accept(tagged(result, candidate, true, {})));
      }
    }
    return result;
  }

  const Mapping &plain_;
  bool wide_;
  bool threads_; ///< loops may be parallel
  std::vector<Candidate> candidates_;
};

/// Whether a call has given an array for an output that is an input's (`Mapping::sharing`).
bool shares_memory(const MappingState &state) {
  return std::any_of(state.storage.begin(), state.storage.end(), [&](const auto &each) {
    const ComputationPtr *stored_in = state.function->find(each.second.buffer);
    return stored_in != nullptr && (*stored_in)->is_input;
  });
}

/// Computations that share loops since they need each other; those of a large group have no tags,
/// as finding them would take long.
std::vector<std::vector<std::string>> recurrences_of(const Mapping &plain) {
  constexpr size_t most_members = 8;
  std::vector<std::vector<std::string>> groups = recurrence_groups(plain.function());
  std::erase_if(groups, [&](const std::vector<std::string> &group) {
    return group.size() > most_members ||
           std::any_of(group.begin(), group.end(), [&](const std::string &name) {
             const auto &map = plain.state().time_space.at(name);
             return map.explicit_time || is_apart(plain.state(), name);
           });
  });
  return groups;
}

/// The same with vector loops and threads inside of the loops that recurrences share.
DefaultSchedule with_tags_of_recurrences(const DefaultSchedule &given, const Mapping &plain) {
  const std::vector<std::vector<std::string>> groups = recurrences_of(plain);
  auto legal = groups.empty() ? nullptr : legal_program(given.mapping, nullptr);
  if (!legal) {
    return given;
  }
  LegalMapping now{given.mapping, std::move(legal)};
  Decisions decisions;
  for (const std::vector<std::string> &group : groups) {
    now = with_inner_loops(now, group, decisions);
  }
  DefaultSchedule result = given;
  if (!decisions.empty()) {
    result.mapping = now.mapping;
    result.little = std::max(given.little, little_for_groups);
    result.around = 0;
  }
  return result;
}

} // namespace

Mapping with_default_tags(const Mapping &plain, bool wide, bool folds) {
  DefaultSchedule chosen = TagChoice(plain, nullptr, wide).choose();
  if (folds) { // else the planner goes on with the loops of recurrences as they are
    chosen = with_tags_of_recurrences(chosen, plain);
    chosen.mapping = with_kept_steps(chosen.mapping);
  }
  const std::int64_t threads = has_parallel_loops(chosen.mapping) ? least_work_for_threads : 0;
  if (chosen.little == 0 && threads == 0) {
    return chosen.mapping;
  }
  if (shares_memory(chosen.mapping.state())) { // the loops as declared do so, too
    return chosen.mapping.with_work({chosen.little, threads, chosen.around});
  }
  std::vector<Argument> limits = {chosen.little};
  if (threads > 0 || chosen.around > 0) {
    limits.emplace_back(threads);
  }
  if (chosen.around > 0) {
    limits.emplace_back(std::int64_t{chosen.around});
  }
  return chosen.mapping.with({"", "when_work", std::move(limits), {}});
}

Mapping with_tags_of_parts(const Mapping &given, const std::vector<std::string> &parts, bool wide) {
  return TagChoice(given, &parts, wide).choose_apart().mapping;
}

} // namespace tilewright
