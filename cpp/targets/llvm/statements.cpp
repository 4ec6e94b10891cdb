// Statements: blocks, loops, conditions and locals.
#include "targets/llvm/function_emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <utility>

namespace tilewright {

void KernelEmitter::statement(const LoopStatement &statement) {
  // What is in `known` stays valid until the next write or branch; forgetting it at each statement
  // is enough.
  frame_.known.clear();
  frame_.depths.clear();
  switch (statement.kind) {
  case StatementKind::Block:
    block(cast<Block>(statement));
    break;
  case StatementKind::For:
    if (is_loop_of(statement, LoopKind::Parallel) && !frame_.parallel) {
      parallel_loop(cast<For>(statement));
    } else {
      serial_loop(cast<For>(statement));
    }
    break;
  case StatementKind::While:
    while_loop(cast<While>(statement));
    break;
  case StatementKind::If:
    condition(cast<If>(statement));
    break;
  case StatementKind::Store:
  case StatementKind::AtomicUpdate:
  case StatementKind::CopyAsync:
    write(cast<ElementChange>(statement));
    break;
  case StatementKind::Let: {
    const auto &let = cast<Let>(statement);
    VariableSlot slot;
    slot.value = scalar(*let.value);
    slot.depth = depth_of(*let.value);
    slot.is_index = is_index(*let.value);
    frame_.variables[let.id] = slot;
    break;
  }
  case StatementKind::DeclareLocal:
    declare_local(cast<DeclareLocal>(statement));
    break;
  case StatementKind::AssignLocal:
    assign_local(cast<AssignLocal>(statement));
    break;
  case StatementKind::CheckIndex:
    check_index(cast<CheckIndex>(statement));
    break;
  case StatementKind::CheckValue:
    check_value(cast<CheckValue>(statement));
    break;
  case StatementKind::Timed:
    timed(cast<Timed>(statement));
    break;
  case StatementKind::Launch:
    launch(cast<Launch>(statement));
    break;
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
  }
}

void KernelEmitter::block(const Block &statement) {
  for (const StmtPtr &child : statement.children) {
    this->statement(*child);
  }
}

void KernelEmitter::serial_loop(const For &statement) {
  llvm::Value *lower = scalar(*statement.lower);
  llvm::Value *upper = scalar(*statement.upper);
  loop_between(statement, lower, upper);
}

void KernelEmitter::loop_between(const For &statement, llvm::Value *lower, llvm::Value *upper) {
  const std::string &name = statement.name;
  const auto block = [&](const char *suffix) {
    return llvm::BasicBlock::Create(context_, name + suffix, frame_.function);
  };
  const Counting counting = counting_of(statement);
  llvm::BasicBlock *before = block(".enter");
  llvm::BasicBlock *body = block(".body");
  llvm::BasicBlock *leave = block(".leave");
  llvm::BasicBlock *after = block(".after");
  llvm::Value *used_up = nullptr;
  const auto count_all = [&](llvm::Value *iterations) {
    llvm::Value *each = builder_.getInt64(static_cast<std::uint64_t>(counting.iteration));
    used_up = count(builder_.CreateNSWAdd(builder_.CreateNSWMul(iterations, each),
                                          builder_.getInt64(work_of_a_loop)));
  };
  // Bounds that are data may be those of no iteration again and again, which counts, too.
  const bool has_index_bounds = is_index(*statement.lower) && is_index(*statement.upper);
  if (counting.iteration > 0 && !has_index_bounds) {
    count_all(builder_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smax, builder_.CreateNSWSub(upper, lower), builder_.getInt64(0)));
  }
  builder_.CreateCondBr(builder_.CreateICmpSLT(lower, upper), before, after);
  builder_.SetInsertPoint(before);
  if (counting.iteration > 0 && has_index_bounds) {
    count_all(builder_.CreateNSWSub(upper, lower));
  }
  // All iterations at once, or, where they are too many for the budget, strips of them with a look
  // up before each.
  llvm::BasicBlock *strips = nullptr;
  llvm::PHINode *start = nullptr;
  llvm::PHINode *is_cut = nullptr;
  llvm::Value *end = upper;
  if (used_up != nullptr && !counting.strips) {
    seldom(used_up, [&] { look_up(); });
    before = builder_.GetInsertBlock();
  } else if (used_up != nullptr) {
    strips = block(".strips");
    builder_.CreateBr(strips);
    builder_.SetInsertPoint(strips);
    start = builder_.CreatePHI(builder_.getInt64Ty(), 2, name + ".start");
    start->addIncoming(lower, before);
    is_cut = builder_.CreatePHI(builder_.getInt1Ty(), 2, name + ".cut");
    is_cut->addIncoming(used_up, before);
    llvm::Value *strip_end = nullptr;
    llvm::BasicBlock *looked = nullptr;
    seldom(is_cut, [&] {
      look_up();
      const std::int64_t strip =
          std::max<std::int64_t>(1, WorkBounds::max_uncounted / counting.iteration);
      strip_end = builder_.CreateNSWAdd(
          start,
          builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.CreateNSWSub(upper, start),
                                         builder_.getInt64(static_cast<std::uint64_t>(strip))));
      looked = builder_.GetInsertBlock();
    });
    llvm::PHINode *either = builder_.CreatePHI(builder_.getInt64Ty(), 2, name + ".end");
    either->addIncoming(upper, strips);
    either->addIncoming(strip_end, looked);
    end = either;
    lower = start;
    before = builder_.GetInsertBlock();
  }
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode *counter = builder_.CreatePHI(builder_.getInt64Ty(), 2, name);
  counter->addIncoming(lower, before);

  ++frame_.depth;
  const auto max_iterations = WorkBounds::max_iterations(statement);
  const bool is_long = !max_iterations;
  const std::int64_t max_runs = frame_.max_runs;
  frame_.long_loops += is_long ? 1 : 0;
  frame_.max_runs *= std::min(max_iterations.value_or(many_runs), many_runs);
  frame_.max_runs = std::min(frame_.max_runs, many_runs);
  const int loop = static_cast<int>(frame_.loops.size());
  frame_.variables[statement.id] = VariableSlot{counter, frame_.depth, true, loop};
  frame_.loops.push_back({lower, before, body, {}});
  for (const auto &[buffer, distance] : statement.prefetches) {
    frame_.prefetches.push_back({statement.id, buffer, distance});
  }
  if (counting.single > 0) {
    count_and_look_up(builder_.getInt64(static_cast<std::uint64_t>(counting.single)));
  }
  this->statement(*statement.body());
  frame_.prefetches.resize(frame_.prefetches.size() - statement.prefetches.size());
  --frame_.depth;
  frame_.long_loops -= is_long ? 1 : 0;
  frame_.max_runs = max_runs;

  llvm::Value *next = builder_.CreateNSWAdd(counter, builder_.getInt64(1));
  counter->addIncoming(next, builder_.GetInsertBlock());
  for (const OpenLoop::Multiple &multiple : frame_.loops.back().multiples) {
    multiple.value->addIncoming(builder_.CreateNSWAdd(multiple.value, multiple.step),
                                builder_.GetInsertBlock());
  }
  frame_.loops.pop_back();
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), body, leave);
  builder_.SetInsertPoint(leave);
  if (strips == nullptr) {
    builder_.CreateBr(after);
  } else {
    start->addIncoming(end, leave);
    is_cut->addIncoming(builder_.getTrue(), leave);
    builder_.CreateCondBr(builder_.CreateICmpSLT(end, upper), strips, after,
                          llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  }
  builder_.SetInsertPoint(after);
  frame_.known.clear();
  frame_.depths.clear();
}

