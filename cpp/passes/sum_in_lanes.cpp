#include "passes/sum_in_lanes.h"

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
constexpr size_t most_sums = 3;
/// Vectors that are added to sums of their own, so that none waits for the one before.
constexpr std::int64_t sums_at_once = 4;

using SumPtr = std::shared_ptr<const Local>;

/// total = total + term
struct LoopSum {
  SumPtr total;
  ValuePtr term;
};

std::optional<LoopSum> sum_of(const LoopStatement &statement) {
  const auto *assignment = as<AssignLocal>(statement);
  const auto *both = assignment != nullptr && assignment->any_order
                         ? as_binary(assignment->value, Op::Add)
                         : nullptr;
  const auto *total = both != nullptr ? as<Local>(both->left()) : nullptr;
  if (total == nullptr || total->id != assignment->id) {
    return std::nullopt;
  }
  const ValueType type = total->type;
  if (!type.scalar.is_floating() || type.scalar.bytes() < 4 || type.lanes != 1) {
    return std::nullopt;
  }
  return LoopSum{local(total->id, total->name, type), both->right()};
}

std::optional<std::vector<LoopSum>> sums_of(const For &loop) {
  const StmtPtr &body = loop.body();
  const std::vector<StmtPtr> statements =
      is<Block>(body) ? body->children : std::vector<StmtPtr>{body};
  std::vector<LoopSum> all;
  for (const StmtPtr &statement : statements) {
    auto found = sum_of(*statement);
    if (!found || all.size() == most_sums) {
      return std::nullopt;
    }
    all.push_back(std::move(*found));
  }
  const bool are_apart = std::all_of(all.begin(), all.end(), [&](const LoopSum &one) {
    return one.total->type == all.front().total->type &&
           std::none_of(all.begin(), all.end(), [&](const LoopSum &other) {
             return reads_local(one.term, other.total->id);
           });
  });
  return are_apart && !all.empty() ? std::optional(std::move(all)) : std::nullopt;
}

class SumVectors {
public:
  SumVectors(const For &loop, std::vector<LoopSum> sums, Numbers &numbers)
      : loop_(loop), sums_(std::move(sums)),
        lanes_(term_vector_bytes / sums_.front().total->type.scalar.bytes()),
        vector_(loop.id, lanes_), numbers_(numbers) {}

  /// Null where the terms do not lie side by side.
  StmtPtr make() {
    const bool are_beside = std::all_of(sums_.begin(), sums_.end(), [&](const LoopSum &each) {
      return mentions(each.term, loop_.id) && vector_(each.term, loop_.lower);
    });
    if (!are_beside || is_short(loop_, lanes_)) {
      return nullptr;
    }
    const ValuePtr extent = sub(loop_.upper, loop_.lower);
    const ValuePtr are_enough = binary_value(Op::Ge, extent, integer(fewest_vectors * lanes_));
    const StmtPtr plain = for_loop(loop_, loop_.lower, loop_.upper, loop_.body());
    return if_then(are_enough, in_vectors(extent), plain);
  }

private:
  SumPtr numbered_local(const std::string &name, ValueType type) {
    return local(numbers_.next(), name, type);
  }

  static StmtPtr adds(const SumPtr &total, const ValuePtr &term) {
    return assign_local(total->id, total->name, binary_value(Op::Add, total, term), Op::Add);
  }

  StmtPtr in_vectors(const ValuePtr &extent) {
    std::vector<StmtPtr> all;
    std::vector<std::vector<SumPtr>> partial(sums_.size());
    for (size_t s = 0; s < sums_.size(); ++s) {
      const ValueType type{sums_[s].total->type.scalar, lanes_};
      for (std::int64_t k = 0; k < sums_at_once; ++k) {
        partial[s].push_back(numbered_local("sums", type));
        all.push_back(declare_local(partial[s].back()->id, partial[s].back()->name,
                                    broadcast(zero_of(type.scalar), lanes_)));
      }
    }
    const auto add_vector = [&](size_t way, const ValuePtr &first) {
      std::vector<StmtPtr> added;
      for (size_t s = 0; s < sums_.size(); ++s) {
        added.push_back(adds(partial[s][way], vector_(sums_[s].term, first)));
      }
      return block(std::move(added));
    };
    const std::int64_t strip = sums_at_once * lanes_;
    const auto strips = numbered_local("strips", {Int64, 1});
    const auto vectors = numbered_local("vectors", {Int64, 1});
    all.push_back(declare_local(strips->id, strips->name, floor_div(extent, integer(strip))));
    all.push_back(declare_local(vectors->id, vectors->name, floor_div(extent, integer(lanes_))));
    const auto number = variable(numbers_.next(), "s");
    std::vector<StmtPtr> together;
    for (std::int64_t k = 0; k < sums_at_once; ++k) {
      together.push_back(
          add_vector(static_cast<size_t>(k),
                     add(add(loop_.lower, mul(number, integer(strip))), integer(k * lanes_))));
    }
    all.push_back(for_loop(number->id, number->name, integer(0), strips, LoopKind::Serial, 0,
                           block(std::move(together))));
    const auto other = variable(numbers_.next(), "v");
    all.push_back(for_loop(other->id, other->name, mul(strips, integer(sums_at_once)), vectors,
                           LoopKind::Serial, 0,
                           add_vector(0, add(loop_.lower, mul(other, integer(lanes_))))));
    all.push_back(for_loop(loop_, add(loop_.lower, mul(vectors, integer(lanes_))), loop_.upper,
                           loop_.body()));
    for (size_t s = 0; s < sums_.size(); ++s) {
      const std::vector<SumPtr> &own = partial[s];
      const ValuePtr lower = binary_value(Op::Add, own[0], own[1]);
      const ValuePtr upper = binary_value(Op::Add, own[2], own[3]);
      all.push_back(
          adds(sums_[s].total, reduce_lanes(Op::Add, binary_value(Op::Add, lower, upper))));
    }
    return block(std::move(all));
  }

  const For &loop_;
  std::vector<LoopSum> sums_;
  int lanes_;
  TermsInLanes vector_;
  Numbers &numbers_;
};

class Sums {
public:
  explicit Sums(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    if (loop != nullptr && loop->prefetches.empty()) {
      if (auto sums = sums_of(*loop)) {
        if (StmtPtr made = SumVectors(*loop, std::move(*sums), numbers_).make()) {
          return made;
        }
      }
    }
    return map_children(statement, *this);
  }

private:
  Numbers numbers_;
};

} // namespace

StmtPtr sum_in_lanes(const StmtPtr &body) { return Sums(body)(body); }

} // namespace tilewright
