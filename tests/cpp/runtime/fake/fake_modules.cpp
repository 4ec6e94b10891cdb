// Modules, kernels and launches of the double of libcuda.
#include "fake_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

using namespace fake_driver;

namespace {

/// The sizes of a kernel's arguments, from its declaration; false where there is no such kernel.
bool find_entry(const std::string &ptx, const std::string &name, std::vector<int> &sizes) {
  const auto at = ptx.find(".entry " + name + "(");
  if (at == std::string::npos) {
    return false;
  }
  const std::string declared = ptx.substr(at, ptx.find(')', at) - at);
  std::istringstream words(declared);
  std::string word;
  bool is_parameter = false;
  while (words >> word) {
    if (word.find(".param") != std::string::npos) {
      is_parameter = true;
    } else if (is_parameter &&
               (word[1] == 'u' || word[1] == 'b' || word[1] == 's' || word[1] == 'f')) {
      sizes.push_back(std::atoi(word.c_str() + 2) / 8);
      is_parameter = false;
    }
  }
  return true;
}

/// What the compiler says of PTX; Success where it is well.
Result compile(const std::string &ptx, std::string &log) {
  const auto version = ptx.find(".version ");
  if (version == std::string::npos) {
    log = "ptxas fatal   : Missing .version directive at start of file";
    return InvalidPtx;
  }
  const int major = ptx[version + 9] - '0';
  const int minor = ptx[version + 11] - '0';
  if (major * 10 + minor > state().newest_ptx) {
    return UnsupportedPtxVersion;
  }
  const auto target = ptx.find(".target sm_");
  const int architecture = target == std::string::npos ? 0 : std::atoi(ptx.c_str() + target + 11);
  if (architecture > state().capability) {
    return NoBinaryForDevice;
  }
  // The first version that knows it (the PTX manual's release notes).
  const int least = architecture >= 89   ? 78
                    : architecture >= 87 ? 74
                    : architecture >= 86 ? 71
                    : architecture >= 80 ? 70
                                         : 63;
  if (major * 10 + minor < least) {
    log = "ptxas application ptx input, line 2; error   : PTX .version " + std::to_string(major) +
          "." + std::to_string(minor) + " does not support .target sm_" +
          std::to_string(architecture);
    return InvalidPtx;
  }
  if (ptx.find("wrong_instruction") != std::string::npos) {
    log = "ptxas application ptx input, line 7; error   : Not a name of any known instruction";
    return InvalidPtx;
  }
  return Success;
}

void write_log(std::uint32_t count, const std::int32_t *options, void **values,
               const std::string &log) {
  char *buffer = nullptr;
  std::size_t bytes = 0;
  for (std::uint32_t o = 0; o < count; ++o) {
    if (options[o] == JitErrorLog) {
      buffer = static_cast<char *>(values[o]);
    } else if (options[o] == JitErrorLogBytes) {
      bytes = reinterpret_cast<std::size_t>(values[o]);
    }
  }
  if (buffer != nullptr && bytes != 0) {
    std::snprintf(buffer, bytes, "%s", log.c_str());
  }
}

} // namespace

// The library's own names.
// NOLINTBEGIN(readability-identifier-naming)

// ---- modules ----

EXPORT Result cuModuleLoadDataEx(Module *module, const void *image, std::uint32_t count,
                                 std::int32_t *options, void **values) {
  BEGIN("cuModuleLoadDataEx")
  std::string text = static_cast<const char *>(image);
  const std::string mark = std::string(binary_mark) + std::to_string(state().capability) + "\n";
  if (text.compare(0, 5, binary_mark) == 0) {
    if (text.compare(0, mark.size(), mark) != 0) {
      return NoBinaryForDevice;
    }
    text = text.substr(mark.size());
  } else {
    std::string log;
    if (const Result result = compile(text, log); result != Success) {
      write_log(count, options, values, log);
      return result == InvalidPtx && text.find(".version") == std::string::npos ? InvalidImage
                                                                                : result;
    }
  }
  *module = new ModuleHandle{stack.back()->device, text, {}};
  state().modules.insert(*module);
  note("load_module device ", stack.back()->device);
  return Success;
}

EXPORT Result cuModuleUnload(Module module) {
  BEGIN("cuModuleUnload")
  if (state().modules.erase(module) == 0) {
    return InvalidHandle;
  }
  delete module;
  return Success;
}

EXPORT Result cuModuleGetFunction(Function *function, Module module, const char *name) {
  BEGIN("cuModuleGetFunction")
  if (state().modules.count(module) == 0) {
    return InvalidHandle;
  }
  FunctionHandle found;
  found.name = name;
  found.device = module->device;
  if (!find_entry(module->ptx, name, found.sizes)) {
    return NotFound;
  }
  if (state().runs_kernels) {
    try {
      found.code = std::make_shared<PtxKernel>(module->ptx, name);
    } catch (const std::exception &error) {
      std::fprintf(stderr, "the test double of libcuda cannot read %s: %s\n", name, error.what());
      return InvalidPtx;
    }
  }
  *function = &module->functions.emplace(name, std::move(found)).first->second;
  return Success;
}

