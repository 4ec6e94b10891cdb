#include "runtime/cuda_modules.h"

#include "runtime/cache.h"
#include "runtime/code_lifetime.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

constexpr std::size_t max_modules = 1024;

/// The driver's compiler changes with releases that its interface version does not show.
const std::string &driver_release() {
  static const std::string release = [] {
    std::string line;
    std::ifstream file("/proc/driver/nvidia/version");
    std::getline(file, line);
    return line;
  }();
  return release;
}

std::string binary_key(const CudaContext &context, const std::string &ptx) {
  return cache_key(fmt::format("cubin of PTX for sm_{}{} by CUDA {} {}\n{}",
                               context.properties().major, context.properties().minor,
                               context.driver().version(), driver_release(), ptx));
}

/// The log of the driver's compiler, as the options of a call.
class CompilerLog {
public:
  std::uint32_t count() const { return 2; }
  std::int32_t *options() { return options_; }
  void **values() { return values_; }
  /// Empty where it said nothing.
  std::string text() const {
    const std::string all(text_.data());
    const auto first = all.find_first_not_of(" \n");
    const auto last = all.find_last_not_of(" \n");
    return first == std::string::npos ? std::string() : all.substr(first, last - first + 1);
  }

private:
  std::vector<char> text_ = std::vector<char>(std::size_t{16} << 10);
  std::int32_t options_[2] = {cuda::JitErrorLog, cuda::JitErrorLogBytes};
  void *values_[2] = {text_.data(),
                      reinterpret_cast<void *>(text_.size() - 1)}; // NOLINT(*-no-int-to-ptr)
};

} // namespace

CudaModules::~CudaModules() {
  try {
    if (context_.is_usable()) {
      const CudaContext::Scope scope(context_);
      unload_all();
    }
  } catch (const std::exception &) {
    return; // they go with the context
  }
}

void CudaModules::unload_all() {
  context_.note_launch(nullptr);
  for (const auto &[ptx, loaded] : modules_) {
    context_.functions().unload_module(loaded->handle);
  }
  modules_.clear();
  known_.clear();
}

CudaFunction *CudaModules::find(const DeviceKernel &kernel) const {
  const auto found = known_.find(&kernel);
  if (found == known_.end()) {
    return nullptr;
  }
  const Known &known = found->second;
  const bool is_same = known.dropped_code == dropped_code.load(std::memory_order_acquire) &&
                       known.name == kernel.name && known.ptx == kernel.ptx &&
                       known.ptx_bytes == kernel.ptx_bytes;
  return is_same ? known.function : nullptr;
}

CudaModules::Held CudaModules::hold(const DeviceKernel &kernel) {
  while (true) {
    {
      std::shared_lock lock(mutex_);
      if (CudaFunction *function = find(kernel)) {
        return {std::move(lock), *function};
      }
    }
    const std::unique_lock lock(mutex_);
    if (find(kernel) == nullptr) {
      load(kernel);
    }
  }
}

void CudaModules::load(const DeviceKernel &kernel) {
  if (kernel.ptx == nullptr) {
    throw Error(ErrorKind::Device, fmt::format("kernel '{}' was compiled for the emulator and has "
                                               "no code for {}",
                                               kernel.name, context_.title()));
  }
  const std::uint64_t dropped = dropped_code.load(std::memory_order_acquire);
  std::string ptx(kernel.ptx, static_cast<std::size_t>(kernel.ptx_bytes));
  while (!ptx.empty() && ptx.back() == '\0') {
    ptx.pop_back();
  }
  auto found = modules_.find(ptx);
  if (found == modules_.end()) {
    if (modules_.size() >= max_modules) {
      context_.check(context_.functions().synchronize_context(), "wait for the device");
      unload_all();
    }
    auto loaded = std::make_unique<Loaded>();
    loaded->handle = load_module(ptx);
    found = modules_.emplace(std::move(ptx), std::move(loaded)).first;
    counts_.loaded = static_cast<std::int64_t>(modules_.size());
  }
  std::unique_ptr<CudaFunction> &function = found->second->functions[kernel.name];
  if (!function) {
    auto made = std::make_unique<CudaFunction>();
    made->name = kernel.name;
    const std::string doing = fmt::format("find kernel '{}' in its module", kernel.name);
    context_.check(
        context_.functions().module_function(&made->handle, found->second->handle, kernel.name),
        doing);
    const auto attribute = [&](std::int32_t which) {
      std::int32_t value = 0;
      context_.check(context_.functions().function_attribute(&value, which, made->handle), doing);
      return value;
    };
    made->static_shared_bytes = attribute(cuda::FunctionSharedBytes);
    made->max_threads = attribute(cuda::FunctionMaxThreads);
    made->registers = attribute(cuda::FunctionRegisters);
    made->allowed_shared_bytes =
        std::max<std::int64_t>(0, context_.properties().shared_bytes - made->static_shared_bytes);
    function = std::move(made);
  }
  if (known_.size() >= 16 * max_modules) {
    known_.clear(); // most of these addresses are no kernels any more
  }
  known_[&kernel] = {dropped, kernel.name, kernel.ptx, kernel.ptx_bytes, function.get()};
}

cuda::Module CudaModules::load_module(const std::string &ptx) {
  const std::string key = binary_key(context_, ptx);
  cuda::Module module = nullptr;
  if (const auto binary = cache_load_note(key)) {
    if (context_.functions().load_module(&module, binary->data(), 0, nullptr, nullptr) ==
        cuda::Success) {
      ++counts_.from_cache;
      return module;
    }
    // Not for this device after all, or the driver changed: made anew.
  }
  const std::string binary = compile(ptx);
  ++counts_.compiled;
  CompilerLog log;
  const cuda::Result result = context_.functions().load_module(&module, binary.data(), log.count(),
                                                               log.options(), log.values());
  const std::string said = log.text();
  context_.check(result, said.empty() ? std::string("load compiled kernels")
                                      : fmt::format("load compiled kernels ({})", said));
  cache_store_note(key, binary);
  return module;
}

std::string CudaModules::compile(const std::string &ptx) {
  const cuda::Functions &call = context_.functions();
  CompilerLog log;
  cuda::Link link = nullptr;
  context_.check(call.create_link(log.count(), log.options(), log.values(), &link),
                 "start the driver's compiler");
  void *binary = nullptr;
  std::size_t bytes = 0;
  std::string text = ptx; // the function takes it as changeable
  cuda::Result result = call.add_to_link(link, cuda::InputIsPtx, text.data(), text.size() + 1,
                                         "kernels", 0, nullptr, nullptr);
  if (result == cuda::Success) {
    result = call.complete_link(link, &binary, &bytes);
  }
  std::string compiled;
  if (result == cuda::Success) {
    compiled.assign(static_cast<const char *>(binary), bytes);
  }
  call.destroy_link(link);
  const std::string said = log.text();
  context_.check(result, said.empty() ? std::string("compile PTX")
                                      : fmt::format("compile PTX (its compiler says: {})", said));
  return compiled;
}

CudaModules::Counts CudaModules::counts() const {
  const std::shared_lock lock(mutex_);
  return counts_;
}

} // namespace tilewright
