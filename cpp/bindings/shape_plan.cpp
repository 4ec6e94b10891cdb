#include "bindings/shape_plan.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "polyhedral/interruption.h"

#include <isl/aff.h>
#include <isl/mat.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

namespace tilewright {

namespace {

/// Wide enough for the product of any two numbers of 64 bits.
__extension__ using Wide = __int128;

Wide constant_of(const Expr &expr) {
  if (const auto *integer = std::get_if<std::int64_t>(&expr.value)) {
    return *integer;
  }
  if (const auto *integer = std::get_if<std::uint64_t>(&expr.value)) {
    return *integer;
  }
  if (const auto *boolean = std::get_if<bool>(&expr.value)) {
    return *boolean ? 1 : 0;
  }
  throw Error(ErrorKind::Internal, "an array extent has a constant that is not an integer");
}

int position(const std::vector<std::string> &names, const std::string &name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorKind::Internal, "an array extent uses the unknown parameter " + name);
  }
  return static_cast<int>(found - names.begin());
}

struct Linear {
  std::int64_t constant = 0;
  std::vector<std::int64_t> coefficients;

  bool is_constant() const {
    return std::all_of(coefficients.begin(), coefficients.end(),
                       [](std::int64_t c) { return c == 0; });
  }
  /// this * factor + other; nothing where a number leaves 64 bits.
  std::optional<Linear> scaled_and_added(std::int64_t factor, const Linear &other) const {
    Linear result = other;
    const auto add = [&](std::int64_t value, std::int64_t &to) {
      std::int64_t product = 0;
      return !__builtin_mul_overflow(value, factor, &product) &&
             !__builtin_add_overflow(to, product, &to);
    };
    bool fits = add(constant, result.constant);
    for (size_t i = 0; i < coefficients.size(); ++i) {
      fits = fits && add(coefficients[i], result.coefficients[i]);
    }
    return fits ? std::optional(result) : std::nullopt;
  }
};

/// What is known of parts that are used more than once.
template <class Result>
using Known = std::unordered_map<const Expr *, Result>;

std::optional<Linear> linear_form(const ExprPtr &expr, const std::vector<std::string> &names,
                                  Known<std::optional<Linear>> &known);

