// A kernel with all that a call of it has to know, as plain values that outlive the process: its
// key in the cache, the types and extents of its arguments, where outputs lie, and what its
// parameters have to satisfy. So the next process makes such a call without the function: no isl,
// no schedule and no Python. What is kept is what a call that was made showed (known_calls.h);
// whatever is not exactly like it is refused here without a word, and the door makes the function
// to look closer.
#pragma once

#include "bindings/kernel_call.h"

#include <llvm/ADT/ArrayRef.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// constant + sum of coefficient * parameter.
struct LinearExtent {
  std::int64_t constant = 0;
  std::vector<std::pair<int, std::int64_t>> terms;

  /// Nothing where that needs more than 64 bits.
  std::optional<std::int64_t> evaluate(const std::int64_t *parameters) const;
};

class KeptKernel {
public:
  struct Argument {
    ScalarType type;
    std::vector<LinearExtent> extents;
    ArrayLayout layout;    ///< that the kernel is compiled for
    int constant_tail = 0; ///< as ArrayArgument has it
    int stored_in = -1;    ///< of an output: the input whose array it is
    bool is_overwritten = false;
    bool needs_zeros = false;
    pybind11::dtype dtype = {}; ///< follows from `type`
    int item_size = 0;          ///< the same
  };
  /// Makes the function that the kernel is of, to explain what went wrong.
  using FunctionMaker = std::function<pybind11::object()>;

  KeptKernel(std::string name, std::string key, CompileOptions options, size_t inputs,
             std::vector<Argument> arguments, ContextRows context);

  /// Plain values that `from_plain` takes.
  pybind11::tuple plain() const;
  /// Throws what pybind11 throws where `plain` is something else.
  static std::shared_ptr<KeptKernel> from_plain(const pybind11::sequence &plain,
                                                const CompileOptions &options);

  /// Whether it is for so many inputs and parameters, and makes sense in itself.
  bool takes(size_t inputs, size_t parameters) const;
  size_t output_count() const { return arguments_.size() - inputs_; }

  /// The outputs of a call: one, or a tuple of them. Null where the call is none that was kept, or
  /// the cache has the code no more: nothing was done then. An input that is null is made of zeros.
  pybind11::object call(llvm::ArrayRef<PyObject *> inputs, llvm::ArrayRef<std::int64_t> parameters,
                        const FunctionMaker &function);

private:
  bool bind(llvm::ArrayRef<PyObject *> inputs, BoundCall &call) const;
  bool bind_number(size_t argument, PyObject *value, BoundCall &call) const;
  bool make_array(size_t argument, bool zeros, BoundCall &call) const;
  bool has_the_shape(size_t argument, const BoundCall &call) const;
  bool has_the_layout(size_t argument, const BoundCall &call) const;
  /// An array that is written shares no memory with another one, or with itself.
  bool lies_apart(const BoundCall &call) const;
  bool writes_nothing(const BoundCall &call) const;
  std::shared_ptr<const CompiledKernel> loaded();
  pybind11::object outputs(const BoundCall &call) const;

  std::string name_;
  std::string key_;
  CompileOptions options_;
  size_t inputs_ = 0;
  std::vector<Argument> arguments_; ///< inputs, then outputs
  ContextRows context_;
  bool overwrites_ = false;
  std::shared_ptr<const CompiledKernel> kernel_; ///< once it was loaded
};

} // namespace tilewright
