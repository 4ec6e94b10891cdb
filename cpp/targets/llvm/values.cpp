// Values: trees with shared nodes, each emitted once a statement.
#include "algorithm/repeated_parts.h"
#include "loops/linear.h"
#include "targets/llvm/choices.h"
#include "targets/llvm/code_emitter.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace tilewright {

namespace {

bool compares(Op op) {
  return op == Op::Lt || op == Op::Le || op == Op::Gt || op == Op::Ge || op == Op::Eq ||
         op == Op::Ne;
}

/// What each lane of a ramp is above its first operand.
std::vector<std::int64_t> lane_steps(const Ramp &ramp) {
  std::vector<std::int64_t> steps;
  for (int lane = 0; lane < ramp.type.lanes; ++lane) {
    steps.push_back(ramp.stride * (lane / ramp.inner) + ramp.inner_stride * (lane % ramp.inner));
  }
  return steps;
}

} // namespace

Term CodeEmitter::value(const Value &value) {
  if (const auto found = frame_.known.find(&value); found != frame_.known.end()) {
    return found->second;
  }
  const Term term = compute(value);
  frame_.known[&value] = term;
  return term;
}

/// `value` with the type that an operation needs.
Term CodeEmitter::operand(const Value &value, ValueType type) {
  return semantics_.cast(this->value(value), value.type, type);
}

Term CodeEmitter::updated(Op op, const Value &value, ValueType type) {
  const bool may_fuse = fuses_products_ && op == Op::Add && value.type == type &&
                        (type.scalar == Float32 || type.scalar == Float64);
  if (const auto *chosen = may_fuse ? as<Select>(value) : nullptr) { // of the lanes that take part
    const Term condition = this->value(*chosen->condition());
    const Term term = updated(op, *chosen->then(), type);
    return semantics_.select(condition.re, term, operand(*chosen->otherwise(), type));
  }
  const auto *sum = may_fuse ? as_binary(value, Op::Add) : nullptr;
  const auto *product = sum != nullptr ? as_binary(sum->right(), Op::Mul) : nullptr;
  if (product == nullptr || !(product->type == type)) {
    return operand(value, type);
  }
  const Term a = operand(*product->left(), type);
  const Term b = operand(*product->right(), type);
  const Term before = operand(*sum->left(), type);
  return Term{
      builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a.re->getType()}, {a.re, b.re, before.re}),
      nullptr};
}

bool CodeEmitter::is_index(const Value &value) {
  switch (value.kind) {
  case ValueKind::Constant:
  case ValueKind::Parameter:
  case ValueKind::GpuIndex:
    return true;
  case ValueKind::Variable: {
    const auto found = frame_.variables.find(cast<Variable>(value).id);
    return found != frame_.variables.end() && found->second.is_index;
  }
  case ValueKind::Ramp:
  case ValueKind::Broadcast:
    break;
  case ValueKind::Unary:
    if (cast<Unary>(value).op != Op::Neg) {
      return false;
    }
    break;
  case ValueKind::Binary: {
    const Op op = cast<Binary>(value).op;
    if (op != Op::Add && op != Op::Sub && op != Op::Mul) {
      return false;
    }
    break;
  }
  default:
    return false;
  }
  if (const auto found = index_values_.find(&value); found != index_values_.end()) {
    return found->second;
  }
  const bool answer = std::all_of(value.operands.begin(), value.operands.end(),
                                  [&](const ValuePtr &operand) { return is_index(*operand); });
  index_values_[&value] = answer;
  return answer;
}

/// Of integers, by a number that is known only when the kernel runs. What is chosen by it would
/// wait for it; behind a branch the processor goes on as it expects that to go.
static bool is_long_division(const Value &value) {
  const auto *call = as<Call>(value);
  const auto *binary = as<Binary>(value);
  const Op op = call ? call->op : binary ? binary->op : Op::None;
  const bool divides =
      op == Op::FloorDiv || op == Op::Mod || op == Op::Fmod || op == Op::TruncatedDivide;
  return divides && value.type.scalar.is_integer() && !is<Constant>(*value.operands[1]);
}

