#include "algorithm/evaluator_program.h"

#include "algorithm/block.h"
#include "algorithm/computed_parts.h"
#include "algorithm/existing.h"
#include "algorithm/expression_depth.h"
#include "algorithm/predicates.h"
#include "polyhedral/interruption.h"

#include <unordered_map>
#include <utility>

namespace tilewright {

namespace {

/// Branches within branches may need a value again and again; programs that grow like this end
/// here.
constexpr size_t max_instructions = 500'000;

class ProgramCompiler {
public:
  ProgramCompiler(const std::vector<std::string> &iterators,
                  const std::map<std::string, std::int64_t> &parameters,
                  const std::function<std::int32_t(const ComputationPtr &)> &target_of)
      : parameters_(parameters), target_of_(target_of) {
    for (const std::string &name : iterators) {
      iterators_[name] = fresh();
    }
  }

  InstanceProgram finish(const ExprPtr &value) {
    Instruction last;
    last.a = emit(value);
    program_.code.push_back(last);
    program_.registers = next_register_;
    return std::move(program_);
  }

private:
  std::int32_t fresh() { return next_register_++; }

  std::int32_t constant(const ScalarValue &value) {
    program_.constants.push_back(value);
    return ~static_cast<std::int32_t>(program_.constants.size() - 1);
  }
  std::int32_t integer_constant(std::int64_t number) {
    ScalarValue value;
    value.i = number;
    return constant(value);
  }

  size_t add(InstructionCode code, std::int32_t out, std::int32_t a, std::int32_t b = 0) {
    Instruction instruction;
    instruction.code = code;
    instruction.out = out;
    instruction.a = a;
    instruction.b = b;
    program_.code.push_back(instruction);
    if (program_.code.size() > max_instructions) {
      throw Error(ErrorKind::Limit,
                  "an expression is too large to be evaluated: conditions inside conditions need "
                  "the same values in many branches; compute parts in computations of their own");
    }
    return program_.code.size() - 1;
  }
  std::int32_t add_unary(UnaryFunction function, std::int32_t a) {
    const std::int32_t out = fresh();
    program_.code[add(InstructionCode::Unary, out, a)].unary = function;
    return out;
  }
  std::int32_t add_binary(BinaryFunction function, std::int32_t out, std::int32_t a,
                          std::int32_t b) {
    program_.code[add(InstructionCode::Binary, out, a, b)].binary = function;
    return out;
  }
  void land(size_t jump) {
    program_.code[jump].target = static_cast<std::int32_t>(program_.code.size());
  }

  /// Values computed inside are not known outside: the code may be skipped or repeated.
  template <class Body>
  void scoped(Body body) {
    const size_t mark = order_.size();
    body();
    while (order_.size() > mark) {
      known_.erase(order_.back());
      order_.pop_back();
    }
  }

  /// Emits a loop body in which `name` means `counter`. Where the name meant another iterator
  /// before, what is known of shared subtrees may speak of that one and is set aside.
  template <class Body>
  void bind(const std::string &name, std::int32_t counter, Body body) {
    const auto [entry, added] = iterators_.emplace(name, counter);
    if (added) {
      scoped(body);
      iterators_.erase(name);
      return;
    }
    const std::int32_t outer = std::exchange(entry->second, counter);
    auto outer_known = std::exchange(known_, {});
    auto outer_order = std::exchange(order_, {});
    body();
    known_ = std::move(outer_known);
    order_ = std::move(outer_order);
    iterators_[name] = outer;
  }

  std::int32_t emit(const ExprPtr &expr) {
    if (const auto known = known_.find(expr.get()); known != known_.end()) {
      return known->second;
    }
    const std::int32_t result = emit_node(*expr);
    count_visit();
    known_.emplace(expr.get(), result);
    order_.push_back(expr.get());
    return result;
  }

  std::int32_t emit_as(const ExprPtr &expr, ScalarType type) {
    const std::int32_t given = emit(expr);
    return expr->type == type ? given : add_unary(cast_function(expr->type, type), given);
  }

