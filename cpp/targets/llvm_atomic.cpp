// Updates of one element by several threads: one instruction where the processor has it, else a
// loop that tries until nobody came in between. Relaxed order: the end of the parallel loop is what
// orders them before their readers.
#include "targets/llvm_function_emitter.h"

#include <optional>

namespace tilewright {

namespace {

std::optional<llvm::AtomicRMWInst::BinOp> instruction_for(Op op, ScalarType type) {
  using BinOp = llvm::AtomicRMWInst;
  if (type.is_floating()) {
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

} // namespace

void KernelEmitter::atomic_update(const LoopStatement &statement) {
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
  if (const auto instruction = instruction_for(statement.op, type)) {
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
  llvm::BasicBlock *attempt = llvm::BasicBlock::Create(context_, "attempt", frame_.function);
  llvm::BasicBlock *updated = llvm::BasicBlock::Create(context_, "updated", frame_.function);
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
  frame_.known.clear();
  frame_.depths.clear();
}

} // namespace tilewright
