// Functions and what all of them have: slots on the stack, the buffers' places, alias scopes.
#include "loops/build.h"
#include "targets/llvm/code_emitter.h"

namespace tilewright {

CodeEmitter::CodeEmitter(const Kernel &kernel, llvm::Module &module, const EmitOptions &options,
                         MathTarget target, bool is_device)
    : kernel_(kernel), module_(module), context_(module.getContext()), builder_(context_),
      target_(target),
      symbol_(options.symbol.empty() ? kernel_symbol(kernel.name) : options.symbol),
      semantics_(builder_, module, options, target), is_device_(is_device),
      fuses_products_(target.has_fma && !options.fast_math),
      is_interruptible_(options.is_interruptible) {}

llvm::Function *CodeEmitter::make_function(const std::string &name, llvm::FunctionType *type,
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

llvm::AllocaInst *CodeEmitter::entry_alloca(llvm::Type *type, const std::string &name) {
  llvm::BasicBlock &entry = frame_.function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type, nullptr, name);
}

void CodeEmitter::fail_with(llvm::Value *status) {
  builder_.CreateStore(status, frame_.status);
  builder_.CreateBr(frame_.exit);
}

std::vector<std::int64_t> CodeEmitter::constant_strides(const KernelBuffer &buffer) {
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

void CodeEmitter::open_temporary(size_t b, llvm::Value *base) {
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

std::uint64_t CodeEmitter::element_bytes(size_t b) const {
  const KernelBuffer &buffer = kernel_.buffers[b];
  return static_cast<std::uint64_t>(buffer.record.name.empty() ? buffer.type.bytes()
                                                               : buffer.record.size);
}

void CodeEmitter::make_alias_scopes() {
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

} // namespace tilewright
