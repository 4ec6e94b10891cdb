// isl's expressions over loop variables and parameters as values of the loop IR.
#pragma once

#include "loops/build.h"
#include "lowering/loop_scan.h"
#include "polyhedral/isl.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilewright {

class AstExpressions {
public:
  explicit AstExpressions(const std::vector<std::string> &parameters,
                          const std::map<std::string, std::int64_t> &fixed = {});

  void set(const std::string &name, const ValuePtr &value) { names_[name] = value; }

  ValuePtr translate(const isl::ast_expr &expr) const;
  /// What isl says in a place where a condition stands: it writes 1 for what always holds.
  ValuePtr condition(const isl::ast_expr &expr) const;
  ValuePtr translate(const LoopBound &bound) const;
  /// A quasi-affine function of `arguments`.
  ValuePtr translate(const isl::aff &aff, const std::vector<ValuePtr> &arguments) const;

  /// What a loop is called in isl's expressions.
  static std::string loop_key(int level) { return "t" + std::to_string(2 * level + 1); }
  const ValuePtr &loop(int level) const { return names_.at(loop_key(level)); }

private:
  ValuePtr translate_operation(const isl::ast_expr &expr) const;

  std::map<std::string, ValuePtr> names_;
};

} // namespace tilewright
