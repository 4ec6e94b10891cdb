// What debuggers and profilers are told of code that is linked into the process. gdb (and lldb)
// read a list of object files at fixed addresses, by the protocol that LLVM's JIT made common:
// symbols __jit_debug_descriptor and __jit_debug_register_code, which the extension module shows.
// perf reads lines "address size name" of /tmp/perf-PID.map, which are written where the
// environment says TILEWRIGHT_PERF=1. Who calls takes care that one thread does at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// Where the parts of one object file were put.
struct CodePlaces {
  struct Function {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
  };
  struct Section {
    std::string name;
    std::uint64_t address = 0;
  };
  std::vector<Function> functions;
  std::vector<Section> sections;
};

/// Names `object`, which was put to `places`, for debuggers, until the result is destroyed, and for
/// perf. Never throws: null where an object is none of ours. The environment's TILEWRIGHT_GDB=0
/// keeps debuggers out.
std::shared_ptr<void> list_code(const std::string &object, const CodePlaces &places) noexcept;

} // namespace tilewright
