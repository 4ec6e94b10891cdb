// Elements that data decide about, and who may read them.
#include "algorithm/existing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::HasSubstr;

ExprPtr num(std::int64_t value) { return constant(value, Int64); }
ExprPtr n() { return parameter("N", "[N] -> { : N >= 0 }"); }
ExprPtr operator+(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Add, a, b); }
ExprPtr operator&(const ExprPtr &a, const ExprPtr &b) { return binary(Op::And, a, b); }
ExprPtr less(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Lt, a, b); }

/// C[i,k] exists where k < length[i].
class Existing : public testing::Test {
protected:
  explicit Existing(ScalarType type = Int32) {
    length = declare_input("length", {n()}, type, {});
    c = declare_computation("C", {{"i", num(0), n()}, {"k", num(0), n()}}, nullptr, Int64, {}, {});
    define_piece(c, nullptr, where_exists({in_row(i, k)}, k), {});
  }

  ExprPtr of(const ExprPtr &row) const { return cast(access(length, {row}), Int64); }
  ExprPtr in_row(const ExprPtr &row, const ExprPtr &at) const { return less(at, of(row)); }
  ExprPtr read(const ExprPtr &row, const ExprPtr &at) const { return access(c, {row, at}); }
  /// What is wrong with y[i,k] = value.
  static std::string problem(const ExprPtr &value) {
    const auto y =
        declare_computation("y", {{"i", num(0), n()}, {"k", num(0), n()}}, nullptr, Int64, {}, {});
    define_piece(y, nullptr, value, {});
    try {
      make_function("f", {y}, {}, {}, {});
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Declaration);
      return error.what();
    }
    return "";
  }

  ComputationPtr length;
  ComputationPtr c;
  ExprPtr i = iterator("i");
  ExprPtr k = iterator("k");
};

class ExistingByWideData : public Existing {
protected:
  ExistingByWideData() : Existing(Int64) {}
};

TEST_F(Existing, TheConditionAndTheValueStandApart) {
  const ExprPtr value = where_exists({less(i, k), in_row(i, k)}, k);
  EXPECT_EQ(to_string(value), "select(i < k, select(k < length[i], k, nothing), nothing)");
  const ExistingValue found = existing_value(cast(value, Float32));
  EXPECT_EQ(to_string(found.condition), "(i < k) & (k < length[i])");
  EXPECT_EQ(to_string(found.value), "float32(k)");
  EXPECT_EQ(existing_value(k).condition, nullptr);
  EXPECT_EQ(existing_value(select(less(i, k), k, num(0))).condition, nullptr);
}

TEST_F(Existing, WhoStandsUnderTheConditionMayRead) {
  EXPECT_EQ(problem(select(in_row(i, k), read(i, k), num(0))), "");
  EXPECT_EQ(problem(select(unary(Op::Not, in_row(i, k)), num(0), read(i, k))), "");
  EXPECT_EQ(problem(select(in_row(i, k) & less(i, num(3)), read(i, k), num(0))), "");
  EXPECT_EQ(problem(select(in_row(i, k + num(1)), read(i, k), num(0))), "");
  // An earlier element; a sum of narrow data does not wrap.
  const auto earlier = binary(Op::Max, binary(Op::Sub, k, num(1)), num(0));
  EXPECT_EQ(problem(select(less(num(0), k) & in_row(i, k), read(i, earlier), num(0))), "");
  EXPECT_EQ(problem(select(less(k + num(1), of(i) + num(1)), read(i, k), num(0))), "");
  const std::vector<ReduceRange> all{{"q", num(0), n()}};
  const ExprPtr q = iterator("q");
  EXPECT_EQ(problem(reduce(Op::ReduceSum, all, read(i, q), in_row(i, q) & less(q, k))), "");
}

TEST_F(Existing, OthersMayNot) {
  const auto refused =
      HasSubstr("y reads C[i, k], but an element of C exists only where k < length[i]");
  EXPECT_THAT(problem(read(i, k)), refused);
  EXPECT_THAT(problem(select(in_row(i, k), num(0), read(i, k))), refused);
  EXPECT_THAT(problem(select(less(k, of(i) + num(1)), read(i, k), num(0))), refused);
  EXPECT_THAT(problem(select(less(k, of(k)), read(i, k), num(0))), refused);
  EXPECT_THAT(problem(select(binary(Op::Or, in_row(i, k), less(i, k)), read(i, k), num(0))),
              refused);
  EXPECT_THAT(problem(reduce(Op::ReduceSum, {{"q", num(0), n()}}, read(i, iterator("q")))),
              HasSubstr("y reads C[i, q]"));
}

TEST_F(ExistingByWideData, SumsOfWideDataMayWrap) {
  EXPECT_EQ(problem(select(in_row(i, k), read(i, k), num(0))), "");
  EXPECT_EQ(problem(select(in_row(i, k + num(1)), read(i, k), num(0))), "");
  EXPECT_THAT(problem(select(less(k + num(1), of(i) + num(1)), read(i, k), num(0))),
              HasSubstr("is not known to hold"));
}

TEST_F(Existing, OutputsHaveAllElements) {
  try {
    make_function("f", {c}, {}, {}, {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("C is an output, and data decide which of its elements"));
  }
}

} // namespace
} // namespace tilewright
