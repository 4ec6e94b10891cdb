// How a kernel that works for long finds out that it is to end. A function has a budget of work; a
// loop whose work has no small bound takes what it is about to do off the budget, once for all its
// iterations, which is an instruction or two for many. When the budget is used up, the thread looks
// up (tilewright_poll), and goes on or ends. Loops that may use it up many times run in strips:
// those with no other loop around, and those that touch no memory, which nothing bounds. Nothing
// waits for a clock, and kernels of little work count nothing.
#include "runtime/abi.h"
#include "targets/llvm/code_emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>

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

} // namespace tilewright
