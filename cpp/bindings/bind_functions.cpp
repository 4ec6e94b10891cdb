// _core.Function: a callable function with its schedule; _core.cache_* and the thread settings.
// Python's class Function derives from it, so that a call goes straight to C++ (the slot tp_call).
#include "algorithm/function.h"
#include "analysis/legality.h"
#include "bindings/bind_language.h"
#include "bindings/foreign_arrays.h"
#include "bindings/kernel_call.h"
#include "bindings/pickling.h"
#include "bindings/signals.h"
#include "compiler/compiler.h"
#include "hardware/gpu.h"
#include "mapping/mapping.h"
#include "runtime/cpu.h"
#include "targets/nvptx/lower.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tilewright {

namespace py = pybind11;

void bind_functions(py::module_ &module);
void bind_runtime(py::module_ &module);

namespace {

/// (computation, command, arguments): a command as Python holds it.
using CommandTuple = std::tuple<std::string, std::string, std::vector<py::object>>;

Argument to_argument(const py::handle &value) {
  if (py::isinstance<py::str>(value)) {
    return value.cast<std::string>();
  }
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    const auto items = py::reinterpret_borrow<py::sequence>(value);
    bool all_text = true;
    for (const auto &item : items) {
      all_text = all_text && py::isinstance<py::str>(item);
    }
    if (all_text) {
      return value.cast<std::vector<std::string>>();
    }
    return value.cast<std::vector<std::int64_t>>();
  }
  return value.cast<std::int64_t>();
}

py::object from_argument(const Argument &argument) {
  return std::visit([](const auto &value) -> py::object { return py::cast(value); }, argument);
}

Command to_command(const std::string &computation, const std::string &name,
                   const std::vector<py::object> &arguments, const py::handle &where) {
  Command command;
  command.computation = computation;
  command.name = name;
  command.where = to_location(where);
  for (const auto &argument : arguments) {
    try {
      command.arguments.push_back(to_argument(argument));
    } catch (const py::cast_error &) {
      throw Error(ErrorKind::Schedule,
                  computation + "." + name +
                      ": an argument must be a name, an integer of 64 bits " +
                      "or a list of these, got " + py::repr(argument).cast<std::string>(),
                  command.where);
    }
  }
  return command;
}

Schedule to_schedule(const std::vector<CommandTuple> &commands, const py::handle &where) {
  Schedule schedule;
  for (const auto &[computation, name, arguments] : commands) {
    schedule.commands.push_back(to_command(computation, name, arguments, where));
  }
  return schedule;
}

py::list from_schedule(const Schedule &schedule) {
  py::list commands;
  for (const auto &command : schedule.commands) {
    py::list arguments;
    for (const auto &argument : command.arguments) {
      arguments.append(from_argument(argument));
    }
    commands.append(py::make_tuple(command.computation, command.name, arguments));
  }
  return commands;
}

Optimization to_optimization(const std::string &name) {
  static const std::map<std::string, Optimization> known = {
      {"auto", Optimization::Automatic},
      {"light", Optimization::Light},
      {"full", Optimization::Full},
      {"background", Optimization::Background},
  };
  const auto found = known.find(name);
  if (found == known.end()) {
    throw Error(ErrorKind::Argument,
                "optimize must be 'auto', 'light', 'full' or 'background', not '" + name + "'");
  }
  return found->second;
}

/// "cpu", "gpu-emulator", "cuda": where loops over blocks and threads run.
GpuTarget to_gpu_target(const std::string &name) {
  if (name == "cpu") {
    return {};
  }
  if (name == "gpu-emulator") {
    return {GpuTarget::Kind::Emulator, oldest_architecture, false};
  }
  if (name == "cuda") {
    return {GpuTarget::Kind::Cuda, oldest_architecture, false};
  }
  throw Error(ErrorKind::Argument,
              "target must be 'cpu', 'gpu-emulator' or 'cuda', not '" + name + "'");
}

