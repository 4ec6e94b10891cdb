#include "mapping/accesses.h"

#include "algorithm/affine.h"
#include "algorithm/instance_walk.h"
#include "algorithm/possible_values.h"
#include "mapping/compare_loops.h"
#include "polyhedral/compare_values.h"

#include <optional>
#include <utility>

namespace tilewright {

namespace {

class ReadCollector {
public:
  explicit ReadCollector(const Statement &statement)
      : statement_(statement), outer_(static_cast<unsigned>(statement.iterators.size())) {}

  std::vector<ReadAccess> collect() {
    InstanceWalk walk;
    walk.name = statement_.name;
    walk.visit = [&](const InstanceNode &at) {
      if (at.node->kind == ExprKind::Access && !is_accumulated(*at.node)) {
        certain_ = at.certain;
        add(at);
      }
      return true;
    };
    walk.walk_predicate(statement_.predicate, statement_.domain, statement_.iterators);
    // What the predicate may leave out is a dependence all the same.
    walk(values_of(statement_), statement_.domain, statement_.iterators);
    return std::move(reads_);
  }

  /// See possible_instances.
  isl::set possible() {
    impossible_ = isl::set::empty(statement_.domain.space());
    collect();
    return checked(statement_.domain.subtract(*impossible_), "the instances of a statement");
  }

private:
  bool is_accumulated(const Expr &access) const {
    return statement_.role == StatementRole::Finish && access.producer == statement_.computation;
  }

  void add(const InstanceNode &at) {
    const Expr &access = *at.node;
    const isl::set &domain = at.domain;
    const std::vector<std::string> &iterators = at.iterators;
    const IterationSpace space{statement_.name, iterators};
    const isl::set target = access.producer->domain;
    isl::map relation = isl::map::from_domain_and_range(domain, target);
    bool exact = true;
    for (size_t d = 0; d < access.operands.size(); ++d) {
      const std::optional<isl::pw_aff> subscript = to_affine(access.operands[d], space);
      if (!subscript) {
        exact = false;
        const ValueSite site{space, domain, at.facts, [&](const Expr &read) {
                               return promised_values(read, domain, iterators);
                             }};
        if (const auto possible = possible_values(access.operands[d], site)) {
          relation =
              relation.intersect(with_dimension(*possible, target, static_cast<unsigned>(d)));
        }
        continue;
      }
      const isl::pw_aff coordinate = isl::pw_aff::var_on_domain(
          isl::local_space(target.space()), isl::dim::set, static_cast<unsigned>(d));
      relation = relation.intersect(
          isl_pw_aff_isa_aff(subscript->get()) == isl_bool_true
              ? equal_values(relation.space(), *subscript, coordinate)
              : isl::manage(isl_pw_aff_eq_map(subscript->copy(), coordinate.copy())));
    }
    const auto dimensions = checked(relation.domain_tuple_dim(), "a read");
    if (impossible_ && !exact && certain_) {
      isl::set without = domain.subtract(relation.domain());
      if (dimensions > outer_) {
        without = without.project_out(isl::dim::set, outer_, dimensions - outer_);
        without = without.set_tuple_id(statement_.domain.tuple_id());
      }
      impossible_ = checked(impossible_->unite(without), "the instances of a statement");
    }
    if (dimensions > outer_) {
      relation = relation.project_out(isl::dim::in, outer_, dimensions - outer_);
      relation = isl::manage(isl_map_set_tuple_id(relation.release(), isl_dim_in,
                                                  statement_.domain.tuple_id().release()));
    }
    reads_.push_back({access.producer, checked(relation, "a read"), exact, certain_, access.where});
  }

  /// instance -> [value]: what an array that is a subscript holds, as far as assume() tells.
  std::optional<isl::map> promised_values(const Expr &node, const isl::set &domain,
                                          const std::vector<std::string> &iterators) const {
    const IterationSpace space{statement_.name, iterators};
    std::optional<isl::map> result;
    for (const ValuePromise &promise : statement_.assumed) {
      if (promise.array != node.producer->name) {
        continue;
      }
      isl::map element = isl::map::from_domain_and_range(
          domain, isl::set::universe(node.producer->domain.space()));
      for (size_t d = 0; d < node.operands.size(); ++d) {
        const auto index = to_affine(node.operands[d], space);
        if (index) {
          const isl::pw_aff coordinate =
              isl::pw_aff::var_on_domain(isl::local_space(node.producer->domain.space()),
                                         isl::dim::set, static_cast<unsigned>(d));
          element =
              element.intersect(isl::manage(isl_pw_aff_eq_map(index->copy(), coordinate.copy())));
        }
      }
      const isl::map values = checked(element.apply_range(promise.values), "a promise");
      result = result ? result->intersect(values) : values;
    }
    return result;
  }

