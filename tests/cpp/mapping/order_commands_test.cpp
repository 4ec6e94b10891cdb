// after, before, then and set_schedule: the order among computations and the loops they share.
#include "mapping/example_functions.h"
#include "mapping/static_order.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;

const Sizes sizes = {{"N", 4}, {"M", 5}};

std::vector<int> order_of(const Mapping &mapping, const std::string &computation) {
  return static_order(mapping.state()).at(computation);
}

/// D and E and F all read A: three independent computations, F the last of the function.
std::shared_ptr<const Function> three_computations() {
  const auto a = input("A", {size("N"), size("M")});
  std::vector<ComputationPtr> outputs;
  for (const char *name : {"D", "E", "F"}) {
    outputs.push_back(
        define("[N,M] -> { " + std::string(name) + "[i,j] : 0 <= i < N and 0 <= j < M }",
               plus(access(a, {at("i"), at("j")}), whole(1))));
  }
  return function(outputs);
}

TEST(StaticOrder, ProducersFirstInNestsOfTheirOwn) {
  const Mapping mapping(pointwise_pair());
  EXPECT_THAT(order_of(mapping, "B"), ElementsAre(0, 0, 0));
  EXPECT_THAT(order_of(mapping, "C"), ElementsAre(1, 0, 0));
  EXPECT_TRUE(runs_before(build_program(mapping), "B", {3, 4}, "C", {0, 0}, sizes));
}

TEST(After, AtTheRootSharesNoLoop) {
  const Mapping mapping = Mapping(three_computations()).with(command("D", "after", {"F"}));
  EXPECT_THAT(order_of(mapping, "E"), ElementsAre(0, 0, 0));
  EXPECT_THAT(order_of(mapping, "F"), ElementsAre(1, 0, 0));
  EXPECT_THAT(order_of(mapping, "D"), ElementsAre(2, 0, 0));
}

TEST(After, SharesLoopsDownToALevel) {
  const Mapping outer = Mapping(pointwise_pair()).with(command("C", "after", {"B", "i"}));
  EXPECT_THAT(order_of(outer, "B"), ElementsAre(0, 0, 0));
  EXPECT_THAT(order_of(outer, "C"), ElementsAre(0, 1, 0));
  const Program program = build_program(outer);
  EXPECT_TRUE(runs_before(program, "B", {1, 4}, "C", {1, 0}, sizes));
  EXPECT_TRUE(runs_before(program, "C", {1, 4}, "B", {2, 0}, sizes));

  const Mapping inner = Mapping(pointwise_pair()).with(command("C", "after", {"B", "j"}));
  EXPECT_THAT(order_of(inner, "C"), ElementsAre(0, 0, 1));
  EXPECT_TRUE(runs_before(build_program(inner), "C", {1, 1}, "B", {1, 2}, sizes));
}

TEST(Before, ComesFirstInTheSharedLoop) {
  const Mapping mapping = Mapping(three_computations()).with(command("F", "before", {"D", "i"}));
  EXPECT_THAT(order_of(mapping, "F"), ElementsAre(0, 0, 0));
  EXPECT_THAT(order_of(mapping, "D"), ElementsAre(0, 1, 0));
  EXPECT_THAT(order_of(mapping, "E"), ElementsAre(1, 0, 0));
  EXPECT_TRUE(runs_before(build_program(mapping), "F", {1, 4}, "D", {1, 0}, sizes));
}

TEST(Then, PlacesTheOtherOneAfter) {
  const Mapping mapping = Mapping(three_computations())
                              .with(command("F", "then", {"E", "j"}))
                              .with(command("E", "then", {"D", "i"}));
  const Program program = build_program(mapping);
  EXPECT_TRUE(runs_before(program, "F", {1, 1}, "E", {1, 1}, sizes));
  EXPECT_TRUE(runs_before(program, "E", {1, 1}, "F", {1, 2}, sizes));
  EXPECT_TRUE(runs_before(program, "E", {1, 4}, "D", {1, 0}, sizes));
  EXPECT_TRUE(runs_before(program, "D", {1, 4}, "F", {2, 0}, sizes));
}

