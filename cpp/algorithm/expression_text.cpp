// Expressions as Python-like text. Large ones name what they use more than once, a definition
// before its uses: "e1 = i + i; e2 = e1 * e1; e2 + e2". Casts that the builders' promotion rules
// insert are left out, where reading the text again with a Python number as a weak one would insert
// the same: two expressions of different meaning over the same producers print differently.
#include "algorithm/block.h"
#include "algorithm/existing.h"
#include "algorithm/expression.h"
#include "algorithm/expression_depth.h"
#include "algorithm/extern_function.h"
#include "algorithm/function.h"
#include "algorithm/reductions.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <unordered_map>

namespace tilewright {

namespace {

// Python's precedence, loosest first.
enum Precedence {
  Anything,
  Comparison,
  BitOr,
  BitXor,
  BitAnd,
  Shift,
  Sum,
  Product,
  Prefix,
  Power,
  Atom,
};

Precedence precedence_of(Op op) {
  switch (op) {
  case Op::Or:
    return BitOr;
  case Op::Xor:
    return BitXor;
  case Op::And:
    return BitAnd;
  case Op::Shl:
  case Op::Shr:
    return Shift;
  case Op::Add:
  case Op::Sub:
    return Sum;
  case Op::Mul:
  case Op::TrueDiv:
  case Op::FloorDiv:
  case Op::Mod:
    return Product;
  case Op::Pow:
    return Power;
  default:
    return is_comparison(op) ? Comparison : Atom;
  }
}

struct Text {
  std::string text;
  Precedence precedence = Atom;

  std::string at_least(Precedence needed) const {
    return precedence >= needed ? text : "(" + text + ")";
  }
};

std::string float_text(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-inf" : "inf";
  }
  char buffer[40];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), value);
  std::string text(std::begin(buffer), end.ptr);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

Text literal(const Expr &expr) {
  if (is_nothing(expr)) {
    return {"nothing", Atom};
  }
  std::string text;
  if (const bool *b = std::get_if<bool>(&expr.value)) {
    text = *b ? "True" : "False";
  } else if (const std::int64_t *i = std::get_if<std::int64_t>(&expr.value)) {
    text = std::to_string(*i);
  } else if (const std::uint64_t *u = std::get_if<std::uint64_t>(&expr.value)) {
    text = std::to_string(*u);
  } else if (const double *d = std::get_if<double>(&expr.value)) {
    text = float_text(*d);
  } else {
    const auto &z = std::get<std::complex<double>>(expr.value);
    const std::string imag = float_text(z.imag());
    return {"(" + float_text(z.real()) + (imag.front() == '-' ? "" : "+") + imag + "j)", Atom};
  }
  return {text, text.front() == '-' ? Prefix : Atom};
}

/// The type a literal has when it stands alone.
ScalarType literal_type(const Expr &expr) {
  switch (expr.type.kind) {
  case TypeKind::Bool:
    return Bool;
  case TypeKind::Int:
    return Int64;
  case TypeKind::UInt:
    return std::get<std::uint64_t>(expr.value) <= integer_max(Int64) ? Int64 : UInt64;
  case TypeKind::Float:
  case TypeKind::BFloat:
    return Float64;
  case TypeKind::Complex:
    return Complex128;
  }
  return expr.type;
}

bool is_constant(const ExprPtr &expr) { return expr->kind == ExprKind::Constant; }

ExprPtr without_cast(const ExprPtr &expr) {
  // A cast of a literal is kept: beside another operand a bare literal would be weak.
  return expr->kind == ExprKind::Cast && !is_constant(expr->operands[0]) ? expr->operands[0] : expr;
}

/// Expressions of so few nodes, shared ones counted each time, are written out.
constexpr std::uint64_t largest_written_out = 256;
/// Shared parts that are smaller than this are not worth a name.
constexpr std::uint64_t smallest_named = 3;

