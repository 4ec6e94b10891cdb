#include "algorithm/repeated_parts.h"

#include "algorithm/block.h"
#include "algorithm/expression_depth.h"
#include "algorithm/expression_key.h"
#include "algorithm/free_iterators.h"
#include "algorithm/reductions.h"

#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

/// By key: reductions, and the loops of costly values. A loop is the reduction around the value,
/// null for that over the results.
class Collection {
public:
  std::map<std::string, std::set<const Expr *>> reductions;
  std::map<std::string, std::set<const Expr *>> loops;

  void add(const ExprPtr &root) {
    std::vector<std::pair<ExprPtr, const Expr *>> open = {{root, nullptr}};
    while (!open.empty()) {
      const auto [node, loop] = open.back();
      open.pop_back();
      if (!seen_.insert({node.get(), loop}).second) {
        continue;
      }
      if (node->kind == ExprKind::Reduce) {
        reductions[key(node)].insert(node.get());
      } else if (node->kind == ExprKind::Fold) { // by the key that its parts are looked up with
        reductions[has_several_states(*node) ? key_of(first_result(node)).text : key(node)].insert(
            node->operands.front().get());
      } else if (RepeatedParts::is_costly(*node)) {
        loops[key(node)].insert(loop);
      }
      const Expr *inside = node->kind == ExprKind::Reduce ? node.get() : loop;
      for (const ExprPtr &operand : node->operands) {
        open.emplace_back(operand, inside);
      }
    }
  }

private:
  const std::string &key(const ExprPtr &node) {
    auto found = keys_.find(node.get());
    if (found == keys_.end()) {
      found = keys_.emplace(node.get(), key_of(node).text).first;
    }
    return found->second;
  }

  std::set<std::pair<const Expr *, const Expr *>> seen_;
  std::map<const Expr *, std::string> keys_;
};

/// The costly values of one computation that are the same in all iterations of a loop outside.
class ValuesComputedAgain {
public:
  explicit ValuesComputedAgain(const Computation &computation) {
    for (const Piece &piece : computation.pieces) {
      std::vector<Loop> loops;
      for (size_t d = 0; d < computation.rank(); ++d) {
        loops.push_back({computation.iterators[d], false, {}, {&computation, d}});
      }
      add(piece.value, loops);
    }
  }

  std::vector<ExprPtr> found;

private:
  struct Loop {
    std::string iterator;
    bool is_of_data; ///< data decide over its iterations: perhaps each runs once in all
    std::optional<std::int64_t> terms;                  ///< how many, of a reduction
    std::pair<const Computation *, size_t> result = {}; ///< whose iterator it is, and which
  };

  /// How many iterations there are, where that is a number.
  static std::optional<std::int64_t> extent_of(const Loop &loop) {
    if (loop.result.first == nullptr) {
      return loop.terms;
    }
    const isl::set domain = loop.result.first->domain;
    const auto d = static_cast<int>(loop.result.second);
    const auto low = whole_number(isl_set_dim_min_val(domain.copy(), d));
    const auto high = whole_number(isl_set_dim_max_val(domain.copy(), d));
    return low && high ? std::optional(*high - *low + 1) : std::nullopt;
  }

  static std::optional<std::int64_t> terms_of(const ReduceRange &range) {
    const auto number = [](const ExprPtr &bound) {
      const auto *value =
          bound->kind == ExprKind::Constant ? std::get_if<std::int64_t>(&bound->value) : nullptr;
      return value == nullptr ? std::nullopt : std::optional(*value);
    };
    const auto low = number(range.lower);
    const auto high = number(range.upper);
    return low && high ? std::optional(*high - *low) : std::nullopt;
  }

  void add(const ExprPtr &root, const std::vector<Loop> &loops) {
    // Reductions have loops of their own; subscripts and loops over states stay as they are.
    const auto goes_below = [&](const Expr &node) {
      return node.kind != ExprKind::Reduce && node.kind != ExprKind::Access &&
             node.kind != ExprKind::While && !RepeatedParts::is_costly(node);
    };
    for (const ExprPtr &node : parents_first({root}, goes_below)) {
      if (node->kind == ExprKind::Reduce) {
        // What does not need all iterators is isolated as a whole, and has those loops alone.
        std::vector<Loop> inner = loops;
        std::erase_if(inner, [&used = free_.of(node)](const Loop &loop) {
          return !used.contains(loop.iterator);
        });
        for (const ReduceRange &range : node->ranges) {
          inner.push_back({range.iterator,
                           contains_kind(range.lower, ExprKind::Access) ||
                               contains_kind(range.upper, ExprKind::Access),
                           terms_of(range)});
        }
        for (const ExprPtr &operand : node->operands) {
          add(operand, inner);
        }
      } else if (RepeatedParts::is_costly(*node)) {
        if (is_computed_again(node, loops)) {
          found.push_back(node);
        } else {
          for (const ExprPtr &operand : node->operands) {
            add(operand, loops);
          }
        }
      }
    }
  }

