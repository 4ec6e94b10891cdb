// Vectors of results whose elements do not simply lie side by side along one long loop.
#include "planning/sums_inside.h"
#include "planning/tagging.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

namespace tilewright {

/// A last loop that is shorter than the widest vector, such as channels, is one of fewer lanes.
bool Tagging::vectorize_short() {
  if (shape_.rank() == 0 || shape_.reduced() > 0 || shape_.has_condition()) {
    return false;
  }
  const size_t column = shape_.column();
  const std::int64_t extent = shape_.extent(column).value_or(shape_.lanes());
  if (extent < fewest_lanes || extent >= shape_.lanes() || !shape_.all_contiguous(column)) {
    return false;
  }
  const auto lanes = std::bit_ceil(static_cast<std::uint64_t>(extent));
  give("vectorize", {shape_.name(column), static_cast<std::int64_t>(lanes)});
  return true;
}

/// Few channels of many pixels, or other elements of which as many lie side by side as the last
/// loop has iterations, are one loop.
bool Tagging::vectorize_one_row() {
  if (shape_.rank() < 2 || shape_.has_condition() || shape_.states() > 0) {
    return false;
  }
  const size_t column = shape_.column();
  if (column == 0) { // those behind it are single elements
    return false;
  }
  const std::int64_t lanes = shape_.lanes();
  const std::int64_t extent = shape_.extent(column).value_or(lanes);
  const bool long_enough = shape_.extent(column - 1).value_or(lanes) * extent >= lanes;
  if (extent < 2 || extent >= lanes || !long_enough || shape_.is_chosen(column - 1) ||
      (shape_.reduced() == 0 && shape_.is_tested(column - 1)) || shape_.is_tested(column) ||
      !shape_.is_one_row(column - 1, column)) {
    return false;
  }
  const std::string i = shape_.name(column - 1);
  const std::string j = shape_.name(column);
  const Mapping before = mapping_;
  try {
    give("join", {i, j, i + j});
    if (shape_.reduced() > 0) {
      sum_one_row(i + j, extent, lanes);
    } else {
      give("vectorize", {i + j, lanes});
    }
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Schedule && error.kind != ErrorKind::Limit) {
      throw;
    }
    mapping_ = before; // the bounds of one depend on the other
    return false;
  }
  return true;
}

/// Vectors of sums beside each other, so many that the channels begin anew with each block of them:
/// three vectors of 16 are those of 16 pixels of three channels.
void Tagging::sum_one_row(const std::string &row, std::int64_t channels, std::int64_t lanes) {
  constexpr std::int64_t most_vectors = 6;
  const std::int64_t whole = std::lcm(channels, lanes) / lanes;
  if (whole > most_vectors) {
    give("vectorize", {row, lanes});
    return;
  }
  const std::int64_t vectors = whole == 1 ? 4 : whole;
  give("split", {row, vectors * lanes});
  give("split", {row + "1", lanes});
  std::vector<Argument> order = {row + "0"};
  for (size_t d = shape_.rank(); d < shape_.rank() + shape_.reduced(); ++d) {
    order.emplace_back(shape_.name(d));
  }
  order.emplace_back(row + "10");
  order.emplace_back(row + "11");
  give("reorder", order);
  give("unroll", {row + "10", vectors});
  give("vectorize", {row + "11", lanes});
}

/// Elements that lie apart by the same few places, such as one channel of many pixels: whole
/// vectors are read, and what is wanted is chosen from them. (What is written so is left to LLVM,
/// which interleaves the elements of several stores; a store of every third one costs as many as
/// its lanes.)
bool Tagging::vectorize_interleaved() {
  if (shape_.rank() == 0 || shape_.has_condition() || shape_.states() > 0 ||
      (shape_.reduced() > 0 && !has_small_window(shape_))) {
    return false;
  }
  const size_t column = shape_.column();
  const std::int64_t lanes = shape_.lanes();
  if (lanes < fewest_lanes || shape_.extent(column).value_or(lanes) < lanes ||
      shape_.all_contiguous(column) || !shape_.moves_at_most(column, most_apart)) {
    return false;
  }
  shape_.reduced() == 0 ? give("vectorize", {shape_.name(column), lanes})
                        : sum_window(column, lanes);
  return true;
}

/// What moves by one element in every second iteration, as X[x // 2] does, moves by one in each of
/// the even ones, and of the odd ones. A reduction has a tile in each of these phases. Of other
/// results, the phases of a vector stand next to each other, so that stores interleave them.
bool Tagging::vectorize_in_phases() {
  if (shape_.rank() == 0 || shape_.has_condition() || shape_.states() > 1) {
    return false;
  }
  const size_t column = shape_.column();
  const auto phased = shape_.in_phases();
  const std::int64_t lanes = shape_.lanes();
  if (!phased || phased->period(column) == 1 || phased->extent(column).value_or(lanes) < lanes) {
    return false;
  }
  const std::string x = phased->name(column);
  if (shape_.reduced() == 0) {
    if (!phased->all_contiguous(column)) {
      return false;
    }
    give("split", {shape_.name(column), phased->period(column)});
    give("split", {x, lanes});
    give("reorder", {x + "0", phased->phase(column), x + "1"});
    give("unroll", {phased->phase(column), phased->period(column)});
    give("vectorize", {x + "1", lanes});
    return true;
  }
  Tagging within(mapping_, computation_, *phased, wide_, streams_);
  const auto plan = plan_register_tile(*phased, column, wide_);
  if (!plan) {
    return false;
  }
  for (size_t d = 0; d < shape_.rank(); ++d) {
    if (phased->period(d) > 1) {
      within.give("split", {shape_.name(d), phased->period(d)});
    }
  }
  within.tile(*plan);
  mapping_ = within.mapping_;
  little_ = within.little_;
  around_ = within.around_;
  blocks_ = within.blocks_;
  return true;
}

/// Results with sums inside are computed side by side; two vectors of them at a time, since each
/// sum waits for its last term.
void Tagging::sum_inside() {
  if (shape_.reduced() > 0 || shape_.rank() == 0 || shape_.is_scattered()) {
    return;
  }
  const size_t column = shape_.rank() - 1;
  const std::int64_t lanes = 2 * shape_.lanes();
  const Computation &computation = **mapping_.function().find(computation_);
  if (shape_.extent(column).value_or(lanes) >= lanes && has_sums_beside(computation, column)) {
    give("vectorize", {shape_.name(column), lanes});
  }
}

} // namespace tilewright
