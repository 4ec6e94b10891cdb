#include "scheduling/scheduled_function.h"

#include "algorithm/block.h"
#include "algorithm/isolate_reductions.h"
#include "algorithm/views.h"
#include "mapping/command_table.h"
#include "mapping/commands.h"
#include "mapping/program.h"
#include "planning/default_mapping.h"
#include "planning/resolve.h"
#include "planning/views_in_place.h"
#include "runtime/cpu.h"

#include <algorithm>
#include <utility>

namespace tilewright {

namespace {

/// Of a default mapping, or of one command with all that is asked about it; each part has a tighter
/// one.
constexpr std::uint64_t planning_limit = 500'000'000;
/// Of resolving views and of isolating reductions, which is done for every function.
constexpr std::uint64_t isolating_limit = 20'000'000;
/// Of the question whether arrays may share memory.
constexpr std::uint64_t sharing_limit = 100'000'000;

std::string overwritten_text(const Violation &violation) {
  return violation.kind == Violation::Kind::Overwrite && !violation.element.empty()
             ? ", for instance " + violation.element + ", which " + violation.sink_instance +
                   " writes before " + violation.source_instance + " reads it"
             : "";
}

/// `rewrite` of it; the function itself where that takes too long.
template <class Rewrite>
std::shared_ptr<const Function> within_limit(const Rewrite &rewrite,
                                             const std::shared_ptr<const Function> &function) {
  const OperationLimit limit(isolating_limit);
  try {
    return rewrite(function);
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return function;
  }
}

/// A view that is read through has no loops and no place of its own.
void require_no_view(const Function &declared, const Function &scheduled, const Command &command) {
  const auto require = [&](const std::string &name) {
    const ComputationPtr *computation = declared.find(name);
    if (computation != nullptr && (*computation)->is_view && scheduled.find(name) == nullptr) {
      throw Error(ErrorKind::Schedule,
                  to_string(command) + ": " + name +
                      " is a view: who reads it reads what it shows, so it has no loops and no "
                      "memory to schedule; give commands to what it shows and to its readers, or "
                      "declare it with tw.computation",
                  command.where);
    }
  };
  for (const Command &each : command.commands) {
    require_no_view(declared, scheduled, each);
  }
  require(command.computation);
  const bool names_other = traits(command).places && !command.arguments.empty();
  if (const auto *other =
          names_other ? std::get_if<std::string>(&command.arguments.front()) : nullptr) {
    require(*other);
  }
}

/// The program of a mapping; what refuses it is said to be at the end of a transaction.
Program program_after(const Mapping &mapping, const Command &command) {
  try {
    return build_program(mapping);
  } catch (const Error &error) {
    if (command.commands.empty() || error.kind != ErrorKind::Schedule) {
      throw;
    }
    Error named(error.kind, to_string(command) + ": " + error.what(), command.where);
    named.details = error.details;
    throw named;
  }
}

/// A command after which it does not matter when anything ran before.
bool times_all(const Command &command) {
  if (!command.commands.empty()) {
    return times_all(command.commands.front());
  }
  return command.computation.empty() && traits(command).times_all;
}

} // namespace

ScheduledFunction::ScheduledFunction(std::shared_ptr<const Function> declared,
                                     CompileOptions options)
    : declared_(std::move(declared)),
      isolated_(within_limit(isolate_reductions, within_limit(resolve_views, declared_))),
      options_(std::move(options)) {
  describe_cpu(options_.cpu);
}

ScheduledFunction::ScheduledFunction(const ScheduledFunction &other)
    : declared_(other.declared_), isolated_(other.isolated_), default_(other.default_),
      options_(other.options_), current_(other.current_), is_found_(other.is_found_) {
  other.require_no_transaction();
}

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
  if (default_->state == nullptr) {
    PlannedMapping planned = plan_default(isolated_);
    const bool is_legal = planned.legal != nullptr;
    if (is_legal && planned.plain) {
      known.add(known.none());
    }
    default_->state = make_isl_shared<const State>(
        State{std::move(planned.mapping), known.none(), is_legal, std::move(planned.legal)});
  }
  return *default_->state;
}

ScheduledFunction::State ScheduledFunction::declared_state() const {
  return {Mapping(isolated_), legal_schedules().none(), true, nullptr};
}

/// The default schedule says when instances run, and that what an output shows is stored there.
bool ScheduledFunction::needs_no_default(const Mapping &mapping) const {
  return !isolated_->stop && blocks_of(*isolated_).empty() && !may_store_views_in_place(mapping);
}

ScheduledFunction::State ScheduledFunction::after_first(const Command &command,
                                                        bool is_known) const {
  if (times_all(command)) {
    std::optional<Mapping> made;
    const State declared = declared_state();
    try {
      made = declared.mapping.with(command);
    } catch (const Error &) { // told of after the default schedule, too
    }
    if (made && needs_no_default(*made)) {
      return legal_after(declared, std::move(*made), command, is_known);
    }
  }
  return after(default_state(), command, is_known);
}

