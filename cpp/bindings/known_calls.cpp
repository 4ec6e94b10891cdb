#include "bindings/known_calls.h"

#include "bindings/array_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tilewright {

namespace py = pybind11;

namespace {

using Values = llvm::SmallVector<PyObject *, 8>;

/// So many kinds of calls are kept; each call compares with them one after the other.
constexpr size_t most_calls = 16;

BoundArray array_of(PyObject *value) { return bound(value, value); }

// ---- whether a call is like an earlier one ----

bool has_extents(const KnownArgument &known, const BoundArray &array,
                 llvm::SmallVectorImpl<std::int64_t> &found) {
  for (size_t axis = 0; axis < known.extents.size(); ++axis) {
    const std::int64_t extent = array.dimensions[axis];
    const int number = known.extents[axis];
    if (number < 0) {
      if (extent != (number == -1 ? 1 : -2 - number)) {
        return false;
      }
      continue;
    }
    const auto at = static_cast<size_t>(number);
    if (at < found.size()) {
      if (found[at] != extent) {
        return false;
      }
      continue;
    }
    if (extent == 1 || std::find(found.begin(), found.end(), extent) != found.end()) {
      return false;
    }
    found.push_back(extent);
  }
  return true;
}

/// Do the elements of an array follow each other in memory as those of a transposed one, along the
/// first axis? Doors ask the same (signatures.py).
bool is_turned(const BoundArray &array, int item_size) {
  if (array.nd < 2 || array.strides[0] != item_size) {
    return false;
  }
  for (int axis = 0; axis < array.nd; ++axis) {
    if (array.dimensions[axis] < 2 ||
        (axis > 0 && array.strides[axis] <= array.strides[axis - 1])) {
      return false;
    }
  }
  return true;
}

bool has_order(const KnownArgument &known, const BoundArray &array) {
  using Order = KnownArgument::Order;
  return known.order == Order::Any ||
         is_turned(array, known.item_size) == (known.order == Order::Turned);
}

/// Arrays with their axes reversed, as long as this lives.
class TurnedArrays {
public:
  PyObject *of(PyObject *array) {
    static PyObject *const name = PyUnicode_InternFromString("T");
    auto turned = py::reinterpret_steal<py::object>(PyObject_GetAttr(array, name));
    if (!turned) {
      throw py::error_already_set();
    }
    arrays_.push_back(std::move(turned));
    return arrays_.back().ptr();
  }

private:
  llvm::SmallVector<py::object, 4> arrays_;
};

bool is_array_like(const KnownArgument &known, PyObject *value,
                   llvm::SmallVectorImpl<std::int64_t> &extents) {
  if (Py_TYPE(value) != py::detail::npy_api::get().PyArray_Type_) {
    return false;
  }
  const auto &fields = array_fields(value);
  return fields.nd == known.rank && (fields.flags & known.flags) == known.flags &&
         same_dtype(fields.descr, known.value.ptr()) && has_order(known, array_of(value)) &&
         has_extents(known, array_of(value), extents);
}

/// A Python integer, or one of NumPy's.
bool take_integer(const KnownArgument &known, PyObject *value, std::int64_t &number) {
  if (reinterpret_cast<PyObject *>(Py_TYPE(value)) != known.value.ptr()) {
    return false;
  }
  py::object index;
  if (PyLong_Check(value) == 0) {
    index = py::reinterpret_steal<py::object>(PyNumber_Index(value));
    if (!index) {
      PyErr_Clear();
      return false;
    }
    value = index.ptr();
  }
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0 && number >= known.low && number <= known.high;
}

/// A number that its input takes without an error.
bool is_number_like(const KnownArgument &known, PyObject *value) {
  if (reinterpret_cast<PyObject *>(Py_TYPE(value)) != known.value.ptr()) {
    return false;
  }
  if (PyLong_CheckExact(value) != 0) {
    int overflow = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0 && number >= known.low && number <= known.high;
  }
  return !known.is_single || PyFloat_CheckExact(value) == 0 ||
         std::abs(PyFloat_AS_DOUBLE(value)) <= std::numeric_limits<float>::max();
}

bool is_constant(const KnownArgument &known, PyObject *value) {
  if (value == known.value.ptr()) {
    return true;
  }
  return PyUnicode_CheckExact(value) != 0 && PyUnicode_CheckExact(known.value.ptr()) != 0 &&
         PyUnicode_Compare(value, known.value.ptr()) == 0;
}

/// Arrays share memory as they did: the very same array, or none.
bool memory_is_alike(const KnownCall &call, const Values &values) {
  llvm::SmallVector<std::pair<BoundArray, ByteSpan>, 8> seen;
  for (size_t i = 0; i < values.size(); ++i) {
    const KnownArgument &known = call.arguments[i];
    if (known.kind != KnownArgument::Kind::Array) {
      continue;
    }
    const BoundArray array = array_of(values[i]);
    if (known.same_as >= 0) {
      if (!same_elements(array, array_of(values[static_cast<size_t>(known.same_as)]))) {
        return false;
      }
      continue;
    }
    const ByteSpan span = span_of(array, known.item_size);
    for (const auto &[other, others] : seen) {
      if (spans_overlap(array.data, span, other.data, others)) {
        return false;
      }
    }
    seen.emplace_back(array, span);
  }
  return true;
}

bool constants_are_there(const KnownCall &call) {
  return std::all_of(call.constants.begin(), call.constants.end(),
                     [](const KnownConstant &constant) {
                       PyObject *container = constant.container.ptr();
                       if (PyCell_Check(container) != 0) {
                         return PyCell_GET(container) == constant.value.ptr();
                       }
                       PyObject *found = PyDict_GetItemWithError(container, constant.key.ptr());
                       PyErr_Clear();
                       return found == constant.value.ptr();
                     });
}

bool is_like(const KnownCall &call, const Values &values,
             llvm::SmallVectorImpl<std::int64_t> &integers) {
  if (values.size() != call.arguments.size()) {
    return false;
  }
  llvm::SmallVector<std::int64_t, 8> extents;
  integers.assign(values.size(), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const KnownArgument &known = call.arguments[i];
    switch (known.kind) {
    case KnownArgument::Kind::Array:
      if (!is_array_like(known, values[i], extents)) {
        return false;
      }
      break;
    case KnownArgument::Kind::Integer:
      if (!take_integer(known, values[i], integers[i])) {
        return false;
      }
      break;
    case KnownArgument::Kind::Number:
      if (!is_number_like(known, values[i])) {
        return false;
      }
      break;
    case KnownArgument::Kind::Constant:
      if (!is_constant(known, values[i])) {
        return false;
      }
      break;
    }
  }
  return memory_is_alike(call, values) && constants_are_there(call);
}

// ---- the call ----

py::object number_of_python(const py::object &number) {
  static PyObject *const name = PyUnicode_InternFromString("item");
  auto item = py::reinterpret_steal<py::object>(
      PyFloat_Check(number.ptr()) != 0 ? PyFloat_FromDouble(PyFloat_AS_DOUBLE(number.ptr()))
                                       : PyObject_CallMethodNoArgs(number.ptr(), name));
  if (!item) {
    throw py::error_already_set();
  }
  return item;
}

/// `turned`: the arguments as the kernel got them.
py::object results_of(const KnownCall &call, const Values &values, const Values &turned,
                      const py::object &outputs) {
  const auto output = [&](int number) {
    return PyTuple_CheckExact(outputs.ptr()) != 0
               ? py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(outputs.ptr(), number))
               : outputs;
  };
  for (const auto &[number, argument] : call.copied) {
    if (PyObject_SetItem(turned[static_cast<size_t>(argument)], Py_Ellipsis,
                         output(number).ptr()) != 0) {
      throw py::error_already_set();
    }
  }
  if (!call.results) {
    return py::none();
  }
  const auto one = [&](const KnownResult &result) -> py::object {
    if (result.argument >= 0) {
      return py::reinterpret_borrow<py::object>(values[static_cast<size_t>(result.argument)]);
    }
    if (result.turned) {
      return output(result.output).attr("T");
    }
    return result.weak ? number_of_python(output(result.output)) : output(result.output);
  };
  if (!call.gives_tuple) {
    return one(call.results->front());
  }
  py::tuple all(call.results->size());
  for (size_t i = 0; i < call.results->size(); ++i) {
    all[i] = one((*call.results)[i]);
  }
  return all;
}

