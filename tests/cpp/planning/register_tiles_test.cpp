// Which loops of a contraction become rows and columns of tiles in registers is found from how its
// operands move, whatever it is called.
#include "mapping/example_functions.h"
#include "planning/register_tiles.h"

namespace tilewright {
namespace {

using namespace examples;

ReduceRange over(const std::string &name, const ExprPtr &end) {
  return {name, constant(std::int64_t{0}, Int64), end};
}

ExprPtr number(std::int64_t value) { return constant(value, Int64); }

std::optional<RegisterTile> plan(const ComputationPtr &computation, bool wide = true) {
  const Shape shape(*computation);
  return plan_register_tile(shape, shape.rank() - 1, wide);
}

/// Y[f,y,x] = sum(w[f,c,r,s] * X[c,y+r,x+s] over c, r, s) with a window of 3 x 3.
ComputationPtr channels_first() {
  const auto x = input("X", {size("C"), size("H", 2), size("W", 2)});
  const auto w = input("w", {size("F"), size("C"), number(3), number(3)});
  const ExprPtr product =
      times(access(w, {at("f"), at("c"), at("r"), at("s")}),
            access(x, {at("c"), plus(at("y"), at("r")), plus(at("x"), at("s"))}));
  return define("[F,H,W] -> { Y[f,y,x] : 0 <= f < F and 0 <= y < H and 0 <= x < W }",
                reduce(Op::ReduceSum,
                       {over("c", size("C")), over("r", number(3)), over("s", number(3))},
                       product));
}

TEST(RegisterTiles, OfAMatrixProduct) {
  const auto tile = plan(matmul()->outputs.front());
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->row, 0U);
  EXPECT_EQ(tile->column, 1U);
  EXPECT_EQ(tile->height, 8);
  EXPECT_EQ(tile->lanes, 32); // two registers
  EXPECT_EQ(tile->split, 2U);
  EXPECT_EQ(tile->block_terms * tile->lanes * 4, 32 * 1024); // of B, in a first-level cache
  ASSERT_TRUE(tile->packed);
  EXPECT_EQ(tile->packed->array, "B");
  const auto narrow = plan(matmul()->outputs.front(), false);
  EXPECT_EQ(narrow->height, 4);
  EXPECT_EQ(narrow->lanes, 16);
}

TEST(RegisterTiles, OfAConvolutionTheRowsAreWhatSharesTheImage) {
  const auto tile = plan(channels_first());
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->row, 0U); // filters: another y would be another row of the image
  EXPECT_EQ(tile->column, 2U);
  EXPECT_EQ(tile->split, 3U); // channels
  // Of a channel, a window for 32 neighbours reads 3 x 34 elements.
  EXPECT_EQ(tile->block_terms, 32 * 1024 / (3 * 34 * 4));
  EXPECT_FALSE(tile->packed); // neighbours find in a cache what they share
  EXPECT_EQ(tile->terms, (std::vector<size_t>{3, 4, 5}));
}

/// dw[f,c,r,s] = sum(G[f,y,x] * X[c,2y+r,2x+s] over y, x) of 3 x `columns` weights.
ComputationPtr gradient_for_weights(std::int64_t columns) {
  const auto x = input("X", {size("C"), plus(times(size("H"), number(2)), number(1)),
                             plus(times(size("W"), number(2)), number(columns))});
  const auto g = input("G", {size("F"), size("H"), size("W")});
  const ExprPtr product = times(access(g, {at("f"), at("y"), at("x")}),
                                access(x, {at("c"), plus(times(at("y"), number(2)), at("r")),
                                           plus(times(at("x"), number(2)), at("s"))}));
  return define("[F,C] -> { dw[f,c,r,s] : 0 <= f < F and 0 <= c < C and 0 <= r < 3 and 0 <= s < " +
                    std::to_string(columns) + " }",
                reduce(Op::ReduceSum, {over("y", size("H")), over("x", size("W"))}, product));
}

TEST(RegisterTiles, OfAGradientForWeightsResultsShareWhatTermsLoad) {
  const auto tile = plan_result_tile(Shape(*gradient_for_weights(3)), true);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->row, 0U);   // filters share the image
  EXPECT_EQ(tile->other, 3U); // columns of a window share the gradients of its results
  EXPECT_EQ(tile->height, 4); // of twelve sums
  EXPECT_EQ(plan_result_tile(Shape(*gradient_for_weights(3)), false)->height, 2);
  EXPECT_EQ(plan_result_tile(Shape(*gradient_for_weights(64)), true)->other, 2U); // no window
  EXPECT_FALSE(plan_result_tile(Shape(*matmul()->outputs.front()), true));
  EXPECT_FALSE(plan_result_tile(Shape(*channels_first()), true)); // its terms are few
}

TEST(RegisterTiles, OfAConvolutionThatTakesEverySecondPixelRowsShareWhatIsChosen) {
  const auto x = input("X", {size("C"), size("H"), size("W")});
  const auto w = input("w", {size("F"), size("C"), number(3), number(3)});
  const ExprPtr product = times(access(w, {at("f"), at("c"), at("r"), at("s")}),
                                access(x, {at("c"), plus(times(at("y"), number(2)), at("r")),
                                           plus(times(at("x"), number(2)), at("s"))}));
  const auto tile = plan(
      define("[F,H,W] -> { Y[f,y,x] : 0 <= f < F and 0 <= 2y < H - 2 and 0 <= 2x < W - 2 }",
             reduce(Op::ReduceSum,
                    {over("c", size("C")), over("r", number(3)), over("s", number(3))}, product)));
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->row, 0U);
  EXPECT_EQ(tile->column, 2U);
  EXPECT_FALSE(tile->packed);
}

