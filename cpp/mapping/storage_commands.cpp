// store_in: Layer III of one computation, an affine map from its elements to the elements of a buffer.
#include <algorithm>

#include "algorithm/affine.h"
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"

namespace tilewright {

namespace {

std::string element_text(const Computation &computation) {
  std::string text = computation.name + "[";
  for (size_t d = 0; d < computation.iterators.size(); ++d) {
    text += (d ? "," : "") + computation.iterators[d];
  }
  return text + "]";
}

isl::set written_elements(const MappingState &state, const Computation &computation) {
  isl::set written = isl::set::empty(computation.domain.space());
  for (const Piece &piece : computation.pieces) {
    written = written.unite(piece.domain);
  }
  return checked(written.intersect_params(state.function->context), "store_in");
}

bool is_output(const MappingState &state, const std::string &name) {
  return std::any_of(state.function->outputs.begin(), state.function->outputs.end(),
                     [&](const ComputationPtr &output) { return output->name == name; });
}

ExprPtr size_expression(const Command &command, const std::string &parameters, const std::string &text) {
  const isl::pw_aff size(isl_context(), "[" + parameters + "] -> { [] -> [(" + text + ")] }");
  if (size.is_null()) {
    isl_ctx_reset_error(isl_context().get());
    refuse(command, "'" + text + "' is not an affine size in the parameters");
  }
  return from_affine(size, {});
}

/// One more than the largest index along a dimension; 0 where nothing is stored.
ExprPtr derived_extent(const isl::set &image, unsigned dimension, const isl::set &context) {
  isl::pw_aff extent = image.dim_max(static_cast<int>(dimension)).add_constant(1L);
  const isl::set elsewhere = context.subtract(extent.domain());
  extent = extent.union_add(isl::pw_aff(elsewhere, isl::val(isl_context(), 0L)));
  return from_affine(checked(extent.gist(context).coalesce(), "extent of a buffer"), {});
}

}  // namespace

void store_in_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 2, "store_in(\"buffer[index, ...]\", sizes=None)");
  const std::string target = arguments.name(0, "a buffer element");
  const Computation &computation = **state.function->find(command.computation);
  std::string parameters;
  for (const std::string &name : state.function->parameters) {
    parameters += (parameters.empty() ? "" : ",") + name;
  }
  const isl::map given(isl_context(),
                       "[" + parameters + "] -> { " + element_text(computation) + " -> " + target + " }");
  if (given.is_null()) {
    isl_ctx_reset_error(isl_context().get());
    refuse(command, "'" + target + "' is not a buffer with affine subscripts in the iterators of " +
                        element_text(computation));
  }
  if (!given.has_range_tuple_id().is_true()) {
    refuse(command, "the buffer needs a name, e.g. \"buffer[i]\"");
  }
  Storage storage;
  storage.buffer = given.range_tuple_id().name();
  for (const ComputationPtr &input : state.function->inputs) {
    if (input->name == storage.buffer) {
      refuse(command, "'" + storage.buffer + "' is an input; computations are stored in buffers of their own");
    }
  }
  const isl::set written = written_elements(state, computation);
  storage.relation = given;
  const isl::map relation = checked(given.intersect_domain(written), "store_in");
  if (!checked(relation.is_single_valued(), "store_in")) {
    refuse(command, "the map gives several elements to one instance");
  }
  if (is_output(state, computation.name) && !checked(relation.is_injective(), "store_in")) {
    refuse(command, computation.name + " is an output, and two of its elements would share one place; declare a "
                                       "computation that reads the elements you want to keep and return that one");
  }
  const isl::pw_multi_aff index = checked(isl::manage(isl_pw_multi_aff_from_map(given.copy())), "store_in");
  const isl::set image = checked(relation.range(), "store_in");
  const auto rank = checked(given.range_tuple_dim(), "store_in");
  const bool sized = arguments.size() == 2;
  std::vector<std::string> sizes;
  if (sized) {
    if (const auto *texts = std::get_if<std::vector<std::string>>(&command.arguments[1])) {
      sizes = *texts;
    } else if (const auto *numbers = std::get_if<std::vector<std::int64_t>>(&command.arguments[1])) {
      for (std::int64_t number : *numbers) {
        sizes.push_back(std::to_string(number));
      }
    }
    if (sizes.size() != rank) {
      refuse(command, "the buffer has " + std::to_string(rank) + " dimensions but " + std::to_string(sizes.size()) +
                          " sizes were given");
    }
  }
  IterationSpace elements{storage.buffer, {}};
  for (unsigned d = 0; d < rank; ++d) {
    elements.iterators.push_back("b" + std::to_string(d));
  }
  isl::set inside = isl::set::universe(image.space());
  for (unsigned d = 0; d < rank; ++d) {
    storage.index.push_back(from_affine(index.at(static_cast<int>(d)), computation.iterators));
    storage.extents.push_back(sized ? size_expression(command, parameters, sizes[d])
                                    : derived_extent(image, d, state.function->context));
    const std::optional<isl::pw_aff> size = to_affine(storage.extents[d], elements);
    const isl::pw_aff position = isl::pw_aff::var_on_domain(isl::local_space(image.space()), isl::dim::set, d);
    inside = inside.lower_bound_si(isl::dim::set, d, 0).intersect(position.lt_set(size.value()));
  }
  Point point;
  if (sample_point(checked(image.subtract(inside), "store_in"), point)) {
    refuse(command, "element " + instance_text(storage.buffer, point) + " lies outside the buffer");
  }
  state.storage[computation.name] = std::move(storage);
}

}  // namespace tilewright