/// How often each part that can have a name is used, in an expression that is too large else.
std::unordered_map<const Expr *, int> uses_of(const ExprPtr &root) {
  std::unordered_map<const Expr *, int> uses;
  // Casts may be left out: who uses one uses what is below.
  const std::function<void(const ExprPtr &)> use = [&](const ExprPtr &part) {
    if (tree_size_of(part) >= smallest_named) {
      ++uses[part.get()];
      if (part->kind == ExprKind::Cast) {
        use(part->operands[0]);
      }
    }
  };
  use(root);
  visit(root, [&](const ExprPtr &node) {
    if (node->kind != ExprKind::Cast) {
      std::for_each(node->operands.begin(), node->operands.end(), use);
    }
    for (const ReduceRange &range : node->ranges) {
      use(range.lower);
      use(range.upper);
    }
    use(node->condition);
    use(node->predicate);
  });
  return uses;
}

class Printer {
public:
  std::string whole(const ExprPtr &root) {
    if (tree_size_of(root) <= largest_written_out) {
      return print(root).text;
    }
    uses_ = uses_of(root);
    visit(root, [&](const ExprPtr &node) {
      taken_.insert(node->name);
      if (node->producer) {
        taken_.insert(node->producer->name);
      }
      for (const ReduceRange &range : node->ranges) {
        taken_.insert(range.iterator);
      }
    });
    const std::string last = print(root).text;
    return definitions_ + last;
  }

private:
  Text print(const ExprPtr &expr) {
    if (const auto known = names_.find(expr.get()); known != names_.end()) {
      return {known->second, Atom};
    }
    count_visit();
    Text text = print_node(expr);
    const auto used = uses_.find(expr.get());
    if (used == uses_.end() || used->second < 2) {
      return text;
    }
    std::string name;
    do {
      name = "e" + std::to_string(++last_number_);
    } while (taken_.contains(name));
    definitions_ += name + " = " + text.text + "; ";
    names_.emplace(expr.get(), name);
    return {name, Atom};
  }

  Text print_node(const ExprPtr &expr) {
    switch (expr->kind) {
    case ExprKind::Constant:
      if (is_nothing(*expr)) {
        return {"nothing", Atom};
      }
      if (expr->type != literal_type(*expr)) {
        return {type_name(expr->type) + "(" + literal(*expr).text + ")", Atom};
      }
      return literal(*expr);
    case ExprKind::Iterator:
    case ExprKind::Parameter:
      return {expr->name, Atom};
    case ExprKind::Access:
      return {(expr->position == 0 ? expr->producer->name
                                   : state_name(*expr->producer, expr->position - 1)) +
                  "[" + subscripts(*expr) + "]",
              Atom};
    case ExprKind::Unary:
      if (expr->op == Op::Abs) {
        return {"abs(" + print(expr->operands[0]).text + ")", Atom};
      }
      return {op_name(expr->op) + print(expr->operands[0]).at_least(Prefix), Prefix};
    case ExprKind::Binary:
      return print_binary(*expr);
    case ExprKind::Call:
      return print_call(*expr);
    case ExprKind::Cast:
      return {type_name(expr->type) + "(" + print(expr->operands[0]).text + ")", Atom};
    case ExprKind::Select: {
      const auto [then, otherwise] = operand_pair(Op::None, expr->operands[1], expr->operands[2]);
      return {"select(" + print(expr->operands[0]).text + ", " + then.text + ", " + otherwise.text +
                  ")",
              Atom};
    }
    case ExprKind::Reduce:
      return print_reduce(*expr);
    case ExprKind::State:
      return {expr->name, Atom};
    case ExprKind::While:
      return print_while(*expr);
    case ExprKind::WhileResult: {
      const ExprPtr &loop = expr->operands[0];
      const std::string text = print(loop).text;
      return {loop->states.size() == 1 ? text : text + "[" + std::to_string(expr->position) + "]",
              Atom};
    }
    case ExprKind::Extern:
      return {print_extern(*expr), Atom};
    case ExprKind::Checked:
      return {"checked(" + bare(expr->operands[0]).text + ", " + bare(expr->operands[1]).text + ")",
              Atom};
    case ExprKind::Fold: {
      const std::string text = print_fold(*expr);
      return {expr->operands.size() == 2 ? text : text + "[" + std::to_string(expr->position) + "]",
              Atom};
    }
    }
    return {};
  }

