// Control that depends on data, in Layer I: predicates of reductions, ranges that read data, while
// loops.
#include "algorithm/affine.h"
#include "algorithm/enclosing_ranges.h"
#include "algorithm/function.h"
#include "algorithm/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tilewright {
namespace {

using testing::HasSubstr;

ExprPtr num(std::int64_t value) { return constant(value, Int64); }
ExprPtr n() { return parameter("N", "[N] -> { : N >= 0 }"); }
ExprPtr it(const std::string &name) { return iterator(name); }
ExprPtr operator&(const ExprPtr &a, const ExprPtr &b) { return binary(Op::And, a, b); }
ExprPtr operator+(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Add, a, b); }
ExprPtr operator-(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Sub, a, b); }
ExprPtr less(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Lt, a, b); }
ComputationPtr input(const std::string &name, const ExprPtr &extent, ScalarType type = Int64) {
  return declare_input(name, {extent}, type, {});
}

template <class Build>
Error error_of(Build build) {
  try {
    build();
  } catch (const Error &error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ErrorKind::Internal, ""};
}

class Control : public testing::Test {
protected:
  ComputationPtr x = input("x", n());
  ExprPtr i = it("i");
  ExprPtr k = it("k");
  ExprPtr x_k = access(x, {k});
  std::vector<ReduceRange> over_k{{"k", num(0), n()}};
};

TEST_F(Control, ConditionsAreSplitIntoAffineAndOther) {
  const auto condition = (less(x_k, num(3)) & less(k, i)) & (less(num(0), k) & less(i, x_k));
  const auto sum = reduce(Op::ReduceSum, over_k, x_k, condition);
  EXPECT_EQ(to_string(sum->condition), "(k < i) & (0 < k)");
  EXPECT_EQ(to_string(sum->predicate), "(x[k] < 3) & (i < x[k])");
  EXPECT_EQ(to_string(sum), "sum(x[k] for k in range(0, N) if (k < i) & (0 < k) & (x[k] < 3) & "
                            "(i < x[k]))");
  const auto affine = reduce(Op::ReduceSum, over_k, x_k, less(k, i));
  EXPECT_EQ(affine->predicate, nullptr);
  const auto data = reduce(Op::ReduceSum, over_k, x_k, less(x_k, i));
  EXPECT_EQ(data->condition, nullptr);
  // A disjunction of both kinds is one condition on data; a product of iterators is not affine.
  const auto either = binary(Op::Or, less(k, i), less(x_k, i));
  EXPECT_EQ(reduce(Op::ReduceSum, over_k, x_k, either)->condition, nullptr);
  const auto product = less(binary(Op::Mul, i, k), n());
  EXPECT_EQ(reduce(Op::ReduceSum, over_k, x_k, product)->predicate, product);
}

TEST_F(Control, APredicateIsKeptAndJoined) {
  const auto sum =
      reduce(Op::ReduceSum, over_k, x_k, less(x_k, i) & less(k, i), true, less(i, x_k));
  EXPECT_EQ(to_string(sum->predicate), "(i < x[k]) & (x[k] < i)");
  EXPECT_TRUE(sum->ordered);
  EXPECT_THAT(error_of([&] { reduce(Op::ReduceSum, over_k, x_k, nullptr, false, x_k); }).what(),
              HasSubstr("condition of 'sum' must be bool, but x[k] is int64"));
}

TEST_F(Control, PredicatesAreVisitedAndSubstituted) {
  const auto sum = reduce(Op::ReduceSum, over_k, num(1), less(access(x, {k}), i));
  int reads = 0;
  visit(sum, [&](const ExprPtr &node) { reads += node->kind == ExprKind::Access ? 1 : 0; });
  EXPECT_EQ(reads, 1);
  // i becomes k + 1: the reduced k makes room.
  const auto moved =
      substitute(sum, [&](const std::string &name) { return name == "i" ? k + num(1) : nullptr; });
  EXPECT_EQ(to_string(moved), "sum(1 for k_1 in range(0, N) if x[k_1] < k + 1)");
}

