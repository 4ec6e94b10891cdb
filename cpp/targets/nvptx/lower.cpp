#include "targets/nvptx/lower.h"

#include "hardware/gpu.h"
#include "polyhedral/error.h"
#include "targets/nvptx/library.h"
#include "targets/nvptx/tiles.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <array>
#include <mutex>
#include <set>
#include <vector>

namespace tilewright {

namespace {

constexpr const char *triple = "nvptx64-nvidia-cuda";
constexpr unsigned shared_space = 3;

void initialise_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

std::string architecture_name(const GpuTarget &target) {
  return "sm_" + std::to_string(target.architecture) + (target.is_exact ? "a" : "");
}

/// The oldest version of PTX that knows the architecture, so that old drivers take it. The driver's
/// compiler refuses an architecture that came after the version.
std::string ptx_version(const GpuTarget &target, bool has_tiles) {
  return target.is_exact             ? "+ptx80"
         : target.architecture >= 89 ? "+ptx78"
         : target.architecture >= 87 ? "+ptx74"
         : target.architecture >= 86 ? "+ptx71"
         : target.architecture >= 80 ? "+ptx70"
         : has_tiles                 ? "+ptx65"
                                     : "+ptx63";
}

std::vector<llvm::CallInst *> calls_of(llvm::Module &module, const char *name) {
  std::vector<llvm::CallInst *> calls;
  if (llvm::Function *function = module.getFunction(name)) {
    for (llvm::User *user : function->users()) {
      calls.push_back(llvm::cast<llvm::CallInst>(user));
    }
  }
  return calls;
}

void drop(llvm::Module &module, const char *name) {
  if (llvm::Function *function = module.getFunction(name)) {
    function->eraseFromParent();
  }
}

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

} // namespace

int supported_architecture(int architecture) {
  int newest = 0;
  for (const int known : gpu_architectures) {
    newest = known <= architecture ? known : newest;
  }
  return newest;
}

std::unique_ptr<llvm::TargetMachine> make_ptx_machine(const GpuTarget &target, bool fast_math,
                                                      bool has_tiles) {
  const bool is_known = supported_architecture(target.architecture) == target.architecture &&
                        (!target.is_exact || target.architecture == exact_architecture);
  if (!is_known) {
    throw Error(ErrorKind::Argument,
                "GPU architecture " + architecture_name(target) +
                    " is not known; known are sm_75, sm_80, sm_86, sm_87, sm_89, sm_90 and sm_90a");
  }
  initialise_target();
  std::string problem;
  const llvm::Target *nvptx = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (nvptx == nullptr) {
    throw Error(ErrorKind::Internal,
                std::string("LLVM has no target for ") + triple + ": " + problem);
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = fast_math ? llvm::FPOpFusion::Standard : llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(nvptx->createTargetMachine(
      triple, architecture_name(target), ptx_version(target, has_tiles), options, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) {
    throw Error(ErrorKind::Internal, "LLVM cannot make a target machine for PTX");
  }
  return machine;
}

namespace {

/// Asynchronous copies: of 16 bytes past the first cache, of fewer through it.
void lower_copies(llvm::Module &module) {
  constexpr unsigned global_space = 1;
  llvm::LLVMContext &context = module.getContext();
  for (llvm::CallInst *call : calls_of(module, "tilewright_gpu_copy")) {
    llvm::IRBuilder<> builder(call);
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
    call->eraseFromParent();
  }
  for (llvm::CallInst *call : calls_of(module, "tilewright_gpu_commit")) {
    llvm::IRBuilder<>(call).CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
    call->eraseFromParent();
  }
  for (llvm::CallInst *call : calls_of(module, "tilewright_gpu_wait")) {
    llvm::IRBuilder<>(call).CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {},
                                            {call->getArgOperand(0)});
    call->eraseFromParent();
  }
  for (const char *name : {"tilewright_gpu_copy", "tilewright_gpu_commit", "tilewright_gpu_wait"}) {
    drop(module, name);
  }
}

} // namespace

namespace {

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

} // namespace

void lower_for_ptx(llvm::Module &module) {
  define_powers(module);
  define_locks(module);
  lower_swaps(module);
  lower_tiles_for_ptx(module);
  constexpr std::array registers = {
      llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
      llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x,
      llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y,   llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z};
  for (llvm::CallInst *call : calls_of(module, "tilewright_gpu_index")) {
    const auto *axis = llvm::cast<llvm::ConstantInt>(call->getArgOperand(0));
    llvm::IRBuilder<> builder(call);
    llvm::Value *number = builder.CreateIntrinsic(registers.at(axis->getZExtValue()), {}, {});
    number->takeName(call);
    call->replaceAllUsesWith(number);
    call->eraseFromParent();
  }
  for (llvm::CallInst *call : calls_of(module, gpu_turn)) {
    llvm::IRBuilder<> builder(call);
    llvm::Value *lane = builder.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
    call->replaceAllUsesWith(builder.CreateICmpEQ(lane, call->getArgOperand(0)));
    call->eraseFromParent();
  }
  for (llvm::CallInst *call : calls_of(module, "tilewright_gpu_barrier")) {
    llvm::IRBuilder<> builder(call);
    builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
    call->eraseFromParent();
  }
  for (llvm::CallInst *call : calls_of(module, "tilewright_gpu_shuffle")) {
    llvm::IRBuilder<> builder(call);
    constexpr std::uint32_t all_lanes = 0xffffffff;
    constexpr std::uint32_t whole_warp = 0x1f;
    llvm::Value *shuffled =
        builder.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                                {builder.getInt32(all_lanes), call->getArgOperand(1),
                                 call->getArgOperand(2), builder.getInt32(whole_warp)});
    call->replaceAllUsesWith(shuffled);
    call->eraseFromParent();
  }
  const std::vector<llvm::CallInst *> shared = calls_of(module, "tilewright_gpu_shared");
  if (!shared.empty()) {
    auto *memory = new llvm::GlobalVariable(
        module, llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0), false,
        llvm::GlobalValue::ExternalLinkage, nullptr, "tilewright_shared", nullptr,
        llvm::GlobalValue::NotThreadLocal, shared_space);
    constexpr std::uint64_t alignment = 128;
    memory->setAlignment(llvm::Align(alignment));
    for (llvm::CallInst *call : shared) {
      call->replaceAllUsesWith(llvm::ConstantExpr::getAddrSpaceCast(memory, call->getType()));
      call->eraseFromParent();
    }
  }
  lower_copies(module);
  for (const char *name : {"tilewright_gpu_index", "tilewright_gpu_barrier",
                           "tilewright_gpu_shuffle", "tilewright_gpu_shared", gpu_turn}) {
    drop(module, name);
  }
}

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
  for (llvm::CallInst *call : calls_of(module, gpu_turn)) {
    // The emulator's threads run one at a time: any turn is theirs.
    llvm::IRBuilder<> builder(call);
    call->replaceAllUsesWith(builder.CreateICmpEQ(call->getArgOperand(0), builder.getInt32(0)));
  }
  for (const char *name : {gpu_turn, gpu_lock, gpu_unlock}) {
    for (llvm::CallInst *call : calls_of(module, name)) {
      call->eraseFromParent();
    }
    drop(module, name);
  }
  llvm::Type *i32 = llvm::Type::getInt32Ty(context);
  llvm::Type *i64 = llvm::Type::getInt64Ty(context);
  llvm::FunctionCallee watch =
      module.getOrInsertFunction("tilewright_gpu_access", llvm::Type::getVoidTy(context),
                                 llvm::PointerType::get(context, 0), i64, i32, i32, i32);
  llvm::cast<llvm::Function>(watch.getCallee())->setDoesNotThrow();
  constexpr std::uint32_t reads = 0;
  constexpr std::uint32_t writes = 1;
  constexpr std::uint32_t updates = 2;
  for (llvm::Function &function : module) {
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) {
      function.setCallingConv(llvm::CallingConv::C);
    }
    std::vector<llvm::Instruction *> accesses;
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      if (instruction.hasMetadata(buffer_metadata)) {
        accesses.push_back(&instruction);
      }
    }
    for (llvm::Instruction *instruction : accesses) {
      llvm::Value *address = nullptr;
      llvm::Type *type = nullptr;
      llvm::Align alignment;
      std::uint32_t kind = reads;
      if (auto *load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
        address = load->getPointerOperand();
        type = load->getType();
        alignment = load->getAlign();
        kind = load->isAtomic() ? updates : reads;
      } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
        address = store->getPointerOperand();
        type = store->getValueOperand()->getType();
        alignment = store->getAlign();
        kind = store->isAtomic() ? updates : writes;
      } else if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(instruction)) {
        address = update->getPointerOperand();
        type = update->getValOperand()->getType();
        alignment = update->getAlign();
        kind = updates;
      } else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(instruction)) {
        address = exchange->getPointerOperand();
        type = exchange->getNewValOperand()->getType();
        alignment = exchange->getAlign();
        kind = updates;
      }
      if (address == nullptr || llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(address))) {
        continue; // the thread's own
      }
      const auto *number = llvm::cast<llvm::ConstantAsMetadata>(
          instruction->getMetadata(buffer_metadata)->getOperand(0));
      llvm::IRBuilder<> builder(instruction);
      builder.CreateCall(watch, {address, builder.getInt64(layout.getTypeStoreSize(type)),
                                 number->getValue(), builder.getInt32(kind),
                                 builder.getInt32(static_cast<std::uint32_t>(alignment.value()))});
    }
  }
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
