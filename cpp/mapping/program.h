// The scheduled program: what legality is asked about and what is lowered. One statement for each
// piece of each computation (for a reduction scheduled by its terms: initialise, update and, where
// the reduction is not all of the expression, finish), all
// in one time space [s0, d0, s1, d1, ..., sD]: even positions are static order, odd ones are loops.
// Derived from a Function and a Mapping; holds no choices of its own.
#pragma once

#include "mapping/mapping.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

enum class BufferKind { Input, Output, Temporary };

struct Buffer {
  std::string name;
  ScalarType type;
  BufferKind kind = BufferKind::Temporary;
  std::vector<ExprPtr> extents; ///< affine in parameters
  std::vector<ExprPtr> origin;  ///< as of Storage; Program::Place::index counts from here
  int level = 0; ///< > 0: there is one for each iteration of so many outermost loops (store_at)
  std::string memory = "auto";
  Record record;                   ///< temporaries
  Packing packing = Packing::None; ///< temporaries
  std::string command;             ///< that put it there, for messages
  SourceLocation where;            ///< of that command
  int stages = 1;                  ///< so many of it, in a GPU's shared memory (Allocation)
  /// For a state of a fold (Program::states), the buffer of the computation: its elements lie at
  /// the same index, so that whatever is asked of the one holds of the other.
  std::optional<size_t> beside;
};

/// In the order in which they come to one element of a reduction.
enum class StatementRole {
  Value,      ///< buffer[index] = value
  Initialise, ///< buffer[index] = value (the identity of the reduction, a fold's initial value)
  Update,     ///< buffer[index] = combine(buffer[index], value), where `predicate` holds; of a
              ///< fold, which has no `combine`, what `states` says
  Finish      ///< buffer[index] = value, which reads what the terms came to: its own element
};

/// What becomes of one state of a fold, all at once.
struct FoldState {
  ExprPtr state;     ///< stands in all values of an Update for the element before it
  ExprPtr value;     ///< what the state begins with (Initialise), what follows (Update)
  size_t buffer = 0; ///< in which it has the statement's index
};

struct Statement {
  std::string name; ///< isl tuple name, unique in the program; the computation's name where it has
                    ///< one piece
  ComputationPtr computation;
  size_t piece = 0;
  StatementRole role = StatementRole::Value;
  std::vector<std::string>
      iterators; ///< of `domain`; the computation's iterators, then (Update) the reduced ones
  size_t replicas =
      0;           ///< compute_at: so many iterators before those, the values of the loops shared
  size_t anew = 0; ///< of these loops, so many in each iteration of which a value is made anew;
                   ///< inside of them it is made once (mapping/windows.h)
  /// The replicas are copies that a one-to-many map makes: they stand in loops of the statement's
  /// own, and what reads the value takes any copy that came before it.
  bool copied = false;
  isl::set domain;                     ///< name[iterators], within the context
  std::vector<int> order;              ///< s0, s1, ...: one more than there are loops
  std::vector<isl::pw_aff> loops;      ///< d0, d1, ...: functions of the instance
  std::vector<LoopTag> tags;           ///< one for each loop level 0 .. depth-1
  std::vector<std::string> loop_names; ///< one for each loop level this statement really has
                                       ///< (deeper ones are fixed at 0)
  ExprPtr value;                       ///< Update: the reduction's body
  std::vector<FoldState> states; ///< Initialise and Update of a fold; then `value` is the first's
  ExprPtr predicate;             ///< a condition that reads data, under which it runs; null: always
  Op combine = Op::None;         ///< Update: Add, Mul, Min, Max, And, Or; None of a fold
  bool ordered = false;          ///< Update: in lexicographic order of the terms only
  size_t buffer = 0;             ///< index into Program::buffers
  std::vector<ExprPtr> index;    ///< element written, in terms of the computation's iterators
  bool streamed = false;         ///< Value: the element goes past the caches (stream)
  std::map<std::string, std::vector<Prefetch>> prefetches; ///< by name of the loop
  bool atomic = false; ///< Update: one step for other threads (atomic), where they may meet
  std::map<size_t, isl::pw_aff> independent; ///< by promise (independent): its loop's value
  std::vector<ValuePromise> assumed;         ///< of what this computation reads (assume)
  /// The command that last mapped loops of the computation to a GPU; without one, its declaration.
  SourceLocation mapped_at;
};

struct Program {
  std::shared_ptr<const Function> function;
  std::vector<std::string> parameters;
  isl::set context;
  std::map<std::string, std::int64_t> fixed; ///< parameters that have one value, by fix
  int depth = 0;                             ///< loops in the time space
  std::vector<Buffer> buffers;       ///< inputs and outputs in argument order, then temporaries
  std::vector<Statement> statements; ///< in order of declaration
  std::vector<std::string> independent_loops; ///< by promise (independent): for messages

  /// The buffer and the index expressions (over the computation's iterators) in which a computation
  /// or input lives.
  struct Place {
    size_t buffer = 0;
    std::vector<ExprPtr> index;
    isl::map relation; ///< computation[iterators] -> buffer[index]
  };
  std::map<std::string, Place> places;
  /// Of computations that are scheduled by a fold of several states: the buffer of each state. One
  /// of them may be the computation's own.
  std::map<std::string, std::vector<size_t>> states;

  /// A part of an output that shows elements of another computation or of an input, and lies where
  /// they lie: no statement copies it.
  struct View {
    ComputationPtr output;
    ComputationPtr producer;
    isl::map elements; ///< output[iterators] -> producer[iterators]
  };
  std::vector<View> views;
  /// What was asked of parts of outputs, by output and piece: the view, or nothing if it is none.
  std::map<std::pair<std::string, size_t>, std::optional<View>> shown;
};

/// What a statement computes for one instance: of a fold, all states.
std::vector<ExprPtr> values_of(const Statement &statement);

/// With `before`, the program of an earlier mapping of the same function: what an output shows in
/// place is asked anew only where places have changed.
Program build_program(const Mapping &mapping, const Program *before = nullptr);
Program build_program(const MappingState &state, const Program *before = nullptr);

/// Error(Schedule) where elements cannot be where the mapping has them: two types in one buffer, an
/// element outside of the caller's array. A part of what build_program asks, for a mapping whose
/// loops are in the making.
void require_places(const Mapping &mapping);

/// Where a read is in the memory of its producer, over the iterators of whoever reads.
std::vector<ExprPtr> index_of_read(const Expr &access, const Program::Place &place);

/// name[iterators] -> [s0, d0, s1, ..., sD], an anonymous tuple of 2 * depth + 1 dimensions. Made
/// only where isl has to generate loops: legality needs no more than Statement::order and
/// Statement::loops.
isl::map time_map(const Statement &statement);

} // namespace tilewright
