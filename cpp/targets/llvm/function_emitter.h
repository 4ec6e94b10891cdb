// The emitter's inside: one object per kernel, which holds what is known at the point of emission
// (the function being filled, variables, locals, buffers) and turns statements and values into
// instructions through Semantics.
#pragma once

#include "loops/estimate_work.h"
#include "loops/loop_ir.h"
#include "targets/llvm/emitter.h"
#include "targets/llvm/index.h"
#include "targets/llvm/semantics.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tilewright {

class KernelEmitter {
public:
  KernelEmitter(const Kernel &kernel, llvm::Module &module, const EmitOptions &options,
                MathTarget target);

  void emit();
  /// Before emit(), where the kernel has launches: emits what their threads do.
  void set_threads(KernelEmitter &threads) { threads_ = &threads; }
  /// After emit(): gives the launches' constants what the host finds there.
  void emit_device_kernels(const GpuTarget &target, const std::string &ptx);
  /// After emit(): a function for C around the kernel.
  void emit_c_function(const CFunction &interface);

private:
  /// A loop variable or Let in the function being emitted.
  struct VariableSlot {
    llvm::Value *value = nullptr;
    int depth = 0;         ///< loops around its definition: orders the parts of an address
    bool is_index = false; ///< of index arithmetic only
    int loop = -1;         ///< whose counter it is, in Frame::loops
  };
  /// A serial loop being emitted, and what it counts up beside its counter.
  struct OpenLoop {
    /// counter * step, kept by an addition in each iteration.
    struct Multiple {
      llvm::Value *stride;
      std::int64_t factor;
      llvm::PHINode *value;
      llvm::Value *step; ///< stride * factor
    };
    llvm::Value *lower = nullptr;
    llvm::BasicBlock *before = nullptr;
    llvm::BasicBlock *body = nullptr;
    std::vector<Multiple> multiples;
  };
  struct LocalSlot {
    ValueType type;
    llvm::Value *re = nullptr; ///< addresses
    llvm::Value *im = nullptr;
  };
  struct BufferSlot {
    llvm::Value *base = nullptr;
    std::vector<llvm::Value *> strides; ///< in bytes
    llvm::MDNode *scope = nullptr;
    llvm::MDNode *others = nullptr;
    llvm::Align alignment;
  };
  /// Everything that belongs to one LLVM function.
  struct Frame {
    llvm::Function *function = nullptr;
    llvm::BasicBlock *exit = nullptr;
    llvm::AllocaInst *status = nullptr;
    llvm::Value *data = nullptr;
    llvm::Value *integers = nullptr;
    llvm::Value *record = nullptr;
    /// What is left to do before the thread looks up; null in a function that never works for long.
    llvm::AllocaInst *budget = nullptr;
    std::vector<llvm::Value *> parameters;
    std::vector<BufferSlot> buffers;
    std::unordered_map<std::int64_t, VariableSlot> variables;
    std::unordered_map<std::int64_t, LocalSlot> locals;
    std::vector<OpenLoop> loops;
    std::unordered_map<const Value *, Term> known; ///< values emitted in this statement
    std::unordered_map<const Value *, int> depths; ///< the same for depth_of
    std::vector<llvm::AllocaInst *> scoped;        ///< slots of heap memory that the exit frees
    /// Of the loops around: variable, buffer, iterations ahead.
    struct Ahead {
      std::int64_t variable;
      std::int64_t buffer;
      std::int64_t distance;
    };
    std::vector<Ahead> prefetches;
    /// What has been asked for ahead: places that differ by constants, and those constants in
    /// bytes.
    std::map<std::string, std::vector<std::int64_t>> asked;
    /// On a GPU, where threads go on after failures: subscripts, and whether their last checks
    /// held.
    struct Check {
      ValuePtr value;
      llvm::AllocaInst *inside;
    };
    std::vector<Check> checks;
    llvm::AllocaInst *failed = nullptr; ///< whether the thread has; null where it would end
    /// On a GPU: of these buffers, address and strides are known to be multiples of so many bytes.
    std::map<size_t, std::uint64_t> aligned;
    int depth = 0;
    int long_loops = 0;        ///< serial loops around of any number of iterations
    std::int64_t max_runs = 1; ///< of a statement here, as far as the loops around tell
    bool parallel = false;
    bool streams = false; ///< stores past the caches
  };
  /// What a launch passes to its threads, each in eight bytes.
  struct LaunchArguments {
    std::vector<size_t> buffers;         ///< addresses, and strides that are no constants
    std::vector<std::int64_t> variables; ///< of loops around
  };
  /// A launch whose threads' code is there.
  struct Launched {
    std::string symbol;
    std::int64_t shared_bytes = 0;
    std::int64_t arguments = 0;
    std::map<size_t, std::int64_t> shared;   ///< offsets of buffers in shared memory
    std::map<size_t, std::int64_t> position; ///< of buffers' addresses among the arguments
    llvm::GlobalVariable *constant = nullptr;
  };
  /// What a parallel body takes from around it.
  struct Captures {
    std::vector<std::int64_t> variables;
    std::vector<std::int64_t> locals;
    std::unordered_set<std::int64_t> assigned;
  };

