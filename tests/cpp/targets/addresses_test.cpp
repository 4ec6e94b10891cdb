// Addresses of compiled kernels: strides, ramps, gathers and scatters.
#include "targets/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <numeric>

namespace tilewright {
namespace {

TEST(Addresses, StridesOfEveryKindScalarAndVector) {
  for (const int lanes : {1, 4, 8}) {
    for (const int unit : {1, -1}) {
      const RunnableKernel kernel = compile_kernel(doubling(lanes, unit));
      const std::int64_t rows = 3;
      const std::int64_t columns = 16;
      // Column strides of 4 only where the kernel was promised them.
      for (const std::int64_t step :
           unit == 1 ? std::vector<std::int64_t>{4} : std::vector<std::int64_t>{4, -4, 8, -12}) {
        for (const std::int64_t direction : {1, -1}) {
          TestArray in = TestArray::of(numbers(1024));
          TestArray out = TestArray::of(std::vector<float>(1024, -1.0F));
          in.base = 2048;
          out.base = 2048;
          in.strides = {direction * 400, step};
          out.strides = {-direction * 320, step};
          ASSERT_EQ(run_kernel(kernel, {rows, columns}, {&in, &out}), KernelOk);
          const std::vector<float> given = in.values<float>();
          std::vector<float> wanted(1024, -1.0F);
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
              const auto from = static_cast<size_t>((2048 + i * in.strides[0] + j * step) / 4);
              const auto to = static_cast<size_t>((2048 + i * out.strides[0] + j * step) / 4);
              wanted[to] = 2 * given[from];
            }
          }
          EXPECT_EQ(out.values<float>(), wanted)
              << lanes << " lanes, unit " << unit << ", step " << step;
        }
      }
    }
  }
}

TEST(Addresses, EmptyLoopsTouchNothing) {
  const RunnableKernel kernel = compile_kernel(doubling(1, 1));
  void *data[] = {nullptr, nullptr};
  for (const auto &[rows, columns] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {0, 5}, {5, 0}, {-3, 2}}) {
    const std::int64_t integers[] = {rows, columns, 4, 4, 4, 4};
    CallRecord record;
    EXPECT_EQ(kernel.entry()(data, integers, &record), KernelOk);
  }
}

TEST(Addresses, UnitStrideVectorsAreWhole) {
  const RunnableKernel kernel = compile_kernel(doubling(8, 1));
  EXPECT_NE(kernel.llvm.find("load <8 x float>"), std::string::npos) << kernel.llvm;
  EXPECT_NE(kernel.llvm.find("store <8 x float>"), std::string::npos);
  EXPECT_EQ(kernel.llvm.find("insertelement <8 x float> %"), std::string::npos);
}

/// out[7 - ...] and in[stride * i] by ramps with every small stride, for any element type.
template <class T>
void check_ramps(ScalarType type) {
  for (const int lanes : {2, 4, 5, 8}) {
    for (const std::int64_t stride : {-3, -2, -1, 0, 1, 2, 3, 4, 5}) {
      Kernel kernel;
      kernel.name = "ramps";
      kernel.buffers = {argument("in", type, 1, false), argument("out", type, 1, true)};
      const ValuePtr value = load(0, "in", {type, lanes}, {ramp(integer(50), stride, lanes)});
      const std::int64_t back = stride == 0 ? 1 : stride;
      kernel.body = store(1, "out", {ramp(integer(60), back, lanes)}, value);
      std::vector<T> given(100);
      for (size_t k = 0; k < given.size(); ++k) {
        given[k] = static_cast<T>(static_cast<int>(k) % 120);
      }
      std::vector<T> wanted(100, T{});
      for (int k = 0; k < lanes; ++k) {
        wanted[static_cast<size_t>(60 + back * k)] = given[static_cast<size_t>(50 + stride * k)];
      }
      TestArray in = TestArray::of(given);
      TestArray out = TestArray::of(std::vector<T>(100, T{}));
      ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, {&in, &out}), KernelOk);
      EXPECT_EQ(out.values<T>(), wanted)
          << type_name(type) << ", " << lanes << " lanes, stride " << stride;
    }
  }
}

TEST(Addresses, RampsOfEverySmallStride) {
  check_ramps<float>(Float32);
  check_ramps<std::int8_t>({TypeKind::Int, 8});
  check_ramps<double>(Float64);
  check_ramps<std::complex<float>>(complex64);
}

