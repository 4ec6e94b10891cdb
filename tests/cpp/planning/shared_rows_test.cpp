// Which computations share the loop over their rows: by what they read, over what they run, and
// what their loops are.
#include "analysis/legality.h"
#include "mapping/example_functions.h"
#include "planning/shared_rows.h"

namespace tilewright {
namespace {

using namespace examples;

/// m[i] = max over k of x[i,k]; y[i,j] = x[i,j] - m[row] for i < `rows`, both parallel over i.
Mapping normalised(const ExprPtr &row, const std::string &rows = "N") {
  const auto x = input("x", {size("N"), size("M")});
  const auto m = define("[N] -> { m[i] : 0 <= i < N }",
                        reduce(Op::ReduceMax, {{"k", constant(std::int64_t{0}, Int64), size("M")}},
                               access(x, {at("i"), at("k")})));
  const auto y = define("[N,M] -> { y[i,j] : 0 <= i < " + rows + " and 0 <= j < M }",
                        minus(access(x, {at("i"), at("j")}), access(m, {row})));
  return Mapping(function({y}))
      .with(command("m", "parallelize", {"i"}))
      .with(command("y", "parallelize", {"i"}));
}

size_t shared(const Mapping &mapping) {
  const Mapping together = with_shared_rows(mapping);
  EXPECT_FALSE(find_violation(build_program(together)));
  return together.state().placements.size();
}

TEST(SharedRows, OfAReductionAndItsReader) {
  const Mapping together = with_shared_rows(normalised(at("i")));
  ASSERT_EQ(together.state().placements.size(), 1U);
  const Placement &placement = together.state().placements.front();
  EXPECT_EQ(placement.computation, "y");
  EXPECT_EQ(placement.other, "m");
  EXPECT_EQ(placement.shared, 1);
  EXPECT_FALSE(placement.before);
}

/// p[i,j] = x[i,j] + 1; s[i] = sum over k of p[i,k]; y[i,j] = p[i,read] - s[i], in one loop over i.
Mapping scaled(const ExprPtr &read) {
  const auto x = input("x", {size("N"), size("M")});
  const auto p = define("[N,M] -> { p[i,j] : 0 <= i < N and 0 <= j < M }",
                        plus(access(x, {at("i"), at("j")}), whole(1)));
  const auto s = define("[N] -> { s[i] : 0 <= i < N }",
                        reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), size("M")}},
                               access(p, {at("i"), at("k")})));
  const auto y = define("[N,M] -> { y[i,j] : 0 <= i < N and 0 <= j < M }",
                        minus(access(p, {at("i"), read}), access(s, {at("i")})));
  Mapping mapping(function({y}));
  for (const char *name : {"p", "s", "y"}) {
    mapping = mapping.with(command(name, "parallelize", {"i"}));
  }
  return with_shared_rows(mapping);
}

TEST(SharedRows, ResultsHoldWhatTheyAreComputedFrom) {
  const Mapping shared = scaled(at("j"));
  const Mapping stored = with_rows_in_results(shared);
  EXPECT_EQ(stored.state().storage.at("p").buffer, "y");
  EXPECT_FALSE(find_violation(build_program(stored)));
}

TEST(SharedRows, NotWhatOtherElementsRead) {
  const Mapping shared = scaled(constant(std::int64_t{0}, Int64));
  EXPECT_EQ(with_rows_in_results(shared).state().storage.at("p").buffer, "p");
}

TEST(SharedRows, NotIfAnotherRowIsRead) {
  EXPECT_EQ(shared(normalised(constant(std::int64_t{0}, Int64))), 0U);
}

TEST(SharedRows, NotOverOtherRows) { EXPECT_EQ(shared(normalised(at("i"), "N - 1")), 0U); }

TEST(SharedRows, NotOfLoopsThatAreSerialOrCutOrSharedAlready) {
  const Mapping plain = normalised(at("i"));
  EXPECT_EQ(shared(plain.with(command("y", "split", {"i", 4}))), 0U);
  EXPECT_EQ(shared(Mapping(plain.function_pointer())), 0U);
  EXPECT_EQ(shared(plain.with(command("y", "after", {"m", "i"}))), 1U);
}

TEST(SharedRows, OverTheSameBlocksOfRows) {
  const Mapping plain(normalised(at("i")).function_pointer());
  const auto blocks = [&](const std::string &name, std::int64_t rows, const Mapping &mapping) {
    return mapping.with(command(name, "split", {"i", rows}))
        .with(command(name, "parallelize", {"i0"}));
  };
  EXPECT_EQ(shared(blocks("y", 8, blocks("m", 8, plain))), 1U);
  EXPECT_EQ(shared(blocks("y", 4, blocks("m", 8, plain))), 0U);
}

TEST(SharedRows, NotOfSingleLoops) {
  const auto x = input("x", {size("N")});
  const auto b = define("[N] -> { B[i] : 0 <= i < N }", plus(access(x, {at("i")}), whole(1)));
  const auto c = define("[N] -> { C[i] : 0 <= i < N }", plus(access(b, {at("i")}), whole(1)));
  EXPECT_EQ(shared(Mapping(function({c}))
                       .with(command("B", "parallelize", {"i"}))
                       .with(command("C", "parallelize", {"i"}))),
            0U);
}

} // namespace
} // namespace tilewright
