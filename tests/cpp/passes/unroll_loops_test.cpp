#include "loops/line.h"
#include "passes/unroll_loops.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

TEST(Unroll, ReplicatesAndRenames) {
  Line line;
  const auto v = variable(2, "v");
  const auto t = local(3, "t", {Float64, 1});
  line.kernel.body =
      for_loop(2, "v", line.n, add(line.n, integer(2)), LoopKind::Unrolled, 2,
               block({declare_local(3, "t", Line::x(v)), Line::y(v, binary_value(Op::Add, t, t))}));
  line.kernel.body = unroll_loops(line.kernel.body);
  EXPECT_EQ(line.printed(), "t = X[N]\nY[N] = t + t\nt_2 = X[N + 1]\nY[N + 1] = t_2 + t_2\n");
}

/// for k: for r in range(0, min(rows, N)), unrolled: Y[r + shift * k] = Y[read] + X[k]
std::string sums_of_rows(std::int64_t rows, std::int64_t shift, const ValuePtr &read_shift) {
  Line line;
  const auto k = variable(1, "k");
  const auto r = variable(2, "r");
  const auto at = add(r, mul(integer(shift), k));
  const auto sum =
      binary_value(Op::Add, load(1, "Y", {Float64, 1}, {add(at, read_shift)}), Line::x(k));
  line.kernel.body = for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0,
                              for_loop(2, "r", integer(0), minimum(integer(rows), line.n),
                                       LoopKind::Unrolled, rows, Line::y(at, sum)));
  line.kernel.body = unroll_loops(line.kernel.body);
  return line.printed();
}

TEST(Unroll, RowsThatAreNotUnrolledSumUpInHalfTiles) {
  EXPECT_EQ(sums_of_rows(2, 0, integer(0)), "for r in range(0, min(2, N)):\n"
                                            "  for k in range(0, N):\n"
                                            "    Y[r] = Y[r] + X[k]\n");
  EXPECT_EQ(sums_of_rows(4, 0, integer(0)), "tiles = max(min(4, N), 0) // 2\n"
                                            "for tile in range(0, tiles):\n"
                                            "  r = tile * 2\n"
                                            "  for k in range(0, N):\n"
                                            "    Y[r] = Y[r] + X[k]\n"
                                            "    Y[r + 1] = Y[r + 1] + X[k]\n"
                                            "for r in range(tiles * 2, min(4, N)):\n"
                                            "  for k in range(0, N):\n"
                                            "    Y[r] = Y[r] + X[k]\n");
  // Rows that read others, and rows that move, keep their order.
  EXPECT_EQ(sums_of_rows(4, 0, integer(1)).find("for k"), 0U);
  EXPECT_EQ(sums_of_rows(4, 1, integer(0)).find("for k"), 0U);
}

TEST(Unroll, UnknownExtentsStayLoops) {
  Line line;
  const auto v = variable(2, "v");
  line.kernel.body =
      for_loop(2, "v", integer(0), line.n, LoopKind::Unrolled, 4, Line::y(v, Line::x(v)));
  line.kernel.body = unroll_loops(line.kernel.body);
  EXPECT_EQ(line.printed(), "for v in range(0, N):\n  Y[v] = X[v]\n");
}

} // namespace
} // namespace tilewright::test
