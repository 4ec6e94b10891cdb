#include "loops/index_tests.h"

#include "loops/tile_extent.h"

#include <algorithm>

namespace tilewright {

std::optional<IndexTest> index_test(const ValuePtr &value) {
  if (value->kind != ValueKind::Binary || !is_comparison(value->op)) {
    return std::nullopt;
  }
  const ValuePtr &a = value->operands[0];
  const ValuePtr &b = value->operands[1];
  const bool less = value->op == Op::Lt || value->op == Op::Le;
  const auto distance = less ? difference(b, a) : difference(a, b);
  if (!distance) {
    return std::nullopt;
  }
  IndexTest test;
  test.distance = *distance;
  test.equality = value->op == Op::Eq || value->op == Op::Ne;
  test.negated = value->op == Op::Ne;
  test.distance.constant -= value->op == Op::Lt || value->op == Op::Gt ? 1 : 0;
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
  if (value->kind != ValueKind::Binary) {
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
  if (value->op != Op::Min && value->op != Op::Max) {
    return nullptr;
  }
  const auto distance = difference(value->operands[0], value->operands[1]);
  const auto opposite = distance ? combine({}, *distance, -1) : std::nullopt;
  if (!opposite) {
    return nullptr;
  }
  const bool first_is_greater = is_at_least(*distance, 0);
  if (!first_is_greater && !is_at_least(*opposite, 0)) {
    return nullptr;
  }
  return value->operands[first_is_greater == (value->op == Op::Max) ? 0 : 1];
}

StmtPtr IndexFacts::apply(const StmtPtr &root) const {
  ValueRewriter rewrite([this](const ValuePtr &value) { return decide(value); });
  return map_children(map_values(root, std::ref(rewrite)),
                      [this](const StmtPtr &child) { return apply(child); });
}

bool depends_on(const Linear &linear, std::int64_t variable) {
  bool found = false;
  for (const Linear::Term &term : linear.terms) {
    visit_value(term.atom, [&](const Value &value) {
      found = found || (value.kind == ValueKind::Variable && value.id == variable);
    });
  }
  return found;
}

std::optional<std::int64_t> coefficient_of(const Linear &linear, std::int64_t variable) {
  std::int64_t coefficient = 0;
  Linear rest;
  for (const Linear::Term &term : linear.terms) {
    if (term.atom->kind == ValueKind::Variable && term.atom->id == variable) {
      coefficient = term.coefficient;
    } else {
      rest.terms.push_back(term);
    }
  }
  return depends_on(rest, variable) ? std::nullopt : std::optional(coefficient);
}

std::int64_t size_of(const StmtPtr &root) {
  std::int64_t size = root->kind == StatementKind::Block ? 0 : 1;
  for (const StmtPtr &child : root->children) {
    size += size_of(child);
  }
  const bool copied = root->kind == StatementKind::For && root->loop == LoopKind::Unrolled;
  return copied ? size * std::max<std::int64_t>(1, root->factor) : size;
}

bool is_innermost(const LoopStatement &loop) {
  constexpr std::int64_t longest = 32;
  bool innermost = true;
  visit_statements(loop.children[0], [&](const LoopStatement &inner) {
    if (inner.kind == StatementKind::While) {
      innermost = false;
    }
    if (inner.kind != StatementKind::For || inner.loop == LoopKind::Vector ||
        inner.loop == LoopKind::MaskedVector || inner.loop == LoopKind::Unrolled) {
      return;
    }
    const auto extent = difference(inner.upper, inner.lower);
    innermost = innermost && inner.loop == LoopKind::Serial && extent && extent->is_constant() &&
                extent->constant <= longest;
  });
  return innermost;
}

} // namespace tilewright
