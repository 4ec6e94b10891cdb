#include "algorithm/forever.h"
#include "algorithm/read_relations.h"
#include "polyhedral/interruption.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tilewright {
namespace {

class ReadRelations : public testing::Test {
protected:
  static ExprPtr number(std::int64_t value) { return constant(value, Int64); }

  static isl::map map(const std::string &text) { return isl::map(isl_context(), text); }

  const ExprPtr n = iterator("n");
  const ExprPtr end = parameter(forever_name, "[forever] -> { : forever >= 0 }");
  const ComputationPtr x =
      declare_computation("x", {{"n", number(0), end}}, nullptr, Float64, {}, {});
};

TEST_F(ReadRelations, OfAStreamAtAnotherRate) {
  const ComputationPtr y =
      declare_computation("y", {{"n", number(0), end}}, nullptr, Float64, {}, {});
  const ExprPtr late = binary(Op::Add, binary(Op::Mul, n, number(2)), number(1));
  define_piece(y, nullptr, access(x, {late}), {}); // beyond x's end, and there at some time
  const std::vector<ReadRelation> reads = read_relations(*y);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].producer, x);
  EXPECT_TRUE(reads[0].exact);
  EXPECT_TRUE(
      reads[0].elements.is_equal(map("[forever] -> { y[n] -> x[2n + 1] : 0 <= n < forever }")));
  EXPECT_TRUE(lasts_forever(y->domain));
  EXPECT_TRUE(at_all_times(y->domain).is_equal(isl::set(isl_context(), "{ y[n] : n >= 0 }")));
}

TEST_F(ReadRelations, OfWhatIsReduced) {
  const ComputationPtr y =
      declare_computation("y", {{"n", number(4), end}}, nullptr, Float64, {}, {});
  const ExprPtr earlier = binary(Op::Sub, n, iterator("r"));
  define_piece(y, nullptr,
               reduce(Op::ReduceSum, {{"r", number(0), number(3)}}, access(x, {earlier})), {});
  const std::vector<ReadRelation> reads = read_relations(*y);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_TRUE(reads[0].elements.is_equal(
      map("[forever] -> { y[n] -> x[t] : 4 <= n < forever and n - 2 <= t <= n }")));
}

TEST_F(ReadRelations, DataMayReadAnywhere) {
  const ComputationPtr y =
      declare_computation("y", {{"n", number(0), end}}, nullptr, Float64, {}, {});
  define_piece(y, nullptr, access(x, {cast(access(x, {n}), Int64)}), {});
  const std::vector<ReadRelation> reads = read_relations(*y);
  ASSERT_EQ(reads.size(), 2U);
  const ReadRelation &anywhere = reads[0].exact ? reads[1] : reads[0];
  EXPECT_FALSE(anywhere.exact);
  EXPECT_TRUE(anywhere.elements.is_equal(map("[forever] -> { y[n] -> x[t] : 0 <= n < forever }")));
}

TEST_F(ReadRelations, DataWithinBounds) {
  const ComputationPtr d =
      declare_computation("d", {{"n", number(0), end}}, nullptr, Int64, {}, {});
  const ComputationPtr small =
      declare_computation("small", {{"n", number(0), end}}, nullptr, Int8, {}, {});
  const ExprPtr data = access(d, {n});
  const auto clamped = [](const ExprPtr &value, const ExprPtr &low, const ExprPtr &high) {
    return call(Op::Clamp, {value, low, high});
  };
  const auto earlier = [&](const ExprPtr &by) { return binary(Op::Sub, n, by); };
  const ExprPtr is_near =
      binary(Op::And, binary(Op::Ge, data, number(0)), binary(Op::Le, access(d, {n}), number(7)));
  const std::vector<std::pair<ExprPtr, std::string>> subscripts = {
      {clamped(earlier(data), earlier(number(7)), n), "n - 7 <= t <= n"},
      {earlier(binary(Op::Mod, data, number(8))), "n - 7 <= t <= n"},
      {earlier(binary(Op::Mod, data, number(-8))), "n <= t <= n + 7"},
      {earlier(select(is_near, data, number(9))), "n - 7 <= t <= n or t = n - 9"},
      {earlier(select(unary(Op::Not, is_near), number(9), data)), "n - 7 <= t <= n or t = n - 9"},
      {binary(Op::Add, n, cast(access(small, {n}), Int64)), "n - 128 <= t <= n + 127"},
      // Bytes wrap around, and so do 64 bits.
      {binary(Op::Add, n,
              cast(binary(Op::Add, access(small, {n}), constant(std::int64_t{1}, Int8)), Int64)),
       "n - 128 <= t <= n + 127"},
      {clamped(binary(Op::Mul, data, number(2)), number(0), n), "0 <= t <= n"},
      {select(binary(Op::Le, binary(Op::Add, data, number(1)), n), data, n), "true"},
      {binary(Op::Max, data, number(3)), "t >= 3"},
  };
  for (const auto &[subscript, expected] : subscripts) {
    const ComputationPtr y =
        declare_computation("y", {{"n", number(0), end}}, nullptr, Float64, {}, {});
    define_piece(y, nullptr, access(x, {subscript}), {});
    for (const ReadRelation &read : read_relations(*y)) {
      if (read.producer == x) {
        EXPECT_FALSE(read.exact);
        const isl::map wanted =
            map("[forever] -> { y[n] -> x[t] : 0 <= n < forever and (" + expected + ") }");
        EXPECT_TRUE(read.elements.is_equal(wanted)) << expected << ": " << to_text(read.elements);
      }
    }
  }
}

