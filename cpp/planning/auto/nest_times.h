// The loops of a whole program as one tree of nests, as a program over memory has them: of each
// computation its loops, with a place before, between and behind them. Two computations share the
// loops up to the first place that differs. Nests can be restructured: a computation leaves loops
// that it shares (loop distribution), shares a loop by another iterator, or runs in strips of it.
// Whether that is legal is asked of the mapping that command() makes.
#pragma once

#include "mapping/mapping.h"
#include "planning/slants.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct NestLoop {
  std::string name;
  std::string value;              ///< as isl reads it, with {0}, {1}, ... for the iterators
  std::optional<size_t> iterator; ///< of which it is the value, forwards, backwards or slanted

  bool operator==(const NestLoop &) const = default;
};

struct NestTimes {
  std::vector<std::int64_t> places; ///< one more than there are loops
  std::vector<NestLoop> loops;

  bool operator==(const NestTimes &) const = default;
  /// The loop over an iterator.
  std::optional<size_t> position(size_t iterator) const;
};

class Nests {
public:
  /// Nothing where the computations are not all in one time space, of loops that run over sums of
  /// iterators and parameters.
  static std::optional<Nests> of(const Mapping &mapping);

  /// set_schedule, for the whole function.
  Command command() const;

  const NestTimes &times(const std::string &computation) const { return times_.at(computation); }
  const std::map<std::string, NestTimes> &all() const { return times_; }
  /// How many loops both share.
  size_t shared(const std::string &one, const std::string &other) const;
  /// Those that share so many loops with a computation, itself among them.
  std::vector<std::string> sharing(const std::string &computation, size_t loops) const;
  /// How many loops it shares with any other one.
  size_t shared(const std::string &computation) const;

  /// The computation has the loops from `depth` on for itself; what stood before it in them runs
  /// before it now, and what stood behind it behind it:
  ///     for i: { A[i]; B[i]; C[i] }
  /// becomes, for B and depth 0,
  ///     for i: A[i];  for i: B[i];  for i: C[i]
  void distribute(const std::string &computation, size_t depth);

  /// All that share the loop at `depth` run in strips of `size` iterations of it, one after the
  /// other in each:
  ///     for i: { A[i]; B[i] }
  /// becomes
  ///     for strips: { for i in the strip: A[i];  for i in the strip: B[i] }
  /// or, `together`,
  ///     for strips: for i in the strip: { A[i]; B[i] }
  void strip(const std::string &computation, size_t depth, std::int64_t size,
             bool together = false);

  /// All that share the loop at `depth` run in strips of `size` iterations of it, counted from
  /// `begin`; within a strip, each runs its iterations inside of all its other loops:
  ///     for j: { A[j];  for k: B[j, k] }
  /// becomes
  ///     for strips: { for j in the strip: A[j];  for k: for j in the strip: B[j, k] }
  void sink(const std::string &computation, size_t depth, std::int64_t size, std::int64_t begin);

  /// The same in two loops, the one at `depth` and the one inside of it, which all share that share
  /// the first one: tiles of `rows` x `columns` iterations, and `block` rows of tiles one after the
  /// other:
  ///     for i: for j: { A[i, j];  for k: B[i, j, k] }
  /// becomes
  ///     for blocks of i: for strips of j: for strips of i: {
  ///       for i, j in the tile: A[i, j];  for k: for i, j in the tile: B[i, j, k] }
  void sink_tiles(const std::string &computation, size_t depth, std::int64_t block,
                  std::int64_t rows, std::int64_t columns);

  /// `count` iterations of the loop at `depth` run side by side within the one inside of it, each
  /// `skew` iterations behind the one before it. All that is in either loop is in both, and
  /// nothing else is inside of them:
  ///     for i: for j: { A[i, j]; B[i, j] }
  /// becomes
  ///     for strips of i: for j + skew * (i % count): for i in the strip: { A[i, j]; B[i, j] }
  void set_side_by_side(const std::string &computation, size_t depth, std::int64_t count,
                        std::int64_t skew);

  /// What stands before the computation in the loop at `depth`, outside of the loops that both
  /// share inside of it, has a loop of its own before.
  void distribute_before(const std::string &computation, size_t depth);

  /// The loops from `depth` on are those over `iterators`, and then the others as they were. If
  /// others share the loop at `depth`, it runs before or behind all of them in it.
  void reorder(const std::string &computation, size_t depth, const std::vector<size_t> &iterators,
               bool before = false);

  /// The loop over an iterator counts from where its range begins: the same order.
  void slant(const std::string &computation, const Slant &slant);

private:
  std::vector<std::string> parameters_;
  std::map<std::string, std::vector<std::string>> iterators_;
  std::map<std::string, NestTimes> times_;
};

} // namespace tilewright
