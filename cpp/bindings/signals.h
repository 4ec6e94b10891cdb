// Python's signal handlers while C++ works. Python notes a signal when it arrives and runs its
// handler later, in the main thread, between instructions of the interpreter. Here that "later"
// comes soon, too, while the main thread runs a kernel or an analysis: an exception that a handler
// raises (KeyboardInterrupt) ends the work and is raised by the call, and one that returns lets it
// go on. Nothing of the process is changed by calls that are short.
#pragma once

#include "bindings/gil.h"
#include "polyhedral/isl_lock.h"
#include "runtime/abi.h"
#include "runtime/device_wait.h"

#include <pybind11/pybind11.h>

#include <cstdint>

namespace tilewright {

/// Notes which thread is Python's main thread.
void bind_signals();

/// Whether the thread is Python's main thread, in which handlers of signals run.
bool is_main_thread();

/// In the main thread: runs the handlers of signals that have arrived, and throws what they raise.
/// Called without the GIL.
void handle_signals();

/// The record of a call. While it runs, in the main thread, it is asked now and then whether to
/// end. After some milliseconds it begins to watch for
/// signals, which it needs the GIL to handle; as interrupt_main() makes no signal, it also looks
/// from time to time, so seldom that waiting for the GIL costs two hundredths of the time.
class InterruptibleCall : public CallRecord {
public:
  /// What `work`, which is run without the GIL, returns. Throws what a signal's handler raised in
  /// the meantime.
  template <class Work>
  std::int32_t run(const Work &work) {
    std::int32_t status = KernelOk;
    {
      const Unlocked unlocked(*this);
      try {
        status = work();
      } catch (const WaitEnded &) { // `stop` says it
      }
    }
    if (stop.load(std::memory_order_relaxed) != 0) {
      throw pybind11::error_already_set();
    }
    return status;
  }

private:
  /// The time without the GIL.
  class Unlocked {
  public:
    explicit Unlocked(InterruptibleCall &call) : call_(call) {
      call_.begin();
      state_ = PyEval_SaveThread();
    }
    ~Unlocked() {
      if (call_.watches_) {
        end_watching();
      }
      take_gil(state_);
    }
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;

  private:
    InterruptibleCall &call_;
    PyThreadState *state_ = nullptr;
  };

  /// With the GIL: without it, the state of a thread may go where the process ends.
  void begin();
  bool ask_python();
  bool look();
  static void end_watching();

  PyThreadState *state_ = nullptr;
  bool watches_ = false;
  std::int64_t begun_ = 0; ///< milliseconds; 0: not asked yet
  std::int64_t next_look_ = 0;
};

/// Runs what waits for a device, without the GIL. Signals end the wait as they end a kernel.
template <class Work>
void wait_without_gil(const Work &work) {
  InterruptibleCall record;
  record.run([&] {
    const EndableWaits waits(record);
    work();
    return std::int32_t{KernelOk};
  });
}

/// While alive, the thread has isl's lock, and in the main thread signals' handlers run in the
/// middle of the analysis at hand, and end it with Interrupted where they raise; SIGINT does where
/// it has Python's own handler. Nests. Begins with the GIL, which only UnlockedAnalysis gives up
/// inside. Every OperationLimit is inside of one.
class InterruptibleAnalysis {
public:
  InterruptibleAnalysis();
  ~InterruptibleAnalysis();
  InterruptibleAnalysis(const InterruptibleAnalysis &) = delete;
  InterruptibleAnalysis &operator=(const InterruptibleAnalysis &) = delete;

private:
  IslLock lock_;
  bool is_outermost_ = false;
};

/// Runs an analysis that needs nothing of Python without the GIL, so that other threads go on: with
/// isl's lock, and open to signals' handlers.
template <class Work>
auto analyse_unlocked(const Work &work) {
  PyThreadState *state = nullptr;
  // The GIL is taken again after isl's lock is given up: a thread that waits for the GIL while the
  // interpreter ends waits for ever.
  struct Retake {
    PyThreadState *&state;
    ~Retake() {
      if (state != nullptr) {
        take_gil(state);
      }
    }
  };
  const Retake retake{state};
  const InterruptibleAnalysis interruptible;
  state = PyEval_SaveThread();
  return work();
}

/// Raises in Python what a handler raised in the middle of an analysis; false where none did.
bool raise_from_handler();

} // namespace tilewright
