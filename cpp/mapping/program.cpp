#include "mapping/program.h"

#include "algorithm/block.h"
#include "algorithm/existing.h"
#include "algorithm/expression_depth.h"
#include "algorithm/reductions.h"
#include "mapping/command_handlers.h"
#include "mapping/command_table.h"
#include "mapping/local_memory.h"
#include "mapping/number_limits.h"
#include "mapping/program_builder.h"
#include "mapping/static_order.h"
#include "polyhedral/set_text.h"

#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

namespace tilewright {

namespace {

isl::pw_aff zero_on(const isl::set &domain) {
  return isl::pw_aff(isl::set::universe(domain.space()), isl::val(isl_context(), 0L));
}

/// The instances of a statement become their copies.
void copy_instances(Statement &statement, const TimeSpaceMap &map) {
  const size_t loops = map.copying_loops(statement.iterators.size());
  isl_set *copies = isl_set_insert_dims(isl_set_reset_tuple_id(statement.domain.copy()),
                                        isl_dim_set, 0, static_cast<unsigned>(loops));
  copies = isl_set_set_tuple_id(copies, map.copies->tuple_id().release());
  statement.domain = checked(map.copies->intersect(isl::manage(copies)), "copies of an instance");
  statement.copied = true;
  statement.replicas = loops;
  for (size_t level = loops; level-- > 0;) {
    statement.iterators.insert(statement.iterators.begin(), "@" + map.dimensions[level].name);
  }
}

} // namespace

ProgramBuilder::ProgramBuilder(const MappingState &state, const Program *before)
    : state_(state), before_(before), function_(*state.function) {}

Program ProgramBuilder::build() {
  program_.function = state_.function;
  program_.parameters = function_.parameters;
  program_.context = function_.context;
  find_fixed();
  relevant_.emplace(program_.context);
  for (const IndependencePromise &promise : state_.independent) {
    program_.independent_loops.push_back(promise.loop);
  }
  add_buffers();
  order_ = static_order(state_);
  for (const ComputationPtr &computation : function_.computations) {
    names_.insert(computation->name);
  }
  // Readers first: where a computation runs inside its readers' loops, its instances follow from
  // what they read.
  for (auto computation = function_.computations.rbegin();
       computation != function_.computations.rend(); ++computation) {
    add_statements(*computation);
  }
  put_in_order();
  allocate_private();
  place_states();
  for (Statement &statement : program_.statements) {
    program_.depth = std::max(program_.depth, static_cast<int>(statement.loops.size()));
  }
  for (Statement &statement : program_.statements) {
    finish(statement);
  }
  return std::move(program_);
}

void ProgramBuilder::find_fixed() {
  const isl::set &context = program_.context;
  const isl::val widest(isl_context(), static_cast<long>(largest_number));
  for (isl_size p = 0; p < isl_set_dim(context.get(), isl_dim_param); ++p) {
    const isl::val value = checked(isl::manage(isl_set_plain_get_val_if_fixed(
                                       context.get(), isl_dim_param, static_cast<unsigned>(p))),
                                   "the parameters of a program");
    if (value.is_int().is_true() && value.abs().le(widest).is_true()) {
      const char *name =
          isl_set_get_dim_name(context.get(), isl_dim_param, static_cast<unsigned>(p));
      program_.fixed[name] = isl_val_get_num_si(value.get());
    }
  }
}

void ProgramBuilder::add_statements(const ComputationPtr &computation) {
  const InstanceSpace instances = instance_space(*computation);
  const TimeSpaceMap &map = state_.time_space.at(computation->name);
  const Placement *placement = find_placement(state_, computation->name);
  shared_ =
      placement != nullptr && placement->compute_at ? static_cast<size_t>(placement->shared) : 0;
  const size_t first = program_.statements.size();
  if (is_block_call(*computation)) {
    require_block_places(*computation);
  }
  if (is_block_result(*computation)) {
    add_block_result(computation);
  } else if (instances.reduced > 0) {
    add_reduction(computation, instances, map);
  } else {
    add_values(computation, map);
  }
  for (size_t s = first; s < program_.statements.size(); ++s) {
    add_promises(program_.statements[s]);
    name_tuple(program_.statements[s]);
  }
  if (placement != nullptr && placement->compute_at) {
    replicate(*computation, *placement, first);
  }
}

void ProgramBuilder::add_values(const ComputationPtr &computation, const TimeSpaceMap &map) {
  for (size_t p = 0; p < computation->pieces.size(); ++p) {
    const Piece &piece = computation->pieces[p];
    Statement statement = statement_of(computation, p);
    if (computation->pieces.size() > 1) {
      statement.name = unique_name(computation->name + "_" + std::to_string(p));
    }
    statement.iterators = computation->iterators;
    statement.domain = piece.domain;
    if (map.copies) {
      copy_instances(statement, map);
    }
    const ExistingValue existing = existing_value(piece.value);
    statement.value = existing.value;
    statement.predicate = existing.condition;
    for (const LoopDimension &loop : map.dimensions) {
      add_loop(statement, loop);
    }
    for (int position : order_.at(computation->name)) {
      statement.order.push_back(order_at(position));
    }
    if (!statement.copied && lies_in_place(statement)) {
      continue;
    }
    program_.statements.push_back(std::move(statement));
  }
}

void ProgramBuilder::add_reduction(const ComputationPtr &computation,
                                   const InstanceSpace &instances, const TimeSpaceMap &map) {
  const auto [condition, value] = existing_value(computation->pieces.front().value);
  const ExprPtr reduction = scheduled_reduction(*computation);
  const Expr &terms = *reduction_of(*reduction);
  Statement update = statement_of(computation, 0);
  update.role = StatementRole::Update;
  update.iterators = instances.iterators;
  update.domain = instances.domain;
  update.value = cast(terms.operands.front(), terms.type);
  update.predicate = condition && terms.predicate ? binary(Op::And, condition, terms.predicate)
                     : condition                  ? condition
                                                  : terms.predicate;
  update.combine = reduction_combiner(terms.op);
  update.ordered = terms.ordered;
  for (const LoopDimension &loop : map.dimensions) {
    add_loop(update, loop);
  }
  for (int position : order_.at(computation->name)) {
    update.order.push_back(order_at(position));
  }

  Statement init = beside(update, StatementRole::Initialise, -1, map, instances.reduced);
  init.name = unique_name(computation->name + "_init");
  init.predicate = condition;
  const bool is_fold = reduction->kind == ExprKind::Fold;
  init.value =
      cast(is_fold ? initial_values(*reduction).front() : reduction_identity(terms.op, terms.type),
           computation->type);
  if (is_fold) {
    add_states(*computation, *reduction, init, update);
  }
  program_.statements.push_back(std::move(init));
  if (value == reduction && lies_in_element(*computation, *reduction)) {
    program_.statements.push_back(std::move(update));
    return;
  }
  Statement finish = beside(update, StatementRole::Finish, 1, map, instances.reduced);
  finish.predicate = condition;
  finish.name = unique_name(computation->name + "_finish");
  finish.value = finished_value(computation, value, reduction);
  program_.statements.push_back(std::move(update));
  program_.statements.push_back(std::move(finish));
}

namespace {

/// Which state of a fold lies in the element that is computed from it: the result at hand, if it
/// has the element's type, or the first one that has.
std::optional<size_t> state_in_element(const Computation &computation, const Expr &fold) {
  if (!has_several_states(fold)) {
    return 0;
  }
  const std::vector<ExprPtr> states = fold_parts(*fold.operands.front()).states;
  if (states[fold.position]->type == computation.type) {
    return fold.position;
  }
  const auto found = std::find_if(states.begin(), states.end(), [&](const ExprPtr &state) {
    return state->type == computation.type;
  });
  return found == states.end() ? std::nullopt
                               : std::optional(static_cast<size_t>(found - states.begin()));
}

} // namespace

bool ProgramBuilder::lies_in_element(const Computation &computation, const Expr &reduction) {
  return !has_several_states(reduction) ||
         state_in_element(computation, reduction) == reduction.position;
}

void ProgramBuilder::add_states(const Computation &computation, const Expr &fold, Statement &init,
                                Statement &update) {
  const FoldParts parts = fold_parts(*fold.operands.front());
  const std::vector<ExprPtr> initial = initial_values(fold);
  const std::optional<size_t> own = state_in_element(computation, fold);
  std::vector<size_t> buffers;
  for (size_t k = 0; k < parts.states.size(); ++k) {
    const ExprPtr &state = parts.states[k];
    size_t buffer = update.buffer;
    if (k != own) {
      buffer = program_.buffers.size();
      Buffer beside;
      beside.name = unique_name(state_name(computation, k));
      beside.type = state->type;
      beside.beside = update.buffer;
      program_.buffers.push_back(std::move(beside));
    }
    buffers.push_back(buffer);
    const ScalarType stored = k == own ? computation.type : state->type;
    init.states.push_back({nullptr, cast(initial[k], stored), buffer});
    update.states.push_back({state, cast(parts.next[k], state->type), buffer});
  }
  if (buffers.size() > 1) {
    program_.states[computation.name] = std::move(buffers);
  }
}

void ProgramBuilder::place_states() {
  for (const auto &[name, buffers] : program_.states) {
    const auto allocation = state_.allocations.find(name);
    for (const size_t b : buffers) {
      Buffer &buffer = program_.buffers[b];
      if (!buffer.beside) {
        continue;
      }
      const Buffer &element = program_.buffers[*buffer.beside];
      buffer.extents = element.extents;
      buffer.origin = element.origin;
      buffer.level = element.level;
      buffer.memory = element.memory;
      buffer.command = element.command;
      buffer.where = element.where;
      if (allocation != state_.allocations.end()) {
        require_fits(buffer, allocation->second);
      }
    }
  }
}

ExprPtr ProgramBuilder::finished_value(const ComputationPtr &computation, const ExprPtr &value,
                                       const ExprPtr &reduction) {
  std::vector<ExprPtr> element;
  for (const std::string &own : computation->iterators) {
    element.push_back(iterator(own));
  }
  if (!has_several_states(*reduction)) {
    return with_replaced(value, reduction, access(computation, element, computation->where));
  }
  std::unordered_map<const Expr *, ExprPtr> results;
  for (const ExprPtr &result : results_of_fold(value, *reduction->operands.front())) {
    results[result.get()] =
        access_state(computation, element, result->position, result->type, computation->where);
  }
  return cast(with_replaced(value, std::move(results)), computation->type);
}

std::vector<ExprPtr> values_of(const Statement &statement) {
  if (statement.states.empty()) {
    return {statement.value};
  }
  std::vector<ExprPtr> values;
  for (const FoldState &state : statement.states) {
    values.push_back(state.value);
  }
  return values;
}

Statement ProgramBuilder::beside(const Statement &update, StatementRole role, int step,
                                 const TimeSpaceMap &map, size_t reduced) {
  const Piece &piece = update.computation->pieces.front();
  const auto outer = static_cast<unsigned>(update.computation->rank());
  const auto involves = [](const LoopDimension &loop, unsigned first, size_t count) {
    return checked(isl::manage(isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, first,
                                                        static_cast<unsigned>(count))),
                   "loops of a reduction");
  };
  const auto driven = [&](const LoopDimension &loop) { return involves(loop, outer, reduced); };
  Statement once = statement_of(update.computation, 0);
  once.role = role;
  once.iterators = update.computation->iterators;
  once.domain = piece.domain;
  size_t prefix = 0;
  while (prefix < map.dimensions.size() && !driven(map.dimensions[prefix])) {
    ++prefix;
  }
  once.order.assign(update.order.begin(),
                    update.order.begin() + static_cast<std::ptrdiff_t>(shared_ + prefix) + 1);
  once.order.back() += step;
  for (size_t d = 0; d < map.dimensions.size(); ++d) {
    if (d < prefix || !driven(map.dimensions[d])) {
      add_loop(once, outer_loop(map.dimensions[d], piece.domain, outer));
    }
  }
  once.order.resize(shared_ + once.loops.size() + 1, 0);
  // Where loops mix reduced and other iterators (a skew), or were given as a map, the rest may
  // not tell instances apart.
  const bool mixed =
      std::any_of(map.dimensions.begin(), map.dimensions.end(), [&](const LoopDimension &loop) {
        return driven(loop) && involves(loop, 0, outer);
      });
  if (mixed || map.explicit_time) {
    complete(once, prefix);
  }
  return once;
}

