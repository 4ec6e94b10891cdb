// A callable function: binds arrays and numbers to arguments, solves and checks the parameters from
// the shapes, allocates outputs, picks the kernel compiled for the arrays' layout (compiling it at
// first use) and runs it without the GIL. The road taken by a correct call makes no Python call;
// everything wrong ends in call_errors.h, which explains.
#pragma once

#include "algorithm/evaluator.h"
#include "algorithm/size_parameters.h"
#include "bindings/call_arguments.h"
#include "bindings/call_plan.h"
#include "compiler/compiler.h"
#include "mapping/mapping.h"
#include "scheduling/scheduled_function.h"

#include <llvm/ADT/SmallVector.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

class Device;
class InterruptibleCall;
class KeptKernel;
struct PreparedCall;

class KernelFunction {
public:
  explicit KernelFunction(std::shared_ptr<ScheduledFunction> scheduled);
  KernelFunction(const KernelFunction &) = delete;
  KernelFunction &operator=(const KernelFunction &) = delete;

  /// f(*arguments, **keywords). Throws.
  pybind11::object call(const CallArguments &given) {
    return with_one_schedule([&] { return call_once(given); });
  }
  /// The same of a call that gives all parameters (see known_calls.h). Null, and nothing is done,
  /// where they are not for this kernel, or its schedule changes meanwhile.
  pybind11::object call_known(const CallArguments &given);
  /// Of the schedule that calls are for; of one that stands for another function's, of both.
  std::uint64_t version() const {
    return version_ + (stands_for_ != nullptr ? stands_for_->version_ : 0);
  }
  /// Calls are known to be for this function until the schedule of the other one changes, too,
  /// which lives as long.
  void stand_for(const KernelFunction &other) { stands_for_ = &other; }
  // ---- prepared_call.cpp ----
  /// Runs a call that is like an earlier one but for these arrays. False where it is not alike:
  /// nothing was done then.
  bool call_again(const PreparedCall &prepared, PyObject *const *given);
  /// Learns from a call what later ones have in common with it.
  void remember(PreparedCall &prepared, PyObject *const *given);
  /// Whether loops are over the blocks and threads of a GPU, and that is where they run.
  bool runs_on_device() const { return on_device_; }
  /// The same by the evaluator, which knows no schedule.
  pybind11::object evaluate(const CallArguments &given);
  /// Compiles for the layout of the given arrays; without arguments for row-major ones.
  pybind11::object compile_for(const CallArguments &given) {
    return with_one_schedule([&] { return compile_once(given); });
  }
  /// The loops after each pass for the layout of the given arrays; without arguments for row-major
  /// ones: (name, milliseconds, whether it changed them, text).
  pybind11::object passes_for(const CallArguments &given) {
    return with_one_schedule([&] { return passes_once(given); });
  }
  /// The first instance, in the order of the schedule, of one computation (empty: of any) whose
  /// value is NaN (or infinite) although nothing it reads is: what Python makes a report of, or
  /// None.
  pybind11::object trace(const std::string &computation, bool infinities,
                         const CallArguments &given) {
    return with_one_schedule([&] { return trace_once(computation, infinities, given); });
  }
  /// Runs a kernel that takes the time of each outermost loop nest, `repeats` times after a first
  /// one: times, and what each nest does at these sizes.
  pybind11::object profile(int repeats, const CallArguments &given) {
    return with_one_schedule([&] { return profile_once(repeats, given); });
  }
  /// The shape of each output of such a call.
  std::vector<std::vector<std::int64_t>> output_shapes(const CallArguments &given) const;

  /// What is called. Only with isl's lock: an analysis in another thread may change it.
  ScheduledFunction &scheduled() const { return *scheduled_; }
  const Function &function() const { return scheduled_->declared(); }

  /// One more command: checked for sense and legality; nothing changes when it throws.
  void apply(const Command &command);
  void replay(const Schedule &schedule);
  /// Where nothing has changed since `version`; else false.
  bool take_found(std::uint64_t version, const Schedule &schedule);
  /// A transaction of commands (scheduling/scheduled_function.h).
  std::uint64_t begin(const SourceLocation &where);
  void commit(std::uint64_t transaction);
  /// Waits for nobody, and throws nothing.
  void roll_back(std::uint64_t transaction) const noexcept;
  void set_target(const TargetSelection &target);
  void set_check_bounds(bool check);
  /// The mapping; the default one is made when it is first asked for. Throws where there is no
  /// legal order.
  const Mapping &mapping() const { return scheduled_->mapping(); }
  Mapping mapping_that_runs(const std::map<std::string, std::int64_t> &sizes = {}) const;
  /// For row-major arrays.
  CompileOptions default_options() const {
    return scheduled_->options_for(row_major_layouts(function(), scheduled_->fixed()));
  }
  /// Throws Error(IllegalSchedule) when the default mapping is not legal; asks once.
  void require_checked();
  // ---- kept_kernel.cpp ----
  /// The kernel of the latest call with what calls of it have to know; null where that is more than
  /// can be kept.
  std::shared_ptr<KeptKernel> kept_kernel() const;

