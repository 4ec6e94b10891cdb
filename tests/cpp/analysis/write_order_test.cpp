// Whether two schedules give an element its values in one order.
#include "analysis/legality.h"
#include "analysis/write_order.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;

/// B[i, j] and C[i, j] of it in common loops, B in one element or in as many as it has.
std::shared_ptr<const LegalProgram> fused_pair(bool in_one, const std::vector<Command> &more) {
  Mapping mapping(pointwise_pair());
  std::vector<Command> commands = {command("C", "after", {"B", "j"})};
  if (in_one) {
    commands.push_back(command("B", "storage_fold", {"i", std::int64_t{1}}));
    commands.push_back(command("B", "storage_fold", {"j", std::int64_t{1}}));
  }
  commands.insert(commands.end(), more.begin(), more.end());
  for (const Command &each : commands) {
    mapping = mapping.with(each);
  }
  return find_legal(build_program(mapping));
}

const std::vector<Command> backwards = {command("B", "reverse", {"i"}),
                                        command("C", "reverse", {"i"})};

TEST(WriteOrder, OfOneScheduleIsItsOwn) {
  const auto one = fused_pair(true, {});
  ASSERT_TRUE(one);
  EXPECT_TRUE(writes_keep_order(*one, one->program));
}

TEST(WriteOrder, MayBeTurnedRoundByALegalSchedule) {
  const auto one = fused_pair(true, {});
  const auto other = fused_pair(true, backwards);
  ASSERT_TRUE(one && other);
  EXPECT_FALSE(writes_keep_order(*one, other->program));
}

TEST(WriteOrder, IsNoneOfElementsWithOneValueEach) {
  const auto one = fused_pair(false, {});
  const auto other = fused_pair(false, backwards);
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(writes_keep_order(*one, other->program));
}

} // namespace
} // namespace tilewright
