#include "loops/line.h"
#include "passes/promote_accumulators.h"
#include "passes/simplify_indices.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

TEST(PromoteAccumulators, DistinctElementsStayInLocals) {
  Line line;
  const auto k = variable(1, "k");
  const auto n = line.n;
  const auto add_to = [&](const ValuePtr &at) {
    const auto old = load(1, "Y", {Float64, 1}, {at});
    return Line::y(at, binary_value(Op::Add, old, Line::x(k)));
  };
  const auto loop = [&](const StmtPtr &body) {
    return for_loop(1, "k", integer(0), n, LoopKind::Serial, 0, body);
  };
  line.kernel.body = promote_accumulators(loop(block({add_to(n), add_to(add(n, integer(1)))})));
  EXPECT_EQ(line.printed(), "if 0 < N:\n"
                            "  acc = Y[N]\n"
                            "  acc_2 = Y[N + 1]\n"
                            "  for k in range(0, N):\n"
                            "    acc = acc + X[k]\n"
                            "    acc_2 = acc_2 + X[k]\n"
                            "  Y[N] = acc\n"
                            "  Y[N + 1] = acc_2\n");
  // Y[0] and Y[N] may be one element, Y[k] is Y[N - 1] at last, a guarded store may not happen.
  const auto last = add(n, integer(-1));
  for (const StmtPtr &body :
       {block({add_to(n), add_to(integer(0))}), block({add_to(last), add_to(k)}),
        if_then(binary_value(Op::Gt, k, n), add_to(n))}) {
    line.kernel.body = promote_accumulators(loop(body));
    EXPECT_EQ(line.printed().find("acc"), std::string::npos) << line.printed();
  }
}

TEST(PromoteAccumulators, EndsOfLoopsTellElementsApart) {
  Line line;
  const auto k = variable(1, "k");
  const auto n = line.n;
  const auto add_at = [&](const ValuePtr &at, const ValuePtr &other) {
    return Line::y(at, binary_value(Op::Add, load(1, "Y", {Float64, 1}, {at}),
                                    load(1, "Y", {Float64, 1}, {other})));
  };
  const auto after = [&](const ValuePtr &lower, const ValuePtr &upper, const StmtPtr &body) {
    line.kernel.body =
        promote_accumulators(for_loop(1, "k", lower, upper, LoopKind::Serial, 0, body));
    return line.printed();
  };
  // A row of a triangular solve: what is read comes before it, or behind.
  const auto upper = binary_value(Op::Min, n, integer(8));
  EXPECT_EQ(after(integer(0), upper, add_at(add(n, integer(1)), k)),
            "if 0 < min(N, 8):\n"
            "  acc = Y[N + 1]\n"
            "  for k in range(0, min(N, 8)):\n"
            "    acc = acc + Y[k]\n"
            "  Y[N + 1] = acc\n");
  EXPECT_NE(after(add(n, integer(1)), integer(100), add_at(n, k)).find("acc"), std::string::npos);
  // One iteration reads the element itself, or what is read runs against the loop.
  EXPECT_EQ(after(integer(0), add(n, integer(1)), add_at(n, k)).find("acc"), std::string::npos);
  EXPECT_EQ(after(n, integer(100), add_at(n, k)).find("acc"), std::string::npos);
  EXPECT_EQ(after(integer(0), n, add_at(n, sub(n, k))).find("acc"), std::string::npos);
}

TEST(PromoteAccumulators, FirstValuesStayOutOfMemory) {
  Line line;
  const auto k = variable(1, "k");
  const auto n = line.n;
  const auto five = integer(5);
  const auto zero = constant_of(0.0, Float64);
  const auto old = load(1, "Y", {Float64, 1}, {n});
  const auto sum = Line::y(n, binary_value(Op::Add, old, Line::x(k)));
  const auto after = [&](const std::vector<StmtPtr> &stores) {
    std::vector<StmtPtr> all = stores;
    all.push_back(for_loop(1, "k", integer(0), n, LoopKind::Serial, 0, sum));
    line.kernel.body = promote_accumulators(block(all));
    return line.printed();
  };
  // Also where the loop does not run.
  EXPECT_EQ(after({Line::y(five, zero), Line::y(n, zero)}), "Y[5] = 0.0\n"
                                                            "acc = 0.0\n"
                                                            "for k in range(0, N):\n"
                                                            "  acc = acc + X[k]\n"
                                                            "Y[N] = acc\n");
  // Another element was stored last, or the value is one of the elements.
  for (const auto &stores :
       {std::vector<StmtPtr>{Line::y(n, zero), Line::y(five, zero)},
        std::vector<StmtPtr>{Line::y(n, load(1, "Y", {Float64, 1}, {five}))}}) {
    EXPECT_NE(after(stores).find("  acc = Y[N]\n"), std::string::npos) << line.printed();
  }
}

