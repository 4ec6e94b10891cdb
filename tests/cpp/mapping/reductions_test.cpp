// The statements of a reduction within an expression: what its terms begin with, the terms, and
// what the expression makes of the result, each with its loops and its place among the others.
#include "algorithm/reductions.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t two = 2;

ExprPtr sum_over(const std::string &name, const ExprPtr &last, const ExprPtr &body,
                 const ExprPtr &condition = nullptr) {
  return reduce(Op::ReduceSum, {{name, constant(std::int64_t{0}, Int64), last}}, body, condition);
}

/// C[i,j] = sum(A[i,k] * B[k,j] over k) + b[j].
std::shared_ptr<const Function> biased() {
  const auto a = input("A", {size("N"), size("K")});
  const auto b = input("B", {size("K"), size("M")});
  const auto bias = input("b", {size("M")});
  const ExprPtr product = times(access(a, {at("i"), at("k")}), access(b, {at("k"), at("j")}));
  return function({define("[N,M] -> { C[i,j] : 0 <= i < N and 0 <= j < M }",
                          plus(sum_over("k", size("K"), product), access(bias, {at("j")})))});
}

/// S[i] = 2 sum(x[i,k] over k); T[i] = S[i] + 1.
std::shared_ptr<const Function> scaled_pair() {
  const auto x = input("x", {size("N"), size("K")});
  const auto s = define("[N] -> { S[i] : 0 <= i < N }",
                        times(whole(2), sum_over("k", size("K"), access(x, {at("i"), at("k")}))));
  return function({define("[N] -> { T[i] : 0 <= i < N }", plus(access(s, {at("i")}), whole(1)))});
}

Mapping apply(Mapping mapping, const std::vector<Command> &commands) {
  for (const Command &given : commands) {
    mapping = mapping.with(given);
  }
  return mapping;
}

std::vector<std::string> names(const Program &program) {
  std::vector<std::string> result;
  for (const Statement &one : program.statements) {
    result.push_back(one.name);
  }
  return result;
}

/// All that an element needs, in this order.
void expect_in_order(const Program &program, const std::vector<std::int64_t> &element,
                     const Sizes &sizes) {
  std::vector<std::int64_t> first = element;
  std::vector<std::int64_t> last = element;
  first.push_back(0);
  last.push_back(sizes.at("K") - 1);
  for (const auto &term : {first, last}) {
    EXPECT_TRUE(runs_before(program, "C_init", element, "C", term, sizes));
    EXPECT_TRUE(runs_before(program, "C", term, "C_finish", element, sizes));
  }
}

const Sizes small = {{"N", 3}, {"M", 4}, {"K", 5}};

TEST(Finish, ComesWhereTheReductionIsNotAll) {
  const Program program = build_program(Mapping(biased()));
  EXPECT_THAT(names(program), ElementsAre("C_init", "C", "C_finish"));
  const Statement &update = statement(program, "C");
  const Statement &finish = statement(program, "C_finish");
  EXPECT_EQ(update.role, StatementRole::Update);
  EXPECT_EQ(to_string(update.value), "A[i, k] * B[k, j]");
  EXPECT_EQ(finish.role, StatementRole::Finish);
  EXPECT_EQ(to_string(finish.value), "C[i, j] + b[j]");
  EXPECT_EQ(finish.buffer, update.buffer);
  EXPECT_THAT(finish.iterators, ElementsAre("i", "j"));
  EXPECT_THAT(names(build_program(Mapping(matmul()))), ElementsAre("C_init", "C"));
}

TEST(Finish, ComesWhereAReductionHasLoopsOnly) {
  const auto x = input("x", {size("N"), size("K")});
  const auto y = input("y", {size("N"), size("K")}, Int32);
  const ExprPtr sum = sum_over("k", size("K"), access(x, {at("i"), at("k")}));
  const auto z = input("z", {size("N")});
  const ExprPtr positive = binary(Op::Gt, access(z, {at("i")}), whole(0));
  const auto roles = [](const ExprPtr &value, ScalarType type) {
    const auto c = define("[N] -> { C[i] : 0 <= i < N }", value, type);
    return names(build_program(Mapping(function({c}))));
  };
  EXPECT_THAT(roles(select(positive, sum, whole(0)), Float32), ElementsAre("C"));
  EXPECT_THAT(roles(plus(select(positive, sum, whole(0)), sum), Float32),
              ElementsAre("C_init", "C", "C_finish"));
  const ExprPtr wide = sum_over("k", size("K"), access(y, {at("i"), at("k")}));
  EXPECT_THAT(roles(times(cast(wide, Float64), cast(wide, Float64)), Float64), ElementsAre("C"));
  EXPECT_THAT(roles(plus(wide, whole(1)), Int64), ElementsAre("C_init", "C", "C_finish"));
}

