// _core.Function: a callable function with its schedule; _core.cache_* and the thread settings.
// Python's class Function derives from it, so that a call goes straight to C++ (the slot tp_call).
#include "algorithm/convergence.h"
#include "algorithm/function.h"
#include "bindings/bind_language.h"
#include "bindings/bind_transactions.h"
#include "bindings/command_values.h"
#include "bindings/foreign_arrays.h"
#include "bindings/function_options.h"
#include "bindings/function_type.h"
#include "bindings/kernel_call.h"
#include "bindings/known_calls.h"
#include "bindings/pickling.h"
#include "bindings/prepared_call.h"
#include "bindings/push_method.h"
#include "bindings/signals.h"
#include "mapping/mapping.h"
#include "runtime/cpu.h"
#include "targets/nvptx/cuda_target.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tilewright {

namespace py = pybind11;

void bind_functions(py::module_ &module);
void bind_runtime(py::module_ &module);

namespace {

std::vector<std::string> names_of(const std::vector<ComputationPtr> &computations) {
  std::vector<std::string> names;
  for (const auto &computation : computations) {
    names.push_back(computation->name);
  }
  return names;
}

/// The tag of the loop in a strip of joined loops.
std::string strip_text(const LoopTag &tag) {
  return tag.strips == Tag::Sequential ? ""
                                       : (tag.strips == Tag::Vector ? "vector(" : "unroll(") +
                                             std::to_string(tag.strip) + ")";
}

std::uintptr_t identity(const Computation &computation) {
  return reinterpret_cast<std::uintptr_t>(&computation);
}

std::vector<std::uintptr_t> identities_of(const std::vector<ComputationPtr> &computations) {
  std::vector<std::uintptr_t> identities;
  for (const auto &computation : computations) {
    identities.push_back(identity(*computation));
  }
  return identities;
}

void require_computation(const KernelFunction &self, const std::string &name) {
  const ComputationPtr *found = self.scheduled().function().find(name);
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

/// A property or method that reads the schedule, which an analysis in another thread may change.
template <class Read>
auto reading(Read read) {
  return [read](const KernelFunction &self) {
    const IslLock lock;
    return read(self);
  };
}

/// For text_of: a form of the code.
auto code_in(const char *form) {
  return [form](const Mapping &mapping, const CompileOptions &options) {
    return code_text(form, mapping, options);
  };
}

/// A text of what is compiled, made without the GIL.
template <class Make>
auto text_of(Make make) {
  return [make](const KernelFunction &self) {
    return analyse_unlocked([&] {
      self.scheduled().require_legal();
      return make(self.scheduled().mapping(), self.default_options());
    });
  };
}

/// A method that takes what a call takes, after arguments of its own.
template <class Method>
auto like_a_call(Method method) {
  return [method](KernelFunction &self, const py::args &arguments, const py::kwargs &keywords) {
    return (self.*method)(GatheredArguments(arguments.ptr(), keywords.ptr()).arguments());
  };
}

using FunctionClass = py::class_<KernelFunction>;

/// Parameter, test, limit (0: none).
using StopTuple = std::tuple<std::string, ComputationPtr, std::int64_t>;

void bind_constructors(FunctionClass &type) {
  type.def(py::init([](const std::string &name, std::vector<ComputationPtr> outputs,
                       std::vector<ComputationPtr> inputs, const std::vector<ExprHandle> &context,
                       const CompileOptions &options, const py::handle &where,
                       const std::optional<StopTuple> &stop) {
             const IslLock lock;
             std::optional<StopTest> test;
             if (stop) {
               const auto &[parameter, until, limit] = *stop;
               test.emplace();
               test->parameter = parameter;
               test->test = until;
               test->limit = limit;
               test->where = to_location(where);
             }
             return std::make_unique<KernelFunction>(make_isl_shared<ScheduledFunction>(
                 make_function(name, std::move(outputs), std::move(inputs), to_expressions(context),
                               to_location(where), std::move(test)),
                 options));
           }),
           py::arg("name"), py::arg("outputs"), py::arg("inputs"), py::arg("context"),
           py::arg("options"), py::arg("where") = py::none(), py::arg("stop") = py::none())
      .def(py::init([](const KernelFunction &other) {
             const IslLock lock;
             auto copy = std::make_unique<KernelFunction>(
                 make_isl_shared<ScheduledFunction>(other.scheduled()));
             copy->set_threads(other.threads());
             return copy;
           }),
           py::arg("other"))
      .def(py::init([](const py::tuple &state, const CompileOptions &options) {
             const IslLock lock;
             return std::make_unique<KernelFunction>(
                 make_isl_shared<ScheduledFunction>(unpacked_function(state), options));
           }),
           py::arg("packed"), py::arg("options"))
      .def_property_readonly("_packed", reading([](const KernelFunction &self) {
                               return py::make_tuple(packed_function(self.function()),
                                                     self.scheduled().options());
                             }));
}

/// What was declared, which nothing changes.
void bind_declaration(FunctionClass &type) {
  type.def("_array",
           [](const KernelFunction &self, const std::string &name) {
             const IslLock lock;
             const ComputationPtr *found = self.function().find(name);
             if (found == nullptr) { // a reduction that was isolated, say
               found = self.scheduled().function().find(name);
             }
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
      .def_property_readonly(
          "_fields",
          [](const KernelFunction &self) {
            std::vector<std::tuple<std::string, std::string, std::string>> fields;
            for (const auto &input : self.function().inputs) {
              fields.emplace_back(input->name, input->record, input->field);
            }
            return fields;
          })
      .def_property_readonly(
          "_identities",
          [](const KernelFunction &self) { return identities_of(self.function().computations); })
      .def_property_readonly("_input_identities", [](const KernelFunction &self) {
        return identities_of(self.function().inputs);
      });
}

void bind_chosen_options(FunctionClass &type) {
  const auto option = [](auto read) {
    return reading([read](const KernelFunction &self) { return read(self.scheduled().options()); });
  };
  type.def_property_readonly("options",
                             option([](const CompileOptions &options) { return options; }))
      .def_property_readonly(
          "fast_math", option([](const CompileOptions &options) { return options.fast_math; }))
      .def_property("target", option([](const CompileOptions &options) {
                      return std::string(options.target.target->name());
                    }),
                    [](KernelFunction &self, const std::string &name) {
                      self.set_target(select_target(name));
                    })
      .def_property_readonly("cpu", option([](const CompileOptions &options) {
                               return describe_cpu(options.cpu).text();
                             }))
      .def_property("_check_bounds", option([](const CompileOptions &options) {
                      return options.instrumentation.bounds;
                    }),
                    &KernelFunction::set_check_bounds)
      .def_property("_threads", &KernelFunction::threads, &KernelFunction::set_threads);
}

void bind_schedule(FunctionClass &type) {
  type.def_property_readonly("computations", reading([](const KernelFunction &self) {
                               return names_of(self.scheduled().function().computations);
                             }))
      .def_property_readonly("_overwritten", reading([](const KernelFunction &self) {
                               return self.scheduled().overwritten();
                             }))
      .def_property_readonly("_on_device", &KernelFunction::runs_on_device)
      .def("_placements",
           [](const KernelFunction &self) {
             const IslLock lock;
             py::list all;
             for (const Placement &placed : self.scheduled().mapping_so_far().state().placements) {
               if (!placed.compute_at) {
                 all.append(py::make_tuple(placed.computation, placed.other, placed.shared,
                                           placed.before ? "before" : "after"));
               }
             }
             return all;
           })
      .def("_loops",
           [](const KernelFunction &self, const std::string &computation) {
             const IslLock lock;
             require_computation(self, computation);
             std::vector<std::pair<std::string, std::string>> loops;
             const Mapping &mapping = self.scheduled().mapping_so_far();
             for (const auto &dimension : mapping.time_space(computation).dimensions) {
               const bool again = !loops.empty() && loops.back().first == dimension.name;
               if (!again) { // of joined loops, which count as one
                 const bool strip = dimension.tag.counts < 0;
                 loops.emplace_back(dimension.name,
                                    strip ? strip_text(dimension.tag) : tag_text(dimension.tag));
               }
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
      .def("_store_verdicts",
           [](const KernelFunction &self) {
             analyse_unlocked([&] { self.scheduled().store_verdicts(); });
           })
      .def("_version", &KernelFunction::version)
      .def("_stand_for", &KernelFunction::stand_for, py::keep_alive<1, 2>())
      .def("_take_found",
           [](KernelFunction &self, std::uint64_t version,
              const std::vector<CommandTuple> &commands, const py::handle &where) {
             return self.take_found(version, to_schedule(commands, where));
           })
      .def("_require_no_transaction",
           [](const KernelFunction &self) { self.scheduled().require_no_transaction(); })
      .def("_commands", reading([](const KernelFunction &self) {
             return from_schedule({self.scheduled().commands()});
           }))
      .def(
          "_default_commands",
          [](const KernelFunction &self, const std::map<std::string, std::int64_t> &sizes) {
            return reading([&](const KernelFunction &read) {
              return from_schedule(read.scheduled().default_commands(sizes));
            })(self);
          },
          py::arg("sizes") = std::map<std::string, std::int64_t>())
      .def("_require_legal", &KernelFunction::require_checked);
}

void bind_texts(FunctionClass &type) {
  type.def("_layers", reading([](const KernelFunction &self) {
             const Mapping mapping = self.mapping_that_runs();
             return std::make_tuple(to_string(mapping.function()), layer_two(mapping),
                                    layer_three(mapping));
           }))
      .def("_key", text_of(kernel_key))
      .def("_key_text", text_of(kernel_key_text))
      .def("_loops_text", text_of(loops_text))
      .def("_llvm_text", text_of(code_in("llvm")))
      .def("_assembly_text", text_of(code_in("assembly")))
      .def("_ptx_text", [](const KernelFunction &self, const std::string &architecture) {
        return text_of([&](const Mapping &mapping, CompileOptions options) {
          options.target = {&cuda_target(), architecture};
          return code_text("ptx", mapping, options);
        })(self);
      });
}

void bind_calls(FunctionClass &type) {
  type.def("_output_shapes", like_a_call(&KernelFunction::output_shapes))
      .def("_evaluate", like_a_call(&KernelFunction::evaluate))
      .def("_compile", like_a_call(&KernelFunction::compile_for))
      .def("_passes", like_a_call(&KernelFunction::passes_for))
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
      .def_property_readonly("_pending", &KernelFunction::is_pending)
      .def_property_readonly("_full", &KernelFunction::is_full)
      .def("_last_compile", &KernelFunction::last_compile_info);
}

} // namespace

void bind_functions(py::module_ &module) {
  bind_options(module);
  FunctionClass type(module, "Function", py::custom_type_setup(set_up_function_type));
  bind_constructors(type);
  bind_declaration(type);
  bind_chosen_options(type);
  bind_schedule(type);
  bind_texts(type);
  bind_calls(type);

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
  module.def("prepare_call", &prepare_call, py::arg("function"), py::arg("arguments"),
             py::arg("changing"), py::arg("outputs"), py::arg("lines") = py::list());
  module.def("alike_push", &alike_push, py::arg("lock"), py::arg("chunks"), py::arg("outputs"),
             py::arg("calls"), py::arg("ticks"));
  module.def("push_method", &push_method, py::arg("wrapped"));
  module.def("computation_identity", &identity, py::arg("computation"));
  module.def(
      "schedule_text",
      [](const std::vector<CommandTuple> &commands) {
        return to_string(to_schedule(commands, py::none()));
      },
      py::arg("commands"));
  bind_transactions(module);
  bind_known_calls(module);
  bind_pickling(module);
  bind_runtime(module);
}

} // namespace tilewright