std::optional<Linear> linear_node(const ExprPtr &expr, const std::vector<std::string> &names,
                                  Known<std::optional<Linear>> &known) {
  Linear result{0, std::vector<std::int64_t>(names.size(), 0)};
  const Linear zero = result;
  switch (expr->kind) {
  case ExprKind::Constant:
    result.constant = static_cast<std::int64_t>(constant_of(*expr));
    return result.constant == constant_of(*expr) ? std::optional(result) : std::nullopt;
  case ExprKind::Parameter:
    result.coefficients[static_cast<size_t>(position(names, expr->name))] = 1;
    return result;
  case ExprKind::Cast:
    return linear_form(expr->operands[0], names, known);
  case ExprKind::Unary: {
    const auto operand = linear_form(expr->operands[0], names, known);
    if (!operand || expr->op != Op::Neg) {
      return std::nullopt;
    }
    return operand->scaled_and_added(-1, zero);
  }
  case ExprKind::Binary: {
    const auto a = linear_form(expr->operands[0], names, known);
    const auto b = linear_form(expr->operands[1], names, known);
    if (!a || !b) {
      return std::nullopt;
    }
    if (expr->op == Op::Add) {
      return b->scaled_and_added(1, *a);
    }
    if (expr->op == Op::Sub) {
      return b->scaled_and_added(-1, *a);
    }
    if (expr->op == Op::Mul && (a->is_constant() || b->is_constant())) {
      return a->is_constant() ? b->scaled_and_added(a->constant, zero)
                              : a->scaled_and_added(b->constant, zero);
    }
    return std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

std::optional<Linear> linear_form(const ExprPtr &expr, const std::vector<std::string> &names,
                                  Known<std::optional<Linear>> &known) {
  if (expr->operands.empty()) {
    return linear_node(expr, names, known);
  }
  if (const auto found = known.find(expr.get()); found != known.end()) {
    return found->second;
  }
  count_visit();
  return known.emplace(expr.get(), linear_node(expr, names, known)).first->second;
}

/// What is larger stays there.
constexpr Wide widest = (static_cast<Wide>(1) << 126) - 1;

Wide limited(bool overflow, bool is_negative, Wide value) {
  if (overflow) {
    return is_negative ? -widest : widest;
  }
  return std::clamp(value, -widest, widest);
}

Wide sum(Wide a, Wide b) { return limited(false, false, a + b); }

Wide product(Wide a, Wide b) {
  Wide value = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &value);
  return limited(overflow, (a < 0) != (b < 0), value);
}

Wide floor_divide(Wide a, Wide b) {
  if (b == 0) {
    return 0;
  }
  const Wide quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

/// `known`: where not null, what shared parts came to.
Wide interpret(const ExprPtr &expr, const std::vector<std::string> &names,
               const std::int64_t *values, Known<Wide> *known) {
  const auto operand = [&](size_t i) {
    const ExprPtr &part = expr->operands[i];
    if (known == nullptr) {
      return interpret(part, names, values, known);
    }
    if (const auto found = known->find(part.get()); found != known->end()) {
      return found->second;
    }
    const Wide value = interpret(part, names, values, known);
    known->emplace(part.get(), value);
    return value;
  };
  switch (expr->kind) {
  case ExprKind::Constant:
    return constant_of(*expr);
  case ExprKind::Parameter:
    return values[position(names, expr->name)];
  case ExprKind::Cast:
    return operand(0);
  case ExprKind::Select:
    return operand(0) != 0 ? operand(1) : operand(2);
  case ExprKind::Unary:
    switch (expr->op) {
    case Op::Neg:
      return -operand(0);
    case Op::Abs:
      return std::max(operand(0), -operand(0));
    case Op::Not:
      return expr->type.is_bool() ? static_cast<Wide>(operand(0) == 0) : ~operand(0);
    default:
      break;
    }
    break;
  case ExprKind::Binary: {
    const Wide a = operand(0);
    const Wide b = operand(1);
    switch (expr->op) {
    case Op::Add:
      return sum(a, b);
    case Op::Sub:
      return sum(a, -b);
    case Op::Mul:
      return product(a, b);
    case Op::FloorDiv:
      return floor_divide(a, b);
    case Op::Mod:
      return b == 0 ? 0 : a - b * floor_divide(a, b);
    case Op::Min:
      return std::min(a, b);
    case Op::Max:
      return std::max(a, b);
    case Op::And:
      return a & b;
    case Op::Or:
      return a | b;
    case Op::Lt:
      return a < b ? 1 : 0;
    case Op::Le:
      return a <= b ? 1 : 0;
    case Op::Gt:
      return a > b ? 1 : 0;
    case Op::Ge:
      return a >= b ? 1 : 0;
    case Op::Eq:
      return a == b ? 1 : 0;
    case Op::Ne:
      return a != b ? 1 : 0;
    default:
      break;
    }
    break;
  }
  default:
    break;
  }
  throw Error(ErrorKind::Internal,
              "the array extent " + to_string(expr) + " cannot be computed from parameters");
}

/// The value of an expression over parameters.
Wide interpret(const ExprPtr &expr, const std::vector<std::string> &names,
               const std::int64_t *values) {
  constexpr std::uint64_t large = 64;
  Known<Wide> known;
  return interpret(expr, names, values, tree_size_of(expr) > large ? &known : nullptr);
}

} // namespace

Extent::Extent(ExprPtr expression, const std::vector<std::string> &parameters)
    : expression_(std::move(expression)), names_(parameters) {
  visit(expression_, [&](const ExprPtr &node) {
    if (node->kind == ExprKind::Parameter) {
      const int at = position(names_, node->name);
      if (std::find(used_.begin(), used_.end(), at) == used_.end()) {
        used_.push_back(at);
      }
    }
  });
  Known<std::optional<Linear>> known;
  if (const auto form = linear_form(expression_, names_, known)) {
    linear_ = true;
    constant_ = form->constant;
    for (size_t i = 0; i < form->coefficients.size(); ++i) {
      if (form->coefficients[i] != 0) {
        terms_.emplace_back(static_cast<int>(i), form->coefficients[i]);
      }
    }
  }
}

std::int64_t Extent::evaluate(const std::int64_t *parameters) const {
  constexpr Wide most = std::numeric_limits<std::int64_t>::max();
  constexpr Wide least = std::numeric_limits<std::int64_t>::min();
  Wide value = constant_;
  for (const auto &[parameter, coefficient] : terms_) {
    value = sum(value, static_cast<Wide>(coefficient) * parameters[parameter]);
  }
  if (!linear_) {
    value = interpret(expression_, names_, parameters);
  }
  return static_cast<std::int64_t>(std::clamp(value, least, most));
}

std::string Extent::exact_text(const std::int64_t *parameters) const {
  const Wide value = interpret(expression_, names_, parameters);
  if (value == widest || value == -widest) {
    return value < 0 ? "below -2**126" : "beyond 2**126";
  }
  std::string digits;
  for (Wide rest = value < 0 ? -value : value; rest != 0 || digits.empty(); rest /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  return (value < 0 ? "-" : "") + digits;
}

bool Extent::is_plain_parameter() const {
  return linear_ && constant_ == 0 && terms_.size() == 1 && terms_[0].second == 1;
}

namespace {

/// The rows of a constraint matrix with columns: parameters, constant.
template <class Rows>
bool append_rows(isl_mat *matrix, bool is_equality, size_t width, Rows &rows) {
  if (matrix == nullptr) {
    return false;
  }
  bool fits = true;
  const auto height = isl_mat_rows(matrix);
  for (int row = 0; row < height && fits; ++row) {
    std::vector<std::int64_t> coefficients(width);
    for (size_t column = 0; column < width && fits; ++column) {
      isl_val *value = isl_mat_get_element_val(matrix, row, static_cast<int>(column));
      fits = value != nullptr && isl_val_is_int(value) == isl_bool_true;
      if (fits) {
        coefficients[column] = isl_val_get_num_si(value);
      }
      isl_val_free(value);
    }
    rows.push_back({std::move(coefficients), is_equality});
  }
  isl_mat_free(matrix);
  return fits;
}

} // namespace

bool holds(const ContextRows &rows, const std::int64_t *parameters) {
  return std::any_of(rows.begin(), rows.end(), [&](const std::vector<ContextRow> &all) {
    return std::all_of(all.begin(), all.end(), [&](const ContextRow &row) {
      Wide value = row.coefficients.back();
      for (size_t i = 0; i + 1 < row.coefficients.size(); ++i) {
        value += static_cast<Wide>(row.coefficients[i]) * parameters[i];
      }
      return row.is_equality ? value == 0 : value >= 0;
    });
  });
}

ContextCheck::ContextCheck(const isl::set &context, const std::vector<std::string> &parameters)
    : names_(parameters) {
  const OperationLimit limit(2'000'000);
  // Every parameter of the function, in its order.
  isl_set *aligned = context.copy();
  isl_space *space =
      isl_space_params_alloc(isl_context().get(), static_cast<unsigned>(parameters.size()));
  for (size_t i = 0; i < parameters.size(); ++i) {
    space = isl_space_set_dim_name(space, isl_dim_param, static_cast<unsigned>(i),
                                   parameters[i].c_str());
  }
  aligned = isl_set_align_params(aligned, space);
  const isl_size count = isl_set_dim(aligned, isl_dim_param);
  if (count > static_cast<isl_size>(parameters.size())) {
    aligned = isl_set_project_out(aligned, isl_dim_param, static_cast<unsigned>(parameters.size()),
                                  static_cast<unsigned>(count) -
                                      static_cast<unsigned>(parameters.size()));
  }
  context_ = make_isl_shared<const isl::set>(
      checked(isl::manage(isl_set_coalesce(aligned)), "reading a function's context"));
  const size_t width = parameters.size() + 1;
  const auto status = context_->foreach_basic_set([&](isl::basic_set part) {
    if (isl_basic_set_dim(part.get(), isl_dim_div) != 0) {
      needs_isl_ = true;
      return isl::stat::ok();
    }
    Conjunction rows;
    const bool fits =
        append_rows(isl_basic_set_equalities_matrix(part.get(), isl_dim_param, isl_dim_cst,
                                                    isl_dim_set, isl_dim_div),
                    true, width, rows) &&
        append_rows(isl_basic_set_inequalities_matrix(part.get(), isl_dim_param, isl_dim_cst,
                                                      isl_dim_set, isl_dim_div),
                    false, width, rows);
    needs_isl_ = needs_isl_ || !fits;
    parts_.push_back(std::move(rows));
    return isl::stat::ok();
  });
  needs_isl_ = needs_isl_ || status.is_error();
}

bool ContextCheck::holds(const std::int64_t *parameters) const {
  if (needs_isl_) {
    return holds_by_isl(parameters);
  }
  return tilewright::holds(parts_, parameters);
}

bool ContextCheck::holds_by_isl(const std::int64_t *parameters) const {
  const OperationLimit limit(2'000'000);
  isl_set *set = context_->copy();
  for (size_t i = 0; i < names_.size(); ++i) {
    set = isl_set_fix_val(set, isl_dim_param, static_cast<unsigned>(i),
                          isl_val_int_from_si(isl_context().get(), parameters[i]));
  }
  const isl::set fixed = checked(isl::manage(set), "checking the parameters of a call");
  return !checked(fixed.is_empty(), "checking the parameters of a call");
}

std::vector<SolveStep> plan_steps(const std::vector<std::vector<Extent>> &arguments,
                                  std::vector<bool> known) {
  std::vector<SolveStep> steps;
  const auto find = [&](bool only_units) {
    for (size_t argument = 0; argument < arguments.size(); ++argument) {
      for (size_t axis = 0; axis < arguments[argument].size(); ++axis) {
        const Extent &extent = arguments[argument][axis];
        if (!extent.is_linear()) {
          continue;
        }
        int unknown = -1;
        std::int64_t coefficient = 0;
        size_t unknowns = 0;
        for (const auto &[parameter, factor] : extent.terms()) {
          if (!known[static_cast<size_t>(parameter)]) {
            unknown = parameter;
            coefficient = factor;
            ++unknowns;
          }
        }
        const bool is_unit = coefficient == 1 && extent.terms().size() == 1;
        if (unknowns == 1 && (is_unit || !only_units)) {
          known[static_cast<size_t>(unknown)] = true;
          steps.push_back({static_cast<int>(argument), static_cast<int>(axis), unknown});
          return true;
        }
      }
    }
    return false;
  };
  while (find(true) || find(false)) {
  }
  return steps;
}

bool covers_array(const Computation &computation, const isl::set &context) {
  const OperationLimit limit(2'000'000);
  try {
    if (computation.pieces.empty()) {
      return false;
    }
    isl::set covered = computation.pieces[0].domain;
    for (size_t i = 1; i < computation.pieces.size(); ++i) {
      covered = covered.unite(computation.pieces[i].domain);
    }
    const IterationSpace space{computation.name, computation.iterators};
    isl::set box = isl::set::universe(covered.get_space());
    for (size_t axis = 0; axis < computation.extents.size(); ++axis) {
      auto extent = to_affine(computation.extents[axis], space);
      if (!extent) {
        return false;
      }
      box = isl::manage(
          isl_set_lower_bound_si(box.release(), isl_dim_set, static_cast<unsigned>(axis), 0));
      isl_local_space *local = isl_local_space_from_space(box.get_space().release());
      const isl::pw_aff index =
          isl::manage(isl_pw_aff_var_on_domain(local, isl_dim_set, static_cast<unsigned>(axis)));
      box = box.intersect(index.lt_set(*extent));
    }
    // Most are so whatever the parameters, which may be many, are.
    const char *doing = "comparing a domain with its array";
    return checked(box.is_subset(covered), doing) ||
           checked(box.intersect_params(context).is_subset(covered), doing);
  } catch (const Error &) {
    return false;
  }
}

} // namespace tilewright
