#include "algorithm/affine.h"
#include "algorithm/function.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

const IterationSpace space{"C", {"i", "j"}};

ExprPtr i() { return iterator("i"); }
ExprPtr j() { return iterator("j"); }
ExprPtr n() { return parameter("N", "[N] -> { : N >= 0 }"); }
ExprPtr number(std::int64_t value) { return constant(value, Int64); }

/// Whether `expr` is the function that isl reads from `text`.
testing::AssertionResult is_function(const ExprPtr &expr, const char *text) {
  const auto affine = to_affine(expr, space);
  if (!affine) {
    return testing::AssertionFailure() << to_string(expr) << " is not affine";
  }
  if (checked(affine->is_equal(isl::pw_aff(isl_context(), text)), "comparing")) {
    return testing::AssertionSuccess();
  }
  char *shown = isl_pw_aff_to_str(affine->get());
  const std::string got = shown;
  free(shown);
  return testing::AssertionFailure() << to_string(expr) << " became " << got;
}

testing::AssertionResult is_set(const ExprPtr &condition, const char *text) {
  const auto set = to_set(condition, space);
  if (!set) {
    return testing::AssertionFailure() << to_string(condition) << " is not affine";
  }
  if (checked(set->is_equal(isl::set(isl_context(), text)), "comparing")) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << to_string(condition) << " became " << to_text(*set);
}

TEST(ToAffine, LinearForms) {
  EXPECT_TRUE(is_function(binary(Op::Sub, binary(Op::Add, i(), n()), number(1)),
                          "[N] -> { C[i,j] -> [i + N - 1] }"));
  EXPECT_TRUE(is_function(binary(Op::Mul, number(3), binary(Op::Sub, i(), j())),
                          "{ C[i,j] -> [3i - 3j] }"));
  EXPECT_TRUE(is_function(unary(Op::Neg, j()), "{ C[i,j] -> [-j] }"));
  EXPECT_TRUE(
      is_function(constant(std::int64_t{1} << 50, Int64), "{ C[i,j] -> [1125899906842624] }"));
}

TEST(ToAffine, DivisionsMinMaxAbsAndSelect) {
  EXPECT_TRUE(is_function(binary(Op::FloorDiv, i(), number(4)), "{ C[i,j] -> [floor(i/4)] }"));
  EXPECT_TRUE(is_function(binary(Op::FloorDiv, i(), number(-4)), "{ C[i,j] -> [floor(-i/4)] }"));
  EXPECT_TRUE(is_function(binary(Op::Mod, i(), number(4)), "{ C[i,j] -> [i mod 4] }"));
  EXPECT_TRUE(is_function(binary(Op::Mod, i(), number(-4)), "{ C[i,j] -> [i + 4*floor(-i/4)] }"));
  const ExprPtr from = binary(Op::Sub, i(), n());
  EXPECT_TRUE(is_function(call(Op::TruncatedDivide, {from, number(4)}),
                          "[N] -> { C[i,j] -> [floor((i - N)/4)] : i >= N; "
                          "C[i,j] -> [-floor((N - i)/4)] : i < N }"));
  EXPECT_TRUE(is_function(call(Op::TruncatedDivide, {from, number(-4)}),
                          "[N] -> { C[i,j] -> [-floor((i - N)/4)] : i >= N; "
                          "C[i,j] -> [floor((N - i)/4)] : i < N }"));
  EXPECT_TRUE(is_function(call(Op::Fmod, {from, number(4)}),
                          "[N] -> { C[i,j] -> [(i - N) mod 4] : i >= N; "
                          "C[i,j] -> [-((N - i) mod 4)] : i < N }"));
  EXPECT_TRUE(
      is_function(binary(Op::Max, binary(Op::Min, i(), binary(Op::Sub, n(), number(1))), number(0)),
                  "[N] -> { C[i,j] -> [max(0, min(i, N - 1))] }"));
  EXPECT_TRUE(
      is_function(unary(Op::Abs, binary(Op::Sub, i(), j())), "{ C[i,j] -> [max(i - j, j - i)] }"));
  EXPECT_TRUE(is_function(select(binary(Op::Lt, i(), j()), i(), n()),
                          "[N] -> { C[i,j] -> [i] : i < j; C[i,j] -> [N] : i >= j }"));
  EXPECT_TRUE(is_function(cast(binary(Op::Gt, i(), number(2)), Int64),
                          "{ C[i,j] -> [1] : i > 2; C[i,j] -> [0] : i <= 2 }"));
}

