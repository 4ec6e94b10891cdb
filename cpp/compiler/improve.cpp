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

/// Has the loop neither loops nor vectors in it?
bool is_scalar_and_innermost(const LoopStatement &loop) {
  bool is_plain = true;
  for (const StmtPtr &child : loop.children) {
    visit_statements(child, [&](const LoopStatement &statement) {
      is_plain = is_plain && !is<For>(statement);
      visit_values(statement,
                   [&](const Value &value) { is_plain = is_plain && value.type.lanes <= 1; });
    });
  }
  return is_plain;
}

} // namespace

bool may_improve(const Kernel &kernel) {
  // What the schedule says stands behind its versions, such as the one for little work.
  StmtPtr scheduled = kernel.body;
  for (const If *version = as<If>(scheduled); version != nullptr && version->has_otherwise();
       version = as<If>(scheduled)) {
    scheduled = version->otherwise();
  }
  bool found = false;
  visit_statements(scheduled, [&](const LoopStatement &statement) {
    found = found || (is<For>(statement) && is_scalar_and_innermost(statement));
  });
  return found;
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
