#include "passes/loop_changes.h"

#include "loops/traverse.h"

namespace tilewright {

LoopChanges::LoopChanges(const For &loop) {
  variables_.insert(loop.id);
  visit_statements(loop.body(), [&](const LoopStatement &inner) {
    if (const std::int64_t *variable = defined_variable(inner)) {
      variables_.insert(*variable);
    }
    if (const auto *change = as<ElementChange>(inner)) {
      buffers_.insert(change->buffer);
    } else if (const auto *declared = as<DeclareLocal>(inner)) {
      locals_.insert(declared->id);
    } else if (const auto *assigned = as<AssignLocal>(inner)) {
      locals_.insert(assigned->id);
    } else if (const auto *memory = as<Allocate>(inner)) {
      buffers_.insert(memory->buffer);
    }
    visit_values(inner, [&](const Value &value) {
      if (const auto buffer = given_buffer(value)) {
        buffers_.insert(*buffer);
      }
    });
  });
}

bool LoopChanges::is_fixed(const ValuePtr &root) const {
  bool fixed = true;
  visit_value(root, [&](const Value &value) {
    const auto *read = as<Load>(value);
    const auto *own = as<Local>(value);
    const auto *variable = as<Variable>(value);
    fixed = fixed && !is<Extern>(value) && (read == nullptr || !buffers_.contains(read->buffer)) &&
            (own == nullptr || !locals_.contains(own->id)) &&
            (variable == nullptr || !variables_.contains(variable->id));
  });
  return fixed;
}

} // namespace tilewright
