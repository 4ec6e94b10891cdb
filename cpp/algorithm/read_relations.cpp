#include "algorithm/read_relations.h"

#include "algorithm/affine.h"
#include "algorithm/instance_walk.h"
#include "algorithm/possible_values.h"

#include <isl/map.h>

namespace tilewright {

namespace {

constexpr const char *doing_read_relations = "which elements a computation reads";

/// Of an instance with reduced iterators to one coordinate.
isl::map coordinate(const ExprPtr &subscript, const InstanceNode &at, const std::string &name,
                    bool &exact) {
  if (const auto affine = to_affine(subscript, {name, at.iterators})) {
    return checked(isl::manage(isl_map_from_pw_aff(affine->copy())), doing_read_relations);
  }
  exact = false;
  const IterationSpace instances{name, at.iterators};
  if (const auto possible = possible_values(subscript, {instances, at.domain, at.facts})) {
    return *possible;
  }
  isl_space *space = isl_space_from_domain(isl_set_get_space(at.domain.get()));
  return checked(isl::manage(isl_map_universe(isl_space_add_dims(space, isl_dim_out, 1))),
                 doing_read_relations);
}

ReadRelation relation_of(const Computation &reader, const InstanceNode &at, bool of_terms) {
  const Expr &read = *at.node;
  ReadRelation result{read.producer, {}, true};
  isl_map *elements =
      isl_map_from_domain(isl_set_set_tuple_name(at.domain.copy(), reader.name.c_str()));
  for (const ExprPtr &subscript : read.operands) {
    const isl::map one = coordinate(subscript, at, reader.name, result.exact);
    elements = isl_map_flat_range_product(elements, one.copy());
  }
  const auto own = static_cast<unsigned>(reader.rank());
  const auto all = static_cast<unsigned>(at.iterators.size());
  if (!of_terms) {
    elements = isl_map_project_out(elements, isl_dim_in, own, all - own);
  }
  elements = isl_map_set_tuple_name(elements, isl_dim_in, reader.name.c_str());
  elements = isl_map_set_tuple_name(elements, isl_dim_out, read.producer->name.c_str());
  result.elements = checked(isl::manage(elements), doing_read_relations);
  return result;
}

std::vector<ReadRelation> relations_of(const Computation &reader, bool of_terms) {
  std::vector<ReadRelation> relations;
  for (const Piece &piece : reader.pieces) {
    InstanceWalk walk;
    walk.name = reader.name;
    walk.tells_certain = false;
    walk.where = piece.where;
    walk.visit = [&](const InstanceNode &at) {
      if (at.node->kind == ExprKind::Access) {
        relations.push_back(relation_of(reader, at, of_terms));
      }
      return true;
    };
    walk({piece.value}, piece.domain, reader.iterators);
  }
  return relations;
}

} // namespace

std::vector<ReadRelation> read_relations(const Computation &reader) {
  return relations_of(reader, false);
}

std::vector<ReadRelation> read_instances(const Computation &reader) {
  return relations_of(reader, true);
}

} // namespace tilewright
