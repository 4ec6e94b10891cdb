#include "bindings/call_errors.h"

#include "algorithm/block.h"
#include "bindings/bind_errors.h"
#include "bindings/watched_sites.h"
#include "polyhedral/counted.h"
#include "polyhedral/isl.h"

#include <algorithm>

namespace tilewright {

namespace py = pybind11;

std::string printable_text(const py::handle &object) {
  const auto text = py::reinterpret_steal<py::object>(PyObject_Str(object.ptr()));
  const auto bytes = py::reinterpret_steal<py::object>(
      text ? PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace") : nullptr);
  if (!bytes) {
    PyErr_Clear();
    return "?";
  }
  return bytes.cast<std::string>();
}

namespace {

std::string type_of(PyObject *value) {
  const auto type =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(Py_TYPE(value)));
  const std::string name = printable_text(type.attr("__qualname__"));
  const std::string module = printable_text(type.attr("__module__"));
  return module == "builtins" ? name : module + "." + name;
}

/// The type of a value, with the value where that is short.
std::string value_text(PyObject *value) {
  std::string type = type_of(value);
  if (PyLong_CheckExact(value) == 0 && PyFloat_CheckExact(value) == 0 &&
      PyComplex_CheckExact(value) == 0) {
    return type;
  }
  const auto text = py::repr(py::handle(value)).cast<std::string>();
  constexpr size_t longest = 60;
  return type + " " + (text.size() <= longest ? text : text.substr(0, longest) + "...");
}

std::string names_text(const std::vector<std::string> &names) {
  std::string text;
  for (const auto &name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

} // namespace

std::string CallExplainer::shown(size_t argument) const {
  if (argument < function_.inputs_) {
    const Computation &input = *function_.function().inputs[argument];
    if (!input.record.empty()) {
      return input.record + "." + input.field;
    }
  }
  return function_.arguments_[argument].name;
}

std::string CallExplainer::argument_text(size_t argument) const {
  const auto &described = function_.arguments_[argument];
  return function_.function().name + ": " + (described.is_output ? "output " : "argument ") +
         shown(argument);
}

std::string CallExplainer::signature() const {
  std::string text;
  for (size_t i = 0; i < function_.inputs_; ++i) {
    const auto &input = function_.arguments_[i];
    text += input.name + ": " + type_name(input.type) + shape_of(i) + ", ";
  }
  text += "*";
  for (const auto &parameter : function_.function().parameters) {
    text += ", " + parameter + "=None";
  }
  text += ", out=None";
  const auto &parameters = function_.function().parameters;
  const bool is_argument =
      std::count(parameters.begin(), parameters.end(), "threads") > 0 ||
      std::any_of(function_.arguments_.begin(),
                  function_.arguments_.begin() + static_cast<std::ptrdiff_t>(function_.inputs_),
                  [](const ArrayArgument &argument) { return argument.name == "threads"; });
  return function_.function().name + "(" + text + (is_argument ? ")" : ", threads=None)");
}

std::string CallExplainer::shape_of(size_t argument) const {
  std::string text;
  for (const auto &extent : function_.arguments_[argument].extents) {
    text += (text.empty() ? "" : ", ") + to_string(extent.expression());
  }
  return "[" + text + "]";
}

void CallExplainer::too_many(size_t given) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < function_.inputs_; ++i) {
    names.push_back(function_.arguments_[i].name);
  }
  throw_argument_error(ArgumentProblem::Type,
                       function_.function().name + "() takes " + counted(names.size(), "array") +
                           " (" + names_text(names) + "), " + std::to_string(given) +
                           " were given; outputs go to out=: " + signature());
}

void CallExplainer::missing(const BoundCall &call) const {
  std::vector<std::string> names;
  std::vector<std::string> absent;
  for (size_t i = 0; i < function_.inputs_; ++i) {
    names.push_back(function_.arguments_[i].name);
    if (!call.arrays[i].is_given()) {
      absent.push_back(function_.arguments_[i].name);
    }
  }
  throw_argument_error(ArgumentProblem::Type,
                       function_.function().name + "() is missing " +
                           counted(absent.size(), "argument") + ": " + names_text(absent) +
                           " (it takes " + names_text(names) + "): " + signature() +
                           (std::count(absent.begin(), absent.end(), "out") > 0
                                ? "; out= is for the outputs, so the input out goes by its position"
                                : ""));
}

void CallExplainer::given_twice(const std::string &name) const {
  throw_argument_error(ArgumentProblem::Type,
                       function_.function().name + "() got two values for argument " + name +
                           ", one by its position and one by its name: " + signature());
}

void CallExplainer::unexpected_keyword(const std::string &name) const {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < function_.inputs_; ++i) {
    inputs.push_back(function_.arguments_[i].name);
  }
  throw_argument_error(ArgumentProblem::Type,
                       function_.function().name + "() got an unexpected keyword '" + name +
                           "'; its inputs are " + names_text(inputs) + ", its parameters " +
                           names_text(function_.function().parameters) +
                           ", and outputs go to out=: " + signature());
}

