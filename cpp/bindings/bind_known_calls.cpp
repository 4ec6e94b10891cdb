// _core.KnownCalls: the base of the functions that doors make. An object of it is called by
// vectorcall, as _core.Function is, and asks its method _call_anew where no call was like this one;
// before that its method _ask_kept, which says whether it has taken calls that were kept.
#include "bindings/called_type.h"
#include "bindings/known_calls.h"

#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <utility>

namespace tilewright {

namespace py = pybind11;

namespace {

KnownCalls *known_calls(PyObject *self) {
  auto *instance = reinterpret_cast<py::detail::instance *>(self);
  return instance->simple_layout ? static_cast<KnownCalls *>(instance->simple_value_holder[0])
                                 : nullptr;
}

PyObject *call_anew(PyObject *self, const CallArguments &given) {
  static PyObject *const name = PyUnicode_InternFromString("_call_anew");
  const auto keywords = given.names == nullptr ? 0 : PyTuple_GET_SIZE(given.names);
  llvm::SmallVector<PyObject *, 8> values{self};
  values.append(given.values, given.values + given.positional + keywords);
  return PyObject_VectorcallMethod(name, values.data(), given.positional + 1, given.names);
}

PyObject *call_with(PyObject *self, const CallArguments &given) {
  KnownCalls *known = known_calls(self);
  if (known == nullptr) {
    PyErr_SetString(PyExc_TypeError, "this function was not initialised");
    return nullptr;
  }
  py::object result = known->call(self, given);
  if (!result && py::handle(self).attr("_ask_kept")().cast<bool>()) {
    result = known->call(self, given);
  }
  return result ? result.release().ptr() : call_anew(self, given);
}

using KnownType = CalledType<call_with>;

void set_up_known_type(PyHeapTypeObject *heap_type) {
  PyTypeObject &type = heap_type->ht_type;
  KnownType::set_up(type);
  type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type.tp_traverse = [](PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    const KnownCalls *known = known_calls(self);
    return known == nullptr ? 0 : known->traverse(visit, arg);
  };
  type.tp_clear = [](PyObject *self) {
    if (KnownCalls *known = known_calls(self)) {
      known->clear();
    }
    return 0;
  };
}

// ---- what Python says of a call ----

constexpr int c_contiguous = py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_;
constexpr int f_contiguous = py::detail::npy_api::NPY_ARRAY_F_CONTIGUOUS_;
constexpr int writeable = py::detail::npy_api::NPY_ARRAY_WRITEABLE_;

py::object type_of(const py::handle &value) {
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(Py_TYPE(value.ptr())));
}

/// ("array", contiguous, extents, turned or None), ("integer", low, high), ("number", single, low,
/// high) or ("constant",).
KnownArgument to_argument(const py::tuple &said, const py::handle &value) {
  KnownArgument known;
  const auto kind = said[0].cast<std::string>();
  if (kind == "array") {
    const auto &fields = array_fields(value.ptr());
    known.kind = KnownArgument::Kind::Array;
    known.value = py::reinterpret_borrow<py::object>(fields.descr);
    known.rank = fields.nd;
    known.item_size = static_cast<int>(py::reinterpret_borrow<py::dtype>(fields.descr).itemsize());
    using Order = KnownArgument::Order;
    if (!said[3].is_none()) {
      known.order = said[3].cast<bool>() ? Order::Turned : Order::Plain;
    }
    const int contiguous = known.order == Order::Turned ? f_contiguous : c_contiguous;
    known.flags = (fields.flags & writeable) | (said[1].cast<bool>() ? contiguous : 0);
    known.extents = said[2].cast<std::vector<int>>();
  } else if (kind == "integer") {
    known.kind = KnownArgument::Kind::Integer;
    known.value = type_of(value);
    known.low = said[1].cast<std::int64_t>();
    known.high = said[2].cast<std::int64_t>();
  } else if (kind == "number") {
    known.kind = KnownArgument::Kind::Number;
    known.value = type_of(value);
    known.is_single = said[1].cast<bool>();
    known.low = said[2].cast<std::int64_t>();
    known.high = said[3].cast<std::int64_t>();
  } else {
    known.value = py::reinterpret_borrow<py::object>(value);
  }
  return known;
}

py::object or_null(const py::handle &value) {
  return value.is_none() ? py::object() : py::reinterpret_borrow<py::object>(value);
}

using ParameterTuple = std::tuple<int, int, std::int64_t>;
using ResultTuple = std::tuple<int, int, bool, bool>;
using ConstantTuple = std::tuple<py::object, py::object, py::object, bool>;

std::vector<KnownConstant> to_constants(const std::vector<ConstantTuple> &said) {
  std::vector<KnownConstant> constants;
  for (const auto &[container, key, value, is_there] : said) {
    constants.push_back({container, or_null(key), is_there ? value : py::object()});
  }
  return constants;
}

struct SaidCall {
  py::tuple arguments;
  py::object function;
  std::uint64_t version = 0;
  std::vector<int> inputs;
  std::vector<ParameterTuple> parameters;
  std::vector<ConstantTuple> constants;
  std::vector<std::pair<int, int>> copied;
  std::optional<std::vector<ResultTuple>> results;
  bool gives_tuple = false;
};

KnownCall to_call(const py::tuple &given, const SaidCall &said) {
  KnownCall call;
  for (size_t i = 0; i < given.size(); ++i) {
    call.arguments.push_back(to_argument(said.arguments[i].cast<py::tuple>(), given[i]));
  }
  call.function = said.function;
  call.kernel = &said.function.cast<KernelFunction &>();
  call.version = said.version;
  call.inputs = said.inputs;
  for (const auto &[argument, axis, value] : said.parameters) {
    call.parameters.push_back({argument, axis, value});
  }
  call.constants = to_constants(said.constants);
  call.copied = said.copied;
  if (said.results) {
    call.results.emplace();
    for (const auto &[argument, output, weak, turned] : *said.results) {
      call.results->push_back({argument, output, weak, turned});
    }
  }
  call.gives_tuple = said.gives_tuple;
  return call;
}

} // namespace

