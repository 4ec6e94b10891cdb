// The frame of a kernel: its function, arguments, temporaries and exit; and the pass pipeline.
#include "targets/llvm/emitter.h"

#include "hardware/processor.h"
#include "loops/build.h"
#include "loops/gpu_queries.h"
#include "mapping/local_memory.h"
#include "targets/llvm/function_emitter.h"
#include "targets/llvm/gathers.h"
#include "targets/llvm/shared_loads.h"
#include "targets/nvptx/lower.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

namespace tilewright {

namespace {

constexpr std::int32_t out_of_memory = 2;

} // namespace

std::vector<std::int64_t> KernelEmitter::constant_strides(const KernelBuffer &buffer) {
  std::vector<std::int64_t> strides(buffer.extents.size(), 0);
  if (buffer.layout.unit < 0 || strides.empty()) {
    return strides;
  }
  std::int64_t stride = buffer.type.bytes();
  strides[static_cast<size_t>(buffer.layout.unit)] = stride;
  for (size_t inner = strides.size() - 1;
       inner + static_cast<size_t>(buffer.layout.packed) >= strides.size(); --inner) {
    const auto extent = as_integer(buffer.extents[inner]);
    if (inner == 0 || !extent) {
      break;
    }
    stride *= *extent;
    strides[inner - 1] = stride;
  }
  return strides;
}

KernelEmitter::KernelEmitter(const Kernel &kernel, llvm::Module &module, const EmitOptions &options,
                             MathTarget target)
    : kernel_(kernel), module_(module), context_(module.getContext()), builder_(context_),
      target_(target),
      symbol_(options.symbol.empty() ? kernel_symbol(kernel.name) : options.symbol),
      semantics_(builder_, module, options, target),
      threads_where_worthwhile_(options.threads_where_worthwhile),
      is_interruptible_(options.is_interruptible) {}

llvm::Function *KernelEmitter::make_function(const std::string &name, llvm::FunctionType *type,
                                             bool external) {
  auto *function = llvm::Function::Create(
      type, external ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage, name,
      module_);
  function->setDoesNotThrow();
  function->addFnAttr("frame-pointer", "all");
  function->addFnAttr(llvm::Attribute::NoInline);
  for (llvm::Argument &argument : function->args()) {
    argument.addAttr(llvm::Attribute::NoUndef);
  }
  return function;
}

llvm::AllocaInst *KernelEmitter::entry_alloca(llvm::Type *type, const std::string &name) {
  llvm::BasicBlock &entry = frame_.function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type, nullptr, name);
}

void KernelEmitter::make_alias_scopes() {
  llvm::MDBuilder metadata(context_);
  llvm::MDNode *domain = metadata.createAnonymousAliasScopeDomain(kernel_.name);
  std::vector<llvm::Metadata *> scopes;
  for (const KernelBuffer &buffer : kernel_.buffers) {
    scopes.push_back(metadata.createAnonymousAliasScope(domain, buffer.name));
  }
  for (size_t own = 0; own < scopes.size(); ++own) {
    std::vector<llvm::Metadata *> others;
    for (size_t other = 0; other < scopes.size(); ++other) {
      if (other != own) {
        others.push_back(scopes[other]);
      }
    }
    scopes_.emplace_back(llvm::MDNode::get(context_, {scopes[own]}),
                         llvm::MDNode::get(context_, others));
  }
}