TEST_F(Control, InliningReachesPredicates) {
  const auto p = declare_computation("P", {{"i", num(0), n()}}, nullptr, Int64, {}, {});
  define_piece(p, nullptr, access(x, {i}) + num(7), {});
  const auto c = declare_computation("C", {{"i", num(0), n()}}, nullptr, Int64, {}, {});
  define_piece(c, nullptr, reduce(Op::ReduceSum, over_k, num(1), less(access(p, {k}), i)), {});
  const auto function = make_function("f", {c}, {}, {}, {});
  EXPECT_EQ(function->computations.size(), 2U);
  const auto inlined = inline_computation(*function, "P", {});
  ASSERT_EQ(inlined->computations.size(), 1U);
  EXPECT_EQ(to_string(inlined->computations[0]->pieces[0].value),
            "sum(1 for k in range(0, N) if x[k] + 7 < i)");
}

// ---- ranges that read data ----

TEST_F(Control, RangesThatReadDataAreEnclosed) {
  const auto row = input("row", n() + num(1), Int32);
  const auto value = access(input("value", parameter("NNZ")), {k});
  const std::vector<ReduceRange> ranges{{"k", access(row, {i}), access(row, {i + num(1)})}};
  const EnclosedRanges enclosed = enclose_ranges("the sum", ranges, {value}, nullptr);
  EXPECT_EQ(to_string(enclosed.ranges[0].lower), "0");
  EXPECT_EQ(to_string(enclosed.ranges[0].upper), "NNZ");
  EXPECT_EQ(to_string(enclosed.condition), "(row[i] <= k) & (k < row[i + 1])");
  // An affine bound stays one, and so do ranges without data.
  const EnclosedRanges half =
      enclose_ranges("the sum", {{"k", num(2), access(row, {i})}}, {value}, less(k, i));
  EXPECT_EQ(to_string(half.ranges[0].lower), "2");
  EXPECT_EQ(to_string(half.condition), "(k < row[i]) & (k < i)");
  const EnclosedRanges none = enclose_ranges("the sum", over_k, {value}, nullptr);
  EXPECT_EQ(none.condition, nullptr);
  EXPECT_EQ(to_string(none.ranges[0].upper), "N");
}

TEST_F(Control, SeveralArraysEncloseTogether) {
  const auto a = access(input("a", parameter("A")), {k});
  const auto p = declare_computation("P", {{"j", num(3), parameter("B")}}, nullptr, Int64, {}, {});
  define_piece(p, nullptr, num(1), {});
  const auto body = a + access(p, {k}) + access(input("b", parameter("A")), {k});
  const EnclosedRanges enclosed = enclose_ranges("the sum", {{"k", x_k, x_k}}, {body}, nullptr);
  EXPECT_EQ(to_string(enclosed.ranges[0].lower), "maximum(0, 3)");
  EXPECT_EQ(to_string(enclosed.ranges[0].upper), "minimum(A, B)");
}

TEST_F(Control, OnlyReadsThatHappenEnclose) {
  const auto last = access(x, {i});
  const std::vector<ReduceRange> ranges{{"k", num(0), last}};
  const auto inner = reduce(Op::ReduceMax, {{"m", num(0), k}}, x_k);
  const auto s = state("s", Int64);
  const auto loop = while_loop({s}, {num(0)}, less(s, x_k), {s + x_k}).at(0);
  for (const ExprPtr &body :
       {select(less(k, i), x_k, num(0)), access(x, {k + num(1)}), inner, loop, num(1)}) {
    const Error error = error_of([&] { enclose_ranges("the sum", ranges, {body}, less(x_k, i)); });
    EXPECT_EQ(error.kind, ErrorKind::Declaration);
    EXPECT_THAT(error.what(), HasSubstr("it reads x[i], and no array that is read at k itself"));
    EXPECT_THAT(error.what(), HasSubstr("where=(0 <= k) & (k < x[i])"));
  }
  const auto begun = while_loop({s}, {x_k}, less(s, i), {s + num(1)}).at(0);
  EXPECT_NO_THROW(enclose_ranges("the sum", ranges, {begun}, nullptr));
}

// ---- while loops ----

