// Verdicts of legality outlive the object that asked, and the process; nothing else is mistaken for
// one.
#include "mapping/example_functions.h"
#include "runtime/cache.h"
#include "scheduling/cache_fixture.h"
#include "scheduling/legal_schedules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using namespace examples;

class LegalSchedulesTest : public test::CacheFixture {
protected:
  fs::path note() const {
    for (const auto &entry : fs::directory_iterator(folder_ + "/kernels")) {
      if (entry.path().extension() == ".twn") {
        return entry.path();
      }
    }
    return {};
  }
};

TEST_F(LegalSchedulesTest, AnotherObjectOfTheSameFunctionKnowsThem) {
  LegalSchedules first(*two_stencils());
  EXPECT_FALSE(first.contains(first.none()));
  first.add(first.none());
  LegalSchedules second(*two_stencils());
  EXPECT_TRUE(second.contains(second.none()));
  EXPECT_FALSE(LegalSchedules(*pointwise_pair()).contains(first.none()));
}

TEST_F(LegalSchedulesTest, TheNextProcessKnowsWhatWasStored) {
  LegalSchedules schedules(*two_stencils());
  const std::string one = LegalSchedules::after(schedules.none(), command("C", "reverse", {"i"}));
  const std::string two = LegalSchedules::after(one, command("B", "reverse", {"i"}));
  schedules.add(one);
  schedules.store();
  schedules.add(two);
  schedules.store(); // keeps the first
  LegalSchedules::forget_all();
  LegalSchedules later(*two_stencils());
  EXPECT_TRUE(later.contains(one));
  EXPECT_TRUE(later.contains(two));
  EXPECT_FALSE(later.contains(later.none()));
  EXPECT_EQ(cache_info().entries, 0);
}

TEST_F(LegalSchedulesTest, WhatWasNotStoredIsForgotten) {
  LegalSchedules schedules(*two_stencils());
  schedules.add(schedules.none());
  LegalSchedules::forget_all();
  EXPECT_FALSE(LegalSchedules(*two_stencils()).contains(schedules.none()));
}

TEST_F(LegalSchedulesTest, ADamagedNoteSaysNothing) {
  LegalSchedules schedules(*two_stencils());
  schedules.add(schedules.none());
  schedules.store();
  const std::uintmax_t size = fs::file_size(note());
  for (std::uintmax_t at = 0; at < size; at += 7) {
    schedules.add(LegalSchedules::after(schedules.none(), command("C", "reverse", {"i"})));
    schedules.add(schedules.none());
    {
      std::fstream file(note(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const auto byte = static_cast<char>(file.get());
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 0x20));
    }
    LegalSchedules::forget_all();
    LegalSchedules later(*two_stencils());
    EXPECT_FALSE(later.contains(schedules.none())) << "byte " << at;
    later.add(schedules.none()); // writes a whole one again
    later.store();
    ASSERT_FALSE(note().empty());
  }
}

TEST_F(LegalSchedulesTest, EveryPartOfACommandCounts) {
  const std::string none = LegalSchedules(*two_stencils()).none();
  const std::vector<Command> commands = {
      command("C", "split", {"i", std::int64_t{4}}),
      command("C", "split", {"i", std::int64_t{5}}),
      command("C", "split", {"i", "4"}),
      command("C", "split", {"i4"}),
      command("C", "split", {"i", "j"}),
      command("C", "split", {"ij"}),
      command("C", "split", {std::vector<std::string>{"i", "j"}}),
      command("C", "split", {std::vector<std::int64_t>{4, 5}}),
      command("C", "split", {}),
      command("Cs", "plit", {}),
      command("B", "split", {"i", std::int64_t{4}}),
      command("C", "unroll", {"i", std::int64_t{4}}),
  };
  std::set<std::string> digests = {none};
  for (const Command &given : commands) {
    EXPECT_TRUE(digests.insert(LegalSchedules::after(none, given)).second) << to_string(given);
  }
  // Where a command was written plays no part, and the order of two does.
  Command elsewhere = commands[0];
  elsewhere.where.line = 7;
  EXPECT_EQ(LegalSchedules::after(none, elsewhere), LegalSchedules::after(none, commands[0]));
  const auto both = [&](const Command &a, const Command &b) {
    return LegalSchedules::after(LegalSchedules::after(none, a), b);
  };
  EXPECT_NE(both(commands[0], commands[1]), both(commands[1], commands[0]));
}

TEST_F(LegalSchedulesTest, AnOrderedReductionIsAnotherFunction) {
  const auto sum_of = [](bool ordered) {
    const ComputationPtr x = declare_input("x", {parameter("N")}, Float64, {});
    const ComputationPtr total = declare_computation("total", {}, nullptr, Float64, {}, {});
    const ExprPtr zero = constant(std::int64_t{0}, Int64);
    define_piece(total, nullptr,
                 reduce(Op::ReduceSum, {{"i", zero, parameter("N")}}, access(x, {iterator("i")}),
                        nullptr, ordered),
                 {});
    return make_function("sum", {total}, {x}, {}, {});
  };
  EXPECT_NE(LegalSchedules(*sum_of(true)).none(), LegalSchedules(*sum_of(false)).none());
}

} // namespace
} // namespace tilewright
