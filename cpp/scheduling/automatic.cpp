#include "scheduling/automatic.h"

#include "planning/auto/auto_schedule.h"

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

} // namespace

FoundSchedule find_schedule(const ScheduledFunction &function) {
  function.require_no_transaction();
  const OperationLimit limit(automatic_limit);
  FoundSchedule found;
  for_each_command(function.commands(), [&](const Command &command) {
    if (is_fact(command)) {
      found.kept.push_back(command);
    }
  });
  ScheduledFunction declared(function);
  declared.replay({found.kept});
  declared.require_legal();
  const CompileOptions options = declared.options_for({});
  const bool wide = options.target.target->features(target_options(options)).masked_bytes == 1;
  AutoSchedule planned = auto_schedule(declared.mapping(), wide);
  const std::vector<Command> &all = planned.mapping.schedule().commands;
  found.commands.assign(all.begin() + static_cast<std::ptrdiff_t>(found.kept.size()), all.end());
  found.decisions = std::move(planned.decisions);
  return found;
}

} // namespace tilewright