TEST(After, TheLaterPlacementOfOneComputationCounts) {
  const Mapping mapping = Mapping(three_computations())
                              .with(command("F", "after", {"D", "i"}))
                              .with(command("F", "after", {"E"}));
  EXPECT_THAT(order_of(mapping, "F"), ElementsAre(2, 0, 0));
}

TEST(After, Refuses) {
  const Mapping mapping(three_computations());
  EXPECT_EQ(refusal(mapping, command("D", "after", {"D"})),
            "D.after(\"D\"): a computation cannot be placed relative to itself");
  EXPECT_THAT(refusal(mapping, command("D", "after", {"G"})),
              HasSubstr("there is no computation named 'G'; the computations are: D, E, F"));
  EXPECT_THAT(refusal(mapping, command("D", "after", {"E", "k"})),
              HasSubstr("there is no loop named 'k'"));
  const Mapping placed =
      mapping.with(command("D", "after", {"E"})).with(command("E", "after", {"F"}));
  EXPECT_THAT(refusal(placed, command("F", "before", {"D"})),
              HasSubstr("D is itself placed relative to F; the order would be circular"));
}

TEST(After, RefusesToShareMoreLoopsThanThereAre) {
  const auto a = input("A", {size("N"), size("M")});
  const auto b = define("[N,M] -> { B[i,j] : 0 <= i < N and 0 <= j < M }",
                        plus(access(a, {at("i"), at("j")}), whole(1)));
  const auto d = define("[N,M] -> { D[i] : 0 <= i < N and M > 0 }",
                        access(b, {at("i"), constant(std::int64_t{0}, Int64)}));
  const Mapping mapping(function({d}));
  EXPECT_THAT(refusal(mapping, command("D", "after", {"B", "j"})),
              HasSubstr("D has 1 loop and cannot share the 2 outermost loops of B"));
}

TEST(SetSchedule, ComputationsShareOneTimeSpace) {
  const Mapping mapping = Mapping(pointwise_pair())
                              .with(command("B", "set_schedule", {"{ B[i,j] -> [i, 0, j] }"}))
                              .with(command("C", "set_schedule", {"{ C[i,j] -> [i, 1, j] }"}));
  const Program program = build_program(mapping);
  EXPECT_EQ(order_of(mapping, "B"), order_of(mapping, "C"));
  EXPECT_TRUE(runs_before(program, "B", {1, 4}, "C", {1, 0}, sizes));
  EXPECT_TRUE(runs_before(program, "C", {1, 4}, "B", {2, 0}, sizes));
}

TEST(Reduction, InitialisationComesRightBeforeTheFirstReducedLoop) {
  const Program program = build_program(Mapping(matmul()));
  const Statement &init = statement(program, "C_init");
  EXPECT_EQ(init.role, StatementRole::Initialise);
  EXPECT_EQ(statement(program, "C").role, StatementRole::Update);
  const Sizes all = {{"N", 3}, {"M", 3}, {"K", 3}};
  EXPECT_TRUE(runs_before(program, "C_init", {1, 1}, "C", {1, 1, 0}, all));
  EXPECT_TRUE(runs_before(program, "C", {1, 0, 2}, "C_init", {1, 1}, all));
}

TEST(Reduction, InitialisationFollowsALoopOrderWithTheReducedLoopOutside) {
  const Program program =
      build_program(Mapping(matmul()).with(command("C", "interchange", {"i", "k"})));
  const Sizes all = {{"N", 3}, {"M", 3}, {"K", 3}};
  EXPECT_TRUE(runs_before(program, "C_init", {2, 2}, "C", {0, 0, 0}, all));
  EXPECT_TRUE(checked(time_map(statement(program, "C_init")).is_injective(), "injective"));
}

