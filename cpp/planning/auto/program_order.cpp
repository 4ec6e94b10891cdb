#include "planning/auto/program_order.h"

#include "algorithm/block.h"
#include "analysis/legality.h"
#include "planning/auto/bound_cycles.h"
#include "planning/auto/iteration_vectors.h"
#include "planning/auto/legal_mapping.h"
#include "planning/auto/local_scalars.h"
#include "planning/auto/nest_candidates.h"
#include "planning/auto/program_chains.h"
#include "planning/auto/program_threads.h"
#include "planning/default_tags.h"

#include <isl/aff.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

namespace tilewright {

namespace {

/// What asking about all statements at once may take of isl.
constexpr std::uint64_t whole_operation_limit = 200'000'000;
/// Functions of more statements keep their order.
constexpr size_t most_statements = 160;
/// After so many answers of no for several statements at once, each is asked about alone.
constexpr int most_refused = 2;

using Names = std::vector<std::string>;

class ProgramOrder {
public:
  ProgramOrder(const Mapping &given, Nests nests, bool wide,
               std::shared_ptr<const LegalProgram> legal, const Names &endless)
      : given_(given), stored_(given), nests_(std::move(nests)),
        bound_(bound_in_cycles(given.function(), nests_)), wide_(wide), endless_(endless),
        now_{given,
             legal != nullptr ? std::move(legal) : require_legal(build_program(given), nullptr)} {}

  AutoSchedule plan() {
    if (!begin()) {
      return {given_,
              {{"", "the loops keep their order, since it takes too long to ask for more"}}};
    }
    const std::vector<Part> parts = parts_of(now_.legal->program);
    note_depths(parts);
    note_ranges(parts);
    if (parts.size() > most_statements) {
      decisions_.push_back({"", "the loops keep their order, since there are more than " +
                                    std::to_string(most_statements) + " statements"});
    } else {
      set_chains_side_by_side(parts);
      run_iterations_in_lanes(parts);
      std::vector<Part> others;
      std::copy_if(parts.begin(), parts.end(), std::back_inserter(others),
                   [&](const Part &part) { return !chained_.contains(part.name); });
      improve_anew(others);
      drop_unused_scalars();
    }
    Names all;
    std::transform(parts.begin(), parts.end(), std::back_inserter(all),
                   [](const Part &part) { return part.name; });
    const bool has_threads = ProgramThreads(now_, nests_, endless_, strips_).run(all);
    if (has_threads) {
      now_.mapping = now_.mapping.with(
          {"", "when_work", {std::int64_t{0}, least_work_for_threads}, {}}); // no order changes
    }
    return {own_.empty() && !has_threads ? given_ : now_.mapping, std::move(decisions_)};
  }

private:
  /// The same order in times of our own, with scalars expanded where that is legal.
  bool begin() {
    note_repeated_loops();
    scalars_ = expanded_scalars(given_, nests_, endless_);
    auto begun = store_scalars() ? with_all(nests_, {}, {}, whole_operation_limit) : std::nullopt;
    if (!begun && !scalars_.empty()) {
      scalars_.clear();
      begun = store_scalars() ? with_all(nests_, {}, {}, whole_operation_limit) : std::nullopt;
    }
    if (begun) {
      now_ = std::move(*begun);
    }
    return begun.has_value();
  }

  /// Of statements whose loops are the program's, or that run one behind the other in them.
  void drop_unused_scalars() {
    const auto is_used = [&](const ExpandedScalar &scalar) {
      return std::any_of(
          scalar.writers.begin(), scalar.writers.end(), [&](const std::string &name) {
            return strips_.contains(name) || (own_.contains(name) && !chained_.contains(name));
          });
    };
    const std::vector<ExpandedScalar> all = scalars_;
    std::erase_if(scalars_, [&](const ExpandedScalar &scalar) { return !is_used(scalar); });
    auto found = scalars_.size() < all.size() && store_scalars()
                     ? with_all(nests_, {}, {}, candidate_operation_limit)
                     : std::nullopt;
    if (found) {
      now_ = std::move(*found);
    } else {
      scalars_ = all;
    }
  }

  /// `given_` with the elements of its scalars where they are from now on: every candidate begins
  /// with that. False where they cannot be there.
  bool store_scalars() {
    Mapping stored = given_;
    try {
      for (const ExpandedScalar &scalar : scalars_) {
        for (const Command &store : scalar.stores) {
          stored = stored.with(store);
        }
      }
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Schedule && error.kind != ErrorKind::Limit) {
        throw;
      }
      return false;
    }
    stored_ = std::move(stored);
    return true;
  }

