#include "runtime/jit.h"

#include "hardware/processor.h"
#include "polyhedral/error.h"
#include "runtime/abi.h"
#include "runtime/code_lifetime.h"
#include "runtime/code_listing.h"
#include "runtime/device.h"
#include "runtime/gpu_emulator.h"
#include "runtime/gpu_tiles.h"
#include "runtime/math_support.h"
#include "runtime/parallel.h"
#include "runtime/watch.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TaskDispatch.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <cstring>
#include <mutex>
#include <pthread.h>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

[[noreturn]] void throw_llvm_error(const std::string &what, llvm::Error error) {
  throw Error(ErrorKind::Internal, what + ": " + llvm::toString(std::move(error)));
}

template <class T>
T take(llvm::Expected<T> value, const char *what) {
  if (!value) {
    throw_llvm_error(what, value.takeError());
  }
  return std::move(*value);
}

/// One lock for the linker. It is taken around fork, so that a child never inherits it held by a
/// thread it has not.
std::mutex &jit_mutex() {
  static auto *mutex = [] {
    static std::mutex the_mutex;
    pthread_atfork([] { the_mutex.lock(); }, [] { the_mutex.unlock(); },
                   [] { the_mutex.unlock(); });
    return &the_mutex;
  }();
  return *mutex;
}

template <class F>
llvm::orc::ExecutorSymbolDef symbol_at(F *function) {
  return {llvm::orc::ExecutorAddr::fromPtr(function),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
}

/// Collects what LLVM would print or exit for.
class Diagnostics : public llvm::DiagnosticHandler {
public:
  explicit Diagnostics(std::string &errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      stream << "; ";
    }
    return true;
  }

private:
  std::string &errors_;
};

/// LLVM's strength reduction takes half of the time of some kernels. Whether a code generator has
/// it is a switch of the whole process, which is read while its passes are put together.
bool add_passes(llvm::TargetMachine &machine, llvm::legacy::PassManager &passes,
                llvm::raw_pwrite_stream &stream, llvm::CodeGenFileType kind, bool reduce_strength) {
  static auto *switched_off = [] {
    const auto &options = llvm::cl::getRegisteredOptions();
    const auto found = options.find("disable-lsr");
    return found == options.end() ? nullptr : static_cast<llvm::cl::opt<bool> *>(found->second);
  }();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (switched_off != nullptr) {
    switched_off->setValue(!reduce_strength);
  }
  return machine.addPassesToEmitFile(passes, stream, nullptr, kind);
}

std::string generate(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind,
                     bool reduce_strength) {
  initialise_llvm();
  std::string problem;
  llvm::raw_string_ostream problem_stream(problem);
  if (llvm::verifyModule(module, &problem_stream)) {
    throw Error(ErrorKind::Internal, "malformed LLVM IR before code generation: " + problem);
  }
  llvm::LLVMContext &context = module.getContext();
  std::unique_ptr<llvm::DiagnosticHandler> previous = context.getDiagnosticHandler();
  std::string errors;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(errors));
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const bool refused = add_passes(machine, passes, stream, kind, reduce_strength);
  if (!refused) {
    passes.run(module);
  }
  context.setDiagnosticHandler(std::move(previous));
  if (refused) {
    throw Error(ErrorKind::Internal,
                "LLVM cannot generate code for " + machine.getTargetTriple().str());
  }
  if (!errors.empty()) {
    throw Error(ErrorKind::Internal, "LLVM's code generator reports: " + errors);
  }
  return {bytes.begin(), bytes.end()};
}

/// Notes where the linker puts the parts of the object file at hand.
class PlaceNoter : public llvm::orc::ObjectLinkingLayer::Plugin {
public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility & /*target*/,
                        llvm::jitlink::LinkGraph & /*graph*/,
                        llvm::jitlink::PassConfiguration &passes) override {
    // The bodies of parallel loops: calls within a section name no symbol, so the linker would drop
    // theirs.
    passes.PrePrunePasses.emplace_back([](llvm::jitlink::LinkGraph &graph) {
      for (llvm::jitlink::Symbol *symbol : graph.defined_symbols()) {
        symbol->setLive(symbol->isLive() || (symbol->hasName() && symbol->isCallable()));
      }
      return llvm::Error::success();
    });
    passes.PostAllocationPasses.emplace_back([this](llvm::jitlink::LinkGraph &graph) {
      note(graph);
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility & /*target*/) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib & /*library*/,
                                      llvm::orc::ResourceKey /*key*/) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib & /*library*/,
                                   llvm::orc::ResourceKey /*into*/,
                                   llvm::orc::ResourceKey /*from*/) override {}

  CodePlaces take() { return std::exchange(places_, {}); }