TEST(Finish, HasANameOfItsOwn) {
  const auto x = input("x", {size("N"), size("K")});
  const auto taken = define("[N] -> { C_finish[i] : 0 <= i < N }", at("i"), Int64);
  const auto c = define("[N] -> { C[i] : 0 <= i < N }",
                        plus(sum_over("k", size("K"), access(x, {at("i"), at("k")})),
                             cast(access(taken, {at("i")}), Float32)));
  EXPECT_THAT(names(build_program(Mapping(function({c})))),
              ElementsAre("C_finish", "C_init", "C", "C_finish_"));
}

TEST(Finish, RunsWhenAnElementHasItsTerms) {
  const Program program = build_program(Mapping(biased()));
  expect_in_order(program, {1, 2}, small);
  EXPECT_THAT(statement(program, "C_finish").loop_names, ElementsAre("i", "j"));
  // Each element before the next one begins.
  EXPECT_TRUE(runs_before(program, "C_finish", {0, 0}, "C_init", {0, 1}, small));
}

TEST(Finish, RunsAfterLoopsThatAreInsideOfAReducedOne) {
  const Program inner =
      build_program(apply(Mapping(biased()), {command("C", "reorder", {"i", "k", "j"})}));
  expect_in_order(inner, {1, 2}, small);
  EXPECT_THAT(statement(inner, "C_finish").loop_names, ElementsAre("i", "j"));
  EXPECT_TRUE(runs_before(inner, "C", {0, 3, 4}, "C_finish", {0, 0}, small));
  EXPECT_TRUE(runs_before(inner, "C_finish", {0, 3}, "C_init", {1, 0}, small));
  const Program outer =
      build_program(apply(Mapping(biased()), {command("C", "reorder", {"k", "i", "j"})}));
  expect_in_order(outer, {1, 2}, small);
  EXPECT_TRUE(runs_before(outer, "C", {2, 3, 4}, "C_finish", {0, 0}, small));
  EXPECT_TRUE(runs_before(outer, "C_init", {2, 3}, "C", {0, 0, 0}, small));
}

TEST(Finish, SharesWhatIsSplitOutsideOfTheTerms) {
  const Mapping mapping =
      apply(Mapping(biased()),
            {command("C", "tile", {"i", "j", two, two}), command("C", "split", {"k", two}),
             command("C", "reorder", {"i0", "j0", "k0", "i1", "j1", "k1"})});
  const Program program = build_program(mapping);
  expect_in_order(program, {1, 2}, small);
  EXPECT_THAT(statement(program, "C_finish").loop_names, ElementsAre("i0", "j0", "i1", "j1"));
  EXPECT_TRUE(runs_before(program, "C_finish", {1, 1}, "C_init", {0, 2}, small));
  EXPECT_TRUE(runs_before(program, "C", {1, 1, 4}, "C_finish", {0, 0}, small));
}

TEST(Finish, HasIteratorsAsLoopsWhereASkewMixesThem) {
  // i + k runs outside; what is left, j, would not tell elements apart.
  const Mapping mapping = apply(Mapping(biased()), {command("C", "skew", {"k", "i"})});
  const Program program = build_program(mapping);
  expect_in_order(program, {1, 2}, small);
  EXPECT_THAT(statement(program, "C_finish").loop_names, ElementsAre("i", "j"));
  EXPECT_TRUE(runs_before(program, "C", {2, 3, 4}, "C_finish", {0, 0}, small));
  // Where the other loop is skewed, i and j are there as they were.
  const Program plain = build_program(apply(Mapping(biased()), {command("C", "skew", {"i", "k"})}));
  expect_in_order(plain, {1, 2}, small);
  EXPECT_TRUE(runs_before(plain, "C_finish", {0, 0}, "C_init", {0, 1}, small));
}

