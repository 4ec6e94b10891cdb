// Statements: blocks, loops, conditions and locals.
#include "targets/llvm/code_emitter.h"
#include "targets/llvm/leaving.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <utility>

namespace tilewright {

void CodeEmitter::statement(const LoopStatement &statement) {
  // What is in `known` stays valid until the next write or branch; forgetting it at each statement
  // is enough.
  frame_.forget();
  switch (statement.kind) {
  case StatementKind::Block:
    for (const StmtPtr &child : statement.children) {
      this->statement(*child);
    }
    break;
  case StatementKind::For:
    if (is_loop_of(statement, LoopKind::Parallel) && !frame_.parallel) {
      own_statement(statement);
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
  case StatementKind::Let:
    define(cast<Let>(statement));
    break;
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
  case StatementKind::Launch:
  case StatementKind::Barrier:
  case StatementKind::CommitCopies:
  case StatementKind::WaitForCopies:
  case StatementKind::Allocate:
    own_statement(statement);
    break;
  }
}

void CodeEmitter::own_statement(const LoopStatement & /*statement*/) {
  throw Error(ErrorKind::Internal, "a statement reached code that has none of its kind");
}

void CodeEmitter::serial_loop(const For &statement) {
  llvm::Value *lower = scalar(*statement.lower);
  llvm::Value *upper = scalar(*statement.upper);
  loop_between(statement, lower, upper);
}

/// A serial loop on the way.
struct CodeEmitter::LoopCode {
  const std::string &name;
  llvm::Value *lower; ///< of the counter; in strips, of one of them
  llvm::Value *upper;
  llvm::Value *end; ///< of the counter: `upper`, or where a strip ends
  llvm::BasicBlock *before;
  llvm::BasicBlock *body;
  llvm::BasicBlock *leave;
  llvm::BasicBlock *after;
  llvm::PHINode *counter = nullptr;
  /// Where there are strips: their head, where the next one begins, and whether that is because the
  /// budget was used up.
  llvm::BasicBlock *strips = nullptr;
  llvm::PHINode *start = nullptr;
  llvm::PHINode *is_cut = nullptr;
};

void CodeEmitter::loop_between(const For &statement, llvm::Value *lower, llvm::Value *upper) {
  const Counting counting = counting_of(statement);
  const LoopCode loop = enter_loop(statement, counting, lower, upper);
  loop_body(statement, loop, counting);
  leave_loop(loop);
}

/// Up to the counter: the test for no iteration, and the count of all of them.
CodeEmitter::LoopCode CodeEmitter::enter_loop(const For &statement, const Counting &counting,
                                              llvm::Value *lower, llvm::Value *upper) {
  const std::string &name = statement.name;
  LoopCode loop{name,
                lower,
                upper,
                upper,
                new_block(name + ".enter"),
                new_block(name + ".body"),
                new_block(name + ".leave"),
                new_block(name + ".after")};
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
  builder_.CreateCondBr(builder_.CreateICmpSLT(lower, upper), loop.before, loop.after);
  builder_.SetInsertPoint(loop.before);
  if (counting.iteration > 0 && has_index_bounds) {
    count_all(builder_.CreateNSWSub(upper, lower));
  }
  // All iterations at once, or, where they are too many for the budget, strips of them with a look
  // up before each.
  if (used_up != nullptr && !counting.strips) {
    seldom(used_up, [&] { look_up(); });
    loop.before = builder_.GetInsertBlock();
  } else if (used_up != nullptr) {
    begin_strips(loop, counting, used_up);
  }
  builder_.CreateBr(loop.body);
  builder_.SetInsertPoint(loop.body);
  loop.counter = builder_.CreatePHI(builder_.getInt64Ty(), 2, name);
  loop.counter->addIncoming(loop.lower, loop.before);
  return loop;
}

/// The head of a loop over strips: all iterations are one, unless the budget is used up.
void CodeEmitter::begin_strips(LoopCode &loop, const Counting &counting, llvm::Value *used_up) {
  loop.strips = new_block(loop.name + ".strips");
  builder_.CreateBr(loop.strips);
  builder_.SetInsertPoint(loop.strips);
  loop.start = builder_.CreatePHI(builder_.getInt64Ty(), 2, loop.name + ".start");
  loop.start->addIncoming(loop.lower, loop.before);
  loop.is_cut = builder_.CreatePHI(builder_.getInt1Ty(), 2, loop.name + ".cut");
  loop.is_cut->addIncoming(used_up, loop.before);
  llvm::Value *strip_end = nullptr;
  llvm::BasicBlock *looked = nullptr;
  seldom(loop.is_cut, [&] {
    look_up();
    const std::int64_t strip =
        std::max<std::int64_t>(1, WorkBounds::max_uncounted / counting.iteration);
    strip_end = builder_.CreateNSWAdd(
        loop.start, builder_.CreateBinaryIntrinsic(
                        llvm::Intrinsic::smin, builder_.CreateNSWSub(loop.upper, loop.start),
                        builder_.getInt64(static_cast<std::uint64_t>(strip))));
    looked = builder_.GetInsertBlock();
  });
  llvm::PHINode *end = builder_.CreatePHI(builder_.getInt64Ty(), 2, loop.name + ".end");
  end->addIncoming(loop.upper, loop.strips);
  end->addIncoming(strip_end, looked);
  // So LLVM knows how many iterations a strip has without a test of it, and unrolls the loop.
  builder_.CreateAssumption(builder_.CreateICmpSLT(loop.start, end));
  loop.end = end;
  loop.lower = loop.start;
  loop.before = builder_.GetInsertBlock();
}

/// The body, with the counter and what the frame knows of the loops around, and the next counter.
void CodeEmitter::loop_body(const For &statement, const LoopCode &loop, const Counting &counting) {
  ++frame_.depth;
  const auto max_iterations = WorkBounds::max_iterations(statement);
  const bool is_long = !max_iterations;
  const std::int64_t max_runs = frame_.max_runs;
  frame_.long_loops += is_long ? 1 : 0;
  frame_.max_runs *= std::min(max_iterations.value_or(many_runs), many_runs);
  frame_.max_runs = std::min(frame_.max_runs, many_runs);
  const int number = static_cast<int>(frame_.loops.size());
  frame_.variables[statement.id] = VariableSlot{loop.counter, frame_.depth, true, number};
  frame_.loops.push_back({loop.lower, loop.before, loop.body, {}});
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
  llvm::Value *next = builder_.CreateNSWAdd(loop.counter, builder_.getInt64(1));
  loop.counter->addIncoming(next, builder_.GetInsertBlock());
  for (const OpenLoop::Multiple &multiple : frame_.loops.back().multiples) {
    multiple.value->addIncoming(builder_.CreateNSWAdd(multiple.value, multiple.step),
                                builder_.GetInsertBlock());
  }
  frame_.loops.pop_back();
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, loop.end), loop.body, loop.leave);
}

