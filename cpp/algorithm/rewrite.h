// Rewrites of Layer I that keep what a function computes (AlphaZ: semantics-preserving
// transformations of equations): substituting a computation into its readers, and factoring a
// reduction through partial results. A rewrite never changes its argument; it makes a new function
// with computations of its own, sharing the inputs.
#pragma once

#include "algorithm/function.h"

#include <memory>
#include <string>

namespace tilewright {

/// `name` is gone, and each of its readers computes its expression in place. Throws Error(Schedule)
/// for outputs, recurrences, computations of several pieces, and reads at computed subscripts.
std::shared_ptr<const Function>
inline_computation(const Function &function, const std::string &name, const SourceLocation &where);

/// `reader` reads a copy of `array` (an input or a computation) instead: a computation `copy` with
/// copy[i] = array[i]. Other readers are left alone.
std::shared_ptr<const Function> copy_reads(const Function &function, const std::string &reader,
                                           const std::string &array, const std::string &copy,
                                           const SourceLocation &where);

/// `name` becomes a copy of a new computation `local`, which takes over its expressions: name[i] =
/// local[i]. What reads `name` reads it still.
std::shared_ptr<const Function> copy_writes(const Function &function, const std::string &name,
                                            const std::string &local);

/// How a reduction is factored: the instances of a loop r, an affine function of the reduction's
/// body instances name[i..., k...], become an iterator of the partial results.
struct ReductionFactor {
  std::string partial;      ///< name of the new computation
  std::string iterator;     ///< name of its last iterator
  isl::pw_aff value;        ///< name[i..., k...] -> r
  bool is_iterator = false; ///< r is one of the reduced iterators itself, of the name `iterator`
};

/// C[i] = reduce(k, body) becomes P[i,r] = reduce(k with value(i,k) = r, body); C[i] = reduce(r,
/// P[i,r]).
std::shared_ptr<const Function> factor_reduction(const Function &function, const std::string &name,
                                                 const ReductionFactor &factor,
                                                 const SourceLocation &where);

/// `outer` is a reduction of the values of `inner`, which is one itself and is gone: outer[i] =
/// reduce(a, inner[i,a]), inner[i,a] = reduce(b, body) becomes outer[i] = reduce(a, b, body).
std::shared_ptr<const Function> merge_reductions(const Function &function, const std::string &outer,
                                                 const std::string &inner);

} // namespace tilewright