  /// The program in other nests, with the commands of its statements; those of one of them anew.
  std::optional<LegalMapping> with_all(const Nests &nests, const std::string &changed,
                                       const std::vector<Command> &commands,
                                       std::uint64_t operations) const {
    return after_commands({stored_, now_.legal}, all_commands(nests, changed, commands),
                          operations);
  }

  /// Those with most loops first, and of these the ones that no vector helps: others may follow
  /// them into strips.
  std::vector<Part> parts_of(const Program &program) const {
    std::multimap<std::pair<size_t, bool>, Part, std::greater<>> sorted;
    std::set<std::string> seen;
    for (const Statement &statement : program.statements) {
      if (seen.insert(statement.computation->name).second &&
          !is_block_result(*statement.computation)) {
        Part part(program, *statement.computation, nests_);
        const std::pair key(part.loops, part.columns.empty());
        sorted.emplace(key, std::move(part));
      }
    }
    std::vector<Part> parts;
    for (auto &[key, part] : sorted) {
      parts.push_back(std::move(part));
    }
    return parts;
  }

  /// What follows where the scalars are stored.
  std::vector<Command> all_commands(const Nests &nests, const std::string &changed,
                                    const std::vector<Command> &commands) const {
    std::vector<Command> all = {nests.command()};
    for (const auto &[name, own] : own_) {
      if (name != changed) {
        all.insert(all.end(), own.begin(), own.end());
      }
    }
    all.insert(all.end(), commands.begin(), commands.end());
    return all;
  }

  /// Nests of which the innermost iterations wait for each other.
  void set_chains_side_by_side(const std::vector<Part> &parts) {
    if (!endless_.empty()) {
      return;
    }
    for (const ProgramChains &each : find_program_chains(now_, nests_, parts)) {
      const Nests nests = each.in(nests_);
      const auto own = own_;
      for (const std::string &name : each.members) {
        own_[name] = {each.command(nests_, name)};
      }
      auto found = with_all(nests, {}, {}, candidate_operation_limit);
      if (!found) {
        own_ = own;
        continue;
      }
      decisions_.push_back({listed(each.members), each.why(nests_)});
      now_ = std::move(*found);
      nests_ = nests;
      chained_.insert(each.members.begin(), each.members.end());
    }
  }

  /// Nests whose iterations have values of their own.
  void run_iterations_in_lanes(const std::vector<Part> &parts) {
    auto found = endless_.empty() ? find_iteration_vectors(given_, nests_, parts, bound_, wide_)
                                  : std::vector<IterationVectors>();
    std::erase_if(found, [&](const IterationVectors &each) {
      return std::any_of(each.members.begin(), each.members.end(), [&](const std::string &name) {
        const auto repeated = repeated_.find(name);
        const bool is_repeated = repeated != repeated_.end() && !repeated->second.empty();
        return is_repeated || chained_.contains(name);
      });
    });
    run_in_lanes(found, parts);
  }

  /// All at once; if the answer is no, each half of them.
  void run_in_lanes(std::span<const IterationVectors> all, const std::vector<Part> &parts) {
    if (all.empty() || try_in_lanes(all, parts) || all.size() == 1) {
      return;
    }
    run_in_lanes(all.first(all.size() / 2), parts);
    run_in_lanes(all.subspan(all.size() / 2), parts);
  }

  bool try_in_lanes(std::span<const IterationVectors> all, const std::vector<Part> &parts) {
    const auto before = std::pair(own_, scalars_);
    Nests nests = nests_;
    for (const IterationVectors &each : all) {
      const std::set<std::string> members(each.members.begin(), each.members.end());
      std::erase_if(scalars_, [&](const ExpandedScalar &scalar) {
        return members.contains(scalar.writers.front());
      });
      scalars_.insert(scalars_.end(), each.locals.begin(), each.locals.end());
      nests = each.in(std::move(nests));
      for (const std::string &name : each.members) {
        own_[name] = each.commands(nests, name);
      }
    }
    auto found = store_scalars() ? with_all(nests, {}, {}, whole_operation_limit) : std::nullopt;
    if (!found) {
      std::tie(own_, scalars_) = before;
      store_scalars();
      return false;
    }
    if (!run_on_threads_if_needed(all, nests, *found)) {
      std::tie(own_, scalars_) = before;
      store_scalars();
      return false;
    }
    now_ = std::move(*found);
    for (const IterationVectors &each : all) {
      decisions_.push_back({listed(each.members), each.why(nests_)});
      chained_.insert(each.members.begin(), each.members.end());
      for (const std::string &name : each.members) {
        strips_[name] = each.depth;
      }
      for (const Part &part : parts) {
        const auto panels = each.panels.find(part.name);
        if (panels != each.panels.end()) {
          for (const ElementSteps::Copy &copy : panels->second) {
            vectorize_copy(part, IterationVectors::copy_name(part.name, copy));
          }
        }
      }
    }
    nests_ = std::move(nests);
    return true;
  }

