// Every operation on every type, scalar and vector, against the scalar arithmetic of Layer I.
#include "targets/kernel_runner.h"
#include "targets/kernels.h"
#include "targets/scalar_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

namespace tilewright {
namespace {

constexpr ScalarType int_type(int bits) { return {TypeKind::Int, static_cast<std::uint8_t>(bits)}; }
constexpr ScalarType uint_type(int bits) {
  return {TypeKind::UInt, static_cast<std::uint8_t>(bits)};
}
constexpr ScalarType float16{TypeKind::Float, 16};
constexpr ScalarType bfloat16{TypeKind::BFloat, 16};
constexpr ScalarType complex64{TypeKind::Complex, 64};
constexpr ScalarType complex128{TypeKind::Complex, 128};

const std::vector<ScalarType> all_types = {
    Bool,         int_type(8),   int_type(16),  int_type(32),  Int64,
    uint_type(8), uint_type(16), uint_type(32), uint_type(64), float16,
    bfloat16,     Float32,       Float64,       complex64,     complex128};

/// Numbers with which operations go wrong first, rounded to `type`.
std::vector<std::byte> samples(ScalarType type) {
  std::vector<ConstantValue> values;
  if (type.is_bool()) {
    values = {false, true};
  } else if (type.is_signed_integer()) {
    const std::int64_t largest =
        type.bits == 64 ? INT64_MAX : (std::int64_t{1} << (type.bits - 1)) - 1;
    for (const std::int64_t x :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{2}, std::int64_t{-2},
          std::int64_t{3}, std::int64_t{-3}, std::int64_t{7}, std::int64_t{-7}, std::int64_t{9},
          std::int64_t{100}, largest, -largest - 1, -largest, largest - 1}) {
      values.emplace_back(x);
    }
  } else if (type.is_integer()) {
    const std::uint64_t largest =
        type.bits == 64 ? UINT64_MAX : (std::uint64_t{1} << type.bits) - 1;
    for (const std::uint64_t x :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{7},
          std::uint64_t{9}, std::uint64_t{64}, std::uint64_t{100}, largest, largest - 1,
          largest / 2, largest / 2 + 1}) {
      values.emplace_back(x);
    }
  } else {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> reals = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, 7.25, -7.0,
                                       0.1, 100.3, 1e-3, -123.456, 1000.75, infinity, -infinity,
                                       NAN, 1e-7, 3e4, 2.0, 127.9961, -128.0009, 65535.9,
                                       // around the ends of 32 and 64 bits
                                       2147483520.0, 2147483648.0, -2147483904.0, 4294967040.0,
                                       4294967296.0, 9.3e18, -9.3e18, 1.9e19};
    if (type.is_complex()) {
      for (const double re : {0.0, 1.0, -2.5, 0.1, 3.0}) {
        for (const double im : {0.0, -1.0, 0.75, 2.0}) {
          values.emplace_back(std::complex<double>(re, im));
        }
      }
    } else {
      for (const double x : reals) {
        values.emplace_back(x);
      }
    }
  }
  std::vector<std::byte> bytes;
  for (const ConstantValue &value : values) {
    std::array<std::byte, 16> element{};
    oracle_constant(value, type, element.data());
    bytes.insert(bytes.end(), element.begin(), element.begin() + type.bytes());
  }
  return bytes;
}

TestArray dense(std::vector<std::byte> bytes, ScalarType type) {
  TestArray array;
  array.bytes = std::move(bytes);
  array.strides = {type.bytes()};
  return array;
}

struct Case {
  std::string name;
  ScalarType result;
  bool approximate = false;
  std::function<ValuePtr(const ValuePtr &, const ValuePtr &)> build;
  std::function<void(const void *, const void *, void *)> expect;
};

