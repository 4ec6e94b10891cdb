// The loop IR as Python-like pseudo-code, with as few parentheses as Python needs.
#include "loops/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

/// Python's binding strengths, weakest first.
enum Precedence {
  Conditional,
  Disjunction,
  Conjunction,
  Negation,
  Comparison,
  BitOr,
  BitXor,
  BitAnd,
  Shift,
  Sum,
  Product,
  Prefix,
  Power,
  Atom
};

struct Text {
  std::string text;
  Precedence precedence = Atom;

  std::string at_least(Precedence wanted) const {
    return precedence >= wanted ? text : "(" + text + ")";
  }
};

Precedence precedence_of(Op op, bool is_bool) {
  switch (op) {
  case Op::Or:
    return is_bool ? Disjunction : BitOr;
  case Op::And:
    return is_bool ? Conjunction : BitAnd;
  case Op::Xor:
    return BitXor;
  case Op::Shl:
  case Op::Shr:
    return Shift;
  case Op::Add:
  case Op::Sub:
    return Sum;
  case Op::Mul:
  case Op::TrueDiv:
  case Op::FloorDiv:
  case Op::Mod:
    return Product;
  case Op::Pow:
    return Power;
  default:
    return Comparison;
  }
}

std::string spelling_of(Op op, bool is_bool) {
  if (is_bool && (op == Op::And || op == Op::Or)) {
    return op == Op::And ? "and" : "or";
  }
  return op_name(op);
}

std::string number(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".enia") == std::string::npos ? text + ".0" : text;
}

std::string number(const ConstantValue &value) {
  struct Visitor {
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(std::uint64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return number(v); }
    std::string operator()(const std::complex<double> &v) const {
      return "complex(" + number(v.real()) + ", " + number(v.imag()) + ")";
    }
  };
  return std::visit(Visitor{}, value);
}

class Printer {
public:
  explicit Printer(const Kernel &kernel) : kernel_(kernel) {
    taken_.insert(kernel.parameters.begin(), kernel.parameters.end());
    for (const KernelBuffer &buffer : kernel.buffers) {
      taken_.insert(buffer.name);
    }
  }

  std::string run() {
    for (const KernelBuffer &buffer : kernel_.buffers) {
      if (!buffer.is_argument && !buffer.is_scoped) {
        allocation(buffer);
      }
    }
    print(kernel_.body);
    return text_;
  }

  /// "A[i, 8*j : 8*j + 8]": a ramp is printed as the slice that it is.
  std::string element(const std::string &name, const std::vector<ValuePtr> &subscripts) {
    std::string text;
    for (const ValuePtr &subscript : subscripts) {
      text += text.empty() ? "" : ", ";
      if (subscript->kind != ValueKind::Ramp || subscript->id < 1 || subscript->inner > 1) {
        text += print(subscript).text;
        continue;
      }
      const ValuePtr &base = subscript->operands[0];
      const ValuePtr end = add(base, integer(subscript->id * subscript->type.lanes));
      const auto shorter = is_index(end) ? linear_of(end) : std::nullopt;
      text += print(base).text + " : " + print(shorter ? value_of(*shorter) : end).text;
      text += subscript->id == 1 ? "" : " : " + std::to_string(subscript->id);
    }
    return name + "[" + (subscripts.empty() ? "()" : text) + "]";
  }

private:
  void allocation(const KernelBuffer &buffer) {
    line(buffer.name + " = empty((" + list(buffer.extents) +
         (buffer.extents.size() == 1 ? ",), " : "), ") + type_name(buffer.type) + ")" +
         (buffer.stages > 1 ? "  # " + std::to_string(buffer.stages) + " stages" : ""));
  }

  void line(const std::string &text) {
    text_ += std::string(2 * static_cast<size_t>(depth_), ' ') + text + "\n";
  }

  /// A name for a new variable or local: its own, or with a number where an outer one has it.
  const std::string &define(std::int64_t id, const std::string &name, bool is_local) {
    std::string unique = name.empty() ? "v" : name;
    for (int i = 2; taken_.contains(unique); ++i) {
      unique = name + "_" + std::to_string(i);
    }
    taken_.insert(unique);
    return (is_local ? locals_ : variables_)[id] = unique;
  }

  void indented(const StmtPtr &body) {
    ++depth_;
    const std::set<std::string> outer = taken_;
    if (is_empty(body)) {
      line("pass");
    }
    print(body);
    taken_ = outer;
    --depth_;
  }

