#include "algorithm/extern_function.h"
#include "loops/build.h"
#include "loops/linear.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <limits>

namespace tilewright {

namespace {

int lanes_of(const std::vector<ValuePtr> &values) {
  int lanes = 1;
  for (const ValuePtr &value : values) {
    lanes = std::max(lanes, value->type.lanes);
  }
  return lanes;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient * b != a && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

/// a op b for int64 constants; nothing on overflow, division by zero and operations that are not
/// folded.
std::optional<std::int64_t> fold(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool divisible = b != 0 && b != -1;
  switch (op) {
  case Op::Add:
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Op::Sub:
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Op::Mul:
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Op::FloorDiv:
    return divisible ? std::optional(floor_quotient(a, b)) : std::nullopt;
  case Op::Mod:
    return divisible ? std::optional(a - floor_quotient(a, b) * b) : std::nullopt;
  case Op::TruncatedDivide:
    return divisible ? std::optional(a / b) : std::nullopt;
  case Op::Fmod:
    return divisible ? std::optional(a % b) : std::nullopt;
  case Op::Min:
    return std::min(a, b);
  case Op::Max:
    return std::max(a, b);
  default:
    return std::nullopt;
  }
}

std::optional<bool> fold_comparison(Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
  case Op::Lt:
    return a < b;
  case Op::Le:
    return a <= b;
  case Op::Gt:
    return a > b;
  case Op::Ge:
    return a >= b;
  case Op::Eq:
    return a == b;
  case Op::Ne:
    return a != b;
  default:
    return std::nullopt;
  }
}

/// Identities with a constant on one side: x + 0, x * 1, x // 1 ...
ValuePtr fold_identity(Op op, const ValuePtr &a, const ValuePtr &b) {
  const auto x = as_integer(a);
  const auto y = as_integer(b);
  if (op == Op::Add && x == 0) {
    return b;
  }
  if ((op == Op::Add || op == Op::Sub) && y == 0) {
    return a;
  }
  if (op == Op::Mul && (x == 0 || y == 1)) {
    return a;
  }
  if (op == Op::Mul && (y == 0 || x == 1)) {
    return b;
  }
  if (op == Op::FloorDiv && y == 1) {
    return a;
  }
  if (op == Op::Mod && y == 1) {
    return integer(0);
  }
  return nullptr;
}

ValuePtr fold_boolean(Op op, const ValuePtr &a, const ValuePtr &b) {
  const auto x = as_boolean(a);
  const auto y = as_boolean(b);
  if (op == Op::And) {
    return x ? (*x ? b : a) : y ? (*y ? a : b) : nullptr;
  }
  if (op == Op::Or) {
    return x ? (*x ? a : b) : y ? (*y ? b : a) : nullptr;
  }
  return nullptr;
}

} // namespace

ValuePtr integer(std::int64_t value) { return constant_of(value, Int64); }
ValuePtr boolean(bool value) { return constant_of(value, Bool); }

ValuePtr constant_of(const ConstantValue &value, ScalarType type) {
  return std::make_shared<Constant>(value, type);
}

std::shared_ptr<const Variable> variable(std::int64_t id, const std::string &name) {
  return std::make_shared<Variable>(id, name);
}

ValuePtr parameter_value(std::int64_t position, const std::string &name) {
  return std::make_shared<Parameter>(position, name);
}

std::shared_ptr<const Local> local(std::int64_t id, const std::string &name, ValueType type) {
  return std::make_shared<Local>(id, name, type);
}

ValuePtr load(std::int64_t buffer, const std::string &name, ValueType type,
              std::vector<ValuePtr> subscripts) {
  return std::make_shared<Load>(buffer, name, type, std::move(subscripts));
}

ValuePtr load(const Load &like, std::vector<ValuePtr> subscripts) {
  return load(like.buffer, like.name, like.type, std::move(subscripts));
}

ValuePtr unary_value(Op op, const ValuePtr &a) {
  if (const auto x = as_integer(a);
      x && op == Op::Neg && *x != std::numeric_limits<std::int64_t>::min()) {
    return integer(-*x);
  }
  if (const auto x = as_boolean(a); x && op == Op::Not) {
    return boolean(!*x);
  }
  ValueType type = a->type;
  if (op == Op::Abs && type.scalar.is_complex()) {
    type.scalar = {TypeKind::Float, static_cast<std::uint8_t>(type.scalar.bits / 2)};
  }
  return std::make_shared<Unary>(op, type, a);
}

ValuePtr binary_value(Op op, const ValuePtr &a, const ValuePtr &b) {
  if (is_int64(a) && is_int64(b)) {
    const auto x = as_integer(a);
    const auto y = as_integer(b);
    if (x && y) {
      if (const auto folded = fold(op, *x, *y)) {
        return integer(*folded);
      }
      if (const auto folded = fold_comparison(op, *x, *y)) {
        return boolean(*folded);
      }
    }
    if (ValuePtr same = fold_identity(op, a, b)) {
      return same;
    }
  } else if (ValuePtr same = fold_boolean(op, a, b)) {
    return same;
  }
  const ValueType type{is_comparison(op) ? Bool : a->type.scalar,
                       std::max(a->type.lanes, b->type.lanes)};
  return std::make_shared<Binary>(op, type, a, b);
}

ValuePtr call_value(Op op, std::vector<ValuePtr> arguments, ScalarType type) {
  if (arguments.size() == 2 && is_int64(arguments[0]) && is_int64(arguments[1])) {
    const auto x = as_integer(arguments[0]);
    const auto y = as_integer(arguments[1]);
    if (const auto folded = x && y ? fold(op, *x, *y) : std::nullopt) {
      return integer(*folded);
    }
  }
  const ValueType all{type, lanes_of(arguments)};
  return std::make_shared<Call>(op, all, std::move(arguments));
}

ValuePtr extern_value(const ExternPtr &function, std::vector<ValuePtr> arguments,
                      const ValuePtr &mask) {
  const ValueType type{function->result, arguments.front()->type.lanes};
  if (mask) {
    arguments.insert(arguments.begin(), mask);
  }
  auto made = std::make_shared<Extern>(function, type, std::move(arguments));
  made->has_mask = mask != nullptr;
  return made;
}

ValuePtr cast_value(const ValuePtr &a, ScalarType type) {
  if (a->type.scalar == type) {
    return a;
  }
  return std::make_shared<Cast>(ValueType{type, a->type.lanes}, a);
}

ValuePtr select_value(const ValuePtr &condition, const ValuePtr &then, const ValuePtr &otherwise) {
  if (const auto known = as_boolean(condition)) {
    return *known ? then : otherwise;
  }
  if (same_element(then, otherwise)) {
    return then; // e.g. two arrays that lie in one: a stencil's border and interior
  }
  if (same_element_if(condition, then, otherwise)) {
    return otherwise; // there both are one element, as A[0] and A[i] are for i == 0
  }
  return std::make_shared<Select>(condition, then, otherwise);
}

ValuePtr ramp(const ValuePtr &base, std::int64_t stride, int lanes) {
  return std::make_shared<Ramp>(base, stride, lanes, 1, 0);
}

ValuePtr ramp(const ValuePtr &base, std::int64_t stride, int lanes, int inner,
              std::int64_t inner_stride) {
  if (inner == 1) {
    return ramp(base, stride, lanes);
  }
  if (stride == inner * inner_stride) {
    return stride == 0 ? broadcast(base, lanes) : ramp(base, inner_stride, lanes);
  }
  return std::make_shared<Ramp>(base, stride, lanes, inner, inner_stride);
}

ValuePtr ramp(const Ramp &like, const ValuePtr &base) {
  return ramp(base, like.stride, like.type.lanes, like.inner, like.inner_stride);
}

ValuePtr masked(const ValuePtr &mask, const ValuePtr &load) {
  if (const auto *call = as<Extern>(load); call != nullptr && mask) {
    return extern_value(call->function, call->arguments(),
                        call->has_mask ? both(mask, call->operands.front()) : mask);
  }
  return mask && is<Load>(load) ? std::make_shared<Masked>(mask, load) : load;
}

ValuePtr reduce_lanes(Op op, const ValuePtr &vector) {
  return vector->type.lanes == 1 ? vector : std::make_shared<Reduce>(op, vector);
}

ValuePtr identity_of(Op op, ScalarType type) {
  for (const Op reduction : {Op::ReduceSum, Op::ReduceProd, Op::ReduceMin, Op::ReduceMax,
                             Op::ReduceAny, Op::ReduceAll}) {
    if (reduction_combiner(reduction) == op) {
      return constant_of(reduction_identity(reduction, type)->value, type);
    }
  }
  throw Error(ErrorKind::Internal, "a reduction by " + op_name(op) + " has no identity");
}

ValuePtr gpu_index(int number) {
  constexpr std::array names = {"block.x",  "block.y",  "block.z",
                                "thread.x", "thread.y", "thread.z"};
  return std::make_shared<GpuIndex>(number, names.at(static_cast<size_t>(number)));
}

ValuePtr mma_value(MmaShape shape, std::vector<ValuePtr> operands) {
  return std::make_shared<Mma>(shape, std::move(operands));
}

ValuePtr lane_value(const ValuePtr &vector, std::int64_t lane) {
  return std::make_shared<Lane>(vector, lane);
}

ValuePtr matrices_value(std::int64_t buffer, const std::string &name, ValueType type,
                        bool transposed, std::vector<ValuePtr> subscripts) {
  return std::make_shared<Matrices>(buffer, name, type, transposed, std::move(subscripts));
}

ValuePtr shuffle_value(const ValuePtr &value, std::int64_t bits) {
  return std::make_shared<Shuffle>(value, bits);
}

ValuePtr aligned(std::int64_t buffer, const std::string &name, int bytes) {
  return std::make_shared<Aligned>(buffer, name, bytes);
}

ValuePtr broadcast(const ValuePtr &scalar, int lanes) {
  return lanes == 1 ? scalar : std::make_shared<Broadcast>(scalar, lanes);
}

ValuePtr add(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Add, a, b); }
ValuePtr sub(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Sub, a, b); }
ValuePtr mul(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Mul, a, b); }
ValuePtr floor_div(const ValuePtr &a, const ValuePtr &b) {
  return binary_value(Op::FloorDiv, a, b);
}
ValuePtr floor_mod(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Mod, a, b); }
ValuePtr minimum(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Min, a, b); }
ValuePtr maximum(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Max, a, b); }
ValuePtr both(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::And, a, b); }
ValuePtr either(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Or, a, b); }

