// inline and rfactor: the rewritten function behind the mapping, its loops and domains, and what is
// refused.
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> computations(const Mapping &mapping) {
  std::vector<std::string> names;
  for (const ComputationPtr &computation : mapping.function().computations) {
    names.push_back(computation->name);
  }
  return names;
}

bool has_domain(const Mapping &mapping, const std::string &name, const std::string &expected) {
  const isl::set domain = (*mapping.function().find(name))->pieces.front().domain;
  const isl::set context = mapping.function().context;
  return checked(domain.intersect_params(context).is_equal(
                     isl::set(isl_context(), expected).intersect_params(context)),
                 "comparing");
}

/// C = sum of x[k] for k < K.
std::shared_ptr<const Function> sum_of(const ExprPtr &condition = nullptr) {
  const auto x = input("x", {size("K")}, Int64);
  const ReduceRange range{"k", constant(std::int64_t{0}, Int64), size("K")};
  return function(
      {define("{ C[] }", reduce(Op::ReduceSum, {range}, access(x, {at("k")}), condition), Int64)});
}

TEST(Inline, LeavesTheReaderAlone) {
  const Mapping before(pointwise_pair());
  const Mapping after = before.with(command("B", "inline", {}));
  EXPECT_THAT(computations(after), ElementsAre("C"));
  EXPECT_EQ(to_string((*after.function().find("C"))->pieces.front().value), "A[i, j] * 2.0 + 1.0");
  EXPECT_THAT(computations(before), ElementsAre("B", "C"));
  EXPECT_EQ(build_program(after).statements.size(), 1u);
}

TEST(Inline, ShiftsTheSubscripts) {
  const Mapping after = Mapping(two_stencils()).with(command("B", "inline", {}));
  EXPECT_EQ(to_string((*after.function().find("C"))->pieces.front().value),
            "x[i] + x[i + 1] + (x[i + 1] + x[i + 2])");
}

TEST(Inline, RefusesOutputsAndRecurrences) {
  EXPECT_THAT(refusal(Mapping(pointwise_pair()), command("C", "inline", {})),
              HasSubstr("C is an output"));
  EXPECT_THAT(refusal(Mapping(jacobi_1d()), command("A", "inline", {})),
              HasSubstr("reads its own earlier values"));
}

TEST(Inline, AllButTheReaderForgetIt) {
  const Mapping placed = Mapping(pointwise_pair()).with(command("C", "after", {"B", "i"}));
  const Mapping after = placed.with(command("B", "inline", {}));
  EXPECT_TRUE(after.state().placements.empty());
  EXPECT_THAT(refusal(after, command("B", "split", {"i", std::int64_t{4}})),
              HasSubstr("'B' is not a computation"));
}

TEST(Rfactor, OverTheInnerPartOfASplit) {
  const Mapping split = Mapping(matmul()).with(command("C", "split", {"k", std::int64_t{4}}));
  const Mapping after = split.with(command("C", "rfactor", {"k1"}));
  EXPECT_THAT(computations(after), ElementsAre("C_partial", "C"));
  EXPECT_TRUE(
      has_domain(after, "C_partial",
                 "[N,M,K] -> { C_partial[i,j,r] : 0 <= i < N and 0 <= j < M and 0 <= r < 4 }"));
  EXPECT_THAT(loop_names(after, "C_partial"), ElementsAre("i", "j", "k0", "k1"));
  EXPECT_THAT(loop_names(after, "C"), ElementsAre("i", "j", "k1"));
}

TEST(Rfactor, OverTheOuterPartOfASplit) {
  const Mapping split = Mapping(matmul()).with(command("C", "split", {"k", std::int64_t{4}}));
  const Mapping after = split.with(command("C", "rfactor", {"k0", "part"}));
  EXPECT_TRUE(has_domain(after, "part",
                         "[N,M,K] -> { part[i,j,r] : 0 <= i < N and 0 <= j < M and 0 <= 4r < K }"));
  EXPECT_THAT(loop_names(after, "part"), ElementsAre("i", "j", "k0", "k1"));
}

