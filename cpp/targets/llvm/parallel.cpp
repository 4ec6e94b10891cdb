// A parallel loop becomes a function of its own, (begin, end, closure) -> status, and a call of
// tilewright_parallel_for. The closure lives on the caller's stack and carries the kernel's
// arguments, temporaries, variables and locals that the body uses. Loops that run as one are
// counted through: [begin, end) is a range of the product of their iterations.
#include "loops/estimate_work.h"
#include "loops/joined_loops.h"
#include "loops/traverse.h"
#include "targets/llvm/host_emitter.h"

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

/// What the threads of a loop are dealt: [begin, end), of its own iterations or of the product of
/// those of the loops that run as one with it.
struct HostEmitter::Iterations {
  std::vector<const For *> loops;
  llvm::Value *begin;
  llvm::Value *end;
  /// Of joined loops: where each begins, how many iterations; else none.
  std::vector<llvm::Value *> bounds;
};

/// What a body sees of what is around it, in one list on the caller's stack, which begins with a
/// ClosureHead.
struct HostEmitter::Closure {
  Captures captures;
  std::vector<size_t> temporaries; ///< buffers
  llvm::StructType *layout = nullptr;
  llvm::AllocaInst *memory = nullptr;
};

HostEmitter::Iterations HostEmitter::iterations_of(const For &statement) {
  Iterations iterations{
      joined_loops(statement), scalar(*statement.lower), scalar(*statement.upper), {}};
  if (iterations.loops.size() > 1) {
    llvm::Value *total = nullptr;
    for (const For *loop : iterations.loops) {
      llvm::Value *lower = scalar(*loop->lower);
      llvm::Value *extent = builder_.CreateBinaryIntrinsic(
          llvm::Intrinsic::smax, builder_.CreateNSWSub(scalar(*loop->upper), lower),
          builder_.getInt64(0));
      total = total == nullptr ? extent : builder_.CreateNSWMul(total, extent);
      iterations.bounds.insert(iterations.bounds.end(), {lower, extent});
    }
    iterations.begin = builder_.getInt64(0);
    iterations.end = total;
  }
  return iterations;
}

HostEmitter::Closure HostEmitter::make_closure(const For &statement, const Iterations &iterations) {
  llvm::Type *i64 = builder_.getInt64Ty();
  Closure closure;
  closure.captures = find_captures(statement);
  const std::unordered_set<std::int64_t> touched = buffers_in(statement);
  std::vector<llvm::Value *> carried = {frame_.data, frame_.integers, frame_.record};
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    llvm::Value *base = frame_.buffers[b].base;
    if (!kernel_.buffers[b].is_argument && base != nullptr &&
        touched.contains(static_cast<std::int64_t>(b))) {
      // open_temporary goes from the beginning of a record to its field.
      const std::int64_t back = -kernel_.buffers[b].record.offset;
      carried.push_back(back == 0 ? base : offset(base, llvm::ConstantInt::getSigned(i64, back)));
      closure.temporaries.push_back(b);
    }
  }
  carried.insert(carried.end(), iterations.bounds.begin(), iterations.bounds.end());
  for (const std::int64_t id : closure.captures.variables) {
    carried.push_back(frame_.variables.at(id).value);
  }
  for (const std::int64_t id : closure.captures.locals) {
    const LocalSlot &slot = frame_.locals.at(id);
    llvm::Type *type = register_type(context_, slot.type.scalar, slot.type.lanes);
    for (llvm::Value *part : {slot.re, slot.im}) {
      if (part != nullptr) {
        carried.push_back(closure.captures.assigned.contains(id) ? part
                                                                 : builder_.CreateLoad(type, part));
      }
    }
  }
  std::vector<llvm::Type *> fields;
  for (const llvm::Value *value : carried) {
    fields.push_back(value->getType());
  }
  closure.layout = llvm::StructType::get(context_, fields);
  closure.memory = entry_alloca(closure.layout, "closure");
  for (unsigned k = 0; k < carried.size(); ++k) {
    builder_.CreateStore(carried[k], builder_.CreateStructGEP(closure.layout, closure.memory, k));
  }
  return closure;
}

void HostEmitter::parallel_loop(const For &statement) {
  llvm::Type *i64 = builder_.getInt64Ty();
  const Iterations iterations = iterations_of(statement);
  const Closure closure = make_closure(statement, iterations);
  auto *type =
      llvm::FunctionType::get(builder_.getInt32Ty(), {i64, i64, builder_.getPtrTy()}, false);
  // LLVM numbers those of one name.
  llvm::Function *body =
      make_function(symbol_ + written_in(kernel_, statement) + "." + statement.name, type, false);
  llvm::Value *status = call_on_threads(statement, iterations, closure, body);
  llvm::BasicBlock *failed = new_block("failed");
  llvm::BasicBlock *after = new_block(statement.name + ".after");
  builder_.CreateCondBr(builder_.CreateICmpEQ(status, builder_.getInt32(0)), after, failed);
  builder_.SetInsertPoint(failed);
  fail_with(status);

  Frame outer = std::move(frame_);
  parallel_body(statement, iterations, closure, body, outer);
  frame_ = std::move(outer);
  frame_.forget();
  builder_.SetInsertPoint(after);
}

