#include "runtime/math_support.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

namespace tilewright {

namespace {

template <class T>
using Function = std::complex<T> (*)(std::complex<T>);

template <class T, Function<T> function>
void through_memory(T *x) {
  const std::complex<T> result = function({x[0], x[1]});
  x[0] = result.real();
  x[1] = result.imag();
}

template <class T>
std::complex<T> c_sqrt(std::complex<T> z) {
  return std::sqrt(z);
}
template <class T>
std::complex<T> c_exp(std::complex<T> z) {
  return std::exp(z);
}
template <class T>
std::complex<T> c_exp2(std::complex<T> z) {
  return std::exp(z * std::log(T(2)));
}
template <class T>
std::complex<T> c_log(std::complex<T> z) {
  return std::log(z);
}
template <class T>
std::complex<T> c_log2(std::complex<T> z) {
  return std::log(z) / std::log(T(2));
}
template <class T>
std::complex<T> c_log10(std::complex<T> z) {
  return std::log10(z);
}
template <class T>
std::complex<T> c_sin(std::complex<T> z) {
  return std::sin(z);
}
template <class T>
std::complex<T> c_cos(std::complex<T> z) {
  return std::cos(z);
}
template <class T>
std::complex<T> c_tan(std::complex<T> z) {
  return std::tan(z);
}
template <class T>
std::complex<T> c_arcsin(std::complex<T> z) {
  return std::asin(z);
}
template <class T>
std::complex<T> c_arccos(std::complex<T> z) {
  return std::acos(z);
}
template <class T>
std::complex<T> c_arctan(std::complex<T> z) {
  return std::atan(z);
}
template <class T>
std::complex<T> c_sinh(std::complex<T> z) {
  return std::sinh(z);
}
template <class T>
std::complex<T> c_cosh(std::complex<T> z) {
  return std::cosh(z);
}
template <class T>
std::complex<T> c_tanh(std::complex<T> z) {
  return std::tanh(z);
}
template <class T>
std::complex<T> c_arcsinh(std::complex<T> z) {
  return std::asinh(z);
}
template <class T>
std::complex<T> c_arccosh(std::complex<T> z) {
  return std::acosh(z);
}
template <class T>
std::complex<T> c_arctanh(std::complex<T> z) {
  return std::atanh(z);
}

/// As NumPy: small integer exponents by multiplication, powers of zero by cases.
template <class T>
std::complex<T> complex_power(std::complex<T> base, std::complex<T> exponent) {
  if (exponent == std::complex<T>(0)) {
    return 1;
  }
  if (base == std::complex<T>(0)) {
    if (exponent.real() > 0) {
      return 0;
    }
    return {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN()};
  }
  if (exponent.imag() == 0 && exponent.real() == std::trunc(exponent.real()) &&
      std::abs(exponent.real()) < 100) {
    const int n = static_cast<int>(exponent.real());
    std::complex<T> result = 1;
    std::complex<T> square = base;
    for (int rest = std::abs(n); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) {
        result *= square;
      }
      square *= square;
    }
    return n < 0 ? T(1) / result : result;
  }
  return std::pow(base, exponent);
}

template <class T>
void power_through_memory(T *x) {
  const std::complex<T> result = complex_power<T>({x[0], x[1]}, {x[2], x[3]});
  x[0] = result.real();
  x[1] = result.imag();
}

std::uint64_t power_unsigned(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      result *= base;
    }
    base *= base;
  }
  return result;
}

/// A negative exponent truncates the exact power towards zero.
std::int64_t power_signed(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1 || base == -1) {
      return (exponent & 1) != 0 ? base : 1;
    }
    return 0;
  }
  return static_cast<std::int64_t>(
      power_unsigned(static_cast<std::uint64_t>(base), static_cast<std::uint64_t>(exponent)));
}

template <class F>
void *address_of(F *function) {
  return reinterpret_cast<void *>(function);
}

} // namespace

} // namespace tilewright

// The compiler's own conversions (libgcc, static), which LLVM calls on CPUs without F16C.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
void __truncsfhf2();
void __truncdfhf2();
void __extendhfsf2();
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace tilewright {

#define TILEWRIGHT_COMPLEX(name)                                                                   \
  {"tilewright_complex64_" #name, address_of(&through_memory<float, &c_##name<float>>)}, {         \
    "tilewright_complex128_" #name, address_of(&through_memory<double, &c_##name<double>>)         \
  }

const std::vector<SupportFunction> &support_functions() {
  static const std::vector<SupportFunction> functions = {
      TILEWRIGHT_COMPLEX(sqrt),
      TILEWRIGHT_COMPLEX(exp),
      TILEWRIGHT_COMPLEX(exp2),
      TILEWRIGHT_COMPLEX(log),
      TILEWRIGHT_COMPLEX(log2),
      TILEWRIGHT_COMPLEX(log10),
      TILEWRIGHT_COMPLEX(sin),
      TILEWRIGHT_COMPLEX(cos),
      TILEWRIGHT_COMPLEX(tan),
      TILEWRIGHT_COMPLEX(arcsin),
      TILEWRIGHT_COMPLEX(arccos),
      TILEWRIGHT_COMPLEX(arctan),
      TILEWRIGHT_COMPLEX(sinh),
      TILEWRIGHT_COMPLEX(cosh),
      TILEWRIGHT_COMPLEX(tanh),
      TILEWRIGHT_COMPLEX(arcsinh),
      TILEWRIGHT_COMPLEX(arccosh),
      TILEWRIGHT_COMPLEX(arctanh),
      {"tilewright_complex64_pow", address_of(&power_through_memory<float>)},
      {"tilewright_complex128_pow", address_of(&power_through_memory<double>)},
      {"tilewright_power_signed", address_of(&power_signed)},
      {"tilewright_power_unsigned", address_of(&power_unsigned)},
      {"__truncsfhf2", address_of(&__truncsfhf2)},
      {"__truncdfhf2", address_of(&__truncdfhf2)},
      {"__extendhfsf2", address_of(&__extendhfsf2)},
  };
  return functions;
}

#undef TILEWRIGHT_COMPLEX

} // namespace tilewright
