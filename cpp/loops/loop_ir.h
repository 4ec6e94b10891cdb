// The one loop IR: small, typed, printable; the only thing that targets see. A kernel is what it
// has of arrays and sites, and a body of statements (statement.h) over values (value.h). Built by
// lowering/lower.h, rewritten by the passes in passes/, printed for people by print_loop_ir.
#pragma once

#include "loops/statement.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// What is known of an array's strides before its kernel is compiled.
struct ArrayLayout {
  int unit = -1;  ///< the dimension whose stride is the item size; -1 when none is known to be
  int packed = 0; ///< so many dimensions before the last one, which is `unit`, lie without gaps
                  ///< around inner dimensions of constant extents: their strides are constants
  bool operator==(const ArrayLayout &) const = default;
};

/// An array argument or a temporary of the kernel.
struct KernelBuffer {
  std::string name;
  ScalarType type;
  bool is_argument = true;
  bool is_written = false;
  bool is_streamed = false; ///< stores go past the caches
  bool is_scoped = false;   ///< a temporary of an Allocate instead of the whole kernel
  /// Scoped: "auto", "registers", "stack" or "heap"; in a Launch "shared" or "private".
  std::string memory = "auto";
  int stages = 1;         ///< of shared memory: so many of it, for copies ahead (staged_copies.h)
  std::string stage_loop; ///< the name of the loop in whose iterations they take turns
  std::string command;    ///< scoped: what put it there, for messages
  SourceLocation where;   ///< of that command
  Record record;          ///< temporaries of the whole kernel
  std::vector<ValuePtr> extents; ///< over Parameters only
  ArrayLayout layout;
};

/// A read whose element and value are reported: whether it happened, subscripts, value.
struct ReportedRead {
  std::string array;
  int rank = 0;
  bool is_complex = false; ///< two numbers

  bool operator==(const ReportedRead &) const = default;
};

/// What a check at run time reports.
struct IndexSite {
  std::string text; ///< "A[idx[i]]"
  std::string array;
  int dimension = 0;
  bool is_unsigned = false; ///< the subscript is of uint64: what fails below 0 is 2**63 or more
  bool from_origin = false; ///< the subscript counts from the first element (Computation::origin)
  /// Of checks that were asked for (instrumentation.h): whose instance fails; else empty.
  std::string computation = {};
  std::vector<std::string> iterators = {}; ///< of the instance, which is reported: its own first
  int rank = 0;                            ///< so many of them are the computation's
  int piece = 0;                           ///< of the computation
  std::string memory = {};                 ///< the buffer, where it is not the array's own
  bool writes = false;
  bool is_complex = false;              ///< CheckValue: the value, reported after the instance
  std::vector<ReportedRead> reads = {}; ///< CheckValue: reported after that
};

/// An outermost loop nest whose time is taken.
struct TimedNest {
  std::vector<std::string> statements; ///< of the program, in order of first use
};

/// What a person declared, of which the stores of a kernel are instances.
struct KernelStatement {
  std::string name;     ///< of the computation
  SourceLocation where; ///< of its declaration
};

struct Kernel {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<KernelBuffer>
      buffers; ///< arguments first, in argument order, then temporaries (row-major, contiguous)
  std::vector<IndexSite> sites;
  std::vector<TimedNest> nests;
  std::vector<KernelStatement> statements; ///< in order of declaration
  bool is_gpu = false;                     ///< what touches arrays does so in launches
  /// Parallel loops of less estimated work run in the thread that meets them; 0: none do.
  std::int64_t least_work_for_threads = 0;
  StmtPtr body;
};

/// Pseudo-code of the kernel: Python-like loops with their tags.
std::string print_loop_ir(const Kernel &kernel);
/// One element in the same spelling: "A[i, 8 * j : 8 * j + 8]".
std::string print_element(const Kernel &kernel, std::int64_t buffer,
                          const std::vector<ValuePtr> &subscripts);

} // namespace tilewright
