#include "mapping/mapping.h"

#include "algorithm/affine.h"
#include "mapping/commands.h"

namespace tilewright {

namespace {

isl::pw_aff iterator_value(const isl::set &domain, size_t position) {
  return checked(isl::pw_aff::var_on_domain(isl::local_space(domain.space()), isl::dim::set,
                                            static_cast<unsigned>(position)),
                 "loop of an iterator");
}

TimeSpaceMap identity_time(const Computation &computation) {
  const InstanceSpace instances = instance_space(computation);
  TimeSpaceMap map;
  for (size_t d = 0; d < instances.iterators.size(); ++d) {
    map.dimensions.push_back({instances.iterators[d], iterator_value(instances.domain, d), {}, 0});
  }
  return map;
}

bool reads_itself(const Computation &computation, const ExprPtr &value) {
  bool found = false;
  visit(value, [&](const ExprPtr &node) {
    found = found || (node->kind == ExprKind::Access && node->producer.get() == &computation);
  });
  return found;
}

} // namespace

Storage Storage::identity(const Computation &computation) {
  Storage storage;
  storage.buffer = computation.name;
  for (const std::string &name : computation.iterators) {
    storage.index.push_back(iterator(name));
  }
  storage.extents = computation.extents;
  storage.relation =
      checked(isl::map::identity(computation.domain.space().map_from_set()), "default storage");
  return storage;
}

InstanceSpace instance_space(const Computation &computation) {
  InstanceSpace space;
  space.iterators = computation.iterators;
  if (computation.pieces.size() == 1) {
    const Piece &piece = computation.pieces.front();
    const Expr &root = *piece.value;
    if (root.kind == ExprKind::Reduce && reduction_combiner(root.op) != Op::None &&
        !reads_itself(computation, piece.value)) {
      space.domain = reduction_domain(root, piece.domain, computation.iterators, piece.where);
      for (const ReduceRange &range : root.ranges) {
        space.iterators.push_back(range.iterator);
      }
      space.reduced = root.ranges.size();
      return space;
    }
  }
  space.domain = isl::set::empty(computation.domain.space());
  for (const Piece &piece : computation.pieces) {
    space.domain = space.domain.unite(piece.domain);
  }
  space.domain = checked(space.domain, "instances of a computation");
  return space;
}

const Placement *find_placement(const MappingState &state, const std::string &computation) {
  for (const Placement &placement : state.placements) {
    if (placement.computation == computation) {
      return &placement;
    }
  }
  return nullptr;
}

Mapping::Mapping(std::shared_ptr<const Function> function) {
  state_.function = std::move(function);
  for (const ComputationPtr &computation : state_.function->computations) {
    state_.time_space[computation->name] = identity_time(*computation);
    state_.storage[computation->name] = Storage::identity(*computation);
    state_.order.push_back(computation->name);
  }
}

Mapping Mapping::with(const Command &command) const {
  const OperationLimit limit(mapping_operation_limit);
  Mapping result = *this;
  apply_command(result.state_, command);
  result.state_.schedule.commands.push_back(command);
  return result;
}

Mapping Mapping::as_starting_point() const {
  Mapping result = *this;
  result.state_.schedule = {};
  return result;
}

const TimeSpaceMap &Mapping::time_space(const std::string &computation) const {
  return state_.time_space.at(computation);
}

const Storage &Mapping::storage(const std::string &computation) const {
  return state_.storage.at(computation);
}

} // namespace tilewright
