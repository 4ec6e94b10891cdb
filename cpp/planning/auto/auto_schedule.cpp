#include "planning/auto/auto_schedule.h"

#include "algorithm/expression_nodes.h"
#include "analysis/legality.h"
#include "hardware/processor.h"
#include "planning/auto/inlining.h"
#include "planning/auto/inner_loops.h"
#include "planning/auto/matrices_read_once.h"
#include "planning/auto/row_blocks.h"
#include "planning/auto/strips.h"
#include "planning/auto/time_tiles.h"
#include "planning/computation_shape.h"
#include "planning/default_tags.h"
#include "planning/recurrence_groups.h"

#include <algorithm>
#include <set>
#include <string>

namespace tilewright {

namespace {

/// Less work than this is done sooner by the loops as declared: of one recurrence tiled in time, of
/// sums in vectors.
constexpr std::int64_t little_for_time_tiles = 1'500;
constexpr std::int64_t little_for_sums = 10'000;
/// The same of sums of rows and columns in common loops.
constexpr std::int64_t little_for_read_once = 150;
/// Functions of more computations keep their order: they are planned one by one.
constexpr size_t most_computations = 128;

std::set<std::string> names_of(const Program &program) {
  std::set<std::string> names;
  for (const Statement &statement : program.statements) {
    names.insert(statement.computation->name);
  }
  return names;
}

class Planner {
public:
  /// `rows`: what is to have blocks of rows.
  Planner(const LegalMapping &given, const std::set<std::string> &rows, Decisions decisions,
          bool wide)
      : wide_(wide), given_(given.mapping), rows_(rows), now_(given),
        decisions_(std::move(decisions)) {}

  AutoSchedule plan() {
    const Mapping standard = with_default_tags(given_, wide_, false);
    const Function &function = given_.function();
    if (function.stop) {
      keep("the function iterates until its data say so, so its loops keep their order");
      begin_with(standard, {});
      recurrent_ = recurrence_groups(function);
      finish_plain();
    } else if (function.computations.size() > most_computations) {
      keep("the loops keep their order, since there are more than " +
           std::to_string(most_computations) + " computations");
      begin_with(standard, {});
      finish_plain();
    } else {
      plan_recurrences(standard);
    }
    add_limits(standard.state().work);
    explain_others();
    return {now_.mapping, std::move(decisions_)};
  }

private:
  void keep(const std::string &why) { decisions_.push_back({"", why}); }

  /// The commands of the default schedule, but for those of `tiled` computations.
  void begin_with(const Mapping &standard, const std::set<std::string> &tiled) {
    if (auto found = after_commands(now_, commands_of(standard, [&](const std::string &name) {
                                      return !tiled.contains(name);
                                    }))) {
      now_ = std::move(*found);
    }
  }

  template <class Wanted>
  std::vector<Command> commands_of(const Mapping &standard, const Wanted &wanted) const {
    const std::vector<Command> &all = standard.schedule().commands;
    std::vector<Command> commands;
    std::copy_if(all.begin() + static_cast<std::ptrdiff_t>(given_.schedule().commands.size()),
                 all.end(), std::back_inserter(commands), [&](const Command &command) {
                   return !command.computation.empty() && wanted(command.computation);
                 });
    return commands;
  }

  void plan_recurrences(const Mapping &standard) {
    const FlowGraph graph = flow_graph(now_.legal->program, names_of(now_.legal->program));
    std::vector<std::vector<std::string>> groups = components(graph);
    std::erase_if(groups, [&](const auto &group) { return !is_recurrent(graph, group); });
    std::vector<std::optional<Band>> bands;
    std::set<std::string> tiled;
    for (const std::vector<std::string> &group : groups) {
      recurrent_.push_back(group);
      bands.push_back(band_for_tiles(graph, group));
      if (bands.back()) {
        tiled.insert(group.begin(), group.end());
      }
    }
    std::set<std::string> planned = tiled;
    take(with_matrices_read_once(now_, standard, wide_, planned, decisions_), little_for_read_once);
    plan_rows(planned);
    const std::set<std::string> in_strips = plan_strips(graph, standard, planned);
    planned_ = planned;
    planned_.insert(in_strips.begin(), in_strips.end());
    finish_plain();
    for (size_t g = 0; g < groups.size(); ++g) {
      if (bands[g]) {
        plan_tiles(graph, groups[g], *bands[g], standard);
      }
    }
  }

