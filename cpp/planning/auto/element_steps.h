// How the elements that a computation reads and writes move through memory from one iteration of a
// loop to the next, with each value where it is stored: statements that overwrite one array in
// turns all move along it.
#pragma once

#include "mapping/program.h"
#include "planning/access_steps.h"
#include "planning/slants.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

class ElementSteps {
public:
  /// Of the computation's statements in the program. `slants`: loops that count from where their
  /// range begins.
  ElementSteps(const Program &program, const std::string &computation,
               const std::vector<Slant> &slants = {});

  /// Of what it writes.
  Step written(size_t iterator) const { return writes_[iterator]; }
  /// Are elements read and written side by side along the iterator, or the same ones?
  bool side_by_side(size_t iterator) const;
  /// Is that so, or is what is read a few places apart, such as one channel of all pixels in a row:
  /// to be chosen from whole vectors?
  bool lies_near(size_t iterator) const;
  /// Are elements written a few places apart, in an array that no other computation overwrites, and
  /// do those that are read lie near? A vector's stores then leave out the elements between.
  bool is_written_apart(size_t iterator) const;
  /// Is something read, of others than `own`, that is neither the same element along the iterator
  /// nor lies side by side or a few places apart, and moves along one of `inner` besides?
  bool reads_apart(size_t iterator, const std::set<std::string> &own,
                   const std::vector<size_t> &inner) const;
  /// Does something that is read, of others than `own`, lie side by side along `column`
  /// and move along one of `inner`, too? In an order with these innermost but for the column, it is
  /// touched a few elements at a time.
  bool streams(size_t column, const std::set<std::string> &own,
               const std::vector<size_t> &inner) const;
  /// Is something that is read side by side along `column`, or would be if it were packed, the same
  /// in all iterations of `row`?
  bool is_shared(size_t row, size_t column) const;
  /// The same of what moves along one of `inner` besides, of others than `own`: rows that run at
  /// once would load it once, again and again.
  bool is_shared_inside(size_t row, size_t column, const std::set<std::string> &own,
                        const std::vector<size_t> &inner) const;

  /// A copy of what is read of an input that nobody overwrites.
  struct Copy {
    std::string array;
    std::vector<std::int64_t> order; ///< of its dimensions
  };
  /// The copies after which all that is read lies side by side along the iterator; nothing where
  /// there are none, and empty where all does without.
  std::optional<std::vector<Copy>> copies_for(size_t iterator) const;

  /// Copies of inputs that nobody overwrites, of which the same is read in all iterations of `row`:
  /// after them, that lies side by side along `column`. Nothing if something else is read that does
  /// not, and moves along one of `inner` besides.
  std::optional<std::vector<Copy>> panels(size_t row, size_t column,
                                          const std::set<std::string> &own,
                                          const std::vector<size_t> &inner) const;

  /// Is the same read of an array in all iterations of these?
  bool is_same(const std::string &array, const std::vector<size_t> &iterators) const;

private:
  /// How what is read, or written, moves with each iterator.
  struct Access {
    std::string array;
    bool is_constant = false; ///< an input that nobody overwrites
    size_t dimensions = 0;
    std::vector<Step> steps;
    /// The dimension along which it moves by one element.
    std::vector<std::optional<size_t>> along;
    std::vector<bool> near; ///< does it move forwards, by a few elements?
  };
  static Access access_of(const isl::map &elements, const isl::set &domain, const Buffer &buffer,
                          const std::vector<Slant> &slants);

  bool reads_near(size_t iterator) const;

  std::vector<Step> writes_;       ///< by iterator
  std::vector<bool> writes_apart_; ///< forwards, by a few elements of an array of its own
  std::vector<Access> reads_;
};

} // namespace tilewright
