// The format of one cache entry on disk, and the rules for trusting it: see
// kernels_cache/README.md.
#pragma once

#include "runtime/cache.h"

#include <optional>
#include <string>

namespace tilewright {

/// magic, format version, key, sizes, BLAKE3 of header and payload, payload.
std::string encode_entry(const std::string &key, const CacheEntry &entry);
/// Nothing when any byte is not as encode_entry wrote it for this key.
std::optional<CacheEntry> decode_entry(const std::string &key, const std::string &bytes);

/// The content of a regular file that belongs to this user and is writable by nobody else.
std::optional<std::string> read_private_file(const std::string &path);
/// Writes beside `path` and renames; mode 0600. False when the disk refuses; leaves nothing behind
/// then.
bool write_private_file(const std::string &path, const std::string &bytes);

/// Whether a file that write_private_file made beside its path was left by a process that is gone:
/// nobody has it locked, or, where there are no locks, it is an hour old.
bool is_abandoned(const std::string &path);

/// Makes the directory (mode 0700, parents too) when it is missing. The reason why it must not be
/// used, or empty.
std::string prepare_directory(const std::string &directory);

} // namespace tilewright
