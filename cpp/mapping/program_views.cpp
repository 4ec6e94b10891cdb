// Outputs that only read: where their elements lie anyway, they need no statement.
#include "algorithm/reads.h"
#include "mapping/accesses.h"
#include "mapping/program_builder.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing = "an output that only reads";

isl::map without_buffer(const isl::map &place) {
  return checked(isl::manage(isl_map_reset_tuple_id(place.copy(), isl_dim_out)), doing);
}

isl::set without_buffer(const isl::set &elements) {
  return checked(isl::manage(isl_set_reset_tuple_id(elements.copy())), doing);
}

} // namespace

bool ProgramBuilder::is_read_at_all(const Computation &computation) const {
  return std::any_of(function_.computations.begin(), function_.computations.end(),
                     [&](const ComputationPtr &reader) { return reads(*reader, computation); });
}

bool ProgramBuilder::is_overwritten(const Program::View &view) const {
  const Program::Place &place = program_.places.at(view.producer->name);
  const isl::set shown = without_buffer(view.elements.apply_range(place.relation)).range();
  return std::any_of(
      function_.computations.begin(), function_.computations.end(),
      [&](const ComputationPtr &other) {
        if (other == view.output || program_.places.at(other->name).buffer != place.buffer) {
          return false;
        }
        const isl::set there =
            without_buffer(stored(*other, state_.storage.at(other->name))).intersect(shown);
        return !checked(there.intersect_params(program_.context).is_empty(), doing);
      });
}

bool ProgramBuilder::lies_in_place(Statement copy) {
  copy.name = copy.computation->name; // that of its domain
  const Computation &output = *copy.computation;
  const bool is_output = std::find(function_.outputs.begin(), function_.outputs.end(),
                                   copy.computation) != function_.outputs.end();
  if (!is_output || copy.value->kind != ExprKind::Access || copy.value->position > 0 ||
      copy.value->producer == copy.computation) { // states of a fold lie elsewhere
    return false;
  }
  const Program::Place &own = program_.places.at(output.name);
  const Program::Place &source = program_.places.at(copy.value->producer->name);
  // What is computed inside of loops is what their statements read.
  const std::string &shown = copy.value->producer->name;
  const bool runs_inside = std::any_of(
      state_.placements.begin(), state_.placements.end(), [&](const Placement &placement) {
        return placement.compute_at &&
               (placement.other == output.name || placement.computation == shown);
      });
  if (own.buffer != source.buffer || runs_inside || is_read_at_all(output)) {
    return false;
  }
  const std::vector<ReadAccess> reads = read_accesses(copy);
  if (reads.size() != 1 || !reads.front().exact || !reads.front().certain) {
    return false;
  }
  const isl::map elements = reads.front().relation.intersect_domain(copy.domain);
  const isl::map there = without_buffer(elements.apply_range(source.relation));
  const isl::map here = without_buffer(own.relation.intersect_domain(copy.domain));
  const auto known = [&](const isl::map &place) {
    return place.intersect_params(program_.context);
  };
  if (!checked(known(here).is_subset(known(there)), doing)) {
    return false;
  }
  Program::View view{copy.computation, copy.value->producer, elements};
  // What an input holds from the start is overwritten only before a copy that comes too late.
  if (view.producer->is_input && is_overwritten(view)) {
    return false;
  }
  program_.views.push_back(std::move(view));
  return true;
}

} // namespace tilewright
