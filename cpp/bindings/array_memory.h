// Which bytes arrays touch: ranges for the quick test of every call, exact answers with bounded
// work where ranges overlap, and how one array lies inside another.
#pragma once

#include "bindings/call_arguments.h"

#include <cstdint>
#include <optional>

namespace tilewright {

/// [low, high): the bytes that an array touches, relative to its first element; high == low where
/// it has no elements.
struct ByteSpan {
  std::ptrdiff_t low = 0;
  std::ptrdiff_t high = 0;
};
ByteSpan span_of(const BoundArray &array, int item_size);

inline bool spans_overlap(const char *a, ByteSpan as, const char *b, ByteSpan bs) {
  const auto at = reinterpret_cast<std::intptr_t>(a);
  const auto bt = reinterpret_cast<std::intptr_t>(b);
  return as.low != as.high && bs.low != bs.high && at + as.low < bt + bs.high &&
         bt + bs.low < at + as.high;
}

/// Whether two elements of the array share memory, as in broadcast views. Exact for strides that
/// nest and for small arrays; other large ones count as overlapping.
bool overlaps_itself(const BoundArray &array, int item_size);

/// np.shares_memory with a bound on its work; the ranges decide beyond it.
bool shares_memory(const BoundArray &a, const BoundArray &b, int a_item, int b_item);

/// The index of `inner`'s first element in `outer`, where every element of `inner` is the element
/// of `outer` at that distance (elements of one size). The index may reach out of `outer` along the
/// axis of the largest stride only, where nothing else lies. Nothing where they lie otherwise.
std::optional<llvm::SmallVector<std::int64_t, 4>>
place_inside(const BoundArray &inner, const BoundArray &outer, int item_size);

/// Whether two arrays of one type are the same elements of memory.
bool same_elements(const BoundArray &a, const BoundArray &b);

} // namespace tilewright
