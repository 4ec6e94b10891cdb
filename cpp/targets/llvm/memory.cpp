// Loads and stores: contiguous, reversed, small-stride and irregular vectors, of real and of
// complex elements.
#include "targets/llvm/code_emitter.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr int widest_small_stride = 4;
constexpr int fewest_strided = 4;

/// In bytes: of smaller elements no target gathers vectors.
constexpr int smallest_gathered = 4;

/// So many loads one by one are as fast as a gather.
constexpr int fewest_gathered = 4;

llvm::SmallVector<int, 32> reversed(int lanes) {
  llvm::SmallVector<int, 32> order;
  for (int k = lanes; k-- > 0;) {
    order.push_back(k);
  }
  return order;
}

llvm::SmallVector<int, 64> lanes_between(int first, int end) {
  llvm::SmallVector<int, 64> lanes;
  for (int lane = first; lane < end; ++lane) {
    lanes.push_back(lane);
  }
  return lanes;
}

/// The lanes in parts (first, count) whose counts are powers of two. LLVM 19 fills gathers of other
/// counts up with undefined addresses, and may give these the register of the result, which x86
/// does not allow.
std::vector<std::pair<int, int>> powers_of_two(int lanes) {
  std::vector<std::pair<int, int>> parts;
  for (int first = 0; first < lanes;) {
    int count = 1;
    while (2 * count <= lanes - first) {
      count *= 2;
    }
    parts.emplace_back(first, count);
    first += count;
  }
  return parts;
}

/// Whether lanes that are so many bytes apart are taken out of whole vectors, or put into them.
bool is_small_stride(std::int64_t bytes, ScalarType type, int lanes) {
  const std::int64_t item = type.bytes();
  return !type.is_complex() && lanes >= fewest_strided && bytes > 0 && bytes % item == 0 &&
         bytes / item <= widest_small_stride;
}

/// The two parts of a complex number would each need the mask; the loop passes make none.
void require_no_mask(const llvm::Value *mask) {
  if (mask != nullptr) {
    throw Error(ErrorKind::Internal, "a vector of complex numbers under a mask");
  }
}

} // namespace

llvm::Value *CodeEmitter::from_memory(llvm::Value *value, ScalarType type, int lanes) {
  if (!type.is_bool()) {
    return value;
  }
  return builder_.CreateICmpNE(value,
                               llvm::Constant::getNullValue(memory_type(context_, type, lanes)));
}

llvm::Value *CodeEmitter::to_memory(llvm::Value *value, ScalarType type, int lanes) {
  return type.is_bool() ? builder_.CreateZExt(value, memory_type(context_, type, lanes)) : value;
}

/// `lanes` components that lie one after the other; as they are in memory.
llvm::Value *CodeEmitter::load_part(size_t b, llvm::Value *address, int lanes, llvm::Value *mask,
                                    llvm::MaybeAlign known) {
  llvm::Type *type = memory_type(context_, kernel_.buffers[b].type, lanes);
  const llvm::Align alignment = known.value_or(frame_.buffers[b].alignment);
  llvm::Instruction *load = nullptr;
  if (mask == nullptr) {
    load = builder_.CreateAlignedLoad(type, address, alignment);
  } else {
    load = builder_.CreateMaskedLoad(type, address, alignment, mask,
                                     llvm::Constant::getNullValue(type));
  }
  annotate(load, b);
  return load;
}

Term CodeEmitter::load_element(size_t b, llvm::Value *address) {
  const ScalarType type = kernel_.buffers[b].type;
  Term term;
  term.re = from_memory(load_part(b, address, 1), type, 1);
  if (type.is_complex()) {
    const auto half = static_cast<std::uint64_t>(type.bytes() / 2);
    term.im = load_part(b, offset(address, builder_.getInt64(half)), 1);
  }
  return term;
}

