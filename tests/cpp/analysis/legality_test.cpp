// The one legality question on small programs whose answer is known: order, concurrent loops,
// reductions, storage.
#include "analysis/legality.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using Kind = Violation::Kind;

std::optional<Violation> violation(const Mapping &mapping) {
  return find_violation(build_program(mapping));
}

Mapping apply(Mapping mapping, const std::vector<Command> &commands) {
  for (const Command &given : commands) {
    mapping = mapping.with(given);
  }
  return mapping;
}

void expect_legal(const Mapping &mapping) {
  const std::optional<Violation> found = violation(mapping);
  EXPECT_FALSE(found) << found->explanation << ": " << found->source_instance << " -> "
                      << found->sink_instance << " " << found->parameters;
}

/// The kind and the witness of the violation; the test fails when there is none.
Violation expect_illegal(const Mapping &mapping, Kind kind) {
  const std::optional<Violation> found = violation(mapping);
  if (!found) {
    ADD_FAILURE() << "found legal: " << to_string(mapping.schedule());
    return {};
  }
  EXPECT_EQ(static_cast<int>(found->kind), static_cast<int>(kind)) << found->explanation;
  EXPECT_FALSE(found->source_instance.empty());
  EXPECT_FALSE(found->sink_instance.empty());
  return *found;
}

constexpr std::int64_t two = 2;

// ---- order ----

TEST(Legality, ProducersBeforeConsumersIsLegal) {
  expect_legal(Mapping(two_stencils()));
  expect_legal(Mapping(pointwise_pair()));
  expect_legal(Mapping(matmul()));
  expect_legal(Mapping(prefix_sum()));
}

TEST(Legality, ConsumerBeforeItsProducerIsNot) {
  const Violation found = expect_illegal(
      apply(Mapping(pointwise_pair()), {command("C", "before", {"B"})}), Kind::Order);
  EXPECT_EQ(found.source_instance, "B[0,0]");
  EXPECT_EQ(found.sink_instance, "C[0,0]");
  EXPECT_EQ(found.parameters, "N = 1, M = 1");
  EXPECT_EQ(found.explanation, "C reads what B writes, but is scheduled before it");
}

TEST(Legality, TheSameTimeIsNoOrder) {
  const Violation found = expect_illegal(
      apply(Mapping(pointwise_pair()), {command("B", "set_schedule", {"{ B[i,j] -> [i,j] }"}),
                                        command("C", "set_schedule", {"{ C[i,j] -> [i,j] }"})}),
      Kind::Order);
  EXPECT_EQ(found.explanation, "C reads what B writes, but both are scheduled at the same time");
}

TEST(Fusion, PointwiseComputationsFuseAtEveryLevel) {
  expect_legal(apply(Mapping(pointwise_pair()), {command("C", "after", {"B", "i"})}));
  expect_legal(apply(Mapping(pointwise_pair()), {command("C", "after", {"B", "j"})}));
  expect_illegal(apply(Mapping(pointwise_pair()), {command("C", "before", {"B", "j"})}),
                 Kind::Order);
}

TEST(Fusion, OfStencilsNeedsAShift) {
  const Violation found = expect_illegal(
      apply(Mapping(two_stencils()), {command("C", "after", {"B", "i"})}), Kind::Order);
  EXPECT_EQ(found.source_instance, "B[1]");
  EXPECT_EQ(found.sink_instance, "C[0]");
  expect_legal(apply(Mapping(two_stencils()), {command("C", "shift", {"i", std::int64_t{1}}),
                                               command("C", "after", {"B", "i"})}));
  expect_legal(apply(Mapping(two_stencils()), {command("B", "shift", {"i", std::int64_t{-1}}),
                                               command("C", "after", {"B", "i"})}));
  expect_illegal(apply(Mapping(two_stencils()), {command("C", "shift", {"i", std::int64_t{1}}),
                                                 command("C", "before", {"B", "i"})}),
                 Kind::Order);
  expect_legal(apply(Mapping(two_stencils()),
                     {command("C", "shift", {"i", two}), command("C", "before", {"B", "i"})}));
}

TEST(Fusion, OfShiftedStencilsForbidsAParallelLoop) {
  const Mapping fused =
      apply(Mapping(two_stencils()),
            {command("C", "shift", {"i", std::int64_t{1}}), command("C", "after", {"B", "i"})});
  expect_illegal(
      apply(fused, {command("B", "parallelize", {"i"}), command("C", "parallelize", {"i"})}),
      Kind::Order);
  // One of the two tags is enough for the loop to be concurrent.
  expect_illegal(apply(fused, {command("B", "parallelize", {"i"})}), Kind::Order);
  expect_illegal(apply(fused, {command("C", "parallelize", {"i"})}), Kind::Order);
}

