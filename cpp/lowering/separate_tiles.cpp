#include "lowering/passes.h"

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

/// How many versions of the innermost code one chain of separations may make.
constexpr int max_versions = 8;

/// A loop that has `factor` iterations when all `conditions` (>= 0) hold, and fewer otherwise.
struct Candidate {
  std::int64_t loop = 0;
  ValuePtr lower; ///< of the full loop
  std::vector<Linear> conditions;
};

void operands_of(Op op, const ValuePtr &value, std::vector<ValuePtr> &into) {
  if (value->kind == ValueKind::Binary && value->op == op) {
    operands_of(op, value->operands[0], into);
    operands_of(op, value->operands[1], into);
  } else {
    into.push_back(value);
  }
}

std::optional<Linear> difference(const ValuePtr &a, const ValuePtr &b) {
  if (!is_index(a) || !is_index(b)) {
    return std::nullopt;
  }
  const auto left = linear_of(a);
  const auto right = linear_of(b);
  return left && right ? combine(*left, *right, -1) : std::nullopt;
}

/// Adds `a - b - factor >= 0` unless it always holds; false when it never holds or cannot be said.
bool require_distance(const ValuePtr &a, const ValuePtr &b, std::int64_t factor,
                      std::vector<Linear> &conditions) {
  auto distance = difference(a, b);
  if (!distance) {
    return false;
  }
  distance->constant -= factor;
  if (distance->is_constant()) {
    return distance->constant >= 0;
  }
  conditions.push_back(std::move(*distance));
  return true;
}