Term CodeEmitter::load_contiguous(size_t b, llvm::Value *address, int lanes, llvm::Value *mask,
                                  llvm::MaybeAlign alignment) {
  const ScalarType type = kernel_.buffers[b].type;
  Term term;
  if (!type.is_complex()) {
    term.re = from_memory(load_part(b, address, lanes, mask, alignment), type, lanes);
    return term;
  }
  require_no_mask(mask);
  llvm::SmallVector<int, 32> even;
  llvm::SmallVector<int, 32> odd;
  for (int k = 0; k < lanes; ++k) {
    even.push_back(2 * k);
    odd.push_back(2 * k + 1);
  }
  llvm::Value *pairs = load_part(b, address, 2 * lanes, nullptr, alignment);
  term.re = builder_.CreateShuffleVector(pairs, even);
  term.im = builder_.CreateShuffleVector(pairs, odd);
  return term;
}

/// Of the elements from `start` on: those that a lane which takes part has, one in `stride`.
llvm::Value *CodeEmitter::strided_mask(llvm::Value *mask, int start, int lanes, int stride) {
  llvm::SmallVector<int, 64> owner;
  llvm::SmallVector<llvm::Constant *, 64> wanted;
  for (int element = start; element < start + lanes; ++element) {
    owner.push_back(element / stride);
    wanted.push_back(builder_.getInt1(element % stride == 0));
  }
  return builder_.CreateAnd(builder_.CreateShuffleVector(mask, owner),
                            llvm::ConstantVector::get(wanted));
}

/// Every `stride`-th element, by whole loads that stay between the first and the last one wanted.
Term CodeEmitter::load_strided(size_t b, llvm::Value *address, int lanes, int stride,
                               llvm::Value *mask) {
  const ScalarType type = kernel_.buffers[b].type;
  const int last = (lanes - 1) * stride;
  llvm::Value *result = nullptr;
  for (int first = 0; first <= last;) {
    // The last load is moved back to end at the last element.
    const int start = std::min(first, last - (lanes - 1));
    llvm::Value *bytes = builder_.getInt64(static_cast<std::uint64_t>(start) *
                                           static_cast<std::uint64_t>(type.bytes()));
    llvm::Value *part =
        load_part(b, offset(address, bytes), lanes,
                  mask == nullptr ? nullptr : strided_mask(mask, start, lanes, stride));
    llvm::SmallVector<int, 32> pick;
    for (int k = 0; k < lanes; ++k) {
      const int element = k * stride;
      if (element >= first && element < start + lanes) {
        pick.push_back(lanes + element - start);
      } else {
        pick.push_back(element < first ? k : -1);
      }
    }
    result = builder_.CreateShuffleVector(
        result == nullptr ? llvm::PoisonValue::get(part->getType()) : result, part, pick);
    first = start + lanes;
  }
  Term term;
  term.re = from_memory(result, type, lanes);
  return term;
}

/// Lanes that take no part read what one of the others reads: loops with masks run where there is
/// one. (LLVM would branch around each lane.)
Term CodeEmitter::gather_one_by_one(size_t b, llvm::Value *addresses, int lanes,
                                    llvm::Value *mask) {
  const ScalarType type = kernel_.buffers[b].type;
  llvm::Value *bits =
      builder_.CreateBitCast(mask, builder_.getIntNTy(static_cast<unsigned>(lanes)));
  llvm::Value *active =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder_.getTrue());
  llvm::Value *safe = builder_.CreateExtractElement(
      addresses, builder_.CreateZExtOrTrunc(active, builder_.getInt64Ty()));
  addresses = builder_.CreateSelect(mask, addresses,
                                    builder_.CreateVectorSplat(static_cast<unsigned>(lanes), safe));
  Term result = semantics_.poison({type, lanes});
  for (int k = 0; k < lanes; ++k) {
    llvm::Value *address =
        builder_.CreateExtractElement(addresses, builder_.getInt64(static_cast<std::uint64_t>(k)));
    result = semantics_.with_lane(result, load_element(b, address), k);
  }
  return result;
}