bool CodeEmitter::takes_long(const Value &value) {
  const auto known = slow_values_.find(&value);
  if (known != slow_values_.end()) {
    return known->second;
  }
  const auto *call = as<Call>(value);
  const auto *power = as_binary(value, Op::Pow);
  const bool answer = (call != nullptr && is_elementary(call->op)) || is_long_division(value) ||
                      (power != nullptr && !is<Constant>(*power->right())) ||
                      std::any_of(value.operands.begin(), value.operands.end(),
                                  [&](const ValuePtr &operand) { return takes_long(*operand); });
  slow_values_[&value] = answer;
  return answer;
}

int CodeEmitter::depth_of(const Value &value) {
  if (const auto *variable = as<Variable>(value)) {
    const auto found = frame_.variables.find(variable->id);
    return found == frame_.variables.end() ? 0 : found->second.depth;
  }
  if (is<Load>(value) || is<Local>(value) || is<Matrices>(value) || is<Extern>(value)) {
    return frame_.depth;
  }
  if (value.operands.empty()) {
    return 0;
  }
  if (const auto found = frame_.depths.find(&value); found != frame_.depths.end()) {
    return found->second;
  }
  int depth = 0;
  for (const ValuePtr &operand : value.operands) {
    depth = std::max(depth, depth_of(*operand));
  }
  frame_.depths[&value] = depth;
  return depth;
}

Term CodeEmitter::compute(const Value &value) {
  switch (value.kind) {
  case ValueKind::Constant:
    return semantics_.constant(cast<Constant>(value).value, value.type);
  case ValueKind::Variable:
    return variable(cast<Variable>(value));
  case ValueKind::Parameter:
    return Term{frame_.parameters.at(static_cast<size_t>(cast<Parameter>(value).position)),
                nullptr};
  case ValueKind::Local:
    return local(cast<Local>(value));
  case ValueKind::Load:
    return load(cast<Load>(value));
  case ValueKind::Unary:
    return call(value, cast<Unary>(value).op);
  case ValueKind::Call:
    return call(value, cast<Call>(value).op);
  case ValueKind::Binary:
    return binary(cast<Binary>(value));
  case ValueKind::Cast:
    return operand(*cast<Cast>(value).operand(), value.type);
  case ValueKind::Select:
    return select(cast<Select>(value));
  case ValueKind::Ramp:
    return ramp(cast<Ramp>(value));
  case ValueKind::Broadcast:
    return semantics_.splat(this->value(*cast<Broadcast>(value).operand()), value.type.lanes);
  case ValueKind::Masked: {
    const auto &masked = cast<Masked>(value);
    return load(cast<Load>(masked.load()), scalar(*masked.mask()));
  }
  case ValueKind::Reduce:
    return reduce(cast<Reduce>(value));
  case ValueKind::Lane: {
    const auto &lane = cast<Lane>(value);
    return semantics_.lane(this->value(*lane.operand()), static_cast<int>(lane.number));
  }
  case ValueKind::Extern:
    return extern_call(cast<Extern>(value));
  case ValueKind::GpuIndex:
  case ValueKind::Aligned:
  case ValueKind::Mma:
  case ValueKind::Matrices:
  case ValueKind::Shuffle:
    return own_value(value);
  }
  throw Error(ErrorKind::Internal, "a value of an unknown kind");
}

Term CodeEmitter::own_value(const Value & /*value*/) {
  throw Error(ErrorKind::Internal, "a value of a GPU's thread reached the host's code");
}

Term CodeEmitter::variable(const Variable &value) {
  const auto found = frame_.variables.find(value.id);
  if (found == frame_.variables.end()) {
    throw Error(ErrorKind::Internal, "variable '" + value.name + "' is used outside its loop");
  }
  return Term{found->second.value, nullptr};
}

Term CodeEmitter::local(const Local &value) {
  const auto found = frame_.locals.find(value.id);
  if (found == frame_.locals.end()) {
    throw Error(ErrorKind::Internal, "local '" + value.name + "' is used before it is declared");
  }
  const LocalSlot &slot = found->second;
  llvm::Type *type = register_type(context_, slot.type.scalar, slot.type.lanes);
  Term term;
  term.re = builder_.CreateLoad(type, slot.re, value.name);
  if (slot.im != nullptr) {
    term.im = builder_.CreateLoad(type, slot.im, value.name);
  }
  return term;
}

