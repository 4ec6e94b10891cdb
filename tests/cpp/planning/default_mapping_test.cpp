// The mapping of a function that nobody has scheduled is legal, also where the order of iterators
// is not.
#include "analysis/legality.h"
#include "mapping/example_functions.h"
#include "planning/default_mapping.h"

namespace tilewright {
namespace {

using namespace examples;

std::optional<Violation> violation(const Mapping &mapping) {
  return find_violation(build_program(mapping));
}

void expect_legal(const Mapping &mapping) {
  const std::optional<Violation> found = violation(mapping);
  EXPECT_FALSE(found) << found->explanation << ": " << found->source_instance << " -> "
                      << found->sink_instance;
}

TEST(DefaultMapping, OfMutualRecurrencesIsLegal) {
  const auto x = input("x", {size("N")});
  const auto u = declare("[N] -> { U[i] : 0 <= i < N }");
  const auto v = declare("[N] -> { V[i] : 0 <= i < N }");
  define_on(u, "[N] -> { U[i] : i = 0 }", access(x, {at("i")}));
  define_on(u, "[N] -> { U[i] : i > 0 }", access(v, {at("i", -1)}));
  define_piece(v, nullptr, plus(access(u, {at("i")}), whole(1)), {});
  const auto both = function({u, v});
  EXPECT_TRUE(violation(Mapping(both)));
  expect_legal(default_mapping(both));
  EXPECT_TRUE(default_mapping(both).schedule().commands.empty());
}

TEST(DefaultMapping, OfARecurrenceThatRunsBackwardsIsLegal) {
  const auto x = input("x", {size("N")});
  const auto p = declare("[N] -> { P[i] : 0 <= i < N }");
  define_on(p, "[N] -> { P[i] : i = N - 1 }", access(x, {at("i")}));
  define_on(p, "[N] -> { P[i] : i < N - 1 }", plus(access(p, {at("i", 1)}), access(x, {at("i")})));
  const auto backwards = function({p});
  EXPECT_TRUE(violation(Mapping(backwards)));
  expect_legal(default_mapping(backwards));
}

TEST(DefaultMapping, OfABackwardRecurrenceThatReadsReductionsOverNothing) {
  const ExprPtr some = binary(Op::Gt, at("b"), whole(0));
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), size("K")}},
                             cast(at("k"), Float32), some);
  const auto d = define("[N] -> { D[a,b] : 0 <= a < N and 0 <= b < N }", sum);
  const auto e = declare("[N] -> { E[i,j] : 0 <= i < N and 0 <= j < N }");
  define_on(e, "[N] -> { E[i,j] : i < N - 1 and j > 0 }",
            plus(access(e, {at("i", 1), at("j", -1)}),
                 access(d, {at("i", 1), constant(std::int64_t{0}, Int64)})));
  define_on(e, "[N] -> { E[i,j] : i = N - 1 or j = 0 }", constant(1.0, Float32));
  expect_legal(default_mapping(function({e})));
}

} // namespace
} // namespace tilewright
