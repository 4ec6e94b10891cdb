#include "polyhedral/interruption.h"

#include "polyhedral/isl.h"
#include "polyhedral/isl_lock.h"
#include "polyhedral/isl_work.h"

#include <isl/ctx.h>

#include <atomic>
#include <string>

namespace tilewright {

namespace {
std::atomic<bool> requested{false};

/// A second or two. The largest functions of the tests come to a tenth of it.
constexpr std::uint64_t max_visits = 20'000'000;
constexpr std::uint64_t visits_between_looks = 4096;

thread_local std::uint64_t visits = 0;
thread_local std::uint64_t next_look = ~std::uint64_t{0};
thread_local std::uint64_t last_visit = ~std::uint64_t{0};

void look_around() {
  next_look = visits + visits_between_looks;
  check_interruption();
  if (visits > last_visit) {
    throw Error(ErrorKind::Limit,
                "the analysis comes to more than " + std::to_string(max_visits) +
                    " parts of expressions: what is shared is written out many times (by inline(), "
                    "or by reductions inside reductions); compute parts in computations of their "
                    "own");
  }
}
} // namespace

void request_interruption() noexcept {
  requested.store(true, std::memory_order_relaxed);
  isl_ctx_abort(isl_context().get()); // stores a number
}

void forget_interruption() noexcept {
  if (requested.exchange(false)) {
    isl_ctx_resume(isl_context().get());
  }
}

void check_interruption() {
  give_attention();
  if (requested.load(std::memory_order_relaxed) && !IslLock::is_held_by_other()) {
    throw Interrupted();
  }
}

void count_visit() {
  if (++visits >= next_look) {
    look_around();
  }
}

std::uint64_t counted_visits() noexcept { return visits; }

void begin_charging_visits() noexcept {
  next_look = visits + visits_between_looks;
  last_visit = visits + max_visits;
}

void end_charging_visits() noexcept {
  next_look = ~std::uint64_t{0};
  last_visit = ~std::uint64_t{0};
}

} // namespace tilewright
