// Loops that are joined though both extents are parameters: to isl they stay two, and legality
// knows of their strips what their tags say.
#include "analysis/legality.h"
#include "mapping/commands.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;

Mapping joined(const std::shared_ptr<const Function> &function, const std::string &computation) {
  return Mapping(function).with(
      command(computation, "join", {std::string("i"), std::string("j"), std::string("both")}));
}

Command lanes(const std::string &computation) {
  return command(computation, "vectorize", {std::string("both"), std::int64_t(4)});
}

TEST(JoinedLoops, LanesOfAStripAreNotOrdered) {
  const Mapping recurrence = joined(seidel(), "A");
  EXPECT_FALSE(find_violation(build_program(recurrence)));
  EXPECT_TRUE(find_violation(build_program(recurrence.with(lanes("A")))));
  const Mapping independent = joined(map_2d(), "C");
  EXPECT_FALSE(find_violation(build_program(independent.with(lanes("C")))));
}

TEST(JoinedLoops, LanesOfAStripThatIsThereAreAChange) {
  const Mapping strips = joined(seidel(), "A")
                             .with(command("A", "split",
                                           {std::string("both"), std::int64_t(4), std::string("b"),
                                            std::string("l")}));
  const auto before = require_legal(build_program(strips), nullptr);
  const Command given = command("A", "vectorize", {std::string("l")});
  const Program program = build_program(strips.with(given));
  for (const Statement &statement : program.statements) {
    EXPECT_FALSE(Unchanged(program, before.get()).statement(statement)) << statement.name;
  }
  EXPECT_THROW(require_legal(program, &given, before.get()), Error);
}

} // namespace
} // namespace tilewright
