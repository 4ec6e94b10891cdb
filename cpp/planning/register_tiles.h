// How a reduction is tiled whose results lie side by side: as in a library of linear algebra, but
// found from the access functions of any contraction (a matrix product, a batch of them, a
// convolution of any layout). What one result after the other shares decides:
// - vectors run along the last iterator of the results, the column, where every operand is
//   contiguous or the same (or will be once it is packed);
// - a few iterations of another iterator of the results, the row, are written out beside each
//   other: one for which what vectors load is the same. Their sums stay in registers.
// - a block of such tiles reads a piece of the shared operand that stays in a first-level cache:
//   its footprint is counted, and bounds the terms of one block. What a block of rows reads of the
//   other operands stays in a second-level cache.
// After Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication (2008).
#pragma once

#include "planning/computation_shape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// Terms of a window of so many, whatever the parameters are, are not cut into blocks.
inline constexpr std::int64_t few_terms = 64;

/// A plan for one computation:
///     for blocks of results: for term / term_block:
///       [pack]
///       for row / height in the block: for terms: for height rows (unrolled): for lanes (a vector)
/// and where what rows read is copied or computed, as in A[k, i] * B[k, j], or (A[i, k] - m[i]):
///     for blocks of results, of several vectors: for term / term_block:
///       [pack]
///       for row / height in the block:
///         [pack rows, unless it was computed above]
///         for vectors of the block: for terms: for height rows (unrolled): for lanes (a vector)
struct RegisterTile {
  size_t row = 0;
  size_t column = 0;
  std::int64_t height = 1; ///< rows of a tile
  std::int64_t lanes = 1;  ///< columns of a tile: one vector
  std::int64_t block_rows = 1;
  std::vector<size_t> terms;             ///< the reduced iterators in the order of their loops
  std::optional<size_t> split;           ///< the term that is cut into blocks
  std::int64_t block_terms = 1;          ///< iterations of it in a block
  std::optional<Shape::Packable> packed; ///< the shared operand, if it is to be copied
  /// What the rows of a tile read, if it is to be copied for each.
  std::optional<Shape::Packable> rows;
  std::int64_t block_columns = 0;      ///< that use such a copy, or `values`; 0: those of a tile
  std::vector<Shape::Packable> values; ///< of rows, which are computed before the columns of a tile
};

/// Few terms, whatever the parameters are?
bool has_small_window(const Shape &shape);

/// The row for vectors along `column`: the innermost iterator that shares what they load, unless
/// there are too few iterations.
std::optional<size_t> find_row(const Shape &shape, size_t column);

/// Of a reduction with vectors along its last term: the iterator of the results of which several
/// iterations share a vector that they load, and each reads another one besides (the rows of a
/// matrix that is multiplied with a vector). Nothing where there is none, or one of few iterations.
std::optional<size_t> find_streamed_row(const Shape &shape);

/// Results that are summed beside each other, with vectors along their terms:
///     for blocks of results: for terms: for height rows, width others (unrolled): for lanes
struct ResultTile {
  size_t row = 0;
  size_t other = 0; ///< a window, of which each element has a result: all of it is in the tile
  std::int64_t height = 1;
};

/// Of a reduction with long terms and few columns, such as the gradient of a convolution for its
/// weights: each loaded vector serves a row, or a column, of a tile.
std::optional<ResultTile> plan_result_tile(const Shape &shape, bool wide);

/// The plan for vectors along `column`, if there is a row. `wide`: there are 32 registers of 64
/// bytes.
std::optional<RegisterTile> plan_register_tile(const Shape &shape, size_t column, bool wide);

} // namespace tilewright
