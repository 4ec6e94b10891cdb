#include "targets/llvm/choices.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

namespace tilewright {

namespace {

/// Operations between a load and the comparison of what comes of it, besides conversions.
constexpr int most_steps = 4;

bool is_made_of_loads(const llvm::Value *value, int steps) {
  const auto *made = llvm::dyn_cast<llvm::Instruction>(value);
  if (made == nullptr || steps == 0 || llvm::isa<llvm::PHINode>(made)) {
    return false;
  }
  const int left = llvm::isa<llvm::CastInst>(made) ? steps : steps - 1;
  return llvm::isa<llvm::LoadInst>(made) ||
         std::any_of(made->op_begin(), made->op_end(), [&](const llvm::Use &operand) {
           return is_made_of_loads(operand.get(), left);
         });
}

bool is_costly(const llvm::Value *value) {
  const auto *made = llvm::dyn_cast<llvm::Instruction>(value);
  return made != nullptr && (made->isIntDivRem() || llvm::isa<llvm::CallInst>(made) ||
                             made->getOpcode() == llvm::Instruction::FDiv ||
                             made->getOpcode() == llvm::Instruction::FRem);
}

} // namespace

void mark_choice_of_data(llvm::Value *choice) {
  auto *select = llvm::dyn_cast<llvm::SelectInst>(choice);
  if (select == nullptr || !select->getCondition()->getType()->isIntegerTy(1) ||
      is_costly(select->getTrueValue()) || is_costly(select->getFalseValue()) ||
      !is_made_of_loads(select->getCondition(), most_steps)) {
    return;
  }
  select->setMetadata(llvm::LLVMContext::MD_unpredictable,
                      llvm::MDBuilder(select->getContext()).createUnpredictable());
}

} // namespace tilewright
