#include "algorithm/existing.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "algorithm/expression_key.h"
#include "algorithm/expression_nodes.h"
#include "algorithm/predicates.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace tilewright {

namespace {

constexpr const char *doing_existing = "checking that what is read exists";
constexpr const char *marker = "nothing";
/// What larger expressions compute is taken for unknown.
constexpr std::uint64_t largest_compared = 2000;

bool is_comparison_of_integers(const Expr &node) {
  switch (node.op) {
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
  case Op::Eq:
  case Op::Ne:
    return node.kind == ExprKind::Binary && node.operands[0]->type.is_integer();
  default:
    return false;
  }
}

/// Conditions as sets, in which what is read from data is a parameter: the same one wherever the
/// same is read.
class Unknowns {
public:
  isl::set set_of(const ExprPtr &condition, const IterationSpace &space) {
    const ExprPtr affine = of_condition(condition, space);
    const auto set = to_set(affine, space);
    return checked(set ? *set : *to_set(holds(condition, space), space), doing_existing);
  }

private:
  ExprPtr of_condition(const ExprPtr &node, const IterationSpace &space) {
    if (to_set(node, space)) {
      return node;
    }
    const bool joins = node->kind == ExprKind::Binary && node->type.is_bool() &&
                       (node->op == Op::And || node->op == Op::Or);
    if (joins && node->operands[0]->type.is_bool()) {
      return binary(node->op, of_condition(node->operands[0], space),
                    of_condition(node->operands[1], space));
    }
    if (node->kind == ExprKind::Unary && node->op == Op::Not) {
      return unary(Op::Not, of_condition(node->operands[0], space));
    }
    if (is_comparison_of_integers(*node)) {
      const ExprPtr left = of_integer(node->operands[0], space);
      const ExprPtr right = of_integer(node->operands[1], space);
      return binary(node->op, left, right);
    }
    return holds(node, space);
  }

  ExprPtr of_integer(const ExprPtr &node, const IterationSpace &space) {
    if (to_affine(node, space)) {
      return cast(node, Int64);
    }
    const bool adds = node->kind == ExprKind::Binary && node->type == Int64 &&
                      (node->op == Op::Add || node->op == Op::Sub);
    // A sum of 64-bit data may wrap.
    if (adds && is_small(node->operands[0], space) && is_small(node->operands[1], space)) {
      return binary(node->op, of_integer(node->operands[0], space),
                    of_integer(node->operands[1], space));
    }
    return unknown(node, space);
  }

  static bool is_small(const ExprPtr &node, const IterationSpace &space) {
    constexpr int narrow = 32;
    const bool widened = node->kind == ExprKind::Cast && node->type == Int64 &&
                         node->operands[0]->type.is_integer() &&
                         node->operands[0]->type.bits <= narrow;
    return widened || to_affine(node, space).has_value();
  }

  ExprPtr holds(const ExprPtr &condition, const IterationSpace &space) {
    return binary(Op::Eq, unknown(condition, space), WeakNumber{TypeKind::Int, std::int64_t{1}});
  }

  /// Affine parts written in one way: x[1 + i - 1] is x[i].
  static ExprPtr normal(const ExprPtr &node, const IterationSpace &space) {
    const bool is_leaf =
        node->operands.empty() || node->kind == ExprKind::Reduce || node->kind == ExprKind::While;
    if (is_leaf) {
      return node;
    }
    if (const auto affine = node->type == Int64 ? to_affine(node, space) : std::nullopt) {
      return from_affine(checked(affine->coalesce(), doing_existing), space.iterators);
    }
    std::vector<ExprPtr> operands;
    for (const ExprPtr &operand : node->operands) {
      operands.push_back(normal(operand, space));
    }
    return with_operands(node, std::move(operands));
  }

  ExprPtr unknown(const ExprPtr &node, const IterationSpace &space) {
    count_visit();
    const bool is_small = tree_size_of(node) <= largest_compared;
    const std::string text = is_small ? text_of(normal(node, space)) : number_of(node);
    const auto known = names_.emplace(text, "@" + std::to_string(names_.size())).first;
    return parameter(known->second);
  }

  std::string number_of(const ExprPtr &node) {
    return "@" + std::to_string(numbers_.emplace(node.get(), numbers_.size()).first->second);
  }