TEST(Recurrence, RunsForwardOnly) {
  const Violation found =
      expect_illegal(apply(Mapping(prefix_sum()), {command("P", "reverse", {"i"})}), Kind::Order);
  EXPECT_EQ(found.source_instance, "P_0[0]");
  EXPECT_EQ(found.sink_instance, "P_1[1]");
  EXPECT_EQ(found.parameters, "N = 2");
  expect_legal(apply(Mapping(prefix_sum()),
                     {command("P", "reverse", {"i"}), command("P", "reverse", {"i"})}));
  expect_legal(apply(Mapping(prefix_sum()), {command("P", "split", {"i", two})}));
  expect_illegal(apply(Mapping(prefix_sum()), {command("P", "split", {"i", two}),
                                               command("P", "interchange", {"i0", "i1"})}),
                 Kind::Order);
}

TEST(Recurrence, ParallelAndVectorLoopsAreRefused) {
  const Violation parallel = expect_illegal(
      apply(Mapping(prefix_sum()), {command("P", "parallelize", {"i"})}), Kind::Order);
  EXPECT_EQ(parallel.explanation,
            "P_1 reads what P_0 writes, but loop 'i' is parallel and carries the dependence");
  const Violation vector = expect_illegal(
      apply(Mapping(prefix_sum()), {command("P", "vectorize", {"i", std::int64_t{4}})}),
      Kind::Order);
  EXPECT_THAT(vector.explanation,
              HasSubstr("loop 'i1' is a vector loop and carries the dependence"));
  expect_legal(apply(Mapping(prefix_sum()), {command("P", "unroll", {"i", std::int64_t{4}})}));
}

TEST(Dependence, DistanceOverTwoLoopsIsStrictAtTheFirst) {
  // A[i,j,k] from A[i,j-1,k+1]: carried by j, so i and k may be parallel, j may not, and j must
  // stay outside of k.
  const auto x = input("x", {size("N")});
  const auto a = declare("[N] -> { A[i,j,k] : 0 <= i < N and 0 <= j < N and 0 <= k < N }");
  define_on(a, "[N] -> { A[i,j,k] : j = 0 or k = N - 1 }", access(x, {at("k")}));
  define_on(a, "[N] -> { A[i,j,k] : j > 0 and k < N - 1 }",
            access(a, {at("i"), at("j", -1), at("k", 1)}));
  const Mapping mapping(function({a}));
  expect_legal(mapping);
  expect_legal(apply(mapping, {command("A", "parallelize", {"i"})}));
  expect_illegal(apply(mapping, {command("A", "parallelize", {"j"})}), Kind::Order);
  expect_legal(apply(mapping, {command("A", "parallelize", {"k"})}));
  expect_legal(apply(mapping, {command("A", "interchange", {"i", "j"})}));
  expect_illegal(apply(mapping, {command("A", "interchange", {"j", "k"})}), Kind::Order);
  expect_legal(
      apply(mapping, {command("A", "reverse", {"k"}), command("A", "interchange", {"j", "k"})}));
  expect_illegal(apply(mapping, {command("A", "tile", {"j", "k", two, two})}), Kind::Order);
  expect_legal(apply(
      mapping, {command("A", "skew", {"j", "k"}), command("A", "tile", {"j", "k", two, two})}));
}

// ---- time tiling ----

TEST(Jacobi, TimeTilingNeedsASkew) {
  const Mapping mapping(jacobi_1d());
  expect_legal(mapping);
  expect_illegal(
      apply(mapping, {command("A", "tile", {"t", "i", std::int64_t{4}, std::int64_t{8}})}),
      Kind::Order);
  expect_legal(
      apply(mapping, {command("A", "skew", {"t", "i"}),
                      command("A", "tile", {"t", "i", std::int64_t{4}, std::int64_t{8}})}));
  expect_illegal(
      apply(mapping, {command("A", "skew", {"t", "i", std::int64_t{-1}}),
                      command("A", "tile", {"t", "i", std::int64_t{4}, std::int64_t{8}})}),
      Kind::Order);
}

