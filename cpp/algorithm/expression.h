// Layer I expressions: immutable, typed, shared by every front door. An expression is a graph: what
// a person names and uses twice is one node, and everything that walks expressions comes to it once
// (visit, parents_first, or a table by address: the tree may be 2**60 times as large). Inputs and
// computations are read through `Access`; reductions are expressions (AlphaZ: reduce(op,
// projection, body)); a subscript that is not affine stays an expression. Trees are built only
// through the functions at the end of this header, which check types, insert casts (NumPy's
// promotion) and fold nothing: what a person wrote is what is printed.
#pragma once

#include "algorithm/operations.h"
#include "algorithm/type.h"
#include "polyhedral/error.h"

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tilewright {

// clang-format off
enum class ExprKind {
  Constant, Iterator, Parameter, Access, Unary, Binary, Call, Cast, Select, Reduce,
  // A loop over state variables (a macro-statement): While is the loop, WhileResult one of its final
  // values, State what a variable holds in the iteration at hand.
  While, WhileResult, State,
  // One of the final values of a reduction that combines by a function of the caller. The Reduce
  // below it, of ReduceFold, is no value itself.
  Fold,
  // The result of a function of C (extern_function.h).
  Extern,
  // A number that is asked to be a subscript of an array: it is what it is made of, or an error.
  Checked
};
// clang-format on

struct Computation;
using ComputationPtr = std::shared_ptr<Computation>;

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct ExternFunction;
using ExternPtr = std::shared_ptr<const ExternFunction>;

/// Constants keep full precision: bool and integers in (u)int64, floats in double.
using ConstantValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::complex<double>>;

/// The largest step of a range.
inline constexpr std::int64_t largest_step = 1'000'000'000;

/// One reduced iterator with its half-open range: lower, lower + step, ... below upper. The bounds
/// may use outer iterators and earlier reduced ones.
struct ReduceRange {
  std::string iterator;
  ExprPtr lower;
  ExprPtr upper;
  std::int64_t step = 1; ///< 1 to largest_step; `lower` is there where it is not 1
};

/// One node. The fields below `operands` are used by the kinds named beside them. Iterators and
/// parameters are int64.
struct Expr {
  ExprKind kind;
  ScalarType type;
  std::vector<ExprPtr> operands; ///< Access: the subscripts. Select: condition, then, else. Reduce:
                                 ///< the body. While: initial values, condition, next values,
                                 ///< limit. WhileResult: the While Reduce of a fold: next values
                                 ///< (fold_parts). Fold: the Reduce, then initial values.
                                 ///< Extern: the arguments, of the declared types
                                 ///< Checked: the subscript, the extent
  Op op = Op::None;              ///< Unary, Binary, Call, Reduce
  ConstantValue value{};         ///< Constant
  std::string name;              ///< Iterator, Parameter, State; Constant: existing.h;
                                 ///< Checked: the array
  std::string
      constraint; ///< Parameter: isl text over parameters, "[N] -> { : N >= 0 }"; empty for none
  ComputationPtr producer;         ///< Access
  std::vector<ReduceRange> ranges; ///< Reduce
  ExprPtr condition; ///< Reduce: an extra affine condition on the reduced iterators, or null
  ExprPtr predicate; ///< Reduce: a condition that is not affine (it reads data), or null
  std::vector<ExprPtr> states; ///< While, Reduce of a fold: its State nodes, known by their address
  size_t position = 0;         ///< WhileResult, Fold: which state. Reduce of a fold: how many.
                               ///< Access: 0 for an element, k + 1 for state k of the fold in it
                               ///< Checked: the axis of the array
  bool ordered = false; ///< Reduce: combined in lexicographic order of the reduced iterators only
  SourceLocation where; ///< Access: where the read was written; Checked: where it was asked for
  ExternPtr external;   ///< Extern
};

/// A Python number: it has a kind but no width until it meets an operand.
struct WeakNumber {
  TypeKind kind;
  ConstantValue value;
};
using Operand = std::variant<ExprPtr, WeakNumber>;

// ---- builders: all throw Error(Type) with a message that names the operation and the operand
// types ---- After a builder returned, both operands of a Binary (and all of a Call) have one type,
// so a back end needs no rule of promotion; result_type of operations.h has the type of the result,
// which is int64 for ArgMin and ArgMax.
// Subscripts, bounds and iterators are int64; conditions are bool; the body of a Sum, Prod, Min,
// Max, Any, All has the type of the reduction. Printing leaves out the casts that these rules
// insert.
/// The value is stored as the alternative of its type's kind; an integer outside the type's range
/// is refused.
ExprPtr constant(ConstantValue value, ScalarType type);
ExprPtr iterator(const std::string &name);
ExprPtr parameter(const std::string &name, const std::string &constraint = "");
ExprPtr access(ComputationPtr producer, std::vector<ExprPtr> subscripts, SourceLocation where = {});
/// What state number `state` came to of the fold by whose terms `producer` is scheduled
/// (algorithm/reductions.h), for one of its elements. Nobody declares such a read: rewrites make
/// it.
ExprPtr access_state(ComputationPtr producer, std::vector<ExprPtr> subscripts, size_t state,
                     ScalarType type, SourceLocation where);
/// The same read, of another producer.
ExprPtr with_producer(const ExprPtr &access, ComputationPtr producer);
ExprPtr unary(Op op, ExprPtr a);
/// A weak integer that its type cannot hold is refused ("Python integer 300 out of bounds for
/// uint8"), except in comparisons, which compare values: they, and comparisons of int64 with
/// uint64, are exact as in NumPy 2.
ExprPtr binary(Op op, const Operand &a, const Operand &b);
/// Any operation but a reduction; a composed one is written in terms of others.
ExprPtr call(Op op, std::vector<Operand> arguments);
/// Returns `a` when the type is the same. Always defined: integers wrap; a float becomes an integer
/// by truncation towards zero, NaN gives 0 and what lies outside saturates to the target's own
/// range (llvm.fptosi.sat, fptoui.sat); complex to real drops the imaginary part; anything to bool
/// is `!= 0`.
ExprPtr cast(ExprPtr a, ScalarType type);
ExprPtr select(ExprPtr condition, const Operand &then, const Operand &otherwise);
/// `subscript`, where it is at least 0 and below `extent`, which parameters decide; elsewhere the
/// evaluator and the kernels fail with Error(Index), as reads outside an array do. It is for what
/// is no read: in `x == checked_index(at[p], N, "out", 0)`, the element that a scatter writes.
ExprPtr checked_index(ExprPtr subscript, ExprPtr extent, std::string array, size_t axis,
                      SourceLocation where = {});
/// The instances are those of the ranges where both conditions hold. Of `condition`, a conjunction,
/// the affine parts bound the domain; the others join `predicate`, which is asked of each instance,
/// before the body is computed, where the affine ones hold.
ExprPtr reduce(Op op, std::vector<ReduceRange> ranges, ExprPtr body, ExprPtr condition = nullptr,
               bool ordered = false, ExprPtr predicate = nullptr);
/// A state variable of a loop to be made by while_loop or fold. Each call makes another one.
ExprPtr state(const std::string &name, ScalarType type);
/// The final values of `states` after: while fewer than `limit` iterations (null: no limit) were
/// done and `condition` holds, all states take their `next` values at once. Conditions and next
/// values read the states; `initial` and `limit` cannot.
std::vector<ExprPtr> while_loop(std::vector<ExprPtr> states, std::vector<ExprPtr> initial,
                                ExprPtr condition, std::vector<ExprPtr> next,
                                ExprPtr limit = nullptr);

/// What a fold does for each of its terms, and what two results of it come to.
struct FoldParts {
  std::vector<ExprPtr> states;
  std::vector<ExprPtr> next;
  std::vector<ExprPtr> others;   ///< states of another result; empty if it is not associative
  std::vector<ExprPtr> combined; ///< of `states` and `others`
};
/// The final values of the states, of which each instance of the reduction (as of `reduce`) makes
/// the next ones, all at once. `next` reads the states and the reduced iterators; `initial`, which
/// the states are before the first instance, can read neither. The instances come in lexicographic
/// order of the reduced iterators, unless `parts` says how results are combined: then in any order
/// and any grouping, by the caller's promise that `combined` is associative and commutative and
/// that `initial` is its identity.
std::vector<ExprPtr> fold(const FoldParts &parts, std::vector<ExprPtr> initial,
                          std::vector<ReduceRange> ranges, ExprPtr condition = nullptr);
/// Of the Reduce of a fold.
FoldParts fold_parts(const Expr &reduction);
/// A weak number alone becomes bool, int64, float64 or complex128.
ExprPtr strengthen(const Operand &operand);

/// The type to which both operands of an operation of two (Op::None: of a select) are brought, or
/// nothing when the operation does not take them: np.result_type plus what the operation itself
/// asks for.
std::optional<ScalarType> operand_type(Op op, ScalarType a, ScalarType b);
/// Whether a subscript, which is int64, was made of a uint64: what it has below 0 is 2**63 or more.
bool is_wide_unsigned(const Expr &subscript);
/// The comparison of the same operands in the other order: < of >, <= of >=.
Op mirrored(Op op);

// ---- traversal ----
/// The same node with other operands (bounds and conditions of a Reduce are left alone).
ExprPtr with_operands(const ExprPtr &node, std::vector<ExprPtr> operands);
/// The same Reduce with another predicate.
ExprPtr with_predicate(const ExprPtr &reduce, ExprPtr predicate);
/// Calls `visit` on every node once (shared subtrees too), parents first, including reduce bounds
/// and conditions.
void visit(const ExprPtr &root, const std::function<void(const ExprPtr &)> &visit);
/// The nodes below the roots, each once and before all that it is made of; where the graph is a
/// tree, in the order in which they are written. `goes_below` says whether to go to the operands of
/// a node; what a Reduce has beside its body is left out.
std::vector<ExprPtr> parents_first(const std::vector<ExprPtr> &roots,
                                   const std::function<bool(const Expr &)> &goes_below);
/// Replaces iterators by expressions (by name; a null replacement keeps the iterator); reduced
/// iterators shadow, and are renamed where a replacement would be captured. Affects subscripts,
/// bounds and conditions. Numbers added to one sum become one: i + 1 for i in i - 1 is i.
ExprPtr substitute(const ExprPtr &root,
                   const std::function<ExprPtr(const std::string &)> &replacement);

/// The parts of a While by what they are.
struct WhileParts {
  std::vector<ExprPtr> initial;
  ExprPtr condition;
  std::vector<ExprPtr> next;
  ExprPtr limit; ///< or null
};
WhileParts while_parts(const Expr &loop);

/// The Reduce that a value is made by: itself, or that of a Fold. Null for other nodes.
const Expr *reduction_of(const Expr &value);
/// The initial values of a Fold.
std::vector<ExprPtr> initial_values(const Expr &fold);

/// Python-like text: "A[i, k] * B[k, j]", "sum(... for k in range(0, K))".
std::string to_string(const ExprPtr &expr);
/// What a Checked says where: "out[at[p]]", "out[..., at[p]]" on a later axis.
std::string index_text(const Expr &checked);

/// Identity element of a reduction in its accumulator type (sum 0, min +inf or the largest integer,
/// all true ...).
ExprPtr reduction_identity(Op op, ScalarType type);
/// The combining binary operation of a reduction (ReduceSum -> Add, ReduceAny -> Or ...); None for
/// ArgMin, ArgMax and Fold.
Op reduction_combiner(Op op);

} // namespace tilewright
