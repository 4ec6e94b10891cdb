#include "bindings/bind_language.h"

#include "algorithm/enclosing_ranges.h"
#include "algorithm/expression_depth.h"
#include "algorithm/extrema.h"
#include "algorithm/function.h"
#include "algorithm/function_extents.h"
#include "algorithm/reductions.h"
#include "bindings/bind_blocks.h"
#include "bindings/bind_externs.h"
#include "bindings/bind_sets.h"
#include "bindings/bind_streams.h"
#include "bindings/bind_views.h"
#include "polyhedral/interruption.h"
#include "polyhedral/isl_lock.h"
#include "polyhedral/set_text.h"

#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace py = pybind11;

namespace tilewright {

namespace {

ExprPtr to_expression(const py::handle &value) { return strengthen(to_operand(value)); }

/// The value of a piece: a Python number takes the computation's type where its kind allows.
ExprPtr to_value(const py::handle &value, ScalarType type) {
  const Operand operand = to_operand(value);
  if (const auto *weak = std::get_if<WeakNumber>(&operand)) {
    return promote_weak(type, weak->kind) == type ? constant(weak->value, type)
                                                  : strengthen(operand);
  }
  return std::get<ExprPtr>(operand);
}

ExprPtr to_optional_expression(const py::handle &value) {
  return value.is_none() ? nullptr : to_expression(value);
}

/// A Python number as a constant of a named type (NumPy scalars).
ExprHandle typed_constant(const py::handle &value, const std::string &type_name) {
  const std::optional<WeakNumber> weak = weak_number(value);
  if (!weak) {
    throw Error(ErrorKind::Type, "a constant must be a number");
  }
  return {constant(weak->value, to_type(type_name))};
}

py::object constant_value(const ExprHandle &self) {
  if (self.expr->kind != ExprKind::Constant) {
    return py::none();
  }
  return std::visit([](const auto &value) -> py::object { return py::cast(value); },
                    self.expr->value);
}

const char *kind_name(ExprKind kind) {
  switch (kind) {
  case ExprKind::Constant:
    return "constant";
  case ExprKind::Iterator:
    return "iterator";
  case ExprKind::Parameter:
    return "parameter";
  case ExprKind::Access:
    return "access";
  case ExprKind::Unary:
    return "unary";
  case ExprKind::Binary:
    return "binary";
  case ExprKind::Call:
    return "call";
  case ExprKind::Cast:
    return "cast";
  case ExprKind::Select:
    return "select";
  case ExprKind::Reduce:
    return "reduce";
  case ExprKind::While:
    return "while";
  case ExprKind::WhileResult:
    return "while result";
  case ExprKind::State:
    return "state";
  case ExprKind::Fold:
    return "fold";
  case ExprKind::Extern:
    return "extern";
  case ExprKind::Checked:
    return "checked";
  }
  return "unknown";
}

std::vector<ExprHandle> to_handles(const std::vector<ExprPtr> &expressions) {
  std::vector<ExprHandle> handles;
  handles.reserve(expressions.size());
  for (const ExprPtr &expr : expressions) {
    handles.push_back({expr});
  }
  return handles;
}

/// (iterator, lower, upper, step), the bounds numbers or expressions.
using RangeTuple = std::tuple<std::string, py::object, py::object, std::int64_t>;

std::vector<Range> to_ranges(const std::vector<RangeTuple> &tuples) {
  std::vector<Range> ranges;
  ranges.reserve(tuples.size());
  for (const auto &[iterator, lower, upper, step] : tuples) {
    ranges.push_back({iterator, to_expression(lower), to_expression(upper), step});
  }
  return ranges;
}

std::vector<ReduceRange> to_reduce_ranges(const std::vector<RangeTuple> &tuples) {
  std::vector<ReduceRange> ranges;
  ranges.reserve(tuples.size());
  for (const auto &[iterator, lower, upper, step] : tuples) {
    ranges.push_back({iterator, to_expression(lower), to_expression(upper), step});
  }
  return ranges;
}

/// The type of `a op b` where each is a type name or the Python class of a weak number: "weak
/// bool", "weak int", ...
std::optional<TypeKind> weak_kind(const std::string &name) {
  if (name == "weak bool") {
    return TypeKind::Bool;
  }
  if (name == "weak int") {
    return TypeKind::Int;
  }
  if (name == "weak float") {
    return TypeKind::Float;
  }
  if (name == "weak complex") {
    return TypeKind::Complex;
  }
  return std::nullopt;
}

std::string promote_names(const std::string &a, const std::string &b) {
  if (const std::optional<TypeKind> weak = weak_kind(b)) {
    return type_name(promote_weak(to_type(a), *weak));
  }
  if (const std::optional<TypeKind> weak = weak_kind(a)) {
    return type_name(promote_weak(to_type(b), *weak));
  }
  return type_name(promote(to_type(a), to_type(b)));
}

/// The columns of a row that Python derives functions, stubs and tests from.
py::dict operation_row(Op op) {
  const Operation &row = operation(op);
  constexpr std::array<const char *, 6> forms = {"unary",    "binary", "call",
                                                 "composed", "reduce", "fold"};
  py::dict columns;
  columns["op"] = op;
  columns["form"] = forms.at(static_cast<size_t>(row.form));
  columns["spelling"] = row.spelling;
  columns["parameters"] = row.parameters;
  columns["function"] = row.function;
  columns["ufuncs"] = row.ufuncs;
  columns["documentation"] = row.documentation;
  return columns;
}

void bind_operations(py::module_ &module) {
  py::enum_<Op> values(module, "Op");
  for (size_t k = 1; k < operation_count; ++k) {
    values.value(operation_table::rows[k].id, static_cast<Op>(k));
  }
  module.def(
      "operations",
      [] {
        py::list rows;
        for (size_t k = 1; k < operation_count; ++k) {
          rows.append(operation_row(static_cast<Op>(k)));
        }
        return rows;
      },
      "The rows of operations.def.");
}

/// Whether some values satisfy all constraints; refuses a given one that is no condition over the
/// names declared with it.
bool check_constraint(const std::string &given, const std::vector<std::string> &names,
                      const std::string &all, const py::handle &where) {
  const OperationLimit limit(5'000'000);
  const SourceLocation location = to_location(where);
  const std::string what = "the constraint of parameters";
  if (const size_t brace = given.find_first_of("{}"); brace != std::string::npos) {
    throw Error(ErrorKind::Declaration,
                what + " \"" + given + "\" has a brace in column " + std::to_string(brace + 1) +
                    "; write the condition alone, as \"N > 3\"",
                location);
  }
  const isl::set own = read_parameter_set(given, what, location);
  for (const std::string &name : parameter_names(own)) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string list;
      for (const std::string &each : names) {
        list += (list.empty() ? "" : ", ") + each;
      }
      throw Error(ErrorKind::Declaration,
                  what + " \"" + given + "\" uses '" + name +
                      "'; it may use what is declared here: " + list,
                  location);
    }
  }
  const isl::set set = read_parameter_set(all, what, location);
  return !checked(set.is_empty(), "the constraint of parameters");
}

