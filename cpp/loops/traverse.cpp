#include "loops/traverse.h"

#include "algorithm/extern_function.h"
#include "loops/dispatch.h"

#include <algorithm>
#include <type_traits>
#include <unordered_set>

namespace tilewright {

void wrong_node() {
  throw Error(ErrorKind::Internal, "a node of the loop IR is of another kind than was taken");
}

ValuePtr with_operands(const ValuePtr &value, std::vector<ValuePtr> operands) {
  switch (value->kind) {
  case ValueKind::Unary:
    return unary_value(cast<Unary>(value).op, operands[0]);
  case ValueKind::Binary:
    return binary_value(cast<Binary>(value).op, operands[0], operands[1]);
  case ValueKind::Call:
    return call_value(cast<Call>(value).op, std::move(operands), value->type.scalar);
  case ValueKind::Cast:
    return cast_value(operands[0], value->type.scalar);
  case ValueKind::Select:
    return select_value(operands[0], operands[1], operands[2]);
  case ValueKind::Ramp:
    return ramp(cast<Ramp>(value), operands[0]);
  case ValueKind::Broadcast:
    return broadcast(operands[0], value->type.lanes);
  case ValueKind::Load:
    return load(cast<Load>(value), std::move(operands));
  case ValueKind::Masked:
    return masked(operands[0], operands[1]);
  case ValueKind::Reduce:
    return reduce_lanes(cast<Reduce>(value).op, operands[0]);
  case ValueKind::Mma:
    return mma_value(cast<Mma>(value).shape, std::move(operands));
  case ValueKind::Lane:
    return lane_value(operands[0], cast<Lane>(value).number);
  case ValueKind::Matrices: {
    const auto &matrices = cast<Matrices>(value);
    return matrices_value(matrices.buffer, matrices.name, value->type, matrices.transposed,
                          std::move(operands));
  }
  case ValueKind::Shuffle:
    return shuffle_value(operands[0], cast<Shuffle>(value).bits);
  case ValueKind::Extern: {
    const auto &call = cast<Extern>(value);
    const ValuePtr mask = call.has_mask ? operands.front() : nullptr;
    return extern_value(call.function, {operands.begin() + (mask ? 1 : 0), operands.end()}, mask);
  }
  case ValueKind::Constant:
  case ValueKind::Variable:
  case ValueKind::Parameter:
  case ValueKind::Local:
  case ValueKind::GpuIndex:
  case ValueKind::Aligned:
    return value;
  }
  return value;
}

void operands_of(Op op, const ValuePtr &value, std::vector<ValuePtr> &into) {
  if (const auto *binary = as_binary(value, op)) {
    operands_of(op, binary->left(), into);
    operands_of(op, binary->right(), into);
  } else {
    into.push_back(value);
  }
}

ValuePtr ValueRewriter::operator()(const ValuePtr &value) {
  if (const auto found = done_.find(value); found != done_.end()) {
    return found->second;
  }
  ValuePtr result = leaf_(value);
  if (!result) {
    bool changed = false;
    std::vector<ValuePtr> operands;
    operands.reserve(value->operands.size());
    for (const ValuePtr &operand : value->operands) {
      operands.push_back((*this)(operand));
      changed = changed || operands.back() != operand;
    }
    result = changed ? with_operands(value, std::move(operands)) : value;
  }
  done_.emplace(value, result);
  return result;
}

namespace {

/// Every value that a statement holds itself, as a reference; a mask only if there is one.
template <class Node, class Visit>
void each_value_of(Node &node, const Visit &visit) {
  if constexpr (requires { node.lower; }) {
    visit(node.lower);
  }
  if constexpr (requires { node.upper; }) {
    visit(node.upper);
  }
  if constexpr (requires { node.condition; }) {
    visit(node.condition);
  }
  if constexpr (requires { node.value; }) {
    visit(node.value);
  }
  if constexpr (requires { node.mask; }) {
    if (node.mask) {
      visit(node.mask);
    }
  }
  const auto visit_all = [&](auto &values) {
    for (auto &value : values) {
      visit(value);
    }
  };
  if constexpr (requires { node.subscripts; }) {
    visit_all(node.subscripts);
  }
  if constexpr (requires { node.reported; }) {
    visit_all(node.reported);
  }
  if constexpr (requires { node.grid; }) {
    visit_all(node.grid);
  }
}

} // namespace

void each_value(const LoopStatement &statement,
                const std::function<void(const ValuePtr &)> &visit) {
  dispatch(statement, [&](const auto &node) { each_value_of(node, visit); });
}

std::shared_ptr<LoopStatement> copy_statement(const LoopStatement &statement) {
  return dispatch(statement, [](const auto &node) -> std::shared_ptr<LoopStatement> {
    return std::make_shared<std::remove_cvref_t<decltype(node)>>(node);
  });
}

std::shared_ptr<LoopStatement>
map_values(const StmtPtr &statement, const std::function<ValuePtr(const ValuePtr &)> &replace) {
  auto copy = copy_statement(*statement);
  dispatch(*copy, [&](auto &node) {
    each_value_of(node, [&](ValuePtr &value) { value = replace(value); });
  });
  return copy;
}

StmtPtr with_subscripts(const ElementChange &change, std::vector<ValuePtr> subscripts) {
  std::shared_ptr<LoopStatement> copy = copy_statement(change);
  as<ElementChange>(*copy)->subscripts = std::move(subscripts);
  return copy;
}

StmtPtr with_children(const StmtPtr &statement, std::vector<StmtPtr> children) {
  if (is<Block>(statement)) {
    return block(std::move(children));
  }
  if (const auto *test = as<If>(statement)) {
    return if_then(test->condition, children[0], children.size() > 1 ? children[1] : nullptr);
  }
  auto copy = copy_statement(*statement);
  copy->children = std::move(children);
  return copy;
}

void visit_statements(const StmtPtr &root,
                      const std::function<void(const LoopStatement &)> &visit) {
  visit(*root);
  for (const StmtPtr &child : root->children) {
    visit_statements(child, visit);
  }
}

namespace {
void visit_once(const ValuePtr &root, const std::function<void(const Value &)> &visit,
                std::unordered_set<const Value *> &seen) {
  if (!seen.insert(root.get()).second) {
    return;
  }
  visit(*root);
  for (const ValuePtr &operand : root->operands) {
    visit_once(operand, visit, seen);
  }
}
} // namespace

void visit_values(const LoopStatement &statement, const std::function<void(const Value &)> &visit) {
  std::unordered_set<const Value *> seen;
  each_value(statement, [&](const ValuePtr &value) { visit_once(value, visit, seen); });
}

void visit_value(const ValuePtr &root, const std::function<void(const Value &)> &visit) {
  std::unordered_set<const Value *> seen;
  visit_once(root, visit, seen);
}

Numbers::Numbers(const StmtPtr &root) {
  visit_statements(root, [&](const LoopStatement &statement) {
    if (const std::int64_t *variable = defined_variable(statement)) {
      last_ = std::max(last_, *variable);
    } else if (const auto *local = as<DeclareLocal>(statement)) {
      last_ = std::max(last_, local->id);
    }
  });
}

namespace {

/// A copy of statements with other variables and locals.
class Renumbering {
public:
  Renumbering(const StmtPtr &root, const std::unordered_map<std::int64_t, ValuePtr> &variables,
              Numbers &numbers)
      : variables_(variables), rewrite_([this](const ValuePtr &value) { return leaf(value); }) {
    visit_statements(root, [&](const LoopStatement &statement) {
      if (const auto *loop = as<For>(statement)) {
        define(loop->id, loop->name, numbers);
      } else if (const auto *let = as<Let>(statement)) {
        define(let->id, let->name, numbers);
      } else if (const auto *local = as<DeclareLocal>(statement)) {
        locals_.emplace(local->id, numbers.next());
      }
    });
  }

