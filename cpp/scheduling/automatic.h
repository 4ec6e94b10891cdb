// The schedule that the planner finds for a function, beside the one that it has.
#pragma once

#include "planning/auto/decision.h"
#include "scheduling/scheduled_function.h"

#include <string>
#include <vector>

namespace tilewright {

struct FoundSchedule {
  std::vector<Command> kept; ///< of the function's commands: what is known of its parameters, and
                             ///< promises
  std::vector<Command> commands;
  Decisions decisions;
};

/// What `auto_schedule` finds (planning/auto/auto_schedule.h) for the function as it is declared.
/// Nothing changes. Throws Error(Schedule) in this thread's transaction and Error(IllegalSchedule)
/// for a function that has no legal order.
FoundSchedule find_schedule(const ScheduledFunction &function);

/// Whether find_schedule() would tile some recurrence in time, if that is legal.
bool may_have_time_tiles(const ScheduledFunction &function);

/// Better loops within the order that the function has, with its values stored where they are
/// (planning/auto/program_order.h): commands behind those that it has, which all stay. `endless`
/// names the parameters that bound loops which data end.
FoundSchedule find_better_nests(const ScheduledFunction &function,
                                const std::vector<std::string> &endless = {});

/// The same as kernels for a GPU (planning/gpu/gpu_nests.h).
FoundSchedule find_gpu_nests(const ScheduledFunction &function);

/// Of the function's commands, those that stay.
std::vector<Command> facts_of(const ScheduledFunction &function);

/// A digest of all that find_schedule() depends on: the function, this build of the library, the
/// commands that stay, and the registers. Two functions of one key have one answer.
std::string automatic_key(const ScheduledFunction &function);

} // namespace tilewright
