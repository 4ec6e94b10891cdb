// Reductions and computations over ranges whose bounds read data, such as the rows of a sparse
// matrix: p from row[i] to row[i + 1]. Their iteration domain is a range that encloses all of these
// (an over-approximated domain in the sense of Benabderrahmane et al., "The polyhedral model is
// more widely applicable than you think"), and the bounds become a condition on its points.
#pragma once

#include "algorithm/expression.h"

#include <string>
#include <vector>

namespace tilewright {

struct EnclosedRanges {
  std::vector<ReduceRange> ranges; ///< affine bounds
  ExprPtr condition;               ///< with the bounds that read data; may be null
};

/// Does a bound or a condition depend on data?
bool reads_data(const ExprPtr &bound);

/// The ranges and the condition (may be null) of what computes `bodies` for each point, "the sum"
/// or "the domain of C". Where a bound is not affine, the enclosing range is that of the array
/// dimensions which every instance of a body reads at the iterator itself: data beyond it are
/// clipped, as NumPy does with slices. Throws Error(Declaration) when there is no such read.
/// `in_terms`: what the terms of a reduction within a body read counts, too.
EnclosedRanges enclose_ranges(const std::string &owner, const std::vector<ReduceRange> &ranges,
                              const std::vector<ExprPtr> &bodies, const ExprPtr &condition,
                              bool in_terms = false);

} // namespace tilewright
