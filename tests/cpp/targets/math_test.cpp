// The elementary functions: special values, accuracy against long double, and the same bits for
// every lane count and CPU.
#include "targets/kernel_runner.h"
#include "targets/llvm/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace tilewright {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Reference = std::function<long double(long double, long double)>;

struct Function {
  Op op;
  Reference reference;
  /// The largest errors, in units of the last place, of float32 and float64 without fast_math, then
  /// with it: docs/math.md.
  double exact32, exact64, fast32, fast64;
  bool binary() const { return operation(op).arguments() == 2; }
};

template <long double (*function)(long double)>
Reference unary() {
  return [](long double x, long double) { return function(x); };
}

const std::vector<Function> &functions() {
  static const std::vector<Function> all = {
      {Op::Exp, unary<std::exp>(), 0.7, 0.8, 2, 2},
      {Op::Exp2, unary<std::exp2>(), 0.51, 0.8, 2, 2},
      {Op::Log, unary<std::log>(), 0.51, 0.8, 2, 2},
      {Op::Log2, unary<std::log2>(), 0.51, 0.8, 2, 2},
      {Op::Log10, unary<std::log10>(), 0.51, 0.8, 2, 2},
      {Op::Sin, unary<std::sin>(), 0.51, 0.9, 3, 3},
      {Op::Cos, unary<std::cos>(), 0.51, 0.9, 3, 3},
      {Op::Tan, unary<std::tan>(), 0.51, 1, 0.51, 6},
      {Op::Arcsin, unary<std::asin>(), 0.51, 0.8, 0.51, 0.8},
      {Op::Arccos, unary<std::acos>(), 0.51, 0.8, 0.51, 0.8},
      {Op::Arctan, unary<std::atan>(), 0.51, 0.8, 0.51, 0.8},
      {Op::Sinh, unary<std::sinh>(), 0.51, 1, 0.51, 1.5},
      {Op::Cosh, unary<std::cosh>(), 0.51, 0.9, 0.51, 1},
      {Op::Tanh, unary<std::tanh>(), 0.51, 1, 2, 3},
      {Op::Erf, unary<std::erf>(), 0.51, 1.1, 2, 2},
      {Op::Arctan2, [](long double y, long double x) { return std::atan2(y, x); }, 0.51, 0.9, 0.51,
       0.9},
      {Op::Expm1, unary<std::expm1>(), 0.51, 0.9, 0.51, 2},
      {Op::Log1p, unary<std::log1p>(), 0.51, 0.8, 0.51, 0.8},
      {Op::Cbrt, unary<std::cbrt>(), 0.51, 0.6, 0.51, 1.5},
      {Op::Arcsinh, unary<std::asinh>(), 0.51, 0.8, 0.51, 2},
      {Op::Arccosh, unary<std::acosh>(), 0.51, 0.8, 0.51, 3},
      {Op::Arctanh, unary<std::atanh>(), 0.51, 0.8, 0.51, 3},
      {Op::Hypot, [](long double x, long double y) { return std::hypot(x, y); }, 0.51, 0.6, 0.51,
       2},
      {Op::Pow, [](long double x, long double y) { return std::pow(x, y); }, 0.51, 0.9, 0.51, 0.9},
  };
  return all;
}

template <class T>
ScalarType type_of() {
  return std::is_same_v<T, float> ? Float32 : Float64;
}