  /// What has blocks of rows joins `planned`.
  void plan_rows(std::set<std::string> &planned) {
    for (const std::string &name : rows_) {
      if (auto found = planned.contains(name) ? std::nullopt
                                              : after_commands(now_, row_blocks(given_, name))) {
        now_ = std::move(*found);
        planned.insert(name);
        decisions_.push_back({name, std::to_string(rows_of_block) +
                                        " rows are made at once, vector by vector: what they "
                                        "share is computed once, and stays in registers"});
      }
    }
  }

  /// Begins with the commands of the default schedule, except for those of `tiled` computations;
  /// pipelines are made into strips. The members of these.
  std::set<std::string> plan_strips(const FlowGraph &graph, const Mapping &standard,
                                    const std::set<std::string> &tiled) {
    const auto of = [&](const std::string &name) {
      return commands_of(standard, [&](const std::string &each) { return each == name; });
    };
    std::vector<StripPlan> plans = plan_pipelines(given_, graph, of, decisions_);
    // All at once, since each program with windows takes isl some time; else as many as it goes.
    for (; !plans.empty(); plans.pop_back()) {
      std::set<std::string> others = tiled;
      std::vector<Command> commands;
      Decisions made;
      for (const StripPlan &plan : plans) {
        others.insert(plan.members.begin(), plan.members.end());
        commands.insert(commands.end(), plan.commands.begin(), plan.commands.end());
        made.push_back(plan.decision);
      }
      const std::vector<Command> rest =
          commands_of(standard, [&](const std::string &name) { return !others.contains(name); });
      commands.insert(commands.end(), rest.begin(), rest.end());
      if (auto found = after_commands(now_, commands)) {
        now_ = std::move(*found);
        decisions_.insert(decisions_.end(), made.begin(), made.end());
        std::set<std::string> members;
        for (const StripPlan &plan : plans) {
          members.insert(plan.members.begin(), plan.members.end());
        }
        return members;
      }
    }
    begin_with(standard, tiled);
    return {};
  }

  /// What is not tiled in time.
  void finish_plain() {
    for (const std::string &name : others()) {
      take(with_rows_of_sums(now_, name, decisions_), little_for_sums);
    }
    for (const std::vector<std::string> &group : recurrent_) {
      if (!planned_.contains(group.front())) {
        finish_recurrence(group);
      }
    }
  }

  void finish_recurrence(const std::vector<std::string> &group) {
    if (group.size() > 1) {
      take(with_inner_loops(now_, group, decisions_), little_for_groups);
    }
    for (const std::string &name : group) {
      fold(name);
    }
  }

  /// The band of all members, where tiles in time can be made of it.
  std::optional<Band> band_for_tiles(const FlowGraph &graph,
                                     const std::vector<std::string> &group) {
    auto bands = find_bands(graph, group);
    if (!bands) {
      decisions_.push_back(
          {listed(group), "the loops keep their order, since isl's scheduler found none within " +
                              std::to_string(band_operation_limit) + " operations"});
      return std::nullopt;
    }
    if (bands->size() != 1 || bands->front().computations.size() != group.size()) {
      decisions_.push_back({listed(group),
                            "the loops are not tiled in time, since no band of loops "
                            "is around all of them"});
      return std::nullopt;
    }
    return can_have_time_tiles(given_, bands->front(), decisions_)
               ? std::optional(std::move(bands->front()))
               : std::nullopt;
  }

  void plan_tiles(const FlowGraph &graph, const std::vector<std::string> &group, const Band &band,
                  const Mapping &standard) {
    if (auto tiled = with_time_tiles(now_, graph, band, decisions_)) {
      take(std::move(*tiled), group.size() > 1 ? little_for_groups : little_for_time_tiles);
      return;
    }
    for (const std::string &name : group) {
      planned_.erase(name);
    }
    if (auto found = after_commands(now_, commands_of(standard, [&](const std::string &name) {
                                      return std::find(group.begin(), group.end(), name) !=
                                             group.end();
                                    }))) {
      now_ = std::move(*found);
    }
    finish_recurrence(group);
  }

