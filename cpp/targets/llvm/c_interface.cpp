#include "targets/llvm/c_interface.h"

#include "algorithm/size_parameters.h"
#include "loops/build.h"
#include "runtime/abi.h"

namespace tilewright {

struct CInterface::Arguments {
  std::vector<llvm::Value *> arrays;               ///< addresses
  std::vector<std::vector<llvm::Value *>> extents; ///< by array, by dimension
  std::vector<std::vector<llvm::Value *>> strides; ///< in bytes
  std::vector<llvm::Value *> sizes;                ///< elements of each array
};

void CInterface::refuse_if(llvm::Value *condition, std::int32_t status) {
  if (const auto *known = llvm::dyn_cast<llvm::ConstantInt>(condition);
      known != nullptr && known->isZero()) {
    return;
  }
  llvm::BasicBlock *refused = new_block("refused");
  llvm::BasicBlock *checked = new_block("checked");
  builder_.CreateCondBr(condition, refused, checked);
  builder_.SetInsertPoint(refused);
  builder_.CreateRet(builder_.getInt32(static_cast<std::uint32_t>(status)));
  builder_.SetInsertPoint(checked);
}

/// Addresses, extents and strides of the arrays.
void CInterface::open_arguments(const CFunction &interface, Arguments &given) {
  llvm::Function *function = frame_.function;
  llvm::Type *i64 = builder_.getInt64Ty();
  unsigned next = 0;
  std::vector<std::vector<llvm::Value *>> outer(interface.arrays.size()); // strides, in elements
  for (size_t a = 0; a < interface.arrays.size(); ++a) {
    const CArray &array = interface.arrays[a];
    llvm::Argument *argument = function->getArg(next++);
    argument->setName(array.name);
    if (array.by_value) {
      llvm::AllocaInst *slot = entry_alloca(argument->getType(), array.name);
      builder_.CreateStore(argument, slot);
      given.arrays.push_back(slot);
    } else {
      given.arrays.push_back(argument);
    }
    const auto b = static_cast<size_t>(array.parts.front().argument);
    const size_t rank = kernel_.buffers.at(b).extents.size();
    for (size_t d = 0; interface.strides && d + 1 < rank; ++d) {
      outer[a].push_back(function->getArg(next++));
    }
  }
  for (const std::string &parameter : kernel_.parameters) {
    frame_.parameters.push_back(function->getArg(next++));
    frame_.parameters.back()->setName(parameter);
  }
  for (size_t a = 0; a < interface.arrays.size(); ++a) {
    const CArray &array = interface.arrays[a];
    const KernelBuffer &buffer = kernel_.buffers.at(static_cast<size_t>(array.parts[0].argument));
    const size_t rank = buffer.extents.size();
    llvm::Value *bytes = builder_.getInt64(static_cast<std::uint64_t>(array.element_bytes));
    std::vector<llvm::Value *> extents;
    std::vector<llvm::Value *> strides(rank);
    llvm::Value *size = llvm::ConstantInt::get(i64, 1);
    for (const ValuePtr &extent : buffer.extents) {
      extents.push_back(scalar(*extent));
      size = builder_.CreateMul(size, extents.back());
    }
    llvm::Value *packed = bytes;
    for (size_t d = rank; d-- > 0;) {
      strides[d] =
          d + 1 == rank || !interface.strides ? packed : builder_.CreateMul(outer[a][d], bytes);
      packed = builder_.CreateMul(packed, extents[d]);
    }
    given.extents.push_back(std::move(extents));
    given.strides.push_back(std::move(strides));
    given.sizes.push_back(size);
  }
}

void CInterface::check_arguments(const CFunction &interface, const Arguments &given) {
  // First: what is asked after it counts in 64 bits.
  for (const size_t size : interface.sizes) {
    llvm::Value *above_least =
        builder_.CreateAdd(frame_.parameters[size], builder_.getInt64(largest_size_parameter));
    refuse_if(builder_.CreateICmpUGT(above_least, builder_.getInt64(2 * largest_size_parameter)),
              c_status(CStatus::Sizes, 0));
  }
  refuse_if(builder_.CreateNot(scalar(*interface.context)), c_status(CStatus::Sizes, 0));
  for (const std::vector<llvm::Value *> &extents : given.extents) {
    for (llvm::Value *extent : extents) {
      refuse_if(builder_.CreateICmpSLT(extent, builder_.getInt64(0)), c_status(CStatus::Sizes, 0));
    }
  }
  for (size_t a = 0; a < interface.arrays.size(); ++a) {
    const CArray &array = interface.arrays[a];
    if (array.by_value) {
      continue;
    }
    refuse_if(builder_.CreateAnd(builder_.CreateIsNull(given.arrays[a]),
                                 builder_.CreateICmpNE(given.sizes[a], builder_.getInt64(0))),
              c_status(CStatus::Null, a));
    if (array.alignment > 1) {
      llvm::Value *address = builder_.CreatePtrToInt(given.arrays[a], builder_.getInt64Ty());
      llvm::Value *low = builder_.CreateAnd(
          address, builder_.getInt64(static_cast<std::uint64_t>(array.alignment - 1)));
      refuse_if(builder_.CreateICmpNE(low, builder_.getInt64(0)), c_status(CStatus::Alignment, a));
    }
  }
}

/// Arrays without gaps overlap where the ranges of their bytes do, if they have any. (Those of
/// strides may lie in each other's gaps.)
void CInterface::check_overlaps(const CFunction &interface, const Arguments &given) {
  const auto written = [&](const CArray &array) {
    bool any = false;
    for (const CArray::Part &part : array.parts) {
      any = any || kernel_.buffers[static_cast<size_t>(part.argument)].is_written;
    }
    return any;
  };
  const size_t count = interface.arrays.size();
  std::vector<llvm::Value *> begins(count);
  std::vector<llvm::Value *> ends(count);
  for (size_t a = 0; a < count; ++a) {
    begins[a] = builder_.CreatePtrToInt(given.arrays[a], builder_.getInt64Ty());
    ends[a] = builder_.CreateAdd(
        begins[a], builder_.CreateMul(given.sizes[a], builder_.getInt64(static_cast<std::uint64_t>(
                                                          interface.arrays[a].element_bytes))));
  }
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      if (a == b || interface.arrays[a].by_value || interface.arrays[b].by_value ||
          !written(interface.arrays[a]) || (b < a && written(interface.arrays[b]))) {
        continue;
      }
      llvm::Value *have_elements = builder_.CreateAnd(builder_.CreateICmpNE(begins[a], ends[a]),
                                                      builder_.CreateICmpNE(begins[b], ends[b]));
      refuse_if(builder_.CreateAnd(have_elements,
                                   builder_.CreateAnd(builder_.CreateICmpULT(begins[a], ends[b]),
                                                      builder_.CreateICmpULT(begins[b], ends[a]))),
                c_status(CStatus::Overlap, a));
    }
  }
}