/// The status of all iterations.
llvm::Value *HostEmitter::call_on_threads(const For &statement, const Iterations &iterations,
                                          const Closure &closure, llvm::Function *body) {
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::PointerType *pointer = builder_.getPtrTy();
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
    return builder_.CreateCall(run, {iterations.begin, iterations.end, closure.memory, body,
                                     builder_.getInt64(static_cast<std::uint64_t>(dealing)), work});
  };
  if (kernel_.least_work_for_threads == 0) {
    return on_threads();
  }
  llvm::BasicBlock *many = new_block("threads");
  llvm::BasicBlock *one = new_block("alone");
  llvm::BasicBlock *done = new_block("done");
  llvm::Value *least = llvm::ConstantInt::getSigned(i64, kernel_.least_work_for_threads);
  builder_.CreateCondBr(builder_.CreateICmpSGE(work, least), many, one);
  builder_.SetInsertPoint(many);
  llvm::Value *of_threads = on_threads();
  builder_.CreateBr(done);
  builder_.SetInsertPoint(one);
  llvm::Value *alone =
      builder_.CreateCall(body, {iterations.begin, iterations.end, closure.memory});
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
  llvm::PHINode *status = builder_.CreatePHI(builder_.getInt32Ty(), 2, "status");
  status->addIncoming(of_threads, many);
  status->addIncoming(alone, one);
  return status;
}

/// The body in its own frame, which takes out of the closure what make_closure put there.
void HostEmitter::parallel_body(const For &statement, const Iterations &iterations,
                                const Closure &closure, llvm::Function *body, const Frame &outer) {
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", body));
  llvm::Argument *packed = body->getArg(2);
  unsigned next = 0;
  auto take = [&](const std::string &name) {
    llvm::Value *address = builder_.CreateStructGEP(closure.layout, packed, next);
    llvm::LoadInst *load = builder_.CreateLoad(closure.layout->getElementType(next), address, name);
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
  for (const size_t b : closure.temporaries) {
    open_temporary(b, take(kernel_.buffers[b].name));
  }
  std::vector<llvm::Value *> bounds;
  for (size_t k = 0; k < iterations.bounds.size(); ++k) {
    bounds.push_back(take("bound"));
  }
  for (const std::int64_t id : closure.captures.variables) {
    const VariableSlot &slot = outer.variables.at(id);
    frame_.variables[id] = VariableSlot{take("outer"), 0, slot.is_index};
  }
  for (const std::int64_t id : closure.captures.locals) {
    LocalSlot slot = outer.locals.at(id);
    llvm::Type *local_type = register_type(context_, slot.type.scalar, slot.type.lanes);
    for (llvm::Value **part : {&slot.re, &slot.im}) {
      if (*part == nullptr) {
        continue;
      }
      llvm::Value *carried = take("outer");
      if (closure.captures.assigned.contains(id)) {
        *part = carried;
      } else {
        *part = entry_alloca(local_type, "outer");
        builder_.CreateStore(carried, *part);
      }
    }
    frame_.locals[id] = slot;
  }
  if (bounds.empty()) {
    loop_between(statement, body->getArg(0), body->getArg(1));
  } else {
    joined_range(iterations.loops, bounds, body->getArg(0), body->getArg(1));
  }
  builder_.CreateBr(frame_.exit);
  builder_.SetInsertPoint(frame_.exit);
  close_frame();
}

/// Iterations [begin, end) of loops that are counted through: whole rows of the innermost loop, of
/// which the first and the last may be in part another thread's. Only a new row costs divisions.
void HostEmitter::joined_range(const std::vector<const For *> &loops,
                               const std::vector<llvm::Value *> &bounds, llvm::Value *begin,
                               llvm::Value *end) {
  llvm::Value *zero = builder_.getInt64(0);
  llvm::Value *one = builder_.getInt64(1);
  llvm::Value *length = bounds.back(); // of a row
  llvm::BasicBlock *some = new_block("some");
  llvm::BasicBlock *after = new_block("rows.after");
  // Without iterations, which a single thread may be given, too, there is nothing to divide by.
  builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), some, after);
  builder_.SetInsertPoint(some);
  llvm::Value *first = builder_.CreateUDiv(begin, length);
  llvm::Value *last = builder_.CreateUDiv(builder_.CreateNSWSub(end, one), length);
  llvm::BasicBlock *enter = builder_.GetInsertBlock();
  llvm::BasicBlock *rows = new_block("row");
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