std::string target_text(const GpuTarget &target) {
  return target.kind == GpuTarget::Kind::None       ? "cpu"
         : target.kind == GpuTarget::Kind::Emulator ? "gpu-emulator"
                                                    : "cuda";
}

/// The C++ object inside an instance of _core.Function or of a class derived from it.
KernelFunction *kernel_function(PyObject *self) {
  auto *instance = reinterpret_cast<py::detail::instance *>(self);
  if (instance->simple_layout) {
    return static_cast<KernelFunction *>(instance->simple_value_holder[0]);
  }
  return py::handle(self).cast<KernelFunction *>();
}

constexpr const char *not_initialised =
    "this function was not initialised; make functions with tw.function(...)";

/// tp_getattro: an object whose __init__ failed or was not called has no attributes of ours, though
/// debuggers and error reports ask it for its repr.
PyObject *function_attribute(PyObject *self, PyObject *name) {
  const auto *instance = reinterpret_cast<py::detail::instance *>(self);
  if (instance->simple_layout && instance->simple_value_holder[0] == nullptr) {
    const char *text = PyUnicode_AsUTF8(name);
    if (text == nullptr) {
      return nullptr;
    }
    if (std::strncmp(text, "__", 2) != 0) {
      PyErr_SetString(PyExc_AttributeError, not_initialised);
      return nullptr;
    }
  }
  return PyObject_GenericGetAttr(self, name);
}

PyObject *call_with(PyObject *self, const CallArguments &given) {
  KernelFunction *function = kernel_function(self);
  if (function == nullptr) {
    PyErr_SetString(PyExc_TypeError, not_initialised);
    return nullptr;
  }
  return function->call(given).release().ptr();
}

