// C as a target: a kernel as a function of C99 with OpenMP that a person can read, with the loops,
// names and statements that the schedule has. It is the loop IR before vector loops become vectors
// (TargetFeatures::plain_loops): a compiler of C makes vectors of it, where that changes no bits.
// Compiled without contraction (-ffp-contract=off) it computes what the CPU target's code computes,
// but for the order in which vector loops sum up; what that adds to a sum by one instruction with
// its product, fma() does here. The header that declares the function is
// Python's.
#pragma once

#include "targets/llvm/device_program.h"
#include "targets/target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// Where a kernel's argument lies in the function of C.
struct CSourceArray {
  std::string name;   ///< of the pointer, or the number
  std::string member; ///< of the structures that it points to; or empty
  bool by_value = false;
  bool is_read = true; ///< what it holds before a call is of use: launches have it on the device
};

struct CSourceFunction {
  std::string symbol;               ///< what it is called
  std::string prototype;            ///< without a semicolon
  std::string status_prefix;        ///< "MATMUL_": of the codes that it returns, OUT_OF_MEMORY ...
  std::vector<CSourceArray> arrays; ///< the kernel's arguments, in order
  std::vector<std::string> parameters; ///< their names
  ValuePtr context;                    ///< what the parameters must keep; null: everything
  std::vector<size_t> sizes;           ///< the parameters that largest_size_parameter holds for
  /// Products that a sum adds up in any order are not rounded by themselves: fma().
  bool fuses_products = false;
};

/// The codes that it returns, as an enum: PREFIX_OK and so on. A subscript's has its number, from
/// 0, in the bits from the 8th on (c_status), a device's the driver's number of the error.
std::string c_source_statuses(const std::string &prefix, bool has_launches = false);

struct CSourceText {
  std::string includes;
  std::string text; ///< the helpers that are called, and the definition of the function
};

/// `device`: the kernel's launches, if it has some; the text calls functions then that stand in
/// python/tilewright/export/gpu_host.c. Throws Error(Schedule) for launches without it.
CSourceText c_source(const Kernel &kernel, const CSourceFunction &function,
                     const DeviceProgram *device = nullptr);

/// A function for a kernel alone: int symbol(parameters, pointers).
CSourceFunction plain_c_function(const Kernel &kernel, const std::string &symbol);

/// Its artifact is the text of plain_c_function.
const Target &c_source_target();

} // namespace tilewright
