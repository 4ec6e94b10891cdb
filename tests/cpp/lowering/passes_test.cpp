#include "fixture.h"
#include "loops/estimate_work.h"

namespace tilewright::test {
namespace {

using Pass = StmtPtr (*)(const StmtPtr &);

/// An array of `extent` elements; all but X are written.
KernelBuffer argument(const std::string &name, ScalarType type, const ValuePtr &extent) {
  KernelBuffer buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.is_written = name != "X";
  buffer.extents = {extent};
  buffer.layout.unit = 0;
  return buffer;
}

/// A kernel with parameter N, an input X and an output Y of N float64 elements.
struct Line {
  Kernel kernel;
  ValuePtr n = parameter_value(0, "N");

  Line() {
    kernel.name = "line";
    kernel.parameters = {"N"};
    kernel.buffers = {argument("X", Float64, n), argument("Y", Float64, n)};
  }

  static ValuePtr x(const ValuePtr &at) { return load(0, "X", {Float64, 1}, {at}); }
  static StmtPtr y(const ValuePtr &at, const ValuePtr &value) { return store(1, "Y", {at}, value); }

  std::string printed() {
    verify_kernel(kernel);
    return print_loop_ir(kernel);
  }
};

TEST(Simplify, CancelsDivisionsByRanges) {
  Line line;
  const auto i0 = variable(1, "i0");
  const auto i1 = variable(2, "i1");
  const auto sum = add(mul(integer(32), i0), i1);
  const auto at = add(mul(floor_div(sum, integer(32)), integer(32)), floor_mod(sum, integer(32)));
  line.kernel.body = for_loop(
      1, "i0", integer(0), floor_div(line.n, integer(32)), LoopKind::Serial, 0,
      for_loop(2, "i1", integer(0), integer(32), LoopKind::Serial, 0, Line::y(at, Line::x(at))));
  line.kernel.body = simplify_indices(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "for i0 in range(0, N // 32):\n"
                            "  for i1 in range(0, 32):\n"
                            "    Y[32 * i0 + i1] = X[32 * i0 + i1]\n");
}

TEST(Simplify, KeepsDivisionsThatRangesDoNotDecide) {
  Line line;
  const auto i = variable(1, "i");
  const auto at = floor_div(sub(add(mul(integer(6), i), integer(7)), integer(4)), integer(4));
  line.kernel.body =
      for_loop(1, "i", integer(-5), line.n, LoopKind::Serial, 0, Line::y(at, Line::x(i)));
  line.kernel.body = simplify_indices(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "for i in range(-5, N):\n  Y[(3 * i + 1) // 2] = X[i]\n");
}

TEST(Simplify, DecidesMinimaAndConditions) {
  Line line;
  Ranges known;
  known.parameters[0] = {100, std::nullopt};
  const auto i = variable(1, "i");
  const auto test = binary_value(Op::Lt, i, integer(200));
  line.kernel.body = for_loop(
      1, "i", maximum(integer(0), integer(-3)), minimum(integer(64), line.n), LoopKind::Serial, 0,
      if_then(test, Line::y(i, Line::x(i)), Line::y(i, Line::x(integer(0)))));
  line.kernel.body = simplify_indices(line.kernel.body, known);
  EXPECT_EQ(line.printed(), "for i in range(0, 64):\n  Y[i] = X[i]\n");
}

TEST(Simplify, KnowsThatTilesBegunAreNotEmpty) {
  const auto guarded = [](std::int64_t rounded) {
    Line line;
    const auto j = variable(1, "j");
    const auto v = variable(2, "v");
    const auto first = mul(integer(16), j);
    const auto left = minimum(integer(16), sub(line.n, first));
    const auto at = add(first, v);
    line.kernel.body = for_loop(
        1, "j", floor_div(line.n, integer(16)),
        minimum(integer(8), floor_div(add(line.n, integer(rounded)), integer(16))),
        LoopKind::Serial, 0,
        if_then(binary_value(Op::Lt, integer(0), left),
                for_loop(2, "v", integer(0), left, LoopKind::Serial, 0, Line::y(at, Line::x(at)))));
    line.kernel.body = simplify_indices(line.kernel.body, {});
    return line.printed();
  };
  EXPECT_EQ(guarded(15).find("if "), std::string::npos) << guarded(15);
  EXPECT_NE(guarded(16).find("if 0 < min(16, N - 16 * j)"), std::string::npos) << guarded(16);
}

TEST(Simplify, RemovesLoopsOfNoneAndOneIteration) {
  Line line;
  const auto i = variable(1, "i");
  const auto j = variable(2, "j");
  line.kernel.body =
      block({for_loop(1, "i", integer(3), integer(3), LoopKind::Serial, 0, Line::y(i, Line::x(i))),
             for_loop(2, "j", line.n, add(line.n, integer(1)), LoopKind::Serial, 0,
                      Line::y(sub(j, integer(1)), Line::x(integer(0))))});
  line.kernel.body = simplify_indices(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "Y[N - 1] = X[0]\n");
}

TEST(Simplify, KnowsBoundsInALoopOfAtMostOneIteration) {
  Line line;
  const auto i = variable(1, "i");
  const auto v = variable(2, "v");
  const auto vector = for_loop(2, "v", sub(integer(1), mul(integer(8), i)), integer(8),
                               LoopKind::Vector, 8, Line::y(v, Line::x(add(v, i))));
  line.kernel.body = for_loop(1, "i", integer(0), minimum(integer(1), sub(line.n, integer(9))),
                              LoopKind::Serial, 0, vector);
  line.kernel.body = simplify_indices(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "for i in range(0, min(1, N - 9)):\n"
                            "  for v in range(1, 8):  # vector(8)\n"
                            "    Y[v] = X[v + i]\n");
}

TEST(Simplify, LeavesDataAlone) {
  // Loaded integers may be anything: x + 1 < x holds for the largest one.
  Kernel kernel;
  kernel.name = "data";
  kernel.parameters = {"N"};
  const auto n = parameter_value(0, "N");
  kernel.buffers = {argument("X", Int64, n), argument("Y", Bool, n)};
  const auto x = load(0, "X", {Int64, 1}, {integer(0)});
  kernel.body = store(1, "Y", {integer(0)}, binary_value(Op::Lt, add(x, integer(1)), x));
  kernel.body = simplify_indices(kernel.body, {});
  EXPECT_EQ(print_loop_ir(kernel), "Y[0] = X[0] + 1 < X[0]\n");
}

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

/// for k: for r in range(0, min(4, N)), unrolled: Y[r + shift * k] = Y[read] + X[k]
std::string sums_of_rows(std::int64_t shift, const ValuePtr &read_shift) {
  Line line;
  const auto k = variable(1, "k");
  const auto r = variable(2, "r");
  const auto at = add(r, mul(integer(shift), k));
  const auto sum =
      binary_value(Op::Add, load(1, "Y", {Float64, 1}, {add(at, read_shift)}), Line::x(k));
  line.kernel.body = for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0,
                              for_loop(2, "r", integer(0), minimum(integer(4), line.n),
                                       LoopKind::Unrolled, 4, Line::y(at, sum)));
  line.kernel.body = unroll_loops(line.kernel.body);
  return line.printed();
}

TEST(Unroll, RowsThatAreNotUnrolledSumUpOneAfterTheOther) {
  EXPECT_EQ(sums_of_rows(0, integer(0)), "for r in range(0, min(4, N)):\n"
                                         "  for k in range(0, N):\n"
                                         "    Y[r] = Y[r] + X[k]\n");
  // Rows that read others, and rows that move, keep their order.
  EXPECT_EQ(sums_of_rows(0, integer(1)).find("for k"), 0U);
  EXPECT_EQ(sums_of_rows(1, integer(0)).find("for k"), 0U);
}

TEST(Unroll, UnknownExtentsStayLoops) {
  Line line;
  const auto v = variable(2, "v");
  line.kernel.body =
      for_loop(2, "v", integer(0), line.n, LoopKind::Unrolled, 4, Line::y(v, Line::x(v)));
  line.kernel.body = unroll_loops(line.kernel.body);
  EXPECT_EQ(line.printed(), "for v in range(0, N):\n  Y[v] = X[v]\n");
}

TEST(Vectorize, RestUnderAMask) {
  Line line;
  const auto v = variable(2, "v");
  line.kernel.body = for_loop(2, "v", integer(0), minimum(integer(4), line.n),
                              LoopKind::MaskedVector, 4, Line::y(v, Line::x(v)));
  line.kernel.body = vectorize_loops(line.kernel.body, {8});
  verify_kernel(line.kernel);
  EXPECT_EQ(line.printed(), "if 0 < min(4, N):\n"
                            "  Y[0 : 4] = masked(X[0 : 4], 0 + lanes(4) < min(4, N))"
                            "  # where 0 + lanes(4) < min(4, N)\n");
}

TEST(Vectorize, ElementsTooSmallForAMaskStaySerial) {
  Line line;
  const auto v = variable(2, "v");
  line.kernel.body = for_loop(2, "v", integer(0), minimum(integer(4), line.n),
                              LoopKind::MaskedVector, 4, Line::y(v, Line::x(v)));
  line.kernel.body = vectorize_loops(line.kernel.body, {16});
  EXPECT_EQ(line.printed(), "for v in range(0, min(4, N)):\n  Y[v] = X[v]\n");
}

TEST(Vectorize, SumsOfLanesGetVectorsThatTakeTurns) {
  Line line;
  const auto k = variable(1, "k");
  const auto v = variable(2, "v");
  const auto term = [&](std::int64_t first) {
    const auto at = add(add(mul(integer(8), k), integer(first)), v);
    const auto sum = binary_value(Op::Add, load(1, "Y", {Float64, 1}, {integer(0)}), Line::x(at));
    return for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4,
                    store(1, "Y", {integer(0)}, sum, Op::Add));
  };
  Numbers numbers(term(0));
  line.kernel.body = for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0,
                              block({term(0), copy_with(term(4), {}, numbers)}));
  line.kernel.body = promote_accumulators(vectorize_loops(line.kernel.body, {}));
  verify_kernel(line.kernel);
  const std::string text = line.printed();
  EXPECT_NE(text.find("reduce(+, acc + acc_2)"), std::string::npos) << text;
}

