// Kernels for programs without this library (docs/export.md): one object file with a C function
// around the kernel, and the small runtime that it calls, which was compiled from C when the
// extension was built. Whoever has a linker makes a shared object of the two; a static library
// needs none.
#pragma once

#include "compiler/compiler.h"
#include "targets/c_source/c_source.h"
#include "targets/llvm/c_function.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

struct ExportedKernel {
  std::string object; ///< the bytes of a relocatable object file
  std::string cpu;    ///< what it was compiled for: CpuDescription::text
};

/// `interface` needs symbol, arrays and strides; the rest is found here. Code for a processor that
/// this machine is not is allowed. Throws Error(Argument) for an unknown CPU.
ExportedKernel export_kernel(const Mapping &mapping, CompileOptions options, CFunction interface);

/// A kernel as C source (targets/c_source/c_source.h), and the text of each subscript that it
/// checks.
struct ExportedSource {
  CSourceText source;
  std::vector<std::string> subscripts; ///< by number: "x[index[i]]"
};

/// `function` needs all but context and sizes, which are found here. Loops over the blocks and
/// threads of a GPU are CUDA's, whatever target with devices the function has.
ExportedSource export_source(const Mapping &mapping, CompileOptions options,
                             CSourceFunction function);

/// The runtime of exported kernels, as the bytes of an object file.
std::string_view exported_runtime();

/// A static library of object files: (name, bytes).
std::string static_library(const std::vector<std::pair<std::string, std::string>> &members);

} // namespace tilewright
