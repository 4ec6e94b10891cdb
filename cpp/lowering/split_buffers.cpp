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

/// What happens to a buffer in some statements.
struct Uses {
  bool is_read = false;
  /// Something gives it a first value.
  bool begins = false;
};

Uses uses_in(const StmtPtr &statements, std::int64_t buffer) {
  Uses found;
  visit_statements(statements, [&](const LoopStatement &inner) {
    const auto *change = as<ElementChange>(inner);
    if (change != nullptr && change->buffer == buffer) {
      found.begins = found.begins || (!is<AtomicUpdate>(inner) && !loads(change->value, buffer));
    }
    visit_values(inner, [&](const Value &value) {
      found.is_read = found.is_read || is_load_of(value, buffer);
      // A block of code may write where it is told to.
      const auto *called = as<Extern>(value);
      found.begins = found.begins ||
                     (called != nullptr &&
                      std::any_of(called->operands.begin(), called->operands.end(),
                                  [&](const ValuePtr &operand) { return loads(operand, buffer); }));
    });
  });
  return found;
}

/// Whether what lives in it is read, or added to, and gets its first value elsewhere. If it gets
/// none anywhere, it is read where a condition never holds, and no value is missing.
bool lacks_first_value(const Allocate &memory, const Kernel &kernel) {
  const Uses inside = uses_in(memory.body(), memory.buffer);
  return inside.is_read && !inside.begins && uses_in(kernel.body, memory.buffer).begins;
}

} // namespace

std::optional<std::int64_t> first_split_buffer(const Kernel &kernel) {
  std::optional<std::int64_t> found;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    const auto *memory = as<Allocate>(statement);
    if (!found && memory != nullptr && lacks_first_value(*memory, kernel)) {
      found = memory->buffer;
    }
  });
  return found;
}

} // namespace tilewright
