#include "bindings/pickling.h"

#include "algorithm/expression_depth.h"
#include "bindings/bind_externs.h"
#include "bindings/bind_language.h"
#include "polyhedral/interruption.h"
#include "polyhedral/set_text.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilewright {

namespace py = pybind11;

namespace {

/// Raised when what `packed` gives changes. Another version of tilewright may have other kinds of
/// nodes, so it is part of the state, too.
constexpr int format = 6;

constexpr std::uint64_t parsing_limit = 20'000'000;

py::object from_location(const SourceLocation &where) {
  return where.known() ? py::object(py::make_tuple(where.file, where.line, where.text))
                       : py::object(py::none());
}

py::object from_set(const isl::set &set) {
  return set.is_null() ? py::object(py::none()) : py::object(py::str(to_text(set)));
}

Op to_operation(const std::string &id) {
  if (const std::optional<Op> op = operation_named(id)) {
    return *op;
  }
  throw Error(ErrorKind::Argument, "there is no operation " + printable(id));
}

isl::set to_set(const py::handle &text) {
  if (text.is_none()) {
    return {};
  }
  std::string problem;
  isl::set set = parse_set(text.cast<std::string>(), problem);
  if (set.is_null()) {
    throw Error(ErrorKind::Argument, "a pickled set is damaged: " + problem);
  }
  return set;
}

py::object from_constant(const ConstantValue &value) {
  return std::visit(
      [&](const auto &number) { return py::object(py::make_tuple(value.index(), number)); }, value);
}

template <size_t index = 0>
ConstantValue to_constant(size_t alternative, const py::handle &number) {
  if constexpr (index < std::variant_size_v<ConstantValue>) {
    if (alternative == index) {
      return number.cast<std::variant_alternative_t<index, ConstantValue>>();
    }
    return to_constant<index + 1>(alternative, number);
  }
  throw Error(ErrorKind::Argument, "a pickled constant is damaged");
}

class Packer {
public:
  int computation(const ComputationPtr &computation) {
    const auto [place, is_new] =
        computation_numbers_.emplace(computation.get(), static_cast<int>(computations_.size()));
    if (is_new) {
      computations_.push_back(computation);
    }
    return place->second;
  }

  /// -1 for none. Those below a node come first.
  int expression(const ExprPtr &root) {
    if (root == nullptr) {
      return -1;
    }
    std::vector<std::pair<ExprPtr, bool>> waiting = {{root, false}};
    while (!waiting.empty()) {
      const auto [expr, is_ready] = waiting.back();
      waiting.pop_back();
      if (expr == nullptr || numbers_.contains(expr.get())) {
        continue;
      }
      if (is_ready) {
        numbers_.emplace(expr.get(), static_cast<int>(nodes_.size()));
        nodes_.append(node(*expr));
        continue;
      }
      count_visit();
      waiting.emplace_back(expr, true);
      for (const ExprPtr &part : parts(*expr)) {
        waiting.emplace_back(part, false);
      }
    }
    return numbers_.at(root.get());
  }

  /// All computations that were met, those that they read included.
  py::tuple finish() {
    py::list all;
    for (size_t c = 0; c < computations_.size(); ++c) { // grows on the way
      const Computation &computation = *computations_[c];
      py::list pieces;
      for (const Piece &piece : computation.pieces) {
        pieces.append(py::make_tuple(from_set(piece.domain), expression(piece.value),
                                     from_location(piece.where)));
      }
      py::list extents;
      for (const ExprPtr &extent : computation.extents) {
        extents.append(expression(extent));
      }
      py::list origin;
      for (const ExprPtr &first : computation.origin) {
        origin.append(expression(first));
      }
      py::list strides;
      for (const Stride &stride : computation.strides) {
        strides.append(py::make_tuple(expression(stride.first), stride.step));
      }
      all.append(py::make_tuple(
          computation.name, type_name(computation.type), computation.iterators, py::tuple(pieces),
          from_set(computation.domain), py::tuple(extents), from_set(computation.context),
          computation.is_input, computation.record, computation.field,
          from_location(computation.where), computation.ordinal, py::tuple(origin),
          py::tuple(strides), computation.enclosed, computation.is_view));
    }
    return py::make_tuple(format, TILEWRIGHT_VERSION, py::tuple(nodes_), py::tuple(all));
  }

private:
  static std::vector<ExprPtr> parts(const Expr &expr) {
    std::vector<ExprPtr> all = expr.operands;
    for (const ReduceRange &range : expr.ranges) {
      all.insert(all.end(), {range.lower, range.upper});
    }
    all.insert(all.end(), {expr.condition, expr.predicate});
    all.insert(all.end(), expr.states.begin(), expr.states.end());
    return all;
  }