TEST(ToAffine, RefusesWhatIsNotAffine) {
  const ComputationPtr a = declare_input("A", {n()}, Int64, {});
  EXPECT_FALSE(to_affine(binary(Op::Mul, i(), j()), space));
  EXPECT_FALSE(to_affine(binary(Op::Mul, i(), n()), space));
  EXPECT_FALSE(to_affine(binary(Op::FloorDiv, i(), n()), space));
  EXPECT_FALSE(to_affine(binary(Op::FloorDiv, i(), number(0)), space));
  EXPECT_FALSE(to_affine(call(Op::TruncatedDivide, {i(), n()}), space));
  EXPECT_FALSE(to_affine(call(Op::Fmod, {i(), number(0)}), space));
  EXPECT_FALSE(to_affine(access(a, {i()}), space));
  EXPECT_FALSE(to_affine(iterator("k"), space));
  EXPECT_FALSE(to_affine(cast(i(), ScalarType{TypeKind::Int, 8}), space));
  EXPECT_FALSE(to_affine(cast(i(), Float64), space));
}

TEST(ToAffine, WrappingArithmeticIsNotAffine) {
  const ScalarType int8{TypeKind::Int, 8};
  const ExprPtr narrow =
      binary(Op::Add, constant(std::int64_t{100}, int8), constant(std::int64_t{100}, int8));
  EXPECT_FALSE(to_affine(narrow, space));
  EXPECT_TRUE(is_function(cast(constant(std::int64_t{100}, int8), Int64), "{ C[i,j] -> [100] }"));
}

TEST(ToSet, Conditions) {
  const ExprPtr below = binary(Op::Lt, i(), j());
  const ExprPtr even = binary(Op::Eq, binary(Op::Mod, i(), number(2)), number(0));
  EXPECT_TRUE(is_set(below, "{ C[i,j] : i < j }"));
  EXPECT_TRUE(is_set(even, "{ C[i,j] : i mod 2 = 0 }"));
  EXPECT_TRUE(is_set(binary(Op::And, below, even), "{ C[i,j] : i < j and i mod 2 = 0 }"));
  EXPECT_TRUE(is_set(binary(Op::Or, below, even), "{ C[i,j] : i < j or i mod 2 = 0 }"));
  EXPECT_TRUE(is_set(binary(Op::Xor, below, even),
                     "{ C[i,j] : (i < j and i mod 2 = 1) or (i >= j and i mod 2 = 0) }"));
  EXPECT_TRUE(is_set(unary(Op::Not, below), "{ C[i,j] : i >= j }"));
  EXPECT_TRUE(is_set(binary(Op::Ne, i(), j()), "{ C[i,j] : i != j }"));
  EXPECT_TRUE(is_set(binary(Op::Eq, below, even),
                     "{ C[i,j] : (i < j and i mod 2 = 0) or (i >= j and i mod 2 = 1) }"));
  EXPECT_TRUE(is_set(binary(Op::Ge, i(), n()), "[N] -> { C[i,j] : i >= N }"));
  EXPECT_TRUE(is_set(constant(false, Bool), "{ C[i,j] : false }"));
  const ComputationPtr a = declare_input("A", {n()}, Int64, {});
  EXPECT_FALSE(to_set(binary(Op::Lt, access(a, {i()}), j()), space));
  EXPECT_FALSE(to_set(binary(Op::Lt, cast(i(), Float64), cast(j(), Float64)), space));
}

