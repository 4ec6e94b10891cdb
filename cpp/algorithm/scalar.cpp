#include "algorithm/scalar.h"

#include "algorithm/scalar_arithmetic.h"
#include "algorithm/scalar_representation.h"

#include <array>
#include <cmath>
#include <utility>

namespace tilewright {

namespace {

using namespace scalars;

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
void run_binary(const ScalarValue &left, const ScalarValue &right, ScalarValue &out) {
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

[[noreturn]] void missing(Op op, ScalarType type) {
  throw Error(ErrorKind::Internal, "no scalar '" + op_name(op) + "' on " + type_name(type));
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
