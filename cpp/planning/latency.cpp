#include "planning/latency.h"

#include "algorithm/affine.h"
#include "mapping/mapping.h"

#include <isl/aff.h>

#include <algorithm>
#include <optional>
#include <set>

namespace tilewright {

namespace {

/// Of a load or a store.
constexpr double access_work = 0.5;

IterationCost cost_of_float(Op op) {
  switch (op) {
  case Op::TrueDiv:
    return {13, 4};
  case Op::Sqrt:
    return {16, 5};
  case Op::Min:
  case Op::Max:
    return {6, 1.5}; // NaN is handed on
  case Op::Neg:
  case Op::Abs:
  case Op::Copysign:
    return {1, 0.5};
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
    return {4, 0.5};
  default:
    return is_comparison(op) ? IterationCost{3, 0.5} : IterationCost{30, 12};
  }
}

IterationCost cost_of_integer(Op op) {
  switch (op) {
  case Op::Mul:
    return {3, 1};
  case Op::TrueDiv:
  case Op::FloorDiv:
  case Op::Mod:
    return {20, 8};
  case Op::Min:
  case Op::Max:
    return {2, 0.5};
  default:
    return {1, 0.25};
  }
}

IterationCost cost_of(const Expr &node) {
  switch (node.kind) {
  case ExprKind::Unary:
  case ExprKind::Binary:
  case ExprKind::Call: {
    const ScalarType type = node.operands.front()->type;
    return type.is_floating() || type.is_complex() ? cost_of_float(node.op)
                                                   : cost_of_integer(node.op);
  }
  case ExprKind::Select:
    return {1, 0.5};
  case ExprKind::Cast:
    return node.type.is_floating() != node.operands.front()->type.is_floating()
               ? IterationCost{5, 0.5}
               : IterationCost{1, 0.25};
  default:
    return {};
  }
}

/// The longest way through the expressions of the members.
class LongestWay {
public:
  LongestWay(const Function &function, const std::map<std::string, std::string> &iterators)
      : function_(function), iterators_(iterators) {}

  IterationCost find() {
    IterationCost cost;
    for (const auto &[name, iterator] : iterators_) {
      cost.wait = std::max(cost.wait, wait_of(name).value_or(0));
      cost.work += work_of(**function_.find(name));
    }
    return cost;
  }

private:
  /// Of each value once, and not of what a member has just made, which is in a register.
  double work_of(const Computation &computation) const {
    double work = access_work; // the store
    std::vector<ExprPtr> values;
    for (const Piece &piece : computation.pieces) {
      values.push_back(piece.value);
    }
    const std::vector<ExprPtr> nodes =
        parents_first(values, [](const Expr &node) { return node.kind != ExprKind::Access; });
    std::set<const Expr *> data; // what is not about indices alone
    std::map<std::string, size_t> known;
    std::map<const Expr *, size_t> numbers;
    for (auto each = nodes.rbegin(); each != nodes.rend(); ++each) {
      const Expr &node = **each;
      const bool is_read = node.kind == ExprKind::Access;
      const bool is_new = known.emplace(text_of(*each, numbers), known.size()).second;
      numbers[&node] = known.at(text_of(*each, numbers));
      if (is_read) {
        data.insert(&node);
        work += is_new && !is_own_iteration(node, computation) ? access_work : 0;
      } else if (std::any_of(
                     node.operands.begin(), node.operands.end(),
                     [&](const ExprPtr &operand) { return data.contains(operand.get()); })) {
        data.insert(&node);
        work += !is_new || asks_indices(node, data) ? 0 : cost_of(node).work;
      }
    }
    return work;
  }

  /// The same of all nodes that have one value: operands are given by their numbers.
  static std::string text_of(const ExprPtr &node, const std::map<const Expr *, size_t> &numbers) {
    if (node->operands.empty() || node->kind == ExprKind::Access) {
      return to_string(node);
    }
    std::string text = std::to_string(static_cast<int>(node->kind)) + " " +
                       std::to_string(static_cast<int>(node->op)) + " " + type_name(node->type);
    for (const ExprPtr &operand : node->operands) {
      text += " " + std::to_string(numbers.at(operand.get()));
    }
    return text;
  }

  /// Such a choice is made by the bounds of loops.
  static bool asks_indices(const Expr &node, const std::set<const Expr *> &data) {
    return node.kind == ExprKind::Select && !data.contains(node.operands.front().get());
  }

  /// From the iteration before to the value of a member; nothing where it needs none.
  std::optional<double> wait_of(const std::string &name) {
    if (const auto known = of_members_.find(name); known != of_members_.end()) {
      return known->second;
    }
    of_members_[name] = std::nullopt; // a member that needs itself is no way
    std::optional<double> longest;
    for (const Piece &piece : (*function_.find(name))->pieces) {
      longest = std::max(longest, wait_of(piece.value, name));
    }
    return of_members_[name] = longest;
  }

  std::optional<double> wait_of(const ExprPtr &node, const std::string &reader) {
    if (const auto known = of_nodes_.find(node.get()); known != of_nodes_.end()) {
      return known->second;
    }
    std::optional<double> longest;
    if (node->kind == ExprKind::Access) {
      longest = wait_of_read(*node, reader);
    } else {
      for (const ExprPtr &operand : node->operands) {
        longest = std::max(longest, wait_of(operand, reader));
      }
      if (longest) {
        *longest += cost_of(*node).wait;
      }
    }
    return of_nodes_[node.get()] = longest;
  }

  bool is_of_member(const Expr &read, const Computation &reader) const {
    return iterators_.contains(read.producer->name) && read.operands.size() == reader.rank();
  }

  /// Where a read of a member moves against the iterators of its reader: nothing where it is no
  /// shift by numbers.
  std::optional<std::set<std::string>> shifted(const Expr &read, const Computation &reader) const {
    const IterationSpace space{reader.name, instance_space(reader).iterators};
    std::set<std::string> moved;
    for (size_t d = 0; d < read.operands.size(); ++d) {
      const auto subscript = to_affine(read.operands[d], space);
      const auto own = to_affine(iterator(space.iterators[d]), space);
      if (!subscript || isl_pw_aff_is_cst(subscript->sub(*own).get()) != isl_bool_true) {
        return std::nullopt;
      }
      if (!subscript->is_equal(*own)) {
        moved.insert(space.iterators[d]);
      }
    }
    return moved;
  }

  bool is_own_iteration(const Expr &read, const Computation &reader) const {
    const auto moved = is_of_member(read, reader) ? shifted(read, reader) : std::nullopt;
    return moved && moved->empty();
  }

  std::optional<double> wait_of_read(const Expr &read, const std::string &name) {
    const Computation &reader = **function_.find(name);
    const auto moved = is_of_member(read, reader) ? shifted(read, reader) : std::nullopt;
    if (!moved || moved->size() > 1 ||
        (moved->size() == 1 && *moved->begin() != iterators_.at(name))) {
      return std::nullopt;
    }
    return moved->empty() ? wait_of(read.producer->name) : 0;
  }

  const Function &function_;
  const std::map<std::string, std::string> &iterators_;
  std::map<std::string, std::optional<double>> of_members_;
  std::map<const Expr *, std::optional<double>> of_nodes_;
};

} // namespace

IterationCost iteration_cost(const Function &function,
                             const std::map<std::string, std::string> &iterators) {
  return LongestWay(function, iterators).find();
}

} // namespace tilewright
