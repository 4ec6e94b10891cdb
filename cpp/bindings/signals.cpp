#include "bindings/signals.h"

#include "polyhedral/interruption.h"
#include "polyhedral/isl.h"
#include "polyhedral/isl_work.h"
#include "runtime/environment.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>
#include <optional>
#include <pthread.h>

namespace tilewright {

namespace py = pybind11;

namespace {

std::atomic<unsigned long> main_thread{0};

std::int64_t milliseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

/// The signals whose handlers people write in Python.
constexpr std::array watched{SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2};

/// Our handler before those of the process, as long as somebody watches. All of the main thread's.
struct Watch {
  int watchers = 0;
  std::array<struct sigaction, watched.size()> before{};
  std::array<bool, watched.size()> is_ours{};
  std::atomic<bool> arrived{false};
  std::atomic<bool> analysis{false};   ///< an analysis is there, for handlers to end
  std::atomic<bool> interrupts{false}; ///< SIGINT ends it, whatever isl is at
};
Watch watch;

/// What a handler raised in the middle of an analysis, until somebody raises it in Python.
/// Never freed: the interpreter is gone when the process ends.
std::optional<py::error_already_set> &raised = *new std::optional<py::error_already_set>();

void on_signal(int number, siginfo_t *info, void *context) {
  const int error = errno;
  watch.arrived.store(true, std::memory_order_relaxed);
  if (number == SIGINT && watch.interrupts.load(std::memory_order_relaxed)) {
    request_interruption();
  }
  const auto place = std::find(watched.begin(), watched.end(), number) - watched.begin();
  const struct sigaction &before = watch.before[static_cast<size_t>(place)];
  errno = error;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else {
    before.sa_handler(number);
  }
  if (watch.analysis.load(std::memory_order_relaxed)) {
    request_attention(); // Python has noted the signal
  }
}

bool is_on_signal(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

void begin_watching() {
  if (watch.watchers++ > 0) {
    return;
  }
  watch.arrived.store(false);
  for (size_t i = 0; i < watched.size(); ++i) {
    struct sigaction &before = watch.before[i];
    watch.is_ours[i] = sigaction(watched[i], nullptr, &before) == 0 &&
                       before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN &&
                       !is_on_signal(before);
    if (watch.is_ours[i]) {
      struct sigaction action = before;
      action.sa_sigaction = on_signal;
      action.sa_flags |= SA_SIGINFO;
      sigaction(watched[i], &action, nullptr);
    }
  }
}

void stop_watching() {
  if (--watch.watchers > 0) {
    return;
  }
  for (size_t i = 0; i < watched.size(); ++i) {
    struct sigaction now{};
    // A handler may have set another one, which stays.
    if (watch.is_ours[i] && sigaction(watched[i], nullptr, &now) == 0 && is_on_signal(now)) {
      sigaction(watched[i], &watch.before[i], nullptr);
    }
  }
}

/// Whether Python handles SIGINT by KeyboardInterrupt. Asks the built-in module: in a function
/// written in Python, handlers of signals that have arrived would run.
bool has_usual_handler() {
  const auto of_signal = [](const char *name) {
    return py::object(py::module_::import("_signal").attr(name)).release().ptr();
  };
  static PyObject *const get = of_signal("getsignal");
  static PyObject *const usual = of_signal("default_int_handler");
  static PyObject *const number = py::int_(SIGINT).release().ptr();
  const auto handler = py::reinterpret_steal<py::object>(PyObject_CallOneArg(get, number));
  if (!handler) {
    throw py::error_already_set();
  }
  return handler.ptr() == usual;
}

/// Runs the handlers in the middle of an analysis, in its thread. What they raise ends it.
void attend_to_signals() {
  if (!watch.analysis.load(std::memory_order_relaxed) || raised || !is_main_thread()) {
    return;
  }
  const py::gil_scoped_acquire locked; // an analysis may run without
  if (PyErr_Occurred() == nullptr && PyErr_CheckSignals() != 0) {
    raised.emplace();
    request_interruption();
  }
}

/// A thread that waits for isl's lock lets others have the GIL, and handles signals.
void wait_for_isl(bool (*try_again)()) {
  if (PyGILState_Check() == 0) {
    while (!try_again()) {
    }
    return;
  }
  bool has_lock = false;
  while (!has_lock) {
    {
      const GilReleased unlocked;
      has_lock = try_again();
    }
    if (!has_lock && is_main_thread() && PyErr_CheckSignals() != 0) {
      throw py::error_already_set();
    }
  }
}

/// Python calls these around os.fork(), in the thread that forks.
void hold_isl_across_forks() {
  py::module_::import("os").attr("register_at_fork")(
      py::arg("before") = py::cpp_function([] {
        const GilReleased unlocked;
        lock_isl_for_fork();
      }),
      py::arg("after_in_parent") = py::cpp_function(&unlock_isl_after_fork),
      py::arg("after_in_child") = py::cpp_function(&unlock_isl_after_fork));
}

/// The analysis that is inside the outermost operation limit.
std::optional<InterruptibleAnalysis> limited;

} // namespace

void bind_signals() {
  main_thread.store(
      py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>());
  isl_context(); // signal handlers may ask for it
  set_attention(attend_to_signals);
  set_isl_waiting(wait_for_isl);
  hold_isl_across_forks();
  set_analysis_scope({[] {
                        if (PyGILState_Check() != 0) {
                          limited.emplace();
                        }
                      },
                      [] { limited.reset(); }});
  // The thread that forks is the main thread of the child.
  pthread_atfork(nullptr, nullptr, [] { main_thread.store(pthread_self()); });
}

bool is_main_thread() { return pthread_self() == main_thread.load(std::memory_order_relaxed); }

void handle_signals() {
  const py::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) {
    throw py::error_already_set();
  }
}

// ---- calls ----

void InterruptibleCall::begin() {
  if (!is_main_thread()) {
    return;
  }
  state_ = PyThreadState_Get();
  caller = state_->thread_id;
  ask = [](CallRecord &record) { return static_cast<InterruptibleCall &>(record).ask_python(); };
}

bool InterruptibleCall::ask_python() {
  constexpr std::int64_t before_watching = 20;
  const std::int64_t now = milliseconds(CLOCK_MONOTONIC_COARSE);
  if (!watches_) {
    begun_ = begun_ == 0 ? now : begun_;
    if (now - begun_ < before_watching) {
      return false;
    }
    begin_watching();
    watches_ = true;
    return look(); // what arrived before
  }
  const bool arrived =
      watch.arrived.load(std::memory_order_relaxed) && watch.arrived.exchange(false);
  return (arrived || now >= next_look_) && look();
}

bool InterruptibleCall::look() {
  constexpr std::int64_t least_pause = 50;
  constexpr std::int64_t least_share = 50; // of the time that waiting for the GIL takes
  const std::int64_t before = milliseconds(CLOCK_MONOTONIC);
  take_gil(state_);
  const std::int64_t waited = milliseconds(CLOCK_MONOTONIC) - before;
  const bool raised = PyErr_CheckSignals() != 0;
  state_ = PyEval_SaveThread();
  next_look_ = milliseconds(CLOCK_MONOTONIC_COARSE) + std::max(least_pause, waited * least_share);
  return raised;
}

void InterruptibleCall::end_watching() { stop_watching(); }

// ---- analyses ----

InterruptibleAnalysis::InterruptibleAnalysis()
    : is_outermost_(!watch.analysis.load(std::memory_order_relaxed) &&
                    PyThreadState_Get()->thread_id == main_thread.load()) {
  take_environment();
  if (is_outermost_) {
    const bool interrupts = has_usual_handler();
    begin_watching();
    watch.interrupts.store(interrupts);
    watch.analysis.store(true);
  }
}

InterruptibleAnalysis::~InterruptibleAnalysis() {
  if (!is_outermost_) {
    return;
  }
  watch.analysis.store(false);
  watch.interrupts.store(false);
  stop_watching();
  if (!raised) {
    forget_interruption();
  } else if (std::uncaught_exceptions() == 0) {
    // It was over before it met the request: what the handler raised is raised next.
    Py_AddPendingCall([](void *) { return raise_from_handler() ? -1 : 0; }, nullptr);
  }
}

bool raise_from_handler() {
  if (!raised) {
    return false;
  }
  raised->restore();
  raised.reset();
  forget_interruption();
  return true;
}

} // namespace tilewright