  void print(const StmtPtr &statement) {
    switch (statement->kind) {
    case StatementKind::Block:
      for (const StmtPtr &child : statement->children) {
        print(child);
      }
      return;
    case StatementKind::For:
      print_loop(*statement);
      return;
    case StatementKind::While:
      line("while " + print(statement->value).text + ":");
      indented(statement->children[0]);
      return;
    case StatementKind::If:
      line("if " + print(statement->value).text + ":");
      indented(statement->children[0]);
      if (statement->children.size() > 1) {
        line("else:");
        indented(statement->children[1]);
      }
      return;
    case StatementKind::Store:
    case StatementKind::CopyAsync:
      line(element(kernel_.buffers[static_cast<size_t>(statement->buffer)].name,
                   statement->subscripts) +
           " = " + print(statement->value).text + where(*statement) +
           (kernel_.buffers[static_cast<size_t>(statement->buffer)].is_streamed ? "  # stream"
                                                                                : "") +
           (statement->kind == StatementKind::CopyAsync ? "  # asynchronous" : ""));
      return;
    case StatementKind::AtomicUpdate: {
      const std::string target = element(
          kernel_.buffers[static_cast<size_t>(statement->buffer)].name, statement->subscripts);
      const std::string value = print(statement->value).text;
      const bool is_call = statement->op == Op::Min || statement->op == Op::Max;
      const std::string name =
          is_call ? (statement->op == Op::Min ? "min" : "max") : op_name(statement->op);
      const std::string how = combined_text(*statement);
      line(is_call ? target + " = " + name + "(" + target + ", " + value + ")" + how
                   : target + " " + name + "= " + value + how);
      return;
    }
    case StatementKind::Let: {
      const std::string value = print(statement->value).text;
      line(define(statement->id, statement->name, false) + " = " + value);
      return;
    }
    case StatementKind::DeclareLocal: {
      const std::string value = print(statement->value).text;
      line(define(statement->id, statement->name, true) + " = " + value);
      return;
    }
    case StatementKind::AssignLocal:
      line(name_of(locals_, statement->id, statement->name) + " = " + print(statement->value).text);
      return;
    case StatementKind::CheckIndex:
      line("assert 0 <= " + print(statement->value).at_least(BitOr) + " < " +
           print(statement->upper).at_least(BitOr) + "  # " +
           kernel_.sites[static_cast<size_t>(statement->id)].text + where(*statement));
      return;
    case StatementKind::CheckValue:
      line("assert not " + print(statement->value).at_least(Negation) + "  # " +
           kernel_.sites[static_cast<size_t>(statement->id)].text + where(*statement));
      return;
    case StatementKind::Timed:
      line("# nest " + std::to_string(statement->id));
      print(statement->children[0]);
      return;
    case StatementKind::Launch:
      print_launch(*statement);
      return;
    case StatementKind::Barrier:
      line("barrier");
      return;
    case StatementKind::CommitCopies:
      line("commit copies");
      return;
    case StatementKind::WaitForCopies:
      line("wait for copies but the last " + std::to_string(statement->id));
      return;
    case StatementKind::Allocate:
      allocation(kernel_.buffers[static_cast<size_t>(statement->buffer)]);
      print(statement->children[0]);
      return;
    }
  }

  /// "  # atomic, combined over gpu_thread_x"
  static std::string combined_text(const LoopStatement &update) {
    std::string text = update.is_atomic ? "  # atomic" : "";
    bool is_first = true;
    for (size_t axis = 0; axis < update.combines.size(); ++axis) {
      if (update.combines.at(axis)) {
        text += text.empty() ? "  # " : is_first ? ", " : "";
        text += is_first ? "combined over gpu_thread_" : ", gpu_thread_";
        text += "xyz"[axis];
        is_first = false;
      }
    }
    return text;
  }

  void print_launch(const LoopStatement &launch) {
    const auto &[x, y, z] = launch.threads;
    std::string threads = std::to_string(x);
    threads += y > 1 || z > 1 ? " x " + std::to_string(y) : "";
    threads += z > 1 ? " x " + std::to_string(z) : "";
    line("kernel:  # " + threads + (x * y * z == 1 ? " thread" : " threads") +
         (launch.subscripts.empty() ? " a block" : ", grid " + list(launch.subscripts)));
    indented(launch.children[0]);
  }

  std::string where(const LoopStatement &statement) {
    return statement.mask ? "  # where " + print(statement.mask).text : "";
  }

