// From a mapping to the scheduled program, as one class in five files: statements and their loops
// (program.cpp), buffers and the places of elements (program_places.cpp), computations inside of
// other ones' loops (program_replicas.cpp), outputs that show what others store
// (program_views.cpp), and what blocks write (program_blocks.cpp).
#pragma once

#include "mapping/footprint.h"
#include "mapping/program.h"
#include "polyhedral/relevant_context.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace tilewright {

class ProgramBuilder {
public:
  explicit ProgramBuilder(const MappingState &state, const Program *before = nullptr);
  Program build();
  /// What build() asks of the places of elements, and nothing else of it.
  void require_places() { add_buffers(); }

private:
  /// The static order of what stands at a position: room is left before it and after it for what
  /// runs once for each element of a reduction.
  static int order_at(int position) { return 3 * position + 1; }

  // ---- program.cpp ----

  /// The parameters to which the context leaves one value.
  void find_fixed();
  void add_statements(const ComputationPtr &computation);
  void add_values(const ComputationPtr &computation, const TimeSpaceMap &map);
  /// Initialise, update and finish of a reduction scheduled by its terms. The first and the last
  /// one share the loops outside the first loop that a reduced iterator drives, and come before and
  /// after it; they also run where the reduction is empty.
  void add_reduction(const ComputationPtr &computation, const InstanceSpace &instances,
                     const TimeSpaceMap &map);
  /// What becomes of the states of a fold. Those that do not lie in the element have buffers beside
  /// that of the computation, whose shape they get at the end (place_states).
  void add_states(const Computation &computation, const Expr &fold, Statement &init,
                  Statement &update);
  /// Does the result of a reduction lie in the element?
  static bool lies_in_element(const Computation &computation, const Expr &reduction);
  void place_states();
  /// What an element becomes, in terms of what its reduction came to.
  static ExprPtr finished_value(const ComputationPtr &computation, const ExprPtr &value,
                                const ExprPtr &reduction);
  /// What runs once for each element, `step` (-1 or 1) beside `update`.
  Statement beside(const Statement &update, StatementRole role, int step, const TimeSpaceMap &map,
                   size_t reduced);
  /// The same loop as a function of the computation's own iterators only.
  static LoopDimension outer_loop(const LoopDimension &loop, const isl::set &domain,
                                  unsigned outer);
  /// Makes the loops of a statement beside an update tell its instances apart, where those left
  /// over from the update do not.
  void complete(Statement &once, size_t prefix) const;
  Statement statement_of(const ComputationPtr &computation, size_t piece) const;
  static void add_loop(Statement &statement, const LoopDimension &loop);
  std::string unique_name(std::string name);
  /// What was promised of a statement's computation, where the statement has its instances.
  void add_promises(Statement &statement) const;
  /// The statements in the order of their computations.
  void put_in_order();
  /// The tuple of the statement instead of the computation's.
  void name_tuple(Statement &statement) const;
  /// Every instance has one time: each loop is a whole number wherever the statement runs. Commands
  /// see to it; isl would leave an instance without a time out of the loops, without a word.
  void require_total(const Statement &statement) const;
  /// Pads to the common depth.
  void finish(Statement &statement) const;

  // ---- program_blocks.cpp ----

  /// The parts that a block is given lie in memory as its function takes them.
  void require_block_places(const Computation &call) const;
  /// What a block writes, at the times of its calls.
  void add_block_result(const ComputationPtr &computation);

  // ---- program_places.cpp ----

  void add_buffers();
  Buffer buffer_of(const std::string &name, ScalarType type, BufferKind kind,
                   const std::vector<ExprPtr> &extents) const;
  /// The extent as a number, where the context says which.
  ExprPtr known_extent(const ExprPtr &extent) const;
  void add_place(const Computation &computation, BufferKind kind);
  /// A buffer of several computations: one type, one rank, the larger extents. An output's or an
  /// input's buffer is the caller's array: one output to a buffer, and what else is stored there
  /// must fit.
  void share(const Computation &computation, const Storage &storage, Buffer &buffer,
             BufferKind kind) const;
  /// The fields of a record lie side by side, and their arrays have one shape.
  void require_place_in_record(const Computation &computation, const Buffer &field) const;
  /// The elements in which a computation is stored.
  isl::set stored(const Computation &computation, const Storage &storage) const;
  /// What an output's computation does not write stays as the caller gave it, so nobody else may
  /// write it either.
  void require_room(const Computation &computation, const Storage &storage,
                    const Buffer &buffer) const;

