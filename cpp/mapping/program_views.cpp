// Outputs that only read: where their elements lie anyway, they need no statement.
#include "mapping/accesses.h"
#include "mapping/program_builder.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_program_views = "an output that only reads";

isl::map without_buffer(const isl::map &place) {
  return checked(isl::manage(isl_map_reset_tuple_id(place.copy(), isl_dim_out)),
                 doing_program_views);
}

isl::set without_buffer(const isl::set &elements) {
  return checked(isl::manage(isl_set_reset_tuple_id(elements.copy())), doing_program_views);
}

} // namespace

bool ProgramBuilder::is_read_at_all(const Computation &computation) {
  if (!read_) {
    read_.emplace();
    for (const ComputationPtr &reader : function_.computations) {
      for (const Piece &piece : reader->pieces) {
        visit(piece.value, [&](const ExprPtr &node) { read_->insert(node->producer.get()); });
      }
    }
  }
  return read_->contains(&computation);
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
        return !checked(there.intersect_params(program_.context).is_empty(), doing_program_views);
      });
}

const std::optional<Program::View> *ProgramBuilder::known_view(const Statement &copy) const {
  const auto is_same = [](const isl::map &a, const isl::map &b) {
    return a.get() == b.get() || isl_map_plain_is_equal(a.get(), b.get()) == isl_bool_true;
  };
  const auto same_place = [&](const std::string &name) {
    const auto then = before_->places.find(name);
    return then != before_->places.end() &&
           then->second.buffer == program_.places.at(name).buffer &&
           is_same(then->second.relation, program_.places.at(name).relation);
  };
  if (before_ == nullptr || before_->function != program_.function ||
      isl_set_plain_is_equal(before_->context.get(), program_.context.get()) != isl_bool_true) {
    return nullptr;
  }
  const auto known = before_->shown.find({copy.computation->name, copy.piece});
  const std::string &producer = copy.value->producer->name;
  if (known == before_->shown.end() || !same_place(copy.computation->name) ||
      !same_place(producer)) {
    return nullptr;
  }
  const bool stays = !copy.value->producer->is_input ||
                     std::all_of(function_.computations.begin(), function_.computations.end(),
                                 [&](const auto &other) { return same_place(other->name); });
  return stays ? &known->second : nullptr;
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
  // What is computed inside of loops is what their statements read.
  const std::string &shown = copy.value->producer->name;
  const bool runs_inside = std::any_of(
      state_.placements.begin(), state_.placements.end(), [&](const Placement &placement) {
        return placement.compute_at &&
               (placement.other == output.name || placement.computation == shown);
      });
  if (program_.places.at(output.name).buffer != program_.places.at(shown).buffer || runs_inside ||
      is_read_at_all(output)) {
    return false;
  }
  const std::optional<Program::View> *known = known_view(copy);
  std::optional<Program::View> view = known != nullptr ? *known : view_of(copy);
  if (view) {
    program_.views.push_back(*view);
  }
  const bool lies = view.has_value();
  program_.shown[{output.name, copy.piece}] = std::move(view);
  return lies;
}

std::optional<Program::View> ProgramBuilder::view_of(const Statement &copy) const {
  const Program::Place &own = program_.places.at(copy.computation->name);
  const Program::Place &source = program_.places.at(copy.value->producer->name);
  const std::vector<ReadAccess> reads = read_accesses(copy);
  if (reads.size() != 1 || !reads.front().exact || !reads.front().certain) {
    return std::nullopt;
  }
  const isl::map elements = reads.front().relation.intersect_domain(copy.domain);
  const isl::map there = without_buffer(elements.apply_range(source.relation));
  const isl::map here = without_buffer(own.relation.intersect_domain(copy.domain));
  const auto known = [&](const isl::map &place) {
    return place.intersect_params(program_.context);
  };
  if (!checked(known(here).is_subset(known(there)), doing_program_views)) {
    return std::nullopt;
  }
  Program::View view{copy.computation, copy.value->producer, elements};
  // What an input holds from the start is overwritten only before a copy that comes too late.
  if (view.producer->is_input && is_overwritten(view)) {
    return std::nullopt;
  }
  return view;
}

} // namespace tilewright
