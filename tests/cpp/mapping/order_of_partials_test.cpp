// Partial results of a fold that is associative and not commutative: which loops may be factored
// out, and the two terms that a refusal names.
#include "algorithm/reductions.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::HasSubstr;

/// C[i] = the fold of x[i, k] over k < K, and over l < 2 inside of it if `inner`.
Mapping folded(bool inner = false) {
  const auto x = input("x", {size("N"), size("K")}, Int64);
  const ExprPtr s = state("s", Int64);
  const ExprPtr t = state("t", Int64);
  const ExprPtr term = access(x, {at("i"), at("k")});
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  std::vector<ReduceRange> ranges = {{"k", zero, size("K")}};
  if (inner) {
    ranges.push_back({"l", zero, constant(std::int64_t{2}, Int64)});
  }
  const auto after = [&](const ExprPtr &value) {
    return select(binary(Op::Eq, value, zero), s, value);
  };
  const auto results = fold({{s}, {after(term)}, {t}, {after(t)}}, {zero}, ranges);
  return Mapping(function(
      {define("[N] -> { C[i] : 0 <= i < N }", with_terms_in_order(results).front(), Int64)}));
}

/// The error of a command that gives a partial result terms that do not stand together.
Error refused(const Mapping &mapping, const std::string &loop) {
  try {
    static_cast<void>(mapping.with(command("C", "rfactor", {loop})));
  } catch (const Error &error) {
    return error;
  }
  return {ErrorKind::Internal, "it was accepted"};
}

TEST(OrderOfPartials, BlocksOfTermsStandTogether) {
  const Mapping split = folded().with(command("C", "split", {"k", std::int64_t{8}}));
  const Mapping after = split.with(command("C", "rfactor", {"k0"}));
  EXPECT_NE(after.function().find("C_partial"), nullptr);
  EXPECT_NO_THROW(static_cast<void>(folded().with(command("C", "rfactor", {"k"}))));
}

TEST(OrderOfPartials, TermsThatAreDealtOutAreRefused) {
  const Mapping split = folded().with(command("C", "split", {"k", std::int64_t{8}}));
  Error error = refused(split, "k1");
  EXPECT_EQ(error.kind, ErrorKind::IllegalSchedule);
  EXPECT_EQ(error.details["source_instance"], "C[0,1]");
  EXPECT_EQ(error.details["sink_instance"], "C[0,8]");
  EXPECT_EQ(error.details["kind"], "order");
  EXPECT_THAT(error.details["parameters"], HasSubstr("K = 9"));
  EXPECT_THAT(error.what(), HasSubstr("takes its terms in order"));
}

TEST(OrderOfPartials, TheFirstIteratorLeads) {
  EXPECT_NO_THROW(static_cast<void>(folded(true).with(command("C", "rfactor", {"k"}))));
  Error error = refused(folded(true), "l");
  EXPECT_EQ(error.details["source_instance"], "C[0,0,1]");
  EXPECT_EQ(error.details["sink_instance"], "C[0,1,0]");
}

/// What is factored is the declared order; a loop that runs backwards numbers its blocks backwards.
TEST(OrderOfPartials, LoopsThatRunBackwards) {
  const Mapping split = folded().with(command("C", "split", {"k", std::int64_t{8}}));
  const Mapping reversed = split.with(command("C", "reverse", {"k0"}));
  EXPECT_EQ(refused(reversed, "k0").kind, ErrorKind::IllegalSchedule);
}

} // namespace
} // namespace tilewright
