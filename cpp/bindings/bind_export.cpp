#include "bindings/bind_export.h"

#include "algorithm/block.h"
#include "algorithm/extern_function.h"
#include "bindings/kernel_call.h"
#include "compiler/export.h"
#include "targets/c_source/names.h"

#include <isl/point.h>
#include <isl/set.h>
#include <isl/val.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

/// (name, [(argument, offset), ...], bytes of an element, alignment, passed by value)
using ArrayTuple = std::tuple<std::string, std::vector<std::pair<std::string, std::int64_t>>,
                              std::int64_t, std::int64_t, bool>;

int argument_number(const KernelFunction &function, const std::string &name) {
  const std::vector<ArrayArgument> &arguments = function.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == name) {
      return static_cast<int>(i);
    }
  }
  throw py::key_error(name);
}

py::tuple export_function(KernelFunction &self, const std::string &symbol,
                          const std::vector<ArrayTuple> &arrays, bool strides,
                          const std::string &cpu) {
  self.require_checked();
  require_no_blocks(self.function(), "C source");
  const IslLock lock; // an analysis in another thread may change what is exported
  CompileOptions options = self.default_options();
  options.instrumentation = {}; // what it says needs this library
  if (!cpu.empty()) {
    options.cpu = cpu;
  }
  CFunction interface;
  interface.symbol = symbol;
  interface.strides = strides;
  for (const auto &[name, parts, element_bytes, alignment, by_value] : arrays) {
    CArray array;
    array.name = name;
    array.element_bytes = element_bytes;
    array.alignment = alignment;
    array.by_value = by_value;
    for (const auto &[argument, offset] : parts) {
      const int number = argument_number(self, argument);
      array.parts.push_back({number, offset});
      ArrayLayout &layout = options.layouts.at(static_cast<size_t>(number));
      if (element_bytes != self.arguments()[static_cast<size_t>(number)].item_size) {
        layout = {-1, 0}; // a field: its elements are not neighbours
      } else if (strides) {
        layout.packed = 0;
      }
    }
    interface.arrays.push_back(std::move(array));
  }
  const ExportedKernel exported =
      export_kernel(self.mapping(), std::move(options), std::move(interface));
  return py::make_tuple(py::bytes(exported.object), exported.cpu);
}

/// (name, member of structures, passed by value) for each of the kernel's arguments, in order; the
/// fields of structures among them.
using SourceTuple = std::tuple<std::string, std::string, bool>;

py::tuple export_c_source(KernelFunction &self, const std::string &symbol,
                          const std::string &prototype, const std::string &status_prefix,
                          const std::vector<SourceTuple> &arrays,
                          const std::vector<std::string> &parameters) {
  self.require_checked();
  const IslLock lock; // an analysis in another thread may change what is exported
  CompileOptions options = self.default_options();
  options.instrumentation = {}; // what it says needs this library
  CSourceFunction function;
  function.symbol = symbol;
  function.prototype = prototype;
  function.status_prefix = status_prefix;
  function.parameters = parameters;
  for (const auto &[name, member, by_value] : arrays) {
    if (!member.empty()) {
      options.layouts.at(function.arrays.size()) = {-1, 0}; // its elements are not neighbours
    }
    const bool is_read = self.arguments().at(function.arrays.size()).needs_zeros;
    function.arrays.push_back({name, member, by_value, is_read});
  }
  const ExportedSource exported =
      export_source(self.mapping(), std::move(options), std::move(function));
  return py::make_tuple(exported.source.includes, exported.source.text, exported.subscripts);
}

/// The extents of all arguments for these parameters, or None where those break the context.
std::optional<std::vector<std::vector<std::int64_t>>>
extents_at(const KernelFunction &self, const std::vector<std::int64_t> &parameters) {
  const Function &function = self.function();
  if (parameters.size() != function.parameters.size()) {
    throw py::value_error("one value for each parameter is needed");
  }
  if (!ContextCheck(function.context, function.parameters).holds(parameters.data())) {
    return std::nullopt;
  }
  std::vector<std::vector<std::int64_t>> all;
  for (const ArrayArgument &argument : self.arguments()) {
    std::vector<std::int64_t> extents;
    for (const Extent &extent : argument.extents) {
      extents.push_back(extent.evaluate(parameters.data()));
    }
    all.push_back(std::move(extents));
  }
  return all;
}

