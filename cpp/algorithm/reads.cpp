#include "algorithm/reads.h"

#include <algorithm>

namespace tilewright {

bool reads(const Computation &reader, const Computation &producer) {
  bool found = false;
  for (const Piece &piece : reader.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      found = found || (node->kind == ExprKind::Access && node->producer.get() == &producer);
    });
  }
  return found;
}

IterationSpace space_of_reads(const Computation &computation) {
  IterationSpace space{computation.name, computation.iterators};
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      for (const ReduceRange &range : node->ranges) {
        if (std::find(space.iterators.begin(), space.iterators.end(), range.iterator) ==
            space.iterators.end()) {
          space.iterators.push_back(range.iterator);
        }
      }
    });
  }
  return space;
}

} // namespace tilewright
