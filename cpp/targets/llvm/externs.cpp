// Functions of C that a kernel calls (algorithm/extern_function.h): each lane by itself, and under
// a mask only those that take part.
#include "algorithm/block.h"
#include "algorithm/declaration_checks.h"
#include "algorithm/extern_function.h"
#include "targets/llvm/code_emitter.h"
#include "targets/llvm/thread_emitter.h"

namespace tilewright {

namespace {

/// C's callers extend integers that are narrower than int.
void extend(llvm::AttributeList &attributes, llvm::LLVMContext &context, ScalarType type,
            unsigned index) {
  if (type.is_bool() || type.kind == TypeKind::UInt) {
    attributes = attributes.addAttributeAtIndex(context, index, llvm::Attribute::ZExt);
  } else if (type.kind == TypeKind::Int && type.bits < 64) {
    attributes = attributes.addAttributeAtIndex(context, index, llvm::Attribute::SExt);
  }
}

llvm::Function *declaration(llvm::Module &module, const ExternFunction &function) {
  const std::string symbol = extern_symbol(function);
  if (llvm::Function *known = module.getFunction(symbol)) {
    return known;
  }
  llvm::LLVMContext &context = module.getContext();
  std::vector<llvm::Type *> types;
  llvm::AttributeList attributes;
  for (const ScalarType type : function.arguments) {
    extend(attributes, context, type,
           llvm::AttributeList::FirstArgIndex + static_cast<unsigned>(types.size()));
    types.push_back(memory_type(context, type, 1));
  }
  extend(attributes, context, function.result, llvm::AttributeList::ReturnIndex);
  auto *made = llvm::Function::Create(
      llvm::FunctionType::get(memory_type(context, function.result, 1), types, false),
      llvm::GlobalValue::ExternalLinkage, symbol, module);
  made->setAttributes(attributes);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::NoBuiltin); // whatever its name is
  return made;
}

/// What code calls of a block, of these types.
llvm::FunctionCallee block_callee(llvm::Module &module, const ExternFunction &function,
                                  const std::vector<llvm::Value *> &passed) {
  llvm::LLVMContext &context = module.getContext();
  std::vector<llvm::Type *> types;
  types.reserve(passed.size());
  for (const llvm::Value *argument : passed) {
    types.push_back(argument->getType());
  }
  const BlockFunction &block = *function.block;
  llvm::Type *result = block.is_described || block.returns_code ? llvm::Type::getInt32Ty(context)
                                                                : llvm::Type::getVoidTy(context);
  return module.getOrInsertFunction(extern_symbol(function),
                                    llvm::FunctionType::get(result, types, false));
}

} // namespace

