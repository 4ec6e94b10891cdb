#include "bindings/bind_instances.h"

#include "algorithm/affine.h"
#include "analysis/legality.h"
#include "bindings/bind_language.h"
#include "bindings/kernel_call.h"
#include "mapping/accesses.h"
#include "mapping/command_table.h"
#include "mapping/commands.h"
#include "mapping/program.h"
#include "polyhedral/isl.h"
#include "polyhedral/set_text.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

constexpr std::uint64_t operation_limit = 20'000'000;
constexpr size_t max_instances = 20'000;
constexpr size_t max_dependences = 100'000;

using Sizes = std::map<std::string, std::int64_t>;
using Instance = std::vector<std::int64_t>;

/// The pairs (source, sink) of a relation at concrete values of all its parameters; at most `most`.
std::vector<std::pair<Instance, Instance>> pairs_at(isl::map relation, const Sizes &sizes,
                                                    size_t most, const char *what) {
  for (const auto &[name, value] : sizes) {
    const int position = isl_map_find_dim_by_name(relation.get(), isl_dim_param, name.c_str());
    if (position >= 0) {
      relation = isl::manage(
          isl_map_fix_val(relation.release(), isl_dim_param, static_cast<unsigned>(position),
                          isl::val(isl_context(), static_cast<long>(value)).release()));
    }
  }
  relation = checked(relation.project_out_all_params(), what);
  const size_t inputs = checked(relation.domain_tuple_dim(), what);
  const size_t outputs = checked(relation.range_tuple_dim(), what);
  const isl::set flat =
      checked(isl::manage(isl_set_flatten(isl_map_wrap(relation.release()))), what);
  std::vector<std::pair<Instance, Instance>> pairs;
  bool too_many = false;
  const isl::stat status = flat.foreach_point([&](const isl::point &point) {
    if (pairs.size() == most) {
      too_many = true;
      return isl::stat::error();
    }
    Instance source;
    Instance sink;
    for (size_t d = 0; d < inputs + outputs; ++d) {
      const isl::val coordinate =
          isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d)));
      (d < inputs ? source : sink).push_back(coordinate.num_si());
    }
    pairs.emplace_back(std::move(source), std::move(sink));
    return isl::stat::ok();
  });
  if (too_many) {
    isl_ctx_reset_error(isl_context().get());
    throw Error(ErrorKind::Limit,
                "there are more than " + std::to_string(most) + " " + what + ": give smaller sizes",
                {});
  }
  if (status.is_error()) {
    throw_isl_error(what);
  }
  return pairs;
}

py::list to_python(const std::vector<std::pair<Instance, Instance>> &pairs) {
  py::list result;
  for (const auto &[source, sink] : pairs) {
    result.append(py::make_tuple(py::tuple(py::cast(source)), py::tuple(py::cast(sink))));
  }
  return result;
}

py::dict instances_at(const KernelFunction &function, const Sizes &sizes) {
  const OperationLimit limit(operation_limit);
  const Program program = build_program(function.mapping());
  py::dict result;
  for (const Statement &statement : program.statements) {
    const char *what = "instances at these sizes";
    result[py::str(statement.name)] = py::make_tuple(
        to_python(pairs_at(time_map(statement), sizes, max_instances, what)),
        to_python(pairs_at(written_element(program, statement), sizes, max_instances, what)));
  }
  return result;
}

py::list dependences_at(const KernelFunction &function, const Sizes &sizes) {
  const OperationLimit limit(operation_limit);
  const Program program = build_program(function.mapping());
  std::map<std::string, isl::set> domains;
  for (const Statement &statement : program.statements) {
    domains.emplace(statement.name, statement.domain);
  }
  py::list result;
  for (const Dependence &dependence : flow_dependences(program)) {
    const char *what = "dependences at these sizes";
    const isl::map relation =
        checked(dependence.relation.intersect_domain(domains.at(dependence.source))
                    .intersect_range(domains.at(dependence.sink)),
                what);
    const py::list pairs = to_python(pairs_at(relation, sizes, max_dependences, what));
    result.append(py::make_tuple(dependence.source, dependence.sink, dependence.array,
                                 dependence.exact, pairs));
  }
  return result;
}

/// What a condition on parameters says, as a command has it: "N mod 8 = 0".
std::string parameter_condition(const ExprHandle &given, const py::handle &where) {
  constexpr const char *what = "a condition on parameters";
  const IslLock lock;
  const OperationLimit limit(5'000'000);
  const ExprPtr &condition = given.expr;
  const auto refuse = [&](const std::string &problem) {
    throw Error(ErrorKind::Schedule, "specialize(" + to_string(condition) + "): " + problem,
                to_location(where));
  };
  visit(condition, [&](const ExprPtr &node) {
    if (node->kind == ExprKind::Access) {
      refuse("the condition reads " + node->producer->name +
             "; which version runs is decided by parameters alone, before any array is read");
    }
    if (node->kind == ExprKind::Iterator) {
      refuse("the condition depends on the iterator " + node->name +
             "; a version is chosen once for a call, by parameters alone");
    }
  });
  if (!condition->type.is_bool()) {
    refuse("expected a comparison such as N % 8 == 0, got a value of " +
           type_name(condition->type));
  }
  const std::optional<isl::set> holds = to_set(condition, {});
  if (!holds) {
    refuse("the condition is not affine: it may compare sums of parameters times constants, // and "
           "% by constants, and join comparisons by &");
  }
  const isl::set parameters = checked(holds->params().coalesce(), what);
  if (checked(parameters.is_empty(), what)) {
    refuse("the condition never holds");
  }
  const std::string text = constraint_text(parameters);
  // isl writes (N) mod 8.
  return std::regex_replace(text, std::regex(R"(\((\w+)\) mod )"), "$1 mod ");
}

py::dict command_traits() {
  py::dict result;
  for (const auto &[name, traits] : command_table()) {
    py::dict row;
    row["places"] = traits.places;
    row["reads"] = traits.reads;
    row["makes"] = traits.makes;
    row["turns"] = traits.turns;
    row["takes_map"] = traits.takes_map;
    row["of_function"] = traits.of_function != nullptr;
    row["takes_pairs"] = traits.takes_pairs;
    row["cuts"] = traits.cuts;
    row["positional"] = traits.positional;
    row["keywords"] = traits.keywords;
    result[py::str(name)] = row;
  }
  return result;
}

} // namespace

void bind_instances(py::module_ &module) {
  module.def("instances_at", &instances_at, py::arg("function"), py::arg("sizes"),
             "The instances of each statement at concrete values of all parameters: name -> "
             "([(instance, time), ...], "
             "[(instance, element written), ...]).");
  module.def("dependences_at", &dependences_at, py::arg("function"), py::arg("sizes"),
             "The flow dependences of the scheduled program at concrete values of all parameters: "
             "(source, sink, array, exact, [(source instance, sink instance), ...]) of each.");
  module.def("parameter_condition", &parameter_condition, py::arg("condition"),
             py::arg("where") = py::none(), "A condition on parameters, as specialize takes it.");
  module.def("command_names", &command_names, "The names of all commands of Layers II and III.");
  module.def("command_traits", &command_traits,
             "What Python asks of each command, by its name (mapping/command_table.h).");
}

} // namespace tilewright
