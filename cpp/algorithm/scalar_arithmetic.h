// NumPy's arithmetic on integers, floats and complex numbers where C++ has another meaning or none:
// for the implementation of scalar.h only. Everything here is defined for every operand.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tilewright::scalars {

// ---- integers ----

template <class T>
T wrap(std::uint64_t bits) {
  return static_cast<T>(bits);
}
template <class T>
std::uint64_t bits_of(T x) {
  return static_cast<std::uint64_t>(x);
}

template <class T>
T floor_divide(T a, T b) {
  if (b == 0) {
    return 0;
  }
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) {
      return wrap<T>(0 - bits_of(a));
    }
    const auto quotient = static_cast<T>(a / b);
    return static_cast<T>(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
  } else {
    return static_cast<T>(a / b);
  }
}

template <class T>
T remainder(T a, T b) {
  if (b == 0) {
    return 0;
  }
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) {
      return 0;
    }
    const auto rest = static_cast<T>(a % b);
    return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  } else {
    return static_cast<T>(a % b);
  }
}

/// C's, and 0 where the divisor is; the smallest number divided by -1 is itself.
template <class T>
T divide_towards_zero(T a, T b) {
  if (b == 0) {
    return 0;
  }
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) {
      return wrap<T>(0 - bits_of(a));
    }
  }
  return static_cast<T>(a / b);
}

/// C's, and 0 where the divisor is.
template <class T>
T remainder_towards_zero(T a, T b) {
  if (b == 0) {
    return 0;
  }
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) {
      return 0;
    }
  }
  return static_cast<T>(a % b);
}

template <class T>
T saturating_add(T a, T b) {
  T result{};
  if (!__builtin_add_overflow(a, b, &result)) {
    return result;
  }
  return b < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

template <class T>
T saturating_subtract(T a, T b) {
  T result{};
  if (!__builtin_sub_overflow(a, b, &result)) {
    return result;
  }
  return std::is_signed_v<T> && b < 0 ? std::numeric_limits<T>::max()
                                      : std::numeric_limits<T>::min();
}

template <class T>
T power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) {
        return 1;
      }
      return static_cast<T>(base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0);
    }
  }
  std::uint64_t result = 1;
  std::uint64_t square = bits_of(base);
  for (auto rest = static_cast<std::uint64_t>(exponent); rest != 0; rest >>= 1U) {
    if ((rest & 1U) != 0) {
      result *= square;
    }
    square *= square;
  }
  return wrap<T>(result);
}

/// Negative counts are large ones, as in NumPy.
template <class T>
T shift_left(T a, T count) {
  const std::uint64_t by = bits_of(count);
  return by < 8 * sizeof(T) ? wrap<T>(bits_of(a) << by) : T{0};
}
template <class T>
T shift_right(T a, T count) {
  const std::uint64_t by = bits_of(count);
  if (by < 8 * sizeof(T)) {
    return static_cast<T>(a >> by);
  }
  return static_cast<T>(a < 0 ? -1 : 0);
}

// ---- floats: Python's floor division and modulo ----

template <class F>
struct Division {
  F quotient;
  F rest;
};

template <class F>
Division<F> divide_floor(F a, F b) {
  F rest = std::fmod(a, b);
  if (b == 0) {
    return {a / b, rest};
  }
  F quotient = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(F{0}, b);
  }
  if (quotient != 0) {
    F whole = std::floor(quotient);
    if (quotient - whole > F{0.5}) {
      whole += 1;
    }
    return {whole, rest};
  }
  return {std::copysign(F{0}, a / b), rest};
}

// ---- complex numbers, component by component ----

template <class F>
std::complex<F> multiply(std::complex<F> a, std::complex<F> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Smith's method: scales by the larger component of the divisor, so that no intermediate overflows
/// needlessly.
template <class F>
std::complex<F> divide(std::complex<F> a, std::complex<F> b) {
  const F re = std::fabs(b.real());
  const F im = std::fabs(b.imag());
  if (re >= im) {
    if (re == 0 && im == 0) {
      return {a.real() / re, a.imag() / re};
    }
    const F ratio = b.imag() / b.real();
    const F scale = F{1} / (b.real() + b.imag() * ratio);
    return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
  }
  const F ratio = b.real() / b.imag();
  const F scale = F{1} / (b.imag() + b.real() * ratio);
  return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}

/// Small integer exponents by multiplication, as NumPy does, so that squares and cubes are exact
/// where they can be.
template <class F>
std::complex<F> power(std::complex<F> a, std::complex<F> b) {
  using C = std::complex<F>;
  if (b == C(0, 0)) {
    return C(1, 0);
  }
  if (a == C(0, 0)) {
    const F nan = std::numeric_limits<F>::quiet_NaN();
    return b.real() > 0 ? C(0, 0) : C(nan, nan);
  }
  if (b.imag() == 0 && std::fabs(b.real()) < 100 && std::trunc(b.real()) == b.real()) {
    C result(1, 0);
    C square = a;
    bool first = true;
    for (auto rest = static_cast<unsigned>(std::fabs(b.real())); rest != 0; rest >>= 1U) {
      if ((rest & 1U) != 0) {
        result = first ? square : multiply(result, square);
        first = false;
      }
      square = multiply(square, square);
    }
    return b.real() < 0 ? divide(C(1, 0), result) : result;
  }
  return std::pow(a, b);
}

} // namespace tilewright::scalars