TEST(Rfactor, ParametersMayComeInAnotherOrder) {
  const auto a = input("A", {size("N"), size("M")}, Int64);
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const ExprPtr sum = reduce(Op::ReduceSum, {{"i", zero, size("N")}, {"j", zero, size("M")}},
                             access(a, {at("i"), at("j")}));
  const Mapping mapping(function({define("{ C[] }", sum, Int64)}));
  EXPECT_THAT(loop_names(mapping.with(command("C", "rfactor", {"j"})), "C_partial"),
              ElementsAre("i", "j"));
  EXPECT_THAT(loop_names(mapping.with(command("C", "rfactor", {"i"})), "C_partial"),
              ElementsAre("i", "j"));
}

TEST(Rfactor, WhatHasNoTermsIsTheIdentity) {
  const ExprPtr even = binary(Op::Eq, binary(Op::Mod, at("k"), whole(2)), whole(0));
  const Mapping mapping(sum_of(even));
  const Mapping split = mapping.with(command("C", "split", {"k", std::int64_t{4}}));
  const Mapping after = split.with(command("C", "rfactor", {"k1"}));
  EXPECT_TRUE(has_domain(after, "C_partial", "[K] -> { C_partial[r] : 0 <= r <= 3 }"));
  EXPECT_THAT(refusal(mapping, command("C", "rfactor", {"k"})), HasSubstr("'k' have gaps"));
}

TEST(Rfactor, RefusesWhatIsNoReducedLoop) {
  const Mapping mapping(matmul());
  EXPECT_THAT(refusal(mapping, command("C", "rfactor", {"i"})),
              HasSubstr("must run over the reduced iterators"));
  EXPECT_THAT(refusal(mapping, command("C", "rfactor", {"k", "A"})),
              HasSubstr("named 'A' already"));
  EXPECT_THAT(refusal(Mapping(pointwise_pair()), command("C", "rfactor", {"i"})),
              HasSubstr("is not a reduction"));
  const Mapping skewed = mapping.with(command("C", "skew", {"i", "k"}));
  EXPECT_THAT(refusal(skewed, command("C", "rfactor", {"k"})), HasSubstr("over nothing else"));
}

// ---- cache of what is written ----

Mapping tiled_matmul() {
  return Mapping(matmul()).with(
      command("C", "tile", {"i", "j", std::int64_t{4}, std::int64_t{16}}));
}

TEST(CacheOfAResult, TakesTheInnerLoops) {
  const Mapping after = tiled_matmul().with(command("C", "cache", {"C", "j0"}));
  EXPECT_THAT(computations(after), ElementsAre("C_local", "C"));
  EXPECT_THAT(loop_names(after, "C_local"), ElementsAre("i1", "j1", "k"));
  EXPECT_THAT(loop_names(after, "C"), ElementsAre("i0", "j0", "i1", "j1"));
  EXPECT_EQ(to_string((*after.function().find("C"))->pieces.front().value), "C_local[i, j]");
  const Program program = build_program(after);
  const Statement &local = statement(program, "C_local");
  EXPECT_EQ(local.replicas, 2u);
  const Buffer &buffer = program.buffers[local.buffer];
  EXPECT_EQ(buffer.level, 2);
  ASSERT_EQ(buffer.extents.size(), 2u);
  EXPECT_EQ(to_string(buffer.extents[0]), "4");
  EXPECT_EQ(to_string(buffer.extents[1]), "16");
}

TEST(CacheOfAResult, FactorsTheReducedLoopOutside) {
  const Mapping split = tiled_matmul().with(command("C", "split", {"k", std::int64_t{8}}));
  const Mapping ordered = split.with(command("C", "reorder", {"i0", "j0", "k0", "i1", "j1", "k1"}));
  const Mapping after = ordered.with(command("C", "cache", {"C", "k0"}));
  EXPECT_THAT(loop_names(after, "C_local"), ElementsAre("i1", "j1", "k1"));
  EXPECT_THAT(loop_names(after, "C"), ElementsAre("i0", "j0", "k0", "i1", "j1"));
  EXPECT_EQ((*after.function().find("C_local"))->rank(), 3u);
}

