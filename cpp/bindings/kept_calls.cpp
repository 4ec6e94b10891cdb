// How calls were made, as plain values for other processes, and back.
#include "bindings/known_calls.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace tilewright {

namespace py = pybind11;

namespace {

using ParameterTuple = std::tuple<int, int, std::int64_t>;
using ResultTuple = std::tuple<int, int, bool, bool>;

/// A type of numbers that another process knows by this text: Python's own by their names, NumPy's
/// by those of their element types. Empty for others.
std::string number_type_text(const py::handle &type) {
  const auto is = [&](PyTypeObject &known) {
    return type.ptr() == reinterpret_cast<PyObject *>(&known);
  };
  if (is(PyLong_Type)) {
    return "int";
  }
  if (is(PyFloat_Type)) {
    return "float";
  }
  if (is(PyComplex_Type)) {
    return "complex";
  }
  if (is(PyBool_Type)) {
    return "bool";
  }
  const auto *const as_type = reinterpret_cast<PyTypeObject *>(type.ptr());
  if (std::string(as_type->tp_name).rfind("numpy.", 0) != 0) {
    return "";
  }
  const std::string name =
      py::str(py::dtype::from_args(py::reinterpret_borrow<py::object>(type)).attr("str"));
  const py::object again = py::dtype(name).attr("type");
  return again.is(type) ? name : "";
}

py::object number_type(const std::string &text) {
  const auto type = [](PyTypeObject &known) {
    return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(&known));
  };
  if (text == "int") {
    return type(PyLong_Type);
  }
  if (text == "float") {
    return type(PyFloat_Type);
  }
  if (text == "complex") {
    return type(PyComplex_Type);
  }
  if (text == "bool") {
    return type(PyBool_Type);
  }
  return py::dtype(text).attr("type");
}

/// Nothing where another process cannot know the argument again.
std::optional<py::tuple> plain_argument(const KnownArgument &known) {
  switch (known.kind) {
  case KnownArgument::Kind::Array: {
    const std::string dtype = py::str(known.value.attr("str"));
    if (!py::dtype(dtype).equal(known.value)) {
      return std::nullopt; // one with fields
    }
    return py::make_tuple("array", dtype, known.rank, known.flags, known.extents, known.same_as,
                          static_cast<int>(known.order));
  }
  case KnownArgument::Kind::Integer:
  case KnownArgument::Kind::Number: {
    const std::string type = number_type_text(known.value);
    if (type.empty()) {
      return std::nullopt;
    }
    const bool is_integer = known.kind == KnownArgument::Kind::Integer;
    return py::make_tuple(is_integer ? "integer" : "number", type, known.is_single, known.low,
                          known.high);
  }
  case KnownArgument::Kind::Constant: {
    PyObject *value = known.value.ptr();
    if (value == Py_None || value == Py_True || value == Py_False ||
        PyUnicode_CheckExact(value) != 0) {
      return py::make_tuple("constant", known.value);
    }
    return std::nullopt;
  }
  }
  return std::nullopt;
}

KnownArgument from_plain_argument(const py::sequence &plain) {
  KnownArgument known;
  const auto kind = plain[0].cast<std::string>();
  if (kind == "array") {
    const py::dtype dtype(plain[1].cast<std::string>());
    known.kind = KnownArgument::Kind::Array;
    known.value = dtype;
    known.item_size = static_cast<int>(dtype.itemsize());
    known.rank = plain[2].cast<int>();
    known.flags = plain[3].cast<int>();
    known.extents = plain[4].cast<std::vector<int>>();
    known.same_as = plain[5].cast<int>();
    known.order = static_cast<KnownArgument::Order>(plain[6].cast<int>());
  } else if (kind == "integer" || kind == "number") {
    known.kind = kind == "integer" ? KnownArgument::Kind::Integer : KnownArgument::Kind::Number;
    known.value = number_type(plain[1].cast<std::string>());
    known.is_single = plain[2].cast<bool>();
    known.low = plain[3].cast<std::int64_t>();
    known.high = plain[4].cast<std::int64_t>();
  } else {
    known.value = plain[1];
  }
  return known;
}

