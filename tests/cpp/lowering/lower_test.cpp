#include "fixture.h"

namespace tilewright::test {
namespace {

const std::vector<Parameters> matmul_sizes = {
    {{"N", 0}, {"M", 3}, {"K", 2}},  {{"N", 3}, {"M", 4}, {"K", 0}},
    {{"N", 1}, {"M", 1}, {"K", 1}},  {{"N", 8}, {"M", 16}, {"K", 4}},
    {{"N", 9}, {"M", 21}, {"K", 7}}, {{"N", 17}, {"M", 35}, {"K", 5}}};
const std::vector<Parameters> line_sizes = {{{"N", 0}}, {{"N", 1}},  {{"N", 7}},
                                            {{"N", 8}}, {{"N", 16}}, {{"N", 29}}};

std::int64_t operator""_n(unsigned long long value) { return static_cast<std::int64_t>(value); }

bool prints(const Kernel &kernel, const std::string &text) {
  return print_loop_ir(kernel).find(text) != std::string::npos;
}

int count_loops(const Kernel &kernel, LoopKind kind) {
  int count = 0;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    count += is_loop_of(statement, kind) ? 1 : 0;
  });
  return count;
}

ComputationPtr line_input(const std::string &name, ScalarType type = Float32) {
  return declare_input(name, {par("N")}, type, {});
}

ComputationPtr line(const std::string &name, const ExprPtr &value, const ExprPtr &lower = num(0),
                    const ExprPtr &upper = par("N")) {
  const auto computation =
      declare_computation(name, {{"i", lower, upper}}, nullptr, value->type, {par("N")}, {});
  define_piece(computation, nullptr, value, {});
  return computation;
}

TEST(Lower, DefaultMatmulReadsAsWritten) {
  expect_all_stages(Mapping(matmul()), matmul_sizes);
  const Kernel kernel = lower_mapping(Mapping(matmul()), {{}, {}, false});
  EXPECT_EQ(print_loop_ir(kernel), "for i in range(0, N):\n"
                                   "  for j in range(0, M):\n"
                                   "    C[i, j] = 0.0\n"
                                   "    for k in range(0, K):\n"
                                   "      C[i, j] = C[i, j] + A[i, k] * B[k, j]\n");
}

TEST(Lower, TiledParallelVectorMatmul) {
  const Mapping mapping = Mapping(matmul())
                              .with(command("C", "tile", {"i", "j", 8_n, 16_n}))
                              .with(command("C", "parallelize", {"i0"}))
                              .with(command("C", "vectorize", {"j1", 8_n}));
  const Kernel kernel = expect_all_stages(mapping, matmul_sizes);
  EXPECT_EQ(count_loops(kernel, LoopKind::Vector), 0);
  EXPECT_EQ(count_loops(kernel, LoopKind::Parallel), 1);
  const Kernel shown = lower_mapping(mapping, {{}, {}, false});
  EXPECT_TRUE(prints(shown, "for i0 in range(0, (N + 7) // 8):  # parallel"))
      << print_loop_ir(shown);
  EXPECT_TRUE(prints(shown, "# vector(8)")) << print_loop_ir(shown);
  const Interpreter full =
      expect_equal(mapping.function(), kernel, {{"N", 8}, {"M", 16}, {"K", 3}});
  EXPECT_EQ(full.scalar_stores, 0);
  EXPECT_EQ(full.vector_stores, 8 * 2); // the sum, which begins in a local
}

TEST(Lower, RegisterTileIsSeparatedOutsideTheReduction) {
  const Mapping mapping = Mapping(matmul())
                              .with(command("C", "tile", {"i", "j", 4_n, 8_n}))
                              .with(command("C", "interchange", {"k", "i1"}))
                              .with(command("C", "interchange", {"k", "j1"}))
                              .with(command("C", "unroll", {"i1", 4_n}))
                              .with(command("C", "vectorize", {"j1", 8_n}));
  const Kernel kernel = expect_all_stages(mapping, matmul_sizes);
  const Interpreter full =
      expect_equal(mapping.function(), kernel, {{"N", 8}, {"M", 16}, {"K", 3}});
  EXPECT_EQ(full.scalar_stores, 0) << print_loop_ir(kernel);
}

