// What one call binds: the caller's objects by argument, the arrays that they are, the values of
// the parameters and where those came from. A call of up to eight arrays needs no heap memory.
#pragma once

#include "bindings/bind_arrays.h"
#include "bindings/shape_plan.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
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
  int constant_tail = 0; ///< so many of the last extents are numbers, by the schedule at hand
  bool is_output = false;
  bool is_field = false; ///< of a structured array: need not be aligned
  /// Output: its computation does not write every element. Input: what it held before is needed, so
  /// that one which a call makes (CallArguments) has to be zeros.
  bool needs_zeros = false;
};

/// Where the value of a parameter came from, for messages.
struct ParameterSource {
  enum class Kind { Unknown, Keyword, Axis, Schedule } kind = Kind::Unknown;
  int argument = 0;
  int axis = 0;
};

/// The arguments as Python hands them over (vectorcall): the values of the keywords follow the
/// positional ones. Borrowed.
struct CallArguments {
  PyObject *const *values = nullptr;
  size_t positional = 0;
  PyObject *names = nullptr; ///< a tuple of strings, or null
  /// The values of all parameters, of a call that is known to give plain arrays and numbers; null
  /// stands for an input that the call makes, of zeros if these are read.
  const std::int64_t *parameters = nullptr;
};

/// The same from a tuple and a dict.
class GatheredArguments {
public:
  GatheredArguments(PyObject *arguments, PyObject *keywords);
  CallArguments arguments() const { return {values_.data(), positional_, names_.ptr(), nullptr}; }

private:
  llvm::SmallVector<PyObject *, 8> values_;
  size_t positional_ = 0;
  pybind11::object names_;
};

class DeviceArray;

/// One array of a call as kernels see it.
struct BoundArray {
  char *data = nullptr;
  int nd = 0;
  const pybind11::ssize_t *dimensions = nullptr;
  const pybind11::ssize_t *strides = nullptr; ///< in bytes
  PyObject *array = nullptr;  ///< the ndarray; null where nothing was given and for a plain number
  PyObject *object = nullptr; ///< what the caller gave: `array`, or what `array` is a view of
  DeviceArray *on_device = nullptr; ///< where `data` is in a device's memory
  bool is_fresh = false;            ///< an input that the call made

  bool is_given() const { return object != nullptr; }
};

/// The arguments of one call.
struct BoundCall {
  llvm::SmallVector<BoundArray, 8> arrays;                 ///< in argument order
  llvm::SmallVector<pybind11::object, 4> owned;            ///< fresh outputs, views and copies
  llvm::SmallVector<std::array<std::byte, 16>, 2> numbers; ///< elements without arrays
  llvm::SmallVector<std::int64_t, 8> parameters;
  llvm::SmallVector<ParameterSource, 8> sources;
  int threads = 0; ///< 0: not given
  bool has_given_outputs = false;
  bool has_given_parameters = false;
  /// Else they are refused, like anything that is not on the host.
  bool takes_device_arrays = false;
  std::uint64_t version = 0; ///< of the schedule that the arguments are bound for

  /// What kernels take: where each array begins.
  llvm::SmallVector<void *, 8> data() const {
    llvm::SmallVector<void *, 8> pointers;
    for (const BoundArray &array : arrays) {
      pointers.push_back(array.data);
    }
    return pointers;
  }
};

/// What a call returns, arrays or numbers: the one output, or a tuple of all. They come behind the
/// `inputs`; `type` says of which type one is.
pybind11::object results_of(const BoundCall &call, size_t inputs,
                            llvm::function_ref<const pybind11::dtype &(size_t)> type);

/// The fields of an ndarray, which is what the caller gave or a view or copy of it.
inline BoundArray bound(PyObject *array, PyObject *object) {
  const auto &fields = array_fields(array);
  return {fields.data, fields.nd, fields.dimensions, fields.strides, array, object, nullptr, false};
}

} // namespace tilewright
