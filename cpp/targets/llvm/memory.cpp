// Loads and stores: addresses in bytes, grouped by the loop in which each part changes so that the
// outer parts are hoisted; contiguous, reversed, small-stride and irregular vectors.
#include "targets/llvm/function_emitter.h"
#include "targets/nvptx/lower.h"

#include <algorithm>
#include <map>

namespace tilewright {

namespace {

constexpr int widest_small_stride = 4;

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

/// The two parts of a complex number would each need the mask; the loop passes make none.
void require_no_mask(const llvm::Value *mask) {
  if (mask != nullptr) {
    throw Error(ErrorKind::Internal, "a vector of complex numbers under a mask");
  }
}

} // namespace

llvm::Value *KernelEmitter::offset(llvm::Value *base, llvm::Value *bytes) {
  if (const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(bytes);
      constant != nullptr && constant->isZero()) {
    return base;
  }
  return builder_.CreateGEP(builder_.getInt8Ty(), base, bytes);
}

/// Multiples of a loop's counter are counted up with it, where a multiplication would be needed in
/// each iteration: the back end's own strength reduction takes longer than all the rest of it.
llvm::Value *KernelEmitter::scaled(const Value &value, llvm::Value *stride, std::int64_t factor) {
  const auto *variable = as<Variable>(value);
  const auto slot =
      variable != nullptr ? frame_.variables.find(variable->id) : frame_.variables.end();
  const auto product = [&] {
    return builder_.CreateNSWMul(stride,
                                 llvm::ConstantInt::getSigned(builder_.getInt64Ty(), factor));
  };
  const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(stride);
  const std::int64_t bytes = constant == nullptr ? 0 : constant->getSExtValue() * factor;
  const bool is_scale = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; // part of an address
  const auto *instruction = llvm::dyn_cast<llvm::Instruction>(stride);
  const bool known_outside =
      instruction == nullptr || instruction->getParent() == &frame_.function->getEntryBlock();
  if (slot == frame_.variables.end() || slot->second.loop < 0 || is_scale || !known_outside) {
    return builder_.CreateNSWMul(scalar(value), product());
  }
  OpenLoop &loop = frame_.loops[static_cast<size_t>(slot->second.loop)];
  for (const OpenLoop::Multiple &multiple : loop.multiples) {
    if (multiple.stride == stride && multiple.factor == factor) {
      return multiple.value;
    }
  }
  llvm::IRBuilder<>::InsertPointGuard here(builder_);
  builder_.SetInsertPoint(loop.before->getTerminator());
  llvm::Value *step = product();
  llvm::Value *first = builder_.CreateNSWMul(loop.lower, step);
  builder_.SetInsertPoint(loop.body, loop.body->begin());
  llvm::PHINode *multiple = builder_.CreatePHI(builder_.getInt64Ty(), 2, variable->name + ".bytes");
  multiple->addIncoming(first, loop.before);
  loop.multiples.push_back({stride, factor, multiple, step});
  return multiple;
}

KernelEmitter::Address KernelEmitter::address(size_t b, const std::vector<ValuePtr> &subscripts,
                                              int lanes) {
  const BufferSlot &slot = frame_.buffers.at(b);
  if (subscripts.size() != slot.strides.size()) {
    throw Error(ErrorKind::Internal, "'" + kernel_.buffers[b].name + "' has " +
                                         std::to_string(slot.strides.size()) +
                                         " dimensions and is accessed with " +
                                         std::to_string(subscripts.size()) + " subscripts");
  }
  Address result;
  result.first = slot.base;
  std::vector<SubscriptSum> sums;
  bool regular = true;
  int inner = 1;
  for (const ValuePtr &subscript : subscripts) {
    sums.push_back(split_subscript(*subscript));
    regular = regular && sums.back().regular;
    inner = std::max(inner, sums.back().inner);
  }
  for (SubscriptSum &sum : sums) {
    regular = regular && split_lanes(sum, inner);
  }
  if (!regular) {
    // Lanes of two loops in one subscript and of another two in the next: as opaque as any.
    for (size_t d = 0; d < sums.size(); ++d) {
      sums[d] = SubscriptSum{};
      (subscripts[d]->type.lanes > 1 ? sums[d].of_lanes : sums[d].terms)
          .push_back({subscripts[d].get(), 1});
    }
    inner = 1;
  }
  auto times = [&](llvm::Value *stride, std::int64_t factor) {
    return builder_.CreateNSWMul(stride,
                                 llvm::ConstantInt::getSigned(builder_.getInt64Ty(), factor));
  };
  // One step of the address for each loop depth, outermost first; constants of the unit dimension
  // last, where they become displacements.
  std::map<int, llvm::Value *> parts;
  auto add = [&](int depth, llvm::Value *bytes) {
    llvm::Value *&part = parts[depth];
    part = part == nullptr ? bytes : builder_.CreateNSWAdd(part, bytes);
  };
  if (is_device_) {
    result.alignment = known_alignment(b, sums);
  }
  const int last = frame_.depth + 1;
  llvm::Value *step = builder_.getInt64(0);
  llvm::Value *inner_step = builder_.getInt64(0);
  for (size_t d = 0; d < sums.size(); ++d) {
    llvm::Value *stride = slot.strides[d];
    for (const SubscriptTerm &term : sums[d].terms) {
      if (term.coefficient != 0) {
        add(depth_of(*term.value), scaled(*term.value, stride, term.coefficient));
      }
    }
    if (sums[d].constant != 0) {
      add(llvm::isa<llvm::ConstantInt>(stride) ? last : 0, times(stride, sums[d].constant));
    }
    if (sums[d].lane_step != 0) {
      step = builder_.CreateNSWAdd(step, times(stride, sums[d].lane_step));
    }
    if (sums[d].inner_step != 0) {
      inner_step = builder_.CreateNSWAdd(inner_step, times(stride, sums[d].inner_step));
    }
    for (const SubscriptTerm &term : sums[d].of_lanes) {
      const auto count = static_cast<unsigned>(lanes);
      llvm::Value *bytes = builder_.CreateNSWMul(
          scalar(*term.value), builder_.CreateVectorSplat(count, times(stride, term.coefficient)));
      result.offsets =
          result.offsets == nullptr ? bytes : builder_.CreateNSWAdd(result.offsets, bytes);
    }
  }
  for (const auto &[depth, bytes] : parts) {
    result.first = offset(result.first, bytes);
  }
  result.step = lanes > 1 ? step : nullptr;
  if (inner > 1) {
    result.inner = inner;
    result.inner_step = inner_step;
    // The lanes of both loops may be one progression: the channels of an image, pixel by pixel.
    const auto *outer = llvm::dyn_cast<llvm::ConstantInt>(step);
    const auto *within = llvm::dyn_cast<llvm::ConstantInt>(inner_step);
    if (outer != nullptr && within != nullptr &&
        outer->getSExtValue() == inner * within->getSExtValue()) {
      result.inner = 1;
      result.inner_step = nullptr;
      result.step = inner_step;
    }
  }
  if (result.offsets != nullptr) {
    const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(result.step);
    if (result.inner > 1 || constant == nullptr || !constant->isZero()) {
      result.offsets = builder_.CreateNSWAdd(result.offsets, bytes_to_lanes(result, lanes));
    }
    result.inner = 1;
    result.step = nullptr;
    result.inner_step = nullptr;
  }
  return result;
}

/// What each lane's address is above the first one's, in bytes.
llvm::Value *KernelEmitter::bytes_to_lanes(const Address &address, int lanes) {
  const auto steps = [&](llvm::Value *step, const auto &times) {
    std::vector<llvm::Constant *> factors;
    for (int lane = 0; lane < lanes; ++lane) {
      factors.push_back(builder_.getInt64(static_cast<std::uint64_t>(times(lane))));
    }
    return builder_.CreateNSWMul(builder_.CreateVectorSplat(static_cast<unsigned>(lanes), step),
                                 llvm::ConstantVector::get(factors));
  };
  llvm::Value *bytes = steps(address.step, [&](int lane) { return lane / address.inner; });
  if (address.inner > 1) {
    bytes = builder_.CreateNSWAdd(
        bytes, steps(address.inner_step, [&](int lane) { return lane % address.inner; }));
  }
  return bytes;
}

llvm::Value *KernelEmitter::lane_address(const Address &address, int lane) {
  if (address.offsets != nullptr) {
    llvm::Value *bytes = builder_.CreateExtractElement(
        address.offsets, builder_.getInt64(static_cast<std::uint64_t>(lane)));
    return builder_.CreateGEP(builder_.getInt8Ty(), address.first, bytes);
  }
  if (lane == 0 || address.step == nullptr) {
    return address.first;
  }
  const auto steps = [&](llvm::Value *step, int count) {
    return builder_.CreateNSWMul(step, builder_.getInt64(static_cast<std::uint64_t>(count)));
  };
  llvm::Value *bytes = steps(address.step, lane / address.inner);
  if (address.inner > 1) {
    bytes = builder_.CreateNSWAdd(bytes, steps(address.inner_step, lane % address.inner));
  }
  return offset(address.first, bytes);
}

/// A vector of the addresses of all lanes.
llvm::Value *KernelEmitter::lane_addresses(const Address &address, int lanes) {
  llvm::Value *bytes =
      address.offsets != nullptr ? address.offsets : bytes_to_lanes(address, lanes);
  return builder_.CreateGEP(builder_.getInt8Ty(), address.first, bytes);
}

/// Which buffer an access of a GPU's thread is to.
void KernelEmitter::note_buffer(llvm::Instruction *instruction, size_t b) {
  if (is_device_) {
    auto *number = llvm::ConstantAsMetadata::get(builder_.getInt32(static_cast<std::uint32_t>(b)));
    instruction->setMetadata(buffer_metadata, llvm::MDNode::get(context_, {number}));
  }
}

void KernelEmitter::annotate(llvm::Instruction *instruction, size_t b) {
  instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, frame_.buffers[b].scope);
  note_buffer(instruction, b);
  if (kernel_.buffers.size() > 1) {
    instruction->setMetadata(llvm::LLVMContext::MD_noalias, frame_.buffers[b].others);
  }
  if (llvm::isa<llvm::LoadInst>(instruction) && kernel_.buffers[b].is_argument &&
      !kernel_.buffers[b].is_written) {
    instruction->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  }
}

