// Periodic subscripts become choices between affine ones, if the quotient has few values.
#include "algorithm/function.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

ExprPtr number(std::int64_t value) { return constant(value, Int64); }

/// What is declared for C[i] = A[subscript] with 0 <= i < N and `context`.
std::string declared(const ExprPtr &subscript, ScalarType type = Int64) {
  const ExprPtr n = parameter("N", "[N] -> { : N >= 0 }");
  const ComputationPtr a = declare_input("A", {n}, type, {});
  const ComputationPtr c = declare_computation("[N] -> { C[i] : 0 <= i < N }", type, {}, {});
  define_piece(c, nullptr, access(a, {subscript}), {});
  return to_string(c->pieces.front().value);
}

ExprPtr i_plus(std::int64_t offset) { return binary(Op::Add, iterator("i"), number(offset)); }

ExprPtr remainder(const ExprPtr &value, Op op = Op::Mod) {
  const ExprPtr n = parameter("N", "[N] -> { : N >= 0 }");
  return op == Op::Fmod ? call(op, {value, n}) : binary(op, value, n);
}

TEST(SmallQuotients, OfANeighbourAreChoices) {
  EXPECT_EQ(declared(remainder(i_plus(1))), "A[select(i + 1 >= N, i + 1 - N, i + 1)]");
  EXPECT_EQ(declared(remainder(i_plus(-1))), "A[select(i + -1 < 0, i + -1 + N, i + -1)]");
  EXPECT_EQ(declared(remainder(iterator("i"))), "A[i]");
}

TEST(SmallQuotients, OfFartherOnesCountTheSmallestSizes) {
  // Where N is 1, (0 + 2) % N is two periods away.
  EXPECT_EQ(declared(remainder(i_plus(2))),
            "A[select(i + 2 >= N * 2, i + 2 - N * 2, select(i + 2 >= N, i + 2 - N, i + 2))]");
  EXPECT_EQ(declared(remainder(i_plus(20))), "A[(i + 20) % N]"); // too many
}

TEST(SmallQuotients, TowardsZeroAreOfNonNegativeNumbers) {
  EXPECT_EQ(declared(remainder(i_plus(1), Op::Fmod)), "A[select(i + 1 >= N, i + 1 - N, i + 1)]");
}

TEST(SmallQuotients, OfRemaindersOfThemToo) {
  const ExprPtr inner = remainder(i_plus(1));
  const std::string text = declared(remainder(binary(Op::Add, inner, number(1))));
  EXPECT_EQ(text.find('%'), std::string::npos) << text;
}

TEST(SmallQuotients, AreNotThoseByNumbersOrOfData) {
  const ComputationPtr p = declare_input("p", {parameter("N", "[N] -> { : N >= 0 }")}, Int64, {});
  const ExprPtr of_data = access(p, {iterator("i")});
  EXPECT_EQ(declared(remainder(of_data)), "A[p[i] % N]");
}

} // namespace
} // namespace tilewright
