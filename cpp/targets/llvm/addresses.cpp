// Addresses in bytes, grouped by the loop in which each part changes so that the outer parts are
// hoisted, and what LLVM is told of an access.
#include "loops/build.h"
#include "targets/llvm/code_emitter.h"

#include <algorithm>
#include <map>

namespace tilewright {

llvm::Value *CodeEmitter::offset(llvm::Value *base, llvm::Value *bytes) {
  if (const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(bytes);
      constant != nullptr && constant->isZero()) {
    return base;
  }
  return builder_.CreateGEP(builder_.getInt8Ty(), base, bytes);
}

llvm::Value *CodeEmitter::times(llvm::Value *stride, std::int64_t factor) {
  return builder_.CreateNSWMul(stride, llvm::ConstantInt::getSigned(builder_.getInt64Ty(), factor));
}

/// Multiples of a loop's counter are counted up with it, where a multiplication would be needed in
/// each iteration: the back end's own strength reduction takes longer than all the rest of it.
llvm::Value *CodeEmitter::scaled(const Value &value, llvm::Value *stride, std::int64_t factor) {
  const auto *variable = as<Variable>(value);
  const auto slot =
      variable != nullptr ? frame_.variables.find(variable->id) : frame_.variables.end();
  const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(stride);
  const std::int64_t bytes = constant == nullptr ? 0 : constant->getSExtValue() * factor;
  const bool is_scale = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; // part of an address
  const auto *instruction = llvm::dyn_cast<llvm::Instruction>(stride);
  const bool known_outside =
      instruction == nullptr || instruction->getParent() == &frame_.function->getEntryBlock();
  if (slot == frame_.variables.end() || slot->second.loop < 0 || is_scale || !known_outside) {
    return builder_.CreateNSWMul(scalar(value), times(stride, factor));
  }
  OpenLoop &loop = frame_.loops[static_cast<size_t>(slot->second.loop)];
  for (const OpenLoop::Multiple &multiple : loop.multiples) {
    if (multiple.stride == stride && multiple.factor == factor) {
      return multiple.value;
    }
  }
  llvm::IRBuilder<>::InsertPointGuard here(builder_);
  builder_.SetInsertPoint(loop.before->getTerminator());
  llvm::Value *step = times(stride, factor);
  llvm::Value *first = builder_.CreateNSWMul(loop.lower, step);
  builder_.SetInsertPoint(loop.body, loop.body->begin());
  llvm::PHINode *multiple = builder_.CreatePHI(builder_.getInt64Ty(), 2, variable->name + ".bytes");
  multiple->addIncoming(first, loop.before);
  loop.multiples.push_back({stride, factor, multiple, step});
  return multiple;
}

/// What the subscripts of an access add up to, in bytes.
struct CodeEmitter::AddressParts {
  /// One step of the address for each loop depth, outermost first; constants of the unit dimension
  /// last, where they become displacements.
  std::map<int, llvm::Value *> by_depth;
  llvm::Value *step = nullptr;
  llvm::Value *inner_step = nullptr;
  llvm::Value *offsets = nullptr; ///< of lanes that are no progression
};

/// The subscripts as sums whose lanes are of one form: `inner` of them belong to one step.
std::vector<SubscriptSum> CodeEmitter::sums_of(size_t b, const std::vector<ValuePtr> &subscripts,
                                               int &inner) {
  const size_t rank = frame_.buffers.at(b).strides.size();
  if (subscripts.size() != rank) {
    throw Error(ErrorKind::Internal, "'" + kernel_.buffers[b].name + "' has " +
                                         std::to_string(rank) +
                                         " dimensions and is accessed with " +
                                         std::to_string(subscripts.size()) + " subscripts");
  }
  std::vector<SubscriptSum> sums;
  bool regular = true;
  inner = 1;
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
  return sums;
}

CodeEmitter::AddressParts CodeEmitter::parts_of(const std::vector<SubscriptSum> &sums,
                                                const BufferSlot &slot, int lanes) {
  AddressParts parts;
  const auto add = [&](int depth, llvm::Value *bytes) {
    llvm::Value *&part = parts.by_depth[depth];
    part = part == nullptr ? bytes : builder_.CreateNSWAdd(part, bytes);
  };
  const int last = frame_.depth + 1;
  parts.step = builder_.getInt64(0);
  parts.inner_step = builder_.getInt64(0);
  // The same term in two dimensions may cancel out: of a pixel and its channel, which are quotient
  // and remainder of one counter, the array has one element after the other.
  std::vector<std::pair<const Value *, llvm::Value *>> of_lanes;
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
      parts.step = builder_.CreateNSWAdd(parts.step, times(stride, sums[d].lane_step));
    }
    if (sums[d].inner_step != 0) {
      parts.inner_step = builder_.CreateNSWAdd(parts.inner_step, times(stride, sums[d].inner_step));
    }
    for (const SubscriptTerm &term : sums[d].of_lanes) {
      llvm::Value *bytes = times(stride, term.coefficient);
      const auto same = std::find_if(of_lanes.begin(), of_lanes.end(), [&](const auto &other) {
        return are_same(*other.first, *term.value);
      });
      if (same == of_lanes.end()) {
        of_lanes.emplace_back(term.value, bytes);
      } else {
        same->second = builder_.CreateNSWAdd(same->second, bytes);
      }
    }
  }
  for (const auto &[value, bytes] : of_lanes) {
    const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(bytes);
    if (constant != nullptr && constant->isZero()) {
      continue;
    }
    llvm::Value *all = builder_.CreateNSWMul(
        scalar(*value), builder_.CreateVectorSplat(static_cast<unsigned>(lanes), bytes));
    parts.offsets = parts.offsets == nullptr ? all : builder_.CreateNSWAdd(parts.offsets, all);
  }
  return parts;
}

