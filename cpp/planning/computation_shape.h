// What the planner knows of one computation: its loops, how each of its reads moves along them, and
// which operands the iterations of a loop share. Everything that decides over tiles and vectors is
// asked here, so that a matrix product, a convolution and any other contraction are one case.
#pragma once

#include "algorithm/function.h"
#include "mapping/mapping.h"
#include "mapping/program.h"
#include "planning/access_steps.h"
#include "planning/slants.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

/// Elements that lie farther apart are gathered one by one: of a vector of these, more memory is
/// read in vain than used.
inline constexpr std::int64_t most_apart = 4;

/// Iterators are given by their positions: those of the results first, then those that a reduction
/// runs over.
class Shape {
public:
  /// `fixed`: parameters of which the values are known.
  explicit Shape(const Computation &computation, std::map<std::string, std::int64_t> fixed = {});
  /// The same where terms are counted from where their range begins (slants), if it moves along
  /// with the results. Loops are so once they have been skewed.
  static Shape from_begin(const Computation &computation,
                          std::map<std::string, std::int64_t> fixed);
  const std::vector<Slant> &slants() const { return slants_; }

  /// Is it made of affine reads and arithmetic that vectors have?
  bool simple() const { return simple_or_gathered() && !gathers_; }
  /// Would it be simple if all of its elements existed? A test of data says which of them do.
  bool simple_or_guarded() const { return simple_ && !compares_ && !gathers_; }
  /// The same but for reads of which data choose the row, as W[a[n], d].
  bool simple_or_gathered() const { return simple_ && !compares_ && !is_guarded_; }
  /// The same of what is computed for each term, whatever decides which terms there are.
  bool has_simple_terms() const { return simple_ && !is_guarded_; }
  size_t rank() const { return space_.iterators.size() - space_.reduced; }
  size_t reduced() const { return space_.reduced; }
  /// The loop over an iterator; of one in phases, that over its periods.
  std::string name(size_t iterator) const {
    return space_.iterators[iterator] + (period(iterator) > 1 ? "0" : "");
  }
  /// Of a vector of 64 bytes of the largest type that is computed with.
  std::int64_t lanes() const;
  /// The same, or as many as a shorter loop along an iterator needs.
  std::int64_t lanes_along(size_t iterator) const;
  /// Of one of the largest type that is read.
  std::int64_t read_lanes() const;
  /// The number of iterations where it is a constant.
  std::optional<std::int64_t> extent(size_t iterator) const { return extents_[iterator]; }
  /// The first value, where it is a constant.
  std::optional<std::int64_t> begin(size_t iterator) const;
  /// The number of iterations inside of the loops over all other iterators: 64 for q, 1 for b where
  /// terms q are from 64 * b to 64 * b + 64.
  std::optional<std::int64_t> inner_extent(size_t iterator) const;
  /// Has it one iteration, such as that over the only column of an array? Then it is no loop.
  bool is_single(size_t iterator) const { return extents_[iterator] == 1; }
  /// The innermost iterator of the results that is a loop, or else the last one. There are results.
  size_t column() const { return innermost(0, rank()); }
  /// The same of the reduced ones.
  size_t term() const { return innermost(rank(), rank() + reduced()); }
  /// Does such a loop run over iterators of one iteration only?
  bool is_single(const LoopDimension &loop) const;
  /// Does a condition on indices, as that of a padded operand, depend on the iterator?
  bool is_tested(size_t iterator) const { return tested_.contains(space_.iterators[iterator]); }

  /// Do data choose one value of the iterator for each of the iterations around it, as in
  ///     S[i, x] = x[i] where x == p[i], and else what stood there before?
  /// In place that is one iteration, and no loop to have vectors, threads or tiles.
  bool is_chosen(size_t iterator) const { return chosen_.contains(space_.iterators[iterator]); }
  /// Are there other ones for each value of this iterator, as in x == p[i, d] for each d?
  bool is_choosing(size_t iterator) const { return choosing_.contains(space_.iterators[iterator]); }
  /// From now on: the last of `candidates` that `condition` compares with something else, and all
  /// that it bounds by data.
  void choose(const ExprPtr &condition, const std::set<std::string> &candidates);
  /// Do data say where a loop over the iterator begins or ends, as in
  ///     for k in range(start[i], start[i + 1])
  /// Inside of the loops that these data depend on it runs as often as they say, outside over all.
  bool is_ranged(size_t iterator) const { return ranged_.contains(space_.iterators[iterator]); }
  /// Has a loop over such an iterator no more than that one iteration?
  bool is_chosen(const LoopDimension &loop) const { return is_over(loop, chosen_); }
  bool is_ranged(const LoopDimension &loop) const { return is_over(loop, ranged_); }
  bool has_chosen() const { return !chosen_.empty(); }
  /// The innermost iterator of the results is chosen.
  bool is_scattered() const { return rank() > 0 && is_chosen(rank() - 1); }

