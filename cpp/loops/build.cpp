#include "loops/build.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace tilewright {

namespace {

std::shared_ptr<Value> make(ValueKind kind, ValueType type) {
  auto value = std::make_shared<Value>();
  value->kind = kind;
  value->type = type;
  return value;
}

std::shared_ptr<LoopStatement> make(StatementKind kind) {
  auto statement = std::make_shared<LoopStatement>();
  statement->kind = kind;
  return statement;
}

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

ValuePtr constant_of(const ConstantValue &constant, ScalarType type) {
  auto value = make(ValueKind::Constant, {type, 1});
  value->constant = constant;
  return value;
}

ValuePtr variable(std::int64_t id, const std::string &name) {
  auto value = make(ValueKind::Variable, {Int64, 1});
  value->id = id;
  value->name = name;
  return value;
}

ValuePtr parameter_value(std::int64_t position, const std::string &name) {
  auto value = make(ValueKind::Parameter, {Int64, 1});
  value->id = position;
  value->name = name;
  return value;
}

ValuePtr local(std::int64_t id, const std::string &name, ValueType type) {
  auto value = make(ValueKind::Local, type);
  value->id = id;
  value->name = name;
  return value;
}

ValuePtr load(std::int64_t buffer, const std::string &name, ValueType type,
              std::vector<ValuePtr> subscripts) {
  auto value = make(ValueKind::Load, type);
  value->id = buffer;
  value->name = name;
  value->operands = std::move(subscripts);
  return value;
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
  auto value = make(ValueKind::Unary, type);
  value->op = op;
  value->operands = {a};
  return value;
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
  auto value =
      make(ValueKind::Binary, {is_comparison(op) ? Bool : a->type.scalar, lanes_of({a, b})});
  value->op = op;
  value->operands = {a, b};
  return value;
}

ValuePtr call_value(Op op, std::vector<ValuePtr> arguments, ScalarType type) {
  auto value = make(ValueKind::Call, {type, lanes_of(arguments)});
  value->op = op;
  value->operands = std::move(arguments);
  return value;
}

ValuePtr cast_value(const ValuePtr &a, ScalarType type) {
  if (a->type.scalar == type) {
    return a;
  }
  auto value = make(ValueKind::Cast, {type, a->type.lanes});
  value->operands = {a};
  return value;
}

ValuePtr select_value(const ValuePtr &condition, const ValuePtr &then, const ValuePtr &otherwise) {
  if (const auto known = as_boolean(condition)) {
    return *known ? then : otherwise;
  }
  if (same_value(then, otherwise)) {
    return then; // e.g. two arrays that lie in one: a stencil's border and interior
  }
  auto value = make(ValueKind::Select, then->type);
  value->operands = {condition, then, otherwise};
  return value;
}

ValuePtr ramp(const ValuePtr &base, std::int64_t stride, int lanes) {
  auto value = make(ValueKind::Ramp, {Int64, lanes});
  value->operands = {base};
  value->id = stride;
  return value;
}

ValuePtr ramp(const ValuePtr &base, std::int64_t stride, int lanes, int inner,
              std::int64_t inner_stride) {
  if (inner == 1) {
    return ramp(base, stride, lanes);
  }
  if (stride == inner * inner_stride) {
    return stride == 0 ? broadcast(base, lanes) : ramp(base, inner_stride, lanes);
  }
  auto value = make(ValueKind::Ramp, {Int64, lanes});
  value->operands = {base};
  value->id = stride;
  value->inner = inner;
  value->inner_stride = inner_stride;
  return value;
}

ValuePtr masked(const ValuePtr &mask, const ValuePtr &load) {
  if (!mask || load->kind != ValueKind::Load) {
    return load;
  }
  auto value = make(ValueKind::Masked, load->type);
  value->operands = {mask, load};
  return value;
}

ValuePtr reduce_lanes(Op op, const ValuePtr &vector) {
  if (vector->type.lanes == 1) {
    return vector;
  }
  auto value = make(ValueKind::Reduce, {vector->type.scalar, 1});
  value->op = op;
  value->operands = {vector};
  return value;
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
  auto value = make(ValueKind::GpuIndex, {Int64, 1});
  value->id = number;
  value->name = names.at(static_cast<size_t>(number));
  return value;
}

ValuePtr mma_value(std::int64_t shape, std::vector<ValuePtr> operands) {
  auto value = make(ValueKind::Mma, {Float32, 4});
  value->id = shape;
  value->operands = std::move(operands);
  return value;
}

ValuePtr lane_value(const ValuePtr &vector, std::int64_t lane) {
  auto value = make(ValueKind::Lane, {vector->type.scalar, 1});
  value->id = lane;
  value->operands = {vector};
  return value;
}

ValuePtr matrices_value(std::int64_t buffer, const std::string &name, ValueType type,
                        bool transposed, std::vector<ValuePtr> subscripts) {
  auto value = make(ValueKind::Matrices, type);
  value->id = buffer;
  value->name = name;
  value->inner_stride = transposed ? 1 : 0;
  value->operands = std::move(subscripts);
  return value;
}

ValuePtr shuffle_value(const ValuePtr &value, std::int64_t mask) {
  auto shuffled = make(ValueKind::Shuffle, value->type);
  shuffled->operands = {value};
  shuffled->id = mask;
  return shuffled;
}

ValuePtr aligned(std::int64_t buffer, const std::string &name, int bytes) {
  auto value = make(ValueKind::Aligned, {Bool, 1});
  value->id = buffer;
  value->inner = bytes;
  value->name = name;
  return value;
}

ValuePtr broadcast(const ValuePtr &scalar, int lanes) {
  if (lanes == 1) {
    return scalar;
  }
  auto value = make(ValueKind::Broadcast, {scalar->type.scalar, lanes});
  value->operands = {scalar};
  return value;
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
  if (value->kind != ValueKind::Constant || value->type != ValueType{Int64, 1}) {
    return std::nullopt;
  }
  if (const auto *number = std::get_if<std::int64_t>(&value->constant)) {
    return *number;
  }
  if (const auto *number = std::get_if<std::uint64_t>(&value->constant)) {
    return static_cast<std::int64_t>(*number);
  }
  return std::nullopt;
}

std::optional<bool> as_boolean(const ValuePtr &value) {
  if (value->kind == ValueKind::Constant && value->type == ValueType{Bool, 1}) {
    if (const auto *known = std::get_if<bool>(&value->constant)) {
      return *known;
    }
  }
  return std::nullopt;
}

bool is_int64(const ValuePtr &value) { return value->type == ValueType{Int64, 1}; }

bool same_value(const ValuePtr &a, const ValuePtr &b) {
  if (a == b) {
    return true;
  }
  if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->id != b->id ||
      a->inner != b->inner || a->inner_stride != b->inner_stride || a->constant != b->constant) {
    return false;
  }
  return std::equal(a->operands.begin(), a->operands.end(), b->operands.begin(), b->operands.end(),
                    same_value);
}