Term CodeEmitter::ramp(const Ramp &value) {
  llvm::Value *base = scalar(*value.base());
  if (value.type.lanes == 1) {
    return Term{base, nullptr};
  }
  std::vector<llvm::Constant *> steps;
  for (const std::int64_t step : lane_steps(value)) {
    steps.push_back(llvm::ConstantInt::getSigned(builder_.getInt64Ty(), step));
  }
  llvm::Value *splat = builder_.CreateVectorSplat(static_cast<unsigned>(value.type.lanes), base);
  llvm::Constant *added = llvm::ConstantVector::get(steps);
  return Term{may_wrap(value) ? builder_.CreateAdd(splat, added)
                              : builder_.CreateNSWAdd(splat, added),
              nullptr};
}

/// Halves are combined until one lane is left.
Term CodeEmitter::reduce(const Reduce &value) {
  const Value &vector = *value.operand();
  Term term = this->value(vector);
  if (vector.type.scalar.is_bool() && (value.op == Op::And || value.op == Op::Or)) {
    return Term{value.op == Op::And ? builder_.CreateAndReduce(term.re)
                                    : builder_.CreateOrReduce(term.re),
                nullptr};
  }
  const auto part = [&](const Term &of, int first, int count) {
    if (count == 1) {
      return semantics_.lane(of, first);
    }
    llvm::SmallVector<int, 32> pick;
    for (int lane = first; lane < first + count; ++lane) {
      pick.push_back(lane);
    }
    return Term{builder_.CreateShuffleVector(of.re, pick),
                of.im == nullptr ? nullptr : builder_.CreateShuffleVector(of.im, pick)};
  };
  std::vector<Term> left_over;
  int lanes = vector.type.lanes;
  while (lanes > 1) {
    if (lanes % 2 == 1) {
      left_over.push_back(semantics_.lane(term, lanes - 1));
    }
    const ValueType half{vector.type.scalar, lanes / 2};
    term = semantics_.binary(value.op, half, half, part(term, 0, half.lanes),
                             part(term, half.lanes, half.lanes));
    lanes = half.lanes;
  }
  for (const Term &other : left_over) {
    term = semantics_.binary(value.op, value.type, value.type, term, other);
  }
  return term;
}

Term CodeEmitter::binary(const Binary &value) {
  if (!is_device_ && (value.op == Op::And || value.op == Op::Or) &&
      value.type == ValueType{Bool, 1} && takes_long(*value.right())) {
    return decided(value);
  }
  if (llvm::Value *test = lane_test(value)) {
    return Term{test, nullptr};
  }
  if (llvm::Value *test = divisibility(value)) {
    return Term{test, nullptr};
  }
  const Value &a = *value.left();
  const Value &b = *value.right();
  ValueType type = value.type;
  if (compares(value.op)) {
    type.scalar = a.type.scalar;
    if (!(a.type.scalar == b.type.scalar)) {
      throw Error(ErrorKind::Internal, "a comparison of two different types");
    }
  }
  const Term x = operand(a, type);
  const Term y = operand(b, type);
  if (type.scalar == Int64 && is_index(value) && !may_wrap(value)) {
    switch (value.op) {
    case Op::Add:
      return Term{builder_.CreateNSWAdd(x.re, y.re), nullptr};
    case Op::Sub:
      return Term{builder_.CreateNSWSub(x.re, y.re), nullptr};
    case Op::Mul:
      return Term{builder_.CreateNSWMul(x.re, y.re), nullptr};
    default:
      break;
    }
  }
  return semantics_.binary(value.op, type, value.type, x, y);
}

