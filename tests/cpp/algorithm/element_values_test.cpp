// The values that terms need of the elements of an array, and those that are none.
#include "algorithm/element_values.h"
#include "algorithm/function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

ExprPtr at(const std::string &name) { return iterator(name); }

ComputationPtr matrix(const std::string &name) {
  return declare_input(name, {parameter("N"), parameter("N")}, Float32, {});
}

/// C[i] = sum(value * value for k).
ComputationPtr sum_of_squares(const ExprPtr &value) {
  const ComputationPtr c = declare_computation("[N] -> { C[i] : 0 <= i < N }", Float32, {}, {});
  define_piece(c, nullptr,
               reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), parameter("N")}},
                      binary(Op::Mul, value, value)),
               {});
  return c;
}

TEST(ElementValues, AreWhatIsComputedOfAnElementAlone) {
  const ComputationPtr a = matrix("A");
  const ComputationPtr c = sum_of_squares(access(a, {at("i"), at("k")}));
  const std::vector<ElementValue> found = values_of(*c, "A");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].iterators, ::testing::ElementsAre("i", "k"));
  EXPECT_EQ(element_values(*c).size(), 1u);
}

TEST(ElementValues, EachSubscriptIsAnIteratorAloneAndOnce) {
  const ComputationPtr a = matrix("A");
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  EXPECT_TRUE(values_of(*sum_of_squares(access(a, {at("k"), zero})), "A").empty());
  EXPECT_TRUE(values_of(*sum_of_squares(access(a, {at("k"), at("k")})), "A").empty());
  const ExprPtr one = constant(std::int64_t{1}, Int64);
  const ExprPtr backwards = binary(Op::Sub, binary(Op::Sub, parameter("N"), one), at("k"));
  EXPECT_TRUE(values_of(*sum_of_squares(access(a, {at("i"), backwards})), "A").empty());
}

} // namespace
} // namespace tilewright
