// The whole road, top to bottom.
//
//   prepare  key       canonical text of function, mapping, options, versions, CPU -> BLAKE3
//            cache     in memory, then on disk: a hit is linked and done, without isl and LLVM IR
//            analyse   the scheduled program: statements, time space, buffers   mapping/program.h
//            lower     isl's loops -> loop IR -> loop passes                    lowering/lower.h
//   finish   emit      loop IR -> LLVM IR targets/llvm/emitter.h
//            optimise  the short pipeline, or the long one
//            codegen   object code for this CPU                                 runtime/jit.h
//            store     the entry on disk                                        runtime/cache.h
//            link      object code -> callable memory
//   later    improve   the long pipeline in the background, where it may pay    compiler/improve.h
#include "compiler/compiler.h"

#include "compiler/canonical_text.h"
#include "compiler/improve.h"
#include "compiler/kernel_metadata.h"
#include "hardware/gpu.h"
#include "loops/estimate_work.h"
#include "loops/gpu_queries.h"
#include "loops/traverse.h"
#include "lowering/lower.h"
#include "mapping/program.h"
#include "passes/gpu/mma_tiles.h"
#include "planning/default_tags.h"
#include "runtime/background.h"
#include "runtime/cache.h"
#include "runtime/jit.h"
#include "targets/nvptx/lower.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