  /// Do data choose one value of an iterator of the results for each term, as in
  ///     H[x] = sum of all p where x == bin[p]
  /// Inside of the loops over terms that is one iteration (an update), outside it is a search.
  bool is_picked(size_t iterator) const { return picked_.contains(space_.iterators[iterator]); }
  bool has_picked() const { return !picked_.empty(); }

  /// How many values the state of a fold has; 0 of other computations.
  size_t states() const { return states_; }
  /// May the terms of the reduction be grouped, and then combined in any order, too?
  bool is_associative() const { return is_associative_; }
  bool is_commutative() const { return is_commutative_; }
  /// Is it an argmin or argmax over one iterator?
  bool is_extremum() const { return is_extremum_; }
  /// Do data decide which terms there are?
  bool has_condition() const { return has_condition_; }
  /// Others for each iteration of the iterator?
  bool has_condition_on(size_t iterator) const {
    return deciding_.contains(space_.iterators[iterator]);
  }

  bool all_contiguous(size_t iterator) const;
  bool any_contiguous(size_t iterator) const;
  bool has_border() const;
  /// Are the elements of `inner`, such as the channels of a pixel, and those of `outer` around it
  /// one row, in all that is read or at least in what differs between them?
  bool is_one_row(size_t outer, size_t inner) const;
  /// Does each read move along `iterator` by no more than `most` elements, forwards, and reads that
  /// change their form at a border by one?
  bool moves_at_most(size_t iterator, std::int64_t most) const;
  /// Is something that vectors along `column` load the same in all iterations of `row`?
  bool is_shared(size_t row, size_t column) const;
  /// The same where elements lie apart by few places, as what a convolution reads that takes every
  /// second pixel: rows that share them share what it costs to choose them from whole vectors.
  bool is_shared_apart(size_t row, size_t column) const;

  /// Do vectors along `term` come from two operands, of which one moves with `row` alone and one
  /// with `other` alone? Then results of some iterations of both share all that they load.
  bool is_outer_product(size_t row, size_t other, size_t term) const;

  /// Does each iteration of `row` load other vectors along `column`, too?
  bool is_streamed(size_t row, size_t column) const;

  /// What is read along `column` by vectors that all iterations of `row` share, if only from one
  /// place of one array.
  struct Packable {
    std::string array;
    std::vector<std::int64_t> order; ///< of its dimensions, where not its own is needed
    bool is_window = false;          ///< neighbours along a dimension read common elements
    std::vector<size_t> along;       ///< the iterators with which it moves
    bool is_value = false;           ///< something is computed from each element: that is copied
    size_t position = 0;             ///< among the values, as they are written
  };
  std::optional<Packable> packable(size_t row, size_t column) const;
  /// The values of elements that all columns share and rows do not, in the order in which they are
  /// written. Something is computed for each of them. `packed`: the shared operand, if it is
  /// copied.
  std::vector<Packable> row_values(size_t row, size_t column,
                                   const std::optional<Packable> &packed) const;
  /// An operand that all columns share and of which a tile reads rows that lie side by side, with a
  /// step in memory from each term to the next: A of A[k, i] * B[k, j]. Such a walk keeps no cache
  /// line and runs into the same places of a cache, so that a copy pays where many columns read it.
  std::optional<Packable> rows_apart(size_t row, size_t column, size_t term) const;
  /// Is the packable operand the only one that is not contiguous along `column`?
  bool packs_all(size_t row, size_t column) const;
  /// Is every read contiguous along `column`, or else along `row`, and some along `row` only?
  bool is_transposition(size_t row, size_t column) const;

