// Kernels that are being compiled right now. A thread that asks for one of them waits instead of
// compiling it a second time, and gets what the other one found: the kernel, or the error. A child
// of fork begins with none.
#pragma once

#include <exception>
#include <memory>
#include <string>

namespace tilewright {

/// The right to compile one kernel; who waits goes on when it is given up.
class CompilationTicket {
public:
  /// Null where another thread has it.
  static std::unique_ptr<CompilationTicket> take(const std::string &key);
  ~CompilationTicket();
  CompilationTicket(const CompilationTicket &) = delete;
  CompilationTicket &operator=(const CompilationTicket &) = delete;

  /// What those who wait are to get instead of a kernel.
  void fail(std::exception_ptr error);

private:
  struct State;
  friend struct InFlight;
  friend void await_compilation(const std::string &key);
  CompilationTicket(std::string key, std::shared_ptr<State> state);

  std::string key_;
  std::shared_ptr<State> state_;
};

/// Waits until nobody compiles the kernel; throws what its compilation threw. Must not be called
/// with a lock that compiling needs (Python's GIL).
void await_compilation(const std::string &key);

} // namespace tilewright
