#include "bindings/kernel_call.h"

#include "algorithm/evaluator.h"
#include "analysis/legality.h"
#include "bindings/call_errors.h"
#include "bindings/callbacks.h"
#include "bindings/gil.h"
#include "bindings/interruptible_compile.h"
#include "bindings/signals.h"
#include "mapping/program.h"
#include "runtime/cache.h"

#include <algorithm>
#include <map>

namespace tilewright {

namespace py = pybind11;

// ---- kernels ----

std::shared_ptr<const CompiledKernel> KernelFunction::find_kernel(const KernelCase &what) const {
  const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                  [&](const CompiledEntry &entry) { return entry.what == what; });
  return found != kernels_.end() ? found->kernel : nullptr;
}

std::shared_ptr<const CompiledKernel> KernelFunction::compile_kernel(const KernelRequest &request,
                                                                     std::uint64_t version) {
  std::shared_ptr<const CompiledKernel> kernel;
  while (kernel == nullptr) {
    PreparedKernel prepared =
        analyse_unlocked([&] { return scheduled_->prepare(request, version); });
    const GilReleased unlocked;
    kernel = complete_interruptibly(std::move(prepared));
  }
  return kernel;
}

std::shared_ptr<const CompiledKernel> KernelFunction::make_kernel(const KernelCase &what,
                                                                  std::uint64_t version) {
  KernelRequest request;
  request.layouts.assign(what.layouts.begin(), what.layouts.end());
  request.shared = what.shared;
  request.instrumentation = scheduled_->options().instrumentation;
  request.target = what.target;
  request.sizes = what.sizes;
  std::shared_ptr<const CompiledKernel> kernel = compile_kernel(request, version);
  if (version == version_) {
    const auto known = find_kernel(what); // by another thread, meanwhile
    if (known == nullptr) {
      kernels_.push_back({what, kernel});
    } else {
      kernel = known;
    }
  }
  last_compile_ = kernel;
  {
    const IslLock lock;
    scheduled_->store_verdicts();
  }
  note_compiled(function().name, compile_info(*kernel), py::bytes(cache_problem()));
  return kernel;
}

std::optional<std::string> KernelFunction::reason_against(const std::vector<SharedArray> &shared) {
  return analyse_unlocked([&] {
    scheduled_->require_legal();
    const SharingVerdict &verdict = scheduled_->sharing(shared);
    return verdict.mapping ? std::nullopt : std::optional(verdict.reason);
  });
}

std::shared_ptr<const CompiledKernel> KernelFunction::sharing_kernel(const CallPlan &plan,
                                                                     const BoundCall &call) {
  const std::vector<SharedArray> shared = shared_arrays(call);
  if (version_ != call.version) { // NumPy was asked, which is Python
    throw ScheduleChanged();
  }
  if (shared.empty()) {
    return nullptr; // neighbours that do not meet
  }
  const std::optional<std::string> reason = reason_against(shared);
  if (reason) {
    const auto position = [&](const std::string &name) {
      const auto found =
          std::find_if(arguments_.begin(), arguments_.end(),
                       [&](const ArrayArgument &argument) { return argument.name == name; });
      return static_cast<size_t>(found - arguments_.begin());
    };
    const size_t inner = position(shared.front().array);
    const size_t outer = position(shared.front().input);
    const bool is_output = inner >= inputs_; // else `outer` is an input that is overwritten
    CallExplainer(*this).overlapping_input(is_output ? inner : outer, is_output ? outer : inner,
                                           *reason);
  }
  return find_or_make({plan.layouts, scheduled_->options().target, shared}, call.version);
}

// ---- calls ----

int KernelFunction::constant_tail(size_t argument,
                                  const std::map<std::string, std::int64_t> &sizes) const {
  const std::vector<Extent> &extents = arguments_[argument].extents;
  const auto is_known = [&](const Extent &extent) {
    return is_number(extent.expression(), fixed_, sizes);
  };
  return static_cast<int>(std::find_if_not(extents.rbegin(), extents.rend(), is_known) -
                          extents.rbegin());
}

Layouts KernelFunction::layouts_of(const BoundCall &call,
                                   const std::map<std::string, std::int64_t> &sizes) const {
  Layouts layouts;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const BoundArray &array = call.arrays[i];
    const int tail = sizes.empty() ? arguments_[i].constant_tail : constant_tail(i, sizes);
    layouts.push_back(
        layout_of(array.nd, array.dimensions, array.strides, arguments_[i].item_size, tail));
  }
  return layouts;
}

std::map<std::string, std::int64_t> KernelFunction::sizes_of(const BoundCall &call) const {
  constexpr std::int64_t few_elements = 4096; // take as long as the call in any loops
  std::map<std::string, std::int64_t> sizes;
  for (const auto &[parameter, below] : narrow_) {
    const std::int64_t value = call.parameters[parameter];
    if (0 < value && value < below) {
      sizes[function().parameters[parameter]] = value;
    }
  }
  if (sizes.empty()) {
    return sizes;
  }
  std::int64_t largest = 0;
  for (const ArrayArgument &argument : arguments_) {
    std::int64_t elements = 1;
    for (const Extent &extent : argument.extents) {
      const std::int64_t length = extent.evaluate(call.parameters.data());
      elements =
          std::min(few_elements, elements * std::clamp<std::int64_t>(length, 0, few_elements));
    }
    largest = std::max(largest, elements);
  }
  return largest < few_elements ? std::map<std::string, std::int64_t>() : sizes;
}

