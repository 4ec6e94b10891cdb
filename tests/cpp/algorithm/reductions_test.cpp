// Which reduction a computation is scheduled by: by kind, place, type and order of writing.
#include "algorithm/extrema.h"
#include "algorithm/function.h"
#include "algorithm/reductions.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

ExprPtr num(std::int64_t value) { return constant(value, Int64); }
ExprPtr size(const std::string &name) {
  return parameter(name, "[" + name + "] -> { : " + name + " >= 0 }");
}
ComputationPtr vector_input(const std::string &name, ScalarType type = Float32) {
  return declare_input(name, {size("N")}, type, {});
}
ExprPtr at(const ComputationPtr &array, const std::string &iterator_name) {
  return access(array, {iterator(iterator_name)});
}
/// A reduction over 0 <= k < N.
ExprPtr over(Op op, const ExprPtr &body, const std::string &name = "k") {
  return reduce(op, {{name, num(0), size("N")}}, body);
}
ExprPtr sum(const ExprPtr &body, const std::string &name = "k") {
  return over(Op::ReduceSum, body, name);
}
ComputationPtr computation(const ExprPtr &value, ScalarType type = Float32) {
  const auto result = declare_computation("C", {{"i", num(0), size("N")}}, nullptr, type, {}, {});
  define_piece(result, nullptr, value, {});
  return result;
}
/// That of C[i] = value.
ExprPtr scheduled(const ExprPtr &value, ScalarType type = Float32) {
  return scheduled_reduction(*computation(value, type));
}

class ScheduledReduction : public testing::Test {
protected:
  const ComputationPtr x = vector_input("x");
  const ExprPtr read = at(x, "i");
  const ExprPtr first = sum(at(x, "k"));
  const ExprPtr second = over(Op::ReduceMax, at(x, "k"));
  const WeakNumber two{TypeKind::Int, std::int64_t{2}};
};

TEST_F(ScheduledReduction, IsTheValueItself) {
  EXPECT_EQ(scheduled(first), first);
  EXPECT_EQ(scheduled(second), second);
  EXPECT_EQ(scheduled(read), nullptr);
}

TEST_F(ScheduledReduction, IsWhatTheValueIsMadeOf) {
  EXPECT_EQ(scheduled(binary(Op::Add, first, read)), first);
  EXPECT_EQ(scheduled(binary(Op::Add, read, first)), first);
  EXPECT_EQ(scheduled(binary(Op::Mul, two, first)), first);
  EXPECT_EQ(scheduled(unary(Op::Neg, unary(Op::Abs, first))), first);
  EXPECT_EQ(scheduled(call(Op::Exp, {first})), first);
  EXPECT_EQ(scheduled(cast(cast(first, Float64), Float32)), first);
  EXPECT_EQ(scheduled(call(Op::Clamp, {first, read, two})), first);
}

TEST_F(ScheduledReduction, IsTheFirstAsTheyAreWritten) {
  EXPECT_EQ(scheduled(binary(Op::Add, first, second)), first);
  EXPECT_EQ(scheduled(binary(Op::Sub, second, first)), second);
  EXPECT_EQ(scheduled(binary(Op::Add, binary(Op::Mul, read, second), first)), second);
  const ExprPtr below = binary(Op::Lt, first, read);
  EXPECT_EQ(scheduled(binary(Op::Add, select(below, read, two), second)), first);
  EXPECT_EQ(scheduled(binary(Op::Add, second, select(below, read, two))), second);
}

TEST_F(ScheduledReduction, OfASharedOneIsWhereItIsWrittenFirst) {
  EXPECT_EQ(scheduled(binary(Op::Add, first, binary(Op::Add, second, first))), first);
  EXPECT_EQ(scheduled(binary(Op::Add, binary(Op::Add, second, first), first)), second);
  EXPECT_EQ(scheduled(binary(Op::Mul, first, first)), first);
}