  Text bare(const ExprPtr &expr) { return is_constant(expr) ? literal(*expr) : print(expr); }

  /// Both operands of an operation that brings them to one type, as short as the promotion rules
  /// allow.
  std::pair<Text, Text> operand_pair(Op op, const ExprPtr &a, const ExprPtr &b) {
    const ScalarType type = a->type;
    if (is_constant(a) && is_constant(b)) {
      return {print(a), print(b)};
    }
    if (is_constant(a) || is_constant(b)) {
      const ExprPtr &number = is_constant(a) ? a : b;
      const ExprPtr &other = is_constant(a) ? b : a;
      const ExprPtr shorter = without_cast(other);
      const ScalarType weak = promote_weak(shorter->type, number->type.kind);
      const bool implied = operand_type(op, promote(shorter->type, weak), weak) == type;
      const Text rest = print(implied ? shorter : other);
      const bool stands =
          implied || operand_type(op, type, promote_weak(type, number->type.kind)) == type;
      const Text value = stands ? literal(*number) : print(number);
      return is_constant(a) ? std::pair(value, rest) : std::pair(rest, value);
    }
    const ExprPtr first = without_cast(a);
    const ExprPtr second = without_cast(b);
    if (operand_type(op, first->type, second->type) == type) {
      return {print(first), print(second)};
    }
    return {print(a), print(b)};
  }

  Text print_binary(const Expr &expr) {
    const auto [first, second] = operand_pair(expr.op, expr.operands[0], expr.operands[1]);
    if (expr.op == Op::Min || expr.op == Op::Max) {
      return {op_name(expr.op) + "(" + first.text + ", " + second.text + ")", Atom};
    }
    const Precedence own = precedence_of(expr.op);
    const auto tighter = static_cast<Precedence>(own + 1);
    const std::string spelling = " " + op_name(expr.op) + " ";
    if (expr.op == Op::Pow) { // associates to the right
      return {first.at_least(tighter) + spelling + second.at_least(Prefix), own};
    }
    const Precedence left =
        own == Comparison ? tighter : own; // a < b < c means something else in Python
    return {first.at_least(left) + spelling + second.at_least(tighter), own};
  }

  std::string print_extern(const Expr &expr) {
    std::string text;
    if (expr.external->result_of_block >= 0) {
      return print(expr.operands[0]).text + " writes " + expr.external->name;
    }
    for (const ExprPtr &operand : expr.operands) {
      text += (text.empty() ? "" : ", ") +
              (is_constant(operand) ? literal(*operand) : print(without_cast(operand))).text;
    }
    return expr.external->name + "(" + text + ")";
  }

  Text print_call(const Expr &expr) {
    if (expr.operands.size() == 2) {
      const auto [first, second] = operand_pair(expr.op, expr.operands[0], expr.operands[1]);
      return {op_name(expr.op) + "(" + first.text + ", " + second.text + ")", Atom};
    }
    const ExprPtr &argument = expr.operands[0];
    const bool own_type = operation(expr.op).operands != OperandRule::Math;
    const bool implied = !own_type && argument->kind == ExprKind::Cast &&
                         math_type(argument->operands[0]->type) == argument->type;
    return {op_name(expr.op) + "(" + print(implied ? argument->operands[0] : argument).text + ")",
            Atom};
  }

  std::string print_index(const ExprPtr &index) {
    const bool implied = index->kind == ExprKind::Cast && index->operands[0]->type.is_integer();
    return print(implied ? index->operands[0] : index).text;
  }

  std::string subscripts(const Expr &expr) {
    std::string text;
    for (const ExprPtr &subscript : expr.operands) {
      text += (text.empty() ? "" : ", ") + print_index(subscript);
    }
    return text;
  }

