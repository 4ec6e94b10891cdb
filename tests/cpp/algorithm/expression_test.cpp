#include "algorithm/expression.h"
#include "algorithm/function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::HasSubstr;

ComputationPtr array(const std::string &name, ScalarType type, size_t rank) {
  auto computation = std::make_shared<Computation>();
  computation->name = name;
  computation->type = type;
  computation->is_input = true;
  for (size_t i = 0; i < rank; ++i) {
    computation->iterators.push_back("d" + std::to_string(i));
  }
  return computation;
}

ExprPtr scalar_of(ScalarType type, const std::string &name = "x") {
  return access(array(name, type, 0), {});
}
WeakNumber weak(int value) { return {TypeKind::Int, std::int64_t{value}}; }
WeakNumber weak(double value) { return {TypeKind::Float, value}; }
WeakNumber weak(bool value) { return {TypeKind::Bool, value}; }

template <class Build>
std::string type_error(Build build) {
  try {
    build();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Type);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(Expression, OperandsAreBroughtToOneType) {
  const ExprPtr sum = binary(Op::Add, scalar_of(Float32), scalar_of(Int32));
  EXPECT_EQ(sum->type, Float64);
  EXPECT_EQ(sum->operands[0]->kind, ExprKind::Cast);
  EXPECT_EQ(sum->operands[0]->type, Float64);
  EXPECT_EQ(sum->operands[1]->type, Float64);
  EXPECT_EQ(binary(Op::Add, scalar_of(Int64), scalar_of(UInt64))->type, Float64);
  EXPECT_EQ(binary(Op::Add, scalar_of(Bool), scalar_of(Bool))->type, Bool);
  EXPECT_EQ(binary(Op::Mul, scalar_of(UInt8), scalar_of(Int8))->type, Int16);
}

TEST(Expression, DivisionAndPower) {
  EXPECT_EQ(binary(Op::TrueDiv, scalar_of(Int8), scalar_of(Int8))->type, Float64);
  EXPECT_EQ(binary(Op::TrueDiv, scalar_of(Bool), scalar_of(Bool))->type, Float64);
  EXPECT_EQ(binary(Op::TrueDiv, scalar_of(Float32), weak(2))->type, Float32);
  EXPECT_EQ(binary(Op::FloorDiv, scalar_of(Bool), scalar_of(Bool))->type, Int8);
  EXPECT_EQ(binary(Op::Pow, scalar_of(Int32), weak(2))->type, Int32);
  EXPECT_EQ(binary(Op::Pow, scalar_of(Float32), weak(-1))->type, Float32);
  EXPECT_THAT(type_error([] { binary(Op::Pow, scalar_of(Int32), weak(-1)); }),
              HasSubstr("negative integer powers"));
  EXPECT_THAT(type_error([] { binary(Op::Pow, scalar_of(UInt8), weak(-1)); }),
              HasSubstr("negative integer powers"));
  EXPECT_THAT(type_error([] {
                binary(Op::Pow, scalar_of(Int32), unary(Op::Neg, constant(std::int64_t{2}, Int64)));
              }),
              HasSubstr("negative integer powers"));
}

TEST(Expression, WeakNumbersTakeTheOtherType) {
  EXPECT_EQ(binary(Op::Add, scalar_of(UInt8), weak(255))->type, UInt8);
  EXPECT_EQ(binary(Op::Add, weak(1), scalar_of(Float16))->type, Float16);
  EXPECT_EQ(binary(Op::Add, scalar_of(Int8), weak(0.5))->type, Float64);
  EXPECT_EQ(binary(Op::Add, scalar_of(Bool), weak(1))->type, Int64);
  EXPECT_EQ(binary(Op::Add, scalar_of(Float32), weak(true))->type, Float32);
  EXPECT_EQ(binary(Op::Add, weak(1), weak(2.5))->type, Float64);
  const ExprPtr sum = binary(Op::Add, scalar_of(Float32), weak(0.1));
  EXPECT_EQ(std::get<double>(sum->operands[1]->value), 0.1); // full precision is kept
  EXPECT_EQ(type_error([] { binary(Op::Add, scalar_of(UInt8), weak(300)); }),
            "Python integer 300 out of bounds for uint8");
  EXPECT_EQ(type_error([] { binary(Op::Mul, weak(-1), scalar_of(UInt64)); }),
            "Python integer -1 out of bounds for uint64");
}

TEST(Expression, ComparisonsAreExact) {
  EXPECT_EQ(binary(Op::Lt, scalar_of(Float32), scalar_of(Float64))->type, Bool);
  const ExprPtr out_of_range = binary(Op::Lt, scalar_of(UInt8), weak(300));
  EXPECT_EQ(out_of_range->type, Bool);
  EXPECT_EQ(out_of_range->operands[0]->type, Int64);
  const ExprPtr mixed = binary(Op::Lt, scalar_of(UInt64, "u"), scalar_of(Int32, "s"));
  EXPECT_EQ(to_string(mixed), "(int64(s[]) >= 0) & (uint64(int64(s[])) > u[])");
  EXPECT_EQ(to_string(binary(Op::Ge, scalar_of(UInt64, "u"), weak(-1))),
            "(-1 < 0) | (uint64(-1) <= u[])");
}

TEST(Expression, RefusedTypes) {
  EXPECT_THAT(type_error([] { binary(Op::Sub, scalar_of(Bool), scalar_of(Bool)); }),
              HasSubstr("bool and bool"));
  EXPECT_THAT(type_error([] { binary(Op::Shl, scalar_of(Float32), weak(1)); }),
              HasSubstr("float32 and Python int"));
  EXPECT_THAT(type_error([] { binary(Op::And, scalar_of(UInt64), scalar_of(Int64)); }),
              HasSubstr("uint64 and int64"));
  EXPECT_THAT(type_error([] { binary(Op::Lt, scalar_of(Complex64), weak(1)); }),
              HasSubstr("no order"));
  EXPECT_THAT(type_error([] { binary(Op::Mod, scalar_of(Complex64), weak(1)); }),
              HasSubstr("complex64"));
  EXPECT_THAT(type_error([] { unary(Op::Neg, scalar_of(Bool)); }), HasSubstr("bool"));
  EXPECT_THAT(type_error([] { unary(Op::Not, scalar_of(Float64)); }), HasSubstr("float64"));
  EXPECT_THAT(type_error([] { call(Op::Floor, {scalar_of(Complex64)}); }), HasSubstr("'floor'"));
  EXPECT_THAT(type_error([] { call(Op::Sqrt, {weak(1), weak(2)}); }),
              HasSubstr("takes 1 argument, but 2"));
  EXPECT_THAT(type_error([] { access(array("A", Float32, 2), {iterator("i")}); }),
              HasSubstr("'A' has 2 dimensions"));
  EXPECT_THAT(type_error([] { access(array("A", Float32, 1), {scalar_of(Float64)}); }),
              HasSubstr("must be an integer"));
  EXPECT_THAT(type_error([] { constant(1.5, Int32); }), HasSubstr("not an integer"));
  EXPECT_THAT(type_error([] { constant(std::int64_t{200}, Int8); }),
              HasSubstr("200 out of bounds for int8"));
}

TEST(Expression, FunctionTypes) {
  EXPECT_EQ(call(Op::Sqrt, {scalar_of(Int8)})->type, Float16);
  EXPECT_EQ(call(Op::Exp, {scalar_of(Int64)})->type, Float64);
  EXPECT_EQ(call(Op::Sqrt, {weak(2)})->type, Float64);
  EXPECT_EQ(call(Op::Floor, {scalar_of(Int8)})->type, Int8);
  EXPECT_EQ(call(Op::Rint, {scalar_of(Int16)})->type, Float32);
  EXPECT_EQ(call(Op::Isnan, {scalar_of(Complex64)})->type, Bool);
  EXPECT_EQ(call(Op::Real, {scalar_of(Complex128)})->type, Float64);
  EXPECT_EQ(call(Op::Conj, {scalar_of(Complex64)})->type, Complex64);
  EXPECT_EQ(call(Op::MakeComplex, {scalar_of(Float32), weak(0.0)})->type, Complex64);
  EXPECT_EQ(call(Op::MakeComplex, {scalar_of(Int32), scalar_of(Float32)})->type, Complex128);
  EXPECT_EQ(call(Op::Arctan2, {scalar_of(Float32), weak(1)})->type, Float32);
  EXPECT_EQ(unary(Op::Abs, scalar_of(Complex64))->type, Float32);
  EXPECT_EQ(select(scalar_of(Int32), scalar_of(Float32), weak(0))->type, Float32);
  EXPECT_EQ(select(scalar_of(Int32), weak(1), weak(0.5))->operands[0]->type, Bool);
}

TEST(Expression, ReductionTypes) {
  const std::vector<ReduceRange> k{{"k", constant(std::int64_t{0}, Int64), parameter("K")}};
  EXPECT_EQ(reduce(Op::ReduceSum, k, scalar_of(Int8))->type, Int64);
  EXPECT_EQ(reduce(Op::ReduceProd, k, scalar_of(UInt32))->type, UInt64);
  EXPECT_EQ(reduce(Op::ReduceSum, k, scalar_of(Bool))->type, Int64);
  EXPECT_EQ(reduce(Op::ReduceSum, k, scalar_of(Float16))->type, Float16);
  EXPECT_EQ(reduce(Op::ReduceMax, k, scalar_of(Int8))->type, Int8);
  EXPECT_EQ(reduce(Op::ReduceAny, k, scalar_of(Float32))->type, Bool);
  EXPECT_EQ(reduce(Op::ReduceArgMax, k, scalar_of(Float32))->type, Int64);
  EXPECT_EQ(reduce(Op::ReduceSum, k, scalar_of(Int8))->operands[0]->type, Int64);
  EXPECT_THAT(type_error([&] { reduce(Op::ReduceSum, {}, scalar_of(Int8)); }),
              HasSubstr("at least one"));
  EXPECT_THAT(type_error([&] { reduce(Op::ReduceMin, k, scalar_of(Complex64)); }),
              HasSubstr("no order"));
  EXPECT_THAT(type_error([&] {
                reduce(Op::ReduceArgMin, {k[0], {"l", k[0].lower, k[0].upper}}, scalar_of(Int8));
              }),
              HasSubstr("2 are reduced"));
  EXPECT_THAT(type_error([&] { reduce(Op::ReduceSum, {k[0], k[0]}, scalar_of(Int8)); }),
              HasSubstr("'k' twice"));
  EXPECT_THAT(type_error([&] { reduce(Op::ReduceSum, k, scalar_of(Int8), scalar_of(Int8)); }),
              HasSubstr("must be bool"));
  EXPECT_EQ(std::get<double>(reduction_identity(Op::ReduceMin, Float32)->value),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<std::uint64_t>(reduction_identity(Op::ReduceMin, UInt64)->value), UINT64_MAX);
  EXPECT_EQ(std::get<std::int64_t>(reduction_identity(Op::ReduceMax, Int8)->value), -128);
  EXPECT_EQ(reduction_combiner(Op::ReduceAny), Op::Or);
  EXPECT_EQ(reduction_combiner(Op::ReduceArgMin), Op::None);
}

TEST(Expression, TextFollowsPythonsPrecedence) {
  const ExprPtr a = scalar_of(Float64, "a");
  const ExprPtr b = scalar_of(Float64, "b");
  EXPECT_EQ(to_string(binary(Op::Mul, binary(Op::Add, a, b), b)), "(a[] + b[]) * b[]");
  EXPECT_EQ(to_string(binary(Op::Sub, a, binary(Op::Sub, b, a))), "a[] - (b[] - a[])");
  EXPECT_EQ(to_string(binary(Op::Sub, binary(Op::Sub, b, a), a)), "b[] - a[] - a[]");
  EXPECT_EQ(to_string(unary(Op::Neg, binary(Op::Pow, a, b))), "-a[] ** b[]");
  EXPECT_EQ(to_string(binary(Op::Pow, unary(Op::Neg, a), b)), "(-a[]) ** b[]");
  EXPECT_EQ(to_string(binary(Op::Pow, weak(-2), a)), "(-2.0) ** a[]");
  EXPECT_EQ(to_string(binary(Op::And, binary(Op::Lt, a, b), binary(Op::Ne, a, weak(0)))),
            "(a[] < b[]) & (a[] != 0.0)");
  EXPECT_EQ(to_string(binary(Op::Min, a, call(Op::Sqrt, {b}))), "minimum(a[], sqrt(b[]))");
}

TEST(Expression, TextLeavesImpliedCastsOut) {
  const ExprPtr i = scalar_of(Int32, "i");
  const ExprPtr f = scalar_of(Float32, "f");
  EXPECT_EQ(to_string(binary(Op::Add, i, f)), "i[] + f[]");
  EXPECT_EQ(to_string(binary(Op::TrueDiv, i, i)), "i[] / i[]");
  EXPECT_EQ(to_string(binary(Op::Mul, f, weak(1.5))), "f[] * 1.5");
  EXPECT_EQ(to_string(binary(Op::Mul, f, constant(1.5, Float64))), "float64(f[]) * 1.5");
  EXPECT_EQ(to_string(cast(i, Float32)), "float32(i[])");
  EXPECT_EQ(to_string(call(Op::Sqrt, {i})), "sqrt(i[])");
  EXPECT_EQ(to_string(constant(1.0, Float32)), "float32(1.0)");
  EXPECT_EQ(to_string(access(array("A", Float32, 1), {i})), "A[i[]]");
  EXPECT_EQ(to_string(select(binary(Op::Gt, i, weak(0)), f, weak(0))), "select(i[] > 0, f[], 0.0)");
}

TEST(Expression, ReductionText) {
  const ComputationPtr in_a = array("A", Float32, 2);
  const ComputationPtr in_b = array("B", Float32, 2);
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const ExprPtr body = binary(Op::Mul, access(in_a, {iterator("i"), iterator("k")}),
                              access(in_b, {iterator("k"), iterator("j")}));
  EXPECT_EQ(to_string(reduce(Op::ReduceSum, {{"k", zero, parameter("K")}}, body)),
            "sum(A[i, k] * B[k, j] for k in range(0, K))");
  EXPECT_EQ(
      to_string(reduce(Op::ReduceMax, {{"k", zero, parameter("K")}, {"j", zero, iterator("k")}},
                       body, binary(Op::Ne, iterator("k"), weak(3)))),
      "max(A[i, k] * B[k, j] for k in range(0, K) for j in range(0, k) if k != 3)");
}

TEST(Expression, SubstitutionReachesBoundsAndRespectsShadowing) {
  const ComputationPtr in_a = array("A", Float32, 2);
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", zero, iterator("i")}},
                             access(in_a, {iterator("i"), iterator("k")}),
                             binary(Op::Lt, iterator("k"), iterator("i")));
  const auto replace = [](const std::string &from, const ExprPtr &to) {
    return [from, to](const std::string &name) { return name == from ? to : nullptr; };
  };
  const ExprPtr shifted = substitute(sum, replace("i", binary(Op::Add, iterator("t"), weak(1))));
  EXPECT_EQ(to_string(shifted), "sum(A[t + 1, k] for k in range(0, t + 1) if k < t + 1)");
  EXPECT_EQ(substitute(sum, replace("k", iterator("z"))), sum); // reduced: shadowed
  const ExprPtr captured = substitute(sum, replace("i", iterator("k")));
  EXPECT_EQ(to_string(captured), "sum(A[k, k_1] for k_1 in range(0, k) if k_1 < k)");
  const ExprPtr own_bound = reduce(Op::ReduceSum, {{"i", zero, iterator("i")}},
                                   access(in_a, {iterator("i"), iterator("i")}));
  EXPECT_EQ(to_string(substitute(own_bound, replace("i", iterator("t")))),
            "sum(A[i, i] for i in range(0, t))");
}