void CallExplainer::bad_parameter(size_t parameter, PyObject *value) const {
  throw_argument_error(ArgumentProblem::Type, function_.function().name + ": parameter " +
                                                  function_.function().parameters[parameter] +
                                                  " must be an integer, got " + value_text(value));
}

void CallExplainer::large_parameter(size_t parameter, PyObject *value) const {
  throw_argument_error(ArgumentProblem::Overflow, function_.function().name + ": parameter " +
                                                      function_.function().parameters[parameter] +
                                                      " must be an integer of 64 bits, got " +
                                                      value_text(value));
}

void CallExplainer::large_size(const SizeParameter &size, const BoundCall &call) const {
  const std::string &name = function_.function().parameters[size.position];
  const std::int64_t value = call.parameters[size.position];
  const std::string limit = std::to_string(largest_size_parameter);
  std::string text = function_.function().name + ": the size " + name + " = " +
                     std::to_string(value) +
                     (value < 0 ? " is below -2**40 (-" : " is beyond 2**40 (") + limit +
                     "), up to which loops and subscripts are sure to stay within 64 bits";
  if (size.bound) {
    const Extent bound(size.bound, function_.function().parameters);
    text += "; " + to_string(size.bound) + " would be " + bound.exact_text(call.parameters.data());
  }
  if (call.sources[size.position].kind != ParameterSource::Kind::Keyword) {
    text += " (" + source_text(static_cast<int>(size.position), call) + ")";
  }
  if (!size.bound) {
    text += "; a number to compute with, and no size, may be an input: tw.input(\"" + name +
            "\", [], tw.int64)";
  }
  throw_argument_error(ArgumentProblem::Overflow, text);
}

void CallExplainer::bad_threads(PyObject *value) const {
  throw_argument_error(ArgumentProblem::Type, function_.function().name +
                                                  ": threads must be an integer, got " +
                                                  value_text(value));
}

void CallExplainer::few_threads(PyObject *value) const {
  throw_argument_error(ArgumentProblem::Value, function_.function().name +
                                                   ": threads must be at least 1, got " +
                                                   value_text(value));
}

void CallExplainer::bad_out(PyObject *out) const {
  std::vector<std::string> names;
  for (size_t i = function_.inputs_; i < function_.arguments_.size(); ++i) {
    names.push_back(function_.arguments_[i].name);
  }
  const std::string expected = names.size() == 1 ? "an array for " + names[0]
                                                 : "a tuple of " + std::to_string(names.size()) +
                                                       " arrays (" + names_text(names) + ")";
  const std::string start =
      function_.function().name + ": out= must be " + expected + " or a dict by name, got ";
  if (PyTuple_Check(out) != 0 || PyList_Check(out) != 0) {
    throw_argument_error(ArgumentProblem::Value,
                         start + "a sequence of " + std::to_string(PySequence_Fast_GET_SIZE(out)));
  }
  if (PyDict_Check(out) != 0) {
    throw_argument_error(ArgumentProblem::Value, start + "the dict " + printable_text(out));
  }
  throw_argument_error(ArgumentProblem::Type, start + type_of(out));
}