TEST_F(ScheduledReduction, IsComputedForEveryElement) {
  const ExprPtr below = binary(Op::Lt, read, two);
  EXPECT_EQ(scheduled(select(below, first, read)), nullptr);
  EXPECT_EQ(scheduled(select(below, read, first)), nullptr);
  EXPECT_EQ(scheduled(select(binary(Op::Lt, first, two), read, second)), first);
  EXPECT_EQ(scheduled(select(below, binary(Op::Add, read, first), read)), nullptr);
  // Used in both branches and beside them, it is one node, and computed in any case.
  EXPECT_EQ(scheduled(binary(Op::Add, select(below, first, read), first)), first);
  EXPECT_EQ(scheduled(binary(Op::Add, select(below, first, read), second)), second);
}

TEST_F(ScheduledReduction, IsNotInsideOfAnotherLoop) {
  const ExprPtr nested = sum(binary(Op::Mul, at(x, "k"), sum(at(x, "l"), "l")));
  EXPECT_EQ(scheduled(nested), nested);
  EXPECT_EQ(scheduled(binary(Op::Add, nested, read)), nested);
  const ExprPtr state_value = state("s", Float32);
  const ExprPtr loop = while_loop({state_value}, {first}, binary(Op::Lt, state_value, two),
                                  {binary(Op::Add, state_value, two)}, num(4))
                           .front();
  EXPECT_EQ(scheduled(loop), nullptr);
  EXPECT_EQ(scheduled(binary(Op::Add, loop, second)), second);
}

TEST_F(ScheduledReduction, IsNotASubscript) {
  const ComputationPtr places = vector_input("p", Int64);
  const ExprPtr place = over(Op::ReduceMin, at(places, "k"));
  EXPECT_EQ(scheduled(access(x, {place})), nullptr);
  EXPECT_EQ(scheduled(binary(Op::Add, access(x, {place}), first)), first);
}

TEST_F(ScheduledReduction, HasTheTypeOfTheComputation) {
  const ComputationPtr counts = vector_input("n", Int32);
  const ExprPtr wide = sum(at(counts, "k"));
  ASSERT_EQ(wide->type, Int64);
  EXPECT_EQ(scheduled(binary(Op::Add, wide, num(1)), Int64), wide);
  EXPECT_EQ(scheduled(cast(binary(Op::Add, wide, num(1)), Int32), Int32), nullptr);
  EXPECT_EQ(scheduled(cast(binary(Op::Add, cast(first, Float64), read), Float64), Float64),
            nullptr);
  // One of another type does not stand in the way of the next.
  EXPECT_EQ(scheduled(cast(binary(Op::Mul, cast(wide, Float32), second), Float32)), second);
  EXPECT_EQ(scheduled(binary(Op::Lt, second, read), Bool), nullptr);
  const ExprPtr all = over(Op::ReduceAll, binary(Op::Lt, at(x, "k"), read));
  EXPECT_EQ(scheduled(unary(Op::Not, all), Bool), all);
}

TEST_F(ScheduledReduction, IsANarrowSumWhereThatIsAllOfTheValue) {
  const ExprPtr wide = sum(at(vector_input("n", Int32), "k"));
  const ComputationPtr whole = computation(cast(wide, Int32), Int32);
  const ExprPtr found = scheduled_reduction(*whole);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found, whole->pieces.front().value);
  EXPECT_EQ(found->type, Int32);
}

TEST_F(ScheduledReduction, CombinesTwoOperands) {
  const ExprPtr place = reduce(Op::ReduceArgMin, {{"k", num(0), size("N")}}, at(x, "k"));
  EXPECT_EQ(scheduled(place, Int64), nullptr);
  EXPECT_EQ(scheduled(binary(Op::Add, place, num(1)), Int64), nullptr);
  for (const Op op : {Op::ReduceSum, Op::ReduceProd, Op::ReduceMin, Op::ReduceMax}) {
    const ExprPtr reduction = over(op, at(x, "k"));
    EXPECT_EQ(scheduled(binary(Op::Sub, read, reduction)), reduction);
  }
}

