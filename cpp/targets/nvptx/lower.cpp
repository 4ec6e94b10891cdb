#include "targets/nvptx/lower.h"

#include "polyhedral/error.h"
#include "targets/llvm/calls.h"
#include "targets/llvm/device_calls.h"
#include "targets/nvptx/library.h"
#include "targets/nvptx/tiles.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <array>
#include <set>
#include <vector>

namespace tilewright {

namespace {

constexpr unsigned shared_space = 3; ///< of addresses, as NVPTX numbers them

/// The intrinsics that every NVPTX machine has instructions for. LLVM ends the process for others.
bool is_selectable(llvm::Intrinsic::ID id) {
  using Id = llvm::Intrinsic::ID;
  static const std::set<Id> known = {llvm::Intrinsic::fma,
                                     llvm::Intrinsic::fmuladd,
                                     llvm::Intrinsic::sqrt,
                                     llvm::Intrinsic::fabs,
                                     llvm::Intrinsic::floor,
                                     llvm::Intrinsic::ceil,
                                     llvm::Intrinsic::trunc,
                                     llvm::Intrinsic::rint,
                                     llvm::Intrinsic::nearbyint,
                                     llvm::Intrinsic::roundeven,
                                     llvm::Intrinsic::minnum,
                                     llvm::Intrinsic::maxnum,
                                     llvm::Intrinsic::copysign,
                                     llvm::Intrinsic::abs,
                                     llvm::Intrinsic::smax,
                                     llvm::Intrinsic::smin,
                                     llvm::Intrinsic::umax,
                                     llvm::Intrinsic::umin,
                                     llvm::Intrinsic::ctpop,
                                     llvm::Intrinsic::ctlz,
                                     llvm::Intrinsic::cttz,
                                     llvm::Intrinsic::bswap,
                                     llvm::Intrinsic::fshl,
                                     llvm::Intrinsic::fshr,
                                     llvm::Intrinsic::sadd_with_overflow,
                                     llvm::Intrinsic::ssub_with_overflow,
                                     llvm::Intrinsic::smul_with_overflow,
                                     llvm::Intrinsic::uadd_with_overflow,
                                     llvm::Intrinsic::usub_with_overflow,
                                     llvm::Intrinsic::umul_with_overflow,
                                     llvm::Intrinsic::assume,
                                     llvm::Intrinsic::lifetime_start,
                                     llvm::Intrinsic::lifetime_end,
                                     llvm::Intrinsic::memcpy,
                                     llvm::Intrinsic::memset,
                                     llvm::Intrinsic::memmove,
                                     llvm::Intrinsic::experimental_noalias_scope_decl,
                                     llvm::Intrinsic::vector_reduce_add,
                                     llvm::Intrinsic::vector_reduce_mul,
                                     llvm::Intrinsic::vector_reduce_and,
                                     llvm::Intrinsic::vector_reduce_or,
                                     llvm::Intrinsic::vector_reduce_xor,
                                     llvm::Intrinsic::vector_reduce_smax,
                                     llvm::Intrinsic::vector_reduce_smin,
                                     llvm::Intrinsic::vector_reduce_umax,
                                     llvm::Intrinsic::vector_reduce_umin,
                                     llvm::Intrinsic::vector_reduce_fadd,
                                     llvm::Intrinsic::vector_reduce_fmul,
                                     llvm::Intrinsic::vector_reduce_fmax,
                                     llvm::Intrinsic::vector_reduce_fmin,
                                     llvm::Intrinsic::is_fpclass,
                                     llvm::Intrinsic::convert_from_fp16,
                                     llvm::Intrinsic::convert_to_fp16,
                                     llvm::Intrinsic::usub_sat,
                                     llvm::Intrinsic::uadd_sat,
                                     llvm::Intrinsic::ssub_sat,
                                     llvm::Intrinsic::sadd_sat,
                                     llvm::Intrinsic::bitreverse,
                                     llvm::Intrinsic::fptosi_sat,
                                     llvm::Intrinsic::fptoui_sat,
                                     llvm::Intrinsic::canonicalize};
  const llvm::StringRef name = llvm::Intrinsic::getBaseName(id);
  return known.count(id) > 0 || name.starts_with("llvm.nvvm.");
}

/// What LLVM takes for something else on a GPU than it means: frem becomes a difference of rounded
/// products, and an atomic update of less than a word one of the word around it.
void require_meant(const llvm::Function &function) {
  constexpr unsigned least_atomic_bits = 32;
  for (const llvm::Instruction &instruction : llvm::instructions(function)) {
    const llvm::Type *updated = nullptr;
    if (const auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      updated = update->getType();
    } else if (const auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      updated = exchange->getNewValOperand()->getType();
    }
    if (instruction.getOpcode() == llvm::Instruction::FRem ||
        (updated != nullptr && updated->getPrimitiveSizeInBits() < least_atomic_bits)) {
      std::string text;
      llvm::raw_string_ostream(text) << instruction;
      throw Error(ErrorKind::Internal, "there is no right code for a GPU for" + text);
    }
  }
}

void require_selectable(const llvm::Module &module) {
  for (const llvm::Function &function : module) {
    require_meant(function);
    if (!function.isDeclaration() || function.use_empty()) {
      continue;
    }
    if (!function.isIntrinsic()) {
      const std::string name = function.getName().str();
      const bool is_complex = name.find("complex") != std::string::npos;
      throw Error(is_complex ? ErrorKind::Schedule : ErrorKind::Internal,
                  "there is no code for a GPU for '" + name + "'" +
                      (is_complex ? ": functions of complex numbers are the CPU's (target=\"cpu\", "
                                    "or the emulator)"
                                  : ""));
    }
    if (!is_selectable(function.getIntrinsicID())) {
      throw Error(ErrorKind::Internal,
                  "there is no code for a GPU for " + function.getName().str());
    }
  }
}

using Builder = llvm::IRBuilder<>;

/// Asynchronous copies: of 16 bytes past the first cache, of fewer through it.
void lower_copies(llvm::Module &module) {
  constexpr unsigned global_space = 1;
  llvm::LLVMContext &context = module.getContext();
  constexpr llvm::Value *no_value = nullptr;
  replace_calls(module, "tilewright_gpu_copy", [&](llvm::CallInst *call, Builder &builder) {
    const std::uint64_t bytes =
        llvm::cast<llvm::ConstantInt>(call->getArgOperand(2))->getZExtValue();
    const auto copy = bytes == 16  ? llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16
                      : bytes == 8 ? llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8
                                   : llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4;
    llvm::Value *to = builder.CreateAddrSpaceCast(call->getArgOperand(0),
                                                  llvm::PointerType::get(context, shared_space));
    llvm::Value *from = builder.CreateAddrSpaceCast(call->getArgOperand(1),
                                                    llvm::PointerType::get(context, global_space));
    builder.CreateIntrinsic(copy, {}, {to, from});
    return no_value;
  });
  replace_calls(module, "tilewright_gpu_commit", [&](llvm::CallInst * /*call*/, Builder &builder) {
    builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
    return no_value;
  });
  replace_calls(module, "tilewright_gpu_wait", [&](llvm::CallInst *call, Builder &builder) {
    builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {},
                            {call->getArgOperand(0)});
    return no_value;
  });
}

/// Of two bytes: LLVM 19 would take the word around them.
void lower_swaps(llvm::Module &module) {
  std::vector<llvm::AtomicCmpXchgInst *> swaps;
  for (llvm::Function &function : module) {
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
      if (swap != nullptr && swap->getNewValOperand()->getType()->isIntegerTy(16)) {
        swaps.push_back(swap);
      }
    }
  }
  for (llvm::AtomicCmpXchgInst *swap : swaps) {
    llvm::IRBuilder<> builder(swap);
    llvm::Type *i16 = builder.getInt16Ty();
    auto *type = llvm::FunctionType::get(i16, {builder.getPtrTy(), i16, i16}, false);
    auto *code = llvm::InlineAsm::get(type, "atom.cas.b16 $0, [$1], $2, $3;", "=h,l,h,h,~{memory}",
                                      /*hasSideEffects=*/true);
    llvm::Value *old = builder.CreateCall(
        code, {swap->getPointerOperand(), swap->getCompareOperand(), swap->getNewValOperand()});
    llvm::Value *both = builder.CreateInsertValue(llvm::PoisonValue::get(swap->getType()), old, 0);
    both = builder.CreateInsertValue(both, builder.CreateICmpEQ(old, swap->getCompareOperand()), 1);
    swap->replaceAllUsesWith(both);
    swap->eraseFromParent();
  }
}

