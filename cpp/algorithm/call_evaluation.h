// Functions of C and blocks in the evaluator. Each instance of a block runs once, on copies of the
// parts that it reads, and what it writes is kept for those who read its elements.
#pragma once

#include "algorithm/block.h"
#include "algorithm/evaluator_program.h"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace tilewright {

class CallEvaluation {
public:
  /// The next argument of the call that follows.
  void push(const ScalarValue &argument) { arguments_.push_back(argument); }

  /// The call with these arguments, of the instance that begins with `iterators`, so many instances
  /// deep.
  ScalarValue call(const ExternCall &site, const ScalarValue *iterators, size_t depth);

private:
  ScalarValue run(const ExternFunction &call, std::span<const ScalarValue> instance, size_t depth);
  /// An element of what an instance wrote.
  ScalarValue element(const ExternFunction &result) const;

  struct Written {
    std::vector<std::int64_t> extents;
    std::vector<char> bytes;
  };
  using Instance = std::pair<const BlockFunction *, std::vector<std::int64_t>>;

  std::vector<ScalarValue> arguments_;
  std::map<size_t, std::vector<ScalarValue>> gathered_; ///< elements of parts, by depth
  std::map<Instance, std::vector<Written>> written_;
};

} // namespace tilewright
