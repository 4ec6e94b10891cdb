// How long analyses end early: a request, which may be made in a signal handler, and which isl's
// operations and loops of our own meet soon after. Analyses run one at a time, under Python's lock,
// so there is one request for all. What was interrupted has changed nothing.
#pragma once

#include <exception>

namespace tilewright {

/// Thrown by the analysis that a request ends. No Error: it says nothing about the program.
class Interrupted : public std::exception {
public:
  const char *what() const noexcept override { return "interrupted"; }
};

/// Ends the analysis at hand. May be called in a signal handler, once isl has a context.
void request_interruption() noexcept;

/// Forgets the request, where the analysis was over before it met it.
void forget_interruption() noexcept;

/// Throws Interrupted where a request waits. An atomic load and a test.
void check_interruption();

} // namespace tilewright