/// op of all elements, `lanes` at a time; the length is a multiple of `lanes`.
template <class T>
std::vector<T> run(const Function &function, const std::vector<T> &x, const std::vector<T> &y,
                   int lanes, bool fast_math, const std::string &cpu = "") {
  const ScalarType type = type_of<T>();
  Kernel kernel;
  kernel.name = "function";
  kernel.buffers = {argument("x", type, 1, false), argument("y", type, 1, false),
                    argument("out", type, 1, true)};
  const ValuePtr i = variable(1, "i");
  const ValuePtr at = lanes == 1 ? i : ramp(mul(i, integer(lanes)), 1, lanes);
  const ValuePtr a = load(0, "x", {type, lanes}, {at});
  const ValuePtr b = load(1, "y", {type, lanes}, {at});
  const ValuePtr value = function.op == Op::Pow ? binary_value(Op::Pow, a, b)
                         : function.binary()    ? call_value(function.op, {a, b}, type)
                                                : call_value(function.op, {a}, type);
  const auto count = static_cast<std::int64_t>(x.size());
  kernel.body = for_loop(1, "i", integer(0), integer(count / lanes), LoopKind::Serial, 0,
                         store(2, "out", {at}, value));
  TestArray x_array = TestArray::of(x);
  TestArray y_array = TestArray::of(y);
  TestArray out = TestArray::of(std::vector<T>(x.size()));
  EXPECT_EQ(count % lanes, 0);
  EXPECT_EQ(run_kernel(compile_kernel(kernel, fast_math, cpu), {}, {&x_array, &y_array, &out}),
            KernelOk);
  return out.values<T>();
}

/// Numbers of every size, near the ends of the functions' ranges, and near their roots.
template <class T>
void samples(std::vector<T> &x, std::vector<T> &y) {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> edges = {0,
                                1,
                                2,
                                3,
                                T(0.5),
                                T(0.3),
                                T(1e-3),
                                T(10),
                                T(88.7228),
                                T(88.723),
                                T(-103.97),
                                T(709.7827),
                                T(709.79),
                                T(-745.13),
                                T(-745.14),
                                T(1023.9999),
                                T(127.99999),
                                Limits::min(),
                                Limits::denorm_min(),
                                Limits::max(),
                                Limits::epsilon(),
                                1 - Limits::epsilon() / 2,
                                1 + Limits::epsilon(),
                                T(8388609),
                                T(4503599627370497.0),
                                T(3.14159265358979323846),
                                T(1.57079632679489661923),
                                T(1e22),
                                T(6381956970095103.0) * std::exp2(T(97)),
                                Limits::infinity()};
  std::vector<T> both;
  for (const T edge : edges) {
    both.push_back(edge);
    both.push_back(-edge);
  }
  both.push_back(Limits::quiet_NaN());
  for (const T a : both) {
    for (const T b : both) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::mt19937_64 random(7); // NOLINT(bugprone-random-generator-seed)
  using Pattern = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  auto any = [&] { return std::bit_cast<T>(static_cast<Pattern>(random())); };
  auto uniform = [&](double low, double high) {
    return static_cast<T>(std::uniform_real_distribution<double>(low, high)(random));
  };
  for (int n = 0; n < 3000; ++n) {
    const double turns = std::floor(uniform(-30000, 30000));
    for (const T a : {any(), uniform(-3, 3), uniform(-110, 90), uniform(-760, 720),
                      uniform(0.9, 1.1), static_cast<T>(turns * 1.57079632679489661923)}) {
      x.push_back(a);
      // Powers whose results are in range.
      const double size = std::abs(std::log(std::abs(static_cast<double>(a))));
      const double range = uniform(-1, 1) * (sizeof(T) == 4 ? 100 : 740);
      y.push_back(n % 4 == 0   ? any()
                  : n % 4 == 1 ? std::round(uniform(-9, 9))
                               : static_cast<T>(range / size));
    }
  }
  while (x.size() % 48 != 0) {
    x.push_back(1);
    y.push_back(1);
  }
}

/// |found - wanted| in units of the last place of T at `wanted`; 0 when both are NaN or the same
/// infinity, infinite when only one is.
template <class T>
double units(T found, long double wanted) {
  const T rounded = static_cast<T>(wanted);
  if (std::isnan(found) || std::isnan(rounded)) {
    return std::isnan(found) && std::isnan(rounded) ? 0 : infinity;
  }
  if (std::isinf(found) || std::isinf(rounded)) {
    // One number below the range's end is still within a unit.
    return found == rounded ? 0
           : std::abs(std::isinf(found) ? rounded : found) == std::numeric_limits<T>::max()
               ? 0.51
               : infinity;
  }
  const int exponent = std::max(wanted == 0 ? -100000 : std::ilogb(wanted),
                                std::numeric_limits<T>::min_exponent - 1);
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::abs(static_cast<long double>(found) - wanted) / unit);
}

