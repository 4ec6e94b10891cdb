// What a loop keeps in one place while it runs: the elements that locals may stand for.
#pragma once

#include "loops/loop_ir.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// One element (or vector of elements) of a buffer that a loop reads or writes.
struct Element {
  std::int64_t buffer = 0;
  std::string name;
  ValueType type;
  std::vector<ValuePtr> subscripts;
  ValuePtr mask;                 ///< the lanes that are read and stored; null for all
  Op atomic = Op::None;          ///< other threads update it too, by this operation
  bool read_or_stored = false;   ///< not only updated atomically
  bool always_stored = false;    ///< each iteration stores it, once the loops around that store run
  std::vector<ValuePtr> running; ///< conditions under which they do
  Op sum = Op::None;             ///< only ever updated by lanes combined by this operation
  int sum_lanes = 0;
  int terms = 0;  ///< of such updates in the loop's body
  int stores = 0; ///< statements of the body that store it
};

/// Is it this element, under this mask?
bool same_element(const Element &element, std::int64_t buffer,
                  const std::vector<ValuePtr> &subscripts, int lanes, const ValuePtr &mask);

/// The lanes of `v` in the update element = op(element, reduce(op, v)); else null.
ValuePtr lanes_of_term(const Store &update);

/// The elements that may live in a local while the loop runs: each iteration stores them, and
/// nothing else in the loop is ever the same memory. `fewest_stores`: of those that so many
/// statements store.
std::vector<Element> promotable_elements(const For &loop, int fewest_stores = 0);

} // namespace tilewright