/// How the lanes lie above the first one: a progression, one of progressions, or offsets.
void CodeEmitter::settle_lanes(Address &result, const AddressParts &parts, int inner, int lanes) {
  result.step = lanes > 1 ? parts.step : nullptr;
  result.offsets = parts.offsets;
  if (inner > 1) {
    result.inner = inner;
    result.inner_step = parts.inner_step;
    // The lanes of both loops may be one progression: the channels of an image, pixel by pixel.
    const auto *outer = llvm::dyn_cast<llvm::ConstantInt>(parts.step);
    const auto *within = llvm::dyn_cast<llvm::ConstantInt>(parts.inner_step);
    if (outer != nullptr && within != nullptr &&
        outer->getSExtValue() == inner * within->getSExtValue()) {
      result.inner = 1;
      result.inner_step = nullptr;
      result.step = parts.inner_step;
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
}

CodeEmitter::Address CodeEmitter::address(size_t b, const std::vector<ValuePtr> &subscripts,
                                          int lanes) {
  int inner = 1;
  const std::vector<SubscriptSum> sums = sums_of(b, subscripts, inner);
  const BufferSlot &slot = frame_.buffers.at(b);
  Address result;
  result.alignment = known_alignment(b, sums);
  const AddressParts parts = parts_of(sums, slot, lanes);
  result.first = slot.base;
  for (const auto &[depth, bytes] : parts.by_depth) {
    result.first = offset(result.first, bytes);
  }
  settle_lanes(result, parts, inner, lanes);
  return result;
}

/// What each lane's address is above the first one's, in bytes.
llvm::Value *CodeEmitter::bytes_to_lanes(const Address &address, int lanes) {
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

llvm::Value *CodeEmitter::lane_address(const Address &address, int lane) {
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
llvm::Value *CodeEmitter::lane_addresses(const Address &address, int lanes) {
  llvm::Value *bytes =
      address.offsets != nullptr ? address.offsets : bytes_to_lanes(address, lanes);
  return builder_.CreateGEP(builder_.getInt8Ty(), address.first, bytes);
}

/// Which buffer an access of a GPU's thread is to.
void CodeEmitter::note_buffer(llvm::Instruction *instruction, size_t b) {
  if (is_device_) {
    auto *number = llvm::ConstantAsMetadata::get(builder_.getInt32(static_cast<std::uint32_t>(b)));
    instruction->setMetadata(buffer_metadata, llvm::MDNode::get(context_, {number}));
  }
}

void CodeEmitter::annotate(llvm::Instruction *instruction, size_t b) {
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

} // namespace tilewright
