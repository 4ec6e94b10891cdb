// A function with its schedule: the commands given so far, the mapping that they make, what is
// known of its legality, the options it is compiled with, and a number that tells each of these
// states from the others. Free of Python: bindings, front doors, a tuner and C++ tests schedule and
// compile with it. A command that is not legal throws with a witness (analysis/legality.h) and
// changes nothing. In a transaction (scheduling/transaction.h) that is asked once, at its end:
// until then the function is as it was for whoever calls or compiles it.
#pragma once

#include "analysis/legality.h"
#include "compiler/compiler.h"
#include "mapping/mapping.h"
#include "mapping/schedule.h"
#include "scheduling/legal_schedules.h"
#include "scheduling/transaction.h"

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// Thrown where the schedule is no longer the one that was asked about: another thread gave a
/// command meanwhile.
struct ScheduleChanged {};

/// Whether calls whose arrays share memory in some way are safe.
struct SharingVerdict {
  std::optional<Mapping> mapping; ///< legal for such calls, else nothing
  /// The loops as declared, where they run too (when_work) and are legal for such calls.
  std::shared_ptr<const Mapping> declared;
  std::string reason; ///< why it is not
};

/// A parameter whose small values deserve kernels of their own: those below `below`.
struct NarrowSize {
  std::string parameter;
  std::int64_t below = 0;
};

/// What a kernel is compiled for, beside the function's own options.
struct KernelRequest {
  std::vector<ArrayLayout> layouts;      ///< of the arguments: inputs, then outputs
  std::vector<SharedArray> shared;       ///< arrays of the call that share memory
  std::optional<TargetSelection> target; ///< instead of the function's
  /// Parameters that have these values, for which the library schedules anew; without `shared`, and
  /// only of narrow_sizes().
  std::map<std::string, std::int64_t> sizes;
  Instrumentation instrumentation;
};

class ScheduledFunction {
public:
  /// Throws Error(Argument) for an unknown CPU.
  ScheduledFunction(std::shared_ptr<const Function> declared, CompileOptions options);
  /// The same function under the same schedule and options.
  ScheduledFunction(const ScheduledFunction &other);
  ScheduledFunction &operator=(const ScheduledFunction &) = delete;

  // ---- what is scheduled ----
  const Function &declared() const { return *declared_; }
  /// What is scheduled: with reductions isolated (algorithm/isolate_reductions.h), and as inline(),
  /// rfactor() and cache() made it so far; in this thread's transaction, too.
  const Function &function() const;
  /// The mapping; the default one is made when it is first asked for. Throws Error(Schedule) in
  /// this thread's transaction: what its commands have made so far may not be legal.
  const Mapping &mapping() const;
  /// The same, or what the commands of this thread's transaction have made so far: to be looked at,
  /// and not to be run.
  const Mapping &mapping_so_far() const;
  /// The program of `mapping()`, if it was made to ask whether that is legal; else null.
  std::shared_ptr<const LegalProgram> legal_program() const {
    return current_ ? current_->program : nullptr;
  }
  /// Each computation in the loops that it was declared with, one after the other: whether that is
  /// a legal order is not asked.
  Mapping declared_mapping() const { return Mapping(isolated_); }
  /// `mapping_for(sizes)`, or what the default schedule makes of it where that is used.
  Mapping mapping_that_runs(const std::map<std::string, std::int64_t> &sizes = {}) const;
  /// The commands that the default schedule adds to those given; replay() of them takes from here
  /// what the planner made.
  Schedule default_commands(const std::map<std::string, std::int64_t> &sizes) const;
  /// `mapping()` for calls with these sizes, of narrow_sizes(), where the library schedules anew
  /// for them; else `mapping()`.
  Mapping mapping_for(const std::map<std::string, std::int64_t> &sizes) const;
  /// Each input that a schedule overwrites, with the computations stored in its array, in the order
  /// of the function. Asks for no mapping.
  std::vector<std::pair<std::string, std::vector<std::string>>> overwritten() const;
  /// Whether a loop is over the blocks or threads of a GPU. Asks for no mapping.
  bool has_gpu_loops() const;
  /// The parameters that have one value (fix). Asks for no mapping.
  const std::map<std::string, std::int64_t> &fixed() const;

  // ---- commands ----
  /// Those given so far; those of this thread's transaction are the last one.
  std::vector<Command> commands() const;
  /// Asks at once whether it is legal; in this thread's transaction, whether it makes sense. While
  /// another thread has a transaction, Error(Schedule).
  void apply(const Command &command);
  /// These commands instead of those so far. Error(Schedule) in a transaction.
  void replay(const Schedule &schedule);
  /// A mapping that a planner made by these commands, every step of which was found legal: replay()
  /// of them takes it from here.
  void remember(const Schedule &schedule, const Mapping &mapping) const;
  /// The same for a schedule that the library found meanwhile, where nothing has changed since
  /// `version` and no transaction is open; else false. The first command that somebody gives
  /// replaces it, as it replaces the default schedule.
  bool take_found(std::uint64_t version, const Schedule &schedule);

  // ---- transactions ----
  /// Opens a transaction of this thread, or one within it, which joins it. The number ends it.
  std::uint64_t begin(const SourceLocation &where);
  /// The end of a transaction: of the outermost one, the commands become one command, which is
  /// legal, or throws as apply() does, and all of them are forgotten. Any thread may end it.
  void commit(std::uint64_t transaction);
  /// Forgets the commands since begin(); nothing where the transaction is over.
  void roll_back(std::uint64_t transaction);
  /// Before a roll_back() that has to wait for isl's lock: the thread is out of the transaction.
  /// Needs no lock.
  void leave(std::uint64_t transaction) noexcept { transaction_.leave(transaction); }
  /// Error(Schedule) in this thread's transaction. Needs no lock.
  void require_no_transaction() const;
  /// Throws Error(IllegalSchedule) when the default mapping is not legal; asks once.
  void require_legal();
  /// Asks once for each way.
  const SharingVerdict &sharing(const std::vector<SharedArray> &shared);

