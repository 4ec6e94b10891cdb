// Calls of functions whose loops run on a GPU. Arrays on the device are used where they are, and
// such a call returns before its work is done; where some argument is on a device, so are the
// outputs that the call makes. NumPy's arrays are copied to the device row by row, and what was
// written is copied back; elements of an output that the function does not define keep what they
// had.
#include "bindings/array_memory.h"
#include "bindings/bind_errors.h"
#include "bindings/call_errors.h"
#include "bindings/callbacks.h"
#include "bindings/device_array.h"
#include "bindings/device_copy.h"
#include "bindings/gil.h"
#include "bindings/kernel_call.h"
#include "bindings/signals.h"
#include "runtime/device.h"
#include "runtime/devices.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

/// The first argument that is on a device; as many as there are where none is.
size_t first_on_device(const BoundCall &call) {
  const auto found = std::find_if(call.arrays.begin(), call.arrays.end(),
                                  [](const auto &array) { return array.on_device != nullptr; });
  return static_cast<size_t>(found - call.arrays.begin());
}

BoundArray bound(const std::shared_ptr<DeviceArray> &array, PyObject *object) {
  return {array->data(),
          static_cast<int>(array->shape().size()),
          array->shape().data(),
          array->strides().data(),
          nullptr,
          object,
          array.get()};
}

/// Whether all elements are at multiples of their size. A device takes no others: a kernel that met
/// one would be its last in this process.
bool is_aligned(const DeviceArray &array, std::int64_t item_size) {
  if (array.size() == 0) {
    return true;
  }
  bool aligned = reinterpret_cast<std::intptr_t>(array.data()) % item_size == 0;
  for (size_t d = 0; d < array.shape().size(); ++d) {
    aligned = aligned && (array.shape()[d] == 1 || array.strides()[d] % item_size == 0);
  }
  return aligned;
}

/// While alive, this thread gives the device work on the arrays that are there.
class DeviceArraysInUse {
public:
  explicit DeviceArraysInUse(const BoundCall &call) : call_(call) {
    for (const BoundArray &array : call_.arrays) {
      if (array.on_device != nullptr) {
        array.on_device->memory()->use();
      }
    }
  }
  ~DeviceArraysInUse() {
    for (const BoundArray &array : call_.arrays) {
      if (array.on_device != nullptr) {
        array.on_device->memory()->used();
      }
    }
  }
  DeviceArraysInUse(const DeviceArraysInUse &) = delete;
  DeviceArraysInUse &operator=(const DeviceArraysInUse &) = delete;

private:
  const BoundCall &call_;
};

/// An ndarray that says of itself where the elements are, on whatever device.
py::array stand_in(const BoundArray &array, const py::dtype &dtype) {
  const std::vector<py::ssize_t> shape(array.dimensions, array.dimensions + array.nd);
  const std::vector<py::ssize_t> strides(array.strides, array.strides + array.nd);
  return {dtype, shape, strides, array.data, py::none()};
}

} // namespace

// ---- what is given ----

bool KernelFunction::adopt_device_array(size_t argument, PyObject *object, BoundCall &call) const {
  const auto given = py::reinterpret_borrow<py::object>(object);
  if (!py::isinstance<DeviceArray>(given) && !is_device_array(given)) {
    return false;
  }
  const std::shared_ptr<DeviceArray> view = view_device_array(given);
  if (view == nullptr) {
    return false;
  }
  const ArrayArgument &expected = arguments_[argument];
  const CallExplainer explain(*this);
  if (view->type() != expected.type || view->shape().size() != expected.extents.size()) {
    explain.refused_array(argument, object,
                          fmt::format("expected {} with {} axes, got a {}",
                                      type_name(expected.type), expected.extents.size(),
                                      describe(*view)));
  }
  if (expected.is_output && view->is_read_only()) {
    explain.refused_array(argument, object, "it is read-only: its owner says so");
  }
  if (!expected.is_field && !is_aligned(*view, expected.item_size)) {
    explain.refused_array(argument, object, "its elements are not aligned");
  }
  call.arrays[argument] = bound(view, object);
  call.owned.push_back(py::cast(view));
  return true;
}

// ---- devices ----

