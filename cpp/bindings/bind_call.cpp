// The first half of a call: which object is which argument, what arrays they are, and which
// parameter values follow from their shapes.
#include "algorithm/convergence.h"
#include "bindings/call_errors.h"
#include "bindings/foreign_arrays.h"
#include "bindings/kernel_call.h"
#include "bindings/scalar_arguments.h"

#include <algorithm>

namespace tilewright {

namespace py = pybind11;

namespace {

bool is_name(PyObject *key, const py::object &name) {
  return key == name.ptr() || PyUnicode_Compare(key, name.ptr()) == 0;
}

/// Reads the fields of all arrays again: what is no plain array may have run code of anybody when
/// it was opened, and that may have given those opened before another shape, type or memory.
void bind_again(const KernelFunction &function, BoundCall &call) {
  for (size_t i = 0; i < call.arrays.size(); ++i) {
    BoundArray &array = call.arrays[i];
    if (array.array == nullptr || array.on_device != nullptr) {
      continue;
    }
    const ArrayArgument &expected = function.arguments()[i];
    const auto &fields = array_fields(array.array);
    if (!same_dtype(fields.descr, expected.dtype.ptr()) ||
        static_cast<size_t>(fields.nd) != expected.extents.size() ||
        !(expected.is_field || is_aligned(array.array)) ||
        (expected.is_output && !is_writeable(array.array))) {
      CallExplainer(function).bad_array(i, array.array);
    }
    array = bound(array.array, array.object);
  }
}

} // namespace

GatheredArguments::GatheredArguments(PyObject *arguments, PyObject *keywords)
    : positional_(static_cast<size_t>(PyTuple_GET_SIZE(arguments))) {
  for (size_t i = 0; i < positional_; ++i) {
    values_.push_back(PyTuple_GET_ITEM(arguments, static_cast<Py_ssize_t>(i)));
  }
  if (keywords == nullptr || PyDict_GET_SIZE(keywords) == 0) {
    return;
  }
  py::tuple names(static_cast<size_t>(PyDict_GET_SIZE(keywords)));
  PyObject *key = nullptr;
  PyObject *value = nullptr;
  Py_ssize_t place = 0;
  for (size_t i = 0; PyDict_Next(keywords, &place, &key, &value) != 0; ++i) {
    names[i] = py::handle(key);
    values_.push_back(value);
  }
  names_ = std::move(names);
}

void KernelFunction::bind_arguments(const CallArguments &given, BoundCall &call) const {
  call.arrays.resize(arguments_.size());
  call.parameters.assign(parameter_names_.size(), 0);
  call.sources.resize(parameter_names_.size());
  if (given.positional > inputs_) {
    CallExplainer(*this).too_many(given.positional);
  }
  for (size_t i = 0; i < given.positional; ++i) {
    call.arrays[i].object = given.values[i];
  }
  PyObject *out = nullptr;
  if (given.names != nullptr) {
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(given.names));
    for (size_t i = 0; i < count; ++i) {
      PyObject *key = PyTuple_GET_ITEM(given.names, static_cast<Py_ssize_t>(i));
      PyObject *result = bind_keyword(key, given.values[given.positional + i], call);
      out = result == nullptr ? out : result;
    }
  }
  for (size_t i = 0; i < inputs_; ++i) {
    if (!call.arrays[i].is_given()) {
      CallExplainer(*this).missing(call);
    }
  }
  for (size_t i = 0; i < inputs_; ++i) {
    open_array(i, call.arrays[i].object, call);
  }
  if (out != nullptr && out != Py_None) {
    bind_outputs(out, call);
  }
  if (!call.owned.empty()) {
    bind_again(*this, call);
  }
  call.version = version_;
}

bool KernelFunction::bind_known(const CallArguments &given, BoundCall &call) const {
  const size_t count = parameter_names_.size();
  if (!context_.holds(given.parameters)) {
    return false;
  }
  call.arrays.resize(arguments_.size());
  call.parameters.assign(given.parameters, given.parameters + count);
  call.sources.assign(count, {ParameterSource::Kind::Keyword});
  call.has_given_parameters = true;
  for (size_t i = 0; i < inputs_; ++i) {
    if (given.values[i] != nullptr) {
      open_array(i, given.values[i], call);
    } else {
      make_input(i, call);
    }
  }
  call.version = version_;
  return true;
}

bool KernelFunction::has_known_shapes(const BoundCall &call) const {
  for (size_t i = 0; i < inputs_; ++i) {
    for (size_t axis = 0; axis < arguments_[i].extents.size(); ++axis) {
      const std::int64_t expected = arguments_[i].extents[axis].evaluate(call.parameters.data());
      if (call.arrays[i].dimensions[axis] != std::max<std::int64_t>(expected, 0)) {
        return false;
      }
    }
  }
  return true;
}

