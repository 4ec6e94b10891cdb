#include "mapping/mapping.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "algorithm/reductions.h"
#include "mapping/commands.h"
#include "mapping/number_limits.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tilewright {

namespace {

/// elements[e...] -> input[e + offset...]
isl::map translation(isl_space *elements, const std::string &input,
                     const std::vector<std::int64_t> &offset) {
  isl_multi_aff *moved = isl_multi_aff_identity(isl_space_map_from_set(elements));
  for (size_t d = 0; d < offset.size(); ++d) {
    const auto position = static_cast<int>(d);
    isl_aff *coordinate = isl_multi_aff_get_at(moved, position);
    isl_val *distance = isl_val_int_from_si(isl_context().get(), offset[d]);
    moved = isl_multi_aff_set_at(moved, position, isl_aff_add_constant_val(coordinate, distance));
  }
  moved = isl_multi_aff_set_tuple_name(moved, isl_dim_out, input.c_str());
  return checked(isl::manage(isl_map_from_multi_aff(moved)), "an array that shares memory");
}

/// `storage` in elements of the array that its buffer is part of.
Storage moved(const Storage &storage, const Computation &input,
              const std::vector<std::int64_t> &offset) {
  Storage result = storage;
  result.buffer = input.name;
  result.extents = input.extents;
  result.origin.clear();
  for (size_t d = 0; d < offset.size(); ++d) {
    if (offset[d] != 0) {
      result.index[d] = binary(Op::Add, result.index[d], constant(offset[d], Int64));
    }
  }
  isl_space *elements = isl_space_range(isl_map_get_space(storage.relation.get()));
  result.relation = checked(storage.relation.apply_range(translation(elements, input.name, offset)),
                            "an array that shares memory");
  return result;
}

TimeSpaceMap identity_time(const Computation &computation) {
  const InstanceSpace instances = instance_space(computation);
  TimeSpaceMap map;
  for (size_t d = 0; d < instances.iterators.size(); ++d) {
    map.dimensions.push_back({instances.iterators[d], declared_loop(instances, d), {}, 0});
  }
  return map;
}

} // namespace

bool is_concurrent(Tag tag) { return tag == Tag::Parallel || tag == Tag::Vector || is_gpu(tag); }
bool is_concurrent(const LoopTag &tag) {
  return is_concurrent(tag.tag) || is_concurrent(tag.strips);
}

bool is_gpu(Tag tag) {
  return tag == Tag::GpuBlock || tag == Tag::GpuThread || tag == Tag::GpuSpread ||
         tag == Tag::GpuMma;
}

std::string gpu_tag_name(Tag tag, int axis) {
  if (tag == Tag::GpuSpread) {
    return "gpu_spread";
  }
  if (tag == Tag::GpuMma) {
    constexpr std::array names = {"gpu_mma_m", "gpu_mma_n", "gpu_mma_k", "gpu_mma_tf32"};
    return names.at(static_cast<size_t>(axis));
  }
  return (tag == Tag::GpuBlock ? "gpu_block_" : "gpu_thread_") + std::string(1, "xyz"[axis]);
}

Storage Storage::identity(const Computation &computation) {
  Storage storage;
  storage.buffer = computation.name;
  for (const std::string &name : computation.iterators) {
    storage.index.push_back(iterator(name));
  }
  storage.extents = computation.extents;
  storage.origin = computation.origin;
  storage.relation =
      checked(isl::map::identity(computation.domain.space().map_from_set()), "default storage");
  return storage;
}

InstanceSpace instance_space(const Computation &computation) {
  InstanceSpace space;
  space.iterators = computation.iterators;
  space.strides = computation.strides;
  space.strides.resize(computation.rank());
  if (const ExprPtr reduction = scheduled_reduction(computation)) {
    const Piece &piece = computation.pieces.front();
    const Expr &terms = *reduction_of(*reduction);
    space.domain = reduction_domain(terms, piece.domain, computation.iterators, piece.where);
    for (const ReduceRange &range : terms.ranges) {
      space.iterators.push_back(range.iterator);
      space.strides.push_back({range.step == 1 ? nullptr : range.lower, range.step});
    }
    space.reduced = terms.ranges.size();
    return space;
  }
  space.domain = isl::set::empty(computation.domain.space());
  for (const Piece &piece : computation.pieces) {
    space.domain = space.domain.unite(piece.domain);
  }
  space.domain = checked(space.domain, "instances of a computation");
  return space;
}

isl::pw_aff declared_loop(const InstanceSpace &instances, size_t position) {
  constexpr const char *doing = "the loop of an iterator";
  const isl::pw_aff value = isl::pw_aff::var_on_domain(
      isl::local_space(instances.domain.space()), isl::dim::set, static_cast<unsigned>(position));
  const Stride &stride = instances.strides[position];
  const auto first =
      stride.step == 1
          ? std::nullopt
          : to_affine(stride.first, {instances.domain.tuple_id().name(), instances.iterators});
  if (!first) {
    return checked(value, doing);
  }
  const isl::val step(isl_context(), static_cast<long>(stride.step));
  return checked(value.sub(*first).scale_down(step).floor(), doing);
}

