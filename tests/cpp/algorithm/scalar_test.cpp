// The numbers below are what NumPy 2 (and ml_dtypes for bfloat16) prints for the same operation.
#include "algorithm/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace tilewright {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::int64_t integer(const Scalar &scalar) {
  return scalar.type.is_signed_integer() ? scalar.value.i
                                         : static_cast<std::int64_t>(scalar.value.u);
}
std::int64_t ints(Op op, ScalarType type, std::int64_t a, std::int64_t b) {
  return integer(apply(op, make_scalar(a, type), make_scalar(b, type)));
}
double floats(Op op, ScalarType type, double a, double b) {
  return apply(op, make_scalar(a, type), make_scalar(b, type)).value.d;
}
double rounded(double x, ScalarType type) { return make_scalar(x, type).value.d; }

TEST(Scalar, IntegersWrap) {
  EXPECT_EQ(ints(Op::Add, Int8, 100, 100), -56);
  EXPECT_EQ(ints(Op::Mul, UInt8, 16, 17), 16);
  EXPECT_EQ(ints(Op::Sub, UInt16, 0, 1), 65535);
  EXPECT_EQ(ints(Op::Mul, Int64, INT64_MAX, 2), -2);
  EXPECT_EQ(ints(Op::Pow, Int8, -7, 3), -87);
  EXPECT_EQ(ints(Op::Pow, Int32, 2, 40), 0);
  EXPECT_EQ(ints(Op::Pow, Int32, 2, -1), 0);
  EXPECT_EQ(ints(Op::Pow, Int32, -1, -3), -1);
  EXPECT_EQ(apply(Op::Neg, make_scalar(std::int64_t{1}, UInt8)).value.u, 255U);
  EXPECT_EQ(apply(Op::Abs, make_scalar(INT64_MIN, Int64)).value.i, INT64_MIN);
  EXPECT_EQ(apply(Op::Not, make_scalar(std::int64_t{5}, UInt8)).value.u, 250U);
}

TEST(Scalar, IntegerDivision) {
  EXPECT_EQ(ints(Op::FloorDiv, Int32, -7, 2), -4);
  EXPECT_EQ(ints(Op::Mod, Int32, -7, 2), 1);
  EXPECT_EQ(ints(Op::FloorDiv, Int32, 7, -2), -4);
  EXPECT_EQ(ints(Op::Mod, Int32, 7, -2), -1);
  EXPECT_EQ(ints(Op::Mod, Int8, -6, 3), 0);
  EXPECT_EQ(ints(Op::FloorDiv, Int32, 7, 0), 0);
  EXPECT_EQ(ints(Op::Mod, UInt8, 7, 0), 0);
  EXPECT_EQ(ints(Op::FloorDiv, Int32, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(ints(Op::Mod, Int64, INT64_MIN, -1), 0);
}

TEST(Scalar, Shifts) {
  EXPECT_EQ(ints(Op::Shl, Int8, 1, 7), -128);
  EXPECT_EQ(ints(Op::Shl, Int8, 1, 8), 0);
  EXPECT_EQ(ints(Op::Shr, Int32, -7, 40), -1);
  EXPECT_EQ(ints(Op::Shr, Int32, 7, 40), 0);
  EXPECT_EQ(ints(Op::Shl, Int32, 1, -1), 0);
  EXPECT_EQ(ints(Op::Shr, Int32, -7, -1), -1);
  EXPECT_EQ(ints(Op::Shr, Int32, -7, 1), -4);
}

TEST(Scalar, BoolArithmetic) {
  EXPECT_EQ(ints(Op::Add, Bool, 1, 1), 1);
  EXPECT_EQ(ints(Op::Mul, Bool, 1, 0), 0);
  EXPECT_EQ(ints(Op::Xor, Bool, 1, 1), 0);
  EXPECT_EQ(ints(Op::Max, Bool, 0, 1), 1);
  EXPECT_EQ(ints(Op::Lt, Bool, 0, 1), 1);
  EXPECT_EQ(apply(Op::Not, make_scalar(true, Bool)).value.u, 0U);
}

TEST(Scalar, FloatDivisionIsPythons) {
  struct Case {
    double a, b, quotient, rest;
  };
  const Case cases[] = {{inf, 3, nan, nan},    {-5, inf, -1, inf},   {-5, 3, -2, 1},
                        {-5, -3, 1, -2},       {-5, 0, -inf, nan},   {-5, -inf, 0, -5},
                        {5, inf, 0, 5},        {5, -3, -2, -1},      {5, 0, inf, nan},
                        {5, -inf, -1, -inf},   {nan, 3, nan, nan},   {-0.0, 3, -0.0, 0.0},
                        {-0.0, -3, 0.0, -0.0}, {0.0, 0.0, nan, nan}, {0.0, -3, -0.0, -0.0}};
  for (const ScalarType type : {Float64, Float32, Float16, BFloat16}) {
    for (const Case &c : cases) {
      for (const auto &[op, expected] :
           {std::pair(Op::FloorDiv, c.quotient), std::pair(Op::Mod, c.rest)}) {
        const double got = floats(op, type, c.a, c.b);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(got)) << c.a << op_name(op) << c.b << " in " << type_name(type);
        } else {
          EXPECT_EQ(got, expected) << c.a << op_name(op) << c.b << " in " << type_name(type);
          EXPECT_EQ(std::signbit(got), std::signbit(expected)) << c.a << op_name(op) << c.b;
        }
      }
    }
  }
}