StmtPtr block(std::vector<StmtPtr> children) {
  std::vector<StmtPtr> flat;
  for (StmtPtr &child : children) {
    if (child->kind == StatementKind::Block) {
      flat.insert(flat.end(), child->children.begin(), child->children.end());
    } else {
      flat.push_back(std::move(child));
    }
  }
  if (flat.size() == 1) {
    return flat.front();
  }
  auto statement = make(StatementKind::Block);
  statement->children = std::move(flat);
  return statement;
}

StmtPtr for_loop(std::int64_t id, const std::string &name, const ValuePtr &lower,
                 const ValuePtr &upper, LoopKind loop, std::int64_t factor, const StmtPtr &body) {
  auto statement = make(StatementKind::For);
  statement->id = id;
  statement->name = name;
  statement->lower = lower;
  statement->upper = upper;
  statement->loop = loop;
  statement->factor = factor;
  statement->children = {body};
  return statement;
}

StmtPtr for_loop(const LoopStatement &like, const ValuePtr &lower, const ValuePtr &upper,
                 const StmtPtr &body) {
  auto statement = std::make_shared<LoopStatement>(like);
  statement->lower = lower;
  statement->upper = upper;
  statement->children = {body};
  return statement;
}

StmtPtr while_loop(const ValuePtr &condition, const StmtPtr &body) {
  auto statement = make(StatementKind::While);
  statement->value = condition;
  statement->children = {body};
  return statement;
}

