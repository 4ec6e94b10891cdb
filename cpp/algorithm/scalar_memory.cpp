// Scalars in memory and from one type to another: rounding to narrow floats, casts, loads, stores.
#include "algorithm/scalar_arithmetic.h"
#include "algorithm/scalar_representation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tilewright {

namespace scalars {

namespace {

/// `x` to the nearest number with `precision` significant bits and no bit below 2^lowest, ties to
/// even.
double round_to(double x, int precision, int lowest, double largest) {
  if (x == 0.0 || !std::isfinite(x)) {
    return x;
  }
  int exponent = 0;
  std::frexp(x, &exponent);
  const int unit = std::max(exponent - precision, lowest);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  return std::fabs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x)
                                      : rounded;
}

} // namespace

double round_to_half(double x) { return round_to(x, 11, -24, 65504.0); }
double round_to_brain(double x) { return round_to(x, 8, -133, 0x1.fep127); }

} // namespace scalars

namespace {

using namespace scalars;

// ---- casts ----

template <class T>
T saturate(double x) {
  if (std::isnan(x)) {
    return 0;
  }
  const double below =
      std::is_signed_v<T> ? static_cast<double>(std::numeric_limits<T>::min()) : 0.0;
  const double above =
      std::ldexp(1.0, std::numeric_limits<T>::digits); // one more than the largest value
  if (x <= below) {
    return std::numeric_limits<T>::min();
  }
  if (x >= above) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(x);
}

/// One component of a complex number, rounded. Not inline: GCC 12 takes the conversions of both
/// components to float and back for none where it makes vectors of them.
template <class F>
[[gnu::noinline]] F component(double x) {
  return static_cast<F>(x);
}

/// From one of the four representations in a ScalarValue: int64, uint64 (bool too), double,
/// complex<double>.
template <class From, class To>
void run_cast(const ScalarValue &a, ScalarValue &out) {
  const auto x = get<From>(a);
  if constexpr (is_bool<To>) {
    put<bool>(out, x != From{});
  } else if constexpr (is_complex<From>) {
    if constexpr (is_complex<To>) {
      using F = typename To::value_type;
      put<To>(out, To(component<F>(x.real()), component<F>(x.imag())));
    } else {
      ScalarValue real;
      real.d = x.real();
      run_cast<double, To>(real, out);
    }
  } else if constexpr (is_complex<To>) {
    using F = typename To::value_type;
    put<To>(out, To(static_cast<F>(x), F{0}));
  } else if constexpr (is_int<To>) {
    if constexpr (is_float<From>) {
      put<To>(out, saturate<To>(x));
    } else {
      put<To>(out, wrap<To>(bits_of(x)));
    }
  } else if constexpr (is_float<From> && std::is_same_v<To, Half>) {
    out.d = round_to_half(x); // from the double itself: one rounding
  } else if constexpr (is_float<From> && std::is_same_v<To, Brain>) {
    out.d = round_to_brain(static_cast<float>(x)); // by way of float32, as everybody does
  } else {
    put<To>(out, static_cast<ComputeType<To>>(x));
  }
}

// ---- memory ----

double half_from_bits(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0.0;
  if (exponent == 31) {
    magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                              : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

std::uint16_t half_to_bits(double x) {
  const unsigned sign = std::signbit(x) ? 0x8000U : 0U;
  const double magnitude = std::fabs(x);
  unsigned bits = 0;
  if (std::isnan(x)) {
    bits = 0x7e00;
  } else if (std::isinf(x)) {
    bits = 0x7c00;
  } else if (magnitude < 0x1p-14) {
    bits = static_cast<unsigned>(std::ldexp(magnitude, 24));
  } else {
    int exponent = 0;
    const double fraction = std::frexp(magnitude, &exponent); // in [0.5, 1)
    bits = (static_cast<unsigned>(exponent + 14) << 10U) +
           (static_cast<unsigned>(std::ldexp(fraction, 11)) - 1024U);
  }
  return static_cast<std::uint16_t>(sign | bits);
}

double brain_from_bits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t brain_to_bits(double x) {
  if (std::isnan(x)) {
    return std::signbit(x) ? 0xffc0 : 0x7fc0;
  }
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16U);
}

} // namespace

UnaryFunction cast_function(ScalarType from, ScalarType to) {
  return with_type(to, [&](auto tag) -> UnaryFunction {
    using To = typename decltype(tag)::type;
    switch (from.kind) {
    case TypeKind::Int:
      return &run_cast<std::int64_t, To>;
    case TypeKind::Bool:
    case TypeKind::UInt:
      return &run_cast<std::uint64_t, To>;
    case TypeKind::Complex:
      return &run_cast<std::complex<double>, To>;
    default:
      return &run_cast<double, To>;
    }
  });
}

ScalarValue load_value(ScalarType type, const void *address) {
  return with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ScalarValue value;
    if constexpr (is_bool<T>) {
      std::uint8_t byte = 0;
      std::memcpy(&byte, address, 1);
      value.u = byte != 0 ? 1 : 0;
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, address, sizeof(bits));
      value.d = std::is_same_v<T, Half> ? half_from_bits(bits) : brain_from_bits(bits);
    } else {
      T element{};
      std::memcpy(&element, address, sizeof(T));
      put<T>(value, element);
    }
    return value;
  });
}

void store_value(ScalarType type, void *address, const ScalarValue &value) {
  with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) {
      const std::uint16_t bits =
          std::is_same_v<T, Half> ? half_to_bits(value.d) : brain_to_bits(value.d);
      std::memcpy(address, &bits, sizeof(bits));
    } else {
      const T element = get<T>(value);
      std::memcpy(address, &element, sizeof(T));
    }
    return 0;
  });
}

ScalarValue value_of(const ConstantValue &constant, ScalarType type) {
  ScalarValue value;
  ScalarType from = Float64;
  if (const bool *b = std::get_if<bool>(&constant)) {
    put<bool>(value, *b);
    from = Bool;
  } else if (const std::int64_t *i = std::get_if<std::int64_t>(&constant)) {
    value.i = *i;
    from = Int64;
  } else if (const std::uint64_t *u = std::get_if<std::uint64_t>(&constant)) {
    value.u = *u;
    from = UInt64;
  } else if (const double *d = std::get_if<double>(&constant)) {
    value.d = *d;
  } else {
    put<std::complex<double>>(value, std::get<std::complex<double>>(constant));
    from = Complex128;
  }
  ScalarValue result;
  cast_function(from, type)(value, result);
  return result;
}

} // namespace tilewright
