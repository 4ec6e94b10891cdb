// A parallel loop becomes a function of its own, (begin, end, closure) -> status, and a call of
// tilewright_parallel_for. The closure lives on the caller's stack and carries the kernel's
// arguments, temporaries, variables and locals that the body uses.
#include "targets/llvm_function_emitter.h"

#include <algorithm>

namespace tilewright {

KernelEmitter::Captures KernelEmitter::find_captures(const LoopStatement &loop) const {
  std::unordered_set<std::int64_t> variables;
  std::unordered_set<std::int64_t> locals;
  Captures captures;
  std::unordered_set<const Value *> seen;
  std::vector<const Value *> values;
  std::vector<const LoopStatement *> statements = {&loop};
  auto note = [&](const ValuePtr &value) {
    if (value) {
      values.push_back(value.get());
    }
  };
  while (!statements.empty()) {
    const LoopStatement &statement = *statements.back();
    statements.pop_back();
    for (const StmtPtr &child : statement.children) {
      if (child) {
        statements.push_back(child.get());
      }
    }
    note(statement.lower);
    note(statement.upper);
    note(statement.value);
    for (const ValuePtr &subscript : statement.subscripts) {
      note(subscript);
    }
    if (statement.kind == StatementKind::AssignLocal) {
      locals.insert(statement.id);
      captures.assigned.insert(statement.id);
    }
  }
  while (!values.empty()) {
    const Value *value = values.back();
    values.pop_back();
    if (!seen.insert(value).second) {
      continue;
    }
    if (value->kind == ValueKind::Variable) {
      variables.insert(value->id);
    } else if (value->kind == ValueKind::Local) {
      locals.insert(value->id);
    }
    for (const ValuePtr &operand : value->operands) {
      note(operand);
    }
  }
  // Only what exists outside; sorted, so that the same kernel always gives the same code.
  for (const std::int64_t id : variables) {
    if (frame_.variables.contains(id)) {
      captures.variables.push_back(id);
    }
  }
  for (const std::int64_t id : locals) {
    if (frame_.locals.contains(id)) {
      captures.locals.push_back(id);
    }
  }
  std::sort(captures.variables.begin(), captures.variables.end());
  std::sort(captures.locals.begin(), captures.locals.end());
  return captures;
}

void KernelEmitter::parallel_loop(const LoopStatement &statement) {
  llvm::PointerType *pointer = builder_.getPtrTy();
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::Value *lower = scalar(*statement.lower);
  llvm::Value *upper = scalar(*statement.upper);
  const Captures captures = find_captures(statement);

  // The closure: what the body sees, in one list.
  std::vector<llvm::Value *> carried = {frame_.data, frame_.integers, frame_.failure};
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (!kernel_.buffers[b].is_argument && frame_.buffers[b].base != nullptr) {
      carried.push_back(frame_.buffers[b].base);
    }
  }
  for (const std::int64_t id : captures.variables) {
    carried.push_back(frame_.variables.at(id).value);
  }
  for (const std::int64_t id : captures.locals) {
    const LocalSlot &slot = frame_.locals.at(id);
    llvm::Type *type = register_type(context_, slot.type.scalar, slot.type.lanes);
    for (llvm::Value *part : {slot.re, slot.im}) {
      if (part != nullptr) {
        carried.push_back(captures.assigned.contains(id) ? part : builder_.CreateLoad(type, part));
      }
    }
  }
  std::vector<llvm::Type *> fields;
  for (const llvm::Value *value : carried) {
    fields.push_back(value->getType());
  }
  llvm::StructType *layout = llvm::StructType::get(context_, fields);
  llvm::AllocaInst *closure = entry_alloca(layout, "closure");
  for (unsigned k = 0; k < carried.size(); ++k) {
    builder_.CreateStore(carried[k], builder_.CreateStructGEP(layout, closure, k));
  }

  auto *type = llvm::FunctionType::get(builder_.getInt32Ty(), {i64, i64, pointer}, false);
  llvm::Function *body = make_function(kernel_.name + ".parallel" +
                                           std::to_string(parallel_loops_++) + "." + statement.name,
                                       type, false);
  llvm::FunctionCallee run = module_.getOrInsertFunction(
      "tilewright_parallel_for",
      llvm::FunctionType::get(builder_.getInt32Ty(), {i64, i64, pointer, pointer}, false));
  llvm::cast<llvm::Function>(run.getCallee())->setDoesNotThrow();
  llvm::Value *status = builder_.CreateCall(run, {lower, upper, closure, body});
  llvm::BasicBlock *failed = llvm::BasicBlock::Create(context_, "failed", frame_.function);
  llvm::BasicBlock *after =
      llvm::BasicBlock::Create(context_, statement.name + ".after", frame_.function);
  builder_.CreateCondBr(builder_.CreateICmpEQ(status, builder_.getInt32(0)), after, failed);
  builder_.SetInsertPoint(failed);
  fail_with(status);

  // The body, in its own frame.
  Frame outer = std::move(frame_);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", body));
  llvm::Argument *packed = body->getArg(2);
  unsigned next = 0;
  auto take = [&](const std::string &name) {
    llvm::Value *address = builder_.CreateStructGEP(layout, packed, next);
    llvm::LoadInst *load = builder_.CreateLoad(fields[next], address, name);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    ++next;
    return load;
  };
  llvm::Value *data = take("data");
  llvm::Value *integers = take("integers");
  llvm::Value *failure = take("failure");
  open_frame(body, data, integers, failure);
  frame_.parallel = true;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (!kernel_.buffers[b].is_argument && outer.buffers[b].base != nullptr) {
      open_temporary(b, take(kernel_.buffers[b].name));
    }
  }
  for (const std::int64_t id : captures.variables) {
    const VariableSlot &slot = outer.variables.at(id);
    frame_.variables[id] = VariableSlot{take("outer"), 0, slot.is_index};
  }
  for (const std::int64_t id : captures.locals) {
    LocalSlot slot = outer.locals.at(id);
    llvm::Type *local_type = register_type(context_, slot.type.scalar, slot.type.lanes);
    for (llvm::Value **part : {&slot.re, &slot.im}) {
      if (*part == nullptr) {
        continue;
      }
      llvm::Value *carried_value = take("outer");
      if (captures.assigned.contains(id)) {
        *part = carried_value;
      } else {
        *part = entry_alloca(local_type, "outer");
        builder_.CreateStore(carried_value, *part);
      }
    }
    frame_.locals[id] = slot;
  }
  loop_between(statement, body->getArg(0), body->getArg(1));
  builder_.CreateBr(frame_.exit);
  builder_.SetInsertPoint(frame_.exit);
  close_frame();

  frame_ = std::move(outer);
  frame_.known.clear();
  frame_.depths.clear();
  builder_.SetInsertPoint(after);
}

} // namespace tilewright
