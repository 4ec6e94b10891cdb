#include "algorithm/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

isl::set set_of(const std::string &text) { return isl::set(isl_context(), text); }

ComputationPtr input(const std::string &name, ScalarType type, size_t rank) {
  auto computation = std::make_shared<Computation>();
  computation->name = name;
  computation->type = type;
  computation->is_input = true;
  for (size_t i = 0; i < rank; ++i) {
    computation->iterators.push_back("d" + std::to_string(i));
  }
  return computation;
}

ComputationPtr computation(const std::string &name, ScalarType type,
                           std::vector<std::string> iterators) {
  auto result = std::make_shared<Computation>();
  result->name = name;
  result->type = type;
  result->iterators = std::move(iterators);
  return result;
}

void piece(const ComputationPtr &of, const std::string &domain, const ExprPtr &value) {
  Piece piece;
  piece.domain = set_of(domain);
  piece.value = value;
  of->domain = of->pieces.empty() ? piece.domain : of->domain.unite(piece.domain);
  of->pieces.push_back(std::move(piece));
}

Function function_of(std::vector<ComputationPtr> computations) {
  Function function;
  function.name = "f";
  function.outputs = {computations.back()};
  function.computations = std::move(computations);
  return function;
}

template <class T>
ArrayView view(std::vector<T> &data, std::vector<std::int64_t> extents) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = sizeof(T);
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= extents[i];
  }
  return {data.data(), std::move(extents), std::move(strides)};
}

WeakNumber weak(int value) { return {TypeKind::Int, std::int64_t{value}}; }
ExprPtr integer(int value) { return constant(std::int64_t{value}, Int64); }
ExprPtr plus(const ExprPtr &a, int b) { return binary(Op::Add, a, weak(b)); }

const ExprPtr i = iterator("i");
const ExprPtr j = iterator("j");
const ExprPtr k = iterator("k");
const ExprPtr size_n = parameter("N");

template <class Run>
Error error_of(Run run) {
  try {
    run();
  } catch (const Error &error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ErrorKind::Internal, ""};
}

TEST(Evaluator, MatrixProductWithStridedViews) {
  const auto in_a = input("A", Float32, 2);
  const auto in_b = input("B", Float32, 2);
  const auto out = computation("C", Float32, {"i", "j"});
  piece(out, "[N] -> { C[i,j] : 0 <= i < N and 0 <= j < 2 }",
        reduce(Op::ReduceSum, {{"k", integer(0), parameter("K")}},
               binary(Op::Mul, access(in_a, {i, k}), access(in_b, {k, j}))));
  std::vector<float> a{1, 2, 3, 4, 5, 6};
  std::vector<float> b{1, 0, 2, 1, 0, 3};
  std::vector<float> c(4, -1);
  ArrayView transposed = view(c, {2, 2});
  std::swap(transposed.strides[0], transposed.strides[1]);
  evaluate(function_of({out}), {{"N", 2}, {"K", 3}},
           {{"A", view(a, {2, 3})}, {"B", view(b, {3, 2})}}, {{"C", transposed}});
  EXPECT_THAT(c, ElementsAre(5, 14, 11, 23));
  ArrayView backwards = view(a, {2, 3});
  backwards.data = a.data() + 5;
  backwards.strides = {-12, -4};
  evaluate(function_of({out}), {{"N", 2}, {"K", 3}}, {{"A", backwards}, {"B", view(b, {3, 2})}},
           {{"C", view(c, {2, 2})}});
  EXPECT_THAT(c, ElementsAre(16, 17, 7, 5));
}