  /// A step, if it is one, which is worth while for so much work.
  void take(LegalMapping next, std::int64_t little) {
    if (!(next.mapping.schedule() == now_.mapping.schedule())) {
      little_ = std::max(little_, little);
      now_ = std::move(next);
    }
  }

  std::vector<std::string> others() const {
    std::vector<std::string> names;
    for (const ComputationPtr &computation : now_.mapping.function().computations) {
      if (!planned_.contains(computation->name)) {
        names.push_back(computation->name);
      }
    }
    return names;
  }

  /// The outermost iterator is the one of time: its values are what is kept for a while.
  void fold(const std::string &name) {
    const Computation &computation = **now_.mapping.function().find(name);
    const auto &outputs = now_.mapping.function().outputs;
    const bool is_output = std::any_of(outputs.begin(), outputs.end(),
                                       [&](const auto &output) { return output->name == name; });
    if (!is_output && computation.rank() > 1) {
      now_ = with_folded_storage(now_, name, computation.iterators.front(), decisions_);
    }
  }

  /// What is too little work for the tiles or for threads.
  void add_limits(const WorkLimits &standard) {
    const std::int64_t declared = std::max(standard.declared, little_);
    const auto &maps = now_.mapping.state().time_space;
    const bool threads = std::any_of(maps.begin(), maps.end(), [&](const auto &entry) {
      return has_loop(now_.mapping, entry.first, Tag::Parallel);
    });
    if (declared == 0 && !threads) {
      return;
    }
    std::vector<Argument> limits = {declared};
    if (threads || standard.around > 0) {
      limits.emplace_back(threads ? least_work_for_threads : 0);
    }
    if (standard.around > 0 && little_ == 0) {
      limits.emplace_back(std::int64_t{standard.around});
    }
    now_.mapping = now_.mapping.with({"", "when_work", limits, {}}); // no order depends on it
  }

  void explain_others() {
    for (const std::string &name : others()) {
      explain_other(name);
    }
    const WorkLimits &work = now_.mapping.state().work;
    if (work.declared > 0) {
      keep("calls of less work than " + std::to_string(work.declared) +
           " operations run the loops as declared");
    }
    if (work.threads > 0) {
      keep("parallel loops of less work than " + std::to_string(work.threads) +
           " operations run in one thread");
    }
  }

  void explain_other(const std::string &name) {
    std::string tags;
    for (const LoopDimension &loop : now_.mapping.time_space(name).dimensions) {
      const char *what = loop.tag.tag == Tag::Parallel ? " in parallel"
                         : loop.tag.tag == Tag::Vector ? " as a vector"
                         : loop.tag.tag == Tag::Unroll ? " unrolled"
                                                       : nullptr;
      if (what != nullptr) {
        tags += (tags.empty() ? "" : ", ") + loop.name + what;
      }
    }
    decisions_.push_back(
        {name, tags.empty() ? "the loops run as they are declared" : "runs " + tags});
    if (!has_loop(now_.mapping, name, Tag::Vector)) {
      decisions_.push_back({name, "has no vector loop, since " + why_no_vector(name)});
    }
  }

  std::string why_no_vector(const std::string &name) const {
    const Shape shape(**now_.mapping.function().find(name));
    if (shape.has_picked()) {
      return "data choose the element that each term is added to";
    }
    if (!shape.simple()) {
      return "it has no loop, or reads at computed subscripts, or computes with what vectors do "
             "not have";
    }
    if (shape.is_scattered()) {
      return "data choose the element along " + shape.name(shape.rank() - 1) +
             " that an iteration writes";
    }
    const size_t column = shape.rank() - 1;
    if (shape.rank() > 0 && shape.extent(column).value_or(shape.lanes()) < shape.lanes()) {
      return "its innermost loop is shorter than a vector";
    }
    if (shape.rank() > 0 && !shape.all_contiguous(column)) {
      return "what it reads along " + shape.name(column) + " does not lie side by side";
    }
    return "its iterations need each other";
  }