TEST(PromoteAccumulators, LoopsInsideMustRun) {
  Line line;
  const auto k = variable(1, "k");
  const auto old = load(1, "Y", {Float64, 1}, {integer(3)});
  const auto sum = Line::y(integer(3), binary_value(Op::Add, old, Line::x(k)));
  const auto inner = for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0, sum);
  const auto nest = for_loop(2, "r", integer(0), integer(4), LoopKind::Serial, 0, inner);
  line.kernel.body = simplify_indices(promote_accumulators(nest), {});
  const std::string text = line.printed();
  EXPECT_EQ(text.find("if 0 < N:\n  acc = Y[3]\n  for r in range(0, 4):\n"), 0U) << text;
}

TEST(PromoteAccumulators, AnAtomicUpdateIsMadeOnceBehindItsLoop) {
  Line line;
  const auto k = variable(1, "k");
  const auto loop = [&](const StmtPtr &body) {
    return for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0, body);
  };
  const auto update = [&](const ValuePtr &at) {
    return atomic_update(Op::Max, 1, "Y", {at}, Line::x(k));
  };
  // Under a condition too: the identity changes nothing.
  line.kernel.body =
      promote_accumulators(loop(if_then(binary_value(Op::Gt, k, line.n), update(integer(3)))));
  EXPECT_EQ(line.printed(), "acc = -inf\n"
                            "for k in range(0, N):\n"
                            "  if k > N:\n"
                            "    acc = max(acc, X[k])\n"
                            "Y[3] = max(Y[3], acc)  # atomic\n");
  // Elements that change, or that are read as well, stay as they are.
  const auto read = Line::y(integer(4), load(1, "Y", {Float64, 1}, {integer(3)}));
  for (const StmtPtr &body : std::vector<StmtPtr>{update(k), block({update(integer(3)), read})}) {
    line.kernel.body = promote_accumulators(loop(body));
    EXPECT_EQ(line.printed().find("-inf"), std::string::npos) << line.printed();
  }
}

TEST(PromoteAccumulators, VectorsThatOverlapStayInMemory) {
  Line line;
  const auto k = variable(1, "k");
  const auto add_to = [&](std::int64_t at) {
    const auto where = ramp(integer(at), 1, 4);
    return store(
        1, "Y", {where},
        binary_value(Op::Add, load(1, "Y", {Float64, 4}, {where}), broadcast(Line::x(k), 4)));
  };
  const auto loop = [&](std::int64_t second) {
    return for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0,
                    block({add_to(0), add_to(second)}));
  };
  line.kernel.body = promote_accumulators(loop(3));
  EXPECT_EQ(line.printed().find("acc"), std::string::npos) << line.printed();
  line.kernel.body = promote_accumulators(loop(4));
  EXPECT_NE(line.printed().find("acc_2 = Y[4 : 8]"), std::string::npos) << line.printed();
}

TEST(PromoteAccumulators, StoresThatWereWrittenOutAreOneAfterTheOther) {
  Line line;
  const auto n = line.n;
  const auto add_to = [&](const ValuePtr &at, std::int64_t term) {
    return Line::y(at,
                   binary_value(Op::Add, load(1, "Y", {Float64, 1}, {at}), Line::x(integer(term))));
  };
  const auto next = add(n, integer(1));
  const auto zero = constant_of(0.0, Float64);
  const auto after = [&](const std::vector<StmtPtr> &stores) {
    line.kernel.body = promote_accumulators(block(stores));
    return line.printed();
  };
  // Back ends cannot tell Y[N] from Y[N + 1] where they are the rows of a matrix.
  EXPECT_EQ(after({Line::y(n, zero), Line::y(next, zero), add_to(n, 0), add_to(next, 0),
                   add_to(n, 1), add_to(next, 1)}),
            "acc = Y[N]\n"
            "acc_2 = Y[N + 1]\n"
            "acc = 0.0\n"
            "acc_2 = 0.0\n"
            "acc = acc + X[0]\n"
            "acc_2 = acc_2 + X[0]\n"
            "acc = acc + X[1]\n"
            "acc_2 = acc_2 + X[1]\n"
            "Y[N] = acc\n"
            "Y[N + 1] = acc_2\n");
  // Y[3] may be Y[N]; what is stored once stays where it is.
  for (const auto &stores :
       {std::vector<StmtPtr>{add_to(n, 0), add_to(integer(3), 0), add_to(n, 1)},
        std::vector<StmtPtr>{add_to(n, 0), add_to(next, 1)}}) {
    EXPECT_EQ(after(stores).find("acc"), std::string::npos) << line.printed();
  }
}

} // namespace
} // namespace tilewright::test