void CInterface::emit(const CFunction &interface) {
  llvm::Function *kernel = module_.getFunction(symbol_);
  kernel->setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::Type *pointer = builder_.getPtrTy();
  std::vector<llvm::Type *> types;
  for (const CArray &array : interface.arrays) {
    const KernelBuffer &buffer = kernel_.buffers.at(static_cast<size_t>(array.parts[0].argument));
    const bool is_float = buffer.type.kind == TypeKind::Float && buffer.type.bits >= 32;
    const auto bits = static_cast<unsigned>(buffer.type.bits);
    types.push_back(!array.by_value ? pointer
                    : !is_float     ? llvm::cast<llvm::Type>(builder_.getIntNTy(bits))
                    : bits == 32    ? builder_.getFloatTy()
                                    : builder_.getDoubleTy());
    const size_t rank = buffer.extents.size();
    types.insert(types.end(), interface.strides && rank > 0 ? rank - 1 : 0, i64);
  }
  types.insert(types.end(), kernel_.parameters.size(), i64);
  llvm::Function *function = make_function(
      interface.symbol, llvm::FunctionType::get(builder_.getInt32Ty(), types, false), true);
  frame_ = Frame{};
  frame_.function = function;
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  if (interface.cpu_features != 0) {
    llvm::FunctionCallee asks =
        module_.getOrInsertFunction("tilewright_runs_here", builder_.getInt32Ty(), i64);
    llvm::Value *runs = builder_.CreateCall(asks, {builder_.getInt64(interface.cpu_features)});
    refuse_if(builder_.CreateICmpEQ(runs, builder_.getInt32(0)), c_status(CStatus::Processor, 0));
  }
  Arguments given;
  open_arguments(interface, given);
  check_arguments(interface, given);
  if (!interface.strides) {
    check_overlaps(interface, given);
  }

  // What the kernel takes: runtime/abi.h.
  std::vector<llvm::Value *> data;
  std::vector<llvm::Value *> integers = frame_.parameters;
  for (size_t b = 0; b < kernel_.buffers.size() && kernel_.buffers[b].is_argument; ++b) {
    for (size_t a = 0; a < interface.arrays.size(); ++a) {
      for (const CArray::Part &part : interface.arrays[a].parts) {
        if (part.argument == static_cast<int>(b)) {
          data.push_back(
              offset(given.arrays[a], builder_.getInt64(static_cast<std::uint64_t>(part.offset))));
          integers.insert(integers.end(), given.strides[a].begin(), given.strides[a].end());
        }
      }
    }
    if (data.size() != b + 1) {
      throw Error(ErrorKind::Internal,
                  "the C function has no single place for the argument " + kernel_.buffers[b].name);
    }
  }
  const auto packed = [&](const std::vector<llvm::Value *> &values, llvm::Type *type,
                          const char *name) {
    llvm::AllocaInst *list = entry_alloca(llvm::ArrayType::get(type, values.size()), name);
    for (size_t k = 0; k < values.size(); ++k) {
      builder_.CreateStore(values[k], builder_.CreateConstInBoundsGEP1_64(type, list, k));
    }
    return list;
  };
  // Only its first fields are used: nobody asks such a kernel to end.
  llvm::AllocaInst *record =
      entry_alloca(llvm::ArrayType::get(i64, (sizeof(CallRecord) + 7) / 8), "record");
  llvm::Value *status = builder_.CreateCall(
      kernel, {packed(data, pointer, "data"), packed(integers, i64, "integers"), record});
  llvm::Value *site = builder_.CreateShl(
      builder_.CreateTrunc(builder_.CreateLoad(i64, record), builder_.getInt32Ty()), 8);
  llvm::Value *is_subscript = builder_.CreateICmpEQ(
      status, builder_.getInt32(static_cast<std::uint32_t>(CStatus::Subscript)));
  builder_.CreateRet(builder_.CreateSelect(is_subscript, builder_.CreateOr(status, site), status));
  emit_message(interface);
  emit_threads(interface);
}