void bind_expressions(py::module_ &module) {
  py::class_<ExprHandle>(module, "Expr")
      .def_property_readonly("kind",
                             [](const ExprHandle &self) { return kind_name(self.expr->kind); })
      .def_property_readonly("type",
                             [](const ExprHandle &self) { return type_name(self.expr->type); })
      .def_property_readonly("name", [](const ExprHandle &self) { return self.expr->name; })
      .def_property_readonly("operation",
                             [](const ExprHandle &self) -> std::optional<std::string> {
                               return self.expr->op == Op::None
                                          ? std::nullopt
                                          : std::optional(op_name(self.expr->op));
                             })
      .def_property_readonly("value", constant_value)
      .def_property_readonly("operands",
                             [](const ExprHandle &self) { return to_handles(self.expr->operands); })
      .def("nodes",
           [](const ExprHandle &self) {
             return to_handles(parents_first({self.expr}, [](const Expr &) { return true; }));
           })
      .def_property_readonly("tree_size",
                             [](const ExprHandle &self) { return tree_size_of(self.expr); })
      .def_property_readonly("predicate",
                             [](const ExprHandle &self) -> std::optional<ExprHandle> {
                               if (!self.expr->predicate) {
                                 return std::nullopt;
                               }
                               return ExprHandle{self.expr->predicate};
                             })
      .def_property_readonly("producer", [](const ExprHandle &self) { return self.expr->producer; })
      .def("__str__", [](const ExprHandle &self) { return to_string(self.expr); })
      .def("__repr__",
           [](const ExprHandle &self) { return "<Expr " + to_string(self.expr) + ">"; });
}