TEST(Finish, FollowsAMapThatIsGiven) {
  const Program program = build_program(
      apply(Mapping(biased()), {command("C", "set_schedule", {"{ C[i,j,k] -> [-j, k, i] }"})}));
  expect_in_order(program, {1, 2}, small);
  EXPECT_TRUE(runs_before(program, "C_finish", {2, 3}, "C_init", {0, 2}, small));
  EXPECT_TRUE(runs_before(program, "C", {2, 3, 4}, "C_finish", {0, 3}, small));
  EXPECT_EQ(loops_of(program, "C_finish", {2, 3}, small).front(), -3);
}

TEST(Finish, HasTheTagsOfItsLoops) {
  const Program program =
      build_program(apply(Mapping(biased()), {command("C", "parallelize", {"i"}),
                                              command("C", "reorder", {"i", "k", "j"}),
                                              command("C", "vectorize", {"j", std::int64_t{4}})}));
  const Statement &finish = statement(program, "C_finish");
  ASSERT_THAT(finish.loop_names, ElementsAre("i", "j0", "j1"));
  EXPECT_EQ(finish.tags[0].tag, Tag::Parallel);
  EXPECT_EQ(finish.tags[1].tag, Tag::Sequential);
  EXPECT_EQ(finish.tags[2].tag, Tag::Vector);
}

TEST(Finish, IsThereForElementsWithoutTerms) {
  const auto x = input("x", {size("K")});
  const ExprPtr even = binary(Op::Eq, binary(Op::Mod, at("i"), whole(2)), whole(0));
  const Mapping mapping(
      function({define("[N] -> { C[i] : 0 <= i < N }",
                       plus(sum_over("k", size("K"), access(x, {at("k")}), even), whole(1)))}));
  const Program program = build_program(mapping);
  const auto has_domain = [&](const std::string &name, const std::string &expected) {
    const isl::set set(isl_context(), expected);
    return checked(statement(program, name)
                       .domain.intersect_params(program.context)
                       .is_equal(set.intersect_params(program.context)),
                   "comparing");
  };
  EXPECT_TRUE(has_domain("C_finish", "[N] -> { C_finish[i] : 0 <= i < N }"));
  EXPECT_TRUE(has_domain("C", "[N,K] -> { C[i,k] : 0 <= i < N and 0 <= k < K and i mod 2 = 0 }"));
}

TEST(Finish, ComesBeforeWhatIsPlacedBehindItsComputation) {
  const Mapping fused = apply(Mapping(scaled_pair()), {command("T", "after", {"S", "i"})});
  const Program program = build_program(fused);
  const Sizes sizes = {{"N", 3}, {"K", 5}};
  EXPECT_TRUE(runs_before(program, "S_finish", {1}, "T", {1}, sizes));
  EXPECT_TRUE(runs_before(program, "T", {1}, "S_init", {2}, sizes));
  const Program before =
      build_program(apply(Mapping(scaled_pair()), {command("T", "before", {"S", "i"})}));
  EXPECT_TRUE(runs_before(before, "T", {1}, "S_init", {1}, sizes));
}

// ---- commands that rewrite ----

std::string value_of(const Mapping &mapping, const std::string &name) {
  return to_string((*mapping.function().find(name))->pieces.front().value);
}

TEST(Finish, StaysWithTheSumOfPartialResults) {
  const Mapping split = Mapping(biased()).with(command("C", "split", {"k", two}));
  const Mapping after = split.with(command("C", "rfactor", {"k1"}));
  EXPECT_THAT(names(build_program(after)),
              ElementsAre("C_partial_init", "C_partial", "C_init", "C", "C_finish"));
  EXPECT_THAT(value_of(after, "C"), HasSubstr("sum(C_partial[i, j, k1] for k1 in range("));
  EXPECT_THAT(value_of(after, "C"), HasSubstr(" + b[j]"));
  EXPECT_THAT(loop_names(after, "C"), ElementsAre("i", "j", "k1"));
  EXPECT_THAT(loop_names(after, "C_partial"), ElementsAre("i", "j", "k0", "k1"));
}

