// An interpreter of the loop IR for small kernels, lane by lane. It checks every subscript against
// its buffer, so that a test of values is a test of bounds too. Integers wrap to their type; floats
// are rounded to theirs.
#pragma once

#include "loops/build.h"

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

  static Number constant(const Value &value) {
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
    return std::visit(Visitor{}, value.constant);
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
    std::vector<Lanes> operands;
    if (is<Masked>(node)) {
      return masked_load(value(node->operands[0]), *node->operands[1]);
    }
    if (!is<Select>(node)) {
      for (const ValuePtr &operand : node->operands) {
        operands.push_back(value(operand));
      }
    }
    const auto lanes = static_cast<size_t>(node->type.lanes);
    const auto each = [&](const auto &compute) {
      Lanes result;
      for (size_t lane = 0; lane < lanes; ++lane) {
        result.push_back(rounded(compute(lane), node->type.scalar));
      }
      return result;
    };
    switch (node->kind) {
    case ValueKind::Constant:
      return {rounded(constant(*node), node->type.scalar)};
    case ValueKind::Variable:
      return {Number{variables_.at(node->id), 0}};
    case ValueKind::Parameter:
      return {Number{parameters_.at(static_cast<size_t>(node->id)), 0}};
    case ValueKind::GpuIndex:
    case ValueKind::Aligned:
    case ValueKind::Mma:
    case ValueKind::Lane:
    case ValueKind::Matrices:
    case ValueKind::Shuffle:
      throw Error(ErrorKind::Internal, "the interpreter runs no GPU's threads");
    case ValueKind::Local:
      return locals_.at(node->id);
    case ValueKind::Load: {
      const auto buffer = static_cast<size_t>(node->id);
      return each([&](size_t lane) { return memory.data[buffer][offset(buffer, operands, lane)]; });
    }
    case ValueKind::Unary:
      return each([&](size_t lane) -> Number {
        const Number a = operands[0][lane];
        switch (node->op) {
        case Op::Neg:
          return {-a.i, -a.f};
        case Op::Not:
          return {node->type.scalar.is_bool() ? 1 - a.i : ~a.i, 0};
        case Op::Abs:
          return {std::abs(a.i), std::abs(a.f)};
        default:
          throw std::logic_error("unary operation");
        }
      });
    case ValueKind::Binary: {
      const bool floating = is_float(node->operands[0]->type.scalar);
      return each([&](size_t lane) {
        const Number a = operands[0][lane];
        const Number b = operands[1][lane];
        return floating ? float_operation(node->op, a.f, b.f)
                        : integer_operation(node->op, a.i, b.i);
      });
    }
    case ValueKind::Call:
      return each([&](size_t lane) -> Number {
        if (node->op != Op::Sqrt) {
          throw std::logic_error("call");
        }
        return {0, std::sqrt(operands[0][lane].f)};
      });
    case ValueKind::Cast: {
      const bool from = is_float(node->operands[0]->type.scalar);
      const bool to = is_float(node->type.scalar);
      const bool to_bool = node->type.scalar.is_bool();
      return each([&](size_t lane) -> Number {
        const Number a = operands[0][lane];
        if (from) {
          return to ? a : to_bool ? Number{a.f != 0, 0} : Number{static_cast<std::int64_t>(a.f), 0};
        }
        return to ? Number{0, static_cast<double>(a.i)} : a;
      });
    }
    case ValueKind::Select: {
      const Lanes condition = value(node->operands[0]);
      const Lanes then = value(node->operands[1]);
      const Lanes otherwise = value(node->operands[2]);
      return each(
          [&](size_t lane) { return condition[lane].i != 0 ? then[lane] : otherwise[lane]; });
    }
    case ValueKind::Ramp:
      return each([&](size_t lane) -> Number {
        const auto at = static_cast<std::int64_t>(lane);
        return {operands[0][0].i + node->id * (at / node->inner) +
                    node->inner_stride * (at % node->inner),
                0};
      });
    case ValueKind::Reduce: {
      Number sum = operands[0][0];
      for (size_t lane = 1; lane < operands[0].size(); ++lane) {
        const Number next = operands[0][lane];
        sum = rounded(is_float(node->type.scalar) ? float_operation(node->op, sum.f, next.f)
                                                  : integer_operation(node->op, sum.i, next.i),
                      node->type.scalar);
      }
      return {sum};
    }
    case ValueKind::Masked:
      break; // above
    case ValueKind::Broadcast:
      return each([&](size_t) { return operands[0][0]; });
    }
    throw std::logic_error("value");
  }

  Lanes masked_load(const Lanes &mask, const Value &load) {
    std::vector<Lanes> subscripts;
    for (const ValuePtr &subscript : load.operands) {
      subscripts.push_back(value(subscript));
    }
    const auto buffer = static_cast<size_t>(load.id);
    Lanes result(mask.size(), Number{-99, -99.0});
    for (size_t lane = 0; lane < mask.size(); ++lane) {
      if (mask[lane].i != 0) {
        result[lane] = memory.data[buffer][offset(buffer, subscripts, lane)];
      }
    }
    return result;
  }

  /// Whether a lane of a statement takes part.
  std::vector<bool> active(const StmtPtr &node, size_t lanes) {
    std::vector<bool> result(lanes, true);
    if (node->mask) {
      const Lanes mask = value(node->mask);
      for (size_t lane = 0; lane < lanes; ++lane) {
        result[lane] = mask[lane].i != 0;
      }
    }
    return result;
  }

  void execute(const StmtPtr &node) {
    if (failed_site_ >= 0) {
      return;
    }
    switch (node->kind) {
    case StatementKind::Allocate: {
      // New memory holds nothing that was there before.
      auto &data = memory.data[static_cast<size_t>(node->buffer)];
      data.assign(data.size(), Number{-77, -77.0});
      execute(node->children[0]);
      return;
    }
    case StatementKind::Block:
      for (const StmtPtr &child : node->children) {
        execute(child);
      }
      return;
    case StatementKind::For: {
      const std::int64_t lower = value(node->lower)[0].i;
      const std::int64_t upper = value(node->upper)[0].i;
      for (std::int64_t i = lower; i < upper; ++i) {
        variables_[node->id] = i;
        execute(node->children[0]);
      }
      return;
    }
    case StatementKind::While:
      while (failed_site_ < 0 && value(node->value)[0].i != 0) {
        execute(node->children[0]);
      }
      return;
    case StatementKind::If:
      if (value(node->value)[0].i != 0) {
        execute(node->children[0]);
      } else if (node->children.size() > 1) {
        execute(node->children[1]);
      }
      return;
    case StatementKind::Store: {
      std::vector<Lanes> subscripts;
      for (const ValuePtr &subscript : node->subscripts) {
        subscripts.push_back(value(subscript));
      }
      const Lanes stored = value(node->value);
      (stored.size() > 1 ? vector_stores : scalar_stores) += 1;
      const auto buffer = static_cast<size_t>(node->buffer);
      const std::vector<bool> takes_part = active(node, stored.size());
      for (size_t lane = 0; lane < stored.size(); ++lane) {
        if (!takes_part[lane]) {
          continue;
        }
        memory.data[buffer][offset(buffer, subscripts, lane)] = stored[lane];
      }
      return;
    }
    case StatementKind::AtomicUpdate: {
      std::vector<Lanes> subscripts;
      for (const ValuePtr &subscript : node->subscripts) {
        subscripts.push_back(value(subscript));
      }
      const ValuePtr sum = binary_value(
          node->op, load(node->buffer, node->name, node->value->type, node->subscripts),
          node->value);
      const Lanes updated = value(sum);
      const auto buffer = static_cast<size_t>(node->buffer);
      memory.data[buffer][offset(buffer, subscripts, 0)] = updated[0];
      return;
    }
    case StatementKind::Let:
      variables_[node->id] = value(node->value)[0].i;
      return;
    case StatementKind::DeclareLocal:
    case StatementKind::AssignLocal:
      locals_[node->id] = value(node->value);
      return;
    case StatementKind::CheckValue: {
      const Lanes fails = value(node->value);
      const std::vector<bool> takes_part = active(node, fails.size());
      for (size_t lane = 0; lane < fails.size(); ++lane) {
        failed_site_ =
            takes_part[lane] && fails[lane].i != 0 ? static_cast<int>(node->id) : failed_site_;
      }
      return;
    }
    case StatementKind::Launch:
    case StatementKind::Barrier:
    case StatementKind::CopyAsync:
    case StatementKind::CommitCopies:
    case StatementKind::WaitForCopies:
      throw Error(ErrorKind::Internal, "the interpreter runs no GPU's kernels");
    case StatementKind::Timed:
      execute(node->children[0]);
      return;
    case StatementKind::CheckIndex: {
      const Lanes subscripts = value(node->value);
      const std::vector<bool> takes_part = active(node, subscripts.size());
      for (size_t lane = 0; lane < subscripts.size(); ++lane) {
        if (takes_part[lane] &&
            (subscripts[lane].i < 0 || subscripts[lane].i >= value(node->upper)[0].i)) {
          failed_site_ = static_cast<int>(node->id);
        }
      }
      return;
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