namespace tilewright {

namespace {

/// isl steps for one lowering: minutes on no machine, hours on none.
constexpr std::uint64_t lowering_limit = 500'000'000;
/// The same for what nobody asked for: a default schedule that needs more is left out.
constexpr std::uint64_t default_limit = 20'000'000;

/// Adds the time until its end to one phase.
class Phase {
public:
  Phase(CompiledKernel &kernel, std::string name)
      : kernel_(kernel), name_(std::move(name)), start_(std::chrono::steady_clock::now()) {}
  ~Phase() {
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - start_;
    kernel_.milliseconds[name_] += passed.count();
  }
  Phase(const Phase &) = delete;
  Phase &operator=(const Phase &) = delete;

private:
  CompiledKernel &kernel_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

/// What runs: the mapping, or what the default schedule makes of it.
DefaultSchedule choose_schedule(const Mapping &mapping, const CompileOptions &options) {
  if (options.default_schedule) {
    const OperationLimit limit(default_limit);
    try {
      return with_default_tags(mapping, smallest_masked_element(describe_cpu(options.cpu)) == 1);
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Limit) {
        throw;
      }
    }
  }
  return {mapping};
}

/// Gives the timed nests of `from` numbers after those of `to`, which has them all then.
void append_nests(Kernel &from, Kernel &to) {
  const auto first = static_cast<std::int64_t>(to.nests.size());
  const std::function<StmtPtr(const StmtPtr &)> renumber = [&](const StmtPtr &statement) {
    const auto *nest = as<Timed>(statement);
    return nest == nullptr ? map_children(statement, renumber)
                           : timed(nest->nest + first, nest->body());
  };
  if (!from.nests.empty()) {
    from.body = renumber(from.body);
    to.nests.insert(to.nests.end(), from.nests.begin(), from.nests.end());
  }
}

/// The loops of a default schedule. Little work keeps those of `plain` where they are faster then.
Kernel lower_default(const Mapping &plain, const Program &program, const DefaultSchedule &running,
                     const LoweringOptions &lowering) {
  std::optional<Kernel> kernel;
  try {
    const OperationLimit limit(default_limit);
    kernel = lower(program, lowering);
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return lower(build_program(plain), lowering);
  }
  if (running.little > 0 && lowering.vectorize && kernel->sites.empty()) {
    Kernel declared = lower(build_program(plain), lowering);
    append_nests(declared, *kernel);
    kernel->body = by_work(declared, *kernel, running.little, running.around);
  }
  return std::move(*kernel);
}

/// What is watched is watched on the CPU, which runs the same loops in order; times are taken where
/// the loops run.
GpuTarget runs_on(const CompileOptions &options) {
  Instrumentation watched = options.instrumentation;
  watched.times = false;
  return watched == Instrumentation{} ? options.gpu : GpuTarget{};
}

Kernel lower_program(const Mapping &plain, const Program &program, const DefaultSchedule &running,
                     const CompileOptions &options, bool vectorize) {
  LoweringOptions lowering;
  lowering.layouts = options.layouts;
  lowering.vectors.masked_bytes = smallest_masked_element(describe_cpu(options.cpu));
  lowering.vectorize = vectorize;
  lowering.instrumentation = options.instrumentation;
  lowering.gpu = runs_on(options).kind != GpuTarget::Kind::None && has_gpu_loops(plain);
  if (lowering.gpu) {
    lowering.vectors.masked_bytes = 0;
    const GpuTarget gpu = runs_on(options);
    lowering.asynchronous_copies =
        gpu.kind == GpuTarget::Kind::Emulator || gpu.architecture >= first_with_asynchronous_copies;
  }
  return options.default_schedule ? lower_default(plain, program, running, lowering)
                                  : lower(program, lowering);
}

Kernel lower_with(const Mapping &mapping, const CompileOptions &options, bool vectorize) {
  const OperationLimit limit(lowering_limit);
  const DefaultSchedule running = choose_schedule(mapping, options);
  return lower_program(mapping, build_program(running.mapping), running, options, vectorize);
}

bool improves_later(const CompileOptions &options, const Kernel &loops) {
  if (loops.is_gpu) {
    return false;
  }
  return options.optimize == Optimization::Background ||
         (options.optimize == Optimization::Automatic && may_improve(loops));
}

/// The optimised module of `kernel`, which lives in `context`.
std::unique_ptr<llvm::Module> make_module(const Kernel &kernel, const CompileOptions &options,
                                          llvm::LLVMContext &context,
                                          llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> module = emit_llvm(kernel, context, machine, emit_options(options));
  optimise(*module, machine, options);
  return module;
}

/// Makes `kernel` callable with `cached`. False when the description is not one of ours.
bool take_cached(CompiledKernel &kernel, const CachedKernel &cached) {
  auto metadata = decode_metadata(cached.metadata);
  if (!metadata) {
    return false;
  }
  kernel.sites = std::move(metadata->sites);
  kernel.nests = std::move(metadata->nests);
  kernel.compiled_full = metadata->is_full;
  kernel.code = cached.code;
  return true;
}

bool find_cached(CompiledKernel &kernel, const std::string &symbol, const CompileOptions &options) {
  if (const auto known = cache_find(kernel.key)) {
    return take_cached(kernel, *known);
  }
  auto entry = cache_load(kernel.key);
  if (!entry) {
    return false;
  }
  try {
    auto cached = std::make_shared<CachedKernel>();
    cached->code = std::make_shared<KernelCode>(load_object(entry->object, symbol));
    cached->metadata = entry->metadata;
    if (take_cached(kernel, *cached)) {
      cache_remember(kernel.key, std::move(cached));
      if (!entry->module.empty()) {
        // Stored by a process that ended before the better code was there.
        improve_later(kernel.key, kernel.code, std::move(*entry), symbol, options);
      }
      return true;
    }
  } catch (const Error &) {
    // Whole, and yet it does not link here: a library that it calls is missing. Compiled again
    // below.
  }
  cache_discard(kernel.key);
  return false;
}

} // namespace

Kernel make_loops(const Mapping &mapping, const CompileOptions &options) {
  return lower_with(mapping, options, true);
}

EmitOptions emit_options(const CompileOptions &options) {
  EmitOptions emit;
  emit.fast_math = options.fast_math;
  emit.threads_where_worthwhile = options.default_schedule;
  emit.tuning = describe_cpu(options.cpu).tuning;
  emit.gpu = runs_on(options);
  return emit;
}

void optimise(llvm::Module &module, llvm::TargetMachine &machine, const CompileOptions &options) {
  if (options.optimize == Optimization::Full) {
    optimise_full(module, machine, ForkGuard::pause);
  } else {
    optimise_light(module, machine);
  }
}

Mapping mapping_that_runs(const Mapping &mapping, const CompileOptions &options) {
  return choose_schedule(mapping, options).mapping;
}

std::string kernel_key_text(const Mapping &mapping, const CompileOptions &options) {
  const OperationLimit limit(lowering_limit);
  return canonical_text(mapping, options, describe_cpu(options.cpu));
}

std::string kernel_key(const Mapping &mapping, const CompileOptions &options) {
  return cache_key(kernel_key_text(mapping, options));
}

PreparedKernel prepare(const Mapping &mapping, const CompileOptions &options) {
  const OperationLimit limit(lowering_limit);
  PreparedKernel prepared;
  prepared.options = options;
  prepared.kernel = std::make_shared<CompiledKernel>();
  CompiledKernel &kernel = *prepared.kernel;
  if (has_gpu_loops(mapping)) {
    kernel.gpu = runs_on(options);
  }
  {
    const Phase phase(kernel, "key");
    const CpuDescription cpu = describe_cpu(options.cpu);
    require_runnable(cpu);
    kernel.key = cache_key(canonical_text(mapping, options, cpu));
  }
  const std::string symbol = kernel_symbol(mapping.function().name, kernel.key);
  {
    const Phase phase(kernel, "load");
    kernel.from_cache = find_cached(kernel, symbol, options);
  }
  if (kernel.from_cache) {
    return prepared;
  }
  prepared.ticket = CompilationTicket::take(kernel.key);
  if (prepared.ticket == nullptr) {
    prepared.waits = true;
    return prepared;
  }
  if (const auto known = cache_find(kernel.key); known && take_cached(kernel, *known)) {
    kernel.from_cache = true; // another thread was done just now
    prepared.ticket.reset();
    return prepared;
  }
  std::optional<DefaultSchedule> running;
  std::optional<Program> program;
  {
    const Phase phase(kernel, "analyse");
    running = choose_schedule(mapping, options);
    program = build_program(running->mapping);
  }
  const Phase phase(kernel, "lower");
  prepared.loops = lower_program(mapping, *program, *running, options, true);
  return prepared;
}

namespace {

/// The kernel that another thread compiles; null where it was forgotten in the meantime.
std::shared_ptr<CompiledKernel> wait_for_other(PreparedKernel &prepared) {
  CompiledKernel &kernel = *prepared.kernel;
  {
    const Phase phase(kernel, "wait");
    await_compilation(kernel.key);
  }
  const auto known = cache_find(kernel.key);
  kernel.from_cache = known && take_cached(kernel, *known);
  return kernel.from_cache ? std::move(prepared.kernel) : nullptr;
}

std::shared_ptr<CompiledKernel> compile_loops(PreparedKernel &prepared) {
  CompiledKernel &kernel = *prepared.kernel;
  const Kernel &loops = *prepared.loops;
  const CompileOptions &options = prepared.options;
  const std::string symbol = kernel_symbol(loops.name, kernel.key);
  KernelMetadata metadata;
  metadata.sites = loops.sites;
  metadata.nests = loops.nests;
  metadata.is_full = options.optimize == Optimization::Full;
  CacheEntry entry;
  entry.metadata = encode_metadata(metadata);
  {
    const ForkGuard guard;
    const auto machine = make_target_machine(describe_cpu(options.cpu), options.fast_math);
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module;
    {
      const Phase phase(kernel, "emit");
      EmitOptions emit = emit_options(options);
      emit.symbol = symbol;
      module = emit_llvm(loops, context, *machine, emit);
      if (improves_later(options, loops)) {
        entry.module = encode_module(*module);
      }
    }
    {
      const Phase phase(kernel, "optimise");
      optimise(*module, *machine, options);
    }
    const Phase phase(kernel, "codegen");
    entry.object = compile_to_object(*module, *machine, options.optimize == Optimization::Full);
  }
  {
    const Phase phase(kernel, "store");
    cache_store(kernel.key, entry);
  }
  {
    const Phase phase(kernel, "link");
    auto cached = std::make_shared<CachedKernel>();
    cached->code = std::make_shared<KernelCode>(load_object(entry.object, symbol));
    cached->metadata = entry.metadata;
    take_cached(kernel, *cached);
    cache_remember(kernel.key, std::move(cached));
  }
  if (!entry.module.empty()) {
    improve_later(kernel.key, kernel.code, std::move(entry), symbol, options);
  }
  return std::move(prepared.kernel);
}

} // namespace

std::shared_ptr<CompiledKernel> complete(PreparedKernel prepared) {
  if (prepared.waits) {
    return wait_for_other(prepared);
  }
  if (!prepared.loops) {
    return std::move(prepared.kernel);
  }
  try {
    return compile_loops(prepared);
  } catch (...) {
    prepared.ticket->fail(std::current_exception());
    throw;
  }
}

std::shared_ptr<CompiledKernel> compile(const Mapping &mapping, const CompileOptions &options) {
  std::shared_ptr<CompiledKernel> kernel;
  while (kernel == nullptr) {
    kernel = complete(prepare(mapping, options));
  }
  return kernel;
}

std::string loops_text(const Mapping &mapping, const CompileOptions &options) {
  return print_loop_ir(lower_with(mapping, options, false));
}

std::string llvm_text(const Mapping &mapping, const CompileOptions &options) {
  const auto machine = make_target_machine(describe_cpu(options.cpu), options.fast_math);
  llvm::LLVMContext context;
  return print_llvm(*make_module(lower_with(mapping, options, true), options, context, *machine));
}

std::string assembly_text(const Mapping &mapping, const CompileOptions &options) {
  const auto machine = make_target_machine(describe_cpu(options.cpu), options.fast_math);
  llvm::LLVMContext context;
  const auto module = make_module(lower_with(mapping, options, true), options, context, *machine);
  return compile_to_assembly(*module, *machine, options.optimize == Optimization::Full);
}

std::string ptx_text(const Mapping &mapping, const CompileOptions &options) {
  const Kernel kernel = lower_with(mapping, options, true);
  if (!kernel.is_gpu) {
    return "";
  }
  const auto machine = make_target_machine(describe_cpu(options.cpu), options.fast_math);
  llvm::LLVMContext context;
  EmitOptions emitted = emit_options(options);
  if (emitted.gpu.architecture == 0) { // any that it takes
    emitted.gpu.architecture = std::max(oldest_architecture, least_architecture(kernel));
  }
  return emit_ptx(kernel, context, *machine, emitted);
}

} // namespace tilewright
