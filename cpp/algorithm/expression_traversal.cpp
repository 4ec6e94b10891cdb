// Walking and rewriting expressions: visits, replaced operands, substitution of iterators.
#include "algorithm/expression.h"
#include "algorithm/expression_depth.h"
#include "algorithm/free_iterators.h"
#include "algorithm/reductions.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tilewright {

ExprPtr with_operands(const ExprPtr &node, std::vector<ExprPtr> operands) {
  if (operands.size() != node->operands.size()) {
    throw Error(ErrorKind::Internal, "with_operands: " + std::to_string(node->operands.size()) +
                                         " operands expected, " + std::to_string(operands.size()) +
                                         " given");
  }
  if (operands == node->operands) {
    return node;
  }
  Expr copy = *node;
  copy.operands = std::move(operands);
  return finished(std::move(copy));
}

ExprPtr with_predicate(const ExprPtr &reduce, ExprPtr predicate) {
  if (predicate == reduce->predicate) {
    return reduce;
  }
  Expr copy = *reduce;
  copy.predicate = std::move(predicate);
  return finished(std::move(copy));
}

void visit(const ExprPtr &root, const std::function<void(const ExprPtr &)> &visit) {
  std::unordered_set<const Expr *> seen;
  std::vector<ExprPtr> stack{root};
  while (!stack.empty()) {
    const ExprPtr node = stack.back();
    stack.pop_back();
    if (!node || !seen.insert(node.get()).second) {
      continue;
    }
    count_visit();
    visit(node);
    // Pushed last to first, so that children are visited in the order in which they are written.
    for (const ExprPtr &condition : {node->predicate, node->condition}) {
      if (condition) {
        stack.push_back(condition);
      }
    }
    for (auto range = node->ranges.rbegin(); range != node->ranges.rend(); ++range) {
      stack.push_back(range->upper);
      stack.push_back(range->lower);
    }
    for (auto operand = node->operands.rbegin(); operand != node->operands.rend(); ++operand) {
      stack.push_back(*operand);
    }
  }
}