TEST_F(ScheduledReduction, IsAFoldOfSeveralStatesOfAnyType) {
  FoldParts parts;
  parts.states = {state("s", Float64), state("n", Int64)};
  parts.next = {binary(Op::Add, parts.states[0], at(x, "k")),
                binary(Op::Add, parts.states[1], num(1))};
  const std::vector<ExprPtr> results =
      fold(parts, {constant(0.0, Float64), num(0)}, {{"k", num(0), size("N")}});
  const ExprPtr ratio = cast(binary(Op::TrueDiv, results[0], results[1]), Float32);
  const ComputationPtr mean = computation(ratio);
  const ExprPtr found = scheduled_reduction(*mean);
  EXPECT_EQ(found, results[0]);
  EXPECT_EQ(first_result(results[1])->type, Float64);
  EXPECT_EQ(result_of(results[0], 1)->type, Int64);
  EXPECT_EQ(results_of_fold(ratio, *results[0]->operands.front()).size(), 2);
  EXPECT_EQ(scheduled_states(*mean).size(), 2);
  EXPECT_EQ(state_name(*mean, 1), "C_n");
  EXPECT_TRUE(contains_several_states(ratio));
  EXPECT_FALSE(contains_several_states(first));
}

TEST_F(ScheduledReduction, OfAnArgminIsAFold) {
  const std::vector<ExprPtr> found = position_of_extremum(
      Op::ReduceArgMin, {{"k", num(0), size("N")}, {"l", num(0), iterator("k")}}, at(x, "k"));
  ASSERT_EQ(found.size(), 2);
  for (const ExprPtr &position : found) {
    const ExprPtr reduction = scheduled(position, Int64);
    ASSERT_NE(reduction, nullptr);
    EXPECT_TRUE(has_several_states(*reduction));
    EXPECT_FALSE(reduction_of(*reduction)->ordered);
  }
  EXPECT_THROW(position_of_extremum(Op::ReduceArgMax, {{"k", num(0), size("N")}},
                                    at(vector_input("z", Complex64), "k")),
               Error);
}

TEST_F(ScheduledReduction, NeedsOnePieceThatDoesNotReadItself) {
  const auto pieces =
      declare_computation("C", {{"i", num(0), size("N")}}, nullptr, Float32, {}, {});
  define_piece(pieces, binary(Op::Lt, iterator("i"), num(2)), binary(Op::Add, first, read), {});
  define_piece(pieces, binary(Op::Ge, iterator("i"), num(2)), read, {});
  EXPECT_EQ(scheduled_reduction(*pieces), nullptr);

  const auto solve = declare_computation("X", {{"i", num(0), size("N")}}, nullptr, Float32, {}, {});
  const ExprPtr earlier =
      reduce(Op::ReduceSum, {{"k", num(0), iterator("i")}}, access(solve, {iterator("k")}));
  define_piece(solve, nullptr, binary(Op::Sub, read, earlier), {});
  EXPECT_EQ(scheduled_reduction(*solve), nullptr);

  const auto beside =
      declare_computation("Y", {{"i", num(1), size("N")}}, nullptr, Float32, {}, {});
  const ExprPtr last = select(binary(Op::Gt, iterator("i"), num(1)),
                              access(beside, {binary(Op::Sub, iterator("i"), num(1))}), read);
  define_piece(beside, nullptr, binary(Op::Add, first, last), {});
  EXPECT_EQ(scheduled_reduction(*beside), nullptr);
}

TEST_F(ScheduledReduction, IsReplacedWhereverItStands) {
  const ExprPtr value = binary(Op::Add, binary(Op::Mul, first, first), second);
  const ExprPtr replaced = with_replaced(value, first, read);
  EXPECT_EQ(to_string(replaced), "x[i] * x[i] + " + to_string(second));
  EXPECT_EQ(with_replaced(value, read, two.kind == TypeKind::Int ? num(2) : read), value);
  EXPECT_EQ(with_replaced(first, first, read), read);
}

TEST_F(ScheduledReduction, IsReplacedInConditionsOfOtherReductions) {
  const ExprPtr limited = reduce(Op::ReduceSum, {{"l", num(0), size("N")}}, at(x, "l"),
                                 binary(Op::Lt, at(x, "l"), first));
  ASSERT_NE(limited->predicate, nullptr);
  const ExprPtr replaced = with_replaced(binary(Op::Add, first, limited), first, read);
  EXPECT_EQ(to_string(replaced), "x[i] + sum(x[l] for l in range(0, N) if x[l] < x[i])");
}

} // namespace
} // namespace tilewright