LoopDimension ProgramBuilder::outer_loop(const LoopDimension &loop, const isl::set &domain,
                                         unsigned outer) {
  isl_pw_aff *value = loop.value.copy();
  const auto count =
      static_cast<unsigned>(std::max(isl_size(0), isl_pw_aff_dim(value, isl_dim_in)));
  value = isl_pw_aff_drop_dims(value, isl_dim_in, outer, count - outer);
  value = isl_pw_aff_set_tuple_id(value, isl_dim_in, domain.tuple_id().release());
  // A reduction over nothing has a value too, also where the schedule of its updates says
  // nothing about it, or gives no whole number.
  const isl::pw_aff given = checked(isl::manage(value), "loops of a reduction");
  const isl::pw_aff known = given.intersect_domain(given.as_map().domain());
  const isl::set unknown = checked(domain.subtract(known.domain()), "loops of a reduction");
  const isl::pw_aff everywhere = known.union_add(isl::pw_aff(unknown, isl::val(isl_context(), 0L)));
  return {loop.name, checked(everywhere, "loops of a reduction"), loop.tag, loop.extent};
}

void ProgramBuilder::complete(Statement &once, size_t prefix) const {
  isl::map time = isl::map::from_domain(once.domain);
  for (const isl::pw_aff &loop : once.loops) {
    time = time.flat_range_product(loop.as_map());
  }
  if (checked(time.is_injective(), "loops of a reduction")) {
    return;
  }
  once.loops.resize(prefix);
  once.tags.resize(prefix);
  once.loop_names.resize(prefix);
  once.order.resize(shared_ + prefix + 1);
  for (size_t d = 0; d < once.iterators.size(); ++d) {
    once.loops.push_back(isl::pw_aff::var_on_domain(isl::local_space(once.domain.space()),
                                                    isl::dim::set, static_cast<unsigned>(d)));
    once.tags.emplace_back();
    once.loop_names.push_back(once.iterators[d]);
    once.order.push_back(0);
  }
}

