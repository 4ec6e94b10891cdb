// The frame of host code: the kernel's entry, its arguments, temporaries and exit.
#include "hardware/processor.h"
#include "loops/build.h"
#include "mapping/local_memory.h"
#include "runtime/abi.h"
#include "targets/llvm/host_emitter.h"

#include <map>

namespace tilewright {

void HostEmitter::open_frame(llvm::Function *function, llvm::Value *data, llvm::Value *integers,
                             llvm::Value *record) {
  frame_ = Frame{};
  frame_.function = function;
  frame_.data = data;
  frame_.integers = integers;
  frame_.record = record;
  frame_.status = entry_alloca(builder_.getInt32Ty(), "status");
  frame_.exit = llvm::BasicBlock::Create(context_, "exit", function);
  builder_.CreateStore(builder_.getInt32(0), frame_.status);
  open_arguments();
}

void HostEmitter::open_arguments() {
  llvm::MDNode *empty = llvm::MDNode::get(context_, {});
  auto constant_load = [&](llvm::Type *type, llvm::Value *base, size_t index,
                           const std::string &name) {
    llvm::LoadInst *load =
        builder_.CreateLoad(type, builder_.CreateConstInBoundsGEP1_64(type, base, index), name);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
    load->setMetadata(llvm::LLVMContext::MD_noundef, empty);
    return load;
  };
  size_t next = 0;
  for (const std::string &parameter : kernel_.parameters) {
    frame_.parameters.push_back(
        constant_load(builder_.getInt64Ty(), frame_.integers, next++, parameter));
  }
  frame_.buffers.resize(kernel_.buffers.size());
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    const KernelBuffer &buffer = kernel_.buffers[b];
    BufferSlot &slot = frame_.buffers[b];
    slot.scope = scopes_[b].first;
    slot.others = scopes_[b].second;
    if (!buffer.is_argument) {
      continue;
    }
    slot.base = constant_load(builder_.getPtrTy(), frame_.data, b, buffer.name);
    const std::vector<std::int64_t> known = constant_strides(buffer);
    for (size_t d = 0; d < buffer.extents.size(); ++d) {
      llvm::Value *stride = nullptr;
      if (known[d] != 0) {
        stride = builder_.getInt64(static_cast<std::uint64_t>(known[d]));
      } else {
        stride = constant_load(builder_.getInt64Ty(), frame_.integers, next,
                               buffer.name + ".stride" + std::to_string(d));
      }
      ++next;
      slot.strides.push_back(stride);
    }
  }
}

void HostEmitter::emit() {
  llvm::PointerType *pointer = builder_.getPtrTy();
  auto *type = llvm::FunctionType::get(builder_.getInt32Ty(), {pointer, pointer, pointer}, false);
  llvm::Function *function = make_function(symbol_, type, true);
  make_alias_scopes();
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  open_frame(function, function->getArg(0), function->getArg(1), function->getArg(2));

  std::vector<llvm::Value *> temporaries;
  std::map<std::string, llvm::Value *> records; // the fields of a record share its memory
  llvm::Value *missing = builder_.getFalse();
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (!kernel_.buffers[b].is_argument && !kernel_.buffers[b].is_scoped) {
      const std::string &record = kernel_.buffers[b].record.name;
      if (const auto known = records.find(record); !record.empty() && known != records.end()) {
        open_temporary(b, known->second);
        continue;
      }
      llvm::Value *memory = nullptr;
      if (kernel_.buffers[b].extents.empty() && !kernel_.is_gpu) {
        // What a loop counts or asks in each iteration can be in registers, then.
        memory = stack_memory(kernel_.buffers[b], element_bytes(b));
      } else {
        memory = allocate_memory(temporary_bytes(b), kernel_.buffers[b].name);
        temporaries.push_back(memory);
        missing = builder_.CreateOr(missing, builder_.CreateIsNull(memory));
      }
      records.emplace(record, memory);
      open_temporary(b, memory);
    }
  }
  if (!temporaries.empty()) {
    require_memory(missing);
  }

  if (kernel_.body) {
    statement(*kernel_.body);
  }
  builder_.CreateBr(frame_.exit);
  builder_.SetInsertPoint(frame_.exit);
  for (llvm::Value *memory : temporaries) {
    free_memory(memory);
  }
  close_frame();
}

