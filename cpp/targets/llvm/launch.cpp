// A launch becomes a call of tilewright_launch in the host's code, with the grid and the arguments
// in memory, and a function of one thread in the module for the GPU. Arguments take eight bytes
// each: the place for failures, the parameters, for each buffer its address and those strides that
// are no constants, and the variables of loops around the launch.
#include "hardware/gpu.h"
#include "loops/gpu_queries.h"
#include "loops/traverse.h"
#include "runtime/abi.h"
#include "targets/llvm/function_emitter.h"
#include "targets/nvptx/lower.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr std::uint64_t shared_alignment = 16;
constexpr std::int64_t max_arguments = 512; // 4 KiB, before PTX 8.1

/// The arrays by which threads of a block may pass elements to each other: those that are written
/// where there are barriers.
std::unordered_set<std::int64_t> passed_between_threads(const Launch &launch) {
  bool waits = false;
  std::unordered_set<std::int64_t> written;
  visit_statements(launch.children.at(0), [&](const LoopStatement &statement) {
    waits = waits || is<Barrier>(statement);
    if (const auto *change = as<ElementChange>(statement)) {
      written.insert(change->buffer);
    }
  });
  return waits ? written : std::unordered_set<std::int64_t>();
}

} // namespace

KernelEmitter::LaunchArguments KernelEmitter::arguments_of(const Launch &launch) const {
  LaunchArguments arguments;
  const std::unordered_set<std::int64_t> touched = buffers_in(launch);
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (touched.contains(static_cast<std::int64_t>(b)) && !is_in_kernel(kernel_.buffers[b])) {
      arguments.buffers.push_back(b);
    }
  }
  const Captures captures = find_captures(launch);
  if (!captures.locals.empty()) {
    throw Error(ErrorKind::Internal, "a launch uses a local of the host");
  }
  arguments.variables = captures.variables;
  return arguments;
}

void KernelEmitter::launch(const Launch &statement) {
  if (threads_ == nullptr) {
    throw Error(ErrorKind::Internal, "a launch reached code without a GPU");
  }
  llvm::Type *i64 = builder_.getInt64Ty();
  const LaunchArguments arguments = arguments_of(statement);
  std::string symbol = symbol_ + "_gpu" + std::to_string(launched_.size());
  std::replace_if(
      symbol.begin(), symbol.end(), [](char c) { return std::isalnum(c) == 0 && c != '_'; }, '_');
  Launched launched = threads_->emit_thread(statement, arguments, symbol);

  std::vector<llvm::Value *> passed;
  llvm::FunctionCallee failure = module_.getOrInsertFunction(
      "tilewright_device_failure", builder_.getPtrTy(), builder_.getPtrTy());
  passed.push_back(builder_.CreateCall(failure, {frame_.record}));
  passed.insert(passed.end(), frame_.parameters.begin(), frame_.parameters.end());
  for (const size_t b : arguments.buffers) {
    const BufferSlot &slot = frame_.buffers[b];
    const std::int64_t back = -kernel_.buffers[b].record.offset;
    passed.push_back(back == 0 ? slot.base
                               : offset(slot.base, llvm::ConstantInt::getSigned(i64, back)));
    for (llvm::Value *stride : slot.strides) {
      if (kernel_.buffers[b].is_argument && !llvm::isa<llvm::ConstantInt>(stride)) {
        passed.push_back(stride);
      }
    }
  }
  for (const std::int64_t id : arguments.variables) {
    passed.push_back(frame_.variables.at(id).value);
  }
  launched.arguments = static_cast<std::int64_t>(passed.size());
  if (launched.arguments > max_arguments) {
    throw Error(ErrorKind::Schedule,
                "a kernel of the GPU would have " + std::to_string(launched.arguments) +
                    " arguments (the sizes, and of each array its address and its strides), and " +
                    std::to_string(max_arguments) +
                    " is the most; give arrays constant extents, or make several functions of it");
  }
  llvm::ArrayType *list = llvm::ArrayType::get(i64, passed.size());
  llvm::AllocaInst *memory = entry_alloca(list, "arguments");
  for (unsigned k = 0; k < passed.size(); ++k) {
    builder_.CreateStore(passed[k], builder_.CreateConstInBoundsGEP2_64(list, memory, 0, k));
  }
  std::vector<llvm::Value *> shape;
  for (const ValuePtr &extent : statement.grid) {
    shape.push_back(scalar(*extent));
  }
  for (const std::int64_t threads : statement.threads) {
    shape.push_back(builder_.getInt64(static_cast<std::uint64_t>(threads)));
  }
  shape.push_back(builder_.getInt64(static_cast<std::uint64_t>(launched.shared_bytes)));
  llvm::ArrayType *extents = llvm::ArrayType::get(i64, shape.size());
  llvm::AllocaInst *where = entry_alloca(extents, "shape");
  for (unsigned k = 0; k < shape.size(); ++k) {
    builder_.CreateStore(shape[k], builder_.CreateConstInBoundsGEP2_64(extents, where, 0, k));
  }
  llvm::PointerType *pointer = builder_.getPtrTy();
  llvm::StructType *layout = llvm::StructType::get(context_, {pointer, pointer, i64, pointer, i64});
  launched.constant =
      new llvm::GlobalVariable(module_, layout, true, llvm::GlobalValue::ExternalLinkage, nullptr,
                               launched.symbol + ".kernel");
  llvm::FunctionCallee run = module_.getOrInsertFunction("tilewright_launch", builder_.getInt32Ty(),
                                                         pointer, pointer, pointer, pointer);
  llvm::cast<llvm::Function>(run.getCallee())->setDoesNotThrow();
  llvm::Value *status = builder_.CreateCall(run, {frame_.record, launched.constant, where, memory});
  launched_.push_back(std::move(launched));
  llvm::BasicBlock *failed = llvm::BasicBlock::Create(context_, "failed", frame_.function);
  llvm::BasicBlock *after = llvm::BasicBlock::Create(context_, "launched", frame_.function);
  builder_.CreateCondBr(builder_.CreateICmpEQ(status, builder_.getInt32(0)), after, failed);
  builder_.SetInsertPoint(failed);
  fail_with(status);
  builder_.SetInsertPoint(after);
  frame_.known.clear();
  frame_.depths.clear();
}

