#include "algorithm/function.h"

#include <gtest/gtest.h>

#include <functional>

namespace tilewright {
namespace {

ExprPtr number(std::int64_t value) { return constant(value, Int64); }
ExprPtr size(const std::string &name) {
  return parameter(name, "[" + name + "] -> { : " + name + " >= 0 }");
}
ExprPtr i() { return iterator("i"); }
ExprPtr j() { return iterator("j"); }
ExprPtr k() { return iterator("k"); }
ExprPtr plus(const ExprPtr &a, std::int64_t b) { return binary(Op::Add, a, number(b)); }
Range range(const std::string &iterator, const ExprPtr &upper) {
  return {iterator, number(0), upper};
}
ReduceRange over(const std::string &iterator, const ExprPtr &upper) {
  return {iterator, number(0), upper};
}
SourceLocation line(int number) { return {"demo.py", number, "..."}; }

ComputationPtr vector_of(const std::string &name, int at = 1) {
  return declare_computation(name, {range("i", size("N"))}, nullptr, Float32, {}, line(at));
}
ComputationPtr copy_of(const std::string &name, const ComputationPtr &source) {
  ComputationPtr copy = vector_of(name);
  define_piece(copy, nullptr, access(source, {i()}), line(2));
  return copy;
}
std::shared_ptr<Function> function_of(const std::vector<ComputationPtr> &outputs,
                                      const std::vector<ComputationPtr> &inputs = {},
                                      const std::vector<ExprPtr> &context = {}) {
  return make_function("f", outputs, inputs, context, line(99));
}

std::string names(const std::vector<ComputationPtr> &list) {
  std::string text;
  for (const ComputationPtr &declared : list) {
    text += (text.empty() ? "" : " ") + declared->name;
  }
  return text;
}

Error refused(ErrorKind kind, const std::vector<std::string> &texts,
              const std::function<void()> &declare) {
  try {
    declare();
  } catch (const Error &error) {
    EXPECT_EQ(static_cast<int>(error.kind), static_cast<int>(kind)) << error.what();
    for (const std::string &text : texts) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
          << text << " is missing in: " << error.what();
    }
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return {ErrorKind::Internal, ""};
}

std::shared_ptr<Function> matmul() {
  const ExprPtr n = size("N");
  const ExprPtr m = size("M");
  const ExprPtr depth = size("K");
  const ComputationPtr a = declare_input("A", {n, depth}, Float32, line(1));
  const ComputationPtr b = declare_input("B", {depth, m}, Float32, line(2));
  const ComputationPtr c =
      declare_computation("C", {range("i", n), range("j", m)}, nullptr, Float32, {}, line(3));
  const ExprPtr product = binary(Op::Mul, access(a, {i(), k()}), access(b, {k(), j()}));
  define_piece(c, nullptr, reduce(Op::ReduceSum, {over("k", depth)}, product), line(3));
  return make_function("matmul", {c}, {}, {}, line(4));
}

TEST(Function, MatrixProduct) {
  const auto f = matmul();
  EXPECT_EQ(f->parameters, (std::vector<std::string>{"N", "K", "M"}));
  EXPECT_EQ(names(f->inputs), "A B");
  EXPECT_EQ(names(f->computations), "C");
  EXPECT_TRUE(checked(
      f->context.is_equal(isl::set(isl_context(), "[N,K,M] -> { : N >= 0 and M >= 0 and K >= 0 }")),
      "comparing"));
  EXPECT_EQ(isl_set_dim(f->context.get(), isl_dim_param), 3);
  ASSERT_NE(f->find("B"), nullptr);
  EXPECT_EQ((*f->find("B"))->rank(), 2u);
  EXPECT_EQ(f->find("D"), nullptr);
}

TEST(Function, PrintsLayerOneAsThePapersDo) {
  EXPECT_EQ(
      to_string(*matmul()),
      "function matmul(A, B) -> C\n"
      "parameters [N, K, M] -> { : N >= 0 and K >= 0 and M >= 0 }\n"
      "input A[N, K] : float32\n"
      "input B[K, M] : float32\n"
      "output C[N, M] : float32\n"
      "  { C[i, j] : 0 <= i < N and 0 <= j < M } : sum(A[i, k] * B[k, j] for k in range(0, K))\n");
}

TEST(Function, ProducersComeFirstWhateverTheOutputsOrder) {
  const ComputationPtr a = declare_input("A", {size("N")}, Float32, line(1));
  const ComputationPtr b = declare_input("B", {size("N")}, Float32, line(1));
  const ComputationPtr first = copy_of("first", b);
  const ComputationPtr second = copy_of("second", first);
  const ComputationPtr third = vector_of("third");
  define_piece(third, nullptr, binary(Op::Add, access(a, {i()}), access(second, {i()})), line(2));
  const auto f = function_of({third, first});
  EXPECT_EQ(names(f->computations), "first second third");
  EXPECT_EQ(names(f->outputs), "third first");
  EXPECT_EQ(names(f->inputs), "A B");
}

TEST(Function, InputsComeInTheOrderOfTheirDeclaration) {
  const ComputationPtr b = declare_input("B", {size("N")}, Float32, line(1));
  const ComputationPtr a = declare_input("A", {size("N")}, Float32, line(2));
  const ComputationPtr c = vector_of("C");
  define_piece(c, nullptr, binary(Op::Sub, access(a, {i()}), access(b, {i()})), line(3));
  EXPECT_EQ(names(function_of({c})->inputs), "B A");
  EXPECT_LT(b->ordinal, a->ordinal);
  pass_input_ordinal(a->ordinal + 10);
  pass_input_ordinal(1); // an earlier one takes nothing back
  EXPECT_EQ(declare_input("D", {size("N")}, Float32, line(4))->ordinal, a->ordinal + 11);
}

TEST(Function, GivenInputsSetTheOrder) {
  const ComputationPtr a = declare_input("A", {size("N")}, Float32, line(1));
  const ComputationPtr b = declare_input("B", {size("M")}, Float32, line(1));
  const ComputationPtr c = copy_of("C", a);
  const auto f = function_of({c}, {b, a});
  EXPECT_EQ(names(f->inputs), "B A");
  EXPECT_EQ(f->parameters, (std::vector<std::string>{"M", "N"}));
  refused(ErrorKind::Declaration, {"reads the input A", "given inputs"},
          [&] { function_of({c}, {b}); });
  refused(ErrorKind::Declaration, {"argument 1", "C is a computation"},
          [&] { function_of({c}, {a, c}); });
  refused(ErrorKind::Declaration, {"lists the input A twice"}, [&] { function_of({c}, {a, a}); });
}

TEST(Function, LongChainsDoNotExhaustTheStack) {
  ComputationPtr last = declare_input("A", {number(4)}, Float32, line(1));
  for (int step = 0; step < 2000; ++step) {
    const ComputationPtr next = declare_computation(
        "c" + std::to_string(step), {range("i", number(4))}, nullptr, Float32, {}, line(1));
    define_piece(next, nullptr, access(last, {i()}), line(2));
    last = next;
  }
  EXPECT_EQ(function_of({last})->computations.size(), 2000u);
}

TEST(Function, RecurrencesAcrossComputations) {
  const ComputationPtr e = vector_of("E");
  const ComputationPtr h = vector_of("H");
  define_piece(h, binary(Op::Eq, i(), number(0)), number(1), line(2));
  define_piece(e, binary(Op::Eq, i(), number(0)), number(2), line(3));
  define_piece(e, binary(Op::Gt, i(), number(0)), access(h, {plus(i(), -1)}), line(4));
  define_piece(h, binary(Op::Gt, i(), number(0)), access(e, {plus(i(), -1)}), line(5));
  EXPECT_EQ(function_of({h})->computations.size(), 2u);
}

TEST(Function, UncoveredPointsMayExistButNotBeRead) {
  const ComputationPtr part = vector_of("P");
  define_piece(part, binary(Op::Gt, i(), number(0)), i(), line(2));
  EXPECT_EQ(function_of({part})->computations.size(), 1u);
  const ComputationPtr c = copy_of("C", part);
  const Error error =
      refused(ErrorKind::Bounds, {"C[0] reads P[0], outside P's defined points", "N = 1"},
              [&] { function_of({c}); });
  EXPECT_EQ(error.details.at("read"), "P[0]");
}

TEST(Function, ComputationsNeedPiecesAndOutputsMustBeComputations) {
  const ComputationPtr empty = vector_of("E", 17);
  const Error error =
      refused(ErrorKind::Declaration, {"E (declared at demo.py:17) has no expression"},
              [&] { function_of({empty}); });
  EXPECT_EQ(error.where.line, 17);
  const ComputationPtr a = declare_input("A", {size("N")}, Float32, line(1));
  refused(ErrorKind::Declaration, {"output 0", "input A"}, [&] { function_of({a}); });
  refused(ErrorKind::Declaration, {"at least one output"}, [&] { function_of({}); });
  const ComputationPtr c = copy_of("C", a);
  refused(ErrorKind::Declaration, {"output C twice"}, [&] { function_of({c, c}); });
}

TEST(Function, DuplicateNamesAreReportedWithBothLines) {
  const ComputationPtr one = declare_input("A", {size("N")}, Float32, line(5));
  const ComputationPtr two = declare_input("A", {size("N")}, Float32, line(7));
  const ComputationPtr c = vector_of("C");
  define_piece(c, nullptr, binary(Op::Add, access(one, {i()}), access(two, {i()})), line(8));
  refused(ErrorKind::Declaration, {"named A", "demo.py:5", "demo.py:7"}, [&] { function_of({c}); });
  refused(ErrorKind::Declaration, {"both named N"}, [&] {
    const ComputationPtr n = vector_of("N");
    define_piece(n, nullptr, i(), line(8));
    function_of({n});
  });
}

TEST(Function, ContextIsIntersectedAndMayNotBeEmpty) {
  const ComputationPtr a = declare_input("A", {size("N")}, Float32, line(1));
  const ComputationPtr c = copy_of("C", a);
  const ExprPtr even = binary(Op::Eq, binary(Op::Mod, size("N"), number(2)), number(0));
  const auto f = function_of({c}, {}, {even});
  EXPECT_TRUE(
      checked(f->context.is_equal(isl::set(isl_context(), "[N] -> { : N >= 0 and N mod 2 = 0 }")),
              "comparing"));
  refused(ErrorKind::Declaration, {"contradict"},
          [&] { function_of({c}, {}, {binary(Op::Lt, size("N"), number(0))}); });
  refused(ErrorKind::Declaration, {"context of function f", "iterator i"},
          [&] { function_of({c}, {}, {binary(Op::Lt, i(), number(0))}); });
}

TEST(Function, ParametersOfIslTextTakeConstraintsFromElsewhere) {
  const ComputationPtr c = declare_computation("{ C[i] : 0 <= i < N }", Float32, {}, line(1));
  const ComputationPtr a = declare_input("A", {parameter("N", "N > 3")}, Float32, line(1));
  define_piece(c, nullptr, access(a, {i()}), line(2));
  const auto f = function_of({c});
  EXPECT_TRUE(
      checked(f->context.is_equal(isl::set(isl_context(), "[N] -> { : N > 3 }")), "comparing"));
}

TEST(Function, AParameterOfAConstraintOnlyIsNoneOfItsOwn) {
  const ExprPtr n = parameter("N", "[N, M] -> { : N > 3 and N <= M <= 9 }");
  const ComputationPtr a = declare_input("A", {n}, Float32, line(1));
  const ComputationPtr c = copy_of("C", a);
  const auto f = function_of({c});
  EXPECT_EQ(f->parameters, std::vector<std::string>({"N"}));
  EXPECT_TRUE(checked(f->context.is_equal(isl::set(isl_context(), "[N] -> { : 3 < N <= 9 }")),
                      "comparing"));
  const auto g = function_of({c}, {}, {binary(Op::Ge, size("M"), n)});
  EXPECT_EQ(g->parameters, std::vector<std::string>({"N", "M"}));
}

TEST(Function, IntegerSumsOfANarrowerTypeAreReductions) {
  const ComputationPtr a = declare_input("A", {size("N")}, Int32, line(1));
  const ComputationPtr c = declare_computation("C", {}, nullptr, Int32, {}, line(1));
  define_piece(c, nullptr, reduce(Op::ReduceSum, {over("i", size("N"))}, access(a, {i()})),
               line(2));
  const Expr &root = *c->pieces.front().value;
  EXPECT_EQ(root.kind, ExprKind::Reduce);
  EXPECT_EQ(root.type, Int32);
  EXPECT_EQ(root.operands.front()->kind, ExprKind::Access);
}

TEST(Function, FloatSumsKeepTheirType) {
  const ComputationPtr a = declare_input("A", {size("N")}, Float64, line(1));
  const ComputationPtr c = declare_computation("C", {}, nullptr, Float32, {}, line(1));
  define_piece(c, nullptr, reduce(Op::ReduceSum, {over("i", size("N"))}, access(a, {i()})),
               line(2));
  EXPECT_EQ(c->pieces.front().value->kind, ExprKind::Cast);
}

} // namespace
} // namespace tilewright