  /// What Python is told of a compilation.
  static pybind11::dict compile_info(const CompiledKernel &kernel);
  /// None before the first compilation.
  pybind11::object last_compile_info() const;
  /// Whether better code of a compiled kernel is being made; whether all run the best there is.
  bool is_pending() const;
  bool is_full() const;
  /// On how many threads calls run that do not say; 0: as many as num_threads() says.
  int threads() const { return threads_; }
  void set_threads(int threads) { threads_ = threads; }
  const std::vector<ArrayArgument> &arguments() const { return arguments_; }
  size_t input_count() const { return inputs_; }

private:
  /// Does it again where the schedule changed on the way.
  template <class Work>
  pybind11::object with_one_schedule(const Work &work) {
    scheduled_->require_no_transaction();
    while (true) {
      try {
        return work();
      } catch (const ScheduleChanged &) {
        follow_schedule();
      }
    }
  }
  pybind11::object call_once(const CallArguments &given);
  pybind11::object compile_once(const CallArguments &given);
  pybind11::object passes_once(const CallArguments &given);
  /// Of the given arrays, and row-major where none is given; `version` of the schedule that the
  /// arguments were bound to.
  KernelCase case_of(const CallArguments &given, std::uint64_t &version);
  pybind11::object trace_once(const std::string &computation, bool infinities,
                              const CallArguments &given);
  pybind11::object profile_once(int repeats, const CallArguments &given);

  struct CompiledEntry {
    KernelCase what;
    std::shared_ptr<const CompiledKernel> kernel;
  };
  // ---- kernel_schedule.cpp ----
  /// What calls ask of the schedule, if it has changed; the kernels for the old one go.
  void follow_schedule();

  // ---- bind_call.cpp: what the caller gave ----
  /// Everything but the parameters, shapes and outputs that are not given.
  void bind_arguments(const CallArguments &given, BoundCall &call) const;
  /// The same where all parameters are given: false where they are not in the context.
  bool bind_known(const CallArguments &given, BoundCall &call) const;
  /// Whether all arrays have the shapes that the parameters say.
  bool has_known_shapes(const BoundCall &call) const;
  PyObject *bind_keyword(PyObject *key, PyObject *value, BoundCall &call) const;
  void bind_parameter(size_t parameter, PyObject *value, BoundCall &call) const;
  void bind_threads(PyObject *value, BoundCall &call) const;
  void bind_outputs(PyObject *out, BoundCall &call) const;
  void open_array(size_t argument, PyObject *object, BoundCall &call) const;
  bool open_scalar(size_t argument, PyObject *object, BoundCall &call) const;
  void adopt_array(size_t argument, PyObject *object, BoundCall &call) const;
  void solve_shapes(BoundCall &call) const;
  void solve(BoundCall &call) const;
  void solve_axis(const SolveStep &step, BoundCall &call) const;
  void check_shapes(const BoundCall &call) const;
  /// Gives parameters that nothing gave the values at which the schedule fixes them: whether there
  /// were such.
  bool take_fixed(BoundCall &call) const;
  /// Refuses other values of parameters that the schedule fixes.
  void require_fixed(const BoundCall &call) const;
  /// No written array has elements.
  bool writes_nothing(const BoundCall &call) const;

  // ---- call_outputs.cpp: where results go, and what they may share ----
  /// Sixteen zero bytes for an element without an array.
  char *new_number(BoundCall &call) const;
  void make_output(size_t argument, const std::int64_t *shape, bool zeros, BoundCall &call) const;
  void make_outputs(BoundCall &call, bool zeros) const;
  /// Zeros for an input that nobody gave.
  void make_input(size_t argument, BoundCall &call) const;
  /// Outputs that are stored in an input's array are that array.
  void place_in_inputs(BoundCall &call) const;
  bool is_written(size_t argument, const BoundCall &call) const;
  void require_apart_in_themselves(const BoundCall &call) const;
  Overlaps find_overlaps(const CallPlan &plan, const BoundCall &call) const;
  /// How arrays that share memory with written ones lie in each other; throws where they lie in no
  /// way that can be told.
  std::vector<SharedArray> shared_arrays(const BoundCall &call) const;
  void copy_overlapping_inputs(BoundCall &call) const;
  pybind11::object results(const BoundCall &call) const;