TEST(Evaluator, PiecesWithDivisionsUnionsAndHoles) {
  const auto out = computation("C", Int32, {"i"});
  piece(out, "[N] -> { C[i] : 0 <= i < N and i mod 3 = 0 }", integer(30));
  piece(out, "[N] -> { C[i] : 0 <= i < N and (exists e : i = 3e + 1) and floor(i/2) mod 2 = 0 }",
        integer(31));
  piece(out, "[N] -> { C[i] : i = 2 or i = N - 1 and i mod 3 = 2 and i > 2 }", integer(32));
  for (Piece &p : out->pieces) {
    p.value = cast(p.value, Int32);
  }
  std::vector<std::int32_t> c(12, -1);
  evaluate(function_of({out}), {{"N", 12}}, {}, {{"C", view(c, {12})}});
  for (int x = 0; x < 12; ++x) {
    const int expected = x % 3 == 0                          ? 30
                         : x % 3 == 1 && (x / 2) % 2 == 0    ? 31
                         : x == 2 || (x == 11 && x % 3 == 2) ? 32
                                                             : -1; // left alone
    EXPECT_EQ(c[static_cast<size_t>(x)], expected) << x;
  }
}

TEST(Evaluator, NegativeIteratorsAndDivisions) {
  const auto table = computation("T", Int64, {"i"});
  piece(table, "{ T[i] : -7 <= i <= 7 and i mod 4 = 1 }", i);
  const auto out = computation("C", Int64, {"i"});
  piece(out, "{ C[i] : 0 <= i < 4 }",
        access(table, {binary(Op::Sub, binary(Op::Mul, i, weak(4)), weak(7))}));
  std::vector<std::int64_t> c(4, -1);
  evaluate(function_of({table, out}), {}, {}, {{"C", view(c, {4})}});
  EXPECT_THAT(c, ElementsAre(-7, -3, 1, 5));
}

TEST(Evaluator, MillionStepRecurrencesInBothDirections) {
  const int n = 1000000;
  const auto forward = computation("F", Int64, {"i"});
  piece(forward, "[N] -> { F[i] : i = 0 }", integer(1));
  piece(forward, "[N] -> { F[i] : 0 < i < N }", plus(access(forward, {plus(i, -1)}), 2));
  const auto backward = computation("G", Int64, {"i"});
  piece(backward, "[N] -> { G[i] : i = N - 1 }", integer(0));
  piece(backward, "[N] -> { G[i] : 0 <= i < N - 1 }",
        binary(Op::Add, access(backward, {plus(i, 1)}), access(forward, {i})));
  std::vector<std::int64_t> g(n);
  evaluate(function_of({forward, backward}), {{"N", n}}, {}, {{"G", view(g, {n})}});
  EXPECT_EQ(g[n - 1], 0);
  EXPECT_EQ(g[0], std::int64_t{n - 1} * (n - 1));
}

TEST(Evaluator, SelectReadsOnlyTheChosenBranch) {
  const auto in_a = input("A", Float64, 1);
  const auto out = computation("C", Float64, {"i"});
  piece(out, "[N] -> { C[i] : 0 <= i < N }",
        select(binary(Op::Gt, i, weak(0)), access(in_a, {plus(i, -1)}), weak(-1)));
  std::vector<double> a{3, 4};
  std::vector<double> c(3);
  evaluate(function_of({out}), {{"N", 3}}, {{"A", view(a, {2})}}, {{"C", view(c, {3})}});
  EXPECT_THAT(c, ElementsAre(-1, 3, 4));
}

TEST(Evaluator, ASubtreeSharedByBranchesIsComputedInEach) {
  const auto in_a = input("A", Float64, 1);
  const auto out = computation("C", Float64, {"i"});
  const ExprPtr read = access(in_a, {i});
  const ExprPtr value = binary(Op::Add, select(binary(Op::Lt, i, weak(1)), read, weak(100)),
                               select(binary(Op::Ge, i, weak(1)), read, weak(200)));
  piece(out, "{ C[i] : 0 <= i < 2 }", binary(Op::Add, value, read));
  std::vector<double> a{1, 2};
  std::vector<double> c(2);
  evaluate(function_of({out}), {}, {{"A", view(a, {2})}}, {{"C", view(c, {2})}});
  EXPECT_THAT(c, ElementsAre(202, 104));
}

