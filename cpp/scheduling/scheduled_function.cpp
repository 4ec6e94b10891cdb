#include "scheduling/scheduled_function.h"

#include "algorithm/isolate_reductions.h"
#include "mapping/commands.h"
#include "mapping/program.h"
#include "planning/default_mapping.h"
#include "planning/resolve.h"
#include "runtime/cpu.h"

#include <algorithm>

namespace tilewright {

namespace {

/// Of a default mapping, or of one command with all that is asked about it; each part has a tighter
/// one.
constexpr std::uint64_t planning_limit = 500'000'000;
/// Of isolating reductions, which is done for every function.
constexpr std::uint64_t isolating_limit = 20'000'000;
/// Of the question whether arrays may share memory.
constexpr std::uint64_t sharing_limit = 100'000'000;

std::string overwritten_text(const Violation &violation) {
  return violation.kind == Violation::Kind::Overwrite && !violation.element.empty()
             ? ", for instance " + violation.element + ", which " + violation.sink_instance +
                   " writes before " + violation.source_instance + " reads it"
             : "";
}

/// Where that takes too long, reductions stay where they are.
std::shared_ptr<const Function>
with_isolated_reductions(const std::shared_ptr<const Function> &function) {
  const OperationLimit limit(isolating_limit);
  try {
    return isolate_reductions(function);
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return function;
  }
}

} // namespace

ScheduledFunction::ScheduledFunction(std::shared_ptr<const Function> declared,
                                     CompileOptions options)
    : declared_(std::move(declared)), isolated_(with_isolated_reductions(declared_)),
      options_(std::move(options)) {
  describe_cpu(options_.cpu);
}

ScheduledFunction::ScheduledFunction(const ScheduledFunction &other)
    : declared_(other.declared_), isolated_(other.isolated_), options_(other.options_),
      current_(other.current_) {}

// ---- what is scheduled ----

LegalSchedules &ScheduledFunction::legal_schedules() const {
  if (legal_schedules_ == nullptr) {
    legal_schedules_ = std::make_unique<LegalSchedules>(*declared_);
  }
  return *legal_schedules_;
}

ScheduledFunction::State ScheduledFunction::default_state() const {
  const OperationLimit limit(planning_limit);
  LegalSchedules &known = legal_schedules();
  if (known.contains(known.none())) {
    return {Mapping(isolated_), known.none(), true, nullptr};
  }
  PlannedMapping planned = plan_default(isolated_);
  const bool is_legal = planned.legal != nullptr;
  if (is_legal && planned.plain) {
    known.add(known.none());
  }
  return {std::move(planned.mapping), known.none(), is_legal, std::move(planned.legal)};
}

const Mapping &ScheduledFunction::mapping() const {
  if (!current_) {
    current_ = default_state();
  }
  return current_->mapping;
}

Mapping ScheduledFunction::mapping_that_runs() const {
  const OperationLimit limit(planning_limit);
  return tilewright::mapping_that_runs(mapping(), options_for({}));
}

std::vector<std::pair<std::string, std::vector<std::string>>>
ScheduledFunction::overwritten() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  if (!current_) {
    return all;
  }
  const auto &storage = current_->mapping.state().storage;
  for (const ComputationPtr &input : declared_->inputs) {
    std::vector<std::string> computations;
    for (const ComputationPtr &computation : function().computations) {
      const auto stored = storage.find(computation->name);
      if (stored != storage.end() && stored->second.buffer == input->name) {
        computations.push_back(computation->name);
      }
    }
    if (!computations.empty()) {
      all.emplace_back(input->name, std::move(computations));
    }
  }
  return all;
}

bool ScheduledFunction::has_gpu_loops() const {
  return current_ && tilewright::has_gpu_loops(current_->mapping);
}

// ---- commands ----

ScheduledFunction::State ScheduledFunction::after(const State &state,
                                                  const Command &command) const {
  LegalSchedules &known = legal_schedules();
  State next{state.mapping.with(command), known.after(state.digest, command), true, nullptr};
  if (known.contains(next.digest)) {
    return next;
  }
  Program program = build_program(next.mapping);
  if (state.program != nullptr && keeps_order(state.mapping, command)) {
    next.program = still_legal(std::move(program), *state.program);
  } else {
    std::shared_ptr<const LegalProgram> before = state.program;
    if (const auto split = before ? split_before_tag(state.mapping, command) : std::nullopt) {
      before = still_legal(build_program(state.mapping.with(*split)), *before);
    }
    next.program =
        tilewright::require_legal(std::move(program), &command, before.get(), &state.mapping);
  }
  known.add(next.digest);
  return next;
}