StmtPtr if_then(const ValuePtr &condition, const StmtPtr &then, const StmtPtr &otherwise) {
  if (const auto known = as_boolean(condition)) {
    return *known ? then : otherwise ? otherwise : block({});
  }
  if (is_empty(then) && (!otherwise || is_empty(otherwise))) {
    return block({});
  }
  auto statement = make(StatementKind::If);
  statement->value = condition;
  statement->children = {then};
  if (otherwise && !is_empty(otherwise)) {
    statement->children.push_back(otherwise);
  }
  return statement;
}

StmtPtr store(std::int64_t buffer, const std::string &name, std::vector<ValuePtr> subscripts,
              const ValuePtr &value, Op op, const ValuePtr &mask) {
  auto statement = make(StatementKind::Store);
  statement->buffer = buffer;
  statement->name = name;
  statement->subscripts = std::move(subscripts);
  statement->value = value;
  statement->op = op;
  statement->mask = mask;
  return statement;
}

StmtPtr atomic_update(Op op, std::int64_t buffer, const std::string &name,
                      std::vector<ValuePtr> subscripts, const ValuePtr &value) {
  auto statement = make(StatementKind::AtomicUpdate);
  statement->op = op;
  statement->buffer = buffer;
  statement->name = name;
  statement->subscripts = std::move(subscripts);
  statement->value = value;
  return statement;
}

namespace {
StmtPtr named(StatementKind kind, std::int64_t id, const std::string &name, const ValuePtr &value) {
  auto statement = make(kind);
  statement->id = id;
  statement->name = name;
  statement->value = value;
  return statement;
}
} // namespace

StmtPtr let(std::int64_t id, const std::string &name, const ValuePtr &value) {
  return named(StatementKind::Let, id, name, value);
}

StmtPtr declare_local(std::int64_t id, const std::string &name, const ValuePtr &value) {
  return named(StatementKind::DeclareLocal, id, name, value);
}

StmtPtr assign_local(std::int64_t id, const std::string &name, const ValuePtr &value) {
  return named(StatementKind::AssignLocal, id, name, value);
}

StmtPtr check_index(std::int64_t site, const ValuePtr &value, const ValuePtr &upper,
                    const ValuePtr &mask, std::vector<ValuePtr> reported) {
  auto statement = make(StatementKind::CheckIndex);
  statement->id = site;
  statement->mask = mask;
  statement->value = value;
  statement->upper = upper;
  statement->subscripts = std::move(reported);
  return statement;
}

StmtPtr check_value(std::int64_t site, const ValuePtr &fails, const ValuePtr &mask,
                    std::vector<ValuePtr> reported) {
  auto statement = make(StatementKind::CheckValue);
  statement->id = site;
  statement->mask = mask;
  statement->value = fails;
  statement->subscripts = std::move(reported);
  return statement;
}

StmtPtr timed(std::int64_t nest, const StmtPtr &body) {
  auto statement = make(StatementKind::Timed);
  statement->id = nest;
  statement->children = {body};
  return statement;
}

StmtPtr launch(const std::array<std::int64_t, 3> &threads, const StmtPtr &body) {
  auto statement = make(StatementKind::Launch);
  statement->threads = threads;
  statement->children = {body};
  return statement;
}

