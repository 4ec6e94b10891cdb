// What runs in the innermost loops: one instance of a statement.
#include "algorithm/affine.h"
#include "analysis/mma_tiles.h"
#include "loops/traverse.h"
#include "lowering/ast_translator.h"
#include "lowering/expression_forms.h"
#include "mapping/accesses.h"
#include "mapping/footprint.h"

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/id.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_translate_statements = "translating loops";

/// Does `value` read the element that the statement writes, whichever producer it is of, in all of
/// these instances?
bool is_element_written(const ExprPtr &value, const Statement &statement, const Program &program,
                        const isl::set &instances) {
  const IterationSpace space{statement.name, statement.iterators};
  if (value->kind == ExprKind::Select) {
    // Of element 0, who wrote it is known.
    const auto condition = to_set(value->operands[0], space);
    const isl::set then = condition ? instances.intersect(*condition) : instances;
    const isl::set otherwise = condition ? instances.subtract(*condition) : instances;
    return is_element_written(value->operands[1], statement, program,
                              checked(then, doing_translate_statements)) &&
           is_element_written(value->operands[2], statement, program,
                              checked(otherwise, doing_translate_statements));
  }
  if (value->kind != ExprKind::Access || value->position > 0 ||
      value->type != statement.computation->type) {
    return false; // states of a fold lie elsewhere
  }
  const Program::Place &place = program.places.at(value->producer->name);
  if (place.buffer != statement.buffer) {
    return false;
  }
  const std::vector<ExprPtr> index = index_of_read(*value, place);
  for (size_t d = 0; d < index.size(); ++d) {
    const auto read = to_affine(index[d], space);
    const auto written = to_affine(statement.index[d], space);
    if (!read || !written) {
      return false;
    }
    if (!isl::manage(isl_pw_aff_plain_is_equal(read->get(), written->get())).is_true() &&
        !checked(instances.is_subset(read->eq_set(*written)), doing_translate_statements)) {
      return false;
    }
  }
  return true;
}

/// What a statement stores, and where it stores anything.
struct Stored {
  std::vector<ExprPtr> conditions;
  ExprPtr value;
};

/// An element that stays as it is where a condition does not hold is stored where it does.
Stored stored_part(const Statement &statement, const Program &program) {
  Stored stored{{}, statement.value};
  if (statement.role != StatementRole::Value || stored.value->kind != ExprKind::Select) {
    return stored;
  }
  const isl::set instances = statement.domain.intersect_params(program.context);
  while (stored.value->kind == ExprKind::Select &&
         is_element_written(stored.value->operands[2], statement, program, instances)) {
    stored.conditions.push_back(stored.value->operands[0]);
    stored.value = stored.value->operands[1];
  }
  return stored;
}

/// The value of iterator `k` in the block that a loop has come to, of its `value` in the first one.
ValuePtr with_step(const BlockInstances &blocks, size_t k, const ValuePtr &block,
                   const ValuePtr &value, const Program &program) {
  if (blocks.iterators.empty()) {
    return value;
  }
  const ValuePtr step =
      cast_value(translate_parameters(from_affine(blocks.steps[k], {}), program), Int64);
  return add(value, mul(sub(block, integer(blocks.first)), step));
}

/// Loops whose value is a choice between cases, in subscripts of memory inside of them: what they
/// have come to is at hand, and need not be found anew from the instance.
template <class ValueOfLoop>
void set_loops_by_case(const Statement &statement, const ValueOfLoop &value_of_loop,
                       ExpressionTranslator::Environment &iterators) {
  for (size_t level = 0; level < statement.loop_names.size(); ++level) {
    if (is_by_case(statement.loops[level])) {
      iterators[outer_loop_name(level)] = value_of_loop(level);
    }
  }
}

} // namespace

StmtPtr AstTranslator::translate_scanned(size_t position) {
  const Statement &statement = program_.statements[position];
  std::vector<ValuePtr> times(static_cast<size_t>(2 * program_.depth + 1), integer(0));
  for (size_t level = 0; level < statement.loop_names.size(); ++level) {
    times[2 * level + 1] = expressions_.loop(static_cast<int>(level));
  }
  ExpressionTranslator::Environment iterators;
  for (size_t i = 0; i < statement.iterators.size(); ++i) {
    iterators[statement.iterators[i]] =
        with_step(ast_.blocks[position], i, times[2 * ast_.blocks[position].loop + 1],
                  expressions_.translate(ast_.iterators[position][i], times), program_);
  }
  set_loops_by_case(statement, [&](size_t level) { return times[2 * level + 1]; }, iterators);
  return in_own_loops(
      statement, [&](size_t level) { return times[2 * level + 1]; },
      [&] { return translate_instance(statement, iterators); });
}

