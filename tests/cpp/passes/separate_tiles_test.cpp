#include "loops/line.h"
#include "passes/separate_tiles.h"
#include "passes/simplify_indices.h"
#include "passes/unroll_loops.h"
#include "passes/vectorize_loops.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

TEST(SeparateTiles, SplitsTheLoopAround) {
  Line line;
  const auto i = variable(1, "i");
  const auto v = variable(2, "v");
  const auto at = add(mul(integer(8), i), v);
  line.kernel.body = for_loop(
      1, "i", integer(0), floor_div(add(line.n, integer(7)), integer(8)), LoopKind::Serial, 0,
      for_loop(2, "v", integer(0), minimum(integer(8), sub(line.n, mul(integer(8), i))),
               LoopKind::Vector, 8, Line::y(at, Line::x(at))));
  line.kernel.body = simplify_indices(separate_tiles(line.kernel.body, 0), {});
  EXPECT_EQ(line.printed(), "for i in range(0, N // 8):\n"
                            "  for v in range(0, 8):  # vector(8)\n"
                            "    Y[8 * i + v] = X[8 * i + v]\n"
                            "for i in range(max(0, N // 8), (N + 7) // 8):\n"
                            "  for v in range(0, min(8, N - 8 * i)):\n"
                            "    Y[8 * i + v] = X[8 * i + v]\n");
  line.kernel.body = simplify_indices(vectorize_loops(line.kernel.body, {}), {});
  EXPECT_EQ(line.printed(), "for i in range(0, N // 8):\n"
                            "  Y[8 * i : 8 * i + 8] = X[8 * i : 8 * i + 8]\n"
                            "for i in range(max(0, N // 8), (N + 7) // 8):\n"
                            "  for v in range(0, min(8, N - 8 * i)):\n"
                            "    Y[8 * i + v] = X[8 * i + v]\n");
}

TEST(SeparateTiles, SplitsALoopWhoseVariableIsInAQuotient) {
  Line line;
  const auto i = variable(1, "i");
  const auto c = variable(2, "c");
  const auto at = add(i, mul(integer(100), c));
  const auto chains = floor_div(add(sub(line.n, i), integer(99)), integer(100));
  line.kernel.body =
      for_loop(1, "i", integer(0), minimum(integer(100), line.n), LoopKind::Serial, 0,
               for_loop(2, "c", integer(0), minimum(integer(4), chains), LoopKind::Unrolled, 4,
                        Line::y(at, Line::x(at))));
  line.kernel.body = simplify_indices(separate_tiles(line.kernel.body, 0), {});
  EXPECT_EQ(line.printed(), "for i in range(0, min(100, N - 300)):\n"
                            "  for c in range(0, 4):  # unroll\n"
                            "    Y[i + 100 * c] = X[i + 100 * c]\n"
                            "for i in range(max(0, N - 300), min(100, N)):\n"
                            "  for c in range(0, min(4, (N - i + 99) // 100)):\n"
                            "    Y[i + 100 * c] = X[i + 100 * c]\n");
}