/// Null, or the value of out=.
PyObject *KernelFunction::bind_keyword(PyObject *key, PyObject *value, BoundCall &call) const {
  // Names in source code are interned, so that their addresses tell; others are compared as text.
  const auto matches = [&](const py::object &name, bool as_text) {
    return as_text ? is_name(key, name) : key == name.ptr();
  };
  if (PyUnicode_Check(key) == 0) {
    CallExplainer(*this).unexpected_keyword(printable_text(key));
  }
  for (const bool as_text : {false, true}) {
    if (matches(out_name_, as_text)) {
      return value;
    }
    for (size_t i = 0; i < inputs_; ++i) {
      if (matches(arguments_[i].interned_name, as_text)) {
        if (call.arrays[i].is_given()) {
          CallExplainer(*this).given_twice(arguments_[i].name);
        }
        call.arrays[i].object = value;
        return nullptr;
      }
    }
    for (size_t i = 0; i < parameter_names_.size(); ++i) {
      if (matches(parameter_names_[i], as_text)) {
        bind_parameter(i, value, call);
        return nullptr;
      }
    }
    // Last: an argument of this name is an argument.
    if (matches(threads_name_, as_text)) {
      bind_threads(value, call);
      return nullptr;
    }
  }
  CallExplainer(*this).unexpected_keyword(printable_text(key));
}

void KernelFunction::bind_parameter(size_t parameter, PyObject *value, BoundCall &call) const {
  if (value == Py_None) {
    return;
  }
  if (PyIndex_Check(value) == 0 || PyBool_Check(value) != 0) {
    CallExplainer(*this).bad_parameter(parameter, value);
  }
  const auto integer = py::reinterpret_steal<py::object>(PyNumber_Index(value));
  if (!integer) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
      throw py::error_already_set();
    }
    PyErr_Clear(); // an array with axes, or of floats
    CallExplainer(*this).bad_parameter(parameter, value);
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow != 0) {
    CallExplainer(*this).large_parameter(parameter, integer.ptr());
  }
  call.parameters[parameter] = number;
  call.sources[parameter].kind = ParameterSource::Kind::Keyword;
  call.has_given_parameters = true;
}

void KernelFunction::bind_threads(PyObject *value, BoundCall &call) const {
  if (value == Py_None) {
    return;
  }
  const auto integer = PyIndex_Check(value) == 0 || PyBool_Check(value) != 0
                           ? py::object()
                           : py::reinterpret_steal<py::object>(PyNumber_Index(value));
  if (!integer) {
    if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
      throw py::error_already_set();
    }
    PyErr_Clear();
    CallExplainer(*this).bad_threads(value);
  }
  constexpr long most = 1 << 20; // more make no difference
  int overflow = 0;
  const long number = PyLong_AsLongAndOverflow(integer.ptr(), &overflow);
  if (overflow < 0 || (overflow == 0 && number < 1)) {
    CallExplainer(*this).few_threads(value);
  }
  call.threads = static_cast<int>(overflow > 0 ? most : std::min(number, most));
}

void KernelFunction::bind_outputs(PyObject *out, BoundCall &call) const {
  const size_t count = arguments_.size() - inputs_;
  const auto give = [&](size_t output, PyObject *object) {
    if (object == Py_None) {
      return;
    }
    open_array(output, object, call);
    call.has_given_outputs = true;
  };
  if (PyTuple_Check(out) != 0 || PyList_Check(out) != 0) {
    if (static_cast<size_t>(PySequence_Fast_GET_SIZE(out)) != count) {
      CallExplainer(*this).bad_out(out);
    }
    // A list may change while the kernel runs; opening an array may run Python code.
    const py::tuple items = PyTuple_Check(out) != 0
                                ? py::reinterpret_borrow<py::tuple>(out)
                                : py::tuple(py::reinterpret_borrow<py::list>(out));
    for (size_t i = 0; i < count; ++i) {
      give(inputs_ + i, PyTuple_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)));
    }
    call.owned.push_back(items);
  } else if (PyDict_Check(out) != 0) {
    const auto items = py::reinterpret_steal<py::dict>(PyDict_Copy(out));
    PyObject *key = nullptr;
    PyObject *value = nullptr;
    Py_ssize_t place = 0;
    while (PyDict_Next(items.ptr(), &place, &key, &value) != 0) {
      bool found = false;
      for (size_t i = inputs_; i < arguments_.size() && PyUnicode_Check(key) != 0; ++i) {
        if (is_name(key, arguments_[i].interned_name)) {
          give(i, value);
          found = true;
        }
      }
      if (!found) {
        CallExplainer(*this).bad_out(out);
      }
    }
    call.owned.push_back(items);
  } else if (count == 1) {
    give(inputs_, out);
  } else {
    CallExplainer(*this).bad_out(out);
  }
}