  // ---- device_call.cpp: where loops are over the blocks and threads of a GPU ----
  bool adopt_device_array(size_t argument, PyObject *object, BoundCall &call) const;
  /// bind_arguments for such a call, with the outputs that lie in inputs.
  void bind_for_device(const CallArguments &given, BoundCall &call) const;
  pybind11::object call_on_device(const CallArguments &given);
  pybind11::object compile_for_device(const CallArguments &given);
  /// Where a call runs: where its device arrays are, else the first device.
  Device &device_of(const BoundCall &call) const;
  /// What code for the device is made for.
  TargetSelection target_of(const Device &device) const;
  std::shared_ptr<CallPlan> make_device_plan(BoundCall &call);
  void make_device_outputs(const CallPlan &plan, Device &device, BoundCall &call) const;
  /// Inputs that share memory with what is written are copied.
  void separate_device_inputs(BoundCall &call) const;
  /// What a profiled call copies to the device and back, in nanoseconds, by argument; 0 for arrays
  /// that are there.
  struct CopyTimes {
    std::vector<std::int64_t> in;
    std::vector<std::int64_t> out;
  };
  /// Copies what is on the host, runs, and copies back. Without the GIL. With `times`, launches
  /// wait.
  std::int32_t run_on_device(const CompiledKernel &kernel, const CallPlan &plan,
                             const BoundCall &call, Device &device, CallRecord &record,
                             CopyTimes *times = nullptr) const;
  pybind11::object profile_on_device(int repeats, const CallArguments &given);
  /// Tells the logger which arrays such calls copy to the device or back.
  void note_copies(const BoundCall &call, const Device &device) const;

  // ---- kernel_call.cpp ----
  std::map<std::string, std::int64_t> parameters_of(const BoundCall &call) const;
  std::map<std::string, ArrayView> views_of(const BoundCall &call, bool outputs) const;
  /// The first read outside its array, by the evaluator.
  std::optional<FailingRead> failing_read(BoundCall &call) const;
  /// The sizes of such a call for which it has a kernel of its own; none of small arrays.
  std::map<std::string, std::int64_t> sizes_of(const BoundCall &call) const;
  /// So many of the last extents are numbers, with these.
  int constant_tail(size_t argument, const std::map<std::string, std::int64_t> &sizes) const;
  Layouts layouts_of(const BoundCall &call, const std::map<std::string, std::int64_t> &sizes) const;
  /// Also makes the outputs that are not given.
  std::shared_ptr<CallPlan> make_plan(BoundCall &call);
  /// The case that a call is, unless its arrays share memory.
  KernelCase case_of(const CallPlan &plan) const {
    return {plan.layouts_of_sizes, scheduled_->options().target, {}, plan.sizes};
  }
  std::shared_ptr<const CompiledKernel> find_kernel(const KernelCase &what) const;
  std::shared_ptr<const CompiledKernel> make_kernel(const KernelCase &what, std::uint64_t version);
  /// The one that there is, or else a new one.
  std::shared_ptr<const CompiledKernel> find_or_make(const KernelCase &what,
                                                     std::uint64_t version) {
    const std::shared_ptr<const CompiledKernel> found = find_kernel(what);
    return found != nullptr ? found : make_kernel(what, version);
  }
  /// Compiles, with the lock only where it is needed. Throws ScheduleChanged where `version` is
  /// over.
  std::shared_ptr<const CompiledKernel> compile_kernel(const KernelRequest &request,
                                                       std::uint64_t version);
  /// Runs a kernel that takes times so often, after a first run: its nests, what they do, and times
  /// in nanoseconds. `run` is told its number, -1 the first time.
  pybind11::dict profile_runs(const CompiledKernel &kernel, const BoundCall &call, int repeats,
                              InterruptibleCall &record,
                              const std::function<std::int32_t(int)> &run);
  // watch_call.cpp
  /// The kernel that watches such a call.
  std::shared_ptr<const CompiledKernel> watching_kernel(const CallPlan &plan, const BoundCall &call,
                                                        const Instrumentation &asked);
  /// Why calls whose arrays share memory in this way are not safe; nothing where they are.
  std::optional<std::string> reason_against(const std::vector<SharedArray> &shared);
  /// The kernel for arrays that share memory; null where they are only neighbours.
  std::shared_ptr<const CompiledKernel> sharing_kernel(const CallPlan &plan, const BoundCall &call);

  friend class CallExplainer;

  std::shared_ptr<ScheduledFunction> scheduled_; ///< freed with isl's lock
  /// Of the schedule that the fields below are for; none that there is before the first.
  std::uint64_t version_ = ~std::uint64_t{0};
  const KernelFunction *stands_for_ = nullptr;
  std::vector<ArrayArgument> arguments_; ///< inputs, then outputs
  size_t inputs_ = 0;
  std::vector<pybind11::object> parameter_names_;
  pybind11::object out_name_;
  pybind11::object threads_name_;
  int threads_ = 0;
  std::vector<SolveStep> steps_;
  bool inputs_solve_all_ = false;
  ContextCheck context_;
  std::vector<SizeParameter> sizes_;
  bool on_device_ = false;
  std::map<std::string, std::int64_t> fixed_; ///< parameters of one value
  bool overwrites_ = false;                   ///< some input
  std::vector<bool> overwritten_; ///< by argument: an input in which something is stored
  std::vector<int> stored_in_;    ///< by argument: the input whose array an output is, or -1
  /// What narrow_sizes() says: the position of a parameter, and below what it is narrow.
  std::vector<std::pair<size_t, std::int64_t>> narrow_;
  std::vector<CompiledEntry> kernels_;
  CallPlans plans_;
  std::shared_ptr<const CompiledKernel> last_compile_;
};

} // namespace tilewright
