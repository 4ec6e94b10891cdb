// What one iteration of a loop makes of the locals that it assigns, in one value for each.
#pragma once

#include "loops/build.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tilewright {

struct LoopOutcome {
  std::shared_ptr<const Local> local;
  ValuePtr value; ///< over what locals are before the iteration
};

/// Of a body that only declares locals, and assigns them, under tests without alternatives:
///     if x[k] > best: best = x[k];  at = k
/// best: x[k] if x[k] > best else best;  at: k if x[k] > best else at. Nothing for a body that does
/// anything else (a negated condition has the choices exchanged), assigns more than `most` locals,
/// or whose values would become long.
std::optional<std::vector<LoopOutcome>> loop_outcomes(const StmtPtr &body, size_t most);

bool reads_local(const ValuePtr &value, std::int64_t id);
/// Does a value read one of these locals?
bool reads_any(const ValuePtr &value, const std::vector<LoopOutcome> &locals);
ValuePtr with_variable(const ValuePtr &value, std::int64_t variable, const ValuePtr &by);

} // namespace tilewright