// ---- arrays ----

void KernelFunction::open_array(size_t argument, PyObject *object, BoundCall &call) const {
  const ArrayArgument &expected = arguments_[argument];
  if (Py_TYPE(object) == py::detail::npy_api::get().PyArray_Type_) {
    const auto &fields = array_fields(object);
    if (fields.descr == expected.dtype.ptr() &&
        static_cast<size_t>(fields.nd) == expected.extents.size() &&
        (expected.is_field || is_aligned(object)) &&
        (!expected.is_output || is_writeable(object))) {
      call.arrays[argument] = bound(object, object);
      return;
    }
  }
  adopt_array(argument, object, call);
}

/// A NumPy scalar of the right type.
bool KernelFunction::open_scalar(size_t argument, PyObject *object, BoundCall &call) const {
  const ArrayArgument &expected = arguments_[argument];
  if (!is_numpy_scalar(object) || expected.type.kind == TypeKind::BFloat) {
    return false;
  }
  const auto &api = py::detail::npy_api::get();
  const auto dtype = py::reinterpret_steal<py::object>(api.PyArray_DescrFromScalar_(object));
  if (!dtype || !same_dtype(dtype.ptr(), expected.dtype.ptr())) {
    PyErr_Clear();
    return false;
  }
  char *slot = new_number(call);
  api.PyArray_ScalarAsCtype_(object, slot);
  call.arrays[argument] = {slot, 0, nullptr, nullptr, nullptr, object, nullptr, false};
  return true;
}

/// Everything that is no plain array of the right type: NumPy's subclasses and other dtype objects,
/// numbers, other libraries' arrays, and inputs that have to be copied.
void KernelFunction::adopt_array(size_t argument, PyObject *object, BoundCall &call) const {
  const CallExplainer explain(*this);
  const ArrayArgument &expected = arguments_[argument];
  if (!expected.is_output && expected.extents.empty() && is_plain_number(object)) {
    char *slot = new_number(call);
    const NumberFit fit = store_number(object, expected.type, reinterpret_cast<std::byte *>(slot));
    if (fit != NumberFit::Fits) {
      explain.bad_number(argument, object, fit == NumberFit::Overflow);
    }
    call.arrays[argument] = {slot, 0, nullptr, nullptr, nullptr, object, nullptr, false};
    return;
  }
  if (!expected.is_output && expected.extents.empty() && open_scalar(argument, object, call)) {
    return;
  }
  if (call.takes_device_arrays && adopt_device_array(argument, object, call)) {
    return;
  }
  py::object array;
  bool is_copy = false;
  if (is_array(object)) {
    if (PyObject_HasAttrString(object, "mask") != 0) {
      explain.bad_array(argument, object);
    }
    array = py::reinterpret_borrow<py::object>(object);
  } else {
    try {
      ForeignArray foreign = foreign_array(object);
      array = std::move(foreign.array);
      is_copy = foreign.may_be_a_copy;
    } catch (const RefusedArray &refusal) {
      explain.refused_array(argument, object, refusal.what());
    } catch (py::error_already_set &error) {
      explain.failed_array(argument, object, error);
    }
    if (!array || (is_copy && expected.is_output)) {
      explain.bad_array(argument, object);
    }
  }
  if (!same_dtype(array_fields(array.ptr()).descr, expected.dtype.ptr()) && !expected.is_output) {
    py::object native = in_native_order(array.ptr());
    if (native && same_dtype(array_fields(native.ptr()).descr, expected.dtype.ptr())) {
      array = std::move(native);
      is_copy = true;
    }
  }
  if (!same_dtype(array_fields(array.ptr()).descr, expected.dtype.ptr()) ||
      static_cast<size_t>(array_fields(array.ptr()).nd) != expected.extents.size() ||
      (expected.is_output && !is_writeable(array.ptr()))) {
    explain.bad_array(argument, array.ptr());
  }
  if (!expected.is_field && !is_aligned(array.ptr())) {
    if (expected.is_output) {
      explain.bad_array(argument, array.ptr());
    }
    array = copy_array(array.ptr());
    is_copy = true;
  }
  if (is_copy && overwritten_[argument]) {
    explain.copied_input(argument, object);
  }
  call.arrays[argument] = bound(array.ptr(), object);
  call.owned.push_back(std::move(array));
}

// ---- parameters and shapes ----

void KernelFunction::solve_shapes(BoundCall &call) const {
  solve(call);
  check_shapes(call);
}

