// Reductions within expressions down the road: every stage of schedules that take their loops apart
// computes what the evaluator does.
#include "fixture.h"

namespace tilewright::test {
namespace {

std::int64_t operator""_n(unsigned long long value) { return static_cast<std::int64_t>(value); }

const std::vector<Parameters> sizes = {
    {{"N", 0}, {"M", 3}, {"K", 2}},  {{"N", 3}, {"M", 4}, {"K", 0}},
    {{"N", 1}, {"M", 1}, {"K", 1}},  {{"N", 8}, {"M", 16}, {"K", 4}},
    {{"N", 9}, {"M", 21}, {"K", 7}}, {{"N", 5}, {"M", 35}, {"K", 3}}};

/// C[i,j] = max(sum(A[i,k] * B[k,j] over k) + b[j], 0).
std::shared_ptr<Function> dense_layer() {
  const auto n = par("N");
  const auto m = par("M");
  const auto k = par("K");
  const auto a = declare_input("A", {n, k}, Float32, {});
  const auto b = declare_input("B", {k, m}, Float32, {});
  const auto bias = declare_input("b", {m}, Float32, {});
  const auto c =
      declare_computation("C", {{"i", num(0), n}, {"j", num(0), m}}, nullptr, Float32, {}, {});
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", num(0), k}},
                             access(a, {it("i"), it("k")}) * access(b, {it("k"), it("j")}));
  define_piece(c, nullptr, binary(Op::Max, sum + access(bias, {it("j")}), f32(0)), {});
  return function_of({c});
}

Mapping scheduled(const std::vector<Command> &commands) {
  Mapping mapping(dense_layer());
  for (const Command &one : commands) {
    mapping = mapping.with(one);
  }
  return mapping;
}

bool prints(const Kernel &kernel, const std::string &text) {
  return print_loop_ir(kernel).find(text) != std::string::npos;
}

TEST(Epilogue, ReadsAsWritten) {
  const Mapping mapping = scheduled({});
  expect_all_stages(mapping, sizes);
  EXPECT_EQ(print_loop_ir(lower_mapping(mapping, {{}, {}, false})),
            "for i in range(0, N):\n"
            "  for j in range(0, M):\n"
            "    C[i, j] = 0.0\n"
            "    for k in range(0, K):\n"
            "      C[i, j] = C[i, j] + A[i, k] * B[k, j]\n"
            "    C[i, j] = max(C[i, j] + b[j], 0.0)\n");
}

TEST(Epilogue, FollowsLoopsInsideOfAReducedOne) {
  const Mapping mapping = scheduled({command("C", "reorder", {"i", "k", "j"})});
  expect_all_stages(mapping, sizes);
  EXPECT_EQ(print_loop_ir(lower_mapping(mapping, {{}, {}, false})),
            "for i in range(0, N):\n"
            "  for j in range(0, M):\n"
            "    C[i, j] = 0.0\n"
            "  for k in range(0, K):\n"
            "    for j in range(0, M):\n"
            "      C[i, j] = C[i, j] + A[i, k] * B[k, j]\n"
            "  for j in range(0, M):\n"
            "    C[i, j] = max(C[i, j] + b[j], 0.0)\n");
}

TEST(Epilogue, InAnyOrderOfTheLoops) {
  for (const Names &order :
       {Names{"j", "i", "k"}, Names{"k", "i", "j"}, Names{"k", "j", "i"}, Names{"j", "k", "i"}}) {
    expect_all_stages(scheduled({command("C", "reorder", {order[0], order[1], order[2]})}), sizes);
  }
  expect_all_stages(scheduled({command("C", "skew", {"k", "i"})}), sizes);
  expect_all_stages(scheduled({command("C", "skew", {"i", "k"})}), sizes);
  expect_all_stages(scheduled({command("C", "set_schedule", {"{ C[i,j,k] -> [-j, k, i + k] }"})}),
                    sizes);
  expect_all_stages(scheduled({command("C", "reverse", {"k"}), command("C", "shift", {"j", 2_n})}),
                    sizes);
}

TEST(Epilogue, OfTilesInLanesAndThreads) {
  const std::vector<Command> tiles = {
      command("C", "tile", {"i", "j", 4_n, 8_n}), command("C", "split", {"k", 2_n}),
      command("C", "reorder", {"i0", "j0", "k0", "k1", "i1", "j1"}),
      command("C", "parallelize", {"i0"}), command("C", "vectorize", {"j1", 8_n})};
  expect_all_stages(scheduled(tiles), sizes);
}

TEST(Epilogue, OfARegisterTileIsDoneInLanes) {
  const Mapping mapping =
      scheduled({command("C", "tile", {"i", "j", 4_n, 8_n}),
                 command("C", "reorder", {"i0", "j0", "k", "i1", "j1"}),
                 command("C", "unroll", {"i1", 4_n}), command("C", "vectorize", {"j1", 8_n})});
  const Kernel kernel = expect_all_stages(mapping, sizes);
  const Interpreter full =
      expect_equal(mapping.function(), kernel, {{"N", 8}, {"M", 16}, {"K", 3}});
  EXPECT_EQ(full.scalar_stores, 0) << print_loop_ir(kernel);
}

TEST(Epilogue, OfLanesOverTerms) {
  expect_all_stages(scheduled({command("C", "vectorize", {"k", 4_n})}), sizes);
  expect_all_stages(
      scheduled({command("C", "interchange", {"j", "k"}), command("C", "unroll", {"k", 2_n}),
                 command("C", "vectorize", {"j", 4_n})}),
      sizes);
}

TEST(Epilogue, OfPartialResults) {
  const Mapping mapping =
      scheduled({command("C", "split", {"k", 4_n}), command("C", "rfactor", {"k1"}),
                 command("C_partial", "reorder", {"i", "j", "k1", "k0"}),
                 command("C_partial", "vectorize", {"k1", 4_n})});
  const Kernel kernel = expect_all_stages(mapping, sizes);
  EXPECT_TRUE(prints(kernel, "max(")) << print_loop_ir(kernel);
}

TEST(Epilogue, OfALocalCopy) {
  const std::vector<Command> tiles = {command("C", "tile", {"i", "j", 4_n, 8_n}),
                                      command("C", "reorder", {"i0", "j0", "k", "i1", "j1"})};
  std::vector<Command> outside = tiles;
  outside.push_back(command("C", "cache", {"C", "j0"}));
  expect_all_stages(scheduled(outside), sizes);
  std::vector<Command> inside = tiles;
  inside.push_back(command("C", "cache", {"C", "k"}));
  expect_all_stages(scheduled(inside), sizes);
}

TEST(Epilogue, OfEachReduction) {
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float32, {});
  const std::vector<Parameters> squares = {{{"N", 0}}, {{"N", 1}}, {{"N", 4}}, {{"N", 9}}};
  for (const Op op : {Op::ReduceSum, Op::ReduceProd, Op::ReduceMin, Op::ReduceMax}) {
    const auto c = declare_computation("C", {{"i", num(0), n}}, nullptr, Float32, {n}, {});
    const ExprPtr reduction =
        reduce(op, {{"k", num(0), n}}, access(a, {it("k"), it("i")}) * f32(0.5));
    define_piece(c, nullptr, access(a, {it("i"), num(0)}) - reduction, {});
    const Mapping mapping(function_of({c}));
    expect_all_stages(mapping, squares);
    expect_all_stages(mapping.with(command("C", "interchange", {"i", "k"}))
                          .with(command("C", "vectorize", {"i", 4_n})),
                      squares);
    expect_all_stages(mapping.with(command("C", "vectorize", {"k", 4_n})), squares);
  }
}

