// How the values of loops with many cases compare: one case after the other, and what isl says of
// them as a whole.
#include "mapping/compare_loops.h"

#include <gtest/gtest.h>
#include <isl/aff.h>

namespace tilewright {
namespace {

/// floor(i / 8) of C[i] in four cases, as the block of a part of a size has one each.
isl::pw_aff block() {
  return isl::pw_aff(isl_context(), "{ C[i] -> [(0)] : 0 <= i < 8; C[i] -> [(1)] : 8 <= i < 16; "
                                    "C[i] -> [(2)] : 16 <= i < 24; C[i] -> [(3)] : 24 <= i < 32 }");
}

isl::map pairs_where(const std::string &condition) {
  return isl::map(isl_context(), "{ C[i] -> C[a] : 0 <= i, a < 32 and " + condition + " }");
}

TEST(CompareLoops, CaseByCaseIsAsAWhole) {
  for (const char *condition : {"a = i + 1", "a = i - 5", "a = 31 - i", "i + a <= 40", "a = i"}) {
    const isl::map pairs = pairs_where(condition);
    const ComparedLoops found = compare_loops(pairs, block(), block());
    const isl::map larger = isl::manage(isl_pw_aff_gt_map(block().release(), block().release()));
    const isl::map smaller = isl::manage(isl_pw_aff_lt_map(block().release(), block().release()));
    const isl::map equal = isl::manage(isl_pw_aff_eq_map(block().release(), block().release()));
    EXPECT_TRUE(found.larger.is_equal(pairs.intersect(larger)).is_true()) << condition;
    EXPECT_TRUE(found.smaller.is_equal(pairs.intersect(smaller)).is_true()) << condition;
    EXPECT_TRUE(found.equal.is_equal(pairs.intersect(equal)).is_true()) << condition;
    EXPECT_TRUE(with_equal_loops(pairs, block(), block()).is_equal(found.equal).is_true());
    EXPECT_EQ(have_equal_loops(pairs, block(), block()), pairs.is_subset(equal).is_true());
  }
}

TEST(CompareLoops, PairsWithinBlocksAreEqual) {
  EXPECT_TRUE(have_equal_loops(pairs_where("a = i"), block(), block()));
  EXPECT_FALSE(have_equal_loops(pairs_where("a = i + 1"), block(), block()));
  EXPECT_TRUE(
      compare_loops(pairs_where("a = i + 8"), block(), block()).larger.is_empty().is_true());
  EXPECT_FALSE(
      compare_loops(pairs_where("a = i - 8"), block(), block()).larger.is_empty().is_true());
}

} // namespace
} // namespace tilewright