void HostEmitter::close_frame() {
  for (llvm::AllocaInst *slot : frame_.scoped) {
    free_memory(builder_.CreateLoad(builder_.getPtrTy(), slot));
  }
  end_streams();
  builder_.CreateRet(builder_.CreateLoad(builder_.getInt32Ty(), frame_.status));
}

void HostEmitter::own_statement(const LoopStatement &statement) {
  switch (statement.kind) {
  case StatementKind::For:
    parallel_loop(cast<For>(statement));
    break;
  case StatementKind::Timed:
    timed(cast<Timed>(statement));
    break;
  case StatementKind::Launch:
    launch(cast<Launch>(statement));
    break;
  case StatementKind::Allocate:
    allocate(cast<Allocate>(statement));
    break;
  default:
    throw Error(ErrorKind::Internal, "a statement of a GPU's thread reached the host's code");
  }
}

/// The caller is told, and the function ends.
void HostEmitter::report(const Failure &failure) {
  llvm::Type *i64 = builder_.getInt64Ty();
  std::vector<llvm::Value *> arguments = {frame_.record, failure.site, failure.index,
                                          failure.extent};
  std::vector<llvm::Type *> types = {builder_.getPtrTy(), i64, i64, i64};
  if (failure.report_count > 0) {
    arguments.insert(arguments.end(), {failure.reports, builder_.getInt64(failure.report_count)});
    types.insert(types.end(), {builder_.getPtrTy(), i64});
  }
  llvm::FunctionCallee report = module_.getOrInsertFunction(
      failure.report_count == 0 ? "tilewright_report_index" : "tilewright_report_check",
      llvm::FunctionType::get(builder_.getVoidTy(), types, false));
  auto *function = llvm::cast<llvm::Function>(report.getCallee());
  function->setDoesNotThrow();
  function->setOnlyAccessesArgMemory();
  function->addFnAttr(llvm::Attribute::Cold);
  builder_.CreateCall(report, arguments);
  fail_with(builder_.getInt32(static_cast<std::uint32_t>(failure.status)));
}

void HostEmitter::timed(const Timed &statement) {
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::FunctionCallee clock = module_.getOrInsertFunction("tilewright_clock", i64);
  llvm::FunctionCallee add = module_.getOrInsertFunction(
      "tilewright_add_time", builder_.getVoidTy(), builder_.getPtrTy(), i64, i64);
  for (llvm::FunctionCallee callee : {clock, add}) {
    llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  }
  llvm::Value *start = builder_.CreateCall(clock, {});
  this->statement(*statement.children.at(0));
  builder_.CreateCall(
      add, {frame_.record, builder_.getInt64(static_cast<std::uint64_t>(statement.nest)), start});
}

llvm::Value *HostEmitter::temporary_bytes(size_t b) {
  // -1, which no allocator grants, when the product does not fit.
  const KernelBuffer &buffer = kernel_.buffers[b];
  llvm::Value *bytes = builder_.getInt64(element_bytes(b));
  llvm::Value *lost = builder_.getFalse();
  for (const ValuePtr &extent : buffer.extents) {
    llvm::Value *length = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, scalar(*extent),
                                                         builder_.getInt64(0));
    llvm::Value *product =
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, bytes, length);
    bytes = builder_.CreateExtractValue(product, 0);
    lost = builder_.CreateOr(lost, builder_.CreateExtractValue(product, 1));
  }
  return builder_.CreateSelect(lost, builder_.getInt64(static_cast<std::uint64_t>(-1)), bytes);
}

