// The loop IR as Python-like pseudo-code, with as few parentheses as Python needs.
#include "algorithm/extern_function.h"
#include "loops/dispatch.h"
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
      const auto *ramp = as<Ramp>(subscript);
      if (ramp == nullptr || ramp->stride < 1 || !ramp->is_plain()) {
        text += print(subscript).text;
        continue;
      }
      const ValuePtr end = add(ramp->base(), integer(ramp->stride * ramp->type.lanes));
      const auto shorter = is_index(end) ? linear_of(end) : std::nullopt;
      text += print(ramp->base()).text + " : " + print(shorter ? value_of(*shorter) : end).text;
      text += ramp->stride == 1 ? "" : " : " + std::to_string(ramp->stride);
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
    dispatch(*statement, [&](const auto &node) { print_statement(node); });
  }

  const std::string &name_of_buffer(std::int64_t buffer) const {
    return kernel_.buffers[static_cast<size_t>(buffer)].name;
  }

  void print_statement(const Block &sequence) {
    for (const StmtPtr &child : sequence.children) {
      print(child);
    }
  }

  void print_statement(const While &loop) {
    line("while " + print(loop.condition).text + ":");
    indented(loop.body());
  }

  void print_statement(const If &test) {
    line("if " + print(test.condition).text + ":");
    indented(test.then());
    if (test.has_otherwise()) {
      line("else:");
      indented(test.otherwise());
    }
  }

  void print_assignment(const ElementChange &change, const std::string &remark) {
    const bool is_streamed = kernel_.buffers[static_cast<size_t>(change.buffer)].is_streamed;
    line(element(name_of_buffer(change.buffer), change.subscripts) + " = " +
         print(change.value).text + remark + (is_streamed ? "  # stream" : ""));
  }

  void print_statement(const Store &store) { print_assignment(store, where(store.mask)); }

  void print_statement(const CopyAsync &copy) { print_assignment(copy, "  # asynchronous"); }

  void print_statement(const AtomicUpdate &update) {
    const std::string target = element(name_of_buffer(update.buffer), update.subscripts);
    const std::string value = print(update.value).text;
    const bool is_call = update.op == Op::Min || update.op == Op::Max;
    const std::string name = is_call ? (update.op == Op::Min ? "min" : "max") : op_name(update.op);
    const std::string how = combined_text(update);
    line(is_call ? target + " = " + name + "(" + target + ", " + value + ")" + how
                 : target + " " + name + "= " + value + how);
  }

  void print_statement(const Let &let) {
    const std::string value = print(let.value).text;
    line(define(let.id, let.name, false) + " = " + value);
  }

  void print_statement(const DeclareLocal &local) {
    const std::string value = print(local.value).text;
    line(define(local.id, local.name, true) + " = " + value);
  }

  void print_statement(const AssignLocal &assignment) {
    line(name_of(locals_, assignment.id, assignment.name) + " = " + print(assignment.value).text);
  }

  std::string site(const RuntimeCheck &check) {
    return "  # " + kernel_.sites[static_cast<size_t>(check.site)].text + where(check.mask);
  }

  void print_statement(const CheckIndex &check) {
    line("assert 0 <= " + print(check.value).at_least(BitOr) + " < " +
         print(check.upper).at_least(BitOr) + site(check));
  }

  void print_statement(const CheckValue &check) {
    line("assert not " + print(check.value).at_least(Negation) + site(check));
  }

  void print_statement(const Timed &timed) {
    line("# nest " + std::to_string(timed.nest));
    print(timed.body());
  }

  void print_statement(const Allocate &allocate) {
    allocation(kernel_.buffers[static_cast<size_t>(allocate.buffer)]);
    print(allocate.body());
  }

  void print_statement(const Barrier & /*barrier*/) { line("barrier"); }

  void print_statement(const CommitCopies & /*commit*/) { line("commit copies"); }

  void print_statement(const WaitForCopies &wait) {
    line("wait for copies but the last " + std::to_string(wait.groups));
  }

  /// "  # atomic, combined over gpu_thread_x"
  static std::string combined_text(const AtomicUpdate &update) {
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

  void print_statement(const Launch &launch) {
    const auto &[x, y, z] = launch.threads;
    std::string threads = std::to_string(x);
    threads += y > 1 || z > 1 ? " x " + std::to_string(y) : "";
    threads += z > 1 ? " x " + std::to_string(z) : "";
    line("kernel:  # " + threads + (x * y * z == 1 ? " thread" : " threads") +
         (launch.grid.empty() ? " a block" : ", grid " + list(launch.grid)));
    indented(launch.body());
  }

  std::string where(const ValuePtr &mask) { return mask ? "  # where " + print(mask).text : ""; }

  void print_statement(const For &loop) {
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
    indented(loop.body());
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
    return dispatch(*value, [&](const auto &node) { return text_of(node); });
  }

  static Text text_of(const Constant &constant) {
    const std::string text = number(constant.value);
    return {text, text[0] == '-' ? Prefix : Atom};
  }

  static Text text_of(const GpuIndex &index) { return {index.name}; }

  static Text text_of(const Aligned &aligned) {
    return {"aligned(" + aligned.name + ", " + std::to_string(aligned.bytes) + ")"};
  }

  Text text_of(const Variable &variable) const {
    return {name_of(variables_, variable.id, variable.name)};
  }

  Text text_of(const Local &local) const { return {name_of(locals_, local.id, local.name)}; }

  static Text text_of(const Parameter &parameter) { return {parameter.name}; }

  Text text_of(const Load &load) {
    return {element(name_of_buffer(load.buffer), load.subscripts())};
  }

  Text text_of(const Unary &unary) {
    if (unary.op == Op::Abs) {
      return {"abs(" + print(unary.operand()).text + ")"};
    }
    const bool logical = unary.op == Op::Not && unary.type.scalar.is_bool();
    return logical ? Text{"not " + print(unary.operand()).at_least(Negation), Negation}
                   : Text{op_name(unary.op) + print(unary.operand()).at_least(Prefix), Prefix};
  }

  Text text_of(const Call &call) { return {op_name(call.op) + "(" + list(call.operands) + ")"}; }

  Text text_of(const Extern &call) {
    if (call.function->address_in >= 0) {
      return {call.function->name + "[" + list(call.arguments()) + "]"};
    }
    const std::string text = call.function->name + "(" + list(call.arguments()) + ")";
    return {call.has_mask ? "masked(" + text + ", " + print(call.operands[0]).text + ")" : text};
  }

  Text text_of(const Cast &conversion) {
    return {type_name(conversion.type.scalar) + "(" + print(conversion.operand()).text + ")"};
  }

  Text text_of(const Select &select) {
    return {print(select.then()).at_least(Disjunction) + " if " +
                print(select.condition()).at_least(Disjunction) + " else " +
                print(select.otherwise()).text,
            Conditional};
  }

  Text text_of(const Ramp &ramp) {
    const auto steps = [](std::int64_t stride, int lanes) {
      return (stride == 1 ? "" : std::to_string(stride) + " * ") + "lanes(" +
             std::to_string(lanes) + ")";
    };
    std::string text =
        print(ramp.base()).at_least(Sum) + " + " + steps(ramp.stride, ramp.type.lanes / ramp.inner);
    if (!ramp.is_plain()) {
      text += " x " + steps(ramp.inner_stride, ramp.inner);
    }
    return {text, Sum};
  }

  Text text_of(const Broadcast &broadcast) { return print(broadcast.operand()); }

  Text text_of(const Masked &masked) {
    return {"masked(" + print(masked.load()).text + ", " + print(masked.mask()).text + ")"};
  }

  Text text_of(const Shuffle &shuffle) {
    return {"shuffle(" + print(shuffle.operand()).text + ", " + std::to_string(shuffle.bits) + ")"};
  }

  Text text_of(const Reduce &reduce) {
    return {"reduce(" + op_name(reduce.op) + ", " + print(reduce.operand()).text + ")"};
  }

  Text text_of(const Mma &mma) { return {"mma(" + list(mma.operands) + ")"}; }

  Text text_of(const Lane &lane) {
    return {print(lane.operand()).at_least(Atom) + "[" + std::to_string(lane.number) + "]"};
  }

  Text text_of(const Matrices &matrices) {
    return {std::string(matrices.transposed ? "transposed_" : "") + "matrices(" +
            element(name_of_buffer(matrices.buffer), matrices.subscripts()) + ")"};
  }

  Text text_of(const Binary &value) {
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
    const Text a = print(value.left());
    const Text b = print(value.right());
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

  std::string flattened(Op op, const Binary &value) {
    std::string text;
    for (const ValuePtr &operand : value.operands) {
      const auto *same = as_binary(operand, op);
      text += (text.empty() ? "" : ", ") +
              (same == nullptr ? print(operand).text : flattened(op, *same));
    }
    return text;
  }

  /// x // d + c as (x + c*d) // d: (N - 1) // 8 + 1 reads better as (N + 7) // 8.
  std::optional<Text> joined_division(const Binary &value) {
    const auto *quotient = as_binary(value.left(), Op::FloorDiv);
    const auto shift = as_integer(value.right());
    if (!shift || quotient == nullptr || !is_int64(value.left())) {
      return std::nullopt;
    }
    const auto divisor = as_integer(quotient->right());
    if (!divisor || *divisor <= 0 || !is_index(quotient->left())) {
      return std::nullopt;
    }
    const auto dividend = linear_of(quotient->left());
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
