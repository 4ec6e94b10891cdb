#include "runtime/cache.h"

#include "runtime/cache_file.h"
#include "runtime/environment.h"
#include "runtime/fork_safe.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace tilewright {

namespace {

constexpr size_t memory_limit = 1024;                            // kernels
constexpr std::uintmax_t disk_limit = std::uintmax_t{512} << 20; // bytes
constexpr int stores_between_prunings = 64;
constexpr const char *suffix = ".twk";      // a kernel
constexpr const char *note_suffix = ".twn"; // a note

struct State {
  std::mutex mutex;
  std::string chosen_directory;
  std::int64_t hits = 0;
  std::int64_t misses = 0;
  int stores = 0;
  std::string problem;            ///< why the latest entry was not stored; empty when it was
  std::string relative_directory; ///< of the environment, as it was first seen
  std::string absolute_directory; ///< the same from where the process was then
  /// Most recently used first.
  std::list<std::pair<std::string, std::shared_ptr<const CachedKernel>>> kernels;
  std::unordered_map<std::string, decltype(kernels)::iterator> by_key;

  /// Stays what it is when the process changes its working directory.
  std::string absolute(const std::string &directory) {
    if (directory.starts_with('/')) {
      return directory;
    }
    if (directory != relative_directory) {
      std::error_code problem;
      std::filesystem::path from_here = std::filesystem::absolute(directory, problem);
      if (problem) { // the working directory is gone
        return directory;
      }
      relative_directory = directory;
      absolute_directory = from_here.string();
    }
    return absolute_directory;
  }
};

State &state() { return fork_safe<State>(); }

std::string current_directory(State &cache) {
  if (!cache.chosen_directory.empty()) {
    return cache.chosen_directory;
  }
  if (const auto given = environment("TILEWRIGHT_CACHE_DIR"); given && !given->empty()) {
    return cache.absolute(*given);
  }
  if (const auto base = environment("XDG_CACHE_HOME"); base && base->starts_with('/')) {
    return *base + "/tilewright";
  }
  const std::string home = environment("HOME").value_or("");
  return home.empty() ? home : home + "/.cache/tilewright";
}

struct FileOnDisk {
  std::filesystem::path path;
  bool is_note = false;
  std::uintmax_t bytes = 0;
  std::filesystem::file_time_type used;
};

/// What write_private_file calls a file before it is whole.
bool is_temporary(const std::string &name) {
  return name.find(std::string(suffix) + ".") != std::string::npos ||
         name.find(std::string(note_suffix) + ".") != std::string::npos;
}

/// Entries and notes, and temporary files that a killed process left.
std::vector<FileOnDisk> list_files(const std::string &directory,
                                   std::vector<std::filesystem::path> *abandoned) {
  std::vector<FileOnDisk> files;
  std::error_code problem;
  std::filesystem::directory_iterator entries(directory, problem);
  for (; !problem && entries != std::filesystem::directory_iterator(); entries.increment(problem)) {
    std::error_code ignored;
    const std::filesystem::path &path = entries->path();
    const std::string name = path.filename().string();
    if (!entries->is_regular_file(ignored)) {
      continue;
    }
    const auto used = entries->last_write_time(ignored);
    const bool is_note = name.ends_with(note_suffix);
    if (is_note || name.ends_with(suffix)) {
      files.push_back({path, is_note, entries->file_size(ignored), used});
    } else if (abandoned != nullptr && is_temporary(name) && is_abandoned(path.string())) {
      abandoned->push_back(path);
    }
  }
  return files;
}

/// Returns how many went.
std::int64_t remove_files(const std::vector<std::filesystem::path> &paths) {
  std::int64_t removed = 0;
  for (const auto &path : paths) {
    std::error_code ignored;
    removed += std::filesystem::remove(path, ignored) ? 1 : 0;
  }
  return removed;
}

/// Deletes the entries that were used longest ago until the rest fits; returns how many bytes went.
std::uintmax_t prune(const std::string &directory, std::uintmax_t limit) {
  std::vector<std::filesystem::path> abandoned;
  std::vector<FileOnDisk> files = list_files(directory, &abandoned);
  std::error_code ignored;
  remove_files(abandoned);
  std::uintmax_t total = 0;
  std::uintmax_t deleted = 0;
  for (const FileOnDisk &file : files) {
    total += file.bytes;
  }
  std::sort(files.begin(), files.end(),
            [](const auto &a, const auto &b) { return a.used < b.used; });
  for (const FileOnDisk &file : files) {
    if (total <= limit) {
      break;
    }
    if (std::filesystem::remove(file.path, ignored)) {
      total -= file.bytes;
      deleted += file.bytes;
    }
  }
  return deleted;
}

/// After a file was stored.
void prune_at_times(const std::string &directory) {
  State &cache = state();
  bool is_time = false;
  {
    const std::lock_guard lock(cache.mutex);
    is_time = ++cache.stores % stores_between_prunings == 0;
  }
  if (is_time) {
    prune(directory, disk_limit);
  }
}

/// The directory on disk, or empty when it is not to be used.
std::string usable_directory() {
  State &cache = state();
  std::string directory;
  {
    const std::lock_guard lock(cache.mutex);
    directory = current_directory(cache);
  }
  return prepare_directory(directory).empty() ? directory : std::string();
}

/// Where an entry or a note lives, or empty when the disk is not to be used.
std::string entry_path(const std::string &key, const char *ending = suffix) {
  const std::string directory = usable_directory();
  return directory.empty() ? directory : directory + "/" + key + ending;
}

void count(bool hit) {
  State &cache = state();
  const std::lock_guard lock(cache.mutex);
  ++(hit ? cache.hits : cache.misses);
}

} // namespace