Device &KernelFunction::device_of(const BoundCall &call) const {
  const Target &target = *scheduled_->options().target.target;
  const size_t first = first_on_device(call);
  if (first < call.arrays.size()) {
    Device &device = call.arrays[first].on_device->device();
    for (size_t i = first + 1; i < call.arrays.size(); ++i) {
      const DeviceArray *other = call.arrays[i].on_device;
      if (other != nullptr && &other->device() != &device) {
        throw_argument_error(
            ArgumentProblem::Value,
            fmt::format("{}: {} is on {} and {} on {}; copy one of them with tw.to_device",
                        function().name, arguments_[first].name, short_name(device),
                        arguments_[i].name, short_name(other->device())));
      }
    }
    if (!target.runs_on(device)) {
      throw_argument_error(ArgumentProblem::Value,
                           fmt::format("{}: {} is on {}, and the function is for target=\"{}\"",
                                       function().name, arguments_[first].name, short_name(device),
                                       target.name()));
    }
    return device;
  }
  try {
    const GilReleased unlocked;
    return *target.first_device();
  } catch (const Error &error) {
    // What went wrong may say already what runs without a GPU.
    const std::string reason = error.what();
    const bool is_said = reason.find("gpu-emulator") != std::string::npos;
    Error more(error.kind,
               fmt::format("{}: its loops are mapped to a GPU: {}; {}target=\"cpu\" runs them as "
                           "loops of the CPU",
                           function().name, reason,
                           is_said ? "" : "target=\"gpu-emulator\" runs them on the host, "));
    more.details = error.details;
    throw more;
  }
}

TargetSelection KernelFunction::target_of(const Device &device) const {
  TargetSelection selected = scheduled_->options().target;
  selected.device = selected.target->device_code(device);
  return selected;
}

// ---- what follows from shapes, strides and places ----

std::shared_ptr<CallPlan> KernelFunction::make_device_plan(BoundCall &call) {
  solve_shapes(call);
  require_fixed(call);
  require_apart_in_themselves(call);
  auto plan = std::make_shared<CallPlan>();
  plan->key = plan_key(call);
  plan->integers.assign(call.parameters.begin(), call.parameters.end());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ArrayArgument &argument = arguments_[i];
    const BoundArray &array = call.arrays[i];
    llvm::SmallVector<py::ssize_t, 4> shape;
    for (const Extent &extent : argument.extents) {
      shape.push_back(std::max<std::int64_t>(extent.evaluate(call.parameters.data()), 0));
    }
    if (!array.is_given()) {
      plan->fresh_shapes.insert(plan->fresh_shapes.end(), shape.begin(), shape.end());
    }
    const auto rank = static_cast<int>(shape.size());
    llvm::SmallVector<py::ssize_t, 4> strides(shape.size());
    py::ssize_t packed = argument.item_size;
    for (int d = rank; d-- > 0;) {
      const auto axis = static_cast<size_t>(d);
      strides[axis] = array.on_device != nullptr ? array.strides[d] : packed;
      packed *= std::max<py::ssize_t>(shape[axis], 1);
    }
    const ArrayLayout layout =
        layout_of(rank, shape.data(), strides.data(), argument.item_size, argument.constant_tail);
    if (layout.unit >= 0) {
      // An axis of one element may have any stride.
      strides[static_cast<size_t>(layout.unit)] = argument.item_size;
    }
    plan->layouts.push_back(layout);
    plan->integers.insert(plan->integers.end(), strides.begin(), strides.end());
  }
  return plan;
}

void KernelFunction::make_device_outputs(const CallPlan &plan, Device &device,
                                         BoundCall &call) const {
  const bool on_device = first_on_device(call) < call.arrays.size();
  const std::int64_t *shape = plan.fresh_shapes.data();
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    if (call.arrays[i].is_given()) {
      continue;
    }
    const ArrayArgument &output = arguments_[i];
    const size_t rank = output.extents.size();
    if (on_device && rank > 0) {
      const auto array = std::make_shared<DeviceArray>(
          device, output.type, std::vector<std::int64_t>(shape, shape + rank));
      if (output.needs_zeros) {
        device.clear(array->data(), array->size() * output.item_size);
      }
      call.owned.push_back(py::cast(array));
      call.arrays[i] = bound(array, call.owned.back().ptr());
    } else {
      make_output(i, shape, false, call);
    }
    shape += rank;
  }
}