Term CodeEmitter::extern_call(const Extern &value) {
  const ExternFunction &function = *value.function;
  if (function.address_in >= 0) {
    const auto buffer = static_cast<size_t>(function.address_in);
    std::vector<ValuePtr> subscripts = value.arguments();
    subscripts.resize(kernel_.buffers[buffer].extents.size()); // without dimensions: none
    llvm::Value *first = address(buffer, subscripts, 1).first;
    return Term{builder_.CreatePtrToInt(first, builder_.getInt64Ty()), nullptr};
  }
  if (function.block) {
    return block_call(value);
  }
  llvm::Function *callee = declaration(module_, function);
  const std::vector<ValuePtr> operands = value.arguments();
  std::vector<Term> arguments;
  arguments.reserve(operands.size());
  for (const ValuePtr &operand : operands) {
    arguments.push_back(this->value(*operand));
  }
  const auto call = [&](int lane) {
    std::vector<llvm::Value *> passed;
    for (size_t a = 0; a < arguments.size(); ++a) {
      llvm::Value *argument =
          value.type.lanes == 1 ? arguments[a].re : semantics_.lane(arguments[a], lane).re;
      passed.push_back(function.arguments[a].is_bool()
                           ? builder_.CreateZExt(argument, builder_.getInt8Ty())
                           : argument);
    }
    llvm::CallInst *made = builder_.CreateCall(callee, passed);
    made->setAttributes(callee->getAttributes());
    return function.result.is_bool() ? builder_.CreateICmpNE(made, builder_.getInt8(0))
                                     : static_cast<llvm::Value *>(made);
  };
  if (value.type.lanes == 1 && !value.has_mask) {
    return Term{call(0), nullptr};
  }
  Term result{
      llvm::Constant::getNullValue(register_type(context_, function.result, value.type.lanes)),
      nullptr};
  const Term mask = value.has_mask ? this->value(*value.operands.front()) : Term{};
  for (int lane = 0; lane < value.type.lanes; ++lane) {
    if (!value.has_mask) {
      result = semantics_.with_lane(result, Term{call(lane), nullptr}, lane);
      continue;
    }
    llvm::BasicBlock *before = builder_.GetInsertBlock();
    llvm::BasicBlock *takes_part = new_block("call");
    llvm::BasicBlock *after = new_block("called");
    llvm::Value *runs = value.type.lanes == 1 ? mask.re : semantics_.lane(mask, lane).re;
    before = builder_.GetInsertBlock();
    builder_.CreateCondBr(runs, takes_part, after);
    builder_.SetInsertPoint(takes_part);
    llvm::Value *made = call(lane);
    const Term with = value.type.lanes == 1
                          ? Term{made, nullptr}
                          : semantics_.with_lane(result, Term{made, nullptr}, lane);
    llvm::BasicBlock *last = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    llvm::PHINode *merged = builder_.CreatePHI(result.re->getType(), 2);
    merged->addIncoming(result.re, before);
    merged->addIncoming(with.re, last);
    result.re = merged;
  }
  return result;
}

Term CodeEmitter::block_call(const Extern &value) {
  const ExternFunction &function = *value.function;
  const BlockFunction &block = *function.block;
  const std::vector<ValuePtr> operands = value.arguments();
  if (value.type.lanes != 1 || value.has_mask) {
    throw Error(ErrorKind::Internal, "the call of a block in lanes");
  }
  std::vector<llvm::Value *> passed;
  if (block.is_described) {
    llvm::Type *type = llvm::ArrayType::get(builder_.getInt64Ty(), operands.size());
    llvm::AllocaInst *words = entry_alloca(type, function.name + ".words");
    for (size_t w = 0; w < operands.size(); ++w) {
      builder_.CreateStore(scalar(*operands[w]),
                           builder_.CreateConstInBoundsGEP2_64(type, words, 0, w));
    }
    passed = {module_.getOrInsertGlobal(extern_symbol(function) + "_context", builder_.getInt8Ty()),
              words};
  } else {
    for (size_t a = 0; a < operands.size(); ++a) {
      const BlockArgument &argument = block.arguments[a];
      llvm::Value *given = scalar(*operands[a]);
      if (argument.kind != BlockArgument::Kind::Number) {
        given = builder_.CreateIntToPtr(given, builder_.getPtrTy());
      } else if (argument.by_reference) {
        llvm::AllocaInst *slot = entry_alloca(given->getType(), function.name + ".number");
        builder_.CreateStore(given, slot);
        given = slot;
      }
      passed.push_back(given);
    }
  }
  llvm::CallInst *made = builder_.CreateCall(block_callee(module_, function, passed), passed);
  made->setDoesNotThrow();
  return Term{made->getType()->isVoidTy() ? builder_.getInt32(0) : static_cast<llvm::Value *>(made),
              nullptr};
}

Term ThreadEmitter::extern_call(const Extern &value) {
  const ExternFunction &function = *value.function;
  throw Error(ErrorKind::Schedule,
              "kernel '" + kernel_.name + "' calls " + function.name + ", a function of C (" +
                  line_text(function.where) +
                  "), in a loop over the blocks or threads of a GPU, which has no code for it, and "
                  "neither has the emulator: write " +
                  function.name + " as an expression, or leave the function to the processor",
              function.where);
}

} // namespace tilewright