llvm::Value *KernelEmitter::from_memory(llvm::Value *value, ScalarType type, int lanes) {
  if (!type.is_bool()) {
    return value;
  }
  return builder_.CreateICmpNE(value,
                               llvm::Constant::getNullValue(memory_type(context_, type, lanes)));
}

llvm::Value *KernelEmitter::to_memory(llvm::Value *value, ScalarType type, int lanes) {
  return type.is_bool() ? builder_.CreateZExt(value, memory_type(context_, type, lanes)) : value;
}

/// `lanes` components that lie one after the other; as they are in memory.
llvm::Value *KernelEmitter::load_part(size_t b, llvm::Value *address, int lanes, llvm::Value *mask,
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

Term KernelEmitter::load_element(size_t b, llvm::Value *address) {
  const ScalarType type = kernel_.buffers[b].type;
  Term term;
  term.re = from_memory(load_part(b, address, 1), type, 1);
  if (type.is_complex()) {
    const auto half = static_cast<std::uint64_t>(type.bytes() / 2);
    term.im = load_part(b, offset(address, builder_.getInt64(half)), 1);
  }
  return term;
}

Term KernelEmitter::load_contiguous(size_t b, llvm::Value *address, int lanes, llvm::Value *mask,
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
llvm::Value *KernelEmitter::strided_mask(llvm::Value *mask, int start, int lanes, int stride) {
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
Term KernelEmitter::load_strided(size_t b, llvm::Value *address, int lanes, int stride,
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
Term KernelEmitter::gather_one_by_one(size_t b, llvm::Value *addresses, int lanes,
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
Term KernelEmitter::gather(size_t b, const Address &where, int lanes, llvm::Value *mask) {
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

Term KernelEmitter::load_lanes(size_t b, const Address &where, int lanes, llvm::Value *mask) {
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
  if (!buffer.type.is_complex() && lanes >= 4 && bytes > 0 && bytes % item == 0 &&
      bytes / item <= widest_small_stride) {
    return load_strided(b, where.first, lanes, static_cast<int>(bytes / item), mask);
  }
  return gather(b, where, lanes, mask);
}

Term KernelEmitter::load_inside(const Load &value, llvm::Value *mask) {
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

void KernelEmitter::store_part(size_t b, llvm::Value *address, llvm::Value *value,
                               llvm::Value *mask, llvm::MaybeAlign known) {
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

void KernelEmitter::store_element(size_t b, llvm::Value *address, const Term &value) {
  const ScalarType type = kernel_.buffers[b].type;
  store_part(b, address, to_memory(value.re, type, 1));
  if (type.is_complex()) {
    store_part(b, offset(address, builder_.getInt64(static_cast<std::uint64_t>(type.bytes() / 2))),
               value.im);
  }
}

void KernelEmitter::store_contiguous(size_t b, llvm::Value *address, const Term &value, int lanes,
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

void KernelEmitter::store(const ElementChange &statement) {
  const auto b = static_cast<size_t>(statement.buffer);
  const KernelBuffer &buffer = kernel_.buffers.at(b);
  int lanes = statement.value->type.lanes;
  for (const ValuePtr &subscript : statement.subscripts) {
    lanes = std::max(lanes, subscript->type.lanes);
  }
  Term term = operand(*statement.value, ValueType{buffer.type, lanes});
  const auto *masked = as<Store>(statement);
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
  }
  scatter(b, where, term, lanes, mask);
}

/// Lane by lane; under a mask by the target's scatter.
void KernelEmitter::scatter(size_t b, const Address &where, const Term &value, int lanes,
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

} // namespace tilewright