  bool run_on_threads_if_needed(std::span<const IterationVectors> all, const Nests &nests,
                                LegalMapping found) const {
    const ProgramThreads threads(found, nests, endless_);
    return std::all_of(all.begin(), all.end(), [&](const IterationVectors &each) {
      return each.depth > 0 || !each.needs_threads || threads.can_be_parallel(each.members, 0);
    });
  }

  /// Of statements with a loop of one iteration, which data choose: it counts for nothing.
  void note_depths(const std::vector<Part> &parts) {
    for (const Part &part : parts) {
      const std::vector<NestLoop> &loops = nests_.times(part.name).loops;
      const auto chosen = std::count_if(loops.begin(), loops.end(), [&](const NestLoop &loop) {
        return loop.iterator && part.shape.is_chosen(*loop.iterator);
      });
      if (chosen > 0) {
        depths_[part.name] = loops.size() - static_cast<size_t>(chosen);
      }
    }
  }

  /// Finds the loops that data end, and those around them.
  void note_repeated_loops() {
    for (const auto &[name, times] : nests_.all()) {
      const Computation &computation = **given_.function().find(name);
      const auto last =
          std::find_if(times.loops.rbegin(), times.loops.rend(), [&](const NestLoop &loop) {
            return loop.iterator.value_or(computation.rank()) < computation.rank() &&
                   runs_endless(computation, *loop.iterator, endless_);
          });
      if (last != times.loops.rend()) {
        repeated_[name] = {times.loops.begin(), last.base()};
      }
    }
  }

  /// Finds the loops around those whose ranges data say.
  void note_ranges(const std::vector<Part> &parts) {
    for (const Part &part : parts) {
      const std::vector<NestLoop> &loops = nests_.times(part.name).loops;
      const auto last = std::find_if(loops.rbegin(), loops.rend(), [&](const NestLoop &loop) {
        return loop.iterator && part.shape.is_ranged(*loop.iterator);
      });
      std::vector<NestLoop> &kept = repeated_[part.name];
      if (last != loops.rend() && last.base() - loops.begin() > std::ssize(kept) + 1) {
        kept = {loops.begin(), last.base() - 1};
      }
    }
  }

  /// Do they stay as they are? No loop but the program's is known to be left once it has nothing
  /// more to do, and a range that data say would run over all outside of the loops around it.
  bool keeps_repeated_loops(const Candidate &candidate) const {
    const auto changes = [&](const Command &command, const std::vector<NestLoop> &loops) {
      return std::any_of(command.arguments.begin(), command.arguments.end(),
                         [&](const Argument &argument) {
                           const auto *text = std::get_if<std::string>(&argument);
                           return text != nullptr &&
                                  std::any_of(loops.begin(), loops.end(),
                                              [&](const auto &loop) { return loop.name == *text; });
                         });
    };
    return std::all_of(repeated_.begin(), repeated_.end(), [&](const auto &entry) {
      const auto &[name, loops] = entry;
      const std::vector<NestLoop> &now = candidate.nests.times(name).loops;
      return now.size() >= loops.size() && std::equal(loops.begin(), loops.end(), now.begin()) &&
             std::none_of(candidate.commands.begin(), candidate.commands.end(),
                          [&, &own = name, &around = loops](const Command &command) {
                            return command.computation == own && changes(command, around);
                          });
    });
  }

  std::vector<Candidate> candidates(const Part &part) const {
    const bool only_keeps =
        only_keeps_scalars(**given_.function().find(part.name), nests_, scalars_,
                           [&](const std::string &name) { return own_.contains(name); });
    if (in_vain_.contains(part.name) || bound_.contains(part.name) || only_keeps) {
      return {};
    }
    std::vector<Candidate> found = candidates_for(part, nests_, depths_, wide_);
    std::erase_if(found, [&](const Candidate &each) { return !keeps_repeated_loops(each); });
    return found;
  }

  /// Once more without those whose loops were changed in vain.
  void improve_anew(std::span<const Part> parts) {
    const Nests nests = nests_;
    const LegalMapping before = now_;
    const auto own = own_;
    const size_t decided = decisions_.size();
    improve_all(parts);
    in_vain_ = changed_in_vain(given_.function(), nests, scalars_,
                               [&](const std::string &name) { return own_.contains(name); });
    if (!in_vain_.empty()) {
      nests_ = nests;
      now_ = before;
      own_ = own;
      decisions_.resize(decided);
      improve_all(parts);
    }
  }

