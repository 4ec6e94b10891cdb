// Calls of a function that a door translated, in the door's own terms: its arguments are not those
// of the kernel. The first call of a kind goes through the door, in Python, which then says how
// such a call is handed to the kernel; calls like it take that way here, without running any Python
// code. What an entry does not say for sure (other types, ranks or equalities of extents, arrays
// that share memory, sizes outside of the kernel's context, constants that have changed) goes to
// the door again. How calls are made can be kept for other processes (kept_kernel.h), which then
// make them without the function; one that is asked for later takes their place.
#pragma once

#include "bindings/kept_kernel.h"

#include <llvm/ADT/SmallVector.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tilewright {

/// What is the same of an argument in all calls of a kind.
struct KnownArgument {
  /// How the elements of an array follow each other in memory.
  enum class Order : std::uint8_t {
    Any,
    Plain,  ///< not as those of a transposed array
    Turned, ///< so: what the kernel gets is the array with its axes reversed
  };
  enum class Kind {
    Array,    ///< an ndarray of this type and rank
    Integer,  ///< of this Python type
    Number,   ///< of this Python type, handed on as it is
    Constant, ///< this very value
  } kind = Kind::Constant;
  pybind11::object value; ///< the type; of a constant the value, of an array the descriptor
  bool is_single = false; ///< a float that has to fit single precision
  int rank = 0;
  int item_size = 0;
  int flags = 0; ///< NumPy's, all of which it must have
  /// By axis: a number for each extent, the same for equal ones only; -1: it is 1; below, -2 - n:
  /// it is n. Empty: any.
  std::vector<int> extents;
  Order order = Order::Any;
  int same_as = -1;      ///< the earlier array that it is; else it shares memory with none
  std::int64_t low = 0;  ///< Python's integers from here
  std::int64_t high = 0; ///< to here
};

/// Where the value of a parameter comes from: an integer, the extent of an axis, or nowhere.
struct KnownParameter {
  int argument = -1;
  int axis = -1;
  std::int64_t value = 0;
};

/// A value outside of the function: what a cell holds, or a dictionary under a key.
struct KnownConstant {
  pybind11::object container;
  pybind11::object key;
  pybind11::object value; ///< null: nothing is there
};

/// What a call gives: an argument, or an output of the kernel, as a number of Python's if it is
/// `weak`, with its axes reversed if it is `turned`.
struct KnownResult {
  int argument = -1;
  int output = -1;
  bool weak = false;
  bool turned = false;
};

struct KnownCall {
  std::vector<KnownArgument> arguments;
  std::vector<KnownConstant> constants;
  pybind11::object function; ///< keeps `kernel`
  KernelFunction *kernel = nullptr;
  std::uint64_t version = 0;        ///< of its schedule
  std::shared_ptr<KeptKernel> kept; ///< of an earlier process, in the place of `kernel`
  bool was_used = false;
  std::vector<int> inputs; ///< by input of the kernel: the argument; -1: one that the call makes
  std::vector<KnownParameter> parameters;
  std::vector<std::pair<int, int>> copied; ///< outputs that are copied to arguments
  std::optional<std::vector<KnownResult>> results;
  bool gives_tuple = false;
};

class KnownCalls {
public:
  /// The names of the arguments, and the values of those not given (null: it must be given).
  void describe(std::vector<pybind11::object> names, std::vector<pybind11::object> defaults);
  /// Keeps how a call with these arguments is made. `self` is asked for nothing.
  void remember(const pybind11::tuple &arguments, KnownCall call);
  size_t size() const { return calls_.size(); }
  /// Null where no call was like it. Asks `self`, the door, for its method _function_of, which
  /// takes the arguments, where a kept kernel fails, and tells its method _note_kept of the first
  /// call of one.
  pybind11::object call(PyObject *self, const CallArguments &given);

  // ---- kept_calls.cpp ----
  /// The latest call that was remembered, as plain values; none where it cannot be kept.
  std::optional<pybind11::tuple> plain_latest() const;
  /// A call that an earlier process kept; last, as those of this one are asked first.
  void take_kept(KnownCall call);
  void forget_kept();

  int traverse(visitproc visit, void *argument) const;
  void clear();

private:
  using Values = llvm::SmallVector<PyObject *, 8>;
  bool gather(const CallArguments &given, Values &values) const;

  std::vector<pybind11::object> names_;
  std::vector<pybind11::object> defaults_;
  std::vector<std::shared_ptr<KnownCall>> calls_; ///< the latest first
};

/// What plain_latest() gave. `constants` as in KnownCall; throws what pybind11 throws for values
/// that are something else.
KnownCall kept_call(const pybind11::sequence &plain, std::vector<KnownConstant> constants,
                    const CompileOptions &options);

void bind_known_calls(pybind11::module_ &module);

} // namespace tilewright
