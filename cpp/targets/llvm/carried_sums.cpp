#include "targets/llvm/carried_sums.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

namespace tilewright {

namespace {

/// Loops of more instructions stay as they are, and so do sums of more terms.
constexpr size_t most_instructions = 2000;
constexpr size_t most_terms = 64;
/// Beside so many operations of other sums, one more in a row from iteration to iteration costs
/// nothing.
constexpr size_t enough_operations = 16;
/// A term that waits for a sum of more iterations ago is like any other.
constexpr int most_iterations = 4;

/// What combines values that may be taken in any order.
enum class Combiner { None, Sum, SignedMin, SignedMax, UnsignedMin, UnsignedMax };

/// Sums if they allow it; of whole numbers the least and the largest always do.
Combiner combiner_of(const llvm::Value *value) {
  if (const auto *node = llvm::dyn_cast<llvm::BinaryOperator>(value)) {
    const bool adds = node->getOpcode() == llvm::Instruction::FAdd ||
                      node->getOpcode() == llvm::Instruction::FSub;
    return adds && node->hasAllowReassoc() && node->hasNoSignedZeros() ? Combiner::Sum
                                                                       : Combiner::None;
  }
  if (const auto *call = llvm::dyn_cast<llvm::MinMaxIntrinsic>(value)) {
    switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::smin:
      return Combiner::SignedMin;
    case llvm::Intrinsic::smax:
      return Combiner::SignedMax;
    case llvm::Intrinsic::umin:
      return Combiner::UnsignedMin;
    case llvm::Intrinsic::umax:
      return Combiner::UnsignedMax;
    default:
      break;
    }
  }
  return Combiner::None;
}

llvm::Intrinsic::ID intrinsic_of(Combiner combiner) {
  switch (combiner) {
  case Combiner::SignedMin:
    return llvm::Intrinsic::smin;
  case Combiner::SignedMax:
    return llvm::Intrinsic::smax;
  case Combiner::UnsignedMin:
    return llvm::Intrinsic::umin;
  case Combiner::UnsignedMax:
    return llvm::Intrinsic::umax;
  default:
    return llvm::Intrinsic::not_intrinsic;
  }
}

struct SumTerm {
  llvm::Value *value;
  bool is_negative;
  int iterations; ///< ago that the sum was what it waits for
};

class CarriedLoop {
public:
  explicit CarriedLoop(const llvm::Loop &loop) : loop_(loop), latch_(loop.getLoopLatch()) {}

  bool improve() {
    size_t count = 0;
    operations_ = 0;
    std::vector<llvm::Instruction *> roots;
    for (llvm::BasicBlock *block : loop_.blocks()) {
      for (llvm::Instruction &instruction : *block) {
        ++count;
        operations_ += is_operation(&instruction) ? 1 : 0;
        if (combiner_of(&instruction) != Combiner::None && !is_part(instruction)) {
          roots.push_back(&instruction);
        }
      }
    }
    if (latch_ == nullptr || count > most_instructions) {
      return false;
    }
    bool changes = false;
    for (llvm::Instruction *root : roots) {
      changes = sort(*root) || changes;
    }
    return changes;
  }

private:
  using Values = std::set<const llvm::Value *>;

  /// Is it a part of a longer sum?
  bool is_part(const llvm::Instruction &part) const {
    return part.hasOneUse() && combiner_of(part.user_back()) == combiner_of(&part) &&
           loop_.contains(part.user_back());
  }

  const llvm::PHINode *carried(const llvm::Value *value) const {
    const auto *phi = llvm::dyn_cast<llvm::PHINode>(value);
    return phi != nullptr && phi->getParent() == loop_.getHeader() ? phi : nullptr;
  }

  /// All that a value is made of in one iteration, itself and what is carried among it.
  const Values &parts_of(const llvm::Value *value) {
    const auto known = parts_.find(value);
    if (known != parts_.end()) {
      return known->second;
    }
    Values seen;
    std::vector<const llvm::Value *> open = {value};
    while (!open.empty()) {
      const auto *part = llvm::dyn_cast<llvm::Instruction>(open.back());
      open.pop_back();
      if (part == nullptr || !loop_.contains(part) || !seen.insert(part).second ||
          carried(part) != nullptr) {
        continue;
      }
      open.insert(open.end(), part->op_begin(), part->op_end());
    }
    return parts_.emplace(value, std::move(seen)).first->second;
  }

  /// How many iterations ago the sum was what a term waits for; `most_iterations` at most.
  int iterations_to(const llvm::Value *term, const llvm::Value *sum) {
    Values asked;
    std::vector<const llvm::Value *> now = {term};
    for (int ago = 1; ago < most_iterations && !now.empty(); ++ago) {
      std::vector<const llvm::Value *> before;
      for (const llvm::Value *value : now) {
        for (const llvm::Value *part : parts_of(value)) {
          const llvm::PHINode *phi = carried(part);
          if (phi != nullptr && asked.insert(phi).second) {
            before.push_back(phi->getIncomingValueForBlock(latch_));
          }
        }
      }
      if (std::any_of(before.begin(), before.end(),
                      [&](const llvm::Value *value) { return parts_of(value).contains(sum); })) {
        return ago;
      }
      now = std::move(before);
    }
    return most_iterations;
  }

  static bool is_operation(const llvm::Instruction *instruction) {
    return llvm::isa<llvm::FPMathOperator>(instruction) && !llvm::isa<llvm::PHINode>(instruction);
  }

