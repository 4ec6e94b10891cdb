// Which programs our own scan takes and which are left to isl, and that both make loops that
// compute the same as the evaluator of Layer I.
#include "fixture.h"

namespace tilewright::test {
namespace {

std::int64_t operator""_n(unsigned long long value) { return static_cast<std::int64_t>(value); }

const std::vector<Parameters> lines = {{{"N", 0}, {"M", 1}},
                                       {{"N", 1}, {"M", 2}},
                                       {{"N", 5}, {"M", 3}},
                                       {{"N", 16}, {"M", 16}},
                                       {{"N", 33}, {"M", 21}}};

/// For each part of the program, whether it was scanned here.
std::vector<bool> scanned(const Mapping &mapping) {
  std::vector<bool> here;
  for (const GeneratedAst::Part &part : generate_ast(build_program(mapping)).parts) {
    here.push_back(part.root.is_null());
  }
  return here;
}

std::string loops_of(const Mapping &mapping) {
  return print_loop_ir(lower_mapping(mapping, {{}, {}, false}));
}

ComputationPtr plane(const std::string &name, const ExprPtr &value, const ExprPtr &where = nullptr,
                     const ExprPtr &rows = par("N")) {
  const auto computation = declare_computation(name, {{"i", num(0), rows}, {"j", num(0), par("M")}},
                                               where, Float32, {par("N"), par("M")}, {});
  define_piece(computation, nullptr, value, {});
  return computation;
}

TEST(LoopScan, StatementsOfOneTileShareItsLoops) {
  const Mapping mapping = Mapping(matmul())
                              .with(command("C", "tile", {"i", "j", 6_n, 16_n}))
                              .with(command("C", "interchange", {"k", "i1"}))
                              .with(command("C", "interchange", {"k", "j1"}));
  EXPECT_EQ(scanned(mapping), std::vector<bool>{true});
  expect_all_stages(mapping, {{{"N", 0}, {"M", 3}, {"K", 2}},
                              {{"N", 3}, {"M", 4}, {"K", 0}},
                              {{"N", 13}, {"M", 35}, {"K", 5}}});
}

TEST(LoopScan, BoundsThatFollowFromOthersAreLeftOut) {
  // i + j < N and j >= 0 leave i < N without a word of its own
  const auto a = plane("A", f32(1), nullptr);
  const auto c =
      plane("C", access(a, {it("i"), it("j")}), binary(Op::Lt, it("i") + it("j"), par("N")));
  const Mapping mapping = Mapping(function_of({c})).with(command("C", "interchange", {"i", "j"}));
  EXPECT_EQ(scanned(mapping), (std::vector<bool>{true, true}));
  EXPECT_NE(loops_of(mapping).find("for j in range(0, min(M, N)):\n"
                                   "  for i in range(0, N - j):\n"),
            std::string::npos)
      << loops_of(mapping);
  expect_all_stages(mapping, lines);
}

TEST(LoopScan, SkewedTiles) {
  const auto c = plane("C", f32(1), binary(Op::Le, num(2) * it("j"), num(3) * it("i")));
  const Mapping mapping =
      Mapping(function_of({c}))
          .with(command("C", "set_schedule",
                        {"{ C[i,j] -> [floor((i+j)/8), floor(j/8), 2*i + j, i - j] }"}));
  expect_all_stages(mapping, lines);
}

TEST(LoopScan, TilesWithoutPoints) {
  // Only some tiles of 3 i = 2 j have points: the loop over tiles may not know
  const auto c = plane("C", f32(1), binary(Op::Eq, num(2) * it("j"), num(3) * it("i")));
  const Mapping mapping =
      Mapping(function_of({c})).with(command("C", "tile", {"i", "j", 4_n, 4_n}));
  expect_all_stages(mapping, lines);
}

TEST(LoopScan, ConditionsOnParametersStandOutside) {
  const auto c = plane("C", f32(1), binary(Op::Lt, par("M"), par("N") + num(2)));
  const Mapping mapping(function_of({c}));
  EXPECT_EQ(scanned(mapping), std::vector<bool>{true});
  EXPECT_EQ(loops_of(mapping).rfind("if ", 0), 0U) << loops_of(mapping);
  expect_all_stages(mapping, {{{"N", 3}, {"M", 4}}, {{"N", 3}, {"M", 5}}, {{"N", 3}, {"M", 2}}});
}

TEST(LoopScan, ConstantTimesStandOneAfterTheOther) {
  const auto a = plane("A", f32(1));
  const auto c = plane("C", access(a, {it("i"), it("j")}));
  const Mapping mapping = Mapping(function_of({c}))
                              .with(command("A", "set_schedule", {"{ A[i,j] -> [0, i, j] }"}))
                              .with(command("C", "set_schedule", {"{ C[i,j] -> [1, j, i] }"}));
  EXPECT_EQ(scanned(mapping), std::vector<bool>{true});
  expect_all_stages(mapping, lines);
}

TEST(LoopScan, OtherBoundsInOneLoopAreLeftToIsl) {
  const auto a = plane("A", f32(1), nullptr, par("N"));
  const Mapping mapping =
      Mapping(function_of({a, plane("C", f32(2), binary(Op::Lt, it("i"), num(3)))}))
          .with(command("C", "after", {"A", "i"}));
  EXPECT_EQ(scanned(mapping), std::vector<bool>{false});
  expect_all_stages(mapping, lines);
}

} // namespace
} // namespace tilewright::test
