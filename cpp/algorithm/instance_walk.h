// Which instances compute the parts of an expression: those of a branch where its condition holds,
// those of a reduction's body for each of its terms. Each node of the graph is come to once, with
// all instances of those who use it together, however many ways lead there.
#pragma once

#include "algorithm/expression.h"
#include "algorithm/possible_values.h"
#include "polyhedral/isl.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright {

struct InstanceNode {
  const ExprPtr &node;
  const isl::set &domain; ///< over `iterators`, the reduced ones around last
  const std::vector<std::string> &iterators;
  bool certain;   ///< no condition on data decides whether it is computed
  bool is_affine; ///< Select: its condition is, so that the branches have instances of their own
  /// Conditions on data that decide whether it is computed.
  const std::vector<Fact> &facts;
};

struct InstanceWalk {
  std::string name; ///< of the tuple of the instances
  /// Comes to each node after all who use it, once, or once where it is certain and once where it
  /// is not. Says whether to go on below the node.
  std::function<bool(const InstanceNode &)> visit;
  /// Where given, told the instances of a reduction's terms before what is computed for each.
  std::function<void(const Expr &reduce, const isl::set &terms)> terms = {};
  bool tells_certain = true; ///< false: all nodes are certain
  bool into_affine_conditions = true;
  SourceLocation where = {}; ///< for what is wrong with a reduction; else its own

  void operator()(const std::vector<ExprPtr> &roots, const isl::set &domain,
                  const std::vector<std::string> &iterators, bool certain = true,
                  const std::vector<Fact> &facts = {}) const;
  /// The parts of a condition (may be null), of which all but the first may not be asked.
  void walk_predicate(const ExprPtr &predicate, const isl::set &domain,
                      const std::vector<std::string> &iterators, bool certain = true,
                      const std::vector<Fact> &facts = {}) const;
};

} // namespace tilewright