TEST(Evaluator, NestedTriangularConditionalReductions) {
  const auto out = computation("C", Int64, {"i"});
  piece(out, "{ C[i] : 0 <= i < 5 }",
        reduce(Op::ReduceSum, {{"j", integer(0), plus(i, 1)}, {"k", j, i}},
               binary(Op::Add, binary(Op::Mul, j, weak(10)), k),
               binary(Op::Ne, binary(Op::Mod, k, weak(2)), weak(0))));
  std::vector<std::int64_t> c(5);
  evaluate(function_of({out}), {}, {}, {{"C", view(c, {5})}});
  for (int x = 0; x < 5; ++x) {
    std::int64_t expected = 0;
    for (int y = 0; y <= x; ++y) {
      for (int z = y; z < x; ++z) {
        expected += z % 2 != 0 ? 10 * y + z : 0;
      }
    }
    EXPECT_EQ(c[static_cast<size_t>(x)], expected) << x;
  }
}

TEST(Evaluator, ReductionInsideReductionWithAShadowingName) {
  // sum over k of (k + sum over k' < k of k'), the inner iterator also called k, and `k` itself one
  // shared node.
  const ExprPtr inner = reduce(Op::ReduceSum, {{"k", integer(0), k}}, k);
  const auto out = computation("C", Int64, {});
  piece(out, "{ C[] }",
        reduce(Op::ReduceSum, {{"k", integer(0), integer(5)}},
               binary(Op::Add, binary(Op::Add, k, inner), k)));
  std::vector<std::int64_t> c(1);
  evaluate(function_of({out}), {}, {}, {{"C", view(c, {})}});
  EXPECT_EQ(c[0], 2 * 10 + (0 + 0 + 1 + 3 + 6));
}

TEST(Evaluator, EveryReduction) {
  const auto in_a = input("A", Float32, 1);
  const std::vector<std::pair<Op, std::vector<double>>> expected{
      {Op::ReduceSum, {6, 0}},         {Op::ReduceProd, {-24, 1}}, {Op::ReduceMin, {-2, INFINITY}},
      {Op::ReduceMax, {4, -INFINITY}}, {Op::ReduceAny, {1, 0}},    {Op::ReduceAll, {1, 1}},
      {Op::ReduceArgMin, {2, -1}},     {Op::ReduceArgMax, {1, -1}}};
  std::vector<float> a{3, 4, -2, 1};
  for (const auto &[op, values] : expected) {
    const auto out = computation("C", Float64, {"i"});
    piece(out, "{ C[i] : 0 <= i < 2 }",
          cast(reduce(op, {{"k", integer(0), select(binary(Op::Eq, i, weak(0)), weak(4), weak(0))}},
                      access(in_a, {k})),
               Float64));
    std::vector<double> c(2);
    evaluate(function_of({out}), {}, {{"A", view(a, {4})}}, {{"C", view(c, {2})}});
    EXPECT_THAT(c, ElementsAre(values[0], values[1])) << op_name(op);
  }
  a = {3, NAN, -2, NAN};
  const auto out = computation("C", Int64, {});
  piece(out, "{ C[] }",
        reduce(Op::ReduceArgMin, {{"k", integer(0), integer(4)}}, access(in_a, {k})));
  std::vector<std::int64_t> c(1);
  evaluate(function_of({out}), {}, {{"A", view(a, {4})}}, {{"C", view(c, {})}});
  EXPECT_EQ(c[0], 1); // the first NaN
}

TEST(Evaluator, NarrowFloatsAccumulateInTheirOwnType) {
  const auto out = computation("C", Float16, {});
  piece(out, "{ C[] }",
        reduce(Op::ReduceSum, {{"k", integer(0), integer(3000)}}, constant(1.0, Float16)));
  std::vector<std::uint16_t> c(1);
  evaluate(function_of({out}), {}, {}, {{"C", view(c, {})}});
  EXPECT_EQ(c[0], 0x6800); // 2048: adding one more changes nothing
}