TEST(Vectorize, StridesBroadcastsAndGathers) {
  Line line;
  const auto v = variable(2, "v");
  const auto value = binary_value(Op::Add, Line::x(mul(integer(3), v)),
                                  binary_value(Op::Add, Line::x(integer(5)), Line::x(mul(v, v))));
  line.kernel.body = for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4,
                              Line::y(sub(integer(9), v), value));
  line.kernel.body = vectorize_loops(line.kernel.body, {});
  const std::string text = line.printed();
  EXPECT_NE(text.find("X[0 : 12 : 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("X[5]"), std::string::npos) << text;
  EXPECT_EQ(text.find("for"), std::string::npos) << text;
}

TEST(Vectorize, StoreToOneElementStaysSerial) {
  Line line;
  const auto v = variable(2, "v");
  const auto sum = binary_value(Op::Add, load(1, "Y", {Float64, 1}, {integer(0)}), Line::x(v));
  line.kernel.body =
      for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4, Line::y(integer(0), sum));
  line.kernel.body = vectorize_loops(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "for v in range(0, 4):\n  Y[0] = Y[0] + X[v]\n");
}

TEST(Vectorize, ConditionsOverLanesThatReadStaySerial) {
  Line line;
  const auto v = variable(2, "v");
  const auto t = local(3, "t", {Float64, 1});
  const auto read = if_then(binary_value(Op::Gt, v, integer(0)),
                            assign_local(3, "t", Line::x(sub(v, integer(1)))));
  line.kernel.body =
      for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4,
               block({declare_local(3, "t", constant_of(0.0, Float64)), read, Line::y(v, t)}));
  line.kernel.body = vectorize_loops(line.kernel.body, {});
  EXPECT_NE(line.printed().find("for v in range(0, 4):"), std::string::npos) << line.printed();
}

