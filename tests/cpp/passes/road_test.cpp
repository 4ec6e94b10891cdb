#include "loops/line.h"
#include "lowering/fixture.h"
#include "passes/road.h"

#include <algorithm>
#include <set>

namespace tilewright::test {
namespace {

/// The names of the passes that a kernel goes through, in order.
std::vector<std::string> names_of(const PassOptions &options) {
  Line line;
  const ValuePtr i = variable(1, "i");
  line.kernel.body =
      for_loop(1, "i", integer(0), line.n, LoopKind::Serial, 0, Line::y(i, Line::x(i)));
  std::vector<std::string> names;
  run_passes(
      line.kernel, options,
      [&](const char *name, const Kernel &kernel, double seconds) {
        EXPECT_EQ(kernel.name, "line");
        EXPECT_GE(seconds, 0);
        names.emplace_back(name);
      },
      true);
  return names;
}

bool has(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Road, LoopsForPeopleEndWhereVectorLoopsAreStillLoops) {
  PassOptions options;
  options.for_people = true;
  EXPECT_EQ(names_of(options),
            (Names{"settle_loop_ranges", "simplify_indices", "count_joined_loops", "lift_guards",
                   "tighten_guards", "simplify_indices", "check_joined_loops"}));
}

TEST(Road, LoopsThatBecomeCLeaveTestsAndBordersOutOfTheirInnermostOnes) {
  PassOptions options;
  options.for_people = true;
  options.for_source = true;
  const std::vector<std::string> names = names_of(options);
  EXPECT_TRUE(has(names, "unswitch"));
  EXPECT_TRUE(has(names, "split_borders"));
  EXPECT_FALSE(has(names, "unroll_loops"));
  EXPECT_FALSE(has(names, "vectorize_loops"));
}

TEST(Road, KernelsOfTheCpuLeaveOutWhatIsOfGpus) {
  const std::vector<std::string> names = names_of({});
  EXPECT_TRUE(has(names, "vectorize_loops"));
  EXPECT_TRUE(has(names, "check_registers"));
  EXPECT_FALSE(has(names, "map_launches"));
  EXPECT_FALSE(has(names, "unroll_short_tiles"));
}

TEST(Road, WatchedKernelsMayKeepATileInMemory) {
  PassOptions options;
  options.is_instrumented = true;
  EXPECT_FALSE(has(names_of(options), "check_registers"));
}

TEST(Road, APassThatLeavesAWrongKernelIsNamed) {
  // No pass does: the first one is given what none may be given.
  Line line;
  line.kernel.body = Line::y(variable(9, "ghost"), Line::x(integer(0)));
  try {
    run_passes(line.kernel, {}, {}, true);
    FAIL() << "was accepted";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Internal);
    const std::string text = error.what();
    EXPECT_NE(text.find("pass settle_loop_ranges broke"), std::string::npos) << text;
    EXPECT_NE(text.find("ghost"), std::string::npos) << text;
  }
  EXPECT_NO_THROW(run_passes(line.kernel, {}, {}, false)); // nobody asked
}

TEST(Road, LoweringTellsOfItsTranslationFirst) {
  LoweringOptions options;
  std::vector<std::string> names;
  options.observer = [&](const char *name, const Kernel & /*kernel*/, double /*seconds*/) {
    names.emplace_back(name);
  };
  lower(build_program(Mapping(matmul())), options);
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "translate");
  EXPECT_EQ(names.back(), "simplify_indices");
}

} // namespace
} // namespace tilewright::test
