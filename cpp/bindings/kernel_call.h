// A callable function: binds NumPy arrays to arguments, solves and checks the parameters from their
// shapes, allocates outputs, picks the kernel compiled for the arrays' layout (compiling it at
// first use) and runs it without the GIL. The road taken by a correct call makes no Python call;
// everything wrong ends in call_errors.h, which explains.
#pragma once

#include "analysis/unchanged.h"
#include "bindings/bind_arrays.h"
#include "bindings/shape_plan.h"
#include "compiler/compiler.h"
#include "mapping/mapping.h"

#include <llvm/ADT/SmallVector.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// An array argument: an input, or an output.
struct ArrayArgument {
  std::string name;
  ScalarType type;
  int item_size = 0;
  pybind11::dtype dtype;
  pybind11::object interned_name;
  std::vector<Extent> extents;
  int constant_tail = 0; ///< so many of the last extents are constants
  bool is_output = false;
  bool is_field = false;    ///< of a structured array: need not be aligned
  bool needs_zeros = false; ///< output: its computation does not write every element
};

/// Where the value of a parameter came from, for messages.
struct ParameterSource {
  enum class Kind { Unknown, Keyword, Axis } kind = Kind::Unknown;
  int argument = 0;
  int axis = 0;
};

/// The bound arguments of one call; without heap memory for up to eight arrays.
struct BoundCall {
  llvm::SmallVector<PyObject *, 8>
      arrays; ///< in argument order; borrowed from the caller or from `owned`
  llvm::SmallVector<pybind11::object, 4> owned; ///< fresh outputs and copies
  llvm::SmallVector<std::int64_t, 8> parameters;
  llvm::SmallVector<ParameterSource, 8> sources;
  llvm::SmallVector<bool, 8> is_fresh; ///< outputs made by the call
  bool has_given_outputs = false;
  bool has_given_parameters = false;
};

/// For each argument the dimension whose stride is one item, or -1: what a kernel is compiled for.
using Layouts = llvm::SmallVector<ArrayLayout, 8>;

class KernelFunction {
public:
  /// `settings` without unit dimensions, which the arrays of a call have. Throws Error(Argument)
  /// for an unknown CPU.
  KernelFunction(std::shared_ptr<const Function> function, CompileOptions settings);
  KernelFunction(const KernelFunction &) = delete;
  KernelFunction &operator=(const KernelFunction &) = delete;

  /// f(*arguments, **keywords); a new reference. Throws.
  pybind11::object call(PyObject *arguments, PyObject *keywords);
  /// The same by the evaluator, which knows no schedule.
  pybind11::object evaluate(PyObject *arguments, PyObject *keywords);
  /// Compiles for the layout of the given arrays; without arguments for row-major ones.
  pybind11::object compile_for(PyObject *arguments, PyObject *keywords);
  /// The shape of each output of such a call.
  std::vector<std::vector<std::int64_t>> output_shapes(PyObject *arguments,
                                                       PyObject *keywords) const;

  /// One more command: checked for sense and legality; nothing changes when it throws.
  void apply(const Command &command);
  void replay(const Schedule &schedule);
  /// The schedule of another object of the same function.
  void take_mapping(const KernelFunction &other);

  const Function &function() const { return *function_; }
  /// What is scheduled: `function`, or what inline() and rfactor() made of it.
  const Function &scheduled_function() const {
    return mapping_ ? mapping_->function() : *function_;
  }
  std::shared_ptr<const Function> shared_function() const { return function_; }
  /// The mapping; the default one is made when it is first asked for. Throws where there is no
  /// legal order.
  const Mapping &mapping() const;
  /// The commands given so far.
  std::vector<Command> commands() const {
    return mapping_ ? mapping_->schedule().commands : std::vector<Command>();
  }
  const CompileOptions &settings() const { return settings_; }
  /// Whether the library schedules the function: nobody has given a command.
  bool uses_default_schedule() const { return current_settings().default_schedule; }
  /// `mapping()`, or what the default schedule makes of it where that is used.
  Mapping mapping_that_runs() const;
  /// For row-major arrays.
  CompileOptions default_options() const;
  /// Throws Error(IllegalSchedule) when the default mapping is not legal; asks once.
  void require_checked();
  /// None before the first compilation.
  pybind11::object last_compile_info() const;
  /// Whether better code of a compiled kernel is being made; whether all run the best there is.
  bool is_pending() const;
  bool is_full() const;
  const std::vector<ArrayArgument> &arguments() const { return arguments_; }
  size_t input_count() const { return inputs_; }
  /// The inputs whose arrays a call overwrites, each with the computations that are stored there.
  std::vector<std::pair<std::string, std::vector<std::string>>> overwritten() const;

private:
  struct CompiledEntry {
    Layouts layouts;
    std::shared_ptr<const CompiledKernel> kernel;
  };

  /// The settings, as long as nobody has given a command with the default schedule.
  CompileOptions current_settings() const;
  void set_mapping(Mapping next, std::shared_ptr<const LegalProgram> legal);
  void bind(PyObject *arguments, PyObject *keywords, BoundCall &call) const;
  void bind_outputs(PyObject *out, BoundCall &call) const;
  void bind_keyword(PyObject *key, PyObject *value, BoundCall &call, PyObject *&out) const;
  void check_array(size_t argument, PyObject *array) const;
  void solve(BoundCall &call) const;
  void solve_axis(const SolveStep &step, BoundCall &call) const;
  void check_shapes(const BoundCall &call) const;
  void make_outputs(BoundCall &call, bool zeros) const;
  void find_overwritten();
  /// Outputs that are stored in an input's array are that array.
  void place_in_inputs(BoundCall &call) const;
  void separate(BoundCall &call, bool in_place) const;
  pybind11::object results(const BoundCall &call) const;
  std::shared_ptr<const CompiledKernel> find_kernel(const Layouts &layouts) const;
  std::shared_ptr<const CompiledKernel> make_kernel(const Layouts &layouts);
  [[noreturn]] void throw_failure(const CompiledKernel &kernel, std::int32_t status,
                                  const KernelFailure &failure) const;

  friend class CallExplainer;

  std::shared_ptr<const Function> function_;
  CompileOptions settings_;
  mutable std::optional<Mapping> mapping_;
  std::uint64_t version_ = 0;
  mutable std::shared_ptr<const LegalProgram>
      legal_;                            ///< of the mapping; null where no legal order was found
  std::vector<ArrayArgument> arguments_; ///< inputs, then outputs
  size_t inputs_ = 0;
  std::vector<pybind11::object> parameter_names_;
  pybind11::object out_name_;
  std::vector<SolveStep> steps_;
  bool inputs_solve_all_ = false;
  ContextCheck context_;
  bool overwrites_ = false;       ///< some input
  std::vector<bool> overwritten_; ///< by argument: an input in which something is stored
  std::vector<int> stored_in_;    ///< by argument: the input whose array an output is, or -1
  std::vector<CompiledEntry> kernels_;
  std::shared_ptr<const CompiledKernel> last_compile_;
};

} // namespace tilewright