KernelEmitter::Launched KernelEmitter::emit_thread(const Launch &launch,
                                                   const LaunchArguments &arguments,
                                                   const std::string &symbol) {
  is_device_ = true;
  if (scopes_.empty()) {
    make_alias_scopes();
  }
  current_ = {};
  current_.symbol = symbol;
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::PointerType *pointer = builder_.getPtrTy();
  // The strides that are constants are known here as they are on the host.
  const auto is_passed = [&](size_t b, size_t d) {
    return kernel_.buffers[b].is_argument && constant_strides(kernel_.buffers[b])[d] == 0;
  };
  std::vector<llvm::Type *> types = {pointer};
  types.insert(types.end(), kernel_.parameters.size(), i64);
  for (const size_t b : arguments.buffers) {
    current_.position[b] = static_cast<std::int64_t>(types.size());
    types.push_back(pointer);
    for (size_t d = 0; d < kernel_.buffers[b].extents.size(); ++d) {
      if (is_passed(b, d)) {
        types.push_back(i64);
      }
    }
  }
  types.insert(types.end(), arguments.variables.size(), i64);
  auto *type = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
  auto *function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::Convergent);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  const auto annotate_kernel = [&](const char *what, std::int64_t value) {
    module_.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(
            context_,
            {llvm::ValueAsMetadata::get(function), llvm::MDString::get(context_, what),
             llvm::ConstantAsMetadata::get(builder_.getInt32(static_cast<std::uint32_t>(value)))}));
  };
  annotate_kernel("kernel", 1);
  annotate_kernel("maxntidx", launch.threads[0]);
  annotate_kernel("maxntidy", launch.threads[1]);
  annotate_kernel("maxntidz", launch.threads[2]);

  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  frame_ = Frame{};
  frame_.function = function;
  if (needs_all_threads(launch)) {
    frame_.failed = entry_alloca(builder_.getInt1Ty(), "failed");
    builder_.CreateStore(builder_.getFalse(), frame_.failed);
  }
  frame_.parallel = true; // the loops of threads of the CPU run in each
  unsigned next = 0;
  const auto take = [&](const std::string &name) {
    llvm::Argument *argument = function->getArg(next++);
    argument->setName(name);
    argument->addAttr(llvm::Attribute::NoUndef);
    return argument;
  };
  frame_.record = take("failure");
  frame_.status = entry_alloca(builder_.getInt32Ty(), "status");
  frame_.exit = llvm::BasicBlock::Create(context_, "exit", function);
  for (const std::string &parameter : kernel_.parameters) {
    frame_.parameters.push_back(take(parameter));
  }
  frame_.buffers.resize(kernel_.buffers.size());
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    frame_.buffers[b].scope = scopes_[b].first;
    frame_.buffers[b].others = scopes_[b].second;
  }
  const std::unordered_set<std::int64_t> passed = passed_between_threads(launch);
  for (const size_t b : arguments.buffers) {
    const KernelBuffer &buffer = kernel_.buffers[b];
    llvm::Argument *base = take(buffer.name);
    // What has this attribute is this thread's alone to LLVM: loads would move across barriers,
    // which wait for what other threads write there.
    if (!passed.contains(static_cast<std::int64_t>(b))) {
      base->addAttr(llvm::Attribute::NoAlias);
    }
    if (!buffer.is_argument) {
      open_temporary(b, base);
      continue;
    }
    frame_.buffers[b].base = base;
    frame_.buffers[b].alignment =
        llvm::Align(static_cast<std::uint64_t>(component_type(buffer.type).bytes()));
    const std::vector<std::int64_t> known = constant_strides(buffer);
    for (size_t d = 0; d < buffer.extents.size(); ++d) {
      frame_.buffers[b].strides.push_back(
          is_passed(b, d)
              ? static_cast<llvm::Value *>(take(buffer.name + ".stride" + std::to_string(d)))
              : builder_.getInt64(static_cast<std::uint64_t>(known[d])));
    }
  }
  for (const std::int64_t id : arguments.variables) {
    frame_.variables[id] = VariableSlot{take("outer"), 0, true};
  }
  statement(*launch.children.at(0));
  builder_.CreateBr(frame_.exit);
  builder_.SetInsertPoint(frame_.exit);
  builder_.CreateRetVoid();
  return std::exchange(current_, {});
}