/// Two of three lanes are stored, and nothing between them changes.
template <class T>
void check_masked_ramps(ScalarType type) {
  for (const int lanes : {4, 5, 16, 64}) {
    const ValuePtr all = ramp(integer(0), 1, lanes);
    const ValuePtr third = binary_value(Op::Mod, all, broadcast(integer(3), lanes));
    const ValuePtr mask = binary_value(Op::Lt, third, broadcast(integer(2), lanes));
    for (const std::int64_t stride : {-1, 1, 2, 3, 4, 5}) {
      Kernel kernel;
      kernel.name = "ramps";
      kernel.buffers = {argument("in", type, 1, false), argument("out", type, 1, true)};
      const ValuePtr value = load(0, "in", {type, lanes}, {all});
      kernel.body = store(1, "out", {ramp(integer(stride < 0 ? 63 : 0), stride, lanes)},
                          masked(mask, value), Op::None, mask);
      std::vector<T> given(64);
      std::iota(given.begin(), given.end(), T{1});
      std::vector<T> wanted(320, T{99});
      for (int k = 0; k < lanes; ++k) {
        if (k % 3 < 2) {
          wanted[static_cast<size_t>((stride < 0 ? 63 : 0) + stride * k)] =
              given[static_cast<size_t>(k)];
        }
      }
      TestArray in = TestArray::of(given);
      TestArray out = TestArray::of(std::vector<T>(320, T{99}));
      ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, {&in, &out}), KernelOk);
      EXPECT_EQ(out.values<T>(), wanted)
          << type_name(type) << ", " << lanes << " lanes, stride " << stride;
    }
  }
}

TEST(Addresses, StoresOfSomeLanesLeaveWhatLiesBetween) {
  check_masked_ramps<float>(Float32);
  check_masked_ramps<std::int8_t>({TypeKind::Int, 8});
  check_masked_ramps<std::int16_t>({TypeKind::Int, 16});
  check_masked_ramps<double>(Float64);
}

TEST(Addresses, StridedStoresAreWholeVectorsUnderMasks) {
  Kernel kernel;
  kernel.name = "apart";
  kernel.buffers = {argument("in", Float32, 1, false), argument("out", Float32, 1, true)};
  kernel.body = store(1, "out", {ramp(integer(0), 2, 16)},
                      load(0, "in", {Float32, 16}, {ramp(integer(0), 1, 16)}));
  const std::string text = compile_kernel(kernel, false, "x86-64-v4").llvm;
  EXPECT_EQ(count_of(text, "call void @llvm.masked.store.v16f32"), 2U) << text;
  EXPECT_EQ(count_of(text, "store float"), 0U);
}

TEST(Addresses, StridedLoadsStayInsideTheArray) {
  // Two elements apart, four lanes: the last element read is the last of the array, which ends at a
  // page.
  Kernel kernel;
  kernel.name = "edge";
  kernel.buffers = {argument("in", Float32, 1, false), argument("out", Float32, 1, true)};
  kernel.body = store(1, "out", {ramp(integer(0), 1, 8)},
                      load(0, "in", {Float32, 8}, {ramp(integer(0), 3, 8)}));
  std::vector<float> exact(22);
  std::iota(exact.begin(), exact.end(), 0.0F);
  TestArray in = TestArray::of(exact);
  TestArray out = TestArray::of(std::vector<float>(8));
  const RunnableKernel compiled = compile_kernel(kernel);
  ASSERT_EQ(run_kernel(compiled, {}, {&in, &out}), KernelOk);
  EXPECT_EQ(out.values<float>(), (std::vector<float>{0, 3, 6, 9, 12, 15, 18, 21}));
}

TEST(Addresses, GatherAndScatterThroughComputedSubscripts) {
  Kernel kernel;
  kernel.name = "gather";
  kernel.buffers = {argument("index", Int64, 1, false), argument("in", Float32, 1, false),
                    argument("out", Float32, 1, true)};
  const ValuePtr lanes = ramp(integer(0), 1, 4);
  const ValuePtr index = load(0, "index", {Int64, 4}, {lanes});
  const ValuePtr value = load(1, "in", {Float32, 4}, {index});
  kernel.body = store(2, "out", {binary_value(Op::Sub, broadcast(integer(9), 4), index)}, value);
  TestArray index_array = TestArray::of(std::vector<std::int64_t>{7, 0, 3, 3});
  TestArray in = TestArray::of(numbers(10));
  TestArray out = TestArray::of(std::vector<float>(10));
  ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, {&index_array, &in, &out}), KernelOk);
  EXPECT_EQ(out.values<float>(), (std::vector<float>{0, 0, 8, 0, 0, 0, 4, 0, 0, 1}));
}

