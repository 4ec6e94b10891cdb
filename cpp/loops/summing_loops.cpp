#include "loops/summing_loops.h"

#include "loops/traverse.h"

#include <algorithm>
#include <set>

namespace tilewright {

bool mentions(const ValuePtr &root, std::int64_t variable) {
  bool found = false;
  visit_value(root, [&](const Value &value) { found = found || (is_variable(value, variable)); });
  return found;
}

bool accumulates(const StmtPtr &root, std::int64_t variable) {
  bool found = false;
  visit_statements(root, [&](const LoopStatement &inner) {
    const auto *store = as<Store>(inner);
    found = found ||
            (store != nullptr && std::none_of(store->subscripts.begin(), store->subscripts.end(),
                                              [&](const ValuePtr &subscript) {
                                                return mentions(subscript, variable);
                                              }));
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
    if (is_variable(term.atom, variable)) {
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

StmtPtr with_rows_outside(const For &outer) {
  const auto *rows = as<For>(outer.body());
  if (rows == nullptr || mentions(rows->lower, outer.id) || mentions(rows->upper, outer.id) ||
      mentions(outer.lower, rows->id) || mentions(outer.upper, rows->id)) {
    return nullptr;
  }
  std::set<std::int64_t> inside{outer.id};
  const Store *store = nullptr;
  bool simple = true;
  visit_statements(rows->body(), [&](const LoopStatement &inner) {
    switch (inner.kind) {
    case StatementKind::For:
      inside.insert(cast<For>(inner).id);
      simple = simple && cast<For>(inner).loop != LoopKind::Parallel;
      break;
    case StatementKind::Store:
      simple = simple && store == nullptr;
      store = &cast<Store>(inner);
      break;
    case StatementKind::Block:
    case StatementKind::If:
      break;
    default:
      simple = false;
    }
  });
  if (!simple || store == nullptr || !accumulates(outer.body(), outer.id)) {
    return nullptr;
  }
  const auto own =
      std::find_if(store->subscripts.begin(), store->subscripts.end(),
                   [&](const ValuePtr &subscript) { return follows(subscript, rows->id, inside); });
  if (own == store->subscripts.end()) {
    return nullptr;
  }
  const auto dimension = static_cast<size_t>(own - store->subscripts.begin());
  visit_statements(rows->body(), [&](const LoopStatement &inner) {
    visit_values(inner, [&](const Value &value) {
      const bool reads_written = is_load_of(value, store->buffer);
      simple = simple && !is<Local>(value) &&
               (!reads_written || same_value(value.operands[dimension], *own));
    });
  });
  if (!simple) {
    return nullptr;
  }
  return for_loop(*rows, rows->lower, rows->upper,
                  for_loop(outer, outer.lower, outer.upper, rows->body()));
}

} // namespace tilewright