StmtPtr AstTranslator::translate_user(const isl::ast_node &node) {
  const isl::ast_expr call =
      checked(isl::manage(isl_ast_node_user_get_expr(node.get())), doing_translate_statements);
  const isl::ast_expr name =
      checked(isl::manage(isl_ast_expr_op_get_arg(call.get(), 0)), doing_translate_statements);
  const isl::id id =
      checked(isl::manage(isl_ast_expr_get_id(name.get())), doing_translate_statements);
  const auto found = statements_.find(isl_id_get_name(id.get()));
  if (found == statements_.end()) {
    return block({});
  }
  const size_t position = found->second;
  const Statement &statement = program_.statements[position];
  std::vector<ValuePtr> arguments;
  const int count = isl_ast_expr_op_get_n_arg(call.get());
  for (int i = 1; i < count; ++i) {
    const isl::ast_expr argument =
        checked(isl::manage(isl_ast_expr_op_get_arg(call.get(), i)), doing_translate_statements);
    arguments.push_back(expressions_.translate(argument));
  }
  const std::vector<isl::aff> &inverse = ast_.iterators[position];
  const BlockInstances &blocks = ast_.blocks[position];
  ExpressionTranslator::Environment iterators;
  for (size_t i = 0; i < statement.iterators.size(); ++i) {
    iterators[statement.iterators[i]] =
        inverse.empty() ? arguments.at(i)
                        : with_step(blocks, i, argument_of(blocks.loop, arguments),
                                    recover(statement, inverse[i], arguments), program_);
  }
  if (!inverse.empty()) {
    set_loops_by_case(
        statement, [&](size_t level) { return argument_of(level, arguments); }, iterators);
  }
  return in_own_loops(
      statement,
      [&](size_t level) {
        return inverse.empty() ? loop_of_instance(statement, level, iterators)
                               : argument_of(level, arguments);
      },
      [&] { return translate_instance(statement, iterators); });
}

ValuePtr AstTranslator::loop_of_instance(const Statement &statement, size_t level,
                                         const ExpressionTranslator::Environment &iterators) {
  ExpressionTranslator expressions(state_, statement, iterators);
  const ValuePtr value =
      expressions.translate(from_affine(statement.loops[level], statement.iterators));
  if (!expressions.take_statements().empty()) {
    throw Error(ErrorKind::Internal, "the value of a loop takes statements");
  }
  return cast_value(value, Int64);
}

ValuePtr AstTranslator::argument_of(size_t level, const std::vector<ValuePtr> &arguments) const {
  const auto found =
      std::find(dimensions_.begin(), dimensions_.end(), 2 * static_cast<int>(level) + 1);
  const auto position = static_cast<size_t>(found - dimensions_.begin());
  return found == dimensions_.end() ? integer(0) : arguments.at(position);
}

StmtPtr AstTranslator::in_own_loops(const Statement &statement,
                                    const std::function<ValuePtr(size_t)> &value_of_loop,
                                    const std::function<StmtPtr()> &make) {
  StmtPtr result = make();
  if (!gpu_ || !in_kernel()) {
    return result;
  }
  for (size_t level = statement.loop_names.size(); level-- > 0;) {
    const LoopTag &tag = statement.tags[level];
    if (!is_gpu(tag.tag) || open_levels_.contains(level)) {
      continue;
    }
    const ValuePtr value = value_of_loop(level);
    auto loop = for_loop(state_.numbers.next(), statement.loop_names[level], value,
                         add(value, integer(1)), kind_of(tag.tag), 0, result);
    loop->axis = tag.axis;
    if (tag.tag == Tag::GpuMma && tag.axis >= 2) {
      loop->factor = static_cast<std::int64_t>(mma_shape(statement));
    }
    result = loop;
  }
  return result;
}

LoopKind AstTranslator::kind_of(Tag tag) {
  return tag == Tag::GpuBlock    ? LoopKind::GpuBlock
         : tag == Tag::GpuThread ? LoopKind::GpuThread
         : tag == Tag::GpuMma    ? LoopKind::GpuMma
                                 : LoopKind::GpuSpread;
}

