// A time-space map as a person writes it, "{ C[i,j] -> [t = i + j, j(vec(8))] }": what the tags and
// the names of its dimensions say, and whether it gives each instance one time of its own.
// set_schedule gives such a map to computations, apply_schedule to the loops of one.
#pragma once

#include "mapping/mapping.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tilewright {

/// "j(vec(8))": the tag of a dimension, and where in the text it stands.
struct WrittenTag {
  size_t at;
  size_t position; ///< of the dimension in its tuple
  LoopTag tag;
};

/// Takes the tags out of the text, leaving what isl reads; columns stay.
std::vector<WrittenTag> take_tags(std::string &text, const Command &command);
/// After take_tags, for a text that isl cannot read: names what stands where a tag would and is
/// none.
void refuse_unknown_tag(const std::string &text, const Command &command);
/// The tags of one computation by dimension. Refuses two different ones.
std::map<size_t, LoopTag> tags_by_position(const std::vector<WrittenTag> &tags,
                                           const Command &command);
/// Gives the loops of a computation their tags; what a loop has stays.
void tag_loops(const MappingState &state, const Command &command, const std::string &computation,
               const std::map<size_t, LoopTag> &tags, std::vector<LoopDimension> &loops);

/// Where instances run before a map is applied to their loops.
struct EarlierTimes {
  isl::map loops; ///< instance -> iteration; several may have one, where loops of a reader tell
                  ///< them apart (compute_at)
  std::function<std::string(const Point &)> place; ///< the iteration of an instance, for messages
};

/// The map on the instances that there are: each has a time, and no other one has the same, unless
/// it had so before. An instance may have several times where `copies` says so.
isl::map times_of_instances(const MappingState &state, const Command &command,
                            const std::string &computation, const isl::map &written,
                            const InstanceSpace &instances, const EarlierTimes *before = nullptr,
                            bool copies = false);

/// Each dimension of the map's range as a function. As it was written where `written` is one, not
/// as it could be simplified on the instances, to which `on_instances` is the map: what a reduction
/// initialises are others, and a loop over a reduced iterator stays one where it takes a single
/// value.
std::vector<isl::pw_aff> written_values(const isl::map &written, const isl::map &on_instances);

/// A function that is one formula wherever it is known, as that formula.
isl::pw_aff everywhere(const isl::pw_aff &value);

/// The names that loops get: those that the range of `written` has in the text, else those of
/// `defaults` if they are not taken and not empty, else t0, t1 and so on by position.
std::vector<std::string> written_names(const isl::map &written,
                                       const std::vector<std::string> &defaults);

} // namespace tilewright
