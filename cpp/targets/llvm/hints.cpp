// Stores past the caches (stream) and loads asked for early (prefetch). x86 stores past the caches
// only to aligned addresses, and what the caller's arrays are aligned to is known at run time:
// whole vectors where it fits, pieces of 16 bytes where those do, plain stores elsewhere. Arrays
// that caches hold are stored plainly, too: whoever reads them next would have to fetch them.
#include "hardware/processor.h"
#include "targets/llvm/code_emitter.h"

#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <cstdlib>

namespace tilewright {

namespace {

constexpr std::uint64_t piece_bytes = 16;

/// Of an array that is stored past the caches; smaller ones are faster plainly.
constexpr std::uint64_t least_streamed_bytes = std::uint64_t{6} << 20;

void mark_non_temporal(llvm::StoreInst *store) {
  llvm::LLVMContext &context = store->getContext();
  llvm::Metadata *one =
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, one));
}

} // namespace

void CodeEmitter::stream_part(size_t b, llvm::Value *address, llvm::Value *value) {
  const std::uint64_t bytes = module_.getDataLayout().getTypeStoreSize(value->getType());
  const auto plain = [&](llvm::Align alignment) {
    llvm::StoreInst *store = builder_.CreateAlignedStore(value, address, alignment);
    annotate(store, b);
    return store;
  };
  const llvm::Align known = frame_.buffers[b].alignment;
  if (bytes < piece_bytes || (bytes & (bytes - 1)) != 0) {
    plain(known);
    return;
  }
  frame_.streams = true;
  const std::uint64_t whole = std::min(bytes, static_cast<std::uint64_t>(widest_vector_bytes));
  // All bits of a small array's addresses are set, which makes them multiples of nothing.
  llvm::Value *size =
      builder_.getInt64(static_cast<std::uint64_t>(kernel_.buffers[b].type.bytes()));
  for (const ValuePtr &extent : kernel_.buffers[b].extents) {
    size = builder_.CreateMul(size, scalar(*extent));
  }
  llvm::Value *is_small = builder_.CreateICmpULT(size, builder_.getInt64(least_streamed_bytes));
  llvm::Value *number = builder_.CreateOr(builder_.CreatePtrToInt(address, builder_.getInt64Ty()),
                                          builder_.CreateSExt(is_small, builder_.getInt64Ty()));
  const auto is_multiple = [&](std::uint64_t of) {
    return builder_.CreateICmpEQ(builder_.CreateAnd(number, builder_.getInt64(of - 1)),
                                 builder_.getInt64(0));
  };
  const auto make = [&](const char *name) { return new_block(name); };
  llvm::BasicBlock *aligned = make("stream");
  llvm::BasicBlock *other = make("stream.other");
  llvm::BasicBlock *plainly = make("stream.plain");
  llvm::BasicBlock *after = make("stream.after");
  builder_.CreateCondBr(is_multiple(whole), aligned, other);
  builder_.SetInsertPoint(aligned);
  mark_non_temporal(plain(llvm::Align(whole)));
  builder_.CreateBr(after);

  builder_.SetInsertPoint(other);
  if (whole == piece_bytes) {
    builder_.CreateBr(plainly);
  } else {
    llvm::BasicBlock *pieces = make("stream.pieces");
    builder_.CreateCondBr(is_multiple(piece_bytes), pieces, plainly);
    builder_.SetInsertPoint(pieces);
    auto *longs = llvm::FixedVectorType::get(builder_.getInt64Ty(),
                                             static_cast<unsigned>(bytes / sizeof(std::int64_t)));
    llvm::Value *all = builder_.CreateBitCast(value, longs);
    for (std::uint64_t piece = 0; piece < bytes / piece_bytes; ++piece) {
      const int first = static_cast<int>(2 * piece);
      llvm::Value *part = builder_.CreateShuffleVector(all, {first, first + 1});
      llvm::StoreInst *store = builder_.CreateAlignedStore(
          part, offset(address, builder_.getInt64(piece * piece_bytes)), llvm::Align(piece_bytes));
      annotate(store, b);
      mark_non_temporal(store);
    }
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(plainly);
  plain(known);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

void CodeEmitter::end_streams() {
  const llvm::Triple triple(module_.getTargetTriple());
  if (frame_.streams && triple.getArch() == llvm::Triple::x86_64) {
    builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  }
}

namespace {

/// The same text for the same index arithmetic; data are only the same where they are one value.
std::string text_of(const Value &value) {
  switch (value.kind) {
  case ValueKind::Variable:
    return fmt::format("v{}", cast<Variable>(value).id);
  case ValueKind::Parameter:
    return fmt::format("p{}", cast<Parameter>(value).position);
  case ValueKind::Constant:
    if (const auto *number = std::get_if<std::int64_t>(&cast<Constant>(value).value)) {
      return fmt::format("{}", *number);
    }
    break;
  case ValueKind::Unary:
    return fmt::format("({} {})", static_cast<int>(cast<Unary>(value).op),
                       text_of(*value.operands[0]));
  case ValueKind::Binary:
    return fmt::format("({} {} {})", text_of(*value.operands[0]),
                       static_cast<int>(cast<Binary>(value).op), text_of(*value.operands[1]));
  default:
    break;
  }
  return fmt::format("{}", fmt::ptr(&value));
}

} // namespace

bool CodeEmitter::is_asked_for(const Frame::Ahead &ahead, const std::vector<ValuePtr> &subscripts) {
  const KernelBuffer &buffer = kernel_.buffers[static_cast<size_t>(ahead.buffer)];
  const bool lies_together =
      !buffer.is_argument || buffer.layout.unit + 1 == static_cast<int>(subscripts.size());
  std::string place = fmt::format("{} {}", ahead.buffer, ahead.variable);
  std::int64_t constant = 0;
  std::int64_t step = 0;
  bool on_one_row = true; // an iteration goes along the last dimension alone
  for (const ValuePtr &subscript : subscripts) {
    const SubscriptSum sum = split_subscript(*subscript);
    const bool is_together = lies_together && &subscript == &subscripts.back();
    place += ";";
    for (const SubscriptTerm &term : sum.terms) {
      if (is_variable(*term.value, ahead.variable)) {
        step += is_together ? term.coefficient : 0;
        on_one_row = on_one_row && is_together;
      }
      place += fmt::format(" {} {}", term.coefficient, text_of(*term.value));
    }
    if (is_together) {
      constant = sum.constant;
    } else {
      place += fmt::format(" {}", sum.constant);
    }
  }
  const auto item = static_cast<std::int64_t>(buffer.type.bytes());
  const std::int64_t bytes = constant * item;
  const std::int64_t each = on_one_row ? std::abs(step * item) : 0; // bytes of an iteration
  std::vector<std::int64_t> &asked = frame_.asked[place];
  const bool is_near = std::any_of(asked.begin(), asked.end(), [&](std::int64_t other) {
    const std::int64_t apart = std::abs(bytes - other);
    if (apart < cache_line_bytes) {
      return true;
    }
    // An iteration soon before or after asks for it.
    const std::int64_t rest = each == 0 ? apart : apart % each;
    return each != 0 && apart / each <= ahead.distance / 4 &&
           (rest < cache_line_bytes || each - rest < cache_line_bytes);
  });
  if (!is_near) {
    asked.push_back(bytes);
  }
  return is_near;
}

void CodeEmitter::prefetch(size_t b, const std::vector<ValuePtr> &subscripts, llvm::Value *address,
                           bool is_written) {
  if (is_device_) {
    return; // other warps run meanwhile
  }
  for (const Frame::Ahead &ahead : frame_.prefetches) {
    if (static_cast<size_t>(ahead.buffer) != b) {
      continue;
    }
    // So many bytes farther, where the subscripts say how many.
    llvm::Value *bytes = nullptr;
    for (size_t d = 0; d < subscripts.size(); ++d) {
      for (const SubscriptTerm &term : split_subscript(*subscripts[d]).terms) {
        if (is_variable(*term.value, ahead.variable) && term.coefficient != 0) {
          llvm::Value *step =
              builder_.CreateNSWMul(frame_.buffers[b].strides[d],
                                    llvm::ConstantInt::getSigned(
                                        builder_.getInt64Ty(), term.coefficient * ahead.distance));
          bytes = bytes == nullptr ? step : builder_.CreateNSWAdd(bytes, step);
        }
      }
    }
    if (bytes != nullptr && !is_asked_for(ahead, subscripts)) {
      constexpr std::uint32_t keep = 3;
      constexpr std::uint32_t data = 1;
      builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {builder_.getPtrTy()},
                               {offset(address, bytes), builder_.getInt32(is_written ? 1 : 0),
                                builder_.getInt32(keep), builder_.getInt32(data)});
    }
  }
}

} // namespace tilewright
