// Sets and relations of integer points as values: what tw.Set and tw.Map hold.
#pragma once

#include "bindings/signals.h"
#include "polyhedral/integer_set.h"

#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

namespace tilewright {

void bind_sets(pybind11::module_ &module);

/// A value as Python holds it: freed with isl's lock. Made with it, too.
template <class Value>
std::shared_ptr<Value> held(Value value) {
  return make_isl_shared<Value>(std::move(value));
}

} // namespace tilewright