ValuePtr AstTranslator::recover(const Statement &statement, const isl::aff &inverse,
                                const std::vector<ValuePtr> &arguments) const {
  std::vector<ValuePtr> all(static_cast<size_t>(2 * program_.depth + 1), integer(0));
  for (size_t level = 0; level < statement.order.size(); ++level) {
    all[2 * level] = integer(statement.order[level]);
  }
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    all[static_cast<size_t>(dimensions_[i])] = arguments.at(i);
  }
  return expressions_.translate(inverse, all);
}

void AstTranslator::translate_states(const Statement &statement, ExpressionTranslator &translator,
                                     const std::vector<ValuePtr> &index) {
  const auto element = [&](const FoldState &state) {
    const KernelBuffer &buffer = kernel_.buffers.at(state.buffer);
    return load(static_cast<std::int64_t>(state.buffer), buffer.name, {buffer.type, 1}, index);
  };
  const bool is_update = statement.role == StatementRole::Update;
  for (const FoldState &state : statement.states) {
    if (is_update) {
      translator.set_state(state.state, element(state));
    }
  }
  std::vector<ValuePtr> values;
  for (const FoldState &state : statement.states) {
    const ScalarType type = kernel_.buffers.at(state.buffer).type;
    ValuePtr value = cast_value(translator.translate(state.value), type);
    // All change at once: what reads a state that is stored before is computed first.
    bool reads_stored = false;
    visit_value(value, [&](const Value &part) {
      for (size_t k = 0; k < values.size(); ++k) {
        reads_stored =
            reads_stored || is_load_of(part, static_cast<std::int64_t>(statement.states[k].buffer));
      }
    });
    if (reads_stored) {
      const std::int64_t id = state_.numbers.next();
      translator.emit(declare_local(id, "next", value));
      value = local(id, "next", {type, 1});
    }
    values.push_back(std::move(value));
  }
  for (size_t k = 0; k < values.size(); ++k) {
    const FoldState &state = statement.states[k];
    if (translator.is_traced()) {
      translator.check_number(values[k], is_update ? element(state) : nullptr);
    }
    const auto number = static_cast<std::int64_t>(state.buffer);
    const auto written =
        store(number, kernel_.buffers.at(state.buffer).name, index, values[k], Op::None);
    written->statement = static_cast<std::int64_t>(position_of(statement));
    translator.emit(written);
  }
}

StmtPtr AstTranslator::translate_instance(const Statement &statement,
                                          const ExpressionTranslator::Environment &iterators) {
  ExpressionTranslator translator(state_, statement, iterators);
  const std::vector<ValuePtr> index = translator.translate_place(statement.index, iterators);
  const KernelBuffer &buffer = kernel_.buffers.at(statement.buffer);
  const auto number = static_cast<std::int64_t>(statement.buffer);
  const bool atomic =
      statement.atomic && !state_.instrumentation.is_serial() && terms_may_meet(statement);
  const std::array<bool, 3> combines =
      gpu_ && in_kernel() ? gpu_->combined_axes(position_of(statement)) : std::array<bool, 3>{};
  const bool combined = combines[0] || combines[1] || combines[2];
  const Stored stored = stored_part(statement, program_);
  ExprPtr holds = statement.predicate;
  for (const ExprPtr &condition : stored.conditions) {
    holds = holds ? binary(Op::And, holds, condition) : condition;
  }
  translator.guarded(holds, [&] {
    translator.check_write(index);
    translator.begin_value();
    if (!statement.states.empty()) {
      translate_states(statement, translator, index);
      return;
    }
    ValuePtr before;
    if (statement.role == StatementRole::Update && !atomic && !combined) {
      before = load(number, buffer.name, {buffer.type, 1}, index);
    }
    ValuePtr value = cast_value(translator.translate(stored.value), buffer.type);
    if (atomic || combined) {
      auto update = atomic_update(statement.combine, number, buffer.name, index, value);
      update->combines = combines;
      update->is_atomic = atomic;
      update->statement = static_cast<std::int64_t>(position_of(statement));
      translator.emit(update);
      return;
    }
    if (before) {
      value = binary_value(statement.combine, before, value);
    }
    if (translator.is_traced()) {
      translator.check_number(value, before);
    }
    const bool reassociates = statement.role == StatementRole::Update && !statement.ordered;
    const auto written =
        store(number, buffer.name, index, value, reassociates ? statement.combine : Op::None);
    written->statement = static_cast<std::int64_t>(position_of(statement));
    translator.emit(written);
  });
  std::vector<StmtPtr> statements = translator.take_prologue();
  for (StmtPtr &made : translator.take_statements()) {
    statements.push_back(std::move(made));
  }
  return in_iteration(statement, iterators, block(std::move(statements)));
}

} // namespace tilewright
