// Which iterators an expression means from outside: not those of its own reductions.
#pragma once

#include "algorithm/expression.h"

#include <set>
#include <string>
#include <unordered_map>

namespace tilewright {

/// Each node once: a shared one asks no further.
class FreeIterators {
public:
  const std::set<std::string> &of(const ExprPtr &expr);

private:
  /// References stay. The nodes must live as long as this does.
  std::unordered_map<const Expr *, std::set<std::string>> known_;
};

/// All iterators in an expression, those of its own reductions, too.
std::set<std::string> iterators_in(const ExprPtr &expr);

} // namespace tilewright