std::optional<std::int64_t> as_integer(const ValuePtr &value) {
  const auto *constant = as<Constant>(value);
  if (constant == nullptr || value->type != ValueType{Int64, 1}) {
    return std::nullopt;
  }
  if (const auto *number = std::get_if<std::int64_t>(&constant->value)) {
    return *number;
  }
  if (const auto *number = std::get_if<std::uint64_t>(&constant->value)) {
    return static_cast<std::int64_t>(*number);
  }
  return std::nullopt;
}

std::optional<bool> as_boolean(const ValuePtr &value) {
  const auto *constant = as<Constant>(value);
  if (constant != nullptr && value->type == ValueType{Bool, 1}) {
    if (const auto *known = std::get_if<bool>(&constant->value)) {
      return *known;
    }
  }
  return std::nullopt;
}

bool is_int64(const ValuePtr &value) { return value->type == ValueType{Int64, 1}; }

namespace {

/// A zero and its negative are two constants, a NaN is itself.
bool is_same_number(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool is_same_constant(const ConstantValue &a, const ConstantValue &b) {
  if (const auto *real = std::get_if<double>(&a)) {
    const auto *other = std::get_if<double>(&b);
    return other != nullptr && is_same_number(*real, *other);
  }
  if (const auto *pair = std::get_if<std::complex<double>>(&a)) {
    const auto *other = std::get_if<std::complex<double>>(&b);
    return other != nullptr && is_same_number(pair->real(), other->real()) &&
           is_same_number(pair->imag(), other->imag());
  }
  return a == b;
}

/// Of two values of one kind: whether they agree in what is no operand and no name.
bool same_fields(const Value &a, const Value &b) {
  const auto same = [&]<class Node, class... Field>(Field Node::*...field) {
    return ((cast<Node>(a).*field == cast<Node>(b).*field) && ...);
  };
  switch (a.kind) {
  case ValueKind::Constant:
    return is_same_constant(cast<Constant>(a).value, cast<Constant>(b).value);
  case ValueKind::Variable:
    return same(&Variable::id);
  case ValueKind::Parameter:
    return same(&Parameter::position);
  case ValueKind::Local:
    return same(&Local::id);
  case ValueKind::Load:
    return same(&Load::buffer);
  case ValueKind::Unary:
    return same(&Unary::op);
  case ValueKind::Binary:
    return same(&Binary::op);
  case ValueKind::Call:
    return same(&Call::op);
  case ValueKind::Ramp:
    return same(&Ramp::stride, &Ramp::inner, &Ramp::inner_stride);
  case ValueKind::Reduce:
    return same(&Reduce::op);
  case ValueKind::GpuIndex:
    return same(&GpuIndex::number);
  case ValueKind::Mma:
    return same(&Mma::shape);
  case ValueKind::Lane:
    return same(&Lane::number);
  case ValueKind::Matrices:
    return same(&Matrices::buffer, &Matrices::transposed);
  case ValueKind::Shuffle:
    return same(&Shuffle::bits);
  case ValueKind::Aligned:
    return same(&Aligned::buffer, &Aligned::bytes);
  case ValueKind::Extern:
    return same(&Extern::function, &Extern::has_mask);
  case ValueKind::Cast:
  case ValueKind::Select:
  case ValueKind::Broadcast:
  case ValueKind::Masked:
    return true;
  }
  return false;
}

} // namespace

bool are_same(const Value &a, const Value &b) {
  if (&a == &b) {
    return true;
  }
  return a.kind == b.kind && a.type == b.type && same_fields(a, b) &&
         std::equal(
             a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
             [](const ValuePtr &one, const ValuePtr &other) { return are_same(*one, *other); });
}

bool same_value(const ValuePtr &a, const ValuePtr &b) { return are_same(*a, *b); }

ValuePtr zero_of(ScalarType type) {
  switch (type.kind) {
  case TypeKind::Bool:
    return constant_of(false, type);
  case TypeKind::Int:
    return constant_of(std::int64_t{0}, type);
  case TypeKind::UInt:
    return constant_of(std::uint64_t{0}, type);
  case TypeKind::Complex:
    return constant_of(std::complex<double>{}, type);
  default:
    return constant_of(0.0, type);
  }
}

} // namespace tilewright
