// Legality of reductions within expressions: the expression waits for all terms, readers wait for
// the expression, and what it reads has to be there.
#include "analysis/legality.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::AllOf;
using testing::HasSubstr;
using Kind = Violation::Kind;

constexpr std::int64_t two = 2;

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

Violation expect_illegal(const Mapping &mapping, Kind kind) {
  const std::optional<Violation> found = violation(mapping);
  if (!found) {
    ADD_FAILURE() << "found legal: " << to_string(mapping.schedule());
    return {};
  }
  EXPECT_EQ(static_cast<int>(found->kind), static_cast<int>(kind)) << found->explanation;
  return *found;
}

ExprPtr sum_over_k(const ExprPtr &body, bool ordered = false) {
  return reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), size("K")}}, body, nullptr,
                ordered);
}

/// b[i] = 2 x[i]; S[i] = sum(A[i,k] over k) + b[i]; T[i,j] = S[i] + 1 for j < 4.
class Finish : public testing::Test {
protected:
  static Mapping mapping(bool ordered = false) {
    const auto a = input("A", {size("N"), size("K")});
    const auto x = input("x", {size("N")});
    const auto b = define("[N] -> { b[i] : 0 <= i < N }", times(whole(2), access(x, {at("i")})));
    const auto s =
        define("[N] -> { S[i] : 0 <= i < N }",
               plus(sum_over_k(access(a, {at("i"), at("k")}), ordered), access(b, {at("i")})));
    return Mapping(function({define("[N] -> { T[i,j] : 0 <= i < N and 0 <= j < 4 }",
                                    plus(access(s, {at("i")}), whole(1)))}));
  }
};

TEST_F(Finish, AnyOrderOfTheLoopsIsLegal) {
  expect_legal(mapping());
  expect_legal(apply(mapping(), {command("S", "interchange", {"i", "k"})}));
  expect_legal(
      apply(mapping(), {command("S", "reverse", {"k"}), command("S", "skew", {"k", "i"})}));
  expect_legal(apply(mapping(), {command("S", "tile", {"i", "k", two, two})}));
  expect_legal(apply(mapping(), {command("S", "parallelize", {"i"})}));
  expect_legal(apply(
      mapping(), {command("S", "interchange", {"i", "k"}), command("S", "parallelize", {"i"})}));
  expect_legal(apply(mapping(), {command("S", "vectorize", {"k", two})}));
  expect_legal(apply(mapping(), {command("S", "set_schedule", {"{ S[i,k] -> [k, -i] }"})}));
}

TEST_F(Finish, TermsRaceAsTheyDidWithoutIt) {
  const Violation race =
      expect_illegal(apply(mapping(), {command("S", "parallelize", {"k"})}), Kind::Race);
  EXPECT_EQ(race.source_instance, "S[0,0]");
  EXPECT_EQ(race.sink_instance, "S[0,1]");
  expect_legal(apply(mapping(), {command("S", "atomic", {}), command("S", "parallelize", {"k"})}));
  expect_illegal(apply(mapping(true), {command("S", "reverse", {"k"})}), Kind::Order);
  expect_legal(apply(mapping(true), {command("S", "reverse", {"i"})}));
}

TEST_F(Finish, AReaderWaitsForIt) {
  expect_legal(apply(mapping(), {command("T", "after", {"S", "i"})}));
  const Violation inside =
      expect_illegal(apply(mapping(), {command("T", "after", {"S", "k"})}), Kind::Order);
  EXPECT_EQ(inside.sink_instance, "T[0,0]");
  expect_illegal(apply(mapping(), {command("T", "before", {"S", "i"})}), Kind::Order);
}

TEST_F(Finish, AReaderThatHasAllTermsIsStillTooEarly) {
  // In iteration k = K all terms are there, and were not multiplied by 3.
  const auto a = input("A", {size("N"), size("K")});
  const auto s = define("[N] -> { S[i] : 0 <= i < N }",
                        times(whole(3), sum_over_k(access(a, {at("i"), at("k")}))));
  const auto t = define("[N] -> { T[i] : 0 <= i < N }", access(s, {at("i")}));
  const Mapping between =
      apply(Mapping(function({t})), {command("S", "set_schedule", {"{ S[i,k] -> [i, k] }"}),
                                     command("T", "set_schedule", {"[K] -> { T[i] -> [i, K] }"})});
  const Violation found = expect_illegal(between, Kind::Order);
  EXPECT_EQ(found.source_instance, "S_finish[0]");
  EXPECT_EQ(found.sink_instance, "T[0]");
  EXPECT_EQ(found.explanation, "T reads what S_finish writes, but is scheduled before it");
  expect_legal(
      apply(Mapping(function({t})), {command("S", "set_schedule", {"{ S[i,k] -> [i, k] }"}),
                                     command("T", "set_schedule", {"{ T[i] -> [i + 1, -1] }"})}));
}

