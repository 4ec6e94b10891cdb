#include "loops/line.h"
#include "passes/join_masked_stores.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

constexpr int lanes = 8;

/// Statements over eight elements of Y, from 8 * k on.
struct Lanes : Line {
  std::shared_ptr<const Variable> k = variable(1, "k");
  std::shared_ptr<const Local> m = local(11, "m", {Bool, lanes});
  std::shared_ptr<const Local> n_mask = local(12, "n", {Bool, lanes});

  ValuePtr at(std::int64_t offset = 0) const {
    return ramp(add(mul(k, integer(lanes)), integer(offset)), 1, lanes);
  }
  ValuePtr read(std::int64_t buffer, std::int64_t offset = 0) const {
    return load(buffer, buffer == 0 ? "X" : "Y", {Float64, lanes}, {at(offset)});
  }
  StmtPtr write(const ValuePtr &value, const ValuePtr &mask, std::int64_t offset = 0) const {
    const StmtPtr made = store(1, "Y", {at(offset)}, value, Op::None, mask);
    return mask ? if_then(reduce_lanes(Op::Or, mask), made) : made;
  }
  static ValuePtr number(double value) { return broadcast(constant_of(value, Float64), lanes); }
  std::string joined(std::vector<StmtPtr> body) {
    const ValuePtr is_positive = binary_value(Op::Gt, read(0), number(0));
    body.insert(body.begin(), {declare_local(11, "m", is_positive),
                               declare_local(12, "n", unary_value(Op::Not, is_positive))});
    kernel.body = join_masked_stores(for_loop(1, "k", integer(0), floor_div(n, integer(lanes)),
                                              LoopKind::Serial, 0, block(std::move(body))));
    return printed();
  }
};

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(JoinMaskedStores, TwoBranchesStoreOnce) {
  Lanes with;
  const std::string text =
      with.joined({with.write(Lanes::number(1), with.m), with.write(with.read(1), with.n_mask)});
  EXPECT_EQ(count(text, "Y[k * 8 : 8 * k + 8] = kept  # where taken_2"), 1) << text;
  EXPECT_EQ(count(text, "\n    Y[") + count(text, "\n  Y["), 1) << text;
  EXPECT_NE(text.find("kept if taken else Y[k * 8 : 8 * k + 8]"), std::string::npos) << text;
}

TEST(JoinMaskedStores, WhatAllLanesStoreIsStoredLast) {
  Lanes with;
  const std::string text =
      with.joined({with.write(Lanes::number(1), nullptr), with.write(with.read(1), with.m),
                   with.write(with.read(0), with.n_mask)});
  EXPECT_NE(text.find("kept = X[k * 8 : 8 * k + 8] if takes_2 else kept"), std::string::npos)
      << text;
  EXPECT_EQ(count(text, "Y[k * 8 : 8 * k + 8] = kept\n"), 1) << text;
  // Behind them, all lanes store again: nothing is left of the others.
  const std::string last =
      with.joined({with.write(Lanes::number(1), with.m), with.write(with.read(1), nullptr)});
  EXPECT_EQ(count(last, "Y[k * 8 : 8 * k + 8] ="), 1) << last;
}

TEST(JoinMaskedStores, OtherElementsOfTheArrayAndChecksEndIt) {
  Lanes with;
  const StmtPtr first = with.write(Lanes::number(1), with.m);
  const StmtPtr again = with.write(Lanes::number(2), with.n_mask);
  const std::vector<std::vector<StmtPtr>> others = {
      {first},
      {first, with.write(with.read(1, 1), with.n_mask)},
      {first, with.write(Lanes::number(2), with.m, 1), again},
      {first, check_index(0, with.k, with.n), again},
      {with.write(Lanes::number(1), nullptr), with.write(with.read(1), nullptr)},
  };
  with.kernel.sites.emplace_back();
  for (const std::vector<StmtPtr> &body : others) {
    EXPECT_EQ(with.joined(body).find("kept"), std::string::npos);
  }
}

TEST(JoinMaskedStores, LanesThatMayMeetInOneElementStay) {
  Lanes with;
  const ValuePtr chosen = cast_value(with.read(0), Int64); // by data
  const ValuePtr one = broadcast(with.k, lanes);
  for (const ValuePtr &place : {chosen, one}) {
    const auto under = [&](const ValuePtr &mask, double value) {
      return if_then(reduce_lanes(Op::Or, mask),
                     store(1, "Y", {place}, Lanes::number(value), Op::None, mask));
    };
    const std::string text = with.joined({under(with.m, 1), under(with.n_mask, 2)});
    EXPECT_EQ(text.find("kept"), std::string::npos) << text;
  }
}

} // namespace
} // namespace tilewright::test
