#include "bindings/bind_dependences.h"

#include "analysis/dependence_table.h"
#include "bindings/kernel_call.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright {

namespace {

constexpr std::uint64_t inspection_limit = 100'000'000;

const char *satisfaction_name(Satisfaction satisfaction) {
  switch (satisfaction) {
  case Satisfaction::Strict:
    return "strict";
  case Satisfaction::Weak:
    return "weak";
  case Satisfaction::Zero:
    return "zero";
  case Satisfaction::Violated:
    return "violated";
  }
  return "";
}

py::list dependences(const KernelFunction &function) {
  const OperationLimit limit(inspection_limit);
  py::list rows;
  for (const DependenceRow &row : dependence_table(build_program(function.mapping()))) {
    py::list loops;
    for (size_t level = 0; level < row.loops.size(); ++level) {
      loops.append(py::make_tuple(row.loops[level], satisfaction_name(row.satisfied[level])));
    }
    py::dict entry;
    entry["source"] = row.dependence.source;
    entry["sink"] = row.dependence.sink;
    entry["array"] = row.dependence.array;
    entry["relation"] = row.text;
    entry["exact"] = row.dependence.exact;
    entry["loops"] = loops;
    entry["by_order"] = row.by_order;
    rows.append(entry);
  }
  return rows;
}

} // namespace

void bind_dependences(py::module_ &module) {
  module.def("dependences", &dependences, py::arg("function"),
             "The flow dependences of a function and what each loop does for them.");
}

} // namespace tilewright
