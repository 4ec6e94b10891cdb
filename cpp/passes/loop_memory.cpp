#include "passes/loop_memory.h"

#include "loops/traverse.h"

namespace tilewright {

namespace {

/// How often each buffer is read in a statement and what is in it.
std::map<std::int64_t, int> reads_in(const StmtPtr &root) {
  std::map<std::int64_t, int> found;
  visit_statements(root, [&](const LoopStatement &statement) {
    visit_values(statement, [&](const Value &value) {
      if (const auto buffer = buffer_named_in(value)) {
        ++found[*buffer];
      }
    });
  });
  return found;
}

} // namespace

LoopMemories::LoopMemories(const Kernel &kernel)
    : kernel_(kernel), reads_(reads_in(kernel.body)),
      kept_(kernel.body, KeptScalars::Set::InIteration) {}

LoopMemory LoopMemories::of(const For &loop) const {
  LoopMemory found;
  const std::map<std::int64_t, int> inside = reads_in(loop.body());
  const KeptScalars set_later(loop.body(), KeptScalars::Set::Before);
  const auto count_in = [](const std::map<std::int64_t, int> &counts, std::int64_t buffer) {
    const auto known = counts.find(buffer);
    return known == counts.end() ? 0 : known->second;
  };
  visit_statements(loop.body(), [&](const LoopStatement &inner) {
    const auto *change = as<ElementChange>(inner);
    if (change == nullptr || kernel_.buffers.at(static_cast<size_t>(change->buffer)).is_argument) {
      return;
    }
    if (count_in(inside, change->buffer) == count_in(reads_, change->buffer)) {
      found.own.insert(change->buffer);
    }
    if (is<Store>(inner) && change->subscripts.empty()) {
      found.scalars.insert(change->buffer);
      // Set anew before an iteration reads it, although loops inside may keep it, and read in
      // here alone; or set anew in each iteration of all loops.
      const bool is_own = found.own.contains(change->buffer) && !set_later.contains(change->buffer);
      if (is_own || !kept_.contains(change->buffer)) {
        found.temporaries.insert(change->buffer);
      }
    }
  });
  return found;
}

} // namespace tilewright
