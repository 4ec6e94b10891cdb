// The calls of named functions in a module: what the emitter leaves for a device to say.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <vector>

namespace tilewright {

/// None where the module has no such function.
std::vector<llvm::CallInst *> calls_of(llvm::Module &module, const std::string &name);

/// Forgets a function that nothing calls any more.
void drop_function(llvm::Module &module, const std::string &name);

/// Puts what `make` makes in the place of each call, and forgets the function. What makes nothing
/// (null) stands for calls without a value.
void replace_calls(llvm::Module &module, const std::string &name,
                   const std::function<llvm::Value *(llvm::CallInst *, llvm::IRBuilder<> &)> &make);

} // namespace tilewright