Statement ProgramBuilder::statement_of(const ComputationPtr &computation, size_t piece) const {
  Statement statement;
  statement.name = computation->name;
  statement.computation = computation;
  statement.piece = piece;
  const Program::Place &place = program_.places.at(computation->name);
  statement.buffer = place.buffer;
  statement.index = place.index;
  return statement;
}

void ProgramBuilder::add_loop(Statement &statement, const LoopDimension &loop) {
  statement.loops.push_back(loop.value);
  statement.tags.push_back(loop.tag);
  statement.loop_names.push_back(loop.name);
  if (!loop.prefetches.empty()) {
    statement.prefetches[loop.name] = loop.prefetches;
  }
}

std::string ProgramBuilder::unique_name(std::string name) {
  while (!names_.insert(name).second) {
    name += "_";
  }
  return name;
}

void ProgramBuilder::add_promises(Statement &statement) const {
  const std::string &name = statement.computation->name;
  // All copies of an instance belong to one iteration.
  const auto copies = static_cast<unsigned>(statement.replicas);
  const auto dimensions = static_cast<isl_size>(statement.iterators.size() - copies);
  for (size_t p = 0; p < state_.independent.size(); ++p) {
    const auto value = state_.independent[p].values.find(name);
    if (value != state_.independent[p].values.end() &&
        isl_pw_aff_dim(value->second.get(), isl_dim_in) == dimensions) {
      isl_pw_aff *of_copies = isl_pw_aff_insert_dims(value->second.copy(), isl_dim_in, 0, copies);
      statement.independent.emplace(p, checked(isl::manage(of_copies), "a promise"));
    }
  }
  for (const ValuePromise &promise : state_.assumed) {
    if (promise.computation == name) {
      statement.assumed.push_back(promise);
    }
  }
  statement.streamed = statement.role == StatementRole::Value && state_.streamed.contains(name);
  statement.atomic = statement.role == StatementRole::Update && state_.atomic.contains(name);
  statement.mapped_at = statement.computation->where;
  for_each_command(state_.schedule.commands, [&](const Command &command) {
    if ((command.computation == name || command.computation.empty()) &&
        traits(command).maps_to_gpu) {
      statement.mapped_at = command.where;
    }
  });
}