py::tuple tuple_of(const Values &values) {
  py::tuple all(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    all[i] = py::handle(values[i]);
  }
  return all;
}

/// Null where the kernel is for other sizes, or another schedule.
py::object run(PyObject *self, KnownCall &call, const Values &values,
               const llvm::SmallVectorImpl<std::int64_t> &integers) {
  if (call.kept == nullptr &&
      (call.kernel->version() != call.version || call.kernel->runs_on_device())) {
    return {};
  }
  TurnedArrays arrays;
  Values reversed;
  for (size_t i = 0; i < values.size(); ++i) {
    if (call.arguments[i].order == KnownArgument::Order::Turned) {
      if (reversed.empty()) {
        reversed = values;
      }
      reversed[i] = arrays.of(values[i]);
    }
  }
  const Values &turned = reversed.empty() ? values : reversed;
  Values inputs;
  for (const int argument : call.inputs) {
    inputs.push_back(argument < 0 ? nullptr : turned[static_cast<size_t>(argument)]);
  }
  llvm::SmallVector<std::int64_t, 8> parameters;
  for (const KnownParameter &parameter : call.parameters) {
    const auto argument = static_cast<size_t>(parameter.argument);
    parameters.push_back(parameter.argument < 0 ? parameter.value
                         : parameter.axis < 0
                             ? integers[argument]
                             : array_fields(values[argument]).dimensions[parameter.axis]);
  }
  if (call.kept == nullptr) {
    const py::object outputs =
        call.kernel->call_known({inputs.data(), inputs.size(), nullptr, parameters.data()});
    return outputs ? results_of(call, values, turned, outputs) : py::object();
  }
  const py::object outputs = call.kept->call(
      inputs, parameters, [&] { return py::handle(self).attr("_function_of")(*tuple_of(values)); });
  if (!outputs) {
    return {};
  }
  if (!call.was_used) {
    call.was_used = true;
    py::handle(self).attr("_note_kept")(*tuple_of(values));
  }
  return results_of(call, values, turned, outputs);
}

} // namespace

