#include "algorithm/expression_key.h"

#include "algorithm/canonical_writer.h"
#include "algorithm/expression_depth.h"
#include "algorithm/free_iterators.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace tilewright {

namespace {

constexpr std::uint64_t largest = 2000;

using Names = std::map<std::string, ExprPtr>;

ExprPtr renamed(const ExprPtr &value, const Names &names) {
  return value ? substitute(value,
                            [&](const std::string &name) {
                              const auto found = names.find(name);
                              return found == names.end() ? nullptr : found->second;
                            })
               : nullptr;
}

/// Names reduced iterators by how many reductions stand in theirs, which no name from outside can
/// be.
class PlainRanges {
public:
  /// The expression, and how deep reductions are nested in it.
  std::pair<ExprPtr, int> operator()(const ExprPtr &node) {
    if (const auto found = done_.find(node.get()); found != done_.end()) {
      return found->second;
    }
    count_visit();
    int height = 0;
    std::vector<ExprPtr> operands;
    for (const ExprPtr &operand : node->operands) {
      auto [plain, nested] = (*this)(operand);
      operands.push_back(std::move(plain));
      height = std::max(height, nested);
    }
    ExprPtr result = with_operands(node, std::move(operands));
    if (node->kind == ExprKind::Reduce) {
      if (node->predicate) {
        auto [plain, nested] = (*this)(node->predicate);
        result = with_predicate(result, plain);
        height = std::max(height, nested);
      }
      result = with_plain_ranges(*result, ++height);
    }
    return done_.emplace(node.get(), std::pair(result, height)).first->second;
  }

private:
  static ExprPtr with_plain_ranges(const Expr &reduction, int height) {
    Names names;
    Expr plain = reduction;
    for (size_t r = 0; r < plain.ranges.size(); ++r) {
      ReduceRange &range = plain.ranges[r];
      range.lower = renamed(range.lower, names);
      range.upper = renamed(range.upper, names);
      const std::string name = "%" + std::to_string(height) + "." + std::to_string(r);
      names[range.iterator] = iterator(name);
      range.iterator = name;
    }
    for (ExprPtr &operand : plain.operands) {
      operand = renamed(operand, names);
    }
    plain.condition = renamed(plain.condition, names);
    plain.predicate = renamed(plain.predicate, names);
    return finished(std::move(plain));
  }

  std::unordered_map<const Expr *, std::pair<ExprPtr, int>> done_;
};

/// Iterators in the order in which they are written.
void collect(const ExprPtr &node, std::set<const Expr *> &seen, std::vector<std::string> &into) {
  if (!node || !seen.insert(node.get()).second) {
    return;
  }
  if (node->kind == ExprKind::Iterator &&
      std::find(into.begin(), into.end(), node->name) == into.end()) {
    into.push_back(node->name);
  }
  for (const ReduceRange &range : node->ranges) {
    collect(range.lower, seen, into);
    collect(range.upper, seen, into);
  }
  for (const ExprPtr &operand : node->operands) {
    collect(operand, seen, into);
  }
  collect(node->condition, seen, into);
  collect(node->predicate, seen, into);
}

} // namespace

ExpressionKey key_of(const ExprPtr &expr) {
  if (tree_size_of(expr) > largest) {
    return {};
  }
  const ExprPtr plain = PlainRanges()(expr).first;
  FreeIterators free;
  const std::set<std::string> &outside = free.of(plain);
  ExpressionKey key;
  std::set<const Expr *> seen;
  collect(plain, seen, key.iterators);
  std::erase_if(key.iterators, [&](const std::string &name) { return !outside.contains(name); });
  Names names;
  for (size_t i = 0; i < key.iterators.size(); ++i) {
    names[key.iterators[i]] = iterator("%" + std::to_string(i));
  }
  CanonicalWriter writer;
  writer.expression("key", renamed(plain, names));
  key.text = writer.take();
  return key;
}

} // namespace tilewright