void ScheduledFunction::change(State next) {
  current_ = std::move(next);
  sharing_.clear();
  ++version_;
}

void ScheduledFunction::apply(const Command &command) {
  const OperationLimit limit(planning_limit);
  const Command resolved = resolve(mapping(), command);
  change(after(*current_, resolved));
}

void ScheduledFunction::replay(const Schedule &schedule) {
  const OperationLimit limit(planning_limit);
  State next = default_state();
  for (const Command &command : schedule.commands) {
    next = after(next, command);
  }
  change(std::move(next));
}

void ScheduledFunction::require_legal() {
  const Mapping &current = mapping();
  if (!current_->is_legal) {
    current_->program = tilewright::require_legal(build_program(current), nullptr);
    current_->is_legal = true;
  }
}

const SharingVerdict &ScheduledFunction::sharing(const std::vector<SharedArray> &shared) {
  const auto known = std::find_if(sharing_.begin(), sharing_.end(),
                                  [&](const KnownSharing &each) { return each.shared == shared; });
  if (known != sharing_.end()) {
    return known->verdict;
  }
  sharing_.push_back({shared, find_sharing(shared)});
  return sharing_.back().verdict;
}

SharingVerdict ScheduledFunction::find_sharing(const std::vector<SharedArray> &shared) const {
  const OperationLimit limit(sharing_limit);
  SharingVerdict found;
  try {
    Mapping mapping = this->mapping().sharing(shared);
    if (const std::optional<Violation> violation = find_violation(build_program(mapping))) {
      found.reason = violation->explanation + overwritten_text(*violation);
    } else {
      found.mapping = std::move(mapping);
    }
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Schedule && error.kind != ErrorKind::Limit) {
      throw;
    }
    found.reason = error.what();
  }
  return found;
}

// ---- options ----

void ScheduledFunction::set_target(const TargetSelection &target) {
  if (!(target == options_.target)) {
    options_.target = target;
    ++version_;
  }
}

void ScheduledFunction::set_check_bounds(bool check) {
  if (check != options_.instrumentation.bounds) {
    options_.instrumentation.bounds = check;
    ++version_;
  }
}

CompileOptions ScheduledFunction::options_for(std::vector<ArrayLayout> layouts) const {
  CompileOptions options = options_;
  options.default_schedule = uses_default_schedule();
  options.layouts = std::move(layouts);
  return options;
}

// ---- kernels ----

PreparedKernel ScheduledFunction::prepare(const KernelRequest &request, std::uint64_t version) {
  if (version != version_) {
    throw ScheduleChanged();
  }
  require_legal();
  CompileOptions options = options_for(request.layouts);
  options.instrumentation = request.instrumentation;
  if (request.target) {
    options.target = *request.target;
  }
  if (request.shared.empty()) {
    return tilewright::prepare(mapping(), options);
  }
  const SharingVerdict &verdict = sharing(request.shared);
  if (!verdict.mapping) {
    throw Error(ErrorKind::Schedule, declared_->name +
                                         ": arrays of this call share memory, and its schedule "
                                         "does not allow that: " +
                                         verdict.reason);
  }
  return tilewright::prepare(*verdict.mapping, options);
}

std::shared_ptr<const CompiledKernel> ScheduledFunction::compile(const KernelRequest &request) {
  std::shared_ptr<const CompiledKernel> kernel;
  while (kernel == nullptr) {
    kernel = complete(prepare(request, version_));
  }
  return kernel;
}

void ScheduledFunction::store_verdicts() { legal_schedules().store(); }

std::vector<ArrayLayout> row_major_layouts(const Function &function) {
  std::vector<ArrayLayout> layouts;
  const auto is_constant = [](const ExprPtr &extent) {
    bool constant = true;
    visit(extent,
          [&](const ExprPtr &node) { constant = constant && node->kind != ExprKind::Parameter; });
    return constant;
  };
  const auto add = [&](const Computation &computation) {
    const int rank = static_cast<int>(computation.extents.size());
    int packed = 0; // inner dimensions of constant extents
    for (int d = rank - 1; d > 0 && is_constant(computation.extents[static_cast<size_t>(d)]); --d) {
      ++packed;
    }
    layouts.push_back({rank - 1, packed});
  };
  for (const ComputationPtr &input : function.inputs) {
    add(*input);
  }
  for (const ComputationPtr &output : function.outputs) {
    add(*output);
  }
  return layouts;
}

} // namespace tilewright