/// const char *SYMBOL_message(int32_t status)
void CInterface::emit_message(const CFunction &interface) {
  llvm::Function *function = make_function(
      interface.symbol + "_message",
      llvm::FunctionType::get(builder_.getPtrTy(), {builder_.getInt32Ty()}, false), true);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  llvm::BasicBlock *unknown = llvm::BasicBlock::Create(context_, "unknown", function);
  llvm::SwitchInst *choice = builder_.CreateSwitch(
      function->getArg(0), unknown, static_cast<unsigned>(interface.messages.size()));
  const auto answer = [&](llvm::BasicBlock *block, const std::string &text) {
    builder_.SetInsertPoint(block);
    builder_.CreateRet(builder_.CreateGlobalString(text, "message"));
  };
  for (const auto &[status, text] : interface.messages) {
    llvm::BasicBlock *block = llvm::BasicBlock::Create(context_, "status", function);
    choice->addCase(builder_.getInt32(static_cast<std::uint32_t>(status)), block);
    answer(block, text);
  }
  answer(unknown, "not a status of " + interface.symbol);
}

/// void SYMBOL_set_num_threads(int32_t count)
void CInterface::emit_threads(const CFunction &interface) {
  auto *type = llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getInt32Ty()}, false);
  llvm::Function *function = make_function(interface.symbol + "_set_num_threads", type, true);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  builder_.CreateCall(module_.getOrInsertFunction("tilewright_set_num_threads", type),
                      {function->getArg(0)});
  builder_.CreateRetVoid();
}

/// Bounds of arrays are checked by refusals; there is nothing else to report.
void CInterface::report(const Failure & /*failure*/) {
  throw Error(ErrorKind::Internal, "a check of the kernel in its C function");
}

} // namespace tilewright
