// The values of the loop IR: trees over constants, index variables, parameters, locals and loads,
// with the operations of Layer I (same semantics, algorithm/expression.h), on scalars or on vectors
// of lanes. A value is made by build.h and does not change; trees share their branches. Each kind
// is a struct of its own with the fields that it has (node.h); what passes walk through without
// looking at kinds, the operands, all of them have.
#pragma once

#include "algorithm/expression.h"
#include "loops/node.h"
#include "mapping/mma_shapes.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

struct ValueType {
  ScalarType scalar;
  int lanes = 1;
  bool operator==(const ValueType &) const = default;
};

enum class ValueKind {
  Constant,
  Variable,
  Parameter,
  Local,
  Load,
  Unary,
  Binary,
  Call,
  Cast,
  Select,
  Ramp,
  Broadcast,
  Masked,
  Reduce,
  GpuIndex,
  Mma,
  Lane,
  Matrices,
  Shuffle,
  Aligned,
  Extern
};

struct Value;
using ValuePtr = std::shared_ptr<const Value>;

struct Value {
  const ValueKind kind;
  ValueType type;
  std::vector<ValuePtr> operands;

protected: // a value is always one of the kinds below
  Value(ValueKind kind, ValueType type, std::vector<ValuePtr> operands)
      : kind(kind), type(type), operands(std::move(operands)) {}
  Value(const Value &) = default;
  ~Value() = default;
};

/// What the structs below begin with.
template <ValueKind own_kind>
struct ValueNode : Value {
  static constexpr bool includes(ValueKind kind) { return kind == own_kind; }

protected:
  explicit ValueNode(ValueType type, std::vector<ValuePtr> operands = {})
      : Value(own_kind, type, std::move(operands)) {}
};

struct Constant final : ValueNode<ValueKind::Constant> {
  Constant(const ConstantValue &value, ScalarType type) : ValueNode({type, 1}), value(value) {}
  ConstantValue value;
};

/// A loop's variable or what a Let defines: an int64 scalar.
struct Variable final : ValueNode<ValueKind::Variable> {
  Variable(std::int64_t id, std::string name)
      : ValueNode({Int64, 1}), id(id), name(std::move(name)) {}
  std::int64_t id; ///< no other variable or local has it
  std::string name;
};

/// An int64 scalar.
struct Parameter final : ValueNode<ValueKind::Parameter> {
  Parameter(std::int64_t position, std::string name)
      : ValueNode({Int64, 1}), position(position), name(std::move(name)) {}
  std::int64_t position; ///< in Kernel::parameters
  std::string name;
};

/// A mutable local declared by DeclareLocal.
struct Local final : ValueNode<ValueKind::Local> {
  Local(std::int64_t id, std::string name, ValueType type)
      : ValueNode(type), id(id), name(std::move(name)) {}
  std::int64_t id;
  std::string name;
};

/// buffer[subscripts], one element or `lanes` of them. The subscripts are int64, scalars or
/// vectors.
struct Load final : ValueNode<ValueKind::Load> {
  Load(std::int64_t buffer, std::string name, ValueType type, std::vector<ValuePtr> subscripts)
      : ValueNode(type, std::move(subscripts)), buffer(buffer), name(std::move(name)) {}
  std::int64_t buffer; ///< in Kernel::buffers
  std::string name;

  const std::vector<ValuePtr> &subscripts() const { return operands; }
};

struct Unary final : ValueNode<ValueKind::Unary> {
  Unary(Op op, ValueType type, ValuePtr operand) : ValueNode(type, {std::move(operand)}), op(op) {}
  Op op;

  const ValuePtr &operand() const { return operands[0]; }
};

struct Binary final : ValueNode<ValueKind::Binary> {
  Binary(Op op, ValueType type, ValuePtr left, ValuePtr right)
      : ValueNode(type, {std::move(left), std::move(right)}), op(op) {}
  Op op;

  const ValuePtr &left() const { return operands[0]; }
  const ValuePtr &right() const { return operands[1]; }
};

struct Call final : ValueNode<ValueKind::Call> {
  Call(Op op, ValueType type, std::vector<ValuePtr> arguments)
      : ValueNode(type, std::move(arguments)), op(op) {}
  Op op;
};

/// The result of a function of C, called for each lane, or for those of the mask: anything in the
/// others. Only the definition of a local is one, so that conditions around it decide whether it
/// runs.
struct Extern final : ValueNode<ValueKind::Extern> {
  /// `operands`: the arguments, behind the mask if there is one.
  Extern(ExternPtr function, ValueType type, std::vector<ValuePtr> operands)
      : ValueNode(type, std::move(operands)), function(std::move(function)) {}
  ExternPtr function;
  bool has_mask = false;

  std::vector<ValuePtr> arguments() const {
    return {operands.begin() + (has_mask ? 1 : 0), operands.end()};
  }
};

struct Cast final : ValueNode<ValueKind::Cast> {
  Cast(ValueType type, ValuePtr operand) : ValueNode(type, {std::move(operand)}) {}

  const ValuePtr &operand() const { return operands[0]; }
};

struct Select final : ValueNode<ValueKind::Select> {
  Select(ValuePtr condition, ValuePtr then, ValuePtr otherwise)
      : ValueNode(then->type, {std::move(condition), then, std::move(otherwise)}) {}

  const ValuePtr &condition() const { return operands[0]; }
  const ValuePtr &then() const { return operands[1]; }
  const ValuePtr &otherwise() const { return operands[2]; }
};