void CallExplainer::bad_array(size_t argument, PyObject *value) const {
  const auto &expected = function_.arguments_[argument];
  const std::string start = argument_text(argument) + ": ";
  const std::string type = type_name(expected.type);
  if (!is_array(value)) {
    if (expected.is_output && PyObject_HasAttrString(value, "__array__") != 0) {
      throw_argument_error(ArgumentProblem::Type,
                           start + "this " + type_of(value) +
                               " gives a copy of its elements only, which cannot be written to; "
                               "pass a NumPy array of " +
                               type);
    }
    throw_argument_error(ArgumentProblem::Type,
                         start + "expected a NumPy array of " + type + ", got " + type_of(value) +
                             (expected.is_output ? ""
                                                 : "; convert it with np.asarray(" +
                                                       shown(argument) + ", np." + type + ")"));
  }
  if (PyObject_HasAttrString(value, "mask") != 0) {
    throw_argument_error(ArgumentProblem::Type,
                         start + "masked arrays are not supported, their mask would be ignored; "
                                 "pass .data or .filled()");
  }
  const auto &fields = array_fields(value);
  const py::handle array(value);
  if (!same_dtype(fields.descr, expected.dtype.ptr())) {
    const auto given = py::handle(fields.descr);
    if (!given.attr("isnative").cast<bool>()) {
      throw_argument_error(ArgumentProblem::Type,
                           start + "expected " + type + " in this machine's byte order, got " +
                               py::str(given.attr("str")).cast<std::string>() +
                               (expected.is_output ? ""
                                                   : "; convert it with " + shown(argument) +
                                                         ".astype(np." + type + ")"));
    }
    throw_argument_error(
        ArgumentProblem::Type,
        start + "expected " + type + ", got " + py::str(given).cast<std::string>() +
            (expected.is_output ? ""
                                : "; convert it with " + shown(argument) + ".astype(" +
                                      (type == "bfloat16" ? "ml_dtypes." : "np.") + type + ")"));
  }
  if (static_cast<size_t>(fields.nd) != expected.extents.size()) {
    throw_argument_error(ArgumentProblem::Value,
                         start + "expected " + counted(expected.extents.size(), "dimension") + " " +
                             shape_of(argument) + ", got " + std::to_string(fields.nd) +
                             " (shape " + shape_text(value) + ")");
  }
  if (expected.is_output && !is_writeable(value)) {
    throw_argument_error(ArgumentProblem::Value, start + "the array is read-only");
  }
  if (!is_aligned(value)) {
    throw_argument_error(ArgumentProblem::Value, start +
                                                     "the array is not aligned to its items of " +
                                                     counted(expected.item_size, "byte"));
  }
  throw_argument_error(ArgumentProblem::Value, start + "the array cannot be used");
}

void CallExplainer::bad_number(size_t argument, PyObject *value, bool is_too_large) const {
  const auto &expected = function_.arguments_[argument];
  const std::string type = type_name(expected.type);
  if (is_too_large) {
    throw_argument_error(ArgumentProblem::Overflow, argument_text(argument) + ": " +
                                                        value_text(value) + " does not fit " +
                                                        type);
  }
  throw_argument_error(ArgumentProblem::Type, argument_text(argument) + ": expected " + type +
                                                  ", got " + value_text(value));
}

void CallExplainer::refused_array(size_t argument, PyObject *value, const std::string &why) const {
  throw_argument_error(ArgumentProblem::Type, argument_text(argument) + ": cannot use this " +
                                                  type_of(value) + ": " + why);
}

void CallExplainer::failed_array(size_t argument, PyObject *value,
                                 py::error_already_set &error) const {
  if (!error.matches(PyExc_Exception) || error.matches(PyExc_MemoryError)) {
    throw error; // an interrupt is no answer of the array
  }
  const std::string text = argument_text(argument) + ": this " + type_of(value) +
                           " does not give its memory: " + printable_text(error.value());
  throw_argument_error(ArgumentProblem::Type, text, error.value());
}

void CallExplainer::copied_input(size_t argument, PyObject *value) const {
  std::string why = "this " + type_of(value) + " can only be copied";
  if (is_array(value)) {
    why = "the array is unaligned or in another byte order, so that only a copy of it can be used";
  }
  throw_argument_error(ArgumentProblem::Value, argument_text(argument) +
                                                   ": the schedule overwrites this input (" +
                                                   stored_in(argument) + " is stored in it), and " +
                                                   why + "; pass an aligned array of " +
                                                   type_name(function_.arguments_[argument].type));
}