  // llvm_emitter.cpp
  llvm::Function *make_function(const std::string &name, llvm::FunctionType *type, bool external);
  void open_frame(llvm::Function *function, llvm::Value *data, llvm::Value *integers,
                  llvm::Value *record);
  void open_arguments();
  /// The strides of an array in bytes where its layout tells them; else 0.
  static std::vector<std::int64_t> constant_strides(const KernelBuffer &buffer);
  void open_temporary(size_t buffer, llvm::Value *base);
  llvm::Value *temporary_bytes(size_t buffer);
  std::uint64_t element_bytes(size_t b) const; ///< from one element of a temporary to the next
  void make_alias_scopes();
  llvm::AllocaInst *entry_alloca(llvm::Type *type, const std::string &name);
  void fail_with(llvm::Value *status);
  /// Memory of a scoped buffer around the statements inside.
  void allocate(const Allocate &statement);
  llvm::CallInst *allocate_memory(llvm::Value *bytes, const std::string &name);
  void free_memory(llvm::Value *memory);
  /// The end of a function: frees what an early exit left, and returns the status.
  void close_frame();

  // llvm_c_function.cpp
  /// Returns `status` from the function being filled where `condition` holds.
  void refuse_if(llvm::Value *condition, std::int32_t status);
  struct CArguments;
  void open_c_arguments(const CFunction &interface, CArguments &given);
  void check_c_arguments(const CFunction &interface, const CArguments &given);
  void check_overlaps(const CFunction &interface, const CArguments &given);
  void emit_c_message(const CFunction &interface);
  void emit_c_threads(const CFunction &interface);

  // llvm_statements.cpp
  void statement(const LoopStatement &statement);
  void block(const Block &statement);
  void serial_loop(const For &statement);
  void loop_between(const For &statement, llvm::Value *lower, llvm::Value *upper);
  void while_loop(const While &statement);
  void condition(const If &statement);
  void declare_local(const DeclareLocal &statement);
  void assign_local(const AssignLocal &statement);
  // llvm_checks.cpp
  void check_index(const CheckIndex &statement);
  void check_value(const CheckValue &statement);
  /// Goes on where no lane of `wrong` is set, else reports the first that is.
  void fail_where(llvm::Value *wrong, const RuntimeCheck &statement, llvm::Value *index,
                  llvm::Value *extent, std::int32_t status);
  void timed(const Timed &statement);

  // llvm_polling.cpp
  /// How a loop counts its work.
  struct Counting {
    std::int64_t iteration = 0; ///< one is so much: counted for all iterations at once
    bool strips = false;        ///< and looks up between strips of them
    std::int64_t single = 0;    ///< counted in each iteration
  };
  Counting counting_of(const LoopStatement &loop);
  /// Takes work off the budget. Whether it is used up: then it is time to look up.
  llvm::Value *count(llvm::Value *work);
  /// Ends the function where the call is to end; else fills the budget and goes on here.
  void look_up();
  /// count, and look_up where the budget is used up.
  void count_and_look_up(llvm::Value *work);
  /// Emits what is hardly ever done, where `condition` holds.
  template <class Emit>
  void seldom(llvm::Value *condition, const Emit &emit) {
    llvm::BasicBlock *then = llvm::BasicBlock::Create(context_, "seldom", frame_.function);
    llvm::BasicBlock *after = llvm::BasicBlock::Create(context_, "usual", frame_.function);
    builder_.CreateCondBr(condition, then, after,
                          llvm::MDBuilder(context_).createUnlikelyBranchWeights());
    builder_.SetInsertPoint(then);
    emit();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }
  /// Taken off the budget for each loop that counts, beside its iterations.
  static constexpr std::int64_t work_of_a_loop = 64;
  /// What is done beside a loop that counts, without being counted: look ups come later by so much.
  static constexpr std::int64_t max_beside_a_loop = 16 * work_of_a_loop;
  /// So many parallel loops of little work may end without a look up.
  static constexpr std::int64_t few_runs = 16;
  static constexpr std::int64_t many_runs = 1024;

