#include "hardware/gpu.h"
#include "loops/gpu_queries.h"
#include "loops/traverse.h"
#include "runtime/abi.h"
#include "targets/llvm/thread_emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace tilewright {

namespace {

constexpr std::uint64_t shared_alignment = 16;

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

Launched ThreadEmitter::emit_thread(const Launch &launch, const LaunchArguments &arguments,
                                    const std::string &symbol) {
  if (scopes_.empty()) {
    make_alias_scopes();
  }
  current_ = {};
  current_.symbol = symbol;
  llvm::Function *function = make_thread(launch, arguments);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  open_thread(function, launch, arguments);
  statement(*launch.body());
  builder_.CreateBr(frame_.exit);
  builder_.SetInsertPoint(frame_.exit);
  builder_.CreateRetVoid();
  return std::exchange(current_, {});
}

/// Whether a stride is an argument. Those that are constants are known here as they are on the
/// host.
bool ThreadEmitter::is_passed(size_t b, size_t d) const {
  return kernel_.buffers[b].is_argument && constant_strides(kernel_.buffers[b])[d] == 0;
}

/// The function, empty, with what the device is told of it.
llvm::Function *ThreadEmitter::make_thread(const Launch &launch, const LaunchArguments &arguments) {
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::PointerType *pointer = builder_.getPtrTy();
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
  auto *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, current_.symbol, module_);
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
  return function;
}

/// The frame of a thread: its arguments, in the order of make_thread.
void ThreadEmitter::open_thread(llvm::Function *function, const Launch &launch,
                                const LaunchArguments &arguments) {
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
  frame_.exit = new_block("exit");
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
}

void ThreadEmitter::own_statement(const LoopStatement &statement) {
  switch (statement.kind) {
  case StatementKind::Barrier:
    barrier();
    break;
  case StatementKind::CommitCopies:
    commit_copies();
    break;
  case StatementKind::WaitForCopies:
    wait_for_copies(cast<WaitForCopies>(statement).groups);
    break;
  case StatementKind::Allocate:
    allocate(cast<Allocate>(statement));
    break;
  default:
    throw Error(ErrorKind::Internal, "a statement of the host reached the code of a GPU's thread");
  }
}

Term ThreadEmitter::own_value(const Value &value) {
  switch (value.kind) {
  case ValueKind::GpuIndex:
    return Term{gpu_index(cast<GpuIndex>(value).number), nullptr};
  case ValueKind::Aligned:
    return Term{is_aligned(cast<Aligned>(value)), nullptr};
  case ValueKind::Mma:
    return mma(cast<Mma>(value));
  case ValueKind::Matrices:
    return matrices(cast<Matrices>(value));
  default: {
    const auto &shuffled = cast<Shuffle>(value);
    return shuffle(*shuffled.operand(), shuffled.bits);
  }
  }
}

void ThreadEmitter::allocate(const Allocate &statement) {
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

void ThreadEmitter::barrier() {
  llvm::FunctionCallee wait = module_.getOrInsertFunction(
      "tilewright_gpu_barrier", builder_.getVoidTy(), builder_.getInt32Ty());
  auto *function = llvm::cast<llvm::Function>(wait.getCallee());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::Convergent);
  builder_.CreateCall(wait, {builder_.getInt32(static_cast<std::uint32_t>(barriers_++))});
}

llvm::Value *ThreadEmitter::gpu_index(std::int64_t axis) {
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
Term ThreadEmitter::shuffle(const Value &value, std::int64_t mask) {
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
/// goes on where other threads wait for this one (guards.cpp).
void ThreadEmitter::report(const Failure &failure) {
  const auto order = llvm::AtomicOrdering::Monotonic;
  llvm::Value *code = builder_.getInt32(static_cast<std::uint32_t>(failure.status));
  llvm::Value *claimed = builder_.CreateAtomicCmpXchg(
      frame_.record, builder_.getInt32(0), code, llvm::Align(sizeof(std::int32_t)), order, order);
  llvm::BasicBlock *first = new_block("first");
  llvm::BasicBlock *leave = new_block("leave");
  builder_.CreateCondBr(builder_.CreateExtractValue(claimed, 1), first, leave);
  builder_.SetInsertPoint(first);
  std::uint64_t place = sizeof(std::int64_t); // of DeviceFailure::site
  for (llvm::Value *fact : {failure.site, failure.index, failure.extent}) {
    builder_.CreateStore(fact, offset(frame_.record, builder_.getInt64(place)));
    place += sizeof(std::int64_t);
  }
  builder_.CreateBr(leave);
  builder_.SetInsertPoint(leave);
  if (frame_.failed != nullptr) {
    builder_.CreateStore(builder_.getTrue(), frame_.failed);
    builder_.CreateBr(failure.passing);
  } else {
    fail_with(code);
  }
}

} // namespace tilewright