void KernelEmitter::open_frame(llvm::Function *function, llvm::Value *data, llvm::Value *integers,
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

void KernelEmitter::open_arguments() {
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

void KernelEmitter::open_temporary(size_t b, llvm::Value *base) {
  const KernelBuffer &buffer = kernel_.buffers[b];
  BufferSlot &slot = frame_.buffers[b];
  slot.base = base;
  slot.alignment = llvm::Align(static_cast<std::uint64_t>(component_type(buffer.type).bytes()));
  if (!buffer.record.name.empty()) {
    const auto place = static_cast<std::uint64_t>(buffer.record.offset | buffer.record.size);
    slot.alignment = llvm::commonAlignment(slot.alignment, place);
    slot.base = offset(base, builder_.getInt64(static_cast<std::uint64_t>(buffer.record.offset)));
  }
  slot.strides.assign(buffer.extents.size(), nullptr);
  llvm::Value *stride = builder_.getInt64(element_bytes(b));
  for (size_t d = buffer.extents.size(); d-- > 0;) {
    slot.strides[d] = stride;
    if (d > 0) {
      stride = builder_.CreateNSWMul(stride, scalar(*buffer.extents[d]));
    }
  }
}

std::uint64_t KernelEmitter::element_bytes(size_t b) const {
  const KernelBuffer &buffer = kernel_.buffers[b];
  return static_cast<std::uint64_t>(buffer.record.name.empty() ? buffer.type.bytes()
                                                               : buffer.record.size);
}

llvm::Value *KernelEmitter::temporary_bytes(size_t b) {
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

void KernelEmitter::fail_with(llvm::Value *status) {
  builder_.CreateStore(status, frame_.status);
  builder_.CreateBr(frame_.exit);
}

void KernelEmitter::emit() {
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
      llvm::CallInst *memory = allocate_memory(temporary_bytes(b), kernel_.buffers[b].name);
      temporaries.push_back(memory);
      missing = builder_.CreateOr(missing, builder_.CreateIsNull(memory));
      records.emplace(record, memory);
      open_temporary(b, memory);
    }
  }
  if (!temporaries.empty()) {
    llvm::BasicBlock *starved = llvm::BasicBlock::Create(context_, "starved", function);
    llvm::BasicBlock *body = llvm::BasicBlock::Create(context_, "body", function);
    builder_.CreateCondBr(missing, starved, body);
    builder_.SetInsertPoint(starved);
    fail_with(builder_.getInt32(out_of_memory));
    builder_.SetInsertPoint(body);
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

/// Memory for what is no argument: the device's where the kernel has launches.
llvm::CallInst *KernelEmitter::allocate_memory(llvm::Value *bytes, const std::string &name) {
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

void KernelEmitter::free_memory(llvm::Value *memory) {
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

void KernelEmitter::close_frame() {
  for (llvm::AllocaInst *slot : frame_.scoped) {
    free_memory(builder_.CreateLoad(builder_.getPtrTy(), slot));
  }
  end_streams();
  builder_.CreateRet(builder_.CreateLoad(builder_.getInt32Ty(), frame_.status));
}

void KernelEmitter::allocate(const Allocate &statement) {
  if (is_device_) {
    allocate_on_device(statement);
    return;
  }
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
    auto *type = llvm::ArrayType::get(builder_.getInt8Ty(), static_cast<std::uint64_t>(bytes));
    llvm::AllocaInst *memory = entry_alloca(type, buffer.name);
    memory->setAlignment(llvm::Align(cache_line_bytes));
    open_temporary(b, memory);
    this->statement(*statement.children.at(0));
    frame_.buffers[b] = outer;
    return;
  }
  llvm::AllocaInst *slot = entry_alloca(builder_.getPtrTy(), buffer.name + ".memory");
  {
    llvm::IRBuilder<> at_entry(slot->getNextNode());
    at_entry.CreateStore(llvm::ConstantPointerNull::get(builder_.getPtrTy()), slot);
  }
  frame_.scoped.push_back(slot);
  llvm::CallInst *memory = allocate_memory(temporary_bytes(b), buffer.name);
  builder_.CreateStore(memory, slot);
  llvm::BasicBlock *starved = llvm::BasicBlock::Create(context_, "starved", frame_.function);
  llvm::BasicBlock *body = llvm::BasicBlock::Create(context_, "body", frame_.function);
  builder_.CreateCondBr(builder_.CreateIsNull(memory), starved, body);
  builder_.SetInsertPoint(starved);
  fail_with(builder_.getInt32(out_of_memory));
  builder_.SetInsertPoint(body);
  frame_.known.clear();
  frame_.depths.clear();
  open_temporary(b, memory);
  this->statement(*statement.children.at(0));
  free_memory(memory);
  builder_.CreateStore(llvm::ConstantPointerNull::get(builder_.getPtrTy()), slot);
  frame_.buffers[b] = outer;
}

std::string kernel_symbol(const std::string &kernel_name, const std::string &key) {
  constexpr size_t digits = 8;
  const std::string symbol = "tilewright_kernel_" + kernel_name;
  return key.empty() ? symbol : symbol + "_" + key.substr(0, digits);
}

namespace {

/// Throws Error(Internal) where LLVM finds fault with the module.
void require_valid(const llvm::Module &module, const Kernel &kernel) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) {
    throw Error(ErrorKind::Internal,
                "kernel '" + kernel.name + "': the emitted LLVM IR is malformed: " + problem);
  }
}

/// Throws Error(Schedule) where the GPU that code is made for lacks what the kernel needs.
void require_architecture(const Kernel &kernel, const GpuTarget &target) {
  std::string tile;
  const int least = least_architecture(kernel, &tile);
  if (target.kind == GpuTarget::Kind::Cuda && target.architecture < least) {
    throw Error(ErrorKind::Schedule, "gpu_mma: tiles of " + tile + " need an NVIDIA GPU of sm_" +
                                         std::to_string(least) +
                                         " or newer, and code is asked for for sm_" +
                                         std::to_string(target.architecture) +
                                         "; tiles of 16 x 8 x 8 of float16 run from sm_75 on");
  }
}

/// What the threads of a kernel's launches do, as a module of its own; for the emulator it becomes
/// part of the host's.
struct DeviceModule {
  DeviceModule(const Kernel &kernel, llvm::LLVMContext &context, const EmitOptions &options)
      : machine(make_ptx_machine(options.gpu, options.fast_math, least_architecture(kernel) > 0)),
        module(std::make_unique<llvm::Module>(kernel.name, context)), options(for_device(options)) {
    module->setTargetTriple(machine->getTargetTriple().str());
    module->setDataLayout(machine->createDataLayout());
    MathTarget target;
    target.has_fma = true;
    target.has_library = false;
    emitter.emplace(kernel, *module, this->options, target);
  }

  static EmitOptions for_device(EmitOptions options) {
    options.is_interruptible = false;
    options.tuning.clear();
    return options;
  }

  std::string ptx() {
    lower_for_ptx(*module);
    optimise_for_gpu(*module, *machine);
    return compile_to_ptx(*module, *machine);
  }

  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  EmitOptions options;
  std::optional<KernelEmitter> emitter;
};

/// The emulated threads, as internal functions of the host's module.
void link_emulated(llvm::Module &module, DeviceModule &device, llvm::TargetMachine &machine) {
  lower_for_emulator(*device.module, machine);
  std::vector<std::string> defined;
  for (const llvm::Function &function : *device.module) {
    if (!function.isDeclaration() && !function.hasLocalLinkage()) {
      defined.push_back(function.getName().str());
    }
  }
  if (llvm::Linker::linkModules(module, std::move(device.module))) {
    throw Error(ErrorKind::Internal, "the emulator's code cannot be linked to the host's");
  }
  for (const std::string &name : defined) {
    module.getFunction(name)->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

std::unique_ptr<llvm::Module> emit_module(const Kernel &kernel, const CFunction *interface,
                                          llvm::LLVMContext &context, llvm::TargetMachine &machine,
                                          const EmitOptions &options, std::string *ptx = nullptr) {
  auto module = std::make_unique<llvm::Module>(kernel.name, context);
  module->setTargetTriple(machine.getTargetTriple().str());
  module->setDataLayout(machine.createDataLayout());
  try {
    KernelEmitter emitter(kernel, *module, options, math_target(machine));
    std::optional<DeviceModule> device;
    if (kernel.is_gpu) {
      require_architecture(kernel, options.gpu);
      device.emplace(kernel, context, options);
      emitter.set_threads(*device->emitter);
    }
    emitter.emit();
    if (interface != nullptr) {
      emitter.emit_c_function(*interface);
    }
    if (device) {
      require_valid(*device->module, kernel);
      std::string text;
      if (options.gpu.kind == GpuTarget::Kind::Cuda) {
        text = device->ptx();
      } else {
        link_emulated(*module, *device, machine);
      }
      emitter.emit_device_kernels(options.gpu, text);
      if (ptx != nullptr) {
        *ptx = std::move(text);
      }
    }
  } catch (const Error &error) {
    throw Error(error.kind, "kernel '" + kernel.name + "': " + error.what(), error.where);
  }
  if (!options.tuning.empty()) {
    for (llvm::Function &function : *module) {
      if (!function.isDeclaration()) {
        function.addFnAttr("tune-cpu", options.tuning);
      }
    }
  }
  require_valid(*module, kernel);
  return module;
}

} // namespace

std::unique_ptr<llvm::Module> emit_llvm(const Kernel &kernel, llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine, const EmitOptions &options) {
  return emit_module(kernel, nullptr, context, machine, options);
}

std::unique_ptr<llvm::Module> emit_llvm(const Kernel &kernel, const CFunction &interface,
                                        llvm::LLVMContext &context, llvm::TargetMachine &machine,
                                        const EmitOptions &options) {
  return emit_module(kernel, &interface, context, machine, options);
}

std::string emit_ptx(const Kernel &kernel, llvm::LLVMContext &context, llvm::TargetMachine &machine,
                     EmitOptions options) {
  std::string ptx;
  options.gpu.kind = GpuTarget::Kind::Cuda;
  emit_module(kernel, nullptr, context, machine, options, &ptx);
  return ptx;
}

namespace {

/// Ours, where addresses are what they will be.
void merge_loads(llvm::FunctionPassManager &passes) {
  passes.addPass(MergeGathers());
  passes.addPass(ShareLoads());
}

/// A pass builder and the analyses that its passes ask for.
struct Passes {
  explicit Passes(llvm::TargetMachine &machine,
                  llvm::PassInstrumentationCallbacks *callbacks = nullptr)
      : builder(&machine, llvm::PipelineTuningOptions(), std::nullopt, callbacks) {
    builder.registerPipelineParsingCallback(
        [](llvm::StringRef name, llvm::FunctionPassManager &passes, const auto & /*inner*/) {
          if (name != "merge-loads") {
            return false;
          }
          merge_loads(passes);
          return true;
        });
    builder.registerOptimizerLastEPCallback(
        [](llvm::ModulePassManager &passes, llvm::OptimizationLevel /*level*/) {
          llvm::FunctionPassManager last;
          merge_loads(last);
          passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(last)));
        });
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
};

} // namespace

namespace {

void run_pipeline(llvm::Module &module, llvm::TargetMachine &machine, const char *pipeline) {
  Passes with(machine);
  llvm::ModulePassManager passes;
  if (llvm::Error error = with.builder.parsePassPipeline(passes, pipeline)) {
    throw Error(ErrorKind::Internal,
                "LLVM refused the pass pipeline: " + llvm::toString(std::move(error)));
  }
  passes.run(module, with.modules);
}

} // namespace

void optimise_light(llvm::Module &module, llvm::TargetMachine &machine) {
  run_pipeline(
      module, machine,
      "function<eager-inv>(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
      "loop-mssa(loop-rotate,licm),gvn,simplifycfg,instcombine<no-verify-fixpoint>,merge-loads)");
}

void optimise_for_gpu(llvm::Module &module, llvm::TargetMachine &machine) {
  // Neighbouring loads become one where it is known that they are shared memory's, and aligned.
  run_pipeline(
      module, machine,
      "function<eager-inv>(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
      "loop-mssa(loop-rotate,licm),gvn,simplifycfg,infer-address-spaces,"
      "instcombine<no-verify-fixpoint>,infer-alignment)");
}

void optimise_full(llvm::Module &module, llvm::TargetMachine &machine, void (*between_passes)()) {
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerBeforeNonSkippedPassCallback(
      [between_passes](llvm::StringRef, const llvm::Any &) { between_passes(); });
  Passes with(machine, &callbacks);
  with.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, with.modules);
}

std::string print_llvm(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

} // namespace tilewright