std::shared_ptr<CallPlan> KernelFunction::make_plan(BoundCall &call) {
  solve_shapes(call);
  require_fixed(call);
  auto plan = std::make_shared<CallPlan>();
  plan->key = plan_key(call);
  require_apart_in_themselves(call);
  make_outputs(call, false);
  plan->integers.assign(call.parameters.begin(), call.parameters.end());
  plan->layouts = layouts_of(call, {});
  plan->sizes = sizes_of(call);
  plan->layouts_of_sizes = plan->sizes.empty() ? plan->layouts : layouts_of(call, plan->sizes);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const BoundArray &array = call.arrays[i];
    const int item_size = arguments_[i].item_size;
    if (!array.is_given()) {
      plan->fresh_shapes.insert(plan->fresh_shapes.end(), array.dimensions,
                                array.dimensions + array.nd);
    }
    plan->spans.push_back(span_of(array, item_size));
    plan->integers.insert(plan->integers.end(), array.strides, array.strides + array.nd);
    if (const int unit = plan->layouts[i].unit; unit >= 0) {
      // An axis of one element may have any stride.
      plan->integers[plan->integers.size() - static_cast<size_t>(array.nd - unit)] = item_size;
    }
  }
  plan->writes_nothing = true;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ByteSpan &span = plan->spans[i];
    const bool is_target = arguments_[i].is_output || overwritten_[i];
    plan->writes_nothing = plan->writes_nothing && (!is_target || span.low == span.high);
  }
  return plan;
}

py::object KernelFunction::call_known(const CallArguments &given) {
  scheduled_->require_no_transaction();
  try {
    return call_once(given);
  } catch (const ScheduleChanged &) {
    follow_schedule();
    return {};
  }
}

py::object KernelFunction::call_once(const CallArguments &given) {
  if (on_device_) {
    return call_on_device(given);
  }
  BoundCall call;
  const bool is_known = given.parameters != nullptr;
  if (!is_known) {
    bind_arguments(given, call);
  } else if (!bind_known(given, call)) {
    return {};
  }
  if (overwrites_) {
    place_in_inputs(call);
  }
  std::shared_ptr<CallPlan> plan = plans_.find(call);
  if (plan == nullptr) {
    if (is_known && !has_known_shapes(call)) {
      return {};
    }
    plan = make_plan(call);
    plans_.remember(plan);
  } else {
    const std::int64_t *shape = plan->fresh_shapes.data();
    for (size_t i = inputs_; i < arguments_.size(); ++i) {
      if (!call.arrays[i].is_given()) {
        make_output(i, shape, false, call);
        shape += arguments_[i].extents.size();
      }
    }
  }
  std::shared_ptr<const CompiledKernel> sharing;
  const Overlaps overlaps = find_overlaps(*plan, call);
  if (!overlaps.empty() && overlaps == plan->overlaps) {
    sharing = plan->overlaps_kernel;
  } else if (!overlaps.empty()) {
    sharing = sharing_kernel(*plan, call);
    plan->overlaps = overlaps;
    plan->overlaps_kernel = sharing;
  }
  if (sharing == nullptr && plan->kernel == nullptr) {
    std::shared_ptr<const CompiledKernel> found = find_or_make(case_of(*plan), call.version);
    // While it was compiled, another thread may have done the same, and run what the plan has now.
    if (plan->kernel == nullptr) {
      plan->kernel = std::move(found);
    }
  }
  if (plan->writes_nothing) {
    return results(call);
  }
  const CompiledKernel &kernel = sharing != nullptr ? *sharing : *plan->kernel;
  const auto data = call.data();
  InterruptibleCall record;
  record.threads = call.threads > 0 ? call.threads : threads_;
  const std::int32_t status =
      record.run([&] { return kernel.entry()(data.data(), plan->integers.data(), &record); });
  if (status != KernelOk) {
    const bool is_unchanged =
        !overwrites_ && sharing == nullptr && record.failure.reported == 0; // the inputs
    CallExplainer(*this).failed(kernel, status, record.failure,
                                status == KernelIndexError && is_unchanged ? failing_read(call)
                                                                           : std::nullopt);
  }
  return results(call);
}

