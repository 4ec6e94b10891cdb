// Functions: what the outputs reach, in an order in which it can be computed, checked as a whole.
#include "algorithm/affine.h"
#include "algorithm/block.h"
#include "algorithm/convergence.h"
#include "algorithm/declaration_checks.h"
#include "algorithm/existing.h"
#include "algorithm/expression_depth.h"
#include "algorithm/extern_function.h"
#include "algorithm/forever.h"
#include "algorithm/function.h"
#include "algorithm/function_extents.h"
#include "algorithm/self_dependence.h"
#include "polyhedral/relevant_context.h"
#include "polyhedral/set_text.h"

#include <isl/set.h>

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

/// Every expression of a declaration, in the order in which it is read.
std::vector<ExprPtr> expressions_of(const Computation &computation) {
  std::vector<ExprPtr> result = computation.extents;
  result.insert(result.end(), computation.origin.begin(), computation.origin.end());
  for (const Piece &piece : computation.pieces) {
    result.push_back(piece.value);
  }
  return result;
}

std::vector<ComputationPtr> producers_of(const Computation &computation) {
  std::vector<ComputationPtr> result;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::Access &&
          std::find(result.begin(), result.end(), node->producer) == result.end()) {
        result.push_back(node->producer);
      }
    });
  }
  return result;
}

/// The results of blocks that are not among the computations, of which others are.
std::vector<ComputationPtr> other_results(const std::vector<ComputationPtr> &computations) {
  std::vector<ComputationPtr> missing;
  for (const ComputationPtr &call : computations) {
    if (!is_block_call(*call)) {
      continue;
    }
    const std::vector<BlockResult> &results = block_node(*call)->external->block->results;
    for (size_t r = 0; r < results.size(); ++r) {
      const bool is_there = std::any_of(
          computations.begin(), computations.end(), [&](const ComputationPtr &computation) {
            return is_block_result(*computation) && computation->name == results[r].name &&
                   call_of_result(*block_node(*computation)) == call;
          });
      if (!is_there) {
        missing.push_back(block_result(call, r));
      }
    }
  }
  return missing;
}

/// What lasts forever has no array.
void require_end(const Computation &computation, const SourceLocation &where) {
  if (lasts_forever(computation.domain)) {
    throw Error(ErrorKind::Declaration,
                computation.name +
                    " is a stream, which has no end: make the function with "
                    "tw.stream_function, or give " +
                    computation.name + " a number of elements instead of \"" + forever_name + "\"",
                where.known() ? where : computation.where);
  }
}

/// Computations in depth-first postorder: producers before consumers except inside a recurrence.
/// Iterative, so that a long chain of computations does not exhaust the stack.
std::vector<ComputationPtr> reachable(const std::vector<ComputationPtr> &outputs,
                                      const SourceLocation &where) {
  struct Visit {
    ComputationPtr computation;
    std::vector<ComputationPtr> producers;
    size_t next = 0;
  };
  std::vector<ComputationPtr> order;
  std::set<const Computation *> seen;
  std::vector<Visit> stack;
  const auto enter = [&](const ComputationPtr &computation) {
    if (computation->is_input || !seen.insert(computation.get()).second) {
      return;
    }
    require_end(*computation, where);
    if (computation->pieces.empty()) {
      throw Error(ErrorKind::Declaration,
                  "the computation " + computation->name + " (declared at " +
                      line_text(computation->where) +
                      ") has no expression: define it before making a function",
                  computation->where.known() ? computation->where : where);
    }
    stack.push_back({computation, producers_of(*computation)});
  };
  const auto reach = [&](const ComputationPtr &root) {
    enter(root);
    while (!stack.empty()) {
      Visit &top = stack.back();
      if (top.next < top.producers.size()) {
        const ComputationPtr producer = top.producers[top.next++];
        enter(producer); // may move what `top` refers to
        continue;
      }
      order.push_back(top.computation);
      stack.pop_back();
    }
  };
  std::for_each(outputs.begin(), outputs.end(), reach);
  // Of a block all results have to be somewhere, read or not.
  for (const ComputationPtr &result : other_results(order)) {
    reach(result);
  }
  return order;
}

/// The inputs that are read, in the order in which they were declared.
std::vector<ComputationPtr> inputs_by_declaration(const std::vector<ComputationPtr> &computations) {
  std::vector<ComputationPtr> inputs;
  const auto precedes = [](const ComputationPtr &a, const ComputationPtr &b) {
    return a->ordinal < b->ordinal;
  };
  for (const ComputationPtr &computation : computations) {
    for (const ComputationPtr &producer : producers_of(*computation)) {
      if (producer->is_input && std::find(inputs.begin(), inputs.end(), producer) == inputs.end()) {
        inputs.insert(std::upper_bound(inputs.begin(), inputs.end(), producer, precedes), producer);
      }
    }
  }
  return inputs;
}

