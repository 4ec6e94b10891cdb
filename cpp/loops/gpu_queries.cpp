#include "loops/gpu_queries.h"

#include "loops/linear.h"
#include "loops/traverse.h"
#include "mapping/mma_shapes.h"
#include "polyhedral/error.h"

#include <algorithm>

namespace tilewright {

namespace {

/// What lane 0 has of a subscript.
ValuePtr first_lane(const ValuePtr &subscript) {
  return is<Ramp>(subscript) || is<Broadcast>(subscript) ? subscript->operands[0] : subscript;
}

/// In bytes, where they are constants; else 0.
std::vector<std::int64_t> strides_of(const KernelBuffer &buffer) {
  const size_t rank = buffer.extents.size();
  std::vector<std::int64_t> strides(rank, 0);
  std::int64_t stride = buffer.type.bytes();
  strides[static_cast<size_t>(buffer.layout.unit)] = stride;
  const bool packed = !buffer.is_argument;
  for (size_t inner = rank - 1;
       inner > 0 && (packed || inner + static_cast<size_t>(buffer.layout.packed) >= rank);
       --inner) {
    const auto extent = as_integer(buffer.extents[inner]);
    if (!extent) {
      break;
    }
    stride *= *extent;
    strides[inner - 1] = stride;
  }
  return strides;
}

} // namespace

bool combines_threads(const LoopStatement &statement) {
  const auto *update = as<AtomicUpdate>(statement);
  return update != nullptr && update->combines != std::array<bool, 3>{};
}

bool has_combined_updates(const StmtPtr &statement) {
  bool found = false;
  visit_statements(statement,
                   [&](const LoopStatement &inner) { found = found || combines_threads(inner); });
  return found;
}

bool is_in_kernel(const KernelBuffer &buffer) {
  return buffer.is_scoped && (buffer.memory == "shared" || buffer.memory == "private");
}

std::int64_t local_bytes(const KernelBuffer &buffer) {
  std::int64_t bytes = buffer.type.bytes();
  for (const ValuePtr &extent : buffer.extents) {
    const auto size = as_integer(extent);
    if (!size) {
      throw Error(ErrorKind::Schedule,
                  buffer.command + ": buffer '" + buffer.name +
                      "' lives in a GPU's kernel and needs a constant size; tile the loops it is "
                      "used in",
                  buffer.where);
    }
    bytes *= std::max<std::int64_t>(*size, 0);
  }
  return bytes;
}

std::int64_t alignment_of(std::int64_t bytes) {
  const std::int64_t bits = bytes | widest_access;
  return bits & -bits;
}

std::int64_t known_alignment(const KernelBuffer &buffer, const std::vector<ValuePtr> &subscripts) {
  if (buffer.layout.unit < 0 || buffer.extents.empty() || !buffer.record.name.empty()) {
    return 0;
  }
  const std::vector<std::int64_t> strides = strides_of(buffer);
  std::int64_t known = widest_access;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const ValuePtr first = first_lane(subscripts[d]);
    const auto linear = is_index(first) ? linear_of(first) : std::nullopt;
    const std::int64_t stride = strides[d] == 0 ? widest_access : strides[d];
    if (!linear) {
      known = std::min(known, alignment_of(stride));
      continue;
    }
    for (const Linear::Term &term : linear->terms) {
      known = std::min(known, alignment_of(stride * term.coefficient));
    }
    known = std::min(known, alignment_of(stride * linear->constant));
  }
  return known;
}

std::int64_t vector_width(const KernelBuffer &buffer, const std::vector<ValuePtr> &subscripts,
                          int lanes) {
  const std::int64_t known = lanes > 1 ? known_alignment(buffer, subscripts) : 0;
  if (known == 0) {
    return 0;
  }
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const ValuePtr &subscript = subscripts[d];
    const bool is_unit = static_cast<int>(d) == buffer.layout.unit;
    const auto *ramp = as<Ramp>(subscript);
    const bool fits = is_unit ? ramp != nullptr && ramp->stride == 1 && ramp->is_plain()
                              : subscript->type.lanes == 1;
    if (!fits) {
      return 0;
    }
  }
  const std::int64_t width = std::min(known, alignment_of(lanes * buffer.type.bytes()));
  const std::int64_t component = buffer.type.bytes() / (buffer.type.is_complex() ? 2 : 1);
  return width > component ? width : 0;
}

int least_architecture(const Kernel &kernel, std::string *tile) {
  int least = 0;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    visit_values(statement, [&](const Value &value) {
      const auto *mma = as<Mma>(value);
      if (mma == nullptr) {
        return;
      }
      const MmaLayout &layout = layout_of(mma->shape);
      if (layout.architecture > least) {
        least = layout.architecture;
        if (tile != nullptr) {
          *tile = std::to_string(mma_rows) + " x " + std::to_string(mma_columns) + " x " +
                  std::to_string(layout.depth) + " of " + layout.operands;
        }
      }
    });
  });
  return least;
}

} // namespace tilewright