/// The least values of the parameters, the first one before the others, that keep the context, each
/// at least `least`; None where there are none, or where they are too hard to find.
std::optional<std::vector<std::int64_t>> least_sizes(const KernelFunction &self, int least) {
  const Function &function = self.function();
  const auto count = static_cast<unsigned>(function.parameters.size());
  const OperationLimit limit(2'000'000);
  isl_set *set = isl_set_from_params(function.context.copy());
  set = isl_set_insert_dims(set, isl_dim_set, 0, count);
  for (unsigned d = 0; d < count; ++d) {
    const int parameter =
        isl_set_find_dim_by_name(set, isl_dim_param, function.parameters[d].c_str());
    if (parameter >= 0) {
      set = isl_set_equate(set, isl_dim_set, static_cast<int>(d), isl_dim_param, parameter);
    }
    set = isl_set_lower_bound_si(set, isl_dim_set, d, least);
  }
  set = isl_set_project_out_all_params(set);
  const isl::point point = isl::manage(isl_set_sample_point(isl_set_lexmin(set)));
  if (point.is_null() || isl_point_is_void(point.get()) != isl_bool_false) {
    return std::nullopt;
  }
  std::vector<std::int64_t> values;
  for (unsigned d = 0; d < count; ++d) {
    const isl::val value =
        isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d)));
    values.push_back(value.is_null() ? -1 : isl_val_get_num_si(value.get()));
  }
  return values;
}

std::vector<std::string> partly_written(const KernelFunction &self) {
  std::vector<std::string> names;
  for (const ArrayArgument &argument : self.arguments()) {
    if (argument.is_output && argument.needs_zeros) {
      names.push_back(argument.name);
    }
  }
  return names;
}

} // namespace

void bind_export(py::module_ &module) {
  module.def("export_function", &export_function, py::arg("function"), py::arg("symbol"),
             py::arg("arrays"), py::arg("strides"), py::arg("cpu"),
             "The object file of a C function around a kernel, and the CPU that it is for: by "
             "default, the function's.");
  module.def(
      "export_c_source", &export_c_source, py::arg("function"), py::arg("symbol"),
      py::arg("prototype"), py::arg("status_prefix"), py::arg("arrays"), py::arg("parameters"),
      "A C function in C: what it includes, its definition with what it calls, and the texts of "
      "the subscripts that it checks. With launches, it calls what export/gpu_host.c has.");
  module.def("c_source_statuses", &c_source_statuses, py::arg("prefix"),
             py::arg("has_launches") = false,
             "The codes that functions in C source return, as an enum of C.");
  module.def("c_identifier", &c_identifier, py::arg("name"),
             "The name, or one like it where C, or code in C source, has that for itself.");
  module.def(
      "c_externs",
      [](const KernelFunction &function) {
        require_no_blocks(function.function(), "exported C");
        std::vector<std::pair<std::string, std::string>> found;
        for (const ExternPtr &external : externs_of(function.function())) {
          found.emplace_back(external->name, c_prototype(*external));
        }
        return found;
      },
      py::arg("function"), "The functions of C that a function calls: names and prototypes.");
  module.def("extents_at", &extents_at, py::arg("function"), py::arg("parameters"),
             "The extents of all arguments for these values of the parameters, or None where those "
             "break the context.");
  module.def("least_sizes", &least_sizes, py::arg("function"), py::arg("least"),
             "The least values of the parameters that keep the context, or None.");
  module.def("partly_written", &partly_written, py::arg("function"),
             "The outputs of which not every element is written.");
  module.def(
      "exported_runtime", [] { return py::bytes(exported_runtime()); },
      "The object file of what exported functions call.");
  module.def(
      "static_library",
      [](const std::vector<std::pair<std::string, py::bytes>> &members) {
        std::vector<std::pair<std::string, std::string>> list;
        for (const auto &[name, bytes] : members) {
          list.emplace_back(name, static_cast<std::string>(bytes));
        }
        return py::bytes(static_library(list));
      },
      py::arg("members"), "A static library of object files: (name, bytes).");
}

} // namespace tilewright