TEST(Lower, RegisterTileOfSeveralVectors) {
  const Mapping mapping = Mapping(matmul())
                              .with(command("C", "tile", {"i", "j", 4_n, 8_n}))
                              .with(command("C", "interchange", {"j1", "k"}))
                              .with(command("C", "interchange", {"i1", "k"}))
                              .with(command("C", "unroll", {"i1", 4_n}))
                              .with(command("C", "vectorize", {"j1", 4_n}))
                              .with(command("C", "unroll", {"j10", 2_n}));
  const Kernel kernel = expect_all_stages(mapping, matmul_sizes);
  const Interpreter full =
      expect_equal(mapping.function(), kernel, {{"N", 8}, {"M", 16}, {"K", 3}});
  EXPECT_EQ(full.scalar_stores, 0) << print_loop_ir(kernel);
  EXPECT_TRUE(prints(kernel, "acc_8 = acc_8 + ")) << print_loop_ir(kernel);
}

TEST(Lower, StencilAcrossBufferAndTail) {
  const auto a = line_input("A");
  const auto blur =
      line("B",
           (access(a, {it("i") - num(1)}) + access(a, {it("i")}) + access(a, {it("i") + num(1)})) *
               f32(0.25),
           num(1), par("N") - num(1));
  const auto out = line("D", access(blur, {it("i")}) * f32(2), num(1), par("N") - num(1));
  const Mapping mapping = Mapping(function_of({out}))
                              .with(command("B", "vectorize", {"i", 4_n}))
                              .with(command("D", "split", {"i", 8_n}))
                              .with(command("D", "unroll", {"i1", 8_n}));
  const Kernel kernel = expect_all_stages(mapping, line_sizes);
  EXPECT_TRUE(prints(kernel, "B = empty((N,), float32)")) << print_loop_ir(kernel);
}

TEST(Lower, TriangleWithPieces) {
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float64, {});
  const auto t =
      declare_computation("T", {{"i", num(0), n}, {"j", num(0), n}}, nullptr, Float64, {}, {});
  define_piece(t, binary(Op::Le, it("j"), it("i")), access(a, {it("i"), it("j")}), {});
  define_piece(t, binary(Op::Gt, it("j"), it("i")),
               access(a, {it("j"), it("i")}) + cast(it("i"), Float64), {});
  const auto function = function_of({t});
  expect_all_stages(Mapping(function), line_sizes);
  expect_all_stages(Mapping(function).with(command("T", "tile", {"i", "j", 4_n, 4_n})), line_sizes);
  expect_all_stages(Mapping(function).with(command("T", "interchange", {"i", "j"})), line_sizes);
  expect_all_stages(Mapping(function).with(command("T", "vectorize", {"j", 4_n})), line_sizes);
}

TEST(Lower, ReversedShiftedAndSkewedLoops) {
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float32, {});
  const auto c =
      declare_computation("C", {{"i", num(0), n}, {"j", num(0), n}}, nullptr, Float32, {}, {});
  define_piece(c, nullptr, access(a, {it("i"), it("j")}) + f32(1), {});
  const auto function = function_of({c});
  expect_all_stages(Mapping(function).with(command("C", "reverse", {"i"})), line_sizes);
  expect_all_stages(Mapping(function).with(command("C", "shift", {"i", 3_n})), line_sizes);
  expect_all_stages(Mapping(function).with(command("C", "skew", {"i", "j", 2_n})), line_sizes);
  expect_all_stages(Mapping(function)
                        .with(command("C", "skew", {"i", "j", 1_n}))
                        .with(command("C", "reverse", {"i"}))
                        .with(command("C", "split", {"i", 3_n})),
                    line_sizes);
}

TEST(Lower, StridedTimeIsCountedFromZero) {
  const auto a = line_input("A");
  const auto c = line("C", access(a, {it("i")}) + f32(1));
  const Mapping mapping =
      Mapping(function_of({c})).with(command("C", "set_schedule", {"{ C[i] -> [3*i + 1] }"}));
  const Kernel kernel = expect_all_stages(mapping, line_sizes);
  EXPECT_TRUE(prints(kernel, "in range(0, N):")) << print_loop_ir(kernel);
  EXPECT_TRUE(prints(kernel, "= A[t0]")) << print_loop_ir(kernel);
}