void CallExplainer::unknown_parameter(size_t parameter) const {
  const auto &name = function_.function().parameters[parameter];
  throw_argument_error(ArgumentProblem::Type, function_.function().name +
                                                  ": no array's shape gives the parameter " + name +
                                                  "; pass " + name + "=...");
}

std::string CallExplainer::source_text(int parameter, const BoundCall &call) const {
  const auto &source = call.sources[static_cast<size_t>(parameter)];
  const auto &name = function_.function().parameters[static_cast<size_t>(parameter)];
  switch (source.kind) {
  case ParameterSource::Kind::Keyword:
    return name + " = " + std::to_string(call.parameters[static_cast<size_t>(parameter)]) +
           " was given";
  case ParameterSource::Kind::Axis: {
    const auto &argument = function_.arguments_[static_cast<size_t>(source.argument)];
    const auto &extent = argument.extents[static_cast<size_t>(source.axis)];
    return to_string(extent.expression()) + " is the length of axis " +
           std::to_string(source.axis) + " of " + shown(static_cast<size_t>(source.argument));
  }
  case ParameterSource::Kind::Schedule:
    return name + " = " + std::to_string(call.parameters[static_cast<size_t>(parameter)]) +
           " is fixed by the schedule";
  case ParameterSource::Kind::Unknown:
    break;
  }
  return name + " is not known";
}

std::string CallExplainer::sources_text(const std::vector<int> &parameters,
                                        const BoundCall &call) const {
  std::string text;
  for (const int parameter : parameters) {
    text += (text.empty() ? "" : ", ") + source_text(parameter, call);
  }
  return text;
}

void CallExplainer::unsolvable(const SolveStep &step, const BoundCall &call) const {
  const auto argument = static_cast<size_t>(step.argument);
  const auto &extent = function_.arguments_[argument].extents[static_cast<size_t>(step.axis)];
  const auto length = call.arrays[argument].dimensions[step.axis];
  throw_argument_error(ArgumentProblem::Value,
                       argument_text(argument) + ": axis " + std::to_string(step.axis) + " has " +
                           counted(length, "element") + ", expected " +
                           to_string(extent.expression()) + ", which no integer " +
                           function_.function().parameters[static_cast<size_t>(step.parameter)] +
                           " gives");
}

void CallExplainer::bad_shape(size_t argument, int axis, const BoundCall &call) const {
  const auto &extent = function_.arguments_[argument].extents[static_cast<size_t>(axis)];
  const auto length = call.arrays[argument].dimensions[axis];
  const auto expected = std::max<std::int64_t>(extent.evaluate(call.parameters.data()), 0);
  std::string text = argument_text(argument) + ": axis " + std::to_string(axis) + " has " +
                     counted(length, "element") + ", expected ";
  const std::string expression = to_string(extent.expression());
  const std::string number = std::to_string(expected);
  text += expression == number ? number : expression + " = " + number;
  if (!extent.parameters().empty()) {
    text += " (" + sources_text(extent.parameters(), call) + ")";
  }
  throw_argument_error(ArgumentProblem::Value, text);
}

void CallExplainer::bad_context(const BoundCall &call) const {
  std::string values;
  std::vector<int> all;
  for (size_t i = 0; i < call.parameters.size(); ++i) {
    values += (values.empty() ? "" : ", ") + function_.function().parameters[i] + " = " +
              std::to_string(call.parameters[i]);
    all.push_back(static_cast<int>(i));
  }
  throw_argument_error(ArgumentProblem::Value, function_.function().name + ": " + values +
                                                   " is outside the function's context " +
                                                   to_text(function_.function().context) + " (" +
                                                   sources_text(all, call) + ")");
}

