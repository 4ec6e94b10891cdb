#include "targets/llvm/seldom_wraps.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/IR/ValueMap.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

using llvm::PatternMatch::m_c_Add;
using llvm::PatternMatch::m_Deferred;
using llvm::PatternMatch::m_ICmp;
using llvm::PatternMatch::m_Intrinsic;
using llvm::PatternMatch::m_OneUse;
using llvm::PatternMatch::m_Select;
using llvm::PatternMatch::m_SExt;
using llvm::PatternMatch::m_Specific;
using llvm::PatternMatch::m_Value;
using llvm::PatternMatch::m_Zero;
using llvm::PatternMatch::match;

/// What `at` is unless it is negative, if it is moved where it is.
llvm::Value *before_wrap(llvm::Value *at) {
  llvm::Value *value = nullptr;
  llvm::Value *extent = nullptr;
  llvm::Value *compared = nullptr;
  llvm::ICmpInst::Predicate predicate{};
  const auto is_negative = m_ICmp(predicate, m_Value(compared), m_Zero());
  const bool is_wrap =
      match(at,
            m_c_Add(m_Value(value), m_OneUse(m_Select(is_negative, m_Value(extent), m_Zero())))) ||
      match(at, m_Select(is_negative, m_c_Add(m_Value(value), m_Value(extent)), m_Deferred(value)));
  const bool is_of_value =
      is_wrap && (compared == value || match(value, m_SExt(m_Specific(compared))));
  return is_of_value && predicate == llvm::ICmpInst::ICMP_SLT ? value : nullptr;
}

/// if (at is less than bound, both without a sign) goto inside else goto outside
struct Test {
  llvm::BranchInst *branch;
  llvm::ICmpInst *comparison;
  llvm::Instruction *at;
  llvm::Value *bound;
  llvm::BasicBlock *inside;
  llvm::BasicBlock *outside;
  llvm::Value *value; ///< that `at` is if that is inside, too
};

std::optional<Test> test_at_the_end_of(llvm::BasicBlock &block) {
  auto *branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (branch == nullptr || !branch->isConditional()) {
    return std::nullopt;
  }
  auto *comparison = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (comparison == nullptr || comparison->getParent() != &block || !comparison->hasOneUse()) {
    return std::nullopt;
  }
  const llvm::ICmpInst::Predicate predicate = comparison->getPredicate();
  const bool is_less = predicate == llvm::ICmpInst::ICMP_ULT;
  if (!is_less && predicate != llvm::ICmpInst::ICMP_UGE) {
    return std::nullopt;
  }
  auto *at = llvm::dyn_cast<llvm::Instruction>(comparison->getOperand(0));
  llvm::Value *value = at == nullptr || at->getParent() != &block ? nullptr : before_wrap(at);
  llvm::BasicBlock *inside = branch->getSuccessor(is_less ? 0 : 1);
  llvm::BasicBlock *outside = branch->getSuccessor(is_less ? 1 : 0);
  if (value == nullptr || inside->getSinglePredecessor() != &block) {
    return std::nullopt;
  }
  return Test{branch, comparison, at, comparison->getOperand(1), inside, outside, value};
}

class Wraps {
public:
  Wraps(llvm::Function &function, llvm::DominatorTree &dominators)
      : function_(function), dominators_(dominators),
        is_x86_(llvm::Triple(function.getParent()->getTargetTriple()).isX86()) {}

  bool run() {
    std::vector<llvm::BasicBlock *> blocks;
    for (llvm::BasicBlock &block : function_) {
      blocks.push_back(&block);
    }
    bool changed = false;
    for (llvm::BasicBlock *block : blocks) {
      const auto test = test_at_the_end_of(*block); // of values as they are by now
      changed = (test && rewrite(*test)) || changed;
    }
    return changed;
  }

private:
  /// Leaves it if something else asks for where it is. Returns whether anything has changed.
  bool rewrite(const Test &test) {
    llvm::BasicBlock *block = test.branch->getParent();
    const bool has_folded = llvm::FoldSingleEntryPHINodes(test.inside);
    const llvm::BasicBlockEdge passes(block, test.inside);
    std::vector<llvm::Use *> behind;
    for (llvm::Use &use : test.at->uses()) {
      if (dominators_.dominates(passes, use)) {
        behind.push_back(&use);
      } else if (!is_of_failure(test, use)) {
        return has_folded;
      }
    }
    llvm::LLVMContext &context = function_.getContext();
    auto *wrap = llvm::BasicBlock::Create(context, "wrap", &function_, test.inside);
    llvm::IRBuilder<> builder(test.branch);
    llvm::Value *plain = conversion(test, builder);
    builder.CreateCondBr(builder.CreateICmpULT(plain, without_sign(test.bound)), test.inside, wrap,
                         llvm::MDBuilder(context).createLikelyBranchWeights());
    test.outside->replacePhiUsesWith(block, wrap);
    sink(*test.at, *wrap);
    test.comparison->moveBefore(*wrap, wrap->end());
    test.branch->moveBefore(*wrap, wrap->end());
    builder.SetInsertPoint(test.inside, test.inside->begin());
    llvm::PHINode *at = builder.CreatePHI(test.at->getType(), 2, "at");
    at->addIncoming(plain, block);
    at->addIncoming(test.at, wrap);
    for (llvm::Use *use : behind) {
      use->set(at);
    }
    dominators_.addNewBlock(wrap, block);
    if (test.outside->getSinglePredecessor() != nullptr) {
      dominators_.changeImmediateDominator(test.outside, wrap);
    }
    return true;
  }

