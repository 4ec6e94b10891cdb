// Maps that are no plain affine functions: instances at several times, blocks of a part of a
// parameter, and packed triangles.
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;
using Loops = std::vector<std::int64_t>;

TEST(OneToMany, AsFewLoopsAsCanBeTellCopiesApart) {
  const Mapping plain(map_2d());
  const auto program_of = [&](const std::string &map) {
    return build_program(plain.with(command("C", "set_schedule", {map})));
  };
  const Program inner = program_of("{ C[i,j] -> [i, c, j] : j <= c <= j + 1 }");
  EXPECT_TRUE(inner.statements.front().copied);
  EXPECT_EQ(inner.statements.front().replicas, 2u);
  EXPECT_THAT(inner.statements.front().iterators, ElementsAre("@i", "@c", "i", "j"));
  const Program outer = program_of("{ C[i,j] -> [c, i, j] : 0 <= c <= 1 }");
  EXPECT_EQ(outer.statements.front().replicas, 1u);
  EXPECT_EQ(outer.statements.front().anew, 0u);
  EXPECT_EQ(loops_of(outer, "C", {1, 3, 5}, {{"N", 4}, {"M", 6}}), (Loops{1, 3, 5}));
  const Program single = program_of("{ C[i,j] -> [c, i, j] : i <= c <= i }");
  EXPECT_FALSE(single.statements.front().copied);
}

TEST(OneToMany, RefusesWhatNeedsOneTime) {
  const Mapping copied = Mapping(map_2d()).with(
      command("C", "set_schedule", {"{ C[i,j] -> [c, i, j] : 0 <= c <= 1 }"}));
  EXPECT_THAT(refusal(copied, command("C", "apply_schedule", {"{ [c,i,j] -> [i,c,j] }"})),
              HasSubstr("run at several times each"));
  EXPECT_THAT(refusal(copied, command("C", "gpu_block", {"i"})),
              HasSubstr("run at several times each"));
  EXPECT_THAT(refusal(Mapping(map_2d()),
                      command("C", "set_schedule", {"{ C[i,j] -> [c, i, j] : c <= 1 }"})),
              HasSubstr("nothing bounds dimension 0"));
}

TEST(SplitByParameters, BlocksAreCases) {
  const Mapping mapping = Mapping(map_1d()).with(command("C", "split", {"i", "(N + 3) // 4"}));
  const Program program = build_program(mapping);
  EXPECT_EQ(loops_of(program, "C", {0}, {{"N", 11}}), (Loops{0, 0}));
  EXPECT_EQ(loops_of(program, "C", {7}, {{"N", 11}}), (Loops{2, 1}));
  EXPECT_EQ(loops_of(program, "C", {10}, {{"N", 11}}), (Loops{3, 1}));
  EXPECT_THAT(refusal(Mapping(map_1d()), command("C", "split", {"i", "N // 40"})),
              HasSubstr("more than 16 in loop 'i'"));
}

TEST(PackedTriangle, IsPackedForAddressesOnly) {
  const Mapping plain(triangle());
  EXPECT_THAT(refusal(plain, command("C", "store_in", {"C[i*(i+1)//2 + j]"})),
              HasSubstr("is an array of the caller"));
  EXPECT_THAT(refusal(Mapping(pointwise_pair()), command("B", "store_in", {"p[i*(i+1)//2 + j]"})),
              HasSubstr("a packed triangle i*(i+1)//2 + j has elements 0 <= j <= i"));
}

} // namespace
} // namespace tilewright