  std::int32_t emit_node(const Expr &expr) {
    switch (expr.kind) {
    case ExprKind::Constant:
      if (is_nothing(expr)) {
        add(InstructionCode::Nothing, 0, 0);
      }
      return constant(value_of(expr.value, expr.type));
    case ExprKind::Iterator: {
      const auto found = iterators_.find(expr.name);
      if (found == iterators_.end()) {
        throw Error(ErrorKind::Declaration,
                    "iterator '" + expr.name + "' is used where nothing binds it");
      }
      return found->second;
    }
    case ExprKind::Parameter: {
      const auto found = parameters_.find(expr.name);
      if (found == parameters_.end()) {
        throw Error(ErrorKind::Argument, "parameter '" + expr.name + "' has no value in this call");
      }
      return integer_constant(found->second);
    }
    case ExprKind::Access:
      return emit_access(expr);
    case ExprKind::Cast:
      return emit_as(expr.operands[0], expr.type);
    case ExprKind::Unary:
      return add_unary(unary_function(expr.op, expr.operands[0]->type), emit(expr.operands[0]));
    case ExprKind::Binary:
      return emit_binary(expr);
    case ExprKind::Call:
      if (expr.operands.size() == 2) {
        return emit_binary(expr);
      }
      return add_unary(unary_function(expr.op, expr.operands[0]->type), emit(expr.operands[0]));
    case ExprKind::Select:
      return emit_select(expr);
    case ExprKind::Reduce:
      return emit_reduce(expr);
    case ExprKind::While:
      return emit_while(expr);
    case ExprKind::WhileResult:
      return emit(expr.operands[0]) + static_cast<std::int32_t>(expr.position);
    case ExprKind::State:
      return states_.at(&expr);
    case ExprKind::Extern:
      return emit_extern(expr);
    case ExprKind::Checked:
      return emit_check(expr);
    case ExprKind::Fold:
      return emit_fold(expr) + static_cast<std::int32_t>(expr.position);
    }
    throw Error(ErrorKind::Internal, "an expression of unknown kind");
  }

  std::int32_t emit_binary(const Expr &expr) {
    const std::int32_t a = emit(expr.operands[0]);
    const std::int32_t b = emit(expr.operands[1]);
    return add_binary(binary_function(expr.op, expr.operands[0]->type), fresh(), a, b);
  }

  std::int32_t emit_access(const Expr &expr) {
    if (expr.position > 0) {
      throw Error(ErrorKind::Internal, "a state of a fold is read, which no declaration can");
    }
    InstanceRead site;
    site.access = &expr;
    for (const ExprPtr &subscript : expr.operands) {
      site.subscripts.push_back(emit_as(subscript, Int64));
    }
    site.target = target_of_(expr.producer);
    const std::int32_t out = fresh();
    program_.code[add(InstructionCode::Load, out, 0)].target =
        static_cast<std::int32_t>(program_.reads.size());
    program_.reads.push_back(std::move(site));
    return out;
  }

  std::int32_t emit_extern(const Expr &expr) {
    ExternCall call{expr.external.get(), {}};
    for (const ExprPtr &argument : expr.operands) {
      if (!is_part(*argument)) {
        call.arguments.push_back(emit(argument));
        continue;
      }
      emit_loop(*argument, 0, 0);
      for (const ReduceRange &range : argument->ranges) {
        call.arguments.push_back(emit_as(range.lower, Int64));
        call.arguments.push_back(emit_as(range.upper, Int64));
      }
    }
    return emit_call(std::move(call));
  }

  std::int32_t emit_check(const Expr &expr) {
    const std::int32_t subscript = emit(expr.operands[0]);
    const std::int32_t extent = emit(expr.operands[1]);
    program_.code[add(InstructionCode::Check, 0, subscript, extent)].target =
        static_cast<std::int32_t>(program_.checks.size());
    program_.checks.push_back(&expr);
    return subscript;
  }

  std::int32_t emit_call(ExternCall call) {
    const std::int32_t out = fresh();
    program_.code[add(InstructionCode::Extern, out, 0)].target =
        static_cast<std::int32_t>(program_.calls.size());
    program_.calls.push_back(std::move(call));
    return out;
  }

