#include "passes/guards.h"
#include "passes/lift_guards.h"
#include "passes/tighten_guards.h"

namespace tilewright::test {
namespace {

class LiftGuards : public Guards {
protected:
  std::string lifted(const StmtPtr &body) {
    return printed(simplify_indices(lift_guards(body, known), known), body);
  }
  /// The pass leaves the body as it is.
  void stays(const StmtPtr &body) {
    printed(body, body);
    EXPECT_EQ(lift_guards(body, known), body) << print_loop_ir(kernel);
  }
  static StmtPtr loop_of(LoopKind kind, const ValuePtr &counter, const ValuePtr &upper,
                         const StmtPtr &body) {
    const auto &own = cast<Variable>(counter);
    return for_loop(own.id, own.name, integer(0), upper, kind, 4, body);
  }

  ValuePtr v = variable(4, "v");
  ValuePtr in_row = both(le(r(i), p), lt(p, r(add(i, integer(1)))));
};

TEST_F(LiftGuards, TheRowsOfASparseMatrixTimesColumns) {
  const StmtPtr body =
      loop(i, sub(n, integer(1)), loop(p, n, loop(q, n, if_then(in_row, y(p, add(i, q))))));
  EXPECT_EQ(lifted(body), "if 0 < N:\n"
                          "  for i in range(0, N - 1):\n"
                          "    for p in range(0, N):\n"
                          "      if int64(R[i]) <= p and p < int64(R[i + 1]):\n"
                          "        for q in range(0, N):\n"
                          "          Y[p] = i + q\n");
  const StmtPtr both_passes = tighten_guards(lift_guards(body));
  EXPECT_EQ(printed(simplify_indices(both_passes, known), body),
            "if 0 < N:\n"
            "  for i in range(0, N - 1):\n"
            "    start = int64(R[i])\n"
            "    stop = int64(R[i + 1])\n"
            "    for p in range(max(0, start), min(N, stop)):\n"
            "      for q in range(0, N):\n"
            "        Y[p] = i + q\n");
}

TEST_F(LiftGuards, TestsLeaveAllLoopsForWhichTheyAreTheSame) {
  const auto body = if_then(both(lt(integer(2), w(i)), lt(r(p), q)), y(q, v));
  EXPECT_EQ(lifted(loop(i, n, loop(p, n, loop(q, n, loop(v, integer(3), body))))),
            "if 0 < N:\n"
            "  for i in range(0, N):\n"
            "    if 2 < W[i]:\n"
            "      for p in range(0, N):\n"
            "        for q in range(0, N):\n"
            "          if int64(R[p]) < q:\n"
            "            for v in range(0, 3):\n"
            "              Y[q] = v\n");
}

TEST_F(LiftGuards, DataAreReadWhereTheLoopHasAnIteration) {
  // There is no W[-1]; for i = 0 there is no q either.
  const auto body = if_then(lt(integer(0), w(sub(i, integer(1)))), y(q, add(i, integer(1))));
  EXPECT_EQ(lifted(loop(i, n, loop(q, i, body))), "for i in range(0, N):\n"
                                                  "  if 0 < i:\n"
                                                  "    if 0 < W[i - 1]:\n"
                                                  "      for q in range(0, i):\n"
                                                  "        Y[q] = i + 1\n");
  // Whether there is a q differs between the iterations of p.
  EXPECT_EQ(lifted(loop(i, n, loop(p, n, loop(q, minimum(i, p), body)))),
            "for i in range(0, N):\n"
            "  if 0 < i:\n"
            "    for p in range(0, N):\n"
            "      if 0 < p:\n"
            "        if 0 < W[i - 1]:\n"
            "          for q in range(0, min(i, p)):\n"
            "            Y[q] = i + 1\n");
}

TEST_F(LiftGuards, ATileIsKnownToHaveIterations) {
  const auto at = add(mul(integer(4), q), v);
  const auto rest = minimum(integer(4), sub(n, mul(integer(4), q)));
  const auto tiles = floor_div(add(n, integer(3)), integer(4));
  for (const LoopKind kind : {LoopKind::Serial, LoopKind::Vector, LoopKind::Unrolled}) {
    const auto tile = loop_of(kind, v, rest, if_then(lt(integer(1), r(i)), y(at, i)));
    const std::string text = lifted(loop(i, n, loop(q, tiles, tile)));
    EXPECT_EQ(text.rfind("if 0 < (N + 3) // 4:\n"
                         "  for i in range(0, N):\n"
                         "    if 1 < int64(R[i]):\n"
                         "      for q in range(0, (N + 3) // 4):\n",
                         0),
              0U)
        << text;
  }
}

TEST_F(LiftGuards, IndexTestsNeedNoIteration) {
  EXPECT_EQ(lifted(loop(i, n, loop(p, n, if_then(both(lt(i, integer(3)), lt(p, i)), y(p, i))))),
            "for i in range(0, N):\n"
            "  if i < 3:\n"
            "    for p in range(0, N):\n"
            "      if p < i:\n"
            "        Y[p] = i\n");
}

TEST_F(LiftGuards, BooleansOfOneLoop) {
  const ValuePtr chosen = cast_value(load(1, "W", {Int64, 1}, {p}), Bool);
  EXPECT_EQ(lifted(loop(p, n, loop(q, integer(3), if_then(chosen, y(p, q))))),
            "for p in range(0, N):\n"
            "  if bool(W[p]):\n"
            "    for q in range(0, 3):\n"
            "      Y[p] = q\n");
}

TEST_F(LiftGuards, WhatATestNeedsLeavesWithIt) {
  kernel.sites.push_back({"R[W[p]]", "R", 0});
  const auto at = variable(9, "at");
  const auto own = local(10, "own", {Int64, 1});
  const auto body =
      block({let(9, "at", w(p)), check_index(0, at, n), declare_local(10, "own", r(at)),
             if_then(lt(integer(1), own), y(p, add(q, integer(1))))});
  EXPECT_EQ(lifted(loop(p, n, loop(q, integer(3), body))), "for p in range(0, N):\n"
                                                           "  at = W[p]\n"
                                                           "  assert 0 <= at < N  # R[W[p]]\n"
                                                           "  own = int64(R[at])\n"
                                                           "  if 1 < own:\n"
                                                           "    for q in range(0, 3):\n"
                                                           "      Y[p] = q + 1\n");
}

TEST_F(LiftGuards, DeeperTestsFollowWhereNothingIsLeftBeforeThem) {
  kernel.sites.push_back({"R[W[p]]", "R", 0});
  const auto at = variable(9, "at");
  const auto checked = [&](const ValuePtr &test) {
    return block({let(9, "at", w(p)), check_index(0, at, n), if_then(test, y(p, q))});
  };
  const auto deeper = checked(lt(integer(1), r(at)));
  EXPECT_EQ(lifted(loop(p, n, loop(q, integer(3), if_then(le(integer(0), w(p)), deeper)))),
            "for p in range(0, N):\n"
            "  if 0 <= W[p]:\n"
            "    at = W[p]\n"
            "    assert 0 <= at < N  # R[W[p]]\n"
            "    if 1 < int64(R[at]):\n"
            "      for q in range(0, 3):\n"
            "        Y[p] = q\n");
  // A test that differs between iterations protects what is behind it.
  stays(loop(p, n, loop(q, n, if_then(le(integer(0), w(q)), deeper))));
}

TEST_F(LiftGuards, AFailureThatIsReportedIsThatOfTheFirstIteration) {
  kernel.sites.push_back({"R[W[p]]", "R", 0});
  const auto at = variable(9, "at");
  const auto body = block({let(9, "at", w(p)), check_index(0, at, n, nullptr, {p, q}),
                           if_then(lt(integer(1), r(at)), y(q, p))});
  const StmtPtr after = lift_guards(loop(p, n, loop(q, n, body)));
  std::vector<ValuePtr> reported;
  visit_statements(after, [&](const LoopStatement &statement) {
    if (const auto *check = as<CheckIndex>(statement)) {
      reported = check->reported;
    }
  });
  ASSERT_EQ(reported.size(), 2U);
  EXPECT_TRUE(same_value(reported[0], p));
  EXPECT_TRUE(same_value(reported[1], integer(0)));
}

TEST_F(LiftGuards, TestsBehindAnotherCheckStay) {
  kernel.sites.push_back({"Y[W[q]]", "Y", 0});
  const auto at = variable(9, "at");
  const auto body = block({let(9, "at", w(q)), check_index(0, at, integer(8)),
                           if_then(lt(integer(1), r(p)), y(q, at))});
  stays(loop(p, n, loop(q, n, body)));
  kernel.sites.push_back({"traced", "Y", 0});
  const auto traced = block(
      {check_value(1, lt(w(q), integer(0)), nullptr, {}), if_then(lt(integer(1), r(p)), y(q, p))});
  stays(loop(p, n, loop(q, n, traced)));
}

TEST_F(LiftGuards, LeavesTestsAloneThatTheLoopChanges) {
  const ValuePtr sum = load(2, "Y", {Int64, 1}, {p});
  stays(loop(p, n, loop(q, n, if_then(lt(sum, integer(9)), y(p, add(sum, integer(2)))))));
  stays(loop(
      p, n,
      loop(q, n, if_then(lt(sum, integer(9)), atomic_update(Op::Add, 2, "Y", {p}, integer(2))))));
  const ValuePtr own = local(9, "own", {Int64, 1});
  const auto counted =
      if_then(lt(own, integer(3)), block({assign_local(9, "own", add(own, integer(1))), y(q, p)}));
  stays(loop(p, n, block({declare_local(9, "own", r(p)), loop(q, n, counted)})));
}

TEST_F(LiftGuards, LeavesTestsAloneThatAreNotAllOfTheBody) {
  const auto test = lt(integer(1), r(p));
  stays(loop(p, n, loop(q, n, block({if_then(test, y(q, p)), y(p, q)}))));
  stays(loop(p, n, loop(q, n, if_then(test, y(q, p), y(q, q)))));
}

TEST_F(LiftGuards, MemoryOfAnIterationIsFilledForItsWorkOnly) {
  const ValuePtr test = lt(integer(1), r(i));
  const auto with = [&](const StmtPtr &first, const StmtPtr &work) {
    return loop(i, n, loop(p, integer(3), allocate(3, "T", block({first, if_then(test, work)}))));
  };
  const StmtPtr work = y(i, t(p));
  EXPECT_EQ(lifted(with(loop(q, integer(4), fill(q, add(p, q))), work)),
            "for i in range(0, N):\n"
            "  if 1 < int64(R[i]):\n"
            "    for p in range(0, 3):\n"
            "      T = empty((4,), int64)\n"
            "      for q in range(0, 4):\n"
            "        T[q] = p + q\n"
            "      Y[i] = T[p]\n");
  // What others see, and what may fail, is not left out.
  stays(with(block({fill(p, p), y(i, p)}), work));
  kernel.sites.push_back({"T[W[p]]", "T", 0});
  stays(with(block({fill(p, p), check_index(0, add(i, p), integer(5))}), work));
  // Nor is a test taken for the same that reads it.
  stays(loop(i, n,
             loop(p, integer(3),
                  allocate(3, "T",
                           block({fill(integer(0), add(i, p)),
                                  if_then(lt(integer(1), t(integer(0))), y(i, p))})))));
}

TEST_F(LiftGuards, WhatATestReadsIsFilledOnceIfAllIterationsFillItAlike) {
  const auto rows = [&](const StmtPtr &filled, const StmtPtr &rest) {
    return loop(i, sub(n, integer(1)),
                loop(p, n, allocate(3, "T", block({filled, fill(integer(1), r(i)), rest}))));
  };
  const auto test = if_then(both(le(t(integer(0)), p), lt(p, t(integer(1)))), y(p, i));
  const StmtPtr body = rows(fill(integer(0), integer(1)), test);
  EXPECT_EQ(lifted(body), "if 0 < N:\n"
                          "  for i in range(0, N - 1):\n"
                          "    T = empty((4,), int64)\n"
                          "    T[0] = 1\n"
                          "    T[1] = int64(R[i])\n"
                          "    for p in range(0, N):\n"
                          "      if T[0] <= p and p < T[1]:\n"
                          "        Y[p] = i\n");
  EXPECT_EQ(printed(simplify_indices(tighten_guards(body, known), known), body),
            "for i in range(0, N - 1):\n"
            "  if 0 < N:\n"
            "    T = empty((4,), int64)\n"
            "    T[0] = 1\n"
            "    T[1] = int64(R[i])\n"
            "    start = T[0]\n"
            "    stop = T[1]\n"
            "    for p in range(max(0, start), min(N, stop)):\n"
            "      Y[p] = i\n");
  stays(rows(fill(integer(0), p), test));                               // differs
  stays(rows(fill(integer(0), load(2, "Y", {Int64, 1}, {i})), test));   // of what changes
  stays(rows(fill(integer(0), i), y(p, t(integer(0)))));                // is in no test
  stays(rows(fill(integer(0), i), block({test, fill(integer(0), p)}))); // changes later
}

TEST_F(LiftGuards, MemoryThatLastsIsFilledInAllIterations) {
  const auto body = block({fill(p, i), if_then(lt(integer(1), r(i)), y(i, t(integer(0))))});
  stays(loop(i, n, allocate(3, "T", loop(p, integer(3), body))));
}

TEST_F(LiftGuards, LoopsThatRunAsOneStayTogether) {
  const auto inner = loop_of(LoopKind::Parallel, q, n, if_then(lt(integer(1), r(p)), y(q, p)));
  auto joined = copy_of<For>(inner);
  joined->parallel.joined = true;
  stays(loop_of(LoopKind::Parallel, p, n, joined));
  const std::string text = lifted(loop_of(LoopKind::Parallel, p, n, inner));
  EXPECT_LT(text.find("if 1 < int64(R[p])"), text.find("for q")) << text;
}

TEST_F(LiftGuards, ThreadsReadDataOfALaunchThatNothingChanges) {
  const auto threads = [&](const ValuePtr &test) {
    return loop_of(LoopKind::GpuBlock, p, n,
                   loop_of(LoopKind::GpuThread, q, n, if_then(test, y(q, p))));
  };
  const StmtPtr by_data = threads(lt(integer(1), r(p)));
  kernel.body = lift_guards(by_data);
  std::string text = print_loop_ir(kernel);
  EXPECT_LT(text.find("for p"), text.find("if 1 < int64(R[p])")) << text;
  EXPECT_LT(text.find("if 1 < int64(R[p])"), text.find("for q")) << text;
  kernel.body = lift_guards(loop(i, n, threads(lt(integer(1), r(i)))));
  text = print_loop_ir(kernel); // before blocks the host would read them
  EXPECT_LT(text.find("for p"), text.find("if 1 < int64(R[i])")) << text;
  EXPECT_LT(text.find("if 1 < int64(R[i])"), text.find("for q")) << text;
  const StmtPtr of_results = threads(lt(integer(1), load(2, "Y", {Int64, 1}, {p})));
  EXPECT_EQ(lift_guards(of_results), of_results);
  const StmtPtr changed = block({by_data, store(0, "R", {integer(0)}, integer(1))});
  EXPECT_EQ(lift_guards(changed), changed);
  const StmtPtr by_index = threads(lt(p, integer(3)));
  EXPECT_NE(lift_guards(by_index), by_index);
}

// ---- tests that several statements share ----

TEST_F(LiftGuards, StatementsShareTests) {
  const auto rows = [&](const StmtPtr &body) {
    return loop(i, sub(n, integer(1)), loop(q, n, loop(p, n, body)));
  };
  EXPECT_EQ(lifted(rows(block({if_then(both(in_row, lt(q, p)), y(p, i)), if_then(in_row, y(q, p)),
                               if_then(lt(r(i), p), y(p, q))}))),
            "for i in range(0, N - 1):\n"
            "  for q in range(0, N):\n"
            "    for p in range(0, N):\n"
            "      if int64(R[i]) <= p and p < int64(R[i + 1]):\n"
            "        if q < p:\n"
            "          Y[p] = i\n"
            "        Y[q] = p\n"
            "      if int64(R[i]) < p:\n"
            "        Y[p] = q\n");
  EXPECT_EQ(lifted(rows(block(
                {if_then(in_row, y(p, i)), if_then(lt(q, p), if_then(in_row, y(p, add(p, q))))}))),
            "for i in range(0, N - 1):\n"
            "  for q in range(0, N):\n"
            "    for p in range(0, N):\n"
            "      if int64(R[i]) <= p and p < int64(R[i + 1]):\n"
            "        Y[p] = i\n"
            "        if q < p:\n"
            "          Y[p] = p + q\n");
}

TEST_F(LiftGuards, TestsOfWhatAStatementChangesAreNotShared) {
  const auto of_y = le(integer(0), load(2, "Y", {Int64, 1}, {p}));
  stays(loop(p, n, block({if_then(of_y, y(p, sub(p, integer(2)))), if_then(of_y, y(p, p))})));
  // Nor are those of indices alone.
  stays(loop(q, n, loop(p, n, block({if_then(lt(p, q), y(p, q)), if_then(lt(p, q), y(q, p))}))));
}

// ---- whole functions ----

std::int64_t operator""_n(unsigned long long value) { return static_cast<std::int64_t>(value); }

/// Y[i,j] = sum of X[p,j] over p from row[i] to row[i + 1]
std::shared_ptr<Function> segment_sums() {
  const auto n = par("N");
  const auto row = declare_input("row", {n + num(1)}, Int32, {});
  const auto x = declare_input("X", {par("P"), par("M")}, Float32, {});
  const auto y = declare_computation("Y", {{"i", num(0), n}, {"j", num(0), par("M")}}, nullptr,
                                     Float32, {}, {});
  const auto in_row = binary(Op::And, binary(Op::Le, cast(access(row, {it("i")}), Int64), it("p")),
                             binary(Op::Lt, it("p"), cast(access(row, {it("i") + num(1)}), Int64)));
  define_piece(
      y, nullptr,
      reduce(Op::ReduceSum, {{"p", num(0), par("P")}}, access(x, {it("p"), it("j")}), in_row), {});
  return function_of({y});
}

const std::vector<Parameters> segment_sizes = {{{"N", 0}, {"M", 3}, {"P", 5}},
                                               {{"N", 4}, {"M", 0}, {"P", 5}},
                                               {{"N", 4}, {"M", 3}, {"P", 0}},
                                               {{"N", 1}, {"M", 1}, {"P", 1}},
                                               {{"N", 9}, {"M", 11}, {"P", 7}}};

/// The iterations of all loops of a kernel whose rows have two elements each.
std::int64_t iterations_of(const Kernel &kernel, std::int64_t rows, std::int64_t columns) {
  Interpreter interpreter = interpret(kernel, {{"N", rows}, {"M", columns}, {"P", 2 * rows}});
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (kernel.buffers[b].name == "row") {
      for (size_t e = 0; e < interpreter.memory.data[b].size(); ++e) {
        interpreter.memory.data[b][e] = {2 * static_cast<std::int64_t>(e), 0};
      }
    }
  }
  EXPECT_EQ(interpreter.run(), -1);
  return interpreter.iterations;
}

TEST(LiftedFunctions, WorkIsThatOfTheRows) {
  const Mapping by_rows(segment_sums());
  const std::vector<Mapping> mappings = {
      by_rows,
      by_rows.with(command("Y", "interchange", {"j", "p"})),
      by_rows.with(command("Y", "interchange", {"j", "p"}))
          .with(command("Y", "parallelize", {"i"}))
          .with(command("Y", "vectorize", {"j", 4_n})),
      by_rows.with(command("Y", "split", {"j", 4_n}))
          .with(command("Y", "interchange", {"j1", "p"})),
      by_rows.with(command("Y", "tile", {"j", "p", 4_n, 3_n})),
      by_rows.with(command("Y", "interchange", {"j", "p"}))
          .with(command("Y", "tile", {"p", "j", 3_n, 4_n})),
  };
  for (const Mapping &mapping : mappings) {
    const Kernel kernel = expect_all_stages(mapping, segment_sizes);
    // 2 * 100 sums of 6 columns; all of P would be 120,000.
    EXPECT_LT(iterations_of(kernel, 100, 6), 5000) << print_loop_ir(kernel);
  }
}

} // namespace
} // namespace tilewright::test
