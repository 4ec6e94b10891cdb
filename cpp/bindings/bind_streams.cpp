#include "bindings/bind_streams.h"

#include "algorithm/affine.h"
#include "algorithm/declaration_checks.h"
#include "algorithm/expression_depth.h"
#include "algorithm/function_copy.h"
#include "algorithm/instance_walk.h"
#include "algorithm/read_relations.h"
#include "bindings/bind_language.h"
#include "bindings/bind_sets.h"
#include "polyhedral/isl_lock.h"

#include <pybind11/stl.h>

#include <algorithm>
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

/// The parts of a computation's expressions, each with its instances: (the name of an iterator that
/// is a value there or "", { reader[i, reduced iterators] }). Iterators in affine subscripts and in
/// affine conditions are no values: they say which elements are read and which instances there are.
std::vector<std::pair<std::string, std::shared_ptr<IntegerSet>>>
computed_parts_of(const ComputationPtr &reader) {
  const IslLock lock;
  const OperationLimit limit(declaration_operation_limit);
  std::vector<std::pair<std::string, std::shared_ptr<IntegerSet>>> parts;
  for (const Piece &piece : reader->pieces) {
    require_stack(piece.value);
    InstanceWalk walk;
    walk.name = reader->name;
    walk.tells_certain = false;
    walk.into_affine_conditions = false;
    walk.where = piece.where;
    walk.visit = [&](const InstanceNode &at) {
      const Expr &node = *at.node;
      if (node.operands.empty() || node.kind == ExprKind::Access) {
        parts.emplace_back(node.kind == ExprKind::Iterator ? node.name : "",
                           held(IntegerSet(isl::union_set(at.domain))));
      }
      return node.kind != ExprKind::Access ||
             !std::all_of(node.operands.begin(), node.operands.end(), [&](const ExprPtr &each) {
               return to_affine(each, {reader->name, at.iterators}).has_value();
             });
    };
    walk({piece.value}, piece.domain, reader->iterators);
  }
  return parts;
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
  module.def("computed_parts", &computed_parts_of, py::arg("reader"));
  module.def("with_producers", &with_producers, py::arg("value"), py::arg("pairs"));
}

} // namespace tilewright
