#include "targets/llvm/half_comparisons.h"

#include "targets/llvm/passes.h"

#include <llvm/CodeGen/ISDOpcodes.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Target/TargetMachine.h>

namespace tilewright {

llvm::PreservedAnalyses WidenHalfComparisons::run(llvm::Function &function,
                                                  llvm::FunctionAnalysisManager & /*analyses*/) {
  const llvm::TargetLowering &target = *machine_->getSubtargetImpl(function)->getTargetLowering();
  const llvm::MVT halves = llvm::MVT::v8f16;
  if (target.isTypeLegal(halves) && target.isOperationLegalOrCustom(llvm::ISD::SETCC, halves)) {
    return llvm::PreservedAnalyses::all();
  }
  bool changed = false;
  for (llvm::BasicBlock &block : function) {
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
      auto *comparison = llvm::dyn_cast<llvm::FCmpInst>(&instruction);
      auto *type =
          comparison == nullptr
              ? nullptr
              : llvm::dyn_cast<llvm::FixedVectorType>(comparison->getOperand(0)->getType());
      if (type == nullptr || !type->getElementType()->isHalfTy()) {
        continue;
      }
      llvm::IRBuilder<> builder(comparison);
      builder.setFastMathFlags(comparison->getFastMathFlags());
      auto *wide = llvm::FixedVectorType::get(builder.getFloatTy(), type);
      comparison->replaceAllUsesWith(builder.CreateFCmp(
          comparison->getPredicate(), builder.CreateFPExt(comparison->getOperand(0), wide),
          builder.CreateFPExt(comparison->getOperand(1), wide)));
      comparison->eraseFromParent();
      changed = true;
    }
  }
  return all_but_instructions(changed);
}

} // namespace tilewright