private:
  void note(llvm::jitlink::LinkGraph &graph) {
    places_ = {};
    for (const llvm::jitlink::Section &section : graph.sections()) {
      const llvm::jitlink::SectionRange range(section);
      if (!range.empty()) {
        places_.sections.push_back({section.getName().str(), range.getStart().getValue()});
      }
    }
    for (const llvm::jitlink::Symbol *symbol : graph.defined_symbols()) {
      if (symbol->hasName() && symbol->isCallable() && symbol->getSize() != 0) {
        places_.functions.push_back(
            {symbol->getName().str(), symbol->getAddress().getValue(), symbol->getSize()});
      }
    }
  }

  CodePlaces places_;
};

/// The one ORC session of the process. Never destroyed: kernels may outlive every static object.
class Session {
public:
  static Session &get() {
    static auto *session = new Session();
    return *session;
  }

  LoadedCode load(const std::string &object, const std::string &symbol, const HostSymbols &others);

private:
  Session();
  void remove(llvm::orc::JITDylib &library);
  void define_host_symbols();

  std::shared_ptr<PlaceNoter> noter_ = std::make_shared<PlaceNoter>();
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  llvm::orc::JITDylib *host_ = nullptr;
  std::uint64_t loaded_ = 0;
  std::uint64_t removed_ = 0;
};

Session::Session() {
  initialise_llvm();
  auto control = take(llvm::orc::SelfExecutorProcessControl::Create(
                          std::make_shared<llvm::orc::SymbolStringPool>(),
                          std::make_unique<llvm::orc::InPlaceTaskDispatcher>()),
                      "the JIT cannot start");
  llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(llvm::sys::getProcessTriple())};
  llvm::orc::LLJITBuilder builder;
  builder.setExecutorProcessControl(std::move(control));
  builder.setJITTargetMachineBuilder(machine);
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  builder.setLinkProcessSymbolsByDefault(false);
  builder.setObjectLinkingLayerCreator(
      [this](llvm::orc::ExecutionSession &session,
             const llvm::Triple &) -> llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> {
        auto layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(session);
        layer->addPlugin(noter_);
        return layer;
      });
  jit_ = take(builder.create(), "the JIT cannot start");
  // Failures come back from lookups; nothing is printed.
  jit_->getExecutionSession().setErrorReporter(
      [](llvm::Error error) { llvm::consumeError(std::move(error)); });
  host_ = &jit_->getExecutionSession().createBareJITDylib("host");
  define_host_symbols();
}