TEST(RegisterTiles, InPhasesOfHalvedSubscripts) {
  const auto x = input("X", {size("C"), size("H"), size("W")});
  const auto w = input("w", {size("F"), size("C"), number(3)});
  const auto halved = [&](const std::string &name, std::int64_t by) {
    return binary(Op::FloorDiv, at(name), number(by));
  };
  const auto remainder = binary(Op::Mod, at("x"), number(3));
  const ExprPtr product = times(access(x, {at("c"), halved("y", 2), halved("x", 3)}),
                                access(w, {at("f"), at("c"), remainder}));
  const auto scaled = define("[F,H,W] -> { Y[f,y,x] : 0 <= f < F and 0 <= y < 2H and 0 <= x < 3W }",
                             reduce(Op::ReduceSum, {over("c", size("C"))}, product));
  const Shape shape(*scaled);
  EXPECT_FALSE(shape.all_contiguous(2));
  EXPECT_FALSE(plan_register_tile(shape, 2, true));
  const auto phased = shape.in_phases();
  ASSERT_TRUE(phased);
  EXPECT_EQ(phased->period(0), 1);
  EXPECT_EQ(phased->period(1), 2);
  EXPECT_EQ(phased->period(2), 3);
  EXPECT_EQ(phased->name(0), "f");
  EXPECT_EQ(phased->name(2), "x0"); // the loop over its periods
  EXPECT_EQ(phased->phase(2), "x1");
  EXPECT_TRUE(phased->all_contiguous(2));
  const auto tile = plan_register_tile(*phased, 2, true);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->row, 0U); // another y reads another row of X
  EXPECT_FALSE(Shape(*channels_first()).in_phases());
}

TEST(RegisterTiles, WithChannelsLastTheRowsAreNeighbours) {
  const auto x = input("X", {size("H", 2), size("W", 2), size("C")});
  const auto w = input("w", {number(3), number(3), size("C"), size("F")});
  const ExprPtr product =
      times(access(x, {plus(at("y"), at("r")), plus(at("x"), at("s")), at("c")}),
            access(w, {at("r"), at("s"), at("c"), at("f")}));
  const auto tile = plan(
      define("[H,W,F] -> { Y[y,x,f] : 0 <= y < H and 0 <= x < W and 0 <= f < F }",
             reduce(Op::ReduceSum,
                    {over("r", number(3)), over("s", number(3)), over("c", size("C"))}, product)));
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->row, 1U);
  EXPECT_EQ(tile->column, 2U);
  EXPECT_EQ(tile->split, 5U);
  EXPECT_FALSE(tile->packed); // each y would pack the same again
}

TEST(RegisterTiles, WhatConditionsDependOnRunsOutside) {
  const auto x = input("X", {size("C"), size("W")});
  const auto w = input("w", {size("F"), size("C"), number(3)});
  const ExprPtr place = plus(at("x"), at("s", -1));
  const ExprPtr inside =
      binary(Op::And, binary(Op::Ge, place, whole(0)), binary(Op::Lt, place, size("W")));
  const ExprPtr padded = select(inside, access(x, {at("c"), place}), constant(0.0, Float32));
  const ExprPtr product = times(access(w, {at("f"), at("c"), at("s")}), padded);
  const auto tile =
      plan(define("[F,W] -> { Y[f,x] : 0 <= f < F and 0 <= x < W }",
                  reduce(Op::ReduceSum, {over("c", size("C")), over("s", number(3))}, product)));
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->row, 0U);
  EXPECT_EQ(tile->terms, (std::vector<size_t>{3, 2}));
  EXPECT_FALSE(tile->packed);
}

TEST(RegisterTiles, OfKnownSizesFitThem) {
  const auto a = input("A", {number(14), size("K")});
  const auto b = input("B", {size("K"), number(48)});
  const ExprPtr product = times(access(a, {at("i"), at("k")}), access(b, {at("k"), at("j")}));
  const auto tile = plan(define("{ C[i,j] : 0 <= i < 14 and 0 <= j < 48 }",
                                reduce(Op::ReduceSum, {over("k", size("K"))}, product)));
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->height, 7);
  EXPECT_EQ(tile->lanes, 16);
}

TEST(RegisterTiles, NotWhereNothingIsShared) {
  const auto a = input("A", {size("N"), size("M")});
  const auto sums =
      define("[M] -> { C[j] : 0 <= j < M }",
             reduce(Op::ReduceSum, {over("i", size("N"))}, access(a, {at("i"), at("j")})));
  EXPECT_FALSE(plan(sums));
}

TEST(RegisterTiles, RowsThatShareAVectorAreReadAtOnce) {
  const auto row = [](const std::string &domain, const ExprPtr &terms) {
    return find_streamed_row(
        Shape(*define(domain, reduce(Op::ReduceSum, {over("k", size("M"))}, terms))));
  };
  const std::string all = "[N,M] -> { C[i] : 0 <= i < N }";
  const ExprPtr matrix = access(input("A", {size("N"), size("M")}), {at("i"), at("k")});
  const ExprPtr vector = access(input("x", {size("M")}), {at("k")});
  EXPECT_EQ(row(all, times(matrix, vector)), 0U);
  EXPECT_FALSE(row(all, matrix)); // nothing is shared
  EXPECT_FALSE(row(all, vector)); // nothing else is read
  const ExprPtr few = access(input("A", {number(4), size("M")}), {at("i"), at("k")});
  EXPECT_FALSE(row("[M] -> { C[i] : 0 <= i < 4 }", times(few, vector)));
}

} // namespace
} // namespace tilewright
