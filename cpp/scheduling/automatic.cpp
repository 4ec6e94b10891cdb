#include "scheduling/automatic.h"

#include "passes/leave_loops.h"
#include "planning/auto/auto_schedule.h"
#include "planning/auto/program_order.h"
#include "planning/gpu/gpu_nests.h"
#include "runtime/cpu.h"
#include "scheduling/legal_schedules.h"

#include <set>

namespace tilewright {

namespace {

constexpr std::uint64_t automatic_limit = 500'000'000;

/// What people know, and no schedule finds.
bool is_fact(const Command &command) {
  static const std::set<std::string> facts = {"fix", "specialize", "assume", "independent",
                                              "atomic"};
  return facts.contains(command.name);
}

/// Are there 32 registers of 64 bytes? Of the processor: the loops that are planned are its own,
/// also where the function's target is a GPU.
bool has_wide_registers(const CompileOptions &options) {
  return smallest_masked_element(describe_cpu(options.cpu)) == 1;
}

/// The digest of the function with these commands.
std::string digest_of(const LegalSchedules &known, const std::vector<Command> &commands) {
  std::string digest = known.none();
  for (const Command &command : commands) {
    digest = LegalSchedules::after(digest, command);
  }
  return digest;
}

/// Every step of the planner was found legal, so that whoever sets the schedule need not ask again.
void remember_legal(const ScheduledFunction &function, const FoundSchedule &found,
                    const Mapping &mapping) {
  if (found.commands.empty()) {
    return;
  }
  LegalSchedules known(function.declared());
  Schedule schedule{found.kept};
  schedule.commands.push_back(transaction_of(found.commands, SourceLocation{}));
  known.add(digest_of(known, schedule.commands));
  known.store();
  function.remember(schedule, mapping);
}

/// Are all loops left that only data end, unless the program's order does not leave them either?
bool leaves_loops(const ScheduledFunction &function, const Mapping &planned,
                  const std::vector<std::string> &endless) {
  if (endless.empty() || planned.schedule().commands.size() == function.commands().size()) {
    return true;
  }
  CompileOptions options = function.options();
  options.default_schedule = false;
  return !runs_to_parameter(make_loops(planned, options), endless) ||
         runs_to_parameter(make_loops(function.mapping(), options), endless);
}

} // namespace

std::vector<Command> facts_of(const ScheduledFunction &function) {
  std::vector<Command> facts;
  for_each_command(function.commands(), [&](const Command &command) {
    if (is_fact(command)) {
      facts.push_back(command);
    }
  });
  return facts;
}

FoundSchedule find_schedule(const ScheduledFunction &function) {
  function.require_no_transaction();
  const OperationLimit limit(automatic_limit);
  FoundSchedule found;
  found.kept = facts_of(function);
  ScheduledFunction declared(function);
  declared.replay({found.kept});
  declared.require_legal();
  AutoSchedule planned = auto_schedule(declared.mapping(), has_wide_registers(function.options()),
                                       declared.legal_program());
  const std::vector<Command> &all = planned.mapping.schedule().commands;
  found.commands.assign(all.begin() + static_cast<std::ptrdiff_t>(found.kept.size()), all.end());
  found.decisions = std::move(planned.decisions);
  remember_legal(function, found, planned.mapping);
  return found;
}

bool may_have_time_tiles(const ScheduledFunction &function) {
  function.require_no_transaction();
  const OperationLimit limit(automatic_limit);
  // What reads which value depends on no order: none is looked for.
  Mapping declared = function.declared_mapping();
  for (const Command &fact : facts_of(function)) {
    declared = declared.with(fact);
  }
  return may_have_time_tiles(declared);
}

namespace {

/// What a planner makes of the order that the function has.
FoundSchedule found_behind(const ScheduledFunction &function, AutoSchedule planned) {
  FoundSchedule found;
  found.kept = function.commands();
  const std::vector<Command> &all = planned.mapping.schedule().commands;
  found.commands.assign(all.begin() + static_cast<std::ptrdiff_t>(found.kept.size()), all.end());
  found.decisions = std::move(planned.decisions);
  remember_legal(function, found, planned.mapping);
  return found;
}

} // namespace

FoundSchedule find_better_nests(const ScheduledFunction &function,
                                const std::vector<std::string> &endless) {
  function.require_no_transaction();
  const OperationLimit limit(automatic_limit);
  AutoSchedule planned =
      with_better_nests(function.mapping(), has_wide_registers(function.options()),
                        function.legal_program(), endless);
  if (!leaves_loops(function, planned.mapping, endless)) {
    planned = {function.mapping(),
               {{"", "the loops keep their order, since in another one they would go on after the "
                     "data have ended them"}}};
  }
  return found_behind(function, std::move(planned));
}

FoundSchedule find_gpu_nests(const ScheduledFunction &function) {
  function.require_no_transaction();
  const OperationLimit limit(automatic_limit);
  return found_behind(function, with_gpu_nests(function.mapping(), function.legal_program()));
}

std::string automatic_key(const ScheduledFunction &function) {
  function.require_no_transaction();
  const std::string key = digest_of(LegalSchedules(function.declared()), facts_of(function));
  const bool wide = has_wide_registers(function.options());
  return LegalSchedules::after(key, {"", "auto_schedule", {std::int64_t{wide}}, {}});
}

} // namespace tilewright
