// The table of operations: names that are one thing's alone, types by NumPy's rules, and what is
// composed of other operations.
#include "algorithm/expression.h"
#include "algorithm/function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace tilewright {
namespace {

using testing::HasSubstr;

ExprPtr scalar_of(ScalarType type) {
  auto computation = std::make_shared<Computation>();
  computation->name = "x";
  computation->type = type;
  computation->is_input = true;
  return access(computation, {});
}
WeakNumber weak(int value) { return {TypeKind::Int, std::int64_t{value}}; }

std::string refusal(Op op, std::vector<Operand> operands) {
  try {
    call(op, std::move(operands));
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Type);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

ScalarType type_of(Op op, ScalarType a) { return call(op, {scalar_of(a)})->type; }
ScalarType type_of(Op op, ScalarType a, ScalarType b) {
  return call(op, {scalar_of(a), scalar_of(b)})->type;
}

TEST(Operations, NamesAreUnique) {
  std::set<std::string> functions;
  std::set<std::string> ufuncs;
  for (size_t k = 1; k < operation_count; ++k) {
    const Operation &row = operation(static_cast<Op>(k));
    EXPECT_EQ(operation_named(row.id), static_cast<Op>(k));
    const std::string function = row.function;
    EXPECT_TRUE(function.empty() || functions.insert(function).second) << function;
    EXPECT_EQ(function.empty(), std::string(row.documentation).empty()) << row.id;
    std::istringstream names(row.ufuncs);
    for (std::string name; names >> name;) {
      EXPECT_TRUE(ufuncs.insert(name).second) << name;
    }
  }
  EXPECT_FALSE(operation_named("Nothing"));
}

TEST(Operations, FunctionsOfTwoFloatsHaveNumPysTypes) {
  for (const Op op : {Op::Hypot, Op::Copysign, Op::Arctan2, Op::Logaddexp}) {
    EXPECT_EQ(type_of(op, Int8, UInt8), Float16);
    EXPECT_EQ(type_of(op, Bool, Bool), Float16);
    EXPECT_EQ(type_of(op, Int16, Float16), Float32);
    EXPECT_EQ(type_of(op, Int64, Int64), Float64);
    EXPECT_EQ(type_of(op, Float32, Int32), Float64);
    EXPECT_EQ(type_of(op, BFloat16, BFloat16), BFloat16);
    EXPECT_EQ(call(op, {scalar_of(Float32), weak(2)})->type, Float32);
    EXPECT_THAT(refusal(op, {scalar_of(Complex64), weak(2)}), HasSubstr("does not take complex64"));
  }
}

TEST(Operations, IntegersKeepTheirTypesWhereNumPyKeepsThem) {
  EXPECT_EQ(type_of(Op::Sign, UInt8), UInt8);
  EXPECT_EQ(type_of(Op::Fmod, Bool, Bool), Int8);
  EXPECT_EQ(type_of(Op::Fmod, Int8, UInt8), Int16);
  EXPECT_EQ(type_of(Op::Fmin, Bool, Bool), Bool);
  EXPECT_EQ(type_of(Op::Square, Bool), Int8);
  EXPECT_EQ(type_of(Op::Reciprocal, UInt16), UInt16);
  EXPECT_EQ(type_of(Op::BitCount, Int64), UInt8);
  EXPECT_EQ(type_of(Op::CountLeadingZeros, Int64), UInt8);
  EXPECT_EQ(type_of(Op::AbsoluteDifference, Int32, Int32), UInt32);
  EXPECT_EQ(type_of(Op::SaturatingAdd, Int8, UInt8), Int16);
  EXPECT_EQ(call(Op::SaturatingAdd, {scalar_of(UInt8), weak(3)})->type, UInt8);
}

TEST(Operations, WhatIsNotDefinedIsRefusedByName) {
  EXPECT_EQ(refusal(Op::Sign, {scalar_of(Bool)}),
            "'sign' does not take bool; cast to an integer first");
  EXPECT_EQ(refusal(Op::Cbrt, {scalar_of(Complex64)}), "'cbrt' does not take complex64");
  EXPECT_EQ(refusal(Op::BitCount, {scalar_of(Float32)}),
            "'bit_count' does not take float32; it is defined for bool and integers only");
  EXPECT_EQ(refusal(Op::SaturatingAdd, {scalar_of(Float32), scalar_of(Float32)}),
            "'saturating_add' does not take float32 and float32; it is defined for integers only");
  EXPECT_EQ(refusal(Op::Hypot, {scalar_of(Float32)}),
            "'hypot' takes 2 arguments, but 1 were given");
  EXPECT_THAT(refusal(Op::ReduceSum, {scalar_of(Float32)}), HasSubstr("'sum' is not a function"));
}

TEST(Operations, CompositionsAreWrittenInTermsOfOthers) {
  const auto text = [](Op op, ScalarType type) { return to_string(call(op, {scalar_of(type)})); };
  EXPECT_EQ(text(Op::Square, Float32), "x[] * x[]");
  EXPECT_EQ(text(Op::Rsqrt, Float64), "1.0 / sqrt(x[])");
  EXPECT_EQ(text(Op::Rsqrt, Float16), "float16(1.0 / sqrt(float32(x[])))");
  EXPECT_EQ(text(Op::Isinf, Float32), "abs(x[]) == inf");
  EXPECT_EQ(text(Op::Isfinite, Int32), "x[] == x[]");
  EXPECT_EQ(text(Op::Reciprocal, UInt8), "uint8(x[] == 1)");
  EXPECT_EQ(to_string(call(Op::AbsoluteDifference, {scalar_of(Int8), weak(3)})),
            "uint8(maximum(x[], 3) - minimum(x[], 3))");
  EXPECT_EQ(to_string(call(Op::Round, {scalar_of(Float32), weak(2)})), "rint(x[] * 100.0) / 100.0");
  EXPECT_EQ(to_string(call(Op::Clamp, {scalar_of(Float32), weak(0), weak(1)})),
            "minimum(maximum(x[], 0.0), 1.0)");
  EXPECT_EQ(text(Op::LogicalNot, Int32), "~bool(x[])");
}

} // namespace
} // namespace tilewright
