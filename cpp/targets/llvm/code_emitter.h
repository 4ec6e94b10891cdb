// What all code of a kernel has in common: statements become instructions of the function that the
// frame is of, values are emitted once a statement, and elements have addresses. Host code
// (host_emitter.h) and threads of a GPU (thread_emitter.h) derive from it and say what they do in
// ways of their own.
#pragma once

#include "loops/estimate_work.h"
#include "loops/loop_ir.h"
#include "targets/llvm/emitter.h"
#include "targets/llvm/frame.h"
#include "targets/llvm/index.h"
#include "targets/llvm/semantics.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright {

class CodeEmitter {
public:
  CodeEmitter(const CodeEmitter &) = delete;
  CodeEmitter &operator=(const CodeEmitter &) = delete;

protected:
  CodeEmitter(const Kernel &kernel, llvm::Module &module, const EmitOptions &options,
              MathTarget target, bool is_device);
  virtual ~CodeEmitter() = default;

  // ---- what host code and threads do in ways of their own ----

  /// Parallel loops of a frame that is not parallel, Allocate, and what only one side has.
  virtual void own_statement(const LoopStatement &statement);
  /// What only threads have.
  virtual Term own_value(const Value &value);
  /// A function of C, lane by lane: externs.cpp.
  virtual Term extern_call(const Extern &value);
  Term block_call(const Extern &value);
  virtual Term load(const Load &value, llvm::Value *mask = nullptr);
  /// A Store, AtomicUpdate or CopyAsync.
  virtual void write(const ElementChange &statement);
  /// What a failed check reports. Emitted where it has failed.
  struct Failure {
    llvm::Value *site;         ///< its number
    llvm::Value *index;        ///< the subscript found
    llvm::Value *extent;       ///< what it had to stay below
    llvm::AllocaInst *reports; ///< further integers, or null
    size_t report_count;
    std::int32_t status;
    llvm::BasicBlock *passing; ///< where those go whose check has not failed
  };
  virtual void report(const Failure &failure) = 0;
  /// Before the branch of a check: `wrong` where it fails.
  virtual void note_check(const RuntimeCheck & /*check*/, llvm::Value * /*wrong*/) {}
  /// Both sides may be computed: the lowering writes a branch where a side reads outside of an
  /// array without its guard.
  virtual Term select(const Select &value); // values.cpp
  /// One of two values of a type, of which only that one is computed: what is known within is
  /// forgotten behind.
  Term either(llvm::Value *condition, const ValuePtr &then, const ValuePtr &otherwise,
              ValueType type);
  /// Notes in the frame what a condition that holds says of addresses.
  virtual void assume_aligned(const Value & /*condition*/) {}
  /// What is known of an element's address from the buffer's and from the sums that its subscripts
  /// are; nothing where that is no more than what every element's is.
  virtual llvm::MaybeAlign known_alignment(size_t /*buffer*/,
                                           const std::vector<SubscriptSum> & /*sums*/) {
    return {};
  }
  /// Whether it has emitted the update of an element of one byte, in a way of its own.
  virtual bool update_byte(const AtomicUpdate & /*statement*/, const Term & /*term*/,
                           llvm::Value * /*address*/) {
    return false;
  }

  // ---- functions.cpp: functions, their frames, memory of buffers ----

  llvm::Function *make_function(const std::string &name, llvm::FunctionType *type, bool external);
  llvm::AllocaInst *entry_alloca(llvm::Type *type, const std::string &name);
  llvm::BasicBlock *new_block(const std::string &name) {
    return llvm::BasicBlock::Create(context_, name, frame_.function);
  }
  /// Does it take longer than a branch that is sometimes guessed wrong?
  bool takes_long(const Value &value);
  /// `a and b` or `a or b`, where b is computed only if a does not decide.
  Term decided(const Binary &value);
  void fail_with(llvm::Value *status);
  /// The strides of an array in bytes where its layout tells them; else 0.
  static std::vector<std::int64_t> constant_strides(const KernelBuffer &buffer);
  /// A buffer of the kernel's own, whose memory (its record's, if it is a field) is at `base`.
  void open_temporary(size_t buffer, llvm::Value *base);
  std::uint64_t element_bytes(size_t b) const; ///< from one element of a temporary to the next
  void make_alias_scopes();