void bind_atoms(py::module_ &module) {
  module.def("promote", promote_names, py::arg("a"), py::arg("b"));
  module.def(
      "can_cast",
      [](const std::string &from, const std::string &to) {
        return can_cast_same_kind(to_type(from), to_type(to));
      },
      py::arg("from_type"), py::arg("to_type"));
  module.def("is_identifier", is_isl_identifier, py::arg("name"));
  module.def("constant", typed_constant, py::arg("value"), py::arg("type"));
  module.def(
      "strengthen", [](const py::handle &value) { return ExprHandle{to_expression(value)}; },
      py::arg("value"));
  module.def(
      "iterator", [](const std::string &name) { return ExprHandle{iterator(name)}; },
      py::arg("name"));
  module.def(
      "parameter",
      [](const std::string &name, const std::string &constraint) {
        return ExprHandle{parameter(name, constraint)};
      },
      py::arg("name"), py::arg("constraint") = "");
  module.def("expression_visits", &counted_visits,
             "How often walks of this thread came to a node of an expression, so far.");
  module.def("check_constraint", check_constraint, py::arg("given"), py::arg("names"),
             py::arg("all"), py::arg("where") = py::none());
  module.def(
      "access",
      [](const ComputationPtr &producer, const std::vector<py::object> &subscripts,
         const py::handle &where) {
        std::vector<ExprPtr> expressions;
        expressions.reserve(subscripts.size());
        for (const py::object &subscript : subscripts) {
          expressions.push_back(to_expression(subscript));
        }
        return ExprHandle{access(producer, std::move(expressions), to_location(where))};
      },
      py::arg("producer"), py::arg("subscripts"), py::arg("where") = py::none());
}

void bind_builders(py::module_ &module) {
  module.def(
      "unary", [](Op op, const py::handle &a) { return ExprHandle{unary(op, to_expression(a))}; },
      py::arg("op"), py::arg("a"));
  module.def(
      "binary",
      [](Op op, const py::handle &a, const py::handle &b) {
        return ExprHandle{binary(op, to_operand(a), to_operand(b))};
      },
      py::arg("op"), py::arg("a"), py::arg("b"));
  module.def(
      "call",
      [](Op op, const py::args &arguments) {
        std::vector<Operand> operands;
        operands.reserve(arguments.size());
        for (const py::handle argument : arguments) {
          operands.push_back(to_operand(argument));
        }
        return ExprHandle{call(op, std::move(operands))};
      },
      py::arg("op"));
  module.def(
      "cast",
      [](const py::handle &a, const std::string &type) {
        return ExprHandle{cast(to_expression(a), to_type(type))};
      },
      py::arg("a"), py::arg("type"));
  module.def(
      "select",
      [](const py::handle &condition, const py::handle &then, const py::handle &otherwise) {
        return ExprHandle{
            select(to_expression(condition), to_operand(then), to_operand(otherwise))};
      },
      py::arg("condition"), py::arg("then"), py::arg("otherwise"));
  module.def(
      "checked",
      [](const py::handle &subscript, const py::handle &extent, const std::string &array,
         size_t axis, const py::handle &where) {
        return ExprHandle{checked_index(to_expression(subscript), to_expression(extent), array,
                                        axis, to_location(where))};
      },
      py::arg("subscript"), py::arg("extent"), py::arg("array") = "", py::arg("axis") = 0,
      py::arg("where") = py::none());
}

std::vector<ExprPtr> fold_of(const FoldParts &parts, std::vector<ExprPtr> initial,
                             const std::vector<RangeTuple> &ranges, const py::handle &condition) {
  EnclosedRanges enclosed =
      enclose_ranges("the " + op_name(Op::ReduceFold), to_reduce_ranges(ranges), parts.next,
                     to_optional_expression(condition));
  return fold(parts, std::move(initial), std::move(enclosed.ranges), enclosed.condition);
}

