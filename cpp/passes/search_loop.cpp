#include "passes/search_loop.h"

#include "loops/traverse.h"

#include <algorithm>
#include <utility>

namespace tilewright {

namespace {

/// Nodes of a value that is still looked at.
constexpr int most_nodes = 128;

bool is_own_local(const ValuePtr &value, std::int64_t id) {
  const auto *own = as<Local>(value);
  return own != nullptr && own->id == id;
}

bool is_long(const ValuePtr &value) {
  int nodes = 0;
  visit_value(value, [&](const Value & /*node*/) { ++nodes; });
  return nodes > most_nodes;
}

ValuePtr chosen(const ValuePtr &condition, const ValuePtr &then, const ValuePtr &otherwise) {
  if (!then || !otherwise) {
    return nullptr;
  }
  if (same_value(then, otherwise)) {
    return then;
  }
  if (!condition) {
    return nullptr;
  }
  return as_boolean(otherwise) == false ? both(condition, then)
                                        : select_value(condition, then, otherwise);
}

} // namespace

std::optional<SearchLoop> SearchLoop::of(const While &loop) {
  SearchLoop search;
  std::vector<ValuePtr> parts;
  operands_of(Op::And, loop.condition, parts);
  for (const ValuePtr &part : parts) {
    const auto *test = as_binary(part, Op::Lt);
    const auto *inverse = as<Unary>(part);
    if (test != nullptr && search.next == nullptr && is<Local>(test->left())) {
      search.next = std::static_pointer_cast<const Local>(test->left());
      search.end = test->right();
    } else if (inverse != nullptr && inverse->op == Op::Not && is<Local>(inverse->operands[0])) {
      search.flags.push_back(std::static_pointer_cast<const Local>(inverse->operands[0]));
    } else {
      return std::nullopt;
    }
  }
  if (search.next == nullptr || search.flags.empty() || !is<Block>(loop.body()) ||
      loop.body()->children.size() < 3) {
    return std::nullopt;
  }
  search.body = loop.body()->children;
  const auto *begin = as<Let>(search.body.front());
  const auto *last = as<AssignLocal>(search.body.back());
  if (begin == nullptr || last == nullptr || !is_own_local(begin->value, search.next->id) ||
      last->id != search.next->id) {
    return std::nullopt;
  }
  search.iteration = variable(begin->id, begin->name);
  if (!same_value(last->value, add(search.iteration, integer(1)))) {
    return std::nullopt;
  }
  search.body = {search.body.begin() + 1, search.body.end() - 1};
  return search;
}

StmtPtr SearchLoop::with(const ValuePtr &other_end, std::vector<StmtPtr> other_body) const {
  ValuePtr goes_on = binary_value(Op::Lt, next, other_end);
  for (const LocalPtr &flag : flags) {
    goes_on = both(goes_on, unary_value(Op::Not, flag));
  }
  other_body.insert(other_body.begin(), let(iteration->id, iteration->name, next));
  other_body.push_back(assign_local(next->id, next->name, add(iteration, integer(1))));
  return while_loop(goes_on, block(std::move(other_body)));
}

bool PassingTurn::is_flag(std::int64_t id) const {
  return std::any_of(search_.flags.begin(), search_.flags.end(),
                     [&](const LocalPtr &flag) { return flag->id == id; });
}

bool PassingTurn::run() {
  for (const bool knows_ends : {false, true}) {
    knows_ends_ = knows_ends;
    has_stored_ = false;
    values_.clear();
    for (const LocalPtr &flag : search_.flags) {
      values_[flag->id] = boolean(false);
    }
    for (const StmtPtr &statement : search_.body) {
      if (!walk(statement, boolean(true))) {
        return false;
      }
    }
  }
  for (const std::int64_t id : passed_) {
    if (!declared_.contains(id)) {
      const LocalPtr &local = assigned_.at(id);
      set_.push_back({local, now(local)});
    }
  }
  return !ends_.empty();
}

/// A value, where the walk is; null where it is not known.
ValuePtr PassingTurn::now(const ValuePtr &value) const {
  bool known = true;
  if (has_stored_) { // what memory holds now is not what the same value was before
    visit_value(value, [&](const Value &node) { known = known && !is<Load>(node); });
  }
  ValuePtr result = ValueRewriter([&](const ValuePtr &node) -> ValuePtr {
    const auto *own = as<Local>(node);
    const auto *variable = as<Variable>(node);
    if (own == nullptr && variable == nullptr) {
      return nullptr;
    }
    const auto found = values_.find(own != nullptr ? own->id : variable->id);
    if (found == values_.end()) {
      return nullptr;
    }
    known = known && found->second != nullptr;
    return found->second ? found->second : node;
  })(value);
  if (!known || is_long(result)) {
    return nullptr;
  }
  if (!knows_ends_) {
    return result;
  }
  return ValueRewriter([&](const ValuePtr &node) -> ValuePtr {
    for (const ValuePtr &end : ends_) {
      const auto *inverse = as<Unary>(end);
      if (same_value(node, end)) {
        return boolean(false);
      }
      if (inverse != nullptr && inverse->op == Op::Not && same_value(node, inverse->operands[0])) {
        return boolean(true);
      }
    }
    return nullptr;
  })(result);
}

bool PassingTurn::walk(const StmtPtr &statement, const ValuePtr &guard) {
  switch (statement->kind) {
  case StatementKind::Block:
    return std::all_of(statement->children.begin(), statement->children.end(),
                       [&](const StmtPtr &child) { return walk(child, guard); });
  case StatementKind::If:
    return walk_test(cast<If>(*statement), guard);
  case StatementKind::AssignLocal:
    return assign(cast<AssignLocal>(*statement), guard);
  case StatementKind::Let:
  case StatementKind::DeclareLocal: {
    const auto *defined = as<Definition>(statement);
    values_[defined->id] = now(defined->value);
    declared_.insert(defined->id);
    return true;
  }
  case StatementKind::CheckIndex: {
    const auto &check = cast<CheckIndex>(*statement);
    note_inside(*statement, check.value, check.upper);
    return true;
  }
  case StatementKind::Store:
    sets_locals_only_ = false;
    has_stored_ = true;
    return true;
  default:
    return false;
  }
}

bool PassingTurn::assign(const AssignLocal &assigned, const ValuePtr &guard) {
  const ValuePtr value = now(assigned.value);
  if (!is_flag(assigned.id)) {
    assigned_[assigned.id] = local(assigned.id, assigned.name, assigned.value->type);
    values_[assigned.id] = value;
    if (knows_ends_) {
      passed_.insert(assigned.id);
    }
    return true;
  }
  if (!value || !guard) {
    return false;
  }
  const ValuePtr end = both(guard, value);
  if (as_boolean(end) != false) {
    if (knows_ends_) {
      return false; // it is not seen that this is one of those
    }
    ends_.push_back(end);
  }
  return true;
}

bool PassingTurn::walk_test(const If &test, const ValuePtr &guard) {
  const ValuePtr condition = now(test.condition);
  std::vector<ValuePtr> parts;
  operands_of(Op::And, test.condition, parts);
  if (parts.size() == 2 && !test.has_otherwise()) {
    const auto *from = as_binary(parts[0], Op::Le);
    const auto *below = as_binary(parts[1], Op::Lt);
    if (from != nullptr && below != nullptr && as_integer(from->left()) == 0 &&
        same_value(from->right(), below->left())) {
      note_inside(test, below->left(), below->right());
    }
  }
  const auto holds = condition ? as_boolean(condition) : std::nullopt;
  if (holds) {
    return *holds ? walk(test.then(), guard)
                  : !test.has_otherwise() || walk(test.otherwise(), guard);
  }
  const auto before = values_;
  if (!walk(test.then(), condition && guard ? both(guard, condition) : nullptr)) {
    return false;
  }
  auto then = std::exchange(values_, before);
  if (test.has_otherwise() &&
      !walk(test.otherwise(),
            condition && guard ? both(guard, unary_value(Op::Not, condition)) : nullptr)) {
    return false;
  }
  for (const auto &[id, value] : then) {
    const auto found = values_.find(id);
    const auto was = assigned_.find(id);
    // What is not assigned in the other branch is what it was before the turn.
    const ValuePtr other = found != values_.end()   ? found->second
                           : was != assigned_.end() ? ValuePtr(was->second)
                                                    : value;
    values_[id] = chosen(condition, value, other);
  }
  for (auto &[id, value] : values_) {
    const auto was = assigned_.find(id);
    if (!then.contains(id) && was != assigned_.end()) {
      value = chosen(condition, was->second, value);
    }
  }
  return true;
}

void PassingTurn::note_inside(const LoopStatement &statement, const ValuePtr &value,
                              const ValuePtr &extent) {
  if (value->type != ValueType{Int64, 1}) {
    return;
  }
  const Inside found{now(value), now(extent)};
  const auto [known, is_new] = asked_.try_emplace(&statement, found);
  if (!is_new && !(found.subscript && known->second.subscript &&
                   same_value(found.subscript, known->second.subscript))) {
    known->second.subscript = nullptr; // it differs in the turn that ends the loop
  }
}

} // namespace tilewright