TEST(SeparateTiles, AsksOutsideOfAParallelLoopsBody) {
  Line line;
  const auto i = variable(1, "i");
  const auto k = variable(3, "k");
  const auto v = variable(2, "v");
  const auto at = add(mul(integer(8), i), v);
  const auto inner =
      for_loop(2, "v", integer(0), minimum(integer(8), sub(line.n, mul(integer(8), i))),
               LoopKind::Vector, 8, Line::y(at, Line::x(at)));
  line.kernel.body = for_loop(1, "i", integer(0), floor_div(add(line.n, integer(7)), integer(8)),
                              LoopKind::Parallel, 0,
                              for_loop(3, "k", integer(0), line.n, LoopKind::Serial, 0, inner));
  line.kernel.body = simplify_indices(separate_tiles(line.kernel.body, 0), {});
  const std::string text = line.printed();
  EXPECT_NE(text.find("# parallel\n  if N >= 8 * i + 8:\n    for k in range(0, N):"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  else:\n    for k in range(0, N):"), std::string::npos) << text;
}

TEST(SeparateTiles, AsksBehindALoopThatWouldBeTheSameTwice) {
  Line line;
  const auto i = variable(1, "i");
  const auto k = variable(3, "k");
  const auto v = variable(2, "v");
  const auto at = add(mul(integer(8), i), v);
  const auto tile =
      for_loop(2, "v", integer(0), minimum(integer(8), sub(line.n, mul(integer(8), i))),
               LoopKind::Vector, 8, Line::y(at, Line::x(at)));
  const auto beside = [&](const ValuePtr &count) {
    const auto other =
        for_loop(3, "k", integer(0), count, LoopKind::Serial, 0, Line::y(i, Line::x(k)));
    line.kernel.body = for_loop(1, "i", integer(0), floor_div(add(line.n, integer(7)), integer(8)),
                                LoopKind::Serial, 0, block({other, tile}));
    line.kernel.body = simplify_indices(separate_tiles(line.kernel.body, 0), {});
    return line.printed();
  };
  EXPECT_EQ(beside(line.n), "for i in range(0, (N + 7) // 8):\n"
                            "  for k in range(0, N):\n"
                            "    Y[i] = X[k]\n"
                            "  if N >= 8 * i + 8:\n"
                            "    for v in range(0, 8):  # vector(8)\n"
                            "      Y[8 * i + v] = X[8 * i + v]\n"
                            "  else:\n"
                            "    for v in range(0, min(8, N - 8 * i)):\n"
                            "      Y[8 * i + v] = X[8 * i + v]\n");
  EXPECT_EQ(beside(integer(3)).rfind("for i in range(0, N // 8):\n", 0), 0U) << line.printed();
}

TEST(SeparateTiles, NeverFullTilesAreLeftAlone) {
  Line line;
  const auto v = variable(2, "v");
  line.kernel.body = for_loop(2, "v", integer(0), minimum(integer(5), line.n), LoopKind::Vector, 8,
                              Line::y(v, Line::x(v)));
  line.kernel.body = vectorize_loops(separate_tiles(line.kernel.body, 0), {});
  EXPECT_EQ(line.printed(), "for v in range(0, min(5, N)):\n  Y[v] = X[v]\n");
}

TEST(SeparateTiles, NeverFullTilesRunUnderAMask) {
  // The first vector of a row whose border is left out.
  Line line;
  const auto v = variable(2, "v");
  line.kernel.body = for_loop(2, "v", integer(1), minimum(integer(8), line.n), LoopKind::Vector, 8,
                              Line::y(v, Line::x(v)));
  const auto body = line.kernel.body;
  line.kernel.body = vectorize_loops(separate_tiles(body, 4), {4});
  EXPECT_EQ(line.printed().find("for v"), std::string::npos) << line.printed();
  line.kernel.body = vectorize_loops(separate_tiles(body, 0), {0});
  EXPECT_EQ(line.printed(), "for v in range(1, min(8, N)):\n  Y[v] = X[v]\n");
}

TEST(SeparateTiles, AsksForAllCopiesOfAnUnrolledLoop) {
  Line line;
  const auto i = variable(1, "i");
  const auto u = variable(2, "u");
  const auto v = variable(3, "v");
  const auto first = add(mul(integer(8), i), mul(integer(4), u));
  const auto at = add(first, v);
  const auto vector = for_loop(3, "v", integer(0), minimum(integer(4), sub(line.n, first)),
                               LoopKind::Vector, 4, Line::y(at, Line::x(at)));
  const auto used = floor_div(add(sub(line.n, mul(integer(8), i)), integer(3)), integer(4));
  const auto unrolled =
      for_loop(2, "u", integer(0), minimum(integer(2), used), LoopKind::Unrolled, 2, vector);
  line.kernel.body = for_loop(1, "i", integer(0), floor_div(add(line.n, integer(7)), integer(8)),
                              LoopKind::Serial, 0, unrolled);
  const auto simplify = [&] { line.kernel.body = simplify_indices(line.kernel.body, {}); };
  simplify();
  line.kernel.body = separate_tiles(line.kernel.body, 0);
  simplify();
  line.kernel.body = unroll_loops(line.kernel.body);
  simplify();
  line.kernel.body = vectorize_loops(line.kernel.body, {});
  simplify();
  const std::string text = line.printed();
  EXPECT_NE(text.find("  Y[8 * i : 8 * i + 4] = X[8 * i : 8 * i + 4]\n"
                      "  Y[8 * i + 4 : 8 * i + 8] = X[8 * i + 4 : 8 * i + 8]\n"),
            std::string::npos)
      << text;
}

TEST(SeparateTiles, TheRestOfRowsIsOneVersionUnderMasks) {
  // Rows 2 * i + u of eight columns each.
  const auto separated = [](int masked_bytes, LoopKind outermost = LoopKind::Serial) {
    Line line;
    const auto i = variable(1, "i");
    const auto j = variable(2, "j");
    const auto u = variable(3, "u");
    const auto v = variable(4, "v");
    const auto at = add(add(mul(integer(8), j), v), add(mul(integer(2), i), u));
    const auto vector =
        for_loop(4, "v", integer(0), minimum(integer(8), sub(line.n, mul(integer(8), j))),
                 LoopKind::Vector, 8, Line::y(at, Line::x(at)));
    const auto rows =
        for_loop(3, "u", integer(0), minimum(integer(2), sub(line.n, mul(integer(2), i))),
                 LoopKind::Unrolled, 2, vector);
    const auto columns =
        for_loop(2, "j", integer(0), floor_div(add(line.n, integer(7)), integer(8)),
                 LoopKind::Serial, 0, rows);
    line.kernel.body = for_loop(1, "i", integer(0), floor_div(add(line.n, integer(1)), integer(2)),
                                outermost, 0, columns);
    line.kernel.body = simplify_indices(separate_tiles(line.kernel.body, masked_bytes), {});
    return line.printed();
  };
  const auto versions = [](const std::string &text) {
    size_t count = 0;
    for (size_t at = text.find("Y["); at != std::string::npos; at = text.find("Y[", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(versions(separated(0)), 4U) << separated(0);
  EXPECT_EQ(versions(separated(4)), 4U) << separated(4);
  EXPECT_EQ(versions(separated(1)), 3U) << separated(1);
  // Iterations of a parallel loop have both rests in one.
  EXPECT_EQ(versions(separated(4, LoopKind::Parallel)), 4U);
  EXPECT_EQ(separated(1, LoopKind::Parallel),
            "for i in range(0, (N + 1) // 2):  # parallel\n"
            "  full = N // 8 if N >= 2 * i + 2 else 0\n"
            "  for j in range(0, min((N + 7) // 8, full)):\n"
            "    for u in range(0, 2):  # unroll\n"
            "      for v in range(0, 8):  # vector(8)\n"
            "        Y[8 * j + v + 2 * i + u] = X[8 * j + v + 2 * i + u]\n"
            "  for j in range(max(0, full), (N + 7) // 8):\n"
            "    for u in range(0, min(2, N - 2 * i)):\n"
            "      for v in range(0, min(8, N - 8 * j)):  # vector(8), masked\n"
            "        Y[8 * j + v + 2 * i + u] = X[8 * j + v + 2 * i + u]\n");
}

} // namespace
} // namespace tilewright::test
