// Kernels of the tests on the GPU emulator.
#pragma once

#include "compiler/compiler.h"
#include "loops/loop_ir.h"
#include "loops/traverse.h"
#include "mapping/mapping.h"
#include "runtime/device.h"
#include "runtime/gpu_emulator.h"
#include "runtime/jit.h"
#include "targets/emulator/emulator_target.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

inline Command command(const std::string &computation, const std::string &name,
                       std::vector<Argument> arguments) {
  Command result;
  result.computation = computation;
  result.name = name;
  result.arguments = std::move(arguments);
  return result;
}

/// Runs a kernel from array `a`, which begins `shift` bytes behind a multiple of 256, to array `b`;
/// what the emulator says.
inline std::string run_emulated(const Kernel &kernel, const std::vector<float> &a,
                                std::vector<float> &b, const std::vector<std::int64_t> &integers,
                                std::int64_t shift = 0) {
  const Target &target = emulator_target();
  TargetOptions options;
  options.device = target.default_device();
  options.symbol = kernel.name + "_under_test";
  const Artifact artifact = target.emit(kernel, options);
  const LoadedCode code = load_object(artifact.object, artifact.symbol);
  const auto bytes_a = static_cast<std::int64_t>(a.size() * sizeof(float));
  const auto bytes_b = static_cast<std::int64_t>(b.size() * sizeof(float));
  Device &device = gpu_emulator();
  auto *const memory_a = static_cast<char *>(device.allocate(bytes_a + shift));
  void *memory_b = device.allocate(bytes_b);
  device.copy_in(memory_a + shift, a.data(), bytes_a);
  std::string problem;
  try {
    DeviceCall call(device);
    CallRecord record;
    record.device = &call;
    const std::array<void *, 2> data = {memory_a + shift, memory_b};
    const auto entry = reinterpret_cast<KernelEntry>(code.address);
    call.finish(entry(data.data(), integers.data(), &record), record.failure, false, true);
    device.copy_out(b.data(), memory_b, bytes_b);
  } catch (const Error &error) {
    problem = error.what();
  }
  device.release(memory_a);
  device.release(memory_b);
  return problem;
}

/// What the emulator says of such a run, or how many elements of `b` are not `expected`.
inline std::string problem_of(const Kernel &kernel, const std::vector<float> &a,
                              const std::vector<float> &expected,
                              const std::vector<std::int64_t> &integers, std::int64_t shift = 0) {
  std::vector<float> b(expected.size(), -1.0F);
  const std::string problem = run_emulated(kernel, a, b, integers, shift);
  int wrong = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    wrong += b[i] == expected[i] ? 0 : 1;
  }
  return !problem.empty() || wrong == 0 ? problem : std::to_string(wrong) + " elements are wrong";
}

// ---- what is broken on purpose ----

/// The kernel with `change` made to every statement, those inside first.
inline Kernel changed(Kernel kernel, const std::function<StmtPtr(const StmtPtr &)> &change) {
  const std::function<StmtPtr(const StmtPtr &)> everywhere = [&](const StmtPtr &statement) {
    return change(map_children(statement, everywhere));
  };
  kernel.body = everywhere(kernel.body);
  return kernel;
}

inline Kernel without(const Kernel &kernel, StatementKind kind) {
  return changed(kernel, [&](const StmtPtr &statement) {
    return statement->kind == kind ? block({}) : statement;
  });
}

inline Kernel with_values(const Kernel &kernel, const ValueRewriter::Leaf &leaf) {
  ValueRewriter rewrite(leaf);
  return changed(
      kernel, [&](const StmtPtr &statement) { return map_values(statement, std::ref(rewrite)); });
}

inline int count_of(const Kernel &kernel, StatementKind kind) {
  int count = 0;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    count += statement.kind == kind ? 1 : 0;
  });
  return count;
}

inline int count_of(const Kernel &kernel, const std::function<bool(const Value &)> &holds) {
  int count = 0;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    visit_values(statement, [&](const Value &value) { count += holds(value) ? 1 : 0; });
  });
  return count;
}

} // namespace tilewright
