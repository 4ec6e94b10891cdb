#include "passes/fuse_block_ends.h"
#include "passes/guards.h"

namespace tilewright::test {
namespace {

class FuseBlockEnds : public Guards {
protected:
  static ValuePtr counter(std::int64_t id, const std::string &name) { return variable(id, name); }
  ValuePtr rows() const { return floor_div(n, integer(2)); }
  /// Row `i` of two elements: `value` of each.
  static StmtPtr row(std::int64_t id, const ValuePtr &i, std::int64_t step,
                     const std::function<ValuePtr(const ValuePtr &)> &value) {
    const ValuePtr j = variable(id, "j");
    const ValuePtr at = add(mul(integer(step), i), j);
    return loop(j, integer(2), y(at, value(at)));
  }
  static ValuePtr y_at(const ValuePtr &at) { return load(2, "Y", {Int64, 1}, {at}); }

  StmtPtr begin(std::int64_t step = 2) const {
    const ValuePtr i = variable(10, "i");
    return loop(i, rows(), row(11, i, step, [](const ValuePtr &) { return integer(5); }));
  }
  StmtPtr blocks(const StmtPtr &packed = nullptr, std::int64_t step = 2) const {
    const ValuePtr b = variable(20, "b");
    const ValuePtr i = variable(21, "i");
    const ValuePtr k = variable(22, "k");
    const ValuePtr term = add(mul(integer(3), b), k);
    const StmtPtr tile =
        loop(i, rows(),
             loop(k, minimum(integer(3), sub(n, mul(integer(3), b))),
                  row(23, i, step, [&](const ValuePtr &at) { return add(y_at(at), w(term)); })));
    return loop(b, floor_div(add(n, integer(2)), integer(3)),
                packed ? block({packed, tile}) : tile);
  }
  StmtPtr end(std::int64_t step = 2) const {
    const ValuePtr i = variable(30, "i");
    return loop(i, rows(),
                row(31, i, step, [](const ValuePtr &at) { return mul(y_at(at), integer(7)); }));
  }
  std::string fused(const StmtPtr &body) {
    return printed(simplify_indices(fuse_block_ends(body, known), known), body);
  }
  void stays(const StmtPtr &body) {
    printed(body, body);
    EXPECT_EQ(print(fuse_block_ends(body, known)), print(body));
  }
  std::string print(const StmtPtr &body) {
    kernel.body = body;
    return print_loop_ir(kernel);
  }
};

TEST_F(FuseBlockEnds, RowsBeginInTheFirstBlockAndEndInTheLast) {
  EXPECT_EQ(fused(block({begin(), blocks(), end()})),
            "if 0 < (N + 2) // 3:\n"
            "  for b in range(0, (N + 2) // 3):\n"
            "    for i in range(0, N // 2):\n"
            "      if b == 0:\n"
            "        for j in range(0, 2):\n"
            "          Y[2 * i + j] = 5\n"
            "      for k in range(0, min(3, N - 3 * b)):\n"
            "        for j in range(0, 2):\n"
            "          Y[2 * i + j] = Y[2 * i + j] + W[3 * b + k]\n"
            "      if b + 1 == (N + 2) // 3:\n"
            "        for j in range(0, 2):\n"
            "          Y[2 * i + j] = Y[2 * i + j] * 7\n"
            "else:\n"
            "  for i in range(0, N // 2):\n"
            "    for j in range(0, 2):\n"
            "      Y[2 * i + j] = 5\n"
            "  for i in range(0, N // 2):\n"
            "    for j in range(0, 2):\n"
            "      Y[2 * i + j] = Y[2 * i + j] * 7\n");
}

TEST_F(FuseBlockEnds, NothingNeedsToComeBehind) {
  const std::string text = fused(block({begin(), blocks()}));
  EXPECT_NE(text.find("if b == 0:"), std::string::npos) << text;
  EXPECT_EQ(text.find("b + 1 =="), std::string::npos) << text;
}

TEST_F(FuseBlockEnds, TestsAroundTheEndsAreAskedInTheRows) {
  const StmtPtr some = if_then(lt(integer(4), n), begin());
  const std::string text = fused(block({some, blocks(), end()}));
  EXPECT_NE(text.find("if b == 0 and 4 < N:"), std::string::npos) << text;
}

TEST_F(FuseBlockEnds, RowsThatShareElementsStayApart) {
  stays(block({begin(1), blocks(nullptr, 1), end(1)})); // Y[i + j]
  stays(block({begin(1), blocks(), end()}));            // other rows than those that follow
}

TEST_F(FuseBlockEnds, WhatIsPackedIsNoneOfTheRows) {
  const StmtPtr packed = fill(integer(0), y_at(integer(0)));
  stays(allocate(3, "T", block({begin(), blocks(packed), end()})));
  const StmtPtr harmless = fill(integer(0), w(integer(0)));
  const StmtPtr body = allocate(3, "T", block({begin(), blocks(harmless), end()}));
  EXPECT_NE(print(fuse_block_ends(body, known)), print(body));
}

TEST_F(FuseBlockEnds, WhatReadsAnotherArrayThatTheBlocksChangeStaysBehind) {
  const ValuePtr i = variable(30, "i");
  const StmtPtr reads = loop(
      i, rows(), row(31, i, 2, [](const ValuePtr &at) { return add(y_at(at), t(integer(0))); }));
  const StmtPtr packed = fill(integer(0), w(integer(0)));
  const StmtPtr body =
      allocate(3, "T", block({fill(integer(0), integer(1)), begin(), blocks(packed), reads}));
  const std::string text = print(fuse_block_ends(body, known));
  EXPECT_EQ(text.find("b + 1 =="), std::string::npos) << text;
}

} // namespace
} // namespace tilewright::test
