// Functions of C that expressions call: `g(x[i], 2.0)` where g is a name, types and an address.
// Layer I knows what such a function is called, what it takes and gives, and how to call it for one
// value; code calls its address by a symbol that is resolved when the code is linked, so that what
// is kept on disk has no address of a process in it. A function is pure by declaration: its result
// depends on its arguments alone, threads may call it at the same time, and how often it is called
// is the schedule's business.
#pragma once

#include "algorithm/scalar.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct Function;
struct BlockFunction;

struct ExternFunction {
  std::string name;
  std::vector<ScalarType> arguments; ///< at least one
  ScalarType result;
  void *address = nullptr;
  /// The function on one value of each argument; from any thread.
  std::function<ScalarValue(std::span<const ScalarValue>)> call;
  std::shared_ptr<void> owner; ///< what keeps the code at `address` in memory
  SourceLocation where;        ///< of the declaration
  /// Of the call of a block and of what it writes (algorithm/block.h); null for functions of
  /// values.
  std::shared_ptr<const BlockFunction> block = nullptr;
  int result_of_block = -1; ///< which of its results; -1: the call itself
  /// Only in loops, of what code passes to a block: the address of an element of this buffer, whose
  /// subscripts are the arguments; -1 for functions.
  std::int64_t address_in = -1;
};

/// Types that C passes by value: bool, integers and floats of 32 and 64 bits.
bool is_extern_type(ScalarType type);

/// "g(float64, int32) -> float64"; "block rows" of a block.
std::string extern_signature(const ExternFunction &function);

/// All that code depends on, for keys of caches.
std::string extern_key(const ExternFunction &function);

/// The call. Arguments are brought to the declared types where NumPy's same_kind rule allows it;
/// Error(Type) where it does not, or where there are more or fewer.
ExprPtr call_extern(const ExternPtr &function, const std::vector<Operand> &arguments);

/// Those that a function calls, by name. Error(Declaration) where two different ones have one name.
std::vector<ExternPtr> externs_of(const Function &function);

/// What code calls it by where this library links the code.
std::string extern_symbol(const ExternFunction &function);

/// Symbols and addresses, for the linker (runtime/jit.h).
std::vector<std::pair<std::string, void *>> extern_symbols(const Function &function);

} // namespace tilewright
