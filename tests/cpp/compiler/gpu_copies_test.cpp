// Copies into shared memory that are under way while threads work, and accesses of several
// elements, on the emulator: what is left out or shifted on purpose does not pass.
#include "emulated.h"
#include "planning/default_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr std::int64_t rows = 5;
constexpr std::int64_t columns = 48;
constexpr std::int64_t width = columns + 16; ///< of A

/// B[k, i] = A[k, i'], where i' goes backwards in each tile of 16: a thread reads what another one
/// copied. One block goes through all rows of its tile.
Mapping turned(std::int64_t stages) {
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const auto number = [](std::int64_t value) { return constant(value, Int64); };
  const std::vector<ExprPtr> shape = {parameter("K"), parameter("N")};
  const ComputationPtr a =
      declare_input("A", {shape[0], binary(Op::Add, shape[1], number(16))}, Float32, {});
  const ComputationPtr b = declare_computation("B", {{"k", zero, shape[0]}, {"i", zero, shape[1]}},
                                               nullptr, Float32, {}, {});
  const ExprPtr inside = binary(Op::Mod, iterator("i"), number(16));
  const ExprPtr backwards = binary(Op::Sub, binary(Op::Add, iterator("i"), number(15)),
                                   binary(Op::Mul, number(2), inside));
  define_piece(b, nullptr, access(a, {iterator("k"), backwards}), {});
  const ExprPtr multiple = binary(Op::Eq, binary(Op::Mod, shape[1], number(16)), zero);
  Mapping mapping(make_function("turned", {b}, {a}, {multiple}, {}));
  mapping = mapping.with(command(
      "B", "split", {std::string("i"), std::int64_t{16}, std::string("i0"), std::string("i1")}));
  mapping = mapping.with(
      command("B", "reorder", {std::string("i0"), std::string("k"), std::string("i1")}));
  mapping = mapping.with(command("B", "gpu_block", {std::string("i0")}));
  mapping = mapping.with(command("B", "gpu_thread", {std::string("i1")}));
  return mapping.with(
      command("B", "cache",
              {std::string("A"), std::string("k"), std::string("tile"), std::string("shared"),
               std::vector<std::int64_t>{}, std::int64_t{0}, stages}));
}

CompileOptions options_for(const std::string &target) {
  CompileOptions options;
  options.layouts = {{1, 0}, {1, 0}};
  options.target = select_target(target);
  return options;
}

Kernel asynchronous(std::int64_t stages = 2) {
  return make_loops(turned(stages), options_for("gpu-emulator"));
}

/// What sm_75 gets: copies through registers.
Kernel through_registers(std::int64_t stages = 2) {
  return make_loops(turned(stages), options_for("cuda"));
}

/// Runs the kernel on an array that begins `shift` bytes behind a multiple of 256; what the
/// emulator says, or how many elements are wrong.
std::string run(const Kernel &kernel, std::int64_t shift = 0) {
  std::vector<float> a(rows * width);
  std::iota(a.begin(), a.end(), 0.0F);
  constexpr std::int64_t item = sizeof(float);
  std::vector<float> expected;
  for (std::int64_t k = 0; k < rows; ++k) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t from = i - i % 16 + 15 - i % 16;
      expected.push_back(a[static_cast<size_t>(k * width + from)]);
    }
  }
  return problem_of(kernel, a, expected, {rows, columns, width * item, item, columns * item, item},
                    shift);
}

TEST(StagedCopies, RunAheadWithOneBarrierAnIteration) {
  for (const std::int64_t stages : {2, 3, 8}) {
    const Kernel kernel = asynchronous(stages);
    EXPECT_EQ(count_of(kernel, StatementKind::Barrier), 1);
    EXPECT_GT(count_of(kernel, StatementKind::CopyAsync), 0);
    EXPECT_EQ(run(kernel), "");
    EXPECT_EQ(run(kernel, 4), "");
  }
}

TEST(StagedCopies, GoThroughRegistersOnOlderDevices) {
  for (const std::int64_t stages : {2, 3}) {
    const Kernel kernel = through_registers(stages);
    EXPECT_EQ(count_of(kernel, StatementKind::Barrier), 1);
    EXPECT_EQ(count_of(kernel, StatementKind::CopyAsync), 0);
    EXPECT_GT(count_of(kernel, StatementKind::AssignLocal), 0);
    EXPECT_EQ(run(kernel), "");
    EXPECT_EQ(run(kernel, 4), "");
  }
}

TEST(StagedCopies, WithoutWaitingAreFound) {
  EXPECT_THAT(run(without(asynchronous(), StatementKind::WaitForCopies)),
              HasSubstr("copies asynchronously and has not waited for"));
}

TEST(StagedCopies, WithAGroupTooManyUnderWayAreFound) {
  const Kernel kernel = changed(asynchronous(3), [](const StmtPtr &statement) {
    const auto *wait = as<WaitForCopies>(statement);
    return wait == nullptr ? statement : wait_for_copies(wait->groups + 1);
  });
  EXPECT_THAT(run(kernel), HasSubstr("has not waited for"));
}

TEST(StagedCopies, WithoutGroupsAreFound) {
  EXPECT_THAT(run(without(asynchronous(), StatementKind::CommitCopies)),
              HasSubstr("has not waited for"));
}

TEST(StagedCopies, WithoutTheirBarrierAreFound) {
  EXPECT_THAT(run(without(asynchronous(), StatementKind::Barrier)),
              HasSubstr("with no barrier between"));
  EXPECT_THAT(run(without(through_registers(), StatementKind::Barrier)),
              HasSubstr("with no barrier between"));
}

TEST(StagedCopies, InOneStageOnlyAreFound) {
  const auto first = [](const ValuePtr &value) -> ValuePtr {
    return is_binary(value, Op::Mod) && as_integer(value->operands[1]) == 2 ? integer(0) : nullptr;
  };
  EXPECT_THAT(run(with_values(asynchronous(), first)), HasSubstr("with no barrier between"));
  EXPECT_THAT(run(with_values(through_registers(), first)), HasSubstr("with no barrier between"));
}

TEST(WideCopies, AreLeftOutWhereArraysAreNotAligned) {
  const auto asks = [](const Value &value) {
    const auto *aligned = as<Aligned>(value);
    return aligned != nullptr && aligned->bytes == 16;
  };
  const Kernel kernel = through_registers(1);
  EXPECT_EQ(count_of(kernel, asks), 1) << print_loop_ir(kernel);
  EXPECT_EQ(run(kernel), "");
  EXPECT_EQ(run(kernel, 4), "");
  EXPECT_EQ(run(kernel, 8), "");
}

} // namespace
} // namespace tilewright
