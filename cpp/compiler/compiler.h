// The one place that sees the whole road: program -> loop IR -> LLVM IR -> object code -> loaded
// kernel, with the kernel cache beside it. compiler.cpp is a readable list of passes, top to
// bottom.
#pragma once

#include "compiler/in_flight.h"
#include "loops/instrumentation.h"
#include "loops/loop_ir.h"
#include "mapping/mapping.h"
#include "runtime/abi.h"
#include "runtime/kernel_code.h"
#include "targets/llvm/emitter.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// How much LLVM optimises. Ours is the vectorising, unrolling and tiling, so a short pipeline is
/// enough for code that is scheduled; LLVM's long one pays for code that is not.
enum class Optimization {
  Automatic,  ///< Background where it may pay, else Light
  Light,      ///< the short pipeline
  Full,       ///< the long one, which the first call waits for
  Background, ///< the short one; then the long one in the background, whose code replaces it
};

struct CompileOptions {
  std::vector<ArrayLayout> layouts; ///< see LoweringOptions
  bool fast_math =
      false; ///< allows reassociation, contraction and approximate functions in all arithmetic
  std::string cpu; ///< a level or model of runtime/cpu.h; empty: this machine's level
  Optimization optimize = Optimization::Automatic;
  /// The mapping is nobody's choice: it gets the tags of planning/default_tags.h, and its parallel
  /// loops run on threads only where that is worth while.
  bool default_schedule = false;
  /// Where loops over blocks and threads run, if the mapping has any; None: on the CPU, in order.
  GpuTarget gpu;
  Instrumentation instrumentation;
};

/// A kernel in memory, ready to be called; keeps its code alive.
struct CompiledKernel {
  KernelEntry entry() const { return reinterpret_cast<KernelEntry>(code->address()); }
  /// Whether the code that runs now was optimised in full.
  bool is_full() const { return compiled_full || code->improvement() == Improvement::Done; }

  std::vector<IndexSite> sites;
  std::vector<TimedNest> nests;
  std::string key; ///< cache key, hexadecimal
  bool from_cache = false;
  std::map<std::string, double>
      milliseconds; ///< by phase: key, load, analyse, lower, emit, optimise, codegen, store, link
  std::shared_ptr<KernelCode> code;
  bool compiled_full = false;
  GpuTarget gpu; ///< Kind::None: it is called without a device
};

/// Compiles, or loads from the cache. The mapping must have been found legal (the caller asks;
/// entries in the cache were legal when they were stored). Throws Error(Internal) when LLVM fails.
std::shared_ptr<CompiledKernel> compile(const Mapping &mapping, const CompileOptions &options);

/// The key under which compile() keeps the kernel, and the text that it is the hash of. Throw
/// Error(Argument) for an unknown CPU.
std::string kernel_key(const Mapping &mapping, const CompileOptions &options);
std::string kernel_key_text(const Mapping &mapping, const CompileOptions &options);

/// compile() in two parts. The first uses isl, and so needs its lock (polyhedral/isl_lock.h); the
/// second does not.
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

/// What runs: `mapping`, or what the default schedule makes of it, whose commands are then those
/// of the default schedule.
Mapping mapping_that_runs(const Mapping &mapping, const CompileOptions &options);

/// The loops that run, and the module of `kernel`, made by `emit`, after optimisation: the parts of
/// the road that compiler/export.h goes, too.
Kernel make_loops(const Mapping &mapping, const CompileOptions &options);
EmitOptions emit_options(const CompileOptions &options);
void optimise(llvm::Module &module, llvm::TargetMachine &machine, const CompileOptions &options);

/// Inspection as text.
std::string loops_text(const Mapping &mapping, const CompileOptions &options);
std::string llvm_text(const Mapping &mapping, const CompileOptions &options);
std::string assembly_text(const Mapping &mapping, const CompileOptions &options);
/// The PTX of the kernels; empty where no loop is over blocks or threads.
std::string ptx_text(const Mapping &mapping, const CompileOptions &options);

} // namespace tilewright