void KernelEmitter::allocate_on_device(const Allocate &statement) {
  const auto b = static_cast<size_t>(statement.buffer);
  const KernelBuffer &buffer = kernel_.buffers.at(b);
  const auto bytes = static_cast<std::uint64_t>(local_bytes(buffer));
  const auto outer = frame_.buffers[b];
  if (buffer.memory == "shared") {
    // Each buffer has a place of its own: what shares one would need barriers. Where passes have
    // made several loops of one, it is the same in all of them.
    const auto known = current_.shared.find(b);
    const bool is_new = known == current_.shared.end();
    const auto place = static_cast<std::uint64_t>(is_new ? current_.shared_bytes : known->second);
    llvm::FunctionCallee shared =
        module_.getOrInsertFunction("tilewright_gpu_shared", builder_.getPtrTy());
    auto *function = llvm::cast<llvm::Function>(shared.getCallee());
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();
    if (is_new) {
      current_.shared[b] = current_.shared_bytes;
      current_.shared_bytes =
          static_cast<std::int64_t>(llvm::alignTo(place + bytes, shared_alignment));
    }
    open_temporary(b, offset(builder_.CreateCall(shared, {}), builder_.getInt64(place)));
  } else {
    auto *type = llvm::ArrayType::get(builder_.getInt8Ty(), std::max<std::uint64_t>(bytes, 1));
    llvm::AllocaInst *memory = entry_alloca(type, buffer.name);
    memory->setAlignment(llvm::Align(shared_alignment));
    open_temporary(b, memory);
  }
  this->statement(*statement.children.at(0));
  frame_.buffers[b] = outer;
}