/// By the target's gather, where it has one or the lanes have a mask; else lane by lane.
Term CodeEmitter::gather(size_t b, const Address &where, int lanes, llvm::Value *mask) {
  const ScalarType type = kernel_.buffers[b].type;
  const bool wide = type.bytes() >= smallest_gathered && !type.is_complex();
  if (mask == nullptr && (!wide || !target_.has_gathers || lanes < fewest_gathered)) {
    Term result = semantics_.poison({type, lanes});
    for (int k = 0; k < lanes; ++k) {
      result = semantics_.with_lane(result, load_element(b, lane_address(where, k)), k);
    }
    return result;
  }
  llvm::Value *addresses = lane_addresses(where, lanes);
  if (mask == nullptr) {
    mask = llvm::ConstantInt::getTrue(
        llvm::FixedVectorType::get(builder_.getInt1Ty(), static_cast<unsigned>(lanes)));
  } else {
    require_no_mask(type.is_complex() ? mask : nullptr);
    if (!wide) {
      return gather_one_by_one(b, addresses, lanes, mask);
    }
  }
  llvm::Value *result = nullptr;
  for (const auto &[first, count] : powers_of_two(lanes)) {
    const bool whole = count == lanes;
    // A vector also where it has one lane.
    llvm::Type *memory =
        llvm::FixedVectorType::get(memory_type(context_, type, 1), static_cast<unsigned>(count));
    const auto pick = lanes_between(first, first + count);
    llvm::CallInst *load = builder_.CreateMaskedGather(
        memory, whole ? addresses : builder_.CreateShuffleVector(addresses, pick),
        frame_.buffers[b].alignment, whole ? mask : builder_.CreateShuffleVector(mask, pick),
        llvm::Constant::getNullValue(memory));
    annotate(load, b);
    if (result == nullptr) {
      result = load;
      continue;
    }
    // As long as what is there already, then behind it.
    llvm::SmallVector<int, 64> longer = lanes_between(0, count);
    longer.resize(static_cast<size_t>(first), -1);
    llvm::Value *rest = builder_.CreateShuffleVector(load, longer);
    result = builder_.CreateShuffleVector(result, rest, lanes_between(0, first + count));
  }
  return Term{from_memory(result, type, lanes), nullptr};
}

Term CodeEmitter::load_lanes(size_t b, const Address &where, int lanes, llvm::Value *mask) {
  const KernelBuffer &buffer = kernel_.buffers[b];
  if (where.offsets != nullptr) {
    return gather(b, where, lanes, mask);
  }
  const auto *step = llvm::dyn_cast<llvm::ConstantInt>(where.step);
  if (where.inner > 1) {
    const auto *inner = llvm::dyn_cast<llvm::ConstantInt>(where.inner_step);
    const bool once = mask == nullptr && inner != nullptr && inner->isZero();
    const bool again = mask == nullptr && step != nullptr && step->isZero();
    if (!once && !again) {
      return gather(b, where, lanes, mask);
    }
    // One element for all lanes of an iteration, or the same ones in each.
    Address few;
    few.first = where.first;
    few.step = once ? where.step : where.inner_step;
    const Term term = load_lanes(b, few, once ? lanes / where.inner : where.inner, nullptr);
    llvm::SmallVector<int, 64> pick;
    for (int lane = 0; lane < lanes; ++lane) {
      pick.push_back(once ? lane / where.inner : lane % where.inner);
    }
    return Term{builder_.CreateShuffleVector(term.re, pick),
                term.im == nullptr ? nullptr : builder_.CreateShuffleVector(term.im, pick)};
  }
  if (step == nullptr) {
    return gather(b, where, lanes, mask);
  }
  const std::int64_t bytes = step->getSExtValue();
  const std::int64_t item = buffer.type.bytes();
  if (bytes == 0 && mask == nullptr) {
    return semantics_.splat(load_element(b, where.first), lanes);
  }
  if (bytes == item) {
    return load_contiguous(b, where.first, lanes, mask, where.alignment);
  }
  if (bytes == -item) {
    llvm::Value *lowest = offset(
        where.first, llvm::ConstantInt::getSigned(builder_.getInt64Ty(), -item * (lanes - 1)));
    if (mask != nullptr) {
      mask = builder_.CreateShuffleVector(mask, reversed(lanes));
    }
    Term term = load_contiguous(b, lowest, lanes, mask);
    term.re = builder_.CreateShuffleVector(term.re, reversed(lanes));
    if (term.im != nullptr) {
      term.im = builder_.CreateShuffleVector(term.im, reversed(lanes));
    }
    return term;
  }
  if (is_small_stride(bytes, buffer.type, lanes)) {
    return load_strided(b, where.first, lanes, static_cast<int>(bytes / item), mask);
  }
  return gather(b, where, lanes, mask);
}

