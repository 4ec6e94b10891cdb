// Kernels of a GPU on the emulator, and sanity of that proof: what is broken on purpose (a barrier
// left out, a tile too small, a wrong thread) does not pass.
#include "emulated.h"
#include "loops/gpu_queries.h"
#include "loops/traverse.h"
#include "passes/gpu/private_memory.h"
#include "planning/default_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tilewright {
namespace {

using testing::HasSubstr;

/// B[i] = A[i] + A[i + 1] + A[i + 2] in tiles of 16, whose part of A is in shared memory.
Mapping window() {
  const ExprPtr n = parameter("N");
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const auto at = [](std::int64_t distance) {
    return binary(Op::Add, iterator("i"), constant(distance, Int64));
  };
  const ComputationPtr a =
      declare_input("A", {binary(Op::Add, n, constant(std::int64_t{2}, Int64))}, Float32, {});
  const ComputationPtr b = declare_computation("B", {{"i", zero, n}}, nullptr, Float32, {}, {});
  define_piece(
      b, nullptr,
      binary(Op::Add, binary(Op::Add, access(a, {at(0)}), access(a, {at(1)})), access(a, {at(2)})),
      {});
  Mapping mapping(make_function("window", {b}, {a}, {}, {}));
  mapping = mapping.with(command("B", "gpu_tile", {std::string("i"), std::int64_t{16}}));
  return mapping.with(
      command("B", "cache",
              {std::string("A"), std::string("i0"), std::string("tile"), std::string("shared")}));
}

CompileOptions emulated() {
  CompileOptions options;
  options.layouts = {{0, 0}, {0, 0}};
  options.target = select_target("gpu-emulator");
  return options;
}

std::string ptx_of(const Mapping &mapping) {
  CompileOptions options = emulated();
  options.target = select_target("cuda");
  return code_text("ptx", mapping, options);
}

/// Runs the kernel for 50 elements; what the emulator says, or how many elements are wrong.
std::string run(const Kernel &kernel) {
  constexpr std::int64_t n = 50;
  std::vector<float> a(n + 2);
  std::iota(a.begin(), a.end(), 0.0F);
  std::vector<float> expected;
  for (size_t i = 0; i < n; ++i) {
    expected.push_back(a[i] + a[i + 1] + a[i + 2]);
  }
  return problem_of(kernel, a, expected, {n, sizeof(float), sizeof(float)});
}

TEST(GpuKernel, RunsOnTheEmulator) {
  const Kernel kernel = make_loops(window(), emulated());
  EXPECT_EQ(count_of(kernel, StatementKind::Barrier), 1);
  EXPECT_EQ(run(kernel), "");
}

TEST(GpuKernel, WithoutItsBarrierIsFound) {
  const Kernel kernel = without(make_loops(window(), emulated()), StatementKind::Barrier);
  EXPECT_THAT(run(kernel), HasSubstr("with no barrier between"));
}

TEST(GpuKernel, WithATileTooSmallIsFound) {
  Kernel kernel = make_loops(window(), emulated());
  for (KernelBuffer &buffer : kernel.buffers) {
    if (buffer.memory == "shared") {
      EXPECT_EQ(local_bytes(buffer), 18 * 4);
      buffer.extents = {integer(17)};
    }
  }
  EXPECT_THAT(run(kernel), HasSubstr("writes outside of tile"));
}

TEST(GpuKernel, WithAWrongThreadIsFound) {
  // Two threads do the work of one: both write its element.
  Kernel kernel = make_loops(window(), emulated());
  const auto halve = [](const ValuePtr &value) -> ValuePtr {
    return same_value(value, gpu_index(3)) ? floor_div(gpu_index(3), integer(2)) : nullptr;
  };
  EXPECT_THAT(run(with_values(kernel, halve)), HasSubstr("with no barrier between"));
}

TEST(GpuKernel, WithAWrongBlockIsFound) {
  Kernel kernel = make_loops(window(), emulated());
  const auto first = [](const ValuePtr &value) -> ValuePtr {
    return same_value(value, gpu_index(0)) ? integer(0) : nullptr;
  };
  EXPECT_THAT(run(with_values(kernel, first)), HasSubstr("blocks do not wait for each other"));
}

/// B[i] = A[i] + A[i + 1] + A[i + 2] as a sum over a block of 64 threads, of which three have
/// terms.
Mapping sum_over_threads() {
  const ExprPtr n = parameter("N");
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const ExprPtr all = constant(std::int64_t{64}, Int64);
  const ExprPtr k = iterator("k");
  const ComputationPtr a =
      declare_input("A", {binary(Op::Add, n, constant(std::int64_t{2}, Int64))}, Float32, {});
  const ComputationPtr b = declare_computation("B", {{"i", zero, n}}, nullptr, Float32, {}, {});
  define_piece(
      b, nullptr,
      reduce(Op::ReduceSum, {{"k", zero, all}},
             select(binary(Op::Lt, k, constant(std::int64_t{3}, Int64)),
                    access(a, {binary(Op::Add, iterator("i"), k)}), constant(0.0, Float32))),
      {});
  Mapping mapping(make_function("sum_over_threads", {b}, {a}, {}, {}));
  mapping = mapping.with(command("B", "gpu_block", {std::string("i")}));
  return mapping.with(command("B", "gpu_thread", {std::string("k")}));
}

bool is_shuffle(const Value &value) { return is<Shuffle>(value); }

TEST(GpuKernel, PutsTermsOfThreadsTogether) {
  const Kernel kernel = make_loops(sum_over_threads(), emulated());
  EXPECT_EQ(count_of(kernel, StatementKind::Barrier), 1);
  EXPECT_EQ(count_of(kernel, is_shuffle), 5 + 1);
  EXPECT_EQ(run(kernel), "");
  EXPECT_THAT(ptx_of(sum_over_threads()), HasSubstr("shfl.sync.bfly.b32"));
}

TEST(GpuKernel, WithoutTheBarrierBetweenWarpsIsFound) {
  const Kernel kernel = without(make_loops(sum_over_threads(), emulated()), StatementKind::Barrier);
  EXPECT_THAT(run(kernel), HasSubstr("of B_threads"));
  EXPECT_THAT(run(kernel), HasSubstr("with no barrier between"));
}

TEST(GpuKernel, WithAShuffleLeftOutIsFound) {
  Kernel kernel = make_loops(sum_over_threads(), emulated());
  const auto shorter = [](const ValuePtr &value) -> ValuePtr {
    const auto *shuffle = as<Shuffle>(value);
    return shuffle != nullptr && shuffle->bits == 1 ? constant_of(ConstantValue{0.0}, Float32)
                                                    : nullptr;
  };
  EXPECT_THAT(run(with_values(kernel, shorter)), HasSubstr("elements are wrong"));
}

TEST(GpuKernel, WithAShuffleOfSomeThreadsIsFound) {
  const Kernel kernel =
      changed(make_loops(sum_over_threads(), emulated()), [](const StmtPtr &statement) {
        bool shuffles = false;
        visit_values(*statement, [&](const Value &value) {
          const auto *shuffle = as<Shuffle>(value);
          shuffles = shuffles || (shuffle != nullptr && shuffle->bits == 16);
        });
        return shuffles ? if_then(binary_value(Op::Lt, gpu_index(3), integer(40)), statement)
                        : statement;
      });
  EXPECT_THAT(run(kernel), HasSubstr("not all threads of warp 1 of block (0, 0, 0)"));
}

TEST(GpuKernel, HasPtxWithSharedMemoryAndBarrier) {
  const std::string ptx = ptx_of(window());
  EXPECT_THAT(ptx, HasSubstr(".target sm_75"));
  EXPECT_THAT(ptx, HasSubstr("bar.sync"));
  EXPECT_THAT(ptx, HasSubstr("ld.shared.f32"));
  EXPECT_THAT(ptx, HasSubstr("st.shared.f32"));
  EXPECT_THAT(ptx, HasSubstr(".maxntid 16"));
}

} // namespace
} // namespace tilewright
