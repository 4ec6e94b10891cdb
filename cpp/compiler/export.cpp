#include "compiler/export.h"

#include "algorithm/size_parameters.h"
#include "compiler/improve.h"
#include "lowering/translate.h"
#include "runtime/jit.h"
#include "targets/llvm/emitter.h"
#include "targets/nvptx/cuda_target.h"

#include <fmt/format.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <array>

// Made from exported/runtime.c by cpp/CMakeLists.txt.
asm(".section .rodata.tilewright_exported_runtime, \"a\"\n"
    ".balign 16\n"
    ".hidden tilewright_exported_runtime_begin\n"
    ".globl tilewright_exported_runtime_begin\n"
    "tilewright_exported_runtime_begin:\n"
    ".incbin \"" TILEWRIGHT_EXPORTED_RUNTIME "\"\n"
    ".hidden tilewright_exported_runtime_end\n"
    ".globl tilewright_exported_runtime_end\n"
    "tilewright_exported_runtime_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const char tilewright_exported_runtime_begin[];
extern const char tilewright_exported_runtime_end[];
}

namespace tilewright {

namespace {

/// isl steps to turn a function's context into a test.
constexpr std::uint64_t context_limit = 20'000'000;

/// By bit, as exported/runtime.c asks the processor for them. No level of x86-64 and none of our
/// extensions needs others (but for what every such processor has).
constexpr std::array features_x86 = {
    "sse3",       "ssse3",      "sse4.1",     "sse4.2",   "popcnt",   "movbe",
    "avx",        "fma",        "f16c",       "avx2",     "bmi",      "bmi2",
    "avx512f",    "avx512dq",   "avx512cd",   "avx512bw", "avx512vl", "avx512vbmi",
    "avx512vnni", "avx512fp16", "avx512bf16", "avxvnni",  "lzcnt"};

std::uint64_t needed_features(const llvm::TargetMachine &machine) {
  if (machine.getTargetTriple().getArch() != llvm::Triple::x86_64) {
    return 0;
  }
  std::uint64_t needed = 0;
  for (size_t bit = 0; bit < features_x86.size(); ++bit) {
    if (machine.getMCSubtargetInfo()->checkFeatures(std::string("+") + features_x86[bit])) {
      needed |= std::uint64_t{1} << bit;
    }
  }
  return needed;
}

std::vector<std::pair<std::int32_t, std::string>>
messages(const Kernel &kernel, const CFunction &interface, const CpuDescription &cpu) {
  std::vector<std::pair<std::int32_t, std::string>> all = {
      {c_status(CStatus::Ok, 0), "no error"},
      {c_status(CStatus::OutOfMemory, 0), "no memory for temporaries"},
      {c_status(CStatus::Interrupted, 0), "interrupted"},
      {c_status(CStatus::Sizes, 0), "the function is not defined for these sizes"},
      {c_status(CStatus::Processor, 0),
       "this processor cannot run the code: it needs " + cpu.text()},
  };
  for (size_t site = 0; site < kernel.sites.size(); ++site) {
    const IndexSite &read = kernel.sites[site];
    all.emplace_back(c_status(CStatus::Subscript, site),
                     fmt::format("a subscript is outside of {} (dimension {}): {}", read.array,
                                 read.dimension, read.text));
  }
  for (size_t a = 0; a < interface.arrays.size(); ++a) {
    const CArray &array = interface.arrays[a];
    if (array.by_value) {
      continue;
    }
    all.emplace_back(c_status(CStatus::Null, a), array.name + " is NULL");
    all.emplace_back(c_status(CStatus::Alignment, a),
                     fmt::format("{} is not aligned to {} bytes", array.name, array.alignment));
    all.emplace_back(c_status(CStatus::Overlap, a),
                     array.name + ", which is written, overlaps another array");
  }
  return all;
}

template <class T>
T take(llvm::Expected<T> value, const char *what) {
  if (!value) {
    throw Error(ErrorKind::Internal, std::string(what) + ": " + llvm::toString(value.takeError()));
  }
  return std::move(*value);
}

/// The symbols of an object file, those that it needs or those that it has.
llvm::StringSet<> symbols(std::string_view object, bool undefined) {
  const char *doing = "reading an object file";
  const auto file = take(llvm::object::ObjectFile::createObjectFile(
                             llvm::MemoryBufferRef({object.data(), object.size()}, "object")),
                         doing);
  llvm::StringSet<> names;
  for (const llvm::object::SymbolRef &symbol : file->symbols()) {
    const std::uint32_t flags = take(symbol.getFlags(), doing);
    if (((flags & llvm::object::SymbolRef::SF_Undefined) != 0) == undefined) {
      names.insert(take(symbol.getName(), doing));
    }
  }
  return names;
}

/// Of this library, exported code may need what the runtime has; all else is the C library's.
void require_complete(const std::string &object) {
  const llvm::StringSet<> known = symbols(exported_runtime(), false);
  for (const auto &needed : symbols(object, true)) {
    if (needed.getKey().starts_with("tilewright_") && !known.contains(needed.getKey())) {
      throw Error(ErrorKind::Internal,
                  "the runtime of exported functions lacks " + needed.getKey().str());
    }
  }
}

} // namespace

ExportedSource export_source(const Mapping &mapping, CompileOptions options,
                             CSourceFunction function) {
  const bool has_launches = options.target.target->has_devices() && has_gpu_loops(mapping);
  options.target = {has_launches ? &cuda_target() : &c_source_target(), ""};
  function.fuses_products = has_fused_multiply_add(describe_cpu(options.cpu));
  const Kernel kernel = make_loops(mapping, options);
  {
    const OperationLimit limit(context_limit);
    function.context = holds(mapping.function().context, kernel.parameters);
  }
  for (const SizeParameter &size : size_parameters(mapping.function())) {
    function.sizes.push_back(size.position);
  }
  ExportedSource exported;
  if (has_launches) {
    const DeviceProgram program = cuda_program(kernel, target_options(options));
    exported.source = c_source(kernel, function, &program);
  } else {
    exported.source = c_source(kernel, function);
  }
  for (const IndexSite &site : kernel.sites) {
    exported.subscripts.push_back(site.text);
  }
  return exported;
}

ExportedKernel export_kernel(const Mapping &mapping, CompileOptions options, CFunction interface) {
  options.target = {}; // nobody has a device's driver for it
  const CpuDescription cpu = describe_cpu(options.cpu);
  const Kernel kernel = make_loops(mapping, options);
  {
    const OperationLimit limit(context_limit);
    interface.context = holds(mapping.function().context, kernel.parameters);
  }
  for (const SizeParameter &size : size_parameters(mapping.function())) {
    interface.sizes.push_back(size.position);
  }
  // There is no later in which the code could be improved.
  if (options.optimize == Optimization::Background ||
      (options.optimize == Optimization::Automatic && may_improve(kernel))) {
    options.optimize = Optimization::Full;
  }
  interface.cpu_features = needed_features(*make_target_machine(cpu, options.fast_math));
  interface.messages = messages(kernel, interface, cpu);
  ExportedKernel exported;
  exported.object = emit_c_object(kernel, interface, target_options(options));
  exported.cpu = cpu.text();
  require_complete(exported.object);
  return exported;
}

std::string_view exported_runtime() {
  return {tilewright_exported_runtime_begin,
          static_cast<size_t>(tilewright_exported_runtime_end - tilewright_exported_runtime_begin)};
}

std::string static_library(const std::vector<std::pair<std::string, std::string>> &members) {
  std::vector<llvm::NewArchiveMember> list;
  for (const auto &[name, bytes] : members) {
    list.emplace_back(llvm::MemoryBufferRef(bytes, name));
  }
  const auto buffer =
      take(llvm::writeArchiveToBuffer(list, llvm::SymtabWritingMode::NormalSymtab,
                                      llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                      /*Thin=*/false),
           "writing a static library");
  return buffer->getBuffer().str();
}

} // namespace tilewright
