// Iterations of a whole nest as the lanes of vectors (outer-loop vectorization; Nuzman and Zaks,
// Outer-Loop Vectorization Revisited for Short SIMD Architectures, PACT 2008): where the iterations
// of a loop have values of their own, in scalars and small arrays of the program, that nobody else
// reads, so many of them run at once as a vector has lanes, statement by statement. The values stay
// in registers.
#pragma once

#include "planning/auto/local_scalars.h"
#include "planning/auto/nest_candidates.h"
#include "planning/auto/nest_times.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

/// Of a nest
///     for j: { s[] = 0;  for k: s[] = s[] + A[k, j];  B[j] = s[] }
/// becomes
///     for strips of j: { for j (a vector): s[j] = 0
///                        for k: for j (a vector): s[j] = s[j] + A[k, j]
///                        for j (a vector): B[j] = s[j] }
/// with an s for each strip. In the innermost loop, statements of which no vector can be made run
/// beside the others, one iteration after the other in each strip, which is some vectors long then:
///     for j: { A[j] = X[j] * Y[j];  s[] = s[] + A[j] }
/// becomes
///     for strips of j: { for j (vectors): A[j] = X[j] * Y[j]
///                        for j: s[] = s[] + A[j] }
struct IterationVectors {
  std::vector<std::string> members;
  size_t depth = 0; ///< of the loop over the iterations
  std::int64_t lanes = 0;
  std::int64_t begin = 0; ///< where vectors begin
  /// As many iterations of the loop around, with all that is in it, run at once; 0: one.
  std::int64_t rows = 0;
  /// Of a strip; 0: as many as there are lanes.
  std::int64_t strip = 0;
  std::set<std::string> serial; ///< members of which no vectors are made
  /// What runs in strips might be loops of its own instead, all of them vectors: if strips cannot
  /// be parallel, such loops may be.
  bool needs_threads = false;
  std::vector<ExpandedScalar> locals; ///< the iterations' own values, an element for each
  struct ShortLoop {
    std::int64_t count; ///< of iterations
    std::int64_t begin;
  };
  /// The innermost other loop of members, which is written out.
  std::map<std::string, ShortLoop> written_out;

  /// What members read of inputs, copied for a block of rows of tiles, or for an iteration of the
  /// outermost loop.
  std::map<std::string, std::vector<ElementSteps::Copy>> panels;

  static std::string copy_name(const std::string &member, const ElementSteps::Copy &copy);
  Nests in(Nests nests) const;
  /// Of a member, where `nests` are those that in() has made.
  std::vector<Command> commands(const Nests &nests, const std::string &member) const;
  std::string why(const Nests &nests) const;
};

/// The nests in which that may gain something, as far as it is seen without a question to isl.
/// `given`: with its scalars as the program has them; `parts`: all statements; `bound`: those that
/// need each other within an iteration and the next one (bound_cycles.h); `wide`: there are 32
/// registers, and vectors of short loops inside come in pairs.
std::vector<IterationVectors> find_iteration_vectors(const Mapping &given, const Nests &nests,
                                                     const std::vector<Part> &parts,
                                                     const std::set<std::string> &bound, bool wide);

} // namespace tilewright
