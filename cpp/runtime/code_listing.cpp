#include "runtime/code_listing.h"

#include "runtime/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <new>
#include <optional>
#include <string_view>
#include <unistd.h>

// The protocol's own names and layout, from gdb's manual ("JIT Compilation Interface").
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
struct jit_code_entry {
  jit_code_entry *next_entry;
  jit_code_entry *prev_entry;
  const char *symfile_addr;
  std::uint64_t symfile_size;
};

enum jit_actions_t : std::uint32_t { JIT_NOACTION = 0, JIT_REGISTER_FN, JIT_UNREGISTER_FN };

struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;
  jit_code_entry *relevant_entry;
  jit_code_entry *first_entry;
};

extern __attribute__((visibility("default"))) jit_descriptor __jit_debug_descriptor;
__attribute__((visibility("default"), noinline)) void __jit_debug_register_code();

jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, nullptr, nullptr};

/// Debuggers stop here.
void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace tilewright {

namespace {

bool is_set(const char *name, const char *value) { return environment(name) == value; }

/// Nothing where the bytes end before.
template <class T>
std::optional<T> read_at(const std::string &bytes, std::uint64_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) {
    return std::nullopt;
  }
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The object file with the addresses of its sections, as debuggers want it; nothing where it is
/// none.
std::optional<std::string> with_addresses(std::string object, const CodePlaces &places) {
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr)) {
    return std::nullopt;
  }
  const auto place_of = [&](std::uint16_t section) {
    return header->e_shoff + std::uint64_t{section} * sizeof(Elf64_Shdr);
  };
  const auto names = read_at<Elf64_Shdr>(object, place_of(header->e_shstrndx));
  for (std::uint16_t s = 0; s < header->e_shnum; ++s) {
    auto section = read_at<Elf64_Shdr>(object, place_of(s));
    if (!names || !section || names->sh_offset >= object.size() ||
        section->sh_name >= object.size() - names->sh_offset) {
      return std::nullopt;
    }
    const std::uint64_t at = names->sh_offset + section->sh_name;
    const std::string name(object.c_str() + at);
    const auto found =
        std::find_if(places.sections.begin(), places.sections.end(),
                     [&](const CodePlaces::Section &each) { return each.name == name; });
    if ((section->sh_flags & SHF_ALLOC) != 0 && found != places.sections.end()) {
      section->sh_addr = found->address;
      std::memcpy(object.data() + place_of(s), &*section, sizeof *section);
    }
  }
  return object;
}

/// An object file on the debuggers' list.
class DebuggedObject {
public:
  explicit DebuggedObject(std::string object) : object_(std::move(object)) {
    entry_ = {__jit_debug_descriptor.first_entry, nullptr, object_.data(), object_.size()};
    if (entry_.next_entry != nullptr) {
      entry_.next_entry->prev_entry = &entry_;
    }
    __jit_debug_descriptor.first_entry = &entry_;
    tell(JIT_REGISTER_FN);
  }
  ~DebuggedObject() {
    if (entry_.prev_entry != nullptr) {
      entry_.prev_entry->next_entry = entry_.next_entry;
    } else {
      __jit_debug_descriptor.first_entry = entry_.next_entry;
    }
    if (entry_.next_entry != nullptr) {
      entry_.next_entry->prev_entry = entry_.prev_entry;
    }
    tell(JIT_UNREGISTER_FN);
  }
  DebuggedObject(const DebuggedObject &) = delete;
  DebuggedObject &operator=(const DebuggedObject &) = delete;

private:
  void tell(jit_actions_t action) {
    __jit_debug_descriptor.relevant_entry = &entry_;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.relevant_entry = nullptr;
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
  }

  std::string object_;
  jit_code_entry entry_{};
};

/// perf's map of a process, which may be forked: a child copies what its parent had written when it
/// was made. Where a file cannot be written profiles lack names, and kernels run.
class PerfMap {
public:
  void add(const CodePlaces &places) {
    const pid_t process = getpid();
    const int file = open(path_of(process).c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
      return;
    }
    if (process_ != 0 && process != process_) {
      copy(path_of(process_), end_, file);
    }
    std::string lines;
    for (const CodePlaces::Function &function : places.functions) {
      lines += fmt::format("{:x} {:x} {}\n", function.address, function.size, function.name);
    }
    write_all(file, lines);
    process_ = process;
    end_ = lseek(file, 0, SEEK_CUR);
    close(file);
  }

private:
  static std::string path_of(pid_t process) { return fmt::format("/tmp/perf-{}.map", process); }

  static bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(file, bytes.data(), bytes.size());
      if (written <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }

  /// The first `size` bytes of another map.
  static void copy(const std::string &path, off_t size, int to) {
    const int from = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (from < 0) {
      return;
    }
    std::array<char, 1 << 14> buffer{};
    while (size > 0) {
      const size_t wanted = std::min(buffer.size(), static_cast<size_t>(size));
      const ssize_t got = read(from, buffer.data(), wanted);
      if (got <= 0 || !write_all(to, {buffer.data(), static_cast<size_t>(got)})) {
        break;
      }
      size -= got;
    }
    close(from);
  }

  pid_t process_ = 0; ///< whose map was written last
  off_t end_ = 0;     ///< of what was written
};

} // namespace

std::shared_ptr<void> list_code(const std::string &object, const CodePlaces &places) noexcept {
  static const bool for_perf = is_set("TILEWRIGHT_PERF", "1");
  static const bool for_debuggers = !is_set("TILEWRIGHT_GDB", "0");
  static PerfMap perf_map;
  try {
    if (for_perf) {
      perf_map.add(places);
    }
    if (for_debuggers) {
      if (auto placed = with_addresses(object, places)) {
        return std::make_shared<DebuggedObject>(std::move(*placed));
      }
    }
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
  return nullptr;
}

} // namespace tilewright