TEST(Scalar, ExtremaPropagateNaN) {
  EXPECT_TRUE(std::isnan(floats(Op::Min, Float32, nan, 1)));
  EXPECT_TRUE(std::isnan(floats(Op::Max, Float32, 1, nan)));
  EXPECT_EQ(floats(Op::Min, Float64, 2, 1), 1);
  EXPECT_EQ(floats(Op::Max, Float16, 2, 1), 2);
  EXPECT_EQ(ints(Op::Min, UInt64, -1 & INT64_MAX, 3), 3);
}

TEST(Scalar, NarrowFloatsRoundToNearestEven) {
  EXPECT_EQ(rounded(65504, Float16), 65504);
  EXPECT_EQ(rounded(65519.9, Float16), 65504);
  EXPECT_EQ(rounded(65520, Float16), inf);
  EXPECT_EQ(rounded(2049, Float16), 2048);
  EXPECT_EQ(rounded(2051, Float16), 2052);
  EXPECT_EQ(rounded(0x1p-24, Float16), 0x1p-24);
  EXPECT_EQ(rounded(0x1p-25, Float16), 0);
  EXPECT_EQ(rounded(0x1.8p-24, Float16), 0x1p-23);
  // A value that two roundings, through float32, would get wrong.
  EXPECT_EQ(rounded(1.0 + 0x1p-11 + 0x1p-40, Float16), 1.0 + 0x1p-10);
  EXPECT_EQ(rounded(257, BFloat16), 256);
  EXPECT_EQ(rounded(259, BFloat16), 260);
  EXPECT_EQ(rounded(3.4e38, BFloat16), inf);
  EXPECT_EQ(floats(Op::TrueDiv, BFloat16, 1, 3), 0.333984375);
  EXPECT_EQ(floats(Op::Mul, BFloat16, 1e38, 10), inf);
  EXPECT_EQ(floats(Op::TrueDiv, Float16, 1, 3), 0.333251953125);
  EXPECT_EQ(floats(Op::Add, Float32, 16777216, 1), 16777216);
}

TEST(Scalar, EveryHalfAndBrainSurvivesMemory) {
  for (const ScalarType type : {Float16, BFloat16}) {
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const auto given = static_cast<std::uint16_t>(bits);
      const ScalarValue value = load_value(type, &given);
      std::uint16_t stored = 0;
      store_value(type, &stored, value);
      if (std::isnan(value.d)) {
        EXPECT_TRUE(std::isnan(load_value(type, &stored).d));
      } else {
        ASSERT_EQ(stored, given) << type_name(type);
        ASSERT_EQ(rounded(value.d, type), value.d);
      }
    }
  }
}