void CallExplainer::not_fixed(size_t parameter, std::int64_t value, const BoundCall &call) const {
  const std::string &name = function_.function().parameters[parameter];
  const ParameterSource &source = call.sources[parameter];
  const std::string fixed = "fixed at " + std::to_string(value) + " by the schedule";
  const std::string way_out =
      "; a copy with another schedule (" + function_.function().name + ".copy()) takes other sizes";
  if (source.kind != ParameterSource::Kind::Axis) {
    throw_argument_error(ArgumentProblem::Value,
                         function_.function().name + ": " + name + " is " + fixed + ", got " +
                             name + " = " + std::to_string(call.parameters[parameter]) + way_out);
  }
  const auto argument = static_cast<size_t>(source.argument);
  const Extent &extent = function_.arguments_[argument].extents[static_cast<size_t>(source.axis)];
  llvm::SmallVector<std::int64_t, 8> expected = call.parameters;
  for (size_t p = 0; p < expected.size(); ++p) {
    const auto known = function_.fixed_.find(function_.function().parameters[p]);
    expected[p] = known == function_.fixed_.end() ? expected[p] : known->second;
  }
  const std::string expression = to_string(extent.expression());
  throw_argument_error(ArgumentProblem::Value,
                       argument_text(argument) + ": axis " + std::to_string(source.axis) + " has " +
                           counted(call.arrays[argument].dimensions[source.axis], "element") +
                           ", expected " + expression + " = " +
                           std::to_string(extent.evaluate(expected.data())) + ": " + name + " is " +
                           fixed + way_out);
}

void CallExplainer::impossible_output(size_t argument, llvm::ArrayRef<std::int64_t> shape,
                                      const py::error_already_set &error) const {
  std::string lengths;
  for (const std::int64_t length : shape) {
    lengths += (lengths.empty() ? "" : ", ") + std::to_string(length);
  }
  throw_argument_error(ArgumentProblem::Value, argument_text(argument) +
                                                   ": NumPy makes no array of shape (" + lengths +
                                                   (shape.size() == 1 ? ",)" : ")") + " of " +
                                                   type_name(function_.arguments_[argument].type) +
                                                   ": " + std::string(py::str(error.value())));
}

void CallExplainer::overlapping_outputs(size_t a, size_t b) const {
  const auto written = [&](size_t argument) {
    return shown(argument) +
           (argument < function_.inputs_ ? " (an input that is overwritten)" : "");
  };
  const bool only_outputs = a >= function_.inputs_ && b >= function_.inputs_;
  throw_argument_error(
      ArgumentProblem::Value,
      function_.function().name + ": the " + (only_outputs ? "outputs " : "arrays ") + written(a) +
          " and " + written(b) + " share memory; both are written, so pass arrays that do not");
}

std::string CallExplainer::stored_in(size_t argument) const {
  for (const auto &[input, computations] : function_.scheduled().overwritten()) {
    if (input == function_.arguments_[argument].name) {
      return names_text(computations);
    }
  }
  return "nothing";
}

void CallExplainer::read_only_input(size_t argument) const {
  throw_argument_error(ArgumentProblem::Value, argument_text(argument) +
                                                   ": the array is read-only, and the schedule "
                                                   "overwrites it (" +
                                                   stored_in(argument) + " is stored in it)");
}

void CallExplainer::overlapping_input(size_t written, size_t read, const std::string &why) const {
  const bool is_input = written < function_.inputs_;
  throw_argument_error(ArgumentProblem::Value,
                       function_.function().name + ": the " +
                           (is_input ? "input " + shown(written) + ", which is overwritten,"
                                     : "output " + shown(written)) +
                           " and the input " + shown(read) + " share memory, " +
                           (why.empty() ? "but not as the same elements in the same places"
                                        : "and this schedule is not safe in place: " + why) +
                           "; pass " + (is_input ? "" : "another array as out=, or ") +
                           shown(read) + "=" + shown(read) + ".copy()");
}

void CallExplainer::other_output(size_t output, size_t input) const {
  throw_argument_error(ArgumentProblem::Value,
                       function_.function().name + ": the output " +
                           function_.arguments_[output].name + " is stored in the input " +
                           shown(input) +
                           ", so the call returns that array; out= can only be the same one");
}