void KnownCalls::describe(std::vector<py::object> names, std::vector<py::object> defaults) {
  names_ = std::move(names);
  for (py::object &name : names_) { // as those are that stand in a call
    PyObject *interned = name.release().ptr();
    PyUnicode_InternInPlace(&interned);
    name = py::reinterpret_steal<py::object>(interned);
  }
  defaults_ = std::move(defaults);
}

/// The values of all arguments, in their order.
bool KnownCalls::gather(const CallArguments &given, Values &values) const {
  if (given.positional > names_.size()) {
    return false;
  }
  values.assign(given.values, given.values + given.positional);
  values.resize(names_.size(), nullptr);
  const auto count = given.names == nullptr ? 0 : PyTuple_GET_SIZE(given.names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *key = PyTuple_GET_ITEM(given.names, i);
    const auto same = [&](const py::object &name) { return name.ptr() == key; };
    auto found = std::find_if(names_.begin(), names_.end(), same);
    if (found == names_.end()) { // a name that was made, as those of a dictionary may be
      found = std::find_if(names_.begin(), names_.end(), [&](const py::object &name) {
        return PyUnicode_Compare(name.ptr(), key) == 0;
      });
    }
    if (found == names_.end()) {
      return false;
    }
    PyObject *&place = values[static_cast<size_t>(found - names_.begin())];
    if (place != nullptr) {
      return false;
    }
    place = given.values[given.positional + static_cast<size_t>(i)];
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == nullptr) {
      values[i] = defaults_[i].ptr();
    }
    if (values[i] == nullptr) {
      return false;
    }
  }
  return true;
}

py::object KnownCalls::call(PyObject *self, const CallArguments &given) {
  Values values;
  if (calls_.empty() || !gather(given, values)) {
    return {};
  }
  llvm::SmallVector<std::int64_t, 8> integers;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const std::shared_ptr<KnownCall> known = calls_[i]; // other threads may change the list
    if (!is_like(*known, values, integers)) {
      continue;
    }
    if (i != 0 && known->kept == nullptr) {
      std::rotate(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(i),
                  calls_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    if (py::object result = run(self, *known, values, integers)) {
      return result;
    }
  }
  return {};
}

void KnownCalls::remember(const py::tuple &arguments, KnownCall call) {
  Values values;
  for (const py::handle value : arguments) {
    values.push_back(value.ptr());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    KnownArgument &known = call.arguments[i];
    if (known.kind != KnownArgument::Kind::Array) {
      continue;
    }
    const BoundArray array = array_of(values[i]);
    const ByteSpan span = span_of(array, known.item_size);
    for (size_t j = 0; j < i && known.same_as < 0 && span.low != span.high; ++j) {
      if (call.arguments[j].kind == KnownArgument::Kind::Array &&
          call.arguments[j].rank == known.rank &&
          same_dtype(call.arguments[j].value.ptr(), known.value.ptr()) &&
          same_elements(array, array_of(values[j]))) {
        known.same_as = static_cast<int>(j);
      }
    }
  }
  llvm::SmallVector<std::int64_t, 8> integers;
  if (call.kernel->runs_on_device() || !is_like(call, values, integers)) {
    return; // nor would the next call be
  }
  // Of an earlier schedule of the kernel nothing is left, and of one kind of calls one.
  std::erase_if(calls_, [&](const std::shared_ptr<KnownCall> &known) {
    const bool is_stale = known->kept == nullptr && known->version != call.version;
    return (known->kept != nullptr || known->kernel == call.kernel) &&
           (is_stale || is_like(*known, values, integers));
  });
  if (calls_.size() == most_calls) {
    calls_.pop_back();
  }
  calls_.insert(calls_.begin(), std::make_shared<KnownCall>(std::move(call)));
}

int KnownCalls::traverse(visitproc visit, void *arg) const {
  for (const auto &call : calls_) {
    Py_VISIT(call->function.ptr());
    for (const KnownArgument &argument : call->arguments) {
      Py_VISIT(argument.value.ptr());
    }
    for (const KnownConstant &constant : call->constants) {
      Py_VISIT(constant.container.ptr());
      Py_VISIT(constant.key.ptr());
      Py_VISIT(constant.value.ptr());
    }
  }
  for (const py::object &value : defaults_) {
    Py_VISIT(value.ptr());
  }
  return 0;
}

void KnownCalls::clear() {
  const auto calls = std::move(calls_);
  calls_.clear();
  const auto defaults = std::move(defaults_);
  defaults_.assign(names_.size(), py::object());
}

} // namespace tilewright
