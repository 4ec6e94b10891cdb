#include "runtime/memory.h"

#include "hardware/processor.h"
#include "runtime/environment.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t smallest_kept = std::size_t{1} << 20;
constexpr std::size_t usual_limit = std::size_t{512} << 20;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::size_t initial_limit() {
  std::size_t limit = usual_limit;
  if (const auto text = environment("TILEWRIGHT_KEEP_MEMORY")) {
    char *end = nullptr;
    const long long mebibytes = std::strtoll(text->c_str(), &end, 10);
    if (end != text->c_str() && *end == '\0' && mebibytes >= 0 && mebibytes < 1LL << 40) {
      limit = static_cast<std::size_t>(mebibytes) << 20;
    }
  }
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0) {
    limit = std::min(limit, static_cast<std::size_t>(pages) * static_cast<std::size_t>(size) / 4);
  }
  return limit;
}

struct Block {
  void *address = nullptr;
  std::size_t bytes = 0;
};

void give_back(const Block &block) { munmap(block.address, block.bytes); }

/// A block at an address that huge pages may fill; null when there is no memory.
void *map(std::size_t bytes) {
  const bool huge = bytes >= huge_page;
  const std::size_t asked = huge ? bytes + huge_page - page : bytes;
  void *mapped = mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return nullptr;
  }
  if (!huge) {
    return mapped;
  }
  const auto start = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = rounded_up(start, huge_page);
  const std::size_t before = aligned - start;
  const std::size_t after = asked - before - bytes;
  char *const address = static_cast<char *>(mapped) + before;
  if (before > 0) {
    munmap(mapped, before);
  }
  if (after > 0) {
    munmap(address + bytes, after);
  }
  madvise(address, bytes, MADV_HUGEPAGE); // a wish: a system without them gives small pages
  return address;
}

class Pool {
public:
  void *allocate(std::size_t wanted) {
    const std::size_t bytes = rounded_up(wanted, wanted >= huge_page ? huge_page : page);
    {
      const std::lock_guard lock(mutex_);
      if (const auto block = take(bytes)) {
        used_.emplace(block->address, block->bytes);
        return block->address;
      }
    }
    void *address = map(bytes);
    if (address == nullptr) {
      release();
      address = map(bytes);
    }
    if (address != nullptr) {
      const std::lock_guard lock(mutex_);
      used_.emplace(address, bytes);
    }
    return address;
  }

  /// False for memory that is not from here.
  bool free(void *address) {
    std::vector<Block> gone;
    {
      const std::lock_guard lock(mutex_);
      const auto found = used_.find(address);
      if (found == used_.end()) {
        return false;
      }
      const Block block{address, found->second};
      used_.erase(found);
      if (block.bytes > limit_) {
        gone.push_back(block);
      } else {
        kept_.push_back(block);
        kept_bytes_ += block.bytes;
        gone = shrink(limit_);
      }
    }
    std::for_each(gone.begin(), gone.end(), give_back);
    return true;
  }

  void release() {
    std::vector<Block> gone;
    {
      const std::lock_guard lock(mutex_);
      gone = shrink(0);
    }
    std::for_each(gone.begin(), gone.end(), give_back);
  }

  void set_limit(std::size_t bytes) {
    std::vector<Block> gone;
    {
      const std::lock_guard lock(mutex_);
      limit_ = bytes;
      gone = shrink(limit_);
    }
    std::for_each(gone.begin(), gone.end(), give_back);
  }

  std::size_t limit() {
    const std::lock_guard lock(mutex_);
    return limit_;
  }

  std::size_t kept() {
    const std::lock_guard lock(mutex_);
    return kept_bytes_;
  }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

private:
  /// The smallest kept block that is large enough, and not so large that most of it would lie idle;
  /// of those the one freed last, whose pages are the likeliest to be in a cache.
  std::optional<Block> take(std::size_t bytes) {
    auto best = kept_.end();
    for (auto block = kept_.begin(); block != kept_.end(); ++block) {
      const bool fits = block->bytes >= bytes && block->bytes / 2 <= bytes;
      if (fits && (best == kept_.end() || block->bytes <= best->bytes)) {
        best = block;
      }
    }
    if (best == kept_.end()) {
      return std::nullopt;
    }
    const Block block = *best;
    kept_.erase(best);
    kept_bytes_ -= block.bytes;
    return block;
  }

  /// Removes the blocks freed first until no more than `bytes` are kept.
  std::vector<Block> shrink(std::size_t bytes) {
    std::vector<Block> gone;
    while (kept_bytes_ > bytes) {
      gone.push_back(kept_.front());
      kept_bytes_ -= kept_.front().bytes;
      kept_.pop_front();
    }
    return gone;
  }

  std::mutex mutex_;
  std::unordered_map<void *, std::size_t> used_;
  std::deque<Block> kept_; ///< the one freed first in front
  std::size_t kept_bytes_ = 0;
  std::size_t limit_ = initial_limit();
};

/// Never destroyed: kernels may run while the process ends.
Pool &pool() {
  static Pool *const made = [] {
    auto *created = std::make_unique<Pool>().release();
    pthread_atfork([] { pool().lock(); }, [] { pool().unlock(); }, [] { pool().unlock(); });
    return created;
  }();
  return *made;
}

} // namespace

std::size_t kept_memory_limit() { return pool().limit(); }
void set_kept_memory_limit(std::size_t bytes) { pool().set_limit(bytes); }
std::size_t kept_memory() { return pool().kept(); }
void release_memory() { pool().release(); }

} // namespace tilewright

extern "C" {

void *tilewright_allocate(std::int64_t bytes) {
  constexpr std::int64_t alignment = tilewright::cache_line_bytes;
  if (bytes < 0 || bytes > INT64_MAX / 2) {
    return nullptr;
  }
  if (static_cast<std::size_t>(bytes) >= tilewright::smallest_kept) {
    try {
      return tilewright::pool().allocate(static_cast<std::size_t>(bytes));
    } catch (const std::exception &) {
      return nullptr; // no memory for the pool's own lists
    }
  }
  const std::int64_t whole = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  return std::aligned_alloc(alignment, static_cast<std::size_t>(whole));
}

void tilewright_free(void *memory) {
  // What is kept begins at a page; the C library's blocks seldom do.
  const bool at_page = reinterpret_cast<std::uintptr_t>(memory) % tilewright::page == 0;
  if (memory != nullptr && !(at_page && tilewright::pool().free(memory))) {
    std::free(memory);
  }
}
}
