#include "algorithm/function_copy.h"

#include "algorithm/expression_depth.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright {

namespace {

using Change = std::function<ExprPtr(const ExprPtr &)>;
using Rewritten = std::unordered_map<const Expr *, ExprPtr>;

ExprPtr rewrite_accesses(const ExprPtr &node, const Change &change, Rewritten &done) {
  if (const auto found = done.find(node.get()); found != done.end()) {
    return found->second; // a shared node stays shared
  }
  count_visit();
  std::vector<ExprPtr> operands;
  for (const ExprPtr &operand : node->operands) {
    operands.push_back(rewrite_accesses(operand, change, done));
  }
  ExprPtr result = with_operands(node, std::move(operands));
  if (node->predicate) {
    result = with_predicate(result, rewrite_accesses(node->predicate, change, done));
  }
  result = result->kind == ExprKind::Access ? change(result) : result;
  done.emplace(node.get(), result);
  return result;
}

} // namespace

ExprPtr rewrite_accesses(const ExprPtr &node, const Change &change) {
  Rewritten done;
  return rewrite_accesses(node, change, done);
}

std::shared_ptr<Function> copy_function(const Function &function, Copies &copies) {
  auto result = make_isl_shared<Function>(function);
  const auto copy_of = [&](const ComputationPtr &computation) {
    ComputationPtr &copy = copies[computation.get()];
    if (copy == nullptr) {
      copy = make_isl_shared<Computation>(*computation);
    }
    return copy;
  };
  std::transform(function.computations.begin(), function.computations.end(),
                 result->computations.begin(), copy_of);
  std::transform(function.outputs.begin(), function.outputs.end(), result->outputs.begin(),
                 copy_of);
  for (const ComputationPtr &computation : result->computations) {
    for (Piece &piece : computation->pieces) {
      piece.value = rewrite_accesses(piece.value, [&](const ExprPtr &node) {
        const auto copy = copies.find(node->producer.get());
        return copy == copies.end() ? node : with_producer(node, copy->second);
      });
    }
  }
  return result;
}

} // namespace tilewright