void bind_loops(py::module_ &module) {
  module.def(
      "reduce",
      [](Op op, const std::vector<RangeTuple> &ranges, const py::handle &body,
         const py::handle &condition, bool ordered) {
        const OperationLimit limit(5'000'000);
        const ExprPtr value = to_expression(body);
        EnclosedRanges enclosed = enclose_ranges("the " + op_name(op), to_reduce_ranges(ranges),
                                                 {value}, to_optional_expression(condition));
        return ExprHandle{
            reduce(op, std::move(enclosed.ranges), value, enclosed.condition, ordered)};
      },
      py::arg("op"), py::arg("ranges"), py::arg("body"), py::arg("condition") = py::none(),
      py::arg("ordered") = false);
  module.def(
      "reads_data", [](const ExprHandle &bound) { return reads_data(bound.expr); },
      py::arg("bound"));
  module.def(
      "enclose_domain",
      [](const std::string &name, const std::vector<RangeTuple> &ranges, const py::handle &value) {
        const IslLock lock;
        const OperationLimit limit(5'000'000);
        EnclosedRanges enclosed = enclose_ranges("the domain of " + name, to_reduce_ranges(ranges),
                                                 {to_expression(value)}, nullptr, true);
        py::list result;
        for (const ReduceRange &range : enclosed.ranges) {
          result.append(py::make_tuple(range.iterator, ExprHandle{range.lower},
                                       ExprHandle{range.upper}, range.step));
        }
        return py::make_tuple(result, ExprHandle{enclosed.condition});
      },
      py::arg("name"), py::arg("ranges"), py::arg("value"));
  module.def(
      "position_of_extremum",
      [](Op op, const std::vector<RangeTuple> &ranges, const py::handle &body,
         const py::handle &condition) {
        const OperationLimit limit(5'000'000);
        const ExprPtr value = to_expression(body);
        const EnclosedRanges enclosed =
            enclose_ranges("the " + op_name(op), to_reduce_ranges(ranges), {value},
                           to_optional_expression(condition));
        return to_handles(position_of_extremum(op, enclosed.ranges, value, enclosed.condition));
      },
      py::arg("op"), py::arg("ranges"), py::arg("body"), py::arg("condition") = py::none());
  module.def(
      "fold",
      [](const std::vector<ExprHandle> &states, const std::vector<ExprHandle> &initial,
         const std::vector<RangeTuple> &ranges, const std::vector<ExprHandle> &next,
         const py::handle &condition, const std::vector<ExprHandle> &others,
         const std::vector<ExprHandle> &combined, bool in_order) {
        const OperationLimit limit(5'000'000);
        const FoldParts parts{to_expressions(states), to_expressions(next), to_expressions(others),
                              to_expressions(combined)};
        const auto results = fold_of(parts, to_expressions(initial), ranges, condition);
        return to_handles(in_order ? with_terms_in_order(results) : results);
      },
      py::arg("states"), py::arg("initial"), py::arg("ranges"), py::arg("next"),
      py::arg("condition") = py::none(), py::arg("others") = std::vector<ExprHandle>(),
      py::arg("combined") = std::vector<ExprHandle>(), py::arg("in_order") = false);
  module.def(
      "state",
      [](const std::string &name, const std::string &type) {
        return ExprHandle{state(name, to_type(type))};
      },
      py::arg("name"), py::arg("type"));
  module.def(
      "while_loop",
      [](const std::vector<ExprHandle> &states, const std::vector<ExprHandle> &initial,
         const ExprHandle &condition, const std::vector<ExprHandle> &next,
         const py::handle &limit) {
        return to_handles(while_loop(to_expressions(states), to_expressions(initial),
                                     condition.expr, to_expressions(next),
                                     to_optional_expression(limit)));
      },
      py::arg("states"), py::arg("initial"), py::arg("condition"), py::arg("next"),
      py::arg("limit") = py::none());
}

/// The coordinates of the first element of a computation's array.
std::vector<ExprPtr> origin_of(const Computation &computation) {
  std::vector<ExprPtr> origin;
  for (size_t d = 0; d < computation.extents.size(); ++d) {
    origin.push_back(first_index(computation.origin, d));
  }
  return origin;
}

