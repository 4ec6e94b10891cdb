// Which parts of an expression are computed whenever it is: what selects decide is not, nor what
// reductions and loops have inside.
#pragma once

#include "algorithm/expression.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tilewright {

/// Of expressions that live as long as this: what was found out about a node is kept.
class ComputedParts {
public:
  /// The largest parts of `then` that `otherwise` has, too, and that are computed whichever of the
  /// two is. Leaves are left out.
  std::vector<ExprPtr> of_both(const ExprPtr &then, const ExprPtr &otherwise);

private:
  /// Bits by number: parts have smaller numbers than what is made of them.
  using Parts = std::vector<std::uint64_t>;

  const Parts &of(const ExprPtr &node);
  bool contains(const Parts &parts, const Expr &node) const;

  struct Known {
    size_t number;
    Parts parts;
  };
  std::unordered_map<const Expr *, Known> known_; ///< references stay
};

} // namespace tilewright
