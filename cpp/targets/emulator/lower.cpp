#include "targets/emulator/lower.h"

#include "targets/emulator/tiles.h"
#include "targets/llvm/calls.h"
#include "targets/llvm/device_calls.h"
#include "targets/llvm/device_code.h"
#include "targets/nvptx/library.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <optional>

namespace tilewright {

namespace {

/// What the emulator is told of an access (tilewright_gpu_access).
struct Access {
  enum Kind : std::uint32_t { Reads = 0, Writes = 1, Updates = 2 };

  llvm::Value *address;
  llvm::Type *type;
  llvm::Align alignment;
  Kind kind;
};

/// Nothing of an access to memory that is the thread's own.
std::optional<Access> access_of(llvm::Instruction &instruction) {
  std::optional<Access> access;
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    access = {load->getPointerOperand(), load->getType(), load->getAlign(),
              load->isAtomic() ? Access::Updates : Access::Reads};
  } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    access = {store->getPointerOperand(), store->getValueOperand()->getType(), store->getAlign(),
              store->isAtomic() ? Access::Updates : Access::Writes};
  } else if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    access = {update->getPointerOperand(), update->getValOperand()->getType(), update->getAlign(),
              Access::Updates};
  } else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    access = {exchange->getPointerOperand(), exchange->getNewValOperand()->getType(),
              exchange->getAlign(), Access::Updates};
  }
  if (access && llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(access->address))) {
    access.reset();
  }
  return access;
}

/// A function of the host, whose accesses of buffers call `watch` first.
void watch_accesses(llvm::Function &function, llvm::FunctionCallee watch,
                    const llvm::DataLayout &layout) {
  std::vector<llvm::Instruction *> accesses;
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    if (instruction.hasMetadata(buffer_metadata)) {
      accesses.push_back(&instruction);
    }
  }
  for (llvm::Instruction *instruction : accesses) {
    const std::optional<Access> access = access_of(*instruction);
    if (!access) {
      continue;
    }
    const auto *number = llvm::cast<llvm::ConstantAsMetadata>(
        instruction->getMetadata(buffer_metadata)->getOperand(0));
    llvm::IRBuilder<> builder(instruction);
    builder.CreateCall(watch,
                       {access->address, builder.getInt64(layout.getTypeStoreSize(access->type)),
                        number->getValue(), builder.getInt32(access->kind),
                        builder.getInt32(static_cast<std::uint32_t>(access->alignment.value()))});
  }
}

/// The emulator's threads run one at a time: any turn is theirs, and nothing needs a lock.
void drop_turns_and_locks(llvm::Module &module) {
  replace_calls(module, gpu_turn, [](llvm::CallInst *call, llvm::IRBuilder<> &builder) {
    return builder.CreateICmpEQ(call->getArgOperand(0), builder.getInt32(0));
  });
  for (const char *name : {gpu_lock, gpu_unlock}) {
    replace_calls(module, name, [](llvm::CallInst * /*call*/, llvm::IRBuilder<> & /*builder*/) {
      return static_cast<llvm::Value *>(nullptr);
    });
  }
}

} // namespace

void lower_for_emulator(llvm::Module &module, const llvm::TargetMachine &host) {
  llvm::LLVMContext &context = module.getContext();
  const llvm::DataLayout layout = host.createDataLayout();
  module.setTargetTriple(host.getTargetTriple().str());
  module.setDataLayout(layout);
  if (llvm::NamedMDNode *annotations = module.getNamedMetadata("nvvm.annotations")) {
    annotations->eraseFromParent();
  }
  define_powers(module); // what the PTX has, not what the host would call
  lower_tiles_for_emulator(module);
  drop_turns_and_locks(module);
  llvm::Type *i32 = llvm::Type::getInt32Ty(context);
  llvm::FunctionCallee watch = module.getOrInsertFunction(
      "tilewright_gpu_access", llvm::Type::getVoidTy(context), llvm::PointerType::get(context, 0),
      llvm::Type::getInt64Ty(context), i32, i32, i32);
  llvm::cast<llvm::Function>(watch.getCallee())->setDoesNotThrow();
  for (llvm::Function &function : module) {
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) {
      function.setCallingConv(llvm::CallingConv::C);
    }
    watch_accesses(function, watch, layout);
  }
}

} // namespace tilewright