std::vector<ExprPtr> parents_first(const std::vector<ExprPtr> &roots,
                                   const std::function<bool(const Expr &)> &goes_below) {
  // Backwards: a node comes after all that it is made of, the last operand first.
  std::vector<ExprPtr> order;
  std::unordered_set<const Expr *> seen;
  std::vector<std::pair<ExprPtr, bool>> stack;
  for (const ExprPtr &root : roots) {
    stack.emplace_back(root, false);
  }
  while (!stack.empty()) {
    const auto [node, is_done] = stack.back();
    stack.pop_back();
    if (is_done) {
      count_visit();
      order.push_back(node);
    } else if (node && seen.insert(node.get()).second) {
      stack.emplace_back(node, true);
      if (goes_below(*node)) {
        for (const ExprPtr &operand : node->operands) {
          stack.emplace_back(operand, false);
        }
      }
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

namespace {

/// The same loop over states with state variables of its own. Two loops that differ must not share
/// them: one may stand inside the other (an element read at a subscript that is such an element).
ExprPtr with_fresh_states(const ExprPtr &loop) {
  std::vector<ExprPtr> fresh;
  std::unordered_map<const Expr *, ExprPtr> by;
  for (const ExprPtr &variable : loop->states) {
    fresh.push_back(state(variable->name, variable->type));
    by.emplace(variable.get(), fresh.back());
  }
  Expr copy = *with_replaced(loop, std::move(by));
  copy.states = std::move(fresh);
  return finished(std::move(copy));
}

/// A sum and a number that is added to it.
struct Moved {
  ExprPtr from;
  std::int64_t by;
};

/// What an int64 sum or difference with a number is made of, if it is one.
std::optional<Moved> moved(const Expr &sum) {
  if (sum.kind != ExprKind::Binary || sum.type != Int64 ||
      (sum.op != Op::Add && sum.op != Op::Sub) || sum.operands.back()->kind != ExprKind::Constant ||
      !sum.operands.back()->name.empty()) {
    return std::nullopt;
  }
  const auto *number = std::get_if<std::int64_t>(&sum.operands.back()->value);
  constexpr std::int64_t most = std::int64_t{1} << 40; // far from where sums wrap around
  if (number == nullptr || *number > most || *number < -most) {
    return std::nullopt;
  }
  return Moved{sum.operands.front(), sum.op == Op::Add ? *number : -*number};
}

/// (i - 1) + 1, which a replaced iterator leaves, is i: who looks for an element A[i] finds it.
ExprPtr with_one_number(const ExprPtr &sum) {
  const std::optional<Moved> outer = moved(*sum);
  const std::optional<Moved> inner = outer ? moved(*outer->from) : std::nullopt;
  if (!inner) {
    return sum;
  }
  const std::int64_t by = outer->by + inner->by;
  return by == 0  ? inner->from
         : by > 0 ? binary(Op::Add, inner->from, constant(by, Int64))
                  : binary(Op::Sub, inner->from, constant(-by, Int64));
}

using Names = std::set<std::string>;

class Substitution {
public:
  explicit Substitution(const std::function<ExprPtr(const std::string &)> &replacement)
      : replacement_(replacement) {}

  struct Scope {
    std::map<std::string, ExprPtr>
        bound; ///< reduced iterators in force and, when renamed, their new ones
    std::unordered_map<const Expr *, ExprPtr> rewritten{}; ///< shared subtrees are rewritten once
  };

  ExprPtr rewrite(const ExprPtr &expr, Scope &scope) const {
    if (!expr) {
      return expr;
    }
    if (expr->kind == ExprKind::Iterator) {
      return image(expr, scope);
    }
    if (const auto known = scope.rewritten.find(expr.get()); known != scope.rewritten.end()) {
      return known->second;
    }
    count_visit();
    ExprPtr result;
    if (expr->kind == ExprKind::Reduce) {
      result = rewrite_reduce(expr, scope);
    } else {
      std::vector<ExprPtr> operands;
      operands.reserve(expr->operands.size());
      for (const ExprPtr &operand : expr->operands) {
        operands.push_back(rewrite(operand, scope));
      }
      result = with_operands(expr, std::move(operands));
      result = result == expr ? result : with_one_number(result);
    }
    if (result != expr && !expr->states.empty()) {
      result = with_fresh_states(result);
    }
    scope.rewritten.emplace(expr.get(), result);
    return result;
  }

private:
  ExprPtr image(const ExprPtr &expr, const Scope &scope) const {
    if (const auto bound = scope.bound.find(expr->name); bound != scope.bound.end()) {
      return bound->second ? bound->second : expr;
    }
    const ExprPtr replaced = replacement_(expr->name);
    return replaced ? cast(replaced, Int64) : expr;
  }

  ExprPtr rewrite_reduce(const ExprPtr &expr, const Scope &outer) const {
    Names taken;
    for (const std::string &name : free_.of(expr)) {
      // The image may be new, and gone when another node has its address.
      FreeIterators introduced;
      taken.merge(Names(introduced.of(image(iterator(name), outer))));
    }
    std::set<std::string> avoid = taken;
    visit(expr, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::Iterator) {
        avoid.insert(node->name);
      }
      for (const ReduceRange &range : node->ranges) {
        avoid.insert(range.iterator);
      }
    });
    Expr copy = *expr;
    bool changed = false;
    Scope scope{outer.bound};
    for (ReduceRange &range : copy.ranges) {
      const ExprPtr lower = rewrite(range.lower, scope);
      const ExprPtr upper = rewrite(range.upper, scope);
      changed = changed || lower != range.lower || upper != range.upper;
      range.lower = lower;
      range.upper = upper;
      const std::string old_name = range.iterator;
      ExprPtr renamed;
      if (taken.contains(old_name)) {
        int number = 1;
        while (avoid.contains(old_name + "_" + std::to_string(number))) {
          ++number;
        }
        range.iterator = old_name + "_" + std::to_string(number);
        avoid.insert(range.iterator);
        renamed = iterator(range.iterator);
        changed = true;
      }
      scope = Scope{scope.bound};
      scope.bound[old_name] = renamed;
    }
    copy.condition = rewrite(expr->condition, scope);
    copy.predicate = rewrite(expr->predicate, scope);
    for (ExprPtr &operand : copy.operands) {
      operand = rewrite(operand, scope);
    }
    changed = changed || copy.condition != expr->condition || copy.predicate != expr->predicate ||
              copy.operands != expr->operands;
    return changed ? finished(std::move(copy)) : expr;
  }

  const std::function<ExprPtr(const std::string &)> &replacement_;
  mutable FreeIterators free_; ///< of what is rewritten
};

} // namespace

ExprPtr substitute(const ExprPtr &root,
                   const std::function<ExprPtr(const std::string &)> &replacement) {
  require_stack(root);
  Substitution::Scope scope;
  return Substitution(replacement).rewrite(root, scope);
}

} // namespace tilewright
