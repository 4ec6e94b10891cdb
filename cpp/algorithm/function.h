// Layer I declarations: inputs, computations as disjoint pieces `domain -> expression`, and
// functions that gather the computations reachable from their outputs. Everything checkable without
// a schedule is checked here, at declaration: overlapping pieces, reads outside a producer's
// domain, unbounded domains and reductions, duplicate names. Each error carries a concrete point
// (with parameter values) and the user's source line. Domains are isl sets whose tuple name is the
// computation's name and whose dimension order is `iterators`; parameters are isl parameters by
// name.
#pragma once

#include "algorithm/expression.h"
#include "polyhedral/isl.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Piece {
  isl::set domain;
  ExprPtr value; ///< of the computation's type
  SourceLocation where;
};

/// The values of an iterator whose range has a step: first, first + step, ...
struct Stride {
  ExprPtr first; ///< affine in parameters and the iterators before; null for step 1
  std::int64_t step = 1;
};

struct Computation {
  std::string name;
  ScalarType type;
  std::vector<std::string> iterators;
  std::vector<Stride> strides; ///< of the iterators: what their loops count; empty: all of step 1
  std::vector<Piece> pieces;   ///< empty for inputs
  isl::set domain; ///< declared domain; for inputs the box of the extents. Pieces partition or
                   ///< cover part of it
  std::vector<ExprPtr> extents; ///< array shape, affine in parameters; inputs always, computations
                                ///< when given or derived
  std::vector<ExprPtr> origin;  ///< the coordinates of the array's first element, affine in
                                ///< parameters; empty: zeros, as of inputs and outputs
  size_t enclosed = 0; ///< one more than the last dimension along which the derived array may be
                       ///< larger than the domain; 0: none. Outputs have none
  isl::set context; ///< parameter set: the constraints of all parameters in the declaration and the
                    ///< pieces
  bool is_input = false;
  bool is_view = false;      ///< the value of each piece is a read (algorithm/views.h)
  std::uint64_t ordinal = 0; ///< of an input: which declaration it was, counted from 1 in a process
  std::string record;        ///< an input that is a field of a structured array: the array's name
  std::string field;         ///< and the field's
  SourceLocation where;

  size_t rank() const { return iterators.size(); }
};

struct Range {
  std::string iterator;
  ExprPtr lower;         ///< inclusive; affine in parameters and earlier iterators
  ExprPtr upper;         ///< exclusive
  std::int64_t step = 1; ///< as of ReduceRange
};

/// Whether element [0...] is the first one of the array of a computation.
bool starts_at_zero(const Computation &computation);

/// An input array of the given shape (affine in parameters).
ComputationPtr declare_input(const std::string &name, std::vector<ExprPtr> extents, ScalarType type,
                             SourceLocation where);

/// Says that an input of this ordinal came from another process: those declared from now on have
/// higher ones.
void pass_input_ordinal(std::uint64_t ordinal);

/// A computation without pieces yet. `ranges` bound the iterators in order; `condition` (may be
/// null) is an affine condition over them. `extents` empty: derived from the domain's bounding box,
/// from 0 on, or from the smallest index where that may be negative (Computation::origin).
ComputationPtr declare_computation(const std::string &name, const std::vector<Range> &ranges,
                                   const ExprPtr &condition, ScalarType type,
                                   std::vector<ExprPtr> extents, SourceLocation where);
/// The same from isl text as the papers write it: "[N] -> { C[i,j] : 0 <= i < N and 0 <= j <= i }".
ComputationPtr declare_computation(const std::string &isl_text, ScalarType type,
                                   std::vector<ExprPtr> extents, SourceLocation where);

/// From now on only reads can define it; before its first piece.
void make_view(const ComputationPtr &computation);

/// Adds `value` on the part of the domain where `condition` holds (null: the whole domain). Checks
/// type (the value is cast where NumPy's same_kind casting allows, else Error(Type)), overlap with
/// earlier pieces, bounds of reads of producers that are already defined, and that reductions are
/// bounded.
void define_piece(const ComputationPtr &computation, const ExprPtr &condition, const ExprPtr &value,
                  SourceLocation where);
void define_piece_isl(const ComputationPtr &computation, const std::string &isl_set,
                      const ExprPtr &value, SourceLocation where);

/// What ends the iterations of a parameter's loop: the parameter is the number of iterations that
/// are made (convergence.h).
struct StopTest {
  std::string parameter;
  ComputationPtr test; ///< bool, of one iterator t: the loop ends after the first t where it holds
  std::int64_t limit = 0; ///< the most iterations; 0: as many as it takes
  SourceLocation where;
};

struct Function {
  std::string name;
  std::vector<std::string> parameters; ///< by first use, in the extents of the inputs first
  isl::set context; ///< parameter set: constraints of the parameters and of `context`
  std::vector<ComputationPtr> inputs; ///< in the order of the arguments
  std::vector<ComputationPtr>
      computations; ///< producers before consumers where no recurrence forbids it
  std::vector<ComputationPtr> outputs;
  std::optional<StopTest> stop;
  SourceLocation where;

  const ComputationPtr *find(const std::string &name) const;
};

/// Gathers what the outputs reach. Throws for duplicate names, computations without pieces, reads
/// outside a domain. `inputs` gives the argument order; empty: the order in which those that are
/// read were declared.
std::shared_ptr<Function> make_function(const std::string &name,
                                        std::vector<ComputationPtr> outputs,
                                        std::vector<ComputationPtr> inputs,
                                        const std::vector<ExprPtr> &context, SourceLocation where);

/// Layer I as text in the notation of the papers: "{ C[i,j] : 0 <= i < N and 0 <= j < M } :
/// sum(...)".
std::string to_string(const Function &function);

} // namespace tilewright
