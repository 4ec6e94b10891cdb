#include "bindings/bind_streams.h"

#include "algorithm/declaration_checks.h"
#include "algorithm/expression_depth.h"
#include "algorithm/function_copy.h"
#include "algorithm/read_relations.h"
#include "bindings/bind_language.h"
#include "bindings/bind_sets.h"
#include "polyhedral/isl_lock.h"

#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

/// (producer, { reader[i] -> producer[e] }, whether all subscripts are affine) of each read.
std::vector<std::tuple<ComputationPtr, std::shared_ptr<IntegerMap>, bool>>
reads_of(const ComputationPtr &reader) {
  const IslLock lock;
  const OperationLimit limit(declaration_operation_limit);
  for (const Piece &piece : reader->pieces) {
    require_stack(piece.value);
  }
  std::vector<std::tuple<ComputationPtr, std::shared_ptr<IntegerMap>, bool>> all;
  for (ReadRelation &read : read_relations(*reader)) {
    all.emplace_back(read.producer, held(IntegerMap(isl::union_map(read.elements))), read.exact);
  }
  return all;
}

/// The expression with reads of some computations as reads of others.
ExprHandle with_producers(const ExprHandle &value,
                          const std::vector<std::pair<ComputationPtr, ComputationPtr>> &pairs) {
  const IslLock lock;
  require_stack(value.expr);
  std::map<const Computation *, ComputationPtr> others;
  for (const auto &[old, other] : pairs) {
    others.emplace(old.get(), other);
  }
  return {rewrite_accesses(value.expr, [&](const ExprPtr &node) {
    const auto other = others.find(node->producer.get());
    return other == others.end() ? node : with_producer(node, other->second);
  })};
}

} // namespace

void bind_streams(py::module_ &module) {
  module.def("read_relations", &reads_of, py::arg("reader"));
  module.def("with_producers", &with_producers, py::arg("value"), py::arg("pairs"));
}

} // namespace tilewright