void check_outputs(const std::string &name, const std::vector<ComputationPtr> &outputs,
                   const SourceLocation &where) {
  if (outputs.empty()) {
    throw Error(ErrorKind::Declaration, "function " + name + " needs at least one output", where);
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o] == nullptr) {
      throw Error(ErrorKind::Declaration,
                  "output " + std::to_string(o) + " of function " + name + " is missing", where);
    }
    if (outputs[o]->is_input) {
      throw Error(ErrorKind::Declaration,
                  "output " + std::to_string(o) + " of function " + name + " is the input " +
                      outputs[o]->name + "; an output must be a computation",
                  where);
    }
    if (std::find(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(o), outputs[o]) !=
        outputs.begin() + static_cast<std::ptrdiff_t>(o)) {
      throw Error(ErrorKind::Declaration,
                  "function " + name + " lists the output " + outputs[o]->name + " twice", where);
    }
  }
}

void check_given_inputs(const Function &function, const std::vector<ComputationPtr> &used) {
  for (size_t a = 0; a < function.inputs.size(); ++a) {
    const ComputationPtr &input = function.inputs[a];
    if (input == nullptr || !input->is_input) {
      throw Error(ErrorKind::Declaration,
                  "argument " + std::to_string(a) + " of function " + function.name +
                      " must be an input" +
                      (input == nullptr ? "" : ", but " + input->name + " is a computation"),
                  function.where);
    }
    const auto before = function.inputs.begin() + static_cast<std::ptrdiff_t>(a);
    if (std::find(function.inputs.begin(), before, input) != before) {
      throw Error(ErrorKind::Declaration,
                  "function " + function.name + " lists the input " + input->name + " twice",
                  function.where);
    }
  }
  for (const ComputationPtr &input : used) {
    if (std::find(function.inputs.begin(), function.inputs.end(), input) == function.inputs.end()) {
      throw Error(ErrorKind::Declaration,
                  "function " + function.name + " reads the input " + input->name +
                      ", which is not among the given inputs",
                  function.where);
    }
  }
}

void check_duplicate_names(const Function &function) {
  std::map<std::string, const Computation *> known;
  for (const auto *list : {&function.inputs, &function.computations}) {
    for (const ComputationPtr &declared : *list) {
      const auto [entry, fresh] = known.emplace(declared->name, declared.get());
      if (!fresh) {
        const Computation &other = *entry->second;
        throw Error(ErrorKind::Declaration,
                    "function " + function.name + " has two different declarations named " +
                        declared->name + ": the " + (other.is_input ? "input" : "computation") +
                        " of " + line_text(other.where) + " and the " +
                        (declared->is_input ? "input" : "computation") + " of " +
                        line_text(declared->where),
                    declared->where.known() ? declared->where : function.where);
      }
    }
  }
  for (const std::string &parameter : function.parameters) {
    const auto clash = known.find(parameter);
    if (clash != known.end()) {
      throw Error(ErrorKind::Declaration,
                  "function " + function.name + " has a parameter and " +
                      (clash->second->is_input ? "an input" : "a computation") +
                      " that are both named " + parameter,
                  clash->second->where.known() ? clash->second->where : function.where);
    }
  }
}

class ParameterOrder {
public:
  void add(const std::vector<ExprPtr> &exprs) {
    for (const ExprPtr &root : exprs) {
      visit(root, [&](const ExprPtr &node) {
        if (node->kind == ExprKind::Parameter) {
          add(node->name);
        }
      });
    }
  }
  void add(const isl::set &set) {
    for (isl_size p = 0; p < isl_set_dim(set.get(), isl_dim_param); ++p) {
      const char *name = isl_set_get_dim_name(set.get(), isl_dim_param, static_cast<unsigned>(p));
      if (name != nullptr) {
        add(std::string(name));
      }
    }
  }
  void add(const std::string &name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }

  std::vector<std::string> names;
};

std::vector<std::string> parameters_by_first_use(const Function &function,
                                                 const std::vector<ExprPtr> &conditions) {
  ParameterOrder order;
  for (const ComputationPtr &input : function.inputs) {
    order.add(input->extents);
  }
  for (const ComputationPtr &computation : function.computations) {
    order.add(computation->domain);
    order.add(expressions_of(*computation));
    for (const Piece &piece : computation->pieces) {
      order.add(piece.domain);
    }
  }
  order.add(conditions);
  return order.names;
}

isl::set gathered_context(const Function &function, const std::vector<ExprPtr> &conditions) {
  isl::set context = parameter_context(conditions);
  for (const auto *list : {&function.inputs, &function.computations}) {
    for (const ComputationPtr &declared : *list) {
      context = context.intersect(declared->context);
    }
  }
  for (const ExprPtr &condition : conditions) {
    check_scopes("the context of function " + function.name, {}, condition, function.where);
    const auto set = to_set(condition, IterationSpace{});
    if (!set) {
      throw Error(ErrorKind::Declaration,
                  "the context of function " + function.name +
                      " must be affine comparisons of parameters, got " + to_string(condition),
                  function.where);
    }
    context = context.intersect(set->params());
  }
  context = checked(context.coalesce(), "building the context of a function");
  if (checked(context.is_empty(), "building the context of a function")) {
    throw Error(ErrorKind::Declaration,
                "the constraints of function " + function.name +
                    " contradict each other: no values of the parameters satisfy them all",
                function.where);
  }
  return context;
}

