// independent, assume, atomic: what the person knows of the data, and reductions whose updates may
// meet. Promises change no loop; they take away dependences that only may be there
// (analysis/legality.h), and stand in the schedule like every other command.
#include "algorithm/reductions.h"
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/copies.h"
#include "polyhedral/counted.h"
#include "polyhedral/set_text.h"

#include <algorithm>

namespace tilewright {

namespace {

bool reads_subscript_from(const ExprPtr &value, const std::string &array) {
  bool found = false;
  visit(value, [&](const ExprPtr &node) {
    if (node->kind != ExprKind::Access) {
      return;
    }
    for (const ExprPtr &subscript : node->operands) {
      visit(subscript, [&](const ExprPtr &inner) {
        found = found || (inner->kind == ExprKind::Access && inner->producer->name == array);
      });
    }
  });
  return found;
}

} // namespace

void independent_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 64, "independent(i, B, ...)");
  IndependencePromise promise;
  promise.loop = arguments.name(0, "a loop");
  const auto add = [&](const std::string &name) {
    const auto map = state.time_space.find(name);
    if (map == state.time_space.end()) {
      refuse(command,
             "'" + name + "' is not a computation of function '" + state.function->name + "'");
    }
    require_one_time(state, command, name);
    const size_t position = find_loop(map->second, promise.loop, command);
    promise.values.insert_or_assign(name, map->second.dimensions[position].value);
  };
  add(command.computation);
  for (size_t a = 1; a < arguments.size(); ++a) {
    add(arguments.name(a, "a computation"));
  }
  // Two promises: of even number what depends on what, for good; of odd number where elements lie,
  // which ends for a computation that is stored elsewhere (drop_promises_of_places).
  state.independent.push_back(promise);
  state.independent.push_back(std::move(promise));
}

void assume_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 1, "assume(\"{ A[i] -> [v] : ... }\")");
  const std::string text = arguments.name(0, "what is known of the data");
  std::string parameters;
  for (const std::string &name : state.function->parameters) {
    parameters += (parameters.empty() ? "" : ",") + name;
  }
  const bool has_parameters = !text.empty() && text.front() == '[';
  const isl::map values(isl_context(), has_parameters ? text : "[" + parameters + "] -> " + text);
  if (values.is_null()) {
    isl_ctx_reset_error(isl_context().get());
    refuse(command, "'" + text + "' is not a relation such as { A[i] -> [v] : 0 <= v < i }");
  }
  const bool named = isl_map_has_tuple_name(values.get(), isl_dim_in) == isl_bool_true;
  const std::string array = named ? isl_map_get_tuple_name(values.get(), isl_dim_in) : "";
  const ComputationPtr *found = state.function->find(array);
  if (found == nullptr) {
    refuse(command, "there is no input or computation named '" + array + "'");
  }
  if (checked(values.domain_tuple_dim(), "assume") != (*found)->rank() ||
      checked(values.range_tuple_dim(), "assume") != 1) {
    refuse(command, "the relation must map an element of " + array + " (" +
                        counted((*found)->rank(), "subscript") + ") to one value");
  }
  const Computation &reader = **state.function->find(command.computation);
  const bool used =
      std::any_of(reader.pieces.begin(), reader.pieces.end(),
                  [&](const Piece &piece) { return reads_subscript_from(piece.value, array); });
  if (!used) {
    refuse(command, command.computation + " uses no value of " + array +
                        " as a subscript, so nothing follows from it");
  }
  // The values are integers: a name for the tuple would only be in the way.
  const isl::map plain = isl::manage(isl_map_reset_tuple_id(values.copy(), isl_dim_out));
  // Of elements to which the relation gives no value nothing is known.
  const isl::map others = isl::map::from_domain_and_range(
      plain.domain().complement(), isl::set::universe(plain.range().space()));
  state.assumed.push_back(
      {command.computation, array, checked(plain.unite(others).coalesce(), "assume")});
}

void atomic_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(0, 0, "atomic()");
  const Computation &computation = **state.function->find(command.computation);
  if (instance_space(computation).reduced == 0) {
    refuse(command, command.computation + " is not a reduction scheduled by its body");
  }
  if (scheduled_reduction(computation)->kind == ExprKind::Fold) {
    refuse(command, command.computation +
                        " is a fold, and only sums, products, minima and maxima have updates in "
                        "one step");
  }
  if (scheduled_reduction(computation)->ordered) {
    refuse(command,
           command.computation + " is an ordered reduction, and atomic updates come in any order");
  }
  if (computation.type.is_complex()) {
    refuse(command, "elements of " + type_name(computation.type) +
                        " have two parts, which cannot be updated in one step; use rfactor");
  }
  state.atomic.insert(command.computation);
}

} // namespace tilewright
