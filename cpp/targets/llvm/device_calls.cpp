#include "targets/llvm/device_calls.h"

namespace tilewright {

std::string mma_function(MmaShape shape) {
  const MmaLayout &layout = layout_of(shape);
  return std::string("tilewright_gpu_mma_") + layout.name + "_" + layout.operands;
}

std::string matrices_function(int count, bool transposed) {
  return "tilewright_gpu_matrices_" + std::to_string(count) + (transposed ? "_transposed" : "");
}

} // namespace tilewright
