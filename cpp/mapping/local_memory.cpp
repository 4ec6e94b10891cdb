#include "mapping/local_memory.h"

#include "hardware/gpu.h"

#include <limits>

namespace tilewright {

namespace {

std::optional<std::int64_t> constant_extent(const ExprPtr &extent) {
  if (extent->kind == ExprKind::Constant) {
    if (const auto *value = std::get_if<std::int64_t>(&extent->value)) {
      return *value;
    }
  }
  return std::nullopt;
}

std::string shape_text(const Buffer &buffer) {
  std::string text;
  for (const ExprPtr &extent : buffer.extents) {
    text += (text.empty() ? "" : ", ") + to_string(extent);
  }
  return type_name(buffer.type) + "[" + text + "]" +
         (buffer.stages > 1 ? " in " + std::to_string(buffer.stages) + " stages" : "");
}

} // namespace

std::optional<std::int64_t> constant_bytes(const Buffer &buffer) {
  std::int64_t bytes = buffer.type.bytes() * buffer.stages;
  for (const ExprPtr &extent : buffer.extents) {
    const auto size = constant_extent(extent);
    if (!size || *size < 0) {
      return std::nullopt;
    }
    if (__builtin_mul_overflow(bytes, *size, &bytes)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return bytes;
}

void require_fits(const Buffer &buffer, const Allocation &allocation) {
  const std::string &memory = allocation.memory;
  if (memory != "registers" && memory != "stack" && memory != "shared" && memory != "private") {
    return;
  }
  const bool in_registers = memory == "registers";
  const bool is_shared = memory == "shared";
  const bool is_private = memory == "private"; // how much of it a thread has is not known here
  const std::int64_t limit = in_registers ? largest_register_buffer
                             : is_shared  ? max_shared_bytes_of_block
                             : is_private ? std::numeric_limits<std::int64_t>::max()
                                          : largest_stack_buffer;
  const std::string what =
      allocation.command + ": buffer '" + buffer.name + "' is " + shape_text(buffer) + ", and ";
  const std::string where = in_registers ? "registers"
                            : is_shared  ? "shared memory"
                            : is_private ? "the threads' memory"
                                         : "the stack";
  const auto bytes = constant_bytes(buffer);
  if (!bytes) {
    throw Error(ErrorKind::Schedule,
                what + where + (in_registers ? " need" : " needs") +
                    " a constant size; tile the loops it is used in, or take memory=\"auto\"",
                allocation.where);
  }
  if (*bytes > limit) {
    throw Error(ErrorKind::Schedule,
                what + "its " + std::to_string(*bytes) + " bytes are more than " + where +
                    (in_registers ? " hold" : " holds") + " of one buffer (" +
                    std::to_string(limit) + "); take smaller tiles" +
                    (is_shared ? "" : ", or memory=\"auto\" or \"heap\""),
                allocation.where);
  }
}

} // namespace tilewright