/// Runs all cases on all pairs of samples in one kernel and compares.
void check(ScalarType type, const std::vector<Case> &cases, int lanes, bool fast_math = false) {
  const std::vector<std::byte> points = samples(type);
  const auto item = static_cast<size_t>(type.bytes());
  const size_t count = points.size() / item;
  std::vector<std::byte> left;
  std::vector<std::byte> right;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      left.insert(left.end(), points.begin() + static_cast<std::ptrdiff_t>(i * item),
                  points.begin() + static_cast<std::ptrdiff_t>((i + 1) * item));
      right.insert(right.end(), points.begin() + static_cast<std::ptrdiff_t>(j * item),
                   points.begin() + static_cast<std::ptrdiff_t>((j + 1) * item));
    }
  }
  size_t total = count * count;
  while (total % static_cast<size_t>(lanes) != 0) {
    left.insert(left.end(), points.begin(), points.begin() + static_cast<std::ptrdiff_t>(item));
    right.insert(right.end(), points.begin(), points.begin() + static_cast<std::ptrdiff_t>(item));
    ++total;
  }

  Kernel kernel;
  kernel.name = "operations";
  kernel.buffers = {argument("a", type, 1, false), argument("b", type, 1, false)};
  const ValuePtr i = variable(1, "i");
  const ValuePtr at = lanes == 1 ? i : ramp(mul(i, integer(lanes)), 1, lanes);
  const ValuePtr a = load(0, "a", {type, lanes}, {at});
  const ValuePtr b = load(1, "b", {type, lanes}, {at});
  std::vector<StmtPtr> stores;
  for (size_t c = 0; c < cases.size(); ++c) {
    kernel.buffers.push_back(argument("out" + std::to_string(c), cases[c].result, 1, true));
    stores.push_back(store(static_cast<std::int64_t>(c) + 2, "out", {at}, cases[c].build(a, b)));
  }
  kernel.body = for_loop(1, "i", integer(0), integer(static_cast<std::int64_t>(total) / lanes),
                         LoopKind::Serial, 0, block(stores));
  const RunnableKernel compiled = compile_kernel(kernel, fast_math);
  TestArray a_array = dense(left, type);
  TestArray b_array = dense(right, type);
  std::vector<TestArray> outputs;
  for (const Case &one : cases) {
    outputs.push_back(
        dense(std::vector<std::byte>(total * static_cast<size_t>(one.result.bytes())), one.result));
  }
  std::vector<TestArray *> arrays = {&a_array, &b_array};
  for (TestArray &output : outputs) {
    arrays.push_back(&output);
  }
  ASSERT_EQ(run_kernel(compiled, {}, arrays), KernelOk);

  for (size_t c = 0; c < cases.size(); ++c) {
    const ScalarType result = cases[c].result;
    int failures = 0;
    for (size_t n = 0; n < total && failures < 3; ++n) {
      std::array<std::byte, 16> wanted{};
      cases[c].expect(left.data() + n * item, right.data() + n * item, wanted.data());
      const std::byte *found = outputs[c].bytes.data() + n * static_cast<size_t>(result.bytes());
      if (std::memcmp(found, wanted.data(), static_cast<size_t>(result.bytes())) == 0) {
        continue;
      }
      const std::complex<double> x = oracle_number(result, found);
      const std::complex<double> y = oracle_number(result, wanted.data());
      const double unit = result.bits == 16                                             ? 1e-2
                          : (result.is_complex() ? result.bits / 2 : result.bits) == 32 ? 2e-6
                                                                                        : 1e-14;
      auto close = [&](double p, double q) {
        return (std::isnan(p) && std::isnan(q)) || p == q ||
               ((cases[c].approximate || fast_math) &&
                std::abs(p - q) <= unit * std::max(1.0, std::abs(std::abs(y))));
      };
      // An exact operation agrees in every bit but the sign of zero and the payload of NaN.
      if (!close(x.real(), y.real()) || !close(x.imag(), y.imag())) {
        ++failures;
        ADD_FAILURE() << cases[c].name << " on " << type_name(type) << ", " << lanes
                      << " lanes, of " << oracle_number(type, left.data() + n * item) << " and "
                      << oracle_number(type, right.data() + n * item) << ": " << x << ", not " << y;
      }
    }
  }
}

Case binary_case(Op op, ScalarType type, bool approximate = false) {
  const ScalarType result = result_type(op, type);
  const bool is_call = operation(op).form == OperationForm::Call;
  return {
      op_name(op), result, approximate,
      [=](const ValuePtr &a, const ValuePtr &b) {
        return is_call ? call_value(op, {a, b}, result) : binary_value(op, a, b);
      },
      [=](const void *a, const void *b, void *out) { oracle_binary(op, type, a, b, result, out); }};
}

Case unary_case(Op op, ScalarType type, bool approximate = false) {
  const ScalarType result = result_type(op, type);
  const bool is_call = operation(op).form == OperationForm::Call;
  return {op_name(op), result, approximate,
          [=](const ValuePtr &a, const ValuePtr &) {
            return is_call ? call_value(op, {a}, result) : unary_value(op, a);
          },
          [=](const void *a, const void *, void *out) { oracle_unary(op, type, a, result, out); }};
}