  // llvm_parallel.cpp
  void parallel_loop(const For &statement);
  void joined_range(const std::vector<const For *> &loops, const std::vector<llvm::Value *> &bounds,
                    llvm::Value *begin, llvm::Value *end);
  Captures find_captures(const LoopStatement &loop) const;
  /// The buffers that a loop or launch reads or writes.
  static std::unordered_set<std::int64_t> buffers_in(const LoopStatement &loop);

  // llvm_launch.cpp
  void launch(const Launch &statement);
  LaunchArguments arguments_of(const Launch &launch) const;
  /// The function of one thread.
  Launched emit_thread(const Launch &launch, const LaunchArguments &arguments,
                       const std::string &symbol);
  void allocate_on_device(const Allocate &statement);
  void barrier();
  llvm::Value *gpu_index(std::int64_t axis);
  // llvm_mma.cpp
  Term mma(const Mma &value);
  Term matrices(const Matrices &value);
  Term shuffle(const Value &value, std::int64_t mask); // llvm_launch.cpp
  // llvm_copies.cpp
  llvm::Value *is_aligned(const Aligned &value);
  /// Notes what `condition` says of alignment; gives what was known before.
  std::map<size_t, std::uint64_t> assume_aligned(const Value &condition);
  /// What is known of an element's address from the buffer's and from the sums that its subscripts
  /// are; nothing where that is no more than what every element's is.
  llvm::MaybeAlign known_alignment(size_t buffer, const std::vector<SubscriptSum> &sums);
  void copy_async(const CopyAsync &statement);
  void commit_copies();
  void wait_for_copies(std::int64_t groups);
  void fail_on_device(llvm::Value *site, llvm::Value *index, llvm::Value *extent,
                      std::int32_t status, llvm::BasicBlock *next);
  llvm::Function *emulated_entry(const Launched &launched);
  llvm::GlobalVariable *text_constant(const std::string &text, const std::string &name);

  // llvm_values.cpp
  Term value(const Value &value);
  llvm::Value *scalar(const Value &value) { return this->value(value).re; }
  Term compute(const Value &value);
  Term operand(const Value &value, ValueType type);
  Term binary(const Binary &value);
  Term call(const Value &value, Op op);
  Term select(const Select &value);
  Term ramp(const Ramp &value);
  Term reduce(const Reduce &value);
  llvm::Value *lane_test(const Binary &value);
  static constexpr int max_mask_bits = 64;
  llvm::Value *first_lanes(llvm::Value *count, int lanes);
  Term local(const Local &value);
  int depth_of(const Value &value);
  bool is_index(const Value &value);
  bool is_bound(const Value &value);

