// Commands that change the loops of one computation: the map each makes, and what each refuses.
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;

using Loops = std::vector<std::int64_t>;

TEST(IdentityMapping, LoopsAreTheIteratorsInTheirOrder) {
  const Mapping mapping(map_2d());
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("i", "j"));
  const Program program = build_program(mapping);
  EXPECT_EQ(program.depth, 2);
  EXPECT_EQ(loops_of(program, "C", {3, 5}, {{"N", 4}, {"M", 6}}), (Loops{3, 5}));
}

TEST(IdentityMapping, ReducedIteratorsComeLast) {
  EXPECT_THAT(loop_names(Mapping(matmul()), "C"), ElementsAre("i", "j", "k"));
}

TEST(Parallelize, SeveralLoopsAndHowTheyAreDealtOut) {
  const Mapping one =
      Mapping(map_2d()).with(command("C", "parallelize", {"i", "j", "dynamic", std::int64_t{4}}));
  const std::vector<LoopDimension> &loops = one.time_space("C").dimensions;
  EXPECT_EQ(loops[0].tag, (LoopTag{Tag::Parallel, 0, Dealing::Dynamic, 4, false}));
  EXPECT_EQ(loops[1].tag, (LoopTag{Tag::Parallel, 0, Dealing::Dynamic, 4, true}));
  const Mapping swapped = one.with(command("C", "interchange", {"i", "j"}));
  EXPECT_FALSE(swapped.time_space("C").dimensions[0].tag.joined);
  EXPECT_TRUE(swapped.time_space("C").dimensions[1].tag.joined);
  const Mapping again = one.with(command("C", "parallelize", {"i"}));
  EXPECT_EQ(again.time_space("C").dimensions[0].tag, LoopTag{Tag::Parallel});
  EXPECT_EQ(again.time_space("C").dimensions[1].tag, LoopTag{});
}

TEST(Parallelize, Refuses) {
  const Mapping mapping(map_2d());
  EXPECT_THAT(refusal(mapping, command("C", "parallelize", {"j", "i"})), HasSubstr("neighbours"));
  EXPECT_THAT(refusal(mapping, command("C", "parallelize", {"i", "static", std::int64_t{0}})),
              HasSubstr("the chunk must be at least 1, got 0"));
  for (const auto &arguments : std::vector<std::vector<Argument>>{
           {}, {"i", std::int64_t{4}}, {"i", "static", "dynamic"}, {"static"}}) {
    EXPECT_FALSE(refusal(mapping, command("C", "parallelize", arguments)).empty());
  }
  EXPECT_THAT(refusal(Mapping(triangle()), command("C", "parallelize", {"i", "j"})),
              HasSubstr("the bounds of loop 'j' depend on those outside of it"));
}

