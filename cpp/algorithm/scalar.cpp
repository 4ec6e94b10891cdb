#include "algorithm/scalar.h"

#include "algorithm/scalar_arithmetic.h"
#include "algorithm/scalar_representation.h"

#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace tilewright {

namespace {

using namespace scalars;

// ---- one function for each operation and type ----

/// Whether an operation of so many operands of this type is computed here.
template <class T>
constexpr bool has(Op op, int operands) {
  const Operation &row = operation(op);
  const bool is_node = row.form == OperationForm::Unary || row.form == OperationForm::Binary ||
                       row.form == OperationForm::Call;
  if (op == Op::MakeComplex && !std::is_same_v<T, float> && !std::is_same_v<T, double>) {
    return false;
  }
  if (op == Op::Sign && is_complex<T>) {
    return false; // composed
  }
  constexpr unsigned kind = is_bool<T>    ? operation_table::B
                            : is_int<T>   ? operation_table::I
                            : is_float<T> ? operation_table::F
                                          : operation_table::C;
  return op != Op::None && is_node && row.arguments() == operands && (row.kinds & kind) != 0;
}

template <class T, Op op>
void run_comparison(const ScalarValue &left, const ScalarValue &right, ScalarValue &out) {
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
  if constexpr (op == Op::Add || op == Op::Or || op == Op::Max || op == Op::Fmax) {
    return a || b;
  } else if constexpr (op == Op::Xor) {
    return a != b;
  } else {
    return a && b; // Mul, And, Min, Fmin
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
  } else if constexpr (op == Op::Fmod) {
    return remainder_towards_zero(a, b);
  } else if constexpr (op == Op::TruncatedDivide) {
    return divide_towards_zero(a, b);
  } else if constexpr (op == Op::SaturatingAdd) {
    return saturating_add(a, b);
  } else if constexpr (op == Op::SaturatingSubtract) {
    return saturating_subtract(a, b);
  } else if constexpr (op == Op::Min || op == Op::Fmin) {
    return a <= b ? a : b;
  } else if constexpr (op == Op::Max || op == Op::Fmax) {
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
  } else if constexpr (op == Op::Fmin) {
    return a <= b || std::isnan(b) ? a : b;
  } else if constexpr (op == Op::Fmax) {
    return a >= b || std::isnan(b) ? a : b;
  } else if constexpr (op == Op::Fmod) {
    return std::fmod(a, b);
  } else if constexpr (op == Op::Hypot) {
    return std::hypot(a, b);
  } else if constexpr (op == Op::Copysign) {
    return std::copysign(a, b);
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
void run_binary(const ScalarValue &left, const ScalarValue &right, ScalarValue &out) {
  if constexpr (is_comparison(op)) {
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
  } else if constexpr (op == Op::Arcsinh) {
    return std::asinh(x);
  } else if constexpr (op == Op::Arccosh) {
    return std::acosh(x);
  } else if constexpr (op == Op::Arctanh) {
    return std::atanh(x);
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
  } else if constexpr (op == Op::Cbrt) {
    return std::cbrt(x);
  } else if constexpr (op == Op::Expm1) {
    return std::expm1(x);
  } else if constexpr (op == Op::Log1p) {
    return std::log1p(x);
  } else if constexpr (op == Op::Sign) {
    return std::isnan(x) ? x : static_cast<F>((x > 0) - (x < 0));
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
T integer_function(T x) {
  if constexpr (op == Op::Not) {
    return static_cast<T>(~x);
  } else if constexpr (op == Op::Neg) {
    return wrap<T>(0 - bits_of(x));
  } else if constexpr (op == Op::Sign) {
    return static_cast<T>((x > 0) - (x < 0));
  } else {
    return x < 0 ? wrap<T>(0 - bits_of(x)) : x;
  }
}

/// Of the pattern of the type's own bits.
template <class T, Op op>
std::uint8_t bit_function(T x) {
  const auto pattern = static_cast<std::make_unsigned_t<T>>(
      op == Op::BitCount && x < 0 ? wrap<T>(0 - bits_of(x)) : x);
  if constexpr (op == Op::BitCount) {
    return static_cast<std::uint8_t>(std::popcount(pattern));
  } else if constexpr (op == Op::CountLeadingZeros) {
    return static_cast<std::uint8_t>(std::countl_zero(pattern));
  } else {
    return static_cast<std::uint8_t>(std::countr_zero(pattern));
  }
}

template <class T, Op op>
void run_unary(const ScalarValue &a, ScalarValue &out) {
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
    if constexpr (operation(op).result == ResultRule::Count) {
      put<std::uint8_t>(out, bit_function<T, op>(x));
    } else {
      put<T>(out, integer_function<T, op>(x));
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

// ---- tables ----

template <class T, Op op>
constexpr BinaryFunction binary_entry() {
  if constexpr (has<T>(op, 2)) {
    return &run_binary<T, op>;
  } else {
    return nullptr;
  }
}
template <class T, Op op>
constexpr UnaryFunction unary_entry() {
  if constexpr (has<T>(op, 1)) {
    return &run_unary<T, op>;
  } else {
    return nullptr;
  }
}

template <class T, size_t... I>
BinaryFunction binary_of(Op op, std::index_sequence<I...> /*ops*/) {
  static constexpr std::array<BinaryFunction, operation_count> table{
      binary_entry<T, static_cast<Op>(I)>()...};
  return table[static_cast<size_t>(op)];
}
template <class T, size_t... I>
UnaryFunction unary_of(Op op, std::index_sequence<I...> /*ops*/) {
  static constexpr std::array<UnaryFunction, operation_count> table{
      unary_entry<T, static_cast<Op>(I)>()...};
  return table[static_cast<size_t>(op)];
}

[[noreturn]] void missing(Op op, ScalarType type) {
  throw Error(ErrorKind::Internal, "no scalar '" + op_name(op) + "' on " + type_name(type));
}

} // namespace

UnaryFunction unary_function(Op op, ScalarType type) {
  const UnaryFunction function = with_type(type, [&](auto tag) {
    return unary_of<typename decltype(tag)::type>(op, std::make_index_sequence<operation_count>{});
  });
  if (function == nullptr) {
    missing(op, type);
  }
  return function;
}

BinaryFunction binary_function(Op op, ScalarType type) {
  const BinaryFunction function = with_type(type, [&](auto tag) {
    return binary_of<typename decltype(tag)::type>(op, std::make_index_sequence<operation_count>{});
  });
  if (function == nullptr) {
    missing(op, type);
  }
  return function;
}

Scalar make_scalar(const ConstantValue &constant, ScalarType type) {
  return {type, value_of(constant, type)};
}

Scalar apply(Op op, const Scalar &a) {
  Scalar result{result_type(op, a.type), {}};
  unary_function(op, a.type)(a.value, result.value);
  return result;
}

Scalar apply(Op op, const Scalar &a, const Scalar &b) {
  if (a.type != b.type) {
    throw Error(ErrorKind::Internal, "scalar '" + op_name(op) + "' on " + type_name(a.type) +
                                         " and " + type_name(b.type));
  }
  Scalar result{result_type(op, a.type), {}};
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
