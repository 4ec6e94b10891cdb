// From expressions to isl: which subscripts, bounds and conditions are (quasi-)affine, and as which
// isl object.
#pragma once

#include "algorithm/expression.h"
#include "polyhedral/isl.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// A named tuple of iterators: the space in which expressions are read. For a reduction body,
/// `iterators` ends with the reduced iterators.
struct IterationSpace {
  std::string name;
  std::vector<std::string> iterators;

  isl::space space() const; ///< set space name[iterators], without parameters
};

/// The expression as a quasi-affine function on `space`, or nothing when it is not affine (reads an
/// array, multiplies two iterators, ...). +, -, * by constants, // and % by positive constants,
/// min, max, select on affine conditions and integer casts that keep the value are affine.
/// Parameters enter by name.
std::optional<isl::pw_aff> to_affine(const ExprPtr &expr, const IterationSpace &space);

/// The points of `space` where a boolean expression holds, or nothing when it is not affine.
std::optional<isl::set> to_set(const ExprPtr &condition, const IterationSpace &space);

/// The points of `space` where `a comparison b` holds (Lt, Le, Gt, Ge, Eq, Ne over integers), or
/// nothing.
std::optional<isl::set> compare(Op comparison, const ExprPtr &a, const ExprPtr &b,
                                const IterationSpace &space);

/// The points of `space` where `value` is a whole number of steps from `first`, or nothing when
/// they are not affine.
std::optional<isl::set> stepped(const ExprPtr &value, const ExprPtr &first, std::int64_t step,
                                const IterationSpace &space);

/// The set of parameters and their constraints that occur in an expression, as a parameter-set
/// context.
isl::set parameter_context(const std::vector<ExprPtr> &exprs);

/// name[outer..., reduced...]: the instances of a reduction's body for `outer` in name[outer...].
/// Throws Error(Declaration) when a bound is not affine or the reduction is unbounded.
isl::set reduction_domain(const Expr &reduce, const isl::set &outer,
                          const std::vector<std::string> &outer_iterators,
                          const SourceLocation &where);

/// A quasi-affine isl function (of a set with these iterator names) as an expression. Pieces become
/// min or max where they are one, else selects; outside the function's domain the expression has
/// some value.
ExprPtr from_affine(const isl::pw_aff &affine, const std::vector<std::string> &iterators);

/// A set, whose dimensions have these names, as a condition; null where it is everything.
ExprPtr from_set(const isl::set &set, const std::vector<std::string> &iterators);

} // namespace tilewright
