#include "bindings/bind_externs.h"

#include "bindings/bind_language.h"

#include <pybind11/stl.h>

#include <cstdint>

namespace py = pybind11;

namespace tilewright {

std::shared_ptr<void> kept(const py::object &object) {
  return {object.inc_ref().ptr(), [](void *pointer) {
            auto *held = static_cast<PyObject *>(pointer);
            if (Py_IsInitialized() == 0) {
              return;
            }
            if (PyGILState_Check() != 0) {
              Py_DECREF(held);
              return;
            }
            // Destructors must not wait: Python's main thread gives it up. Where too much waits
            // for that already, it stays.
            Py_AddPendingCall(
                [](void *late) {
                  Py_DECREF(static_cast<PyObject *>(late));
                  return 0;
                },
                held);
          }};
}

py::object from_value(ScalarType type, const ScalarValue &value) {
  switch (type.kind) {
  case TypeKind::Bool:
    return py::bool_(value.u != 0);
  case TypeKind::Int:
    return py::int_(value.i);
  case TypeKind::UInt:
    return py::int_(value.u);
  default:
    return py::float_(value.d);
  }
}

namespace {

ScalarValue to_scalar(ScalarType type, const py::handle &result) {
  ScalarValue value;
  switch (type.kind) {
  case TypeKind::Bool:
    value.u = result.cast<bool>() ? 1 : 0;
    break;
  case TypeKind::Int:
    value.i = result.cast<std::int64_t>();
    break;
  case TypeKind::UInt:
    value.u = result.cast<std::uint64_t>();
    break;
  default:
    value.d = result.cast<double>();
  }
  return value;
}

ExternHandle declare_extern(const std::string &name, std::uintptr_t address,
                            const std::vector<std::string> &arguments, const std::string &result,
                            const py::object &caller, const py::object &owner,
                            const py::handle &where) {
  auto function = std::make_shared<ExternFunction>();
  function->name = name;
  for (const std::string &type : arguments) {
    function->arguments.push_back(to_type(type));
  }
  function->result = to_type(result);
  function->address = reinterpret_cast<void *>(address); // NOLINT(performance-no-int-to-ptr)
  function->owner = kept(py::make_tuple(caller, owner));
  function->where = to_location(where);
  auto *call = caller.ptr(); // kept by `owner`
  function->call = [call, types = function->arguments,
                    result = function->result](std::span<const ScalarValue> values) {
    const py::gil_scoped_acquire gil;
    py::tuple passed(values.size());
    for (size_t a = 0; a < values.size(); ++a) {
      passed[a] = from_value(types[a], values[a]);
    }
    return to_scalar(result, py::handle(call)(*passed));
  };
  return {function};
}

std::vector<std::string> names_of(const std::vector<ScalarType> &types) {
  std::vector<std::string> names;
  names.reserve(types.size());
  for (const ScalarType type : types) {
    names.push_back(type_name(type));
  }
  return names;
}

} // namespace

void bind_externs(py::module_ &module) {
  py::class_<ExternHandle>(module, "Extern")
      .def(py::init(&declare_extern), py::arg("name"), py::arg("address"), py::arg("arguments"),
           py::arg("result"), py::arg("caller"), py::arg("owner"), py::arg("where") = py::none())
      .def_property_readonly("name", [](const ExternHandle &self) { return self.function->name; })
      .def_property_readonly(
          "arguments", [](const ExternHandle &self) { return names_of(self.function->arguments); })
      .def_property_readonly(
          "result", [](const ExternHandle &self) { return type_name(self.function->result); })
      .def_property_readonly(
          "is_block", [](const ExternHandle &self) { return self.function->block != nullptr; })
      .def_property_readonly("address",
                             [](const ExternHandle &self) {
                               return reinterpret_cast<std::uintptr_t>(self.function->address);
                             })
      .def_property_readonly("owner",
                             [](const ExternHandle &self) {
                               auto *held = static_cast<PyObject *>(self.function->owner.get());
                               return py::object(py::reinterpret_borrow<py::tuple>(held)[1]);
                             })
      .def_property_readonly(
          "where",
          [](const ExternHandle &self) -> py::object {
            const SourceLocation &where = self.function->where;
            return where.known() ? py::object(py::make_tuple(where.file, where.line, where.text))
                                 : py::object(py::none());
          })
      .def("call",
           [](const ExternHandle &self, const py::args &arguments) {
             std::vector<Operand> operands;
             operands.reserve(arguments.size());
             for (const py::handle argument : arguments) {
               operands.push_back(to_operand(argument));
             }
             return ExprHandle{call_extern(self.function, operands)};
           })
      // A function that is copied calls the same one.
      .def("__copy__", [](const ExternHandle &self) { return self; })
      .def("__deepcopy__", [](const ExternHandle &self, const py::object &) { return self; })
      .def("__eq__",
           [](const ExternHandle &self, const py::object &other) {
             return py::isinstance<ExternHandle>(other) &&
                    other.cast<const ExternHandle &>().function == self.function;
           })
      .def("__hash__",
           [](const ExternHandle &self) {
             return reinterpret_cast<std::intptr_t>(self.function.get());
           })
      .def("__str__", [](const ExternHandle &self) { return extern_signature(*self.function); });
  module.def(
      "is_extern_type", [](const std::string &type) { return is_extern_type(to_type(type)); },
      py::arg("type"), "Whether functions of C take and give values of a type.");
}

} // namespace tilewright
