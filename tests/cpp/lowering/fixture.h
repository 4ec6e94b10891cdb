// What the lowering tests share: functions from short texts of code, schedules from commands, every
// stage of the lowering verified, and its result compared element by element with the evaluator of
// Layer I.
#pragma once

#include "algorithm/evaluator.h"
#include "algorithm/function.h"
#include "loops/interpreter.h"
#include "loops/verify.h"
#include "lowering/ast_generation.h"
#include "lowering/lower.h"
#include "lowering/translate.h"
#include "mapping/mapping.h"

#include <gtest/gtest.h>

#include <utility>

namespace tilewright::test {

inline ExprPtr it(const std::string &name) { return iterator(name); }
inline ExprPtr par(const std::string &name) {
  return parameter(name, "[" + name + "] -> { : " + name + " >= 0 }");
}
inline ExprPtr num(std::int64_t value) { return constant(value, Int64); }
inline ExprPtr f32(double value) { return constant(value, Float32); }
inline ExprPtr operator+(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Add, a, b); }
inline ExprPtr operator-(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Sub, a, b); }
inline ExprPtr operator*(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Mul, a, b); }

inline Command command(const std::string &computation, const std::string &name,
                       std::vector<Argument> arguments) {
  return {computation, name, std::move(arguments), {}};
}
using Names = std::vector<std::string>;

inline std::shared_ptr<Function> function_of(std::vector<ComputationPtr> outputs) {
  return make_function("f", std::move(outputs), {}, {}, {});
}

/// C[i,j] = sum over k of A[i,k] * B[k,j]
inline std::shared_ptr<Function> matmul() {
  const auto n = par("N");
  const auto m = par("M");
  const auto k = par("K");
  const auto a = declare_input("A", {n, k}, Float32, {});
  const auto b = declare_input("B", {k, m}, Float32, {});
  const auto c =
      declare_computation("C", {{"i", num(0), n}, {"j", num(0), m}}, nullptr, Float32, {}, {});
  define_piece(c, nullptr,
               reduce(Op::ReduceSum, {{"k", num(0), k}},
                      access(a, {it("i"), it("k")}) * access(b, {it("k"), it("j")})),
               {});
  return function_of({c});
}

inline Kernel lower_mapping(const Mapping &mapping, const LoweringOptions &options = {}) {
  const Kernel kernel = lower(build_program(mapping), options);
  verify_kernel(kernel);
  return kernel;
}

using Parameters = std::map<std::string, std::int64_t>;

/// Some small numbers, the same on each run.
inline double sample(size_t buffer, size_t element) {
  return static_cast<double>((element * 7 + buffer * 3 + element * element % 5) % 11) - 4;
}

/// Runs `kernel` on sample inputs; `fill` may overwrite them.
inline Interpreter interpret(const Kernel &kernel, const Parameters &parameters) {
  std::vector<std::int64_t> values;
  for (const std::string &name : kernel.parameters) {
    values.push_back(parameters.at(name));
  }
  Interpreter interpreter(kernel, values);
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (!kernel.buffers[b].is_written) {
      for (size_t e = 0; e < interpreter.memory.data[b].size(); ++e) {
        const double value = sample(b, e);
        interpreter.memory.data[b][e] = {static_cast<std::int64_t>(value), value};
      }
    }
  }
  return interpreter;
}

