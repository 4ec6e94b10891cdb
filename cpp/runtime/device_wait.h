// Waiting for a device, by threads that may be asked to end it. The driver's own functions return
// when the device is done and not before; so where somebody may want to end the wait (Ctrl-C), the
// device is asked again and again instead. What it does goes on all the same.
#pragma once

#include "runtime/abi.h"

#include <exception>
#include <functional>

namespace tilewright {

/// Thrown by a wait that was ended; the record's `stop` is raised. No Error: nothing went wrong.
class WaitEnded : public std::exception {
public:
  const char *what() const noexcept override { return "a wait for a device was ended"; }
};

/// While alive, what this thread waits for may be ended by the record's `ask`, if it has one.
/// Nests.
class EndableWaits {
public:
  explicit EndableWaits(CallRecord &record);
  ~EndableWaits();
  EndableWaits(const EndableWaits &) = delete;
  EndableWaits &operator=(const EndableWaits &) = delete;

private:
  CallRecord *before_;
};

/// Whether somebody may want to end this thread's waits.
bool waits_may_end();

/// Asks `is_done` until it holds: all the time at first, and then after pauses that are short
/// beside what it has taken so far. Throws WaitEnded.
void wait_until(const std::function<bool()> &is_done);

} // namespace tilewright
