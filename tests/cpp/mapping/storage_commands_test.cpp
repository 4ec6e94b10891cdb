// store_in: the element that each instance is stored in, the size of the buffer, and what is
// refused.
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;

/// The message with which the scheduled program, not the command alone, is refused.
std::string program_refusal(const Mapping &mapping, const Command &given) {
  try {
    build_program(mapping.with(given));
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Schedule) << error.what();
    return error.what();
  }
  ADD_FAILURE() << to_string(given) << " was not refused";
  return "";
}

std::vector<std::string> extents_of(const Mapping &mapping, const std::string &buffer) {
  const Program program = build_program(mapping);
  for (const Buffer &candidate : program.buffers) {
    if (candidate.name == buffer) {
      std::vector<std::string> extents;
      for (const ExprPtr &extent : candidate.extents) {
        extents.push_back(to_string(extent));
      }
      return extents;
    }
  }
  return {"no such buffer"};
}

TEST(StoreIn, ByDefaultABufferOfTheComputationsShape) {
  EXPECT_THAT(extents_of(Mapping(map_2d()), "A"), ElementsAre("N", "M"));
  EXPECT_THAT(layer_three(Mapping(pointwise_pair())),
              HasSubstr("{ B[i, j] -> B[i, j] }    B: float32["));
}

TEST(StoreIn, PermutedSubscripts) {
  const Mapping mapping =
      Mapping(pointwise_pair()).with(command("B", "store_in", {"buffer[j, i]"}));
  EXPECT_EQ(mapping.storage("B").buffer, "buffer");
  EXPECT_THAT(extents_of(mapping, "buffer"), ElementsAre("M", "N"));
}

TEST(StoreIn, ProjectedAndFoldedSubscripts) {
  const Mapping projected = Mapping(pointwise_pair()).with(command("B", "store_in", {"row[j]"}));
  EXPECT_THAT(extents_of(projected, "row"), ElementsAre("M"));
  const Mapping folded = Mapping(jacobi_1d()).with(command("A", "store_in", {"ring[t mod 2, i]"}));
  EXPECT_EQ(extents_of(folded, "ring").size(), 2u);
  const Mapping scalar = Mapping(pointwise_pair()).with(command("B", "store_in", {"one[0]"}));
  EXPECT_EQ(extents_of(scalar, "one").size(), 1u);
}

TEST(StoreIn, SizesMayBeGiven) {
  const Mapping mapping =
      Mapping(jacobi_1d())
          .with(command("A", "store_in",
                        {"ring[t mod 2, i]", std::vector<std::string>{"2", "N + 4"}}));
  EXPECT_THAT(extents_of(mapping, "ring"), ElementsAre("2", "N + 4"));
}

TEST(StoreIn, Refuses) {
  const Mapping mapping(pointwise_pair());
  EXPECT_THAT(
      refusal(mapping, command("B", "store_in", {"buffer[i*j]"})),
      HasSubstr("'buffer[i*j]' is not a buffer with affine subscripts in the iterators of B[i,j]"));
  EXPECT_THAT(refusal(mapping, command("B", "store_in", {"[i, j]"})),
              HasSubstr("the buffer needs a name"));
  EXPECT_THAT(refusal(mapping, command("B", "store_in", {"A[i]"})),
              HasSubstr("has 2 dimensions, and 1 subscript was given"));
  EXPECT_THAT(refusal(mapping, command("C", "store_in", {"row[j]"})),
              HasSubstr("C is an output, and two of its elements would share one place"));
  EXPECT_THAT(
      refusal(mapping, command("B", "store_in", {"b[i, j]", std::vector<std::string>{"N"}})),
      HasSubstr("the buffer has 2 dimensions but 1 sizes were given"));
  EXPECT_THAT(refusal(mapping, command("B", "store_in",
                                       {"b[i, j]", std::vector<std::string>{"N", "M - 1"}})),
              HasSubstr("element b[0,0] (N = 1, M = 1) lies outside the buffer"));
  EXPECT_THAT(
      refusal(mapping, command("B", "store_in", {"b[i, j]", std::vector<std::string>{"N", "M*N"}})),
      HasSubstr("'M*N' is not an affine size in the parameters"));
  EXPECT_THAT(refusal(mapping, command("B", "store_in",
                                       {"b[i - 1, j]", std::vector<std::string>{"N", "M"}})),
              HasSubstr("lies outside the buffer, which begins at 0 if its size is given"));
}

