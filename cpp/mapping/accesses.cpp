#include "mapping/accesses.h"

#include "algorithm/affine.h"

namespace tilewright {

namespace {

class ReadCollector {
public:
  explicit ReadCollector(const Statement &statement)
      : statement_(statement), outer_(static_cast<unsigned>(statement.iterators.size())) {}

  std::vector<ReadAccess> collect() {
    if (statement_.predicate) {
      walk(statement_.predicate, statement_.domain, statement_.iterators);
    }
    // What the predicate may leave out is a dependence all the same.
    walk(statement_.value, statement_.domain, statement_.iterators);
    return std::move(reads_);
  }

private:
  void walk(const ExprPtr &node, const isl::set &domain,
            const std::vector<std::string> &iterators) {
    switch (node->kind) {
    case ExprKind::Access:
      add(*node, domain, iterators);
      break;
    case ExprKind::Select: {
      walk(node->operands[0], domain, iterators);
      const std::optional<isl::set> holds = to_set(node->operands[0], {statement_.name, iterators});
      walk(node->operands[1], holds ? domain.intersect(*holds) : domain, iterators);
      walk(node->operands[2], holds ? domain.subtract(*holds) : domain, iterators);
      return;
    }
    case ExprKind::Reduce: {
      std::vector<std::string> inner = iterators;
      for (const ReduceRange &range : node->ranges) {
        inner.push_back(range.iterator);
      }
      const isl::set instances = reduction_domain(*node, domain, iterators, node->where);
      if (node->predicate) {
        walk(node->predicate, instances, inner);
      }
      walk(node->operands.front(), instances, inner);
      return;
    }
    default:
      break;
    }
    for (const ExprPtr &operand : node->operands) {
      walk(operand, domain, iterators);
    }
  }

  void add(const Expr &access, const isl::set &domain, const std::vector<std::string> &iterators) {
    const IterationSpace space{statement_.name, iterators};
    const isl::set target = access.producer->domain;
    isl::map relation = isl::map::from_domain_and_range(domain, target);
    bool exact = true;
    for (size_t d = 0; d < access.operands.size(); ++d) {
      const std::optional<isl::pw_aff> subscript = to_affine(access.operands[d], space);
      if (!subscript) {
        exact = false;
        continue;
      }
      const isl::pw_aff coordinate = isl::pw_aff::var_on_domain(
          isl::local_space(target.space()), isl::dim::set, static_cast<unsigned>(d));
      relation =
          relation.intersect(isl::manage(isl_pw_aff_eq_map(subscript->copy(), coordinate.copy())));
    }
    const auto dimensions = checked(relation.domain_tuple_dim(), "a read");
    if (dimensions > outer_) {
      relation = relation.project_out(isl::dim::in, outer_, dimensions - outer_);
      relation = isl::manage(isl_map_set_tuple_id(relation.release(), isl_dim_in,
                                                  statement_.domain.tuple_id().release()));
    }
    reads_.push_back({access.producer, checked(relation, "a read"), exact, access.where});
  }

  const Statement &statement_;
  unsigned outer_;
  std::vector<ReadAccess> reads_;
};

} // namespace

std::vector<ReadAccess> read_accesses(const Statement &statement) {
  return ReadCollector(statement).collect();
}

isl::map defined_value(const Statement &statement) {
  const isl::space target = statement.computation->domain.space();
  const auto rank = static_cast<unsigned>(statement.computation->rank());
  isl::map relation = isl::map::from_domain_and_range(statement.domain, isl::set::universe(target));
  for (unsigned d = 0; d < rank; ++d) {
    relation = relation.equate(isl::dim::in, static_cast<int>(statement.replicas + d),
                               isl::dim::out, static_cast<int>(d));
  }
  return checked(relation, "the value of a statement");
}

isl::map flow_relation(const Statement &source, const Statement &sink, const isl::map &read) {
  isl::map pairs = defined_value(source).apply_range(read.reverse());
  for (size_t d = 0; d < source.replicas; ++d) {
    pairs = pairs.intersect(
        isl::manage(isl_pw_aff_eq_map(source.loops[d].copy(), sink.loops[d].copy())));
  }
  return checked(pairs, "a dependence");
}

isl::map written_element(const Program &program, const Statement &statement) {
  const Program::Place &place = program.places.at(statement.computation->name);
  isl::map element = defined_value(statement).apply_range(place.relation);
  const int levels = program.buffers[place.buffer].level;
  if (levels > 0) {
    // One buffer for each iteration: its loops are part of the element's address.
    const isl::id name = element.range_tuple_id();
    isl::map address = isl::map::from_domain(statement.domain);
    for (int level = 0; level < levels; ++level) {
      address = address.flat_range_product(statement.loops[static_cast<size_t>(level)].as_map());
    }
    element = address.flat_range_product(element).set_range_tuple(name);
  }
  return checked(element, "the element a statement writes");
}

} // namespace tilewright
