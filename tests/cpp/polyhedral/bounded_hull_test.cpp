#include "polyhedral/bounded_hull.h"

#include <gtest/gtest.h>
#include <isl/set.h>

namespace tilewright {
namespace {

isl::set set(const char *text) { return isl::set(isl_context(), text); }

TEST(BoundedHullTest, FillsGaps) {
  EXPECT_TRUE(bounded_hull(set("{ [i] : i = 1 or i = 4 }")).is_equal(set("{ [i] : 1 <= i <= 4 }")));
  const isl::set rows = set("[N] -> { [i, j] : 0 <= i < N and (j = i or j = i + 2) }");
  EXPECT_TRUE(
      bounded_hull(rows).is_equal(set("[N] -> { [i, j] : 0 <= i < N and i <= j <= i + 2 }")));
}

TEST(BoundedHullTest, EndsWhereTheLastRangeDoes) {
  EXPECT_TRUE(bounded_hull(set("[N, M] -> { [i] : 0 <= i < N or 0 <= i < M }"))
                  .is_equal(set("[N, M] -> { [i] : 0 <= i < N or 0 <= i < M }")));
  const isl::set apart = set("[N, M] -> { [i, j] : (0 <= i < N and j = 0) or (M <= i <= 5 and "
                             "j = M) }");
  const isl::set hull = bounded_hull(apart);
  EXPECT_TRUE(apart.is_subset(hull));
  EXPECT_EQ(isl_set_is_bounded(hull.get()), isl_bool_true);
}

TEST(BoundedHullTest, OfPointsWithoutAnEnd) {
  const isl::set rest = set("[N] -> { [i] : i >= N }");
  EXPECT_TRUE(bounded_hull(rest).is_equal(rest));
}

} // namespace
} // namespace tilewright
