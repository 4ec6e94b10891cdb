// From typed Layer I expressions to loop-IR values, for one statement instance whose iterators are
// known as values. Reads become loads from the places of Layer III. What is no value (reductions
// inside an expression, run-time subscript checks, branches whose reads are only in bounds under
// their guard) is written before the value as statements.
#pragma once

#include "algorithm/computed_parts.h"
#include "algorithm/extern_function.h"
#include "loops/instrumentation.h"
#include "loops/traverse.h"
#include "lowering/subscript_bounds.h"
#include "mapping/program.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilewright {

/// What the translation of all statements of a program shares.
struct TranslationState {
  const Program &program;
  Kernel &kernel;
  Numbers numbers;
  std::optional<Ranges> known; ///< of the parameters, once somebody has asked
  Definitions definitions;
  Instrumentation instrumentation;
};

class ExpressionTranslator {
public:
  using Environment = std::map<std::string, ValuePtr>;

  /// `iterators` gives the values of the statement's iterators.
  ExpressionTranslator(TranslationState &state, const Statement &statement, Environment iterators);

  /// The value of an expression at this instance; appends what must run before it to `statements`.
  ValuePtr translate(const ExprPtr &expr);
  /// From here on, what `state` of a fold holds.
  void set_state(const ExprPtr &state, ValuePtr value);
  /// Writes what `body` writes where `condition` holds; a null condition always does. What one part
  /// of a conjunction needs is computed where those before it hold.
  void guarded(const ExprPtr &condition, const std::function<void()> &body);
  void emit(const StmtPtr &statement) { frame_.statements.push_back(statement); }
  /// The statements that must run before the values translated so far; empties the list.
  std::vector<StmtPtr> take_statements();
  /// Index expressions over other iterators (a computation's place).
  std::vector<ValuePtr> translate_place(const std::vector<ExprPtr> &index,
                                        const Environment &iterators);

  // ---- what was asked for beside the value: instrument.cpp ----
  /// Checks the element that the statement writes.
  void check_write(const std::vector<ValuePtr> &index);
  /// Fails where `value`, made of `before` (null: of reads alone), is NaN though they are not.
  void check_number(const ValuePtr &value, const ValuePtr &before);
  /// From here on, what is translated belongs to the value, however many conditions are around.
  void begin_value() { nesting_ = 0; }
  /// Whether values are traced here.
  bool is_traced() const { return is_traced_; }
  /// What must stand before all statements of the instance.
  std::vector<StmtPtr> take_prologue() { return std::exchange(prologue_, {}); }

private:
  /// A read whose value decides whether a NaN began here.
  struct TracedRead {
    std::string array;
    std::vector<ValuePtr> subscripts;
    ValuePtr value;
    ValuePtr seen; ///< a local: whether it happened; null: always
  };
  bool traces(const Statement &statement) const;
  IndexSite site_of_instance() const;
  std::vector<ValuePtr> instance() const;
  void check_place(IndexSite site, size_t buffer, const std::vector<ValuePtr> &subscripts);
  /// `value`, noted as one that the instance reads.
  ValuePtr trace_read(const Expr &access, const std::vector<ValuePtr> &element, ValuePtr value);
  ValuePtr is_bad(const ValuePtr &value) const;
  std::shared_ptr<const Local> new_slot(const std::string &name, ScalarType type);

  /// The value of one of the outermost loops around the statement.
  ValuePtr outer_loop(const std::string &name);
  /// `value`, known to be below `upper` and not negative, as it stands in subscripts.
  struct CheckedSubscript {
    ValuePtr value;
    ValuePtr upper;
    ValuePtr subscript;
  };
  /// Where code is being written: the iterators in scope, and the values that are already there.
  struct Frame {
    Environment iterators;
    std::vector<std::string> names; ///< of the iterators, in the order of `domain`
    isl::set domain; ///< the instances for which the code runs, guards left out; null: not known
    std::unordered_map<const Expr *, ValuePtr> done;
    std::unordered_map<const Expr *, bool> readable; ///< what always_readable said
    /// Final states of the While nodes and of the folds' Reduce nodes.
    std::unordered_map<const Expr *, std::vector<ValuePtr>> loops;
    std::vector<CheckedSubscript> checked;
    std::vector<StmtPtr> statements;
  };

  ValuePtr compute(const ExprPtr &expr);
  ValuePtr translate_access(const Expr &expr);
  ValuePtr translate_select(const Expr &expr);
  ValuePtr translate_extern(const Expr &expr);

  // ---- block_calls.cpp ----

