// Memory, pools and copies of the double of libcuda.
#include "fake_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace fake_driver;

// The library's own names.
// NOLINTBEGIN(readability-identifier-naming)

// ---- memory ----

EXPORT Result cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
  BEGIN("cuMemGetInfo_v2")
  *total = state().memory;
  *free = state().memory - in_use(stack.back()->device);
  return Success;
}

EXPORT Result cuMemAlloc_v2(Address *memory, std::size_t bytes) {
  BEGIN("cuMemAlloc_v2")
  note("allocate ", bytes);
  return allocate(memory, bytes);
}

EXPORT Result cuMemFree_v2(Address memory) {
  BEGIN("cuMemFree_v2")
  state().clocks.wait_for_all_on_host();
  note("free");
  return release(memory);
}

EXPORT Result cuMemPoolCreate(Pool *pool, const PoolProperties *properties) {
  BEGIN("cuMemPoolCreate")
  if (!state().has_pools || properties->allocation_type != 1 || properties->location_type != 1) {
    return NotSupported;
  }
  *pool = new PoolHandle{properties->location};
  state().pools.insert(*pool);
  return Success;
}

EXPORT Result cuMemPoolSetAttribute(Pool, std::int32_t, void *) {
  BEGIN("cuMemPoolSetAttribute")
  return Success;
}

EXPORT Result cuMemPoolTrimTo(Pool, std::size_t) {
  BEGIN("cuMemPoolTrimTo")
  note("trim");
  return Success;
}

EXPORT Result cuMemPoolDestroy(Pool pool) {
  BEGIN("cuMemPoolDestroy")
  if (state().pools.erase(pool) == 0) {
    return InvalidHandle;
  }
  delete pool;
  return Success;
}

EXPORT Result cuMemAllocFromPoolAsync(Address *memory, std::size_t bytes, Pool pool,
                                      Stream stream) {
  BEGIN("cuMemAllocFromPoolAsync")
  if (state().pools.count(pool) == 0 || !is_stream(stream) ||
      pool->device != stack.back()->device) {
    return InvalidHandle;
  }
  note("allocate ", bytes, " stream ", number_of(stream));
  const Result made = allocate(memory, bytes);
  if (made == Success) {
    advance(stream);
    use(stream, *memory, "an allocation");
  }
  return made;
}

EXPORT Result cuMemFreeAsync(Address memory, Stream stream) {
  BEGIN("cuMemFreeAsync")
  if (!is_stream(stream)) {
    return InvalidHandle;
  }
  note("free stream ", number_of(stream));
  advance(stream);
  use(stream, memory, "a release");
  return release(memory);
}

EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void *from, std::size_t bytes, Stream stream) {
  BEGIN("cuMemcpyHtoDAsync_v2")
  if (!is_stream(stream) || !is_memory(to, bytes)) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, to, "a copy");
  note("copy_in ", bytes, " stream ", number_of(stream));
  std::memcpy(host(to), from, bytes);
  return Success;
}

EXPORT Result cuMemcpyDtoHAsync_v2(void *to, Address from, std::size_t bytes, Stream stream) {
  BEGIN("cuMemcpyDtoHAsync_v2")
  if (!is_stream(stream) || !is_memory(from, bytes)) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, from, "a copy");
  note("copy_out ", bytes, " stream ", number_of(stream));
  std::memcpy(to, host(from), bytes);
  return Success;
}

EXPORT Result cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream stream) {
  BEGIN("cuMemcpyDtoDAsync_v2")
  // What becomes of ranges that overlap is not defined: so that tests see it, an error.
  const bool overlap = to < from + bytes && from < to + bytes;
  if (!is_stream(stream) || !is_memory(to, bytes) || !is_memory(from, bytes) || overlap) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, to, "a copy");
  use(stream, from, "a copy");
  note("copy ", bytes, " stream ", number_of(stream));
  std::memcpy(host(to), host(from), bytes);
  return Success;
}

EXPORT Result cuMemcpy2DAsync_v2(const CopyOfRows *copy, Stream stream) {
  BEGIN("cuMemcpy2DAsync_v2")
  const auto place = [&](const Rows &rows) -> char * {
    if (rows.kind == HostMemory) {
      return static_cast<char *>(const_cast<void *>(rows.host));
    }
    const std::size_t bytes = copy->rows == 0 ? 0 : (copy->rows - 1) * rows.pitch + copy->bytes;
    return rows.kind == DeviceMemoryKind && is_memory(rows.device, bytes)
               ? static_cast<char *>(host(rows.device))
               : nullptr;
  };
  char *to = place(copy->to);
  const char *from = place(copy->from);
  const bool overlaps =
      copy->rows > 1 && (copy->to.pitch < copy->bytes || copy->from.pitch < copy->bytes);
  const bool is_too_wide =
      std::max(copy->to.pitch, copy->from.pitch) > static_cast<std::size_t>(state().max_pitch);
  if (!is_stream(stream) || to == nullptr || from == nullptr || overlaps || is_too_wide) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, copy->to.kind == HostMemory ? copy->from.device : copy->to.device, "a copy");
  note("copy_rows ", copy->rows, " x ", copy->bytes, " stream ", number_of(stream));
  for (std::size_t r = 0; r < copy->rows; ++r) {
    std::memcpy(to + r * copy->to.pitch, from + r * copy->from.pitch, copy->bytes);
  }
  return Success;
}

EXPORT Result cuMemsetD8Async(Address memory, unsigned char value, std::size_t bytes,
                              Stream stream) {
  BEGIN("cuMemsetD8Async")
  if (!is_stream(stream) || !is_memory(memory, bytes)) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, memory, "a clear");
  note("clear ", bytes, " stream ", number_of(stream));
  std::memset(host(memory), value, bytes);
  return Success;
}

EXPORT Result cuPointerGetAttribute(void *value, std::int32_t attribute, Address memory) {
  BEGIN("cuPointerGetAttribute", false, false)
  auto after = state().blocks.upper_bound(memory);
  if (attribute != PointerDevice || after == state().blocks.begin()) {
    return InvalidValue;
  }
  const auto &[start, block] = *--after;
  if (memory >= start + block.bytes) {
    return InvalidValue;
  }
  *static_cast<std::int32_t *>(value) = block.device;
  return Success;
}

// NOLINTEND(readability-identifier-naming)