  // ---- options ----
  const CompileOptions &options() const { return options_; }
  /// Where loops over blocks and threads run from now on.
  void set_target(const TargetSelection &target);
  /// Whether each access is checked from now on.
  void set_check_bounds(bool check);
  /// Whether the library schedules the function: it may, and nobody has given a command.
  bool uses_default_schedule() const;
  /// Where the library schedules the function: the sizes along which its vectors and tiles lie.
  /// Where a call has such a size that is less than a vector, as that of an array of one column or
  /// a batch of one row, other loops than the general ones are vectors.
  std::vector<NarrowSize> narrow_sizes() const;
  /// Reductions that were isolated from the expressions of a function that somebody schedules, of
  /// which no command speaks: the library schedules them. None beside loops of a GPU.
  std::vector<std::string> unscheduled_parts() const;
  /// Those of a compilation for arrays of these layouts.
  CompileOptions options_for(std::vector<ArrayLayout> layouts) const;
  /// Goes up with each change of schedule or options.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // ---- kernels ----
  /// The first half of a compilation (compiler/compiler.h), whose second half, complete(), any
  /// thread may do. Throws ScheduleChanged unless `version` is the current one,
  /// Error(IllegalSchedule) and Error(Schedule) where the mapping, or calls with such shared
  /// arrays, cannot run.
  PreparedKernel prepare(const KernelRequest &request, std::uint64_t version);
  /// Both halves.
  std::shared_ptr<const CompiledKernel> compile(const KernelRequest &request);
  /// Keeps what was found legal for other processes.
  void store_verdicts();

private:
  /// A mapping with the digest of the commands that made it, and what is known of its legality.
  struct State {
    Mapping mapping;
    std::string digest;
    bool is_legal = false;
    std::shared_ptr<const LegalProgram> program; ///< null where nobody had to look at it
  };
  /// The default schedule, once asked for: the same for all copies of a function.
  struct KnownDefault {
    std::shared_ptr<const State> state;
  };
  struct KnownSharing {
    std::vector<SharedArray> shared;
    SharingVerdict verdict;
  };

  LegalSchedules &legal_schedules() const;
  State default_state() const;
  /// The loops as declared, for commands that say anew when everything runs: what the default
  /// schedule is need not be found for them.
  State declared_state() const;
  /// Whether `mapping`, made from there by such commands, is what they make of the default
  /// schedule.
  bool needs_no_default(const Mapping &mapping) const;
  /// After the first command of a schedule. `is_known`, here and below: nothing is asked, since
  /// what further commands make of it is known to be legal.
  State after_first(const Command &command, bool is_known = false) const;
  /// The transaction of this thread begins after the default schedule after all.
  void begin_with_default();
  /// After one more command. Throws where that is not legal.
  State after(const State &state, const Command &command, bool is_known = false) const;
  /// `mapping`, made of that of `state` by one more command, where it is legal.
  State legal_after(const State &state, Mapping mapping, const Command &command,
                    bool is_known = false) const;
  /// The command with what it left out; in a transaction that may need a legal order.
  Command resolved_in_transaction(const Command &command) const;
  void change(State next);
  void remember(State state) const;
  /// What the first commands of a schedule make, as far as it is remembered; nothing is taken of
  /// the default schedule.
  std::optional<std::pair<State, size_t>> remembered(const Schedule &schedule) const;
  /// How many commands at the front make a schedule that is known to be legal.
  size_t known_to_be_legal(const Schedule &schedule) const;
  /// Before a command: what take_found() has set goes. The state before, to return to.
  std::optional<State> leave_found();
  SharingVerdict find_sharing(const std::vector<SharedArray> &shared) const;
  std::shared_ptr<const Mapping> sharing_declared(const std::vector<SharedArray> &shared) const;
  /// The loops as declared, with what the schedule says of parameters; null where they never run.
  std::shared_ptr<const Mapping> declared_loops() const;

  std::shared_ptr<const Function> declared_;
  std::shared_ptr<const Function> isolated_; ///< where every schedule starts
  std::shared_ptr<KnownDefault> default_ = std::make_shared<KnownDefault>();
  CompileOptions options_;
  mutable std::optional<State> current_; ///< not legal where no legal order was found
  mutable std::unique_ptr<LegalSchedules> legal_schedules_;
  mutable std::shared_ptr<const Mapping> declared_loops_; ///< of the schedule, once asked for
  std::list<KnownSharing> sharing_;
  mutable std::list<State> recent_; ///< what the function had, or a planner found; last first
  bool is_found_ = false;           ///< the schedule is the one of take_found()
  OpenTransaction transaction_;
  bool begins_declared_ = false; ///< the transaction, as declared_state() has it
  std::atomic<std::uint64_t> version_{0};
};

/// Whether the length of an axis is a number, where these parameters have one value.
bool is_number(const ExprPtr &extent, const std::map<std::string, std::int64_t> &fixed,
               const std::map<std::string, std::int64_t> &sizes = {});

/// The layouts of row-major arrays without gaps, for all arguments of a function.
std::vector<ArrayLayout> row_major_layouts(const Function &function,
                                           const std::map<std::string, std::int64_t> &fixed = {});

} // namespace tilewright
