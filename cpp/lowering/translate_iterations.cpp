// The loop of a function that iterates until its data say so (algorithm/convergence.h): a While, of
// which isl sees a loop up to the most iterations. Legality has seen to it that it is the outermost
// loop, in order, and that nothing else runs in it (analysis/legality_iterations.cpp).
//
//   last = T - 1                          # T: the most that may be made
//   next = 0
//   while next <= last and next < T:
//     t = next
//     ...
//     T_reached[t] = ...
//     last = t if T_reached[t] else last
//     ...
//     next = t + 1
//   T = last + 1
#include "algorithm/convergence.h"
#include "loops/traverse.h"
#include "lowering/ast_translator.h"
#include "lowering/expression_forms.h"

#include <algorithm>

namespace tilewright {

namespace {

/// Whether it decides which iteration is the last.
bool has_iterations(const StmtPtr &root, std::int64_t last) {
  bool found = false;
  visit_statements(root, [&](const LoopStatement &statement) {
    const auto *assigned = as<AssignLocal>(statement);
    found = found || (assigned != nullptr && assigned->id == last);
  });
  return found;
}

} // namespace

bool AstTranslator::ends_by_data(int dimension, const std::vector<const Statement *> &below) const {
  return program_.function->stop && dimension == 1 &&
         std::any_of(below.begin(), below.end(), [&](const Statement *statement) {
           return is_iterated(*program_.function, *statement->computation);
         });
}

StmtPtr AstTranslator::in_iteration(const Statement &statement,
                                    const ExpressionTranslator::Environment &iterators,
                                    StmtPtr instance) const {
  if (!last_ || !is_iterated(*program_.function, *statement.computation)) {
    return instance;
  }
  const ValuePtr &iteration = iterators.at(statement.iterators.front());
  const std::string &test = program_.function->stop->test->name;
  if (statement.computation->name == test) {
    const Program::Place &place = program_.places.at(test);
    const auto leaf = [&](const ExprPtr &node) -> ValuePtr {
      switch (node->kind) {
      case ExprKind::Iterator:
        return iteration;
      case ExprKind::Constant:
        return constant_of(node->value, node->type);
      case ExprKind::Parameter:
        return value_of_parameter(node->name, program_.parameters, program_.fixed);
      default:
        return nullptr;
      }
    };
    std::vector<ValuePtr> subscripts;
    for (const ExprPtr &index : place.index) {
      subscripts.push_back(cast_value(applied(index, leaf), Int64));
    }
    const KernelBuffer &memory = kernel_.buffers.at(place.buffer);
    const ValuePtr holds = load(static_cast<std::int64_t>(place.buffer), memory.name,
                                {memory.type, 1}, std::move(subscripts));
    instance = block({instance, if_then(holds, assign_local(last_->id, last_->name, iteration))});
  }
  const bool is_first = as_integer(iteration) == 0; // which is always made
  return in_iterations_ || is_first ? instance
                                    : if_then(binary_value(Op::Le, iteration, last_), instance);
}

StmtPtr AstTranslator::iterate(const std::string &key, int dimension, const LoopLooks &looks,
                               const ValuePtr &lower, const ValuePtr &upper, const MakeBody &body) {
  if (gpu_) {
    const StopTest &stop = *program_.function->stop;
    throw Error(ErrorKind::Schedule,
                "kernel '" + kernel_.name + "' iterates until " + stop.test->name +
                    " holds, which the host would have to read after each iteration: a GPU, or the "
                    "emulator, does not run such a function. Leave its loops on the CPU, or call a "
                    "function of a fixed number of iterations again and again",
                stop.where);
  }
  const std::int64_t number = state_.numbers.next();
  const ValuePtr iteration = variable(number, looks.name);
  expressions_.set(key, iteration);
  const size_t outside = std::exchange(levels_, static_cast<size_t>((dimension + 1) / 2));
  const bool was_inside = std::exchange(in_iterations_, true);
  const StmtPtr inner = with_memory(dimension, body(false, true));
  in_iterations_ = was_inside;
  levels_ = outside;
  const std::int64_t id = state_.numbers.next();
  const ValuePtr next = local(id, "next", {Int64, 1});
  return block(
      {declare_local(id, "next", lower),
       while_loop(both(binary_value(Op::Le, next, last_), binary_value(Op::Lt, next, upper)),
                  block({let(number, looks.name, next), inner,
                         assign_local(id, "next", add(iteration, integer(1)))}))});
}

StmtPtr AstTranslator::with_iterations(const StmtPtr &body) {
  if (!last_) {
    return body;
  }
  const std::string &name = program_.function->stop->parameter;
  const auto position = std::find(program_.parameters.begin(), program_.parameters.end(), name) -
                        program_.parameters.begin();
  const std::function<StmtPtr(const StmtPtr &)> at = [&](const StmtPtr &node) -> StmtPtr {
    if (!is<Block>(node)) {
      const bool is_around = is<If>(node) || is<Allocate>(node) || is<Timed>(node);
      return is_around && has_iterations(node, last_->id) ? map_children(node, at) : node;
    }
    size_t behind = 0; // all that is made in iterations
    for (size_t c = 0; c < node->children.size(); ++c) {
      behind = has_iterations(node->children[c], last_->id) ? c + 1 : behind;
    }
    if (behind == 0) {
      return node;
    }
    std::vector<StmtPtr> children(node->children.begin(),
                                  node->children.begin() + static_cast<std::ptrdiff_t>(behind));
    children.back() = at(children.back());
    const std::int64_t id = state_.numbers.next();
    children.push_back(let(id, name, add(last_, integer(1))));
    const ValuePtr known = variable(id, name);
    ValueRewriter rewrite([&](const ValuePtr &value) -> ValuePtr {
      const auto *parameter = as<Parameter>(value);
      return parameter != nullptr && parameter->position == position ? known : nullptr;
    });
    const std::function<StmtPtr(const StmtPtr &)> everywhere = [&](const StmtPtr &statement) {
      return map_children(StmtPtr(map_values(statement, std::ref(rewrite))), everywhere);
    };
    for (size_t c = behind; c < node->children.size(); ++c) {
      children.push_back(everywhere(node->children[c]));
    }
    return block(std::move(children));
  };
  const ValuePtr most = value_of_parameter(name, program_.parameters, program_.fixed);
  return block({declare_local(last_->id, last_->name, sub(most, integer(1))), at(body)});
}

} // namespace tilewright
