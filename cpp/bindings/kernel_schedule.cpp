// Functions as they are made and scheduled: what they know of their arguments, and the commands
// given so far.
#include "algorithm/expression.h"
#include "bindings/kernel_call.h"
#include "bindings/signals.h"

#include <algorithm>
#include <new>

namespace tilewright {

namespace py = pybind11;

namespace {

py::object interned(const std::string &text) {
  auto name = py::reinterpret_steal<py::object>(PyUnicode_InternFromString(text.c_str()));
  if (!name) {
    throw py::error_already_set();
  }
  return name;
}

/// Do computations or outputs show what an input held before the call?
bool is_needed(const Function &function, const Computation &input,
               const std::vector<ArrayArgument> &arguments) {
  const auto is_partial = [](const ArrayArgument &argument) {
    return argument.is_output && argument.needs_zeros;
  };
  if (std::any_of(arguments.begin(), arguments.end(), is_partial)) {
    return true;
  }
  bool is_read = false;
  for (const ComputationPtr &computation : function.computations) {
    for (const Piece &piece : computation->pieces) {
      visit(piece.value, [&](const ExprPtr &node) {
        is_read |= node->kind == ExprKind::Access && node->producer.get() == &input;
      });
    }
  }
  return is_read;
}

} // namespace

KernelFunction::KernelFunction(std::shared_ptr<ScheduledFunction> scheduled)
    : scheduled_(std::move(scheduled)), out_name_(interned("out")),
      threads_name_(interned("threads")), context_(function().context, function().parameters),
      sizes_(size_parameters(function())) {
  const auto add = [&](const Computation &computation, bool is_output) {
    ArrayArgument argument;
    argument.name = computation.name;
    argument.type = computation.type;
    argument.item_size = computation.type.bytes();
    argument.dtype = numpy_dtype(computation.type);
    argument.interned_name = interned(computation.name);
    for (const auto &extent : computation.extents) {
      argument.extents.emplace_back(extent, function().parameters);
    }
    argument.is_output = is_output;
    argument.is_field = !computation.record.empty();
    argument.needs_zeros = is_output && !covers_array(computation, function().context);
    arguments_.push_back(std::move(argument));
  };
  for (const auto &input : function().inputs) {
    add(*input, false);
  }
  inputs_ = arguments_.size();
  for (const auto &output : function().outputs) {
    add(*output, true);
  }
  for (size_t i = 0; i < inputs_; ++i) {
    arguments_[i].needs_zeros = is_needed(function(), *function().inputs[i], arguments_);
  }
  for (const auto &parameter : function().parameters) {
    parameter_names_.push_back(interned(parameter));
  }
  std::vector<std::vector<Extent>> inputs;
  for (size_t i = 0; i < inputs_; ++i) {
    inputs.push_back(arguments_[i].extents);
  }
  steps_ = plan_steps(inputs, std::vector<bool>(function().parameters.size(), false));
  inputs_solve_all_ = steps_.size() == function().parameters.size();
  follow_schedule();
}

// ---- schedule ----

void KernelFunction::apply(const Command &command) {
  try {
    analyse_unlocked([&] { scheduled_->apply(command); });
  } catch (...) { // a schedule that was found may have been left and set again
    follow_schedule();
    throw;
  }
  follow_schedule();
}

void KernelFunction::replay(const Schedule &schedule) {
  analyse_unlocked([&] { scheduled_->replay(schedule); });
  follow_schedule();
}

bool KernelFunction::take_found(std::uint64_t version, const Schedule &schedule) {
  const bool is_taken = analyse_unlocked([&] { return scheduled_->take_found(version, schedule); });
  follow_schedule();
  return is_taken;
}

std::uint64_t KernelFunction::begin(const SourceLocation &where) {
  const std::uint64_t transaction = analyse_unlocked([&] { return scheduled_->begin(where); });
  follow_schedule(); // a schedule that was found is left
  return transaction;
}

void KernelFunction::commit(std::uint64_t transaction) {
  try {
    analyse_unlocked([&] { scheduled_->commit(transaction); });
  } catch (...) { // perhaps while it waited for isl's lock
    roll_back(transaction);
    throw;
  }
  follow_schedule();
}

void KernelFunction::roll_back(std::uint64_t transaction) const noexcept {
  struct Dropped {
    std::shared_ptr<ScheduledFunction> scheduled;
    std::uint64_t transaction;
  };
  scheduled_->leave(transaction);
  auto *const dropped = new (std::nothrow) Dropped{scheduled_, transaction};
  if (dropped == nullptr) {
    return; // it stays open, and is no thread's: commands are refused until there is memory
  }
  free_with_isl_lock(dropped, [](void *given) {
    const std::unique_ptr<Dropped> own(static_cast<Dropped *>(given));
    own->scheduled->roll_back(own->transaction);
  });
}

void KernelFunction::set_target(const TargetSelection &target) {
  const IslLock lock;
  scheduled_->set_target(target);
  follow_schedule();
}

void KernelFunction::set_check_bounds(bool check) {
  const IslLock lock;
  scheduled_->set_check_bounds(check);
  follow_schedule();
}

void KernelFunction::require_checked() {
  analyse_unlocked([&] { scheduled_->require_legal(); });
}

Mapping KernelFunction::mapping_that_runs(const std::map<std::string, std::int64_t> &sizes) const {
  const InterruptibleAnalysis interruptible;
  return scheduled_->mapping_that_runs(sizes);
}

void KernelFunction::follow_schedule() {
  const IslLock lock;
  if (version_ == scheduled_->version()) {
    return; // nothing has changed, or another thread has seen to it
  }
  version_ = scheduled_->version();
  kernels_.clear();
  plans_.clear();
  on_device_ = scheduled_->options().target.target->has_devices() &&
               scheduled_->options().instrumentation == Instrumentation{} &&
               scheduled_->has_gpu_loops();
  fixed_ = scheduled_->fixed();
  for (size_t i = 0; i < arguments_.size(); ++i) {
    arguments_[i].constant_tail = constant_tail(i, {});
  }
  narrow_.clear();
  for (const NarrowSize &size : scheduled_->narrow_sizes()) {
    const auto &parameters = function().parameters;
    const auto found = std::find(parameters.begin(), parameters.end(), size.parameter);
    narrow_.emplace_back(static_cast<size_t>(found - parameters.begin()), size.below);
  }
  overwrites_ = false;
  overwritten_.assign(arguments_.size(), false);
  stored_in_.assign(arguments_.size(), -1);
  const auto argument = [&](const std::string &name, size_t first) {
    const auto found =
        std::find_if(arguments_.begin() + static_cast<std::ptrdiff_t>(first), arguments_.end(),
                     [&](const ArrayArgument &each) { return each.name == name; });
    return static_cast<size_t>(found - arguments_.begin());
  };
  for (const auto &[name, computations] : scheduled_->overwritten()) {
    const size_t input = argument(name, 0);
    overwrites_ = true;
    overwritten_[input] = true;
    for (const std::string &computation : computations) {
      if (const size_t output = argument(computation, inputs_); output < arguments_.size()) {
        stored_in_[output] = static_cast<int>(input);
      }
    }
  }
}

} // namespace tilewright
