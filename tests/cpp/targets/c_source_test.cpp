// C source of small kernels, as text: what Python's tests compile and call (tests/python/export) is
// looked at here.
#include "loops/joined_loops.h"
#include "polyhedral/error.h"
#include "targets/c_source/c_source.h"
#include "targets/c_source/names.h"
#include "targets/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// From the name of the function on.
std::string definition_of(const Kernel &kernel, const TargetOptions &options = {}) {
  TargetOptions named = options;
  named.symbol = "run";
  const std::string text = c_source_target().emit(kernel, named).text;
  return text.substr(text.find("int run("));
}

KernelBuffer array_of(const std::string &name, ScalarType type, std::vector<ValuePtr> extents,
                      bool is_written) {
  KernelBuffer buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.is_written = is_written;
  buffer.extents = std::move(extents);
  buffer.layout.unit = static_cast<int>(buffer.extents.size()) - 1;
  return buffer;
}

/// y[i, j] = value for i < N and j < M; x has the same shape.
struct Rows {
  explicit Rows(ScalarType type) {
    kernel.name = "rows";
    kernel.parameters = {"N", "M"};
    const ValuePtr n = parameter_value(0, "N");
    const ValuePtr m = parameter_value(1, "M");
    kernel.buffers = {array_of("x", type, {n, m}, false), array_of("y", type, {n, m}, true)};
  }
  ValuePtr i = variable(1, "i");
  ValuePtr j = variable(2, "j");
  ValuePtr x(const ValuePtr &row, const ValuePtr &column) const {
    return load(0, "x", {kernel.buffers[0].type, 1}, {row, column});
  }
  StmtPtr into_y(const ValuePtr &value) const { return store(1, "y", {i, j}, value); }
  std::shared_ptr<For> over_j(const StmtPtr &body, LoopKind kind = LoopKind::Serial,
                              std::int64_t factor = 0) const {
    return for_loop(2, "j", integer(0), parameter_value(1, "M"), kind, factor, body);
  }
  std::shared_ptr<For> over_i(const StmtPtr &body, LoopKind kind = LoopKind::Serial) const {
    return for_loop(1, "i", integer(0), parameter_value(0, "N"), kind, 0, body);
  }
  Kernel kernel;
};

TEST(CSource, IsAsAPersonWouldWriteIt) {
  Rows rows(Float32);
  rows.kernel.body = rows.over_i(rows.over_j(
      rows.into_y(binary_value(Op::Mul, rows.x(rows.i, rows.j), constant_of(0.1, Float32)))));
  EXPECT_EQ(definition_of(rows.kernel),
            R"(int run(int64_t N, int64_t M, const float *restrict x, float *restrict y) {
  if (N > TW_LARGEST_SIZE || M > TW_LARGEST_SIZE || N < 0 || M < 0) {
    return run_SIZES;
  }
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = 0; j < M; ++j) {
      y[i * M + j] = x[i * M + j] * 0.1f;
    }
  }
  return run_OK;
}
)");
}

TEST(CSource, BoundsOfTwoLoopsInOneBlockHaveTwoNames) {
  Rows rows(Int64);
  const auto up_to_x = [&](LoopKind kind) {
    return for_loop(2, "j", integer(0), rows.x(rows.i, integer(0)), kind, 0, rows.into_y(rows.j));
  };
  for (const LoopKind kind : {LoopKind::Serial, LoopKind::Parallel}) {
    rows.kernel.body = rows.over_i(block({up_to_x(kind), up_to_x(kind)}));
    const std::string text = definition_of(rows.kernel);
    EXPECT_THAT(text, HasSubstr("const int64_t j_end = x[i * M];"));
    EXPECT_THAT(text, HasSubstr("const int64_t j_end_2 = x[i * M];"));
    EXPECT_THAT(text, HasSubstr("for (int64_t j = 0; j < j_end_2; ++j) {"));
  }
}