/// Memory for what is no argument: the device's where the kernel has launches.
llvm::CallInst *HostEmitter::allocate_memory(llvm::Value *bytes, const std::string &name) {
  std::vector<llvm::Value *> arguments = {bytes};
  std::vector<llvm::Type *> types = {builder_.getInt64Ty()};
  if (kernel_.is_gpu) {
    arguments.insert(arguments.begin(), frame_.record);
    types.insert(types.begin(), builder_.getPtrTy());
  }
  llvm::FunctionCallee callee = module_.getOrInsertFunction(
      kernel_.is_gpu ? "tilewright_device_allocate" : "tilewright_allocate",
      llvm::FunctionType::get(builder_.getPtrTy(), types, false));
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  llvm::cast<llvm::Function>(callee.getCallee())->setReturnDoesNotAlias();
  return builder_.CreateCall(callee, arguments, name);
}

void HostEmitter::free_memory(llvm::Value *memory) {
  std::vector<llvm::Value *> arguments = {memory};
  std::vector<llvm::Type *> types = {builder_.getPtrTy()};
  if (kernel_.is_gpu) {
    arguments.insert(arguments.begin(), frame_.record);
    types.insert(types.begin(), builder_.getPtrTy());
  }
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(kernel_.is_gpu ? "tilewright_device_free" : "tilewright_free",
                                  llvm::FunctionType::get(builder_.getVoidTy(), types, false));
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  builder_.CreateCall(callee, arguments);
}

void HostEmitter::require_memory(llvm::Value *missing) {
  llvm::BasicBlock *starved = new_block("starved");
  llvm::BasicBlock *body = new_block("body");
  builder_.CreateCondBr(missing, starved, body);
  builder_.SetInsertPoint(starved);
  fail_with(builder_.getInt32(KernelOutOfMemory));
  builder_.SetInsertPoint(body);
}

llvm::AllocaInst *HostEmitter::stack_memory(const KernelBuffer &buffer, std::uint64_t bytes) {
  llvm::AllocaInst *memory =
      entry_alloca(llvm::ArrayType::get(builder_.getInt8Ty(), bytes), buffer.name);
  memory->setAlignment(llvm::Align(cache_line_bytes));
  return memory;
}

void HostEmitter::allocate(const Allocate &statement) {
  const auto b = static_cast<size_t>(statement.buffer);
  const KernelBuffer &buffer = kernel_.buffers.at(b);
  const auto outer = frame_.buffers[b]; // memory of an enclosing allocation, or none
  const bool on_stack = buffer.memory == "stack" || buffer.memory == "registers";
  const std::int64_t limit = on_stack                  ? largest_stack_buffer
                             : buffer.memory == "heap" ? 0
                                                       : largest_automatic_stack_buffer;
  std::int64_t bytes = buffer.type.bytes();
  for (const ValuePtr &extent : buffer.extents) {
    const auto size = as_integer(extent);
    bytes = !size || *size < 0 || bytes > limit ? limit + 1 : bytes * *size;
  }
  if (bytes <= limit) {
    open_temporary(b, stack_memory(buffer, static_cast<std::uint64_t>(bytes)));
    this->statement(*statement.children.at(0));
    frame_.buffers[b] = outer;
    return;
  }
  allocate_on_heap(statement);
}

/// A slot says whether there is memory to free when the function ends early.
void HostEmitter::allocate_on_heap(const Allocate &statement) {
  const auto b = static_cast<size_t>(statement.buffer);
  const KernelBuffer &buffer = kernel_.buffers.at(b);
  const auto outer = frame_.buffers[b];
  llvm::AllocaInst *slot = entry_alloca(builder_.getPtrTy(), buffer.name + ".memory");
  {
    llvm::IRBuilder<> at_entry(slot->getNextNode());
    at_entry.CreateStore(llvm::ConstantPointerNull::get(builder_.getPtrTy()), slot);
  }
  frame_.scoped.push_back(slot);
  llvm::CallInst *memory = allocate_memory(temporary_bytes(b), buffer.name);
  builder_.CreateStore(memory, slot);
  require_memory(builder_.CreateIsNull(memory));
  frame_.forget();
  open_temporary(b, memory);
  this->statement(*statement.children.at(0));
  free_memory(memory);
  builder_.CreateStore(llvm::ConstantPointerNull::get(builder_.getPtrTy()), slot);
  frame_.buffers[b] = outer;
}

} // namespace tilewright
