#include "algorithm/convergence.h"
#include "algorithm/evaluator.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

class Convergence : public testing::Test {
protected:
  static ExprPtr number(std::int64_t value) { return constant(value, Int64); }
  ExprPtr earlier(std::int64_t distance) const { return binary(Op::Sub, t, number(distance)); }

  /// x[t] = t * step, read `distance` iterations back by y, which stops at 10.
  std::shared_ptr<Function> made(std::int64_t distance, std::int64_t limit = 0) {
    x = declare_computation("x", {{"t", number(0), count}}, nullptr, Int64, {}, {});
    define_piece(x, nullptr, binary(Op::Mul, t, number(3)), {});
    y = declare_computation("y", {{"t", number(distance), count}}, nullptr, Bool, {}, {});
    define_piece(y, nullptr, binary(Op::Ge, access(x, {earlier(distance)}), number(10)), {});
    last = declare_computation("last", {}, nullptr, Int64, {}, {});
    define_piece(last, nullptr, access(x, {binary(Op::Sub, count, number(1))}), {});
    return make_function("f", {last}, {}, {}, {}, until(limit));
  }

  StopTest until(std::int64_t limit) const {
    StopTest stop;
    stop.parameter = "T";
    stop.test = y;
    stop.limit = limit;
    return stop;
  }

  static std::int64_t evaluated(const Function &function, std::int64_t most) {
    std::int64_t result = -1;
    evaluate(function, {{"T", most}}, {}, {{"last", {&result, {}, {}}}});
    return result;
  }

  const ExprPtr t = iterator("t");
  const ExprPtr count = parameter("T", "[T] -> { : T >= 1 }");
  ComputationPtr x, y, last;
};

TEST_F(Convergence, KeepsWhatIsReadLater) {
  for (const std::int64_t distance : {0, 1, 5}) {
    const auto function = made(distance);
    EXPECT_TRUE(is_iterated(*function, *x));
    EXPECT_FALSE(is_iterated(*function, *last));
    EXPECT_TRUE(uses_count(*function, *last));
    EXPECT_FALSE(uses_count(*function, *x));
    EXPECT_EQ(iterations_kept(*function, *x), distance + 1);
    EXPECT_EQ(iterations_kept(*function, *y), 1);
  }
}

TEST_F(Convergence, TestsAllIterations) {
  const auto function = made(2);
  const ComputationPtr &test = function->stop->test;
  EXPECT_EQ(test->name, "T_reached");
  ASSERT_EQ(test->pieces.size(), 2U);
  EXPECT_NE(function->find("T_reached"), nullptr);
}

TEST_F(Convergence, EvaluatesUntilTheTestHolds) {
  EXPECT_EQ(evaluated(*made(0), 1000), 12); // t = 4 is the first of 10 and more
  EXPECT_EQ(evaluated(*made(1), 1000), 15);
  EXPECT_EQ(evaluated(*made(1), 3), 6); // the limit
  EXPECT_EQ(evaluated(*made(1), 1), 0);
}

TEST_F(Convergence, RefusesWhatDependsOnTheNumberOfIterations) {
  made(0);
  const auto refuses = [&](const ExprPtr &value, const char *text) {
    const ComputationPtr z =
        declare_computation("z", {{"t", number(0), count}}, nullptr, Int64, {}, {});
    define_piece(z, nullptr, value, {});
    const ComputationPtr out = declare_computation("out", {}, nullptr, Int64, {}, {});
    define_piece(out, nullptr, access(z, {binary(Op::Sub, count, number(1))}), {});
    try {
      make_function("f", {out}, {}, {}, {}, until(0));
      FAIL() << text;
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Declaration);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  refuses(binary(Op::Add, t, count), "cannot use T");
  refuses(access(x, {number(0)}), "however many iterations later");
  refuses(access(last, {}), "when all are made");
  try {
    make_function("f", {x}, {}, {}, {}, until(0));
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("in its shape"), std::string::npos) << error.what();
  }
}

} // namespace
} // namespace tilewright
