// An interpreter of the loop IR for small kernels, lane by lane. It checks every subscript against
// its buffer, so that a test of values is a test of bounds too. Integers wrap to their type; floats
// are rounded to theirs.
#pragma once

#include "loops/dispatch.h"
#include "loops/traverse.h"

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilewright::test {

struct Number {
  std::int64_t i = 0;
  double f = 0;
};
using Lanes = std::vector<Number>;

/// What a kernel computes on: elements of each buffer, row-major.
struct Memory {
  std::vector<std::vector<std::int64_t>> extents;
  std::vector<std::vector<Number>> data;
};

class Interpreter {
public:
  Interpreter(const Kernel &kernel, std::vector<std::int64_t> parameters)
      : kernel_(kernel), parameters_(std::move(parameters)) {
    for (const KernelBuffer &buffer : kernel.buffers) {
      std::vector<std::int64_t> extents;
      std::int64_t size = 1;
      for (const ValuePtr &extent : buffer.extents) {
        extents.push_back(std::max<std::int64_t>(0, value(extent).at(0).i));
        size *= extents.back();
      }
      memory.extents.push_back(extents);
      memory.data.emplace_back(static_cast<size_t>(size), Number{-77, -77.0});
    }
  }

  /// The site that failed, or -1.
  int run() {
    failed_site_ = -1;
    execute(kernel_.body);
    return failed_site_;
  }

  Memory memory;
  int vector_stores = 0;
  int scalar_stores = 0;
  std::int64_t iterations = 0; ///< of all loops

private:
  static bool is_float(ScalarType type) { return type.is_floating(); }

  static Number rounded(Number n, ScalarType type) {
    if (is_float(type)) {
      return {0, type.bits == 32 ? static_cast<double>(static_cast<float>(n.f)) : n.f};
    }
    if (type.is_bool()) {
      return {n.i != 0 ? 1 : 0, 0};
    }
    if (type.bits < 64) {
      const int shift = 64 - type.bits;
      const auto moved = static_cast<std::uint64_t>(n.i) << shift;
      return {type.is_signed_integer() ? static_cast<std::int64_t>(moved) >> shift
                                       : static_cast<std::int64_t>(moved >> shift),
              0};
    }
    return {n.i, 0};
  }

  static std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    if (b == 0) {
      return 0;
    }
    const std::int64_t q = a / b;
    return q * b != a && ((a < 0) != (b < 0)) ? q - 1 : q;
  }

  static Number integer_operation(Op op, std::int64_t a, std::int64_t b) {
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    switch (op) {
    case Op::Add:
      return {static_cast<std::int64_t>(x + y), 0};
    case Op::Sub:
      return {static_cast<std::int64_t>(x - y), 0};
    case Op::Mul:
      return {static_cast<std::int64_t>(x * y), 0};
    case Op::FloorDiv:
      return {floor_div(a, b), 0};
    case Op::Mod:
      return {b == 0 ? 0 : a - floor_div(a, b) * b, 0};
    case Op::Min:
      return {std::min(a, b), 0};
    case Op::Max:
      return {std::max(a, b), 0};
    case Op::And:
      return {a & b, 0};
    case Op::Or:
      return {a | b, 0};
    case Op::Xor:
      return {a ^ b, 0};
    case Op::Lt:
      return {a < b, 0};
    case Op::Le:
      return {a <= b, 0};
    case Op::Gt:
      return {a > b, 0};
    case Op::Ge:
      return {a >= b, 0};
    case Op::Eq:
      return {a == b, 0};
    case Op::Ne:
      return {a != b, 0};
    default:
      throw std::logic_error("integer operation " + op_name(op));
    }
  }

  static Number float_operation(Op op, double a, double b) {
    switch (op) {
    case Op::Add:
      return {0, a + b};
    case Op::Sub:
      return {0, a - b};
    case Op::Mul:
      return {0, a * b};
    case Op::TrueDiv:
      return {0, a / b};
    case Op::Min:
      return {0, std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b)};
    case Op::Max:
      return {0, std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b)};
    case Op::Lt:
      return {a < b, 0};
    case Op::Le:
      return {a <= b, 0};
    case Op::Gt:
      return {a > b, 0};
    case Op::Ge:
      return {a >= b, 0};
    case Op::Eq:
      return {a == b, 0};
    case Op::Ne:
      return {a != b, 0};
    default:
      throw std::logic_error("float operation " + op_name(op));
    }
  }

  static Number constant(const ConstantValue &value) {
    struct Visitor {
      Number operator()(bool v) const { return {v ? 1 : 0, v ? 1.0 : 0.0}; }
      Number operator()(std::int64_t v) const { return {v, static_cast<double>(v)}; }
      Number operator()(std::uint64_t v) const {
        return {static_cast<std::int64_t>(v), static_cast<double>(v)};
      }
      Number operator()(double v) const { return {0, v}; }
      Number operator()(const std::complex<double> &) const {
        throw std::logic_error("complex constant");
      }
    };
    return std::visit(Visitor{}, value);
  }

  size_t offset(size_t buffer, const std::vector<Lanes> &subscripts, size_t lane) const {
    std::int64_t at = 0;
    for (size_t d = 0; d < subscripts.size(); ++d) {
      const std::int64_t subscript = subscripts[d][subscripts[d].size() == 1 ? 0 : lane].i;
      if (subscript < 0 || subscript >= memory.extents[buffer][d]) {
        throw std::out_of_range(kernel_.buffers[buffer].name + " dimension " + std::to_string(d) +
                                ": " + std::to_string(subscript) + " of " +
                                std::to_string(memory.extents[buffer][d]));
      }
      at = at * memory.extents[buffer][d] + subscript;
    }
    return static_cast<size_t>(at);
  }

  Lanes value(const ValuePtr &node) {
    return dispatch(*node, [&](const auto &own) { return lanes_of(own); });
  }

  /// What `compute` gives for each lane, as a value of this type.
  template <class Compute>
  static Lanes each(ValueType type, const Compute &compute) {
    Lanes result;
    for (size_t lane = 0; lane < static_cast<size_t>(type.lanes); ++lane) {
      result.push_back(rounded(compute(lane), type.scalar));
    }
    return result;
  }

  std::vector<Lanes> values(const std::vector<ValuePtr> &nodes) {
    std::vector<Lanes> result;
    for (const ValuePtr &node : nodes) {
      result.push_back(value(node));
    }
    return result;
  }

  static Lanes lanes_of(const Value & /*of_a_gpu*/) {
    throw Error(ErrorKind::Internal, "the interpreter runs no GPU's threads");
  }

  static Lanes lanes_of(const Constant &node) {
    return {rounded(constant(node.value), node.type.scalar)};
  }

  Lanes lanes_of(const Variable &node) const { return {Number{variables_.at(node.id), 0}}; }

  Lanes lanes_of(const Parameter &node) const {
    return {Number{parameters_.at(static_cast<size_t>(node.position)), 0}};
  }

  Lanes lanes_of(const Local &node) const { return locals_.at(node.id); }

  Lanes lanes_of(const Load &node) {
    const std::vector<Lanes> subscripts = values(node.subscripts());
    const auto buffer = static_cast<size_t>(node.buffer);
    return each(node.type,
                [&](size_t lane) { return memory.data[buffer][offset(buffer, subscripts, lane)]; });
  }

  Lanes lanes_of(const Unary &node) {
    const Lanes operand = value(node.operand());
    return each(node.type, [&](size_t lane) -> Number {
      const Number a = operand[lane];
      switch (node.op) {
      case Op::Neg:
        return {-a.i, -a.f};
      case Op::Not:
        return {node.type.scalar.is_bool() ? 1 - a.i : ~a.i, 0};
      case Op::Abs:
        return {std::abs(a.i), std::abs(a.f)};
      default:
        throw std::logic_error("unary operation");
      }
    });
  }

  Lanes lanes_of(const Binary &node) {
    const Lanes left = value(node.left());
    const Lanes right = value(node.right());
    const bool floating = is_float(node.left()->type.scalar);
    return each(node.type, [&](size_t lane) {
      const Number a = left[lane];
      const Number b = right[lane];
      return floating ? float_operation(node.op, a.f, b.f) : integer_operation(node.op, a.i, b.i);
    });
  }

  Lanes lanes_of(const Call &node) {
    const std::vector<Lanes> operands = values(node.operands);
    return each(node.type, [&](size_t lane) -> Number {
      if (node.op != Op::Sqrt) {
        throw std::logic_error("call");
      }
      return {0, std::sqrt(operands[0][lane].f)};
    });
  }

  Lanes lanes_of(const Cast &node) {
    const Lanes operand = value(node.operand());
    const bool from = is_float(node.operand()->type.scalar);
    const bool to = is_float(node.type.scalar);
    const bool to_bool = node.type.scalar.is_bool();
    return each(node.type, [&](size_t lane) -> Number {
      const Number a = operand[lane];
      if (from) {
        return to ? a : to_bool ? Number{a.f != 0, 0} : Number{static_cast<std::int64_t>(a.f), 0};
      }
      return to ? Number{0, static_cast<double>(a.i)} : a;
    });
  }

  Lanes lanes_of(const Select &node) {
    const Lanes condition = value(node.condition());
    const Lanes then = value(node.then());
    const Lanes otherwise = value(node.otherwise());
    return each(node.type,
                [&](size_t lane) { return condition[lane].i != 0 ? then[lane] : otherwise[lane]; });
  }

  Lanes lanes_of(const Ramp &node) {
    const std::int64_t base = value(node.base())[0].i;
    return each(node.type, [&](size_t lane) -> Number {
      const auto at = static_cast<std::int64_t>(lane);
      return {base + node.stride * (at / node.inner) + node.inner_stride * (at % node.inner), 0};
    });
  }

  Lanes lanes_of(const Reduce &node) {
    const Lanes vector = value(node.operand());
    Number sum = vector[0];
    for (size_t lane = 1; lane < vector.size(); ++lane) {
      sum = rounded(is_float(node.type.scalar) ? float_operation(node.op, sum.f, vector[lane].f)
                                               : integer_operation(node.op, sum.i, vector[lane].i),
                    node.type.scalar);
    }
    return {sum};
  }

  Lanes lanes_of(const Broadcast &node) {
    const Number operand = value(node.operand())[0];
    return each(node.type, [&](size_t) { return operand; });
  }

  Lanes lanes_of(const Masked &node) {
    const Lanes mask = value(node.mask());
    const auto &load = cast<Load>(node.load());
    const std::vector<Lanes> subscripts = values(load.subscripts());
    const auto buffer = static_cast<size_t>(load.buffer);
    Lanes result(mask.size(), Number{-99, -99.0});
    for (size_t lane = 0; lane < mask.size(); ++lane) {
      if (mask[lane].i != 0) {
        result[lane] = memory.data[buffer][offset(buffer, subscripts, lane)];
      }
    }
    return result;
  }

  /// Which lanes of a statement take part.
  std::vector<bool> active(const ValuePtr &given, size_t lanes) {
    std::vector<bool> result(lanes, true);
    if (given) {
      const Lanes mask = value(given);
      for (size_t lane = 0; lane < lanes; ++lane) {
        result[lane] = mask[lane].i != 0;
      }
    }
    return result;
  }

  void execute(const StmtPtr &node) {
    if (failed_site_ < 0) {
      dispatch(*node, [&](const auto &own) { run(own); });
    }
  }

  static void run(const LoopStatement & /*of_a_gpu*/) {
    throw Error(ErrorKind::Internal, "the interpreter runs no GPU's kernels");
  }

  void run(const Allocate &node) {
    // New memory holds nothing that was there before.
    auto &data = memory.data[static_cast<size_t>(node.buffer)];
    data.assign(data.size(), Number{-77, -77.0});
    execute(node.body());
  }

  void run(const Block &node) {
    for (const StmtPtr &child : node.children) {
      execute(child);
    }
  }

  void run(const For &node) {
    const std::int64_t lower = value(node.lower)[0].i;
    const std::int64_t upper = value(node.upper)[0].i;
    for (std::int64_t i = lower; i < upper; ++i) {
      variables_[node.id] = i;
      ++iterations;
      execute(node.body());
    }
  }

  void run(const While &node) {
    while (failed_site_ < 0 && value(node.condition)[0].i != 0) {
      ++iterations;
      execute(node.body());
    }
  }

  void run(const If &node) {
    if (value(node.condition)[0].i != 0) {
      execute(node.then());
    } else if (node.has_otherwise()) {
      execute(node.otherwise());
    }
  }

  void run(const Store &node) {
    const std::vector<Lanes> subscripts = values(node.subscripts);
    const Lanes stored = value(node.value);
    (stored.size() > 1 ? vector_stores : scalar_stores) += 1;
    const auto buffer = static_cast<size_t>(node.buffer);
    const std::vector<bool> takes_part = active(node.mask, stored.size());
    for (size_t lane = 0; lane < stored.size(); ++lane) {
      if (takes_part[lane]) {
        memory.data[buffer][offset(buffer, subscripts, lane)] = stored[lane];
      }
    }
  }

  void run(const AtomicUpdate &node) {
    const std::vector<Lanes> subscripts = values(node.subscripts);
    const Lanes updated = value(binary_value(
        node.op, load(node.buffer, node.name, node.value->type, node.subscripts), node.value));
    const auto buffer = static_cast<size_t>(node.buffer);
    memory.data[buffer][offset(buffer, subscripts, 0)] = updated[0];
  }

  void run(const Let &node) { variables_[node.id] = value(node.value)[0].i; }
  void run(const DeclareLocal &node) { locals_[node.id] = value(node.value); }
  void run(const AssignLocal &node) { locals_[node.id] = value(node.value); }
  void run(const Timed &node) { execute(node.body()); }

  void run(const CheckValue &node) {
    const Lanes fails = value(node.value);
    const std::vector<bool> takes_part = active(node.mask, fails.size());
    for (size_t lane = 0; lane < fails.size(); ++lane) {
      if (takes_part[lane] && fails[lane].i != 0) {
        failed_site_ = static_cast<int>(node.site);
      }
    }
  }

  void run(const CheckIndex &node) {
    const Lanes subscripts = value(node.value);
    const std::int64_t upper = value(node.upper)[0].i;
    const std::vector<bool> takes_part = active(node.mask, subscripts.size());
    for (size_t lane = 0; lane < subscripts.size(); ++lane) {
      if (takes_part[lane] && (subscripts[lane].i < 0 || subscripts[lane].i >= upper)) {
        failed_site_ = static_cast<int>(node.site);
      }
    }
  }

  const Kernel &kernel_;
  std::vector<std::int64_t> parameters_;
  std::map<std::int64_t, std::int64_t> variables_;
  std::map<std::int64_t, Lanes> locals_;
  int failed_site_ = -1;
};

} // namespace tilewright::test
