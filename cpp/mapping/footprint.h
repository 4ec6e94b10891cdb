// What a part of a program reads of one computation: the footprint inside each iteration of some
// outer loops.
#pragma once

#include "mapping/accesses.h"
#include "mapping/program.h"

#include <map>
#include <vector>

namespace tilewright {

/// [d0, ..., d(levels-1)] -> computation[iterators]: the elements that `readers` read in each
/// iteration of the `levels` outermost loops. Over-approximated (the whole computation) where a
/// subscript is not affine.
isl::map footprint(const std::vector<const Statement *> &readers, const Computation &computation,
                   size_t levels);
/// The same, of many computations: what a reader reads is found once, and is in `known` then.
using KnownReads = std::map<const Statement *, std::vector<ReadAccess>>;
isl::map footprint(const std::vector<const Statement *> &readers, const Computation &computation,
                   size_t levels, KnownReads &known);

/// The same of what statements of `computation` itself write.
isl::map written_footprint(const std::vector<const Statement *> &writers, size_t levels);

/// The footprint as one convex set in each iteration, with which one plain loop computes it: the
/// same elements where its pieces join without a gap, else, if `more` allows it, elements of
/// `domain` in a few holes and corners besides. The footprint itself where there is no such set.
isl::map plain_footprint(const isl::map &footprint, const isl::set &domain, bool more);

/// A box around the footprint in each iteration: constant sizes where isl finds them, else the
/// largest over all iterations. `lower` is written over the iterators "@0", "@1", ...: the values
/// of the outermost loops.
struct FootprintBox {
  std::vector<ExprPtr> lower;
  std::vector<ExprPtr> extents;
};
FootprintBox footprint_box(const isl::map &footprint, const isl::set &context);

/// The constant number of values, holes included, that a dimension of the footprint takes in each
/// iteration; 0 where isl finds none.
std::int64_t constant_extent(const isl::map &footprint, unsigned dimension);

/// The constant number of values, holes included, that a loop of a statement takes inside each
/// iteration of the `levels` outermost ones; 0 where isl finds none.
std::int64_t constant_width(const Statement &statement, size_t levels, size_t loop);

/// The name in index expressions of the value of an outer loop.
std::string outer_loop_name(size_t level);

/// Statements of `statements` that read `computation`.
std::vector<const Statement *> readers_of(const std::vector<Statement> &statements,
                                          const Computation &computation);

} // namespace tilewright
