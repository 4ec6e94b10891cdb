// One-to-many maps: a computation whose instances run at several times each, all of which compute
// the same value (redundant computation, as overlapped tiles have it).
#pragma once

#include "mapping/mapping.h"

#include <map>
#include <string>
#include <vector>

namespace tilewright {

/// What the loops of a computation are functions of, within the context: its instances, or where a
/// one-to-many map copies them, their copies.
isl::set scheduled_instances(const MappingState &state, const std::string &computation);

/// What a loop of this value runs over: the instances above, and where the value does not depend on
/// the terms of a reduction, also the elements that have none, which are initialised in it.
isl::set instances_in_loop(const MappingState &state, const std::string &computation,
                           const isl::pw_aff &value);

/// The loops of a one-to-many map, as functions of the copies of instances.
struct CopiedTimes {
  isl::set copies; ///< as TimeSpaceMap has them
  std::vector<isl::pw_aff> values;
};

/// `times`: instance -> all of its times. As few of the outermost loops as can be tell the copies
/// of an instance apart; the others are functions of these and of the instance.
CopiedTimes copied_times(const isl::map &times, const isl::set &instances);

/// Refuses a one-to-many map of what cannot run twice, or of endless times.
void require_copies(const MappingState &state, const Command &command,
                    const std::string &computation, const isl::map &times,
                    const std::map<size_t, LoopTag> &tags);

/// Refuses a command that asks when an instance runs, of a computation whose instances run at
/// several times.
void require_one_time(const MappingState &state, const Command &command);

/// The same of a computation that a command names beside its own.
void require_one_time(const MappingState &state, const Command &command,
                      const std::string &computation);

} // namespace tilewright