TEST_F(Finish, WaitsForWhatItReads) {
  const Violation found =
      expect_illegal(apply(mapping(), {command("b", "after", {"S"})}), Kind::Order);
  EXPECT_EQ(found.source_instance, "b[0]");
  EXPECT_EQ(found.sink_instance, "S_finish[0]");
  EXPECT_EQ(found.explanation, "S_finish reads what b writes, but is scheduled before it");
  // What only the expression reads may come when the terms have begun.
  expect_legal(apply(mapping(), {command("b", "before", {"S", "i"})}));
  expect_legal(apply(
      mapping(), {command("S", "interchange", {"i", "k"}), command("b", "fuse_with", {"S", "k"})}));
  expect_illegal(apply(mapping(), {command("b", "after", {"S", "i"})}), Kind::Order);
}

TEST_F(Finish, MayNotOverwriteWhatOthersStillRead) {
  // One element for all rows.
  const Mapping one = apply(mapping(), {command("S", "store_in", {"one[0]"})});
  expect_illegal(one, Kind::Overwrite);
  expect_legal(apply(one, {command("T", "after", {"S", "i"})}));
  expect_illegal(apply(one, {command("S", "interchange", {"i", "k"})}), Kind::Overwrite);
  expect_illegal(apply(one, {command("T", "after", {"S", "i"}), command("S", "parallelize", {"i"}),
                             command("T", "parallelize", {"i"})}),
                 Kind::Overwrite);
}

TEST_F(Finish, WhatItReadsIsNotOverwrittenByTheSum) {
  // The sum begins with 0 where the bias lies.
  const auto a = input("A", {size("N"), size("K")});
  const auto x = input("x", {size("N")});
  const auto s = define("[N] -> { S[i] : 0 <= i < N }",
                        plus(sum_over_k(access(a, {at("i"), at("k")})), access(x, {at("i")})));
  const Violation input_gone = expect_illegal(
      apply(Mapping(function({s})), {command("S", "store_in", {"x[i]"})}), Kind::Overwrite);
  EXPECT_EQ(input_gone.source_instance, "S_finish[0]");
  EXPECT_EQ(input_gone.sink_instance, "S_init[0]");
  const Violation bias_gone =
      expect_illegal(apply(mapping(), {command("b", "store_in", {"S[i]"})}), Kind::Overwrite);
  EXPECT_THAT(bias_gone.explanation,
              AllOf(HasSubstr("overwrites an element that S_finish still has to read"),
                    HasSubstr("written by b")));
}

TEST_F(Finish, NothingComesBetweenItAndTheTerms) {
  // All terms have negative times; D and its reader E come behind them, before the expression.
  const auto a = input("A", {size("N"), size("K")});
  const auto s = define("[N] -> { S[i] : 0 <= i < N }",
                        times(whole(3), sum_over_k(access(a, {at("i"), at("k")}))));
  const auto x = input("x", {size("N")});
  const auto d = define("[N] -> { D[i] : 0 <= i < N }", access(x, {at("i")}));
  const auto e = define("[N] -> { E[i] : 0 <= i < N }", access(d, {at("i")}));
  const Mapping between =
      apply(Mapping(function({s, e})), {command("S", "set_schedule", {"{ S[i,k] -> [i, -1 - k] }"}),
                                        command("D", "set_schedule", {"{ D[i] -> [i, 0] }"}),
                                        command("E", "set_schedule", {"{ E[i] -> [i, 1] }"})});
  expect_legal(between);
  const Violation found =
      expect_illegal(apply(between, {command("D", "store_in", {"S[i]"})}), Kind::Overwrite);
  EXPECT_EQ(found.source_instance, "S_finish[0]");
  EXPECT_EQ(found.sink_instance, "D[0]");
  EXPECT_THAT(found.explanation,
              HasSubstr("D overwrites an element that S_finish still has to read"));
}

TEST_F(Finish, IsAskedAboutAfterEachCommand) {
  // What a check before this one has found is used again: only what a command changed is asked.
  Mapping current = mapping();
  std::shared_ptr<const LegalProgram> known;
  for (const Command &given :
       {command("b", "before", {"S", "i"}), command("T", "after", {"S", "i"}),
        command("S", "split", {"k", two}), command("S", "vectorize", {"k1", two})}) {
    current = current.with(given);
    known = require_legal(build_program(current), &given, known.get());
  }
  const Command last = command("b", "after", {"S", "i"});
  try {
    require_legal(build_program(current.with(last)), &last, known.get());
    FAIL() << "not refused";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::IllegalSchedule);
    EXPECT_EQ(error.details.at("source_instance"), "b[0]");
    EXPECT_EQ(error.details.at("sink_instance"), "S_finish[0]");
  }
}

TEST_F(Finish, IsPartOfTheFlow) {
  const std::vector<Dependence> dependences = flow_dependences(build_program(mapping()));
  const auto flows = [&](const std::string &source, const std::string &sink) {
    return std::any_of(dependences.begin(), dependences.end(), [&](const Dependence &one) {
      return one.source == source && one.sink == sink;
    });
  };
  EXPECT_TRUE(flows("b", "S_finish"));
  EXPECT_TRUE(flows("S_finish", "T"));
  EXPECT_FALSE(flows("b", "S"));
}

} // namespace
} // namespace tilewright