TEST(Lower, ReductionInsideAnExpression) {
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float32, {});
  const auto total = reduce(Op::ReduceSum, {{"k", num(0), n}}, access(a, {it("i"), it("k")}));
  const auto most =
      reduce(Op::ReduceMax, {{"k", num(0), it("i") + num(1)}}, access(a, {it("k"), it("i")}));
  const auto c = line("C", total * f32(0.5) + most);
  const Mapping mapping(function_of({c}));
  expect_all_stages(mapping, line_sizes);
  // Bounds that vary over the lanes keep the loop serial; the values stay.
  const Kernel kernel =
      expect_all_stages(mapping.with(command("C", "vectorize", {"i", 4_n})), line_sizes);
  EXPECT_EQ(count_loops(kernel, LoopKind::Vector), 0);
}

TEST(Lower, ReductionOfLanes) {
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float32, {});
  const auto total = reduce(Op::ReduceSum, {{"k", num(0), n}}, access(a, {it("k"), it("i")}));
  const auto c = line("C", total * f32(0.5));
  const Mapping mapping = Mapping(function_of({c})).with(command("C", "vectorize", {"i", 4_n}));
  const Kernel kernel = expect_all_stages(mapping, line_sizes);
  const Interpreter run = expect_equal(mapping.function(), kernel, {{"N", 8}});
  EXPECT_EQ(run.scalar_stores, 0) << print_loop_ir(kernel);
}

TEST(Lower, ArgumentsOfExtrema) {
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float32, {});
  for (const Op op : {Op::ReduceArgMin, Op::ReduceArgMax}) {
    const auto c = line("C", reduce(op, {{"k", num(0), n}}, access(a, {it("k"), it("i")})));
    const Mapping mapping(function_of({c}));
    Kernel kernel = expect_all_stages(mapping, line_sizes);
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    Interpreter with_nan = interpret(kernel, {{"N", 5}});
    for (const size_t element : {size_t{7}, size_t{12}}) { // A[1, 2] and A[2, 2]
      with_nan.memory.data[0][element].f = nan;
    }
    with_nan.run();
    EXPECT_EQ(with_nan.memory.data[1][2].i, 1);
    // Conditions that only choose between values become selects of lanes.
    kernel = expect_all_stages(mapping.with(command("C", "vectorize", {"i", 4_n})), line_sizes);
    const Interpreter run = expect_equal(mapping.function(), kernel, {{"N", 8}});
    EXPECT_EQ(run.scalar_stores, 0) << print_loop_ir(kernel);
  }
  const auto empty =
      line("C", reduce(Op::ReduceArgMin, {{"k", num(0), num(0)}}, access(a, {it("k"), it("i")})));
  const Kernel kernel = lower_mapping(Mapping(function_of({empty})));
  Interpreter run = interpret(kernel, {{"N", 2}});
  run.run();
  EXPECT_EQ(run.memory.data.back()[1].i, -1);
}

TEST(Lower, GuardedReadsStayGuarded) {
  const auto a = line_input("A");
  const auto guarded =
      select(binary(Op::Gt, it("i"), num(0)), access(a, {it("i") - num(1)}), f32(0));
  const Mapping out_of_bounds(function_of({line("C", guarded + f32(1))}));
  const Kernel kernel =
      expect_all_stages(out_of_bounds, line_sizes); // the interpreter refuses reads out of bounds
  // The read is in the iterations for which the guard holds.
  EXPECT_TRUE(prints(kernel, "for i in range(1, N):\n  chosen = 0.0\n  chosen = A[i - 1]"))
      << print_loop_ir(kernel);
  EXPECT_FALSE(prints(kernel, "if ")) << print_loop_ir(kernel);

  const auto safe =
      select(binary(Op::Gt, access(a, {it("i")}), f32(0)), access(a, {it("i")}) * f32(3), f32(0));
  const Mapping in_bounds =
      Mapping(function_of({line("C", safe)})).with(command("C", "vectorize", {"i", 4_n}));
  const Kernel vector = expect_all_stages(in_bounds, line_sizes);
  EXPECT_TRUE(prints(vector, " else ")) << print_loop_ir(vector);
  EXPECT_EQ(expect_equal(in_bounds.function(), vector, {{"N", 8}}).scalar_stores, 0);
}

