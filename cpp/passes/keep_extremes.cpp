#include "passes/keep_extremes.h"

#include "algorithm/expression.h"
#include "loops/summing_loops.h"
#include "loops/traverse.h"
#include "passes/loop_outcomes.h"
#include "passes/terms_in_lanes.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

/// Of one loop.
constexpr size_t most_kept = 3;
/// ExtremeVectors whose lanes have extremes of their own, so that none waits for the one before.
constexpr std::int64_t extremes_at_once = 4;

using KeptPtr = std::shared_ptr<const Local>;

/// What a loop keeps.
struct Extreme {
  KeptPtr kept;
  ValuePtr term;
  bool is_largest = false;
  /// Whether a term that is not a number takes the place of what was kept.
  bool takes_nan = false;
};

/// Of `term` if `kept` is in the given relation to it, and of what is kept otherwise; or the other
/// way round.
std::optional<Extreme> chosen_extreme(const KeptPtr &kept, const Select &value) {
  const bool keeps_otherwise = same_value(value.otherwise(), kept);
  const ValuePtr &term = keeps_otherwise ? value.then() : value.otherwise();
  if (!keeps_otherwise && !same_value(value.then(), kept)) {
    return std::nullopt;
  }
  const auto *test = as<Binary>(value.condition());
  if (test == nullptr || mirrored(test->op) == test->op) { // no order
    return std::nullopt;
  }
  Op relation = Op::None; // of the term to what is kept
  if (same_value(test->left(), term) && same_value(test->right(), kept)) {
    relation = test->op;
  } else if (same_value(test->right(), term) && same_value(test->left(), kept)) {
    relation = mirrored(test->op);
  } else {
    return std::nullopt;
  }
  const bool is_larger = relation == Op::Gt || relation == Op::Ge;
  return Extreme{kept, term, is_larger == keeps_otherwise, !keeps_otherwise};
}

std::optional<Extreme> extreme_of(const LoopOutcome &outcome) {
  const KeptPtr &kept = outcome.local;
  if (const auto *select = as<Select>(outcome.value)) {
    return chosen_extreme(kept, *select);
  }
  for (const Op op : {Op::Max, Op::Min, Op::Fmax, Op::Fmin}) {
    const auto *both = as_binary(outcome.value, op);
    if (both == nullptr) {
      continue;
    }
    const bool is_left = same_value(both->left(), kept);
    if (!is_left && !same_value(both->right(), kept)) {
      return std::nullopt;
    }
    return Extreme{kept, is_left ? both->right() : both->left(), op == Op::Max || op == Op::Fmax,
                   op == Op::Max || op == Op::Min};
  }
  return std::nullopt;
}

class ExtremeVectors {
public:
  ExtremeVectors(const For &loop, std::vector<Extreme> extremes, Numbers &numbers)
      : loop_(loop), extremes_(std::move(extremes)),
        lanes_(term_vector_bytes / extremes_.front().kept->type.scalar.bytes()),
        vector_(loop.id, lanes_), numbers_(numbers) {}

  /// Null where the terms do not lie side by side.
  StmtPtr make() {
    const bool are_beside =
        std::all_of(extremes_.begin(), extremes_.end(), [&](const Extreme &each) {
          return each.kept->type == extremes_.front().kept->type && mentions(each.term, loop_.id) &&
                 vector_(each.term, loop_.lower);
        });
    if (!are_beside || is_short(loop_, lanes_)) {
      return nullptr;
    }
    const ValuePtr extent = sub(loop_.upper, loop_.lower);
    const auto is_open = numbered_local("is_open", {Bool, 1}); // what follows is still to be found
    const ValuePtr are_enough = binary_value(Op::Ge, extent, integer(fewest_vectors * lanes_));
    return block({declare_local(is_open->id, is_open->name, boolean(true)),
                  if_then(are_enough, found(is_open)),
                  if_then(is_open, for_loop(loop_, loop_.lower, loop_.upper, loop_.body()))});
  }

private:
  KeptPtr numbered_local(const std::string &name, ValueType type) {
    return local(numbers_.next(), name, type);
  }

  /// Of each lane the one that is further out.
  static StmtPtr takes(const Extreme &of, const KeptPtr &most, const ValuePtr &terms) {
    const ValuePtr beyond = binary_value(of.is_largest ? Op::Gt : Op::Lt, terms, most);
    return assign_local(most->id, most->name, select_value(beyond, terms, most));
  }