/// Runs C++ code that may throw for Python.
template <class Body>
PyObject *guarded(const Body &body) {
  try {
    return body();
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (abi::__forced_unwind &) {
    throw; // Python ends a daemon thread at the end of the process
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

/// f(a, b, out=c) without a tuple or a dict of the arguments (PEP 590).
PyObject *vectorcall_function(PyObject *self, PyObject *const *values, size_t count,
                              PyObject *names) {
  return guarded([&] {
    return call_with(self, {values, static_cast<size_t>(PyVectorcall_NARGS(count)), names});
  });
}

/// tp_call: where a class derived in Python has a __call__ of its own.
PyObject *call_function(PyObject *self, PyObject *arguments, PyObject *keywords) {
  return guarded([&] {
    const GatheredArguments gathered(arguments, keywords);
    return call_with(self, gathered.arguments());
  });
}

/// Where instances keep the address of vectorcall_function: behind what pybind11 keeps.
constexpr Py_ssize_t vectorcall_offset = sizeof(py::detail::instance);

PyObject *new_function(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *self = py::detail::pybind11_object_new(type, arguments, keywords);
  if (self != nullptr) {
    *reinterpret_cast<vectorcallfunc *>(reinterpret_cast<char *>(self) + vectorcall_offset) =
        vectorcall_function;
  }
  return self;
}

void set_up_type(PyHeapTypeObject *heap_type) {
  PyTypeObject &type = heap_type->ht_type;
  type.tp_call = call_function;
  type.tp_getattro = function_attribute;
  type.tp_new = new_function;
  type.tp_basicsize = vectorcall_offset + static_cast<Py_ssize_t>(sizeof(vectorcallfunc));
  type.tp_vectorcall_offset = vectorcall_offset;
  type.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
}

/// Before Python 3.12, classes derived in Python do not take this over by themselves.
void answer_vectorcalls(const py::type &type) {
  auto *derived = reinterpret_cast<PyTypeObject *>(type.ptr());
  if (derived->tp_call != call_function) {
    throw py::type_error("this class has a __call__ of its own");
  }
  derived->tp_vectorcall_offset = vectorcall_offset;
  derived->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(derived);
}

std::vector<std::string> names_of(const std::vector<ComputationPtr> &computations) {
  std::vector<std::string> names;
  for (const auto &computation : computations) {
    names.push_back(computation->name);
  }
  return names;
}

std::uintptr_t identity(const Computation &computation) {
  return reinterpret_cast<std::uintptr_t>(&computation);
}

void require_computation(const KernelFunction &self, const std::string &name) {
  const ComputationPtr *found = self.scheduled_function().find(name);
  if (found == nullptr || (*found)->is_input) {
    throw py::key_error(name);
  }
}

std::string tag_text(const LoopTag &tag) {
  switch (tag.tag) {
  case Tag::Parallel: {
    if (tag.joined) {
      return "parallel(joined)";
    }
    const std::string chunk = tag.chunk > 0 ? ", " + std::to_string(tag.chunk) : "";
    return tag.dealing == Dealing::Dynamic ? "parallel(dynamic" + chunk + ")"
           : tag.chunk > 0                 ? "parallel(static" + chunk + ")"
                                           : "parallel";
  }
  case Tag::Vector:
    return "vector(" + std::to_string(tag.factor) + ")";
  case Tag::Unroll:
    return "unroll(" + std::to_string(tag.factor) + ")";
  case Tag::GpuBlock:
  case Tag::GpuThread:
  case Tag::GpuSpread:
  case Tag::GpuMma:
    return gpu_tag_name(tag.tag, tag.axis);
  case Tag::Sequential:
    break;
  }
  return "";
}

} // namespace

void bind_functions(py::module_ &module) {
  py::class_<KernelFunction>(module, "Function", py::custom_type_setup(set_up_type))
      .def(py::init([](const std::string &name, std::vector<ComputationPtr> outputs,
                       std::vector<ComputationPtr> inputs, const std::vector<ExprHandle> &context,
                       bool fast_math, const std::string &cpu, const std::string &optimize,
                       bool default_schedule, const std::string &target, const py::handle &where) {
             CompileOptions settings;
             settings.gpu = to_gpu_target(target);
             settings.fast_math = fast_math;
             settings.cpu = cpu;
             settings.optimize = to_optimization(optimize);
             settings.default_schedule = default_schedule;
             return std::make_unique<KernelFunction>(
                 make_function(name, std::move(outputs), std::move(inputs), to_expressions(context),
                               to_location(where)),
                 settings);
           }),
           py::arg("name"), py::arg("outputs"), py::arg("inputs"), py::arg("context"),
           py::arg("fast_math"), py::arg("cpu"), py::arg("optimize"), py::arg("default_schedule"),
           py::arg("target"), py::arg("where") = py::none())
      .def(py::init([](const KernelFunction &other) {
             auto copy =
                 std::make_unique<KernelFunction>(other.shared_function(), other.settings());
             copy->take_mapping(other);
             copy->set_threads(other.threads());
             return copy;
           }),
           py::arg("other"))
      .def(py::init([](const py::tuple &state, bool fast_math, const std::string &cpu, int optimize,
                       bool default_schedule, const std::string &target) {
             CompileOptions settings;
             settings.gpu = to_gpu_target(target);
             settings.fast_math = fast_math;
             settings.cpu = cpu;
             settings.optimize = static_cast<Optimization>(optimize);
             settings.default_schedule = default_schedule;
             return std::make_unique<KernelFunction>(unpacked_function(state), settings);
           }),
           py::arg("packed"), py::arg("fast_math"), py::arg("cpu"), py::arg("optimize"),
           py::arg("default_schedule"), py::arg("target"))
      .def_property_readonly("_packed",
                             [](const KernelFunction &self) {
                               const CompileOptions &settings = self.settings();
                               return py::make_tuple(
                                   packed_function(self.function()), settings.fast_math,
                                   settings.cpu, static_cast<int>(settings.optimize),
                                   settings.default_schedule, target_text(settings.gpu));
                             })
      .def("_array",
           [](const KernelFunction &self, const std::string &name) {
             const ComputationPtr *found = self.function().find(name);
             if (found == nullptr) {
               throw py::key_error(name);
             }
             return *found;
           })
      .def_property_readonly("name",
                             [](const KernelFunction &self) { return self.function().name; })
      .def_property_readonly("parameters",
                             [](const KernelFunction &self) { return self.function().parameters; })
      .def_property_readonly(
          "inputs", [](const KernelFunction &self) { return names_of(self.function().inputs); })
      .def_property_readonly(
          "outputs", [](const KernelFunction &self) { return names_of(self.function().outputs); })
      .def_property_readonly("computations",
                             [](const KernelFunction &self) {
                               return names_of(self.scheduled_function().computations);
                             })
      .def_property_readonly(
          "_arguments",
          [](const KernelFunction &self) {
            std::vector<std::tuple<std::string, std::string, std::vector<std::string>, bool>> all;
            for (const auto &argument : self.arguments()) {
              std::vector<std::string> extents;
              for (const auto &extent : argument.extents) {
                extents.push_back(to_string(extent.expression()));
              }
              all.emplace_back(argument.name, type_name(argument.type), extents,
                               argument.is_output);
            }
            return all;
          })
      .def_property_readonly("_overwritten", &KernelFunction::overwritten)
      .def_property_readonly(
          "_fields",
          [](const KernelFunction &self) {
            std::vector<std::tuple<std::string, std::string, std::string>> fields;
            for (const auto &input : self.function().inputs) {
              fields.emplace_back(input->name, input->record, input->field);
            }
            return fields;
          })
      .def("_output_shapes",
           [](const KernelFunction &self, const py::args &arguments, const py::kwargs &keywords) {
             return self.output_shapes(
                 GatheredArguments(arguments.ptr(), keywords.ptr()).arguments());
           })
      .def_property_readonly("fast_math",
                             [](const KernelFunction &self) { return self.settings().fast_math; })
      .def_property(
          "target", [](const KernelFunction &self) { return target_text(self.settings().gpu); },
          [](KernelFunction &self, const std::string &name) {
            self.set_target(to_gpu_target(name));
          })
      .def_property_readonly("_on_device", &KernelFunction::runs_on_device)
      .def_property_readonly(
          "cpu",
          [](const KernelFunction &self) { return describe_cpu(self.settings().cpu).text(); })
      .def_property_readonly("_identities",
                             [](const KernelFunction &self) {
                               std::vector<std::uintptr_t> identities;
                               for (const auto &computation : self.function().computations) {
                                 identities.push_back(identity(*computation));
                               }
                               return identities;
                             })
      .def_property_readonly("_input_identities",
                             [](const KernelFunction &self) {
                               std::vector<std::uintptr_t> identities;
                               for (const auto &input : self.function().inputs) {
                                 identities.push_back(identity(*input));
                               }
                               return identities;
                             })
      .def("_loops",
           [](const KernelFunction &self, const std::string &computation) {
             require_computation(self, computation);
             std::vector<std::pair<std::string, std::string>> loops;
             for (const auto &dimension : self.mapping().time_space(computation).dimensions) {
               loops.emplace_back(dimension.name, tag_text(dimension.tag));
             }
             return loops;
           })
      .def("_apply",
           [](KernelFunction &self, const std::string &computation, const std::string &name,
              const std::vector<py::object> &arguments, const py::handle &where) {
             self.apply(to_command(computation, name, arguments, where));
           })
      .def("_replay", [](KernelFunction &self, const std::vector<CommandTuple> &commands,
                         const py::handle &where) { self.replay(to_schedule(commands, where)); })
      .def("_commands", [](const KernelFunction &self) { return from_schedule({self.commands()}); })
      .def("_default_commands",
           [](const KernelFunction &self) {
             if (!self.uses_default_schedule()) {
               return py::list();
             }
             return from_schedule(self.mapping_that_runs().schedule());
           })
      .def("_layers",
           [](KernelFunction &self) {
             const Mapping mapping = self.mapping_that_runs();
             return std::make_tuple(to_string(mapping.function()), layer_two(mapping),
                                    layer_three(mapping));
           })
      .def("_require_legal", &KernelFunction::require_checked)
      .def("_key",
           [](KernelFunction &self) {
             self.require_checked();
             return kernel_key(self.mapping(), self.default_options());
           })
      .def("_key_text",
           [](KernelFunction &self) {
             self.require_checked();
             return kernel_key_text(self.mapping(), self.default_options());
           })
      .def("_loops_text",
           [](KernelFunction &self) {
             const InterruptibleAnalysis interruptible;
             self.require_checked();
             return loops_text(self.mapping(), self.default_options());
           })
      .def("_llvm_text",
           [](KernelFunction &self) {
             const InterruptibleAnalysis interruptible;
             self.require_checked();
             return llvm_text(self.mapping(), self.default_options());
           })
      .def("_assembly_text",
           [](KernelFunction &self) {
             const InterruptibleAnalysis interruptible;
             self.require_checked();
             return assembly_text(self.mapping(), self.default_options());
           })
      .def("_ptx_text",
           [](KernelFunction &self, int architecture, bool is_exact) {
             const InterruptibleAnalysis interruptible;
             self.require_checked();
             CompileOptions options = self.default_options();
             options.gpu = {GpuTarget::Kind::Cuda, architecture, is_exact};
             return ptx_text(self.mapping(), options);
           })
      .def("_evaluate",
           [](KernelFunction &self, const py::args &arguments, const py::kwargs &keywords) {
             return self.evaluate(GatheredArguments(arguments.ptr(), keywords.ptr()).arguments());
           })
      .def("_compile",
           [](KernelFunction &self, const py::args &arguments, const py::kwargs &keywords) {
             return self.compile_for(
                 GatheredArguments(arguments.ptr(), keywords.ptr()).arguments());
           })
      .def_property("_threads", &KernelFunction::threads, &KernelFunction::set_threads)
      .def("_trace",
           [](KernelFunction &self, const std::string &computation, bool infinities,
              const py::args &arguments, const py::kwargs &keywords) {
             return self.trace(computation, infinities,
                               GatheredArguments(arguments.ptr(), keywords.ptr()).arguments());
           })
      .def("_profile",
           [](KernelFunction &self, int repeats, const py::args &arguments,
              const py::kwargs &keywords) {
             return self.profile(repeats,
                                 GatheredArguments(arguments.ptr(), keywords.ptr()).arguments());
           })
      .def_property(
          "_check_bounds",
          [](const KernelFunction &self) { return self.settings().instrumentation.bounds; },
          &KernelFunction::set_check_bounds)
      .def_property_readonly("_pending", &KernelFunction::is_pending)
      .def_property_readonly("_full", &KernelFunction::is_full)
      .def("_last_compile", [](const KernelFunction &self) { return self.last_compile_info(); });

  module.def(
      "view_array",
      [](const py::object &object) {
        try {
          ForeignArray foreign = foreign_array(object.ptr());
          return foreign.may_be_a_copy || !foreign.array ? py::none() : py::object(foreign.array);
        } catch (const RefusedArray &refusal) {
          throw py::type_error(refusal.what());
        }
      },
      py::arg("object"));
  module.def("answer_vectorcalls", &answer_vectorcalls, py::arg("type"));
  module.def("computation_identity", &identity, py::arg("computation"));
  module.def(
      "schedule_text",
      [](const std::vector<CommandTuple> &commands) {
        return to_string(to_schedule(commands, py::none()));
      },
      py::arg("commands"));
  bind_pickling(module);
  bind_runtime(module);
}

} // namespace tilewright
