// Which tests lanes choose by, and what vector loops make of them.
#include "loops/line.h"
#include "passes/choose_by_lanes.h"
#include "passes/simplify_indices.h"
#include "passes/vectorize_loops.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

/// for s: for v (8 lanes): chosen = X[read] if v + s >= 1 else 0; Y[v] = Y[v] + chosen
StmtPtr padded_sum(const ValuePtr &s, const ValuePtr &v, const ValuePtr &read, bool sums) {
  const ValuePtr chosen = local(3, "chosen", {Float64, 1});
  const ValuePtr zero = zero_of(Float64);
  const StmtPtr choose =
      if_then(binary_value(Op::Ge, add(v, s), integer(1)), assign_local(3, "chosen", Line::x(read)),
              assign_local(3, "chosen", zero));
  const ValuePtr at = sums ? v : add(v, mul(integer(8), s));
  const ValuePtr before = load(1, "Y", {Float64, 1}, {at});
  const StmtPtr body = block({declare_local(3, "chosen", zero), choose,
                              Line::y(at, binary_value(Op::Add, before, chosen))});
  return for_loop(1, "s", integer(0), integer(3), LoopKind::Serial, 0,
                  for_loop(2, "v", integer(0), integer(8), LoopKind::Vector, 8, body));
}

std::string chosen(int masked_bytes, bool shared, bool sums, bool vectorised = false) {
  Line line;
  const ValuePtr s = variable(1, "s");
  const ValuePtr v = variable(2, "v");
  const ValuePtr read = shared ? s : add(add(v, s), integer(-1));
  line.kernel.body = choose_by_lanes(padded_sum(s, v, read, sums), masked_bytes);
  if (vectorised) {
    VectorOptions options;
    options.masked_bytes = masked_bytes;
    line.kernel.body = simplify_indices(vectorize_loops(line.kernel.body, options), {});
  }
  return line.printed();
}

constexpr const char *local_test = "holds = v + s >= 1";

TEST(ChooseByLanes, OfASumOverTheLoopThatDecides) {
  EXPECT_NE(chosen(1, false, true).find(local_test), std::string::npos);
  EXPECT_NE(chosen(8, false, true).find(local_test), std::string::npos);
}

TEST(ChooseByLanes, NotWithoutMasksOfItsElements) {
  EXPECT_EQ(chosen(0, false, true).find("holds"), std::string::npos);
  EXPECT_EQ(chosen(16, false, true).find("holds"), std::string::npos);
}

TEST(ChooseByLanes, NotOfWhatAllLanesShare) {
  EXPECT_EQ(chosen(1, true, true).find("holds"), std::string::npos);
}

TEST(ChooseByLanes, NotWithoutASum) {
  EXPECT_EQ(chosen(1, false, false).find("holds"), std::string::npos);
}

TEST(ChooseByLanes, BecomesALoadUnderAMask) {
  const std::string text = chosen(1, false, true, true);
  EXPECT_EQ(text.find("reduce("), std::string::npos) << text; // nobody asks for a lane that reads
  EXPECT_NE(text.find("chosen = masked(X[s - 1 : s + 7], holds"), std::string::npos) << text;
}

} // namespace
} // namespace tilewright::test