  /// The same computation with the iterators of the results in phases: of x in X[x // 2], the even
  /// and the odd ones, in each of which an iteration moves by one element. Nothing if no iterator
  /// has any.
  std::optional<Shape> in_phases() const;
  /// How many phases an iterator has: 1 for none.
  std::int64_t period(size_t iterator) const { return periods_.empty() ? 1 : periods_[iterator]; }
  /// The loop over the phases of an iterator that is split by its period.
  std::string phase(size_t iterator) const { return space_.iterators[iterator] + "1"; }

  /// Bytes of the elements that vectors along `column` load and all iterations of `row` share: for
  /// `lanes` columns, one iteration of `term`, and all of the other reduced iterators that have
  /// constant extents.
  std::int64_t shared_bytes(size_t row, size_t column, size_t term, std::int64_t lanes) const;

private:
  Shape(const Computation &computation, std::map<std::string, std::int64_t> fixed,
        std::vector<Slant> slants);
  std::optional<isl::pw_aff> affine(const ExprPtr &index, const std::string &own) const;
  /// With what it depends on, if it is not affine.
  void add_subscript(const ExprPtr &index, const std::string &own, Access &access) const;
  /// What the terms are made of: elements, and values of elements (algorithm/element_values.h),
  /// which are counted as one operand each, whatever else they are computed from.
  struct Operand {
    Access access;
    bool is_value = false;
    bool is_bare = false; ///< a value that is an element itself
    size_t position = 0;  ///< of a value among the others
  };
  void find_operands(const Computation &computation, const ExprPtr &terms);
  void tell_reads_apart(const Computation &computation, const std::set<const void *> &in_terms);
  static Packable packable_of(const Operand &operand, size_t iterators, size_t column);
  void collect(const ExprPtr &root, const std::string &own);
  void collect_values(const ExprPtr &node, const std::string &own, bool conditional);
  bool is_of_rows(const Expr &node) const;
  /// Of a value that leaves an element as it is unless data choose it, by conditions one within the
  /// other: what the element becomes. Else null.
  ExprPtr update_of(const ExprPtr &value, const Computation &computation);
  void note_choice(const ExprPtr &condition);
  void note_ranged(const ExprPtr &condition);
  bool is_over(const LoopDimension &loop, const std::set<std::string> &iterators) const;
  void note_picked(const Expr &terms);
  /// Nothing is said of what `value` reads as `read` does.
  void leave_out(const ExprPtr &read, const ExprPtr &value);
  void collect_choice(const ExprPtr &choice, const std::string &own);
  isl::set fixed_domain() const;
  isl::set range_of(size_t iterator) const;
  std::optional<std::int64_t> constant_extent(size_t iterator) const;
  size_t innermost(size_t first, size_t end) const;

  /// The length of an axis where it is known.
  std::optional<std::int64_t> length(const ExprPtr &extent) const;

  std::map<std::string, std::int64_t> fixed_;
  InstanceSpace space_;
  std::vector<Slant> slants_;
  isl::multi_aff from_begin_; ///< to the iterators as they are declared; null without slants
  std::vector<Access> reads_;
  std::vector<std::int64_t> periods_; ///< of all iterators, or empty
  std::vector<Operand> operands_;     ///< of a reduction
  std::set<std::string> tested_;
  std::set<std::string> chosen_;
  std::set<std::string> choosing_; ///< the iterators of the conditions that choose
  std::set<std::string> ranged_;
  std::set<std::string> picked_;
  std::set<std::string> deciding_;   ///< the iterators of the condition of terms
  std::set<const Expr *> collected_; ///< whose values were looked at
  std::vector<std::optional<std::int64_t>> extents_;
  std::int64_t largest_bytes_ = 1;
  bool simple_ = true;
  bool is_guarded_ = false;
  bool compares_ = false; ///< data and iterators decide which terms there are
  bool gathers_ = false;  ///< something is read with a subscript that is not affine
  size_t states_ = 0;
  bool is_associative_ = false;
  bool is_commutative_ = false;
  bool is_extremum_ = false;
  bool has_condition_ = false;
};

} // namespace tilewright