  /// The value, or, if it is converted from floating point, what x86's own conversion gives: the
  /// least integer, which is not inside, of all that have none.
  llvm::Value *conversion(const Test &test, llvm::IRBuilder<> &builder) const {
    llvm::Value *from = nullptr;
    if (!is_x86_ || !test.value->getType()->isIntegerTy(64) ||
        !match(test.value, m_Intrinsic<llvm::Intrinsic::fptosi_sat>(m_Value(from))) ||
        (!from->getType()->isDoubleTy() && !from->getType()->isFloatTy())) {
      return test.value;
    }
    const bool is_double = from->getType()->isDoubleTy();
    auto *vector = llvm::FixedVectorType::get(from->getType(), is_double ? 2 : 4);
    llvm::Value *first = builder.CreateInsertElement(llvm::PoisonValue::get(vector), from,
                                                     static_cast<std::uint64_t>(0));
    return builder.CreateIntrinsic(is_double ? llvm::Intrinsic::x86_sse2_cvttsd2si64
                                             : llvm::Intrinsic::x86_sse_cvttss2si64,
                                   {}, {first});
  }

  bool is_of_failure(const Test &test, const llvm::Use &use) const {
    llvm::BasicBlock *block = test.branch->getParent();
    return use.getUser() == test.comparison ||
           dominators_.dominates(llvm::BasicBlockEdge(block, test.outside), use);
  }

  /// To the front of a block, with what is made for it alone.
  static void sink(llvm::Instruction &made, llvm::BasicBlock &into) {
    const llvm::BasicBlock *from = made.getParent();
    made.moveBefore(into, into.begin());
    std::vector<llvm::Value *> operands(made.op_begin(), made.op_end());
    for (size_t k = 0; k < operands.size(); ++k) {
      auto *step = llvm::dyn_cast<llvm::Instruction>(operands[k]);
      if (step == nullptr || step->getParent() != from || llvm::isa<llvm::PHINode>(step) ||
          step->mayReadOrWriteMemory() ||
          !std::all_of(step->user_begin(), step->user_end(), [&](const llvm::User *user) {
            return llvm::cast<llvm::Instruction>(user)->getParent() == &into;
          })) {
        continue;
      }
      step->moveBefore(into, into.begin());
      operands.insert(operands.end(), step->op_begin(), step->op_end());
    }
  }

  /// Not less than zero, where it is made.
  llvm::Value *without_sign(llvm::Value *bound) {
    if (llvm::isKnownNonNegative(bound, llvm::SimplifyQuery(function_.getDataLayout()))) {
      return bound;
    }
    llvm::Value *known = without_sign_.lookup(bound);
    if (known == nullptr) {
      auto *made = llvm::dyn_cast<llvm::Instruction>(bound);
      const auto place = made == nullptr
                             ? std::optional(function_.getEntryBlock().getFirstInsertionPt())
                             : made->getInsertionPointAfterDef();
      llvm::IRBuilder<> builder((*place)->getParent(), *place);
      known = without_sign_[bound] = builder.CreateBinaryIntrinsic(
          llvm::Intrinsic::smax, bound, llvm::ConstantInt::get(bound->getType(), 0));
    }
    return known;
  }

  llvm::Function &function_;
  llvm::DominatorTree &dominators_;
  bool is_x86_;
  llvm::ValueMap<llvm::Value *, llvm::Value *> without_sign_; ///< values may be replaced
};

} // namespace

llvm::PreservedAnalyses WrapSeldom::run(llvm::Function &function,
                                        llvm::FunctionAnalysisManager &analyses) {
  return Wraps(function, analyses.getResult<llvm::DominatorTreeAnalysis>(function)).run()
             ? llvm::PreservedAnalyses::none()
             : llvm::PreservedAnalyses::all();
}

} // namespace tilewright
