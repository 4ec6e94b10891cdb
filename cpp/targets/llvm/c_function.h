// A kernel as a function that C programs call (docs/export.md): typed pointers, scalars by value,
// parameters as int64_t, a status that says what was wrong with which argument. Only the code: the
// header that declares it is text, and Python's.
#pragma once

#include "loops/loop_ir.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// What a C function returns: one of these and, from bit 8 on, the number of the array or of the
/// subscript that it is about. The first three are KernelStatus.
enum class CStatus : std::int32_t {
  Ok = 0,
  Subscript = 1,
  OutOfMemory = 2,
  Interrupted = 3,
  Sizes = 4,     ///< parameters that the function is not defined for
  Null = 5,      ///< an array's pointer
  Alignment = 6, ///< of an array
  Overlap = 7,   ///< of a written array and another one
  Processor = 8, ///< it lacks what the code was compiled for
  Device = 9,    ///< no GPU, or one that fails; with the driver's number
  Lost = 10,     ///< outputs that did not come back from it
};

/// The status that a C function returns about the array, or the subscript, of this number.
inline std::int32_t c_status(CStatus status, size_t about) {
  return static_cast<std::int32_t>(status) | static_cast<std::int32_t>(about) << 8;
}

/// An array, or a number, of the C function.
struct CArray {
  /// The kernel's arguments that lie in it, each so many bytes behind its beginning: one, or the
  /// fields of an array of structures, or also what is stored in an input.
  struct Part {
    int argument = 0; ///< index into Kernel::buffers
    std::int64_t offset = 0;
  };
  std::string name;
  std::vector<Part> parts;
  std::int64_t element_bytes = 0;
  std::int64_t alignment = 1;
  bool by_value = false; ///< a number
};

/// The arguments: each array, followed (`strides`) by the strides of all its dimensions but the
/// last one, in elements; then the kernel's parameters.
struct CFunction {
  std::string symbol;
  std::vector<CArray> arrays;
  bool strides = false;
  ValuePtr context;               ///< what the parameters must keep
  std::vector<size_t> sizes;      ///< the parameters that largest_size_parameter holds for
  std::uint64_t cpu_features = 0; ///< for tilewright_runs_here; 0 asks nothing
  /// What `symbol`_message says of a status.
  std::vector<std::pair<std::int32_t, std::string>> messages;
};

} // namespace tilewright
