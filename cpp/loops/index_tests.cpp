#include "loops/index_tests.h"

#include "loops/tile_extent.h"
#include "loops/traverse.h"

#include <algorithm>

namespace tilewright {

bool is_index_test(const ValuePtr &value) {
  const auto *binary = as<Binary>(value);
  return binary != nullptr && is_comparison(binary->op) && is_index(binary->left()) &&
         is_index(binary->right());
}

std::optional<IndexTest> index_test(const ValuePtr &value) {
  const auto *comparison = as<Binary>(value);
  if (comparison == nullptr || !is_comparison(comparison->op)) {
    return std::nullopt;
  }
  const Op op = comparison->op;
  const ValuePtr &a = comparison->left();
  const ValuePtr &b = comparison->right();
  const bool less = op == Op::Lt || op == Op::Le;
  const auto distance = less ? difference(b, a) : difference(a, b);
  if (!distance) {
    return std::nullopt;
  }
  IndexTest test;
  test.distance = *distance;
  test.equality = op == Op::Eq || op == Op::Ne;
  test.negated = op == Op::Ne;
  test.distance.constant -= op == Op::Lt || op == Op::Gt ? 1 : 0;
  return test;
}

void IndexFacts::add(const ValuePtr &test, bool outcome) {
  known_.emplace_back(test, outcome);
  const auto form = index_test(test);
  if (!form) {
    return;
  }
  const auto note = [&](std::int64_t factor, std::int64_t shift) {
    if (auto fact = combine({}, form->distance, factor)) {
      fact->constant += shift;
      not_negative_.push_back(std::move(*fact));
    }
  };
  if (!form->equality) {
    note(outcome ? 1 : -1, outcome ? 0 : -1);
  } else if (outcome != form->negated) {
    note(1, 0);
    note(-1, 0);
  }
}

bool IndexFacts::is_at_least(const Linear &form, std::int64_t least) const {
  return std::any_of(not_negative_.begin(), not_negative_.end(), [&](const Linear &fact) {
    const auto more = combine(form, fact, -1);
    return more && more->is_constant() && more->constant >= least;
  });
}

ValuePtr IndexFacts::decide(const ValuePtr &value) const {
  const auto *binary = as<Binary>(value);
  if (binary == nullptr) {
    return nullptr;
  }
  for (const auto &[test, outcome] : known_) {
    if (same_value(test, value)) {
      return boolean(outcome);
    }
  }
  if (const auto test = index_test(value)) {
    const auto opposite = combine({}, test->distance, -1);
    if (!opposite) {
      return nullptr;
    }
    if (test->equality) {
      if (is_at_least(test->distance, 1) || is_at_least(*opposite, 1)) {
        return boolean(test->negated);
      }
      return is_at_least(test->distance, 0) && is_at_least(*opposite, 0) ? boolean(!test->negated)
                                                                         : nullptr;
    }
    return is_at_least(test->distance, 0) ? boolean(true)
           : is_at_least(*opposite, 1)    ? boolean(false)
                                          : nullptr;
  }
  if (binary->op != Op::Min && binary->op != Op::Max) {
    return nullptr;
  }
  const auto distance = difference(binary->left(), binary->right());
  const auto opposite = distance ? combine({}, *distance, -1) : std::nullopt;
  if (!opposite) {
    return nullptr;
  }
  const bool first_is_greater = is_at_least(*distance, 0);
  if (!first_is_greater && !is_at_least(*opposite, 0)) {
    return nullptr;
  }
  return first_is_greater == (binary->op == Op::Max) ? binary->left() : binary->right();
}

StmtPtr IndexFacts::apply(const StmtPtr &root) const {
  ValueRewriter rewrite([this](const ValuePtr &value) { return decide(value); });
  return map_children(map_values(root, std::ref(rewrite)),
                      [this](const StmtPtr &child) { return apply(child); });
}

bool depends_on(const Linear &linear, std::int64_t variable) {
  bool found = false;
  for (const Linear::Term &term : linear.terms) {
    visit_value(term.atom,
                [&](const Value &value) { found = found || (is_variable(value, variable)); });
  }
  return found;
}

std::optional<std::int64_t> coefficient_of(const Linear &linear, std::int64_t variable) {
  std::int64_t coefficient = 0;
  Linear rest;
  for (const Linear::Term &term : linear.terms) {
    if (is_variable(term.atom, variable)) {
      coefficient = term.coefficient;
    } else {
      rest.terms.push_back(term);
    }
  }
  return depends_on(rest, variable) ? std::nullopt : std::optional(coefficient);
}

std::int64_t size_of(const StmtPtr &root) {
  std::int64_t size = is<Block>(root) ? 0 : 1;
  for (const StmtPtr &child : root->children) {
    size += size_of(child);
  }
  const auto *copied = as_loop(root, LoopKind::Unrolled);
  return copied == nullptr ? size : size * std::max<std::int64_t>(1, copied->factor);
}

bool is_innermost(const For &loop) {
  constexpr std::int64_t longest = 32;
  bool innermost = true;
  visit_statements(loop.body(), [&](const LoopStatement &statement) {
    if (is<While>(statement)) {
      innermost = false;
    }
    const auto *inner = as<For>(statement);
    if (inner == nullptr || inner->loop == LoopKind::Vector ||
        inner->loop == LoopKind::MaskedVector || inner->loop == LoopKind::Unrolled) {
      return;
    }
    const auto extent = difference(inner->upper, inner->lower);
    innermost = innermost && inner->loop == LoopKind::Serial && extent && extent->is_constant() &&
                extent->constant <= longest;
  });
  return innermost;
}

} // namespace tilewright