void KernelFunction::separate_device_inputs(BoundCall &call) const {
  if (!call.has_given_outputs && !overwrites_) {
    return;
  }
  const auto shares = [&](size_t a, size_t b) {
    if (a == b || call.arrays[a].on_device == nullptr || call.arrays[b].on_device == nullptr) {
      return false;
    }
    const int item_a = arguments_[a].item_size;
    const int item_b = arguments_[b].item_size;
    if (!spans_overlap(call.arrays[a].data, span_of(call.arrays[a], item_a), call.arrays[b].data,
                       span_of(call.arrays[b], item_b))) {
      return false;
    }
    // NumPy is asked about addresses; nothing is read there.
    const py::array first = stand_in(call.arrays[a], arguments_[a].dtype);
    const py::array second = stand_in(call.arrays[b], arguments_[b].dtype);
    return shares_memory(tilewright::bound(first.ptr(), first.ptr()),
                         tilewright::bound(second.ptr(), second.ptr()), item_a, item_b);
  };
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!is_written(i, call)) {
      continue;
    }
    for (size_t other = i + 1; other < arguments_.size(); ++other) {
      if (is_written(other, call) && shares(i, other)) {
        CallExplainer(*this).overlapping_outputs(i, other);
      }
    }
    for (size_t input = 0; input < inputs_; ++input) {
      if (!is_written(input, call) && shares(i, input)) {
        // With the strides that the plan has.
        const auto copy = std::make_shared<DeviceArray>(call.arrays[input].on_device->twin());
        call.owned.push_back(py::cast(copy));
        call.arrays[input] = bound(copy, call.arrays[input].object);
      }
    }
  }
}

void KernelFunction::note_copies(const BoundCall &call, const Device &device) const {
  py::list names;
  const bool has_device_arrays = first_on_device(call) < call.arrays.size();
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const BoundArray &array = call.arrays[i];
    const bool is_on_host = array.is_given() ? array.on_device == nullptr : !has_device_arrays;
    if (is_on_host && !arguments_[i].extents.empty()) {
      names.append(arguments_[i].name);
    }
  }
  if (!names.empty()) {
    note_copied(function().name, names, short_name(device));
  }
}

// ---- calls ----

void KernelFunction::bind_for_device(const CallArguments &given, BoundCall &call) const {
  call.takes_device_arrays = true;
  bind_arguments(given, call);
  if (overwrites_) {
    place_in_inputs(call);
  }
}

py::object KernelFunction::compile_for_device(const CallArguments &given) {
  const std::vector<ArrayLayout> row_major = row_major_layouts(function(), fixed_);
  Layouts layouts(row_major.begin(), row_major.end());
  TargetSelection target = scheduled_->options().target;
  std::uint64_t version = version_;
  if (given.positional > 0 || given.names != nullptr) {
    BoundCall call;
    bind_for_device(given, call);
    version = call.version;
    layouts = make_device_plan(call)->layouts;
    target = target_of(device_of(call));
  } else {
    try {
      target = target_of(device_of({}));
    } catch (const Error &) {
      target = scheduled_->options().target; // no device here: for the oldest one
    }
  }
  const std::shared_ptr<const CompiledKernel> kernel = find_or_make({layouts, target}, version);
  last_compile_ = kernel;
  return compile_info(*kernel);
}

