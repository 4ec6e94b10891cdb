#include "runtime/code_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <exception>
#include <fcntl.h>
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

bool is_set(const char *name, const char *value) {
  const char *text = std::getenv(name);
  return text != nullptr && std::string_view(text) == value;
}

template <class T>
T read_at(const std::string &bytes, std::uint64_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) {
    throw std::exception();
  }
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The object file with the addresses of its sections, as debuggers want it.
std::string with_addresses(std::string object, const CodePlaces &places) {
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr)) {
    throw std::exception();
  }
  const auto place_of = [&](std::uint16_t section) {
    return header.e_shoff + std::uint64_t{section} * sizeof(Elf64_Shdr);
  };
  const auto names = read_at<Elf64_Shdr>(object, place_of(header.e_shstrndx));
  for (std::uint16_t s = 0; s < header.e_shnum; ++s) {
    auto section = read_at<Elf64_Shdr>(object, place_of(s));
    const std::uint64_t at = names.sh_offset + section.sh_name;
    if (at >= object.size()) {
      throw std::exception();
    }
    const std::string name(object.c_str() + at);
    const auto found =
        std::find_if(places.sections.begin(), places.sections.end(),
                     [&](const CodePlaces::Section &each) { return each.name == name; });
    if ((section.sh_flags & SHF_ALLOC) != 0 && found != places.sections.end()) {
      section.sh_addr = found->address;
      std::memcpy(object.data() + place_of(s), &section, sizeof section);
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

/// Adds to perf's map of this process. A child of fork starts its own, with what its parent had.
void write_perf_map(const CodePlaces &places) {
  static std::string all;
  static pid_t process = 0;
  std::string lines;
  for (const CodePlaces::Function &function : places.functions) {
    lines += fmt::format("{:x} {:x} {}\n", function.address, function.size, function.name);
  }
  all += lines;
  if (process != getpid()) {
    process = getpid();
    lines = all;
  }
  const std::string path = fmt::format("/tmp/perf-{}.map", process);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    return; // profiles lack names; kernels run
  }
  const ssize_t written = write(file, lines.data(), lines.size());
  static_cast<void>(written);
  close(file);
}

} // namespace

std::shared_ptr<void> list_code(const std::string &object, const CodePlaces &places) noexcept {
  static const bool for_perf = is_set("TILEWRIGHT_PERF", "1");
  static const bool for_debuggers = !is_set("TILEWRIGHT_GDB", "0");
  try {
    if (for_perf) {
      write_perf_map(places);
    }
    if (for_debuggers) {
      return std::make_shared<DebuggedObject>(with_addresses(object, places));
    }
  } catch (const std::exception &) {
    return nullptr;
  }
  return nullptr;
}

} // namespace tilewright