  /// The same for two expressions only if they compute the same.
  std::string text_of(const ExprPtr &node) {
    if (node->kind == ExprKind::State) { // known by its address
      return number_of(node);
    }
    if (node->kind == ExprKind::Reduce || node->kind == ExprKind::While) {
      const ExpressionKey key = key_of(node);
      std::string text = key.text;
      for (const std::string &name : key.iterators) {
        text += " " + name;
      }
      return "[" + text + "]";
    }
    std::string text = std::to_string(static_cast<int>(node->kind)) + " " + type_name(node->type) +
                       " " + op_name(node->op) + " " + node->name;
    if (node->kind == ExprKind::Constant) {
      text += " " + to_string(node);
    }
    if (node->producer) {
      text += " " + node->producer->name;
    }
    text += " " + std::to_string(node->position) + "(";
    for (const ExprPtr &operand : node->operands) {
      text += text_of(operand) + ",";
    }
    return text + ")";
  }

  std::map<std::string, std::string> names_;
  std::unordered_map<const Expr *, size_t> numbers_;
};

bool has_conditions(const Computation &computation) {
  return std::any_of(computation.pieces.begin(), computation.pieces.end(), [](const Piece &piece) {
    return existing_value(piece.value).condition != nullptr;
  });
}

/// Goes through what a computation reads, with what is known of each place.
class ExistenceCheck {
public:
  explicit ExistenceCheck(const Computation &reader) : reader_(reader) {}

  void check(const Piece &piece, const isl::set &context) {
    if (concerns(piece.value)) {
      walk(piece.value, piece.domain.intersect_params(context), reader_.iterators);
    }
  }

private:
  using Iterators = std::vector<std::string>;

  /// Is something read below that data decide about?
  bool concerns(const ExprPtr &node) {
    if (node == nullptr) {
      return false;
    }
    if (const auto found = concerned_.find(node.get()); found != concerned_.end()) {
      return found->second;
    }
    count_visit();
    bool result = node->kind == ExprKind::Access && has_conditions(*node->producer);
    for (const ExprPtr &operand : node->operands) {
      result = concerns(operand) || result;
    }
    result = concerns(node->predicate) || result;
    concerned_.emplace(node.get(), result);
    return result;
  }

  IterationSpace space(const Iterators &iterators) const { return {reader_.name, iterators}; }

  void walk(const ExprPtr &node, const isl::set &known, const Iterators &iterators) {
    if (!concerns(node) || was_here(*node, known)) {
      return;
    }
    count_visit();
    if (node->kind == ExprKind::Select) {
      walk(node->operands[0], known, iterators);
      const isl::set holds = unknowns_.set_of(node->operands[0], space(iterators));
      walk(node->operands[1], checked(known.intersect(holds), doing_existing), iterators);
      walk(node->operands[2], checked(known.subtract(holds), doing_existing), iterators);
      return;
    }
    if (node->kind == ExprKind::Reduce) {
      walk_terms(*node, known, iterators);
      return;
    }
    for (const ExprPtr &operand : node->operands) {
      walk(operand, known, iterators);
    }
    if (node->kind == ExprKind::Access && has_conditions(*node->producer)) {
      check_read(*node, known, iterators);
    }
  }

  void walk_terms(const Expr &reduction, const isl::set &known, const Iterators &iterators) {
    Iterators inner = iterators;
    for (const ReduceRange &range : reduction.ranges) {
      inner.push_back(range.iterator);
    }
    isl::set terms = reduction_domain(reduction, known, iterators, reader_.where);
    for (const ExprPtr &part : conjuncts_of(reduction.predicate)) {
      walk(part, terms, inner);
      terms = checked(terms.intersect(unknowns_.set_of(part, space(inner))), doing_existing);
    }
    for (const ExprPtr &operand : reduction.operands) {
      walk(operand, terms, inner);
    }
  }

  bool was_here(const Expr &node, const isl::set &known) {
    std::vector<isl::set> &all = visited_[&node];
    const bool seen = std::any_of(all.begin(), all.end(), [&](const isl::set &one) {
      return isl::manage(isl_set_plain_is_equal(one.get(), known.get())).is_true();
    });
    if (!seen) {
      all.push_back(known);
    }
    return seen;
  }