EXPORT Result cuLinkCreate_v2(std::uint32_t count, std::int32_t *options, void **values,
                              Link *link) {
  BEGIN("cuLinkCreate_v2")
  *link = new LinkHandle();
  for (std::uint32_t o = 0; o < count; ++o) {
    if (options[o] == JitErrorLog) {
      (*link)->log = static_cast<char *>(values[o]);
    } else if (options[o] == JitErrorLogBytes) {
      (*link)->log_bytes = reinterpret_cast<std::size_t>(values[o]);
    }
  }
  return Success;
}

EXPORT Result cuLinkAddData_v2(Link link, std::int32_t type, void *data, std::size_t bytes,
                               const char *, std::uint32_t, std::int32_t *, void **) {
  BEGIN("cuLinkAddData_v2")
  const auto *text = static_cast<const char *>(data);
  if (type != InputIsPtx || bytes == 0 || text[bytes - 1] != '\0') {
    return InvalidValue;
  }
  link->ptx = text;
  std::string log;
  const Result result = compile(link->ptx, log);
  if (link->log != nullptr && link->log_bytes != 0) {
    std::snprintf(link->log, link->log_bytes, "%s", log.c_str());
  }
  return result;
}

EXPORT Result cuLinkComplete(Link link, void **cubin, std::size_t *bytes) {
  BEGIN("cuLinkComplete")
  link->cubin = binary_mark + std::to_string(state().capability) + "\n" + link->ptx;
  *cubin = link->cubin.data();
  *bytes = link->cubin.size() + 1;
  note("compile");
  return Success;
}

EXPORT Result cuLinkDestroy(Link link) {
  const std::lock_guard lock(state().mutex);
  ++state().calls["cuLinkDestroy"];
  delete link;
  return Success;
}

EXPORT Result cuFuncGetAttribute(std::int32_t *value, std::int32_t attribute, Function function) {
  BEGIN("cuFuncGetAttribute")
  switch (attribute) {
  case FunctionMaxThreads:
    *value = function->name.find("heavy") == std::string::npos ? 1024 : 256;
    break;
  case FunctionSharedBytes:
    *value = function->name.find("shared") == std::string::npos ? 0 : 1024;
    break;
  case FunctionRegisters:
    *value = 40;
    break;
  default:
    return InvalidValue;
  }
  return Success;
}

EXPORT Result cuFuncSetAttribute(Function function, std::int32_t attribute, std::int32_t value) {
  BEGIN("cuFuncSetAttribute")
  if (attribute != FunctionMaxDynamicSharedBytes || value > max_shared_bytes) {
    return InvalidValue;
  }
  function->dynamic_shared_bytes = value;
  note("allow_shared ", value);
  return Success;
}

EXPORT Result cuLaunchKernel(Function function, std::uint32_t grid_x, std::uint32_t grid_y,
                             std::uint32_t grid_z, std::uint32_t block_x, std::uint32_t block_y,
                             std::uint32_t block_z, std::uint32_t shared_bytes, Stream stream,
                             void **arguments, void **extra) {
  BEGIN("cuLaunchKernel")
  if (extra != nullptr || !is_stream(stream) || function->device != stack.back()->device) {
    return InvalidHandle;
  }
  const unsigned grid[3] = {grid_x, grid_y, grid_z};
  const unsigned block[3] = {block_x, block_y, block_z};
  const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
  if (grid_x == 0 || grid_y == 0 || grid_z == 0 || threads == 0 ||
      static_cast<int>(shared_bytes) > function->dynamic_shared_bytes) {
    return InvalidValue;
  }
  if (function->name.find("heavy") != std::string::npos && threads > 256) {
    return OutOfResources;
  }
  std::ostringstream bytes;
  for (std::size_t a = 0; a < function->sizes.size() && !state().is_quiet; ++a) {
    bytes << (a == 0 ? "" : ",");
    for (int b = function->sizes[a]; b-- > 0;) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char *>(arguments[a])[b]);
      bytes << digits;
    }
  }
  note("launch ", function->name, " grid ", grid_x, " ", grid_y, " ", grid_z, " block ", block_x,
       " ", block_y, " ", block_z, " shared ", shared_bytes, " stream ", number_of(stream),
       " args ", bytes.str());
  advance(stream);
  for (std::size_t a = 0; a < function->sizes.size(); ++a) {
    Address address = 0;
    if (function->sizes[a] == sizeof(address)) {
      std::memcpy(&address, arguments[a], sizeof(address));
      use(stream, address, "a kernel");
    }
  }
  auto fault = state().faults.find(function->name);
  fault = fault == state().faults.end() ? state().faults.find("*") : fault;
  if (fault != state().faults.end()) {
    state().lost[stack.back()->device] = fault->second;
    return Success;
  }
  if (function->code != nullptr) {
    const PtxLaunch launch = {
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, arguments, is_memory};
    const Result result = function->code->run(launch);
    if (result != Success) {
      state().lost[stack.back()->device] = result;
    }
  }
  if (state().executor != nullptr) {
    state().executor(function->name.c_str(), grid, block, arguments,
                     static_cast<int>(function->sizes.size()));
  }
  return Success;
}

// NOLINTEND(readability-identifier-naming)
