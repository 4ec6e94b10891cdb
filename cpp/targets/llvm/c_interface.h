// The code of a kernel's C function (c_function.h): it checks what it is given, lays it out as
// runtime/abi.h has it, and calls the kernel.
#pragma once

#include "targets/llvm/c_function.h"
#include "targets/llvm/code_emitter.h"

#include <vector>

namespace tilewright {

class CInterface final : public CodeEmitter {
public:
  CInterface(const Kernel &kernel, llvm::Module &module, const EmitOptions &options,
             MathTarget target)
      : CodeEmitter(kernel, module, options, target, false) {}

  /// The function around the kernel, whose code is in the module, and those beside it.
  void emit(const CFunction &interface);

private:
  struct Arguments;
  /// Returns `status` from the function being filled where `condition` holds.
  void refuse_if(llvm::Value *condition, std::int32_t status);
  void open_arguments(const CFunction &interface, Arguments &given);
  void check_arguments(const CFunction &interface, const Arguments &given);
  void check_overlaps(const CFunction &interface, const Arguments &given);
  void emit_message(const CFunction &interface);
  void emit_threads(const CFunction &interface);
  void report(const Failure &failure) override;
};

} // namespace tilewright
