// Sets that come from several expressions at once: the context of the parameters, and the domain of
// a reduction's body.
#include "algorithm/affine.h"
#include "polyhedral/set_text.h"

#include <isl/set.h>

#include <algorithm>
#include <unordered_map>

namespace tilewright {

namespace {

/// Constraints are few and repeat in every expression that names their parameter: each text is
/// parsed once.
isl::set constraint_of(const Expr &parameter) {
  static auto *const parsed = new std::unordered_map<std::string, isl::set>();
  const auto found = parsed->find(parameter.constraint);
  if (found != parsed->end()) {
    return found->second;
  }
  isl::set set =
      read_parameter_set(parameter.constraint, "the constraint of parameter " + parameter.name, {});
  constexpr size_t remembered = 4096;
  if (parsed->size() >= remembered) {
    parsed->clear();
  }
  parsed->emplace(parameter.constraint, set);
  return set;
}

std::string describe(const Expr &reduce) {
  std::string text = op_name(reduce.op) + " over ";
  for (size_t r = 0; r < reduce.ranges.size(); ++r) {
    text += (r == 0 ? "" : ", ") + reduce.ranges[r].iterator;
  }
  return text;
}

isl::set bounded_below_and_above(const Expr &reduce, const ReduceRange &range,
                                 const IterationSpace &space, const SourceLocation &where) {
  isl::set result = isl::set::universe(space.space());
  const ExprPtr reduced = iterator(range.iterator);
  for (const bool is_lower : {true, false}) {
    const ExprPtr &bound = is_lower ? range.lower : range.upper;
    if (bound == nullptr) {
      continue;
    }
    const auto side = compare(is_lower ? Op::Ge : Op::Lt, reduced, bound, space);
    if (!side) {
      throw Error(ErrorKind::Declaration,
                  std::string(is_lower ? "the lower" : "the upper") + " bound of " +
                      range.iterator + " in the " + describe(reduce) +
                      " is not affine in parameters and outer iterators: " + to_string(bound),
                  where);
    }
    result = result.intersect(*side);
  }
  if (range.step != 1) {
    const auto steps = stepped(reduced, range.lower, range.step, space);
    if (!steps) {
      throw Error(ErrorKind::Declaration,
                  "the lower bound of " + range.iterator + " in the " + describe(reduce) +
                      " is not affine in parameters and outer iterators: " + to_string(range.lower),
                  where);
    }
    result = result.intersect(*steps);
  }
  return result;
}

} // namespace

std::optional<isl::set> stepped(const ExprPtr &value, const ExprPtr &first, std::int64_t step,
                                const IterationSpace &space) {
  const ExprPtr distance = binary(Op::Sub, value, first);
  return compare(Op::Eq, binary(Op::Mod, distance, constant(step, Int64)),
                 constant(std::int64_t{0}, Int64), space);
}

isl::set parameter_context(const std::vector<ExprPtr> &exprs) {
  std::vector<std::string> names;
  std::vector<ExprPtr> constrained;
  for (const ExprPtr &root : exprs) {
    if (root == nullptr) {
      continue;
    }
    visit(root, [&](const ExprPtr &node) {
      if (node->kind != ExprKind::Parameter) {
        return;
      }
      if (std::find(names.begin(), names.end(), node->name) == names.end()) {
        names.push_back(node->name);
      }
      const auto same = [&](const ExprPtr &known) { return known->constraint == node->constraint; };
      if (!node->constraint.empty() && std::none_of(constrained.begin(), constrained.end(), same)) {
        constrained.push_back(node);
      }
    });
  }
  isl_space *space =
      isl_space_params_alloc(isl_context().get(), static_cast<unsigned>(names.size()));
  for (size_t p = 0; p < names.size(); ++p) {
    isl_id *id = isl_id_alloc(isl_context().get(), names[p].c_str(), nullptr);
    space = isl_space_set_dim_id(space, isl_dim_param, static_cast<unsigned>(p), id);
  }
  isl::set context = isl::manage(isl_set_universe(space));
  for (const ExprPtr &parameter : constrained) {
    context = context.intersect(constraint_of(*parameter));
  }
  return checked(context, "building the context of the parameters");
}

isl::set reduction_domain(const Expr &reduce, const isl::set &outer,
                          const std::vector<std::string> &outer_iterators,
                          const SourceLocation &where) {
  const unsigned outer_rank = static_cast<unsigned>(outer_iterators.size());
  const unsigned reduced = static_cast<unsigned>(reduce.ranges.size());
  IterationSpace space;
  const char *name = isl_set_get_tuple_name(outer.get());
  space.name = name != nullptr ? name : "";
  space.iterators = outer_iterators;

  isl_set *extended = isl_set_add_dims(outer.copy(), isl_dim_set, reduced);
  for (unsigned r = 0; r < reduced; ++r) {
    isl_id *id = isl_id_alloc(isl_context().get(), reduce.ranges[r].iterator.c_str(), nullptr);
    extended = isl_set_set_dim_id(extended, isl_dim_set, outer_rank + r, id);
    space.iterators.push_back(reduce.ranges[r].iterator);
  }
  if (!space.name.empty()) {
    extended = isl_set_set_tuple_name(extended, space.name.c_str());
  }
  isl::set domain = checked(isl::manage(extended), "extending a domain by reduced iterators");

  const ReduceRange *half_open = nullptr;
  for (const ReduceRange &range : reduce.ranges) {
    domain = domain.intersect(bounded_below_and_above(reduce, range, space, where));
    if (range.lower == nullptr || range.upper == nullptr) {
      half_open = &range;
    }
  }
  if (reduce.condition != nullptr) {
    const auto condition = to_set(reduce.condition, space);
    if (!condition) {
      throw Error(ErrorKind::Declaration,
                  "the condition of the " + describe(reduce) +
                      " is not affine in parameters and iterators: " + to_string(reduce.condition),
                  where);
    }
    domain = domain.intersect(*condition);
  }
  checked(domain, "building the domain of a reduction");
  if (half_open != nullptr && isl_set_is_bounded(domain.get()) != isl_bool_true) {
    throw Error(ErrorKind::Declaration,
                "the " + describe(reduce) + " is unbounded: " + half_open->iterator + " has no " +
                    (half_open->upper == nullptr ? "upper" : "lower") + " bound",
                where);
  }
  return domain;
}

} // namespace tilewright
