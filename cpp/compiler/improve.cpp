#include "compiler/improve.h"

#include "compiler/kernel_metadata.h"
#include "loops/traverse.h"
#include "runtime/background.h"
#include "runtime/jit.h"

#include <utility>

namespace tilewright {

namespace {

struct Work {
  std::string key;
  std::shared_ptr<KernelCode> code;
  CacheEntry entry;
  const Target *target = nullptr;
  TargetOptions options;
  HostSymbols externs;
};

void improve(const Work &work) {
  try {
    CacheEntry better;
    better.object = work.target->improve(work.entry.module, work.options).object;
    auto metadata = decode_metadata(work.entry.metadata);
    if (!metadata) {
      throw Error(ErrorKind::Internal, "the kernel's description is not one of ours");
    }
    metadata->is_full = true;
    better.metadata = encode_metadata(*metadata);
    LoadedCode loaded = load_object(better.object, work.options.symbol, work.externs);
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

void improve_later(const CompiledKernel &kernel, CacheEntry entry, std::string symbol,
                   const CompileOptions &options) {
  const std::shared_ptr<KernelCode> &code = kernel.code;
  if (!code->change(Improvement::None, Improvement::Pending)) {
    return;
  }
  auto work = std::make_shared<Work>();
  work->key = kernel.key;
  work->externs = kernel.externs;
  work->code = code;
  work->entry = std::move(entry);
  work->target = options.target.target;
  work->options = target_options(options);
  work->options.symbol = std::move(symbol);
  const bool begun =
      run_in_background({[work] { improve(*work); },
                         [work] { work->code->change(Improvement::Pending, Improvement::None); }});
  if (!begun) {
    code->change(Improvement::Pending, Improvement::None);
  }
}

} // namespace tilewright
