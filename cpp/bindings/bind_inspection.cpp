#include "bindings/bind_inspection.h"

#include "algorithm/expression.h"
#include "bindings/kernel_call.h"
#include "mapping/accesses.h"
#include "mapping/program.h"
#include "polyhedral/isl.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

constexpr std::uint64_t inspection_limit = 100'000'000;

using Sizes = std::map<std::string, std::int64_t>;

const char *tag_name(Tag tag) {
  switch (tag) {
  case Tag::Parallel:
    return "parallel";
  case Tag::Vector:
    return "vector";
  case Tag::Unroll:
    return "unroll";
  case Tag::GpuBlock:
    return "gpu_block";
  case Tag::GpuThread:
    return "gpu_thread";
  case Tag::GpuSpread:
    return "gpu_spread";
  case Tag::GpuMma:
    return "gpu_mma";
  case Tag::Sequential:
    break;
  }
  return "";
}

const char *role_name(StatementRole role) {
  switch (role) {
  case StatementRole::Initialise:
    return "initialise";
  case StatementRole::Update:
    return "update";
  case StatementRole::Finish:
    return "finish";
  case StatementRole::Value:
    break;
  }
  return "value";
}

const char *buffer_kind(BufferKind kind) {
  switch (kind) {
  case BufferKind::Input:
    return "input";
  case BufferKind::Output:
    return "output";
  case BufferKind::Temporary:
    break;
  }
  return "temporary";
}

std::vector<std::string> texts(const std::vector<ExprPtr> &expressions) {
  std::vector<std::string> result;
  for (const ExprPtr &expression : expressions) {
    result.push_back(to_string(expression));
  }
  return result;
}

std::string text(const isl::pw_aff &value) { return to_text(checked(value.as_map(), "a loop")); }

/// The pairs of a relation at concrete sizes: [((in...), (out...)), ...].
py::list pairs_at(const isl::map &relation, const Sizes &sizes) {
  isl::map fixed = relation;
  for (const auto &[name, value] : sizes) {
    const int position = isl_map_find_dim_by_name(fixed.get(), isl_dim_param, name.c_str());
    if (position >= 0) {
      fixed =
          fixed.fix_si(isl::dim::param, static_cast<unsigned>(position), static_cast<int>(value));
    }
  }
  fixed = checked(fixed.project_out_all_params(), "a relation at concrete sizes");
  const size_t inputs = checked(fixed.domain_tuple_dim(), "a relation at concrete sizes");
  const size_t outputs = checked(fixed.range_tuple_dim(), "a relation at concrete sizes");
  const isl::set flat = isl::manage(isl_set_flatten(isl_map_wrap(fixed.copy())));
  py::list result;
  const isl::stat status =
      checked(flat, "a relation at concrete sizes").foreach_point([&](const isl::point &point) {
        py::tuple in(inputs);
        py::tuple out(outputs);
        for (size_t d = 0; d < inputs + outputs; ++d) {
          const isl::val coordinate = isl::manage(
              isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d)));
          const py::int_ number(static_cast<std::int64_t>(coordinate.num_si()));
          if (d < inputs) {
            in[d] = number;
          } else {
            out[d - inputs] = number;
          }
        }
        result.append(py::make_tuple(in, out));
        return isl::stat::ok();
      });
  if (status.is_error()) {
    throw_isl_error("a relation at concrete sizes");
  }
  return result;
}

py::dict describe_computation(const Mapping &mapping, const Computation &computation) {
  const TimeSpaceMap &map = mapping.time_space(computation.name);
  const Storage &storage = mapping.storage(computation.name);
  py::list loops;
  for (const LoopDimension &loop : map.dimensions) {
    py::dict entry;
    entry["name"] = loop.name;
    entry["value"] = text(loop.value);
    entry["tag"] = tag_name(loop.tag.tag);
    entry["factor"] = loop.tag.factor;
    entry["extent"] = loop.extent;
    loops.append(entry);
  }
  const InstanceSpace instances = instance_space(computation);
  py::dict result;
  result["iterators"] = instances.iterators;
  result["reduced"] = instances.reduced;
  result["instances"] = to_text(instances.domain);
  result["explicit"] = map.explicit_time;
  result["loops"] = loops;
  result["buffer"] = storage.buffer;
  result["index"] = texts(storage.index);
  result["storage"] = to_text(storage.relation);
  return result;
}

