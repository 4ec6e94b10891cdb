#include "lowering/split_buffers.h"

#include "loops/traverse.h"

#include <algorithm>

namespace tilewright {

namespace {

bool loads(const ValuePtr &value, std::int64_t buffer) {
  bool found = false;
  visit_value(value, [&](const Value &part) { found = found || is_load_of(part, buffer); });
  return found;
}

/// Whether what lives in it is read, or added to, and nothing gives it a first value.
bool lacks_first_value(const Allocate &memory) {
  bool is_read = false;
  bool begins = false;
  visit_statements(memory.body(), [&](const LoopStatement &inner) {
    const auto *change = as<ElementChange>(inner);
    if (change != nullptr && change->buffer == memory.buffer) {
      begins = begins || (!is<AtomicUpdate>(inner) && !loads(change->value, memory.buffer));
    }
    visit_values(inner, [&](const Value &value) {
      is_read = is_read || is_load_of(value, memory.buffer);
      // A block of code may write where it is told to.
      const auto *called = as<Extern>(value);
      begins = begins ||
               (called != nullptr && std::any_of(called->operands.begin(), called->operands.end(),
                                                 [&](const ValuePtr &operand) {
                                                   return loads(operand, memory.buffer);
                                                 }));
    });
  });
  return is_read && !begins;
}

} // namespace

std::optional<std::int64_t> first_split_buffer(const Kernel &kernel) {
  std::optional<std::int64_t> found;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    const auto *memory = as<Allocate>(statement);
    if (!found && memory != nullptr && lacks_first_value(*memory)) {
      found = memory->buffer;
    }
  });
  return found;
}

} // namespace tilewright