/// The context with exactly the function's parameters as dimensions, in their order. A parameter
/// that occurs only in the constraint of another one is none of the function's: some value of it
/// has to satisfy the constraint.
isl::set ordered(const isl::set &context, const std::vector<std::string> &parameters) {
  isl_space *space =
      isl_space_params_alloc(isl_context().get(), static_cast<unsigned>(parameters.size()));
  for (size_t p = 0; p < parameters.size(); ++p) {
    isl_id *id = isl_id_alloc(isl_context().get(), parameters[p].c_str(), nullptr);
    space = isl_space_set_dim_id(space, isl_dim_param, static_cast<unsigned>(p), id);
  }
  isl_set *own = context.copy();
  for (isl_size p = isl_set_dim(own, isl_dim_param); p-- > 0;) {
    const char *name = isl_set_get_dim_name(own, isl_dim_param, static_cast<unsigned>(p));
    if (name == nullptr ||
        std::find(parameters.begin(), parameters.end(), name) == parameters.end()) {
      own = isl_set_project_out(own, isl_dim_param, static_cast<unsigned>(p), 1);
    }
  }
  return checked(isl::manage(isl_set_align_params(own, space)),
                 "building the context of a function");
}

/// What the context says of the parameters that a piece and what it reads are made of.
isl::set context_of(const Piece &piece, const RelevantContext &relevant) {
  std::vector<isl::set> sets = {piece.domain};
  if (relevant.leaves_out()) {
    sets.push_back(parameter_context({piece.value}));
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::Access) {
        sets.push_back(node->producer->domain);
        sets.push_back(node->producer->context);
      }
    });
  }
  return relevant.of(sets);
}

void check_everything(const Function &function) {
  const RelevantContext relevant(function.context);
  for (const ComputationPtr &computation : function.computations) {
    const std::vector<Piece> &pieces = computation->pieces;
    for (size_t b = 0; b < pieces.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        check_overlap(*computation, pieces[a], pieces[b], function.context);
      }
      check_scopes(computation->name, computation->iterators, pieces[b].value, pieces[b].where);
      check_reads(*computation, pieces[b], context_of(pieces[b], relevant), Readable::Defined);
    }
  }
}

} // namespace

const ComputationPtr *Function::find(const std::string &wanted) const {
  for (const auto *list : {&inputs, &computations}) {
    const auto found = std::find_if(list->begin(), list->end(),
                                    [&](const ComputationPtr &c) { return c->name == wanted; });
    if (found != list->end()) {
      return &*found;
    }
  }
  return nullptr;
}

std::shared_ptr<Function> make_function(const std::string &name,
                                        std::vector<ComputationPtr> outputs,
                                        std::vector<ComputationPtr> inputs,
                                        const std::vector<ExprPtr> &context, SourceLocation where) {
  return make_function(name, std::move(outputs), std::move(inputs), context, std::move(where),
                       std::nullopt);
}

std::shared_ptr<Function> make_function(const std::string &name,
                                        std::vector<ComputationPtr> outputs,
                                        std::vector<ComputationPtr> inputs,
                                        const std::vector<ExprPtr> &context, SourceLocation where,
                                        std::optional<StopTest> stop) {
  const OperationLimit limit(declaration_operation_limit);
  if (!is_isl_identifier(name + "_")) { // words that isl reserves may name a function
    throw Error(ErrorKind::Declaration,
                "\"" + name +
                    "\" cannot name a function: expected letters, digits and underscores, not "
                    "starting with "
                    "a digit",
                where);
  }
  check_outputs(name, outputs, where);
  for (const ComputationPtr &output : outputs) {
    require_exact_shape(*output);
    if (!starts_at_zero(*output)) {
      check_indices(*output, output->context,
                    "it is an output, whose array begins at 0 (temporaries may begin anywhere)");
    }
  }
  auto function = make_isl_shared<Function>();
  function->name = name;
  function->where = std::move(where);
  std::vector<ComputationPtr> roots = outputs;
  if (stop) {
    stop->test = total_test(*stop);
    roots.push_back(stop->test);
  }
  function->computations = reachable(roots, function->where);
  function->stop = std::move(stop);
  function->outputs = std::move(outputs);
  require_stack(*function);
  const std::vector<ComputationPtr> used = inputs_by_declaration(function->computations);
  function->inputs = std::move(inputs);
  if (function->inputs.empty()) {
    function->inputs = used;
  }
  check_given_inputs(*function, used);
  function->context = gathered_context(*function, context);
  if (function->stop) {
    function->context = function->context.intersect(at_least_one(function->stop->parameter));
  }
  function->parameters = parameters_by_first_use(*function, context);
  function->context = ordered(function->context, function->parameters);
  check_duplicate_names(*function);
  externs_of(*function); // no two of one name
  check_blocks(*function);
  check_everything(*function);
  check_self_dependence(*function);
  check_existing(*function);
  check_convergence(*function);
  return function;
}

} // namespace tilewright