const Placement *find_placement(const MappingState &state, const std::string &computation) {
  for (const Placement &placement : state.placements) {
    if (placement.computation == computation) {
      return &placement;
    }
  }
  return nullptr;
}

Mapping::Mapping(const std::shared_ptr<const Function> &function) {
  state_.function = function;
  for (const ComputationPtr &computation : state_.function->computations) {
    state_.time_space[computation->name] = identity_time(*computation);
    state_.storage[computation->name] = Storage::identity(*computation);
    state_.order.push_back(computation->name);
  }
}

Mapping Mapping::with(const Command &command) const {
  require_stack(*state_.function);
  if (!command.commands.empty()) {
    Mapping all = *this;
    for (const Command &each : command.commands) {
      all = all.with(each);
    }
    Schedule recorded = state_.schedule;
    recorded.commands.push_back(command);
    return all.recorded_as(std::move(recorded));
  }
  const OperationLimit limit(mapping_operation_limit);
  Mapping result = *this;
  apply_command(result.state_, command);
  require_small_numbers(state_, result.state_, command);
  result.state_.schedule.commands.push_back(command);
  return result;
}

Mapping Mapping::recorded_as(Schedule schedule) const {
  Mapping result = *this;
  result.state_.schedule = std::move(schedule);
  return result;
}

Mapping Mapping::sharing(const std::vector<SharedArray> &arrays) const {
  const OperationLimit limit(mapping_operation_limit);
  Mapping result = *this;
  MappingState &state = result.state_;
  const auto find = [](const std::vector<ComputationPtr> &list, const std::string &name) {
    const auto found = std::find_if(list.begin(), list.end(),
                                    [&](const ComputationPtr &each) { return each->name == name; });
    return found == list.end() ? nullptr : found->get();
  };
  for (const SharedArray &shared : arrays) {
    const Computation *input = find(state.function->inputs, shared.input);
    const Computation *own = find(state.function->inputs, shared.array);
    const Computation *array = own != nullptr ? own : find(state.function->outputs, shared.array);
    if (input == nullptr || array == nullptr || input == array || input->type != array->type ||
        input->rank() != array->rank() || shared.offset.size() != input->rank()) {
      throw Error(ErrorKind::Schedule,
                  shared.array + " cannot lie in the array of " + shared.input);
    }
    if (own != nullptr) {
      state.shared[own->name] = moved(Storage::identity(*own), *input, shared.offset);
    }
    for (auto &[name, storage] : state.storage) {
      if (storage.buffer == array->name) {
        storage = moved(storage, *input, shared.offset);
      }
    }
  }
  return result;
}

Mapping Mapping::with_work(const WorkLimits &limits) const {
  Mapping result = *this;
  result.state_.work = limits;
  return result;
}

Mapping Mapping::where(const isl::set &condition) const {
  Mapping result = *this;
  auto narrowed = make_isl_shared<Function>(*state_.function);
  narrowed->context =
      checked(narrowed->context.intersect(condition), "a version for some parameters");
  result.state_.function = std::move(narrowed);
  result.state_.variants.clear();
  return result;
}

const TimeSpaceMap &Mapping::time_space(const std::string &computation) const {
  return state_.time_space.at(computation);
}

const Storage &Mapping::storage(const std::string &computation) const {
  return state_.storage.at(computation);
}

std::vector<Version> versions(const Mapping &mapping) {
  constexpr const char *doing = "versions for some parameters";
  std::vector<Version> all;
  isl::set left = mapping.function().context;
  for (const Variant &variant : mapping.state().variants) {
    if (checked(left.intersect(variant.condition).is_empty(), doing)) {
      continue;
    }
    Mapping version = mapping.where(variant.condition);
    if (checked(left.is_subset(variant.condition), doing)) {
      all.push_back({std::move(version), std::nullopt});
      return all;
    }
    all.push_back({std::move(version), variant.condition});
    left = checked(left.subtract(variant.condition), doing);
  }
  all.push_back({mapping.where(isl::manage(isl_set_universe(left.space().params().release()))),
                 std::nullopt});
  return all;
}

bool has_gpu_loops(const Mapping &mapping) {
  const auto &maps = mapping.state().time_space;
  return std::any_of(maps.begin(), maps.end(), [](const auto &entry) {
    const std::vector<LoopDimension> &loops = entry.second.dimensions;
    return std::any_of(loops.begin(), loops.end(),
                       [](const LoopDimension &loop) { return is_gpu(loop.tag.tag); });
  });
}

} // namespace tilewright
