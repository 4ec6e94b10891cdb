#include "algorithm/function.h"
#include "algorithm/views.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

class Views : public testing::Test {
protected:
  ExprPtr number(std::int64_t value) { return constant(value, Int64); }

  ComputationPtr declared(const std::string &name, const ExprPtr &extent) {
    return declare_computation(name, {{"i", number(0), extent}}, nullptr, Float64, {}, {});
  }

  ComputationPtr view(const std::string &name, const ExprPtr &extent) {
    ComputationPtr made = declared(name, extent);
    make_view(made);
    return made;
  }

  std::shared_ptr<const Function> resolved(const std::vector<ComputationPtr> &outputs) {
    return resolve_views(make_function("f", outputs, {}, {}, {}));
  }

  const ExprPtr n = parameter("N");
  const ExprPtr i = iterator("i");
  const ComputationPtr a = declare_input("A", {n}, Float64, {});
  const ComputationPtr b = declare_input("B", {n}, Float64, {});
};

TEST_F(Views, AreReadThrough) {
  const ComputationPtr v = view("V", n);
  define_piece(v, nullptr, select(binary(Op::Lt, i, number(3)), access(a, {i}), access(b, {i})),
               {});
  ASSERT_EQ(v->pieces.size(), 2U);
  const ComputationPtr c = declared("C", n);
  define_piece(c, nullptr,
               unary(Op::Neg, access(v, {binary(Op::Sub, binary(Op::Sub, n, number(1)), i)})), {});
  const auto function = resolved({c});
  EXPECT_EQ(function->find("V"), nullptr);
  EXPECT_EQ(to_string((*function->find("C"))->pieces.front().value),
            "-select(2 >= N - 1 - i, A[N - 1 - i], B[N - 1 - i])");
}

TEST_F(Views, OfViewsHaveAPieceForEachRead) {
  const ComputationPtr v = view("V", n);
  define_piece(v, binary(Op::Lt, i, number(3)), access(a, {i}), {});
  define_piece(v, binary(Op::Ge, i, number(3)), access(b, {i}), {});
  const ComputationPtr out = view("out", n);
  define_piece(out, nullptr, access(v, {i}), {});
  const auto function = resolved({out});
  const Computation &shown = **function->find("out");
  ASSERT_EQ(shown.pieces.size(), 2U);
  EXPECT_TRUE(shown.is_view);
  EXPECT_EQ(to_string(shown.pieces[0].value), "A[i]");
  EXPECT_EQ(to_string(shown.pieces[1].value), "B[i]");
}

TEST_F(Views, ThatNeedElementsStay) {
  const ComputationPtr index = declare_input("index", {n}, Int64, {});
  const ComputationPtr v = view("V", n); // of which an index from data has no element
  define_piece(v, nullptr, access(a, {binary(Op::FloorDiv, i, number(2))}), {});
  const ComputationPtr c = declared("C", n);
  define_piece(c, nullptr, access(v, {access(index, {i})}), {});
  const auto function = resolved({c});
  ASSERT_NE(function->find("V"), nullptr);
  EXPECT_FALSE((*function->find("V"))->is_view);
}

TEST_F(Views, AreReadThroughAtComputedSubscripts) {
  const ComputationPtr index = declare_input("index", {n}, Int64, {});
  const ComputationPtr v = view("V", n);
  define_piece(v, nullptr, access(a, {i}), {});
  const ComputationPtr c = declared("C", n);
  define_piece(c, nullptr, access(v, {access(index, {i})}), {});
  EXPECT_EQ(resolved({c})->find("V"), nullptr);
}

TEST_F(Views, ComputeNothing) {
  const ComputationPtr v = view("V", n);
  EXPECT_THROW(define_piece(v, nullptr, unary(Op::Neg, access(a, {i})), {}), Error);
  EXPECT_THROW(define_piece(v, nullptr,
                            select(binary(Op::Lt, i, number(3)), access(a, {i}),
                                   unary(Op::Neg, access(b, {i}))),
                            {}),
               Error);
  EXPECT_TRUE(v->pieces.empty()); // no part of what was refused stays
}

TEST_F(Views, PhiIsTheLastReadWhoseElementExists) {
  const ComputationPtr c = declared("C", n);
  define_piece(c, nullptr, access(a, {i}), {});
  const ExprPtr chosen = phi({access(b, {i}), access(c, {binary(Op::Sub, i, number(1))})}, {});
  EXPECT_EQ(chosen->kind, ExprKind::Select);
  EXPECT_EQ(to_string(chosen->operands[1]), "C[i - 1]");
  EXPECT_EQ(to_string(chosen->operands[2]), "B[i]");
}

} // namespace
} // namespace tilewright