std::string cache_key(const std::string &canonical_text) {
  llvm::BLAKE3 hash;
  hash.update(canonical_text);
  const auto digest = hash.final<32>();
  return llvm::toHex(llvm::ArrayRef<std::uint8_t>(digest.data(), digest.size()),
                     /*LowerCase=*/true);
}

std::shared_ptr<const CachedKernel> cache_find(const std::string &key) {
  State &cache = state();
  const std::lock_guard lock(cache.mutex);
  const auto found = cache.by_key.find(key);
  if (found == cache.by_key.end()) {
    return nullptr;
  }
  cache.kernels.splice(cache.kernels.begin(), cache.kernels, found->second);
  ++cache.hits;
  return found->second->second;
}

void cache_remember(const std::string &key, std::shared_ptr<const CachedKernel> kernel) {
  State &cache = state();
  std::shared_ptr<const CachedKernel>
      dropped; // freed outside the lock: freeing code takes the linker's lock
  std::shared_ptr<const CachedKernel> replaced;
  const std::lock_guard lock(cache.mutex);
  if (const auto found = cache.by_key.find(key); found != cache.by_key.end()) {
    replaced = std::move(found->second->second);
    found->second->second = std::move(kernel);
    return;
  }
  cache.kernels.emplace_front(key, std::move(kernel));
  cache.by_key[key] = cache.kernels.begin();
  if (cache.kernels.size() > memory_limit) {
    dropped = std::move(cache.kernels.back().second);
    cache.by_key.erase(cache.kernels.back().first);
    cache.kernels.pop_back();
  }
}

namespace {

/// The whole entry in a file; a damaged one is removed.
std::optional<CacheEntry> load_file(const std::string &path, const std::string &key) {
  const auto bytes = path.empty() ? std::nullopt : read_private_file(path);
  if (!bytes) {
    return std::nullopt;
  }
  std::optional<CacheEntry> entry = decode_entry(key, *bytes);
  if (entry) {
    // "Used now", for pruning. A read-only disk may refuse.
    std::error_code ignored;
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), ignored);
  } else {
    ::unlink(path.c_str());
  }
  return entry;
}

} // namespace

std::optional<CacheEntry> cache_load(const std::string &key) {
  std::optional<CacheEntry> entry = load_file(entry_path(key), key);
  count(entry.has_value());
  return entry;
}