void KernelEmitter::barrier() {
  llvm::FunctionCallee wait = module_.getOrInsertFunction(
      "tilewright_gpu_barrier", builder_.getVoidTy(), builder_.getInt32Ty());
  auto *function = llvm::cast<llvm::Function>(wait.getCallee());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::Convergent);
  builder_.CreateCall(wait, {builder_.getInt32(static_cast<std::uint32_t>(barriers_++))});
}

llvm::Value *KernelEmitter::gpu_index(std::int64_t axis) {
  llvm::FunctionCallee ask = module_.getOrInsertFunction(
      "tilewright_gpu_index", builder_.getInt32Ty(), builder_.getInt32Ty());
  auto *function = llvm::cast<llvm::Function>(ask.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->addFnAttr(llvm::Attribute::WillReturn);
  function->addFnAttr(llvm::Attribute::Speculatable);
  llvm::CallInst *number =
      builder_.CreateCall(ask, {builder_.getInt32(static_cast<std::uint32_t>(axis))});
  if (axis >= 3) {
    number->setMetadata(llvm::LLVMContext::MD_range,
                        llvm::MDBuilder(context_).createRange(
                            llvm::APInt(32, 0), llvm::APInt(32, max_threads_in_block)));
  }
  return builder_.CreateZExt(number, builder_.getInt64Ty());
}

/// Words of 32 bits are exchanged.
Term KernelEmitter::shuffle(const Value &value, std::int64_t mask) {
  llvm::Type *word = builder_.getInt32Ty();
  llvm::FunctionCallee exchange =
      module_.getOrInsertFunction("tilewright_gpu_shuffle", word, word, word, word);
  auto *function = llvm::cast<llvm::Function>(exchange.getCallee());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::Convergent);
  const auto of_word = [&](llvm::Value *own) -> llvm::Value * {
    return builder_.CreateCall(exchange,
                               {builder_.getInt32(static_cast<std::uint32_t>(exchanges_++)), own,
                                builder_.getInt32(static_cast<std::uint32_t>(mask))});
  };
  const auto of_component = [&](llvm::Value *own) -> llvm::Value * {
    if (own == nullptr) {
      return nullptr;
    }
    const auto bits = static_cast<unsigned>(own->getType()->getPrimitiveSizeInBits());
    llvm::Type *whole = builder_.getIntNTy(bits);
    llvm::Value *pattern = builder_.CreateBitCast(own, whole);
    if (bits <= 32) {
      pattern = builder_.CreateTrunc(of_word(builder_.CreateZExt(pattern, word)), whole);
    } else {
      llvm::Value *low = of_word(builder_.CreateTrunc(pattern, word));
      llvm::Value *high = of_word(builder_.CreateTrunc(builder_.CreateLShr(pattern, 32), word));
      pattern = builder_.CreateOr(builder_.CreateZExt(low, whole),
                                  builder_.CreateShl(builder_.CreateZExt(high, whole), 32));
    }
    return builder_.CreateBitCast(pattern, own->getType());
  };
  const Term own = this->value(value);
  return Term{of_component(own.re), of_component(own.im)};
}

/// Leaves what went wrong where the host finds it, unless another thread was first, and ends, or
/// goes on where other threads wait for this one (llvm_guards.cpp).
void KernelEmitter::fail_on_device(llvm::Value *site, llvm::Value *index, llvm::Value *extent,
                                   std::int32_t status, llvm::BasicBlock *next) {
  const auto order = llvm::AtomicOrdering::Monotonic;
  llvm::Value *code = builder_.getInt32(static_cast<std::uint32_t>(status));
  llvm::Value *claimed = builder_.CreateAtomicCmpXchg(
      frame_.record, builder_.getInt32(0), code, llvm::Align(sizeof(std::int32_t)), order, order);
  llvm::BasicBlock *first = llvm::BasicBlock::Create(context_, "first", frame_.function);
  llvm::BasicBlock *leave = llvm::BasicBlock::Create(context_, "leave", frame_.function);
  builder_.CreateCondBr(builder_.CreateExtractValue(claimed, 1), first, leave);
  builder_.SetInsertPoint(first);
  std::uint64_t place = sizeof(std::int64_t); // of DeviceFailure::site
  for (llvm::Value *fact : {site, index, extent}) {
    builder_.CreateStore(fact, offset(frame_.record, builder_.getInt64(place)));
    place += sizeof(std::int64_t);
  }
  builder_.CreateBr(leave);
  builder_.SetInsertPoint(leave);
  if (frame_.failed != nullptr) {
    builder_.CreateStore(builder_.getTrue(), frame_.failed);
    builder_.CreateBr(next);
  } else {
    fail_with(code);
  }
}