  /// Of how many operations in a row the value is, of those in one iteration.
  size_t depth_of(const llvm::Value *value) {
    const auto *part = llvm::dyn_cast<llvm::Instruction>(value);
    if (part == nullptr || !loop_.contains(part) || carried(part) != nullptr) {
      return 0;
    }
    const auto [known, is_new] = depths_.emplace(part, 0); // 0 while it is looked for
    if (is_new) {
      size_t deepest = 0;
      for (const llvm::Value *operand : part->operands()) {
        deepest = std::max(deepest, depth_of(operand));
      }
      depths_[part] = deepest + (is_operation(part) ? 1 : 0);
    }
    return depths_.at(part);
  }

  /// What is known last in an iteration, from other sums of it, goes behind what comes from the one
  /// before: the sums of an iteration wait for each other by one addition each.
  void put_latest_last(std::vector<SumTerm> &terms) {
    size_t carried_depth = 0;
    for (const SumTerm &term : terms) {
      if (term.iterations < most_iterations) {
        carried_depth = std::max(carried_depth, depth_of(term.value));
      }
    }
    for (SumTerm &term : terms) {
      const bool is_late =
          term.iterations == most_iterations && depth_of(term.value) > carried_depth + 2;
      term.iterations = is_late && operations_ >= enough_operations ? 0 : term.iterations;
    }
  }

  /// The terms in the order in which they are added.
  void collect(llvm::Value *value, bool is_negative, std::vector<SumTerm> &terms, bool &is_chain,
               bool is_right) {
    auto *part = llvm::dyn_cast<llvm::Instruction>(value);
    if (part == nullptr || combiner_of(value) != combiner_of(root_) ||
        (!terms_root_is(part) && !part->hasOneUse()) || !loop_.contains(part)) {
      terms.push_back({value, is_negative, 0});
      return;
    }
    is_chain = is_chain && !is_right;
    collect(part->getOperand(0), is_negative, terms, is_chain, false);
    const bool subtracts = part->getOpcode() == llvm::Instruction::FSub;
    collect(part->getOperand(1), is_negative != subtracts, terms, is_chain, true);
  }
  bool terms_root_is(const llvm::Value *value) const { return value == root_; }

  bool sort(llvm::Instruction &root) {
    root_ = &root;
    std::vector<SumTerm> terms;
    bool is_chain = true;
    collect(&root, false, terms, is_chain, false);
    if (terms.size() < 3 || terms.size() > most_terms) {
      return false;
    }
    for (SumTerm &term : terms) {
      term.iterations = iterations_to(term.value, &root);
    }
    put_latest_last(terms);
    const auto is_later = [](const SumTerm &one, const SumTerm &other) {
      return one.iterations > other.iterations;
    };
    const bool waits = std::any_of(terms.begin(), terms.end(), [](const SumTerm &term) {
      return term.iterations > 0 && term.iterations < most_iterations;
    });
    if (!waits || (is_chain && std::is_sorted(terms.begin(), terms.end(), is_later))) {
      return false;
    }
    std::vector<SumTerm> sorted;
    for (int ago = most_iterations; ago >= 0; --ago) {
      std::copy_if(terms.begin(), terms.end(), std::back_inserter(sorted),
                   [&](const SumTerm &term) { return term.iterations == ago; });
    }
    terms = std::move(sorted);
    // A sum begins with what is added to it.
    const auto first = std::find_if(terms.begin(), terms.end(),
                                    [](const SumTerm &term) { return !term.is_negative; });
    if (first != terms.end() && first + 1 != terms.end()) {
      std::rotate(terms.begin(), first, first + 1);
    }
    llvm::IRBuilder<> builder(&root);
    const Combiner combiner = combiner_of(&root);
    if (combiner == Combiner::Sum) {
      builder.setFastMathFlags(root.getFastMathFlags());
    }
    llvm::Value *sum =
        terms.front().is_negative ? builder.CreateFNeg(terms.front().value) : terms.front().value;
    for (auto term = terms.begin() + 1; term != terms.end(); ++term) {
      if (combiner != Combiner::Sum) {
        sum = builder.CreateBinaryIntrinsic(intrinsic_of(combiner), sum, term->value);
      } else {
        sum = term->is_negative ? builder.CreateFSub(sum, term->value)
                                : builder.CreateFAdd(sum, term->value);
      }
    }
    sum->takeName(&root);
    root.replaceAllUsesWith(sum);
    llvm::RecursivelyDeleteTriviallyDeadInstructions(&root);
    parts_.clear();
    depths_.clear();
    return true;
  }

  const llvm::Loop &loop_;
  const llvm::BasicBlock *latch_;
  const llvm::Instruction *root_ = nullptr;
  size_t operations_ = 0;
  std::map<const llvm::Value *, Values> parts_;
  std::map<const llvm::Value *, size_t> depths_;
};

} // namespace

llvm::PreservedAnalyses AddCarriedLast::run(llvm::Function &function,
                                            llvm::FunctionAnalysisManager &analyses) {
  bool changes = false;
  for (const llvm::Loop *loop :
       analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (loop->isInnermost()) {
      changes = CarriedLoop(*loop).improve() || changes;
    }
  }
  if (!changes) {
    return llvm::PreservedAnalyses::all();
  }
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

} // namespace tilewright