std::optional<std::string> cache_load_note(const std::string &key) {
  std::optional<CacheEntry> note = load_file(entry_path(key, note_suffix), key);
  return note ? std::optional<std::string>(std::move(note->metadata)) : std::nullopt;
}

void cache_store_note(const std::string &key, const std::string &text) {
  const std::string directory = usable_directory();
  if (!directory.empty() &&
      write_private_file(directory + "/" + key + note_suffix, encode_entry(key, {text, {}, {}}))) {
    prune_at_times(directory);
  }
}

bool cache_store(const std::string &key, const CacheEntry &entry) {
  State &cache = state();
  std::string directory;
  {
    const std::lock_guard lock(cache.mutex);
    directory = current_directory(cache);
  }
  std::string problem = prepare_directory(directory);
  if (problem.empty() &&
      !write_private_file(directory + "/" + key + suffix, encode_entry(key, entry))) {
    problem = "'" + directory + "' cannot be written to; it may be read-only, or the disk full";
  }
  {
    const std::lock_guard lock(cache.mutex);
    cache.problem = problem;
  }
  if (problem.empty()) {
    prune_at_times(directory);
  }
  return problem.empty();
}

std::string cache_problem() {
  State &cache = state();
  const std::lock_guard lock(cache.mutex);
  return cache.problem;
}

void cache_discard(const std::string &key) {
  if (const std::string path = entry_path(key); !path.empty()) {
    ::unlink(path.c_str());
  }
}

void set_cache_directory(const std::string &directory) {
  State &cache = state();
  const std::lock_guard lock(cache.mutex);
  cache.chosen_directory = directory;
}

CacheInfo cache_info() {
  State &cache = state();
  CacheInfo info;
  {
    const std::lock_guard lock(cache.mutex);
    info.directory = current_directory(cache);
    info.hits = cache.hits;
    info.misses = cache.misses;
    info.memory_entries = static_cast<std::int64_t>(cache.kernels.size());
  }
  info.disabled_reason = prepare_directory(info.directory);
  if (info.disabled_reason.empty() && ::access(info.directory.c_str(), W_OK) != 0) {
    info.disabled_reason = "'" + info.directory + "' is read-only";
  }
  for (const FileOnDisk &file : list_files(info.directory, nullptr)) {
    info.entries += file.is_note ? 0 : 1;
    info.bytes += static_cast<std::int64_t>(file.bytes);
  }
  return info;
}

CacheCheck cache_verify() {
  CacheCheck check;
  if (const std::string directory = usable_directory(); !directory.empty()) {
    std::vector<std::filesystem::path> abandoned;
    for (const FileOnDisk &file : list_files(directory, &abandoned)) {
      const auto bytes = read_private_file(file.path.string());
      const bool whole = bytes && decode_entry(file.path.stem().string(), *bytes);
      std::error_code problem;
      if (whole) {
        ++check.whole;
      } else if (std::filesystem::remove(file.path, problem)) {
        ++check.deleted;
      }
    }
    check.deleted += remove_files(abandoned);
  }
  return check;
}

std::int64_t cache_prune(std::int64_t bytes) {
  const std::string directory = usable_directory();
  return directory.empty()
             ? 0
             : static_cast<std::int64_t>(
                   prune(directory, static_cast<std::uintmax_t>(std::max<std::int64_t>(bytes, 0))));
}

std::int64_t cache_clear() {
  cache_clear_memory();
  std::int64_t removed = 0;
  if (const std::string directory = usable_directory(); !directory.empty()) {
    std::vector<std::filesystem::path> abandoned;
    for (const FileOnDisk &file : list_files(directory, &abandoned)) {
      std::error_code problem;
      const bool gone = std::filesystem::remove(file.path, problem);
      removed += gone && !file.is_note ? 1 : 0;
    }
    remove_files(abandoned);
  }
  return removed;
}

void cache_clear_memory() {
  State &cache = state();
  decltype(cache.kernels) dropped;
  const std::lock_guard lock(cache.mutex);
  dropped.swap(cache.kernels);
  cache.by_key.clear();
}

} // namespace tilewright