TEST(Evaluator, IndirectReads) {
  const auto in_a = input("A", Float64, 1);
  const auto index = input("index", UInt8, 1);
  const auto out = computation("C", Float64, {"i"});
  piece(out, "[N] -> { C[i] : 0 <= i < N }", access(in_a, {access(index, {i})}));
  std::vector<double> a{10, 11, 12};
  std::vector<std::uint8_t> indices{2, 0, 5};
  std::vector<double> c(3);
  const std::map<std::string, ArrayView> inputs{{"A", view(a, {3})}, {"index", view(indices, {3})}};
  evaluate(function_of({out}), {{"N", 2}}, inputs, {{"C", view(c, {3})}});
  EXPECT_THAT(c, ElementsAre(12, 10, 0));
  const Error error =
      error_of([&] { evaluate(function_of({out}), {{"N", 3}}, inputs, {{"C", view(c, {3})}}); });
  EXPECT_EQ(error.kind, ErrorKind::Index);
  EXPECT_THAT(error.what(), HasSubstr("C[2] reads A[5], outside 'A' of shape (3,)"));
  EXPECT_THAT(error.what(), HasSubstr("N = 3"));
}

TEST(Evaluator, ReadsThatNoPieceDefines) {
  const auto table = computation("T", Float64, {"i"});
  piece(table, "{ T[i] : 0 <= i < 10 and i mod 2 = 0 }", constant(1.0, Float64));
  for (const int shift : {1, 20, -1}) {
    const auto out = computation("C", Float64, {"i"});
    piece(out, "{ C[i] : 0 <= i < 1 }", access(table, {plus(i, shift)}));
    std::vector<double> c(1);
    const Error error =
        error_of([&] { evaluate(function_of({table, out}), {}, {}, {{"C", view(c, {1})}}); });
    EXPECT_EQ(error.kind, ErrorKind::Index);
    EXPECT_THAT(error.what(), HasSubstr("C[0] reads T[" + std::to_string(shift) +
                                        "], which no piece of 'T' defines"));
  }
}

TEST(Evaluator, CyclesNameThePointAndTheChain) {
  const auto out = computation("C", Float64, {"i"});
  const auto other = computation("D", Float64, {"i"});
  piece(other, "[N] -> { D[i] : 0 <= i < N }", access(out, {i}));
  piece(out, "[N] -> { C[i] : 0 <= i < N and i != 3 }", constant(0.0, Float64));
  piece(out, "[N] -> { C[i] : i = 3 < N }", access(other, {i}));
  std::vector<double> c(4);
  const Function function = function_of({other, out});
  evaluate(function, {{"N", 3}}, {}, {{"C", view(c, {3})}});
  const Error error = error_of([&] { evaluate(function, {{"N", 4}}, {}, {{"C", view(c, {4})}}); });
  EXPECT_EQ(error.kind, ErrorKind::Cycle);
  EXPECT_EQ(error.what(),
            std::string(
                "computation 'C' needs its own value at C[3] (with N = 4): C[3] -> D[3] -> C[3]"));
  EXPECT_EQ(error.details.at("point"), "C[3]");

  const auto ring = computation("R", Float64, {"i"});
  piece(ring, "{ R[i] : 0 <= i < 1000 }", access(ring, {binary(Op::Mod, plus(i, 1), weak(1000))}));
  std::vector<double> r(1000);
  const Error long_error =
      error_of([&] { evaluate(function_of({ring}), {}, {}, {{"R", view(r, {1000})}}); });
  EXPECT_THAT(
      long_error.what(),
      HasSubstr("R[0] -> R[1] -> R[2] -> R[3] -> ... (994 more) -> R[998] -> R[999] -> R[0]"));
}

TEST(Evaluator, EmptyDomainsAndRankZero) {
  const auto out = computation("C", Float64, {"i", "j"});
  piece(out, "[N] -> { C[i,j] : 0 <= i < N and 0 <= j < N }", constant(1.0, Float64));
  std::vector<double> c(1, -1);
  evaluate(function_of({out}), {{"N", 0}}, {}, {{"C", view(c, {0, 0})}});
  EXPECT_EQ(c[0], -1);
  evaluate(function_of({out}), {{"N", 1}}, {}, {{"C", view(c, {1, 1})}});
  EXPECT_EQ(c[0], 1);
}

