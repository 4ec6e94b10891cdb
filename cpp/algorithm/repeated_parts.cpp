#include "algorithm/repeated_parts.h"

#include "algorithm/block.h"
#include "algorithm/expression_depth.h"
#include "algorithm/expression_key.h"
#include "algorithm/free_iterators.h"
#include "algorithm/reductions.h"

#include <algorithm>
#include <map>
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
      for (const std::string &iterator : computation.iterators) {
        loops.push_back({iterator, false});
      }
      add(piece.value, loops);
    }
  }

  std::vector<ExprPtr> found;

private:
  struct Loop {
    std::string iterator;
    bool is_of_data; ///< data decide over its iterations: perhaps each runs once in all
  };

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
          inner.push_back({range.iterator, contains_kind(range.lower, ExprKind::Access) ||
                                               contains_kind(range.upper, ExprKind::Access)});
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
    return again && has_an_element_for_each(value, used);
  }

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

bool RepeatedParts::is_costly(const Expr &part) {
  if (part.type.is_complex()) {
    return false;
  }
  switch (part.op) {
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
    return part.kind == ExprKind::Call || part.kind == ExprKind::Binary;
  default:
    return false;
  }
}

} // namespace tilewright
