// The CPU by LLVM: loop IR -> LLVM IR -> passes -> object code with the kernel's entry. Targets
// with launches have their host code from here, too: they say what becomes of the threads.
#pragma once

#include "targets/llvm/device_code.h"
#include "targets/target.h"

namespace tilewright {

class LlvmTarget : public Target {
public:
  std::string_view name() const override { return "cpu"; }
  std::string key(const TargetOptions &options) const override;
  TargetFeatures features(const TargetOptions &options) const override;
  void require_callable(const TargetOptions &options) const override;
  Artifact emit(const Kernel &kernel, const TargetOptions &options) const override;
  bool can_improve() const override { return true; }
  Artifact improve(const std::string &improvable, const TargetOptions &options) const override;
  std::string text(std::string_view form, const Kernel &kernel,
                   const TargetOptions &options) const override;

protected:
  /// Null: this target has no launches.
  virtual const DeviceCode *device_code_maker() const { return nullptr; }
};

/// What targets with launches have in common: kernels without launches, and what is watched, are
/// the CPU's.
class LaunchTarget : public LlvmTarget {
public:
  const Target &for_kernel(bool has_gpu_loops, const Instrumentation &watched) const override;
  std::string key(const TargetOptions &options) const override;
  bool can_improve() const override { return false; }
  bool has_devices() const override { return true; }

protected:
  const DeviceCode *device_code_maker() const override = 0;
};

} // namespace tilewright
