#include "targets/llvm/calls.h"

namespace tilewright {

std::vector<llvm::CallInst *> calls_of(llvm::Module &module, const std::string &name) {
  std::vector<llvm::CallInst *> calls;
  if (llvm::Function *function = module.getFunction(name)) {
    for (llvm::User *user : function->users()) {
      calls.push_back(llvm::cast<llvm::CallInst>(user));
    }
  }
  return calls;
}

void drop_function(llvm::Module &module, const std::string &name) {
  if (llvm::Function *function = module.getFunction(name)) {
    function->eraseFromParent();
  }
}

void replace_calls(
    llvm::Module &module, const std::string &name,
    const std::function<llvm::Value *(llvm::CallInst *, llvm::IRBuilder<> &)> &make) {
  for (llvm::CallInst *call : calls_of(module, name)) {
    llvm::IRBuilder<> builder(call);
    if (llvm::Value *made = make(call, builder)) {
      call->replaceAllUsesWith(made);
    }
    call->eraseFromParent();
  }
  drop_function(module, name);
}

} // namespace tilewright