TEST(Vectorize, SerialLoopsInsideAreKept) {
  Line line;
  const auto v = variable(2, "v");
  const auto k = variable(4, "k");
  const auto t = local(3, "t", {Float64, 1});
  const auto loop = for_loop(4, "k", integer(0), line.n, LoopKind::Serial, 0,
                             assign_local(3, "t", binary_value(Op::Add, t, Line::x(k))));
  line.kernel.body = for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4,
                              block({declare_local(3, "t", Line::x(v)), loop, Line::y(v, t)}));
  line.kernel.body = vectorize_loops(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "t = X[0 : 4]\nfor k in range(0, N):\n  t = t + X[k]\nY[0 : 4] = t\n");
}

TEST(PromoteAccumulators, DistinctElementsStayInLocals) {
  Line line;
  const auto k = variable(1, "k");
  const auto n = line.n;
  const auto add_to = [&](const ValuePtr &at) {
    const auto old = load(1, "Y", {Float64, 1}, {at});
    return Line::y(at, binary_value(Op::Add, old, Line::x(k)));
  };
  const auto loop = [&](const StmtPtr &body) {
    return for_loop(1, "k", integer(0), n, LoopKind::Serial, 0, body);
  };
  line.kernel.body = promote_accumulators(loop(block({add_to(n), add_to(add(n, integer(1)))})));
  EXPECT_EQ(line.printed(), "if 0 < N:\n"
                            "  acc = Y[N]\n"
                            "  acc_2 = Y[N + 1]\n"
                            "  for k in range(0, N):\n"
                            "    acc = acc + X[k]\n"
                            "    acc_2 = acc_2 + X[k]\n"
                            "  Y[N] = acc\n"
                            "  Y[N + 1] = acc_2\n");
  // Y[0] and Y[N] may be one element, Y[k] changes, a guarded store may not happen.
  for (const StmtPtr &body : {block({add_to(n), add_to(integer(0))}), block({add_to(n), add_to(k)}),
                              if_then(binary_value(Op::Gt, k, n), add_to(n))}) {
    line.kernel.body = promote_accumulators(loop(body));
    EXPECT_EQ(line.printed().find("acc"), std::string::npos) << line.printed();
  }
}