  /// "while_loop(n > 1, n -> n // 2, steps -> steps + 1, initial=(a[i], 0), limit=64)"
  Text print_while(const Expr &expr) {
    const WhileParts parts = while_parts(expr);
    std::string text = "while_loop(" + print(parts.condition).text;
    std::string initial;
    for (size_t k = 0; k < expr.states.size(); ++k) {
      text += ", " + expr.states[k]->name + " -> " + print(parts.next[k]).text;
      initial += (k == 0 ? "" : ", ") + print(parts.initial[k]).text;
    }
    text += ", initial=" + (expr.states.size() == 1 ? initial : "(" + initial + ")");
    if (parts.limit) {
      text += ", limit=" + print_index(parts.limit);
    }
    return {text + ")", Atom};
  }

  /// "fold(s -> s * x + c[k] for k in range(0, K), initial=0)"
  std::string print_fold(const Expr &expr) {
    const Expr &reduction = *expr.operands.front();
    const FoldParts parts = fold_parts(reduction);
    std::string text = "fold(";
    std::string initial;
    for (size_t k = 0; k < parts.states.size(); ++k) {
      text += (k == 0 ? "" : ", ") + parts.states[k]->name + " -> " + print(parts.next[k]).text;
      initial += (k == 0 ? "" : ", ") + print(expr.operands[k + 1]).text;
    }
    text += instances_text(reduction);
    text += ", initial=" + (parts.states.size() == 1 ? initial : "(" + initial + ")");
    text += parts.others.empty() ? "" : ", associative";
    return text + (!parts.others.empty() && reduction.ordered ? ", commutative=False" : "") + ")";
  }

  Text print_reduce(const Expr &expr) {
    if (is_part(expr)) {
      return {print(expr.operands[0]).text + instances_text(expr), Atom};
    }
    const ExprPtr &body = expr.operands[0];
    ExprPtr shown = body;
    if (body->kind == ExprKind::Cast) {
      const ScalarType inner = body->operands[0]->type;
      const bool exact = inner.is_bool() || inner.is_integer();
      const bool sum = expr.op == Op::ReduceSum || expr.op == Op::ReduceProd;
      const bool truth = expr.op == Op::ReduceAny || expr.op == Op::ReduceAll;
      if (truth ||
          (sum && exact && body->type == (inner.kind == TypeKind::UInt ? UInt64 : Int64))) {
        shown = body->operands[0];
      }
    }
    std::string text = op_name(expr.op) + "(" + print(shown).text + instances_text(expr);
    if (expr.ordered) {
      text += ", ordered";
    }
    return {text + ")", Atom};
  }

  /// " for k in range(0, K) if k < i"
  std::string instances_text(const Expr &expr) {
    std::string text;
    for (const ReduceRange &range : expr.ranges) {
      text += " for " + range.iterator + " in range(" + print_index(range.lower) + ", " +
              print_index(range.upper) +
              (range.step != 1 ? ", " + std::to_string(range.step) : "") + ")";
    }
    if (expr.condition && expr.predicate) {
      text += " if " + print(expr.condition).at_least(BitAnd) + " & " +
              print(expr.predicate).at_least(BitAnd);
    } else if (expr.condition || expr.predicate) {
      text += " if " + print(expr.condition ? expr.condition : expr.predicate).text;
    }
    return text;
  }

  std::unordered_map<const Expr *, int> uses_; ///< empty: everything is written out
  std::unordered_map<const Expr *, std::string> names_;
  std::set<std::string> taken_;
  std::string definitions_;
  int last_number_ = 0;
};

} // namespace

std::string to_string(const ExprPtr &expr) {
  if (!expr) {
    return "none";
  }
  require_stack(expr);
  return Printer().whole(expr);
}

std::string index_text(const Expr &checked) {
  std::string text = (checked.name.empty() ? "array" : checked.name) + "[";
  text += checked.position == 0 ? "" : "..., ";
  return text + to_string(checked.operands[0]) + "]";
}

} // namespace tilewright
