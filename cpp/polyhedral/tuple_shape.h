// What a space looks like, without isl: the name of a tuple and its dimensions, or the two tuples
// of a relation that is wrapped in it, which "{ [A[i] -> B[j]] }" has.
#pragma once

#include <isl/isl-noexceptions.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

struct TupleShape {
  std::string name;                    ///< empty: anonymous
  std::vector<std::string> dimensions; ///< of all tuples in it, one after the other; names, or ""
  std::vector<TupleShape> nested;      ///< none, or two

  /// Whether both are one space. Names of dimensions do not count.
  bool matches(const TupleShape &other) const;
  /// "C[i, j]", "[A[i] -> B[]]"; a dimension without a name is a *.
  std::string text() const;
  std::string without_dimension_names() const; ///< "C[*, *]"
};

/// Of a space of sets, or of maps: then as if wrapped.
TupleShape shape_of(const isl::space &space);

/// Throws Error(Set) where a name is in both lists, but with other dimensions: what an operation
/// would make of them is empty, and nobody means that.
void require_matching(const std::vector<TupleShape> &first, const std::vector<TupleShape> &second,
                      const char *what);

} // namespace tilewright
