// Loops, temporaries, locals, parallel loops and subscript checks of compiled kernels.
#include "polyhedral/error.h"
#include "runtime/parallel.h"
#include "targets/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <numeric>

namespace tilewright {
namespace {

/// out[i] = sum of in[i, k] over k, accumulated in the output itself.
Kernel row_sums(bool parallel) {
  Kernel kernel;
  kernel.name = "row_sums";
  kernel.parameters = {"N", "K"};
  kernel.buffers = {argument("in", Float32, 2, false), argument("out", Float32, 1, true)};
  const ValuePtr i = variable(1, "i");
  const ValuePtr k = variable(2, "k");
  const ValuePtr sum =
      add_f32(load(1, "out", {Float32, 1}, {i}), load(0, "in", {Float32, 1}, {i, k}));
  kernel.body = for_loop(1, "i", integer(0), parameter_value(0, "N"),
                         parallel ? LoopKind::Parallel : LoopKind::Serial, 0,
                         block({store(1, "out", {i}, f32(0)),
                                for_loop(2, "k", integer(0), parameter_value(1, "K"),
                                         LoopKind::Serial, 0, store(1, "out", {i}, sum))}));
  return kernel;
}

TEST(Loops, AccumulatorsMoveToRegisters) {
  const RunnableKernel kernel = compile_kernel(row_sums(false));
  // One store of the identity or of the sum after the loop; none in the loop, whose body has the
  // only fadd.
  const size_t body = kernel.llvm.find("fadd float");
  ASSERT_NE(body, std::string::npos);
  const size_t start = kernel.llvm.rfind("\n\n", body);
  const size_t end = kernel.llvm.find("\n\n", body);
  EXPECT_EQ(count_of(kernel.llvm.substr(start, end - start), "store float"), 0U) << kernel.llvm;
}

TEST(Loops, ArithmeticIsNotContracted) {
  const RunnableKernel kernel = compile_kernel(row_sums(false));
  EXPECT_EQ(kernel.llvm.find("contract"), std::string::npos);
  EXPECT_EQ(kernel.llvm.find("fast"), std::string::npos);
}

TEST(Parallel, AgreesWithSerialForAnyNumberOfThreads) {
  const RunnableKernel kernel = compile_kernel(row_sums(true));
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    for (const std::int64_t rows : {0, 1, 2, 5, 100}) {
      const std::int64_t columns = 17;
      TestArray in = TestArray::of(numbers(static_cast<size_t>(rows * columns)));
      in.strides = {columns * 4, 4};
      TestArray out = TestArray::of(std::vector<float>(static_cast<size_t>(rows)));
      ASSERT_EQ(run_kernel(kernel, {rows, columns}, {&in, &out}), KernelOk);
      const std::vector<float> found = out.values<float>();
      for (std::int64_t i = 0; i < rows; ++i) {
        float sum = 0;
        for (std::int64_t k = 0; k < columns; ++k) {
          sum += static_cast<float>(i * columns + k + 1);
        }
        EXPECT_EQ(found[static_cast<size_t>(i)], sum);
      }
    }
  }
  set_num_threads(0);
}

TEST(Parallel, BodySeesVariablesLocalsAndTemporariesAroundIt) {
  // for t in 2: let twice = 2 * t; local base = 10; tmp[i] = i (serial); parallel i: out[t, i] =
  // tmp[i] + twice + base; a parallel loop inside the parallel one runs in place.
  Kernel kernel;
  kernel.name = "captures";
  kernel.parameters = {"N"};
  const ValuePtr n = parameter_value(0, "N");
  kernel.buffers = {argument("out", Float32, 2, true), temporary("tmp", Float32, {integer(2), n})};
  const ValuePtr t = variable(1, "t");
  const ValuePtr twice = variable(2, "twice");
  const ValuePtr i = variable(3, "i");
  const ValuePtr k = variable(4, "k");
  const ValuePtr base = local(7, "base", {complex64, 1});
  const ValuePtr sum =
      add_f32(add_f32(load(1, "tmp", {Float32, 1}, {k, i}), cast_value(twice, Float32)),
              call_value(Op::Imag, {base}, Float32));
  kernel.body =
      for_loop(1, "t", integer(0), integer(2), LoopKind::Serial, 0,
               block({let(2, "twice", mul(t, integer(2))),
                      declare_local(7, "base", constant_of(std::complex<double>(1, 10), complex64)),
                      assign_local(7, "base", binary_value(Op::Add, base, base)),
                      for_loop(5, "z", integer(0), n, LoopKind::Parallel, 0,
                               store(1, "tmp", {integer(1), variable(5, "z")},
                                     cast_value(variable(5, "z"), Float32))),
                      for_loop(3, "i", integer(0), n, LoopKind::Parallel, 0,
                               for_loop(4, "k", integer(1), integer(2), LoopKind::Parallel, 0,
                                        store(0, "out", {t, i}, sum)))}));
  set_num_threads(3);
  const std::int64_t count = 41;
  TestArray out = TestArray::of(std::vector<float>(static_cast<size_t>(2 * count)));
  out.strides = {count * 4, 4};
  ASSERT_EQ(run_kernel(compile_kernel(kernel), {count}, {&out}), KernelOk);
  set_num_threads(0);
  const std::vector<float> found = out.values<float>();
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t c = 0; c < count; ++c) {
      EXPECT_EQ(found[static_cast<size_t>(row * count + c)], static_cast<float>(c + 2 * row + 20));
    }
  }
}