  bool wide_;
  const Mapping &given_;
  const std::set<std::string> &rows_;
  LegalMapping now_;
  Decisions decisions_;
  std::vector<std::vector<std::string>> recurrent_; ///< groups
  std::set<std::string> planned_;                   ///< with tiles in time
  std::int64_t little_ = 0;                         ///< work that is not worth what was found
};

/// `given` without the stages that need no memory, where that is legal.
/// `rows`: as of with_inlined_stages().
LegalMapping inlined(LegalMapping given, std::set<std::string> &rows, Decisions &decisions) {
  const Function &function = given.mapping.function();
  if (function.stop || function.computations.size() > most_computations) {
    return given;
  }
  const Program &program = given.legal->program;
  Decisions made;
  std::set<std::string> in_rows;
  Mapping next =
      with_inlined_stages(given.mapping, flow_graph(program, names_of(program)), in_rows, made);
  auto legal = made.empty() ? nullptr : find_legal(build_program(next), nullptr);
  if (legal == nullptr) {
    return given;
  }
  decisions.insert(decisions.end(), made.begin(), made.end());
  rows = in_rows;
  return {std::move(next), std::move(legal)};
}

} // namespace

AutoSchedule auto_schedule(const Mapping &given, bool wide,
                           std::shared_ptr<const LegalProgram> legal) {
  Decisions decisions;
  if (legal == nullptr) {
    legal = require_legal(build_program(given), nullptr);
  }
  std::set<std::string> rows;
  const LegalMapping begun = inlined({given, std::move(legal)}, rows, decisions);
  return Planner(begun, rows, std::move(decisions), wide).plan();
}

namespace {

/// If all inputs are arrays whose sizes are numbers.
std::optional<std::int64_t> bytes_of_inputs(const Function &function) {
  std::int64_t bytes = 0;
  for (const ComputationPtr &input : function.inputs) {
    std::int64_t elements = 1;
    for (const ExprPtr &extent : input->extents) {
      const auto count =
          extent->kind == ExprKind::Constant ? nodes::as_integer(extent->value) : std::nullopt;
      if (!count) {
        return std::nullopt;
      }
      elements *= static_cast<std::int64_t>(count->bits());
    }
    bytes += elements * input->type.bytes();
  }
  return bytes;
}

/// Members of recurrences that have the loops which tiles in time need, as far as that is seen
/// without a question about sets.
std::set<std::string> may_be_tiled_by_their_loops(const Function &function) {
  std::set<std::string> found;
  const auto fits = [&](const std::string &name) {
    return may_have_time_tiles(**function.find(name));
  };
  for (const std::vector<std::string> &group : recurrence_groups(function)) {
    if (std::all_of(group.begin(), group.end(), fits)) {
      found.insert(group.begin(), group.end());
    }
  }
  for (const ComputationPtr &computation : function.computations) {
    if (fits(computation->name) && computations_read_by(*computation).contains(computation->name)) {
      found.insert(computation->name);
    }
  }
  return found;
}

} // namespace

bool may_have_time_tiles(const Mapping &given) {
  const Function &function = given.function();
  if (function.stop || function.computations.size() > most_computations ||
      bytes_of_inputs(function).value_or(second_cache_bytes) < second_cache_bytes) {
    return false; // what tiles keep in a cache stays there anyway
  }
  const std::set<std::string> candidates = may_be_tiled_by_their_loops(function);
  if (candidates.empty()) {
    return false;
  }
  const FlowGraph graph = flow_graph(build_program(given), candidates);
  const std::vector<std::vector<std::string>> groups = components(graph);
  return std::any_of(groups.begin(), groups.end(), [&](const std::vector<std::string> &group) {
    Decisions decisions;
    const auto bands = is_recurrent(graph, group) ? find_bands(graph, group) : std::nullopt;
    return bands && bands->size() == 1 && bands->front().computations.size() == group.size() &&
           can_have_time_tiles(given, bands->front(), decisions);
  });
}

} // namespace tilewright