  /// Each as `improve` does, but what is likely for several is asked at once: the answer for all
  /// takes about as long as that for one. Where it is no, the halves are asked.
  void improve_all(std::span<const Part> parts) {
    if (parts.size() < 2 || refused_ >= most_refused) {
      for (const Part &part : parts) {
        improve(part);
      }
      refused_ = 0;
      return;
    }
    const Nests nests = nests_;
    const auto own = own_;
    const size_t decided = decisions_.size();
    std::vector<std::pair<const Part *, std::string>> copies;
    for (const Part &part : parts) {
      std::vector<Candidate> found = candidates(part);
      if (found.empty()) {
        keep(part);
        continue;
      }
      Candidate &likely = found.front();
      for (const std::string &copy : likely.copies) {
        copies.emplace_back(&part, copy);
      }
      decisions_.push_back({part.name, likely.why});
      own_[part.name] = std::move(likely.commands);
      nests_ = std::move(likely.nests);
    }
    auto found = with_all(
        nests_, {}, {}, std::min(whole_operation_limit, parts.size() * candidate_operation_limit));
    if (found) {
      refused_ = 0;
      now_ = std::move(*found);
      for (const auto &[part, copy] : copies) {
        vectorize_copy(*part, copy);
      }
      return;
    }
    ++refused_;
    nests_ = nests;
    own_ = own;
    decisions_.resize(decided);
    improve_all(parts.first(parts.size() / 2));
    improve_all(parts.subspan(parts.size() / 2));
  }

  void improve(const Part &part) {
    for (Candidate &each : candidates(part)) {
      auto found = with_all(each.nests, part.name, each.commands, candidate_operation_limit);
      if (found) {
        now_ = std::move(*found);
        nests_ = std::move(each.nests);
        own_[part.name] = std::move(each.commands);
        decisions_.push_back({part.name, each.why});
        for (const std::string &copy : each.copies) {
          vectorize_copy(part, copy);
        }
        return;
      }
    }
    keep(part);
  }

  void keep(const Part &part) {
    const std::string why = part.shape.is_scattered() ? ", since data choose the element along " +
                                                            part.shape.name(part.shape.rank() - 1) +
                                                            " that an iteration writes"
                                                      : "";
    decisions_.push_back({part.name, "the loops run as the program has them" + why});
  }

  /// What is packed is written side by side.
  void vectorize_copy(const Part &part, const std::string &copy) {
    const std::vector<LoopDimension> &loops = now_.mapping.time_space(copy).dimensions;
    const auto last = std::find_if(loops.rbegin(), loops.rend(), [](const LoopDimension &loop) {
      return isl_pw_aff_is_cst(loop.value.get()) != isl_bool_true;
    });
    const Command vector{copy, "vectorize", {last->name, part.shape.lanes()}, {}};
    if (auto found = after_commands(now_, {vector})) {
      now_ = std::move(*found);
      own_[part.name].push_back(vector);
    }
  }

  const Mapping &given_;
  Mapping stored_; ///< with its scalars expanded
  Nests nests_;
  std::set<std::string> bound_; ///< statements that cannot leave their loops
  bool wide_;
  const Names &endless_;
  /// Loops that data end, and around them.
  std::map<std::string, std::vector<NestLoop>> repeated_;
  LegalMapping now_;
  std::vector<ExpandedScalar> scalars_;
  std::map<std::string, std::vector<Command>> own_; ///< of statements, behind the nests' command
  std::set<std::string> chained_;                   ///< statements that were planned together
  /// Of these, in vectors of whole iterations: how many loops are around their strips.
  std::map<std::string, size_t> strips_;
  std::map<std::string, size_t> depths_; ///< the loops that run more than once, if others do not
  std::set<std::string> in_vain_;        ///< of which other loops gain nothing
  Decisions decisions_;
  int refused_ = 0; ///< times in a row that several were asked about at once in vain
};

} // namespace

AutoSchedule with_better_nests(const Mapping &given, bool wide,
                               std::shared_ptr<const LegalProgram> legal,
                               const std::vector<std::string> &endless) {
  auto nests = Nests::of(given);
  if (!nests) {
    return {given, {{"", "the loops keep their order, since they are not those of one program"}}};
  }
  return ProgramOrder(given, std::move(*nests), wide, std::move(legal), endless).plan();
}

} // namespace tilewright
