// The one place that sees the whole road: mapping -> program -> loop IR -> artifact of a target ->
// loaded kernel, with the kernel cache beside it. compiler.cpp is a readable list of its stations,
// top to bottom. Its words: a schedule is chosen, a program built, loops are made, a target emits
// an artifact, and the kernel is loaded. prepare() goes as far as isl is needed, complete() the
// rest.
#pragma once

#include "compiler/in_flight.h"
#include "loops/instrumentation.h"
#include "loops/loop_ir.h"
#include "mapping/mapping.h"
#include "passes/pass_texts.h"
#include "runtime/abi.h"
#include "runtime/kernel_code.h"
#include "targets/target.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct CompileOptions {
  std::vector<ArrayLayout> layouts; ///< see LoweringOptions
  bool fast_math =
      false; ///< allows reassociation, contraction and approximate functions in all arithmetic
  std::string cpu; ///< a level or model of runtime/cpu.h; empty: this machine's level
  Optimization optimize = Optimization::Automatic;
  /// The mapping is nobody's choice: it gets the tags of planning/default_tags.h.
  bool default_schedule = false;
  /// These, which nobody has scheduled either, get such tags beside what somebody scheduled.
  std::vector<std::string> unscheduled_parts = {};
  /// The loops as declared, of a mapping that says when they run (when_work); null: none do.
  std::shared_ptr<const Mapping> declared;
  /// What makes the code. Kernels for which it has nothing to add are the CPU's.
  TargetSelection target;
  Instrumentation instrumentation;
  /// Told of each pass that the kernel goes through (passes/road.h); in no key.
  PassObserver observer = {};
};

/// A kernel in memory, ready to be called; keeps its code alive.
struct CompiledKernel {
  KernelEntry entry() const { return reinterpret_cast<KernelEntry>(code->address()); }
  /// Whether the code that runs now was optimised in full.
  bool is_full() const { return compiled_full || code->improvement() == Improvement::Done; }

  std::vector<IndexSite> sites;
  std::vector<TimedNest> nests;
  std::string key; ///< cache key, hexadecimal
  /// The functions of C that it calls, at their addresses in this process: no part of `key`, under
  /// which the code lies on disk, but of that under which it lies in memory.
  HostSymbols externs;
  std::string key_in_memory() const;
  bool from_cache = false;
  /// By phase: key, load, analyse, lower, those of the target, store, link.
  Milliseconds milliseconds;
  std::shared_ptr<KernelCode> code;
  bool compiled_full = false;
  TargetSelection target; ///< that made the code
};

/// Compiles, or loads from the cache. The mapping must have been found legal (the caller asks;
/// entries in the cache were legal when they were stored). Throws Error(Internal) when LLVM fails.
std::shared_ptr<CompiledKernel> compile(const Mapping &mapping, const CompileOptions &options);

/// The key under which compile() keeps the kernel, and the text that it is the hash of. Throw
/// Error(Argument) for an unknown CPU.
std::string kernel_key(const Mapping &mapping, const CompileOptions &options);
std::string kernel_key_text(const Mapping &mapping, const CompileOptions &options);

/// compile() in two parts: prepare() uses isl, and so needs its lock (polyhedral/isl_lock.h);
/// complete() does not.
struct PreparedKernel {
  std::shared_ptr<CompiledKernel>
      kernel;                  ///< complete where `loops` is empty and nobody is waited for
  std::optional<Kernel> loops; ///< what is left to compile
  CompileOptions options;
  std::unique_ptr<CompilationTicket> ticket; ///< for `loops`
  bool waits = false;                        ///< another thread compiles this kernel
};
PreparedKernel prepare(const Mapping &mapping, const CompileOptions &options);
/// Null where the kernel that was waited for is no longer there: then both are to be called again.
std::shared_ptr<CompiledKernel> complete(PreparedKernel prepared);

/// The kernel of a function of that name under a key that compile() gave it, in this process or an
/// earlier one; null where the cache has it no more. For kernels of the CPU without externs.
std::shared_ptr<const CompiledKernel> find_kernel(const std::string &name, const std::string &key,
                                                  const CompileOptions &options);

/// Everything but the function and its mapping that decides which code compile() makes for the CPU:
/// versions, processor and options. Throws Error(Argument) for an unknown CPU.
std::string environment_text(const CompileOptions &options);

/// What runs: `mapping`, or what the default schedule makes of it, whose commands are then those
/// of the default schedule.
Mapping mapping_that_runs(const Mapping &mapping, const CompileOptions &options);

/// The loops that run: the part of the road that compiler/export.h goes, too.
Kernel make_loops(const Mapping &mapping, const CompileOptions &options);

/// What the target is asked beside the kernel.
TargetOptions target_options(const CompileOptions &options);

/// The loops that run after each pass, as text.
std::vector<PassText> pass_texts(const Mapping &mapping, const CompileOptions &options);

/// Inspection as text.
std::string loops_text(const Mapping &mapping, const CompileOptions &options);
/// A form of the target's code: "llvm", "assembly"; "ptx" is empty where no loop is over blocks or
/// threads.
std::string code_text(std::string_view form, const Mapping &mapping, const CompileOptions &options);

} // namespace tilewright