Term CodeEmitter::load_inside(const Load &value, llvm::Value *mask) {
  const auto b = static_cast<size_t>(value.buffer);
  const KernelBuffer &buffer = kernel_.buffers.at(b);
  if (!(buffer.type == value.type.scalar)) {
    throw Error(ErrorKind::Internal,
                "a load of '" + buffer.name + "' with another type than the buffer's");
  }
  const int lanes = value.type.lanes;
  const Address where = address(b, value.operands, lanes);
  if (!frame_.prefetches.empty() && where.offsets == nullptr) {
    prefetch(b, value.operands, where.first, false);
  }
  return lanes == 1 ? load_element(b, where.first) : load_lanes(b, where, lanes, mask);
}

void CodeEmitter::store_part(size_t b, llvm::Value *address, llvm::Value *value, llvm::Value *mask,
                             llvm::MaybeAlign known) {
  if (kernel_.buffers[b].is_streamed && !is_device_ && mask == nullptr &&
      value->getType()->isVectorTy()) {
    stream_part(b, address, value);
    return;
  }
  const llvm::Align alignment = known.value_or(frame_.buffers[b].alignment);
  llvm::Instruction *store = nullptr;
  if (mask == nullptr) {
    store = builder_.CreateAlignedStore(value, address, alignment);
  } else {
    store = builder_.CreateMaskedStore(value, address, alignment, mask);
  }
  annotate(store, b);
}

void CodeEmitter::store_element(size_t b, llvm::Value *address, const Term &value) {
  const ScalarType type = kernel_.buffers[b].type;
  store_part(b, address, to_memory(value.re, type, 1));
  if (type.is_complex()) {
    store_part(b, offset(address, builder_.getInt64(static_cast<std::uint64_t>(type.bytes() / 2))),
               value.im);
  }
}

void CodeEmitter::store_contiguous(size_t b, llvm::Value *address, const Term &value, int lanes,
                                   llvm::Value *mask, llvm::MaybeAlign alignment) {
  const ScalarType type = kernel_.buffers[b].type;
  if (!type.is_complex()) {
    store_part(b, address, to_memory(value.re, type, lanes), mask, alignment);
    return;
  }
  require_no_mask(mask);
  llvm::SmallVector<int, 64> interleave;
  for (int k = 0; k < lanes; ++k) {
    interleave.append({k, lanes + k});
  }
  store_part(b, address, builder_.CreateShuffleVector(value.re, value.im, interleave), nullptr,
             alignment);
}

