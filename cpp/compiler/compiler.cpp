// The whole road, top to bottom.
//
//   prepare   key      canonical text of function, mapping, options, versions, target -> BLAKE3
//             cache    in memory, then on disk: a hit is loaded and done, without isl and a target
//             analyse  choose the schedule, build the program: statements, time space, buffers
//                                                                             mapping/program.h
//             lower    isl's loops -> loop IR -> loop passes                  lowering/lower.h
//   complete  emit     loop IR -> artifact                                    targets/target.h
//             store    the entry on disk                                      runtime/cache.h
//             link     object code -> callable memory                         runtime/jit.h
//   later     improve  better code in the background, where it may pay        compiler/improve.h
#include "compiler/compiler.h"

#include "algorithm/expression_depth.h"
#include "algorithm/extern_function.h"
#include "compiler/canonical_text.h"
#include "compiler/improve.h"
#include "compiler/kernel_metadata.h"
#include "loops/estimate_work.h"
#include "loops/linear.h"
#include "loops/versions.h"
#include "lowering/lower.h"
#include "lowering/translate.h"
#include "mapping/program.h"
#include "planning/default_tags.h"
#include "runtime/cache.h"
#include "runtime/environment.h"
#include "runtime/jit.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace tilewright {

namespace {

/// isl's steps for one lowering: seconds where numbers and tableaus are small, minutes where they
/// are not.
constexpr std::uint64_t lowering_limit = 50'000'000;
/// The same for what nobody asked for: a default schedule that needs more is left out.
constexpr std::uint64_t default_limit = 20'000'000;
/// So is one with more statements of loops than this for one of the program: where bounds have many
/// cases, tiles are written out in each of them.
constexpr size_t default_most_loops = 100;

/// With the target that makes the code for kernels that have loops of a GPU, or have not.
CompileOptions resolved(const CompileOptions &options, bool has_gpu_loops) {
  CompileOptions running = options;
  const Target &target = options.target.target->for_kernel(has_gpu_loops, options.instrumentation);
  if (&target != options.target.target) {
    running.target = {&target, target.default_device()};
  }
  return running;
}

CompileOptions resolved(const CompileOptions &options, const Mapping &mapping) {
  return resolved(options, has_gpu_loops(mapping));
}

TargetFeatures features_of(const CompileOptions &options) {
  return options.target.target->features(target_options(options));
}

/// What runs: the mapping, or what the default schedule makes of it.
Mapping choose_schedule(const Mapping &mapping, const CompileOptions &options) {
  require_stack(mapping.function());
  if (options.default_schedule || !options.unscheduled_parts.empty()) {
    const OperationLimit limit(default_limit);
    const bool wide = features_of(options).masked_bytes == 1;
    try {
      return options.default_schedule
                 ? with_default_tags(mapping, wide, true)
                 : with_tags_of_parts(mapping, options.unscheduled_parts, wide);
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Limit) {
        throw;
      }
    }
  }
  return mapping;
}

/// The loops as declared, which run where there is little to do; null where none do.
const Mapping *declared_loops(const Mapping &given, const Mapping &running,
                              const CompileOptions &options) {
  if (running.state().work.declared == 0) {
    return nullptr;
  }
  return options.default_schedule ? &given : options.declared.get();
}

/// Whether parameters with which there is little to do in `declared` are given.
ValuePtr is_little_work(const Kernel &declared, const WorkLimits &limits) {
  const LoopStatement &body = *declared.body;
  const ValuePtr work = work_within(body, limits.around);
  ValuePtr is_little = binary_value(Op::Lt, work, integer(limits.declared));
  if (limits.around > 0 && limits.threads > 0) {
    // Many small ones together may be worth threads.
    is_little =
        both(is_little, binary_value(Op::Lt, estimated_work(body), integer(limits.threads)));
  }
  return is_little;
}

/// The loops of a mapping for each case of the parameters, in one kernel.
Kernel lower_versions(const Mapping &mapping, const LoweringOptions &lowering) {
  std::vector<Version> cases;
  if (!mapping.state().variants.empty()) {
    cases = versions(mapping);
  }
  if (cases.size() < 2 || lowering.instrumentation.bounds || lowering.instrumentation.values) {
    const bool has_one = cases.size() == 1;
    return lower(build_program(has_one ? cases.front().mapping : mapping), lowering);
  }
  Kernel kernel = lower(build_program(cases.back().mapping), lowering);
  LoweringOptions unobserved = lowering; // the passes of `kernel` have been told
  unobserved.observer = {};
  for (size_t v = cases.size() - 1; v-- > 0;) { // the first that holds is asked first
    const Version &version = cases[v];
    const isl::set asked = checked(version.condition->gist_params(mapping.function().context),
                                   "the condition of a version");
    add_version(kernel, lower(build_program(version.mapping), unobserved),
                holds(asked, kernel.parameters), SameMapping::Yes);
  }
  return kernel;
}

