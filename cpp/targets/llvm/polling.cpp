// How a kernel that works for long finds out that it is to end. A function has a budget of work; a
// loop whose work has no small bound takes what it is about to do off the budget, once for all its
// iterations, which is an instruction or two for many. When the budget is used up, the thread looks
// up (tilewright_poll), and goes on or ends. Loops that may use it up many times run in strips:
// those with no other loop around, and those that touch no memory, which nothing bounds. So do
// loops that data end, which count their turns behind each strip. Nothing waits for a clock, and
// kernels of little work count nothing.
#include "loops/traverse.h"
#include "runtime/abi.h"
#include "targets/llvm/code_emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace tilewright {

CodeEmitter::Counting CodeEmitter::counting_of(const LoopStatement &loop) {
  Counting counting;
  if (!is_interruptible_ || work_.most(loop)) {
    return counting;
  }
  std::int64_t beside = 1;
  bool has_bound = is<For>(loop);
  bool surely_counts = false;
  for (const StmtPtr &child : loop.children) {
    beside += work_.beside_counting(*child);
    has_bound = has_bound && work_.most(*child).has_value();
    surely_counts = surely_counts || work_.surely_counts(*child);
  }
  if (has_bound) {
    // Between the iterations of loops around it is soon enough, unless memory does not end it.
    counting.iteration = beside;
    counting.strips = frame_.long_loops == 0 || !WorkBounds::walks_through_memory(cast<For>(loop));
  } else if (!surely_counts || beside > max_beside_a_loop) {
    counting.single = beside;
  }
  return counting;
}

llvm::Value *CodeEmitter::count(llvm::Value *work) {
  llvm::Type *i64 = builder_.getInt64Ty();
  if (frame_.budget == nullptr) {
    frame_.budget = entry_alloca(i64, "budget");
    llvm::IRBuilder<> at_entry(frame_.budget->getNextNode());
    at_entry.CreateStore(at_entry.getInt64(WorkBounds::max_uncounted), frame_.budget);
  }
  llvm::Value *left = builder_.CreateSub(builder_.CreateLoad(i64, frame_.budget), work, "left");
  builder_.CreateStore(left, frame_.budget);
  return builder_.CreateICmpSLT(left, builder_.getInt64(0));
}

void CodeEmitter::look_up() {
  llvm::FunctionCallee poll =
      module_.getOrInsertFunction("tilewright_poll", builder_.getInt32Ty(), builder_.getPtrTy());
  auto *function = llvm::cast<llvm::Function>(poll.getCallee());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::Cold);
  function->setOnlyAccessesInaccessibleMemOrArgMem();
  llvm::Value *status = builder_.CreateCall(poll, {frame_.record});
  builder_.CreateStore(builder_.getInt64(WorkBounds::max_uncounted), frame_.budget);
  llvm::BasicBlock *stop = new_block("stop");
  llvm::BasicBlock *go_on = new_block("go.on");
  builder_.CreateCondBr(builder_.CreateICmpEQ(status, builder_.getInt32(KernelOk)), go_on, stop,
                        llvm::MDBuilder(context_).createLikelyBranchWeights());
  builder_.SetInsertPoint(stop);
  fail_with(status);
  builder_.SetInsertPoint(go_on);
}

void CodeEmitter::count_and_look_up(llvm::Value *work) {
  seldom(count(work), [&] { look_up(); });
}

std::optional<CodeEmitter::Turns> CodeEmitter::turns_of(const While &loop) const {
  std::vector<ValuePtr> parts;
  operands_of(Op::And, loop.condition, parts);
  const auto *test = as_binary(parts.front(), Op::Lt);
  const auto *next = test == nullptr ? nullptr : as<Local>(test->left());
  const auto *body = as<Block>(loop.body());
  const auto *step =
      body == nullptr || body->children.empty() ? nullptr : as<AssignLocal>(body->children.back());
  if (next == nullptr || step == nullptr || step->id != next->id) {
    return std::nullopt;
  }
  bool is_fixed = true;
  visit_value(test->right(), [&](const Value &value) {
    const auto *own = as<Local>(value);
    is_fixed = is_fixed && !is<Load>(value) && !is<Extern>(value) && !is<Call>(value);
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      const auto *assigned = as<AssignLocal>(inner);
      is_fixed = is_fixed && !(own != nullptr && assigned != nullptr && assigned->id == own->id);
    });
  });
  if (!is_fixed) {
    return std::nullopt;
  }
  ValuePtr others = boolean(true);
  for (const ValuePtr &part : std::span(parts).subspan(1)) {
    others = both(others, part);
  }
  return Turns{frame_.locals.at(next->id).re, test->right(), std::move(others)};
}

CodeEmitter::TurnStrips CodeEmitter::begin_turns(const Turns &turns, const Counting &counting) {
  llvm::Type *i64 = builder_.getInt64Ty();
  TurnStrips strips;
  strips.next = turns.next;
  strips.work = counting.single;
  strips.bound = scalar(*turns.end);
  strips.begin = entry_alloca(i64, "strip.begin");
  strips.end = entry_alloca(i64, "strip.end");
  begin_strip(strips, builder_.CreateLoad(i64, strips.next));
  return strips;
}

void CodeEmitter::begin_strip(const TurnStrips &strips, llvm::Value *first) {
  const std::int64_t most = std::max<std::int64_t>(1, WorkBounds::max_uncounted / strips.work);
  llvm::Value *all = builder_.CreateAdd(first, builder_.getInt64(static_cast<std::uint64_t>(most)));
  builder_.CreateStore(first, strips.begin);
  builder_.CreateStore(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, all, strips.bound),
                       strips.end);
}

llvm::Value *CodeEmitter::work_of_turns(const TurnStrips &strips) {
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::Value *turns = builder_.CreateSub(builder_.CreateLoad(i64, strips.next),
                                          builder_.CreateLoad(i64, strips.begin));
  return builder_.CreateAdd(
      builder_.CreateMul(turns, builder_.getInt64(static_cast<std::uint64_t>(strips.work))),
      builder_.getInt64(static_cast<std::uint64_t>(strips.work)));
}

void CodeEmitter::next_turn(const TurnStrips &strips, llvm::BasicBlock *end) {
  llvm::Type *i64 = builder_.getInt64Ty();
  llvm::Value *next = builder_.CreateLoad(i64, strips.next);
  llvm::BasicBlock *cut = new_block("while.cut");
  llvm::BasicBlock *look = new_block("while.look");
  llvm::BasicBlock *go_on = new_block("while.others");
  llvm::MDBuilder metadata(context_);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, builder_.CreateLoad(i64, strips.end)), go_on,
                        cut, metadata.createLikelyBranchWeights());
  builder_.SetInsertPoint(cut);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, strips.bound), look, end);
  builder_.SetInsertPoint(look);
  count_and_look_up(work_of_turns(strips));
  begin_strip(strips, next);
  builder_.CreateBr(go_on);
  builder_.SetInsertPoint(go_on);
}

} // namespace tilewright