void CodeEmitter::store(const ElementChange &statement) {
  const auto b = static_cast<size_t>(statement.buffer);
  const KernelBuffer &buffer = kernel_.buffers.at(b);
  int lanes = statement.value->type.lanes;
  for (const ValuePtr &subscript : statement.subscripts) {
    lanes = std::max(lanes, subscript->type.lanes);
  }
  const auto *masked = as<Store>(statement);
  Term term = updated(masked != nullptr ? masked->op : Op::None, *statement.value,
                      ValueType{buffer.type, lanes});
  llvm::Value *mask = masked != nullptr && masked->mask ? scalar(*masked->mask) : nullptr;
  const Address where = address(b, statement.subscripts, lanes);
  if (!frame_.prefetches.empty() && where.offsets == nullptr && !buffer.is_streamed) {
    prefetch(b, statement.subscripts, where.first, true);
  }
  if (lanes == 1) {
    store_element(b, where.first, term);
    return;
  }
  if (const auto *step = where.offsets == nullptr && where.inner == 1
                             ? llvm::dyn_cast<llvm::ConstantInt>(where.step)
                             : nullptr) {
    const std::int64_t bytes = step->getSExtValue();
    const std::int64_t item = buffer.type.bytes();
    if (bytes == 0 && mask == nullptr) {
      store_element(b, where.first, semantics_.lane(term, lanes - 1));
      return;
    }
    if (bytes == item) {
      store_contiguous(b, where.first, term, lanes, mask, where.alignment);
      return;
    }
    if (bytes == -item) {
      term.re = builder_.CreateShuffleVector(term.re, reversed(lanes));
      if (term.im != nullptr) {
        term.im = builder_.CreateShuffleVector(term.im, reversed(lanes));
      }
      if (mask != nullptr) {
        mask = builder_.CreateShuffleVector(mask, reversed(lanes));
      }
      llvm::Value *lowest = offset(
          where.first, llvm::ConstantInt::getSigned(builder_.getInt64Ty(), -item * (lanes - 1)));
      store_contiguous(b, lowest, term, lanes, mask);
      return;
    }
    if (target_.has_mask_registers && is_small_stride(bytes, buffer.type, lanes)) {
      store_strided(b, where.first, term, lanes, static_cast<int>(bytes / item), mask);
      return;
    }
  }
  scatter(b, where, term, lanes, mask);
}

/// Every `stride`-th element, by whole vectors with masks that stay between the first and the last
/// one: the elements between stay as they are, and a load of what lies behind need not wait for the
/// store, as it would for one that merely covers it.
void CodeEmitter::store_strided(size_t b, llvm::Value *address, const Term &value, int lanes,
                                int stride, llvm::Value *mask) {
  const ScalarType type = kernel_.buffers[b].type;
  llvm::Value *stored = to_memory(value.re, type, lanes);
  if (mask == nullptr) {
    mask = llvm::ConstantInt::getTrue(
        llvm::FixedVectorType::get(builder_.getInt1Ty(), static_cast<unsigned>(lanes)));
  }
  const int last = (lanes - 1) * stride;
  for (int first = 0; first <= last;) {
    const int start = std::min(first, last - (lanes - 1));
    first = start + lanes;
    llvm::SmallVector<int, 64> owner;
    for (int element = start; element < start + lanes; ++element) {
      owner.push_back(element / stride);
    }
    llvm::Value *bytes = builder_.getInt64(static_cast<std::uint64_t>(start) *
                                           static_cast<std::uint64_t>(type.bytes()));
    store_part(b, offset(address, bytes), builder_.CreateShuffleVector(stored, owner),
               strided_mask(mask, start, lanes, stride));
  }
}

/// Lane by lane; under a mask by the target's scatter.
void CodeEmitter::scatter(size_t b, const Address &where, const Term &value, int lanes,
                          llvm::Value *mask) {
  const ScalarType type = kernel_.buffers[b].type;
  if (mask == nullptr) {
    for (int k = 0; k < lanes; ++k) {
      store_element(b, lane_address(where, k), semantics_.lane(value, k));
    }
    return;
  }
  require_no_mask(type.is_complex() ? mask : nullptr);
  llvm::Value *addresses = lane_addresses(where, lanes);
  llvm::Value *stored = to_memory(value.re, type, lanes);
  for (const auto &[first, count] : powers_of_two(lanes)) {
    const auto pick = lanes_between(first, first + count);
    annotate(builder_.CreateMaskedScatter(builder_.CreateShuffleVector(stored, pick),
                                          builder_.CreateShuffleVector(addresses, pick),
                                          frame_.buffers[b].alignment,
                                          builder_.CreateShuffleVector(mask, pick)),
             b);
  }
}

Term CodeEmitter::load(const Load &value, llvm::Value *mask) { return load_inside(value, mask); }

void CodeEmitter::write(const ElementChange &statement) {
  if (const auto *update = as<AtomicUpdate>(statement)) {
    atomic_update(*update);
  } else {
    store(statement);
  }
}

} // namespace tilewright