  StmtPtr found(const KeptPtr &is_open) {
    std::vector<StmtPtr> all;
    std::vector<std::vector<KeptPtr>> best(extremes_.size());
    std::vector<KeptPtr> odd(extremes_.size()); // lanes with a term that is no number
    for (size_t e = 0; e < extremes_.size(); ++e) {
      const ValueType type{extremes_[e].kept->type.scalar, lanes_};
      for (std::int64_t k = 0; k < extremes_at_once; ++k) {
        best[e].push_back(numbered_local(extremes_[e].is_largest ? "largest" : "least", type));
        all.push_back(declare_local(best[e].back()->id, best[e].back()->name,
                                    broadcast(extremes_[e].kept, lanes_)));
      }
      if (extremes_[e].takes_nan) {
        odd[e] = numbered_local("odd", {Bool, lanes_});
        all.push_back(declare_local(odd[e]->id, odd[e]->name, broadcast(boolean(false), lanes_)));
      }
    }
    const auto take = [&](size_t way, const ValuePtr &first) {
      std::vector<StmtPtr> taken;
      for (size_t e = 0; e < extremes_.size(); ++e) {
        const KeptPtr &most = best[e][way];
        const ValuePtr terms = vector_(extremes_[e].term, first);
        taken.push_back(takes(extremes_[e], most, terms));
        if (odd[e] != nullptr) {
          taken.push_back(assign_local(odd[e]->id, odd[e]->name,
                                       either(odd[e], binary_value(Op::Ne, terms, terms))));
        }
      }
      return block(std::move(taken));
    };
    const ValuePtr extent = sub(loop_.upper, loop_.lower);
    const std::int64_t strip = extremes_at_once * lanes_;
    const auto strips = numbered_local("strips", {Int64, 1});
    all.push_back(declare_local(strips->id, strips->name, floor_div(extent, integer(strip))));
    const auto number = variable(numbers_.next(), "s");
    std::vector<StmtPtr> together;
    for (std::int64_t k = 0; k < extremes_at_once; ++k) {
      const ValuePtr first =
          add(add(loop_.lower, mul(number, integer(strip))), integer(k * lanes_));
      together.push_back(take(static_cast<size_t>(k), first));
    }
    all.push_back(for_loop(number->id, number->name, integer(0), strips, LoopKind::Serial, 0,
                           block(std::move(together))));
    const auto other = variable(numbers_.next(), "v");
    const ValuePtr vectors = floor_div(add(extent, integer(lanes_ - 1)), integer(lanes_));
    const ValuePtr first =
        minimum(add(loop_.lower, mul(other, integer(lanes_))), sub(loop_.upper, integer(lanes_)));
    all.push_back(for_loop(other->id, other->name, mul(strips, integer(extremes_at_once)), vectors,
                           LoopKind::Serial, 0, take(0, first)));
    all.push_back(settled(is_open, best, odd));
    return block(std::move(all));
  }

  /// Keeps what was found, unless the loop might have kept another value.
  StmtPtr settled(const KeptPtr &is_open, const std::vector<std::vector<KeptPtr>> &best,
                  const std::vector<KeptPtr> &odd) {
    std::vector<StmtPtr> all;
    std::vector<StmtPtr> kept;
    ValuePtr is_in_doubt = boolean(false);
    for (size_t e = 0; e < extremes_.size(); ++e) {
      const KeptPtr &most = best[e].front();
      for (size_t k = 1; k < best[e].size(); ++k) {
        all.push_back(takes(extremes_[e], most, best[e][k]));
      }
      const KeptPtr &own = extremes_[e].kept;
      const auto one = numbered_local("one", own->type); // no lane is NaN, unless all are
      all.push_back(declare_local(
          one->id, one->name, reduce_lanes(extremes_[e].is_largest ? Op::Fmax : Op::Fmin, most)));
      is_in_doubt = either(is_in_doubt, binary_value(Op::Eq, one, zero_of(own->type.scalar)));
      is_in_doubt = either(is_in_doubt, binary_value(Op::Ne, own, own));
      if (odd[e] != nullptr) {
        is_in_doubt = either(is_in_doubt, reduce_lanes(Op::Or, odd[e]));
      }
      kept.push_back(assign_local(own->id, own->name, one));
    }
    all.push_back(assign_local(is_open->id, is_open->name, is_in_doubt));
    all.push_back(if_then(unary_value(Op::Not, is_open), block(std::move(kept))));
    return block(std::move(all));
  }

  const For &loop_;
  std::vector<Extreme> extremes_;
  int lanes_;
  TermsInLanes vector_;
  Numbers &numbers_;
};

class Extremes {
public:
  explicit Extremes(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    if (loop != nullptr && loop->prefetches.empty()) {
      if (auto kept = kept_by(*loop)) {
        if (StmtPtr made = ExtremeVectors(*loop, std::move(*kept), numbers_).make()) {
          return made;
        }
      }
    }
    return map_children(statement, *this);
  }

private:
  static std::optional<std::vector<Extreme>> kept_by(const For &loop) {
    const auto outcomes = loop_outcomes(loop.body(), most_kept);
    if (!outcomes || outcomes->empty()) {
      return std::nullopt;
    }
    std::vector<Extreme> all;
    for (const LoopOutcome &each : *outcomes) {
      auto found = extreme_of(each);
      if (!found || !found->kept->type.scalar.is_floating() ||
          found->kept->type.scalar.bytes() < 4 || found->kept->type.lanes != 1 ||
          reads_any(found->term, *outcomes)) {
        return std::nullopt;
      }
      all.push_back(std::move(*found));
    }
    return all;
  }

  Numbers numbers_;
};

} // namespace

StmtPtr keep_extremes(const StmtPtr &body) { return Extremes(body)(body); }

} // namespace tilewright
