#include "polyhedral/cardinality.h"
#include "polyhedral/integer_points.h"
#include "polyhedral/integer_set.h"
#include "polyhedral/integer_value.h"

#include <gtest/gtest.h>

#include <functional>

namespace tilewright {
namespace {

class IntegerSetTest : public testing::Test {
private:
  IslLock lock_;
};

IntegerSet set(const std::string &text) { return IntegerSet::read(text); }
IntegerMap map(const std::string &text) { return IntegerMap::read(text); }

std::string problem_of(const std::function<void()> &work) {
  try {
    work();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Set);
    return error.what();
  }
  return "no error";
}

TEST_F(IntegerSetTest, UnionsKeepTheirSpacesApart) {
  const IntegerSet both = set("{ A[i] : 0 <= i < 3 }").unite(set("{ B[i, j] : i = j = 0 }"));
  EXPECT_EQ(both.text(), "{ B[i = 0, j = 0]; A[i] : 0 <= i <= 2 }");
  ASSERT_EQ(both.tuples().size(), 2U);
  EXPECT_EQ(both.tuples()[0].text(), "A[i]");
  EXPECT_EQ(both.spaces(), "A[*], B[*, *]");
  EXPECT_EQ(count_of(both), "4");
  EXPECT_TRUE(both.intersect(set("{ C[] }")).is_empty());
}

TEST_F(IntegerSetTest, ANameWithOtherDimensionsIsAMistake) {
  EXPECT_NE(problem_of([] {
              set("{ A[i] }").intersect(set("{ A[i, j] }"));
            }).find("A has 1 dimension in the first operand and 2 dimensions in the second"),
            std::string::npos);
  EXPECT_NE(problem_of([] {
              set("{ [A[i] -> B[j]] }").subtract(set("{ [i] }"));
            }).find("the form [A[i] -> B[j]]"),
            std::string::npos);
  // One that is in both is what is meant.
  EXPECT_EQ(count_of(set("{ A[1]; A[1, 2] }").intersect(set("{ A[i, j] }"))), "1");
}

TEST_F(IntegerSetTest, MapsComposeAndTurnAround) {
  const IntegerMap next = map("{ S[i] -> S[i + 1] : 0 <= i < 9 }");
  EXPECT_TRUE(next.power(2).equals(next.apply_range(next)));
  EXPECT_TRUE(next.power(-1).equals(next.reverse()));
  EXPECT_TRUE(next.deltas().equals(set("{ S[1] }")));
  EXPECT_TRUE(next.wrap().unwrap().equals(next));
  const auto [closure, exact] = next.transitive_closure();
  EXPECT_TRUE(exact);
  EXPECT_TRUE(closure.equals(map("{ S[i] -> S[j] : 0 <= i < j <= 9 }")));
}

TEST_F(IntegerSetTest, HullsAreOfOneSpaceEach) {
  const IntegerSet corners = set("{ S[0, 0]; S[4, 0]; S[0, 4]; T[1] }");
  EXPECT_EQ(count_of(corners.hull(Hull::Convex)), "16");
  EXPECT_EQ(count_of(set("{ S[0, 0]; S[2, 2] }")
                         .hull(Hull::Affine)
                         .intersect(set("{ S[i, j] : 0 <= i, j <= 9 }"))),
            "10");
  EXPECT_TRUE(corners.is_subset(corners.hull(Hull::Simple)));
  EXPECT_EQ(count_of(set("{ S[i] : i mod 2 = 0 and 0 <= i < 9 }").hull(Hull::Polyhedral)), "9");
}

TEST_F(IntegerSetTest, PointsAreInOrder) {
  const IntegerPoints all = points_of(set("{ S[i, j] : 0 <= i, j and i + j < 2; R[5] }"), 10);
  ASSERT_EQ(all.points.size(), 4U);
  EXPECT_EQ(all.tuples[0].text(), "R[*]");
  EXPECT_EQ(all.points[3].coordinates, (std::vector<std::int64_t>{1, 0}));
  EXPECT_NE(problem_of([] { points_of(set("{ S[i] : 0 <= i < 9 }"), 8); }).find("more than 8"),
            std::string::npos);
  EXPECT_NE(problem_of([] { points_of(set("{ S[i] : i >= 0 }"), 8); }).find("infinitely many"),
            std::string::npos);
  EXPECT_NE(problem_of([] { count_of(set("{ S[i] : 0 <= i < N }")); }).find("depend on N"),
            std::string::npos);
}

TEST_F(IntegerSetTest, WhetherAPointIsInMayDependOnParameters) {
  const IntegerSet range = set("{ S[i] : 0 <= i < N }");
  EXPECT_FALSE(contains(range, set("{ S[-1] }")));
  EXPECT_TRUE(contains(range.fix({{"N", 4}}), set("{ S[3] }")));
  EXPECT_NE(problem_of([&] { contains(range, set("{ S[3] }")); }).find("N >= 4"),
            std::string::npos);
}

/// Whether the closed form gives what counting gives, for small values of N and M.
void expect_exact(const std::string &text) {
  const IntegerSet all = set(text);
  const std::optional<Cardinality> size = cardinality_of(all);
  ASSERT_TRUE(size) << text;
  for (std::int64_t n = -2; n < 40; n += n < 6 ? 1 : 11) {
    std::map<std::string, std::int64_t> values;
    for (const std::string &name : all.parameters()) {
      values[name] = name == "M" ? n / 2 + 2 : n;
    }
    EXPECT_EQ(size->at(values), count_of(all.fix(values))) << text << " at " << n;
  }
}

TEST_F(IntegerSetTest, ClosedFormsCountWhatThereIs) {
  expect_exact("{ S[i, j] : 0 <= i < N and 0 <= j < M }");
  expect_exact("{ S[i, j, k] : 0 <= i <= j <= k < N }");
  expect_exact("{ S[i, j, k] : 0 <= i < N and i <= j < M and 0 <= k <= i + j }");
  expect_exact("{ S[o, t] : 0 <= t < 8 and 0 <= 8o + t < N }");
  expect_exact("{ S[i] : 0 <= i < N and i mod 5 = 3; T[i, j] : 0 <= 2j <= i < N }");
  expect_exact("{ S[i, j] : 0 <= i < N and 0 <= j < M and (j < i or j > i + 2) }");
  expect_exact("{ S[i, j] : 0 <= i < N and 0 <= j < M and (i + 2j) mod 3 = 1 }");
  expect_exact("{ S[i] : exists e : i = 3e and 0 <= e < N; S[4] }");
}

TEST_F(IntegerSetTest, ClosedFormsHaveNoLargestNumber) {
  const std::optional<Cardinality> size = cardinality_of(set("{ S[i, j] : 0 <= i, j < N }"));
  ASSERT_TRUE(size);
  EXPECT_EQ(size->text(), "[N] -> { N^2 : N > 0 }");
  EXPECT_EQ(size->at({{"N", 10'000'000'000}}), "100000000000000000000");
  EXPECT_EQ(count_of(set("{ S[i, j, k] : 0 <= i <= j <= k < 100000 }")), "166671666700000");
}

TEST_F(IntegerSetTest, NumbersThatDoNotFitAreSeen) {
  const auto value = [](const char *text) { return isl::val(isl_context(), text); };
  EXPECT_EQ(small_integer(value("-9223372036854775807")).value_or(0), -9223372036854775807);
  EXPECT_FALSE(small_integer(value("9223372036854775808")));
  EXPECT_FALSE(small_integer(value("1/2")));
  EXPECT_FALSE(small_integer(value("infty")));
}

} // namespace
} // namespace tilewright
