#include "passes/lift_guards.h"

#include "passes/guarded_loop.h"

#include <algorithm>

namespace tilewright {

namespace {

/// One loop that may lose tests.
class LiftedLoop : GuardedLoop {
public:
  using GuardedLoop::GuardedLoop;

  /// Null when no test leaves the loop.
  StmtPtr lift() {
    open(false);
    const bool lifts = std::any_of(layers().begin(), layers().end(),
                                   [](const Layer &layer) { return !layer.guards.empty(); });
    return lifts ? rebuild() : nullptr;
  }
};

} // namespace

StmtPtr lift_guards(const StmtPtr &body, const Ranges &known) {
  return change_guarded_loops(body, known,
                              [](const For &loop, EnclosingLoops &around, const auto &changed) {
                                return LiftedLoop(loop, around, changed).lift();
                              });
}

} // namespace tilewright