TEST(Finish, PartialResultsMayHaveOneToo) {
  // The terms are themselves made of a sum: that over l is what the partial results are scheduled
  // by.
  const auto x = input("x", {size("K"), size("L")});
  const ExprPtr term = plus(sum_over("l", size("L"), access(x, {at("k"), at("l")})), whole(1));
  const Mapping mapping(
      function({define("{ C[] }", times(sum_over("k", size("K"), term), whole(3)))}));
  const Mapping after = mapping.with(command("C", "rfactor", {"k"}));
  EXPECT_THAT(
      names(build_program(after)),
      ElementsAre("C_partial_init", "C_partial", "C_partial_finish", "C_init", "C", "C_finish"));
  EXPECT_THAT(loop_names(after, "C_partial"), ElementsAre("k", "l"));
}

TEST(Finish, MovesWithALocalCopyOfTheResult) {
  const Mapping after = Mapping(biased()).with(command("C", "cache", {"C", "j"}));
  EXPECT_THAT(names(build_program(after)),
              ElementsAre("C_local_init", "C_local", "C_local_finish", "C"));
  // Cut off inside of the sum, partial results are local, and the rest is done where they are put
  // together.
  const Mapping cut = apply(
      Mapping(biased()), {command("C", "split", {"k", two}), command("C", "cache", {"C", "k0"})});
  EXPECT_THAT(names(build_program(cut)),
              ElementsAre("C_local_init", "C_local", "C_init", "C", "C_finish"));
}

TEST(Inline, MakesAReaderOneThatIsScheduledByTerms) {
  const Mapping after = Mapping(scaled_pair()).with(command("S", "inline", {}));
  EXPECT_THAT(loop_names(after, "T"), ElementsAre("i", "k"));
  EXPECT_THAT(names(build_program(after)), ElementsAre("T_init", "T", "T_finish"));
  EXPECT_EQ(to_string(statement(build_program(after), "T_finish").value), "2.0 * T[i] + 1.0");
}

TEST(Inline, RefusesToPutAnotherReductionFirst) {
  const auto x = input("x", {size("N"), size("K")});
  const auto row = [&](const std::string &name) { return access(x, {at("i"), at(name)}); };
  const auto readers = [&](bool first) {
    const auto s = define("[N] -> { S[i] : 0 <= i < N }", sum_over("k", size("K"), row("k")));
    const ExprPtr read = access(s, {at("i")});
    const ExprPtr own =
        reduce(Op::ReduceMax, {{"k", constant(std::int64_t{0}, Int64), size("K")}}, row("k"));
    return Mapping(function(
        {define("[N] -> { T[i] : 0 <= i < N }", first ? plus(read, own) : plus(own, read))}));
  };
  EXPECT_THAT(
      refusal(readers(true), command("S", "inline", {})),
      HasSubstr("T has loops over the terms of its own reduction, and S would bring another "
                "one before it"));
  const Mapping behind = readers(false).with(command("S", "inline", {}));
  EXPECT_THAT(loop_names(behind, "T"), ElementsAre("i", "k"));
  EXPECT_THAT(to_string(statement(build_program(behind), "T_finish").value),
              HasSubstr("T[i] + sum("));
}

TEST(Inline, ANarrowSumThatIsRenamedStaysNarrow) {
  const auto x = input("x", {size("N"), size("K")}, Int32);
  const auto s = define("[N] -> { S[i] : 0 <= i < N }",
                        sum_over("k", size("K"), access(x, {at("i"), at("k")})), Int32);
  const auto t = define("[N] -> { T[k] : 0 <= k < N }",
                        plus(access(s, {at("k")}), constant(std::int64_t{1}, Int32)), Int32);
  const Mapping after = Mapping(function({t})).with(command("S", "inline", {}));
  EXPECT_THAT(loop_names(after, "T"), ElementsAre("k", "k_"));
  EXPECT_EQ(statement(build_program(after), "T").value->type, Int32);
}

// ---- compute_at ----