  // ---- program_views.cpp ----

  /// Does a statement of an output only read what lies where it would put it? Then it is a view of
  /// the program (Program::views), and no statement: nobody but the caller reads it.
  bool lies_in_place(Statement copy);
  /// What `before_` has found out about a part of an output, where that still holds; else null.
  const std::optional<Program::View> *known_view(const Statement &copy) const;
  std::optional<Program::View> view_of(const Statement &copy) const;
  bool is_read_at_all(const Computation &computation);
  /// Is another value stored, at some time, where the elements lie that a view shows?
  bool is_overwritten(const Program::View &view) const;

  // ---- program_replicas.cpp ----

  /// Of computations that depend on each other, what an earlier one reads is not known here.
  void require_computed_alone(const Computation &computation) const;
  /// The reader in whose loops the computation runs. All others must be in them, too.
  const Statement &reader_around(const Computation &computation, const Placement &placement,
                                 const std::vector<const Statement *> &readers) const;
  /// compute_at: for each iteration of the shared loops, the instances that are read in it.
  void replicate(const Computation &computation, const Placement &placement, size_t first);
  /// Puts a statement into the shared loops of `around`: in each of their iterations it has the
  /// instances that are `needed` there.
  void run_inside(Statement &statement, const Statement &around, const isl::map &needed) const;
  /// The elements of a computation.
  isl::set defined(const Computation &computation) const;
  /// May elements that nobody reads be computed beside the others (compute_at)? Where each
  /// iteration has them in memory of its own, and what they read is there as it is for the others:
  /// then they cannot change what is legal. `asked`: those that wait for the answer; what reads
  /// itself through one of them is a recurrence, as a cache of a computation's own values makes it.
  bool may_compute_more(const Computation &computation, std::set<std::string> asked = {}) const;
  /// Has every element of `producer` its value, for good, before the loops of `reader` begin, or in
  /// each iteration of them?
  bool is_ready(const Computation &producer, const Computation &reader,
                const std::set<std::string> &asked) const;
  /// store_at outside of the loops in which a computation runs: how many of these make its values
  /// anew in each iteration. Inside of the innermost concurrent one each is made once. A GPU's
  /// threads have no order, so that all of them do.
  size_t computed_anew(size_t stored, const std::vector<const Statement *> &readers) const;
  /// The buffer of what is `made` once for each iteration of the `kept` outermost loops, modulo the
  /// window that is still `read`.
  void fold_window(const Computation &computation, const isl::map &read, const isl::map &made,
                   size_t kept, size_t first);
  /// store_at: a buffer inside the outermost loops of the readers, as large as what is read in one
  /// iteration of them.
  void allocate_inside(const Computation &computation, const Allocation &allocation,
                       const std::vector<const Statement *> &readers, const isl::map &needed,
                       size_t first);
  /// private: buffers inside loops, as large as what is written and read in one iteration of them.
  void allocate_private();
  /// One of them, of computations that share these loops with all their readers.
  void allocate_private(const std::vector<const Computation *> &members, KnownReads &known);
  /// The buffer of a computation that lives inside of loops, with a place in it for what is `held`
  /// in one iteration of them.
  void hold(const Computation &computation, const Allocation &allocation, const isl::map &held);
  /// The same of a buffer in which store_in has put them: `held` are elements of it.
  void hold_at_places(const std::vector<const Computation *> &members, const Allocation &allocation,
                      const isl::map &held);
  static void live_inside(Buffer &buffer, const Allocation &allocation);

  const MappingState &state_;
  const Program *before_;
  const Function &function_;
  Program program_;
  std::optional<RelevantContext> relevant_; ///< of program_.context
  std::map<std::string, std::vector<int>> order_;
  std::set<std::string> names_;
  /// What some computation reads, once that has been asked; and null, of nodes that read nothing.
  std::optional<std::unordered_set<const Computation *>> read_;
  size_t shared_ = 0; ///< loops that the computation at hand shares by compute_at
};

} // namespace tilewright