void ProgramBuilder::put_in_order() {
  std::vector<Statement> ordered;
  for (const ComputationPtr &computation : function_.computations) {
    for (Statement &statement : program_.statements) {
      if (statement.computation == computation) {
        ordered.push_back(statement);
      }
    }
  }
  program_.statements = std::move(ordered);
}

void ProgramBuilder::name_tuple(Statement &statement) const {
  const isl::id name(isl_context(), statement.name);
  const isl::set context = relevant_->of({statement.domain});
  statement.domain =
      checked(statement.domain.intersect_params(context).set_tuple_id(name), "a statement");
  const auto rename = [&](isl::pw_aff &loop) {
    loop = checked(isl::manage(isl_pw_aff_set_tuple_id(loop.release(), isl_dim_in, name.copy())),
                   "a loop");
  };
  std::for_each(statement.loops.begin(), statement.loops.end(), rename);
  for (auto &[promise, value] : statement.independent) {
    rename(value);
  }
}

void ProgramBuilder::require_total(const Statement &statement) const {
  for (size_t level = 0; level < statement.loop_names.size(); ++level) {
    const isl::pw_aff &value = statement.loops[level];
    if (checked(value.isa_aff(), "the time of a statement") &&
        checked(isl::manage(isl_aff_get_denominator_val(value.as_aff().get())),
                "the time of a statement")
            .is_one()
            .is_true()) {
      continue; // whole numbers everywhere
    }
    const isl::set timed = value.as_map().domain();
    Point point;
    if (!checked(statement.domain.is_subset(timed), "the time of a statement") &&
        sample_point(checked(statement.domain.subtract(timed), "the time of a statement"), point)) {
      throw Error(ErrorKind::Schedule,
                  "loop '" + statement.loop_names[level] + "' of " + statement.computation->name +
                      " gives no time to " + instance_text(statement.name, point),
                  statement.mapped_at);
    }
  }
}