/// out[r, lane] = in[row[lane], column[lane] + r] for r in [0, 3), and `later` among them.
Kernel neighbours(ScalarType type, int lanes, const StmtPtr &between) {
  Kernel kernel;
  kernel.name = "neighbours";
  kernel.buffers = {argument("row", Int64, 1, false), argument("column", Int64, 1, false),
                    argument("in", type, 2, between != nullptr), argument("out", type, 2, true)};
  const ValuePtr all = ramp(integer(0), 1, lanes);
  const ValuePtr row = load(0, "row", {Int64, lanes}, {all});
  const ValuePtr column = load(1, "column", {Int64, lanes}, {all});
  std::vector<StmtPtr> statements;
  for (const int r : {1, 0, 2}) { // the upper neighbour first
    const ValuePtr place =
        r == 0 ? column : binary_value(Op::Add, column, broadcast(integer(r), lanes));
    statements.push_back(
        store(3, "out", {integer(r), all}, load(2, "in", {type, lanes}, {row, place})));
    if (between && r == 1) {
      statements.push_back(between);
    }
  }
  kernel.body = block(statements);
  return kernel;
}

TEST(Addresses, NeighboursOfGatheredElements) {
  constexpr std::int64_t columns = 12;
  for (const int lanes : {2, 4, 7, 8, 16}) {
    const auto count = static_cast<size_t>(lanes);
    std::vector<std::int64_t> row;
    std::vector<std::int64_t> column;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      row.push_back((lane * 5) % 9);
      column.push_back((lane * 7) % (columns - 2));
    }
    const RunnableKernel kernel = compile_kernel(neighbours(Float32, lanes, nullptr));
    TestArray rows = TestArray::of(row);
    TestArray column_array = TestArray::of(column);
    TestArray in = TestArray::of(numbers(columns * 9));
    in.strides = {columns * 4, 4};
    TestArray out = TestArray::of(std::vector<float>(3 * count));
    out.strides = {static_cast<std::int64_t>(4 * count), 4};
    ASSERT_EQ(run_kernel(kernel, {}, {&rows, &column_array, &in, &out}), KernelOk);
    const std::vector<float> found = out.values<float>();
    for (size_t r = 0; r < 3; ++r) {
      for (size_t lane = 0; lane < count; ++lane) {
        EXPECT_EQ(found[r * count + lane],
                  static_cast<float>(row[lane] * columns + column[lane] + 1) +
                      static_cast<float>(r))
            << lanes << " lanes";
      }
    }
  }
}

TEST(Addresses, TwoGathersOfNeighboursBecomeOne) {
  // Stores to `out` stand between the gathers as declared: a second kernel has them in one value.
  const auto gathers = [](const Kernel &kernel) {
    const RunnableKernel compiled = compile_kernel(kernel, false, "x86-64-v4");
    return std::pair(count_of(compiled.llvm, "call <16 x i64> @llvm.masked.gather"),
                     count_of(compiled.llvm, "call <16 x float> @llvm.masked.gather"));
  };
  const auto interpolation = [](const ValuePtr &first, const ValuePtr &second) {
    Kernel kernel;
    kernel.name = "interpolation";
    kernel.buffers = {argument("index", Int64, 1, false), argument("in", Float32, 1, false),
                      argument("out", Float32, 1, true)};
    kernel.body = store(2, "out", {ramp(integer(0), 1, 16)},
                        add_f32(mul_f32(first, broadcast(f32(3), 16)), second));
    return kernel;
  };
  const ValuePtr index = load(0, "index", {Int64, 16}, {ramp(integer(0), 1, 16)});
  const auto at = [&](int distance) {
    return load(1, "in", {Float32, 16},
                {binary_value(Op::Add, index, broadcast(integer(distance), 16))});
  };
  EXPECT_EQ(gathers(interpolation(at(0), at(1))), std::pair(size_t{1}, size_t{0}));
  EXPECT_EQ(gathers(interpolation(at(0), at(-1))), std::pair(size_t{1}, size_t{0}));
  EXPECT_EQ(gathers(interpolation(at(0), at(2))), std::pair(size_t{0}, size_t{2}));
  // Between them the array is written.
  EXPECT_EQ(gathers(neighbours(Float32, 16, store(2, "in", {integer(0), integer(0)}, f32(0)))),
            std::pair(size_t{0}, size_t{3}));
}

TEST(Addresses, StoresOfOneElementByManyLanesKeepTheLast) {
  Kernel kernel;
  kernel.name = "same";
  kernel.buffers = {argument("out", Int64, 1, true)};
  kernel.body = store(0, "out", {integer(1)}, ramp(integer(5), 2, 4));
  TestArray out = TestArray::of(std::vector<std::int64_t>(2));
  ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, {&out}), KernelOk);
  EXPECT_EQ(out.values<std::int64_t>(), (std::vector<std::int64_t>{0, 11}));
}

} // namespace
} // namespace tilewright