  StmtPtr operator()(const StmtPtr &statement) {
    std::shared_ptr<LoopStatement> made = copy_statement(*statement);
    dispatch(*made, [&](auto &node) {
      each_value_of(node, [&](ValuePtr &value) { value = rewrite_(value); });
      using Node = std::remove_cvref_t<decltype(node)>;
      if constexpr (std::is_same_v<Node, For> || std::is_same_v<Node, Let>) {
        node.id = cast<Variable>(variables_.at(node.id)).id;
      } else if constexpr (std::derived_from<Node, Definition>) {
        const auto found = locals_.find(node.id);
        node.id = found == locals_.end() ? node.id : found->second;
      }
    });
    return map_children(made, *this);
  }

private:
  void define(std::int64_t id, const std::string &name, Numbers &numbers) {
    variables_.emplace(id, variable(numbers.next(), name));
  }

  ValuePtr leaf(const ValuePtr &value) const {
    if (const auto *own = as<Variable>(value)) {
      const auto found = variables_.find(own->id);
      return found == variables_.end() ? nullptr : found->second;
    }
    if (const auto *own = as<Local>(value)) {
      const auto found = locals_.find(own->id);
      return found == locals_.end() ? nullptr : local(found->second, own->name, own->type);
    }
    return nullptr;
  }

  std::unordered_map<std::int64_t, ValuePtr> variables_;
  std::unordered_map<std::int64_t, std::int64_t> locals_;
  ValueRewriter rewrite_;
};

} // namespace

StmtPtr copy_with(const StmtPtr &root, const std::unordered_map<std::int64_t, ValuePtr> &variables,
                  Numbers &numbers) {
  return Renumbering(root, variables, numbers)(root);
}

std::optional<std::int64_t> given_buffer(const Value &value) {
  const auto *call = as<Extern>(value);
  return call != nullptr && call->function->address_in >= 0
             ? std::optional(call->function->address_in)
             : std::nullopt;
}

std::optional<std::int64_t> buffer_named_in(const Value &value) {
  switch (value.kind) {
  case ValueKind::Load:
    return cast<Load>(value).buffer;
  case ValueKind::Matrices:
    return cast<Matrices>(value).buffer;
  case ValueKind::Aligned:
    return cast<Aligned>(value).buffer;
  default:
    return given_buffer(value);
  }
}

} // namespace tilewright
