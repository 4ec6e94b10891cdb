// The planner that may reorder: for each group of computations that need each other, the loops that
// isl's scheduler finds (bands.h), made into tiles, threads and vectors (time_tiles.h) by ordinary
// commands; for all others what the default schedule has (default_tags.h), with what it leaves
// undone. Every step is kept only if it is legal and, by what is counted, no worse than the
// default.
#pragma once

#include "analysis/unchanged.h"
#include "mapping/mapping.h"
#include "planning/auto/decision.h"

#include <memory>

namespace tilewright {

struct AutoSchedule {
  Mapping mapping; ///< its schedule has the commands, behind those of the given one
  Decisions decisions;
};

/// `given`, in which each computation still has the loops that it was declared with. `wide`: there
/// are 32 registers of 64 bytes. `legal`: the program of `given`, if that was made before. Throws
/// Error(IllegalSchedule) where `given` is not legal.
AutoSchedule auto_schedule(const Mapping &given, bool wide,
                           std::shared_ptr<const LegalProgram> legal = nullptr);

/// Whether auto_schedule() would tile some recurrence of it in time, if that is legal.
bool may_have_time_tiles(const Mapping &given);

} // namespace tilewright