void bind_computations(py::module_ &module) {
  py::class_<Computation, ComputationPtr>(module, "Computation")
      .def_readonly("name", &Computation::name)
      .def_property_readonly("type", [](const Computation &self) { return type_name(self.type); })
      .def_readonly("iterators", &Computation::iterators)
      .def_readonly("is_input", &Computation::is_input)
      .def_property_readonly("rank", &Computation::rank)
      .def_property_readonly("extents",
                             [](const Computation &self) { return to_handles(self.extents); })
      .def_property_readonly("origin",
                             [](const Computation &self) { return to_handles(origin_of(self)); })
      .def_property_readonly("domain",
                             [](const Computation &self) {
                               return analyse_unlocked([&] {
                                 const OperationLimit limit(5'000'000);
                                 return held(IntegerSet(isl::union_set(self.domain)));
                               });
                             })
      .def_property_readonly("pieces", [](const Computation &self) {
        const IslLock lock;
        std::vector<std::pair<std::string, ExprHandle>> pieces;
        pieces.reserve(self.pieces.size());
        for (const Piece &piece : self.pieces) {
          pieces.emplace_back(braced_text(piece.domain), ExprHandle{piece.value});
        }
        return pieces;
      });

  module.def(
      "declare_input",
      [](const std::string &name, const std::vector<py::object> &extents, const std::string &type,
         const py::handle &where, const std::string &record, const std::string &field) {
        const IslLock lock;
        std::vector<ExprPtr> expressions;
        expressions.reserve(extents.size());
        for (const py::object &extent : extents) {
          expressions.push_back(to_expression(extent));
        }
        ComputationPtr input =
            declare_input(name, std::move(expressions), to_type(type), to_location(where));
        input->record = record;
        input->field = field;
        return input;
      },
      py::arg("name"), py::arg("extents"), py::arg("type"), py::arg("where") = py::none(),
      py::arg("record") = "", py::arg("field") = "");
  module.def(
      "declare_computation",
      [](const std::string &name, const std::vector<RangeTuple> &ranges,
         const py::handle &condition, const std::string &type,
         const std::vector<py::object> &extents, const py::handle &where) {
        const IslLock lock;
        std::vector<ExprPtr> expressions;
        expressions.reserve(extents.size());
        for (const py::object &extent : extents) {
          expressions.push_back(to_expression(extent));
        }
        return declare_computation(name, to_ranges(ranges), to_optional_expression(condition),
                                   to_type(type), std::move(expressions), to_location(where));
      },
      py::arg("name"), py::arg("ranges"), py::arg("condition"), py::arg("type"), py::arg("extents"),
      py::arg("where") = py::none());
  module.def(
      "declare_computation_isl",
      [](const std::string &text, const std::string &type, const std::vector<py::object> &extents,
         const py::handle &where) {
        const IslLock lock;
        std::vector<ExprPtr> expressions;
        expressions.reserve(extents.size());
        for (const py::object &extent : extents) {
          expressions.push_back(to_expression(extent));
        }
        return declare_computation(text, to_type(type), std::move(expressions), to_location(where));
      },
      py::arg("text"), py::arg("type"), py::arg("extents"), py::arg("where") = py::none());
}

void bind_pieces(py::module_ &module) {
  module.def(
      "define_piece",
      [](const ComputationPtr &computation, const py::handle &condition, const py::handle &value,
         const py::handle &where) {
        const IslLock lock;
        define_piece(computation, to_optional_expression(condition),
                     to_value(value, computation->type), to_location(where));
      },
      py::arg("computation"), py::arg("condition"), py::arg("value"),
      py::arg("where") = py::none());
  module.def(
      "define_piece_isl",
      [](const ComputationPtr &computation, const std::string &set, const py::handle &value,
         const py::handle &where) {
        const IslLock lock;
        define_piece_isl(computation, set, to_value(value, computation->type), to_location(where));
      },
      py::arg("computation"), py::arg("set"), py::arg("value"), py::arg("where") = py::none());
}

} // namespace

SourceLocation to_location(const py::handle &where) {
  if (!where || where.is_none()) {
    return {};
  }
  auto [file, line, text] = py::cast<std::tuple<std::string, int, std::string>>(where);
  return {std::move(file), line, std::move(text)};
}

ScalarType to_type(const std::string &name) {
  if (const std::optional<ScalarType> type = type_from_name(name)) {
    return *type;
  }
  throw Error(ErrorKind::Type, "there is no type " + name);
}

std::vector<ExprPtr> to_expressions(const std::vector<ExprHandle> &handles) {
  std::vector<ExprPtr> expressions;
  expressions.reserve(handles.size());
  for (const ExprHandle &handle : handles) {
    expressions.push_back(handle.expr);
  }
  return expressions;
}

void bind_language(py::module_ &module) {
  bind_operations(module);
  bind_expressions(module);
  bind_atoms(module);
  bind_builders(module);
  bind_loops(module);
  bind_computations(module);
  bind_pieces(module);
  bind_views(module);
  bind_streams(module);
  bind_externs(module);
  bind_blocks(module);
}

} // namespace tilewright