  /// A part of an array that a block is given.
  struct BlockPart {
    ComputationPtr array;
    std::vector<std::string> iterators; ///< one for each dimension of the part
    std::vector<ExprPtr> lowers;
    std::vector<ExprPtr> uppers;
    std::vector<ExprPtr> subscripts; ///< of the array, over these iterators and the instance's
  };
  static BlockPart part_read(const ExprPtr &part);
  BlockPart part_written(const Computation &call, const std::string &result,
                         const std::vector<ExprPtr> &extents) const;
  /// The call of a block, with what must stand before it and behind it.
  ValuePtr translate_block(const Expr &call);
  /// Where the element lies at these coordinates of the part.
  std::vector<ValuePtr> place_in_part(const BlockPart &part,
                                      const std::vector<ExprPtr> &coordinates);
  ValuePtr address_in_part(const BlockPart &part, const std::vector<ExprPtr> &coordinates,
                           const ExternFunction &external);
  /// The bytes from one element to the next along each dimension.
  std::vector<ValuePtr> strides_of_part(const BlockPart &part, const ValuePtr &first,
                                        const ExternFunction &external);
  std::vector<ValuePtr> extents_of_part(const BlockPart &part);
  /// Loops over the part around what `body` writes, which is given the coordinates.
  void loops_over_part(const BlockPart &part,
                       const std::function<void(const std::vector<ExprPtr> &)> &body);
  /// Gives `to` the values of `from`, unless it lies there.
  void copy_part(const BlockPart &from, const BlockPart &to);
  void check_without_gaps(const BlockPart &part, const std::vector<ValuePtr> &extents,
                          const std::vector<ValuePtr> &strides, const ExternFunction &external);
  /// Says to who asks later which elements a call touches: they stand in loops that never run.
  void show_accesses(const std::vector<BlockPart> &reads, const std::vector<BlockPart> &written,
                     const ValuePtr &code);
  ValuePtr translate_reduce(const ExprPtr &expr);
  ValuePtr translate_argument_reduce(const ExprPtr &expr);
  const std::vector<ValuePtr> &translate_while(const ExprPtr &expr);
  const std::vector<ValuePtr> &translate_fold(const Expr &fold);
  using States = std::vector<std::shared_ptr<const Local>>;
  /// Locals for `states`, with their initial values.
  States declare_states(const std::vector<ExprPtr> &states, const std::vector<ValuePtr> &initial);
  /// All take their next values at once.
  void assign_states(const States &states, const std::vector<ExprPtr> &values);
  /// What `body` writes; values computed in it are forgotten, as it may not run.
  StmtPtr scoped(const std::function<void()> &body);
  void guarded(std::span<const ExprPtr> conjuncts, const std::function<void()> &body);
  /// Opens loops over the reduced iterators around what `body` writes.
  void reduce_loops(const Expr &reduce, const std::function<void()> &body);
  ValuePtr checked_subscript(const Expr &access, size_t dimension, const ValuePtr &value);
  ValuePtr checked_from_zero(const Expr &access, size_t dimension, const ValuePtr &value);
  ValuePtr translate_checked(const Expr &expr);
  /// `value` behind a check that it is at least 0 and below `upper`, unless that is known.
  ValuePtr checked_below(const ValuePtr &value, const ValuePtr &upper, IndexSite site);
  /// The parts of a conjunction that do not hold in all instances anyway: null where all do.
  ExprPtr undecided_part(const ExprPtr &condition);
  bool is_affine(const ExprPtr &expr) const;
  bool always_readable(const ExprPtr &expr);
  /// Can it be computed without statements, because that is so anywhere or what it reads was read?
  bool is_at_hand(const ExprPtr &expr);
  bool can_choose(const ValuePtr &condition, const LoopStatement &first,
                  const LoopStatement &second);
  bool is_overwritten(const Load &read);
  bool always_in_bounds(const Expr &access) const;
  /// See joined_read; null where each read is looked at.
  const Expr *joined(const Expr &choice) const;
  StmtPtr branch(const ExprPtr &value, std::int64_t local, const std::string &name);
  void count_uses(const ExprPtr &root);
  /// The same value with fewer operations, where it is a large sum of indices.
  ExprPtr flat(const ExprPtr &expr);

  TranslationState &state_;
  const Statement &statement_;
  Frame frame_;
  std::map<std::string, ExprPtr> outer_loops_;
  std::unordered_map<const Expr *, int> uses_;
  std::unordered_set<const Expr *> certain_sums_;
  ComputedParts computed_parts_;
  std::unordered_map<const Expr *, ExprPtr> flat_;
  std::vector<ExprPtr> undecided_;   ///< kept: values are remembered by their address
  std::vector<ExprPtr> coordinates_; ///< kept, too: of elements of parts
  std::int64_t translations_ = 0;
  std::unordered_map<const Expr *, ValuePtr> states_; ///< of the while loops and folds around
  bool is_traced_ = false;
  int nesting_ = 0; ///< branches and loops inside the instance around what is translated
  std::vector<TracedRead> traced_;
  std::shared_ptr<const Local>
      tainted_; ///< a local: some read inside a branch or loop was no number
  std::vector<StmtPtr> prologue_;
};

/// An expression over parameters only.
ValuePtr translate_parameters(const ExprPtr &expr, const Program &program);

} // namespace tilewright