const Function &ScheduledFunction::function() const {
  if (const Mapping *made = transaction_.made_here()) {
    return made->function();
  }
  return current_ ? current_->mapping.function() : *isolated_;
}

const Mapping &ScheduledFunction::mapping_so_far() const {
  const Mapping *made = transaction_.made_here();
  if (made != nullptr && begins_declared_ && transaction_.commands().empty()) {
    current_ = current_ ? std::move(current_) : default_state();
    return current_->mapping;
  }
  return made != nullptr ? *made : mapping();
}

const Mapping &ScheduledFunction::mapping() const {
  require_no_transaction();
  if (!current_) {
    current_ = default_state();
  }
  return current_->mapping;
}

Mapping
ScheduledFunction::mapping_that_runs(const std::map<std::string, std::int64_t> &sizes) const {
  const OperationLimit limit(planning_limit);
  return tilewright::mapping_that_runs(mapping_for(sizes), options_for({}));
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

const std::map<std::string, std::int64_t> &ScheduledFunction::fixed() const {
  static const std::map<std::string, std::int64_t> none;
  return current_ ? current_->mapping.state().fixed : none;
}

// ---- commands ----

std::vector<Command> ScheduledFunction::commands() const {
  std::vector<Command> all =
      current_ ? current_->mapping.schedule().commands : std::vector<Command>();
  if (transaction_.made_here() != nullptr && !transaction_.commands().empty()) {
    all.push_back(transaction_.command());
  }
  return all;
}

ScheduledFunction::State ScheduledFunction::after(const State &state, const Command &command,
                                                  bool is_known) const {
  return legal_after(state, state.mapping.with(command), command, is_known);
}

ScheduledFunction::State ScheduledFunction::legal_after(const State &state, Mapping mapping,
                                                        const Command &command,
                                                        bool is_known) const {
  LegalSchedules &known = legal_schedules();
  State next{std::move(mapping), known.after(state.digest, command), true, nullptr};
  if (is_known || known.contains(next.digest)) {
    return next;
  }
  if (next.mapping.state().work.declared > 0 && state.mapping.state().work.declared == 0 &&
      !default_state().is_legal) {
    throw Error(ErrorKind::Schedule,
                to_string(command) + ": no legal order of the loops as declared was found, so they "
                                     "cannot run where there is little work; give when_work(0)",
                command.where);
  }
  Program program = program_after(next.mapping, command);
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
  if (current_) {
    remember(std::move(*current_));
  }
  current_ = std::move(next);
  sharing_.clear();
  declared_loops_.reset();
  ++version_;
}

std::optional<ScheduledFunction::State> ScheduledFunction::leave_found() {
  if (!is_found_) {
    return std::nullopt;
  }
  std::optional<State> found = std::exchange(current_, std::nullopt);
  change(default_state());
  is_found_ = false;
  return found;
}

void ScheduledFunction::apply(const Command &command) {
  const OperationLimit limit(planning_limit);
  if (is_found_) {
    std::optional<State> found = leave_found();
    try {
      apply(command);
    } catch (...) {
      change(std::move(*found));
      is_found_ = true;
      throw;
    }
    return;
  }
  require_no_view(*declared_, function(), command);
  if (transaction_.is_open()) {
    transaction_.require_here(*declared_, command.where);
    if (begins_declared_ && transaction_.commands().empty() && !times_all(command)) {
      begin_with_default();
    }
    transaction_.add(resolved_in_transaction(command));
    return;
  }
  if (!current_ && times_all(command)) {
    change(after_first(command));
    return;
  }
  const Command resolved = resolve(mapping(), command);
  change(after(*current_, resolved));
}

void ScheduledFunction::replay(const Schedule &schedule) {
  const OperationLimit limit(planning_limit);
  if (transaction_.is_open()) {
    const SourceLocation where =
        schedule.commands.empty() ? SourceLocation{} : schedule.commands.front().where;
    transaction_.require_here(*declared_, where);
    throw Error(ErrorKind::Schedule,
                declared_->name + ": a schedule replaces all commands of a function, and cannot " +
                    "be a part of the transaction that is open; give it before the transaction, " +
                    "or after its end",
                where);
  }
  std::optional<State> next;
  size_t done = 0;
  if (auto known = remembered(schedule)) {
    next = std::move(known->first);
    done = known->second;
  }
  // What is on the way to a schedule that is known to be legal is not asked.
  const size_t known = done < schedule.commands.size() ? known_to_be_legal(schedule) : 0;
  for (size_t c = done; c < schedule.commands.size(); ++c) {
    const Command &command = schedule.commands[c];
    require_no_view(*declared_, *isolated_, command);
    next = next ? after(*next, command, c < known) : after_first(command, c < known);
  }
  change(next ? std::move(*next) : default_state());
  is_found_ = false;
}

bool ScheduledFunction::take_found(std::uint64_t version, const Schedule &schedule) {
  if (version != version_ || transaction_.is_open()) {
    return false;
  }
  replay(schedule);
  is_found_ = true;
  return true;
}

// ---- transactions ----

std::uint64_t ScheduledFunction::begin(const SourceLocation &where) {
  if (transaction_.is_open()) {
    transaction_.require_here(*declared_, where);
    return transaction_.begin_inside();
  }
  const OperationLimit limit(planning_limit);
  leave_found();
  begins_declared_ = !current_;
  return transaction_.begin(current_ ? current_->mapping : Mapping(isolated_), where);
}

void ScheduledFunction::begin_with_default() {
  current_ = current_ ? std::move(current_) : default_state();
  transaction_.begin_again(current_->mapping);
  begins_declared_ = false;
}

Command ScheduledFunction::resolved_in_transaction(const Command &command) const {
  const Mapping &made = *transaction_.made_here();
  if (!needs_legal_order(command)) {
    return command;
  }
  if (const std::optional<Violation> violation =
          find_violation(program_after(made, transaction_.command()))) {
    throw Error(ErrorKind::Schedule,
                to_string(command) +
                    ": what is left out follows from a legal order, and the commands of this "
                    "transaction so far do not make one (" +
                    violation->explanation +
                    "); say it here, or give the command after the transaction",
                command.where);
  }
  return resolve(made, command);
}

void ScheduledFunction::commit(std::uint64_t transaction) {
  const OperationLimit limit(planning_limit);
  std::optional<OpenTransaction::Made> made = transaction_.end(*declared_, transaction);
  if (!made || made->command.commands.empty()) {
    return;
  }
  // The transaction is over: whatever is thrown now, the function is as it was.
  if (begins_declared_) {
    const Schedule recorded{{made->command}};
    change(needs_no_default(made->mapping)
               ? legal_after(declared_state(), made->mapping.recorded_as(recorded), made->command)
               : after(default_state(), made->command));
    return;
  }
  Schedule recorded = current_->mapping.schedule();
  recorded.commands.push_back(made->command);
  change(legal_after(*current_, made->mapping.recorded_as(std::move(recorded)), made->command));
}

void ScheduledFunction::roll_back(std::uint64_t transaction) { transaction_.drop(transaction); }

void ScheduledFunction::require_no_transaction() const {
  transaction_.require_none_here(*declared_);
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

std::shared_ptr<const Mapping>
ScheduledFunction::sharing_declared(const std::vector<SharedArray> &shared) const {
  const std::shared_ptr<const Mapping> declared = declared_loops();
  if (declared == nullptr) {
    return nullptr;
  }
  Mapping mapping = declared->sharing(shared);
  const bool is_legal = !find_violation(build_program(mapping));
  return is_legal ? make_isl_shared<Mapping>(std::move(mapping)) : nullptr;
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
      found.declared = sharing_declared(shared);
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

bool ScheduledFunction::uses_default_schedule() const {
  return options_.default_schedule && (!current_ || current_->mapping.schedule().commands.empty());
}

std::vector<std::string> ScheduledFunction::unscheduled_parts() const {
  std::vector<std::string> parts;
  if (!options_.default_schedule || uses_default_schedule() || isolated_ == declared_ ||
      has_gpu_loops()) {
    return parts;
  }
  const std::vector<Command> &commands = current_->mapping.schedule().commands;
  const auto among = [](const std::vector<ComputationPtr> &all, const std::string &name) {
    return std::any_of(all.begin(), all.end(), [&](const ComputationPtr &computation) {
      return computation->name == name;
    });
  };
  for (const ComputationPtr &part : isolated_->computations) {
    const auto speaks_of = [&](const Command &command) { return mentions(command, part->name); };
    if (!among(declared_->computations, part->name) &&
        among(current_->mapping.function().computations, part->name) &&
        std::none_of(commands.begin(), commands.end(), speaks_of)) {
      parts.push_back(part->name);
    }
  }
  return parts;
}

CompileOptions ScheduledFunction::options_for(std::vector<ArrayLayout> layouts) const {
  CompileOptions options = options_;
  options.default_schedule = uses_default_schedule();
  options.unscheduled_parts = unscheduled_parts();
  options.declared = declared_loops();
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
    return tilewright::prepare(mapping_for(request.sizes), options);
  }
  const SharingVerdict &verdict = sharing(request.shared);
  if (!verdict.mapping) {
    throw Error(ErrorKind::Schedule, declared_->name +
                                         ": arrays of this call share memory, and its schedule "
                                         "does not allow that: " +
                                         verdict.reason);
  }
  options.declared = verdict.declared;
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

} // namespace tilewright
