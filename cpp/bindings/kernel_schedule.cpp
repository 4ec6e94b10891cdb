// Functions as they are made and scheduled: what they know of their arguments, and the commands
// given so far.
#include "analysis/legality.h"
#include "bindings/kernel_call.h"
#include "bindings/signals.h"
#include "mapping/commands.h"
#include "mapping/program.h"
#include "planning/default_mapping.h"
#include "planning/resolve.h"
#include "runtime/cpu.h"

#include <algorithm>

namespace tilewright {

namespace py = pybind11;

namespace {

/// Of a default mapping, or of one command with all that is asked about it; each part has a tighter
/// one.
constexpr std::uint64_t planning_limit = 500'000'000;

py::object interned(const std::string &text) {
  auto name = py::reinterpret_steal<py::object>(PyUnicode_InternFromString(text.c_str()));
  if (!name) {
    throw py::error_already_set();
  }
  return name;
}

} // namespace

KernelFunction::KernelFunction(std::shared_ptr<const Function> function, CompileOptions settings)
    : function_(std::move(function)), settings_(std::move(settings)), out_name_(interned("out")),
      threads_name_(interned("threads")), context_(function_->context, function_->parameters),
      sizes_(size_parameters(*function_)) {
  describe_cpu(settings_.cpu);
  const auto add = [&](const Computation &computation, bool is_output) {
    ArrayArgument argument;
    argument.name = computation.name;
    argument.type = computation.type;
    argument.item_size = computation.type.bytes();
    argument.dtype = numpy_dtype(computation.type);
    argument.interned_name = interned(computation.name);
    for (const auto &extent : computation.extents) {
      argument.extents.emplace_back(extent, function_->parameters);
      argument.constant_tail =
          argument.extents.back().parameters().empty() ? argument.constant_tail + 1 : 0;
    }
    argument.is_output = is_output;
    argument.is_field = !computation.record.empty();
    argument.needs_zeros = is_output && !covers_array(computation, function_->context);
    arguments_.push_back(std::move(argument));
  };
  for (const auto &input : function_->inputs) {
    add(*input, false);
  }
  inputs_ = arguments_.size();
  for (const auto &output : function_->outputs) {
    add(*output, true);
  }
  for (const auto &parameter : function_->parameters) {
    parameter_names_.push_back(interned(parameter));
  }
  std::vector<std::vector<Extent>> inputs;
  for (size_t i = 0; i < inputs_; ++i) {
    inputs.push_back(arguments_[i].extents);
  }
  overwritten_.assign(arguments_.size(), false);
  stored_in_.assign(arguments_.size(), -1);
  steps_ = plan_steps(inputs, std::vector<bool>(function_->parameters.size(), false));
  inputs_solve_all_ = steps_.size() == function_->parameters.size();
}

// ---- schedule ----

LegalSchedules &KernelFunction::legal_schedules() const {
  if (legal_schedules_ == nullptr) {
    legal_schedules_ = std::make_unique<LegalSchedules>(*function_);
  }
  return *legal_schedules_;
}

KernelFunction::Candidate KernelFunction::default_candidate() const {
  const OperationLimit limit(planning_limit);
  LegalSchedules &known = legal_schedules();
  if (known.contains(known.none())) {
    return {Mapping(function_), known.none(), true, nullptr};
  }
  PlannedMapping planned = plan_default(function_);
  const bool is_legal = planned.legal != nullptr;
  if (is_legal && planned.plain) {
    known.add(known.none());
  }
  return {std::move(planned.mapping), known.none(), is_legal, std::move(planned.legal)};
}

KernelFunction::Candidate KernelFunction::after(const Candidate &candidate,
                                                const Command &command) const {
  LegalSchedules &known = legal_schedules();
  Candidate next{candidate.mapping.with(command), known.after(candidate.digest, command), true,
                 nullptr};
  if (known.contains(next.digest)) {
    return next;
  }
  Program program = build_program(next.mapping);
  if (candidate.program != nullptr && keeps_order(candidate.mapping, command)) {
    next.program = still_legal(std::move(program), *candidate.program);
  } else {
    std::shared_ptr<const LegalProgram> before = candidate.program;
    if (const auto split = before ? split_before_tag(candidate.mapping, command) : std::nullopt) {
      before = still_legal(build_program(candidate.mapping.with(*split)), *before);
    }
    next.program = require_legal(std::move(program), &command, before.get(), &candidate.mapping);
  }
  known.add(next.digest);
  return next;
}

const Mapping &KernelFunction::mapping() const {
  if (!current_) {
    current_ = default_candidate();
  }
  return current_->mapping;
}

void KernelFunction::set_mapping(Candidate next) {
  current_ = std::move(next);
  kernels_.clear();
  verdicts_.clear();
  plans_.clear();
  find_overwritten();
  find_device();
  ++version_;
}

void KernelFunction::set_target(const TargetSelection &target) {
  if (!(target == settings_.target)) {
    settings_.target = target;
    kernels_.clear();
    plans_.clear();
    find_device();
    ++version_;
  }
}

void KernelFunction::set_check_bounds(bool check) {
  if (check != settings_.instrumentation.bounds) {
    settings_.instrumentation.bounds = check;
    find_device();
    kernels_.clear();
    plans_.clear();
    ++version_;
  }
}

void KernelFunction::apply(const Command &given) {
  const InterruptibleAnalysis interruptible;
  const OperationLimit limit(planning_limit);
  const Command command = resolve(mapping(), given);
  set_mapping(after(*current_, command));
}

void KernelFunction::replay(const Schedule &schedule) {
  const InterruptibleAnalysis interruptible;
  const OperationLimit limit(planning_limit);
  Candidate next = default_candidate();
  for (const auto &command : schedule.commands) {
    next = after(next, command);
  }
  set_mapping(std::move(next));
}

void KernelFunction::take_mapping(const KernelFunction &other) {
  if (other.current_) {
    set_mapping(*other.current_);
  }
}

void KernelFunction::require_checked() {
  const InterruptibleAnalysis interruptible;
  const Mapping &current = mapping();
  if (!current_->is_legal) {
    current_->program = require_legal(build_program(current), nullptr);
    current_->is_legal = true;
  }
}

void KernelFunction::find_device() {
  on_device_ = settings_.target.target->has_devices() &&
               settings_.instrumentation == Instrumentation{} && current_ &&
               has_gpu_loops(current_->mapping);
}

void KernelFunction::find_overwritten() {
  overwrites_ = false;
  overwritten_.assign(arguments_.size(), false);
  stored_in_.assign(arguments_.size(), -1);
  for (size_t input = 0; input < inputs_; ++input) {
    for (const auto &[computation, storage] : current_->mapping.state().storage) {
      if (storage.buffer != arguments_[input].name) {
        continue;
      }
      overwrites_ = true;
      overwritten_[input] = true;
      for (size_t output = inputs_; output < arguments_.size(); ++output) {
        if (arguments_[output].name == computation) {
          stored_in_[output] = static_cast<int>(input);
        }
      }
    }
  }
}

std::vector<std::pair<std::string, std::vector<std::string>>> KernelFunction::overwritten() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  for (size_t input = 0; input < inputs_; ++input) {
    std::vector<std::string> computations;
    for (const ComputationPtr &computation : scheduled_function().computations) {
      if (overwritten_[input] &&
          current_->mapping.storage(computation->name).buffer == arguments_[input].name) {
        computations.push_back(computation->name);
      }
    }
    if (!computations.empty()) {
      all.emplace_back(arguments_[input].name, std::move(computations));
    }
  }
  return all;
}

CompileOptions KernelFunction::current_settings() const {
  CompileOptions options = settings_;
  options.default_schedule = options.default_schedule && commands().empty();
  return options;
}

Mapping KernelFunction::mapping_that_runs() const {
  const InterruptibleAnalysis interruptible;
  const OperationLimit limit(planning_limit);
  return tilewright::mapping_that_runs(mapping(), current_settings());
}

CompileOptions KernelFunction::default_options() const {
  CompileOptions options = current_settings();
  for (const auto &argument : arguments_) {
    const int rank = static_cast<int>(argument.extents.size());
    options.layouts.push_back({rank - 1, std::min(argument.constant_tail, std::max(0, rank - 1))});
  }
  return options;
}

} // namespace tilewright