py::dict describe_statement(const Program &program, const Statement &statement,
                            const std::optional<Sizes> &sizes) {
  py::list tags;
  for (const LoopTag &tag : statement.tags) {
    tags.append(py::make_tuple(tag_name(tag.tag), tag.factor));
  }
  py::list loops;
  for (const isl::pw_aff &loop : statement.loops) {
    loops.append(text(loop));
  }
  py::list reads;
  for (const ReadAccess &read : read_accesses(statement)) {
    reads.append(py::make_tuple(read.producer->name, to_text(read.relation), read.exact));
  }
  const isl::map time = time_map(statement);
  py::dict result;
  result["name"] = statement.name;
  result["computation"] = statement.computation->name;
  result["piece"] = statement.piece;
  result["role"] = role_name(statement.role);
  result["iterators"] = statement.iterators;
  result["domain"] = to_text(statement.domain);
  result["time"] = to_text(time);
  result["order"] = statement.order;
  result["loops"] = loops;
  result["loop_names"] = statement.loop_names;
  result["tags"] = tags;
  result["value"] = to_string(statement.value);
  result["predicate"] = statement.predicate ? to_string(statement.predicate) : "";
  result["combine"] = statement.combine == Op::None ? "" : op_name(statement.combine);
  result["buffer"] = program.buffers[statement.buffer].name;
  result["index"] = texts(statement.index);
  result["reads"] = reads;
  result["writes"] = to_text(written_element(program, statement));
  if (sizes) {
    result["times"] = pairs_at(time, *sizes);
    result["elements"] = pairs_at(written_element(program, statement), *sizes);
  }
  return result;
}

/// Only what a statement does at concrete sizes: isl's texts take longer than all of that.
py::dict statement_at(const Program &program, const Statement &statement, const Sizes &sizes) {
  py::dict result;
  result["computation"] = statement.computation->name;
  result["role"] = role_name(statement.role);
  result["loop_names"] = statement.loop_names;
  result["buffer"] = program.buffers[statement.buffer].name;
  result["times"] = pairs_at(time_map(statement), sizes);
  result["elements"] = pairs_at(written_element(program, statement), sizes);
  return result;
}

py::list statements_at(const KernelFunction &function, const Sizes &sizes) {
  const OperationLimit limit(inspection_limit);
  const Program program = build_program(function.mapping());
  py::list statements;
  for (const Statement &statement : program.statements) {
    statements.append(statement_at(program, statement, sizes));
  }
  return statements;
}

/// Loops, storage and order of the computations: what commands change.
py::dict describe_mapping(const KernelFunction &function) {
  const OperationLimit limit(inspection_limit);
  const Mapping &mapping = function.mapping();
  py::dict result;
  py::list placements;
  for (const Placement &placement : mapping.state().placements) {
    placements.append(
        py::make_tuple(placement.computation, placement.other, placement.shared, placement.before));
  }
  result["placements"] = placements;
  result["order"] = mapping.state().order;
  py::dict computations;
  for (const ComputationPtr &computation : mapping.function().computations) {
    computations[py::str(computation->name)] = describe_computation(mapping, *computation);
  }
  result["computations"] = computations;
  return result;
}

py::dict describe(const KernelFunction &function, const std::optional<Sizes> &sizes) {
  const OperationLimit limit(inspection_limit);
  const Program program = build_program(function.mapping());
  py::dict result = describe_mapping(function);
  result["parameters"] = program.parameters;
  result["context"] = to_text(program.context);
  result["depth"] = program.depth;
  py::list buffers;
  for (const Buffer &buffer : program.buffers) {
    py::dict entry;
    entry["name"] = buffer.name;
    entry["type"] = type_name(buffer.type);
    entry["kind"] = buffer_kind(buffer.kind);
    entry["extents"] = texts(buffer.extents);
    buffers.append(entry);
  }
  result["buffers"] = buffers;
  py::list statements;
  for (const Statement &statement : program.statements) {
    statements.append(describe_statement(program, statement, sizes));
  }
  result["statements"] = statements;
  return result;
}

} // namespace

void bind_inspection(py::module_ &module) {
  module.def("describe", &describe, py::arg("function"), py::arg("sizes") = py::none(),
             "The scheduled program of a function as plain data; with sizes, also the time of each "
             "instance and the "
             "element that it writes.");
  module.def(
      "describe_mapping", &describe_mapping, py::arg("function"),
      "The loops, the storage and the order of the computations of a function as plain data.");
  module.def("statements_at", &statements_at, py::arg("function"), py::arg("sizes"),
             "The statements of a function at concrete sizes: the time of each instance and the "
             "element that it writes, without the texts of `describe`.");
}

} // namespace tilewright
