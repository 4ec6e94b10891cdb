#include "mapping/mma_shapes.h"

#include <array>

namespace tilewright {

namespace {

const std::array<MmaLayout, mma_shapes> &layouts() {
  using Elements = std::vector<MmaLayout::Element>;
  // Factors of two bytes lie two and two in a register.
  static const Elements pairs_of_8 = {{0, 0}, {0, 1}, {8, 0}, {8, 1}};
  static const Elements pairs_of_16 = {{0, 0}, {0, 1}, {8, 0}, {8, 1},
                                       {0, 8}, {0, 9}, {8, 8}, {8, 9}};
  static const std::array<MmaLayout, mma_shapes> all = {{
      {"m16n8k8", "float16", Float16, 8, first_with_tensor_products, 2, pairs_of_8, {0, 1}},
      {"m16n8k16",
       "float16",
       Float16,
       16,
       first_with_all_tensor_products,
       2,
       pairs_of_16,
       {0, 1, 8, 9}},
      {"m16n8k8", "bfloat16", BFloat16, 8, first_with_all_tensor_products, 2, pairs_of_8, {0, 1}},
      {"m16n8k16",
       "bfloat16",
       BFloat16,
       16,
       first_with_all_tensor_products,
       2,
       pairs_of_16,
       {0, 1, 8, 9}},
      {"m16n8k8",
       "tf32",
       Float32,
       8,
       first_with_all_tensor_products,
       1,
       {{0, 0}, {8, 0}, {0, 4}, {8, 4}},
       {0, 4}},
  }};
  return all;
}

} // namespace

const MmaLayout &layout_of(MmaShape shape) { return layouts().at(static_cast<size_t>(shape)); }

int mma_shape_for(ScalarType type, std::int64_t depth) {
  for (int shape = 0; shape < mma_shapes; ++shape) {
    const MmaLayout &layout = layouts()[static_cast<size_t>(shape)];
    if (layout.type == type && depth >= 1 && depth <= layout.depth) {
      return shape;
    }
  }
  return -1;
}

std::string mma_shapes_text() {
  std::string text;
  for (const MmaLayout &layout : layouts()) {
    text += (text.empty() ? "" : ", ") + std::to_string(mma_rows) + " x " +
            std::to_string(mma_columns) + " x " + std::to_string(layout.depth) + " of " +
            layout.operands + " (sm_" + std::to_string(layout.architecture) + ")";
  }
  return text;
}

} // namespace tilewright