  std::int32_t emit_select(const Expr &expr) {
    const std::int32_t condition = emit_as(expr.operands[0], Bool);
    constexpr std::uint64_t large = 64;
    if (tree_size_of(expr.operands[1]) + tree_size_of(expr.operands[2]) > large) {
      for (const ExprPtr &part : computed_parts_.of_both(expr.operands[1], expr.operands[2])) {
        emit(part); // once, instead of in each branch
      }
    }
    const std::int32_t out = fresh();
    const size_t to_else = add(InstructionCode::JumpUnless, 0, condition);
    scoped([&] { add(InstructionCode::Move, out, emit_as(expr.operands[1], expr.type)); });
    const size_t to_end = add(InstructionCode::Jump, 0, 0);
    land(to_else);
    scoped([&] { add(InstructionCode::Move, out, emit_as(expr.operands[2], expr.type)); });
    land(to_end);
    return out;
  }

  /// The first of consecutive registers that hold the final states.
  std::int32_t emit_while(const Expr &expr) {
    const WhileParts parts = while_parts(expr);
    std::vector<std::int32_t> values;
    for (const ExprPtr &value : parts.initial) {
      values.push_back(emit(value));
    }
    const std::int32_t limit = parts.limit ? emit(parts.limit) : 0;
    const std::int32_t first = next_register_;
    for (size_t k = 0; k < values.size(); ++k) {
      const std::int32_t out = fresh();
      states_[expr.states[k].get()] = out;
      add(InstructionCode::Move, out, values[k]);
    }
    const std::int32_t count = fresh();
    add(InstructionCode::Move, count, integer_constant(0));
    const auto start = static_cast<std::int32_t>(program_.code.size());
    std::vector<size_t> exits;
    if (parts.limit) {
      exits.push_back(add(InstructionCode::LoopTest, 0, count, limit));
    }
    scoped([&] {
      exits.push_back(add(InstructionCode::JumpUnless, 0, emit(parts.condition)));
      for (size_t k = 0; k < values.size(); ++k) {
        values[k] = fresh();
        add(InstructionCode::Move, values[k], emit(parts.next[k]));
      }
    });
    for (size_t k = 0; k < values.size(); ++k) {
      add(InstructionCode::Move, first + static_cast<std::int32_t>(k), values[k]);
    }
    add(parts.limit ? InstructionCode::Next : InstructionCode::CountIteration, count, count);
    program_.code[add(InstructionCode::Jump, 0, 0)].target = start;
    for (const size_t jump : exits) {
      land(jump);
    }
    return first;
  }

  /// The first of consecutive registers that hold the final states.
  std::int32_t emit_fold(const Expr &expr) {
    const Expr &reduction = *expr.operands.front();
    if (const auto known = known_.find(&reduction); known != known_.end()) {
      return known->second; // for another state
    }
    std::vector<std::int32_t> values;
    for (const ExprPtr &value : initial_values(expr)) {
      values.push_back(emit(value));
    }
    const std::int32_t first = next_register_;
    for (size_t k = 0; k < values.size(); ++k) {
      const std::int32_t out = fresh();
      states_[reduction.states[k].get()] = out;
      add(InstructionCode::Move, out, values[k]);
    }
    emit_loop(reduction, 0, first);
    known_.emplace(&reduction, first);
    order_.push_back(&reduction);
    return first;
  }

  std::int32_t emit_reduce(const Expr &expr) {
    const bool position = expr.op == Op::ReduceArgMin || expr.op == Op::ReduceArgMax;
    const std::int32_t out = fresh();
    if (position) { // out: the position, out + 1: the extremum so far, out + 2: whether there is
                    // one
      fresh();
      add(InstructionCode::Move, fresh(), integer_constant(0));
    }
    add(InstructionCode::Move, out,
        constant(value_of(reduction_identity(expr.op, expr.type)->value, expr.type)));
    emit_loop(expr, 0, out);
    return out;
  }

