// The slow side of a call: says precisely what is wrong with an argument, by name, with what was
// expected and what was given. Every function here throws.
#pragma once

#include "algorithm/evaluator.h"
#include "bindings/kernel_call.h"

#include <optional>
#include <string>

namespace tilewright {

/// str(object), without what UTF-8 does not have; "?" where it has none.
std::string printable_text(const pybind11::handle &object);

class CallExplainer {
public:
  explicit CallExplainer(const KernelFunction &function) : function_(function) {}

  [[noreturn]] void too_many(size_t given) const;
  [[noreturn]] void missing(const BoundCall &call) const;
  [[noreturn]] void given_twice(const std::string &name) const;
  [[noreturn]] void unexpected_keyword(const std::string &name) const;
  [[noreturn]] void bad_parameter(size_t parameter, PyObject *value) const;
  /// An integer of more than 64 bits.
  [[noreturn]] void large_parameter(size_t parameter, PyObject *value) const;
  /// A size with which loops could leave 64 bits.
  [[noreturn]] void large_size(const SizeParameter &size, const BoundCall &call) const;
  [[noreturn]] void bad_out(PyObject *out) const;
  /// An array that is not one, or of a wrong type, rank, alignment or not writeable.
  [[noreturn]] void bad_array(size_t argument, PyObject *value) const;
  /// A plain number for an input without axes.
  [[noreturn]] void bad_number(size_t argument, PyObject *value, bool is_too_large) const;
  /// Another library's array that cannot be viewed, and one whose own export failed.
  [[noreturn]] void refused_array(size_t argument, PyObject *value, const std::string &why) const;
  [[noreturn]] void failed_array(size_t argument, PyObject *value,
                                 pybind11::error_already_set &error) const;
  /// An input that the schedule overwrites, given as something of which only a copy can be used.
  [[noreturn]] void copied_input(size_t argument, PyObject *value) const;
  [[noreturn]] void unknown_parameter(size_t parameter) const;
  /// The length of an axis from which no parameter value follows.
  [[noreturn]] void unsolvable(const SolveStep &step, const BoundCall &call) const;
  [[noreturn]] void bad_shape(size_t argument, int axis, const BoundCall &call) const;
  [[noreturn]] void bad_context(const BoundCall &call) const;
  /// Another value of a parameter than the one at which the schedule fixes it.
  [[noreturn]] void not_fixed(size_t parameter, std::int64_t value, const BoundCall &call) const;
  /// An array to be made of which NumPy says that there is none: too many bytes or dimensions.
  [[noreturn]] void impossible_output(size_t argument, llvm::ArrayRef<std::int64_t> shape,
                                      const pybind11::error_already_set &error) const;
  [[noreturn]] void overlapping_outputs(size_t a, size_t b) const;
  /// An input that the schedule overwrites.
  [[noreturn]] void read_only_input(size_t argument) const;
  /// out= for an output that is stored in an input.
  [[noreturn]] void other_output(size_t output, size_t input) const;
  [[noreturn]] void self_overlap(size_t argument) const;
  /// A written array and one that is read; `why` they are not safe as they lie, or empty where they
  /// are not the same elements.
  [[noreturn]] void overlapping_input(size_t written, size_t read, const std::string &why) const;
  /// threads= that is no integer, or less than 1.
  [[noreturn]] void bad_threads(PyObject *value) const;
  [[noreturn]] void few_threads(PyObject *value) const;
  /// An access that was watched (check_bounds) and left its memory.
  [[noreturn]] void outside(const IndexSite &site, const KernelFailure &failure) const;
  /// A kernel that ended with a failure.
  /// With the first element that meets it, where that is known.
  [[noreturn]] void failed(const CompiledKernel &kernel, std::int32_t status,
                           const KernelFailure &failure,
                           const std::optional<FailingRead> &first) const;

private:
  /// What a person calls it: "P.x" a field of the structured input P.
  std::string shown(size_t argument) const;
  std::string argument_text(size_t argument) const;
  /// "matmul(A: float32[N, K], B: float32[K, M], *, N=None, out=None)"
  std::string signature() const;
  std::string shape_of(size_t argument) const;
  /// The computations that the schedule stores in an input.
  std::string stored_in(size_t argument) const;
  std::string source_text(int parameter, const BoundCall &call) const;
  std::string sources_text(const std::vector<int> &parameters, const BoundCall &call) const;

  const KernelFunction &function_;
};

} // namespace tilewright