  // llvm_memory.cpp
  /// Address of lane 0 and, for vectors, the step between lanes or the address of each lane.
  struct Address {
    llvm::Value *first = nullptr;
    llvm::Value *step = nullptr;       ///< bytes; null for scalars
    int inner = 1;                     ///< so many lanes belong to one step,
    llvm::Value *inner_step = nullptr; ///< and are so many bytes apart; null where inner is 1
    llvm::Value *offsets =
        nullptr; ///< irregular vectors only: from `first`, in bytes; no steps then
    llvm::MaybeAlign alignment = {}; ///< of `first`, where more than the elements' is known
  };
  Term load_inside(const Load &value, llvm::Value *mask);
  Term load_lanes(size_t buffer, const Address &where, int lanes, llvm::Value *mask);
  Term gather(size_t buffer, const Address &where, int lanes, llvm::Value *mask);
  Term gather_one_by_one(size_t buffer, llvm::Value *addresses, int lanes, llvm::Value *mask);
  void store(const ElementChange &statement);
  void scatter(size_t buffer, const Address &where, const Term &value, int lanes,
               llvm::Value *mask);
  void atomic_update(const AtomicUpdate &statement); // llvm_atomic.cpp
  void update_byte(const AtomicUpdate &statement, const Term &term, llvm::Value *address);
  Address address(size_t buffer, const std::vector<ValuePtr> &subscripts, int lanes);
  /// `value` * `factor` * `stride` in bytes.
  llvm::Value *scaled(const Value &value, llvm::Value *stride, std::int64_t factor);
  llvm::Value *lane_address(const Address &address, int lane);
  llvm::Value *lane_addresses(const Address &address, int lanes);
  llvm::Value *bytes_to_lanes(const Address &address, int lanes);
  llvm::Value *load_part(size_t buffer, llvm::Value *address, int lanes,
                         llvm::Value *mask = nullptr, llvm::MaybeAlign alignment = {});
  Term load_element(size_t buffer, llvm::Value *address);
  Term load_contiguous(size_t buffer, llvm::Value *address, int lanes, llvm::Value *mask,
                       llvm::MaybeAlign alignment = {});
  Term load_strided(size_t buffer, llvm::Value *address, int lanes, int stride, llvm::Value *mask);
  llvm::Value *strided_mask(llvm::Value *mask, int start, int lanes, int stride);
  void store_part(size_t buffer, llvm::Value *address, llvm::Value *value,
                  llvm::Value *mask = nullptr, llvm::MaybeAlign alignment = {});
  void stream_part(size_t buffer, llvm::Value *address, llvm::Value *value); // llvm_hints.cpp
  /// Whether that or something on the same cache line was asked for before, or is asked for by an
  /// iteration soon before or after; else notes it.
  bool is_asked_for(const Frame::Ahead &ahead, const std::vector<ValuePtr> &subscripts);
  void prefetch(size_t buffer, const std::vector<ValuePtr> &subscripts, llvm::Value *address,
                bool is_written);
  /// Makes stores past the caches of this function visible to other threads.
  void end_streams();
  void store_element(size_t buffer, llvm::Value *address, const Term &value);
  void store_contiguous(size_t buffer, llvm::Value *address, const Term &value, int lanes,
                        llvm::Value *mask, llvm::MaybeAlign alignment = {});
  void annotate(llvm::Instruction *instruction, size_t buffer);
  void note_buffer(llvm::Instruction *instruction, size_t buffer);
  // llvm_guards.cpp
  /// Whether threads of the launch wait for each other, or work together as a warp.
  static bool needs_all_threads(const Launch &launch);
  void note_check(const RuntimeCheck &check, llvm::Value *wrong);
  /// Whether the checks of these subscripts held; null where there was none to note.
  llvm::Value *inside_of(const std::vector<ValuePtr> &subscripts);
  /// Of subscripts that failed their check, zero.
  Term load(const Load &value, llvm::Value *mask = nullptr);
  /// A Store, AtomicUpdate or CopyAsync; of subscripts that failed their check, nothing.
  void write(const ElementChange &statement);
  /// Emits where `condition` holds; what is known there is forgotten after it.
  template <class Emit>
  void only_where(llvm::Value *condition, const Emit &emit) {
    llvm::BasicBlock *then = llvm::BasicBlock::Create(context_, "within", frame_.function);
    llvm::BasicBlock *after = llvm::BasicBlock::Create(context_, "on", frame_.function);
    builder_.CreateCondBr(condition, then, after);
    builder_.SetInsertPoint(then);
    const auto known = frame_.known;
    emit();
    frame_.known = known;
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }
  llvm::Value *offset(llvm::Value *base, llvm::Value *bytes);
  llvm::Value *from_memory(llvm::Value *value, ScalarType type, int lanes);
  llvm::Value *to_memory(llvm::Value *value, ScalarType type, int lanes);

  const Kernel &kernel_;
  llvm::Module &module_;
  llvm::LLVMContext &context_;
  llvm::IRBuilder<> builder_;
  MathTarget target_;
  std::string symbol_; ///< of the kernel's entry
  Semantics semantics_;
  Frame frame_;
  std::unordered_map<const Value *, bool> index_values_; ///< what is_index has answered
  std::vector<std::pair<llvm::MDNode *, llvm::MDNode *>> scopes_;
  bool threads_where_worthwhile_ = false;
  bool is_interruptible_ = true;
  WorkBounds work_;
  KernelEmitter *threads_ = nullptr; ///< the emitter of the launches' threads
  bool is_device_ = false;           ///< what is emitted is what a thread of a GPU does
  Launched current_;                 ///< the launch whose thread is emitted
  std::vector<Launched> launched_;
  std::int32_t barriers_ = 0;
  std::int32_t exchanges_ = 0;      ///< of warps
  std::vector<ValuePtr> estimates_; ///< values that are no part of the kernel: `known` names them
};

} // namespace tilewright
