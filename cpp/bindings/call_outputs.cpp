// The second half of a call: the arrays that results go to, and which memory they may share with
// what is read.
#include "bindings/array_memory.h"
#include "bindings/call_errors.h"
#include "bindings/device_array.h"
#include "bindings/kernel_call.h"

#include <algorithm>

namespace tilewright {

namespace py = pybind11;

char *KernelFunction::new_number(BoundCall &call) const {
  if (call.numbers.empty()) {
    call.numbers.reserve(arguments_.size()); // their addresses are kept
  }
  return reinterpret_cast<char *>(call.numbers.emplace_back().data());
}

void KernelFunction::make_output(size_t argument, const std::int64_t *shape, bool zeros,
                                 BoundCall &call) const {
  const ArrayArgument &output = arguments_[argument];
  if (output.extents.empty()) { // it becomes a number, which needs no array
    call.arrays[argument] = {new_number(call), 0,       nullptr, nullptr,
                             nullptr,          nullptr, nullptr, false};
    return;
  }
  try {
    call.owned.push_back(
        new_array(output.dtype, {shape, output.extents.size()}, zeros || output.needs_zeros));
  } catch (py::error_already_set &error) {
    if (!error.matches(PyExc_ValueError)) {
      throw;
    }
    CallExplainer(*this).impossible_output(argument, {shape, output.extents.size()}, error);
  }
  call.arrays[argument] = bound(call.owned.back().ptr(), nullptr);
}

void KernelFunction::make_input(size_t argument, BoundCall &call) const {
  const ArrayArgument &input = arguments_[argument];
  BoundArray &array = call.arrays[argument];
  if (input.extents.empty()) {
    array = {new_number(call), 0, nullptr, nullptr, nullptr, Py_None, nullptr, true};
    return;
  }
  llvm::SmallVector<std::int64_t, 8> shape;
  for (const auto &extent : input.extents) {
    shape.push_back(std::max<std::int64_t>(extent.evaluate(call.parameters.data()), 0));
  }
  call.owned.push_back(new_array(input.dtype, shape, input.needs_zeros));
  array = bound(call.owned.back().ptr(), call.owned.back().ptr());
  array.is_fresh = true;
}

void KernelFunction::make_outputs(BoundCall &call, bool zeros) const {
  llvm::SmallVector<std::int64_t, 8> shape;
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    if (call.arrays[i].is_given()) {
      continue;
    }
    shape.clear();
    for (const auto &extent : arguments_[i].extents) {
      shape.push_back(std::max<std::int64_t>(extent.evaluate(call.parameters.data()), 0));
    }
    make_output(i, shape.data(), zeros, call);
  }
}

void KernelFunction::place_in_inputs(BoundCall &call) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (overwritten_[i] && !call.arrays[i].is_fresh) {
      const BoundArray &input = call.arrays[i];
      if (input.array == nullptr && input.on_device == nullptr) {
        CallExplainer(*this).copied_input(i, input.object);
      }
      if (input.on_device != nullptr ? input.on_device->is_read_only()
                                     : !is_writeable(input.array)) {
        CallExplainer(*this).read_only_input(i);
      }
    }
    if (stored_in_[i] < 0) {
      continue;
    }
    const BoundArray &array = call.arrays[static_cast<size_t>(stored_in_[i])];
    if (call.arrays[i].is_given() && !same_elements(call.arrays[i], array)) {
      CallExplainer(*this).other_output(i, static_cast<size_t>(stored_in_[i]));
    }
    call.arrays[i] = array;
  }
}

py::object results_of(const BoundCall &call, size_t inputs,
                      llvm::function_ref<const py::dtype &(size_t)> type) {
  const auto one = [&](size_t i) -> py::object {
    const BoundArray &output = call.arrays[i];
    if (output.is_given() && !output.is_fresh) {
      return py::reinterpret_borrow<py::object>(output.object);
    }
    if (output.array != nullptr) {
      return py::reinterpret_borrow<py::object>(output.array);
    }
    // NumPy gives scalars for results without axes.
    auto number = py::reinterpret_steal<py::object>(
        py::detail::npy_api::get().PyArray_Scalar_(output.data, type(i).ptr(), nullptr));
    if (!number) {
      throw py::error_already_set();
    }
    return number;
  };
  if (call.arrays.size() - inputs == 1) {
    return one(inputs);
  }
  py::tuple all(call.arrays.size() - inputs);
  for (size_t i = inputs; i < call.arrays.size(); ++i) {
    all[i - inputs] = one(i);
  }
  return all;
}

