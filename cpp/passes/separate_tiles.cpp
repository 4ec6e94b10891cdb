#include "passes/separate_tiles.h"

#include "loops/summing_loops.h"
#include "loops/tile_extent.h"
#include "loops/traverse.h"

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
  /// Tests inside a vector loop that hold in all its lanes under the conditions.
  std::set<const LoopStatement *> decided;
  /// Unrolled loops around it for all of whose iterations the conditions ask.
  std::set<std::int64_t> over;
  /// Where the conditions fail: may the loop be full for some iterations of the loops in `over`?
  bool ask_again = false;
};

bool has_variables(const ValuePtr &root) {
  bool found = false;
  visit_value(root, [&](const Value &value) { found = found || is<Variable>(value); });
  return found;
}

/// The same condition >= 0 without the quotient of a variable, (n - i) // 8 - 4 as n - i - 32, in
/// which the variable is seen.
Linear without_quotient(Linear condition) {
  for (const Linear::Term &term : condition.terms) {
    const auto *quotient = as_binary(term.atom, Op::FloorDiv);
    const auto divisor = quotient == nullptr ? std::nullopt : as_integer(quotient->right());
    if (term.coefficient != 1 || divisor.value_or(0) <= 0 || !has_variables(term.atom)) {
      continue;
    }
    const auto dividend = linear_of(quotient->left());
    const auto rest = combine(condition, Linear{{term}, 0}, -1);
    if (auto whole = dividend && rest ? combine(*dividend, *rest, *divisor) : std::nullopt) {
      return *whole;
    }
  }
  return condition;
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
  conditions.push_back(without_quotient(std::move(*distance)));
  return true;
}

bool depends_on(const Linear &linear, std::int64_t variable) {
  return std::any_of(linear.terms.begin(), linear.terms.end(),
                     [&](const Linear::Term &term) { return mentions(term.atom, variable); });
}

/// The condition for all of `factor` iterations from `lower`: for the one in which it is hardest to
/// meet. Nothing where the variable is hidden in an atom, or not there at all.
std::optional<Linear> for_all_iterations(const Linear &condition, const For &loop,
                                         const ValuePtr &lower) {
  Linear rest;
  rest.constant = condition.constant;
  std::int64_t coefficient = 0;
  for (const Linear::Term &term : condition.terms) {
    if (is_variable(term.atom, loop.id)) {
      coefficient = term.coefficient;
    } else {
      rest.terms.push_back(term);
    }
  }
  auto hardest = linear_of(lower);
  if (coefficient == 0 || !hardest || depends_on(rest, loop.id)) {
    return std::nullopt;
  }
  hardest->constant += coefficient < 0 ? loop.factor - 1 : 0;
  return combine(rest, *hardest, coefficient);
}

/// A conjunction of comparisons of index values as conditions >= 0; false where it is none.
bool as_conditions(const ValuePtr &value, std::vector<Linear> &conditions) {
  const auto *test = as<Binary>(value);
  if (test == nullptr) {
    return false;
  }
  const ValuePtr &a = test->left();
  const ValuePtr &b = test->right();
  if (test->op == Op::And) {
    return as_conditions(a, conditions) && as_conditions(b, conditions);
  }
  const bool less = test->op == Op::Lt || test->op == Op::Le;
  if (!less && test->op != Op::Gt && test->op != Op::Ge) {
    return false;
  }
  auto distance = less ? difference(b, a) : difference(a, b);
  if (!distance) {
    return false;
  }
  distance->constant -= test->op == Op::Lt || test->op == Op::Gt ? 1 : 0;
  conditions.push_back(std::move(*distance));
  return true;
}

/// Is a local left as it is where the test fails, which costs lanes no more than the other way
/// (hold_lanes)?
bool keeps_a_local(const If &test) {
  const auto *kept = test.has_otherwise() ? as<AssignLocal>(test.otherwise()) : nullptr;
  const auto *value = kept != nullptr ? as<Local>(kept->value) : nullptr;
  return value != nullptr && value->id == kept->id;
}

