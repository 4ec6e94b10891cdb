// Updates of one element by several threads: one instruction where the processor has it, else a
// loop that tries until nobody came in between. Relaxed order: the end of the parallel loop is what
// orders them before their readers. Nothing is touched but the element: what lies beside it may be
// another array's, or nobody's. A GPU has no instruction for a byte, and one for two bytes that
// only compares and swaps.
#include "hardware/gpu.h"
#include "targets/llvm/device_calls.h"
#include "targets/llvm/thread_emitter.h"

#include <optional>

namespace tilewright {

namespace {

constexpr int least_device_bits = 32;

std::optional<llvm::AtomicRMWInst::BinOp> instruction_for(Op op, ScalarType type, bool is_device) {
  using BinOp = llvm::AtomicRMWInst;
  if (type.is_floating() || (is_device && type.bits < least_device_bits)) {
    return std::nullopt;
  }
  switch (op) {
  case Op::Add:
    return BinOp::Add;
  case Op::And:
    return BinOp::And;
  case Op::Or:
    return BinOp::Or;
  case Op::Xor:
    return BinOp::Xor;
  case Op::Min:
    return type.is_signed_integer() ? BinOp::Min : BinOp::UMin;
  case Op::Max:
    return type.is_signed_integer() ? BinOp::Max : BinOp::UMax;
  default:
    return std::nullopt;
  }
}

/// The bool that every update with it gives, as a byte; nothing where there is none.
std::optional<std::uint8_t> final_truth(Op op, ScalarType type) {
  if (!type.is_bool()) {
    return std::nullopt;
  }
  switch (op) {
  case Op::Or:
  case Op::Max:
    return 1;
  case Op::And:
  case Op::Min:
    return 0;
  default:
    return std::nullopt;
  }
}

} // namespace

void CodeEmitter::atomic_update(const AtomicUpdate &statement) {
  const auto b = static_cast<size_t>(statement.buffer);
  const ScalarType type = kernel_.buffers.at(b).type;
  if (type.is_complex() || statement.value->type.lanes != 1) {
    throw Error(ErrorKind::Internal, "an atomic update of '" + kernel_.buffers[b].name +
                                         "' with a value that is no real scalar");
  }
  const Term term = operand(*statement.value, ValueType{type, 1});
  llvm::Value *address = this->address(b, statement.subscripts, 1).first;
  const llvm::Align alignment(static_cast<std::uint64_t>(type.bytes()));
  const auto order = llvm::AtomicOrdering::Monotonic;
  if (type.bytes() == 1 && update_byte(statement, term, address)) {
    return;
  }
  if (const auto instruction = instruction_for(statement.op, type, is_device_)) {
    note_buffer(builder_.CreateAtomicRMW(*instruction, address, to_memory(term.re, type, 1),
                                         alignment, order),
                b);
    return;
  }
  llvm::Type *bits = builder_.getIntNTy(static_cast<unsigned>(8 * type.bytes()));
  llvm::LoadInst *first = builder_.CreateAlignedLoad(bits, address, alignment);
  first->setAtomic(order);
  note_buffer(first, b);
  llvm::BasicBlock *before = builder_.GetInsertBlock();
  llvm::BasicBlock *attempt = new_block("attempt");
  llvm::BasicBlock *updated = new_block("updated");
  builder_.CreateBr(attempt);
  builder_.SetInsertPoint(attempt);
  llvm::PHINode *expected = builder_.CreatePHI(bits, 2, "expected");
  expected->addIncoming(first, before);
  llvm::Value *old = builder_.CreateBitCast(expected, memory_type(context_, type, 1));
  const Term sum = semantics_.binary(statement.op, {type, 1}, {type, 1},
                                     Term{from_memory(old, type, 1), nullptr}, term);
  llvm::Value *next = builder_.CreateBitCast(to_memory(sum.re, type, 1), bits);
  llvm::AtomicCmpXchgInst *exchange =
      builder_.CreateAtomicCmpXchg(address, expected, next, alignment, order, order);
  note_buffer(exchange, b);
  expected->addIncoming(builder_.CreateExtractValue(exchange, 0), builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateExtractValue(exchange, 1), updated, attempt);
  builder_.SetInsertPoint(updated);
  frame_.forget();
}

/// On a GPU. Of bools, those are stored after which the element does not change; there is nothing
/// to read. All others while the thread has the lock that the address stands for.
bool ThreadEmitter::update_byte(const AtomicUpdate &statement, const Term &term,
                                llvm::Value *address) {
  const auto b = static_cast<size_t>(statement.buffer);
  const ScalarType type = kernel_.buffers[b].type;
  const auto relaxed = [&](auto *access) {
    access->setAtomic(llvm::AtomicOrdering::Monotonic);
    note_buffer(access, b);
    return access;
  };
  if (const auto last = final_truth(statement.op, type)) {
    llvm::Value *is_last = *last != 0 ? term.re : builder_.CreateNot(term.re);
    seldom(is_last, [&] {
      relaxed(builder_.CreateAlignedStore(builder_.getInt8(*last), address, llvm::Align(1)));
    });
    frame_.forget();
    return true;
  }
  const auto call = [&](const char *name, llvm::Type *result, llvm::Value *argument) {
    llvm::FunctionCallee callee = module_.getOrInsertFunction(name, result, argument->getType());
    llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
    return builder_.CreateCall(callee, {argument});
  };
  // Threads of one warp take turns, so that none waits for a lock that one beside it has.
  const auto block = [&](const char *name) { return new_block(name); };
  llvm::BasicBlock *before = builder_.GetInsertBlock();
  llvm::BasicBlock *ask = block("turn.ask");
  llvm::BasicBlock *own = block("turn.own");
  llvm::BasicBlock *next = block("turn.next");
  llvm::BasicBlock *updated = block("updated");
  builder_.CreateBr(ask);
  builder_.SetInsertPoint(ask);
  llvm::PHINode *turn = builder_.CreatePHI(builder_.getInt32Ty(), 2, "turn");
  turn->addIncoming(builder_.getInt32(0), before);
  builder_.CreateCondBr(call(gpu_turn, builder_.getInt1Ty(), turn), own, next);
  builder_.SetInsertPoint(own);
  call(gpu_lock, builder_.getVoidTy(), address);
  llvm::Value *old =
      relaxed(builder_.CreateAlignedLoad(builder_.getInt8Ty(), address, llvm::Align(1)));
  const Term sum = semantics_.binary(statement.op, {type, 1}, {type, 1},
                                     Term{from_memory(old, type, 1), nullptr}, term);
  relaxed(builder_.CreateAlignedStore(to_memory(sum.re, type, 1), address, llvm::Align(1)));
  call(gpu_unlock, builder_.getVoidTy(), address);
  builder_.CreateBr(next);
  builder_.SetInsertPoint(next);
  llvm::Value *following = builder_.CreateAdd(turn, builder_.getInt32(1));
  turn->addIncoming(following, next);
  builder_.CreateCondBr(builder_.CreateICmpULT(following, builder_.getInt32(warp_size)), ask,
                        updated);
  builder_.SetInsertPoint(updated);
  frame_.forget();
  return true;
}

} // namespace tilewright
