// What a function had, and what a planner has found for it, is taken again without asking:
// schedules are known by the digests of their commands (legal_schedules.h).
#include "scheduling/scheduled_function.h"

#include <algorithm>
#include <utility>

namespace tilewright {

void ScheduledFunction::remember(State state) const {
  constexpr size_t most_remembered = 3;
  if (!state.is_legal || state.mapping.schedule().commands.empty()) {
    return; // the default schedule is known anyway
  }
  std::erase_if(recent_, [&](const State &other) { return other.digest == state.digest; });
  recent_.push_front(std::move(state));
  if (recent_.size() > most_remembered) {
    recent_.pop_back();
  }
}

void ScheduledFunction::remember(const Schedule &schedule, const Mapping &mapping) const {
  std::string digest = legal_schedules().none();
  for (const Command &command : schedule.commands) {
    digest = LegalSchedules::after(digest, command);
  }
  remember({mapping.recorded_as(schedule), std::move(digest), true, nullptr});
}

Schedule
ScheduledFunction::default_commands(const std::map<std::string, std::int64_t> &sizes) const {
  const size_t given = mapping().schedule().commands.size();
  const bool is_legal = current_->is_legal;
  const Mapping running = mapping_that_runs(sizes);
  Schedule added = running.schedule();
  added.commands.erase(added.commands.begin(),
                       added.commands.begin() + static_cast<std::ptrdiff_t>(given));
  if (given == 0 && sizes.empty() && is_legal) {
    remember(added, running);
  }
  return added;
}

std::optional<std::pair<ScheduledFunction::State, size_t>>
ScheduledFunction::remembered(const Schedule &schedule) const {
  std::optional<std::pair<State, size_t>> found;
  std::string digest = legal_schedules().none();
  for (size_t c = 0; c < schedule.commands.size() && !recent_.empty(); ++c) {
    digest = LegalSchedules::after(digest, schedule.commands[c]);
    const auto known = std::find_if(recent_.begin(), recent_.end(),
                                    [&](const State &state) { return state.digest == digest; });
    if (known != recent_.end()) {
      Schedule recorded;
      recorded.commands.assign(schedule.commands.begin(),
                               schedule.commands.begin() + static_cast<std::ptrdiff_t>(c) + 1);
      State state = *known;
      state.mapping = known->mapping.recorded_as(std::move(recorded));
      found.emplace(std::move(state), c + 1);
    }
  }
  return found;
}

size_t ScheduledFunction::known_to_be_legal(const Schedule &schedule) const {
  const LegalSchedules &known = legal_schedules();
  std::string digest = known.none();
  size_t found = 0;
  for (size_t c = 0; c < schedule.commands.size(); ++c) {
    digest = LegalSchedules::after(digest, schedule.commands[c]);
    if (known.contains(digest)) {
      found = c + 1;
    }
  }
  return found;
}

} // namespace tilewright
