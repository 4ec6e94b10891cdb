// Vector-width accesses and asynchronous copies of a GPU's threads: what is known of an address
// where the array's was asked, and copies of as many bytes at a time as that allows.
#include "loops/gpu_queries.h"
#include "runtime/gpu_emulator.h"
#include "targets/llvm/thread_emitter.h"

#include <algorithm>

namespace tilewright {

llvm::Value *ThreadEmitter::is_aligned(const Aligned &value) {
  const auto b = static_cast<size_t>(value.buffer);
  const BufferSlot &slot = frame_.buffers.at(b);
  llvm::Value *all = builder_.CreatePtrToInt(slot.base, builder_.getInt64Ty());
  for (llvm::Value *stride : slot.strides) {
    if (!llvm::isa<llvm::ConstantInt>(stride)) {
      all = builder_.CreateOr(all, stride);
    }
  }
  llvm::Value *rest =
      builder_.CreateAnd(all, builder_.getInt64(static_cast<std::uint64_t>(value.bytes) - 1));
  return builder_.CreateICmpEQ(rest, builder_.getInt64(0));
}

void ThreadEmitter::assume_aligned(const Value &condition) {
  if (const auto *aligned = as<Aligned>(condition)) {
    std::uint64_t &known = frame_.aligned[static_cast<size_t>(aligned->buffer)];
    known = std::max(known, static_cast<std::uint64_t>(aligned->bytes));
  } else if (is_binary(condition, Op::And)) {
    for (const ValuePtr &operand : condition.operands) {
      assume_aligned(*operand);
    }
  }
}

llvm::MaybeAlign ThreadEmitter::known_alignment(size_t b, const std::vector<SubscriptSum> &sums) {
  const KernelBuffer &buffer = kernel_.buffers[b];
  const BufferSlot &slot = frame_.buffers[b];
  const auto asked = frame_.aligned.find(b);
  if (!buffer.record.name.empty() || !(is_in_kernel(buffer) || asked != frame_.aligned.end())) {
    return {};
  }
  const std::int64_t base =
      asked != frame_.aligned.end() ? static_cast<std::int64_t>(asked->second) : widest_access;
  std::int64_t known = std::min(base, widest_access);
  for (size_t d = 0; d < sums.size(); ++d) {
    const auto *stride = llvm::dyn_cast<llvm::ConstantInt>(slot.strides[d]);
    const auto step = [&](std::int64_t times) {
      return alignment_of((stride == nullptr ? base : stride->getSExtValue()) * times);
    };
    for (const SubscriptTerm &term : sums[d].terms) {
      known = std::min(known, step(term.coefficient));
    }
    if (sums[d].constant != 0) {
      known = std::min(known, step(sums[d].constant));
    }
  }
  const auto bytes = static_cast<std::uint64_t>(known);
  return bytes <= slot.alignment.value() ? llvm::MaybeAlign() : llvm::MaybeAlign(bytes);
}

/// In parts of as many bytes as the hardware copies and the addresses are multiples of. Elements
/// that are too small for that, or not neighbours, are loaded and stored.
void ThreadEmitter::copy_async(const CopyAsync &statement) {
  const auto &from = cast<Load>(statement.value);
  const auto b = static_cast<size_t>(statement.buffer);
  const auto source = static_cast<size_t>(from.buffer);
  const int lanes = from.type.lanes;
  const std::int64_t item = kernel_.buffers[b].type.bytes();
  const Address to_where = address(b, statement.subscripts, lanes);
  const Address from_where = address(source, from.subscripts(), lanes);
  const auto are_neighbours = [&](const Address &where) {
    const auto *step = where.offsets == nullptr && where.inner == 1 && where.step != nullptr
                           ? llvm::dyn_cast<llvm::ConstantInt>(where.step)
                           : nullptr;
    return lanes == 1 || (step != nullptr && step->getSExtValue() == item);
  };
  const std::int64_t bytes = lanes * item;
  const std::uint64_t part =
      std::min({static_cast<std::uint64_t>(alignment_of(bytes)),
                to_where.alignment.value_or(frame_.buffers[b].alignment).value(),
                from_where.alignment.value_or(frame_.buffers[source].alignment).value()});
  constexpr std::uint64_t least = 4;
  if (part < least || !are_neighbours(to_where) || !are_neighbours(from_where)) {
    store(statement);
    return;
  }
  llvm::PointerType *pointer = builder_.getPtrTy();
  llvm::Type *i32 = builder_.getInt32Ty();
  llvm::FunctionCallee copy = module_.getOrInsertFunction(
      "tilewright_gpu_copy", builder_.getVoidTy(), pointer, pointer, i32, i32, i32);
  llvm::cast<llvm::Function>(copy.getCallee())->setDoesNotThrow();
  const auto number = [&](std::uint64_t value) {
    return builder_.getInt32(static_cast<std::uint32_t>(value));
  };
  for (std::uint64_t done = 0; done < static_cast<std::uint64_t>(bytes); done += part) {
    llvm::Value *distance = builder_.getInt64(done);
    builder_.CreateCall(copy, {offset(to_where.first, distance), offset(from_where.first, distance),
                               number(part), number(b), number(source)});
  }
}

void ThreadEmitter::commit_copies() {
  llvm::FunctionCallee commit =
      module_.getOrInsertFunction("tilewright_gpu_commit", builder_.getVoidTy());
  llvm::cast<llvm::Function>(commit.getCallee())->setDoesNotThrow();
  builder_.CreateCall(commit, {});
}

void ThreadEmitter::wait_for_copies(std::int64_t groups) {
  llvm::FunctionCallee wait = module_.getOrInsertFunction(
      "tilewright_gpu_wait", builder_.getVoidTy(), builder_.getInt32Ty());
  llvm::cast<llvm::Function>(wait.getCallee())->setDoesNotThrow();
  builder_.CreateCall(wait, {builder_.getInt32(static_cast<std::uint32_t>(groups))});
}

} // namespace tilewright