  bool is_computed_again(const ExprPtr &value, const std::vector<Loop> &loops) {
    const std::set<std::string> &used = free_.of(value);
    if (used.empty()) {
      return !loops.empty(); // one value for all
    }
    bool again = false;
    bool others = false; // a loop that it does not depend on, outside of the one at hand
    for (const Loop &loop : loops) {
      if (!used.contains(loop.iterator)) {
        others = true;
      } else if (loop.is_of_data) {
        return false;
      } else {
        again = again || others;
      }
    }
    return again && (has_an_element_for_each(value, used) || are_few(used, loops));
  }

  /// Are there so few values that a table of them stays in a cache, whatever the sizes?
  static bool are_few(const std::set<std::string> &used, const std::vector<Loop> &loops) {
    std::int64_t values = 1;
    for (const Loop &loop : loops) {
      if (used.contains(loop.iterator)) {
        const std::int64_t extent = extent_of(loop).value_or(most_values + 1);
        if (extent > most_values || extent * values > most_values) {
          return false;
        }
        values *= extent;
      }
    }
    return true;
  }

  static constexpr std::int64_t most_values = 1 << 14;

  /// Are there no more values than elements of one array: does one of them have all iterators
  /// among its subscripts?
  static bool has_an_element_for_each(const ExprPtr &value, const std::set<std::string> &used) {
    bool has = false;
    visit(value, [&](const ExprPtr &node) {
      if (has || node->kind != ExprKind::Access) {
        return;
      }
      std::set<std::string> subscripts;
      for (const ExprPtr &subscript : node->operands) {
        if (subscript->kind == ExprKind::Iterator) {
          subscripts.insert(subscript->name);
        }
      }
      has = std::includes(subscripts.begin(), subscripts.end(), used.begin(), used.end());
    });
    return has;
  }

  FreeIterators free_;
};

/// x ** 2, x ** -1, x ** 0.5 and the like.
bool is_power_of_one_operation(const Expr &power) {
  const Expr &exponent = *power.operands[1];
  if (exponent.kind != ExprKind::Constant) {
    return false;
  }
  constexpr double most = 2;
  const auto *whole = std::get_if<std::int64_t>(&exponent.value);
  const auto *real = std::get_if<double>(&exponent.value);
  const double value = whole != nullptr  ? static_cast<double>(*whole)
                       : real != nullptr ? *real
                                         : most + 1;
  return std::abs(value) <= most && 2 * value == std::floor(2 * value);
}

void take_several(const std::map<std::string, std::set<const Expr *>> &found,
                  std::set<std::string> &several) {
  for (const auto &[key, places] : found) {
    if (places.size() > 1 && !key.empty()) { // else too large to be compared
      several.insert(key);
    }
  }
}

} // namespace

RepeatedParts::RepeatedParts(const Function &function) {
  find_folds(function);
  for (const ComputationPtr &computation : function.computations) {
    Collection collection;
    for (const Piece &piece : computation->pieces) {
      if (is_block_call(*computation)) {
        break; // the parts that it reads are no values
      }
      collection.add(piece.value);
    }
    take_several(collection.reductions, reductions_);
    take_several(collection.loops, values_);
    for (const ExprPtr &value : ValuesComputedAgain(*computation).found) {
      if (std::string key = key_of(value).text; !key.empty()) {
        values_.insert(std::move(key));
      }
    }
  }
}

void RepeatedParts::find_folds(const Function &function) {
  std::map<std::string, std::set<const Computation *>> readers;
  for (const ComputationPtr &computation : function.computations) {
    std::set<const Expr *> seen;
    for (const Piece &piece : computation->pieces) {
      if (!contains_kind(piece.value, ExprKind::Fold)) {
        continue;
      }
      visit(piece.value, [&](const ExprPtr &node) {
        if (has_several_states(*node) && seen.insert(node->operands.front().get()).second) {
          readers[key_of(first_result(node)).text].insert(computation.get());
        }
      });
    }
  }
  for (const auto &[key, computations] : readers) {
    if (computations.size() > 1 && !key.empty()) {
      folds_.insert(key);
    }
  }
}

bool RepeatedParts::computes_again(const Computation &computation) {
  return !is_block_call(computation) && !ValuesComputedAgain(computation).found.empty();
}

bool is_elementary(Op op) {
  switch (op) {
  case Op::Pow:
  case Op::Cbrt:
  case Op::Exp:
  case Op::Exp2:
  case Op::Expm1:
  case Op::Log:
  case Op::Log2:
  case Op::Log10:
  case Op::Log1p:
  case Op::Sin:
  case Op::Cos:
  case Op::Tan:
  case Op::Arcsin:
  case Op::Arccos:
  case Op::Arctan:
  case Op::Arctan2:
  case Op::Sinh:
  case Op::Cosh:
  case Op::Tanh:
  case Op::Arcsinh:
  case Op::Arccosh:
  case Op::Arctanh:
  case Op::Erf:
    return true;
  default:
    return false;
  }
}

bool RepeatedParts::is_costly(const Expr &part) {
  if (part.type.is_complex() || (part.kind != ExprKind::Call && part.kind != ExprKind::Binary)) {
    return false;
  }
  return is_elementary(part.op) && !(part.op == Op::Pow && is_power_of_one_operation(part));
}

} // namespace tilewright