  void emit_loop(const Expr &expr, size_t level, std::int32_t out) {
    if (level == expr.ranges.size()) {
      std::vector<size_t> skips;
      std::vector<ExprPtr> conditions = conjuncts_of(expr.predicate);
      if (expr.condition) {
        conditions.insert(conditions.begin(), expr.condition);
      }
      for (const ExprPtr &condition : conditions) {
        skips.push_back(add(InstructionCode::JumpUnless, 0, emit_as(condition, Bool)));
      }
      emit_combination(expr, out);
      for (const size_t skip : skips) {
        land(skip);
      }
      return;
    }
    const ReduceRange &range = expr.ranges[level];
    const std::int32_t lower = emit_as(range.lower, Int64);
    const std::int32_t upper = emit_as(range.upper, Int64);
    // Not emit(), which knows values by the address of an expression that lives on.
    const std::int32_t step =
        range.step == 1 ? -1 : emit_node(*tilewright::constant(range.step, Int64));
    const std::int32_t counter = fresh();
    add(InstructionCode::Move, counter, lower);
    const size_t test = add(InstructionCode::LoopTest, 0, counter, upper);
    bind(range.iterator, counter, [&] { emit_loop(expr, level + 1, out); });
    if (range.step == 1) {
      add(InstructionCode::Next, counter, counter);
    } else {
      add_binary(binary_function(Op::Add, Int64), counter, counter, step);
    }
    program_.code[add(InstructionCode::Jump, 0, 0)].target = static_cast<std::int32_t>(test);
    land(test);
  }

  void emit_combination(const Expr &expr, std::int32_t out) {
    if (is_part(expr)) {
      scoped([&] { emit_call({nullptr, {emit(expr.operands[0])}}); });
      return;
    }
    if (expr.op == Op::ReduceFold) {
      std::vector<std::int32_t> next;
      scoped([&] {
        for (const ExprPtr &value : fold_parts(expr).next) {
          next.push_back(fresh());
          const std::int32_t made = emit(value);
          add(InstructionCode::Move, next.back(), made);
        }
      });
      for (size_t k = 0; k < next.size(); ++k) { // all change at once
        add(InstructionCode::Move, out + static_cast<std::int32_t>(k), next[k]);
      }
      return;
    }
    const ExprPtr &body = expr.operands[0];
    if (expr.op == Op::ReduceArgMin || expr.op == Op::ReduceArgMax) {
      const std::int32_t value = emit(body);
      Instruction &update = program_.code[add(InstructionCode::Extremum, out, value,
                                              iterators_.at(expr.ranges[0].iterator))];
      update.binary = binary_function(expr.op == Op::ReduceArgMin ? Op::Lt : Op::Gt, body->type);
      update.unary = unary_function(Op::Isnan, body->type);
      return;
    }
    add_binary(binary_function(reduction_combiner(expr.op), expr.type), out, out,
               emit_as(body, expr.type));
  }

  InstanceProgram program_;
  std::int32_t next_register_ = 0;
  const std::map<std::string, std::int64_t> &parameters_;
  const std::function<std::int32_t(const ComputationPtr &)> &target_of_;
  std::map<std::string, std::int32_t> iterators_;
  std::unordered_map<const Expr *, std::int32_t> states_; ///< of while loops
  std::unordered_map<const Expr *, std::int32_t>
      known_; ///< values that are there whenever control comes here
  std::vector<const Expr *> order_;
  ComputedParts computed_parts_;
};

} // namespace

InstanceProgram
compile_program(const ExprPtr &value, const std::vector<std::string> &iterators,
                const std::map<std::string, std::int64_t> &parameters,
                const std::function<std::int32_t(const ComputationPtr &)> &target_of) {
  return ProgramCompiler(iterators, parameters, target_of).finish(value);
}

std::string outside_text(const Expr &check, std::int64_t subscript, std::int64_t extent) {
  const bool is_unsigned = is_wide_unsigned(*check.operands[0]);
  const std::string value = is_unsigned ? std::to_string(static_cast<std::uint64_t>(subscript))
                                        : std::to_string(subscript);
  const bool is_negative = subscript < 0 && !is_unsigned;
  return "subscript " + value + " of axis " + std::to_string(check.position) + " of " +
         (check.name.empty() ? "an array" : "'" + check.name + "'") + " of size " +
         std::to_string(extent) +
         (is_negative ? " (negative subscripts do not count from the end)" : "");
}

void update_extremum(const Instruction &instruction, const ScalarValue &value,
                     const ScalarValue &position, ScalarValue *slot) {
  ScalarValue test;
  bool better = slot[2].u == 0;
  if (!better) {
    instruction.unary(slot[1], test);
    if (test.u == 0) {
      instruction.unary(value, test);
      better = test.u != 0;
      if (!better) {
        instruction.binary(value, slot[1], test);
        better = test.u != 0;
      }
    }
  }
  if (better) {
    slot[0] = position;
    slot[1] = value;
    slot[2].u = 1;
  }
}

} // namespace tilewright
