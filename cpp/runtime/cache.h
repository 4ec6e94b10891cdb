// The kernel cache: machine code under a content-addressed key, in memory (loaded kernels, least
// recently used ones dropped) and on disk (one file an entry, see kernels_cache/README.md). Nothing
// on disk is trusted: a damaged, foreign or unfitting entry is a miss, and a directory that others
// may write is not used at all. Failing to store is silent: a read-only or full disk leaves the
// memory. All functions may be called from any thread.
#pragma once

#include "runtime/kernel_code.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tilewright {

/// BLAKE3 of a text, 64 hexadecimal digits.
std::string cache_key(const std::string &canonical_text);

struct CacheEntry {
  std::string metadata; ///< the caller's own, small
  std::string object;   ///< relocatable object code
  std::string module;   ///< what better code can be made of, while the object is not the best
};

/// A kernel that was loaded in this process.
struct CachedKernel {
  std::shared_ptr<KernelCode> code;
  std::string metadata;
};

/// The kernel in memory, or null.
std::shared_ptr<const CachedKernel> cache_find(const std::string &key);
void cache_remember(const std::string &key, std::shared_ptr<const CachedKernel> kernel);

/// The entry on disk, if it is there and whole.
std::optional<CacheEntry> cache_load(const std::string &key);
/// Stores on disk where that is possible. Returns whether it was.
bool cache_store(const std::string &key, const CacheEntry &entry);
/// Why the latest entry could not be stored; empty when it was, and before there was one.
std::string cache_problem();
/// Removes an entry that turned out not to link.
void cache_discard(const std::string &key);

/// A small text of the caller's own under a key, beside the kernels and as little trusted: neither
/// counted among them nor among hits and misses.
std::optional<std::string> cache_load_note(const std::string &key);
void cache_store_note(const std::string &key, const std::string &text);

/// Where entries are from now on; empty for the default ($TILEWRIGHT_CACHE_DIR, else
/// $XDG_CACHE_HOME/tilewright, else ~/.cache/tilewright).
void set_cache_directory(const std::string &directory);

struct CacheInfo {
  std::string directory;
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
  std::int64_t hits = 0;   ///< found in memory or on disk, by this process
  std::int64_t misses = 0; ///< neither
  std::int64_t memory_entries = 0;
  std::string disabled_reason; ///< why nothing is stored on disk; empty when it is
};
CacheInfo cache_info();

/// Forgets all kernels in memory and deletes all entries and notes on disk; returns how many
/// entries went.
std::int64_t cache_clear();
/// Reads every entry and note on disk and deletes those that are not whole, and what killed
/// processes left behind.
struct CacheCheck {
  std::int64_t whole = 0;
  std::int64_t deleted = 0;
};
CacheCheck cache_verify();

/// Deletes what was used longest ago until all files have at most `bytes` together, and what killed
/// processes left behind; returns how many bytes went.
std::int64_t cache_prune(std::int64_t bytes);

/// Forgets the kernels in memory only, as a new process would find it.
void cache_clear_memory();

} // namespace tilewright