/// p[j] = 3 b[j]; C[i,j] = sum(A[i,k] over k) + p[j], and p too in the terms, if it is `twice`.
Mapping with_prepared_bias(bool twice = false) {
  const auto a = input("A", {size("N"), size("K")});
  const auto b = input("b", {size("M")});
  const auto p = define("[M] -> { p[j] : 0 <= j < M }", times(access(b, {at("j")}), whole(3)));
  const ExprPtr read = access(a, {at("i"), at("k")});
  const ExprPtr term = twice ? times(read, access(p, {at("j")})) : read;
  return Mapping(function({define("[N,M] -> { C[i,j] : 0 <= i < N and 0 <= j < M }",
                                  plus(sum_over("k", size("K"), term), access(p, {at("j")})))}));
}

TEST(Finish, ReadsWhatIsComputedInTheLoopsAroundTheTerms) {
  const Program program =
      build_program(with_prepared_bias().with(command("p", "compute_at", {"C", "j"})));
  const Statement &prepared = statement(program, "p");
  EXPECT_EQ(prepared.replicas, 2u);
  EXPECT_TRUE(runs_before(program, "p", {1, 2, 2}, "C_finish", {1, 2}, small));
  EXPECT_TRUE(runs_before(program, "C_finish", {1, 1}, "p", {1, 2, 2}, small));
}

/// Why there is no program of a mapping.
std::string program_refusal(const Mapping &mapping) {
  try {
    build_program(mapping);
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Schedule) << error.what();
    return error.what();
  }
  return "";
}

TEST(Finish, ReadsNothingThatIsComputedInTheLoopsOverTerms) {
  const std::string outside = "p is computed inside the loops of C, but C reads it outside of them";
  for (const bool twice : {false, true}) {
    EXPECT_EQ(
        program_refusal(with_prepared_bias(twice).with(command("p", "compute_at", {"C", "k"}))),
        outside);
  }
  const Mapping moved = with_prepared_bias().with(command("C", "reorder", {"i", "k", "j"}));
  EXPECT_EQ(program_refusal(moved.with(command("p", "compute_at", {"C", "j"}))), outside);
  EXPECT_EQ(
      statement(build_program(moved.with(command("p", "compute_at", {"C", "i"}))), "p").replicas,
      1u);
}

TEST(Finish, IsRepeatedWithItsComputationInTheLoopsOfAReader) {
  const Mapping inside = Mapping(scaled_pair()).with(command("S", "compute_at", {"T", "i"}));
  const Program program = build_program(inside);
  EXPECT_THAT(names(program), ElementsAre("S_init", "S", "S_finish", "T"));
  const Sizes sizes = {{"N", 3}, {"K", 5}};
  EXPECT_TRUE(runs_before(program, "S", {1, 1, 4}, "S_finish", {1, 1}, sizes));
  EXPECT_TRUE(runs_before(program, "S_finish", {1, 1}, "T", {1}, sizes));
  EXPECT_TRUE(runs_before(program, "T", {0}, "S_init", {1, 1}, sizes));
}

// ---- promises ----

TEST(Promises, AboutTermsAreNotAboutWhatComesAfterThem) {
  const Program program = build_program(
      apply(Mapping(biased()), {command("C", "atomic", {}), command("C", "independent", {"k"})}));
  EXPECT_TRUE(statement(program, "C").atomic);
  EXPECT_FALSE(statement(program, "C_finish").atomic);
  EXPECT_EQ(statement(program, "C").independent.size(), 2u); // of dependences, and of memory
  EXPECT_THAT(statement(program, "C_finish").independent, IsEmpty());
}

TEST(Promises, AtomicIsForTermsInAnyOrder) {
  const auto x = input("x", {size("K")});
  const ExprPtr ordered =
      reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), size("K")}},
             access(x, {at("k")}), nullptr, true);
  const Mapping mapping(function({define("{ C[] }", plus(ordered, whole(1)))}));
  EXPECT_TRUE(statement(build_program(mapping), "C").ordered);
  EXPECT_THAT(refusal(mapping, command("C", "atomic", {})), HasSubstr("ordered reduction"));
  EXPECT_THAT(refusal(mapping, command("C", "rfactor", {"k"})), HasSubstr("ordered reduction"));
}

} // namespace
} // namespace tilewright
