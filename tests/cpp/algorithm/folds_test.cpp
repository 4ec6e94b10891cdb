// Folds: what the builder makes and refuses, which computations are scheduled by them, and that
// copies have states of their own.
#include "algorithm/function.h"
#include "algorithm/reductions.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

ExprPtr num(std::int64_t value) { return constant(value, Int64); }
ExprPtr plus(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Add, a, b); }

class Fold : public testing::Test {
protected:
  const ExprPtr size = parameter("N", "[N] -> { : N >= 0 }");
  const ComputationPtr x = declare_input("x", {size}, Float32, {});
  const std::vector<ReduceRange> over_k = {{"k", num(0), size}};
  const ExprPtr x_k = access(x, {iterator("k")});
  const ExprPtr s = state("s", Float32);
  const ExprPtr t = state("t", Float32);
  const ExprPtr zero = constant(0.0, Float32);

  /// s -> s + x[k]
  ExprPtr sum(const ExprPtr &initial) const {
    return fold({{s}, {plus(s, x_k)}, {}, {}}, {initial}, over_k).front();
  }
  ComputationPtr computation(const ExprPtr &value, ScalarType type = Float32) const {
    const auto result = declare_computation("C", {{"i", num(0), size}}, nullptr, type, {}, {});
    define_piece(result, nullptr, value, {});
    return result;
  }
  /// The message of the error that `make` throws.
  template <class Make>
  static std::string refusal(Make make) {
    try {
      make();
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Fold, HasOneReductionForAllItsResults) {
  const auto results = fold({{s, t}, {t, plus(s, x_k)}, {}, {}}, {zero, x_k}, over_k);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]->operands[0], results[1]->operands[0]);
  EXPECT_EQ(results[1]->position, 1U);
  const Expr *reduction = reduction_of(*results[1]);
  ASSERT_NE(reduction, nullptr);
  EXPECT_EQ(reduction->op, Op::ReduceFold);
  EXPECT_TRUE(reduction->ordered);
  EXPECT_EQ(initial_values(*results[0]), (std::vector<ExprPtr>{zero, x_k}));
  EXPECT_EQ(to_string(results[1]),
            "fold(s -> t, t -> s + x[k] for k in range(0, N), initial=(float32(0.0), x[k]))[1]");
  EXPECT_EQ(reduction_of(*zero), nullptr);
}

TEST_F(Fold, OfResultsIsNotOrdered) {
  const ExprPtr both = fold({{s}, {plus(s, x_k)}, {t}, {plus(s, t)}}, {zero}, over_k).front();
  const FoldParts parts = fold_parts(*reduction_of(*both));
  EXPECT_FALSE(reduction_of(*both)->ordered);
  EXPECT_EQ(parts.states, std::vector<ExprPtr>{s});
  EXPECT_EQ(parts.others, std::vector<ExprPtr>{t});
  EXPECT_EQ(to_string(parts.combined.front()), "s + t");
  EXPECT_EQ(to_string(parts.next.front()), "s + x[k]");
}

TEST_F(Fold, OfResultsMayKeepTheOrderOfItsTerms) {
  const auto any = fold({{s}, {plus(s, x_k)}, {t}, {plus(s, t)}}, {zero}, over_k);
  const ExprPtr in_order = with_terms_in_order(any).front();
  const Expr &reduction = *reduction_of(*in_order);
  EXPECT_TRUE(reduction.ordered);
  EXPECT_EQ(fold_parts(reduction).others, std::vector<ExprPtr>{t});
  EXPECT_EQ(fold_parts(reduction).states, std::vector<ExprPtr>{s});
  EXPECT_FALSE(reduction_of(*any.front())->ordered);
  EXPECT_EQ(to_string(in_order), "fold(s -> s + x[k] for k in range(0, N), initial=float32(0.0), "
                                 "associative, commutative=False)");
  EXPECT_TRUE(is_associative(reduction));
  EXPECT_TRUE(is_associative(*reduction_of(*any.front())));
  EXPECT_FALSE(is_associative(*reduction_of(*sum(zero))));
  const auto add = [&](bool ordered) {
    return reduce(Op::ReduceSum, over_k, x_k, nullptr, ordered);
  };
  EXPECT_TRUE(is_associative(*add(false)));
  EXPECT_FALSE(is_associative(*add(true)));
}

TEST_F(Fold, ChecksItsParts) {
  EXPECT_NE(refusal([&] { fold({{s}, {s, s}, {}, {}}, {zero}, over_k); }).find("1 states"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              fold({{s}, {cast(s, Float64)}, {}, {}}, {zero}, over_k);
            }).find("the state s of 'fold' is float32, but its next value"),
            std::string::npos);
  EXPECT_NE(refusal([&] { fold({{s}, {s}, {}, {}}, {zero}, {}); }).find("at least one iterator"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              fold({{s}, {plus(s, x_k)}, {t}, {plus(s, x_k)}}, {zero}, over_k);
            }).find("uses k, an iterator that it reduces over"),
            std::string::npos);
}

TEST_F(Fold, SchedulesItsComputation) {
  const ExprPtr value = sum(zero);
  EXPECT_EQ(scheduled_reduction(*computation(value)), value);
  EXPECT_EQ(scheduled_reduction(*computation(plus(value, access(x, {iterator("i")})))), value);
  EXPECT_EQ(scheduled_reduction(*computation(cast(value, Float64), Float64)), nullptr);
  const auto pair = fold({{s, t}, {t, s}, {}, {}}, {zero, zero}, over_k);
  EXPECT_EQ(scheduled_reduction(*computation(pair.front())), pair.front());
  const ExprPtr wide = cast(pair.front(), Float64); // several states lie beside the element
  EXPECT_EQ(scheduled_reduction(*computation(wide, Float64)), pair.front());
}

TEST_F(Fold, StatesBelongToIt) {
  EXPECT_NE(refusal([&] { computation(s); }).find("outside of it"), std::string::npos);
  EXPECT_NE(refusal([&] {
              computation(
                  fold({{s}, {s}, {}, {}}, {zero}, over_k, binary(Op::Lt, s, zero)).front());
            }).find("outside of it"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              computation(fold({{s}, {s}, {}, {}}, {s}, over_k).front());
            }).find("outside of it"),
            std::string::npos);
}

TEST_F(Fold, CopiesHaveStatesOfTheirOwn) {
  const ExprPtr value =
      fold({{s}, {plus(s, access(x, {iterator("i")}))}, {}, {}}, {zero}, over_k).front();
  const auto at = [&](std::int64_t number) {
    return substitute(value, [&](const std::string &name) -> ExprPtr {
      return name == "i" ? num(number) : nullptr;
    });
  };
  const ExprPtr one = at(1);
  EXPECT_NE(reduction_of(*one)->states.front(), s);
  EXPECT_EQ(to_string(one), "fold(s -> s + x[1] for k in range(0, N), initial=float32(0.0))");
  EXPECT_EQ(substitute(value, [](const std::string &) -> ExprPtr { return nullptr; }), value);
}

TEST_F(Fold, ItsInitialValueDoesNotSeeItsIterators) {
  const auto declared = declare_computation("C", {{"i", num(0), size}}, nullptr, Float32, {}, {});
  EXPECT_NE(refusal([&] { define_piece(declared, nullptr, sum(x_k), {}); }).find("iterator k"),
            std::string::npos);
}

} // namespace
} // namespace tilewright