template <class T>
void check_accuracy(bool fast_math) {
  std::vector<T> x;
  std::vector<T> y;
  samples(x, y);
  for (const Function &function : functions()) {
    const std::vector<T> found = run(function, x, y, 8, fast_math);
    const double limit = sizeof(T) == 4 ? (fast_math ? function.fast32 : function.exact32)
                                        : (fast_math ? function.fast64 : function.exact64);
    double worst = 0;
    for (size_t n = 0; n < x.size(); ++n) {
      const long double wanted = function.reference(x[n], y[n]);
      const double error = units(found[n], wanted);
      worst = std::max(worst, error);
      ASSERT_LE(error, limit) << op_name(function.op) << " of " << x[n] << " and " << y[n] << ": "
                              << found[n] << ", not " << wanted;
      // Zeros too have a sign.
      if (found[n] == 0 && wanted == 0) {
        ASSERT_EQ(std::signbit(found[n]), std::signbit(wanted))
            << op_name(function.op) << " of " << x[n] << " and " << y[n];
      }
    }
    testing::Test::RecordProperty(op_name(function.op), std::to_string(worst));
  }
}

TEST(MathFunctions, AreWithinTheStatedErrorOnFloat32) { check_accuracy<float>(false); }
TEST(MathFunctions, AreWithinTheStatedErrorOnFloat64) { check_accuracy<double>(false); }
TEST(MathFunctions, AreWithinTheStatedErrorOnFloat32WithFastMath) { check_accuracy<float>(true); }
TEST(MathFunctions, AreWithinTheStatedErrorOnFloat64WithFastMath) { check_accuracy<double>(true); }

template <class T>
void check_same_bits() {
  using Pattern = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::vector<T> x;
  std::vector<T> y;
  samples(x, y);
  for (const Function &function : functions()) {
    const std::vector<T> scalar = run(function, x, y, 1, false);
    auto compare = [&](const std::vector<T> &other, const std::string &what) {
      for (size_t n = 0; n < x.size(); ++n) {
        ASSERT_TRUE(std::bit_cast<Pattern>(scalar[n]) == std::bit_cast<Pattern>(other[n]) ||
                    (std::isnan(scalar[n]) && std::isnan(other[n])))
            << op_name(function.op) << " of " << x[n] << " and " << y[n] << ": " << scalar[n]
            << " in one lane, " << other[n] << " in " << what;
      }
    };
    for (const int lanes : {2, 3, 4, 8, 16, 24}) {
      compare(run(function, x, y, lanes, false), std::to_string(lanes) + " lanes");
    }
    // Neither fused multiply-add nor rounding instructions here.
    compare(run(function, x, y, 8, false, "x86-64"), "8 lanes with SSE2");
    compare(run(function, x, y, 1, false, "x86-64"), "one lane with SSE2");
  }
}

TEST(MathFunctions, GiveTheSameBitsInAnyNumberOfLanesOnFloat32) { check_same_bits<float>(); }
TEST(MathFunctions, GiveTheSameBitsInAnyNumberOfLanesOnFloat64) { check_same_bits<double>(); }

