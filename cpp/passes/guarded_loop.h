// A loop and the tests around the work in it. Level by level (statements, then a test or the next
// loop) what is the same in all iterations leaves the loop, as far as nothing is evaluated that no
// iteration would evaluate, and nothing fails that would not fail first. What is done with the
// other tests is the pass's business: lift_guards leaves them, tighten_guards makes bounds of them.
// An iteration that only fills memory of its own, for work that it does not come to, is left out.
#pragma once

#include "loops/enclosing_loops.h"
#include "loops/traverse.h"

#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace tilewright {

class GuardedLoop {
public:
  /// `around` knows the loops around `loop`, and is told of those that it looks into.
  /// `changed`: the buffers that the code around writes to anywhere.
  GuardedLoop(const For &loop, EnclosingLoops &around, const std::set<std::int64_t> &changed);
  virtual ~GuardedLoop() = default;
  GuardedLoop(const GuardedLoop &) = delete;
  GuardedLoop &operator=(const GuardedLoop &) = delete;

protected:
  /// Statements taken out of the loop at one level, and tests that are the same in all iterations.
  struct Layer {
    ValuePtr runs; ///< whether the loop comes to this level
    std::vector<StmtPtr> hoisted;
    std::vector<ValuePtr> guards;
  };

  /// Takes out of the loop what may leave it. `through_loops`: tests inside of loops in the body
  /// are looked at, too; such a loop is a test itself, as its body runs only where its lower bound
  /// is below its upper one.
  void open(bool through_loops);
  /// What a pass makes of a test that differs between iterations: true if the loop does not need to
  /// ask it any more.
  virtual bool take(const ValuePtr & /*test*/, Layer & /*layer*/) { return false; }
  /// A statement that has left the loop.
  virtual void note_hoisted(const LoopStatement & /*statement*/) {}
  /// May deeper levels be looked at when all tests of those before are taken?
  virtual bool goes_deeper() const { return true; }
  virtual StmtPtr loop_around(const StmtPtr &body) const;

  /// `own`: locals whose values do not matter.
  bool is_invariant(const ValuePtr &root, const std::set<std::int64_t> &own = {}) const;
  const std::vector<Layer> &layers() const { return layers_; }
  /// What is left of the loop, inside of all that has left it.
  StmtPtr rebuild() const;

  const For &loop_;
  ValuePtr lower_;
  ValuePtr upper_;

private:
  /// Statements, and then what all the rest of an iteration is in: a test, a loop or memory.
  struct Level {
    std::vector<StmtPtr> before;
    std::vector<ValuePtr> conjuncts;
    StmtPtr shell;
  };

  void peel(bool through_loops);
  bool enter(Level &level);
  bool may_leave(const LoopStatement &statement) const;
  std::set<std::int64_t> chosen_once(const Level &level) const;
  bool may_guard(const ValuePtr &test) const;
  bool is_known(const ValuePtr &test) const;
  StmtPtr reported_first(const StmtPtr &statement) const;

  EnclosingLoops &around_;
  const std::set<std::int64_t> &changed_;
  StmtPtr core_; ///< what is inside of all levels
  std::vector<Level> levels_;
  std::vector<Layer> layers_;
  std::vector<std::pair<std::int64_t, ValuePtr>> first_; ///< values in the first iteration of all
  std::set<std::int64_t> inside_;                        ///< variables that differ in iterations
  std::set<std::int64_t> locals_;
  std::set<std::int64_t> assigned_;
  std::set<std::int64_t> stored_;
};

/// `root` with what `change` makes of each loop, innermost first; null leaves it. Loops that run as
/// one with the loop around them are left: nothing may come to stand between the two.
using LoopChange = std::function<StmtPtr(const For &loop, EnclosingLoops &around,
                                         const std::set<std::int64_t> &changed)>;
StmtPtr change_guarded_loops(const StmtPtr &root, const Ranges &known, const LoopChange &change);

} // namespace tilewright