void KernelFunction::solve_axis(const SolveStep &step, BoundCall &call) const {
  const Extent &extent =
      arguments_[static_cast<size_t>(step.argument)].extents[static_cast<size_t>(step.axis)];
  std::int64_t rest = call.arrays[static_cast<size_t>(step.argument)].dimensions[step.axis];
  bool overflow = __builtin_sub_overflow(rest, extent.constant(), &rest);
  std::int64_t coefficient = 1;
  for (const auto &[parameter, factor] : extent.terms()) {
    if (parameter == step.parameter) {
      coefficient = factor;
      continue;
    }
    std::int64_t part = 0;
    overflow =
        __builtin_mul_overflow(factor, call.parameters[static_cast<size_t>(parameter)], &part) ||
        overflow;
    overflow = __builtin_sub_overflow(rest, part, &rest) || overflow;
  }
  if (overflow || rest % coefficient != 0) {
    CallExplainer(*this).unsolvable(step, call);
  }
  call.parameters[static_cast<size_t>(step.parameter)] = rest / coefficient;
  call.sources[static_cast<size_t>(step.parameter)] = {ParameterSource::Kind::Axis, step.argument,
                                                       step.axis};
}

namespace {

/// Gives the number of iterations until data say so, where the call says none, the most that may be
/// made.
void take_most_iterations(const Function &function, BoundCall &call) {
  for (size_t p = 0; p < call.sources.size() && function.stop; ++p) {
    if (function.parameters[p] == function.stop->parameter &&
        call.sources[p].kind == ParameterSource::Kind::Unknown) {
      call.parameters[p] = most_iterations(*function.stop);
      call.sources[p] = {ParameterSource::Kind::Schedule};
    }
  }
}

} // namespace

void KernelFunction::solve(BoundCall &call) const {
  if (!call.has_given_parameters && inputs_solve_all_) {
    for (const auto &step : steps_) {
      solve_axis(step, call);
    }
    return;
  }
  // Given parameters first, then the inputs' shapes, then those of given outputs, and where these
  // do not say, the schedule.
  std::vector<std::vector<Extent>> extents;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    extents.push_back(call.arrays[i].is_given() ? arguments_[i].extents : std::vector<Extent>());
  }
  do {
    std::vector<bool> known(parameter_names_.size());
    for (size_t i = 0; i < known.size(); ++i) {
      known[i] = call.sources[i].kind != ParameterSource::Kind::Unknown;
    }
    for (const auto &step : plan_steps(extents, known)) {
      solve_axis(step, call);
    }
  } while (take_fixed(call));
  take_most_iterations(function(), call);
  for (size_t i = 0; i < call.sources.size(); ++i) {
    if (call.sources[i].kind == ParameterSource::Kind::Unknown) {
      CallExplainer(*this).unknown_parameter(i);
    }
  }
}

bool KernelFunction::take_fixed(BoundCall &call) const {
  bool took = false;
  for (size_t p = 0; p < call.sources.size() && !fixed_.empty(); ++p) {
    const auto known = fixed_.find(function().parameters[p]);
    if (known != fixed_.end() && call.sources[p].kind == ParameterSource::Kind::Unknown) {
      call.parameters[p] = known->second;
      call.sources[p] = {ParameterSource::Kind::Schedule};
      took = true;
    }
  }
  return took;
}

void KernelFunction::require_fixed(const BoundCall &call) const {
  for (size_t p = 0; p < call.sources.size() && !fixed_.empty(); ++p) {
    const auto known = fixed_.find(function().parameters[p]);
    if (known != fixed_.end() && call.parameters[p] != known->second) {
      CallExplainer(*this).not_fixed(p, known->second, call);
    }
  }
}

bool KernelFunction::writes_nothing(const BoundCall &call) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const std::vector<Extent> &extents = arguments_[i].extents;
    if ((arguments_[i].is_output || overwritten_[i]) &&
        std::none_of(extents.begin(), extents.end(), [&](const Extent &extent) {
          return extent.evaluate(call.parameters.data()) <= 0;
        })) {
      return false;
    }
  }
  return true;
}

void KernelFunction::check_shapes(const BoundCall &call) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!call.arrays[i].is_given()) {
      continue;
    }
    for (size_t axis = 0; axis < arguments_[i].extents.size(); ++axis) {
      const std::int64_t expected = arguments_[i].extents[axis].evaluate(call.parameters.data());
      if (call.arrays[i].dimensions[axis] != std::max<std::int64_t>(expected, 0)) {
        CallExplainer(*this).bad_shape(i, static_cast<int>(axis), call);
      }
    }
  }
  for (const SizeParameter &size : sizes_) {
    const std::int64_t value = call.parameters[size.position];
    if ((value > largest_size_parameter || value < -largest_size_parameter) &&
        (on_device_ || !writes_nothing(call))) { // else no kernel runs, however long an axis is
      CallExplainer(*this).large_size(size, call);
    }
  }
  if (!context_.holds(call.parameters.data())) {
    CallExplainer(*this).bad_context(call);
  }
}

} // namespace tilewright