/// Numbers of blocks and threads, and whose turn it is in a warp.
void lower_places(llvm::Module &module) {
  constexpr std::array registers = {
      llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
      llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x,
      llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y,   llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z};
  replace_calls(module, "tilewright_gpu_index", [&](llvm::CallInst *call, Builder &builder) {
    const auto *axis = llvm::cast<llvm::ConstantInt>(call->getArgOperand(0));
    llvm::Value *number = builder.CreateIntrinsic(registers.at(axis->getZExtValue()), {}, {});
    number->takeName(call);
    return number;
  });
  replace_calls(module, gpu_turn, [](llvm::CallInst *call, Builder &builder) {
    llvm::Value *lane = builder.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
    return builder.CreateICmpEQ(lane, call->getArgOperand(0));
  });
}

/// Barriers of a block and exchanges in a warp.
void lower_meetings(llvm::Module &module) {
  replace_calls(module, "tilewright_gpu_barrier",
                [](llvm::CallInst * /*call*/, Builder &builder) -> llvm::Value * {
                  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
                  return nullptr;
                });
  replace_calls(module, "tilewright_gpu_shuffle", [](llvm::CallInst *call, Builder &builder) {
    constexpr std::uint32_t all_lanes = 0xffffffff;
    constexpr std::uint32_t whole_warp = 0x1f;
    return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                                   {builder.getInt32(all_lanes), call->getArgOperand(1),
                                    call->getArgOperand(2), builder.getInt32(whole_warp)});
  });
}

/// All of a block's shared memory is one array, whose size the launch gives.
void lower_shared_memory(llvm::Module &module) {
  llvm::GlobalVariable *memory = nullptr;
  replace_calls(module, "tilewright_gpu_shared", [&](llvm::CallInst *call, Builder & /*builder*/) {
    if (memory == nullptr) {
      memory = new llvm::GlobalVariable(
          module, llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0), false,
          llvm::GlobalValue::ExternalLinkage, nullptr, "tilewright_shared", nullptr,
          llvm::GlobalValue::NotThreadLocal, shared_space);
      constexpr std::uint64_t alignment = 128;
      memory->setAlignment(llvm::Align(alignment));
    }
    return llvm::ConstantExpr::getAddrSpaceCast(memory, call->getType());
  });
}

} // namespace

void lower_for_ptx(llvm::Module &module) {
  define_powers(module);
  define_locks(module);
  lower_swaps(module);
  lower_tiles_for_ptx(module);
  lower_places(module);
  lower_meetings(module);
  lower_shared_memory(module);
  lower_copies(module);
}

std::string compile_to_ptx(llvm::Module &module, llvm::TargetMachine &machine) {
  require_selectable(module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    throw Error(ErrorKind::Internal, "LLVM cannot write PTX");
  }
  passes.run(module);
  return std::string(text);
}

} // namespace tilewright
