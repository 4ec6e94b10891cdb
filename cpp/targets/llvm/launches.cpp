// A launch becomes a call of tilewright_launch in the host's code, with the grid and the arguments
// in memory, and a function of one thread in the module for the GPU. Arguments take eight bytes
// each: the place for failures, the parameters, for each buffer its address and those strides that
// are no constants, and the variables of loops around the launch.
#include "loops/gpu_queries.h"
#include "runtime/device.h"
#include "targets/llvm/host_emitter.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cctype>

namespace tilewright {

namespace {

constexpr std::int64_t max_arguments = 512; // 4 KiB, before PTX 8.1

} // namespace

LaunchArguments HostEmitter::arguments_of(const Launch &launch) const {
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

/// In the order in which a thread takes them.
std::vector<llvm::Value *> HostEmitter::passed_values(const LaunchArguments &arguments) {
  llvm::Type *i64 = builder_.getInt64Ty();
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
  return passed;
}

llvm::AllocaInst *HostEmitter::in_memory(const std::vector<llvm::Value *> &values,
                                         const std::string &name) {
  llvm::ArrayType *list = llvm::ArrayType::get(builder_.getInt64Ty(), values.size());
  llvm::AllocaInst *memory = entry_alloca(list, name);
  for (unsigned k = 0; k < values.size(); ++k) {
    builder_.CreateStore(values[k], builder_.CreateConstInBoundsGEP2_64(list, memory, 0, k));
  }
  return memory;
}

void HostEmitter::launch(const Launch &statement) {
  if (threads_ == nullptr) {
    throw Error(ErrorKind::Internal, "a launch reached code without a GPU");
  }
  llvm::Type *i64 = builder_.getInt64Ty();
  const LaunchArguments arguments = arguments_of(statement);
  std::string symbol = symbol_ + "_gpu" + std::to_string(launched_.size());
  std::replace_if(
      symbol.begin(), symbol.end(), [](char c) { return std::isalnum(c) == 0 && c != '_'; }, '_');
  Launched launched = threads_->emit_thread(statement, arguments, symbol);

  launched.statement = &statement;
  launched.passed = arguments;

  const std::vector<llvm::Value *> passed = passed_values(arguments);
  launched.arguments = static_cast<std::int64_t>(passed.size());
  if (launched.arguments > max_arguments) {
    throw Error(ErrorKind::Schedule,
                "a kernel of the GPU would have " + std::to_string(launched.arguments) +
                    " arguments (the sizes, and of each array its address and its strides), and " +
                    std::to_string(max_arguments) +
                    " is the most; give arrays constant extents, or make several functions of it");
  }
  llvm::AllocaInst *memory = in_memory(passed, "arguments");
  std::vector<llvm::Value *> shape;
  for (const ValuePtr &extent : statement.grid) {
    shape.push_back(scalar(*extent));
  }
  for (const std::int64_t threads : statement.threads) {
    shape.push_back(builder_.getInt64(static_cast<std::uint64_t>(threads)));
  }
  shape.push_back(builder_.getInt64(static_cast<std::uint64_t>(launched.shared_bytes)));
  llvm::AllocaInst *where = in_memory(shape, "shape");
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
  llvm::BasicBlock *failed = new_block("failed");
  llvm::BasicBlock *after = new_block("launched");
  builder_.CreateCondBr(builder_.CreateICmpEQ(status, builder_.getInt32(0)), after, failed);
  builder_.SetInsertPoint(failed);
  fail_with(status);
  builder_.SetInsertPoint(after);
  frame_.forget();
}

std::vector<DeviceLaunch> HostEmitter::launches() const {
  std::vector<DeviceLaunch> all;
  for (const Launched &launched : launched_) {
    DeviceLaunch &launch = all.emplace_back();
    launch.statement = launched.statement;
    launch.symbol = launched.symbol;
    launch.variables = launched.passed.variables;
    launch.shared_bytes = launched.shared_bytes;
    for (const size_t b : launched.passed.buffers) {
      PassedBuffer &passed = launch.buffers.emplace_back();
      passed.buffer = b;
      const std::vector<std::int64_t> known = constant_strides(kernel_.buffers[b]);
      for (size_t d = 0; d < known.size() && kernel_.buffers[b].is_argument; ++d) {
        if (known[d] == 0) {
          passed.strides.push_back(d);
        }
      }
    }
  }
  return all;
}

llvm::GlobalVariable *HostEmitter::text_constant(const std::string &text, const std::string &name) {
  llvm::Constant *data = llvm::ConstantDataArray::getString(context_, text);
  return new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                  data, name);
}

void HostEmitter::emit_device_kernels(const std::string *device_text) {
  llvm::PointerType *pointer = builder_.getPtrTy();
  llvm::Type *i64 = builder_.getInt64Ty();
  const auto number = [&](std::int64_t value) { return llvm::ConstantInt::getSigned(i64, value); };
  llvm::Constant *none = llvm::ConstantPointerNull::get(pointer);
  const bool is_emulated = device_text == nullptr;
  llvm::Constant *text =
      is_emulated || launched_.empty() ? none : text_constant(*device_text, "ptx");
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
                 number(is_emulated ? 0 : static_cast<std::int64_t>(device_text->size())), emulated,
                 number(launched.arguments)}));
    launched.constant->setLinkage(llvm::GlobalValue::PrivateLinkage);
  }
}

/// A function that takes the arguments out of their list and is the thread.
llvm::Function *HostEmitter::emulated_entry(const Launched &launched) {
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