std::int32_t KernelFunction::run_on_device(const CompiledKernel &kernel, const CallPlan &plan,
                                           const BoundCall &call, Device &device,
                                           CallRecord &record, CopyTimes *times) const {
  const EndableWaits waits_of_call(record);
  llvm::SmallVector<std::unique_ptr<DeviceCopy>, 8> copies(arguments_.size());
  llvm::SmallVector<void *, 8> data;
  const auto timed = [&](std::vector<std::int64_t> CopyTimes::*direction, size_t argument,
                         const auto &copy) {
    if (times == nullptr) {
      copy();
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    copy();
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - start;
    (times->*direction).resize(arguments_.size());
    (times->*direction)[argument] = passed.count();
  };
  const DeviceArraysInUse in_use(call);
  bool waits = false;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const BoundArray &array = call.arrays[i];
    const int home = stored_in_[i];
    if (home >= 0) {
      data.push_back(data[static_cast<size_t>(home)]);
    } else if (array.on_device != nullptr) {
      data.push_back(array.data);
    } else {
      waits = true;
      copies[i] = std::make_unique<DeviceCopy>(device, array, arguments_[i].item_size);
      if (i < inputs_ || arguments_[i].needs_zeros) {
        timed(&CopyTimes::in, i, [&] { copies[i]->copy_in(); });
      }
      data.push_back(copies[i]->memory());
    }
  }
  const bool may_fail = !kernel.sites.empty();
  DeviceCall on_device(device, may_fail);
  if (times != nullptr) {
    device.synchronize();
    on_device.wait_for_launches();
  }
  record.device = &on_device;
  const std::int32_t returned = on_device.finish(
      kernel.entry()(data.data(), plan.integers.data(), &record), record.failure, may_fail, waits);
  for (size_t i = 0; i < arguments_.size() && returned == KernelOk; ++i) {
    if (copies[i] && (overwritten_[i] || i >= inputs_)) {
      timed(&CopyTimes::out, i, [&] { copies[i]->copy_out(); });
    }
  }
  return returned;
}

py::object KernelFunction::call_on_device(const CallArguments &given) {
  BoundCall call;
  bind_for_device(given, call);
  Device &device = device_of(call);
  std::shared_ptr<CallPlan> plan = plans_.find(call);
  if (plan == nullptr) {
    plan = make_device_plan(call);
    plans_.remember(plan);
    note_copies(call, device);
  }
  if (plan->kernel == nullptr) {
    std::shared_ptr<const CompiledKernel> found =
        find_or_make({plan->layouts, target_of(device)}, call.version);
    // While it was compiled, another thread may have done the same, and run what the plan has now.
    if (plan->kernel == nullptr) {
      plan->kernel = std::move(found);
    }
  }
  const CompiledKernel &kernel = *plan->kernel;
  make_device_outputs(*plan, device, call);
  separate_device_inputs(call);
  InterruptibleCall record;
  const std::int32_t status =
      record.run([&] { return run_on_device(kernel, *plan, call, device, record); });
  if (status != KernelOk) {
    const bool is_readable = !overwrites_ && first_on_device(call) == call.arrays.size();
    CallExplainer(*this).failed(kernel, status, record.failure,
                                status == KernelIndexError && is_readable ? failing_read(call)
                                                                          : std::nullopt);
  }
  return results(call);
}

py::object KernelFunction::profile_on_device(int repeats, const CallArguments &given) {
  BoundCall call;
  bind_for_device(given, call);
  Device &device = device_of(call);
  const std::shared_ptr<CallPlan> plan = make_device_plan(call);
  KernelRequest request;
  request.layouts.assign(plan->layouts.begin(), plan->layouts.end());
  request.instrumentation = scheduled_->options().instrumentation;
  request.instrumentation.times = true;
  request.target = target_of(device);
  const std::shared_ptr<const CompiledKernel> kernel = compile_kernel(request, call.version);
  make_device_outputs(*plan, device, call);
  separate_device_inputs(call);
  std::vector<CopyTimes> copies;
  InterruptibleCall record;
  py::dict profile = profile_runs(*kernel, call, repeats, record, [&](int run) {
    CopyTimes copied;
    const std::int32_t status = run_on_device(*kernel, *plan, call, device, record, &copied);
    if (run >= 0) {
      copies.push_back(std::move(copied));
    }
    return status;
  });
  profile["device"] = device.name();
  py::list copied;
  for (const auto direction : {&CopyTimes::in, &CopyTimes::out}) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      std::vector<std::int64_t> of_array;
      for (const CopyTimes &each : copies) {
        if (!(each.*direction).empty()) {
          of_array.push_back((each.*direction)[i]);
        }
      }
      if (!of_array.empty() && of_array.front() > 0) {
        const BoundArray &array = call.arrays[i];
        const std::int64_t elements = std::accumulate(array.dimensions, array.dimensions + array.nd,
                                                      std::int64_t{1}, std::multiplies<>());
        copied.append(py::make_tuple(arguments_[i].name, direction == &CopyTimes::out,
                                     elements * arguments_[i].item_size, of_array));
      }
    }
  }
  profile["copies"] = copied;
  return profile;
}

} // namespace tilewright
