#include "algorithm/evaluator.h"
#include "algorithm/expression_key.h"
#include "algorithm/extern_function.h"
#include "algorithm/function.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

ExternPtr made(const std::string &name, std::vector<ScalarType> types, int *address) {
  auto function = std::make_shared<ExternFunction>();
  function->name = name;
  function->arguments = std::move(types);
  function->result = Float64;
  function->address = address;
  function->call = [](std::span<const ScalarValue> values) {
    ScalarValue result;
    result.d = 10 * values[0].d + (values.size() > 1 ? static_cast<double>(values[1].i) : 0);
    return result;
  };
  return function;
}

int here = 0;
int there = 0;

TEST(ExternFunction, TakesWhatItsTypesTake) {
  const ExternPtr g = made("g", {Float64, Int32}, &here);
  const ExprPtr call =
      call_extern(g, {constant(2.0, Float32), WeakNumber{TypeKind::Int, std::int64_t{7}}});
  EXPECT_EQ(call->type, Float64);
  EXPECT_EQ(call->operands[0]->type, Float64);
  EXPECT_EQ(call->operands[1]->type, Int32);
  EXPECT_EQ(to_string(call), "g(float64(float32(2.0)), 7)");
  EXPECT_EQ(extern_signature(*g), "g(float64, int32) -> float64");
  EXPECT_THROW(call_extern(g, {constant(2.0, Float64)}), Error);
  EXPECT_THROW(call_extern(g, {constant(2.0, Float64), constant(2.0, Float64)}), Error);
  EXPECT_TRUE(is_extern_type(Bool) && is_extern_type(UInt64) && is_extern_type(Float32));
  EXPECT_FALSE(is_extern_type(Float16) || is_extern_type(Complex128));
}

TEST(ExternFunction, IsEvaluated) {
  const ExternPtr g = made("g", {Float64, Int32}, &here);
  const ComputationPtr c = declare_computation("C", {}, nullptr, Float64, {}, {});
  define_piece(c, nullptr,
               call_extern(g, {constant(2.5, Float64), constant(std::int64_t{3}, Int32)}), {});
  const auto function = make_function("f", {c}, {}, {}, {});
  double result = 0;
  evaluate(*function, {}, {}, {{"C", {&result, {}, {}}}});
  EXPECT_EQ(result, 28);
  const auto symbols = extern_symbols(*function);
  ASSERT_EQ(symbols.size(), 1U);
  EXPECT_EQ(symbols[0], (std::pair<std::string, void *>("tilewright_extern_g", &here)));
}

TEST(ExternFunction, TwoOfOneNameDoNotMeetInAFunction) {
  const auto with = [&](const ExternPtr &first, const ExternPtr &second) {
    const ComputationPtr c = declare_computation("C", {}, nullptr, Float64, {}, {});
    const ExprPtr x = constant(1.0, Float64);
    define_piece(c, nullptr, binary(Op::Add, call_extern(first, {x}), call_extern(second, {x})),
                 {});
    return make_function("f", {c}, {}, {}, {});
  };
  const ExternPtr g = made("g", {Float64}, &here);
  EXPECT_THROW(with(g, made("g", {Float64}, &there)), Error);
  EXPECT_THROW(with(g, made("g", {Float32}, &here)), Error);
  EXPECT_EQ(extern_symbols(*with(g, made("g", {Float64}, &here))).size(), 1U);
  EXPECT_EQ(extern_symbols(*with(g, made("h", {Float64}, &here))).size(), 2U);
}

TEST(ExternFunction, KeysHaveNamesAndTypes) {
  const ExprPtr x = constant(1.0, Float64);
  const auto key = [&](const ExternPtr &function) {
    return key_of(call_extern(function, {x})).text;
  };
  EXPECT_EQ(key(made("g", {Float64}, &here)), key(made("g", {Float64}, &there)));
  EXPECT_NE(key(made("g", {Float64}, &here)), key(made("h", {Float64}, &here)));
}

} // namespace
} // namespace tilewright
