#include "planning/auto/row_blocks.h"

#include "algorithm/block.h"
#include "planning/computation_shape.h"

namespace tilewright {

bool may_have_row_blocks(const Mapping &mapping, const Computation &computation) {
  if (block_node(computation) != nullptr || mapping.time_space(computation.name).explicit_time) {
    return false;
  }
  const Shape shape(computation, mapping.state().fixed);
  if (shape.rank() < 2 || !shape.simple() || shape.reduced() > 0 || shape.states() > 0 ||
      shape.has_chosen() || shape.has_border()) {
    return false;
  }
  const size_t column = shape.rank() - 1;
  const auto is_long = [&](size_t iterator, std::int64_t least) {
    return shape.extent(iterator).value_or(least) >= least;
  };
  return shape.all_contiguous(column) && is_long(column, shape.lanes()) &&
         is_long(column - 1, rows_of_block);
}

std::vector<Command> row_blocks(const Mapping &mapping, const std::string &computation) {
  const Shape shape(**mapping.function().find(computation), mapping.state().fixed);
  const std::string &i = shape.name(shape.rank() - 2);
  const std::string &j = shape.name(shape.rank() - 1);
  const auto command = [&](const std::string &name, std::vector<Argument> arguments) {
    return Command{computation, name, std::move(arguments), {}};
  };
  const std::string outer = shape.rank() > 2 ? shape.name(0) : i + "0";
  return {
      command("split", {i, rows_of_block}),           command("split", {j, shape.lanes()}),
      command("reorder", {j + "0", i + "1"}),         command("unroll", {i + "1", rows_of_block}),
      command("vectorize", {j + "1", shape.lanes()}), command("parallelize", {outer})};
}

} // namespace tilewright
