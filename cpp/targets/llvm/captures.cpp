// What the body of a parallel loop, or a launch, needs of what is around it.
#include "loops/traverse.h"
#include "targets/llvm/host_emitter.h"

#include <algorithm>

namespace tilewright {

/// The buffers that a loop reads, writes, or lets a block do so: a kernel of many loops has many
/// temporaries, and each loop takes its own along.
std::unordered_set<std::int64_t> buffers_in(const LoopStatement &loop) {
  std::unordered_set<std::int64_t> found;
  const auto collect = [&](const LoopStatement &statement) {
    if (const auto *change = as<ElementChange>(statement)) {
      found.insert(change->buffer);
    }
    visit_values(statement, [&](const Value &value) {
      if (const auto buffer = buffer_named_in(value)) {
        found.insert(*buffer);
      }
    });
  };
  collect(loop);
  for (const StmtPtr &child : loop.children) {
    visit_statements(child, collect);
  }
  return found;
}

HostEmitter::Captures HostEmitter::find_captures(const LoopStatement &loop) const {
  std::unordered_set<std::int64_t> variables;
  std::unordered_set<std::int64_t> locals;
  Captures captures;
  std::unordered_set<const Value *> seen;
  std::vector<const Value *> values;
  std::vector<const LoopStatement *> statements = {&loop};
  const auto note = [&](const ValuePtr &value) { values.push_back(value.get()); };
  while (!statements.empty()) {
    const LoopStatement &statement = *statements.back();
    statements.pop_back();
    for (const StmtPtr &child : statement.children) {
      statements.push_back(child.get());
    }
    each_value(statement, note);
    if (const auto *assignment = as<AssignLocal>(statement)) {
      locals.insert(assignment->id);
      captures.assigned.insert(assignment->id);
    }
  }
  while (!values.empty()) {
    const Value *value = values.back();
    values.pop_back();
    if (!seen.insert(value).second) {
      continue;
    }
    if (const auto *variable = as<Variable>(*value)) {
      variables.insert(variable->id);
    } else if (const auto *local = as<Local>(*value)) {
      locals.insert(local->id);
    }
    for (const ValuePtr &operand : value->operands) {
      note(operand);
    }
  }
  // Only what exists outside; sorted, so that the same kernel always gives the same code.
  for (const std::int64_t id : variables) {
    if (frame_.variables.contains(id)) {
      captures.variables.push_back(id);
    }
  }
  for (const std::int64_t id : locals) {
    if (frame_.locals.contains(id)) {
      captures.locals.push_back(id);
    }
  }
  std::sort(captures.variables.begin(), captures.variables.end());
  std::sort(captures.locals.begin(), captures.locals.end());
  return captures;
}

} // namespace tilewright
