#include "bindings/bind_automatic.h"

#include "bindings/command_values.h"
#include "bindings/kernel_call.h"
#include "bindings/signals.h"
#include "planning/auto/bands.h"
#include "polyhedral/isl.h"
#include "polyhedral/isl_counts.h"
#include "scheduling/automatic.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace tilewright {

namespace {

constexpr std::uint64_t inspection_limit = 100'000'000;

/// (commands that stay, commands found, (computations, sentence) of each decision).
using FoundParts = std::tuple<py::list, py::list, std::vector<std::pair<std::string, std::string>>>;

FoundParts parts_of(FoundSchedule found) {
  std::vector<std::pair<std::string, std::string>> decisions;
  for (const Decision &decision : found.decisions) {
    decisions.emplace_back(decision.about, decision.text);
  }
  return {from_schedule({std::move(found.kept)}), from_schedule({std::move(found.commands)}),
          std::move(decisions)};
}

FoundParts found_schedule(const KernelFunction &function) {
  return parts_of(analyse_unlocked([&] { return find_schedule(function.scheduled()); }));
}

FoundParts better_nests(const KernelFunction &function, std::uint64_t operations,
                        const std::vector<std::string> &endless) {
  return parts_of(analyse_unlocked([&] {
    std::optional<OperationLimit> limit;
    if (operations > 0) {
      limit.emplace(operations);
    }
    return find_better_nests(function.scheduled(), endless);
  }));
}

FoundParts gpu_nests(const KernelFunction &function) {
  return parts_of(analyse_unlocked([&] { return find_gpu_nests(function.scheduled()); }));
}

/// (computations, permutable, coincident loops) of each outermost band that isl's scheduler finds.
std::vector<std::tuple<std::vector<std::string>, bool, std::vector<bool>>>
bands_of(const KernelFunction &function) {
  return analyse_unlocked([&] {
    const OperationLimit limit(inspection_limit);
    const Program program = build_program(function.mapping());
    std::set<std::string> names;
    for (const Statement &statement : program.statements) {
      names.insert(statement.computation->name);
    }
    const auto bands = find_bands(flow_graph(program, names), {names.begin(), names.end()});
    if (!bands) {
      throw Error(ErrorKind::Limit, "the bands of " + function.function().name +
                                        ": isl's scheduler found no order within " +
                                        std::to_string(band_operation_limit) + " operations");
    }
    std::vector<std::tuple<std::vector<std::string>, bool, std::vector<bool>>> all;
    for (const Band &band : *bands) {
      all.emplace_back(band.computations, band.permutable, band.coincident);
    }
    return all;
  });
}

} // namespace

void bind_automatic(py::module_ &module) {
  module.def("found_schedule", &found_schedule, py::arg("function"),
             "What the planner finds for a function: the commands that stay, its own, and its "
             "decisions.");
  module.def("better_nests", &better_nests, py::arg("function"), py::arg("operations") = 0,
             py::arg("endless") = std::vector<std::string>(),
             "What the planner finds within the order that a function has: the commands that it "
             "has, the planner's behind them, and its decisions; within so many operations on "
             "integer sets in all, unless they are 0. `endless` names the parameters that bound "
             "loops which data end.");
  module.def(
      "gpu_nests", &gpu_nests, py::arg("function"),
      "The same as kernels for a GPU: its commands replace the order that the function has.");
  module.def(
      "may_have_time_tiles",
      [](const KernelFunction &function) {
        return analyse_unlocked([&] { return may_have_time_tiles(function.scheduled()); });
      },
      py::arg("function"), "Whether the planner would tile some recurrence in time, if legal.");
  module.def("isl_allocations", &isl_allocations, "isl's allocations so far, which tests count.");
  module.def(
      "facts",
      [](const KernelFunction &function) {
        return from_schedule({analyse_unlocked([&] { return facts_of(function.scheduled()); })});
      },
      py::arg("function"), "Those of a function's commands that no planner replaces.");
  module.def(
      "automatic_key",
      [](const KernelFunction &function) {
        return analyse_unlocked([&] {
          const OperationLimit limit(inspection_limit);
          return automatic_key(function.scheduled());
        });
      },
      py::arg("function"), "A digest of all that the planner's answer depends on.");
  module.def("bands", &bands_of, py::arg("function"),
             "The outermost bands of loops that isl's scheduler finds: (computations, whether the "
             "loops can be interchanged, which are coincident).");
}

} // namespace tilewright
