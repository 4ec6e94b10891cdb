#include "algorithm/scalar.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace tilewright {

namespace {

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
constexpr bool is_signed_int = is_int<T> &&std::is_signed_v<T>;
template <class T>
constexpr bool is_float = std::is_floating_point_v<ComputeType<T>>;
template <class T>
constexpr bool is_complex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

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
double round_to_half(double x) { return round_to(x, 11, -24, 65504.0); }
double round_to_brain(double x) { return round_to(x, 8, -133, 0x1.fep127); }

template <class T>
ComputeType<T> get(const Value &value) {
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
void put(Value &out, ComputeType<T> x) {
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

// ---- one function for each operation and type ----

template <class T>
constexpr bool has_binary(Op op) {
  switch (op) {
  case Op::Add:
  case Op::Mul:
  case Op::Eq:
  case Op::Ne:
    return true;
  case Op::Sub:
    return !is_bool<T>;
  case Op::TrueDiv:
    return is_float<T> || is_complex<T>;
  case Op::Pow:
    return !is_bool<T>;
  case Op::FloorDiv:
  case Op::Mod:
    return is_int<T> || is_float<T>;
  case Op::Min:
  case Op::Max:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
    return !is_complex<T>;
  case Op::And:
  case Op::Or:
  case Op::Xor:
    return is_bool<T> || is_int<T>;
  case Op::Shl:
  case Op::Shr:
    return is_int<T>;
  case Op::Arctan2:
    return is_float<T>;
  case Op::MakeComplex:
    return std::is_same_v<T, float> || std::is_same_v<T, double>;
  default:
    return false;
  }
}

template <class T, Op op>
void run_comparison(const Value &left, const Value &right, Value &out) {
  const auto a = get<T>(left);
  const auto b = get<T>(right);
  if constexpr (op == Op::Lt) {
    put<bool>(out, a < b);
  } else if constexpr (op == Op::Le) {
    put<bool>(out, a <= b);
  } else if constexpr (op == Op::Gt) {
    put<bool>(out, a > b);
  } else if constexpr (op == Op::Ge) {
    put<bool>(out, a >= b);
  } else if constexpr (op == Op::Eq) {
    put<bool>(out, a == b);
  } else {
    put<bool>(out, a != b);
  }
}

template <Op op>
bool bool_result(bool a, bool b) {
  if constexpr (op == Op::Add || op == Op::Or || op == Op::Max) {
    return a || b;
  } else if constexpr (op == Op::Xor) {
    return a != b;
  } else {
    return a && b; // Mul, And, Min
  }
}

template <class T, Op op>
T integer_result(T a, T b) {
  if constexpr (op == Op::Add) {
    return wrap<T>(bits_of(a) + bits_of(b));
  } else if constexpr (op == Op::Sub) {
    return wrap<T>(bits_of(a) - bits_of(b));
  } else if constexpr (op == Op::Mul) {
    return wrap<T>(bits_of(a) * bits_of(b));
  } else if constexpr (op == Op::FloorDiv) {
    return floor_divide(a, b);
  } else if constexpr (op == Op::Mod) {
    return remainder(a, b);
  } else if constexpr (op == Op::Pow) {
    return power(a, b);
  } else if constexpr (op == Op::Min) {
    return a <= b ? a : b;
  } else if constexpr (op == Op::Max) {
    return a >= b ? a : b;
  } else if constexpr (op == Op::And) {
    return static_cast<T>(a & b);
  } else if constexpr (op == Op::Or) {
    return static_cast<T>(a | b);
  } else if constexpr (op == Op::Xor) {
    return static_cast<T>(a ^ b);
  } else if constexpr (op == Op::Shl) {
    return shift_left(a, b);
  } else {
    return shift_right(a, b);
  }
}

template <class F, Op op>
F float_result(F a, F b) {
  if constexpr (op == Op::Add) {
    return a + b;
  } else if constexpr (op == Op::Sub) {
    return a - b;
  } else if constexpr (op == Op::Mul) {
    return a * b;
  } else if constexpr (op == Op::TrueDiv) {
    return a / b;
  } else if constexpr (op == Op::FloorDiv) {
    return divide_floor(a, b).quotient;
  } else if constexpr (op == Op::Mod) {
    return divide_floor(a, b).rest;
  } else if constexpr (op == Op::Pow) {
    return std::pow(a, b);
  } else if constexpr (op == Op::Min) {
    return a <= b || std::isnan(a) ? a : b;
  } else if constexpr (op == Op::Max) {
    return a >= b || std::isnan(a) ? a : b;
  } else {
    return std::atan2(a, b);
  }
}

template <class C, Op op>
C complex_result(C a, C b) {
  if constexpr (op == Op::Add) {
    return a + b;
  } else if constexpr (op == Op::Sub) {
    return a - b;
  } else if constexpr (op == Op::Mul) {
    return multiply(a, b);
  } else if constexpr (op == Op::TrueDiv) {
    return divide(a, b);
  } else {
    return power(a, b);
  }
}

template <class T, Op op>
void run_binary(const Value &left, const Value &right, Value &out) {
  if constexpr (op >= Op::Lt && op <= Op::Ne) {
    run_comparison<T, op>(left, right, out);
  } else if constexpr (op == Op::MakeComplex) {
    put<std::complex<T>>(out, std::complex<T>(get<T>(left), get<T>(right)));
  } else if constexpr (is_bool<T>) {
    put<T>(out, bool_result<op>(get<T>(left), get<T>(right)));
  } else if constexpr (is_int<T>) {
    put<T>(out, integer_result<T, op>(get<T>(left), get<T>(right)));
  } else if constexpr (is_complex<T>) {
    put<T>(out, complex_result<T, op>(get<T>(left), get<T>(right)));
  } else {
    put<T>(out, float_result<ComputeType<T>, op>(get<T>(left), get<T>(right)));
  }
}

template <class T>
constexpr bool has_unary(Op op) {
  switch (op) {
  case Op::Abs:
  case Op::Isnan:
    return true;
  case Op::Neg:
    return !is_bool<T>;
  case Op::Not:
    return is_bool<T> || is_int<T>;
  case Op::Real:
  case Op::Imag:
  case Op::Conj:
    return is_complex<T>;
  case Op::Floor:
  case Op::Ceil:
  case Op::Trunc:
  case Op::Rint:
  case Op::Erf:
    return is_float<T>;
  case Op::Arctan2:
  case Op::MakeComplex:
    return false;
  default:
    return op >= Op::Sqrt && op <= Op::Tanh && (is_float<T> || is_complex<T>);
  }
}

/// The functions that exist for floats and complex numbers under one name.
template <class X, Op op>
X analytic_result(X x) {
  if constexpr (op == Op::Sqrt) {
    return std::sqrt(x);
  } else if constexpr (op == Op::Exp) {
    return std::exp(x);
  } else if constexpr (op == Op::Log) {
    return std::log(x);
  } else if constexpr (op == Op::Log10) {
    return std::log10(x);
  } else if constexpr (op == Op::Sin) {
    return std::sin(x);
  } else if constexpr (op == Op::Cos) {
    return std::cos(x);
  } else if constexpr (op == Op::Tan) {
    return std::tan(x);
  } else if constexpr (op == Op::Arcsin) {
    return std::asin(x);
  } else if constexpr (op == Op::Arccos) {
    return std::acos(x);
  } else if constexpr (op == Op::Arctan) {
    return std::atan(x);
  } else if constexpr (op == Op::Sinh) {
    return std::sinh(x);
  } else if constexpr (op == Op::Cosh) {
    return std::cosh(x);
  } else {
    return std::tanh(x);
  }
}

template <class F, Op op>
F float_function(F x) {
  if constexpr (op == Op::Neg) {
    return -x;
  } else if constexpr (op == Op::Abs) {
    return std::fabs(x);
  } else if constexpr (op == Op::Exp2) {
    return std::exp2(x);
  } else if constexpr (op == Op::Log2) {
    return std::log2(x);
  } else if constexpr (op == Op::Erf) {
    return std::erf(x);
  } else if constexpr (op == Op::Floor) {
    return std::floor(x);
  } else if constexpr (op == Op::Ceil) {
    return std::ceil(x);
  } else if constexpr (op == Op::Trunc) {
    return std::trunc(x);
  } else if constexpr (op == Op::Rint) {
    return std::nearbyint(x);
  } else {
    return analytic_result<F, op>(x);
  }
}

template <class C, Op op>
C complex_function(C x) {
  using F = typename C::value_type;
  constexpr F ln2 = static_cast<F>(0.693147180559945309417232121458176568L);
  if constexpr (op == Op::Neg) {
    return -x;
  } else if constexpr (op == Op::Conj) {
    return std::conj(x);
  } else if constexpr (op == Op::Exp2) {
    return std::exp(C(x.real() * ln2, x.imag() * ln2));
  } else if constexpr (op == Op::Log2) {
    const C natural = std::log(x);
    return C(natural.real() / ln2, natural.imag() / ln2);
  } else {
    return analytic_result<C, op>(x);
  }
}

template <class T, Op op>
void run_unary(const Value &a, Value &out) {
  const ComputeType<T> x = get<T>(a);
  if constexpr (op == Op::Isnan) {
    if constexpr (is_complex<T>) {
      put<bool>(out, std::isnan(x.real()) || std::isnan(x.imag()));
    } else if constexpr (is_float<T>) {
      put<bool>(out, std::isnan(x));
    } else {
      put<bool>(out, false);
    }
  } else if constexpr (is_bool<T>) {
    put<T>(out, op == Op::Not ? !x : x);
  } else if constexpr (is_int<T>) {
    if constexpr (op == Op::Not) {
      put<T>(out, static_cast<T>(~x));
    } else if constexpr (op == Op::Neg) {
      put<T>(out, wrap<T>(0 - bits_of(x)));
    } else {
      put<T>(out, x < 0 ? wrap<T>(0 - bits_of(x)) : x);
    }
  } else if constexpr (is_complex<T>) {
    using F = typename T::value_type;
    if constexpr (op == Op::Abs) {
      put<F>(out, std::hypot(x.real(), x.imag()));
    } else if constexpr (op == Op::Real) {
      put<F>(out, x.real());
    } else if constexpr (op == Op::Imag) {
      put<F>(out, x.imag());
    } else {
      put<T>(out, complex_function<T, op>(x));
    }
  } else {
    put<T>(out, float_function<ComputeType<T>, op>(x));
  }
}

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

/// From one of the four representations in a Value: int64, uint64 (bool too), double,
/// complex<double>.
template <class From, class To>
void run_cast(const Value &a, Value &out) {
  const auto x = get<From>(a);
  if constexpr (is_bool<To>) {
    put<bool>(out, x != From{});
  } else if constexpr (is_complex<From>) {
    if constexpr (is_complex<To>) {
      using F = typename To::value_type;
      put<To>(out, To(static_cast<F>(x.real()), static_cast<F>(x.imag())));
    } else {
      Value real;
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
    out.d = round_to_brain(x);
  } else {
    put<To>(out, static_cast<ComputeType<To>>(x));
  }
}

// ---- tables ----

constexpr size_t op_count = static_cast<size_t>(Op::ReduceArgMax) + 1;

template <class T, Op op>
constexpr BinaryFunction binary_entry() {
  if constexpr (has_binary<T>(op)) {
    return &run_binary<T, op>;
  } else {
    return nullptr;
  }
}
template <class T, Op op>
constexpr UnaryFunction unary_entry() {
  if constexpr (has_unary<T>(op)) {
    return &run_unary<T, op>;
  } else {
    return nullptr;
  }
}

template <class T, size_t... I>
BinaryFunction binary_of(Op op, std::index_sequence<I...> /*ops*/) {
  static constexpr std::array<BinaryFunction, op_count> table{
      binary_entry<T, static_cast<Op>(I)>()...};
  return table[static_cast<size_t>(op)];
}
template <class T, size_t... I>
UnaryFunction unary_of(Op op, std::index_sequence<I...> /*ops*/) {
  static constexpr std::array<UnaryFunction, op_count> table{
      unary_entry<T, static_cast<Op>(I)>()...};
  return table[static_cast<size_t>(op)];
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

[[noreturn]] void missing(Op op, ScalarType type) {
  throw Error(ErrorKind::Internal, "no scalar '" + op_name(op) + "' on " + type_name(type));
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

UnaryFunction unary_function(Op op, ScalarType type) {
  const UnaryFunction function = with_type(type, [&](auto tag) {
    return unary_of<typename decltype(tag)::type>(op, std::make_index_sequence<op_count>{});
  });
  if (function == nullptr) {
    missing(op, type);
  }
  return function;
}

BinaryFunction binary_function(Op op, ScalarType type) {
  const BinaryFunction function = with_type(type, [&](auto tag) {
    return binary_of<typename decltype(tag)::type>(op, std::make_index_sequence<op_count>{});
  });
  if (function == nullptr) {
    missing(op, type);
  }
  return function;
}

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

Value load_value(ScalarType type, const void *address) {
  return with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Value value;
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

void store_value(ScalarType type, void *address, const Value &value) {
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

Value value_of(const ConstantValue &constant, ScalarType type) {
  Value value;
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
  Value result;
  cast_function(from, type)(value, result);
  return result;
}

Scalar make_scalar(const ConstantValue &constant, ScalarType type) {
  return {type, value_of(constant, type)};
}

Scalar apply(Op op, const Scalar &a) {
  Scalar result{a.type, {}};
  if (op == Op::Isnan) {
    result.type = Bool;
  } else if (op == Op::Abs || op == Op::Real || op == Op::Imag) {
    result.type = component_type(a.type);
  }
  unary_function(op, a.type)(a.value, result.value);
  return result;
}

Scalar apply(Op op, const Scalar &a, const Scalar &b) {
  if (a.type != b.type) {
    throw Error(ErrorKind::Internal, "scalar '" + op_name(op) + "' on " + type_name(a.type) +
                                         " and " + type_name(b.type));
  }
  Scalar result{a.type, {}};
  if (is_comparison(op)) {
    result.type = Bool;
  } else if (op == Op::MakeComplex) {
    result.type = complex_type(a.type);
  }
  binary_function(op, a.type)(a.value, b.value, result.value);
  return result;
}

Scalar cast(const Scalar &a, ScalarType type) {
  Scalar result{type, {}};
  cast_function(a.type, type)(a.value, result.value);
  return result;
}

ConstantValue constant_value(const Scalar &scalar) {
  switch (scalar.type.kind) {
  case TypeKind::Bool:
    return scalar.value.u != 0;
  case TypeKind::Int:
    return scalar.value.i;
  case TypeKind::UInt:
    return scalar.value.u;
  case TypeKind::Complex:
    return std::complex<double>(scalar.value.d, scalar.value.im);
  default:
    return scalar.value.d;
  }
}

} // namespace tilewright
