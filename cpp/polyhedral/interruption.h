// How long analyses end early: a request, which may be made in a signal handler, and which isl's
// operations and loops of our own meet soon after. Analyses run one at a time, under isl's lock, so
// there is one request for all, and it ends the one whose thread has the lock. What was interrupted
// has changed nothing.
#pragma once

#include <cstdint>
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

/// Counts a node to which a walk of ours comes. Inside an OperationLimit it looks for requests now
/// and then, and throws Error(Limit) where an analysis comes to more nodes than walks of graphs do.
void count_visit();

/// The visits of this thread so far; for tests, which compare them with the nodes that there are.
std::uint64_t counted_visits() noexcept;

/// The first OperationLimit begins to charge visits, and the last one ends it.
void begin_charging_visits() noexcept;
void end_charging_visits() noexcept;

} // namespace tilewright
