// A parallel loop becomes a function of its own, (begin, end, closure) -> status, and a call of
// tilewright_parallel_for. The closure lives on the caller's stack and carries the kernel's
// arguments, temporaries, variables and locals that the body uses. Loops that run as one are
// counted through: [begin, end) is a range of the product of their iterations.
#include "loops/estimate_work.h"
#include "loops/joined_loops.h"
#include "loops/traverse.h"
#include "targets/llvm/function_emitter.h"

#include <algorithm>
#include <unordered_set>

namespace tilewright {

namespace {

/// What a loop computes, for names: the array that it writes, an argument rather than another.
std::string written_in(const Kernel &kernel, const For &loop) {
  const KernelBuffer *found = nullptr;
  for (const StmtPtr &child : loop.children) {
    visit_statements(child, [&](const LoopStatement &statement) {
      const auto *change = as<ElementChange>(statement);
      if (change == nullptr) {
        return;
      }
      const KernelBuffer &buffer = kernel.buffers.at(static_cast<size_t>(change->buffer));
      if (found == nullptr || (buffer.is_argument && !found->is_argument)) {
        found = &buffer;
      }
    });
  }
  return found == nullptr ? "" : "." + found->name;
}

} // namespace

/// The buffers that a loop reads or writes: a kernel of many loops has many temporaries, and each
/// loop takes its own along.
std::unordered_set<std::int64_t> KernelEmitter::buffers_in(const LoopStatement &loop) {
  std::unordered_set<std::int64_t> found;
  const auto collect = [&](const LoopStatement &statement) {
    if (const auto *change = as<ElementChange>(statement)) {
      found.insert(change->buffer);
    }
    visit_values(statement, [&](const Value &value) {
      if (const auto *load = as<Load>(value)) {
        found.insert(load->buffer);
      }
    });
  };
  collect(loop);
  for (const StmtPtr &child : loop.children) {
    visit_statements(child, collect);
  }
  return found;
}

KernelEmitter::Captures KernelEmitter::find_captures(const LoopStatement &loop) const {
  std::unordered_set<std::int64_t> variables;
  std::unordered_set<std::int64_t> locals;
  Captures captures;
  std::unordered_set<const Value *> seen;
  std::vector<const Value *> values;
  std::vector<const LoopStatement *> statements = {&loop};
  const auto note = [&](const ValuePtr &value) { values.push_back(value.get()); };
  while (!statements.empty()) {
    const LoopStatement &statement = *statements.back();
    statements.pop_back();
    for (const StmtPtr &child : statement.children) {
      statements.push_back(child.get());
    }
    each_value(statement, note);
    if (const auto *assignment = as<AssignLocal>(statement)) {
      locals.insert(assignment->id);
      captures.assigned.insert(assignment->id);
    }
  }
  while (!values.empty()) {
    const Value *value = values.back();
    values.pop_back();
    if (!seen.insert(value).second) {
      continue;
    }
    if (const auto *variable = as<Variable>(*value)) {
      variables.insert(variable->id);
    } else if (const auto *local = as<Local>(*value)) {
      locals.insert(local->id);
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

void KernelEmitter::parallel_loop(const For &statement) {
  llvm::PointerType *pointer = builder_.getPtrTy();
  llvm::Type *i64 = builder_.getInt64Ty();
  const std::vector<const For *> loops = joined_loops(statement);
  llvm::Value *begin = scalar(*statement.lower);
  llvm::Value *end = scalar(*statement.upper);
  std::vector<llvm::Value *> bounds; // of joined loops: where each begins, how many iterations
  if (loops.size() > 1) {
    llvm::Value *total = nullptr;
    for (const For *loop : loops) {
      llvm::Value *lower = scalar(*loop->lower);
      llvm::Value *extent = builder_.CreateBinaryIntrinsic(
          llvm::Intrinsic::smax, builder_.CreateNSWSub(scalar(*loop->upper), lower),
          builder_.getInt64(0));
      total = total == nullptr ? extent : builder_.CreateNSWMul(total, extent);
      bounds.insert(bounds.end(), {lower, extent});
    }
    begin = builder_.getInt64(0);
    end = total;
  }
  const Captures captures = find_captures(statement);
  const std::unordered_set<std::int64_t> touched = buffers_in(statement);
  const auto takes_along = [&](size_t b, const BufferSlot &slot) {
    return !kernel_.buffers[b].is_argument && slot.base != nullptr &&
           touched.contains(static_cast<std::int64_t>(b));
  };

  // The closure (it begins with a ClosureHead): what the body sees, in one list.
  std::vector<llvm::Value *> carried = {frame_.data, frame_.integers, frame_.record};
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (takes_along(b, frame_.buffers[b])) {
      // open_temporary goes from the beginning of a record to its field.
      const std::int64_t back = -kernel_.buffers[b].record.offset;
      llvm::Value *base = frame_.buffers[b].base;
      carried.push_back(back == 0 ? base : offset(base, llvm::ConstantInt::getSigned(i64, back)));
    }
  }
  carried.insert(carried.end(), bounds.begin(), bounds.end());
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
  // LLVM numbers those of one name.
  llvm::Function *body =
      make_function(symbol_ + written_in(kernel_, statement) + "." + statement.name, type, false);
  llvm::FunctionCallee run = module_.getOrInsertFunction(
      "tilewright_parallel_for",
      llvm::FunctionType::get(builder_.getInt32Ty(), {i64, i64, pointer, pointer, i64, i64},
                              false));
  llvm::cast<llvm::Function>(run.getCallee())->setDoesNotThrow();
  const ParallelSchedule &schedule = statement.parallel;
  const std::int64_t dealing = schedule.dealing == Dealing::Dynamic
                                   ? -std::max<std::int64_t>(schedule.chunk, 1)
                                   : schedule.chunk;
  llvm::Value *work = scalar(*estimates_.emplace_back(estimated_work(statement)));
  // Its threads look up by themselves, unless there is little to do for them again and again.
  if (is_interruptible_ && frame_.max_runs > few_runs && !work_.most(statement)) {
    count_and_look_up(work);
  }
  const auto on_threads = [&] {
    return builder_.CreateCall(run, {begin, end, closure, body,
                                     builder_.getInt64(static_cast<std::uint64_t>(dealing)), work});
  };
  llvm::Value *status = nullptr;
  if (threads_where_worthwhile_) {
    llvm::BasicBlock *many = llvm::BasicBlock::Create(context_, "threads", frame_.function);
    llvm::BasicBlock *one = llvm::BasicBlock::Create(context_, "alone", frame_.function);
    llvm::BasicBlock *done = llvm::BasicBlock::Create(context_, "done", frame_.function);
    builder_.CreateCondBr(
        builder_.CreateICmpSGE(work, builder_.getInt64(std::uint64_t{least_work_for_threads})),
        many, one);
    builder_.SetInsertPoint(many);
    llvm::Value *of_threads = on_threads();
    builder_.CreateBr(done);
    builder_.SetInsertPoint(one);
    llvm::Value *alone = builder_.CreateCall(type, body, {begin, end, closure});
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
    llvm::PHINode *either = builder_.CreatePHI(builder_.getInt32Ty(), 2, "status");
    either->addIncoming(of_threads, many);
    either->addIncoming(alone, one);
    status = either;
  } else {
    status = on_threads();
  }
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
  llvm::Value *record = take("record");
  open_frame(body, data, integers, record);
  frame_.parallel = true;
  frame_.prefetches = outer.prefetches;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (takes_along(b, outer.buffers[b])) {
      open_temporary(b, take(kernel_.buffers[b].name));
    }
  }
  for (llvm::Value *&bound : bounds) {
    bound = take("bound");
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
  if (bounds.empty()) {
    loop_between(statement, body->getArg(0), body->getArg(1));
  } else {
    joined_range(loops, bounds, body->getArg(0), body->getArg(1));
  }
  builder_.CreateBr(frame_.exit);
  builder_.SetInsertPoint(frame_.exit);
  close_frame();

  frame_ = std::move(outer);
  frame_.known.clear();
  frame_.depths.clear();
  builder_.SetInsertPoint(after);
}

/// Iterations [begin, end) of loops that are counted through: whole rows of the innermost loop, of
/// which the first and the last may be in part another thread's. Only a new row costs divisions.
void KernelEmitter::joined_range(const std::vector<const For *> &loops,
                                 const std::vector<llvm::Value *> &bounds, llvm::Value *begin,
                                 llvm::Value *end) {
  llvm::Value *zero = builder_.getInt64(0);
  llvm::Value *one = builder_.getInt64(1);
  llvm::Value *length = bounds.back(); // of a row; positive, as there are iterations
  llvm::Value *first = builder_.CreateUDiv(begin, length);
  llvm::Value *last = builder_.CreateUDiv(builder_.CreateNSWSub(end, one), length);
  llvm::BasicBlock *enter = builder_.GetInsertBlock();
  llvm::BasicBlock *rows = llvm::BasicBlock::Create(context_, "row", frame_.function);
  llvm::BasicBlock *after = llvm::BasicBlock::Create(context_, "rows.after", frame_.function);
  builder_.CreateBr(rows);
  builder_.SetInsertPoint(rows);
  llvm::PHINode *row = builder_.CreatePHI(builder_.getInt64Ty(), 2, "row");
  row->addIncoming(first, enter);
  ++frame_.depth;
  const size_t known = frame_.prefetches.size();
  for (size_t d = 0; d + 1 < loops.size(); ++d) {
    for (const auto &[buffer, distance] : loops[d]->prefetches) {
      frame_.prefetches.push_back({loops[d]->id, buffer, distance});
    }
  }
  llvm::Value *rest = row;
  for (size_t d = loops.size() - 1; d-- > 0;) {
    llvm::Value *position = rest;
    if (d > 0) {
      position = builder_.CreateURem(rest, bounds[2 * d + 1]);
      rest = builder_.CreateUDiv(rest, bounds[2 * d + 1]);
    }
    frame_.variables[loops[d]->id] =
        VariableSlot{builder_.CreateNSWAdd(bounds[2 * d], position), frame_.depth, true};
  }
  llvm::Value *start = builder_.CreateNSWMul(row, length);
  llvm::Value *from = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax,
                                                     builder_.CreateNSWSub(begin, start), zero);
  llvm::Value *to = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                                   builder_.CreateNSWSub(end, start), length);
  if (const auto work = work_.most(*loops.back()); is_interruptible_ && work) {
    count_and_look_up(builder_.getInt64(static_cast<std::uint64_t>(*work)));
  }
  llvm::Value *lower = bounds[bounds.size() - 2];
  loop_between(*loops.back(), builder_.CreateNSWAdd(lower, from), builder_.CreateNSWAdd(lower, to));
  frame_.prefetches.resize(known);
  --frame_.depth;
  llvm::Value *next = builder_.CreateNSWAdd(row, one);
  row->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLE(next, last), rows, after);
  builder_.SetInsertPoint(after);
}

} // namespace tilewright
