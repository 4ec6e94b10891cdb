#include "runtime/build_identity.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>

namespace tilewright {

namespace {

struct Search {
  std::uintptr_t inside = 0; ///< an address of the binary looked for
  std::string found;
};

size_t padded(size_t length) { return (length + 3) & ~size_t{3}; }

/// The GNU build identifier among the notes of a segment.
std::string build_note(const char *notes, size_t length) {
  size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= length) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes + at, sizeof header);
    const size_t name = at + sizeof header;
    const size_t description = name + padded(header.n_namesz);
    const size_t end = description + padded(header.n_descsz);
    if (end > length) {
      break;
    }
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0) {
      std::string text;
      for (size_t i = 0; i < header.n_descsz; ++i) {
        constexpr char digits[] = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(notes[description + i]);
        text += digits[byte >> 4];
        text += digits[byte & 15];
      }
      return text;
    }
    at = end;
  }
  return {};
}

int examine(dl_phdr_info *info, size_t, void *data) {
  auto *search = static_cast<Search *>(data);
  bool is_ours = false;
  std::string note;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &segment = info->dlpi_phdr[i];
    const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      is_ours = is_ours || (search->inside >= start && search->inside < start + segment.p_memsz);
    } else if (segment.p_type == PT_NOTE && note.empty()) {
      note = build_note(reinterpret_cast<const char *>(start), segment.p_memsz);
    }
  }
  if (is_ours) {
    search->found = note;
  }
  return is_ours ? 1 : 0;
}

} // namespace

const std::string &build_identity() {
  static const std::string identity = [] {
    Search search;
    search.inside = reinterpret_cast<std::uintptr_t>(&examine);
    dl_iterate_phdr(examine, &search);
    return search.found;
  }();
  return identity;
}

} // namespace tilewright