TEST(CacheOfAResult, InlineAfterIt) {
  const Mapping cached = Mapping(pointwise_pair()).with(command("C", "cache", {"C", "i"}));
  const Mapping after = cached.with(command("B", "inline", {}));
  EXPECT_THAT(computations(after), ElementsAre("C_local", "C"));
  EXPECT_THAT(loop_names(after, "C_local"), ElementsAre("j"));
}

TEST(CacheOfAResult, MemoryHasALimit) {
  const auto refuse_memory = [](const Mapping &mapping, const std::string &loop,
                                const std::string &memory) -> std::string {
    try {
      build_program(mapping.with(command("C", "cache", {"C", loop, "", memory})));
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Schedule) << error.what();
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refuse_memory(tiled_matmul(), "j0", "registers"), "");
  EXPECT_THAT(refuse_memory(tiled_matmul(), "i0", "registers"), HasSubstr("a constant size"));
  EXPECT_THAT(refuse_memory(tiled_matmul(), "i0", "stack"), HasSubstr("a constant size"));
  const Mapping large =
      Mapping(matmul()).with(command("C", "tile", {"i", "j", std::int64_t{64}, std::int64_t{64}}));
  EXPECT_THAT(refuse_memory(large, "j0", "registers"), HasSubstr("more than registers hold"));
  EXPECT_EQ(refuse_memory(large, "j0", "stack"), "");
}

// ---- in place ----

TEST(StoreInAnInput, IsTheBufferOfTheInput) {
  const Mapping after = Mapping(matmul()).with(command("C", "store_in", {"C[i, j]"}));
  EXPECT_EQ(build_program(after).places.at("C").buffer, 2u);
  const auto a = input("A", {size("N")}, Int64);
  const ComputationPtr twice =
      define("[N] -> { T[i] : 0 <= i < N }", times(access(a, {at("i")}), whole(2)), Int64);
  const Mapping mapping(function({twice}));
  const Program program = build_program(mapping.with(command("T", "store_in", {"A[i]"})));
  EXPECT_EQ(program.places.at("T").buffer, program.places.at("A").buffer);
  ASSERT_EQ(program.buffers.size(), 2u); // the output keeps its place among the arguments
  EXPECT_EQ(program.buffers[1].kind, BufferKind::Output);
  EXPECT_THAT(refusal(mapping, command("T", "store_in", {"A[i, 0]"})),
              HasSubstr("has 1 dimension, and 2 subscripts"));
  EXPECT_THAT(refusal(mapping, command("T", "store_in", {"A[N - 1 - i]"})),
              HasSubstr("decides where its elements are"));
}

TEST(Transform, RefusesALoopTwice) {
  const Command twice =
      command("C", "transform", {"i", "i", std::vector<std::int64_t>{1, 0, 0, 1}});
  EXPECT_THAT(refusal(Mapping(map_2d()), twice), HasSubstr("'i' is named twice"));
}

TEST(SetSchedule, TagsStandBehindADimension) {
  const auto refuse_text = [](const std::string &text) {
    return refusal(Mapping(map_2d()), command("C", "set_schedule", {text}));
  };
  EXPECT_THAT(refuse_text("{ C[i,j] -> (cpu)[i, j] }"),
              HasSubstr("does not stand behind a dimension"));
  EXPECT_THAT(refuse_text("{ C[i,j(cpu)] -> [i, j] }"),
              HasSubstr("does not stand behind a dimension"));
  EXPECT_THAT(refuse_text("{ C[i,j] -> [i(cpu)(unroll), j] }"), HasSubstr("two different tags"));
}

TEST(SetAccess, EveryInstanceNeedsAnElement) {
  const Command partial = command("B", "set_access", {"{ B[i,j] -> b[i, j] : i > 0 }"});
  EXPECT_THAT(refusal(Mapping(pointwise_pair()), partial), HasSubstr("no element to B[0,0]"));
}

} // namespace
} // namespace tilewright
