#include "polyhedral/relevant_context.h"

#include <gtest/gtest.h>
#include <isl/set.h>

#include <string>

namespace tilewright {
namespace {

/// P0 >= 0 and ... and P19 >= 0 and P3 <= P4, the parameters in order.
isl::set context_of_twenty() {
  std::string names;
  std::string constraints = "P3 <= P4";
  for (int p = 0; p < 20; ++p) {
    names += (p == 0 ? "P" : ", P") + std::to_string(p);
    constraints += " and P" + std::to_string(p) + " >= 0";
  }
  return isl::set(isl_context(), "[" + names + "] -> { : " + constraints + " }");
}

isl_size parameters_of(const isl::set &set) { return isl_set_dim(set.get(), isl_dim_param); }

TEST(RelevantContextTest, LeavesOutWhatNothingTiesToTheSets) {
  const RelevantContext relevant(context_of_twenty());
  ASSERT_TRUE(relevant.leaves_out());
  const isl::set one(isl_context(), "[P7] -> { A[i] : 0 <= i < P7 }");
  EXPECT_TRUE(relevant.of({one}).is_equal(isl::set(isl_context(), "[P7] -> { : P7 >= 0 }")));
  EXPECT_EQ(parameters_of(relevant.of({one})), 1);
}

TEST(RelevantContextTest, KeepsWhatIsTied) {
  const RelevantContext relevant(context_of_twenty());
  const isl::set one(isl_context(), "[P4] -> { A[i] : 0 <= i < P4 }");
  const isl::set expected(isl_context(), "[P3, P4] -> { : 0 <= P3 <= P4 }");
  EXPECT_TRUE(relevant.of({one}).is_equal(expected));
  EXPECT_EQ(parameters_of(relevant.of({one})), 2);
}

TEST(RelevantContextTest, TakesWhatTheContextSaysOutOfPoints) {
  const RelevantContext relevant(context_of_twenty());
  const isl::map points(isl_context(),
                        "[P7, P8, P9] -> { A[i] -> [i] : 0 <= i < P7 and P8 >= 0 and P9 >= 1 }");
  const isl::map expected(isl_context(), "[P7, P9] -> { A[i] -> [i] : 0 <= i < P7 and P9 >= 1 }");
  const isl::map left = relevant.without_known(points);
  EXPECT_TRUE(left.is_equal(expected));
  EXPECT_EQ(isl_map_dim(left.get(), isl_dim_param), 2);
}

TEST(RelevantContextTest, FewParametersStayAsTheyAre) {
  const isl::set few(isl_context(), "[N, M] -> { : N >= 0 and M >= 0 }");
  const RelevantContext relevant(few);
  EXPECT_FALSE(relevant.leaves_out());
  const isl::set one(isl_context(), "[N] -> { A[i] : 0 <= i < N }");
  EXPECT_EQ(parameters_of(relevant.of({one})), 2);
}

} // namespace
} // namespace tilewright