std::optional<Candidate> candidate_of(const LoopStatement &loop) {
  const bool tagged = loop.loop == LoopKind::Vector || loop.loop == LoopKind::Unrolled;
  if (loop.kind != StatementKind::For || !tagged || loop.factor < 2) {
    return std::nullopt;
  }
  std::vector<ValuePtr> uppers;
  std::vector<ValuePtr> lowers;
  operands_of(Op::Min, loop.upper, uppers);
  operands_of(Op::Max, loop.lower, lowers);
  for (const ValuePtr &upper : uppers) {
    for (const ValuePtr &lower : lowers) {
      const auto extent = difference(upper, lower);
      if (!extent || !extent->is_constant() || extent->constant != loop.factor) {
        continue;
      }
      // At most `factor` iterations, from `lower` to `upper`; that many when no other bound cuts
      // any off.
      Candidate candidate{loop.id, lower, {}};
      const bool possible =
          std::all_of(uppers.begin(), uppers.end(),
                      [&](const auto &u) {
                        return require_distance(u, lower, loop.factor, candidate.conditions);
                      }) &&
          std::all_of(lowers.begin(), lowers.end(), [&](const auto &l) {
            return require_distance(upper, l, loop.factor, candidate.conditions);
          });
      return possible && !candidate.conditions.empty() ? std::optional(std::move(candidate))
                                                       : std::nullopt;
    }
  }
  return std::nullopt;
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

bool known_in(const Linear &linear, const std::set<std::int64_t> &variables) {
  bool known = true;
  for (const Linear::Term &term : linear.terms) {
    visit_value(term.atom, [&](const Value &value) {
      known = known && (value.kind != ValueKind::Variable || variables.contains(value.id));
    });
  }
  return known;
}

/// Where the variable is an atom of a negative coefficient, and nowhere else: the condition holds
/// up to some value of it.
std::optional<ValuePtr> holds_below(const Linear &condition, std::int64_t variable) {
  Linear rest;
  rest.constant = condition.constant;
  std::int64_t coefficient = 0;
  for (const Linear::Term &term : condition.terms) {
    if (term.atom->kind == ValueKind::Variable && term.atom->id == variable) {
      coefficient = term.coefficient;
    } else {
      rest.terms.push_back(term);
    }
  }
  if (coefficient >= 0 || depends_on(rest, variable)) {
    return std::nullopt;
  }
  return add(floor_div(value_of(rest), integer(-coefficient)), integer(1));
}

ValuePtr as_condition(const Linear &linear) {
  // a - b + c >= 0 reads better as a + c >= b
  Linear left;
  Linear right;
  for (const Linear::Term &term : linear.terms) {
    if (term.coefficient > 0) {
      left.terms.push_back(term);
    } else {
      right.terms.push_back({term.atom, -term.coefficient});
    }
  }
  (linear.constant > 0 ? left : right).constant = std::abs(linear.constant);
  return binary_value(Op::Ge, value_of(left), value_of(right));
}

ValuePtr conjunction(const std::vector<Linear> &conditions) {
  ValuePtr all = boolean(true);
  std::vector<ValuePtr> seen;
  for (const Linear &condition : conditions) {
    const ValuePtr value = as_condition(condition);
    if (std::none_of(seen.begin(), seen.end(),
                     [&](const ValuePtr &other) { return same_value(value, other); })) {
      seen.push_back(value);
      all = both(all, value);
    }
  }
  return all;
}

/// The candidates' loops as full tiles, or as serial loops when `full` is false.
StmtPtr rewrite(const StmtPtr &root, const std::vector<Candidate> &candidates, bool full) {
  std::vector<StmtPtr> children;
  for (const StmtPtr &child : root->children) {
    children.push_back(rewrite(child, candidates, full));
  }
  const auto found =
      std::find_if(candidates.begin(), candidates.end(), [&](const Candidate &candidate) {
        return root->kind == StatementKind::For && candidate.loop == root->id;
      });
  if (found == candidates.end()) {
    return root->children.empty() ? root : with_children(root, std::move(children));
  }
  if (!full) {
    return for_loop(root->id, root->name, root->lower, root->upper, LoopKind::Serial, 0,
                    children[0]);
  }
  return for_loop(root->id, root->name, found->lower, add(found->lower, integer(root->factor)),
                  root->loop, root->factor, children[0]);
}

std::vector<Linear> conditions_of(const std::vector<Candidate> &candidates) {
  std::vector<Linear> all;
  for (const Candidate &candidate : candidates) {
    all.insert(all.end(), candidate.conditions.begin(), candidate.conditions.end());
  }
  return all;
}

class Separation {
public:
  explicit Separation(const StmtPtr &root) : numbers_(root) {}

  /// `statement` where the variables in `known_` have values.
  StmtPtr at(const StmtPtr &statement, int versions) {
    const std::vector<Candidate> candidates = collect(statement);
    if (!candidates.empty()) {
      return version(statement, candidates, conditions_of(candidates), versions);
    }
    if (statement->kind == StatementKind::For) {
      return at_loop(statement, versions);
    }
    if (statement->children.empty()) {
      return statement;
    }
    std::vector<StmtPtr> children;
    for (const StmtPtr &child : statement->children) {
      children.push_back(at(child, versions));
    }
    return with_children(statement, std::move(children));
  }

private:
  /// The loops in `statement` whose conditions are known here.
  std::vector<Candidate> collect(const StmtPtr &statement) const {
    std::vector<Candidate> found;
    visit_statements(statement, [&](const LoopStatement &inner) {
      auto candidate = candidate_of(inner);
      if (candidate &&
          std::all_of(candidate->conditions.begin(), candidate->conditions.end(),
                      [&](const Linear &condition) { return known_in(condition, known_); })) {
        found.push_back(std::move(*candidate));
      }
    });
    return found;
  }

  StmtPtr version(const StmtPtr &statement, const std::vector<Candidate> &candidates,
                  const std::vector<Linear> &conditions, int versions) {
    const StmtPtr general = rewrite(statement, candidates, false);
    if (versions < 2) {
      return at(general, versions);
    }
    const StmtPtr fast = copy_with(rewrite(statement, candidates, true), {}, numbers_);
    return if_then(conjunction(conditions), at(fast, versions / 2), at(general, versions / 2));
  }

  StmtPtr at_loop(const StmtPtr &loop, int versions) {
    known_.insert(loop->id);
    const std::vector<Candidate> candidates = collect(loop->children[0]);
    ValuePtr split;
    std::vector<Linear> others;
    for (const Linear &condition : conditions_of(candidates)) {
      const auto bound = holds_below(condition, loop->id);
      if (bound && loop->loop == LoopKind::Serial) {
        split = !split ? *bound : same_value(split, *bound) ? split : minimum(split, *bound);
      } else {
        others.push_back(condition);
      }
    }
    if (!split || versions < 2) {
      return with_children(loop, {at(loop->children[0], versions)});
    }
    // Full tiles come first: the loop is split where they end.
    StmtPtr fast = rewrite(loop->children[0], candidates, true);
    StmtPtr general = rewrite(loop->children[0], candidates, false);
    const std::int64_t second = numbers_.next();
    const StmtPtr rest = copy_with(general, {{loop->id, variable(second, loop->name)}}, numbers_);
    if (others.empty()) {
      fast = at(fast, versions / 2);
    } else {
      fast = if_then(conjunction(others), at(fast, versions / 2),
                     at(copy_with(general, {}, numbers_), versions / 2));
    }
    const StmtPtr first_loop =
        for_loop(loop->id, loop->name, loop->lower, minimum(loop->upper, split), loop->loop,
                 loop->factor, fast);
    known_.insert(second);
    const StmtPtr second_loop =
        for_loop(second, loop->name, maximum(loop->lower, split), loop->upper, loop->loop,
                 loop->factor, at(rest, versions / 2));
    return block({first_loop, second_loop});
  }

  Numbers numbers_;
  std::set<std::int64_t> known_;
};

} // namespace

StmtPtr separate_tiles(const StmtPtr &body) { return Separation(body).at(body, max_versions); }

} // namespace tilewright