  // ---- statements.cpp ----

  void statement(const LoopStatement &statement);
  void serial_loop(const For &statement);
  void loop_between(const For &statement, llvm::Value *lower, llvm::Value *upper);
  void while_loop(const While &statement);
  void condition(const If &statement);
  void leave_if_set(std::span<const std::int64_t> flags, llvm::BasicBlock *after);
  /// Whether it leaves a loop, which it does once at most.
  llvm::MDNode *weights_of(const If &statement);
  void define(const Let &statement);
  void declare_local(const DeclareLocal &statement);
  void assign_local(const AssignLocal &statement);
  /// The new value of an element or a local of this type; with `op`, op(it, term) of a reduction
  /// whose terms may be combined in any way: products of a sum are not rounded by themselves then,
  /// if the processor has an instruction for it.
  Term updated(Op op, const Value &value, ValueType type);

  // ---- checks.cpp ----

  void check_index(const CheckIndex &statement);
  void check_value(const CheckValue &statement);
  /// Goes on where no lane of `wrong` is set, else reports the first that is.
  void fail_where(llvm::Value *wrong, const RuntimeCheck &statement, llvm::Value *index,
                  llvm::Value *extent, std::int32_t status);

  // ---- polling.cpp ----

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
  /// The condition of a loop that counts its turns: `next < end and others`, next = ... + 1 last.
  struct Turns {
    llvm::Value *next; ///< where it is
    ValuePtr end;      ///< the same in all turns
    ValuePtr others;
  };
  std::optional<Turns> turns_of(const While &loop) const;
  /// Turns up to the next look up, which one comparison ends together with those of the loop. Work
  /// is counted behind them.
  struct TurnStrips {
    llvm::Value *next = nullptr;
    llvm::Value *bound = nullptr;
    llvm::AllocaInst *begin = nullptr;
    llvm::AllocaInst *end = nullptr;
    std::int64_t work = 0; ///< of a turn
  };
  TurnStrips begin_turns(const Turns &turns, const Counting &counting);
  void begin_strip(const TurnStrips &strips, llvm::Value *first);
  llvm::Value *work_of_turns(const TurnStrips &strips);
  /// Goes on here if there is another turn, and to `end` if not.
  void next_turn(const TurnStrips &strips, llvm::BasicBlock *end);
  /// Emits what is hardly ever done, where `condition` holds.
  template <class Emit>
  void seldom(llvm::Value *condition, const Emit &emit) {
    llvm::BasicBlock *then = new_block("seldom");
    llvm::BasicBlock *after = new_block("usual");
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

  // ---- values.cpp ----

  Term value(const Value &value);
  llvm::Value *scalar(const Value &value) { return this->value(value).re; }
  /// `value` with the type that an operation needs.
  Term operand(const Value &value, ValueType type);

  // ---- addresses.cpp ----

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
  Address address(size_t buffer, const std::vector<ValuePtr> &subscripts, int lanes);
  llvm::Value *lane_address(const Address &address, int lane);
  llvm::Value *lane_addresses(const Address &address, int lanes);
  llvm::Value *offset(llvm::Value *base, llvm::Value *bytes);
  /// Which buffer an access is to, for LLVM and for who watches.
  void annotate(llvm::Instruction *instruction, size_t buffer);
  void note_buffer(llvm::Instruction *instruction, size_t buffer);

  // ---- memory.cpp, atomic.cpp ----

  Term load_inside(const Load &value, llvm::Value *mask);
  void store(const ElementChange &statement);
  void atomic_update(const AtomicUpdate &statement);
  llvm::Value *from_memory(llvm::Value *value, ScalarType type, int lanes);
  llvm::Value *to_memory(llvm::Value *value, ScalarType type, int lanes);
  /// Makes stores past the caches of this function visible to other threads.
  void end_streams(); // hints.cpp

  const Kernel &kernel_;
  llvm::Module &module_;
  llvm::LLVMContext &context_;
  llvm::IRBuilder<> builder_;
  MathTarget target_;
  std::string symbol_; ///< of the kernel's entry
  Semantics semantics_;
  Frame frame_;
  const bool is_device_;      ///< what is emitted is what a thread of a GPU does
  const bool fuses_products_; ///< updated(); with fast_math LLVM does it anywhere
  const bool is_interruptible_;
  WorkBounds work_;
  std::vector<std::pair<llvm::MDNode *, llvm::MDNode *>> scopes_;

private:
  // statements.cpp
  struct LoopCode;
  LoopCode enter_loop(const For &statement, const Counting &counting, llvm::Value *lower,
                      llvm::Value *upper);
  void begin_strips(LoopCode &loop, const Counting &counting, llvm::Value *used_up);
  void loop_body(const For &statement, const LoopCode &loop, const Counting &counting);
  void leave_loop(const LoopCode &loop);

  // values.cpp
  Term compute(const Value &value);
  Term variable(const Variable &value);
  Term binary(const Binary &value);
  Term call(const Value &value, Op op);
  Term ramp(const Ramp &value);
  Term reduce(const Reduce &value);
  llvm::Value *lane_test(const Binary &value);
  llvm::Value *divisibility(const Binary &value);
  static constexpr int max_mask_bits = 64;
  llvm::Value *first_lanes(llvm::Value *count, int lanes);
  Term local(const Local &value);
  int depth_of(const Value &value);
  bool is_index(const Value &value);
  bool is_bound(const Value &value);

  // addresses.cpp
  struct AddressParts;
  std::vector<SubscriptSum> sums_of(size_t buffer, const std::vector<ValuePtr> &subscripts,
                                    int &inner);
  AddressParts parts_of(const std::vector<SubscriptSum> &sums, const BufferSlot &slot, int lanes);
  void settle_lanes(Address &result, const AddressParts &parts, int inner, int lanes);
  /// `stride` * `factor`, in bytes.
  llvm::Value *times(llvm::Value *stride, std::int64_t factor);
  /// `value` * `factor` * `stride` in bytes.
  llvm::Value *scaled(const Value &value, llvm::Value *stride, std::int64_t factor);
  llvm::Value *bytes_to_lanes(const Address &address, int lanes);

  // memory.cpp
  Term load_lanes(size_t buffer, const Address &where, int lanes, llvm::Value *mask);
  Term gather(size_t buffer, const Address &where, int lanes, llvm::Value *mask);
  Term gather_one_by_one(size_t buffer, llvm::Value *addresses, int lanes, llvm::Value *mask);
  void store_strided(size_t buffer, llvm::Value *address, const Term &value, int lanes, int stride,
                     llvm::Value *mask);
  void scatter(size_t buffer, const Address &where, const Term &value, int lanes,
               llvm::Value *mask);
  llvm::Value *load_part(size_t buffer, llvm::Value *address, int lanes,
                         llvm::Value *mask = nullptr, llvm::MaybeAlign alignment = {});
  Term load_element(size_t buffer, llvm::Value *address);
  Term load_contiguous(size_t buffer, llvm::Value *address, int lanes, llvm::Value *mask,
                       llvm::MaybeAlign alignment = {});
  Term load_strided(size_t buffer, llvm::Value *address, int lanes, int stride, llvm::Value *mask);
  llvm::Value *strided_mask(llvm::Value *mask, int start, int lanes, int stride);
  void store_part(size_t buffer, llvm::Value *address, llvm::Value *value,
                  llvm::Value *mask = nullptr, llvm::MaybeAlign alignment = {});
  void store_element(size_t buffer, llvm::Value *address, const Term &value);
  void store_contiguous(size_t buffer, llvm::Value *address, const Term &value, int lanes,
                        llvm::Value *mask, llvm::MaybeAlign alignment = {});

  // hints.cpp
  void stream_part(size_t buffer, llvm::Value *address, llvm::Value *value);
  /// Whether that or something on the same cache line was asked for before, or is asked for by an
  /// iteration soon before or after; else notes it.
  bool is_asked_for(const Frame::Ahead &ahead, const std::vector<ValuePtr> &subscripts);
  void prefetch(size_t buffer, const std::vector<ValuePtr> &subscripts, llvm::Value *address,
                bool is_written);

  std::unordered_map<const Value *, bool> slow_values_;
  std::unordered_map<const Value *, bool> index_values_; ///< what is_index has answered
};

} // namespace tilewright
