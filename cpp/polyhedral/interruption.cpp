#include "polyhedral/interruption.h"

#include "polyhedral/isl.h"
#include "polyhedral/isl_work.h"

#include <isl/ctx.h>

#include <atomic>

namespace tilewright {

namespace {
std::atomic<bool> requested{false};
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
  if (requested.load(std::memory_order_relaxed)) {
    throw Interrupted();
  }
}

} // namespace tilewright