/// The same; nothing for a default schedule whose loops take too long to find.
std::optional<Kernel> lower_scheduled(const Mapping &running, const CompileOptions &options,
                                      const LoweringOptions &lowering) {
  if (!options.default_schedule) {
    return lower_versions(running, lowering);
  }
  try {
    const OperationLimit limit(default_limit);
    LoweringOptions limited = lowering;
    limited.most_loops = default_most_loops;
    return lower_versions(running, limited);
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return std::nullopt;
  }
}

/// What runs for `given`, of which `running` was made. `vectorize`: false for what a schedule says.
Kernel lower_mapping(const Mapping &given, const Mapping &running, const CompileOptions &options,
                     bool vectorize) {
  const TargetFeatures features = features_of(options);
  LoweringOptions lowering;
  lowering.layouts = options.layouts;
  lowering.vectors.masked_bytes = features.masked_bytes;
  lowering.vectorize = vectorize;
  lowering.for_source = features.plain_loops;
  lowering.instrumentation = options.instrumentation;
  lowering.observer = options.observer;
  lowering.dump_to = environment("TILEWRIGHT_DUMP_PASSES").value_or("");
  lowering.gpu = features.launches;
  lowering.asynchronous_copies = features.asynchronous_copies;
  std::optional<Kernel> kernel = lower_scheduled(running, options, lowering);
  if (!kernel) {
    return lower(build_program(given), lowering);
  }
  const Mapping *declared = declared_loops(given, running, options);
  const bool is_watched = options.instrumentation.bounds || options.instrumentation.values;
  if (declared != nullptr && vectorize && !is_watched) {
    lowering.observer = {};
    const Kernel plain = lower(build_program(*declared), lowering);
    add_version(*kernel, plain, is_little_work(plain, running.state().work), SameMapping::No);
  }
  kernel->least_work_for_threads = running.state().work.threads;
  return std::move(*kernel);
}

/// Of resolved options. `vectorize`: false for what a schedule says.
Kernel make_loops(const Mapping &mapping, const CompileOptions &options, bool vectorize) {
  const OperationLimit limit(lowering_limit);
  return lower_mapping(mapping, choose_schedule(mapping, options), options, vectorize);
}

