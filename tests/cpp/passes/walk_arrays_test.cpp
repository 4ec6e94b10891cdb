#include "loops/interpreter.h"
#include "loops/line.h"
#include "passes/find_first.h"
#include "passes/walk_arrays.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

/// at = start
/// while next < 1000 and not left:
///   turn = next
///   index = int64(at)
///   assert 0 <= index < N
///   ends = X[index] == 7
///   if ends: left = True
///   if not ends: more; at = at + by
///   next = turn + 1
/// Y[0] = at
struct Walked : Line {
  std::shared_ptr<const Variable> turn = variable(1, "turn");
  std::shared_ptr<const Variable> index = variable(2, "index");
  std::shared_ptr<const Local> at;
  std::shared_ptr<const Local> sum = local(11, "sum", {Float64, 1});

  Walked(std::int64_t start, std::int64_t by, ScalarType type, bool adds)
      : at(local(10, "at", {type, 1})) {
    kernel.sites.push_back({"X[at]", "X", 0});
    const auto next = local(20, "next", {Int64, 1});
    const auto left = local(21, "left", {Bool, 1});
    const auto ends = local(22, "ends", {Bool, 1});
    const StmtPtr adding =
        adds ? assign_local(11, "sum", binary_value(Op::Add, sum, x(index))) : block({});
    const StmtPtr moves =
        assign_local(10, "at", binary_value(Op::Add, at, constant_of(std::int64_t{by}, type)));
    const ValuePtr seven = constant_of(7.0, Float64);
    kernel.body = block(
        {declare_local(10, "at", constant_of(std::int64_t{start}, type)),
         declare_local(11, "sum", constant_of(0.0, Float64)), declare_local(20, "next", integer(0)),
         declare_local(21, "left", boolean(false)),
         while_loop(both(binary_value(Op::Lt, next, integer(1000)), unary_value(Op::Not, left)),
                    block({let(1, "turn", next), let(2, "index", cast_value(at, Int64)),
                           check_index(0, index, n),
                           declare_local(22, "ends", binary_value(Op::Eq, x(index), seven)),
                           if_then(ends, assign_local(21, "left", boolean(true))),
                           if_then(unary_value(Op::Not, ends), block({adding, moves})),
                           assign_local(20, "next", add(turn, integer(1)))})),
         y(integer(0), cast_value(at, Float64)), y(integer(1), sum)});
  }

  struct Outcome {
    int failed_site;
    double at;
    double sum;
    std::int64_t iterations;
  };
  Outcome outcome(std::int64_t size, std::int64_t key) const {
    Interpreter run(kernel, {size});
    for (std::int64_t i = 0; i < size; ++i) {
      run.memory.data[0][static_cast<size_t>(i)].f =
          i == key ? 7.0 : static_cast<double>(i) / 8 + 100;
    }
    const int failed = run.run();
    return {failed, run.memory.data[1][0].f, run.memory.data[1][1].f, run.iterations};
  }
};

TEST(WalkArrays, ValuesAndFailuresAreThoseOfTheLoop) {
  for (const bool adds : {false, true}) {
    for (const ScalarType type : {Int64, Int32, Int8}) {
      for (const std::int64_t by : {1, 3, -1, -2}) {
        for (const std::int64_t start : {0, 2, 39, 100}) {
          const Walked before(start, by, type, adds);
          Walked after = before;
          walk_arrays(after.kernel);
          find_first(after.kernel);
          const std::string text = after.printed();
          EXPECT_NE(text.find("at_at_first"), std::string::npos) << text;
          for (const std::int64_t size : {40, 120, 300}) {
            for (const std::int64_t key : {0, 2, 38, 117, -1}) {
              const auto wanted = before.outcome(size, key);
              const auto found = after.outcome(size, key);
              EXPECT_EQ(found.failed_site, wanted.failed_site)
                  << text << start << " " << by << " " << size << " " << key;
              EXPECT_EQ(found.at, wanted.at) << text << start << " " << by << " " << size;
              EXPECT_EQ(found.sum, wanted.sum) << text << start << " " << by << " " << size;
            }
          }
        }
      }
    }
  }
}

TEST(WalkArrays, VectorsAreAskedWhereASearchWalks) {
  const Walked before(1, 1, Int64, false);
  Walked after = before;
  walk_arrays(after.kernel);
  find_first(after.kernel);
  EXPECT_LT(10 * after.outcome(900, 890).iterations, before.outcome(900, 890).iterations);
}

} // namespace
} // namespace tilewright::test