TEST(PromoteAccumulators, FirstValuesStayOutOfMemory) {
  Line line;
  const auto k = variable(1, "k");
  const auto n = line.n;
  const auto five = integer(5);
  const auto zero = constant_of(0.0, Float64);
  const auto old = load(1, "Y", {Float64, 1}, {n});
  const auto sum = Line::y(n, binary_value(Op::Add, old, Line::x(k)));
  const auto after = [&](const std::vector<StmtPtr> &stores) {
    std::vector<StmtPtr> all = stores;
    all.push_back(for_loop(1, "k", integer(0), n, LoopKind::Serial, 0, sum));
    line.kernel.body = promote_accumulators(block(all));
    return line.printed();
  };
  // Also where the loop does not run.
  EXPECT_EQ(after({Line::y(five, zero), Line::y(n, zero)}), "Y[5] = 0.0\n"
                                                            "acc = 0.0\n"
                                                            "for k in range(0, N):\n"
                                                            "  acc = acc + X[k]\n"
                                                            "Y[N] = acc\n");
  // Another element was stored last, or the value is one of the elements.
  for (const auto &stores :
       {std::vector<StmtPtr>{Line::y(n, zero), Line::y(five, zero)},
        std::vector<StmtPtr>{Line::y(n, load(1, "Y", {Float64, 1}, {five}))}}) {
    EXPECT_NE(after(stores).find("  acc = Y[N]\n"), std::string::npos) << line.printed();
  }
}

TEST(PromoteAccumulators, LoopsInsideMustRun) {
  Line line;
  const auto k = variable(1, "k");
  const auto old = load(1, "Y", {Float64, 1}, {integer(3)});
  const auto sum = Line::y(integer(3), binary_value(Op::Add, old, Line::x(k)));
  const auto inner = for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0, sum);
  const auto nest = for_loop(2, "r", integer(0), integer(4), LoopKind::Serial, 0, inner);
  line.kernel.body = simplify_indices(promote_accumulators(nest), {});
  const std::string text = line.printed();
  EXPECT_EQ(text.find("if 0 < N:\n  acc = Y[3]\n  for r in range(0, 4):\n"), 0U) << text;
}

TEST(PromoteAccumulators, AnAtomicUpdateIsMadeOnceBehindItsLoop) {
  Line line;
  const auto k = variable(1, "k");
  const auto loop = [&](const StmtPtr &body) {
    return for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0, body);
  };
  const auto update = [&](const ValuePtr &at) {
    return atomic_update(Op::Max, 1, "Y", {at}, Line::x(k));
  };
  // Under a condition too: the identity changes nothing.
  line.kernel.body =
      promote_accumulators(loop(if_then(binary_value(Op::Gt, k, line.n), update(integer(3)))));
  EXPECT_EQ(line.printed(), "acc = -inf\n"
                            "for k in range(0, N):\n"
                            "  if k > N:\n"
                            "    acc = max(acc, X[k])\n"
                            "Y[3] = max(Y[3], acc)  # atomic\n");
  // Elements that change, or that are read as well, stay as they are.
  const auto read = Line::y(integer(4), load(1, "Y", {Float64, 1}, {integer(3)}));
  for (const StmtPtr &body : {update(k), block({update(integer(3)), read})}) {
    line.kernel.body = promote_accumulators(loop(body));
    EXPECT_EQ(line.printed().find("-inf"), std::string::npos) << line.printed();
  }
}