TEST(CSource, ParallelLoopsHaveTheirSchedule) {
  Rows rows(Float32);
  const auto inner = rows.over_j(rows.into_y(f32(1)), LoopKind::Parallel);
  inner->parallel.joined = true;
  const auto outer = rows.over_i(inner, LoopKind::Parallel);
  outer->parallel = {Dealing::Dynamic, 4, false};
  rows.kernel.body = outer;
  EXPECT_THAT(definition_of(rows.kernel),
              HasSubstr("#pragma omp parallel for collapse(2) schedule(dynamic, 4)\n"));
  const auto alone = rows.over_i(rows.over_j(rows.into_y(f32(1))), LoopKind::Parallel);
  rows.kernel.body = alone;
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr("#pragma omp parallel for schedule(static)\n"));
  rows.kernel.least_work_for_threads = 60'000;
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr("schedule(static) if(1.0 * N * M >= 60000)\n"));
}

TEST(CSource, VectorLoopsThatSumUpStayPlain) {
  Rows rows(Float32);
  const ValuePtr y = load(1, "y", {Float32, 1}, {rows.i, rows.j});
  rows.kernel.body = rows.over_i(rows.over_j(rows.into_y(f32(1)), LoopKind::Vector, 8));
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr("#pragma omp simd simdlen(8)\n"));
  const auto sum = store(1, "y", {rows.i, integer(0)},
                         binary_value(Op::Add, load(1, "y", {Float32, 1}, {rows.i, integer(0)}),
                                      rows.x(rows.i, rows.j)),
                         Op::Add);
  rows.kernel.body = rows.over_i(rows.over_j(sum, LoopKind::Vector, 8));
  EXPECT_THAT(definition_of(rows.kernel), Not(HasSubstr("omp simd")));
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr("y[i * M] += x[i * M + j];"));
  // Two iterations may meet in one element.
  const ValuePtr half = floor_div(rows.j, integer(2));
  const auto pairs = store(
      1, "y", {rows.i, half},
      binary_value(Op::Add, load(1, "y", {Float32, 1}, {rows.i, half}), rows.x(rows.i, rows.j)),
      Op::Add);
  rows.kernel.body = rows.over_i(rows.over_j(pairs, LoopKind::Vector, 8));
  EXPECT_THAT(definition_of(rows.kernel), Not(HasSubstr("omp simd")));
}

TEST(CSource, LanesStartNoThreads) {
  Rows rows(Float32);
  rows.kernel.body =
      rows.over_i(rows.over_j(rows.into_y(f32(1)), LoopKind::Parallel), LoopKind::Vector);
  EXPECT_THAT(definition_of(rows.kernel), Not(HasSubstr("omp simd")));
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr("#pragma omp parallel for"));
  rows.kernel.body =
      rows.over_i(rows.over_j(rows.into_y(f32(1)), LoopKind::Vector, 4), LoopKind::Parallel);
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr("omp simd"));
}

TEST(CSource, IntegersWrapAndIndicesNeedNot) {
  Rows rows(Int32);
  rows.kernel.body = rows.over_i(rows.over_j(
      rows.into_y(binary_value(Op::Add, rows.x(rows.i, rows.j), rows.x(rows.j, rows.i)))));
  EXPECT_THAT(definition_of(rows.kernel),
              HasSubstr("y[i * M + j] = tw_add_int32(x[i * M + j], x[j * M + i]);"));
  Rows plain(Int64);
  plain.kernel.body = plain.over_i(
      plain.over_j(plain.into_y(sub(mul(integer(3), plain.i), floor_div(plain.j, integer(8))))));
  EXPECT_THAT(definition_of(plain.kernel), HasSubstr("= 3 * i - j / 8;"));
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  plain.kernel.body = plain.over_i(plain.over_j(plain.into_y(integer(least))));
  EXPECT_THAT(definition_of(plain.kernel), HasSubstr("= INT64_MIN;"));
}