TEST(Jacobi, TheTimeLoopIsNotParallelAndTheSpaceLoopIs) {
  const Mapping mapping(jacobi_1d());
  const Violation found =
      expect_illegal(apply(mapping, {command("A", "parallelize", {"t"})}), Kind::Order);
  EXPECT_THAT(found.explanation, HasSubstr("loop 't' is parallel and carries the dependence"));
  expect_legal(apply(mapping, {command("A", "parallelize", {"i"})}));
  expect_legal(apply(mapping, {command("A", "vectorize", {"i", std::int64_t{8}})}));
  expect_illegal(apply(mapping, {command("A", "interchange", {"t", "i"})}), Kind::Order);
}

TEST(Jacobi, PingPongStorageNeedsTwoRows) {
  const Mapping mapping(jacobi_1d());
  const Violation found = expect_illegal(
      apply(mapping, {command("A", "store_in", {"ring[t mod 1, i]"})}), Kind::Overwrite);
  EXPECT_THAT(found.element, HasSubstr("ring[0,"));
  EXPECT_THAT(found.explanation, HasSubstr("overwrites an element that"));
  expect_legal(apply(mapping, {command("A", "store_in", {"ring[t mod 2, i]"})}));
  expect_legal(apply(mapping, {command("A", "store_in", {"ring[t mod 3, i]"})}));
  expect_illegal(apply(mapping, {command("A", "store_in", {"row[i]"})}), Kind::Overwrite);
}

TEST(Jacobi, PingPongStorageAllowsSkewedTilesAndParallelSpace) {
  const Mapping folded =
      apply(Mapping(jacobi_1d()), {command("A", "store_in", {"ring[t mod 2, i]"})});
  expect_legal(apply(folded, {command("A", "parallelize", {"i"})}));
  // The write to the row of two steps before is one step after the reads, at the same skewed place.
  const Mapping skewed = apply(folded, {command("A", "skew", {"t", "i"})});
  expect_legal(apply(skewed, {command("A", "tile", {"t", "i", std::int64_t{4}, std::int64_t{8}})}));
  expect_illegal(
      apply(skewed, {command("A", "interchange", {"t", "i"}), command("A", "parallelize", {"t"})}),
      Kind::Overwrite);
}

TEST(Seidel, WavefrontsAreParallelAfterASkew) {
  const Mapping mapping(seidel());
  expect_legal(mapping);
  expect_illegal(apply(mapping, {command("A", "parallelize", {"j"})}), Kind::Order);
  expect_illegal(apply(mapping, {command("A", "tile", {"i", "j", two, two})}), Kind::Order);
  expect_legal(apply(
      mapping, {command("A", "skew", {"i", "j"}), command("A", "tile", {"i", "j", two, two})}));
  expect_illegal(
      apply(mapping, {command("A", "skew", {"i", "j"}), command("A", "interchange", {"i", "j"}),
                      command("A", "parallelize", {"i"})}),
      Kind::Order);
  expect_legal(apply(mapping, {command("A", "skew", {"i", "j", two}),
                               command("A", "interchange", {"i", "j"}),
                               command("A", "parallelize", {"i"})}));
}

// ---- reductions ----

TEST(Reduction, AnyOrderOfItsLoopsIsLegal) {
  const Mapping mapping(matmul());
  expect_legal(apply(mapping, {command("C", "interchange", {"i", "k"})}));
  expect_legal(apply(mapping, {command("C", "reverse", {"k"})}));
  expect_legal(apply(mapping, {command("C", "tile", {"i", "j", "k", two, two, two})}));
  expect_legal(
      apply(mapping, {command("C", "interchange", {"i", "k"}), command("C", "skew", {"k", "j"})}));
}

TEST(Reduction, OnlyItsOuterLoopsMayBeParallel) {
  const Mapping mapping(matmul());
  expect_legal(apply(mapping, {command("C", "parallelize", {"i"}),
                               command("C", "vectorize", {"j", std::int64_t{8}})}));
  const Violation parallel =
      expect_illegal(apply(mapping, {command("C", "parallelize", {"k"})}), Kind::Race);
  EXPECT_EQ(parallel.source_instance, "C[0,0,0]");
  EXPECT_EQ(parallel.sink_instance, "C[0,0,1]");
  EXPECT_EQ(parallel.element, "C[0,0]");
  EXPECT_THAT(parallel.parameters,
              AllOf(HasSubstr("N = 1"), HasSubstr("M = 1"), HasSubstr("K = 2")));
  // Lanes combine their terms.
  expect_legal(apply(mapping, {command("C", "vectorize", {"k", std::int64_t{4}})}));
  expect_legal(apply(mapping, {command("C", "unroll", {"k", std::int64_t{4}})}));
}