/// x % y == 0, or != 0, of integers; null for any other question. The remainder that truncates is 0
/// where the one that floors is, has no sign to mend, and LLVM asks it of a constant y by a
/// product.
llvm::Value *CodeEmitter::divisibility(const Binary &value) {
  const ValueType type = value.left()->type;
  const auto *splat = as<Broadcast>(value.right());
  if ((value.op != Op::Eq && value.op != Op::Ne) || !type.scalar.is_integer() ||
      as_integer(splat == nullptr ? value.right() : splat->operand()) != 0) {
    return nullptr;
  }
  const Value &remainder = *value.left();
  const auto *call = as<Call>(remainder);
  const bool floors = is_binary(remainder, Op::Mod);
  if (!floors && (call == nullptr || call->op != Op::Fmod)) {
    return nullptr;
  }
  const Term a = operand(*remainder.operands[0], type);
  const Term b = operand(*remainder.operands[1], type);
  llvm::Value *divides = semantics_.divides(type.scalar, a.re, b.re);
  return value.op == Op::Eq ? divides : builder_.CreateNot(divides);
}

/// An index, or the least or largest of some.
bool CodeEmitter::is_bound(const Value &value) {
  const bool picks = is_binary(value, Op::Min) || is_binary(value, Op::Max);
  return picks ? is_bound(*value.operands[0]) && is_bound(*value.operands[1]) : is_index(value);
}

/// base + steps < bound asked of narrow integers: steps < bound - base. Null where the steps do not
/// fit or it is another question.
llvm::Value *CodeEmitter::lane_test(const Binary &value) {
  const Value &a = *value.left();
  const Value &b = *value.right();
  if (value.op != Op::Lt || !is<Ramp>(a) || !is<Broadcast>(b) || may_wrap(a) || may_wrap(b) ||
      !is_index(a) || !is_bound(*b.operands[0])) {
    return nullptr;
  }
  const std::vector<std::int64_t> steps = lane_steps(cast<Ramp>(a));
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  if (*least < 0 || *most >= std::numeric_limits<std::int16_t>::max()) {
    return nullptr;
  }
  const bool bytes = *most < std::numeric_limits<std::int8_t>::max();
  llvm::IntegerType *narrow = bytes ? builder_.getInt8Ty() : builder_.getInt16Ty();
  const std::int64_t limit =
      bytes ? std::numeric_limits<std::int8_t>::max() : std::numeric_limits<std::int16_t>::max();
  llvm::Value *distance = builder_.CreateNSWSub(scalar(*b.operands[0]), scalar(*a.operands[0]));
  std::int64_t lane = 0;
  const bool in_order =
      std::all_of(steps.begin(), steps.end(), [&](std::int64_t step) { return step == lane++; });
  if (target_.has_mask_registers && in_order && a.type.lanes >= 8 &&
      a.type.lanes <= max_mask_bits &&
      llvm::isPowerOf2_32(static_cast<std::uint32_t>(a.type.lanes))) {
    return first_lanes(distance, a.type.lanes);
  }
  distance = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, distance, builder_.getInt64(0));
  distance = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, distance,
                                            builder_.getInt64(static_cast<std::uint64_t>(limit)));
  distance = builder_.CreateTrunc(distance, narrow);
  std::vector<llvm::Constant *> lanes;
  for (const std::int64_t step : steps) {
    lanes.push_back(llvm::ConstantInt::getSigned(narrow, step));
  }
  return builder_.CreateICmpSLT(
      llvm::ConstantVector::get(lanes),
      builder_.CreateVectorSplat(static_cast<unsigned>(a.type.lanes), distance));
}

/// The first so many lanes, as the lowest bits of an integer. Not the same as a comparison of lane
/// numbers: LLVM widens that one again to what `count` was narrowed from, and asks it anew beside
/// each use.
llvm::Value *CodeEmitter::first_lanes(llvm::Value *count, int lanes) {
  const auto number = [&](int value) {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  };
  const int most = std::min(lanes, max_mask_bits - 1); // a shift by all bits is none
  llvm::Value *all = llvm::ConstantInt::getAllOnesValue(builder_.getInt64Ty());
  llvm::Value *shift = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, number(0));
  shift = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, shift, number(most));
  llvm::Value *bits = builder_.CreateNot(builder_.CreateShl(all, shift));
  if (most < lanes) {
    bits = builder_.CreateSelect(builder_.CreateICmpSGT(count, number(most)), all, bits);
  }
  // At least sixteen, of which all are known: LLVM takes what lies behind a mask of eight bits for
  // zeros, but leaves there what it will.
  constexpr int least_bits = 16;
  const auto size = static_cast<unsigned>(std::max(lanes, least_bits));
  llvm::Value *mask =
      builder_.CreateBitCast(builder_.CreateTrunc(bits, builder_.getIntNTy(size)),
                             llvm::FixedVectorType::get(builder_.getInt1Ty(), size));
  if (lanes >= least_bits) {
    return mask;
  }
  llvm::SmallVector<int, least_bits> first(static_cast<size_t>(lanes));
  std::iota(first.begin(), first.end(), 0);
  return builder_.CreateShuffleVector(mask, first);
}