TEST(ParameterContext, GathersConstraintsOnce) {
  const isl::set context = parameter_context({binary(Op::Add, n(), parameter("M")), nullptr, n()});
  EXPECT_TRUE(
      checked(context.is_equal(isl::set(isl_context(), "[N, M] -> { : N >= 0 }")), "comparing"));
  EXPECT_EQ(isl_set_dim(context.get(), isl_dim_param), 2);
}

TEST(ReductionDomain, BoundsMayDependOnOuterAndEarlierIterators) {
  const ExprPtr k = iterator("k");
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", number(0), i()}, {"l", k, n()}}, k,
                             binary(Op::Ne, iterator("l"), j()));
  const isl::set outer(isl_context(), "[N] -> { C[i,j] : 0 <= i < N and 0 <= j < N }");
  const isl::set domain = reduction_domain(*sum, outer, space.iterators, {});
  EXPECT_TRUE(checked(
      domain.is_equal(isl::set(isl_context(), "[N] -> { C[i,j,k,l] : 0 <= i < N and 0 <= j < N and "
                                              "0 <= k < i and k <= l < N and l != j }")),
      "comparing"))
      << to_text(domain);
}

TEST(ReductionDomain, RefusesBoundsThatAreNotAffine) {
  const ComputationPtr a = declare_input("A", {n()}, Int64, {});
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", number(0), access(a, {i()})}}, iterator("k"));
  const isl::set outer(isl_context(), "[N] -> { C[i,j] : 0 <= i < N and 0 <= j < N }");
  try {
    reduction_domain(*sum, outer, space.iterators, {"demo.py", 3, ""});
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Declaration);
    EXPECT_EQ(error.where.line, 3);
    EXPECT_NE(std::string(error.what()).find("upper bound of k"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("A[i]"), std::string::npos) << error.what();
  }
}

std::string back(const char *text) {
  return to_string(from_affine(isl::pw_aff(isl_context(), text), {"i", "j"}));
}

TEST(FromAffine, KeepsSimpleThingsSimple) {
  EXPECT_EQ(back("[N] -> { [N - 1] }"), "N - 1");
  EXPECT_EQ(back("[N] -> { C[i,j] -> [i + 2j] }"), "i + 2 * j");
  EXPECT_EQ(back("[N] -> { C[i,j] -> [N - i - 1] }"), "N - i - 1");
  EXPECT_EQ(back("{ C[i,j] -> [-i] }"), "-i");
  EXPECT_EQ(back("{ C[i,j] -> [7] }"), "7");
  EXPECT_EQ(back("{ C[i,j] -> [floor((i + 3)/4)] }"), "(i + 3) // 4");
  EXPECT_EQ(back("{ C[i,j] -> [floor((i - 9)/4)] }"), "(i - 9) // 4");
  EXPECT_EQ(back("[N,M] -> { [N] : N <= M; [M] : M < N }"), "minimum(N, M)");
  EXPECT_EQ(back("[N] -> { [N] : N >= 0; [0] : N < 0 }"), "maximum(0, N)");
}

TEST(FromAffine, IsTheInverseOfToAffine) {
  for (const char *text :
       {"[N] -> { C[i,j] -> [i] : i < j; C[i,j] -> [N - 3] : i > j; C[i,j] -> [2i + 1] : i = j }",
        "[N] -> { C[i,j] -> [floor(i/3) - 2*floor((j + N)/5)] }",
        "{ C[i,j] -> [i] : i mod 2 = 0; C[i,j] -> [j] : i mod 2 = 1 }",
        "{ C[i,j] -> [j] : 0 <= i < 3 or 5 < i < 9; C[i,j] -> [-j + 4] : i < 0 or 3 <= i <= 5 or i "
        ">= 9 }"}) {
    EXPECT_TRUE(is_function(from_affine(isl::pw_aff(isl_context(), text), {"i", "j"}), text))
        << text;
  }
}

} // namespace
} // namespace tilewright
