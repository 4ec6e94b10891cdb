// What one thread of a kernel's launches does on a GPU: a function for each launch, in a module of
// its own. It calls the functions of runtime/gpu_emulator.h and of device_calls.h, for which a
// device has instructions (device_code.h).
#pragma once

#include "targets/llvm/code_emitter.h"
#include "targets/llvm/device_code.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilewright {

/// What a launch passes to its threads, each in eight bytes.
struct LaunchArguments {
  std::vector<size_t> buffers;         ///< addresses, and strides that are no constants
  std::vector<std::int64_t> variables; ///< of loops around
};

/// A launch whose threads' code is there.
struct Launched {
  const Launch *statement = nullptr;
  std::string symbol;
  std::int64_t shared_bytes = 0;
  std::int64_t arguments = 0;
  LaunchArguments passed;
  std::map<size_t, std::int64_t> shared;   ///< offsets of buffers in shared memory
  std::map<size_t, std::int64_t> position; ///< of buffers' addresses among the arguments
  llvm::GlobalVariable *constant = nullptr;
};

class ThreadEmitter final : public CodeEmitter {
public:
  ThreadEmitter(const Kernel &kernel, llvm::Module &module, const EmitOptions &options,
                MathTarget target)
      : CodeEmitter(kernel, module, options, target, true),
        is_watched_(options.threads != nullptr && options.threads->is_on_host()) {}

  /// The function of one thread of `launch`.
  Launched emit_thread(const Launch &launch, const LaunchArguments &arguments,
                       const std::string &symbol);

private:
  // threads.cpp
  llvm::Function *make_thread(const Launch &launch, const LaunchArguments &arguments);
  void open_thread(llvm::Function *function, const Launch &launch,
                   const LaunchArguments &arguments);
  bool is_passed(size_t buffer, size_t dimension) const;
  void own_statement(const LoopStatement &statement) override;
  Term own_value(const Value &value) override;
  /// Error(Schedule): a GPU has no code for it, nor has the emulator, which is to say so, too.
  Term extern_call(const Extern &value) override;
  void report(const Failure &failure) override;
  void allocate(const Allocate &statement);
  void barrier();
  llvm::Value *gpu_index(std::int64_t axis);
  Term shuffle(const Value &value, std::int64_t mask);

  /// Of what is watched, the chosen side alone: what the other one would read decides nothing, so
  /// nobody has to wait before writing it.
  Term select(const Select &value) override;

  // mma.cpp
  Term mma(const Mma &value);
  Term matrices(const Matrices &value);

  // copies.cpp
  llvm::Value *is_aligned(const Aligned &value);
  void assume_aligned(const Value &condition) override;
  llvm::MaybeAlign known_alignment(size_t buffer, const std::vector<SubscriptSum> &sums) override;
  void copy_async(const CopyAsync &statement);
  void commit_copies();
  void wait_for_copies(std::int64_t groups);

  // guards.cpp
  /// Whether threads of the launch wait for each other, or work together as a warp.
  static bool needs_all_threads(const Launch &launch);
  void note_check(const RuntimeCheck &check, llvm::Value *wrong) override;
  /// Whether the checks of these subscripts held; null where there was none to note.
  llvm::Value *inside_of(const std::vector<ValuePtr> &subscripts);
  /// Of subscripts that failed their check, zero.
  Term load(const Load &value, llvm::Value *mask) override;
  /// Of subscripts that failed their check, nothing.
  void write(const ElementChange &statement) override;
  void write_inside(const ElementChange &statement);
  /// Emits where `condition` holds; what is known there is forgotten after it.
  template <class Emit>
  void only_where(llvm::Value *condition, const Emit &emit) {
    llvm::BasicBlock *then = new_block("within");
    llvm::BasicBlock *after = new_block("on");
    builder_.CreateCondBr(condition, then, after);
    builder_.SetInsertPoint(then);
    const auto known = frame_.known;
    emit();
    frame_.known = known;
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }

  bool update_byte(const AtomicUpdate &statement, const Term &term,
                   llvm::Value *address) override; // atomic.cpp

  const bool is_watched_; ///< each access is told to an emulator
  Launched current_;      ///< the launch whose thread is emitted
  std::int32_t barriers_ = 0;
  std::int32_t exchanges_ = 0; ///< of warps
};

} // namespace tilewright
