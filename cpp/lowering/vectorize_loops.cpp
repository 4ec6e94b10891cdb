#include "lowering/passes.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

/// One vector loop on its way to vector operations. Anything that has no vector form sets
/// `failed_`.
class VectorLoop {
public:
  VectorLoop(const LoopStatement &loop, int lanes, Numbers &numbers)
      : lanes_(lanes), numbers_(numbers) {
    vectors_[loop.id] = ramp(loop.lower, 1, lanes);
  }

  /// The body for all lanes at once; null when there is none.
  StmtPtr convert(const StmtPtr &body) {
    find_locals(body);
    StmtPtr result = statement(body);
    return failed_ ? nullptr : result;
  }

private:
  /// Which locals differ between lanes: those that are given such a value, and so on until nothing
  /// changes.
  void find_locals(const StmtPtr &body) {
    visit_statements(body, [&](const LoopStatement &inner) {
      if (inner.kind == StatementKind::DeclareLocal) {
        own_locals_.insert(inner.id);
      }
    });
    std::set<std::int64_t> varying_variables;
    for (const auto &[id, value] : vectors_) {
      varying_variables.insert(id);
    }
    for (bool changed = true; changed;) {
      changed = false;
      mark(body, varying_variables, false, changed);
    }
  }

  void mark(const StmtPtr &root, std::set<std::int64_t> &variables, bool guarded, bool &changed) {
    if (root->kind == StatementKind::Let && varies(root->value, variables)) {
      changed = variables.insert(root->id).second || changed;
    }
    if (root->kind == StatementKind::DeclareLocal || root->kind == StatementKind::AssignLocal) {
      if (guarded || varies(root->value, variables)) {
        changed = vector_locals_.insert(root->id).second || changed;
      }
    }
    const bool inside =
        guarded || (root->kind == StatementKind::If && varies(root->value, variables));
    for (const StmtPtr &child : root->children) {
      mark(child, variables, inside, changed);
    }
  }

  bool varies(const ValuePtr &root, const std::set<std::int64_t> &variables) const {
    bool found = false;
    visit_value(root, [&](const Value &value) {
      found = found || (value.kind == ValueKind::Variable && variables.contains(value.id)) ||
              (value.kind == ValueKind::Local && vector_locals_.contains(value.id));
    });
    return found;
  }

  StmtPtr fail() {
    failed_ = true;
    return block({});
  }

  ValuePtr widened(const ValuePtr &value) const {
    return value->type.lanes == 1 ? broadcast(value, lanes_) : value;
  }

  StmtPtr statement(const StmtPtr &node) {
    if (failed_) {
      return block({});
    }
    switch (node->kind) {
    case StatementKind::Block: {
      std::vector<StmtPtr> children;
      for (const StmtPtr &child : node->children) {
        children.push_back(statement(child));
      }
      return block(std::move(children));
    }
    case StatementKind::For: {
      const ValuePtr lower = value(node->lower);
      const ValuePtr upper = value(node->upper);
      if (lower->type.lanes != 1 || upper->type.lanes != 1 || node->loop == LoopKind::Vector) {
        return fail();
      }
      return for_loop(*node, lower, upper, statement(node->children[0]));
    }
    case StatementKind::If:
      return condition(node);
    case StatementKind::Store: {
      std::vector<ValuePtr> subscripts;
      bool varying = false;
      for (const ValuePtr &subscript : node->subscripts) {
        subscripts.push_back(value(subscript));
        varying = varying || subscripts.back()->type.lanes != 1;
      }
      if (!varying) {
        return fail(); // all lanes would store to one element
      }
      return store(node->buffer, node->name, std::move(subscripts), widened(value(node->value)));
    }
    case StatementKind::Let: {
      const ValuePtr converted = value(node->value);
      if (converted->type.lanes == 1) {
        return let(node->id, node->name, converted);
      }
      if (converted->kind == ValueKind::Ramp) {
        vectors_[node->id] = converted;
        return block({});
      }
      const std::int64_t id = numbers_.next();
      vectors_[node->id] = local(id, node->name, converted->type);
      return declare_local(id, node->name, converted);
    }
    case StatementKind::DeclareLocal: {
      const ValuePtr converted = value(node->value);
      return declare_local(node->id, node->name,
                           vector_locals_.contains(node->id) ? widened(converted) : converted);
    }
    case StatementKind::AssignLocal: {
      if (!own_locals_.contains(node->id)) {
        return fail(); // carries a value from lane to lane
      }
      const ValuePtr converted = value(node->value);
      return assign_local(node->id, node->name,
                          vector_locals_.contains(node->id) ? widened(converted) : converted);
    }
    case StatementKind::CheckIndex: {
      const ValuePtr converted = value(node->value);
      return converted->type.lanes == 1 ? check_index(node->id, converted, value(node->upper))
                                        : fail();
    }
    case StatementKind::While:
    case StatementKind::Allocate:
      return fail(); // each lane has iterations, or memory, of its own
    case StatementKind::AtomicUpdate:
      return fail(); // one element at a time
    }
    return fail();
  }

