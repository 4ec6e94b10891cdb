// Small functions that the tests of mapping and analysis schedule, and the questions they ask of a
// scheduled program: at which time an instance runs, and with which text something is refused.
#pragma once

#include "algorithm/function.h"
#include "mapping/mapping.h"
#include "mapping/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::examples {

inline WeakNumber whole(std::int64_t value) { return {TypeKind::Int, value}; }
inline ExprPtr plus(const Operand &a, const Operand &b) { return binary(Op::Add, a, b); }
inline ExprPtr minus(const Operand &a, const Operand &b) { return binary(Op::Sub, a, b); }
inline ExprPtr times(const Operand &a, const Operand &b) { return binary(Op::Mul, a, b); }
inline ExprPtr at(const std::string &name, std::int64_t offset = 0) {
  return offset == 0 ? iterator(name) : plus(iterator(name), whole(offset));
}
inline ExprPtr size(const std::string &name, std::int64_t offset = 0) {
  const ExprPtr parameter_value = parameter(name, "[" + name + "] -> { : " + name + " >= 0 }");
  return offset == 0 ? parameter_value : plus(parameter_value, whole(offset));
}

inline ComputationPtr input(const std::string &name, std::vector<ExprPtr> extents,
                            ScalarType type = Float32) {
  return declare_input(name, std::move(extents), type, {});
}
inline ComputationPtr declare(const std::string &text, ScalarType type = Float32) {
  return declare_computation(text, type, {}, {});
}
inline ComputationPtr define(const std::string &text, const ExprPtr &value,
                             ScalarType type = Float32) {
  const ComputationPtr computation = declare(text, type);
  define_piece(computation, nullptr, value, {});
  return computation;
}
/// Adds a piece: `value` where `set` and the domain hold.
inline void define_on(const ComputationPtr &computation, const std::string &set,
                      const ExprPtr &value) {
  define_piece_isl(computation,
                   to_text(isl::set(isl_context(), set).intersect(computation->domain)), value, {});
}
inline std::shared_ptr<const Function> function(std::vector<ComputationPtr> outputs,
                                                const std::vector<ExprPtr> &context = {}) {
  return make_function("f", std::move(outputs), {}, context, {});
}

/// C[i] = x[i] + 1.
inline std::shared_ptr<const Function> map_1d() {
  const auto x = input("x", {size("N")});
  return function({define("[N] -> { C[i] : 0 <= i < N }", plus(access(x, {at("i")}), whole(1)))});
}

/// C[i,j] = A[i,j] + 1.
inline std::shared_ptr<const Function> map_2d() {
  const auto a = input("A", {size("N"), size("M")});
  return function({define("[N,M] -> { C[i,j] : 0 <= i < N and 0 <= j < M }",
                          plus(access(a, {at("i"), at("j")}), whole(1)))});
}

/// C[i,j] = A[i,j] + 1 where j <= i.
inline std::shared_ptr<const Function> triangle() {
  const auto a = input("A", {size("N"), size("N")});
  return function({define("[N] -> { C[i,j] : 0 <= j <= i < N }",
                          plus(access(a, {at("i"), at("j")}), whole(1)))});
}

/// C[i,j,k] = A[i,j,k] + 1.
inline std::shared_ptr<const Function> map_3d() {
  const auto a = input("A", {size("N"), size("N"), size("N")});
  return function({define("[N] -> { C[i,j,k] : 0 <= i < N and 0 <= j < N and 0 <= k < N }",
                          plus(access(a, {at("i"), at("j"), at("k")}), whole(1)))});
}

/// B[i] = x[i] + x[i+1]; C[i] = B[i] + B[i+1].
inline std::shared_ptr<const Function> two_stencils() {
  const auto x = input("x", {size("N", 2)});
  const auto b =
      define("[N] -> { B[i] : 0 <= i <= N }", plus(access(x, {at("i")}), access(x, {at("i", 1)})));
  const auto c =
      define("[N] -> { C[i] : 0 <= i < N }", plus(access(b, {at("i")}), access(b, {at("i", 1)})));
  return function({c});
}

/// B[i,j] = A[i,j] * 2; C[i,j] = B[i,j] + 1.
inline std::shared_ptr<const Function> pointwise_pair() {
  const auto a = input("A", {size("N"), size("M")});
  const auto b = define("[N,M] -> { B[i,j] : 0 <= i < N and 0 <= j < M }",
                        times(access(a, {at("i"), at("j")}), whole(2)));
  const auto c = define("[N,M] -> { C[i,j] : 0 <= i < N and 0 <= j < M }",
                        plus(access(b, {at("i"), at("j")}), whole(1)));
  return function({c});
}

/// C[i,j] = sum(A[i,k] * B[k,j] over k).
inline std::shared_ptr<const Function> matmul() {
  const auto a = input("A", {size("N"), size("K")});
  const auto b = input("B", {size("K"), size("M")});
  const ExprPtr product = times(access(a, {at("i"), at("k")}), access(b, {at("k"), at("j")}));
  const ExprPtr sum =
      reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), size("K")}}, product);
  return function({define("[N,M] -> { C[i,j] : 0 <= i < N and 0 <= j < M }", sum)});
}

/// P[i] = P[i-1] + x[i], the recurrence over one dimension.
inline std::shared_ptr<const Function> prefix_sum() {
  const auto x = input("x", {size("N")});
  const auto p = declare("[N] -> { P[i] : 0 <= i < N }");
  define_on(p, "[N] -> { P[i] : i = 0 }", access(x, {at("i")}));
  define_on(p, "[N] -> { P[i] : i > 0 }", plus(access(p, {at("i", -1)}), access(x, {at("i")})));
  return function({p});
}

