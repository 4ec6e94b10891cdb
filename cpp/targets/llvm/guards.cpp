// What a thread of a GPU does after a subscript that fails its check, in a launch whose threads
// wait for each other or work together as a warp. It may not leave: a barrier, a shuffle or a
// product of a tile needs all of them. So it reports the failure and goes on; what it would read
// with that subscript is zero, and what it would write with it is left out. Where it goes depends
// on nothing else, so that threads that agree on their way without the failure still do.
#include "loops/traverse.h"
#include "targets/llvm/thread_emitter.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace tilewright {

bool ThreadEmitter::needs_all_threads(const Launch &launch) {
  bool found = false;
  visit_statements(launch.children.at(0), [&](const LoopStatement &statement) {
    found = found || is<Barrier>(statement);
    visit_values(statement, [&](const Value &value) {
      found = found || is<Shuffle>(value) || is<Mma>(value) || is<Matrices>(value);
    });
  });
  return found;
}

namespace {

/// The value that a check is of, in each lane or in all of them.
const ValuePtr &checked_value(const ValuePtr &value) {
  return is<Broadcast>(value) ? value->operands.at(0) : value;
}

bool contains(const ValuePtr &root, const ValuePtr &part,
              std::unordered_set<const Value *> &without) {
  if (same_value(root, part)) {
    return true;
  }
  return without.insert(root.get()).second &&
         std::any_of(root->operands.begin(), root->operands.end(),
                     [&](const ValuePtr &operand) { return contains(operand, part, without); });
}

} // namespace

/// In memory of the thread's, as passes may put a check under another condition than what it is
/// for.
void ThreadEmitter::note_check(const RuntimeCheck &check, llvm::Value *wrong) {
  if (frame_.failed == nullptr) {
    return; // the thread ends where one fails
  }
  llvm::Value *inside =
      builder_.CreateNot(wrong->getType()->isVectorTy() ? builder_.CreateOrReduce(wrong) : wrong);
  const ValuePtr &value = checked_value(check.value);
  const auto known =
      std::find_if(frame_.checks.begin(), frame_.checks.end(),
                   [&](const Frame::Check &other) { return same_value(other.value, value); });
  llvm::AllocaInst *slot =
      known != frame_.checks.end() ? known->inside : entry_alloca(builder_.getInt1Ty(), "inside");
  if (known == frame_.checks.end()) {
    llvm::IRBuilder<>(slot->getNextNode()).CreateStore(builder_.getTrue(), slot);
    frame_.checks.push_back({value, slot});
  }
  builder_.CreateStore(inside, slot);
}

llvm::Value *ThreadEmitter::inside_of(const std::vector<ValuePtr> &subscripts) {
  llvm::Value *all = nullptr;
  for (const Frame::Check &check : frame_.checks) {
    std::unordered_set<const Value *> without;
    const bool counts =
        std::any_of(subscripts.begin(), subscripts.end(), [&](const ValuePtr &subscript) {
          return contains(subscript, check.value, without);
        });
    if (counts) {
      llvm::Value *inside = builder_.CreateLoad(builder_.getInt1Ty(), check.inside);
      all = all == nullptr ? inside : builder_.CreateAnd(all, inside);
    }
  }
  return all;
}

Term ThreadEmitter::load(const Load &value, llvm::Value *mask) {
  llvm::Value *inside = inside_of(value.operands);
  if (inside == nullptr) {
    return load_inside(value, mask);
  }
  llvm::BasicBlock *before = builder_.GetInsertBlock();
  Term loaded;
  llvm::BasicBlock *end = nullptr;
  only_where(inside, [&] {
    loaded = load_inside(value, mask);
    end = builder_.GetInsertBlock();
  });
  const auto or_zero = [&](llvm::Value *part) -> llvm::Value * {
    if (part == nullptr) {
      return nullptr;
    }
    llvm::PHINode *either = builder_.CreatePHI(part->getType(), 2);
    either->addIncoming(part, end);
    either->addIncoming(llvm::Constant::getNullValue(part->getType()), before);
    return either;
  };
  return {or_zero(loaded.re), or_zero(loaded.im)};
}

Term ThreadEmitter::select(const Select &value) {
  bool reads = false;
  bool works_together = false;
  for (const ValuePtr *side : {&value.then(), &value.otherwise()}) {
    visit_value(*side, [&](const Value &part) {
      reads = reads || is<Load>(part);
      works_together = works_together || is<Shuffle>(part) || is<Mma>(part) || is<Matrices>(part);
    });
  }
  if (!is_watched_ || !reads || works_together || value.type.lanes > 1) {
    return CodeEmitter::select(value);
  }
  return either(scalar(*value.condition()), value.then(), value.otherwise(), value.type);
}

void ThreadEmitter::write(const ElementChange &statement) {
  llvm::Value *inside = inside_of(statement.subscripts);
  if (is<CopyAsync>(statement)) {
    llvm::Value *source = inside_of(statement.value->operands);
    inside = inside == nullptr   ? source
             : source == nullptr ? inside
                                 : builder_.CreateAnd(inside, source);
  } else if (inside != nullptr) {
    value(*statement.value); // all threads compute it: it may take the whole warp
  }
  if (inside == nullptr) {
    write_inside(statement);
  } else {
    only_where(inside, [&] { write_inside(statement); });
  }
}

void ThreadEmitter::write_inside(const ElementChange &statement) {
  if (const auto *copy = as<CopyAsync>(statement)) {
    copy_async(*copy);
  } else {
    CodeEmitter::write(statement);
  }
}

} // namespace tilewright