/// Whether results may differ from the evaluator's by some units in the last place.
bool is_approximate(Op op, ScalarType type) {
  if (type.is_complex()) {
    return op == Op::Mul || op == Op::TrueDiv || op == Op::Pow || op == Op::Abs ||
           operation(op).operands == OperandRule::Math;
  }
  const bool is_exact = op == Op::Sqrt || op == Op::Rint || op == Op::Copysign;
  return (operation(op).operands == OperandRule::Math && !is_exact) ||
         (op == Op::Pow && type.is_floating());
}

/// All operations that there are on this type; of two sorts, so that no kernel is too large.
std::vector<Case> cases_on(ScalarType type, bool functions_of_floats) {
  std::vector<Case> cases;
  for (size_t k = 1; k < operation_count; ++k) {
    const Op op = static_cast<Op>(k);
    const Operation &row = operation(op);
    const bool is_node = row.form != OperationForm::Composed && row.form != OperationForm::Reduce;
    const bool is_composed = op == Op::Sign && type.is_complex();
    const bool is_narrow = op == Op::MakeComplex && type.bits == 16;
    if (!is_node || !row.takes(type) || is_composed || is_narrow ||
        (row.operands == OperandRule::Math) != functions_of_floats) {
      continue;
    }
    const bool approximate = is_approximate(op, type);
    cases.push_back(row.arguments() == 2 ? binary_case(op, type, approximate)
                                         : unary_case(op, type, approximate));
  }
  return cases;
}

std::vector<Case> operators(ScalarType type) { return cases_on(type, false); }
std::vector<Case> functions(ScalarType type) { return cases_on(type, true); }

class OperationsTest : public testing::TestWithParam<std::tuple<ScalarType, int>> {};

TEST_P(OperationsTest, OperatorsAgreeWithTheScalarArithmetic) {
  const auto [type, lanes] = GetParam();
  check(type, operators(type), lanes);
}

TEST_P(OperationsTest, CastsAgreeWithTheScalarArithmetic) {
  const auto [type, lanes] = GetParam();
  const ScalarType from = type;
  std::vector<Case> cases;
  for (const ScalarType to : all_types) {
    cases.push_back(
        {"cast to " + type_name(to), to, false,
         [=](const ValuePtr &a, const ValuePtr &) { return cast_value(a, to); },
         [=](const void *a, const void *, void *out) { oracle_cast(from, a, to, out); }});
  }
  check(type, cases, lanes);
}

TEST_P(OperationsTest, SelectTakesTheRightSide) {
  const auto [type, lanes] = GetParam();
  const ScalarType held = type;
  check(type,
        {{"select", type, false,
          [](const ValuePtr &a, const ValuePtr &b) {
            return select_value(binary_value(Op::Eq, a, b), a, b);
          },
          [=](const void *, const void *b, void *out) {
            // a where a == b, else b: b, up to the sign of zero.
            std::memcpy(out, b, static_cast<size_t>(held.bytes()));
          }}},
        lanes);
}

TEST_P(OperationsTest, FunctionsAgreeWithTheScalarArithmetic) {
  const auto [type, lanes] = GetParam();
  if (type.is_floating() || type.is_complex()) {
    check(type, functions(type), lanes);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, OperationsTest,
                         testing::Combine(testing::ValuesIn(all_types), testing::Values(1, 4)),
                         [](const auto &info) {
                           return type_name(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param)) + "_lanes";
                         });

TEST(Extrema, OfANumberThatIsNoNaN) {
  for (const ScalarType type : {Float32, Float64}) {
    const ScalarType held = type;
    for (const int lanes : {1, 8}) {
      std::vector<Case> cases;
      for (const Op op : {Op::Min, Op::Max}) {
        for (const double number : {0.0, -0.0, 7.25}) {
          std::array<std::byte, 16> element{};
          oracle_constant(number, type, element.data());
          cases.push_back({op_name(op) + " " + std::to_string(number), type, false,
                           [=](const ValuePtr &a, const ValuePtr &) {
                             return binary_value(op, a,
                                                 broadcast(constant_of(number, held), lanes));
                           },
                           [=](const void *a, const void *, void *out) {
                             oracle_binary(op, held, a, element.data(), held, out);
                           }});
        }
      }
      check(type, cases, lanes);
    }
  }
}

TEST(OperationsOnOddVectors, AgreeWithTheScalarArithmetic) {
  for (const ScalarType type : {int_type(32), Float32, float16, complex64}) {
    check(type, operators(type), 3);
  }
  check(Float32, operators(Float32), 32);
}