void CodeEmitter::leave_loop(const LoopCode &loop) {
  builder_.SetInsertPoint(loop.leave);
  if (loop.strips == nullptr) {
    builder_.CreateBr(loop.after);
  } else {
    loop.start->addIncoming(loop.end, loop.leave);
    loop.is_cut->addIncoming(builder_.getTrue(), loop.leave);
    builder_.CreateCondBr(builder_.CreateICmpSLT(loop.end, loop.upper), loop.strips, loop.after,
                          llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  }
  builder_.SetInsertPoint(loop.after);
  frame_.forget();
}

void CodeEmitter::while_loop(const While &statement) {
  llvm::BasicBlock *ask = new_block("while.ask");
  llvm::BasicBlock *body = new_block("while.body");
  llvm::BasicBlock *after = new_block("while.after");
  llvm::BasicBlock *end = after;
  const Counting counting = counting_of(statement);
  // What begins and ends again and again counts its turns one by one, as it may have few.
  const bool in_strips = counting.single > 0 && frame_.max_runs <= few_runs;
  const std::optional<Turns> turns = in_strips ? turns_of(statement) : std::optional<Turns>{};
  TurnStrips strips;
  if (turns) {
    strips = begin_turns(*turns, counting);
    end = new_block("while.end");
  }
  builder_.CreateBr(ask);
  builder_.SetInsertPoint(ask);
  ++frame_.depth;
  if (turns) {
    next_turn(strips, end);
  } else if (counting.single > 0) {
    count_and_look_up(builder_.getInt64(static_cast<std::uint64_t>(counting.single)));
  }
  llvm::Value *condition = scalar(turns ? *turns->others : *statement.condition);
  if (frame_.failed != nullptr) {
    // With zeros for what it may not read, it might never end.
    llvm::Value *failed = builder_.CreateLoad(builder_.getInt1Ty(), frame_.failed);
    condition = builder_.CreateAnd(condition, builder_.CreateNot(failed));
  }
  builder_.CreateCondBr(condition, body, end);
  builder_.SetInsertPoint(body);
  const std::int64_t max_runs = std::exchange(frame_.max_runs, many_runs);
  const size_t flags = frame_.flags.size();
  add_flags(statement.condition, frame_.flags);
  this->statement(*statement.body());
  leave_if_set({frame_.flags.begin() + static_cast<std::ptrdiff_t>(flags), frame_.flags.end()},
               end);
  frame_.flags.resize(flags);
  frame_.max_runs = max_runs;
  --frame_.depth;
  builder_.CreateBr(ask);
  if (turns) {
    builder_.SetInsertPoint(end);
    count_and_look_up(work_of_turns(strips));
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
  frame_.forget();
}

/// Straight to the end of a loop, so that who has just set a flag need not come to ask for it.
void CodeEmitter::leave_if_set(std::span<const std::int64_t> flags, llvm::BasicBlock *after) {
  for (const std::int64_t flag : flags) {
    const LocalSlot &slot = frame_.locals.at(flag);
    llvm::Value *holds = builder_.CreateLoad(builder_.getInt1Ty(), slot.re);
    llvm::BasicBlock *next = new_block("while.goes_on");
    builder_.CreateCondBr(holds, after, next);
    builder_.SetInsertPoint(next);
  }
}

llvm::MDNode *CodeEmitter::weights_of(const If &statement) {
  llvm::MDBuilder metadata(context_);
  if (sets_one_of(*statement.then(), frame_.flags)) {
    return metadata.createUnlikelyBranchWeights();
  }
  const bool is_left =
      statement.has_otherwise() && sets_one_of(*statement.otherwise(), frame_.flags);
  return is_left ? metadata.createLikelyBranchWeights() : nullptr;
}

void CodeEmitter::condition(const If &statement) {
  llvm::Value *condition = scalar(*statement.condition);
  llvm::BasicBlock *then = new_block("then");
  llvm::BasicBlock *after = new_block("after");
  llvm::BasicBlock *otherwise = after;
  const bool two_sided = statement.has_otherwise();
  if (two_sided) {
    otherwise = new_block("else");
  }
  builder_.CreateCondBr(condition, then, otherwise, weights_of(statement));
  builder_.SetInsertPoint(then);
  const std::map<size_t, std::uint64_t> aligned_before = frame_.aligned;
  assume_aligned(*statement.condition);
  this->statement(*statement.then());
  frame_.aligned = aligned_before;
  builder_.CreateBr(after);
  if (two_sided) {
    builder_.SetInsertPoint(otherwise);
    this->statement(*statement.otherwise());
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
  frame_.forget();
}

void CodeEmitter::define(const Let &statement) {
  VariableSlot slot;
  slot.value = scalar(*statement.value);
  slot.depth = depth_of(*statement.value);
  slot.is_index = is_index(*statement.value);
  frame_.variables[statement.id] = slot;
}

void CodeEmitter::declare_local(const DeclareLocal &statement) {
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

void CodeEmitter::assign_local(const AssignLocal &statement) {
  const auto found = frame_.locals.find(statement.id);
  if (found == frame_.locals.end()) {
    throw Error(ErrorKind::Internal,
                "local '" + statement.name + "' is assigned before it is declared");
  }
  const LocalSlot slot = found->second;
  const Term next = updated(statement.op, *statement.value, slot.type);
  builder_.CreateStore(next.re, slot.re);
  if (slot.im != nullptr) {
    builder_.CreateStore(next.im, slot.im);
  }
}

} // namespace tilewright