template <class T>
void check_powers(bool fast_math) {
  // C's Annex F.
  struct Power {
    double x, y, result;
  };
  const std::vector<Power> cases = {{nan, 0, 1},
                                    {nan, -0.0, 1},
                                    {1, nan, 1},
                                    {1, infinity, 1},
                                    {-1, infinity, 1},
                                    {-1, -infinity, 1},
                                    {0.0, -3, infinity},
                                    {-0.0, -3, -infinity},
                                    {0.0, -2, infinity},
                                    {-0.0, -2, infinity},
                                    {-0.0, 3, -0.0},
                                    {-0.0, 2, 0.0},
                                    {-0.0, 0.5, 0.0},
                                    {-8, 1.0 / 3, nan},
                                    {-2, 3, -8},
                                    {-2, 2, 4},
                                    {0.5, -infinity, infinity},
                                    {2, -infinity, 0.0},
                                    {0.5, infinity, 0.0},
                                    {2, infinity, infinity},
                                    {-infinity, -3, -0.0},
                                    {-infinity, -2, 0.0},
                                    {-infinity, 3, -infinity},
                                    {-infinity, 2, infinity},
                                    {-infinity, 0.5, infinity},
                                    {infinity, -0.5, 0.0},
                                    {infinity, 0.5, infinity},
                                    {0.0, nan, nan},
                                    {-0.0, -infinity, infinity},
                                    {-0.0, infinity, 0.0},
                                    {-2, 8388609, -infinity},
                                    {10, 2, 100},
                                    {10, 3, 1000},
                                    {2, -1, 0.5}};
  std::vector<T> x;
  std::vector<T> y;
  for (const Power &power : cases) {
    x.push_back(static_cast<T>(power.x));
    y.push_back(static_cast<T>(power.y));
  }
  const Function &pow = functions().back();
  for (const int lanes : {1, 2}) {
    const std::vector<T> found = run(pow, x, y, lanes, fast_math);
    for (size_t n = 0; n < cases.size(); ++n) {
      const double value = found[n];
      EXPECT_TRUE(std::isnan(cases[n].result)
                      ? std::isnan(value)
                      : value == cases[n].result &&
                            std::signbit(value) == std::signbit(cases[n].result))
          << cases[n].x << " to the power " << cases[n].y << ": " << value;
    }
  }
}

TEST(MathFunctions, PowersHaveTheirSpecialValues) {
  for (const bool fast_math : {false, true}) {
    check_powers<float>(fast_math);
    check_powers<double>(fast_math);
  }
}

TEST(MathFunctions, AreEmittedOnceForEachLaneCount) {
  std::vector<double> x(16, 0.5);
  Kernel kernel;
  kernel.name = "many";
  kernel.buffers = {argument("x", Float64, 1, false), argument("out", Float64, 1, true)};
  const ValuePtr i = variable(1, "i");
  const ValuePtr at = ramp(mul(i, integer(4)), 1, 4);
  ValuePtr value = load(0, "x", {Float64, 4}, {at});
  for (int n = 0; n < 5; ++n) {
    value = call_value(Op::Sin, {value}, Float64);
  }
  kernel.body =
      for_loop(1, "i", integer(0), integer(4), LoopKind::Serial, 0, store(1, "out", {at}, value));
  const RunnableKernel compiled = compile_kernel(kernel);
  auto count = [&](const std::string &what) {
    size_t found = 0;
    for (size_t at = compiled.llvm.find(what); at != std::string::npos;
         at = compiled.llvm.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("@tilewright.sin.4xf64("), 6U); // five calls and the definition
  EXPECT_EQ(count("define internal fastcc { double, double, i64 } @tilewright.reduce.scalar"), 1U);
  TestArray in = TestArray::of(x);
  TestArray out = TestArray::of(std::vector<double>(16));
  ASSERT_EQ(run_kernel(compiled, {}, {&in, &out}), KernelOk);
  double wanted = 0.5;
  for (int n = 0; n < 5; ++n) {
    wanted = std::sin(wanted);
  }
  EXPECT_NEAR(out.values<double>()[7], wanted, 1e-15);
}

} // namespace
} // namespace tilewright