TEST(ParallelLoops, SeveralRunAsOne) {
  // for i in range(2, N): for j in range(0, M): for k in range(-1, K): out[i, j, k + 1] += 1, with
  // the iterations of all three dealt out.
  Kernel kernel;
  kernel.name = "joined";
  kernel.parameters = {"N", "M", "K"};
  kernel.buffers = {argument("out", Float32, 3, true)};
  const std::vector<ValuePtr> at = {variable(1, "i"), variable(2, "j"),
                                    add(variable(3, "k"), integer(1))};
  StmtPtr body = store(0, "out", at, add_f32(load(0, "out", {Float32, 1}, at), f32(1)));
  for (const std::int64_t dealing : {0, 1, 2, 3, 50, -1, -2, -7, -1000}) {
    const auto loop = [&](std::int64_t id, const char *name, std::int64_t lower,
                          const StmtPtr &inside) {
      auto made = for_loop(id, name, integer(lower), parameter_value(id - 1, ""),
                           LoopKind::Parallel, 0, inside);
      made->parallel = {dealing < 0 ? Dealing::Dynamic : Dealing::Static, std::abs(dealing),
                        id > 1};
      return made;
    };
    kernel.body = loop(1, "i", 2, loop(2, "j", 0, loop(3, "k", -1, body)));
    const RunnableKernel compiled = compile_kernel(kernel);
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      for (const auto &[n, m, k] : std::vector<std::array<std::int64_t, 3>>{
               {5, 3, 4}, {3, 1, 0}, {9, 1, 6}, {4, 7, 1}, {1, 5, 5}, {5, 0, 3}, {4, 4, -1}}) {
        TestArray out = TestArray::of(std::vector<float>(10 * 10 * 10));
        out.strides = {400, 40, 4};
        ASSERT_EQ(run_kernel(compiled, {n, m, k}, {&out}), KernelOk);
        const std::vector<float> found = out.values<float>();
        for (std::int64_t place = 0; place < 1000; ++place) {
          const bool inside =
              place / 100 >= 2 && place / 100 < n && place / 10 % 10 < m && place % 10 <= k;
          ASSERT_EQ(found[static_cast<size_t>(place)], inside ? 1.0F : 0.0F);
        }
      }
    }
  }
  set_num_threads(0);
}

TEST(Temporaries, AllocationThatCannotBeIsReported) {
  Kernel kernel;
  kernel.name = "starved";
  kernel.parameters = {"N"};
  const ValuePtr n = parameter_value(0, "N");
  kernel.buffers = {argument("out", Float32, 1, true), temporary("small", Float32, {n}),
                    temporary("tmp", Float64, {n, n})};
  kernel.body = block({store(2, "tmp", {integer(0), integer(0)}, constant_of(1.0, Float64)),
                       store(0, "out", {integer(0)}, f32(1))});
  const RunnableKernel compiled = compile_kernel(kernel);
  TestArray out = TestArray::of(std::vector<float>(1));
  EXPECT_EQ(run_kernel(compiled, {std::int64_t{1} << 33}, {&out}),
            KernelOutOfMemory); // the product overflows
  EXPECT_EQ(run_kernel(compiled, {std::int64_t{1} << 26}, {&out}), KernelOutOfMemory); // 32 PiB
  EXPECT_EQ(out.values<float>()[0], 0.0F);
  EXPECT_EQ(run_kernel(compiled, {3}, {&out}), KernelOk);
  EXPECT_EQ(out.values<float>()[0], 1.0F);
}

TEST(Conditions, BothSidesAndNesting) {
  Kernel kernel;
  kernel.name = "conditions";
  kernel.buffers = {argument("out", Int64, 1, true)};
  const ValuePtr i = variable(1, "i");
  const StmtPtr inner = if_then(binary_value(Op::Lt, i, integer(6)),
                                store(0, "out", {i}, integer(2)), store(0, "out", {i}, integer(3)));
  kernel.body = for_loop(
      1, "i", integer(0), integer(9), LoopKind::Serial, 0,
      if_then(binary_value(Op::Lt, i, integer(3)), store(0, "out", {i}, integer(1)), inner));
  TestArray out = TestArray::of(std::vector<std::int64_t>(9));
  ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, {&out}), KernelOk);
  EXPECT_EQ(out.values<std::int64_t>(), (std::vector<std::int64_t>{1, 1, 1, 2, 2, 2, 3, 3, 3}));
}

