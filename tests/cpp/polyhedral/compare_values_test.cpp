#include "polyhedral/compare_values.h"

#include <gtest/gtest.h>
#include <isl/aff.h>

#include <string>
#include <vector>

namespace tilewright {
namespace {

/// What isl's own functions give, for points at which both values are defined.
TEST(CompareValuesTest, IsWhatIslSaysOfTheSamePoints) {
  const std::vector<std::string> of_first = {
      "[N] -> { A[i, j] -> [i] }",
      "[M, N] -> { A[i, j] -> [2 i - j + N - 3 M + 1] }",
      "{ A[i, j] -> [floor((i + 2 j)/4)] }",
      "[N] -> { A[i, j] -> [(i)] : 0 <= i < N }",
      "[N] -> { A[i, j] -> [(j)] : i < 3; A[i, j] -> [(N - j)] : i >= 3 }",
      "[K] -> { A[i, j] -> [7] }",
  };
  const std::vector<std::string> of_second = {
      "{ B[k] -> [k] }",
      "[N, M] -> { B[k] -> [k + M - N] }",
      "[N] -> { B[k] -> [floor((N - k)/3)] }",
      "{ B[k] -> [(k)] : k > 0 }",
  };
  const std::vector<std::string> pairs = {
      "[N] -> { A[i, j] -> B[k] : 0 < i < N and k >= 2 and j <= k }",
      "[M, N, K] -> { A[i, j] -> B[k] : 0 < i < N and i < M and 5 > k > j and K > i }",
  };
  for (const std::string &all : pairs) {
    const isl::map given(isl_context(), all);
    for (const std::string &one : of_first) {
      for (const std::string &other : of_second) {
        const isl::pw_aff first(isl_context(), one);
        const isl::pw_aff second(isl_context(), other);
        const isl::map defined =
            given.intersect_domain(first.domain()).intersect_range(second.domain());
        const auto same = [&](const isl::map &ours, isl_map *theirs) {
          return defined.intersect(ours).is_equal(defined.intersect(isl::manage(theirs))).is_true();
        };
        EXPECT_TRUE(same(larger_values(given.space(), first, second),
                         isl_pw_aff_gt_map(first.copy(), second.copy())))
            << one << " > " << other;
        EXPECT_TRUE(same(smaller_values(given.space(), first, second),
                         isl_pw_aff_lt_map(first.copy(), second.copy())))
            << one << " < " << other;
        EXPECT_TRUE(same(equal_values(given.space(), first, second),
                         isl_pw_aff_eq_map(first.copy(), second.copy())))
            << one << " = " << other;
      }
    }
  }
}

/// One constraint where it can be one: the domains of the values are not looked at.
TEST(CompareValuesTest, AsksNoDomainOfOneExpression) {
  const isl::map given(isl_context(), "[N] -> { A[i] -> B[k] : 0 <= i < N }");
  const isl::pw_aff first(isl_context(), "[N] -> { A[i] -> [(i)] : 0 <= i < N }");
  const isl::pw_aff second(isl_context(), "{ B[k] -> [k] }");
  const isl::map found = equal_values(given.space(), first, second);
  EXPECT_TRUE(found.is_equal(isl::map(isl_context(), "{ A[i] -> B[i] }")).is_true());
}

} // namespace
} // namespace tilewright