  void print_loop(const LoopStatement &loop) {
    const std::string range =
        "range(" + print(loop.lower).text + ", " + print(loop.upper).text + ")";
    const std::set<std::string> outer = taken_;
    std::string text = "for " + define(loop.id, loop.name, false) + " in " + range + ":";
    switch (loop.loop) {
    case LoopKind::Parallel:
      text += "  # parallel" + schedule_text(loop.parallel);
      break;
    case LoopKind::Vector:
      text += "  # vector(" + std::to_string(loop.factor) + ")";
      break;
    case LoopKind::MaskedVector:
      text += "  # vector(" + std::to_string(loop.factor) + "), masked";
      break;
    case LoopKind::Unrolled:
      text += "  # unroll";
      break;
    case LoopKind::GpuBlock:
    case LoopKind::GpuThread:
      text += loop.loop == LoopKind::GpuBlock ? "  # gpu_block_" : "  # gpu_thread_";
      text += "xyz"[loop.axis];
      break;
    case LoopKind::GpuSpread:
      text += "  # gpu_spread";
      break;
    case LoopKind::GpuMma:
      text += "  # " + gpu_tag_name(Tag::GpuMma, loop.axis);
      break;
    case LoopKind::Serial:
      break;
    }
    for (const auto &[buffer, distance] : loop.prefetches) {
      text += (text.back() == ':' ? "  # prefetch " : ", prefetch ") +
              kernel_.buffers[static_cast<size_t>(buffer)].name + " " + std::to_string(distance) +
              " ahead";
    }
    line(text);
    indented(loop.children[0]);
    taken_ = outer;
  }

  /// ", dynamic, 4 at a time"; a loop that runs as one with the one outside says just that.
  static std::string schedule_text(const ParallelSchedule &schedule) {
    if (schedule.joined) {
      return ", one with the loop outside";
    }
    const bool dynamic = schedule.dealing == Dealing::Dynamic;
    if (!dynamic && schedule.chunk == 0) {
      return "";
    }
    const std::int64_t chunk = std::max<std::int64_t>(schedule.chunk, 1);
    return std::string(dynamic ? ", dynamic, " : ", static, ") + std::to_string(chunk) +
           " at a time";
  }

  static std::string name_of(const std::map<std::int64_t, std::string> &names, std::int64_t id,
                             const std::string &name) {
    const auto found = names.find(id);
    return found == names.end() ? name : found->second;
  }

  std::string list(const std::vector<ValuePtr> &values) {
    std::string text;
    for (const ValuePtr &value : values) {
      text += (text.empty() ? "" : ", ") + print(value).text;
    }
    return text;
  }

  Text print(const ValuePtr &value) {
    const std::vector<ValuePtr> &operands = value->operands;
    switch (value->kind) {
    case ValueKind::Constant: {
      const std::string text = number(value->constant);
      return {text, text[0] == '-' ? Prefix : Atom};
    }
    case ValueKind::GpuIndex:
      return {value->name};
    case ValueKind::Aligned:
      return {"aligned(" + value->name + ", " + std::to_string(value->inner) + ")"};
    case ValueKind::Variable:
      return {name_of(variables_, value->id, value->name)};
    case ValueKind::Local:
      return {name_of(locals_, value->id, value->name)};
    case ValueKind::Parameter:
      return {value->name};
    case ValueKind::Load:
      return {element(kernel_.buffers[static_cast<size_t>(value->id)].name, operands)};
    case ValueKind::Unary: {
      if (value->op == Op::Abs) {
        return {"abs(" + print(operands[0]).text + ")"};
      }
      const bool logical = value->op == Op::Not && value->type.scalar.is_bool();
      return logical ? Text{"not " + print(operands[0]).at_least(Negation), Negation}
                     : Text{op_name(value->op) + print(operands[0]).at_least(Prefix), Prefix};
    }
    case ValueKind::Binary:
      return print_binary(*value);
    case ValueKind::Call:
      return {op_name(value->op) + "(" + list(operands) + ")"};
    case ValueKind::Cast:
      return {type_name(value->type.scalar) + "(" + print(operands[0]).text + ")"};
    case ValueKind::Select:
      return {print(operands[1]).at_least(Disjunction) + " if " +
                  print(operands[0]).at_least(Disjunction) + " else " + print(operands[2]).text,
              Conditional};
    case ValueKind::Ramp: {
      const auto steps = [](std::int64_t stride, int lanes) {
        return (stride == 1 ? "" : std::to_string(stride) + " * ") + "lanes(" +
               std::to_string(lanes) + ")";
      };
      std::string text = print(operands[0]).at_least(Sum) + " + " +
                         steps(value->id, value->type.lanes / value->inner);
      if (value->inner > 1) {
        text += " x " + steps(value->inner_stride, value->inner);
      }
      return {text, Sum};
    }
    case ValueKind::Broadcast:
      return print(operands[0]);
    case ValueKind::Masked:
      return {"masked(" + print(operands[1]).text + ", " + print(operands[0]).text + ")"};
    case ValueKind::Shuffle:
      return {"shuffle(" + print(operands[0]).text + ", " + std::to_string(value->id) + ")"};
    case ValueKind::Reduce:
      return {"reduce(" + op_name(value->op) + ", " + print(operands[0]).text + ")"};
    case ValueKind::Mma:
      return {"mma(" + list(operands) + ")"};
    case ValueKind::Lane:
      return {print(operands[0]).at_least(Atom) + "[" + std::to_string(value->id) + "]"};
    case ValueKind::Matrices:
      return {std::string(value->inner_stride != 0 ? "transposed_" : "") + "matrices(" +
              element(kernel_.buffers[static_cast<size_t>(value->id)].name, operands) + ")"};
    }
    return {};
  }