TEST(Locals, VectorAndComplexAccumulators) {
  // local acc[4 lanes] of complex64: the sum over k of in[k, 0..3], and a bool local that remembers
  // a condition.
  Kernel kernel;
  kernel.name = "locals";
  kernel.buffers = {argument("in", complex64, 2, false), argument("out", complex64, 1, true),
                    argument("seen", Bool, 1, true)};
  const ValuePtr k = variable(1, "k");
  const ValuePtr lanes = ramp(integer(0), 1, 4);
  const ValuePtr sum = local(2, "sum", {complex64, 4});
  const ValuePtr seen = local(3, "seen", {Bool, 1});
  const ValuePtr row = load(0, "in", {complex64, 4}, {k, lanes});
  kernel.body = block(
      {declare_local(2, "sum", broadcast(constant_of(0.0, complex64), 4)),
       declare_local(3, "seen", boolean(false)),
       for_loop(
           1, "k", integer(0), integer(5), LoopKind::Serial, 0,
           block({assign_local(2, "sum", binary_value(Op::Add, sum, row)),
                  assign_local(3, "seen",
                               binary_value(Op::Or, seen, binary_value(Op::Eq, k, integer(4))))})),
       store(1, "out", {lanes}, sum), store(2, "seen", {integer(0)}, seen)});
  std::vector<std::complex<float>> given(20);
  std::vector<std::complex<float>> wanted(4);
  for (size_t n = 0; n < given.size(); ++n) {
    given[n] = {static_cast<float>(n), static_cast<float>(n * n)};
    wanted[n % 4] += given[n];
  }
  TestArray in = TestArray::of(given);
  in.strides = {32, 8};
  TestArray out = TestArray::of(std::vector<std::complex<float>>(4));
  TestArray flag = TestArray::of(std::vector<std::uint8_t>(1));
  ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, {&in, &out, &flag}), KernelOk);
  EXPECT_EQ(out.values<std::complex<float>>(), wanted);
  EXPECT_EQ(flag.values<std::uint8_t>()[0], 1);
}

Kernel indirect(LoopKind loop) {
  Kernel kernel;
  kernel.name = "indirect";
  kernel.parameters = {"N", "M"};
  kernel.buffers = {argument("index", int32, 1, false), argument("in", Float32, 1, false),
                    argument("out", Float32, 1, true),
                    temporary("tmp", Float32, {parameter_value(0, "N")})};
  kernel.sites = {{"in[0]", "in", 0}, {"in[index[i]]", "in", 0}};
  const ValuePtr i = variable(1, "i");
  const ValuePtr subscript = cast_value(load(0, "index", {int32, 1}, {i}), Int64);
  kernel.body = for_loop(1, "i", integer(0), parameter_value(0, "N"), loop, 0,
                         block({check_index(1, subscript, parameter_value(1, "M")),
                                store(2, "out", {i}, load(1, "in", {Float32, 1}, {subscript}))}));
  return kernel;
}

TEST(Subscripts, OutsideIsReportedFromSerialAndParallelLoops) {
  for (const LoopKind loop : {LoopKind::Serial, LoopKind::Parallel}) {
    const RunnableKernel kernel = compile_kernel(indirect(loop));
    set_num_threads(4);
    for (const std::int32_t bad : {-1, 10, 1 << 30, -(1 << 30)}) {
      std::vector<std::int32_t> subscripts(50, 3);
      TestArray in = TestArray::of(numbers(10));
      TestArray out = TestArray::of(std::vector<float>(50));
      TestArray index = TestArray::of(subscripts);
      ASSERT_EQ(run_kernel(kernel, {50, 10}, {&index, &in, &out}), KernelOk);
      EXPECT_EQ(out.values<float>()[49], 4.0F);
      subscripts[30] = bad;
      index = TestArray::of(subscripts);
      CallRecord record;
      EXPECT_EQ(run_kernel(kernel, {50, 10}, {&index, &in, &out}, &record), KernelIndexError);
      EXPECT_EQ(record.failure.site, 1);
      EXPECT_EQ(record.failure.value, bad);
      EXPECT_EQ(record.failure.extent, 10);
    }
    set_num_threads(0);
  }
}

