#include "passes/terms_in_lanes.h"

#include "loops/linear.h"
#include "loops/summing_loops.h"
#include "passes/loop_outcomes.h"

#include <algorithm>
#include <vector>

namespace tilewright {

bool is_short(const For &loop, int lanes) {
  const auto *least = as_binary(loop.upper, Op::Min);
  const auto first = as_integer(loop.lower);
  const auto end = as_integer(least != nullptr ? least->right() : loop.upper);
  return first && end && *end - *first < fewest_vectors * lanes;
}

ValuePtr TermsInLanes::operator()(const ValuePtr &value, const ValuePtr &at) const {
  if (!mentions(value, variable_)) {
    return value->type.lanes == 1 ? broadcast(value, lanes_) : nullptr;
  }
  if (const auto *read = as<Load>(value)) {
    return loaded(*read, at);
  }
  std::vector<ValuePtr> parts;
  for (const ValuePtr &operand : value->operands) {
    parts.push_back((*this)(operand, at));
    if (!parts.back()) {
      return nullptr;
    }
  }
  if (const auto *unary = as<Unary>(value)) {
    return unary_value(unary->op, parts[0]);
  }
  if (const auto *binary = as<Binary>(value)) {
    return binary_value(binary->op, parts[0], parts[1]);
  }
  if (is<Cast>(value)) {
    return cast_value(parts[0], value->type.scalar);
  }
  if (const auto *call = as<Call>(value)) {
    return call_value(call->op, std::move(parts), value->type.scalar);
  }
  return is<Select>(value) ? select_value(parts[0], parts[1], parts[2]) : nullptr;
}

ValuePtr TermsInLanes::loaded(const Load &read, const ValuePtr &at) const {
  std::vector<ValuePtr> subscripts = read.subscripts();
  if (read.type.lanes != 1 || subscripts.empty() || !is_index(subscripts.back()) ||
      std::any_of(subscripts.begin(), subscripts.end() - 1,
                  [&](const ValuePtr &each) { return mentions(each, variable_); })) {
    return nullptr;
  }
  const auto step = linear_of(subscripts.back());
  const auto own =
      step ? std::find_if(step->terms.begin(), step->terms.end(),
                          [&](const Linear::Term &term) { return mentions(term.atom, variable_); })
           : std::vector<Linear::Term>::const_iterator();
  if (!step || own == step->terms.end() || !is<Variable>(own->atom) || own->coefficient != 1) {
    return nullptr;
  }
  subscripts.back() = ramp(with_variable(subscripts.back(), variable_, at), 1, lanes_);
  return load(read.buffer, read.name, {read.type.scalar, lanes_}, std::move(subscripts));
}

} // namespace tilewright