StmtPtr barrier() { return make(StatementKind::Barrier); }

StmtPtr copy_async(const StmtPtr &store) {
  auto copy = std::make_shared<LoopStatement>(*store);
  copy->kind = StatementKind::CopyAsync;
  return copy;
}

StmtPtr commit_copies() { return make(StatementKind::CommitCopies); }

StmtPtr wait_for_copies(std::int64_t groups) {
  auto statement = make(StatementKind::WaitForCopies);
  statement->id = groups;
  return statement;
}

bool is_gpu(LoopKind loop) {
  return loop == LoopKind::GpuBlock || loop == LoopKind::GpuThread || loop == LoopKind::GpuSpread ||
         loop == LoopKind::GpuMma;
}

StmtPtr allocate(std::int64_t buffer, const std::string &name, const StmtPtr &body) {
  auto statement = make(StatementKind::Allocate);
  statement->buffer = buffer;
  statement->name = name;
  statement->children = {body};
  return statement;
}

bool is_empty(const StmtPtr &statement) {
  return statement->kind == StatementKind::Block && statement->children.empty();
}

ValuePtr with_operands(const ValuePtr &value, std::vector<ValuePtr> operands) {
  switch (value->kind) {
  case ValueKind::Unary:
    return unary_value(value->op, operands[0]);
  case ValueKind::Binary:
    return binary_value(value->op, operands[0], operands[1]);
  case ValueKind::Call:
    return call_value(value->op, std::move(operands), value->type.scalar);
  case ValueKind::Cast:
    return cast_value(operands[0], value->type.scalar);
  case ValueKind::Select:
    return select_value(operands[0], operands[1], operands[2]);
  case ValueKind::Ramp:
    return ramp(operands[0], value->id, value->type.lanes, value->inner, value->inner_stride);
  case ValueKind::Broadcast:
    return broadcast(operands[0], value->type.lanes);
  case ValueKind::Load:
    return load(value->id, value->name, value->type, std::move(operands));
  case ValueKind::Masked:
    return masked(operands[0], operands[1]);
  case ValueKind::Reduce:
    return reduce_lanes(value->op, operands[0]);
  case ValueKind::Mma:
    return mma_value(value->id, std::move(operands));
  case ValueKind::Lane:
    return lane_value(operands[0], value->id);
  case ValueKind::Matrices:
    return matrices_value(value->id, value->name, value->type, value->inner_stride != 0,
                          std::move(operands));
  case ValueKind::Shuffle:
    return shuffle_value(operands[0], value->id);
  default:
    return value;
  }
}

void operands_of(Op op, const ValuePtr &value, std::vector<ValuePtr> &into) {
  if (value->kind == ValueKind::Binary && value->op == op) {
    operands_of(op, value->operands[0], into);
    operands_of(op, value->operands[1], into);
  } else {
    into.push_back(value);
  }
}

ValuePtr ValueRewriter::operator()(const ValuePtr &value) {
  if (const auto found = done_.find(value); found != done_.end()) {
    return found->second;
  }
  ValuePtr result = leaf_(value);
  if (!result) {
    bool changed = false;
    std::vector<ValuePtr> operands;
    operands.reserve(value->operands.size());
    for (const ValuePtr &operand : value->operands) {
      operands.push_back((*this)(operand));
      changed = changed || operands.back() != operand;
    }
    result = changed ? with_operands(value, std::move(operands)) : value;
  }
  done_.emplace(value, result);
  return result;
}

StmtPtr map_values(const StmtPtr &statement,
                   const std::function<ValuePtr(const ValuePtr &)> &replace) {
  auto copy = std::make_shared<LoopStatement>(*statement);
  for (ValuePtr *value : {&copy->lower, &copy->upper, &copy->value, &copy->mask}) {
    if (*value) {
      *value = replace(*value);
    }
  }
  for (ValuePtr &subscript : copy->subscripts) {
    subscript = replace(subscript);
  }
  return copy;
}

