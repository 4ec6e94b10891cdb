#include "runtime/cuda_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <vector>

namespace tilewright {

namespace {

constexpr std::size_t granularity = 512;

/// So much may stay with us while nothing uses it.
std::size_t kept_limit(const CudaContext &context) {
  return static_cast<std::size_t>(context.properties().memory / 32);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  if (bytes < mebibyte) {
    return fmt::format("{} bytes", bytes);
  }
  const double mebibytes = static_cast<double>(bytes) / static_cast<double>(mebibyte);
  return mebibytes < 1024 ? fmt::format("{:.1f} MiB", mebibytes)
                          : fmt::format("{:.2f} GiB", mebibytes / 1024);
}

} // namespace

CudaMemory::CudaMemory(const CudaContext &context) : context_(context) {
  if (!context_.properties().has_pools) {
    return;
  }
  const CudaContext::Scope scope(context_);
  cuda::PoolProperties properties;
  properties.location = context_.properties().number;
  context_.check(context_.functions().create_pool(&pool_, &properties), "make a memory pool");
  std::uint64_t kept = kept_limit(context_);
  context_.check(context_.functions().set_pool_attribute(pool_, cuda::PoolReleaseThreshold, &kept),
                 "set up a memory pool");
}

CudaMemory::~CudaMemory() {
  try {
    if (!context_.is_usable()) {
      return;
    }
    const CudaContext::Scope scope(context_);
    give_back_free();
    if (pool_ != nullptr) {
      context_.functions().destroy_pool(pool_);
    }
  } catch (const std::exception &) {
    return; // the driver takes it all back
  }
}

cuda::Result CudaMemory::ask(std::size_t bytes, cuda::Address &memory) {
  return pool_ != nullptr
             ? context_.functions().allocate_from_pool(&memory, bytes, pool_, context_.stream())
             : context_.functions().allocate(&memory, bytes);
}

void *CudaMemory::allocate(std::int64_t bytes) {
  const CudaContext::Scope scope(context_);
  const std::size_t wanted =
      (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + granularity - 1) / granularity *
      granularity;
  if (void *again = take_free(wanted)) {
    return again;
  }
  cuda::Address memory = 0;
  cuda::Result result = ask(wanted, memory);
  if (result == cuda::OutOfMemory) {
    trim();
    result = ask(wanted, memory);
  }
  if (result == cuda::OutOfMemory) {
    throw_out_of_memory(bytes);
  }
  context_.check(result, fmt::format("allocate {} bytes", bytes));
  void *found = reinterpret_cast<void *>(memory); // NOLINT(performance-no-int-to-ptr)
  const std::lock_guard lock(mutex_);
  sizes_[found] = wanted;
  in_use_ += wanted;
  return found;
}

/// A free block of at least so many bytes and at most a quarter more.
void *CudaMemory::take_free(std::size_t bytes) {
  if (pool_ != nullptr) {
    return nullptr;
  }
  std::shared_ptr<CudaPlace> place;
  void *memory = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = free_.lower_bound(bytes);
    if (found == free_.end() || found->first - bytes > bytes / 4) {
      return nullptr;
    }
    memory = found->second.memory;
    place = std::move(found->second.place);
    free_bytes_ -= found->first;
    sizes_[memory] = found->first;
    in_use_ += found->first;
    free_.erase(found);
  }
  context_.wait_for(*place);
  return memory;
}

void CudaMemory::release(void *memory) noexcept {
  try {
    std::size_t bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto found = sizes_.find(memory);
      if (found == sizes_.end()) {
        return;
      }
      bytes = found->second;
      in_use_ -= bytes;
      sizes_.erase(found);
    }
    if (!context_.is_usable()) {
      return; // gone with the device
    }
    const CudaContext::Scope scope(context_);
    const auto address = reinterpret_cast<cuda::Address>(memory);
    if (pool_ != nullptr) {
      context_.functions().free_in_order(address, context_.stream());
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      if (free_bytes_ + bytes <= kept_limit(context_)) {
        free_.emplace(bytes, Free{memory, context_.place()});
        free_bytes_ += bytes;
        return;
      }
    }
    context_.functions().free(address); // waits for the device
  } catch (const std::exception &) {
    return; // what comes next meets the same trouble, and can say so
  }
}

void CudaMemory::give_back_free() {
  std::vector<void *> given;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[bytes, block] : free_) {
      given.push_back(block.memory);
    }
    free_.clear();
    free_bytes_ = 0;
  }
  for (void *memory : given) {
    context_.functions().free(reinterpret_cast<cuda::Address>(memory));
  }
}

void CudaMemory::trim() {
  const CudaContext::Scope scope(context_);
  if (pool_ == nullptr) {
    give_back_free();
    return;
  }
  // What was freed in order is free when the work before it is done.
  context_.check(context_.functions().synchronize_context(), "wait for the device");
  context_.check(context_.functions().trim_pool(pool_, 0), "give free memory back");
}

std::int64_t CudaMemory::in_use() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(in_use_);
}

void CudaMemory::throw_out_of_memory(std::int64_t bytes) {
  std::size_t free = 0;
  std::size_t total = 0;
  const bool is_known = context_.functions().memory_info(&free, &total) == cuda::Success;
  const auto asked = static_cast<std::uint64_t>(bytes);
  const std::int64_t ours = in_use();
  Error error(
      ErrorKind::Device,
      fmt::format("{} is out of memory: {} were asked for, {}; {} are in arrays and temporaries of "
                  "this library in this process. Drop device arrays that are not needed, or see "
                  "with nvidia-smi who else uses the device",
                  context_.title(), bytes_text(asked),
                  is_known ? fmt::format("{} of {} are free", bytes_text(free), bytes_text(total))
                           : std::string("and the driver does not tell how much is free"),
                  bytes_text(static_cast<std::uint64_t>(ours))));
  error.details["out_of_memory"] = "yes";
  error.details["asked"] = std::to_string(bytes);
  if (is_known) {
    error.details["free"] = std::to_string(free);
    error.details["total"] = std::to_string(total);
  }
  throw error;
}

} // namespace tilewright