TEST(Lower, GuardsAreDecidedForWholeVectors) {
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float32, {});
  const auto c =
      declare_computation("C", {{"i", num(0), n}, {"j", num(0), n}}, nullptr, Float32, {}, {});
  const auto inner = binary(
      Op::And, binary(Op::And, binary(Op::Gt, it("i"), num(0)), binary(Op::Gt, it("j"), num(0))),
      binary(Op::Lt, it("j"), n - num(1)));
  const auto mean =
      access(a, {it("i") - num(1), it("j") - num(1)}) + access(a, {it("i"), it("j") + num(1)});
  define_piece(c, nullptr, select(inner, mean, f32(7)), {});
  const Mapping mapping = Mapping(function_of({c})).with(command("C", "vectorize", {"j", 4_n}));
  const Kernel kernel = expect_all_stages(mapping, line_sizes);
  const Interpreter run = expect_equal(mapping.function(), kernel, {{"N", 16}});
  // Columns 4 to 11 of all rows, and the others of the first.
  EXPECT_EQ(run.vector_stores, 15 * 2 + 4) << print_loop_ir(kernel);
}

TEST(Lower, IndirectReadsAreChecked) {
  const auto a = line_input("A");
  const auto index = line_input("index", Int64);
  const auto c = line("C", access(a, {access(index, {it("i")})}));
  const Kernel kernel = lower_mapping(Mapping(function_of({c})));
  ASSERT_EQ(kernel.sites.size(), 1U);
  EXPECT_EQ(kernel.sites[0].text, "A[index[i]]");
  EXPECT_EQ(kernel.sites[0].array, "A");
  Interpreter run = interpret(kernel, {{"N", 3}});
  size_t position = kernel.buffers[0].name == "index" ? 0 : 1;
  run.memory.data[position] = {{2, 2}, {0, 0}, {1, 1}};
  EXPECT_EQ(run.run(), -1);
  EXPECT_EQ(run.memory.data[2][0].f, run.memory.data[1 - position][2].f);
  run.memory.data[position][1] = {3, 3};
  EXPECT_EQ(run.run(), 0);
  run.memory.data[position][1] = {-1, -1};
  EXPECT_EQ(run.run(), 0);
}

TEST(Lower, SharedExpressionsAreComputedOnce) {
  const auto a = line_input("A", Float64);
  ExprPtr value = access(a, {it("i")});
  for (int k = 0; k < 40; ++k) {
    value = value * value + value;
  }
  const Kernel kernel = lower_mapping(Mapping(function_of({line("C", value)})));
  int statements = 0;
  visit_statements(kernel.body, [&](const LoopStatement &) { ++statements; });
  EXPECT_LT(statements, 100);
}

TEST(Lower, ScalarsAndEmptyDomains) {
  const auto a = line_input("A", Float64);
  const auto s = declare_computation("S", {}, nullptr, Float64, {}, {});
  define_piece(s, nullptr, reduce(Op::ReduceSum, {{"k", num(0), par("N")}}, access(a, {it("k")})),
               {});
  expect_all_stages(Mapping(function_of({s})), line_sizes);
}

TEST(Lower, NestedParallelLoopsAreSerialInside) {
  const auto n = par("N");
  const auto a = declare_input("A", {n, n}, Float32, {});
  const auto c =
      declare_computation("C", {{"i", num(0), n}, {"j", num(0), n}}, nullptr, Float32, {}, {});
  define_piece(c, nullptr, access(a, {it("i"), it("j")}) + f32(1), {});
  const Mapping mapping = Mapping(function_of({c}))
                              .with(command("C", "parallelize", {"i"}))
                              .with(command("C", "parallelize", {"j"}));
  const Kernel kernel = expect_all_stages(mapping, line_sizes);
  EXPECT_EQ(count_loops(kernel, LoopKind::Parallel), 1);
}

TEST(Lower, UnitDimensions) {
  const Program program = build_program(Mapping(matmul()));
  const Kernel kernel = lower(program, LoweringOptions{{{0, 0}, {-1, 0}}, {}, true});
  EXPECT_EQ(kernel.buffers[0].layout.unit, 0);
  EXPECT_EQ(kernel.buffers[1].layout.unit, -1);
  EXPECT_EQ(kernel.buffers[2].layout.unit, 1);
  EXPECT_TRUE(kernel.buffers[2].is_written);
  EXPECT_FALSE(kernel.buffers[0].is_written);
}

} // namespace
} // namespace tilewright::test