TEST(Targets, OlderCpusGiveTheSameValues) {
  for (const char *cpu : {"x86-64", "x86-64-v2", "x86-64-v3"}) {
    const RunnableKernel kernel = compile_kernel(doubling(8, 1), false, cpu);
    TestArray in = TestArray::of(numbers(32));
    TestArray out = TestArray::of(std::vector<float>(32));
    in.strides = out.strides = {64, 4};
    ASSERT_EQ(run_kernel(kernel, {2, 16}, {&in, &out}), KernelOk);
    EXPECT_EQ(out.values<float>()[31], 64.0F);
  }
  EXPECT_THROW(describe_cpu("pentagon-9"), Error);
}

TEST(Targets, HalvesWorkWithoutHardwareConversions) {
  const ScalarType half{TypeKind::Float, 16};
  Kernel kernel;
  kernel.name = "halves";
  kernel.buffers = {argument("in", half, 1, false), argument("out", half, 1, true),
                    argument("wide", Float64, 1, false)};
  const ValuePtr lanes = ramp(integer(0), 1, 4);
  const ValuePtr value = load(0, "in", {half, 4}, {lanes});
  kernel.body = block({store(1, "out", {lanes}, binary_value(Op::Add, value, value)),
                       store(1, "out", {integer(0)},
                             cast_value(load(2, "wide", {Float64, 1}, {integer(0)}), half))});
  TestArray in =
      TestArray::of(std::vector<std::uint16_t>{0x3c00, 0x4000, 0x4200, 0x3555}); // 1, 2, 3, a third
  TestArray out = TestArray::of(std::vector<std::uint16_t>(4));
  TestArray wide = TestArray::of(std::vector<double>{1.5});
  ASSERT_EQ(run_kernel(compile_kernel(kernel, false, "x86-64"), {}, {&in, &out, &wide}), KernelOk);
  EXPECT_EQ(out.values<std::uint16_t>(),
            (std::vector<std::uint16_t>{0x3e00, 0x4400, 0x4600, 0x3955}));
}

TEST(Emitter, MalformedKernelsAreErrorsThatNameTheKernel) {
  Kernel kernel;
  kernel.name = "broken";
  kernel.buffers = {argument("out", Float32, 1, true)};
  kernel.body = store(0, "out", {integer(0)}, local(9, "nowhere", {Float32, 1}));
  try {
    compile_kernel(kernel);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Internal);
    EXPECT_NE(std::string(error.what()).find("broken"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("nowhere"), std::string::npos);
  }
}

TEST(Emitter, SharedNodesAreEmittedOnce) {
  // i doubled forty times by i + i: as a tree it would have 2^40 nodes.
  Kernel kernel;
  kernel.name = "doubled";
  kernel.buffers = {argument("out", Int64, 1, true)};
  const ValuePtr i = variable(1, "i");
  auto node = [](const ValuePtr &x) {
    return std::make_shared<Binary>(Op::Add, ValueType{Int64, 1}, x, x);
  };
  ValuePtr value = i;
  for (int k = 0; k < 40; ++k) {
    value = node(value);
  }
  kernel.body =
      for_loop(1, "i", integer(0), integer(3), LoopKind::Serial, 0, store(0, "out", {i}, value));
  TestArray out = TestArray::of(std::vector<std::int64_t>(3));
  ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, {&out}), KernelOk);
  EXPECT_EQ(out.values<std::int64_t>(),
            (std::vector<std::int64_t>{0, std::int64_t{1} << 40, std::int64_t{2} << 40}));
}

TEST(Emitter, LongChainsOfOperations) {
  Kernel kernel;
  kernel.name = "chain";
  kernel.buffers = {argument("out", Float64, 1, true)};
  ValuePtr value = load(0, "out", {Float64, 1}, {integer(0)});
  for (int k = 0; k < 2000; ++k) {
    value = binary_value(Op::Add, value, constant_of(1.0, Float64));
  }
  kernel.body = store(0, "out", {integer(0)}, value);
  TestArray out = TestArray::of(std::vector<double>{0.5});
  ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, {&out}), KernelOk);
  EXPECT_EQ(out.values<double>()[0], 2000.5);
}

TEST(Emitter, AKernelMayBeCalledLikeALibraryFunction) {
  Kernel kernel;
  kernel.name = "exp";
  kernel.buffers = {argument("out", Float64, 1, true)};
  kernel.body = store(0, "out", {integer(0)},
                      call_value(Op::Exp, {load(0, "out", {Float64, 1}, {integer(0)})}, Float64));
  TestArray out = TestArray::of(std::vector<double>{1.0});
  ASSERT_EQ(run_kernel(compile_kernel(kernel), {}, {&out}), KernelOk);
  EXPECT_EQ(out.values<double>()[0], std::exp(1.0));
}

} // namespace
} // namespace tilewright
