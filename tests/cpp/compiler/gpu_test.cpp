// Kernels of a GPU on the emulator, and sanity of that proof: what is broken on purpose (a barrier
// left out, a tile too small, a wrong thread) does not pass.
#include "emulated.h"
#include "lowering/build.h"
#include "lowering/private_memory.h"
#include "planning/default_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
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
  options.gpu.kind = GpuTarget::Kind::Emulator;
  return options;
}

using Change = std::function<StmtPtr(const StmtPtr &)>;

StmtPtr everywhere(const StmtPtr &statement, const Change &change) {
  return change(
      map_children(statement, [&](const StmtPtr &child) { return everywhere(child, change); }));
}

/// Runs the kernel for 50 elements; what the emulator says, or how many elements are wrong.
std::string run(const Kernel &kernel) {
  constexpr std::int64_t n = 50;
  std::vector<float> a(n + 2);
  std::iota(a.begin(), a.end(), 0.0F);
  std::vector<float> b(n, -1.0F);
  const std::string problem = run_emulated(kernel, a, b, {n, sizeof(float), sizeof(float)});
  int wrong = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    wrong += b[i] == a[i] + a[i + 1] + a[i + 2] ? 0 : 1;
  }
  return !problem.empty() || wrong == 0 ? problem : std::to_string(wrong) + " elements are wrong";
}

int barriers_in(const Kernel &kernel) {
  int count = 0;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    count += statement.kind == StatementKind::Barrier ? 1 : 0;
  });
  return count;
}

TEST(GpuKernel, RunsOnTheEmulator) {
  const Kernel kernel = lowered(window(), emulated());
  EXPECT_EQ(barriers_in(kernel), 1);
  EXPECT_EQ(run(kernel), "");
}

TEST(GpuKernel, WithoutItsBarrierIsFound) {
  Kernel kernel = lowered(window(), emulated());
  kernel.body = everywhere(kernel.body, [](const StmtPtr &statement) {
    return statement->kind == StatementKind::Barrier ? block({}) : statement;
  });
  EXPECT_THAT(run(kernel), HasSubstr("with no barrier between"));
}

TEST(GpuKernel, WithATileTooSmallIsFound) {
  Kernel kernel = lowered(window(), emulated());
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
  Kernel kernel = lowered(window(), emulated());
  ValueRewriter halve([](const ValuePtr &value) -> ValuePtr {
    return value->kind == ValueKind::GpuIndex && value->id == 3
               ? floor_div(gpu_index(3), integer(2))
               : nullptr;
  });
  kernel.body = everywhere(kernel.body, [&](const StmtPtr &statement) {
    return map_values(statement, std::ref(halve));
  });
  EXPECT_THAT(run(kernel), HasSubstr("with no barrier between"));
}

TEST(GpuKernel, WithAWrongBlockIsFound) {
  Kernel kernel = lowered(window(), emulated());
  ValueRewriter first([](const ValuePtr &value) -> ValuePtr {
    return value->kind == ValueKind::GpuIndex && value->id == 0 ? integer(0) : nullptr;
  });
  kernel.body = everywhere(kernel.body, [&](const StmtPtr &statement) {
    return map_values(statement, std::ref(first));
  });
  EXPECT_THAT(run(kernel), HasSubstr("blocks do not wait for each other"));
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

int shuffles_in(const Kernel &kernel) {
  int count = 0;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    visit_values(statement,
                 [&](const Value &value) { count += value.kind == ValueKind::Shuffle ? 1 : 0; });
  });
  return count;
}

TEST(GpuKernel, PutsTermsOfThreadsTogether) {
  const Kernel kernel = lowered(sum_over_threads(), emulated());
  EXPECT_EQ(barriers_in(kernel), 1);
  EXPECT_EQ(shuffles_in(kernel), 5 + 1);
  EXPECT_EQ(run(kernel), "");
  EXPECT_THAT(ptx_text(sum_over_threads(), emulated()), HasSubstr("shfl.sync.bfly.b32"));
}

TEST(GpuKernel, WithoutTheBarrierBetweenWarpsIsFound) {
  Kernel kernel = lowered(sum_over_threads(), emulated());
  kernel.body = everywhere(kernel.body, [](const StmtPtr &statement) {
    return statement->kind == StatementKind::Barrier ? block({}) : statement;
  });
  EXPECT_THAT(run(kernel), HasSubstr("of B_threads"));
  EXPECT_THAT(run(kernel), HasSubstr("with no barrier between"));
}

TEST(GpuKernel, WithAShuffleLeftOutIsFound) {
  Kernel kernel = lowered(sum_over_threads(), emulated());
  ValueRewriter shorter([](const ValuePtr &value) -> ValuePtr {
    return value->kind == ValueKind::Shuffle && value->id == 1
               ? constant_of(ConstantValue{0.0}, Float32)
               : nullptr;
  });
  kernel.body = everywhere(kernel.body, [&](const StmtPtr &statement) {
    return map_values(statement, std::ref(shorter));
  });
  EXPECT_THAT(run(kernel), HasSubstr("elements are wrong"));
}

TEST(GpuKernel, WithAShuffleOfSomeThreadsIsFound) {
  Kernel kernel = lowered(sum_over_threads(), emulated());
  kernel.body = everywhere(kernel.body, [](const StmtPtr &statement) {
    bool shuffles = false;
    visit_values(*statement, [&](const Value &value) {
      shuffles = shuffles || (value.kind == ValueKind::Shuffle && value.id == 16);
    });
    return shuffles ? if_then(binary_value(Op::Lt, gpu_index(3), integer(40)), statement)
                    : statement;
  });
  EXPECT_THAT(run(kernel), HasSubstr("not all threads of warp 1 of block (0, 0, 0)"));
}

TEST(GpuKernel, HasPtxWithSharedMemoryAndBarrier) {
  const std::string ptx = ptx_text(window(), emulated());
  EXPECT_THAT(ptx, HasSubstr(".target sm_75"));
  EXPECT_THAT(ptx, HasSubstr("bar.sync"));
  EXPECT_THAT(ptx, HasSubstr("ld.shared.f32"));
  EXPECT_THAT(ptx, HasSubstr("st.shared.f32"));
  EXPECT_THAT(ptx, HasSubstr(".maxntid 16"));
}

} // namespace
} // namespace tilewright
