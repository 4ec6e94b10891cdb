// Which GPU code is made for: none, the emulator on the host, or an NVIDIA device by PTX.
#pragma once

namespace tilewright {

struct GpuTarget {
  enum class Kind { None, Emulator, Cuda };

  Kind kind = Kind::None;
  int architecture = 75; ///< sm_75, ...: the least compute capability that runs it
  bool is_exact = false; ///< sm_90a: runs on no later one either

  bool operator==(const GpuTarget &) const = default;
};

} // namespace tilewright