void Session::define_host_symbols() {
  llvm::orc::SymbolMap symbols;
  auto add = [&](const char *name, auto *function) {
    symbols[jit_->mangleAndIntern(name)] = symbol_at(function);
  };
  add("tilewright_parallel_for", &tilewright_parallel_for);
  add("tilewright_poll", &tilewright_poll);
  add("tilewright_launch", &tilewright_launch);
  add("tilewright_device_allocate", &tilewright_device_allocate);
  add("tilewright_device_free", &tilewright_device_free);
  add("tilewright_device_failure", &tilewright_device_failure);
  add("tilewright_gpu_index", &tilewright_gpu_index);
  add("tilewright_gpu_barrier", &tilewright_gpu_barrier);
  add("tilewright_gpu_exchange", &tilewright_gpu_exchange);
  add("tilewright_gpu_shuffle", &tilewright_gpu_shuffle);
  add("tilewright_gpu_mma", &tilewright_gpu_mma);
  add("tilewright_gpu_tf32", &tilewright_gpu_tf32);
  add("tilewright_gpu_matrices", &tilewright_gpu_matrices);
  add("tilewright_gpu_shared", &tilewright_gpu_shared);
  add("tilewright_gpu_access", &tilewright_gpu_access);
  add("tilewright_gpu_copy", &tilewright_gpu_copy);
  add("tilewright_gpu_commit", &tilewright_gpu_commit);
  add("tilewright_gpu_wait", &tilewright_gpu_wait);
  add("tilewright_allocate", &tilewright_allocate);
  add("tilewright_free", &tilewright_free);
  add("tilewright_report_index", &tilewright_report_index);
  add("tilewright_report_check", &tilewright_report_check);
  add("tilewright_clock", &tilewright_clock);
  add("tilewright_add_time", &tilewright_add_time);
  add("memcpy", static_cast<void *(*)(void *, const void *, size_t)>(&std::memcpy));
  add("memmove", static_cast<void *(*)(void *, const void *, size_t)>(&std::memmove));
  add("memset", static_cast<void *(*)(void *, int, size_t)>(&std::memset));
  for (const SupportFunction &function : support_functions()) {
    symbols[jit_->mangleAndIntern(function.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  }
  if (llvm::Error error = host_->define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
    throw_llvm_error("the JIT's own symbols cannot be defined", std::move(error));
  }
  const char prefix = jit_->getDataLayout().getGlobalPrefix();
  host_->addGenerator(take(llvm::orc::DynamicLibrarySearchGenerator::Load("libm.so.6", prefix),
                           "the mathematics library cannot be loaded"));
}

LoadedCode Session::load(const std::string &object, const std::string &symbol,
                         const HostSymbols &others) {
  auto &session = jit_->getExecutionSession();
  llvm::orc::JITDylib &library = session.createBareJITDylib("kernel" + std::to_string(loaded_++));
  library.addToLinkOrder(*host_);
  auto fail = [&](const char *what, llvm::Error error) {
    llvm::consumeError(session.removeJITDylib(library));
    throw_llvm_error(what, std::move(error));
  };
  llvm::orc::SymbolMap known;
  for (const auto &[name, address] : others) {
    known[jit_->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                          llvm::JITSymbolFlags::Exported |
                                              llvm::JITSymbolFlags::Callable};
  }
  if (!known.empty()) {
    if (llvm::Error error = library.define(llvm::orc::absoluteSymbols(std::move(known)))) {
      fail("functions of C cannot be made known to the JIT", std::move(error));
    }
  }
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object, symbol);
  if (llvm::Error error = jit_->addObjectFile(library, std::move(buffer))) {
    fail("object code cannot be added to the JIT", std::move(error));
  }
  auto address = jit_->lookup(library, symbol);
  if (!address) {
    fail("object code cannot be linked", address.takeError());
  }
  LoadedCode loaded;
  loaded.address = address->toPtr<void *>();
  std::shared_ptr<void> listed = list_code(object, noter_->take());
  loaded.code = std::shared_ptr<void>(loaded.address, [&library, listed](void *) mutable {
    const std::lock_guard lock(jit_mutex());
    listed.reset();
    dropped_code.fetch_add(1, std::memory_order_acq_rel);
    Session::get().remove(library);
  });
  return loaded;
}

void Session::remove(llvm::orc::JITDylib &library) {
  constexpr std::uint64_t sweep = 256;
  auto &session = jit_->getExecutionSession();
  llvm::consumeError(session.removeJITDylib(library));
  // The session keeps the names of all symbols that there ever were until it is told otherwise.
  if (++removed_ % sweep == 0) {
    session.getSymbolStringPool()->clearDeadEntries();
  }
}

} // namespace

std::string llvm_version() { return LLVM_VERSION_STRING; }

std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuDescription &cpu,
                                                         bool fast_math) {
  initialise_llvm();
  std::string problem;
  const std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (target == nullptr) {
    throw Error(ErrorKind::Internal, "LLVM has no target for " + triple + ": " + problem);
  }
  llvm::TargetOptions options;
  // A short loop that crosses a cache line is fetched twice: the same loops ran up to 1.3 times as
  // long, depending on what stood before them.
  options.LoopAlignment = cache_line_bytes;
  options.AllowFPOpFusion = fast_math ? llvm::FPOpFusion::Standard : llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu.name, cpu.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (!machine) {
    throw Error(ErrorKind::Internal, "LLVM cannot make a target machine for '" + cpu.name + "'");
  }
  return machine;
}

std::string compile_to_object(llvm::Module &module, llvm::TargetMachine &machine,
                              bool reduce_strength) {
  return generate(module, machine, llvm::CodeGenFileType::ObjectFile, reduce_strength);
}

std::string compile_to_assembly(llvm::Module &module, llvm::TargetMachine &machine,
                                bool reduce_strength) {
  return generate(module, machine, llvm::CodeGenFileType::AssemblyFile, reduce_strength);
}

LoadedCode load_object(const std::string &object, const std::string &symbol,
                       const HostSymbols &others) {
  const std::lock_guard lock(jit_mutex());
  return Session::get().load(object, symbol, others);
}

} // namespace tilewright