llvm::GlobalVariable *KernelEmitter::text_constant(const std::string &text,
                                                   const std::string &name) {
  llvm::Constant *data = llvm::ConstantDataArray::getString(context_, text);
  return new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                  data, name);
}

void KernelEmitter::emit_device_kernels(const GpuTarget &target, const std::string &ptx) {
  llvm::PointerType *pointer = builder_.getPtrTy();
  llvm::Type *i64 = builder_.getInt64Ty();
  const auto number = [&](std::int64_t value) { return llvm::ConstantInt::getSigned(i64, value); };
  llvm::Constant *none = llvm::ConstantPointerNull::get(pointer);
  const bool is_emulated = target.kind != GpuTarget::Kind::Cuda;
  llvm::Constant *text = is_emulated || launched_.empty() ? none : text_constant(ptx, "ptx");
  llvm::StructType *described =
      llvm::StructType::get(context_, {pointer, i64, i64, i64, i64}); // EmulatedBuffer
  for (const Launched &launched : launched_) {
    llvm::Constant *emulated = none;
    if (is_emulated) {
      std::vector<llvm::Constant *> buffers;
      for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
        const KernelBuffer &buffer = kernel_.buffers[b];
        const auto position = launched.position.find(b);
        const auto shared = launched.shared.find(b);
        const bool is_shared = shared != launched.shared.end();
        buffers.push_back(llvm::ConstantStruct::get(
            described,
            {text_constant(buffer.name, "name"), number(component_type(buffer.type).bytes()),
             number(position == launched.position.end() ? -1 : position->second),
             number(is_shared ? shared->second : 0), number(is_shared ? local_bytes(buffer) : 0)}));
      }
      llvm::ArrayType *list = llvm::ArrayType::get(described, buffers.size());
      auto *all = new llvm::GlobalVariable(module_, list, true, llvm::GlobalValue::PrivateLinkage,
                                           llvm::ConstantArray::get(list, buffers), "buffers");
      llvm::Constant *kernel = llvm::ConstantStruct::getAnon(
          {emulated_entry(launched), all, number(static_cast<std::int64_t>(buffers.size()))});
      emulated = new llvm::GlobalVariable(module_, kernel->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, kernel, "emulated");
    }
    auto *layout = llvm::cast<llvm::StructType>(launched.constant->getValueType());
    launched.constant->setInitializer(llvm::ConstantStruct::get(
        layout, {text_constant(launched.symbol, "symbol"), text,
                 number(is_emulated ? 0 : static_cast<std::int64_t>(ptx.size())), emulated,
                 number(launched.arguments)}));
    launched.constant->setLinkage(llvm::GlobalValue::PrivateLinkage);
  }
}

/// A function that takes the arguments out of their list and is the thread.
llvm::Function *KernelEmitter::emulated_entry(const Launched &launched) {
  llvm::Function *thread = module_.getFunction(launched.symbol);
  if (thread == nullptr) {
    throw Error(ErrorKind::Internal, "the threads of " + launched.symbol + " are not there");
  }
  llvm::PointerType *pointer = builder_.getPtrTy();
  auto *type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer}, false);
  llvm::Function *entry = make_function(launched.symbol + ".thread", type, false);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", entry));
  std::vector<llvm::Value *> arguments;
  for (llvm::Argument &argument : thread->args()) {
    llvm::Type *i64 = builder_.getInt64Ty();
    llvm::Value *place =
        builder_.CreateConstInBoundsGEP1_64(i64, entry->getArg(0), argument.getArgNo());
    arguments.push_back(builder_.CreateLoad(argument.getType(), place));
  }
  builder_.CreateCall(thread, arguments);
  builder_.CreateRetVoid();
  return entry;
}

} // namespace tilewright