  Text print_binary(const Value &value) {
    if (value.op == Op::Min || value.op == Op::Max) {
      return {(value.op == Op::Min ? "min(" : "max(") + flattened(value.op, value) + ")"};
    }
    if (value.op == Op::Add) {
      if (const auto joined = joined_division(value)) {
        return *joined;
      }
    }
    const bool is_bool = value.type.scalar.is_bool();
    const Precedence own = precedence_of(value.op, is_bool);
    const auto tighter = static_cast<Precedence>(own + 1);
    const std::string middle = " " + spelling_of(value.op, is_bool) + " ";
    const Text a = print(value.operands[0]);
    const Text b = print(value.operands[1]);
    if (value.op == Op::Pow) {
      return {a.at_least(Atom) + middle + b.at_least(Prefix), own};
    }
    // A comparison in a comparison is a chain in Python; a + (b + c) is not a + b + c in floating
    // point.
    const bool associates = value.op == Op::And || value.op == Op::Or ||
                            (value.op == Op::Add && !value.type.scalar.is_floating());
    return {a.at_least(own == Comparison ? tighter : own) + middle +
                b.at_least(associates ? own : tighter),
            own};
  }

  std::string flattened(Op op, const Value &value) {
    std::string text;
    for (const ValuePtr &operand : value.operands) {
      const bool same = operand->kind == ValueKind::Binary && operand->op == op;
      text += (text.empty() ? "" : ", ") + (same ? flattened(op, *operand) : print(operand).text);
    }
    return text;
  }

  /// x // d + c as (x + c*d) // d: (N - 1) // 8 + 1 reads better as (N + 7) // 8.
  std::optional<Text> joined_division(const Value &value) {
    const ValuePtr &quotient = value.operands[0];
    const auto shift = as_integer(value.operands[1]);
    if (!shift || !is_int64(quotient) || quotient->kind != ValueKind::Binary ||
        quotient->op != Op::FloorDiv) {
      return std::nullopt;
    }
    const auto divisor = as_integer(quotient->operands[1]);
    if (!divisor || *divisor <= 0 || !is_index(quotient->operands[0])) {
      return std::nullopt;
    }
    const auto dividend = linear_of(quotient->operands[0]);
    const auto sum = dividend ? combine(*dividend, Linear{{}, *divisor}, *shift) : std::nullopt;
    return sum ? std::optional(print(floor_div(value_of(*sum), integer(*divisor)))) : std::nullopt;
  }

  const Kernel &kernel_;
  std::string text_;
  int depth_ = 0;
  std::set<std::string> taken_;
  std::map<std::int64_t, std::string> variables_;
  std::map<std::int64_t, std::string> locals_;
};

} // namespace

std::string print_loop_ir(const Kernel &kernel) { return Printer(kernel).run(); }

std::string print_element(const Kernel &kernel, std::int64_t buffer,
                          const std::vector<ValuePtr> &subscripts) {
  return Printer(kernel).element(kernel.buffers.at(static_cast<size_t>(buffer)).name, subscripts);
}

} // namespace tilewright