TEST(Reduction, ASkewByAReducedLoopKeepsTheOuterOneParallelOnlyWhereElementsDiffer) {
  // j + k parallel: two updates of one element have different values of it.
  expect_illegal(apply(Mapping(matmul()),
                       {command("C", "skew", {"k", "j"}), command("C", "parallelize", {"j"})}),
                 Kind::Race);
}

TEST(Reduction, AConsumerWaitsForTheLastUpdate) {
  const auto a = input("A", {size("N"), size("K")});
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), size("K")}},
                             access(a, {at("i"), at("k")}));
  const auto s = define("[N] -> { S[i] : 0 <= i < N }", sum);
  const auto c =
      define("[N] -> { C[i,k] : 0 <= i < N and 0 <= k < 4 }", plus(access(s, {at("i")}), whole(1)));
  const Mapping mapping(function({c}));
  expect_legal(apply(mapping, {command("C", "after", {"S", "i"})}));
  const Violation found =
      expect_illegal(apply(mapping, {command("C", "after", {"S", "k"})}), Kind::Order);
  EXPECT_EQ(found.sink_instance, "C[0,0]");
  expect_illegal(apply(mapping, {command("C", "before", {"S", "i"})}), Kind::Order);
}

TEST(Reduction, OfOwnEarlierInstancesRunsForward) {
  const Mapping mapping(triangular_solve());
  expect_legal(mapping);
  expect_illegal(apply(mapping, {command("X", "reverse", {"i"})}), Kind::Order);
  expect_illegal(apply(mapping, {command("X", "parallelize", {"i"})}), Kind::Order);
  expect_legal(apply(mapping, {command("X", "split", {"i", std::int64_t{4}})}));
}

// ---- storage ----

TEST(Storage, AWindowIsEnoughForAFusedStencil) {
  const std::vector<Command> fuse = {command("C", "shift", {"i", std::int64_t{1}}),
                                     command("C", "after", {"B", "i"})};
  const Mapping fused = apply(Mapping(two_stencils()), fuse);
  expect_illegal(apply(fused, {command("B", "store_in", {"one[0]"})}), Kind::Overwrite);
  expect_legal(apply(fused, {command("B", "store_in", {"window[i mod 2]"})}));
  expect_illegal(apply(Mapping(two_stencils()), {command("B", "store_in", {"window[i mod 2]"})}),
                 Kind::Overwrite);
}

TEST(Storage, ASharedRowForbidsAParallelOuterLoop) {
  const Mapping fused = apply(Mapping(pointwise_pair()), {command("C", "after", {"B", "i"})});
  const Mapping row = apply(fused, {command("B", "store_in", {"row[j]"})});
  expect_legal(row);
  expect_illegal(
      apply(row, {command("B", "parallelize", {"i"}), command("C", "parallelize", {"i"})}),
      Kind::Overwrite);
  expect_legal(
      apply(fused, {command("B", "parallelize", {"i"}), command("C", "parallelize", {"i"})}));
}

TEST(Storage, InPlaceInTheOutputsBuffer) {
  expect_legal(apply(Mapping(pointwise_pair()), {command("B", "store_in", {"C[i,j]"})}));
  expect_legal(apply(Mapping(pointwise_pair()),
                     {command("B", "store_in", {"C[i,j]"}), command("C", "parallelize", {"i"})}));
}

TEST(Storage, AStencilInPlaceOverwritesWhatIsStillRead) {
  const auto x = input("x", {size("N", 1)});
  const auto b = define("[N] -> { B[i] : 0 <= i <= N }", plus(access(x, {at("i")}), whole(1)));
  const auto c =
      define("[N] -> { C[i] : 0 <= i < N }", plus(access(b, {at("i")}), access(b, {at("i", 1)})));
  const auto d = define("[N] -> { D[i] : 0 <= i <= N and i < N }", access(c, {at("i")}));
  const Mapping mapping(function({d}));
  expect_legal(apply(mapping, {command("C", "store_in", {"B[i]"})}));
  const Violation found = expect_illegal(
      apply(mapping, {command("C", "store_in", {"B[i]"}), command("C", "reverse", {"i"})}),
      Kind::Overwrite);
  EXPECT_THAT(found.element, HasSubstr("B["));
  expect_illegal(
      apply(mapping, {command("C", "store_in", {"B[i]"}), command("C", "parallelize", {"i"})}),
      Kind::Overwrite);
}

