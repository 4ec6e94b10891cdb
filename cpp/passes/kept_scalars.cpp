#include "passes/kept_scalars.h"

#include "loops/traverse.h"
#include "passes/loop_changes.h"

namespace tilewright {

KeptScalars::Buffers KeptScalars::visit(const StmtPtr &statement, Buffers set) {
  visit_values(*statement, [&](const Value &value) {
    const auto *read = as<Load>(value);
    if (read != nullptr && !set.contains(read->buffer)) {
      kept_.insert(read->buffer);
    }
    if (const auto buffer = given_buffer(value)) {
      kept_.insert(*buffer);
    }
  });
  const auto *change = as<ElementChange>(*statement);
  if (change != nullptr && !is<Store>(statement) && !set.contains(change->buffer)) {
    kept_.insert(change->buffer); // it is read, too
  }
  if (is<Block>(statement)) {
    for (const StmtPtr &child : statement->children) {
      set = visit(child, std::move(set));
    }
    return set;
  }
  if (where_ == Set::InIteration && (is<For>(statement) || is<While>(statement))) {
    // What is set before is what another iteration leaves, in the loop and behind it.
    visit_statements(statement, [&](const LoopStatement &inner) {
      if (const auto *changed = as<ElementChange>(inner)) {
        set.erase(changed->buffer);
      }
    });
  }
  for (const StmtPtr &child : statement->children) {
    visit(child, set);
  }
  const auto *store = as<Store>(statement);
  if (store != nullptr && store->subscripts.empty() && !store->mask) {
    set.insert(store->buffer);
  }
  return set;
}

} // namespace tilewright
