#include "loops/build.h"
#include "passes/passes.h"

#include <limits>
#include <set>
#include <unordered_map>

namespace tilewright {

namespace {

constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

/// x of int64(x), x an int32; else null.
ValuePtr widened(const ValuePtr &value) {
  const bool is_wide = value->kind == ValueKind::Cast && value->type.scalar == Int64 &&
                       value->operands[0]->type.scalar == Int32;
  return is_wide ? value->operands[0] : nullptr;
}

class Narrowing {
public:
  Narrowing(const StmtPtr &root, const Ranges &known) : known_(known) {
    visit_statements(root, [&](const LoopStatement &statement) {
      if (statement.kind == StatementKind::AssignLocal) {
        assigned_.insert(statement.id);
      }
    });
  }

  StmtPtr operator()(const StmtPtr &statement) {
    StmtPtr changed = map_values(statement, [&](const ValuePtr &value) { return narrowed(value); });
    if (changed->kind != StatementKind::DeclareLocal || assigned_.contains(changed->id)) {
      return map_children(changed, *this);
    }
    const ValuePtr narrow = widened(changed->value);
    if (!narrow) {
      return changed;
    }
    locals_.emplace(changed->id,
                    cast_value(local(changed->id, changed->name, narrow->type), Int64));
    return declare_local(changed->id, changed->name, narrow);
  }

private:
  ValuePtr narrowed(const ValuePtr &value) {
    const auto found = done_.find(value);
    if (found != done_.end()) {
      return found->second;
    }
    ValuePtr result = value;
    if (value->kind == ValueKind::Local) {
      const auto known = locals_.find(value->id);
      result = known == locals_.end() ? value : known->second;
    } else if (!value->operands.empty()) {
      std::vector<ValuePtr> operands;
      bool same = true;
      for (const ValuePtr &operand : value->operands) {
        operands.push_back(narrowed(operand));
        same = same && operands.back() == operand;
      }
      result = in_less_bits(same ? value : with_operands(value, std::move(operands)));
    }
    done_.emplace(value, result);
    return result;
  }

  ValuePtr in_less_bits(const ValuePtr &value) const {
    if (value->kind == ValueKind::Cast && value->type.scalar.is_floating()) {
      const ValuePtr narrow = widened(value->operands[0]);
      return narrow ? cast_value(narrow, value->type.scalar) : value;
    }
    if (value->kind != ValueKind::Binary || value->type.scalar != Int64 ||
        (value->op != Op::Min && value->op != Op::Max)) {
      return value;
    }
    const ValuePtr &a = value->operands[0];
    const ValuePtr &b = value->operands[1];
    const ValuePtr first = within(a, value->op);
    const ValuePtr second = within(b, value->op);
    const bool gains = widened(a) != nullptr || widened(b) != nullptr;
    return gains && first && second ? cast_value(binary_value(value->op, first, second), Int64)
                                    : value;
  }

  /// An int32 that is as good as `value` where `op`, a minimum or maximum, has an int32 beside it;
  /// null where there may be none.
  ValuePtr within(const ValuePtr &value, Op op) const {
    if (const ValuePtr narrow = widened(value)) {
      return narrow;
    }
    // The same for all iterations, so that it is computed once.
    bool is_size = is_index(value);
    visit_value(
        value, [&](const Value &inner) { is_size = is_size && inner.kind != ValueKind::Variable; });
    if (!is_size) {
      return nullptr;
    }
    const Interval interval = known_.of(value);
    const bool is_lower = op == Op::Min;
    const auto &end = is_lower ? interval.lower : interval.upper;
    if (!end || (is_lower ? *end < least : *end > most)) {
      return nullptr;
    }
    const ValuePtr limit = integer(is_lower ? most : least);
    return cast_value(is_lower ? minimum(value, limit) : maximum(value, limit), Int32);
  }

  const Ranges &known_;
  std::set<std::int64_t> assigned_;
  std::unordered_map<std::int64_t, ValuePtr> locals_; ///< what stands for those that are int32 now
  std::unordered_map<ValuePtr, ValuePtr> done_;
};

} // namespace

StmtPtr narrow_integers(const StmtPtr &body, const Ranges &known) {
  return Narrowing(body, known)(body);
}

} // namespace tilewright
