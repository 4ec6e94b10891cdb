// NVIDIA's architectures as code is made for them, and LLVM's machines for them.
#pragma once

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace tilewright {

struct GpuArchitecture {
  int number = 0;        ///< 80 for sm_80: the least compute capability that runs the code
  bool is_exact = false; ///< sm_90a: runs on no later one either
};

/// "sm_80", "sm_90a"
std::string architecture_name(const GpuArchitecture &architecture);
/// Throws Error(Argument) for what is not known here.
GpuArchitecture parse_architecture(const std::string &name);

/// The newest architecture known here whose code a device of this one (75 for 7.5) runs; 0 where
/// there is none.
int supported_architecture(int architecture);

/// `has_tiles`: products of tensor cores are in the code (they need PTX 6.5).
std::unique_ptr<llvm::TargetMachine> make_ptx_machine(const GpuArchitecture &architecture,
                                                      bool fast_math, bool has_tiles);

} // namespace tilewright
