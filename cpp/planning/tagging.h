// The tags of one computation in the default schedule: which of its loops is a vector, how a
// reduction is tiled, which loops run on threads. What is asked of the computation is its shape;
// the answer is commands, whose legality is somebody else's question (default_tags.h).
#pragma once

#include "mapping/mapping.h"
#include "planning/chains.h"
#include "planning/computation_shape.h"
#include "planning/register_tiles.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// Shorter loops are no vectors.
inline constexpr std::int64_t fewest_lanes = 4;
/// Work that plain loops do sooner than a register tile (a product of 6 x 6).
inline constexpr std::int64_t little_for_tiles = 1'500;
/// Terms of a block of which a thread makes a partial state, where there is one result.
inline constexpr std::int64_t fold_block = 32 * 1024;

/// The mapping while it gets its tags.
class Tagging {
public:
  /// `wide`: there are 32 registers of 64 bytes. `streams`: several rows may be summed at once
  /// (find_streamed_row), which nobody who goes row by row can share.
  Tagging(Mapping mapping, std::string computation, const Shape &shape, bool wide, bool streams)
      : mapping_(std::move(mapping)), computation_(std::move(computation)), shape_(shape),
        wide_(wide), streams_(streams) {}

  /// Vector loops and tiles.
  void vectorize();
  /// Chains of the two innermost loops instead.
  void set_side_by_side(const Chains &chains);
  /// The loops over blocks of a tiled reduction run as one parallel loop. If `keeps_rows`, the
  /// first one stays for others to share if it is a whole loop. False if there are not several.
  bool join_blocks(bool keeps_rows);
  /// The outermost of the loops that no reduced iterator drives, after `choice` others. What has
  /// one iteration is none.
  bool parallelize(size_t choice);

  /// Is it tiled, and its first loop a whole one?
  bool has_rows() const { return !blocks_.empty() && blocks_.front() == shape_.name(0); }

  const Mapping &mapping() const { return mapping_; }
  std::int64_t little() const { return little_; }
  int around() const { return around_; }

private:
  void give(const std::string &command, std::vector<Argument> arguments) {
    skew();
    give_to(computation_, command, std::move(arguments));
  }
  void skew();
  void sum_inside();
  void give_to(const std::string &computation, const std::string &command,
               std::vector<Argument> arguments) {
    mapping_ = mapping_.with({computation, command, std::move(arguments), {}});
  }
  std::string new_name(const std::string &stem) const;
  void parallelize_fold(const std::string &folded, const std::string &loop);

  bool tiles_apart(size_t column) const;
  std::int64_t streams() const;
  void move_singles_out();
  bool vectorize_short();
  bool vectorize_one_row();
  void sum_one_row(const std::string &row, std::int64_t channels, std::int64_t lanes);
  bool vectorize_interleaved();
  bool vectorize_in_phases();
  void sum_window(size_t column, std::int64_t lanes);
  bool sums_short() const;
  void sum_terms(size_t term, std::int64_t lanes);
  bool sum_beside(std::int64_t lanes);
  void write_out(size_t column);
  void sum_few_columns(size_t column, size_t term, std::int64_t lanes);
  bool has_few_results() const;
  void sum_blocks(size_t term, std::int64_t lanes);
  void scatter_rows(std::int64_t lanes);
  void update_picked();
  void fold_rows(size_t term, std::int64_t lanes);
  void fold_terms(size_t term, std::int64_t lanes);
  void fold_lanes(const std::string &folded, const std::string &term, const std::string &outer,
                  std::int64_t width);
  void tile(const RegisterTile &plan);
  void reduce(size_t column, std::int64_t lanes);
  void sum_columns(size_t column, std::int64_t lanes);
  bool sum_chosen_rows(size_t column, std::int64_t lanes);
  /// Copies what is packed, or what is computed from it, at a level, and what rows read for each of
  /// `rows`; `plan`: the tile that reads it.
  void pack(const RegisterTile &plan, const std::string &level, const std::string &rows);
  void keep(const Shape::Packable &operand, const std::string &level, std::int64_t lanes);

  Mapping mapping_;
  std::string computation_;
  const Shape &shape_;
  bool wide_;
  bool streams_;
  std::int64_t little_ = 0;
  int around_ = 0;
  bool is_skewed_ = false;
  std::vector<std::string> blocks_; ///< the outer loops of a tiled reduction
  std::vector<std::string> lanes_;  ///< the partial states of a fold
};

} // namespace tilewright