/// Tests that differ between the lanes of a vector loop would keep it serial. Asks for those that
/// can be asked for outside of the loop to hold in all lanes.
void decide_tests(const For &loop, Candidate &candidate) {
  std::set<std::int64_t> inside;
  visit_statements(loop.body(), [&](const LoopStatement &inner) {
    if (const std::int64_t *variable = defined_variable(inner)) {
      inside.insert(*variable);
    }
  });
  visit_statements(loop.body(), [&](const LoopStatement &inner) {
    std::vector<Linear> wanted;
    const auto *test = as<If>(inner);
    if (test == nullptr || keeps_a_local(*test) || !as_conditions(test->condition, wanted)) {
      return;
    }
    bool varies = false;
    for (Linear &condition : wanted) {
      const bool varying = depends_on(condition, loop.id);
      varies = varies || varying;
      if (varying) {
        const auto all = for_all_iterations(condition, loop, candidate.lower);
        if (!all) {
          return;
        }
        condition = *all;
      }
      if (std::any_of(inside.begin(), inside.end(),
                      [&](std::int64_t id) { return depends_on(condition, id); }) ||
          (condition.is_constant() && condition.constant < 0)) {
        return;
      }
    }
    if (varies) {
      candidate.decided.insert(&inner);
      candidate.conditions.insert(candidate.conditions.end(), wanted.begin(), wanted.end());
    }
  });
}

/// Nothing for a loop that is always full (and has no tests to decide), or never, or not known to
/// be bounded by its factor.
std::optional<Candidate> candidate_of(const For &loop) {
  const auto extent = tile_extent(loop);
  if (!extent || loop.loop == LoopKind::MaskedVector) {
    return std::nullopt;
  }
  Candidate candidate;
  candidate.loop = loop.id;
  candidate.lower = extent->lower;
  std::vector<Linear> &conditions = candidate.conditions;
  const bool possible =
      std::all_of(extent->uppers.begin(), extent->uppers.end(),
                  [&](const ValuePtr &upper) {
                    return require_distance(upper, extent->lower, loop.factor, conditions);
                  }) &&
      std::all_of(extent->lowers.begin(), extent->lowers.end(), [&](const ValuePtr &lower) {
        return require_distance(extent->upper, lower, loop.factor, conditions);
      });
  if (!possible) {
    return std::nullopt;
  }
  if (loop.loop == LoopKind::Vector) {
    decide_tests(loop, candidate);
  }
  return conditions.empty() ? std::nullopt : std::optional(std::move(candidate));
}

bool runs_long(const StmtPtr &root) {
  constexpr std::int64_t few = 16;
  bool found = false;
  visit_statements(root, [&](const LoopStatement &inner) {
    if (const auto *loop = as_loop(inner, LoopKind::Serial)) {
      const auto count = as_integer(sub(loop->upper, loop->lower));
      found = found || !count || *count > few;
    }
  });
  return found;
}

/// Does `root` have a loop that may run long, and none that may be a full tile? In two versions of
/// what is around it, it would be the same twice: the test belongs behind it.
bool is_other_work(const StmtPtr &root) {
  bool has_tiles = false;
  visit_statements(root, [&](const LoopStatement &inner) {
    const auto *loop = as<For>(inner);
    has_tiles = has_tiles || (loop != nullptr && candidate_of(*loop));
  });
  return !has_tiles && runs_long(root);
}

bool known_in(const Linear &linear, const std::set<std::int64_t> &variables) {
  bool known = true;
  for (const Linear::Term &term : linear.terms) {
    visit_value(term.atom, [&](const Value &value) {
      const auto *variable = as<Variable>(value);
      known = known && (variable == nullptr || variables.contains(variable->id));
    });
  }
  return known;
}

