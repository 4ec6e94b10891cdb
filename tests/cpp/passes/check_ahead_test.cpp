#include "loops/line.h"
#include "passes/check_ahead.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

struct Checked : Line {
  std::shared_ptr<const Variable> k = variable(1, "k");
  std::shared_ptr<const Variable> at = variable(2, "at");

  Checked() {
    kernel.buffers.push_back(argument("P", Int32, n));
    kernel.sites.emplace_back();
  }
  ValuePtr position(const ValuePtr &of) const { return load(2, "P", {Int32, 1}, {of}); }
  /// Asks whether `subscript` is one, and then does `rest`.
  std::string asked(const ValuePtr &subscript, const StmtPtr &rest) {
    kernel.body = check_ahead(
        for_loop(1, "k", integer(0), n, LoopKind::Serial, 0,
                 block({let(2, "at", cast_value(subscript, Int64)), check_index(0, at, n), rest})));
    return printed();
  }
};

TEST(CheckAhead, TheLeastAndTheLargestAreAskedOnce) {
  Checked loop;
  const std::string text = loop.asked(loop.position(loop.k), Line::y(loop.k, Line::x(loop.at)));
  EXPECT_NE(text.find("if N >= 64:"), std::string::npos) << text;
  EXPECT_NE(text.find("least = min(least, P["), std::string::npos) << text;
  const size_t without = text.find("if are_inside:");
  const size_t as_it_was = text.find("else:", without);
  ASSERT_NE(as_it_was, std::string::npos) << text;
  EXPECT_EQ(text.substr(without, as_it_was - without).find("assert"), std::string::npos) << text;
  EXPECT_NE(text.find("assert 0 <= at", as_it_was), std::string::npos) << text;
}

TEST(CheckAhead, WhatTheLoopChangesOrDoesNotLieSideBySideIsAskedEachTime) {
  Checked loop;
  loop.kernel.buffers[2].is_written = true;
  const StmtPtr reads = Line::y(loop.k, Line::x(loop.at));
  const StmtPtr changes = store(2, "P", {loop.k}, cast_value(loop.at, Int32));
  EXPECT_EQ(loop.asked(loop.position(loop.k), changes).find("are_inside"), std::string::npos);
  EXPECT_EQ(loop.asked(loop.position(mul(loop.k, integer(2))), reads).find("are_inside"),
            std::string::npos);
  EXPECT_EQ(loop.asked(loop.position(integer(3)), reads).find("are_inside"), std::string::npos);
}

} // namespace
} // namespace tilewright::test