  void check_read(const Expr &read, const isl::set &known, const Iterators &iterators) {
    const std::vector<std::string> &names = read.producer->iterators;
    const auto here = [&](const ExprPtr &value) {
      return substitute(value, [&](const std::string &name) -> ExprPtr {
        const auto found = std::find(names.begin(), names.end(), name);
        return found == names.end() ? nullptr
                                    : read.operands[static_cast<size_t>(found - names.begin())];
      });
    };
    for (const Piece &piece : read.producer->pieces) {
      const ExprPtr condition = existing_value(piece.value).condition;
      if (condition == nullptr) {
        continue;
      }
      const ExprPtr inside = from_set(piece.domain, names);
      const isl::set there =
          inside == nullptr
              ? known
              : checked(known.intersect(unknowns_.set_of(here(inside), space(iterators))),
                        doing_existing);
      for (const ExprPtr &part : conjuncts_of(condition)) {
        const isl::set exists = unknowns_.set_of(here(part), space(iterators));
        if (!checked(there.is_subset(exists), doing_existing)) {
          refuse(read, condition, here(part));
        }
      }
    }
  }

  [[noreturn]] void refuse(const Expr &read, const ExprPtr &condition,
                           const ExprPtr &missing) const {
    std::string text;
    for (size_t d = 0; d < read.operands.size(); ++d) {
      text += (d == 0 ? "" : ", ") + to_string(read.operands[d]);
    }
    text = read.producer->name + "[" + text + "]";
    throw Error(ErrorKind::Declaration,
                reader_.name + " reads " + text + ", but an element of " + read.producer->name +
                    " exists only where " + to_string(condition) + ", and that " +
                    to_string(missing) +
                    " is not known to hold for this read: read it under the same condition, by "
                    "where=, by the range of a reduction or in tw.select, or say what the other "
                    "elements of " +
                    read.producer->name + " are, otherwise=0",
                read.where.known() ? read.where : reader_.where);
  }

  const Computation &reader_;
  Unknowns unknowns_;
  std::unordered_map<const Expr *, bool> concerned_;
  std::unordered_map<const Expr *, std::vector<isl::set>> visited_;
};

void check_output(const Computation &output) {
  for (const Piece &piece : output.pieces) {
    const ExprPtr condition = existing_value(piece.value).condition;
    if (condition == nullptr) {
      continue;
    }
    throw Error(ErrorKind::Declaration,
                output.name +
                    " is an output, and data decide which of its elements there are: those "
                    "where " +
                    to_string(condition) +
                    "; say what the others are, otherwise=0 or otherwise=old[" +
                    (output.iterators.empty() ? "" : output.iterators.front()) +
                    (output.rank() > 1 ? ", ..." : "") + "]",
                output.where);
  }
}

} // namespace

ExprPtr nothing(ScalarType type) {
  Expr node = nodes::node_of(ExprKind::Constant, type);
  node.value = constant(std::int64_t{0}, type)->value;
  node.name = marker;
  return nodes::make(std::move(node));
}

bool is_nothing(const Expr &value) {
  return value.kind == ExprKind::Constant && value.name == marker;
}

ExprPtr where_exists(const std::vector<ExprPtr> &conditions, const ExprPtr &value) {
  ExprPtr result = value;
  for (auto condition = conditions.rbegin(); condition != conditions.rend(); ++condition) {
    result = select(*condition, result, nothing(value->type));
  }
  return result;
}

ExistingValue existing_value(const ExprPtr &value) {
  ExistingValue result{nullptr, value};
  std::vector<ScalarType> casts;
  const auto also = [&](const ExprPtr &condition) {
    result.condition = result.condition ? binary(Op::And, result.condition, condition) : condition;
  };
  for (ExprPtr node = value; node != nullptr;) {
    if (node->kind == ExprKind::Cast && !node->operands.empty()) {
      casts.push_back(node->type);
      node = node->operands[0];
    } else if (node->kind == ExprKind::Select && is_nothing(*node->operands[2])) {
      also(node->operands[0]);
      node = node->operands[1];
      result.value = node;
      for (auto type = casts.rbegin(); type != casts.rend(); ++type) {
        result.value = cast(result.value, *type);
      }
    } else {
      break;
    }
  }
  return result;
}

void check_existing(const Function &function) {
  if (std::none_of(function.computations.begin(), function.computations.end(),
                   [](const ComputationPtr &one) { return has_conditions(*one); })) {
    return;
  }
  for (const ComputationPtr &output : function.outputs) {
    check_output(*output);
  }
  for (const ComputationPtr &reader : function.computations) {
    ExistenceCheck check(*reader);
    for (const Piece &piece : reader->pieces) {
      require_stack(piece.value);
      check.check(piece, function.context);
    }
  }
}

} // namespace tilewright
