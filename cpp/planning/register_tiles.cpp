#include "planning/register_tiles.h"

#include <algorithm>
#include <utility>

namespace tilewright {

namespace {

/// Rows of a tile: of 32 registers, 16 have the sums (two of each row), and of 16, 8.
constexpr std::int64_t wide_rows = 8;
constexpr std::int64_t narrow_rows = 4;
constexpr std::int64_t least_rows = 2;
/// Sums of a tile of results whose vectors run along the terms: of each there may be two, of full
/// vectors and of the rest.
constexpr std::int64_t wide_sums = 12;
constexpr std::int64_t narrow_sums = 6;
/// Elements of a window that such a tile takes whole.
constexpr std::int64_t widest_window = 7;
/// Rows of a block: threads get blocks, and what is packed serves all rows of one, so that they are
/// more where it is packed, and still more where it is transposed, which takes longest. What they
/// read of the other operands stays in a second-level cache: 512 rows of 256 terms are half of it.
constexpr std::int64_t max_block_rows = 128;
constexpr std::int64_t max_packed_rows = 256;
constexpr std::int64_t max_transposed_rows = 512;
/// Of the shared operand, in a first-level cache of 32 KiB or more, beside little else.
constexpr std::int64_t shared_block_bytes = 32 * 1024;
constexpr std::int64_t least_block_terms = 8;
/// Vectors of a block that use a copy of what rows read, or what is computed of it, and its rows.
constexpr std::int64_t vectors_of_copied_rows = 8;
constexpr std::int64_t block_of_copied_rows = 128;
/// A vector of two registers is worth while unless so much of it would be empty.
constexpr double max_empty = 1.2;

std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

/// Rows of a tile: where the number of rows is known, those that leave the fewest over.
std::int64_t height_for(std::optional<std::int64_t> extent, bool wide) {
  const std::int64_t most = wide ? wide_rows : narrow_rows;
  if (!extent) {
    return most;
  }
  std::int64_t best = std::min(most, *extent);
  for (std::int64_t height = best; 2 * height > most; --height) {
    if (rounded_up(*extent, height) < rounded_up(*extent, best)) {
      best = height;
    }
  }
  return best;
}

std::int64_t lanes_for(const Shape &shape, size_t column, bool wide) {
  const std::int64_t lanes = shape.lanes_along(column);
  const auto extent = shape.extent(column);
  const bool fills = !extent || static_cast<double>(rounded_up(*extent, 2 * lanes)) <=
                                    max_empty * static_cast<double>(rounded_up(*extent, lanes));
  return wide && fills ? 2 * lanes : lanes;
}

/// Terms whose conditions depend on them run outside, so that these are asked seldom; the others
/// stay in the declared order.
std::vector<size_t> order_of_terms(const Shape &shape) {
  std::vector<size_t> terms;
  for (const bool tested : {true, false}) {
    for (size_t d = shape.rank(); d < shape.rank() + shape.reduced(); ++d) {
      if (shape.is_tested(d) == tested) {
        terms.push_back(d);
      }
    }
  }
  return terms;
}

/// The term that has many iterations: the first whose number is not known, or else the longest.
size_t long_term(const Shape &shape) {
  size_t longest = shape.rank();
  for (size_t d = shape.rank(); d < shape.rank() + shape.reduced(); ++d) {
    const auto extent = shape.extent(d);
    if (!extent) {
      return d;
    }
    longest = *extent > *shape.extent(longest) ? d : longest;
  }
  return longest;
}

/// Has each result one term at most, as in sum(A[k, i] over k where 3 * k == j)? Then no two terms
/// share anything, and isl takes minutes to make loops of tiles of them.
bool has_single_terms(const Shape &shape) {
  bool single = true;
  for (size_t d = shape.rank(); single && d < shape.rank() + shape.reduced(); ++d) {
    single = shape.inner_extent(d) == 1;
  }
  return single;
}

/// Is it worth a copy? One is made for each block of results, so the operand must differ between
/// those that are no rows; of a window, neighbours find in the cache what they share.
bool is_worth_packing(const Shape &shape, const RegisterTile &tile,
                      const Shape::Packable &operand) {
  if (!operand.order.empty()) {
    return true; // it is not contiguous otherwise
  }
  if (operand.is_window) {
    return false;
  }
  for (size_t d = 0; d < shape.rank(); ++d) {
    const bool moves =
        std::find(operand.along.begin(), operand.along.end(), d) != operand.along.end();
    if (d != tile.row && !moves) {
      return false;
    }
  }
  return true;
}

/// What rows read, if it is to be copied. Of an array that is read twice, the reads are copied in
/// the order in which they are written.
std::optional<Shape::Packable> rows_of(const Shape &shape, const RegisterTile &tile, size_t term) {
  auto rows = shape.rows_apart(tile.row, tile.column, term);
  const bool is_behind = rows && rows->is_value && rows->position > 0 &&
                         !(tile.packed && tile.packed->is_value &&
                           tile.packed->array == rows->array && rows->position == 1);
  return is_behind ? std::nullopt : rows;
}

} // namespace

bool has_small_window(const Shape &shape) {
  bool small = true;
  for (size_t d = shape.rank(); d < shape.rank() + shape.reduced(); ++d) {
    small = small && shape.extent(d).value_or(few_terms + 1) <= few_terms;
  }
  return small;
}

std::optional<size_t> find_row(const Shape &shape, size_t column) {
  for (size_t row = std::min(column, shape.rank()); row-- > 0;) {
    const bool shares =
        shape.all_contiguous(column)
            ? shape.is_shared(row, column)
            : shape.reduced() > 0 && !has_small_window(shape) &&
                  (shape.packs_all(row, column) || shape.is_shared_apart(row, column));
    if (shares && !shape.is_chosen(row) && shape.extent(row).value_or(least_rows) >= least_rows) {
      return row;
    }
  }
  return std::nullopt;
}

std::optional<size_t> find_streamed_row(const Shape &shape) {
  if (shape.reduced() == 0 || shape.states() > 0 || shape.has_condition() || shape.has_border()) {
    return std::nullopt;
  }
  const size_t term = shape.rank() + shape.reduced() - 1;
  for (size_t row = shape.rank(); row-- > 0;) {
    if (shape.is_shared(row, term) && shape.is_streamed(row, term)) {
      return shape.extent(row).value_or(wide_rows) >= wide_rows ? std::optional(row) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<ResultTile> plan_result_tile(const Shape &shape, bool wide) {
  if (shape.reduced() == 0 || shape.states() > 0 || shape.has_condition() || shape.has_border()) {
    return std::nullopt;
  }
  const size_t term = shape.term();
  if (shape.extent(term).value_or(shape.lanes()) < shape.lanes() ||
      !shape.moves_at_most(term, most_apart)) {
    return std::nullopt;
  }
  for (size_t other = shape.rank(); other-- > 0;) {
    const std::int64_t width = shape.extent(other).value_or(0);
    if (width < 2 || width > widest_window || shape.is_chosen(other)) {
      continue;
    }
    const std::int64_t most = std::max(least_rows, (wide ? wide_sums : narrow_sums) / width);
    for (size_t row = shape.rank(); row-- > 0;) {
      const std::int64_t height = std::min(most, shape.extent(row).value_or(most));
      if (row != other && !shape.is_chosen(row) && height >= least_rows &&
          shape.is_outer_product(row, other, term)) {
        return ResultTile{row, other, height};
      }
    }
  }
  return std::nullopt;
}

std::optional<RegisterTile> plan_register_tile(const Shape &shape, size_t column, bool wide) {
  const auto row = find_row(shape, column);
  if (!row || has_single_terms(shape)) {
    return std::nullopt;
  }
  RegisterTile tile;
  tile.row = *row;
  tile.column = column;
  tile.height = height_for(shape.extent(*row), wide);
  tile.lanes = lanes_for(shape, column, wide);
  tile.block_rows = max_block_rows / tile.height * tile.height;
  tile.terms = order_of_terms(shape);
  if (has_small_window(shape)) {
    return tile;
  }
  const size_t term = long_term(shape);
  const std::int64_t bytes =
      std::max<std::int64_t>(1, shape.shared_bytes(*row, column, term, tile.lanes));
  tile.split = term;
  tile.block_terms = std::max(least_block_terms, shared_block_bytes / bytes);
  if (shape.extent(term).value_or(tile.block_terms + 1) <= tile.block_terms) {
    tile.split = std::nullopt; // there is one block
  }
  auto packed = shape.packable(*row, column);
  if (packed && is_worth_packing(shape, tile, *packed)) {
    const std::int64_t most = packed->order.empty() ? max_packed_rows : max_transposed_rows;
    tile.block_rows = most / tile.height * tile.height;
    tile.packed = std::move(packed);
  }
  const std::int64_t columns = vectors_of_copied_rows * tile.lanes;
  const bool has_blocks = shape.extent(column).value_or(columns) >= columns;
  if (has_blocks) {
    tile.rows = rows_of(shape, tile, term);
  }
  tile.values = shape.row_values(*row, column, tile.packed);
  if (tile.rows) {
    if (!tile.packed || tile.packed->order.empty()) {
      tile.block_rows = block_of_copied_rows / tile.height * tile.height;
    }
    std::erase_if(tile.values, [&](const Shape::Packable &value) {
      return value.array == tile.rows->array && value.position == tile.rows->position;
    });
  }
  if (has_blocks && (tile.rows || !tile.values.empty())) {
    tile.block_columns = columns;
  }
  if (!tile.values.empty()) {
    tile.block_rows = std::min(tile.block_rows, max_packed_rows / tile.height * tile.height);
  }
  return tile;
}

} // namespace tilewright