TEST(Evaluator, OutputsMayShareMemoryWithInputs) {
  const auto in_a = input("A", Int32, 1);
  const auto out = computation("C", Int32, {"i"});
  piece(out, "[N] -> { C[i] : 0 <= i < N }", access(in_a, {binary(Op::Sub, plus(size_n, -1), i)}));
  std::vector<std::int32_t> a{1, 2, 3, 4};
  evaluate(function_of({out}), {{"N", 4}}, {{"A", view(a, {4})}}, {{"C", view(a, {4})}});
  EXPECT_THAT(a, ElementsAre(4, 3, 2, 1));
}

TEST(Evaluator, WrongCallsAreRefused) {
  const auto in_a = input("A", Int32, 1);
  const auto out = computation("C", Int32, {"i"});
  piece(out, "[N] -> { C[i] : 0 <= i < N }", access(in_a, {i}));
  std::vector<std::int32_t> a(4);
  std::vector<std::int32_t> c(4);
  const Function function = function_of({out});
  const auto message = [&](const std::map<std::string, std::int64_t> &parameters,
                           const std::map<std::string, ArrayView> &inputs,
                           const std::map<std::string, ArrayView> &outputs, ErrorKind kind) {
    const Error error = error_of([&] { evaluate(function, parameters, inputs, outputs); });
    EXPECT_EQ(error.kind, kind) << error.what();
    return std::string(error.what());
  };
  const ArrayView good = view(a, {4});
  EXPECT_THAT(message({}, {{"A", good}}, {{"C", view(c, {4})}}, ErrorKind::Argument),
              HasSubstr("parameter 'N'"));
  EXPECT_THAT(message({{"N", 4}}, {}, {{"C", view(c, {4})}}, ErrorKind::Argument),
              HasSubstr("input 'A'"));
  EXPECT_THAT(
      message({{"N", 4}}, {{"A", view(a, {2, 2})}}, {{"C", view(c, {4})}}, ErrorKind::Argument),
      HasSubstr("'A' has 1 dimension, but the array given has 2"));
  EXPECT_THAT(message({{"N", 4}}, {{"A", good}}, {{"X", view(c, {4})}}, ErrorKind::Argument),
              HasSubstr("'X'"));
  EXPECT_THAT(message({{"N", 4}}, {{"A", good}}, {{"C", view(c, {3})}}, ErrorKind::Index),
              HasSubstr("C[3]"));
  EXPECT_THAT(
      message({{"N", 1000000000}}, {{"A", good}}, {{"C", view(c, {3})}}, ErrorKind::Argument),
      HasSubstr("spans more than"));
}

TEST(Evaluator, UpdatesOverEarlierInstances) {
  // Prefix products along j of what row i - 1 left, the classic wavefront.
  const auto out = computation("C", UInt32, {"i", "j"});
  piece(out, "{ C[i,j] : 0 <= i < 40 and 0 <= j < 40 and (i = 0 or j = 0) }",
        constant(std::int64_t{1}, UInt32));
  piece(out, "{ C[i,j] : 0 < i < 40 and 0 < j < 40 }",
        binary(Op::Add, access(out, {plus(i, -1), j}), access(out, {i, plus(j, -1)})));
  std::vector<std::uint32_t> c(1600);
  evaluate(function_of({out}), {}, {}, {{"C", view(c, {40, 40})}});
  std::vector<std::uint32_t> expected(1600, 1);
  for (size_t y = 1; y < 40; ++y) {
    for (size_t x = 1; x < 40; ++x) {
      expected[y * 40 + x] = expected[(y - 1) * 40 + x] + expected[y * 40 + x - 1];
    }
  }
  EXPECT_EQ(c, expected); // wraps around 2^32
}

} // namespace
} // namespace tilewright