bool improves_later(const CompileOptions &options, const Kernel &loops) {
  return options.target.target->can_improve() &&
         (options.optimize == Optimization::Background ||
          (options.optimize == Optimization::Automatic && may_improve(loops)));
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
  if (const auto known = cache_find(kernel.key_in_memory())) {
    return take_cached(kernel, *known);
  }
  auto entry = cache_load(kernel.key);
  if (!entry) {
    return false;
  }
  try {
    auto cached = std::make_shared<CachedKernel>();
    cached->code = std::make_shared<KernelCode>(load_object(entry->object, symbol, kernel.externs));
    cached->metadata = entry->metadata;
    if (take_cached(kernel, *cached)) {
      cache_remember(kernel.key_in_memory(), std::move(cached));
      if (!entry->module.empty()) {
        // Stored by a process that ended before the better code was there.
        improve_later(kernel, std::move(*entry), symbol, options);
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

std::string CompiledKernel::key_in_memory() const {
  std::string text = key;
  for (const auto &[name, address] : externs) {
    text += fmt::format(" {}@{}", name, address);
  }
  return text;
}

Kernel make_loops(const Mapping &mapping, const CompileOptions &options) {
  const CompileOptions running = resolved(options, mapping);
  return make_loops(mapping, running, !features_of(running).plain_loops);
}

TargetOptions target_options(const CompileOptions &options) {
  TargetOptions asked;
  asked.device = options.target.device;
  asked.cpu = options.cpu;
  asked.fast_math = options.fast_math;
  asked.optimize = options.optimize;
  return asked;
}

Mapping mapping_that_runs(const Mapping &mapping, const CompileOptions &options) {
  return choose_schedule(mapping, resolved(options, mapping));
}

std::string kernel_key_text(const Mapping &mapping, const CompileOptions &options) {
  const OperationLimit limit(lowering_limit);
  return canonical_text(mapping, resolved(options, mapping));
}

std::string kernel_key(const Mapping &mapping, const CompileOptions &options) {
  return cache_key(kernel_key_text(mapping, options));
}

std::shared_ptr<const CompiledKernel> find_kernel(const std::string &name, const std::string &key,
                                                  const CompileOptions &options) {
  const CompileOptions running = resolved(options, false);
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->target = running.target;
  kernel->key = key;
  const Phase phase(kernel->milliseconds, "load");
  kernel->from_cache = find_cached(*kernel, kernel_symbol(name, key), running);
  return kernel->from_cache ? kernel : nullptr;
}

std::string environment_text(const CompileOptions &options) {
  return canonical_text(resolved(options, false));
}

PreparedKernel prepare(const Mapping &mapping, const CompileOptions &given) {
  const OperationLimit limit(lowering_limit);
  PreparedKernel prepared;
  prepared.options = resolved(given, mapping);
  const CompileOptions &options = prepared.options;
  prepared.kernel = std::make_shared<CompiledKernel>();
  CompiledKernel &kernel = *prepared.kernel;
  kernel.target = options.target;
  {
    const Phase phase(kernel.milliseconds, "key");
    options.target.target->require_callable(target_options(options));
    kernel.key = cache_key(canonical_text(mapping, options));
    kernel.externs = extern_symbols(mapping.function());
  }
  const std::string symbol = kernel_symbol(mapping.function().name, kernel.key);
  {
    const Phase phase(kernel.milliseconds, "load");
    kernel.from_cache = find_cached(kernel, symbol, options);
  }
  if (kernel.from_cache) {
    return prepared;
  }
  prepared.ticket = CompilationTicket::take(kernel.key_in_memory());
  if (prepared.ticket == nullptr) {
    prepared.waits = true;
    return prepared;
  }
  if (const auto known = cache_find(kernel.key_in_memory()); known && take_cached(kernel, *known)) {
    kernel.from_cache = true; // another thread was done just now
    prepared.ticket.reset();
    return prepared;
  }
  std::optional<Mapping> running;
  {
    const Phase phase(kernel.milliseconds, "analyse");
    running = choose_schedule(mapping, options);
  }
  const Phase phase(kernel.milliseconds, "lower");
  prepared.loops = lower_mapping(mapping, *running, options, true);
  prepared.options.declared.reset();
  return prepared;
}

namespace {

/// The kernel that another thread compiles; null where it was forgotten in the meantime.
std::shared_ptr<CompiledKernel> load_from_other(PreparedKernel &prepared) {
  CompiledKernel &kernel = *prepared.kernel;
  {
    const Phase phase(kernel.milliseconds, "wait");
    await_compilation(kernel.key_in_memory());
  }
  const auto known = cache_find(kernel.key_in_memory());
  kernel.from_cache = known && take_cached(kernel, *known);
  return kernel.from_cache ? std::move(prepared.kernel) : nullptr;
}

std::shared_ptr<CompiledKernel> emit_and_load(PreparedKernel &prepared) {
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
  TargetOptions asked = target_options(options);
  asked.symbol = symbol;
  asked.may_be_improved = improves_later(options, loops);
  Artifact artifact = options.target.target->emit(loops, asked);
  kernel.milliseconds.merge(artifact.milliseconds);
  entry.object = std::move(artifact.object);
  entry.module = std::move(artifact.improvable);
  {
    const Phase phase(kernel.milliseconds, "store");
    cache_store(kernel.key, entry);
  }
  {
    const Phase phase(kernel.milliseconds, "link");
    auto cached = std::make_shared<CachedKernel>();
    cached->code = std::make_shared<KernelCode>(load_object(entry.object, symbol, kernel.externs));
    cached->metadata = entry.metadata;
    take_cached(kernel, *cached);
    cache_remember(kernel.key_in_memory(), std::move(cached));
  }
  if (!entry.module.empty()) {
    improve_later(kernel, std::move(entry), symbol, options);
  }
  return std::move(prepared.kernel);
}

} // namespace

std::shared_ptr<CompiledKernel> complete(PreparedKernel prepared) {
  if (prepared.waits) {
    return load_from_other(prepared);
  }
  if (!prepared.loops) {
    return std::move(prepared.kernel);
  }
  try {
    return emit_and_load(prepared);
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

std::vector<PassText> pass_texts(const Mapping &mapping, const CompileOptions &options) {
  const PassTexts texts;
  CompileOptions observed = options;
  observed.observer = texts.observer();
  make_loops(mapping, observed);
  return texts.texts();
}

namespace {

/// When other loops run than those that are printed, or on one thread.
std::string work_text(const WorkLimits &limits) {
  std::string text;
  if (limits.declared > 0) {
    const std::string where = limits.around == 0
                                  ? ""
                                  : fmt::format(" in one iteration of {} outer loop{}",
                                                limits.around, limits.around == 1 ? "" : "s");
    text += fmt::format("# work{} < {}: loops as declared\n", where, limits.declared);
  }
  if (limits.threads > 0) {
    text += fmt::format("# parallel loops of work < {}: one thread\n", limits.threads);
  }
  return text;
}

} // namespace

std::string loops_text(const Mapping &mapping, const CompileOptions &options) {
  const OperationLimit limit(lowering_limit);
  const CompileOptions resolving = resolved(options, mapping);
  const Mapping running = choose_schedule(mapping, resolving);
  return work_text(running.state().work) +
         print_loop_ir(lower_mapping(mapping, running, resolving, false));
}

std::string code_text(std::string_view form, const Mapping &mapping,
                      const CompileOptions &options) {
  return options.target.target->text(form, make_loops(mapping, options), target_options(options));
}

} // namespace tilewright