TEST_F(ReadRelations, NumbersWithinBounds) {
  const auto whole = [](const ExprPtr &value) { return cast(value, Int64); };
  const ExprPtr data = access(x, {n});
  const auto real = [](double value) { return constant(value, Float64); };
  const auto limited = [&](double low, double high) {
    return call(Op::Clamp, {data, real(low), real(high)});
  };
  const std::vector<std::pair<ExprPtr, std::string>> subscripts = {
      {whole(limited(2.5, 7.5)), "2 <= t <= 7 or t = 0"}, // NaN becomes 0
      {whole(binary(Op::Mul, limited(-1, 1), real(4))), "-4 <= t <= 4"},
      {whole(binary(Op::Mod, data, real(8))), "0 <= t <= 8"},
      {whole(binary(Op::Add, real(20),
                    binary(Op::Mul, real(9), unary(Op::Neg, call(Op::Sin, {cast(n, Float64)}))))),
       "10 <= t <= 29"},
      {whole(select(binary(Op::Lt, data, real(5)), call(Op::Fmax, {data, real(1)}), real(1))),
       "1 <= t <= 5"},
      {whole(data), "true"},
  };
  for (const auto &[subscript, expected] : subscripts) {
    const ComputationPtr y =
        declare_computation("y", {{"n", number(0), end}}, nullptr, Float64, {}, {});
    define_piece(y, nullptr, access(x, {subscript}), {});
    for (const ReadRelation &read : read_relations(*y)) {
      if (!read.exact) {
        const isl::map wanted =
            map("[forever] -> { y[n] -> x[t] : 0 <= n < forever and (" + expected + ") }");
        EXPECT_TRUE(read.elements.is_equal(wanted)) << expected << ": " << to_text(read.elements);
      }
    }
  }
}

TEST_F(ReadRelations, NoFunctionOfFiniteArraysLastsForever) {
  const ComputationPtr y =
      declare_computation("y", {{"n", number(0), end}}, nullptr, Float64, {}, {});
  define_piece(y, nullptr, cast(n, Float64), {});
  try {
    make_function("f", {y}, {}, {}, {});
    FAIL() << "a stream was made a function";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Declaration);
    EXPECT_NE(std::string(error.what()).find("tw.stream_function"), std::string::npos);
  }
}

/// Each definition reads the next one four times: many ways lead to the last.
TEST_F(ReadRelations, DefinitionsAreLookedIntoOnce) {
  const auto element = [&](const ComputationPtr &of, std::int64_t back) {
    return access(of, {binary(Op::Sub, n, number(back))});
  };
  std::vector<std::uint64_t> visits;
  for (const int depth : {2, 4, 6}) {
    ComputationPtr last =
        declare_computation("d0", {{"n", number(0), end}}, nullptr, Int64, {}, {});
    define_piece(last, nullptr, binary(Op::Mod, access(last, {n}), number(2)), {});
    for (int level = 1; level <= depth; ++level) {
      const std::string name = "d" + std::to_string(level);
      const ComputationPtr next =
          declare_computation(name, {{"n", number(4 * level), end}}, nullptr, Int64, {}, {});
      const ExprPtr two = call(Op::Max, {element(last, 1), element(last, 2)});
      const ExprPtr others = call(Op::Min, {element(last, 3), element(last, 4)});
      define_piece(next, nullptr, call(Op::Max, {two, others}), {});
      last = next;
    }
    const ComputationPtr y =
        declare_computation("y", {{"n", number(4 * depth), end}}, nullptr, Float64, {}, {});
    define_piece(y, nullptr, access(x, {element(last, 0)}), {});
    const std::uint64_t before = counted_visits();
    const std::vector<ReadRelation> reads = read_relations(*y);
    visits.push_back(counted_visits() - before);
    ASSERT_EQ(reads.size(), 2U);
    const ReadRelation &chosen = reads[0].producer == x ? reads[0] : reads[1];
    const std::string from = std::to_string(4 * depth);
    EXPECT_TRUE(chosen.elements.is_equal(
        map("[forever] -> { y[n] -> x[t] : " + from + " <= n < forever and 0 <= t <= 1 }")));
  }
  EXPECT_EQ(visits[2] - visits[1], visits[1] - visits[0]);
}

} // namespace
} // namespace tilewright