TEST(PromoteAccumulators, VectorsThatOverlapStayInMemory) {
  Line line;
  const auto k = variable(1, "k");
  const auto add_to = [&](std::int64_t at) {
    const auto where = ramp(integer(at), 1, 4);
    return store(
        1, "Y", {where},
        binary_value(Op::Add, load(1, "Y", {Float64, 4}, {where}), broadcast(Line::x(k), 4)));
  };
  const auto loop = [&](std::int64_t second) {
    return for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0,
                    block({add_to(0), add_to(second)}));
  };
  line.kernel.body = promote_accumulators(loop(3));
  EXPECT_EQ(line.printed().find("acc"), std::string::npos) << line.printed();
  line.kernel.body = promote_accumulators(loop(4));
  EXPECT_NE(line.printed().find("acc_2 = Y[4 : 8]"), std::string::npos) << line.printed();
}

TEST(Verify, NamesWhatIsWrong) {
  const auto message = [](Line &line) {
    try {
      verify_kernel(line.kernel);
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Internal);
      return std::string(error.what());
    }
    return std::string();
  };
  Line line;
  line.kernel.body = Line::y(variable(9, "ghost"), Line::x(integer(0)));
  EXPECT_NE(message(line).find("ghost"), std::string::npos) << message(line);
  line.kernel.body = store(1, "Y", {}, Line::x(integer(0)));
  EXPECT_NE(message(line).find("rank"), std::string::npos) << message(line);
  line.kernel.body = Line::y(integer(0), integer(1));
  EXPECT_NE(message(line).find("type"), std::string::npos) << message(line);
  line.kernel.body = Line::y(ramp(integer(0), 1, 4), broadcast(Line::x(integer(0)), 8));
  EXPECT_NE(message(line).find("lanes"), std::string::npos) << message(line);
  line.kernel.body = assign_local(5, "t", Line::x(integer(0)));
  EXPECT_NE(message(line).find("declared"), std::string::npos) << message(line);
}

TEST(Print, MinimalParentheses) {
  Line line;
  const auto n = line.n;
  const auto x = Line::x(integer(0));
  const auto y = Line::x(integer(1));
  line.kernel.body =
      Line::y(floor_div(sub(n, sub(n, integer(2))), integer(2)),
              binary_value(Op::Mul, binary_value(Op::Sub, x, binary_value(Op::Sub, x, y)),
                           unary_value(Op::Neg, y)));
  EXPECT_EQ(line.printed(), "Y[(N - (N - 2)) // 2] = (X[0] - (X[0] - X[1])) * -X[1]\n");
}

TEST(WorkBounds, ARestOfARowHasFewIterations) {
  const ValuePtr n = parameter_value(0, "N");
  const auto most = [](const ValuePtr &lower, const ValuePtr &upper) {
    const StmtPtr loop = for_loop(1, "i", lower, upper, LoopKind::Serial, 0,
                                  Line::y(integer(0), Line::x(integer(0))));
    return WorkBounds::max_iterations(*loop);
  };
  const auto tiles = [&](std::int64_t more, std::int64_t size) {
    return floor_div(add(n, integer(more)), integer(size));
  };
  EXPECT_EQ(most(tiles(0, 32), tiles(31, 32)), 1);
  EXPECT_EQ(most(tiles(0, 32), tiles(32, 32)), 1);
  EXPECT_EQ(most(tiles(0, 32), tiles(33, 32)), 2);
  EXPECT_EQ(most(tiles(-5, 32), tiles(95, 32)), 4);
  EXPECT_EQ(most(tiles(31, 32), tiles(0, 32)), 0);
  EXPECT_EQ(most(tiles(0, 32), add(tiles(31, 32), integer(2))), 3);
  EXPECT_EQ(most(tiles(0, 16), tiles(31, 32)), std::nullopt);
  EXPECT_EQ(most(integer(0), tiles(31, 32)), std::nullopt);
  EXPECT_EQ(most(tiles(0, 32), mul(integer(2), tiles(31, 32))), std::nullopt);
  // The bound is met, and by no pair of sizes passed.
  for (const auto &[more, size] : {std::pair{31, 32}, {33, 32}, {7, 3}, {1, 5}}) {
    std::int64_t largest = 0;
    for (std::int64_t value = -100; value < 100; ++value) {
      const auto floor = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
      largest = std::max(largest, floor(value + more, size) - floor(value, size));
    }
    EXPECT_EQ(most(tiles(0, size), tiles(more, size)), largest) << more << " / " << size;
  }
}

} // namespace
} // namespace tilewright::test
