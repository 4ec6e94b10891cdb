// set_schedule of one computation and of all, and apply_schedule: the loops that maps make, their
// names, and what each refuses.
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;

using Loops = std::vector<std::int64_t>;

Command map_of(const std::string &computation, const std::string &text) {
  return command(computation, "set_schedule", {text});
}
Command apply(const std::string &text) { return command("C", "apply_schedule", {text}); }

TEST(SetSchedule, KeepsTheNamesOfTheMap) {
  const Mapping plain(map_2d());
  const auto names = [&](const std::string &text) {
    return loop_names(plain.with(map_of("C", text)), "C");
  };
  EXPECT_THAT(names("{ C[i,j] -> [t = i + j, p = j] }"), ElementsAre("t", "p"));
  EXPECT_THAT(names("{ C[i,j] -> [a, b] : a = j and b = i }"), ElementsAre("a", "b"));
  EXPECT_THAT(names("{ C[i,j] -> [j, i] }"), ElementsAre("j", "i"));
  EXPECT_THAT(names("{ C[i,j] -> [i + j, i] }"), ElementsAre("t0", "i"));
  EXPECT_THAT(names("{ C[i,j] -> [t1 = i, i + j] }"), ElementsAre("t1", "t1_"));
}

TEST(SetSchedule, OfTheWholeFunctionGivesEachComputationItsMap) {
  const Mapping mapping = Mapping(pointwise_pair())
                              .with(map_of("", "{ B[i,j] -> [t = i, 0, j(cpu)]; "
                                               "C[i,j] -> [i, 1, j] }"));
  EXPECT_THAT(loop_names(mapping, "B"), ElementsAre("t", "t1", "j"));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("i", "t1", "j"));
  EXPECT_EQ(mapping.time_space("B").dimensions[2].tag.tag, Tag::Parallel);
  EXPECT_EQ(mapping.time_space("C").dimensions[2].tag.tag, Tag::Sequential);
  const Program program = build_program(mapping);
  EXPECT_EQ(loops_of(program, "B", {3, 5}, {{"N", 4}, {"M", 6}}), (Loops{3, 0, 5}));
  EXPECT_EQ(loops_of(program, "C", {3, 5}, {{"N", 4}, {"M", 6}}), (Loops{3, 1, 5}));
}

TEST(SetSchedule, OfTheWholeFunctionRefuses) {
  const Mapping mapping(pointwise_pair());
  const auto refused = [&](const std::string &text) { return refusal(mapping, map_of("", text)); };
  EXPECT_THAT(refused("{ B[i,j] -> [i, j] }"), HasSubstr("says nothing of C"));
  EXPECT_THAT(refused("{ B[i,j] -> [i, j]; C[i,j] -> [i, j]; Z[i] -> [i, 0] }"),
              HasSubstr("column 39: there is no computation named 'Z'"));
  EXPECT_THAT(refused("{ B[i,j] -> [i, j]; C[i,j] -> [i, j, 0] }"),
              HasSubstr("column 21: the times of C have 3 dimensions and those of B 2"));
  EXPECT_THAT(refused("{ B[i,j] -> [i, j]; C[i,j] -> [Q + i, j] }"),
              HasSubstr("column 32: 'Q' is no parameter"));
  EXPECT_THAT(refused("{ B[i,j] -> [i, j]; C[i,j] -> [i, j] } x"),
              HasSubstr("'x' follows the closing brace"));
  EXPECT_THAT(refusal(mapping, command("", "reverse", {"i"})),
              HasSubstr("a command of a computation"));
  EXPECT_THAT(refusal(mapping, command("", "nothing", {})), HasSubstr("no such command"));
}

TEST(ApplySchedule, ComposesWithTheLoops) {
  const Mapping mapping = Mapping(map_2d())
                              .with(command("C", "split", {"i", std::int64_t{4}}))
                              .with(apply("{ [i0, i1, j] -> [j, w = i0 + 2 * i1, i1] }"));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("j", "w", "i1"));
  const Program program = build_program(mapping);
  EXPECT_EQ(loops_of(program, "C", {7, 5}, {{"N", 9}, {"M", 6}}), (Loops{5, 7, 3}));
}

TEST(ApplySchedule, KeepsWhatIsSaidOfALoop) {
  const Mapping mapping = Mapping(map_3d())
                              .with(command("C", "vectorize", {"k", std::int64_t{4}}))
                              .with(command("C", "parallelize", {"i"}))
                              .with(apply("{ [i, j, a, b] -> [i + j, row = i, a, b] }"));
  EXPECT_THAT(loop_names(mapping, "C"), ElementsAre("t0", "row", "k0", "k1"));
  EXPECT_EQ(mapping.time_space("C").dimensions[1].tag.tag, Tag::Parallel);
  EXPECT_EQ(mapping.time_space("C").dimensions[3].tag.tag, Tag::Vector);
  EXPECT_EQ(mapping.time_space("C").dimensions[3].extent, 4);
}

TEST(ApplySchedule, Refuses) {
  const Mapping mapping(map_2d());
  const auto refused = [&](const std::string &text) { return refusal(mapping, apply(text)); };
  EXPECT_THAT(refused("{ [i] -> [i] }"), HasSubstr("starts from 1 dimension, but C has 2 loops"));
  EXPECT_THAT(refused("{ C[i,j] -> [i, j] }"), HasSubstr("maps the loops [i, j]"));
  EXPECT_THAT(refused("{ [j,i] -> [i, j] }"), HasSubstr("is called 'j', as another loop"));
  EXPECT_THAT(refused("{ [i,j] -> [i + j] }"), HasSubstr("the same time to two instances"));
  EXPECT_THAT(refused("{ [i,j] -> [i, j] : i >= 1 }"),
              HasSubstr("gives no time to C[0,0] (N = 1, M = 1), iteration i = 0, j = 0"));
  EXPECT_THAT(refused("{ [i,j] -> [i, t] : j <= t <= j + 1 }"),
              HasSubstr("for example [0,0] and [0,1] to C[0,0]"));
  const Mapping tagged = mapping.with(command("C", "parallelize", {"i"}));
  EXPECT_THAT(refusal(tagged, apply("{ [i,j] -> [i + j, j] }")),
              HasSubstr("loop 'i' is a parallel loop"));
}

} // namespace
} // namespace tilewright