  int number(const ExprPtr &expr) const { return expr == nullptr ? -1 : numbers_.at(expr.get()); }

  py::tuple list(const std::vector<ExprPtr> &expressions) const {
    py::list result;
    for (const ExprPtr &expr : expressions) {
      result.append(number(expr));
    }
    return {result};
  }

  py::tuple node(const Expr &expr) {
    py::list ranges;
    for (const ReduceRange &range : expr.ranges) {
      ranges.append(
          py::make_tuple(range.iterator, number(range.lower), number(range.upper), range.step));
    }
    return py::make_tuple(
        static_cast<int>(expr.kind), type_name(expr.type), list(expr.operands),
        operation(expr.op).id, from_constant(expr.value), expr.name, expr.constraint,
        expr.producer == nullptr ? -1 : computation(expr.producer), py::tuple(ranges),
        number(expr.condition), number(expr.predicate), list(expr.states), expr.position,
        expr.ordered, from_location(expr.where),
        expr.external ? py::object(py::cast(ExternHandle{expr.external})) : py::object(py::none()));
  }

  std::unordered_map<const Computation *, int> computation_numbers_;
  std::vector<ComputationPtr> computations_;
  std::unordered_map<const Expr *, int> numbers_;
  py::list nodes_;
};

class Unpacker {
public:
  explicit Unpacker(const py::tuple &state) {
    if (state.size() != 4 || !py::isinstance<py::int_>(state[0]) ||
        state[0].cast<int>() != format || state[1].cast<std::string>() != TILEWRIGHT_VERSION) {
      throw Error(ErrorKind::Argument,
                  "this was pickled by another version of tilewright than " TILEWRIGHT_VERSION
                  "; pickles are for processes of one version: save schedules with "
                  "Schedule.save, and declarations as Python");
    }
    const OperationLimit limit(parsing_limit);
    const py::tuple descriptions = state[3];
    for (size_t c = 0; c < descriptions.size(); ++c) {
      computations_.push_back(make_isl_shared<Computation>());
    }
    for (const py::handle &description : state[2].cast<py::tuple>()) {
      nodes_.push_back(node(description.cast<py::tuple>()));
    }
    for (size_t c = 0; c < descriptions.size(); ++c) {
      fill(*computations_[c], descriptions[c]);
    }
  }

  ExprPtr expression(const py::handle &number) const {
    const int place = number.cast<int>();
    return place < 0 ? nullptr : nodes_.at(static_cast<size_t>(place));
  }
  ComputationPtr computation(const py::handle &number) const {
    const int place = number.cast<int>();
    return place < 0 ? nullptr : computations_.at(static_cast<size_t>(place));
  }
  std::vector<ExprPtr> expressions(const py::handle &numbers) const {
    std::vector<ExprPtr> result;
    for (const py::handle &number : numbers.cast<py::tuple>()) {
      result.push_back(expression(number));
    }
    return result;
  }
  std::vector<ComputationPtr> computations(const py::handle &numbers) const {
    std::vector<ComputationPtr> result;
    for (const py::handle &number : numbers.cast<py::tuple>()) {
      result.push_back(computation(number));
    }
    return result;
  }

private:
  ExprPtr node(const py::tuple &state) const {
    Expr expr{};
    expr.kind = static_cast<ExprKind>(state[0].cast<int>());
    expr.type = to_type(state[1].cast<std::string>());
    expr.operands = expressions(state[2]);
    expr.op = to_operation(state[3].cast<std::string>());
    const py::tuple value = state[4];
    expr.value = to_constant(value[0].cast<size_t>(), value[1]);
    expr.name = state[5].cast<std::string>();
    expr.constraint = state[6].cast<std::string>();
    expr.producer = computation(state[7]);
    for (const py::handle &entry : state[8].cast<py::tuple>()) {
      const auto range = entry.cast<py::tuple>();
      expr.ranges.push_back({range[0].cast<std::string>(), expression(range[1]),
                             expression(range[2]), range[3].cast<std::int64_t>()});
    }
    expr.condition = expression(state[9]);
    expr.predicate = expression(state[10]);
    expr.states = expressions(state[11]);
    expr.position = state[12].cast<size_t>();
    expr.ordered = state[13].cast<bool>();
    expr.where = to_location(state[14]);
    if (!state[15].is_none()) {
      expr.external = state[15].cast<const ExternHandle &>().function;
    }
    return finished(std::move(expr));
  }

