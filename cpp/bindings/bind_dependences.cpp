#include "bindings/bind_dependences.h"

#include "analysis/dependence_table.h"
#include "analysis/program_relations.h"
#include "bindings/bind_sets.h"
#include "bindings/kernel_call.h"

#include <pybind11/stl.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

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
  const Program program = build_program(function.mapping());
  std::map<std::string, isl::set> domains;
  for (const Statement &statement : program.statements) {
    domains.emplace(statement.name, statement.domain);
  }
  for (const DependenceRow &row : dependence_table(program)) {
    py::list loops;
    for (size_t level = 0; level < row.loops.size(); ++level) {
      loops.append(py::make_tuple(row.loops[level], satisfaction_name(row.satisfied[level])));
    }
    py::dict entry;
    entry["source"] = row.dependence.source;
    entry["sink"] = row.dependence.sink;
    entry["array"] = row.dependence.array;
    entry["relation"] = row.text;
    entry["map"] = held(IntegerMap(
        checked(row.dependence.relation.intersect_domain(domains.at(row.dependence.source))
                    .intersect_range(domains.at(row.dependence.sink))
                    .coalesce(),
                "a dependence")));
    entry["exact"] = row.dependence.exact;
    entry["loops"] = loops;
    entry["by_order"] = row.by_order;
    rows.append(entry);
  }
  return rows;
}

using HeldSet = std::shared_ptr<IntegerSet>;
using HeldMap = std::shared_ptr<IntegerMap>;

/// (instances, reads, writes, schedule) of a computation, or of all.
std::tuple<HeldSet, HeldMap, HeldMap, HeldMap> relations(const KernelFunction &function,
                                                         const std::string &computation) {
  return analyse_unlocked([&] {
    const OperationLimit limit(inspection_limit);
    ProgramRelations found = program_relations(build_program(function.mapping()), computation);
    return std::make_tuple(held(IntegerSet(found.instances)), held(IntegerMap(found.reads)),
                           held(IntegerMap(found.writes)), held(IntegerMap(found.schedule)));
  });
}

HeldSet index_set(const KernelFunction &function, const std::string &computation) {
  return analyse_unlocked([&] {
    const OperationLimit limit(inspection_limit);
    const ComputationPtr *found = function.mapping().function().find(computation);
    if (found == nullptr) {
      throw Error(ErrorKind::Schedule, "there is no computation '" + computation + "'");
    }
    return held(IntegerSet(isl::union_set((**found).domain)));
  });
}

/// (buffer, anti, output, input) of each buffer that has some.
std::vector<std::tuple<std::string, HeldMap, HeldMap, HeldMap>>
storage_dependences_of(const KernelFunction &function) {
  return analyse_unlocked([&] {
    const OperationLimit limit(inspection_limit);
    std::vector<std::tuple<std::string, HeldMap, HeldMap, HeldMap>> all;
    for (const StorageDependences &each : storage_dependences(build_program(function.mapping()))) {
      all.emplace_back(each.buffer, held(IntegerMap(each.anti)), held(IntegerMap(each.output)),
                       held(IntegerMap(each.input)));
    }
    return all;
  });
}

} // namespace

void bind_dependences(py::module_ &module) {
  module.def("relations", &relations, py::arg("function"), py::arg("computation"),
             "The instances of the statements of a computation, and what they read, what they "
             "write and when they run; of all computations, where the name is empty.");
  module.def("index_set", &index_set, py::arg("function"), py::arg("computation"),
             "The domain of a computation of a function.");
  module.def("storage_dependences", &storage_dependences_of, py::arg("function"),
             "The pairs of instances that share elements of a buffer: (buffer, anti, output, "
             "input).");
  module.def("dependences", &dependences, py::arg("function"),
             "The flow dependences of a function and what each loop does for them.");
}

} // namespace tilewright
