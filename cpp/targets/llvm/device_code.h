// What becomes of the threads of a kernel's launches. The emitter writes them once, as a module of
// their own for an NVPTX machine, with calls of tilewright_gpu_index, _barrier and _shared
// (runtime/gpu_emulator.h); a target that has launches says here what those turn into.
#pragma once

#include "loops/loop_ir.h"

#include <memory>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

class DeviceCode {
public:
  DeviceCode() = default;
  DeviceCode(const DeviceCode &) = delete;
  DeviceCode &operator=(const DeviceCode &) = delete;
  virtual ~DeviceCode() = default;

  /// The machine whose layout the threads' module has. Throws Error(Argument) for a device that is
  /// not known, and Error(Schedule) for one that lacks what the kernel needs.
  virtual std::unique_ptr<llvm::TargetMachine>
  machine(const Kernel &kernel, const std::string &device, bool fast_math) const = 0;
  /// Whether the threads become functions of the host's module; else they become text that the
  /// device's driver takes.
  virtual bool is_on_host() const = 0;
  /// Makes that of the verified module `threads`, whose machine is `machine`: the text, or nothing
  /// where `host`, whose machine is `host_machine`, has the functions then.
  virtual std::string finish(std::unique_ptr<llvm::Module> threads, llvm::TargetMachine &machine,
                             llvm::Module &host, llvm::TargetMachine &host_machine) const = 0;
};

/// Of the metadata that accesses of threads carry: the buffer's number.
inline constexpr const char *buffer_metadata = "tilewright.buffer";

} // namespace tilewright
