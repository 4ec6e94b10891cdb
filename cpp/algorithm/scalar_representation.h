// How each scalar type lies in a ScalarValue, as C++ types: for the files that implement scalar.h
// only. A type that C++20 does not have is a tag, and computes in float.
#pragma once

#include "algorithm/scalar.h"

#include <complex>
#include <cstdint>
#include <type_traits>

namespace tilewright::scalars {

// Storage types that C++20 does not have; the templates below are instantiated over these and the
// built-in ones.
struct Half {};
struct Brain {};

template <class T>
struct Compute {
  using type = T;
};
template <>
struct Compute<Half> {
  using type = float;
};
template <>
struct Compute<Brain> {
  using type = float;
};
template <class T>
using ComputeType = typename Compute<T>::type;

template <class T>
constexpr bool is_bool = std::is_same_v<T, bool>;
template <class T>
constexpr bool is_int = std::is_integral_v<T> && !is_bool<T>;
template <class T>
constexpr bool is_signed_int = is_int<T> && std::is_signed_v<T>;
template <class T>
constexpr bool is_float = std::is_floating_point_v<ComputeType<T>>;
template <class T>
constexpr bool is_complex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// The nearest float16 or bfloat16, ties to even.
double round_to_half(double x);
double round_to_brain(double x);

template <class T>
ComputeType<T> get(const ScalarValue &value) {
  if constexpr (is_bool<T>) {
    return value.u != 0;
  } else if constexpr (is_signed_int<T>) {
    return static_cast<T>(value.i);
  } else if constexpr (is_int<T>) {
    return static_cast<T>(value.u);
  } else if constexpr (is_complex<T>) {
    using F = typename T::value_type;
    return T(static_cast<F>(value.d), static_cast<F>(value.im));
  } else {
    return static_cast<ComputeType<T>>(value.d);
  }
}

template <class T>
void put(ScalarValue &out, ComputeType<T> x) {
  if constexpr (is_bool<T>) {
    out.u = x ? 1 : 0;
  } else if constexpr (is_signed_int<T>) {
    out.i = x;
  } else if constexpr (is_int<T>) {
    out.u = x;
  } else if constexpr (is_complex<T>) {
    out.d = x.real();
    out.im = x.imag();
  } else if constexpr (std::is_same_v<T, Half>) {
    out.d = round_to_half(x);
  } else if constexpr (std::is_same_v<T, Brain>) {
    out.d = round_to_brain(x);
  } else {
    out.d = x;
  }
}

template <class T>
struct Tag {
  using type = T;
};

/// Calls `use(Tag<T>)` with the C++ type that stands for `type`.
template <class Use>
auto with_type(ScalarType type, Use use) {
  switch (type.kind) {
  case TypeKind::Bool:
    return use(Tag<bool>{});
  case TypeKind::Int:
    return type.bits == 8    ? use(Tag<std::int8_t>{})
           : type.bits == 16 ? use(Tag<std::int16_t>{})
           : type.bits == 32 ? use(Tag<std::int32_t>{})
                             : use(Tag<std::int64_t>{});
  case TypeKind::UInt:
    return type.bits == 8    ? use(Tag<std::uint8_t>{})
           : type.bits == 16 ? use(Tag<std::uint16_t>{})
           : type.bits == 32 ? use(Tag<std::uint32_t>{})
                             : use(Tag<std::uint64_t>{});
  case TypeKind::BFloat:
    return use(Tag<Brain>{});
  case TypeKind::Complex:
    return type.bits == 64 ? use(Tag<std::complex<float>>{}) : use(Tag<std::complex<double>>{});
  case TypeKind::Float:
    break;
  }
  return type.bits == 16   ? use(Tag<Half>{})
         : type.bits == 32 ? use(Tag<float>{})
                           : use(Tag<double>{});
}

} // namespace tilewright::scalars