void ProgramBuilder::finish(Statement &statement) const {
  require_total(statement);
  statement.loops.resize(static_cast<size_t>(program_.depth), zero_on(statement.domain));
  statement.tags.resize(static_cast<size_t>(program_.depth));
  statement.order.resize(static_cast<size_t>(program_.depth) + 1, 0);
}

isl::map time_map(const Statement &statement) {
  const size_t depth = statement.loops.size();
  isl_pw_aff_list *values =
      isl_pw_aff_list_alloc(isl_context().get(), static_cast<int>(2 * depth + 1));
  for (size_t level = 0; level <= depth; ++level) {
    const isl::pw_aff constant(isl::set::universe(statement.domain.space()),
                               isl::val(isl_context(), static_cast<long>(statement.order[level])));
    values = isl_pw_aff_list_add(values, constant.copy());
    if (level < depth) {
      values = isl_pw_aff_list_add(values, statement.loops[level].copy());
    }
  }
  isl_space *space = isl_space_from_domain(statement.domain.space().release());
  space = isl_space_add_dims(space, isl_dim_out, static_cast<unsigned>(2 * depth + 1));
  const isl::multi_pw_aff time = isl::manage(isl_multi_pw_aff_from_pw_aff_list(space, values));
  return checked(time.as_map().intersect_domain(statement.domain), "the time of a statement");
}

Program build_program(const MappingState &state, const Program *before) {
  require_stack(*state.function);
  const OperationLimit limit(mapping_operation_limit);
  return ProgramBuilder(state, before).build();
}

void require_places(const Mapping &mapping) {
  require_stack(mapping.function());
  const OperationLimit limit(mapping_operation_limit);
  ProgramBuilder(mapping.state()).require_places();
}

Program build_program(const Mapping &mapping, const Program *before) {
  return build_program(mapping.state(), before);
}

std::vector<ExprPtr> index_of_read(const Expr &access, const Program::Place &place) {
  const std::vector<std::string> &names = access.producer->iterators;
  const auto subscript = [&](const std::string &name) -> ExprPtr {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? nullptr
                                : access.operands.at(static_cast<size_t>(found - names.begin()));
  };
  std::vector<ExprPtr> index;
  for (const ExprPtr &given : place.index) {
    index.push_back(substitute(given, subscript));
  }
  return index;
}

} // namespace tilewright
