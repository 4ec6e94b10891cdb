// The names of C: what types are called there, and identifiers that stand for a person's names.
// Whatever a name is in Python, what comes from here is an identifier of C99 in ASCII that hides no
// word of the language and nothing that printed code uses.
#pragma once

#include "algorithm/extern_function.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace tilewright {

/// Of a value: float16 and bfloat16 are float, which holds them.
std::string c_type(ScalarType type);
/// Of an element in memory: float16 and bfloat16 are uint16_t with their bits.
std::string c_memory_type(ScalarType type);
/// "float" of complex64, "double" of complex128; other types as c_type has them.
std::string c_component(ScalarType type);

/// The name, or one like it.
std::string c_identifier(const std::string &name);
/// "double g(double, int32_t)"
std::string c_prototype(const ExternFunction &function);

/// Names that are in use, in scopes. Numbers stand for variables and locals of the loop IR.
class CNames {
public:
  using Scope = std::set<std::string>;

  /// A name of somebody else's, as it is.
  void reserve(const std::string &name) { taken_.insert(name); }
  /// A name like `wanted` that is not in use yet.
  std::string take(const std::string &wanted);
  const std::string &define(std::int64_t id, const std::string &wanted);
  const std::string &of(std::int64_t id) const; ///< defined before

  /// What is taken after a scope is open is free again once it is closed.
  Scope open() const { return taken_; }
  void close(Scope outer) { taken_ = std::move(outer); }

private:
  Scope taken_;
  std::map<std::int64_t, std::string> names_;
};

} // namespace tilewright
