// Promotion against NumPy 2's own table (np.promote_types), and the rules for weak numbers and
// functions.
#include "algorithm/type.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright {
namespace {

const std::vector<std::string> names{"bool",    "int8",    "int16",     "int32",     "int64",
                                     "uint8",   "uint16",  "uint32",    "uint64",    "float16",
                                     "float32", "float64", "complex64", "complex128"};

// Row by row what np.promote_types(row, column) gives for the names above, as NumPy's type codes.
const std::string codes = "\?bhilBHILefdFD";
const std::vector<std::string> table{
    "\?bhilBHILefdFD", "bbhilhildefdFD", "hhhilhildffdFD", "iiiiliilddddDD", "llllllllddddDD",
    "BhhilBHILefdFD",  "HiiilHHILffdFD", "IllllIIILdddDD", "LddddLLLLdddDD", "eefddefddefdFD",
    "fffddffddffdFD",  "ddddddddddddDD", "FFFDDFFDDFFDFD", "DDDDDDDDDDDDDD"};

ScalarType named(const std::string &name) { return type_from_name(name).value(); }

TEST(Type, NamesGoBothWays) {
  for (const std::string &name : names) {
    EXPECT_EQ(type_name(named(name)), name);
  }
  EXPECT_EQ(type_name(named("bfloat16")), "bfloat16");
  EXPECT_FALSE(type_from_name("float8").has_value());
  EXPECT_FALSE(type_from_name("").has_value());
  EXPECT_EQ(named("complex64").bytes(), 8);
  EXPECT_EQ(named("bool").bytes(), 1);
}

TEST(Type, PromotionIsNumPys) {
  for (size_t row = 0; row < names.size(); ++row) {
    for (size_t column = 0; column < names.size(); ++column) {
      EXPECT_EQ(type_name(promote(named(names[row]), named(names[column]))),
                names[codes.find(table[row][column])])
          << names[row] << " with " << names[column];
    }
  }
}

TEST(Type, BFloat16) {
  EXPECT_EQ(promote(BFloat16, Bool), BFloat16);
  EXPECT_EQ(promote(Int8, BFloat16), BFloat16);
  EXPECT_EQ(promote(BFloat16, UInt8), BFloat16);
  EXPECT_EQ(promote(BFloat16, Int16), Float32);
  EXPECT_EQ(promote(BFloat16, Int64), Float64);
  EXPECT_EQ(promote(BFloat16, Float16), Float32);
  EXPECT_EQ(promote(Float32, BFloat16), Float32);
  EXPECT_EQ(promote(BFloat16, Complex64), Complex64);
}

TEST(Type, WeakNumbers) {
  EXPECT_EQ(promote_weak(UInt8, TypeKind::Int), UInt8);
  EXPECT_EQ(promote_weak(Float16, TypeKind::Int), Float16);
  EXPECT_EQ(promote_weak(Bool, TypeKind::Int), Int64);
  EXPECT_EQ(promote_weak(Int8, TypeKind::Bool), Int8);
  EXPECT_EQ(promote_weak(Bool, TypeKind::Bool), Bool);
  EXPECT_EQ(promote_weak(Int8, TypeKind::Float), Float64);
  EXPECT_EQ(promote_weak(Bool, TypeKind::Float), Float64);
  EXPECT_EQ(promote_weak(BFloat16, TypeKind::Float), BFloat16);
  EXPECT_EQ(promote_weak(Complex64, TypeKind::Float), Complex64);
  EXPECT_EQ(promote_weak(Float16, TypeKind::Complex), Complex64);
  EXPECT_EQ(promote_weak(Float32, TypeKind::Complex), Complex64);
  EXPECT_EQ(promote_weak(Float64, TypeKind::Complex), Complex128);
  EXPECT_EQ(promote_weak(Int8, TypeKind::Complex), Complex128);
}

TEST(Type, FunctionsOfIntegers) {
  EXPECT_EQ(math_type(Bool), Float16);
  EXPECT_EQ(math_type(UInt8), Float16);
  EXPECT_EQ(math_type(Int16), Float32);
  EXPECT_EQ(math_type(Int32), Float64);
  EXPECT_EQ(math_type(UInt64), Float64);
  EXPECT_EQ(math_type(BFloat16), BFloat16);
  EXPECT_EQ(math_type(Complex64), Complex64);
}

TEST(Type, SameKindCasts) {
  // Rows of np.can_cast(row, column, "same_kind") in the order of `names`.
  const std::vector<std::string> allowed{
      "11111111111111", "01111000011111", "01111000011111", "01111000011111", "01111000011111",
      "01111111111111", "01111111111111", "01111111111111", "01111111111111", "00000000011111",
      "00000000011111", "00000000011111", "00000000000011", "00000000000011"};
  for (size_t row = 0; row < names.size(); ++row) {
    for (size_t column = 0; column < names.size(); ++column) {
      EXPECT_EQ(can_cast_same_kind(named(names[row]), named(names[column])),
                allowed[row][column] == '1')
          << names[row] << " to " << names[column];
    }
  }
  EXPECT_TRUE(can_cast_same_kind(Float64, BFloat16));
  EXPECT_FALSE(can_cast_same_kind(BFloat16, Int64));
}

TEST(Type, IntegerLimits) {
  EXPECT_EQ(integer_min(Int8), -128);
  EXPECT_EQ(integer_max(Int8), 127U);
  EXPECT_EQ(integer_min(Int64), INT64_MIN);
  EXPECT_EQ(integer_max(Int64), static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_EQ(integer_max(UInt64), UINT64_MAX);
  EXPECT_EQ(integer_min(UInt16), 0);
  EXPECT_EQ(integer_max(UInt16), 65535U);
  EXPECT_EQ(integer_max(Bool), 1U);
}

} // namespace
} // namespace tilewright
