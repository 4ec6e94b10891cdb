#include "bindings/function_options.h"

#include "polyhedral/error.h"

#include <fmt/format.h>
#include <pybind11/operators.h>

#include <map>

namespace tilewright {

namespace py = pybind11;

namespace {

const std::map<std::string, Optimization> &optimizations() {
  static const std::map<std::string, Optimization> known = {
      {"auto", Optimization::Automatic},
      {"light", Optimization::Light},
      {"full", Optimization::Full},
      {"background", Optimization::Background},
  };
  return known;
}

std::string optimization_text(Optimization optimization) {
  for (const auto &[name, value] : optimizations()) {
    if (value == optimization) {
      return name;
    }
  }
  return "";
}

Optimization to_optimization(const std::string &name) {
  const auto found = optimizations().find(name);
  if (found == optimizations().end()) {
    throw Error(ErrorKind::Argument,
                "optimize must be 'auto', 'light', 'full' or 'background', not '" + name + "'");
  }
  return found->second;
}

std::string target_name(const CompileOptions &options) {
  return std::string(options.target.target->name());
}

CompileOptions make_options(bool fast_math, const std::string &cpu, const std::string &optimize,
                            bool default_schedule, bool check_bounds, const std::string &target) {
  CompileOptions options;
  options.fast_math = fast_math;
  options.cpu = cpu;
  options.optimize = to_optimization(optimize);
  options.default_schedule = default_schedule;
  options.instrumentation.bounds = check_bounds;
  options.target = select_target(target);
  return options;
}

/// The arguments that make these options.
py::tuple values_of(const CompileOptions &options) {
  return py::make_tuple(options.fast_math, options.cpu, optimization_text(options.optimize),
                        options.default_schedule, options.instrumentation.bounds,
                        target_name(options));
}

std::string repr_of(const CompileOptions &options) {
  const auto truth = [](bool value) { return value ? "True" : "False"; };
  return fmt::format("Options(fast_math={}, cpu='{}', optimize='{}', default_schedule={}, "
                     "check_bounds={}, target='{}')",
                     truth(options.fast_math), options.cpu, optimization_text(options.optimize),
                     truth(options.default_schedule), truth(options.instrumentation.bounds),
                     target_name(options));
}

} // namespace

void bind_options(py::module_ &module) {
  py::class_<CompileOptions>(module, "Options")
      .def(py::init(&make_options), py::arg("fast_math") = false, py::arg("cpu") = "native",
           py::arg("optimize") = "auto", py::arg("default_schedule") = true,
           py::arg("check_bounds") = false, py::arg("target") = "cuda")
      .def_readonly("fast_math", &CompileOptions::fast_math)
      .def_readonly("cpu", &CompileOptions::cpu)
      .def_property_readonly(
          "optimize", [](const CompileOptions &self) { return optimization_text(self.optimize); })
      .def_readonly("default_schedule", &CompileOptions::default_schedule)
      .def_property_readonly("check_bounds",
                             [](const CompileOptions &self) { return self.instrumentation.bounds; })
      .def_property_readonly("target", [](const CompileOptions &self) { return target_name(self); })
      .def("__eq__",
           [](const CompileOptions &self, const py::object &other) {
             return py::isinstance<CompileOptions>(other) &&
                    values_of(self).equal(values_of(other.cast<const CompileOptions &>()));
           })
      .def("__hash__", [](const CompileOptions &self) { return py::hash(values_of(self)); })
      .def("__repr__", &repr_of)
      .def("__reduce__", [](const CompileOptions &self) {
        return py::make_tuple(py::type::of<CompileOptions>(), values_of(self));
      });
}

} // namespace tilewright
