// Products of warps' tiles for the emulator: calls with the registers in memory, which the warp's
// threads come to together. What the emitter calls is in
// targets/llvm/device_calls.h.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

void lower_tiles_for_emulator(llvm::Module &module);

} // namespace tilewright
