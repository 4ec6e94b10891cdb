// What is asked of a declaration before any schedule exists: names, iterators in scope, overlapping
// pieces, and reads that stay inside what they read. Every failure carries a concrete point with
// parameter values and a source line.
#pragma once

#include "algorithm/function.h"

#include <string>
#include <vector>

namespace tilewright {

/// isl operations that one declaration may take.
inline constexpr std::uint64_t declaration_operation_limit = 4'000'000;

/// The point at which an expression is evaluated: instances of `domain`, whose dimensions are
/// `iterators`.
struct Scope {
  isl::set domain;
  std::vector<std::string> iterators;
};

/// "demo.py:12", or "an unknown line".
std::string line_text(const SourceLocation &where);

/// Throws unless `name` can name an object of kind `what` ("computation", "iterator" ...) in isl's
/// notation.
void check_name(const std::string &name, const std::string &what, const SourceLocation &where);

/// Throws for invalid and duplicate iterator names of `owner`, and for parameters of `domain` named
/// like one of them.
void check_iterators(const std::string &owner, const std::vector<std::string> &iterators,
                     const SourceLocation &where);

/// Throws when `expr` uses an iterator that is not in `iterators` nor reduced, reduces an iterator
/// that is already in scope, names a parameter like an iterator, or reads with a wrong number of
/// subscripts.
void check_scopes(const std::string &owner, const std::vector<std::string> &iterators,
                  const ExprPtr &expr, const SourceLocation &where);

/// Throws when a set has a parameter that is named like an iterator.
void check_parameters(const std::string &owner, const std::vector<std::string> &iterators,
                      const isl::set &set, const SourceLocation &where);

/// Throws when `domain` has infinitely many points for some parameter values.
void check_bounded(const std::string &owner, const std::vector<std::string> &iterators,
                   const isl::set &domain, const SourceLocation &where);

/// Throws when two pieces share a point under `context`.
void check_overlap(const Computation &computation, const Piece &a, const Piece &b,
                   const isl::set &context);

/// What a read of a computation must stay inside.
enum class Readable {
  Declared, ///< its declared domain: pieces may still follow
  Defined   ///< the union of its pieces; of a stream that is pushed, which has none, its domain
};

/// Throws when an affine read in `piece` leaves what it may read, or a reduction is unbounded.
/// Branches of a select with an affine condition are checked only where they are taken.
void check_reads(const Computation &computation, const Piece &piece, const isl::set &context,
                 Readable readable);

/// Throws when a piece reads what no piece of a computation defines.
void check_defined_reads(const Computation &computation);

} // namespace tilewright