TEST(Split, IsQuotientAndRemainder) {
  const Mapping mapping = Mapping(map_1d()).with(command("C", "split", {"i", std::int64_t{4}}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("i0", "i1"));
  const Program program = build_program(mapping);
  EXPECT_EQ(loops_of(program, "C", {0}, {{"N", 11}}), (Loops{0, 0}));
  EXPECT_EQ(loops_of(program, "C", {7}, {{"N", 11}}), (Loops{1, 3}));
  EXPECT_EQ(loops_of(program, "C", {10}, {{"N", 11}}), (Loops{2, 2}));
}

TEST(Split, OfAReversedLoopRoundsTowardsMinusInfinity) {
  const Mapping mapping = Mapping(map_1d())
                              .with(command("C", "reverse", {"i"}))
                              .with(command("C", "split", {"i", std::int64_t{4}}));
  const Program program = build_program(mapping);
  EXPECT_EQ(loops_of(program, "C", {0}, {{"N", 11}}), (Loops{0, 0}));
  EXPECT_EQ(loops_of(program, "C", {1}, {{"N", 11}}), (Loops{-1, 3}));
  EXPECT_EQ(loops_of(program, "C", {4}, {{"N", 11}}), (Loops{-1, 0}));
}

TEST(Split, TakesNamesAndKnowsTheInnerExtent) {
  const Mapping mapping =
      Mapping(map_1d()).with(command("C", "split", {"i", std::int64_t{4}, "block", "lane"}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("block", "lane"));
  EXPECT_EQ(mapping.time_space("C").dimensions[1].extent, 4);
  EXPECT_EQ(mapping.time_space("C").dimensions[0].extent, 0);
}

TEST(Split, Refuses) {
  const Mapping mapping(map_2d());
  EXPECT_EQ(refusal(mapping, command("C", "split", {"k", std::int64_t{4}})),
            "C.split(\"k\", 4): there is no loop named 'k'; the loops are: i, j");
  EXPECT_THAT(refusal(mapping, command("C", "split", {"i", std::int64_t{0}})),
              HasSubstr("must be at least 1, got 0"));
  EXPECT_THAT(refusal(mapping, command("C", "split", {"i"})),
              HasSubstr("expected split(i, s, i0=None, i1=None)"));
  EXPECT_THAT(refusal(mapping, command("C", "split", {"i", std::int64_t{4}, "j"})),
              HasSubstr("a loop named 'j' is there already"));
  EXPECT_THAT(refusal(mapping, command("C", "split", {"i", std::int64_t{4}, "x", "x"})),
              HasSubstr("got 'x' twice"));
  EXPECT_THAT(refusal(mapping, command("C", "split", {std::int64_t{1}, std::int64_t{4}})),
              HasSubstr("argument 1 (the loop) must be a name"));
}

TEST(Tile, BlocksOutsidePointsInside) {
  const Mapping mapping =
      Mapping(map_2d()).with(command("C", "tile", {"i", "j", std::int64_t{4}, std::int64_t{8}}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("i0", "j0", "i1", "j1"));
  EXPECT_EQ(loops_of(build_program(mapping), "C", {6, 21}, {{"N", 9}, {"M", 30}}),
            (Loops{1, 2, 2, 5}));
}

TEST(Tile, ThreeDimensionsAndNames) {
  const Mapping mapping =
      Mapping(map_3d()).with(command("C", "tile",
                                     {"i", "j", "k", std::int64_t{2}, std::int64_t{3},
                                      std::int64_t{4}, "a", "b", "c", "d", "e", "f"}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("a", "b", "c", "d", "e", "f"));
  EXPECT_EQ(loops_of(build_program(mapping), "C", {5, 5, 5}, {{"N", 6}}),
            (Loops{2, 1, 1, 1, 2, 1}));
}

TEST(Tile, TwoLevels) {
  const Mapping mapping =
      Mapping(map_2d())
          .with(command("C", "tile", {"i", "j", std::int64_t{8}, std::int64_t{8}}))
          .with(command("C", "tile", {"i1", "j1", std::int64_t{2}, std::int64_t{2}}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("i0", "j0", "i10", "j10", "i11", "j11"));
  EXPECT_EQ(loops_of(build_program(mapping), "C", {13, 22}, {{"N", 30}, {"M", 30}}),
            (Loops{1, 2, 2, 3, 1, 0}));
}

TEST(Tile, Refuses) {
  const Mapping mapping(map_3d());
  EXPECT_THAT(
      refusal(mapping, command("C", "tile", {"i", "k", std::int64_t{2}, std::int64_t{2}})),
      HasSubstr(
          "the loops must be neighbours in this order; bring 'k' there with interchange first"));
  EXPECT_THAT(refusal(mapping, command("C", "tile", {"i", "j", std::int64_t{2}})),
              HasSubstr("as many sizes as loops, and names for all new loops or none"));
  EXPECT_THAT(refusal(mapping, command("C", "tile", {"i", "j", std::int64_t{2}, std::int64_t{-1}})),
              HasSubstr("a tile size must be at least 1, got -1"));
  EXPECT_THAT(
      refusal(mapping, command("C", "tile",
                               {"i", "j", std::int64_t{2}, std::int64_t{2}, "a", "b", "a", "c"})),
      HasSubstr("got 'a' twice"));
  EXPECT_THAT(
      refusal(mapping, command("C", "tile",
                               {"i", "j", std::int64_t{2}, std::int64_t{2}, "a", "b", "c", "k"})),
      HasSubstr("a loop named 'k' is there already"));
}

TEST(Interchange, SwapsAnyTwoLoopsWithTheirTags) {
  const Mapping mapping = Mapping(map_3d())
                              .with(command("C", "parallelize", {"i"}))
                              .with(command("C", "interchange", {"i", "k"}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("k", "j", "i"));
  EXPECT_EQ(mapping.time_space("C").dimensions[2].tag.tag, Tag::Parallel);
  EXPECT_EQ(mapping.time_space("C").dimensions[0].tag.tag, Tag::Sequential);
  EXPECT_EQ(loops_of(build_program(mapping), "C", {1, 2, 3}, {{"N", 4}}), (Loops{3, 2, 1}));
  EXPECT_THAT(refusal(mapping, command("C", "interchange", {"i", "l"})),
              HasSubstr("no loop named 'l'"));
}

TEST(Reverse, NegatesTheLoop) {
  const Program program = build_program(Mapping(map_1d()).with(command("C", "reverse", {"i"})));
  EXPECT_EQ(loops_of(program, "C", {3}, {{"N", 4}}), (Loops{-3}));
  EXPECT_TRUE(runs_before(program, "C", {3}, "C", {2}, {{"N", 4}}));
  EXPECT_THAT(refusal(Mapping(map_1d()), command("C", "reverse", {"i", "j"})),
              HasSubstr("expected reverse(i)"));
}

TEST(Shift, AddsToTheLoop) {
  const Program program =
      build_program(Mapping(map_1d()).with(command("C", "shift", {"i", std::int64_t{-2}})));
  EXPECT_EQ(loops_of(program, "C", {3}, {{"N", 4}}), (Loops{1}));
  EXPECT_THAT(refusal(Mapping(map_1d()), command("C", "shift", {"i", "j"})),
              HasSubstr("argument 2 (the shift) must be an integer"));
}

TEST(Scale, MultipliesTheLoop) {
  const Program program =
      build_program(Mapping(map_1d()).with(command("C", "scale", {"i", std::int64_t{3}})));
  EXPECT_EQ(loops_of(program, "C", {2}, {{"N", 4}}), (Loops{6}));
  EXPECT_TRUE(runs_before(program, "C", {2}, "C", {3}, {{"N", 4}}));
  EXPECT_THAT(refusal(Mapping(map_1d()), command("C", "scale", {"i", std::int64_t{0}})),
              HasSubstr("the factor must be 1 or more, got 0"));
  EXPECT_THAT(refusal(Mapping(map_1d()), command("C", "scale", {"i", std::int64_t{1} << 60})),
              HasSubstr("C.scale(\"i\", 1152921504606846976)"));
}

TEST(Scale, AnInnerLoopOfAFixedExtentHasThatNoMore) {
  const Mapping split = Mapping(map_1d()).with(command("C", "split", {"i", std::int64_t{4}}));
  EXPECT_EQ(split.time_space("C").dimensions[1].extent, 4);
  const Mapping scaled = split.with(command("C", "scale", {"i1", std::int64_t{2}}));
  EXPECT_EQ(scaled.time_space("C").dimensions[1].extent, 0);
}

TEST(Skew, AddsAMultipleOfTheOuterLoop) {
  const Mapping mapping = Mapping(map_2d()).with(command("C", "skew", {"i", "j", std::int64_t{2}}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("i", "j"));
  EXPECT_EQ(loops_of(build_program(mapping), "C", {3, 5}, {{"N", 4}, {"M", 6}}), (Loops{3, 11}));
  EXPECT_EQ(loops_of(build_program(Mapping(map_2d()).with(command("C", "skew", {"i", "j"}))), "C",
                     {3, 5}, {{"N", 4}, {"M", 6}}),
            (Loops{3, 8}));
  EXPECT_THAT(refusal(Mapping(map_2d()), command("C", "skew", {"i", "i"})),
              HasSubstr("a loop cannot be skewed by itself"));
}

TEST(Parallelize, TagsTheNamedLoop) {
  const Program program = build_program(Mapping(map_2d()).with(command("C", "parallelize", {"j"})));
  EXPECT_EQ(statement(program, "C").tags[0].tag, Tag::Sequential);
  EXPECT_EQ(statement(program, "C").tags[1].tag, Tag::Parallel);
}

TEST(Vectorize, SplitsALongLoopAndTagsTheInnerOne) {
  const Mapping mapping = Mapping(map_2d()).with(command("C", "vectorize", {"j", std::int64_t{8}}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("i", "j0", "j1"));
  EXPECT_EQ(mapping.time_space("C").dimensions[2].tag, (LoopTag{Tag::Vector, 8}));
}

TEST(Vectorize, TagsALoopOfThatExtentInPlace) {
  const Mapping mapping =
      Mapping(map_2d())
          .with(command("C", "tile", {"i", "j", std::int64_t{4}, std::int64_t{8}}))
          .with(command("C", "vectorize", {"j1", std::int64_t{8}}))
          .with(command("C", "unroll", {"i1"}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("i0", "j0", "i1", "j1"));
  EXPECT_EQ(mapping.time_space("C").dimensions[3].tag, (LoopTag{Tag::Vector, 8}));
  EXPECT_EQ(mapping.time_space("C").dimensions[2].tag, (LoopTag{Tag::Unroll, 4}));
}

TEST(Vectorize, WithoutASizeNeedsAConstantExtent) {
  const auto c = define("{ C[i,j] : 0 <= i < 5 and 0 <= j < 6 }", cast(at("j"), Float32));
  const Mapping mapping = Mapping(function({c})).with(command("C", "vectorize", {"j"}));
  EXPECT_EQ(mapping.time_space("C").dimensions[1].tag, (LoopTag{Tag::Vector, 6}));
  EXPECT_EQ(refusal(Mapping(map_2d()), command("C", "vectorize", {"j"})),
            "C.vectorize(\"j\"): loop 'j' has no constant extent of at most 1024; give a size, "
            "e.g. vectorize(\"j\", 8)");
  EXPECT_THAT(refusal(Mapping(map_2d()), command("C", "unroll", {"j", std::int64_t{2000}})),
              HasSubstr("the size must be at most 1024, got 2000"));
}

TEST(SetSchedule, TakesAnyQuasiAffineMap) {
  const Mapping mapping = Mapping(map_2d()).with(
      command("C", "set_schedule", {"{ C[i,j] -> [i + j, floor(i/2), i] }"}));
  EXPECT_TRUE(mapping.time_space("C").explicit_time);
  EXPECT_EQ(loops_of(build_program(mapping), "C", {3, 5}, {{"N", 4}, {"M", 6}}), (Loops{8, 1, 3}));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("t0", "t1", "i"));
}

TEST(SetSchedule, TakesPiecewiseMapsAndOtherParameterOrders) {
  const Mapping mapping = Mapping(map_2d()).with(
      command("C", "set_schedule",
              {"[M,N] -> { C[i,j] -> [0, i, j] : i < 2; C[i,j] -> [1, j, i] : i >= 2 }"}));
  EXPECT_EQ(loops_of(build_program(mapping), "C", {1, 5}, {{"N", 4}, {"M", 6}}), (Loops{0, 1, 5}));
  EXPECT_EQ(loops_of(build_program(mapping), "C", {3, 5}, {{"N", 4}, {"M", 6}}), (Loops{1, 5, 3}));
}

TEST(SetSchedule, Refuses) {
  const Mapping mapping(map_2d());
  EXPECT_THAT(refusal(mapping, command("C", "set_schedule", {"{ C[i,j] -> [i"})),
              HasSubstr("isl cannot read this map"));
  EXPECT_THAT(refusal(mapping, command("C", "set_schedule", {"{ D[i,j] -> [i,j] }"})),
              HasSubstr("the map must start from C[i,j]"));
  EXPECT_THAT(refusal(mapping, command("C", "set_schedule", {"{ C[i] -> [i] }"})),
              HasSubstr("the map must start from C[i,j]"));
  EXPECT_EQ(refusal(mapping, command("C", "set_schedule", {"{ C[i,j] -> [i,j] : i > 0 }"})),
            "C.set_schedule(\"{ C[i,j] -> [i,j] : i > 0 }\"): the map gives no time to C[0,0] (N = "
            "1, M = 1)");
  EXPECT_THAT(refusal(mapping, command("C", "set_schedule", {"{ C[i,j] -> [i] }"})),
              HasSubstr("gives the same time to two instances, for example C[0,0] and C[0,1] "
                        "(N = 1, M = 2)"));
  EXPECT_THAT(
      refusal(mapping, command("C", "set_schedule", {"{ C[i,j] -> [i,j]; C[i,j] -> [i+1,j] }"})),
      HasSubstr("the map gives the same time to two instances"));
}

TEST(Commands, UnknownNamesAreRefusedWithWhatThereIs) {
  const Mapping mapping(map_2d());
  EXPECT_THAT(refusal(mapping, command("C", "tyle", {})),
              HasSubstr("there is no such command; the commands are: after, "));
  EXPECT_THAT(refusal(mapping, command("D", "reverse", {"i"})),
              HasSubstr("'D' is not a computation of function 'f'; its computations are: C"));
}

TEST(Commands, AFailedCommandLeavesTheMappingAsItWas) {
  const Mapping mapping = Mapping(map_2d()).with(command("C", "split", {"i", std::int64_t{2}}));
  const std::string before = layer_two(mapping);
  refusal(mapping,
          command("C", "tile", {"i0", "i1", std::int64_t{2}, std::int64_t{2}, "j", "a", "b", "c"}));
  EXPECT_EQ(layer_two(mapping), before);
  EXPECT_EQ(mapping.schedule().commands.size(), 1u);
}

TEST(Schedule, PrintsAsPython) {
  const Mapping mapping =
      Mapping(pointwise_pair())
          .with(command("B", "tile", {"i", "j", std::int64_t{4}, std::int64_t{8}}))
          .with(command("B", "parallelize", {"i0"}))
          .with(command("C", "after", {"B"}));
  EXPECT_EQ(to_string(mapping.schedule()),
            "B.tile(\"i\", \"j\", 4, 8).parallelize(\"i0\")\nC.after(\"B\")");
}

TEST(LayerTwo, IsPrintedAsInThePapers) {
  const Mapping mapping = Mapping(map_2d())
                              .with(command("C", "split", {"j", std::int64_t{8}}))
                              .with(command("C", "parallelize", {"i"}));
  EXPECT_THAT(layer_two(mapping), HasSubstr("{ C[i, j] -> [1, i(cpu), 1, j0, 1, j1, 1] : "));
}

TEST(Program, EveryInstanceHasATime) {
  // What no command makes: a loop that is a whole number at some instances only, or says nothing.
  for (const auto &[value, missing] : std::vector<std::pair<std::string, std::string>>{
           {"{ C[i] -> [(i/2)] }", "C[1] (N = 2)"},
           {"{ C[i] -> [(i)] : i > 0 }", "C[0] (N = 1)"},
           {"[N] -> { C[i] -> [((N + i)/3)] }", "C[0] (N = 1)"}}) {
    MappingState state = Mapping(map_1d()).state();
    state.time_space.at("C").dimensions[0].value = isl::pw_aff(isl_context(), value);
    try {
      build_program(state);
      FAIL() << value;
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Schedule);
      EXPECT_THAT(error.what(), HasSubstr("loop 'i' of C gives no time to " + missing));
    }
  }
  MappingState whole = Mapping(map_1d()).state();
  whole.time_space.at("C").dimensions[0].value =
      isl::pw_aff(isl_context(), "{ C[i] -> [(floor(i/2))] : i > 3; C[i] -> [(2i)] : i <= 3 }");
  EXPECT_NO_THROW(build_program(whole));
}

} // namespace
} // namespace tilewright
