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

#include <isl/set.h>
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

using Reads = std::vector<std::tuple<ComputationPtr, std::shared_ptr<IntegerMap>, bool>>;

/// (producer, { reader[i] -> producer[e] }, whether all subscripts are affine) of each read; with
/// the reduced iterators behind i if each term of a reduction counts.
Reads reads_of(const ComputationPtr &reader, bool of_terms) {
  const IslLock lock;
  const OperationLimit limit(declaration_operation_limit);
  for (const Piece &piece : reader->pieces) {
    require_stack(piece.value);
  }
  Reads all;
  for (ReadRelation &read : of_terms ? read_instances(*reader) : read_relations(*reader)) {
    all.emplace_back(read.producer, held(IntegerMap(isl::union_map(read.elements))), read.exact);
  }
  return all;
}

void check_defined_reads_of(const ComputationPtr &reader) {
  const IslLock lock;
  const OperationLimit limit(declaration_operation_limit);
  for (const Piece &piece : reader->pieces) {
    require_stack(piece.value);
  }
  check_defined_reads(*reader);
}

/// The parts of a computation's expressions, each with its instances: (the name of an iterator that
/// is a value there or "", { reader[i, reduced iterators] }); and where affine conditions hold,
/// since a part may stand in both branches. Iterators in affine subscripts and in affine conditions
/// are no values: they say which elements are read and which instances there are.
std::vector<std::pair<std::string, std::shared_ptr<IntegerSet>>>
computed_parts_of(const ComputationPtr &reader) {
  const IslLock lock;
  const OperationLimit limit(declaration_operation_limit);
  std::vector<std::pair<std::string, isl::set>> parts;
  const auto add = [&](const std::string &iterator, const isl::set &instances) {
    const bool is_known = std::any_of(parts.begin(), parts.end(), [&](const auto &part) {
      return part.first == iterator &&
             isl::manage(isl_set_plain_is_equal(part.second.get(), instances.get())).is_true();
    });
    if (!is_known) {
      parts.emplace_back(iterator, instances);
    }
  };
  for (const Piece &piece : reader->pieces) {
    require_stack(piece.value);
    InstanceWalk walk;
    walk.name = reader->name;
    walk.tells_certain = false;
    walk.into_affine_conditions = false;
    walk.where = piece.where;
    walk.visit = [&](const InstanceNode &at) {
      const Expr &node = *at.node;
      const IterationSpace space{reader->name, at.iterators};
      add(node.kind == ExprKind::Iterator ? node.name : "", at.domain);
      if (node.kind == ExprKind::Select && at.is_affine) {
        if (const auto holds = to_set(node.operands[0], space)) {
          add("", at.domain.intersect(*holds));
        }
      }
      return node.kind != ExprKind::Access ||
             !std::all_of(node.operands.begin(), node.operands.end(),
                          [&](const ExprPtr &each) { return to_affine(each, space).has_value(); });
    };
    walk({piece.value}, piece.domain, reader->iterators);
  }
  std::vector<std::pair<std::string, std::shared_ptr<IntegerSet>>> found;
  for (const auto &[iterator, instances] : parts) {
    found.emplace_back(iterator, held(IntegerSet(isl::union_set(instances))));
  }
  return found;
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
  module.def("check_defined_reads", &check_defined_reads_of, py::arg("reader"));
  module.def("read_relations", &reads_of, py::arg("reader"), py::arg("of_terms") = false);
  module.def("computed_parts", &computed_parts_of, py::arg("reader"));
  module.def("with_producers", &with_producers, py::arg("value"), py::arg("pairs"));
}

} // namespace tilewright
