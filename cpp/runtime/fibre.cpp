#include "runtime/fibre.h"

#include "polyhedral/error.h"

#include <cstdint>
#include <new>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tilewright {

namespace {

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr std::size_t guard_bytes = 4096; ///< in front of it: running over the end stops at once

} // namespace

#if defined(__x86_64__)

// swapcontext asks the kernel for the signal mask on each switch; what a switch needs is the
// registers that a call preserves and the stack.
extern "C" void tilewright_switch_stack(void **save, void *load);
asm(R"(
.text
.p2align 4
.hidden tilewright_switch_stack
.globl tilewright_switch_stack
.type tilewright_switch_stack, @function
tilewright_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tilewright_switch_stack, .-tilewright_switch_stack
)");

struct Fibre::Context {
  void *stack = nullptr;
  void *inside = nullptr;  ///< the fibre's stack pointer while it does not run
  void *outside = nullptr; ///< its resumer's while it runs
  Entry entry = nullptr;
  void *argument = nullptr;
  bool has_ended = true;

  static Context *&starting() {
    static thread_local Context *context = nullptr;
    return context;
  }

  static void begin() {
    Context *context = starting();
    context->entry(context->argument);
    context->has_ended = true;
    tilewright_switch_stack(&context->inside, context->outside);
  }

  void prepare() {
    // What the first switch pops: six registers, and begin as the address to return to, with the
    // stack aligned as after a call.
    auto **top = reinterpret_cast<void **>(static_cast<char *>(stack) + stack_bytes);
    *--top = nullptr;
    *--top = reinterpret_cast<void *>(&begin);
    for (int saved = 0; saved < 6; ++saved) {
      *--top = nullptr;
    }
    inside = top;
  }

  void enter() {
    starting() = this;
    tilewright_switch_stack(&outside, inside);
  }
  void leave() { tilewright_switch_stack(&inside, outside); }
};

#else

struct Fibre::Context {
  void *stack = nullptr;
  ucontext_t inside;
  ucontext_t outside;
  Entry entry = nullptr;
  void *argument = nullptr;
  bool has_ended = true;

  static void begin(unsigned high, unsigned low) {
    constexpr int half = 32;
    auto *context = reinterpret_cast<Context *>((static_cast<std::uintptr_t>(high) << half) |
                                                static_cast<std::uintptr_t>(low));
    context->entry(context->argument);
    context->has_ended = true;
    swapcontext(&context->inside, &context->outside);
  }

  void prepare() {
    constexpr int half = 32;
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = stack_bytes;
    inside.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&inside, reinterpret_cast<void (*)()>(&begin), 2,
                static_cast<unsigned>(address >> half), static_cast<unsigned>(address));
  }

  void enter() { swapcontext(&outside, &inside); }
  void leave() { swapcontext(&inside, &outside); }
};

#endif

Fibre::Fibre() : context_(std::make_unique<Context>()) {
  void *memory = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  mprotect(memory, guard_bytes, PROT_NONE);
  context_->stack = static_cast<char *>(memory) + guard_bytes;
}

Fibre::~Fibre() {
  munmap(static_cast<char *>(context_->stack) - guard_bytes, guard_bytes + stack_bytes);
}

void Fibre::start(Entry entry, void *argument) {
#if defined(__SANITIZE_ADDRESS__)
  // What was left in the middle has left its marks around its locals.
  __asan_unpoison_memory_region(context_->stack, stack_bytes);
#endif
  context_->entry = entry;
  context_->argument = argument;
  context_->has_ended = false;
  context_->prepare();
}

bool Fibre::resume() {
  if (!context_->has_ended) {
    context_->enter();
  }
  return context_->has_ended;
}

void Fibre::pause() { context_->leave(); }

} // namespace tilewright