/// The same function by the evaluator of Layer I; every buffer as doubles.
inline std::vector<std::vector<double>> evaluate_oracle(const Function &function,
                                                        const Kernel &kernel,
                                                        const Interpreter &interpreter,
                                                        const Parameters &parameters) {
  std::vector<std::vector<char>> bytes(kernel.buffers.size());
  std::map<std::string, ArrayView> inputs;
  std::map<std::string, ArrayView> outputs;
  const auto put = [](char *at, ScalarType type, Number n) {
    if (type == Float32) {
      *reinterpret_cast<float *>(at) = static_cast<float>(n.f);
    } else if (type == Float64) {
      *reinterpret_cast<double *>(at) = n.f;
    } else if (type == Int64) {
      *reinterpret_cast<std::int64_t *>(at) = n.i;
    } else if (type.bits == 32) {
      *reinterpret_cast<std::int32_t *>(at) = static_cast<std::int32_t>(n.i);
    } else {
      *at = static_cast<char>(n.i);
    }
  };
  const auto get = [](const char *at, ScalarType type) {
    if (type == Float32) {
      return static_cast<double>(*reinterpret_cast<const float *>(at));
    }
    if (type == Float64) {
      return *reinterpret_cast<const double *>(at);
    }
    if (type == Int64) {
      return static_cast<double>(*reinterpret_cast<const std::int64_t *>(at));
    }
    return type.bits == 32 ? static_cast<double>(*reinterpret_cast<const std::int32_t *>(at))
                           : static_cast<double>(*at);
  };
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const KernelBuffer &buffer = kernel.buffers[b];
    if (!buffer.is_argument) {
      continue;
    }
    const auto size = static_cast<size_t>(buffer.type.bytes());
    bytes[b].resize(size * interpreter.memory.data[b].size());
    for (size_t e = 0; e < interpreter.memory.data[b].size(); ++e) {
      put(bytes[b].data() + e * size, buffer.type, interpreter.memory.data[b][e]);
    }
    ArrayView view{bytes[b].data(), interpreter.memory.extents[b], {}};
    view.strides.resize(view.extents.size());
    auto stride = static_cast<std::int64_t>(size);
    for (size_t d = view.extents.size(); d-- > 0;) {
      view.strides[d] = stride;
      stride *= view.extents[d];
    }
    (buffer.is_written ? outputs : inputs)[buffer.name] = view;
  }
  evaluate(function, parameters, inputs, outputs);
  std::vector<std::vector<double>> results(kernel.buffers.size());
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const KernelBuffer &buffer = kernel.buffers[b];
    const auto size = static_cast<size_t>(buffer.type.bytes());
    for (size_t e = 0; buffer.is_argument && e < interpreter.memory.data[b].size(); ++e) {
      results[b].push_back(get(bytes[b].data() + e * size, buffer.type));
    }
  }
  return results;
}

/// Interprets the kernel and compares every argument with the evaluator; gives the interpreter back
/// for its counts.
inline Interpreter expect_equal(const Function &function, const Kernel &kernel,
                                const Parameters &parameters) {
  Interpreter interpreter = interpret(kernel, parameters);
  const auto expected = evaluate_oracle(function, kernel, interpreter, parameters);
  EXPECT_EQ(interpreter.run(), -1);
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    for (size_t e = 0; e < expected[b].size(); ++e) {
      const Number n = interpreter.memory.data[b][e];
      const double got = kernel.buffers[b].type.is_floating() ? n.f : static_cast<double>(n.i);
      const bool same = got == expected[b][e] || (std::isnan(got) && std::isnan(expected[b][e]));
      EXPECT_TRUE(same) << kernel.buffers[b].name << " element " << e << ": " << got
                        << " instead of " << expected[b][e] << "\n"
                        << print_loop_ir(kernel);
      if (!same) {
        return interpreter;
      }
    }
  }
  return interpreter;
}

/// Lowers, verifies after each pass, and compares what each pass leaves with the evaluator.
inline Kernel expect_stages(const Mapping &mapping, const std::vector<Parameters> &sizes,
                            int masked_bytes) {
  LoweringOptions options;
  options.vectors = {masked_bytes};
  options.verifies = true;
  std::string before;
  options.observer = [&](const char *pass, const Kernel &kernel, double /*seconds*/) {
    const std::string text = print_loop_ir(kernel);
    if (std::exchange(before, text) == text) {
      return; // nothing changed
    }
    SCOPED_TRACE(pass);
    for (const Parameters &parameters : sizes) {
      expect_equal(mapping.function(), kernel, parameters);
    }
  };
  return lower(build_program(mapping), options);
}

/// For a target that has masks and for one that has none, of which the kernel is.
inline Kernel expect_all_stages(const Mapping &mapping, const std::vector<Parameters> &sizes) {
  expect_stages(mapping, sizes, 1);
  return expect_stages(mapping, sizes, 0);
}

} // namespace tilewright::test