TEST(Expression, VisitSeesEachNodeOnceParentsFirst) {
  ExprPtr doubled = scalar_of(Float64, "a");
  for (int i = 0; i < 64; ++i) {
    doubled = binary(Op::Add, doubled, doubled); // 2^64 paths, 65 nodes
  }
  int nodes = 0;
  visit(doubled, [&](const ExprPtr &) { ++nodes; });
  EXPECT_EQ(nodes, 65);
  EXPECT_EQ(substitute(doubled, [](const std::string &) { return nullptr; }), doubled);
  std::vector<std::string> order;
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", iterator("lo"), iterator("hi")}},
                             iterator("body"), binary(Op::Lt, iterator("k"), iterator("c")));
  visit(sum, [&](const ExprPtr &node) {
    order.push_back(node->kind == ExprKind::Iterator ? node->name : "-");
  });
  EXPECT_EQ(order, (std::vector<std::string>{"-", "body", "lo", "hi", "-", "k", "c"}));
}

TEST(Expression, WithOperandsKeepsTheRest) {
  const ExprPtr a = scalar_of(Float64, "a");
  const ExprPtr sum = binary(Op::Add, a, a);
  EXPECT_EQ(with_operands(sum, {a, a}), sum);
  EXPECT_EQ(to_string(with_operands(sum, {a, scalar_of(Float64, "b")})), "a[] + b[]");
  EXPECT_THROW(with_operands(sum, {a}), Error);
}

} // namespace
} // namespace tilewright
