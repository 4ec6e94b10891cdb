#include "algorithm/computed_parts.h"

#include "algorithm/expression_depth.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <utility>

namespace tilewright {

namespace {
constexpr size_t word_bits = 64;
} // namespace

const ComputedParts::Parts &ComputedParts::of(const ExprPtr &node) {
  if (const auto known = known_.find(node.get()); known != known_.end()) {
    return known->second.parts;
  }
  count_visit();
  Parts parts;
  const auto take = [&](const ExprPtr &part) {
    const Parts &below = of(part);
    parts.resize(std::max(parts.size(), below.size()));
    for (size_t w = 0; w < below.size(); ++w) {
      parts[w] |= below[w];
    }
  };
  switch (node->kind) {
  case ExprKind::Select: {
    take(node->operands[0]);
    const Parts &then = of(node->operands[1]);
    const Parts &otherwise = of(node->operands[2]);
    const size_t words = std::min(then.size(), otherwise.size());
    parts.resize(std::max(parts.size(), words));
    for (size_t w = 0; w < words; ++w) {
      parts[w] |= then[w] & otherwise[w];
    }
    break;
  }
  case ExprKind::Reduce:
    break;
  case ExprKind::While:
    for (const ExprPtr &value : while_parts(*node).initial) {
      take(value);
    }
    break;
  default:
    for (const ExprPtr &operand : node->operands) {
      take(operand);
    }
  }
  const size_t number = known_.size();
  parts.resize(number / word_bits + 1);
  parts[number / word_bits] |= std::uint64_t{1} << number % word_bits;
  return known_.emplace(node.get(), Known{number, std::move(parts)}).first->second.parts;
}

bool ComputedParts::contains(const Parts &parts, const Expr &node) const {
  const auto known = known_.find(&node);
  if (known == known_.end()) {
    return false;
  }
  const size_t number = known->second.number;
  return number / word_bits < parts.size() &&
         (parts[number / word_bits] >> number % word_bits & 1) != 0;
}

std::vector<ExprPtr> ComputedParts::of_both(const ExprPtr &then, const ExprPtr &otherwise) {
  require_stack(then);
  require_stack(otherwise);
  const Parts &in_then = of(then);
  const Parts &in_otherwise = of(otherwise);
  const auto is_common = [&](const Expr &node) {
    return contains(in_then, node) && contains(in_otherwise, node);
  };
  std::vector<ExprPtr> largest;
  for (const ExprPtr &node : parents_first({then}, [&](const Expr &node) {
         return node.kind != ExprKind::Reduce && !is_common(node);
       })) {
    // The loop behind several results is no value itself.
    const bool is_value = node->kind != ExprKind::While && node->op != Op::ReduceFold;
    if (!node->operands.empty() && is_value && is_common(*node)) {
      largest.push_back(node);
    }
  }
  return largest;
}

} // namespace tilewright