TEST(Epilogue, WithASecondReduction) {
  // The bound of the other one is the row: it is computed where the sum is finished.
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float32, {});
  const auto c = declare_computation("C", {{"i", num(0), n}}, nullptr, Float32, {n}, {});
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", num(0), n}}, access(a, {it("i"), it("k")}));
  const ExprPtr most =
      reduce(Op::ReduceMax, {{"l", num(0), it("i") + num(1)}}, access(a, {it("l"), it("i")}));
  define_piece(c, nullptr, sum * f32(0.5) + most, {});
  const std::vector<Parameters> squares = {{{"N", 0}}, {{"N", 1}}, {{"N", 4}}, {{"N", 9}}};
  const Mapping mapping(function_of({c}));
  expect_all_stages(mapping, squares);
  expect_all_stages(mapping.with(command("C", "interchange", {"i", "k"})), squares);
}

TEST(Epilogue, UsesASumThatIsNamedTwiceOnce) {
  // softplus-like: s * s - s, and a branch of its own.
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float32, {});
  const auto c = declare_computation("C", {{"i", num(0), n}}, nullptr, Float32, {n}, {});
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", num(0), n}}, access(a, {it("i"), it("k")}));
  define_piece(c, nullptr, select(binary(Op::Gt, sum, f32(0)), sum * sum - sum, sum * f32(0.25)),
               {});
  const std::vector<Parameters> squares = {{{"N", 0}}, {{"N", 1}}, {{"N", 6}}};
  expect_all_stages(Mapping(function_of({c})), squares);
  const std::string text = print_loop_ir(lower_mapping(Mapping(function_of({c})), {{}, {}, false}));
  EXPECT_EQ(text.find("for k"), text.rfind("for k")) << text;
}

} // namespace
} // namespace tilewright::test