TEST_F(Control, AWhileLoopHasOneNodeForAllItsResults) {
  const auto a = state("a", Int64);
  const auto b = state("b", Int32);
  const auto results =
      while_loop({a, b}, {x_k, constant(std::int64_t{1}, Int32)}, less(a, i), {a + num(1), b}, n());
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]->type, Int64);
  EXPECT_EQ(results[1]->type, Int32);
  EXPECT_EQ(results[0]->operands[0], results[1]->operands[0]);
  EXPECT_EQ(to_string(results[1]),
            "while_loop(a < i, a -> a + 1, b -> b, initial=(x[k], int32(1)), limit=N)[1]");
  const WhileParts parts = while_parts(*results[0]->operands[0]);
  EXPECT_EQ(parts.initial[0], x_k);
  EXPECT_EQ(parts.next[1], b);
  EXPECT_NE(parts.limit, nullptr);
  const auto one = while_loop({a}, {x_k}, less(a, i), {a + num(1)}).at(0);
  EXPECT_EQ(to_string(one), "while_loop(a < i, a -> a + 1, initial=x[k])");
  EXPECT_EQ(while_parts(*one->operands[0]).limit, nullptr);
  // Iterators inside are replaced, states are not.
  const auto moved =
      substitute(one, [](const std::string &name) { return name == "k" ? num(4) : nullptr; });
  EXPECT_EQ(to_string(moved), "while_loop(a < i, a -> a + 1, initial=x[4])");
}

TEST_F(Control, WhileLoopsCheckTheirParts) {
  const auto a = state("a", Int32);
  const auto one = constant(std::int64_t{1}, Int32);
  const auto message = [&](const std::vector<ExprPtr> &initial, const ExprPtr &condition,
                           const std::vector<ExprPtr> &next, const ExprPtr &limit) {
    const Error error = error_of([&] { while_loop({a}, initial, condition, next, limit); });
    EXPECT_EQ(error.kind, ErrorKind::Type);
    return std::string(error.what());
  };
  const auto test = less(a, one);
  EXPECT_THAT(message({}, test, {a}, nullptr), HasSubstr("1 states, but 0 initial and 1 next"));
  EXPECT_THAT(message({one}, a, {a}, nullptr), HasSubstr("must be bool, but a is int32"));
  EXPECT_THAT(message({one}, test, {a + num(1)}, nullptr),
              HasSubstr("state a of 'while_loop' is int32, but its next value"));
  EXPECT_THAT(message({num(1)}, test, {a}, nullptr), HasSubstr("but its initial value"));
  EXPECT_THAT(message({one}, test, {a}, constant(0.5, Float64)),
              HasSubstr("limit of 'while_loop' must be an integer"));
}

TEST_F(Control, StatesMeanNothingOutsideOfTheirLoop) {
  const auto a = state("a", Int64);
  const auto shared = a + num(1);
  const auto loop = while_loop({a}, {num(0)}, less(a, num(3)), {shared}).at(0);
  for (const ExprPtr &leak : {loop + shared, a + loop}) {
    const auto c = declare_computation("C", {{"i", num(0), n()}}, nullptr, Int64, {}, {});
    const Error error = error_of([&] { define_piece(c, nullptr, leak, {}); });
    EXPECT_EQ(error.kind, ErrorKind::Declaration);
    EXPECT_THAT(error.what(),
                HasSubstr("C uses a, a state variable of a while_loop or a fold, outside"));
  }
}

TEST_F(Control, RewritingKeepsALoopShared) {
  const auto p = declare_computation("P", {{"i", num(0), n()}}, nullptr, Int64, {}, {});
  define_piece(p, nullptr, access(x, {i}), {});
  const auto c = declare_computation("C", {{"i", num(0), n()}}, nullptr, Int64, {}, {});
  const auto a = state("a", Int64);
  const auto b = state("b", Int64);
  const auto both = while_loop({a, b}, {access(p, {i}), num(0)}, less(a, i), {a + num(1), b + a});
  define_piece(c, nullptr, both[0] - both[1], {});
  const auto inlined = inline_computation(*make_function("f", {c}, {}, {}, {}), "P", {});
  std::set<const Expr *> loops;
  visit(inlined->computations[0]->pieces[0].value, [&](const ExprPtr &node) {
    if (node->kind == ExprKind::While) {
      loops.insert(node.get());
    }
  });
  EXPECT_EQ(loops.size(), 1U);
}

} // namespace
} // namespace tilewright
