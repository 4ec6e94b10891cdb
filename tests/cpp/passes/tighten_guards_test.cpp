#include "passes/guards.h"
#include "passes/tighten_guards.h"

namespace tilewright::test {
namespace {

class TightenGuards : public Guards {
protected:
  std::string tightened(const StmtPtr &body) {
    return printed(simplify_indices(tighten_guards(body, known), known), body);
  }
};

TEST_F(TightenGuards, RowsOfASparseMatrix) {
  const ValuePtr at = integer(1);
  const auto body =
      if_then(both(le(r(i), p), lt(p, r(add(i, at)))), y(p, add(load(2, "Y", {Int64, 1}, {p}), i)));
  EXPECT_EQ(tightened(loop(i, sub(n, at), loop(p, n, body))),
            "for i in range(0, N - 1):\n"
            "  if 0 < N:\n"
            "    start = int64(R[i])\n"
            "    stop = int64(R[i + 1])\n"
            "    for p in range(max(0, start), min(N, stop)):\n"
            "      Y[p] = Y[p] + i\n");
}

TEST_F(TightenGuards, AnEqualityIsOneIteration) {
  const auto body = if_then(binary_value(Op::Eq, w(i), p), y(p, add(i, integer(1))));
  EXPECT_EQ(tightened(loop(i, n, loop(p, n, body))), "for i in range(0, N):\n"
                                                     "  if 0 < N:\n"
                                                     "    p = W[i]\n"
                                                     "    if 0 <= p and p < N:\n"
                                                     "      Y[p] = i + 1\n");
}

TEST_F(TightenGuards, AnEqualityOfIndicesIsOneIteration) {
  const auto body = if_then(binary_value(Op::Eq, p, add(i, integer(2))), y(p, add(i, integer(1))));
  EXPECT_EQ(tightened(loop(i, n, loop(p, n, body))), "for i in range(0, N):\n"
                                                     "  if i + 2 < N:\n"
                                                     "    Y[i + 2] = i + 1\n");
}

TEST_F(TightenGuards, StatementsThatAskTheSameInOtherWordsShareBounds) {
  const ValuePtr at = integer(1);
  const auto first = if_then(both(le(r(i), p), lt(p, r(add(i, at)))), y(p, i));
  const auto second =
      if_then(both(binary_value(Op::Ge, p, r(i)), binary_value(Op::Gt, r(add(i, at)), p)),
              y(p, add(load(2, "Y", {Int64, 1}, {p}), p)));
  EXPECT_EQ(tightened(loop(i, sub(n, at), loop(p, n, block({first, second})))),
            "for i in range(0, N - 1):\n"
            "  if 0 < N:\n"
            "    start = int64(R[i])\n"
            "    stop = int64(R[i + 1])\n"
            "    for p in range(max(0, start), min(N, stop)):\n"
            "      Y[p] = i\n"
            "      Y[p] = Y[p] + p\n");
}

TEST_F(TightenGuards, TiledLoopsAreBothBounded) {
  const auto at = add(mul(integer(4), p), q);
  const auto tiles = floor_div(add(n, integer(3)), integer(4));
  const auto body = if_then(lt(at, r(i)), y(at, add(i, integer(1))));
  const std::string text = tightened(
      loop(i, n, loop(p, tiles, loop(q, minimum(integer(4), sub(n, mul(integer(4), p))), body))));
  EXPECT_EQ(text, "for i in range(0, N):\n"
                  "  if 0 < (N + 3) // 4:\n"
                  "    stop = int64(R[i])\n"
                  "    for p in range(0, min((N + 3) // 4, (stop + 3) // 4)):\n"
                  "      for q in range(0, min(4, N - 4 * p, stop - 4 * p)):\n"
                  "        Y[4 * p + q] = i + 1\n");
}

TEST_F(TightenGuards, WideDataDoNotWrap) {
  // i - p <= W[i]: the bound of p is i - W[i], which wraps for the smallest number.
  const auto body = if_then(le(sub(i, p), w(i)), y(p, add(i, integer(1))));
  const std::string text = tightened(loop(i, n, loop(p, n, body)));
  EXPECT_NE(text.find("start = max(min(W[i], 72057594037927936), -72057594037927936)"),
            std::string::npos)
      << text;
  // p <= W[i] asks for W[i] + 1.
  tightened(loop(i, n, loop(p, n, if_then(le(p, w(i)), y(p, i)))));
  tightened(loop(i, n, loop(p, n, if_then(lt(w(i), p), y(p, i)))));
  tightened(loop(i, n, loop(p, n, if_then(lt(p, w(i)), y(p, i)))));
  tightened(loop(i, n, loop(p, n, if_then(le(w(i), p), y(p, i)))));
}

TEST_F(TightenGuards, SteepAndFallingTests) {
  for (const std::int64_t factor : {-3, -2, -1, 2, 3}) {
    for (const Op op : {Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq}) {
      const auto linear = add(mul(integer(factor), p), sub(i, integer(2)));
      tightened(loop(i, n, loop(p, n, if_then(binary_value(op, linear, r(i)), y(p, add(p, i))))));
      tightened(loop(i, n, loop(p, n, if_then(binary_value(op, w(i), linear), y(p, add(p, i))))));
    }
  }
}

TEST_F(TightenGuards, OtherTestsStayInside) {
  const auto test = both(le(r(i), p), lt(integer(2), w(p)));
  EXPECT_EQ(tightened(loop(i, n, loop(p, n, if_then(test, y(p, add(i, integer(1))))))),
            "for i in range(0, N):\n"
            "  if 0 < N:\n"
            "    start = int64(R[i])\n"
            "    for p in range(max(0, start), N):\n"
            "      if 2 < W[p]:\n"
            "        Y[p] = i + 1\n");
}

TEST_F(TightenGuards, ANestedTestIsAskedWhereTheOuterOneHolds) {
  // W[i - 1] may be read only where p < i for some p: not for i = 0.
  const auto inner = if_then(lt(w(sub(i, integer(1))), p), y(p, add(i, integer(1))));
  const std::string text = tightened(loop(i, n, loop(p, n, if_then(lt(p, i), inner))));
  EXPECT_NE(text.find("if 0 < min(N, i):"), std::string::npos) << text;
}

TEST_F(TightenGuards, NothingIsReadBehindATestThatStaysInside) {
  // No W[p] is below the smallest number, and R[i - 1] is not there for i = 0.
  const auto inner = if_then(lt(p, r(sub(i, integer(1)))), y(p, add(i, integer(1))));
  const auto body = if_then(lt(w(p), integer(INT64_MIN)), inner);
  const std::string text = tightened(loop(i, n, loop(p, n, body)));
  EXPECT_NE(text.find("if W[p] < "), std::string::npos) << text;
}

TEST_F(TightenGuards, NothingIsReadBehindAnEqualityThatDoesNotHold) {
  // R[W[i]] is there where some p equals W[i].
  const auto inner = if_then(lt(p, r(w(i))), y(p, add(i, integer(1))));
  const auto body = if_then(binary_value(Op::Eq, p, w(i)), inner);
  tightened(loop(i, n, loop(p, n, body)));
}

TEST_F(TightenGuards, ANumberIsNotKnownToLieWhereItsLoopWent) {
  // The loop of q becomes q = W[i], which need not be below N, and p ends at q + 1.
  const auto body = if_then(binary_value(Op::Eq, q, w(i)), y(q, add(p, integer(1))));
  const auto from_p = for_loop(3, "q", p, n, LoopKind::Serial, 0, body);
  EXPECT_EQ(tightened(loop(i, n, loop(p, n, from_p))), "for i in range(0, N):\n"
                                                       "  if 0 < N:\n"
                                                       "    q = W[i]\n"
                                                       "    if q < N:\n"
                                                       "      for p in range(0, min(N, q + 1)):\n"
                                                       "        Y[q] = p + 1\n");
}

TEST_F(TightenGuards, TwoEqualitiesAreBothAsked) {
  const auto both_equal =
      both(binary_value(Op::Eq, p, w(i)), binary_value(Op::Eq, r(sub(n, integer(1))), p));
  const std::string text =
      tightened(loop(i, n, loop(p, n, if_then(both_equal, y(p, add(i, integer(1)))))));
  EXPECT_EQ(text.find("for p"), std::string::npos) << text;
}

TEST_F(TightenGuards, LocalsThatDifferBetweenIterationsStayInside) {
  const ValuePtr own = local(9, "own", {Int64, 1});
  const auto body =
      block({declare_local(9, "own", w(p)), if_then(lt(i, own), y(p, add(i, integer(1))))});
  const std::string text = tightened(loop(i, n, loop(p, n, body)));
  EXPECT_NE(text.find("if i < own:"), std::string::npos) << text;
  const auto compared =
      block({declare_local(9, "own", w(p)), if_then(lt(p, own), y(p, add(i, integer(1))))});
  EXPECT_NE(tightened(loop(i, n, loop(p, n, compared))).find("if p < own:"), std::string::npos);
  // One from outside that the loop changes.
  const auto change = block({y(p, own), assign_local(9, "own", sub(own, integer(1)))});
  const auto around =
      block({declare_local(9, "own", r(i)), loop(p, n, if_then(lt(p, own), change))});
  EXPECT_NE(tightened(loop(i, n, around)).find("if p < own:"), std::string::npos);
}

TEST_F(TightenGuards, ChecksStayWhereTheyWere) {
  // A check that differs between iterations must be made in all of them.
  kernel.sites.push_back({"Y[W[p]]", "Y", 0});
  const auto at = variable(9, "at");
  const auto each =
      block({let(9, "at", w(p)), check_index(0, at, integer(8)), if_then(lt(p, r(i)), y(p, at))});
  const std::string text = tightened(loop(i, n, loop(p, n, each)));
  EXPECT_NE(text.find("for p in range(0, N):"), std::string::npos) << text;
  // One that is the same in all of them moves out with the value that it protects.
  const auto once =
      block({let(9, "at", w(i)), check_index(0, at, n), if_then(lt(p, r(at)), y(p, i))});
  EXPECT_EQ(tightened(loop(i, n, loop(p, n, once))), "for i in range(0, N):\n"
                                                     "  if 0 < N:\n"
                                                     "    at = W[i]\n"
                                                     "    assert 0 <= at < N  # Y[W[p]]\n"
                                                     "    stop = int64(R[at])\n"
                                                     "    for p in range(0, min(N, stop)):\n"
                                                     "      Y[p] = i\n");
}

TEST_F(TightenGuards, AFailureThatIsReportedIsThatOfTheFirstIterationOfItsBounds) {
  kernel.sites.push_back({"R[W[i]]", "R", 0});
  const auto at = variable(9, "at");
  const auto inner = block(
      {let(9, "at", w(i)), check_index(0, at, n, nullptr, {p}), if_then(lt(p, r(at)), y(p, i))});
  const StmtPtr after = tighten_guards(loop(i, n, loop(p, n, if_then(le(r(i), p), inner))));
  ValuePtr reported;
  ValuePtr first;
  visit_statements(after, [&](const LoopStatement &statement) {
    if (const auto *check = as<CheckIndex>(statement)) {
      reported = check->reported.at(0);
    } else if (const auto *own = as<For>(statement)) {
      first = own->lower;
    }
  });
  ASSERT_TRUE(reported && first);
  EXPECT_TRUE(is_binary(first, Op::Max));
  EXPECT_TRUE(same_value(reported, first));
}

TEST_F(TightenGuards, LeavesTestsAloneThatTheLoopChanges) {
  const auto own = load(2, "Y", {Int64, 1}, {i});
  for (const StmtPtr &change : std::vector<StmtPtr>{
           y(i, add(own, integer(-1))), atomic_update(Op::Add, 2, "Y", {i}, integer(-1))}) {
    const std::string text = tightened(loop(i, n, loop(p, n, if_then(lt(p, own), change))));
    EXPECT_NE(text.find("if p < Y[i]:"), std::string::npos) << text;
  }
}

TEST_F(TightenGuards, ALoopInBetweenIsLookedThrough) {
  // The tiles of p, a loop of its own over the tiles of q, then what is in a tile of p.
  const ValuePtr inner = variable(9, "p1");
  const auto at = add(mul(integer(4), p), inner);
  const auto tiles = floor_div(add(n, integer(3)), integer(4));
  const auto rest = minimum(integer(4), sub(n, mul(integer(4), p)));
  const auto test = both(le(r(i), at), lt(at, w(i)));
  const auto body = if_then(test, y(at, add(load(2, "Y", {Int64, 1}, {at}), integer(1))));
  EXPECT_EQ(tightened(loop(i, n, loop(p, tiles, loop(q, n, loop(inner, rest, body))))),
            "for i in range(0, N):\n"
            "  if 0 < N:\n"
            "    start = int64(R[i])\n"
            "    stop = max(min(W[i], 72057594037927936), -72057594037927936)\n"
            "    for p in range(max(0, start // 4), min((N + 3) // 4, (stop + 3) // 4)):\n"
            "      for q in range(0, N):\n"
            "        for p1 in range(max(0, start - 4 * p), min(4, N - 4 * p, stop - 4 * p)):\n"
            "          Y[4 * p + p1] = Y[4 * p + p1] + 1\n");
}

TEST_F(TightenGuards, ALoopInBetweenThatMayBeEmptyIsATestItself) {
  // R[i - 1] is there only where some q is below i and below p.
  const auto body = if_then(lt(p, r(sub(i, integer(1)))), y(p, q));
  EXPECT_EQ(tightened(loop(i, n, loop(p, n, loop(q, minimum(i, p), body)))),
            "for i in range(0, N):\n"
            "  if 0 < i:\n"
            "    if 1 < N:\n"
            "      stop = int64(R[i - 1])\n"
            "      for p in range(1, min(N, stop)):\n"
            "        for q in range(0, min(i, p)):\n"
            "          Y[p] = q\n");
  // For which p there is a q is no bound of p: what is inside stays there.
  const auto odd = loop(q, minimum(i, floor_mod(p, integer(2))), body);
  const std::string text = tightened(loop(i, n, loop(p, n, odd)));
  EXPECT_NE(text.find("for p in range(0, N):"), std::string::npos) << text;
}

TEST_F(TightenGuards, LeavesAffineTestsToOthers) {
  const auto body = if_then(lt(p, i), y(p, i));
  const StmtPtr before = loop(i, n, loop(p, n, body));
  EXPECT_EQ(tighten_guards(before), before);
}

} // namespace
} // namespace tilewright::test