py::object KernelFunction::results(const BoundCall &call) const {
  return results_of(call, inputs_,
                    [&](size_t i) -> const py::dtype & { return arguments_[i].dtype; });
}

// ---- shared memory ----

/// Whether the kernel writes the caller's array of this argument.
bool KernelFunction::is_written(size_t argument, const BoundCall &call) const {
  return argument < inputs_ ? overwritten_[argument]
                            : call.arrays[argument].is_given() && stored_in_[argument] < 0;
}

void KernelFunction::require_apart_in_themselves(const BoundCall &call) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (is_written(i, call) && overlaps_itself(call.arrays[i], arguments_[i].item_size)) {
      CallExplainer(*this).self_overlap(i);
    }
  }
}

Overlaps KernelFunction::find_overlaps(const CallPlan &plan, const BoundCall &call) const {
  Overlaps overlaps;
  if (!call.has_given_outputs && !overwrites_) {
    return overlaps;
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!is_written(i, call)) {
      continue;
    }
    for (size_t other = 0; other < arguments_.size(); ++other) {
      if (other != i && stored_in_[other] < 0 &&
          spans_overlap(call.arrays[i].data, plan.spans[i], call.arrays[other].data,
                        plan.spans[other])) {
        overlaps.push_back({i, other, call.arrays[other].data - call.arrays[i].data});
      }
    }
  }
  return overlaps;
}

std::vector<SharedArray> KernelFunction::shared_arrays(const BoundCall &call) const {
  const CallExplainer explain(*this);
  const auto shares = [&](size_t a, size_t b) {
    return shares_memory(call.arrays[a], call.arrays[b], arguments_[a].item_size,
                         arguments_[b].item_size);
  };
  // Farther apart than this counts as unsafe: each distance is a kernel of its own.
  constexpr std::int64_t farthest = 8;
  std::vector<SharedArray> shared;
  const auto put = [&](size_t inner, size_t outer, size_t written, size_t read) {
    if (inner == outer) {
      return;
    }
    const auto offset =
        arguments_[inner].type == arguments_[outer].type
            ? place_inside(call.arrays[inner], call.arrays[outer], arguments_[inner].item_size)
            : std::nullopt;
    if (!offset || std::any_of(offset->begin(), offset->end(), [](std::int64_t steps) {
          return steps < -farthest || steps > farthest;
        })) {
      explain.overlapping_input(written, read, "");
    }
    shared.push_back({arguments_[inner].name, arguments_[outer].name,
                      std::vector<std::int64_t>(offset->begin(), offset->end())});
  };
  std::vector<int> home(inputs_, -1); // the written array that an input overlaps
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!is_written(i, call)) {
      continue;
    }
    for (size_t other = i + 1; other < arguments_.size(); ++other) {
      if (is_written(other, call) && shares(i, other)) {
        explain.overlapping_outputs(i, other);
      }
    }
    int outer = i < inputs_ ? static_cast<int>(i) : -1;
    for (size_t input = 0; input < inputs_; ++input) {
      if (is_written(input, call) || !shares(i, input)) {
        continue;
      }
      if (home[input] >= 0) {
        explain.overlapping_input(i, input, "");
      }
      home[input] = static_cast<int>(i);
      if (outer < 0) {
        outer = static_cast<int>(input);
        put(i, input, i, input);
      } else {
        put(input, static_cast<size_t>(outer), i, input);
      }
    }
  }
  return shared;
}

void KernelFunction::copy_overlapping_inputs(BoundCall &call) const {
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    if (!call.arrays[i].is_given()) {
      continue;
    }
    if (overlaps_itself(call.arrays[i], arguments_[i].item_size)) {
      CallExplainer(*this).self_overlap(i);
    }
    const auto shares = [&](size_t other) {
      return shares_memory(call.arrays[i], call.arrays[other], arguments_[i].item_size,
                           arguments_[other].item_size);
    };
    for (size_t other = i + 1; other < arguments_.size(); ++other) {
      if (call.arrays[other].is_given() && shares(other)) {
        CallExplainer(*this).overlapping_outputs(i, other);
      }
    }
    for (size_t input = 0; input < inputs_; ++input) {
      if (shares(input)) {
        call.owned.push_back(copy_array(call.arrays[input].array));
        call.arrays[input] = bound(call.owned.back().ptr(), call.arrays[input].object);
      }
    }
  }
}

} // namespace tilewright