/// base + stride * (lane / inner) + inner_stride * (lane % inner): an int64 vector. `inner` is 1
/// for the lanes of one loop; for those of two, the iterations of the inner one.
struct Ramp final : ValueNode<ValueKind::Ramp> {
  Ramp(ValuePtr base, std::int64_t stride, int lanes, int inner, std::int64_t inner_stride)
      : ValueNode({Int64, lanes}, {std::move(base)}), stride(stride), inner(inner),
        inner_stride(inner_stride) {}
  std::int64_t stride;
  int inner;
  std::int64_t inner_stride;

  const ValuePtr &base() const { return operands[0]; }
  bool is_plain() const { return inner == 1; }
};

/// The operand in every lane.
struct Broadcast final : ValueNode<ValueKind::Broadcast> {
  Broadcast(ValuePtr scalar, int lanes) : ValueNode({scalar->type.scalar, lanes}, {scalar}) {}

  const ValuePtr &operand() const { return operands[0]; }
};

/// The load in the lanes where the mask holds; anything elsewhere.
struct Masked final : ValueNode<ValueKind::Masked> {
  Masked(ValuePtr mask, ValuePtr load) : ValueNode(load->type, {std::move(mask), load}) {}

  const ValuePtr &mask() const { return operands[0]; }
  const ValuePtr &load() const { return operands[1]; }
};

/// The lanes of the operand combined by `op`, in any order.
struct Reduce final : ValueNode<ValueKind::Reduce> {
  Reduce(Op op, ValuePtr vector) : ValueNode({vector->type.scalar, 1}, {vector}), op(op) {}
  Op op;

  const ValuePtr &operand() const { return operands[0]; }
};

/// One lane of the operand.
struct Lane final : ValueNode<ValueKind::Lane> {
  Lane(ValuePtr vector, std::int64_t number)
      : ValueNode({vector->type.scalar, 1}, {vector}), number(number) {}
  std::int64_t number;

  const ValuePtr &operand() const { return operands[0]; }
};

// ---- in a Launch ----

/// The block's number for `number` 0, 1, 2 (x, y, z), the thread's for 3, 4, 5.
struct GpuIndex final : ValueNode<ValueKind::GpuIndex> {
  GpuIndex(int number, std::string name)
      : ValueNode({Int64, 1}), number(number), name(std::move(name)) {}
  int number;
  std::string name;
};

/// To which all threads of a warp come: the thread's four sums of a tile, four lanes. The operands
/// are what the thread has of the two factors and of the sums before.
struct Mma final : ValueNode<ValueKind::Mma> {
  Mma(MmaShape shape, std::vector<ValuePtr> operands)
      : ValueNode({Float32, 4}, std::move(operands)), shape(shape) {}
  MmaShape shape;
};

/// To which all threads of a warp come: of matrices of 8 x 8 elements of two bytes in a buffer,
/// which is shared memory, two neighbours each, in as many lanes. The subscripts say where row
/// t % 8 of matrix t / 8 begins, of eight elements side by side, on 16 bytes. Thread t has those of
/// row t / 4 in columns 2 * (t % 4) and the next one.
struct Matrices final : ValueNode<ValueKind::Matrices> {
  Matrices(std::int64_t buffer, std::string name, ValueType type, bool transposed,
           std::vector<ValuePtr> subscripts)
      : ValueNode(type, std::move(subscripts)), buffer(buffer), name(std::move(name)),
        transposed(transposed) {}
  std::int64_t buffer;
  std::string name;
  bool transposed; ///< of the transposed matrices

  const std::vector<ValuePtr> &subscripts() const { return operands; }
};

/// To which all threads of a warp come: the operand of the one whose number differs in these bits.
struct Shuffle final : ValueNode<ValueKind::Shuffle> {
  Shuffle(ValuePtr operand, std::int64_t bits) : ValueNode(operand->type, {operand}), bits(bits) {}
  std::int64_t bits;

  const ValuePtr &operand() const { return operands[0]; }
};

/// Whether a buffer's address and its strides that are no constants, except that of its unit
/// dimension, are multiples of so many bytes: a bool scalar.
struct Aligned final : ValueNode<ValueKind::Aligned> {
  Aligned(std::int64_t buffer, std::string name, int bytes)
      : ValueNode({Bool, 1}), buffer(buffer), name(std::move(name)), bytes(bytes) {}
  std::int64_t buffer;
  std::string name;
  int bytes;
};

// ---- questions that most passes ask ----

inline bool is_variable(const Value &value, std::int64_t id) {
  const auto *own = as<Variable>(value);
  return own != nullptr && own->id == id;
}
inline bool is_variable(const ValuePtr &value, std::int64_t id) { return is_variable(*value, id); }

/// The load, if it is one of this buffer; else null.
inline const Load *as_load_of(const Value &value, std::int64_t buffer) {
  const auto *load = as<Load>(value);
  return load != nullptr && load->buffer == buffer ? load : nullptr;
}
inline const Load *as_load_of(const ValuePtr &value, std::int64_t buffer) {
  return as_load_of(*value, buffer);
}

inline bool is_load_of(const Value &value, std::int64_t buffer) {
  return as_load_of(value, buffer) != nullptr;
}
inline bool is_load_of(const ValuePtr &value, std::int64_t buffer) {
  return as_load_of(*value, buffer) != nullptr;
}

/// The operation, if it is this one; else null.
inline const Binary *as_binary(const Value &value, Op op) {
  const auto *binary = as<Binary>(value);
  return binary != nullptr && binary->op == op ? binary : nullptr;
}
inline const Binary *as_binary(const ValuePtr &value, Op op) { return as_binary(*value, op); }
inline bool is_binary(const Value &value, Op op) { return as_binary(value, op) != nullptr; }
inline bool is_binary(const ValuePtr &value, Op op) { return as_binary(*value, op) != nullptr; }

} // namespace tilewright
