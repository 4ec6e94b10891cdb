#include "compiler/improve.h"

#include "compiler/kernel_metadata.h"
#include "loops/traverse.h"
#include "runtime/background.h"
#include "runtime/cpu.h"
#include "targets/llvm/emitter.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <utility>

namespace tilewright {

namespace {

struct Work {
  std::string key;
  std::shared_ptr<KernelCode> code;
  CacheEntry entry;
  std::string symbol;
  CpuDescription cpu;
  bool fast_math = false;
};

std::string compile_in_full(const Work &work) {
  const ForkGuard guard;
  const auto machine = make_target_machine(work.cpu, work.fast_math);
  llvm::LLVMContext context;
  auto module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(work.entry.module, work.symbol), context);
  if (!module) {
    throw Error(ErrorKind::Internal,
                "LLVM cannot read its own module: " + llvm::toString(module.takeError()));
  }
  optimise_full(**module, *machine, ForkGuard::pause);
  return compile_to_object(**module, *machine, true);
}

void improve(const Work &work) {
  try {
    CacheEntry better;
    better.object = compile_in_full(work);
    auto metadata = decode_metadata(work.entry.metadata);
    if (!metadata) {
      throw Error(ErrorKind::Internal, "the kernel's description is not one of ours");
    }
    metadata->is_full = true;
    better.metadata = encode_metadata(*metadata);
    LoadedCode loaded = load_object(better.object, work.symbol);
    cache_store(work.key, better);
    work.code->replace(std::move(loaded));
    work.code->change(Improvement::Pending, Improvement::Done);
  } catch (const std::exception &error) {
    work.code->set_problem(error.what());
    work.code->change(Improvement::Pending, Improvement::Failed);
  }
}

} // namespace

bool may_improve(const Kernel &kernel) {
  bool has_loop = false;
  bool has_vectors = false;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    has_loop = has_loop || is<For>(statement);
    visit_values(statement,
                 [&](const Value &value) { has_vectors = has_vectors || value.type.lanes > 1; });
  });
  return has_loop && !has_vectors;
}

std::string encode_module(const llvm::Module &module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream);
  return bytes;
}

void improve_later(const std::string &key, std::shared_ptr<KernelCode> code, CacheEntry entry,
                   std::string symbol, const CompileOptions &options) {
  if (!code->change(Improvement::None, Improvement::Pending)) {
    return;
  }
  auto work = std::make_shared<Work>();
  work->key = key;
  work->code = code;
  work->entry = std::move(entry);
  work->symbol = std::move(symbol);
  work->cpu = describe_cpu(options.cpu);
  work->fast_math = options.fast_math;
  const bool begun =
      run_in_background({[work] { improve(*work); },
                         [work] { work->code->change(Improvement::Pending, Improvement::None); }});
  if (!begun) {
    code->change(Improvement::Pending, Improvement::None);
  }
}

} // namespace tilewright
