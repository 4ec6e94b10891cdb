// The loops that one statement of a program might have in place of its own: register tiles,
// vectors, sums at once (program_order.h), each with the nests that it needs. Which of them are
// legal is not asked here.
#pragma once

#include "planning/auto/element_steps.h"
#include "planning/auto/nest_times.h"
#include "planning/computation_shape.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilewright {

/// Rows of a register tile, which are written out: as planning/register_tiles.cpp has them.
inline constexpr std::int64_t wide_rows = 8;
inline constexpr std::int64_t narrow_rows = 4;
/// Rows of a block, which share what is copied for them.
inline constexpr std::int64_t block_rows = 128;

/// The shape of a statement where its values are stored. What leaves all elements but one as they
/// are has no loop over them:
///     a[x] = v if x == p[i] else a[x]
Shape shape_in_memory(const Program &program, const Computation &computation);

/// A statement of the program, with what its loops do.
struct Part {
  std::string name;
  Shape shape;
  ElementSteps steps;
  std::vector<size_t> columns; ///< iterators along which all lies side by side
  /// Others along which what is read lies a few places apart.
  std::vector<size_t> interleaved;
  std::vector<size_t> apart; ///< along which what is written does, too
  std::map<size_t, std::vector<ElementSteps::Copy>> packed; ///< those along which copies would
  /// Of loops over terms of which the range moves along with other loops.
  std::vector<Slant> slants;
  /// Where the loop over an iterator begins, if that is a number: vectors begin there, too.
  std::map<size_t, std::int64_t> begins;
  size_t loops = 0;

  Part(const Program &program, const Computation &computation, const Nests &nests);

  bool can_be_vector() const { return shape.simple_or_guarded() && shape.states() == 0; }
  /// Are its terms those of a reduction, which may be added in any order?
  bool is_reduction() const { return shape.reduced() > 0; }

private:
  void find_begin(const Program &program, size_t iterator);
  void find_slants(const Program &program, const Computation &computation);
};

/// Other loops for one statement.
struct Candidate {
  Nests nests;
  std::vector<Command> commands; ///< of the statement
  std::string why;
  std::vector<std::string> copies = {}; ///< what it packs
};

/// The ways in which a statement might run, the best first. `depths`: how many loops each statement
/// has that run more than once, where that is not all of them. `wide`: there are 32 registers of 64
/// bytes.
std::vector<Candidate> candidates_for(const Part &part, const Nests &nests,
                                      const std::map<std::string, size_t> &depths, bool wide);

} // namespace tilewright
