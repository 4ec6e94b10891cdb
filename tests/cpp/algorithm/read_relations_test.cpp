#include "algorithm/forever.h"
#include "algorithm/read_relations.h"

#include <gtest/gtest.h>

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

} // namespace
} // namespace tilewright
