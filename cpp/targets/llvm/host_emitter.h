// The host's code of a kernel: its entry (runtime/abi.h), memory for temporaries, a function for
// each parallel loop, and launches, which it gives its threads' arguments and what the device
// needs.
#pragma once

#include "targets/llvm/code_emitter.h"
#include "targets/llvm/device_program.h"
#include "targets/llvm/thread_emitter.h"

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace tilewright {

class HostEmitter final : public CodeEmitter {
public:
  HostEmitter(const Kernel &kernel, llvm::Module &module, const EmitOptions &options,
              MathTarget target)
      : CodeEmitter(kernel, module, options, target, false) {}

  /// Before emit(), where the kernel has launches: emits what their threads do.
  void set_threads(ThreadEmitter &threads) { threads_ = &threads; }
  void emit();
  /// After emit(): gives the launches' constants what the host finds there: `text`, which the
  /// device's driver takes, or (null) the functions of the threads.
  void emit_device_kernels(const std::string *text);
  /// After emit(): in the order in which they were emitted.
  std::vector<DeviceLaunch> launches() const;

private:
  // host.cpp
  void open_frame(llvm::Function *function, llvm::Value *data, llvm::Value *integers,
                  llvm::Value *record);
  void open_arguments();
  /// The end of a function: frees what an early exit left, and returns the status.
  void close_frame();
  void own_statement(const LoopStatement &statement) override;
  void report(const Failure &failure) override;
  void timed(const Timed &statement);
  llvm::AllocaInst *stack_memory(const KernelBuffer &buffer, std::uint64_t bytes);
  /// Memory of a scoped buffer around the statements inside.
  void allocate(const Allocate &statement);
  void allocate_on_heap(const Allocate &statement);
  llvm::Value *temporary_bytes(size_t buffer);
  llvm::CallInst *allocate_memory(llvm::Value *bytes, const std::string &name);
  void free_memory(llvm::Value *memory);
  /// Ends the function where there is no memory.
  void require_memory(llvm::Value *missing);

  // captures.cpp
  /// What a parallel body, or a launch, takes from around it.
  struct Captures {
    std::vector<std::int64_t> variables;
    std::vector<std::int64_t> locals;
    std::unordered_set<std::int64_t> assigned;
  };
  Captures find_captures(const LoopStatement &loop) const;

  // parallel.cpp
  struct Iterations;
  struct Closure;
  void parallel_loop(const For &statement);
  Iterations iterations_of(const For &statement);
  Closure make_closure(const For &statement, const Iterations &iterations);
  llvm::Value *call_on_threads(const For &statement, const Iterations &iterations,
                               const Closure &closure, llvm::Function *body);
  void parallel_body(const For &statement, const Iterations &iterations, const Closure &closure,
                     llvm::Function *body, const Frame &outer);
  void joined_range(const std::vector<const For *> &loops, const std::vector<llvm::Value *> &bounds,
                    llvm::Value *begin, llvm::Value *end);

  // launches.cpp
  void launch(const Launch &statement);
  LaunchArguments arguments_of(const Launch &launch) const;
  std::vector<llvm::Value *> passed_values(const LaunchArguments &arguments);
  /// Values in memory of the function's, one after the other.
  llvm::AllocaInst *in_memory(const std::vector<llvm::Value *> &values, const std::string &name);
  llvm::Function *emulated_entry(const Launched &launched);
  llvm::GlobalVariable *text_constant(const std::string &text, const std::string &name);

  ThreadEmitter *threads_ = nullptr; ///< the emitter of the launches' threads
  std::vector<Launched> launched_;
  std::vector<ValuePtr> estimates_; ///< values that are no part of the kernel: `known` names them
};

/// The buffers that a loop or launch reads or writes.
std::unordered_set<std::int64_t> buffers_in(const LoopStatement &loop);

} // namespace tilewright
