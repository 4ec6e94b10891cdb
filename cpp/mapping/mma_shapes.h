// The products of small matrices that a GPU's tensor cores do in one instruction: 16 x 8 sums of
// float32, which a warp's 32 threads have together, of `depth` products each. Thread t has the rows
// t / 4 and t / 4 + 8 and, of columns, 2 (t mod 4) and the next one; its elements of the factors
// are described here as the PTX manual has them ("Matrix fragments for mma.m16n8k8, .m16n8k16").
#pragma once

#include "algorithm/type.h"
#include "hardware/gpu.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

enum class MmaShape { HalfOf8, HalfOf16, BFloatOf8, BFloatOf16, Tf32Of8 };
inline constexpr int mma_shapes = 5;

struct MmaLayout {
  const char *name;     ///< "m16n8k16"
  const char *operands; ///< "float16"; what the factors are, or are rounded to
  ScalarType type;      ///< of the factors
  std::int64_t depth;   ///< products in a sum
  int architecture;     ///< 80: from sm_80 on
  /// Thread t's elements of the left factor, in order: in row t / 4 + row, and of the depth at
  /// step * (t mod 4) + place.
  struct Element {
    int row;
    int place;
  };
  int step;
  std::vector<Element> left;
  std::vector<int> right; ///< places of those of the right one, in column t / 4
};

const MmaLayout &layout_of(MmaShape shape);

/// The smallest product of factors of this type that has `depth` or more terms; -1 if there is
/// none.
int mma_shape_for(ScalarType type, std::int64_t depth);

/// All of them, for messages: "16 x 8 x 16 of float16 (sm_80), ...".
std::string mma_shapes_text();

} // namespace tilewright