  /// instance -> target[..., value, ...], the other dimensions free.
  static isl::map with_dimension(const isl::map &values, const isl::set &target,
                                 unsigned position) {
    const unsigned rank = checked(target.tuple_dim(), "a promise");
    isl_map *result = isl_map_insert_dims(values.copy(), isl_dim_out, 0, position);
    result = isl_map_add_dims(result, isl_dim_out, rank - position - 1);
    result = isl_map_set_tuple_id(result, isl_dim_out, target.tuple_id().release());
    return checked(isl::manage(result), "a promise");
  }

  const Statement &statement_;
  unsigned outer_;
  bool certain_ = true; ///< of the read at hand: no condition on data decides whether it is read
  std::vector<ReadAccess> reads_;
  std::optional<isl::set> impossible_; ///< instances found so far that cannot read what they must
};

} // namespace

std::vector<ReadAccess> read_accesses(const Statement &statement) {
  return ReadCollector(statement).collect();
}

isl::set possible_instances(const Statement &statement) {
  return ReadCollector(statement).possible();
}

isl::map defined_value(const Statement &statement) {
  // One function of the instance: each equality that is added to a relation alone is a question
  // about whether anything is left.
  const isl::space target = statement.computation->domain.space();
  const auto rank = static_cast<unsigned>(statement.computation->rank());
  isl_space *instance = isl_space_align_params(statement.domain.space().release(), target.copy());
  isl_space *element = isl_space_align_params(target.copy(), isl_space_copy(instance));
  isl_space *space = isl_space_map_from_domain_and_range(instance, element);
  isl_multi_aff *value = isl_multi_aff_zero(isl_space_copy(space));
  for (unsigned d = 0; d < rank; ++d) {
    isl_local_space *instances =
        isl_local_space_from_space(isl_space_domain(isl_space_copy(space)));
    value =
        isl_multi_aff_set_aff(value, static_cast<int>(d),
                              isl_aff_var_on_domain(instances, isl_dim_set,
                                                    static_cast<unsigned>(statement.replicas) + d));
  }
  isl_space_free(space);
  const isl::map function = isl::manage(isl_map_from_multi_aff(value));
  return checked(function.intersect_domain(statement.domain), "the value of a statement");
}

isl::map flow_relation(const Statement &source, const Statement &sink, const isl::map &read) {
  isl::map pairs = defined_value(source).apply_range(read.reverse());
  for (size_t d = 0; d < source.anew; ++d) {
    pairs = with_equal_loops(pairs, source.loops[d], sink.loops[d]);
  }
  return checked(pairs, "a dependence");
}

isl::map folded(const isl::map &places, unsigned dimension, std::int64_t size) {
  const isl::space buffer = places.range().space();
  isl_multi_aff *fold = isl_multi_aff_identity_on_domain_space(isl_space_copy(buffer.get()));
  isl_aff *index = isl_multi_aff_get_aff(fold, static_cast<int>(dimension));
  index = isl_aff_mod_val(index, isl_val_int_from_si(isl_context().get(), static_cast<long>(size)));
  fold = isl_multi_aff_set_aff(fold, static_cast<int>(dimension), index);
  return checked(places.apply_range(isl::manage(isl_map_from_multi_aff(fold))), "storage_fold");
}

bool terms_may_meet(const Statement &update) {
  const auto outer = static_cast<unsigned>(update.replicas + update.computation->rank());
  const auto reduced = static_cast<unsigned>(update.iterators.size()) - outer;
  for (size_t level = 0; level < update.tags.size(); ++level) {
    if (is_concurrent(update.tags[level]) &&
        checked(isl::manage(isl_pw_aff_involves_dims(update.loops[level].get(), isl_dim_in, outer,
                                                     reduced)),
                "races of a reduction")) {
      return true;
    }
  }
  return false;
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
