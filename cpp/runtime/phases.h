// How long the phases of a compilation take.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>

namespace tilewright {

using Milliseconds = std::map<std::string, double>; ///< by phase

/// Adds the time until its end to one phase.
class Phase {
public:
  Phase(Milliseconds &times, std::string name)
      : times_(times), name_(std::move(name)), start_(std::chrono::steady_clock::now()) {}
  ~Phase() {
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - start_;
    times_[name_] += passed.count();
  }
  Phase(const Phase &) = delete;
  Phase &operator=(const Phase &) = delete;

private:
  Milliseconds &times_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

} // namespace tilewright
