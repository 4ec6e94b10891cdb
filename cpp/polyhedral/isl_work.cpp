#include "polyhedral/isl_work.h"

#include "polyhedral/isl.h"
#include "polyhedral/isl_counts.h"
#include "polyhedral/isl_lock.h"

#include <isl/ctx.h>

#include <atomic>
#include <cstddef>

namespace tilewright {

bool isl_work_is_spent = false;

namespace {

std::atomic<std::uint64_t> allocations{0};
std::uint64_t charged = 0;
std::uint64_t chargeable = 0;

std::atomic<bool> asked{false};
void (*attention)() = nullptr;

} // namespace

std::uint64_t isl_allocations() noexcept { return allocations.load(std::memory_order_relaxed); }

void begin_isl_work(std::uint64_t operations) {
  isl_work_is_spent = false;
  charged = 0;
  chargeable = operations;
}

void request_attention() noexcept { asked.store(true, std::memory_order_relaxed); }

void set_attention(void (*attend)()) { attention = attend; }

void give_attention() {
  if (asked.load(std::memory_order_relaxed) && attention != nullptr &&
      !IslLock::is_held_by_other()) {
    asked.store(false, std::memory_order_relaxed);
    attention();
  }
}

#ifdef TILEWRIGHT_ISL_WRAPPED

namespace {

/// Numbers of more bits come of no set that a person means.
constexpr std::uint64_t max_bits = std::uint64_t{1} << 16;
/// Smaller ones cost no more than the operations around them.
constexpr std::uint64_t few_bits = 512;

/// isl has its lock, so that nobody else counts at once.
void count_allocation() noexcept {
  allocations.store(allocations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// False where the numbers are to be left out.
bool charge(std::uint64_t bits, std::uint64_t units) {
  give_attention();
  charged += units;
  if (bits > max_bits || (chargeable != 0 && charged > chargeable)) {
    isl_work_is_spent = true;
    isl_ctx_set_max_operations(isl_context().get(), 1); // isl's next allocation fails
  }
  return !isl_work_is_spent;
}

} // namespace

#endif

} // namespace tilewright

#ifdef TILEWRIGHT_ISL_WRAPPED

// The linker calls these instead of isl's (--wrap). imath's numbers are known by address only.
extern "C" {

using Number = void *; // mp_int
using Status = int;    // mp_result

int mp_int_count_bits(Number number);
Status mp_int_set_value(Number number, long value);
// Names with leading underscores are the linker's.
Status real_gcd(Number a, Number b, Number result) __asm__("__real_mp_int_gcd");
Status real_mul(Number a, Number b, Number result) __asm__("__real_mp_int_mul");
Status real_div(Number a, Number b, Number quotient, Number rest) __asm__("__real_mp_int_div");
void *real_malloc(isl_ctx *context, size_t size) __asm__("__real_isl_malloc_or_die");
void *real_calloc(isl_ctx *context, size_t count, size_t size) __asm__("__real_isl_calloc_or_die");
Status counted_gcd(Number a, Number b, Number result) __asm__("__wrap_mp_int_gcd");
Status counted_mul(Number a, Number b, Number result) __asm__("__wrap_mp_int_mul");
Status counted_div(Number a, Number b, Number quotient, Number rest) __asm__("__wrap_mp_int_div");
void *attentive_malloc(isl_ctx *context, size_t size) __asm__("__wrap_isl_malloc_or_die");
void *attentive_calloc(isl_ctx *context, size_t count,
                       size_t size) __asm__("__wrap_isl_calloc_or_die");

Status counted_gcd(Number a, Number b, Number result) {
  const auto first = static_cast<std::uint64_t>(mp_int_count_bits(a));
  const auto second = static_cast<std::uint64_t>(mp_int_count_bits(b));
  constexpr std::uint64_t bits_of_unit = 50'000;
  if (first + second > tilewright::few_bits &&
      !tilewright::charge(first + second, (first + second) * (first + second) / bits_of_unit)) {
    return mp_int_set_value(result, 1);
  }
  return real_gcd(a, b, result);
}

Status counted_mul(Number a, Number b, Number result) {
  const auto first = static_cast<std::uint64_t>(mp_int_count_bits(a));
  const auto second = static_cast<std::uint64_t>(mp_int_count_bits(b));
  constexpr std::uint64_t bits_of_unit = 1'000'000;
  if (first + second > tilewright::few_bits &&
      !tilewright::charge(first + second, first * second / bits_of_unit)) {
    return mp_int_set_value(result, 1);
  }
  return real_mul(a, b, result);
}

Status counted_div(Number a, Number b, Number quotient, Number rest) {
  const auto first = static_cast<std::uint64_t>(mp_int_count_bits(a));
  const auto second = static_cast<std::uint64_t>(mp_int_count_bits(b));
  constexpr std::uint64_t bits_of_unit = 1'000'000;
  if (first + second > tilewright::few_bits &&
      !tilewright::charge(first, first * second / bits_of_unit)) {
    if (quotient != nullptr) {
      mp_int_set_value(quotient, 1);
    }
    return rest != nullptr ? mp_int_set_value(rest, 0) : 0;
  }
  return real_div(a, b, quotient, rest);
}

void *attentive_malloc(isl_ctx *context, size_t size) {
  tilewright::note_isl_use();
  tilewright::count_allocation();
  tilewright::give_attention();
  return real_malloc(context, size);
}

void *attentive_calloc(isl_ctx *context, size_t count, size_t size) {
  tilewright::note_isl_use();
  tilewright::count_allocation();
  tilewright::give_attention();
  return real_calloc(context, count, size);
}
}

#endif
