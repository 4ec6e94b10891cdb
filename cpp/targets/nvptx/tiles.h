// Products of warps' tiles, and loads of their factors, as the tensor cores' instructions.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

void lower_tiles_for_ptx(llvm::Module &module);

} // namespace tilewright
