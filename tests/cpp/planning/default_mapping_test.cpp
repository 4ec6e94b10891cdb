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

} // namespace
} // namespace tilewright