TEST(Reduction, InitialisationStaysInsideASplitOuterLoop) {
  const Program program = build_program(
      Mapping(matmul()).with(command("C", "tile", {"j", "k", std::int64_t{2}, std::int64_t{2}})));
  const Sizes all = {{"N", 3}, {"M", 5}, {"K", 3}};
  EXPECT_TRUE(runs_before(program, "C_init", {1, 3}, "C", {1, 3, 0}, all));
  EXPECT_TRUE(runs_before(program, "C", {1, 1, 2}, "C_init", {1, 2}, all));
  EXPECT_TRUE(checked(time_map(statement(program, "C_init")).is_injective(), "injective"));
}

TEST(Reduction, OverNothingIsInitialisedUnderAnySchedule) {
  const auto x = input("x", {size("N")});
  const ExprPtr never = binary(Op::Lt, at("k"), whole(0));
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), size("N")}},
                             access(x, {at("k")}), never);
  const Mapping mapping = Mapping(function({define("[N] -> { S[i] : 0 <= i < N }", sum)}))
                              .with(command("S", "set_schedule", {"{ S[i,k] -> [k, i] }"}));
  const Program program = build_program(mapping);
  EXPECT_FALSE(loops_of(program, "S_init", {1}, {{"N", 2}}).empty());
}

TEST(Inline, OfAReductionGivesItsReaderTheReducedLoops) {
  const auto a = input("A", {size("N"), size("K")});
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), size("K")}},
                             access(a, {at("i"), at("k")}));
  const auto s = define("[N] -> { S[i] : 0 <= i < N }", sum);
  const auto c = define("[N] -> { C[i,k] : 0 <= i < N and 0 <= k < 4 }", access(s, {at("i")}));
  const Mapping mapping = Mapping(function({c}))
                              .with(command("C", "split", {"i", std::int64_t{2}}))
                              .with(command("S", "inline", {}));
  ASSERT_EQ(loop_names(mapping, "C").size(), 4u) << layer_two(mapping);
  const Program program = build_program(mapping);
  EXPECT_EQ(statement(program, "C").role, StatementRole::Update) << layer_two(mapping);
  EXPECT_EQ(loops_of(program, "C", {3, 2, 1}, {{"N", 4}, {"K", 2}}),
            (std::vector<std::int64_t>{1, 1, 2, 1}));
}

TEST(Inline, OfAReductionReadThroughASubscriptThatIsNotAffineIsRefused) {
  const auto index = input("index", {size("N")}, Int64);
  const auto a = input("A", {size("N"), size("N")});
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), at("i")}},
                             access(a, {at("i"), at("k")}));
  const auto s = define("[N] -> { S[i] : 0 <= i < N }", sum);
  const auto c = define("[N] -> { C[i] : 0 <= i < N }", access(s, {access(index, {at("i")})}));
  EXPECT_THAT(refusal(Mapping(function({c})), command("S", "inline", {})),
              HasSubstr("C reads S[index[i]]"));
}

TEST(Program, PiecesAreStatementsOfTheirOwnInOneNest) {
  const Program program = build_program(Mapping(prefix_sum()));
  EXPECT_EQ(program.statements.size(), 2u);
  EXPECT_TRUE(runs_before(program, "P_0", {0}, "P_1", {1}, sizes));
  EXPECT_EQ(statement(program, "P_0").order, statement(program, "P_1").order);
}

TEST(Program, BuffersAreInputsThenOutputsThenTemporaries) {
  const Program program = build_program(Mapping(pointwise_pair()));
  ASSERT_EQ(program.buffers.size(), 3u);
  EXPECT_EQ(program.buffers[0].kind, BufferKind::Input);
  EXPECT_EQ(program.buffers[1].name, "C");
  EXPECT_EQ(program.buffers[1].kind, BufferKind::Output);
  EXPECT_EQ(program.buffers[2].name, "B");
  EXPECT_EQ(program.buffers[2].kind, BufferKind::Temporary);
}

} // namespace
} // namespace tilewright
