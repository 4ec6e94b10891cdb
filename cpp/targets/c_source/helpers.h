// The small functions that printed C calls, with the meaning that the operations of Layer I have:
// integers that wrap, floor division, shifts of any amount, casts that end at a type's range,
// minima with NaN, float16 and bfloat16, complex numbers, and the elementary functions. Each is
// written once, where it is asked for, after those that it calls; what a program does not call is
// not there. The reference is algorithm/scalar.h; every function has the bits of the CPU target's
// code.
#pragma once

#include "algorithm/operations.h"

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

class CHelpers {
public:
  // Each gives the name of a function of C, whose arguments are the operation's.
  std::string integer(Op op, ScalarType type);    ///< helpers_integer.cpp
  std::string real(Op op, ScalarType type);       ///< of float and double; helpers_float.cpp
  std::string float_power(int factors);           ///< of float; scalar.h, helpers_float.cpp
  std::string complex(Op op, ScalarType type);    ///< helpers_complex.cpp
  std::string elementary(Op op, ScalarType type); ///< of float and double; elementary.cpp

  std::string saturating(ScalarType from, ScalarType to); ///< float or double -> integer
  std::string rounded(ScalarType narrow);    ///< double -> float16, float -> bfloat16, as a float
  std::string to_bits(ScalarType narrow);    ///< of a float that is one -> uint16_t
  std::string from_bits(ScalarType narrow);  ///< uint16_t -> float
  std::string make_complex(ScalarType type); ///< (real, imaginary)
  std::string is_nonzero(ScalarType complex);
  std::string allocate();     ///< (count, bytes of an element) -> void *, NULL without memory
  std::string count();        ///< (extent, extent) -> how many elements
  std::string unroll();       ///< a macro before a loop
  std::string largest_size(); ///< a macro: largest_size_parameter

  /// Something else that stands before all functions.
  std::string need(const std::string &name, const std::function<std::string()> &make);

  bool uses_complex() const { return uses_complex_; }
  /// All definitions, those first that others call.
  std::string text() const;

private:
  std::string bits_of_float();  ///< float -> uint32_t
  std::string float_of_bits();  ///< and back
  std::string bits_of_double(); ///< double -> uint64_t
  std::string double_of_bits(); ///< and back
  std::string complex_library(Op op, ScalarType type);
  std::string complex_power(ScalarType type);

  std::set<std::string> known_;
  std::vector<std::string> definitions_;
  bool uses_complex_ = false;

  friend class LlvmAsC;
};

/// `text` with each $key replaced by its value.
std::string filled(std::string text,
                   const std::vector<std::pair<std::string, std::string>> &values);

} // namespace tilewright