/// Whether all places in it are there.
bool makes_sense(const KnownCall &call) {
  const auto is_argument = [&](int number) {
    return number >= 0 && static_cast<size_t>(number) < call.arguments.size();
  };
  const auto is_array = [&](int number, int axis) {
    return is_argument(number) &&
           call.arguments[static_cast<size_t>(number)].kind == KnownArgument::Kind::Array &&
           axis < call.arguments[static_cast<size_t>(number)].rank;
  };
  const auto is_output = [&](int number) {
    return number >= 0 && static_cast<size_t>(number) < call.kept->output_count();
  };
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const KnownArgument &argument = call.arguments[i];
    const bool is_earlier = argument.same_as < static_cast<int>(i) &&
                            (argument.same_as < 0 || is_array(argument.same_as, argument.rank - 1));
    if (!is_earlier || argument.extents.size() > static_cast<size_t>(argument.rank)) {
      return false;
    }
  }
  return call.kept->takes(call.inputs.size(), call.parameters.size()) &&
         std::all_of(call.inputs.begin(), call.inputs.end(),
                     [&](int argument) { return argument < 0 || is_argument(argument); }) &&
         std::all_of(call.parameters.begin(), call.parameters.end(),
                     [&](const KnownParameter &parameter) {
                       return parameter.argument < 0 ||
                              (parameter.axis < 0 ? is_argument(parameter.argument)
                                                  : is_array(parameter.argument, parameter.axis));
                     }) &&
         std::all_of(
             call.copied.begin(), call.copied.end(),
             [&](const auto &pair) { return is_output(pair.first) && is_argument(pair.second); }) &&
         (!call.results ||
          (!call.results->empty() &&
           std::all_of(call.results->begin(), call.results->end(), [&](const KnownResult &result) {
             return result.argument >= 0 ? is_argument(result.argument) : is_output(result.output);
           })));
}

} // namespace

std::optional<py::tuple> KnownCalls::plain_latest() const {
  if (calls_.empty() || calls_.front()->kept != nullptr) {
    return std::nullopt;
  }
  const KnownCall &call = *calls_.front();
  const std::shared_ptr<KeptKernel> kernel = call.kernel->kept_kernel();
  if (kernel == nullptr || call.kernel->version() != call.version) {
    return std::nullopt;
  }
  py::list arguments;
  for (const KnownArgument &argument : call.arguments) {
    const auto plain = plain_argument(argument);
    if (!plain) {
      return std::nullopt;
    }
    arguments.append(*plain);
  }
  std::vector<ParameterTuple> parameters;
  for (const KnownParameter &parameter : call.parameters) {
    parameters.emplace_back(parameter.argument, parameter.axis, parameter.value);
  }
  std::optional<std::vector<ResultTuple>> results;
  if (call.results) {
    results.emplace();
    for (const KnownResult &result : *call.results) {
      results->emplace_back(result.argument, result.output, result.weak, result.turned);
    }
  }
  return py::make_tuple(kernel->plain(), py::tuple(arguments), call.inputs, parameters, call.copied,
                        results, call.gives_tuple);
}

KnownCall kept_call(const py::sequence &plain, std::vector<KnownConstant> constants,
                    const CompileOptions &options) {
  KnownCall call;
  call.kept = KeptKernel::from_plain(plain[0].cast<py::sequence>(), options);
  for (const py::handle &argument : plain[1].cast<py::sequence>()) {
    call.arguments.push_back(from_plain_argument(argument.cast<py::sequence>()));
  }
  call.inputs = plain[2].cast<std::vector<int>>();
  for (const auto &[argument, axis, value] : plain[3].cast<std::vector<ParameterTuple>>()) {
    call.parameters.push_back({argument, axis, value});
  }
  call.copied = plain[4].cast<std::vector<std::pair<int, int>>>();
  if (!plain[5].is_none()) {
    call.results.emplace();
    for (const auto &[argument, output, weak, turned] : plain[5].cast<std::vector<ResultTuple>>()) {
      call.results->push_back({argument, output, weak, turned});
    }
  }
  call.gives_tuple = plain[6].cast<bool>();
  call.constants = std::move(constants);
  if (!makes_sense(call)) {
    throw Error(ErrorKind::Argument, "what was kept of a call is damaged");
  }
  return call;
}

void KnownCalls::take_kept(KnownCall call) {
  calls_.push_back(std::make_shared<KnownCall>(std::move(call)));
}

void KnownCalls::forget_kept() {
  std::erase_if(calls_,
                [](const std::shared_ptr<KnownCall> &known) { return known->kept != nullptr; });
}

} // namespace tilewright