TEST(CSource, FailingChecksLeaveParallelLoopsAtTheEndOfTheIteration) {
  Rows rows(Float32);
  rows.kernel.sites = {{"x[p[i]]", "x"}, {"x[q[i]] /* */", "x"}};
  const ValuePtr m = parameter_value(1, "M");
  rows.kernel.body =
      rows.over_i(block({check_index(1, rows.i, m), rows.over_j(rows.into_y(f32(1)))}));
  EXPECT_THAT(definition_of(rows.kernel),
              HasSubstr(R"(    if (i < 0 || i >= M) { /* x[q[i]] /* * / */
      return run_SUBSCRIPT | 1 << 8;
    }
)"));
  rows.kernel.body = rows.over_i(
      block({check_index(0, rows.i, m), rows.over_j(rows.into_y(f32(1)))}), LoopKind::Parallel);
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr(R"(        failure = run_SUBSCRIPT | 0 << 8;
        goto next_i;
)"));
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr(R"(next_i:
    if (failure != run_OK) {
      #pragma omp atomic write
      status = failure;
    }
  }
  return status;
)"));
}

TEST(CSource, MemoryIsFreedOnTheWayOut) {
  Rows rows(Float32);
  rows.kernel.sites = {{"x[p[i]]", "x"}};
  rows.kernel.buffers.push_back(array_of("T", Float32, {parameter_value(1, "M")}, true));
  rows.kernel.buffers.back().is_argument = false;
  rows.kernel.buffers.push_back(rows.kernel.buffers.back());
  rows.kernel.buffers.back().name = "U";
  rows.kernel.buffers.back().is_scoped = true;
  const StmtPtr writes = block({check_index(0, rows.i, parameter_value(1, "M")),
                                store(2, "T", {rows.i}, f32(1)), store(3, "U", {rows.i}, f32(2))});
  rows.kernel.body = rows.over_i(allocate(3, "U", writes));
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr(R"(  int status = run_OK;
  float *T = tw_allocate(M, sizeof *T);
  if (T == NULL) {
    status = run_OUT_OF_MEMORY;
    goto end;
  }
  for (int64_t i = 0; i < N; ++i) {
    float *U = tw_allocate(M, sizeof *U);
    if (U == NULL) {
      status = run_OUT_OF_MEMORY;
      goto end;
    }
    if (i < 0 || i >= M) { /* x[p[i]] */
      status = run_SUBSCRIPT | 0 << 8;
      goto free_U;
    }
    T[i] = 1.0f;
    U[i] = 2.0f;
free_U:
    free(U);
    if (status != run_OK) {
      goto end;
    }
  }
end:
  free(T);
  return status;
)"));
}

TEST(CSource, StatementsAreNoted) {
  Rows rows(Float32);
  rows.kernel.statements = {{"blur*/", {"/home/somebody/images.py", 12, ""}}};
  const auto written = store(1, "y", {rows.i, rows.j}, f32(1));
  written->statement = 0;
  rows.kernel.body = rows.over_i(rows.over_j(written));
  EXPECT_THAT(definition_of(rows.kernel), HasSubstr("      /* blur* /: images.py:12 */\n"));
}

TEST(CSource, NamesAreThoseOfC) {
  EXPECT_EQ(c_identifier("row"), "row");
  EXPECT_EQ(c_identifier("double"), "double_");
  EXPECT_EQ(c_identifier("tw_min"), "tw_min_");
  EXPECT_EQ(c_identifier("_Bool"), "_Bool_");
  EXPECT_EQ(c_identifier("2x"), "_2x");
  EXPECT_EQ(c_identifier("\xc3\xa9t\xc3\xa9"), "_c3_a9t_c3_a9");
  CNames names;
  EXPECT_EQ(names.take("i"), "i");
  EXPECT_EQ(names.take("i"), "i_2");
}

TEST(CSource, WhatItDoesNotHaveIsRefused) {
  Rows rows(Float32);
  rows.kernel.body = launch({1, 1, 1}, rows.over_i(rows.over_j(rows.into_y(f32(1)))));
  try {
    definition_of(rows.kernel);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Schedule);
    EXPECT_THAT(error.what(), HasSubstr("blocks and threads of a GPU"));
  }
  EXPECT_THROW(definition_of(doubling(4, 1)), Error); // vectors are the loop IR's, not C's
  EXPECT_THROW(c_source_target().require_callable({}), Error);
  EXPECT_THROW(c_source_target().text("llvm", rows.kernel, {}), Error);
  EXPECT_TRUE(c_source_target().features({}).plain_loops);
}

} // namespace
} // namespace tilewright