StmtPtr with_children(const StmtPtr &statement, std::vector<StmtPtr> children) {
  if (statement->kind == StatementKind::Block) {
    return block(std::move(children));
  }
  if (statement->kind == StatementKind::If) {
    return if_then(statement->value, children[0], children.size() > 1 ? children[1] : nullptr);
  }
  auto copy = std::make_shared<LoopStatement>(*statement);
  copy->children = std::move(children);
  return copy;
}

void visit_statements(const StmtPtr &root,
                      const std::function<void(const LoopStatement &)> &visit) {
  visit(*root);
  for (const StmtPtr &child : root->children) {
    visit_statements(child, visit);
  }
}

namespace {
void visit_once(const ValuePtr &root, const std::function<void(const Value &)> &visit,
                std::unordered_set<const Value *> &seen) {
  if (!root || !seen.insert(root.get()).second) {
    return;
  }
  visit(*root);
  for (const ValuePtr &operand : root->operands) {
    visit_once(operand, visit, seen);
  }
}
} // namespace

void visit_values(const LoopStatement &statement, const std::function<void(const Value &)> &visit) {
  std::unordered_set<const Value *> seen;
  visit_once(statement.lower, visit, seen);
  visit_once(statement.upper, visit, seen);
  visit_once(statement.value, visit, seen);
  visit_once(statement.mask, visit, seen);
  for (const ValuePtr &subscript : statement.subscripts) {
    visit_once(subscript, visit, seen);
  }
}

void visit_value(const ValuePtr &root, const std::function<void(const Value &)> &visit) {
  std::unordered_set<const Value *> seen;
  visit_once(root, visit, seen);
}

Numbers::Numbers(const StmtPtr &root) {
  visit_statements(root, [&](const LoopStatement &statement) {
    if (statement.kind == StatementKind::For || statement.kind == StatementKind::Let ||
        statement.kind == StatementKind::DeclareLocal) {
      last_ = std::max(last_, statement.id);
    }
  });
}

StmtPtr copy_with(const StmtPtr &root, const std::unordered_map<std::int64_t, ValuePtr> &variables,
                  Numbers &numbers) {
  std::unordered_map<std::int64_t, ValuePtr> replaced = variables;
  std::unordered_map<std::int64_t, std::int64_t> locals;
  visit_statements(root, [&](const LoopStatement &statement) {
    if (statement.kind == StatementKind::For || statement.kind == StatementKind::Let) {
      replaced.emplace(statement.id, variable(numbers.next(), statement.name));
    } else if (statement.kind == StatementKind::DeclareLocal) {
      locals.emplace(statement.id, numbers.next());
    }
  });
  ValueRewriter rewrite([&](const ValuePtr &value) -> ValuePtr {
    if (value->kind == ValueKind::Variable) {
      const auto found = replaced.find(value->id);
      return found == replaced.end() ? nullptr : found->second;
    }
    if (value->kind == ValueKind::Local) {
      const auto found = locals.find(value->id);
      return found == locals.end() ? nullptr : local(found->second, value->name, value->type);
    }
    return nullptr;
  });
  const std::function<StmtPtr(const StmtPtr &)> copy = [&](const StmtPtr &statement) {
    auto made = std::make_shared<LoopStatement>(*map_values(statement, std::ref(rewrite)));
    const bool is_local = statement->kind == StatementKind::DeclareLocal ||
                          statement->kind == StatementKind::AssignLocal;
    if (statement->kind == StatementKind::For || statement->kind == StatementKind::Let) {
      made->id = replaced.at(statement->id)->id;
    } else if (is_local) {
      const auto found = locals.find(statement->id);
      made->id = found == locals.end() ? statement->id : found->second;
    }
    return map_children(made, copy);
  };
  return copy(root);
}

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