/// The condition for all iterations of an unrolled loop.
std::optional<Linear> for_all_copies(const Linear &condition, const For &loop) {
  const auto extent = tile_extent(loop);
  return extent && loop.loop == LoopKind::Unrolled
             ? for_all_iterations(condition, loop, extent->lower)
             : std::nullopt;
}

/// Where the variable is an atom of a negative coefficient, and nowhere else: the condition holds
/// up to some value of it.
std::optional<ValuePtr> holds_below(const Linear &condition, std::int64_t variable) {
  Linear rest;
  rest.constant = condition.constant;
  std::int64_t coefficient = 0;
  for (const Linear::Term &term : condition.terms) {
    if (is_variable(term.atom, variable)) {
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

bool contains_any(const StmtPtr &root, const std::vector<Candidate> &candidates) {
  bool found = false;
  visit_statements(root, [&](const LoopStatement &inner) {
    const auto *loop = as<For>(inner);
    found = found || (loop != nullptr && std::any_of(candidates.begin(), candidates.end(),
                                                     [&](const Candidate &candidate) {
                                                       return candidate.loop == loop->id;
                                                     }));
  });
  return found;
}

/// All vector loops that fill no more than their lanes under a mask.
StmtPtr masked(const StmtPtr &root) {
  std::vector<StmtPtr> children;
  for (const StmtPtr &child : root->children) {
    children.push_back(masked(child));
  }
  if (const auto *loop = as_loop(root, LoopKind::Vector); loop != nullptr && candidate_of(*loop)) {
    return for_loop(loop->id, loop->name, loop->lower, loop->upper, LoopKind::MaskedVector,
                    loop->factor, children[0]);
  }
  return root->children.empty() ? root : with_children(root, std::move(children));
}

/// The candidates' loops as full tiles; when `full` is false, as vectors under a mask or as serial
/// loops. `serial` is the loop around `root` that is one.
StmtPtr rewrite(const StmtPtr &root, const std::vector<Candidate> &candidates, bool full,
                int masked_bytes, bool keeps_copies, const For *serial = nullptr) {
  const auto *loop = as<For>(root);
  const bool is_serial = loop != nullptr && loop->loop == LoopKind::Serial;
  std::vector<StmtPtr> children;
  for (const StmtPtr &child : root->children) {
    children.push_back(
        rewrite(child, candidates, full, masked_bytes, keeps_copies, is_serial ? loop : serial));
  }
  const auto found =
      std::find_if(candidates.begin(), candidates.end(), [&](const Candidate &candidate) {
        return loop != nullptr && candidate.loop == loop->id;
      });
  const bool decided =
      std::any_of(candidates.begin(), candidates.end(), [&](const Candidate &candidate) {
        return candidate.decided.contains(root.get());
      });
  if (full && decided) {
    return children[0];
  }
  if (found == candidates.end() && !full && is_loop_of(root, LoopKind::Unrolled) &&
      contains_any(loop->body(), candidates) &&
      !(masked_bytes > 0 && serial != nullptr && accumulates(root, serial->id))) {
    // Copies of a border tile's loops are not worth their code, unless they keep sums in registers.
    return for_loop(loop->id, loop->name, loop->lower, loop->upper, LoopKind::Serial,
                    keeps_copies ? loop->factor : 0, children[0]);
  }
  if (found == candidates.end()) {
    return root->children.empty() ? root : with_children(root, std::move(children));
  }
  if (!full && found->ask_again) {
    return with_children(root, std::move(children));
  }
  if (!full) {
    const bool as_vector = masked_bytes > 0 && loop->loop == LoopKind::Vector;
    // The rest of a tile in one version: its vectors, full or not, under masks that cost nothing.
    const bool with_masks = masked_bytes == 1 && loop->loop == LoopKind::Unrolled;
    return for_loop(loop->id, loop->name, loop->lower, loop->upper,
                    as_vector ? LoopKind::MaskedVector : LoopKind::Serial, loop->factor,
                    with_masks ? masked(children[0]) : children[0]);
  }
  return for_loop(loop->id, loop->name, found->lower, add(found->lower, integer(loop->factor)),
                  loop->loop, loop->factor, children[0]);
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
  Separation(const StmtPtr &root, int masked_bytes, bool keeps_copies)
      : numbers_(root), masked_bytes_(masked_bytes), keeps_copies_(keeps_copies) {}

  /// `statement` where the variables in `known_` have values.
  StmtPtr at(const StmtPtr &statement, int versions) {
    const auto *loop = as<For>(statement);
    if (loop != nullptr && loop->parallel.joined) {
      return at_loop(statement, versions); // nothing comes between it and the loop outside
    }
    const std::vector<Candidate> candidates = collect(statement);
    if (!candidates.empty()) {
      const StmtPtr split = in_two_versions(statement, versions);
      return split ? split : version(statement, candidates, conditions_of(candidates), versions);
    }
    if (loop != nullptr) {
      return at_loop(statement, versions);
    }
    return map_children(statement, [&](const StmtPtr &child) { return at(child, versions); });
  }

private:
  /// The loops in `statement` whose conditions are known here.
  std::vector<Candidate> collect(const StmtPtr &statement) const {
    std::vector<Candidate> found;
    std::vector<const For *> around;
    collect(statement, around, found);
    for (Candidate &candidate : found) {
      candidate.ask_again =
          !candidate.over.empty() &&
          std::all_of(candidate.over.begin(), candidate.over.end(), [&](std::int64_t loop) {
            return std::any_of(found.begin(), found.end(),
                               [&](const Candidate &other) { return other.loop == loop; });
          });
    }
    return found;
  }

  void collect(const StmtPtr &statement, std::vector<const For *> &around,
               std::vector<Candidate> &found) const {
    const auto *loop = as<For>(statement);
    if (loop != nullptr) {
      auto candidate = candidate_of(*loop);
      if (candidate && make_known(*candidate, around)) {
        found.push_back(std::move(*candidate));
      }
      around.push_back(loop);
    }
    const bool is_sequence = is<Block>(statement);
    const bool beside_other_work =
        is_sequence &&
        std::any_of(statement->children.begin(), statement->children.end(), is_other_work);
    for (const StmtPtr &child : statement->children) {
      if (!beside_other_work) {
        collect(child, around, found);
      }
    }
    if (loop != nullptr) {
      around.pop_back();
    }
  }

  /// Are the candidate's conditions known here? Those that depend on an unrolled loop in between
  /// are asked for all of its iterations.
  bool make_known(Candidate &candidate, const std::vector<const For *> &around) const {
    for (auto condition = candidate.conditions.begin(); condition != candidate.conditions.end();) {
      for (auto loop = around.rbegin(); loop != around.rend(); ++loop) {
        if (auto wider = for_all_copies(*condition, **loop)) {
          *condition = std::move(*wider);
          candidate.over.insert((*loop)->id);
        }
      }
      if (!known_in(*condition, known_) || (condition->is_constant() && condition->constant < 0)) {
        return false;
      }
      condition = condition->is_constant() ? candidate.conditions.erase(condition) : condition + 1;
    }
    return true;
  }

  StmtPtr version(const StmtPtr &statement, const std::vector<Candidate> &candidates,
                  const std::vector<Linear> &conditions, int versions) {
    const StmtPtr general = rewrite(statement, candidates, false, masked_bytes_, keeps_copies_);
    if (versions < 2) {
      return at(general, versions);
    }
    const StmtPtr fast =
        copy_with(rewrite(statement, candidates, true, masked_bytes_, keeps_copies_), {}, numbers_);
    return if_then(conjunction(conditions), at(fast, versions / 2), at(general, versions / 2));
  }

  /// Where full tiles end in a loop, and what else they ask for.
  struct Split {
    ValuePtr end; ///< null where the loop's variable does not decide
    std::vector<Linear> others;
  };

  Split split_of(const For &loop, const std::vector<Candidate> &candidates) const {
    Split split;
    for (const Linear &condition : conditions_of(candidates)) {
      const auto bound = holds_below(condition, loop.id);
      const bool becomes_copies = keeps_copies_ && loop.factor > 0;
      if (bound && loop.loop == LoopKind::Serial && !becomes_copies) {
        split.end = !split.end                      ? *bound
                    : same_value(split.end, *bound) ? split.end
                                                    : minimum(split.end, *bound);
      } else {
        split.others.push_back(condition);
      }
    }
    return split;
  }

  /// Tiles that may be short in rows and in columns, where masks make one version of all the short
  /// ones as good as three. Null where it is not so: sums of short tiles want registers.
  StmtPtr in_two_versions(const StmtPtr &statement, int versions) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    if (masked_bytes_ != 1 || versions < 2 || loop == nullptr || runs_long(loop->body())) {
      return nullptr;
    }
    const std::set<std::int64_t> outside = known_;
    known_.insert(loop->id);
    const std::vector<Candidate> candidates = collect(loop->body());
    const Split split = split_of(*loop, candidates);
    const bool outside_decides =
        std::all_of(split.others.begin(), split.others.end(),
                    [&](const Linear &condition) { return known_in(condition, outside); });
    if (!split.end || split.others.empty() || !outside_decides) {
      known_ = outside;
      return nullptr;
    }
    const std::int64_t full = numbers_.next();
    const StmtPtr define =
        let(full, "full", select_value(conjunction(split.others), split.end, loop->lower));
    return block({define, both_parts(*loop, candidates, variable(full, "full"), {}, versions)});
  }

  StmtPtr at_loop(const StmtPtr &statement, int versions) {
    const auto &loop = cast<For>(statement);
    known_.insert(loop.id);
    const std::vector<Candidate> candidates = collect(loop.body());
    const Split split = split_of(loop, candidates);
    if (!split.end || versions < 2) {
      const For *outside = serial_;
      serial_ = loop.loop == LoopKind::Serial ? &loop : outside;
      StmtPtr result = with_children(statement, {at(loop.body(), versions)});
      serial_ = outside;
      return result;
    }
    return both_parts(loop, candidates, split.end, split.others, versions);
  }

  /// The loop in two: full tiles, which come first and end before `end` at the latest, and all
  /// others.
  StmtPtr both_parts(const For &loop, const std::vector<Candidate> &candidates, const ValuePtr &end,
                     const std::vector<Linear> &others, int versions) {
    StmtPtr fast = rewrite(loop.body(), candidates, true, masked_bytes_, keeps_copies_);
    const StmtPtr general =
        rewrite(loop.body(), candidates, false, masked_bytes_, keeps_copies_, serial_);
    const std::int64_t second = numbers_.next();
    const StmtPtr rest = copy_with(general, {{loop.id, variable(second, loop.name)}}, numbers_);
    if (others.empty()) {
      fast = at(fast, versions / 2);
    } else {
      fast = if_then(conjunction(others), at(fast, versions / 2),
                     at(copy_with(general, {}, numbers_), versions / 2));
    }
    const StmtPtr first_loop = for_loop(loop, loop.lower, minimum(loop.upper, end), fast);
    known_.insert(second);
    auto second_loop = copy_of<For>(loop);
    second_loop->id = second;
    second_loop->lower = maximum(loop.lower, end);
    second_loop->children = {at(rest, versions / 2)};
    return block({first_loop, second_loop});
  }

  Numbers numbers_;
  std::set<std::int64_t> known_;
  const For *serial_ = nullptr; ///< the innermost such loop around, of those in one version
  int masked_bytes_;
  bool keeps_copies_;
};

} // namespace

StmtPtr separate_tiles(const StmtPtr &body, int masked_bytes, bool keeps_copies) {
  return Separation(body, masked_bytes, keeps_copies).at(body, max_versions);
}

} // namespace tilewright
