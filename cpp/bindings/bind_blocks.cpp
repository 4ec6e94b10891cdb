#include "bindings/bind_blocks.h"

#include "algorithm/block.h"
#include "bindings/bind_externs.h"
#include "bindings/bind_language.h"
#include "polyhedral/isl_lock.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace tilewright {

namespace {

/// What made a call fail, until somebody asks.
class Failure {
public:
  void keep(std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error_ == nullptr) {
      error_ = std::move(error);
    }
  }
  void rethrow() {
    std::exception_ptr error;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      error = std::exchange(error_, nullptr);
    }
    if (error != nullptr) {
      std::rethrow_exception(error);
    }
  }

private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

/// A block with what its calls from compiled code report.
struct PythonBlock : BlockFunction {
  Failure failure;
};

/// A view of memory: no copy. What is only read cannot be written.
py::object view_of(const BlockMemory &part) {
  const std::vector<py::ssize_t> extents(part.extents.begin(), part.extents.end());
  const std::vector<py::ssize_t> strides(part.strides.begin(), part.strides.end());
  const py::capsule nobody(part.data == nullptr ? static_cast<const void *>(&part) : part.data,
                           [](void *) {});
  py::array view(py::dtype(type_name(part.type)), extents, strides, part.data, nobody);
  if (!part.is_written) {
    view.attr("flags").attr("writeable") = false;
  }
  return view;
}

std::int32_t run_python(const BlockFunction &block, PyObject *runner,
                        std::span<const BlockMemory> parts, std::span<const ScalarValue> numbers) {
  const py::gil_scoped_acquire gil;
  py::tuple passed(block.arguments.size());
  for (size_t a = 0; a < block.arguments.size(); ++a) {
    const BlockArgument &argument = block.arguments[a];
    if (argument.kind == BlockArgument::Kind::Number) {
      passed[a] = from_value(block.numbers[argument.index], numbers.front());
      numbers = numbers.subspan(1);
    } else {
      passed[a] = view_of(parts.front());
      parts = parts.subspan(1);
    }
  }
  const py::object code = py::handle(runner)(*passed);
  return code.is_none() ? 0 : code.cast<std::int32_t>();
}

/// What compiled code calls: words as BlockFunction::is_described says.
std::int32_t run_described(void *context, const std::int64_t *words) {
  auto &block = *static_cast<PythonBlock *>(context);
  std::vector<BlockMemory> parts;
  std::vector<ScalarValue> numbers;
  for (const BlockArgument &argument : block.arguments) {
    if (argument.kind == BlockArgument::Kind::Number) {
      numbers.emplace_back().i = *words++;
      continue;
    }
    const bool is_read = argument.kind == BlockArgument::Kind::Read;
    BlockMemory &part = parts.emplace_back();
    part.is_written = !is_read;
    part.type = is_read ? block.read_types[argument.index] : block.results[argument.index].type;
    const auto rank = static_cast<std::ptrdiff_t>(
        is_read ? block.read_ranks[argument.index] : block.results[argument.index].extents.size());
    part.data = reinterpret_cast<void *>(*words++); // NOLINT(performance-no-int-to-ptr)
    part.extents.assign(words, words + rank);
    part.strides.assign(words + rank, words + 2 * rank);
    words += 2 * rank;
  }
  try {
    block.run(parts, numbers);
    return 0;
  } catch (...) {
    block.failure.keep(std::current_exception());
    return 1;
  }
}

using RangeTuple = std::tuple<std::string, py::object, py::object>;
using PartTuple = std::tuple<ExprHandle, std::vector<RangeTuple>>;
using ResultTuple =
    std::tuple<std::string, std::string, std::vector<py::object>, std::optional<PartTuple>>;

ExprPtr to_expression(const py::handle &value) { return strengthen(to_operand(value)); }

ExprPtr to_part(const PartTuple &tuple) {
  std::vector<ReduceRange> ranges;
  for (const auto &[iterator, lower, upper] : std::get<1>(tuple)) {
    ranges.push_back({iterator, to_expression(lower), to_expression(upper)});
  }
  return part_of(std::get<0>(tuple).expr, std::move(ranges));
}

/// Of the function: described, returns a code, address, what runs it, and what keeps it.
using TargetTuple = std::tuple<bool, bool, std::uintptr_t, py::object, py::object>;

py::tuple declare(const std::string &name, const std::vector<RangeTuple> &instances,
                  const std::vector<PartTuple> &reads, const std::vector<ResultTuple> &results,
                  const std::vector<std::tuple<int, size_t, bool>> &arguments,
                  const std::vector<std::pair<py::object, std::string>> &numbers,
                  const TargetTuple &target, const py::object &condition, const py::handle &where) {
  const IslLock lock;
  auto block = std::make_shared<PythonBlock>();
  const auto &[is_described, returns_code, address, runner, owner] = target;
  block->name = name;
  block->where = to_location(where);
  for (const auto &[iterator, lower, upper] : instances) {
    block->instances.push_back({iterator, to_expression(lower), to_expression(upper)});
  }
  block->condition = condition.is_none() ? nullptr : to_expression(condition);
  std::vector<ExprPtr> parts;
  for (const PartTuple &read : reads) {
    parts.push_back(to_part(read));
    block->read_ranks.push_back(parts.back()->ranges.size());
    block->read_types.push_back(parts.back()->type);
  }
  for (const auto &[result, type, extents, initial] : results) {
    BlockResult made{result, to_type(type), {}, initial ? to_part(*initial) : nullptr};
    for (const py::object &extent : extents) {
      made.extents.push_back(cast(to_expression(extent), Int64));
    }
    block->results.push_back(std::move(made));
  }
  for (const auto &[kind, index, by_reference] : arguments) {
    block->arguments.push_back({static_cast<BlockArgument::Kind>(kind), index, by_reference});
  }
  std::vector<ExprPtr> values;
  for (const auto &[value, type] : numbers) {
    block->numbers.push_back(to_type(type));
    values.push_back(cast(to_expression(value), block->numbers.back()));
  }
  block->is_described = is_described;
  block->returns_code = returns_code;
  block->owner = kept(py::make_tuple(runner, owner));
  block->address = is_described ? reinterpret_cast<void *>(&run_described)
                                : reinterpret_cast<void *>(address); // NOLINT
  block->context = block.get();
  PythonBlock *own = block.get();
  block->run = [own, called = runner.ptr()](std::span<const BlockMemory> seen,
                                            std::span<const ScalarValue> given) {
    return run_python(*own, called, seen, given);
  };
  block->rethrow = [own] { own->failure.rethrow(); };
  const ComputationPtr call = declare_block(block, parts, values);
  std::vector<ComputationPtr> written;
  for (size_t r = 0; r < block->results.size(); ++r) {
    written.push_back(block_result(call, r));
  }
  return py::make_tuple(call, written);
}

} // namespace

void bind_blocks(py::module_ &module) {
  module.def("declare_block", &declare, py::arg("name"), py::arg("instances"), py::arg("reads"),
             py::arg("results"), py::arg("arguments"), py::arg("numbers"), py::arg("target"),
             py::arg("condition") = py::none(), py::arg("where") = py::none(),
             "The call of a block and its results. Arguments: (kind, index, by reference), where "
             "the kinds are 0 for reads, 1 for results, 2 for numbers. Target: (described, returns "
             "a code, address, runner, owner).");
}

} // namespace tilewright