  /// A branch that varies over the lanes becomes selects when it only assigns locals and reads no
  /// memory.
  StmtPtr condition(const StmtPtr &node) {
    const ValuePtr test = value(node->value);
    if (test->type.lanes == 1) {
      const StmtPtr then = statement(node->children[0]);
      return if_then(test, then,
                     node->children.size() > 1 ? statement(node->children[1]) : nullptr);
    }
    std::vector<StmtPtr> selects;
    const std::int64_t mask = numbers_.next();
    const ValuePtr mask_value = local(mask, "mask", test->type);
    selects.push_back(declare_local(mask, "mask", test));
    for (size_t i = 0; i < node->children.size(); ++i) {
      const StmtPtr &branch = node->children[i];
      const std::vector<StmtPtr> single{branch};
      for (const StmtPtr &child :
           branch->kind == StatementKind::Block ? branch->children : single) {
        if (child->kind != StatementKind::AssignLocal || !own_locals_.contains(child->id) ||
            loads(child->value)) {
          return fail();
        }
        const ValuePtr chosen = widened(value(child->value));
        const ValuePtr old = local(child->id, child->name, chosen->type);
        selects.push_back(assign_local(child->id, child->name,
                                       i == 0 ? select_value(mask_value, chosen, old)
                                              : select_value(mask_value, old, chosen)));
      }
    }
    return block(std::move(selects));
  }

  static bool loads(const ValuePtr &root) {
    bool found = false;
    visit_value(root, [&](const Value &value) { found = found || value.kind == ValueKind::Load; });
    return found;
  }

  ValuePtr value(const ValuePtr &node) {
    const auto found = done_.find(node);
    if (found != done_.end()) {
      return found->second;
    }
    ValuePtr result = convert_value(node);
    done_.emplace(node, result);
    return result;
  }

  ValuePtr convert_value(const ValuePtr &node) {
    if (node->kind == ValueKind::Variable) {
      const auto found = vectors_.find(node->id);
      return found == vectors_.end() ? node : found->second;
    }
    if (node->kind == ValueKind::Local) {
      return vector_locals_.contains(node->id)
                 ? local(node->id, node->name, {node->type.scalar, lanes_})
                 : node;
    }
    std::vector<ValuePtr> operands;
    bool varying = false;
    for (const ValuePtr &operand : node->operands) {
      operands.push_back(value(operand));
      varying = varying || operands.back()->type.lanes != 1;
    }
    if (!varying) {
      return with_operands(node, std::move(operands));
    }
    if (node->kind == ValueKind::Ramp || node->kind == ValueKind::Broadcast) {
      failed_ = true;
      return node;
    }
    if (node->kind == ValueKind::Load) {
      return load(node->id, node->name, {node->type.scalar, lanes_}, std::move(operands));
    }
    if (node->kind == ValueKind::Binary) {
      if (ValuePtr moved = ramp_arithmetic(node->op, operands[0], operands[1])) {
        return moved;
      }
    }
    for (ValuePtr &operand : operands) {
      operand = widened(operand);
    }
    return with_operands(node, std::move(operands));
  }

  /// Sums of ramps and scalars, and multiples of ramps, are ramps.
  ValuePtr ramp_arithmetic(Op op, const ValuePtr &a, const ValuePtr &b) const {
    const bool left = a->kind == ValueKind::Ramp;
    const bool right = b->kind == ValueKind::Ramp;
    const bool fits = (left || a->type.lanes == 1) && (right || b->type.lanes == 1);
    if (!fits || a->type.scalar != Int64) {
      return nullptr;
    }
    const ValuePtr &base_a = left ? a->operands[0] : a;
    const ValuePtr &base_b = right ? b->operands[0] : b;
    const std::int64_t stride_a = left ? a->id : 0;
    const std::int64_t stride_b = right ? b->id : 0;
    if (op == Op::Add || op == Op::Sub) {
      const std::int64_t stride = op == Op::Add ? stride_a + stride_b : stride_a - stride_b;
      const ValuePtr base = binary_value(op, base_a, base_b);
      return stride == 0 ? broadcast(base, lanes_) : ramp(base, stride, lanes_);
    }
    const auto factor = left ? as_integer(b) : as_integer(a);
    if (op != Op::Mul || left == right || !factor || *factor == 0) {
      return nullptr;
    }
    return ramp(mul(left ? base_a : base_b, integer(*factor)),
                (left ? stride_a : stride_b) * *factor, lanes_);
  }

  int lanes_;
  Numbers &numbers_;
  bool failed_ = false;
  std::map<std::int64_t, ValuePtr> vectors_; ///< variables that differ between lanes
  std::set<std::int64_t> own_locals_;
  std::set<std::int64_t> vector_locals_;
  std::unordered_map<ValuePtr, ValuePtr> done_;
};

class Vectorizer {
public:
  explicit Vectorizer(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->kind == StatementKind::For && statement->loop == LoopKind::Vector) {
      return vector_loop(statement);
    }
    if (statement->children.empty()) {
      return statement;
    }
    std::vector<StmtPtr> children;
    for (const StmtPtr &child : statement->children) {
      children.push_back((*this)(child));
    }
    return with_children(statement, std::move(children));
  }

private:
  StmtPtr vector_loop(const StmtPtr &loop) {
    const auto lower = linear_of(loop->lower);
    const auto upper = linear_of(loop->upper);
    const auto extent = lower && upper ? combine(*upper, *lower, -1) : std::nullopt;
    StmtPtr serial = for_loop(loop->id, loop->name, loop->lower, loop->upper, LoopKind::Serial, 0,
                              (*this)(loop->children[0]));
    if (loop->factor < 2 || !extent || !extent->is_constant() || extent->constant != loop->factor) {
      return serial;
    }
    const StmtPtr vector =
        VectorLoop(*loop, static_cast<int>(loop->factor), numbers_).convert(loop->children[0]);
    return vector ? vector : serial;
  }

  Numbers numbers_;
};

} // namespace

StmtPtr vectorize_loops(const StmtPtr &body) { return Vectorizer(body)(body); }

} // namespace tilewright