void KernelEmitter::while_loop(const While &statement) {
  llvm::BasicBlock *ask = llvm::BasicBlock::Create(context_, "while.ask", frame_.function);
  llvm::BasicBlock *body = llvm::BasicBlock::Create(context_, "while.body", frame_.function);
  llvm::BasicBlock *after = llvm::BasicBlock::Create(context_, "while.after", frame_.function);
  const Counting counting = counting_of(statement);
  builder_.CreateBr(ask);
  builder_.SetInsertPoint(ask);
  ++frame_.depth;
  if (counting.single > 0) {
    count_and_look_up(builder_.getInt64(static_cast<std::uint64_t>(counting.single)));
  }
  llvm::Value *condition = scalar(*statement.condition);
  if (frame_.failed != nullptr) {
    // With zeros for what it may not read, it might never end.
    llvm::Value *failed = builder_.CreateLoad(builder_.getInt1Ty(), frame_.failed);
    condition = builder_.CreateAnd(condition, builder_.CreateNot(failed));
  }
  builder_.CreateCondBr(condition, body, after);
  builder_.SetInsertPoint(body);
  const std::int64_t max_runs = std::exchange(frame_.max_runs, many_runs);
  this->statement(*statement.body());
  frame_.max_runs = max_runs;
  --frame_.depth;
  builder_.CreateBr(ask);
  builder_.SetInsertPoint(after);
  frame_.known.clear();
  frame_.depths.clear();
}

void KernelEmitter::condition(const If &statement) {
  llvm::Value *condition = scalar(*statement.condition);
  llvm::BasicBlock *then = llvm::BasicBlock::Create(context_, "then", frame_.function);
  llvm::BasicBlock *after = llvm::BasicBlock::Create(context_, "after", frame_.function);
  llvm::BasicBlock *otherwise = after;
  const bool two_sided = statement.has_otherwise();
  if (two_sided) {
    otherwise = llvm::BasicBlock::Create(context_, "else", frame_.function);
  }
  builder_.CreateCondBr(condition, then, otherwise);
  builder_.SetInsertPoint(then);
  const std::map<size_t, std::uint64_t> aligned_before = assume_aligned(*statement.condition);
  this->statement(*statement.then());
  frame_.aligned = aligned_before;
  builder_.CreateBr(after);
  if (two_sided) {
    builder_.SetInsertPoint(otherwise);
    this->statement(*statement.otherwise());
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
  frame_.known.clear();
  frame_.depths.clear();
}

void KernelEmitter::declare_local(const DeclareLocal &statement) {
  const ValueType type = statement.value->type;
  const Term first = value(*statement.value);
  LocalSlot slot;
  slot.type = type;
  llvm::Type *llvm_type = register_type(context_, type.scalar, type.lanes);
  slot.re = entry_alloca(llvm_type, statement.name);
  builder_.CreateStore(first.re, slot.re);
  if (type.scalar.is_complex()) {
    slot.im = entry_alloca(llvm_type, statement.name + ".im");
    builder_.CreateStore(first.im, slot.im);
  }
  frame_.locals[statement.id] = slot;
}

void KernelEmitter::assign_local(const AssignLocal &statement) {
  const auto found = frame_.locals.find(statement.id);
  if (found == frame_.locals.end()) {
    throw Error(ErrorKind::Internal,
                "local '" + statement.name + "' is assigned before it is declared");
  }
  const LocalSlot slot = found->second;
  const Term next = operand(*statement.value, slot.type);
  builder_.CreateStore(next.re, slot.re);
  if (slot.im != nullptr) {
    builder_.CreateStore(next.im, slot.im);
  }
}

} // namespace tilewright
