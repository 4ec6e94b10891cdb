// Scalars of a program's own: in one place, the iterations of the loops around it come one after
// the other. A scalar gets one element for each iteration of the innermost loop that all share
// which write it (scalar expansion), apart for each nest that uses it.
#pragma once

#include "planning/auto/nest_times.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

struct ExpandedScalar {
  std::vector<std::string> writers;
  std::vector<Command> stores; ///< store_in, of each writer
};

/// Does the iterator have more values, the more a parameter of `endless` is?
bool runs_endless(const Computation &computation, size_t iterator,
                  const std::vector<std::string> &endless);

/// The scalars that the program, whose values are stored as `mapping` has them, can have expanded,
/// but along no loop whose number of iterations grows with one of the parameters `endless`:
///     for i: for j: { s[] = 0; for k: s[] = s[] + ...; C[i, j] = s[] }
/// becomes
///     for i: for j: { s[j] = 0; for k: s[j] = s[j] + ...; C[i, j] = s[j] }
std::vector<ExpandedScalar> expanded_scalars(const Mapping &mapping, const Nests &nests,
                                             const std::vector<std::string> &endless = {});

/// store_in of the scalars that some of `names` write, which share the loop at `depth`: an element
/// for each of its iterations, so that these may run on threads. Empty if not all of them can have
/// one.
std::vector<Command> scalars_along(const Mapping &mapping, const Nests &nests,
                                   const std::vector<std::string> &names, size_t depth,
                                   const std::vector<std::string> &endless);

/// Is it stored in a scalar or a plain array of the program's own, in one place for all iterations
/// of its loops from `first` to `last`?
bool has_one_place(const Mapping &mapping, const Nests &nests, const std::string &name,
                   size_t first, size_t last);

/// Makes arrays of the program's own, written by some of `names`, private to the iterations of the
/// loop at `depth`, which all of these share: arrays in which all iterations have one place, and
/// that nobody outside of the loop uses.
std::vector<Command> private_arrays(const Mapping &mapping, const Nests &nests,
                                    const std::vector<std::string> &names, size_t depth);

/// Does it only store what a scalar is in each iteration of a loop that runs as the program has it?
/// It would have to be kept for vectors first, at the price of what they gain. `is_changed`: has a
/// computation other loops than the program's?
bool only_keeps_scalars(const Computation &computation, const Nests &nests,
                        const std::vector<ExpandedScalar> &scalars,
                        const std::function<bool(const std::string &)> &is_changed);

/// The writers of such scalars that gain nothing by loops of their own, of those that have some
/// (`is_changed`): they do little, and all that reads what they write runs beside them in the
/// program's loops (`nests`). There a processor computes them while it waits for the others; apart,
/// their values would go through memory.
///     for j: { x[] = j * s;  at[] = int(x[]);  b[j] = a[at[]] }
std::set<std::string> changed_in_vain(const Function &function, const Nests &nests,
                                      const std::vector<ExpandedScalar> &scalars,
                                      const std::function<bool(const std::string &)> &is_changed);

} // namespace tilewright
