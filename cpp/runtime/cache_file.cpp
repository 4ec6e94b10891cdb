#include "runtime/cache_file.h"

#include <llvm/Support/BLAKE3.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tilewright {

namespace {

constexpr char magic[] = "tilewright kernel\n";
constexpr size_t magic_size = sizeof magic - 1;
constexpr std::uint32_t format_version = 2;
constexpr size_t key_size = 64;
constexpr size_t checksum_size = 32;
constexpr size_t header_size = magic_size + 4 + key_size + 8 + 8 + 8;
constexpr std::int64_t largest_file = std::int64_t{1} << 30;

void append_number(std::string &out, std::uint64_t value, int bytes) {
  for (int k = 0; k < bytes; ++k) {
    out.push_back(static_cast<char>(value >> (8 * k) & 0xff));
  }
}

std::uint64_t read_number(const char *bytes, int count) {
  std::uint64_t value = 0;
  for (int k = 0; k < count; ++k) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[k])) << (8 * k);
  }
  return value;
}

std::string checksum(const std::string &header, const char *payload, size_t size) {
  llvm::BLAKE3 hash;
  hash.update(header);
  hash.update(llvm::StringRef(payload, size));
  const auto digest = hash.final<checksum_size>();
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

std::string make_header(const std::string &key, const CacheEntry &entry) {
  std::string header(magic, magic_size);
  append_number(header, format_version, 4);
  header += key;
  append_number(header, entry.metadata.size(), 8);
  append_number(header, entry.object.size(), 8);
  append_number(header, entry.module.size(), 8);
  return header;
}

/// Closes at the end of a scope.
/// A writer has made its file, and not yet locked it, for as long at most.
constexpr std::time_t seconds_before_the_lock = 60;
/// The same where the file system has no locks: until the file is renamed.
constexpr std::time_t seconds_of_any_writer = 3600;

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) {
      ::close(number);
    }
  }
};

} // namespace

std::string encode_entry(const std::string &key, const CacheEntry &entry) {
  const std::string header = make_header(key, entry);
  const std::string payload = entry.metadata + entry.object + entry.module;
  return header + checksum(header, payload.data(), payload.size()) + payload;
}

std::optional<CacheEntry> decode_entry(const std::string &key, const std::string &bytes) {
  if (bytes.size() < header_size + checksum_size || key.size() != key_size) {
    return std::nullopt;
  }
  const char *sizes = bytes.data() + magic_size + 4 + key_size;
  const std::uint64_t metadata_size = read_number(sizes, 8);
  const std::uint64_t object_size = read_number(sizes + 8, 8);
  const std::uint64_t module_size = read_number(sizes + 16, 8);
  const std::uint64_t payload_size = bytes.size() - header_size - checksum_size;
  if (metadata_size > payload_size || object_size > payload_size - metadata_size ||
      module_size != payload_size - metadata_size - object_size) {
    return std::nullopt;
  }
  const char *payload = bytes.data() + header_size + checksum_size;
  CacheEntry entry{std::string(payload, metadata_size),
                   std::string(payload + metadata_size, object_size),
                   std::string(payload + metadata_size + object_size, module_size)};
  const std::string header = make_header(key, entry);
  if (bytes.compare(0, header_size, header) != 0 ||
      bytes.compare(header_size, checksum_size, checksum(header, payload, payload_size)) != 0) {
    return std::nullopt;
  }
  return entry;
}

std::optional<std::string> read_private_file(const std::string &path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat status{};
  if (file.number < 0 || ::fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
      status.st_size > largest_file) {
    return std::nullopt;
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file.number, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return std::nullopt;
    }
    done += static_cast<size_t>(count);
  }
  return bytes;
}

bool write_private_file(const std::string &path, const std::string &bytes) {
  std::string pattern = path + ".XXXXXX";
  std::vector<char> name(pattern.begin(), pattern.end());
  name.push_back('\0');
  bool whole = true;
  {
    const Descriptor file{::mkostemp(name.data(), O_CLOEXEC)}; // mode 0600
    if (file.number < 0) {
      return false;
    }
    // Until it is renamed: it ends with this process, and says that this process is alive.
    static_cast<void>(::flock(file.number, LOCK_EX | LOCK_NB));
    size_t done = 0;
    while (whole && done < bytes.size()) {
      const ssize_t count = ::write(file.number, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      whole = count > 0;
      done += whole ? static_cast<size_t>(count) : 0;
    }
    whole = whole && ::rename(name.data(), path.c_str()) == 0;
  }
  if (!whole) {
    ::unlink(name.data());
  }
  return whole;
}

bool is_abandoned(const std::string &path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat status{};
  if (file.number < 0 || ::fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode)) {
    return false;
  }
  const std::time_t age =
      std::abs(std::time(nullptr) - status.st_mtime); // clocks are set back, too
  if (::flock(file.number, LOCK_EX | LOCK_NB) == 0) {
    return age > seconds_before_the_lock;
  }
  return errno != EWOULDBLOCK && age > seconds_of_any_writer;
}

std::string prepare_directory(const std::string &directory) {
  if (directory.empty()) {
    return "no home directory is known; set TILEWRIGHT_CACHE_DIR";
  }
  struct stat status{};
  if (::stat(directory.c_str(), &status) != 0) {
    std::error_code problem;
    const std::filesystem::path parent = std::filesystem::path(directory).parent_path();
    if (!parent.empty()) {
      std::filesystem::create_directories(parent, problem);
    }
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return "'" + directory + "' cannot be made: " + std::strerror(errno);
    }
    if (::stat(directory.c_str(), &status) != 0) {
      return "'" + directory + "' cannot be read: " + std::strerror(errno);
    }
  }
  if (!S_ISDIR(status.st_mode)) {
    return "'" + directory + "' is not a directory";
  }
  if (status.st_uid != ::geteuid()) {
    return "'" + directory + "' belongs to another user";
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "'" + directory + "' is writable by other users; run: chmod go-w '" + directory + "'";
  }
  return {};
}

} // namespace tilewright