KernelCase KernelFunction::case_of(const CallArguments &given, std::uint64_t &version) {
  const std::vector<ArrayLayout> row_major = row_major_layouts(function(), fixed_);
  KernelCase what{{row_major.begin(), row_major.end()}, scheduled_->options().target};
  if (given.positional == 0 && given.names == nullptr) {
    return what;
  }
  BoundCall call;
  if (on_device_) {
    bind_for_device(given, call);
    version = call.version;
    what.layouts = make_device_plan(call)->layouts;
    return what;
  }
  bind_arguments(given, call);
  version = call.version;
  solve_shapes(call);
  require_fixed(call);
  if (overwrites_) {
    place_in_inputs(call);
  }
  what.sizes = sizes_of(call);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const BoundArray &array = call.arrays[i];
    if (array.is_given()) {
      what.layouts[i] = layout_of(array.nd, array.dimensions, array.strides,
                                  arguments_[i].item_size, constant_tail(i, what.sizes));
    } else { // a new array has no gaps
      const int inner = std::max(static_cast<int>(arguments_[i].extents.size()) - 1, 0);
      what.layouts[i].packed = std::min(constant_tail(i, what.sizes), inner);
    }
  }
  return what;
}

py::object KernelFunction::passes_once(const CallArguments &given) {
  std::uint64_t version = version_;
  const KernelCase what = case_of(given, version);
  const std::vector<PassText> passes = analyse_unlocked([&] {
    scheduled_->require_legal();
    return pass_texts(scheduled_->mapping_for(what.sizes),
                      scheduled_->options_for({what.layouts.begin(), what.layouts.end()}));
  });
  py::list result;
  for (const PassText &pass : passes) {
    result.append(py::make_tuple(pass.name, pass.milliseconds, pass.changed, pass.text));
  }
  return result;
}

py::object KernelFunction::compile_once(const CallArguments &given) {
  if (on_device_) {
    return compile_for_device(given);
  }
  std::uint64_t version = version_;
  const KernelCase what = case_of(given, version);
  const std::shared_ptr<const CompiledKernel> kernel = find_or_make(what, version);
  last_compile_ = kernel;
  return compile_info(*kernel); // another thread may have compiled for other arrays meanwhile
}

std::vector<std::vector<std::int64_t>>
KernelFunction::output_shapes(const CallArguments &given) const {
  BoundCall call;
  bind_arguments(given, call);
  solve_shapes(call);
  std::vector<std::vector<std::int64_t>> shapes;
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    std::vector<std::int64_t> &shape = shapes.emplace_back();
    for (const auto &extent : arguments_[i].extents) {
      shape.push_back(std::max<std::int64_t>(extent.evaluate(call.parameters.data()), 0));
    }
  }
  return shapes;
}

std::map<std::string, std::int64_t> KernelFunction::parameters_of(const BoundCall &call) const {
  std::map<std::string, std::int64_t> parameters;
  for (size_t i = 0; i < call.parameters.size(); ++i) {
    parameters[function().parameters[i]] = call.parameters[i];
  }
  return parameters;
}

std::map<std::string, ArrayView> KernelFunction::views_of(const BoundCall &call,
                                                          bool outputs) const {
  std::map<std::string, ArrayView> views;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].is_output != outputs) {
      continue;
    }
    const BoundArray &array = call.arrays[i];
    ArrayView &view = views[arguments_[i].name];
    view.data = array.data;
    view.extents.assign(array.dimensions, array.dimensions + array.nd);
    view.strides.assign(array.strides, array.strides + array.nd);
  }
  return views;
}

std::optional<FailingRead> KernelFunction::failing_read(BoundCall &call) const {
  solve(call); // a plan has done without
  return analyse_unlocked(
      [&] { return find_failing_read(function(), parameters_of(call), views_of(call, false)); });
}

py::object KernelFunction::evaluate(const CallArguments &given) {
  BoundCall call;
  bind_arguments(given, call);
  solve_shapes(call);
  make_outputs(call, true);
  if (call.has_given_outputs) {
    copy_overlapping_inputs(call);
  }
  const std::map<std::string, ArrayView> inputs = views_of(call, false);
  const std::map<std::string, ArrayView> outputs = views_of(call, true);
  analyse_unlocked([&] { tilewright::evaluate(function(), parameters_of(call), inputs, outputs); });
  return results(call);
}

// ---- what is known of them ----

py::dict KernelFunction::compile_info(const CompiledKernel &kernel) {
  py::dict milliseconds;
  for (const auto &[phase, time] : kernel.milliseconds) {
    milliseconds[py::str(phase)] = time;
  }
  py::dict info;
  info["key"] = kernel.key;
  info["from_cache"] = kernel.from_cache;
  info["milliseconds"] = milliseconds;
  const Improvement improvement = kernel.code->improvement();
  info["optimized"] = kernel.is_full() ? "full" : "light";
  info["pending"] = improvement == Improvement::Pending;
  info["problem"] = kernel.code->problem();
  return info;
}

py::object KernelFunction::last_compile_info() const {
  const std::shared_ptr<const CompiledKernel> latest = last_compile_;
  return latest == nullptr ? py::none() : py::object(compile_info(*latest));
}

bool KernelFunction::is_pending() const {
  return std::any_of(kernels_.begin(), kernels_.end(), [](const CompiledEntry &entry) {
    return entry.kernel->code->improvement() == Improvement::Pending;
  });
}

bool KernelFunction::is_full() const {
  return !kernels_.empty() &&
         std::all_of(kernels_.begin(), kernels_.end(),
                     [](const CompiledEntry &entry) { return entry.kernel->is_full(); });
}

} // namespace tilewright