TEST(StoreIn, AnOutputKeepsTheShapeThatACallerSees) {
  const Mapping mapping(pointwise_pair());
  EXPECT_THAT(refusal(mapping, command("C", "store_in", {"out[j, i]"})),
              HasSubstr("C is an output"));
  EXPECT_THAT(refusal(mapping, command("C", "store_in", {"out[i + 1, j]"})),
              HasSubstr("C is an output"));
}

TEST(StoreIn, TwoOutputsNeverShareABuffer) {
  const auto x = input("x", {size("N")});
  const auto c = define("[N] -> { C[i] : 0 <= i < N }", plus(access(x, {at("i")}), whole(1)));
  const auto d = define("[N] -> { D[i] : 0 <= i < N }", plus(access(x, {at("i")}), whole(2)));
  const Mapping mapping(function({c, d}));
  EXPECT_THAT(program_refusal(mapping, command("D", "store_in", {"C[i]"})),
              HasSubstr("D is an output"));
}

TEST(StoreIn, ATemporaryKeepsToTheElementsThatTheOutputWrites) {
  const auto x = input("x", {size("N")});
  const auto b = define("[N] -> { B[i] : 0 <= i < N }", plus(access(x, {at("i")}), whole(1)));
  const auto c = define("[N] -> { C[i] : 0 < i < N }", access(b, {at("i")}));
  EXPECT_EQ(program_refusal(Mapping(function({c})), command("B", "store_in", {"C[i]"})),
            "B cannot be stored in the output 'C', which does not write element C[0] of the "
            "caller's array (N = 1)");
}

TEST(StoreIn, AnOutputsBufferIsNotEnlargedForATemporary) {
  const Mapping mapping(two_stencils());
  // B has one element more than the output C, which the caller's array has no room for.
  EXPECT_THAT(program_refusal(mapping, command("B", "store_in", {"C[i]"})),
              HasSubstr("B cannot be stored in the output 'C'"));
  const Mapping fits = Mapping(pointwise_pair()).with(command("B", "store_in", {"C[i, j]"}));
  EXPECT_EQ(build_program(fits).buffers.size(), 2u);
}

TEST(StoreIn, ComputationsOfOneBufferHaveOneType) {
  const auto x = input("x", {size("N")});
  const auto b = define("[N] -> { B[i] : 0 <= i < N }", cast(access(x, {at("i")}), Int32), Int32);
  const auto c = define("[N] -> { C[i] : 0 <= i < N }", cast(access(b, {at("i")}), Float32));
  const Mapping mapping(function({c}));
  EXPECT_THAT(program_refusal(mapping, command("B", "store_in", {"C[i]"})),
              HasSubstr("cannot be stored in buffer 'C'"));
}

/// B and C of pointwise_pair in one loop over i.
Mapping fused_pair() { return Mapping(pointwise_pair()).with(command("C", "after", {"B", "i"})); }

TEST(Private, ABufferForEachIteration) {
  const Mapping mapping = fused_pair().with(command("B", "private", {"i"}));
  EXPECT_THAT(extents_of(mapping, "B"), ElementsAre("1", "M"));
  const Program program = build_program(mapping);
  for (const Buffer &buffer : program.buffers) {
    EXPECT_EQ(buffer.level, buffer.name == "B" ? 1 : 0);
  }
}

TEST(Private, FollowsTheLoopThatWasNamed) {
  const Mapping split =
      fused_pair().with(command("B", "private", {"i"})).with(command("B", "reverse", {"i"}));
  EXPECT_EQ(split.state().allocations.at("B").levels, 1);
  const Mapping both = Mapping(pointwise_pair()).with(command("C", "after", {"B", "j"}));
  const Mapping inner = both.with(command("B", "private", {"j"}));
  EXPECT_EQ(inner.state().allocations.at("B").levels, 2);
  EXPECT_THAT(extents_of(inner, "B"), ElementsAre("1", "1"));
}

TEST(Private, EndsWhereItIsPlacedAnew) {
  const Mapping moved =
      fused_pair().with(command("B", "private", {"i"})).with(command("B", "store_in", {"b[i, j]"}));
  EXPECT_TRUE(moved.state().allocations.empty());
}

TEST(Private, IsRefusedWhereAReaderStandsOutside) {
  EXPECT_THAT(program_refusal(Mapping(pointwise_pair()), command("B", "private", {"i"})),
              HasSubstr("C reads it outside of that loop"));
}

} // namespace
} // namespace tilewright
