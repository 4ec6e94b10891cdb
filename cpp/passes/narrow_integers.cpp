#include "passes/narrow_integers.h"

#include "loops/traverse.h"

#include <limits>
#include <set>
#include <unordered_map>

namespace tilewright {

namespace {

constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

/// x of int64(x), x an int32; else null.
ValuePtr widened(const ValuePtr &value) {
  const auto *conversion = as<Cast>(value);
  const bool is_wide = conversion != nullptr && value->type.scalar == Int64 &&
                       conversion->operand()->type.scalar == Int32;
  return is_wide ? conversion->operand() : nullptr;
}

class Narrowing {
public:
  Narrowing(const StmtPtr &root, const Ranges &known) : known_(known) {
    visit_statements(root, [&](const LoopStatement &statement) {
      if (const auto *assignment = as<AssignLocal>(statement)) {
        assigned_.insert(assignment->id);
      }
    });
  }

  StmtPtr operator()(const StmtPtr &statement) {
    StmtPtr changed = map_values(statement, [&](const ValuePtr &value) { return narrowed(value); });
    const auto *declared = as<DeclareLocal>(changed);
    if (declared == nullptr || assigned_.contains(declared->id)) {
      return map_children(changed, *this);
    }
    const ValuePtr narrow = widened(declared->value);
    if (!narrow) {
      return changed;
    }
    locals_.emplace(declared->id,
                    cast_value(local(declared->id, declared->name, narrow->type), Int64));
    return declare_local(declared->id, declared->name, narrow);
  }

private:
  ValuePtr narrowed(const ValuePtr &value) {
    const auto found = done_.find(value);
    if (found != done_.end()) {
      return found->second;
    }
    ValuePtr result = value;
    if (const auto *own = as<Local>(value)) {
      const auto known = locals_.find(own->id);
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
    if (is<Cast>(value) && value->type.scalar.is_floating()) {
      const ValuePtr narrow = widened(value->operands[0]);
      return narrow ? cast_value(narrow, value->type.scalar) : value;
    }
    const auto *binary = as<Binary>(value);
    if (binary == nullptr || value->type.scalar != Int64 ||
        (binary->op != Op::Min && binary->op != Op::Max)) {
      return value;
    }
    const ValuePtr &a = binary->left();
    const ValuePtr &b = binary->right();
    const ValuePtr first = within(a, binary->op);
    const ValuePtr second = within(b, binary->op);
    const bool gains = widened(a) != nullptr || widened(b) != nullptr;
    return gains && first && second ? cast_value(binary_value(binary->op, first, second), Int64)
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
    visit_value(value, [&](const Value &inner) { is_size = is_size && !is<Variable>(inner); });
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