  void fill(Computation &computation, const py::tuple &state) const {
    computation.name = state[0].cast<std::string>();
    computation.type = to_type(state[1].cast<std::string>());
    computation.iterators = state[2].cast<std::vector<std::string>>();
    for (const py::handle &entry : state[3].cast<py::tuple>()) {
      const auto piece = entry.cast<py::tuple>();
      computation.pieces.push_back({to_set(piece[0]), expression(piece[1]), to_location(piece[2])});
    }
    computation.domain = to_set(state[4]);
    computation.extents = expressions(state[5]);
    computation.context = to_set(state[6]);
    computation.is_input = state[7].cast<bool>();
    computation.record = state[8].cast<std::string>();
    computation.field = state[9].cast<std::string>();
    computation.where = to_location(state[10]);
    computation.ordinal = state[11].cast<std::uint64_t>();
    computation.is_view = state[15].cast<bool>();
    pass_input_ordinal(computation.ordinal);
    computation.origin = expressions(state[12]);
    computation.enclosed = state[14].cast<size_t>();
    for (const py::handle &entry : state[13].cast<py::tuple>()) {
      const auto stride = entry.cast<py::tuple>();
      computation.strides.push_back({expression(stride[0]), stride[1].cast<std::int64_t>()});
    }
  }

  std::vector<ComputationPtr> computations_;
  std::vector<ExprPtr> nodes_;
};

py::tuple numbers(Packer &packer, const std::vector<ComputationPtr> &computations) {
  py::list result;
  for (const ComputationPtr &computation : computations) {
    result.append(packer.computation(computation));
  }
  return {result};
}

} // namespace

py::tuple packed(const std::vector<ComputationPtr> &computations,
                 const std::vector<ExprPtr> &expressions) {
  Packer packer;
  const py::tuple roots = numbers(packer, computations);
  py::list values;
  for (const ExprPtr &expr : expressions) {
    values.append(packer.expression(expr));
  }
  return py::make_tuple(packer.finish(), roots, py::tuple(values));
}

Unpacked unpacked(const py::tuple &state) {
  const Unpacker unpacker(state[0]);
  return {unpacker.computations(state[1]), unpacker.expressions(state[2])};
}

py::tuple packed_function(const Function &function) {
  Packer packer;
  const py::tuple inputs = numbers(packer, function.inputs);
  const py::tuple computations = numbers(packer, function.computations);
  const py::tuple outputs = numbers(packer, function.outputs);
  py::object stop = py::none();
  if (function.stop) {
    const StopTest &test = *function.stop;
    stop = py::make_tuple(test.parameter, packer.computation(test.test), test.limit,
                          from_location(test.where));
  }
  return py::make_tuple(packer.finish(), function.name, function.parameters,
                        from_set(function.context), inputs, computations, outputs,
                        from_location(function.where), stop);
}

std::shared_ptr<const Function> unpacked_function(const py::tuple &state) {
  const Unpacker unpacker(state[0]);
  const OperationLimit limit(parsing_limit);
  auto function = make_isl_shared<Function>();
  function->name = state[1].cast<std::string>();
  function->parameters = state[2].cast<std::vector<std::string>>();
  function->context = to_set(state[3]);
  function->inputs = unpacker.computations(state[4]);
  function->computations = unpacker.computations(state[5]);
  function->outputs = unpacker.computations(state[6]);
  function->where = to_location(state[7]);
  if (!state[8].is_none()) {
    const py::tuple stop = state[8];
    StopTest &test = function->stop.emplace();
    test.parameter = stop[0].cast<std::string>();
    test.test = unpacker.computation(stop[1]);
    test.limit = stop[2].cast<std::int64_t>();
    test.where = to_location(stop[3]);
  }
  return function;
}

void bind_pickling(py::module_ &module) {
  module.def(
      "pack",
      [](const std::vector<ComputationPtr> &computations, const std::vector<ExprHandle> &values) {
        const IslLock lock;
        return packed(computations, to_expressions(values));
      },
      py::arg("computations"), py::arg("expressions"));
  module.def(
      "unpack",
      [](const py::tuple &state) {
        const IslLock lock;
        const Unpacked result = unpacked(state);
        py::list values;
        for (const ExprPtr &expr : result.expressions) {
          values.append(ExprHandle{expr});
        }
        return py::make_tuple(result.computations, values);
      },
      py::arg("state"));
}

} // namespace tilewright