TEST(Halves, AreComparedInSinglePrecisionUnlessTheMachineComparesThem) {
  const ValueType halves{float16, 16};
  Kernel kernel;
  kernel.name = "largest";
  kernel.buffers = {argument("in", float16, 1, false), argument("out", float16, 1, true)};
  kernel.body = store(1, "out", {ramp(integer(0), 1, 16)},
                      binary_value(Op::Max, load(0, "in", halves, {ramp(integer(0), 1, 16)}),
                                   load(0, "in", halves, {ramp(integer(16), 1, 16)})));
  const auto compared = [&](const char *type, const char *cpu) {
    const std::string text = compile_kernel(kernel, false, cpu).llvm;
    return text.find(std::string("fcmp olt <16 x ") + type) != std::string::npos ||
           text.find(std::string("fcmp ogt <16 x ") + type) != std::string::npos;
  };
  EXPECT_TRUE(compared("float>", "x86-64-v4"));
  EXPECT_FALSE(compared("half>", "x86-64-v4"));
  EXPECT_TRUE(compared("half>", "sapphirerapids"));
}

TEST(Conditions, ABranchLeavesOutWhatTakesLong) {
  const auto branches = [](bool last) {
    Kernel kernel;
    kernel.name = "either";
    kernel.buffers = {argument("in", Float64, 1, false), argument("out", Bool, 1, true)};
    const ValuePtr x = load(0, "in", {Float64, 1}, {integer(0)});
    const ValuePtr zero = constant_of(ConstantValue{0.0}, Float64);
    const ValuePtr cheap = binary_value(Op::Lt, x, zero);
    const ValuePtr slow = binary_value(Op::Lt, call_value(Op::Exp, {x}, Float64), x);
    kernel.body =
        store(1, "out", {integer(0)},
              last ? binary_value(Op::Or, cheap, slow) : binary_value(Op::Or, slow, cheap));
    return count_of(compile_kernel(kernel, false, "x86-64-v4").llvm, "br i1");
  };
  EXPECT_EQ(branches(true), branches(false) + 1);
}

TEST(FastMath, StaysCloseAndKeepsNaN) {
  for (const int lanes : {1, 4, 8, 5}) {
    std::vector<Case> cases;
    for (const Op op : {Op::Exp, Op::Sin, Op::Cos, Op::Tanh, Op::Erf, Op::Arctan, Op::Cbrt}) {
      cases.push_back(unary_case(op, Float32, true));
    }
    cases.push_back(unary_case(Op::Isnan, Float32));
    cases.push_back(binary_case(Op::Max, Float32));
    check(Float32, cases, lanes, true);
  }
}

TEST(Constants, AreRoundedToTheirType) {
  Kernel kernel;
  kernel.name = "constants";
  const std::vector<ConstantValue> values = {true, std::int64_t{-5}, std::uint64_t{200}, 0.1, 1e30,
                                             NAN};
  std::vector<StmtPtr> stores;
  std::vector<std::vector<std::byte>> wanted;
  for (const ScalarType type : all_types) {
    for (const ConstantValue &value : values) {
      const bool is_real = std::holds_alternative<double>(value);
      if ((type.is_integer() || type.is_bool()) && is_real) {
        continue;
      }
      const auto b = static_cast<std::int64_t>(kernel.buffers.size());
      kernel.buffers.push_back(argument("out" + std::to_string(b), type, 1, true));
      stores.push_back(store(b, "out", {integer(0)}, constant_of(value, type)));
      std::vector<std::byte> element(static_cast<size_t>(type.bytes()));
      oracle_constant(value, type, element.data());
      wanted.push_back(element);
    }
  }
  kernel.body = block(stores);
  std::vector<TestArray> arrays;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    arrays.push_back(dense(std::vector<std::byte>(wanted[b].size()), kernel.buffers[b].type));
  }
  std::vector<TestArray *> pointers;
  for (TestArray &array : arrays) {
    pointers.push_back(&array);
  }
  ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, pointers), KernelOk);
  for (size_t b = 0; b < arrays.size(); ++b) {
    const ScalarType type = kernel.buffers[b].type;
    const auto found = oracle_number(type, arrays[b].bytes.data());
    const auto expected = oracle_number(type, wanted[b].data());
    EXPECT_TRUE(found == expected || (std::isnan(found.real()) && std::isnan(expected.real())))
        << type_name(type) << ": " << found << ", not " << expected;
  }
}

} // namespace
} // namespace tilewright