Term CodeEmitter::call(const Value &value, Op op) {
  // The operands' common type decides; it is the result's unless the function leaves the kind
  // (isnan, abs, real ...).
  ValueType type{value.operands.at(0)->type.scalar, value.type.lanes};
  std::vector<Term> arguments;
  if (op == Op::MakeComplex) {
    type.scalar = component_type(value.type.scalar);
  }
  for (const ValuePtr &argument : value.operands) {
    arguments.push_back(operand(*argument, type));
  }
  const bool changes_kind = operation(op).result != ResultRule::Operand;
  if (!changes_kind && !(type.scalar == value.type.scalar)) {
    for (Term &argument : arguments) {
      argument = semantics_.cast(argument, type, value.type);
    }
    type = value.type;
  }
  return semantics_.call(op, type, value.type, arguments);
}

Term CodeEmitter::select(const Select &value) {
  if (!is_device_ && value.type.lanes == 1 &&
      (takes_long(*value.then()) || takes_long(*value.otherwise()))) {
    return either(scalar(*value.condition()), value.then(), value.otherwise(), value.type);
  }
  const Term chosen = this->value(*value.condition());
  const Term x = operand(*value.then(), value.type);
  const Term y = operand(*value.otherwise(), value.type);
  const Term result = semantics_.select(chosen.re, x, y);
  mark_choice_of_data(result.re);
  return result;
}

Term CodeEmitter::decided(const Binary &value) {
  const bool decides = value.op == Op::Or;
  llvm::Value *first = scalar(*value.left());
  llvm::BasicBlock *before = builder_.GetInsertBlock();
  llvm::BasicBlock *other = new_block("other");
  llvm::BasicBlock *after = new_block("decided");
  builder_.CreateCondBr(first, decides ? after : other, decides ? other : after);
  builder_.SetInsertPoint(other);
  const auto known = frame_.known;
  llvm::Value *second = scalar(*value.right());
  frame_.known = known;
  llvm::BasicBlock *end = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  llvm::PHINode *result = builder_.CreatePHI(builder_.getInt1Ty(), 2);
  result->addIncoming(builder_.getInt1(decides), before);
  result->addIncoming(second, end);
  return Term{result, nullptr};
}

Term CodeEmitter::either(llvm::Value *condition, const ValuePtr &then, const ValuePtr &otherwise,
                         ValueType type) {
  const std::array<ValuePtr, 2> sides = {then, otherwise};
  std::array<Term, 2> terms;
  std::array<llvm::BasicBlock *, 2> blocks = {new_block("chosen"), new_block("otherwise")};
  llvm::BasicBlock *after = new_block("on");
  builder_.CreateCondBr(condition, blocks[0], blocks[1]);
  for (size_t s = 0; s < sides.size(); ++s) {
    builder_.SetInsertPoint(blocks[s]);
    const auto known = frame_.known;
    terms[s] = operand(*sides[s], type);
    frame_.known = known;
    blocks[s] = builder_.GetInsertBlock();
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
  const auto merged = [&](llvm::Value *Term::*part) -> llvm::Value * {
    if (terms[0].*part == nullptr) {
      return nullptr;
    }
    llvm::PHINode *found = builder_.CreatePHI((terms[0].*part)->getType(), 2);
    found->addIncoming(terms[0].*part, blocks[0]);
    found->addIncoming(terms[1].*part, blocks[1]);
    return found;
  };
  return {merged(&Term::re), merged(&Term::im)};
}

} // namespace tilewright
