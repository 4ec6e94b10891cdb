#include "passes/lift_fills.h"

#include "loops/build.h"
#include "loops/traverse.h"

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

/// What the iterations of a loop change or define.
struct Changed {
  std::set<std::int64_t> buffers;
  std::set<std::int64_t> names; ///< variables and locals
  bool on_gpu = false;
};

void collect(const StmtPtr &root, Changed &into) {
  visit_statements(root, [&](const LoopStatement &statement) {
    if (const std::int64_t *variable = defined_variable(statement)) {
      into.names.insert(*variable);
    } else if (const auto *declaration = as<DeclareLocal>(statement)) {
      into.names.insert(declaration->id);
    } else if (const auto *assignment = as<AssignLocal>(statement)) {
      into.names.insert(assignment->id);
    } else if (const auto *change = as<ElementChange>(statement)) {
      into.buffers.insert(change->buffer);
    }
    const auto *loop = as<For>(statement);
    into.on_gpu = into.on_gpu || (loop != nullptr && is_gpu(loop->loop));
  });
}

/// Does a statement nothing but store to the buffer, the same in all iterations?
bool is_same_fill(const StmtPtr &root, std::int64_t buffer, const Changed &changed,
                  std::int64_t counter) {
  Changed own;
  collect(root, own);
  bool fills = !own.on_gpu;
  visit_statements(root, [&](const LoopStatement &statement) {
    switch (statement.kind) {
    case StatementKind::Store:
      fills = fills && cast<Store>(statement).buffer == buffer;
      break;
    case StatementKind::Block:
    case StatementKind::For:
    case StatementKind::If:
    case StatementKind::Let:
      break;
    default:
      fills = false;
    }
    each_value(statement, [&](const ValuePtr &value) {
      visit_value(value, [&](const Value &part) {
        if (const auto *variable = as<Variable>(part)) {
          const bool outer = variable->id != counter && !changed.names.contains(variable->id);
          fills = fills && (outer || own.names.contains(variable->id));
        } else if (const auto *load = as<Load>(part)) {
          fills = fills && !changed.buffers.contains(load->buffer);
        } else {
          fills = fills && !is<Local>(part);
        }
      });
    });
  });
  return fills;
}

/// Is an element of the buffer asked in a test?
bool is_tested(const StmtPtr &root, std::int64_t buffer) {
  bool found = false;
  visit_statements(root, [&](const LoopStatement &statement) {
    if (const auto *test = as<If>(statement)) {
      visit_value(test->condition, [&](const Value &part) {
        const auto *load = as<Load>(part);
        found = found || (load != nullptr && load->buffer == buffer);
      });
    }
  });
  return found;
}

} // namespace

std::optional<LiftedFill> lifted_fill(const For &loop) {
  const StmtPtr &body = loop.body();
  const auto *memory = as<Allocate>(body);
  if (memory == nullptr || loop.loop != LoopKind::Serial || !is<Block>(memory->children[0])) {
    return std::nullopt;
  }
  Changed changed;
  collect(body, changed);
  const std::vector<StmtPtr> &statements = memory->children[0]->children;
  const auto first_other =
      std::find_if(statements.begin(), statements.end(), [&](const StmtPtr &statement) {
        return !is_same_fill(statement, memory->buffer, changed, loop.id);
      });
  const std::vector<StmtPtr> others(first_other, statements.end());
  if (changed.on_gpu || first_other == statements.begin() || others.empty()) {
    return std::nullopt;
  }
  Changed later;
  for (const StmtPtr &other : others) {
    collect(other, later);
  }
  const StmtPtr rest = block(others);
  if (later.buffers.contains(memory->buffer) || !is_tested(rest, memory->buffer)) {
    return std::nullopt;
  }
  return LiftedFill{body, {statements.begin(), first_other}, rest};
}

} // namespace tilewright