void CallExplainer::self_overlap(size_t argument) const {
  throw_argument_error(
      ArgumentProblem::Value,
      argument_text(argument) +
          ": elements of the array share memory (a broadcast view?); it cannot be written");
}

void CallExplainer::outside(const IndexSite &site, const KernelFailure &failure) const {
  const Function &function = function_.function();
  const Function &mapped = function_.scheduled().function();
  const WatchedInstance instance = instance_of(site, failure);
  const std::string axis = std::to_string(site.dimension);
  const bool own = site.memory.empty();
  std::string point = instance.element;
  if (!instance.reduced.empty()) {
    point += " at " + instance.reduced;
  }
  Error error(
      ErrorKind::Access,
      function.name + ": " + site.text + ", " + (site.writes ? "written" : "read") + " by " +
          point + ": subscript " + subscript_text(site, failure, mapped) +
          " is out of bounds for axis " + axis + " of " +
          (own ? site.array : "the buffer " + site.memory + ", where " + site.array + " lies,") +
          " with size " + std::to_string(failure.extent) + origin_text(site, mapped),
      location_of(site, function_.scheduled().function()));
  error.details["access"] = site.text;
  error.details["array"] = site.array;
  error.details["computation"] = site.computation;
  error.details["instance"] = instance.element;
  for (const auto &[name, value] : instance.iterators) {
    std::string &all = error.details["point"];
    all += (all.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  error.details["axis"] = axis;
  error.details["value"] = subscript_text(site, failure, mapped);
  error.details["extent"] = std::to_string(failure.extent);
  error.details["buffer"] = own ? site.array : site.memory;
  error.details["kind"] = site.writes ? "write" : "read";
  throw error;
}

void CallExplainer::failed(const CompiledKernel &kernel, std::int32_t status,
                           const KernelFailure &failure,
                           const std::optional<FailingRead> &first) const {
  const Function &function = function_.function();
  for (const BlockPtr &block : blocks_of(function)) {
    block->rethrow();
  }
  if (status == KernelNotANumber && failure.reported == 0 && failure.site >= 0 &&
      static_cast<size_t>(failure.site) < kernel.sites.size()) {
    throw_argument_error(ArgumentProblem::Value,
                         function.name + ": " +
                             kernel.sites[static_cast<size_t>(failure.site)].text);
  }
  if (failure.reported > 0 && status == KernelIndexError && failure.site >= 0 &&
      static_cast<size_t>(failure.site) < kernel.sites.size()) {
    outside(kernel.sites[static_cast<size_t>(failure.site)], failure);
  }
  if (status == KernelIndexError) {
    std::string read = "a read";
    std::string array = "the array";
    std::string value = std::to_string(failure.value);
    std::string origin;
    int dimension = 0;
    SourceLocation where = function.where;
    if (failure.site >= 0 && static_cast<size_t>(failure.site) < kernel.sites.size()) {
      const IndexSite &site = kernel.sites[static_cast<size_t>(failure.site)];
      read = site.text;
      array = site.array;
      value = subscript_text(site, failure, function_.scheduled().function());
      origin = origin_text(site, function_.scheduled().function());
      dimension = site.dimension;
      const SourceLocation line = location_of(site, function_.scheduled().function());
      where = line.known() ? line : where;
    }
    Error error(
        ErrorKind::Index,
        function.name + ": " + read + ": subscript " + value + " is out of bounds for axis " +
            std::to_string(dimension) + " of " + array + " with size " +
            std::to_string(failure.extent) + origin +
            (first ? "; the first such read is " + first->read + ", by " + first->instance : ""),
        where);
    if (first) {
      error.details["instance"] = first->instance;
      error.details["read"] = first->read;
    }
    error.details["array"] = array;
    error.details["axis"] = std::to_string(dimension);
    error.details["value"] = value;
    error.details["extent"] = std::to_string(failure.extent);
    throw error;
  }
  if (status == KernelOutOfMemory) {
    PyErr_Format(PyExc_MemoryError, "%s: no memory for a temporary array", function.name.c_str());
    throw py::error_already_set();
  }
  throw Error(ErrorKind::Internal,
              function.name + ": the kernel ended with the unknown status " +
                  std::to_string(status),
              function.where);
}

} // namespace tilewright