void bind_known_calls(py::module_ &module) {
  py::class_<KnownCalls>(module, "KnownCalls", py::custom_type_setup(set_up_known_type))
      .def(py::init<>())
      .def("_describe",
           [](KnownCalls &self, const std::vector<std::string> &names,
              const std::vector<std::pair<bool, py::object>> &defaults) {
             std::vector<py::object> interned;
             std::vector<py::object> values;
             for (const std::string &name : names) {
               interned.push_back(
                   py::reinterpret_steal<py::object>(PyUnicode_InternFromString(name.c_str())));
             }
             for (const auto &[is_there, value] : defaults) {
               values.push_back(is_there ? value : py::object());
             }
             self.describe(std::move(interned), std::move(values));
           })
      .def("_remember",
           [](KnownCalls &self, const py::tuple &given, const py::tuple &arguments,
              const py::object &function, std::uint64_t version, const std::vector<int> &inputs,
              const std::vector<ParameterTuple> &parameters,
              const std::vector<ConstantTuple> &constants,
              const std::vector<std::pair<int, int>> &copied,
              const std::optional<std::vector<ResultTuple>> &results, bool gives_tuple) {
             self.remember(given, to_call(given, {arguments, function, version, inputs, parameters,
                                                  constants, copied, results, gives_tuple}));
           })
      .def_property_readonly("_known_calls", &KnownCalls::size)
      .def("_plain_latest", &KnownCalls::plain_latest)
      .def("_take_kept",
           [](KnownCalls &self, const py::sequence &plain, const std::vector<ConstantTuple> &said,
              const CompileOptions &options) {
             self.take_kept(kept_call(plain, to_constants(said), options));
           })
      .def("_forget_kept", &KnownCalls::forget_kept);
  module.def("environment_text", &environment_text, py::arg("options"));
  module.def("answer_known_calls", &KnownType::answer, py::arg("type"));
}

} // namespace tilewright