/// A[t,i] from A[t-1,i-1..i+1]; R[i] = A[T-1,i] so that A itself may be stored in less.
inline std::shared_ptr<const Function> jacobi_1d() {
  const auto x = input("x", {size("N")});
  const auto a = declare("[T,N] -> { A[t,i] : 0 <= t < T and 0 <= i < N }");
  define_on(a, "[T,N] -> { A[t,i] : t = 0 }", access(x, {at("i")}));
  define_on(a, "[T,N] -> { A[t,i] : t > 0 and (i = 0 or i = N - 1) }",
            access(a, {at("t", -1), at("i")}));
  define_on(a, "[T,N] -> { A[t,i] : t > 0 and 0 < i < N - 1 }",
            plus(plus(access(a, {at("t", -1), at("i", -1)}), access(a, {at("t", -1), at("i")})),
                 access(a, {at("t", -1), at("i", 1)})));
  const ExprPtr steps = parameter("T", "[T] -> { : T > 0 }");
  return function(
      {define("[T,N] -> { R[i] : 0 <= i < N }", access(a, {minus(steps, whole(1)), at("i")}))});
}

/// A[i,j] from A[i-1,j], A[i,j-1] and, out of order, A[i-1,j+1]: Seidel in two dimensions, in place
/// over time.
inline std::shared_ptr<const Function> seidel() {
  const auto x = input("x", {size("N")});
  const auto a = declare("[N,M] -> { A[i,j] : 0 <= i < N and 0 <= j < M }");
  const std::string inside = "i > 0 and 0 < j < M - 1";
  define_on(a, "[N,M] -> { A[i,j] : not (" + inside + ") }", access(x, {at("i")}));
  define_on(a, "[N,M] -> { A[i,j] : " + inside + " }",
            plus(plus(access(a, {at("i", -1), at("j")}), access(a, {at("i"), at("j", -1)})),
                 access(a, {at("i", -1), at("j", 1)})));
  return function({a});
}

/// X[i] = b[i] - sum(L[i,k] * X[k] over k < i).
inline std::shared_ptr<const Function> triangular_solve() {
  const auto b = input("b", {size("N")});
  const auto l = input("L", {size("N"), size("N")});
  const auto x = declare("[N] -> { X[i] : 0 <= i < N }");
  const ExprPtr sum = reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), at("i")}},
                             times(access(l, {at("i"), at("k")}), access(x, {at("k")})));
  define_piece(x, nullptr, minus(access(b, {at("i")}), sum), {});
  return function({x});
}

inline Command command(const std::string &computation, const std::string &name,
                       std::vector<Argument> arguments) {
  return {computation, name, std::move(arguments), {}};
}

/// Parameter values by name.
using Sizes = std::map<std::string, std::int64_t>;

inline isl::map at_sizes(isl::map map, const Sizes &sizes) {
  for (const auto &[name, value] : sizes) {
    const int position = isl_map_find_dim_by_name(map.get(), isl_dim_param, name.c_str());
    if (position >= 0) {
      map = map.fix_si(isl::dim::param, static_cast<unsigned>(position), static_cast<int>(value));
    }
  }
  return map;
}

inline const Statement &statement(const Program &program, const std::string &name) {
  for (const Statement &candidate : program.statements) {
    if (candidate.name == name) {
      return candidate;
    }
  }
  throw std::runtime_error("no statement " + name);
}

/// The time of one instance without its static positions: the values of its loops.
inline std::vector<std::int64_t> loops_of(const Program &program, const std::string &name,
                                          const std::vector<std::int64_t> &instance,
                                          const Sizes &sizes = {}) {
  isl::map time = at_sizes(time_map(statement(program, name)), sizes);
  for (size_t d = 0; d < instance.size(); ++d) {
    time = time.fix_si(isl::dim::in, static_cast<unsigned>(d), static_cast<int>(instance[d]));
  }
  Point point;
  if (!sample_point(time.range(), point)) {
    throw std::runtime_error("no such instance");
  }
  std::vector<std::int64_t> loops;
  for (size_t d = 1; d < point.coordinates.size(); d += 2) {
    loops.push_back(point.coordinates[d]);
  }
  return loops;
}

/// Whether the first instance runs before the second one, by lexicographic order of their times.
inline bool runs_before(const Program &program, const std::string &first,
                        const std::vector<std::int64_t> &a, const std::string &second,
                        const std::vector<std::int64_t> &b, const Sizes &sizes = {}) {
  const auto time = [&](const std::string &name, const std::vector<std::int64_t> &instance) {
    const Statement &which = statement(program, name);
    const std::vector<std::int64_t> loops = loops_of(program, name, instance, sizes);
    std::vector<std::int64_t> all;
    for (size_t level = 0; level < which.order.size(); ++level) {
      all.push_back(which.order[level]);
      if (level < loops.size()) {
        all.push_back(loops[level]);
      }
    }
    return all;
  };
  return time(first, a) < time(second, b);
}

inline std::vector<std::string> loop_names(const Mapping &mapping, const std::string &computation) {
  std::vector<std::string> names;
  for (const LoopDimension &dimension : mapping.time_space(computation).dimensions) {
    names.push_back(dimension.name);
  }
  return names;
}

/// The message with which a command is refused; the test fails when it is not refused as a
/// ScheduleError.
inline std::string refusal(const Mapping &mapping, const Command &given) {
  try {
    mapping.with(given);
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Schedule) << error.what();
    return error.what();
  }
  ADD_FAILURE() << to_string(given) << " was not refused";
  return "";
}

} // namespace tilewright::examples
