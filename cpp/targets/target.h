// What code is made for: the CPU, a GPU, the GPU emulator, and whatever is registered beside them.
// A target turns a kernel of the loop IR into an artifact, which is a value: object code with the
// entry of runtime/abi.h, or text. Whoever compiles asks a target for its name, its part of the
// cache key, what loops it takes and the artifact, and knows no kind of target. To add one: a class
// in a folder of its own, and a line in registry.cpp where people choose it with target=.
#pragma once

#include "loops/instrumentation.h"
#include "loops/loop_ir.h"
#include "runtime/phases.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class Device;
class Target;

/// The target of somebody who chose none.
const Target &cpu_target();

/// A target and, where it makes code for a device beside the CPU, which one. Compares, and prints
/// as text().
struct TargetSelection {
  const Target *target = &cpu_target(); ///< never null
  std::string device; ///< as the target writes it ("sm_80"); empty: one that takes the kernel

  bool operator==(const TargetSelection &) const = default;
  std::string text() const; ///< "cpu", "cuda:sm_80"
};

/// How much is optimised. Ours is the vectorising, unrolling and tiling, so a short pipeline is
/// enough for code that is scheduled; LLVM's long one pays for code that is not.
enum class Optimization {
  Automatic,  ///< Background where it may pay, else Light
  Light,      ///< the short pipeline
  Full,       ///< the long one, which the first call waits for
  Background, ///< the short one; then the long one in the background, whose code replaces it
};

/// What is asked of a target beside the kernel.
struct TargetOptions {
  std::string device; ///< TargetSelection::device
  std::string cpu;    ///< a level or model of runtime/cpu.h; empty: this machine's level
  bool fast_math = false;
  Optimization optimize = Optimization::Automatic;
  std::string symbol;           ///< of the kernel's entry; empty: kernel_symbol of its name
  bool may_be_improved = false; ///< the artifact is to have what improve() takes
};

/// What loops a target takes.
struct TargetFeatures {
  /// The smallest element, in bytes, that vectors load and store under a mask in one step; 0 where
  /// there are no masks.
  int masked_bytes = 0;
  bool launches = false; ///< loops over blocks and threads are its launches; else they are loops
  bool asynchronous_copies = false; ///< of launches: from global to shared memory
  /// Loops are taken as the schedule says them: vector loops and unrolled ones stay loops.
  bool plain_loops = false;
};

/// What a target makes of a kernel.
struct Artifact {
  std::string object;        ///< a relocatable object file; empty where the target makes text
  std::string text;          ///< source code; empty where the target makes object code
  std::string symbol;        ///< of the kernel's entry
  std::string improvable;    ///< what improve() makes better code of; empty: nothing
  Milliseconds milliseconds; ///< by phase: emit, optimise, codegen
};

class Target {
public:
  Target() = default;
  Target(const Target &) = delete;
  Target &operator=(const Target &) = delete;
  virtual ~Target() = default;

  virtual std::string_view name() const = 0;
  /// The device of a selection that names none.
  virtual std::string default_device() const { return ""; }
  /// The target for a kernel that has loops over blocks and threads, or has not, and is watched in
  /// this way: this one, or the CPU's where this one has nothing to add.
  virtual const Target &for_kernel(bool has_gpu_loops, const Instrumentation &watched) const;
  /// Everything of `options` that decides the code, but fast_math and optimize: two calls with one
  /// text give one artifact. Part of the key under which kernels are kept. Throws Error(Argument)
  /// for a CPU or device that is not known.
  virtual std::string key(const TargetOptions &options) const = 0;
  virtual TargetFeatures features(const TargetOptions &options) const = 0;
  /// Throws Error(Argument) where this process cannot call what is made.
  virtual void require_callable(const TargetOptions &options) const = 0;

  /// The one thing that targets are for. Throws Error(Schedule) where the device lacks what the
  /// kernel needs, and Error(Internal) naming the kernel where the loop IR makes no sense.
  virtual Artifact emit(const Kernel &kernel, const TargetOptions &options) const = 0;
  /// Whether Artifact::improvable is ever there.
  virtual bool can_improve() const { return false; }
  /// The same kernel, optimised in full, from Artifact::improvable. Takes long.
  virtual Artifact improve(const std::string &improvable, const TargetOptions &options) const;

  /// A form of the code for a reader: "llvm", "assembly", "ptx". Empty where the kernel has nothing
  /// of that form. Throws Error(Argument) for one that the target does not have.
  virtual std::string text(std::string_view form, const Kernel &kernel,
                           const TargetOptions &options) const = 0;

  /// Whether kernels run on a device beside the CPU (runtime/device.h): it is one of those that
  /// runs_on() knows.
  virtual bool has_devices() const { return false; }
  /// Where kernels run when arrays do not say; null where there are no devices. Throws
  /// Error(Device) where this machine has none of them.
  virtual Device *first_device() const { return nullptr; }
  virtual bool runs_on(const Device & /*device*/) const { return false; }
  /// The device of a selection for code that runs on this one. Throws Error(Device) where none
  /// does.
  virtual std::string device_code(const Device & /*device*/) const { return default_device(); }
};

/// In the order in which they are named to people.
const std::vector<const Target *> &all_targets();

/// By name, with its default device. Throws Error(Argument), which names those that there are.
TargetSelection select_target(const std::string &name);

/// The symbol of a kernel's entry: a prefix keeps a kernel called "exp" apart from the library's,
/// and the first digits of its key, where they are given, kernels of one name in a profile.
std::string kernel_symbol(const std::string &kernel_name, const std::string &key = "");

} // namespace tilewright
