// Which passes of LLVM, and which of our own over its code, a module goes through. Ours have
// vectorised, unrolled and tiled before: the short pipelines clean up, and the long one is for
// scalar code.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// Scalar clean-up, loop-invariant code motion and promotion of accumulators to registers; no
/// vectoriser, no unroller.
void optimise_light(llvm::Module &module, llvm::TargetMachine &machine);

/// The same for what becomes PTX.
void optimise_for_gpu(llvm::Module &module, llvm::TargetMachine &machine);

/// LLVM's own pipeline for speed (O3), with its vectorisers and unroller: for scalar code. Takes
/// several times as long; `between_passes` is called now and then.
void optimise_full(llvm::Module &module, llvm::TargetMachine &machine, void (*between_passes)());

} // namespace tilewright