TEST(Scalar, MemoryOfTheOtherTypes) {
  const std::int16_t negative = -2;
  EXPECT_EQ(load_value(Int16, &negative).i, -2);
  const std::complex<float> z(1.5F, -2.5F);
  const ScalarValue value = load_value(Complex64, &z);
  EXPECT_EQ(value.d, 1.5);
  EXPECT_EQ(value.im, -2.5);
  std::complex<float> back;
  store_value(Complex64, &back, value);
  EXPECT_EQ(back, z);
  unsigned char bytes[9] = {}; // unaligned
  store_value(UInt64, bytes + 1, make_scalar(std::uint64_t{0x0102030405060708}, UInt64).value);
  EXPECT_EQ(bytes[1], 8);
  EXPECT_EQ(load_value(UInt64, bytes + 1).u, 0x0102030405060708U);
}

TEST(Scalar, Casts) {
  const auto to_int = [](double x, ScalarType type) {
    return integer(cast(make_scalar(x, Float64), type));
  };
  EXPECT_EQ(to_int(-2.9, Int32), -2);
  EXPECT_EQ(to_int(nan, Int32), 0);
  EXPECT_EQ(to_int(1e20, Int64), INT64_MAX);
  EXPECT_EQ(to_int(-1e20, Int64), INT64_MIN);
  EXPECT_EQ(to_int(300.7, UInt8), 255);
  EXPECT_EQ(to_int(-5, UInt8), 0);
  EXPECT_EQ(to_int(inf, Int8), 127);
  EXPECT_EQ(to_int(-inf, Int8), -128);
  EXPECT_EQ(to_int(nan, Bool), 1);
  EXPECT_EQ(to_int(0.0, Bool), 0);
  EXPECT_EQ(integer(cast(make_scalar(std::int64_t{300}, Int64), UInt8)), 44);
  EXPECT_EQ(integer(cast(make_scalar(std::int64_t{200}, Int64), Int8)), -56);
  EXPECT_EQ(cast(make_scalar(UINT64_MAX, UInt64), Float64).value.d, 0x1p64);
  // One rounding only: through float64 this would come out one float32 lower.
  EXPECT_EQ(cast(make_scalar((std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1, Int64), Float32)
                .value.d,
            0x1p60 + 0x1p37);
  EXPECT_EQ(cast(make_scalar(std::complex<double>(2.5, 1), Complex128), Int32).value.i, 2);
  EXPECT_EQ(cast(make_scalar(std::complex<double>(0, 1), Complex128), Bool).value.u, 1U);
  EXPECT_EQ(cast(make_scalar(true, Bool), Complex64).value.d, 1.0);
  // To float16 with one rounding, to bfloat16 by way of float32, as compiled code has it.
  EXPECT_EQ(cast(make_scalar(1.0 + 0x1p-11 + 0x1p-30, Float64), Float16).value.d, 1.0 + 0x1p-10);
  EXPECT_EQ(cast(make_scalar(1.0 + 0x1p-8 + 0x1p-30, Float64), BFloat16).value.d, 1.0);
  const Scalar narrow =
      cast(make_scalar(std::complex<double>(1.0 / 3, 2.0 / 3), Complex128), Complex64);
  EXPECT_EQ(narrow.value.d, static_cast<double>(static_cast<float>(1.0 / 3)));
  EXPECT_EQ(narrow.value.im, static_cast<double>(static_cast<float>(2.0 / 3)));
}

TEST(Scalar, Complex) {
  const auto z = [](double re, double im) {
    return make_scalar(std::complex<double>(re, im), Complex128);
  };
  const auto number = [](const Scalar &s) {
    return std::get<std::complex<double>>(constant_value(s));
  };
  EXPECT_EQ(number(apply(Op::Mul, z(1, 2), z(3, 4))), std::complex<double>(-5, 10));
  EXPECT_EQ(number(apply(Op::TrueDiv, z(-5, 10), z(3, 4))), std::complex<double>(1, 2));
  EXPECT_EQ(number(apply(Op::Pow, z(1, 2), z(3, 0))), std::complex<double>(-11, -2));
  EXPECT_TRUE(std::isinf(number(apply(Op::TrueDiv, z(1, 2), z(0, 0))).real()));
  EXPECT_EQ(apply(Op::Abs, z(3, 4)).value.d, 5.0);
  EXPECT_EQ(apply(Op::Abs, z(3, 4)).type, Float64);
  EXPECT_EQ(number(apply(Op::Conj, z(3, 4))), std::complex<double>(3, -4));
  EXPECT_EQ(apply(Op::Imag, z(3, 4)).value.d, 4.0);
  EXPECT_EQ(apply(Op::Isnan, z(3, nan)).value.u, 1U);
  EXPECT_EQ(apply(Op::MakeComplex, make_scalar(1.0, Float32), make_scalar(2.0, Float32)).type,
            Complex64);
  EXPECT_EQ(apply(Op::Ne, z(1, 2), z(1, 3)).value.u, 1U);
}

TEST(Scalar, Functions) {
  const auto f = [](Op op, double x, ScalarType type = Float64) {
    return apply(op, make_scalar(x, type)).value.d;
  };
  EXPECT_EQ(f(Op::Rint, 2.5), 2);
  EXPECT_EQ(f(Op::Rint, -1.5), -2);
  EXPECT_EQ(f(Op::Floor, -0.5), -1);
  EXPECT_EQ(f(Op::Trunc, -1.5), -1);
  EXPECT_EQ(f(Op::Ceil, 1.25, Float16), 2);
  EXPECT_EQ(f(Op::Exp2, 10, Float32), 1024);
  EXPECT_EQ(f(Op::Sqrt, 2, Float32), static_cast<double>(std::sqrt(2.0F)));
  EXPECT_EQ(f(Op::Sqrt, 2, Float16), 1.4140625);
  EXPECT_NEAR(f(Op::Erf, 0.5), 0.5204998778130465, 1e-15);
  EXPECT_NEAR(floats(Op::Arctan2, Float64, 1, -1), 2.356194490192345, 1e-15);
  EXPECT_TRUE(std::isnan(f(Op::Sqrt, -1)));
  EXPECT_EQ(apply(Op::Isnan, make_scalar(std::int64_t{1}, Int8)).value.u, 0U);
}

TEST(Scalar, CombinationsNoBuilderMakesAreRefused) {
  EXPECT_THROW(binary_function(Op::Sub, Bool), Error);
  EXPECT_THROW(binary_function(Op::Shl, Float32), Error);
  EXPECT_THROW(binary_function(Op::Sqrt, Float32), Error);
  EXPECT_THROW(unary_function(Op::Sqrt, Int32), Error);
  EXPECT_THROW(unary_function(Op::Neg, Bool), Error);
  EXPECT_THROW(apply(Op::Add, make_scalar(1.0, Float32), make_scalar(1.0, Float64)), Error);
}

TEST(Scalar, FloatsThatAreNoNumbers) {
  EXPECT_EQ(floats(Op::Fmin, Float64, nan, 1), 1);
  EXPECT_EQ(floats(Op::Fmin, Float64, 1, nan), 1);
  EXPECT_EQ(floats(Op::Fmax, Float16, nan, -inf), -inf);
  EXPECT_TRUE(std::isnan(floats(Op::Fmax, Float32, nan, nan)));
  EXPECT_EQ(floats(Op::Hypot, Float64, inf, nan), inf);
  EXPECT_EQ(floats(Op::Copysign, Float32, 3, -0.0), -3);
  EXPECT_EQ(floats(Op::Fmod, Float64, -7.5, 2), -1.5);
  const auto sign = [](double x) { return apply(Op::Sign, make_scalar(x, Float32)).value.d; };
  EXPECT_EQ(sign(-inf), -1);
  EXPECT_EQ(sign(3), 1);
  EXPECT_FALSE(std::signbit(sign(-0.0)));
  EXPECT_TRUE(std::isnan(sign(nan)));
}

TEST(Scalar, BitsAndSaturation) {
  const auto count = [](Op op, std::int64_t x, ScalarType type) {
    const Scalar result = apply(op, make_scalar(x, type));
    EXPECT_EQ(result.type, UInt8);
    return result.value.u;
  };
  EXPECT_EQ(count(Op::BitCount, -1, Int16), 1U); // NumPy counts those of the absolute value
  EXPECT_EQ(count(Op::BitCount, -128, Int8), 1U);
  EXPECT_EQ(count(Op::BitCount, 255, UInt8), 8U);
  EXPECT_EQ(count(Op::CountLeadingZeros, 1, Int16), 15U);
  EXPECT_EQ(count(Op::CountLeadingZeros, -1, Int32), 0U);
  EXPECT_EQ(count(Op::CountLeadingZeros, 0, UInt64), 64U);
  EXPECT_EQ(count(Op::CountTrailingZeros, 40, UInt8), 3U);
  EXPECT_EQ(count(Op::CountTrailingZeros, 0, Int32), 32U);
  EXPECT_EQ(ints(Op::SaturatingAdd, Int8, 100, 100), 127);
  EXPECT_EQ(ints(Op::SaturatingAdd, Int8, -100, -100), -128);
  EXPECT_EQ(ints(Op::SaturatingSubtract, UInt8, 3, 5), 0);
  EXPECT_EQ(ints(Op::SaturatingAdd, UInt8, 250, 5), 255);
  EXPECT_EQ(ints(Op::SaturatingAdd, UInt8, 250, 6), 255);
  EXPECT_EQ(ints(Op::SaturatingSubtract, Int64, INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(ints(Op::SaturatingSubtract, Int64, 0, INT64_MIN), INT64_MAX);
  EXPECT_EQ(ints(Op::Fmod, Int32, -7, 3), -1);
  EXPECT_EQ(ints(Op::Fmod, Int32, 7, 0), 0);
  EXPECT_EQ(ints(Op::Fmod, Int32, INT32_MIN, -1), 0);
  EXPECT_EQ(ints(Op::TruncatedDivide, Int32, -7, 2), -3);
  EXPECT_EQ(ints(Op::TruncatedDivide, Int32, 7, -2), -3);
  EXPECT_EQ(ints(Op::TruncatedDivide, Int32, 7, 0), 0);
  EXPECT_EQ(ints(Op::TruncatedDivide, Int8, -128, -1), -128);
  EXPECT_EQ(ints(Op::TruncatedDivide, Int64, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(ints(Op::TruncatedDivide, UInt8, 255, 2), 127);
}

/// The operations of so many operands that nodes can have.
std::vector<Op> node_operations(int operands) {
  std::vector<Op> found;
  for (size_t k = 1; k < operation_count; ++k) {
    const Operation &row = operation(static_cast<Op>(k));
    if (row.form != OperationForm::Composed && row.form != OperationForm::Reduce &&
        row.arguments() == operands) {
      found.push_back(static_cast<Op>(k));
    }
  }
  return found;
}

TEST(Scalar, EveryOperationThatABuilderAcceptsExists) {
  const ScalarType types[] = {Bool,     Int8,    Int16,   Int32,     Int64,
                              UInt8,    UInt16,  UInt32,  UInt64,    Float16,
                              BFloat16, Float32, Float64, Complex64, Complex128};
  for (const ScalarType a : types) {
    for (const ScalarType b : types) {
      EXPECT_NE(cast_function(a, b), nullptr);
      for (const Op op : node_operations(2)) {
        if (const auto type = operand_type(op, a, b)) {
          EXPECT_NO_THROW(binary_function(op, *type)) << op_name(op) << type_name(*type);
        }
      }
    }
    for (const Op op : node_operations(1)) {
      const ScalarType type = operand_type(op, a);
      if (operation(op).takes(type) && !(op == Op::Sign && type.is_complex())) {
        EXPECT_NO_THROW(unary_function(op, type)) << op_name(op) << type_name(type);
      }
    }
  }
}

} // namespace
} // namespace tilewright
