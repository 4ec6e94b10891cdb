#include "loops/summing_loops.h"

#include <algorithm>
#include <set>

namespace tilewright {

bool mentions(const ValuePtr &root, std::int64_t variable) {
  bool found = false;
  visit_value(root, [&](const Value &value) {
    found = found || (value.kind == ValueKind::Variable && value.id == variable);
  });
  return found;
}

bool accumulates(const StmtPtr &root, std::int64_t variable) {
  bool found = false;
  visit_statements(root, [&](const LoopStatement &inner) {
    found =
        found ||
        (inner.kind == StatementKind::Store &&
         std::none_of(inner.subscripts.begin(), inner.subscripts.end(),
                      [&](const ValuePtr &subscript) { return mentions(subscript, variable); }));
  });
  return found;
}

namespace {

/// A multiple of the variable and of nothing else that changes in the loops `inside`.
bool follows(const ValuePtr &subscript, std::int64_t variable,
             const std::set<std::int64_t> &inside) {
  const auto linear = is_index(subscript) ? linear_of(subscript) : std::nullopt;
  if (!linear) {
    return false;
  }
  bool found = false;
  for (const Linear::Term &term : linear->terms) {
    if (term.atom->kind == ValueKind::Variable && term.atom->id == variable) {
      found = true;
    } else if (mentions(term.atom, variable) ||
               std::any_of(inside.begin(), inside.end(),
                           [&](std::int64_t id) { return mentions(term.atom, id); })) {
      return false;
    }
  }
  return found;
}

} // namespace

StmtPtr with_rows_outside(const LoopStatement &outer) {
  const StmtPtr &rows = outer.children[0];
  if (rows->kind != StatementKind::For || mentions(rows->lower, outer.id) ||
      mentions(rows->upper, outer.id) || mentions(outer.lower, rows->id) ||
      mentions(outer.upper, rows->id)) {
    return nullptr;
  }
  std::set<std::int64_t> inside{outer.id};
  const LoopStatement *store = nullptr;
  bool simple = true;
  visit_statements(rows->children[0], [&](const LoopStatement &inner) {
    switch (inner.kind) {
    case StatementKind::For:
      inside.insert(inner.id);
      simple = simple && inner.loop != LoopKind::Parallel;
      break;
    case StatementKind::Store:
      simple = simple && store == nullptr;
      store = &inner;
      break;
    case StatementKind::Block:
    case StatementKind::If:
      break;
    default:
      simple = false;
    }
  });
  if (!simple || store == nullptr || !accumulates(rows, outer.id)) {
    return nullptr;
  }
  const auto own =
      std::find_if(store->subscripts.begin(), store->subscripts.end(),
                   [&](const ValuePtr &subscript) { return follows(subscript, rows->id, inside); });
  if (own == store->subscripts.end()) {
    return nullptr;
  }
  const auto dimension = static_cast<size_t>(own - store->subscripts.begin());
  visit_statements(rows->children[0], [&](const LoopStatement &inner) {
    visit_values(inner, [&](const Value &value) {
      const bool reads_written = value.kind == ValueKind::Load && value.id == store->buffer;
      simple = simple && value.kind != ValueKind::Local &&
               (!reads_written || same_value(value.operands[dimension], *own));
    });
  });
  if (!simple) {
    return nullptr;
  }
  return for_loop(*rows, rows->lower, rows->upper,
                  for_loop(outer, outer.lower, outer.upper, rows->children[0]));
}

} // namespace tilewright
