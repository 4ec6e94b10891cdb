#include "planning/picked_updates.h"

#include <algorithm>
#include <optional>

namespace tilewright {

namespace {

/// The last iterator of the results, if the elements along it lie side by side for each term.
std::optional<std::string> row_of(const Shape &shape) {
  const size_t column = shape.column();
  const std::int64_t lanes = shape.lanes();
  const bool is_row = !shape.is_picked(column) && !shape.has_condition_on(column) &&
                      shape.has_simple_terms() && shape.states() == 0 &&
                      shape.all_contiguous(column) && shape.any_contiguous(column) &&
                      shape.extent(column).value_or(lanes) >= lanes;
  return is_row ? std::optional(shape.name(column)) : std::nullopt;
}

} // namespace

std::vector<Command> picked_updates(const Mapping &mapping, const std::string &computation,
                                    const Shape &shape, size_t shared) {
  const auto is_picked = [&](const std::string &loop) {
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (shape.is_picked(d) && shape.name(d) == loop) {
        return true;
      }
    }
    return false;
  };
  const std::optional<std::string> row = row_of(shape);
  std::vector<Argument> order;
  std::vector<Argument> picked;
  std::vector<Argument> last;
  const std::vector<LoopDimension> &loops = mapping.time_space(computation).dimensions;
  for (size_t loop = shared; loop < loops.size(); ++loop) {
    const std::string &name = loops[loop].name;
    (is_picked(name) ? picked : row == name ? last : order).emplace_back(name);
  }
  const bool has_row = !last.empty();
  order.insert(order.end(), picked.begin(), picked.end());
  order.insert(order.end(), last.begin(), last.end());
  std::vector<Command> commands = {{computation, "reorder", std::move(order), {}}};
  if (has_row) {
    commands.push_back({computation, "vectorize", {*row, shape.lanes()}, {}});
  }
  return commands;
}

} // namespace tilewright
