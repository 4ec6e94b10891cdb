// The one place that sees the whole road: program -> loop IR -> LLVM IR -> object code -> loaded
// kernel, with the kernel cache beside it. compiler.cpp is a readable list of passes, top to
// bottom.
#pragma once

#include "lowering/loop_ir.h"
#include "mapping/mapping.h"
#include "runtime/abi.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct CompileOptions {
  std::vector<int> unit_dimensions; ///< see LoweringOptions
  bool fast_math =
      false; ///< allows reassociation, contraction and approximate functions in all arithmetic
  std::string cpu; ///< a level or model of runtime/cpu.h; empty: this machine's level
};

/// A kernel in memory, ready to be called; keeps its code alive.
struct CompiledKernel {
  KernelEntry entry = nullptr;
  std::vector<IndexSite> sites;
  std::string key; ///< cache key, hexadecimal
  bool from_cache = false;
  std::map<std::string, double>
      milliseconds; ///< by phase: key, load, analyse, lower, emit, optimise, codegen, store, link
  std::shared_ptr<void> code; ///< owner of the machine code
};

/// Compiles, or loads from the cache. The mapping must have been found legal (the caller asks;
/// entries in the cache were legal when they were stored). Throws Error(Internal) when LLVM fails.
std::shared_ptr<CompiledKernel> compile(const Mapping &mapping, const CompileOptions &options);

/// compile() in two parts. The first uses isl, and so runs under the caller's lock (Python's GIL);
/// the second does not.
struct PreparedKernel {
  std::shared_ptr<CompiledKernel>
      kernel;                  ///< complete when `loops` is empty: it came from the cache
  std::optional<Kernel> loops; ///< what is left to compile
  CompileOptions options;
};
PreparedKernel prepare(const Mapping &mapping, const CompileOptions &options);
std::shared_ptr<CompiledKernel> finish(PreparedKernel prepared);

/// Inspection as text.
std::string loops_text(const Mapping &mapping, const CompileOptions &options);
std::string llvm_text(const Mapping &mapping, const CompileOptions &options);
std::string assembly_text(const Mapping &mapping, const CompileOptions &options);

} // namespace tilewright
