#include "polyhedral/count_points.h"

#include <gtest/gtest.h>
#include <isl/set.h>
#include <isl/val.h>

#include <cstdlib>
#include <random>
#include <string>

namespace tilewright {
namespace {

isl::set parsed(const std::string &text) {
  return checked(isl::set(isl_context(), text), "parsing");
}

std::int64_t by_isl(const isl::set &set) {
  const isl::val count = isl::manage(isl_set_count_val(set.get()));
  return isl_val_get_num_si(count.get());
}

TEST(CountPoints, CountsProductsAtOnce) {
  EXPECT_EQ(count_points(
                parsed("{ C[i, j, k] : 0 <= i < 4000 and 3 <= j <= 5000 and -7 <= k < 2000 }"), 10),
            std::int64_t{4000} * 4998 * 2007);
  EXPECT_EQ(count_points(parsed("{ C[] }")), 1);
  EXPECT_EQ(count_points(parsed("{ C[i] : 1 = 0 }")), 0);
  EXPECT_EQ(count_points(parsed("{ C[i, j] : i = 3 and j = 2i }")), 1);
}

TEST(CountPoints, CountsTrianglesByRows) {
  const std::int64_t n = 2000;
  EXPECT_EQ(count_points(parsed("{ C[i, j] : 0 <= j <= i < 2000 }"), 2100), n * (n + 1) / 2);
  // k is between the others: for each of its values they are a product.
  EXPECT_EQ(count_points(parsed("{ C[i, j, k] : 0 <= j <= k <= i < 2000 }"), 2100),
            n * (n + 1) * (n + 2) / 6);
}

TEST(CountPoints, CountsPiecesOnceAndDivisions) {
  EXPECT_EQ(count_points(parsed("{ C[i] : 0 <= i < 10; C[i] : 5 <= i < 12 }")), 12);
  EXPECT_EQ(count_points(parsed("{ C[i] : 0 <= i < 100 and i mod 3 = 1 }")), 33);
  EXPECT_EQ(count_points(parsed("{ C[i, t] : 0 <= i < 100 and t = floor(i / 8) }")), 100);
  EXPECT_EQ(count_points(parsed("{ C[t] : exists i : 0 <= i < 100 and t = floor(i / 8) }")), 13);
  EXPECT_EQ(count_points(parsed("{ C[i, j] : 0 <= i, j < 30 and (i + 2j) mod 5 = 0 }")), 180);
}

TEST(CountPoints, SaysWhereItCannotTell) {
  EXPECT_FALSE(count_points(parsed("{ C[i] : i >= 0 }")));
  EXPECT_FALSE(count_points(parsed("[N] -> { C[i] : 0 <= i < N }")));
  EXPECT_FALSE(count_points(parsed("{ C[i, j] : 0 <= j <= i < 2000 }"), 100)); // steps
  EXPECT_FALSE(
      count_points(parsed("{ C[i, j] : 0 <= i < 8000000000 and 0 <= j < 8000000000 }"))); // 64 bits
}

TEST(CountPoints, FixesParameters) {
  const isl::set set = parsed("[N, M] -> { C[i, j] : 0 <= i < N and i <= j < M }");
  EXPECT_EQ(count_points(at_parameters(set, {{"N", 3}, {"M", 5}, {"K", 7}})), 5 + 4 + 3);
  EXPECT_EQ(count_points(at_parameters(set, {{"N", 0}, {"M", 5}})), 0);
  EXPECT_EQ(count_points(at_parameters(set, {{"N", -4}, {"M", 5}})), 0);
}

TEST(CountPoints, AgreesWithEnumeration) {
  std::mt19937 random(7);
  const auto number = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  int told = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::string text = "{ ";
    const int pieces = number(1, 2);
    for (int piece = 0; piece < pieces; ++piece) {
      text += piece > 0 ? "; " : "";
      text += "S[a, b, c] : 0 <= a <= 6 and -3 <= b <= 4 and 0 <= c <= 7";
      for (int row = number(0, 4); row > 0; --row) {
        std::string sum = "0";
        for (const char *name : {"a", "b", "c", ""}) {
          const int factor = number(-3, 4);
          sum += (factor < 0 ? " - " : " + ") + std::to_string(std::abs(factor)) + name;
        }
        const int kind = number(0, 4);
        text += kind == 0 ? " and (" + sum + ") mod " + std::to_string(number(2, 5)) + " = 1"
                : kind == 1
                    ? " and floor((" + sum + ") / " + std::to_string(number(2, 4)) + ") >= a"
                : kind == 2 ? " and (exists e : 2e <= " + sum + " and 3e >= b + c)"
                            : " and " + sum + " >= 0";
      }
    }
    SCOPED_TRACE(text);
    const isl::set set = parsed(text + " }");
    const auto count = count_points(set);
    if (count) { // quantified variables that are no divisions are not told
      EXPECT_EQ(*count, by_isl(set));
      ++told;
    }
  }
  EXPECT_GT(told, 280);
}

} // namespace
} // namespace tilewright
