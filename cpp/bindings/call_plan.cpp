#include "bindings/call_plan.h"

#include "bindings/device_array.h"

#include <utility>

namespace tilewright {

namespace {

std::int64_t device_number(const BoundArray &array) {
  return reinterpret_cast<std::int64_t>(&array.on_device->device());
}

/// Hands each number of the key to `number`, which says whether to go on.
template <class Visitor>
bool visit_key(const BoundCall &call, const Visitor &number) {
  for (const BoundArray &array : call.arrays) {
    if (!array.is_given()) {
      if (!number(-1)) {
        return false;
      }
      continue;
    }
    if (array.on_device != nullptr && (!number(-2) || !number(device_number(array)))) {
      return false;
    }
    if (!number(array.nd)) {
      return false;
    }
    for (int axis = 0; axis < array.nd; ++axis) {
      if (!number(array.dimensions[axis]) || !number(array.strides[axis])) {
        return false;
      }
    }
  }
  if (!call.has_given_parameters) {
    return true;
  }
  for (size_t i = 0; i < call.sources.size(); ++i) {
    const bool is_given = call.sources[i].kind == ParameterSource::Kind::Keyword;
    if (!number(is_given ? 1 : 0) || (is_given && !number(call.parameters[i]))) {
      return false;
    }
  }
  return true;
}

} // namespace

std::vector<std::int64_t> plan_key(const BoundCall &call) {
  std::vector<std::int64_t> key;
  visit_key(call, [&](std::int64_t number) {
    key.push_back(number);
    return true;
  });
  return key;
}

bool CallPlan::fits(const BoundCall &call) const {
  const std::int64_t *next = key.data();
  const std::int64_t *const end = next + key.size();
  return visit_key(call, [&](std::int64_t number) { return next != end && *next++ == number; }) &&
         next == end;
}

std::shared_ptr<CallPlan> CallPlans::find(const BoundCall &call) {
  for (size_t i = 0; i < plans_.size() && plans_[i] != nullptr; ++i) {
    if (plans_[i]->fits(call)) {
      if (i != 0) {
        std::swap(plans_[0], plans_[i]);
      }
      return plans_[0];
    }
  }
  return nullptr;
}

void CallPlans::remember(std::shared_ptr<CallPlan> plan) {
  for (size_t i = plans_.size(); i-- > 1;) {
    plans_[i] = std::move(plans_[i - 1]);
  }
  plans_[0] = std::move(plan);
}

} // namespace tilewright
