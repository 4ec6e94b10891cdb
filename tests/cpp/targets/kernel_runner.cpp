#include "targets/kernel_runner.h"

#include "targets/cross.h"
#include "targets/llvm/emitter.h"
#include "targets/llvm/pipelines.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace tilewright {

RunnableKernel compile_kernel(const Kernel &kernel, bool fast_math, const std::string &cpu) {
  const auto machine = make_target_machine(describe_cpu(cpu), fast_math);
  llvm::LLVMContext context;
  EmitOptions options;
  options.fast_math = fast_math;
  const auto module = emit_llvm(kernel, context, *machine, options);
  optimise_light(*module, *machine);
  for (const char *features : {"+neon", "+sve"}) {
    aarch64_assembly(kernel, features, fast_math); // throws where no code can be made
  }
  RunnableKernel result;
  result.llvm = print_llvm(*module);
  result.code =
      load_object(compile_to_object(*module, *machine, false), kernel_symbol(kernel.name));
  return result;
}

std::int32_t run_kernel(const RunnableKernel &kernel, const std::vector<std::int64_t> &parameters,
                        std::vector<TestArray *> arrays, CallRecord *record) {
  std::vector<void *> data;
  std::vector<std::int64_t> integers = parameters;
  for (TestArray *array : arrays) {
    data.push_back(array->bytes.data() + array->base);
    integers.insert(integers.end(), array->strides.begin(), array->strides.end());
  }
  CallRecord unused;
  return kernel.entry()(data.data(), integers.data(), record == nullptr ? &unused : record);
}

KernelBuffer argument(const std::string &name, ScalarType type, int rank, bool is_written,
                      int unit) {
  KernelBuffer buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.is_written = is_written;
  buffer.extents.assign(static_cast<size_t>(rank), integer(0));
  buffer.layout.unit = unit == -2 ? rank - 1 : unit;
  return buffer;
}

KernelBuffer temporary(const std::string &name, ScalarType type, std::vector<ValuePtr> extents) {
  KernelBuffer buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.is_argument = false;
  buffer.is_written = true;
  buffer.layout.unit = static_cast<int>(extents.size()) - 1;
  buffer.extents = std::move(extents);
  return buffer;
}

} // namespace tilewright