TEST(Storage, AnOutputMustBeThereAtTheEnd) {
  const auto x = input("x", {size("N")});
  const auto c = define("[N] -> { C[i] : 0 <= i < N }", plus(access(x, {at("i")}), whole(1)));
  const auto b = define("[N] -> { B[i] : 0 <= i < N }", plus(access(c, {at("i")}), whole(2)));
  const auto d = define("[N] -> { D[i] : 0 <= i < N }", plus(access(b, {at("i")}), whole(3)));
  const Violation found = expect_illegal(
      apply(Mapping(function({c, d})), {command("B", "store_in", {"C[i]"})}), Kind::Overwrite);
  EXPECT_THAT(found.explanation, HasSubstr("B overwrites an element of the output C"));
}

// ---- what is not affine ----

TEST(IndirectRead, MayTouchEveryElement) {
  const auto index = input("index", {size("N")}, Int64);
  const auto x = input("x", {size("N")});
  const auto b = define("[N] -> { B[i] : 0 <= i < N }", plus(access(x, {at("i")}), whole(1)));
  const auto c = define("[N] -> { C[i] : 0 <= i < N }", access(b, {access(index, {at("i")})}));
  const Mapping mapping(function({c}));
  expect_legal(mapping);
  expect_legal(
      apply(mapping, {command("C", "parallelize", {"i"}), command("B", "reverse", {"i"})}));
  const Violation found =
      expect_illegal(apply(mapping, {command("C", "after", {"B", "i"})}), Kind::Undecided);
  EXPECT_THAT(found.explanation,
              HasSubstr("its subscript is not affine, so it may read any element"));
}

TEST(Select, AReadHappensOnlyWhereItsAffineConditionHolds) {
  const auto x = input("x", {size("N")});
  const auto b = define("[N] -> { B[i] : 0 <= i < N }", plus(access(x, {at("i")}), whole(1)));
  const ExprPtr first = binary(Op::Gt, at("i"), whole(0));
  const auto c = define("[N] -> { C[i] : 0 <= i < N }",
                        select(first, access(b, {at("i", -1)}), access(x, {at("i")})));
  expect_legal(apply(Mapping(function({c})), {command("C", "after", {"B", "i"})}));
  expect_legal(apply(Mapping(function({c})), {command("C", "before", {"B", "i"})}));
  expect_illegal(apply(Mapping(function({c})), {command("B", "shift", {"i", std::int64_t{1}}),
                                                command("C", "before", {"B", "i"})}),
                 Kind::Order);
}

// ---- what a refusal says ----

TEST(Refusal, NamesCommandDependenceInstancesAndWhatIsLegal) {
  const Command given = command("A", "parallelize", {"t"});
  const Program program = build_program(Mapping(jacobi_1d()).with(given));
  try {
    require_legal(program, &given);
    FAIL() << "not refused";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::IllegalSchedule);
    const std::string text = error.what();
    EXPECT_THAT(text, HasSubstr("A.parallelize(\"t\") is illegal: "));
    EXPECT_THAT(text, HasSubstr("\n  dependence: "));
    EXPECT_THAT(text, HasSubstr("\n  for example: A_"));
    EXPECT_THAT(text, HasSubstr("\n  parallelize is legal for: i"));
    EXPECT_EQ(error.details.at("kind"), "order");
    EXPECT_EQ(error.details.at("computation"), "A");
    EXPECT_THAT(error.details.at("source_instance"), HasSubstr("[0,"));
    EXPECT_THAT(error.details.at("sink_instance"), HasSubstr("[1,"));
  }
}

TEST(Refusal, SaysWhenNoLoopWouldDo) {
  const Command given = command("P", "parallelize", {"i"});
  try {
    require_legal(build_program(Mapping(prefix_sum()).with(given)), &given);
    FAIL() << "not refused";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("no loop of P can be parallel in this order"));
  }
}

TEST(FlowDependences, AreThoseOfLayerOne) {
  const std::vector<Dependence> dependences =
      flow_dependences(build_program(Mapping(two_stencils())));
  ASSERT_EQ(dependences.size(), 2u);
  for (const Dependence &dependence : dependences) {
    EXPECT_EQ(dependence.source, "B");
    EXPECT_EQ(dependence.sink, "C");
    EXPECT_TRUE(dependence.exact);
  }
}

} // namespace
} // namespace tilewright
