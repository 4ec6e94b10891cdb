#include "lowering/passes.h"

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

/// More would not stay in registers.
constexpr size_t max_accumulators = 64;

/// One element (or vector of elements) of a buffer that a loop reads or writes.
struct Element {
  std::int64_t buffer = 0;
  std::string name;
  ValueType type;
  std::vector<ValuePtr> subscripts;
  Op atomic = Op::None;          ///< other threads update it too, by this operation
  bool read_or_stored = false;   ///< not only updated atomically
  bool always_stored = false;    ///< each iteration stores it, once the loops around that store run
  std::vector<ValuePtr> running; ///< conditions under which they do
};

bool same_element(const Element &element, std::int64_t buffer,
                  const std::vector<ValuePtr> &subscripts, int lanes) {
  return element.buffer == buffer && element.type.lanes == lanes &&
         std::equal(element.subscripts.begin(), element.subscripts.end(), subscripts.begin(),
                    subscripts.end(), same_value);
}

/// What an operation leaves as it is when it is combined with this.
ValuePtr identity_of(Op op, ScalarType type) {
  for (const Op reduction : {Op::ReduceSum, Op::ReduceProd, Op::ReduceMin, Op::ReduceMax,
                             Op::ReduceAny, Op::ReduceAll}) {
    if (reduction_combiner(reduction) == op) {
      return constant_of(reduction_identity(reduction, type)->value, type);
    }
  }
  throw Error(ErrorKind::Internal, "an atomic update by " + op_name(op) + " has no identity");
}

/// The lowest subscript of a dimension and the distance to the highest one; nothing for gathers.
std::optional<std::pair<Linear, std::int64_t>> span_of(const ValuePtr &subscript) {
  const bool is_ramp = subscript->kind == ValueKind::Ramp;
  const ValuePtr &base = is_ramp ? subscript->operands[0] : subscript;
  if (!is_index(base) || (is_ramp && subscript->id < 0)) {
    return std::nullopt;
  }
  const auto linear = linear_of(base);
  if (!linear) {
    return std::nullopt;
  }
  return std::pair(*linear, is_ramp ? subscript->id * (subscript->type.lanes - 1) : 0);
}

/// Are the two never the same memory? Asked of subscripts of which those of `a` do not change in
/// the loop; so neither do those of `b` in a dimension where the difference is a constant.
bool disjoint(const Element &a, const Element &b) {
  for (size_t d = 0; d < a.subscripts.size(); ++d) {
    const auto first = span_of(a.subscripts[d]);
    const auto second = span_of(b.subscripts[d]);
    const auto distance = first && second ? combine(second->first, first->first, -1) : std::nullopt;
    if (distance && distance->is_constant() &&
        (distance->constant > first->second || -distance->constant > second->second)) {
      return true;
    }
  }
  return false;
}

/// What the body of one loop touches.
class LoopElements {
public:
  explicit LoopElements(const LoopStatement &loop) {
    visit_statements(loop.children[0], [&](const LoopStatement &inner) {
      if (inner.kind == StatementKind::For || inner.kind == StatementKind::Let) {
        changing_.insert(inner.id);
      }
      if (inner.kind == StatementKind::Allocate) {
        scoped_.insert(inner.buffer); // is there only inside the loop
      }
      has_parallel_ =
          has_parallel_ || (inner.kind == StatementKind::For && inner.loop == LoopKind::Parallel);
    });
    changing_.insert(loop.id);
    std::vector<ValuePtr> running{binary_value(Op::Lt, loop.lower, loop.upper)};
    collect(loop.children[0], true, running);
  }

  /// The elements that may live in a local while the loop runs.
  std::vector<Element> promotable() const {
    std::vector<Element> found;
    if (has_parallel_) {
      return found; // its threads would share the locals
    }
    for (const Element &element : elements_) {
      const bool fixed =
          std::all_of(element.subscripts.begin(), element.subscripts.end(),
                      [&](const ValuePtr &subscript) { return is_invariant(subscript); });
      const bool alone = std::all_of(elements_.begin(), elements_.end(), [&](const Element &other) {
        return &other == &element || other.buffer != element.buffer || disjoint(element, other);
      });
      const bool updated = element.atomic != Op::None && !element.read_or_stored;
      if ((element.always_stored || updated) && fixed && alone &&
          !scoped_.contains(element.buffer) && found.size() < max_accumulators) {
        found.push_back(element);
      }
    }
    return found;
  }

private:
  bool is_invariant(const ValuePtr &root) const {
    bool invariant = true;
    visit_value(root, [&](const Value &value) {
      const bool changes = value.kind == ValueKind::Load || value.kind == ValueKind::Local ||
                           (value.kind == ValueKind::Variable && changing_.contains(value.id));
      invariant = invariant && !changes;
    });
    return invariant;
  }

  Element &element(std::int64_t buffer, const std::string &name, ValueType type,
                   const std::vector<ValuePtr> &subscripts) {
    for (Element &known : elements_) {
      if (same_element(known, buffer, subscripts, type.lanes)) {
        return known;
      }
    }
    elements_.push_back({buffer, name, type, subscripts, Op::None, false, false, {}});
    return elements_.back();
  }

  void collect(const StmtPtr &statement, bool always, std::vector<ValuePtr> &running) {
    visit_values(*statement, [&](const Value &value) {
      if (value.kind == ValueKind::Load) {
        element(value.id, value.name, value.type, value.operands).read_or_stored = true;
      }
    });
    if (statement->kind == StatementKind::Store) {
      Element &stored = element(statement->buffer, statement->name, statement->value->type,
                                statement->subscripts);
      stored.read_or_stored = true;
      if (always && !stored.always_stored) {
        stored.always_stored = true;
        stored.running = running;
      }
    }
    if (statement->kind == StatementKind::AtomicUpdate) {
      // The local is combined with the element at the end: it may as well be the identity.
      element(statement->buffer, statement->name, statement->value->type, statement->subscripts)
          .atomic = statement->op;
    }
    const bool is_loop = statement->kind == StatementKind::For;
    const bool runs = is_loop && is_invariant(statement->lower) && is_invariant(statement->upper);
    const size_t outer = running.size();
    if (runs) {
      running.push_back(binary_value(Op::Lt, statement->lower, statement->upper));
    }
    const bool perhaps =
        statement->kind == StatementKind::If || statement->kind == StatementKind::While;
    const bool inside = always && !perhaps && (!is_loop || runs);
    for (const StmtPtr &child : statement->children) {
      collect(child, inside, running);
    }
    running.resize(outer);
  }

  std::vector<Element> elements_;
  std::set<std::int64_t> changing_;
  std::set<std::int64_t> scoped_;
  bool has_parallel_ = false;
};

class Promotion {
public:
  explicit Promotion(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    if (statement->kind == StatementKind::For && statement->loop == LoopKind::Serial) {
      const std::vector<Element> elements = LoopElements(*statement).promotable();
      if (!elements.empty()) {
        return promote(statement, elements);
      }
    }
    std::vector<StmtPtr> children;
    for (const StmtPtr &child : statement->children) {
      children.push_back((*this)(child));
    }
    return with_children(statement, std::move(children));
  }

private:
  StmtPtr promote(const StmtPtr &loop, const std::vector<Element> &elements) {
    std::vector<ValuePtr> locals;
    std::vector<StmtPtr> all;
    std::vector<ValuePtr> conditions;
    ValuePtr running = boolean(true);
    for (const Element &element : elements) {
      locals.push_back(local(numbers_.next(), "acc", element.type));
      all.push_back(declare_local(
          locals.back()->id, "acc",
          element.atomic != Op::None
              ? identity_of(element.atomic, element.type.scalar)
              : load(element.buffer, element.name, element.type, element.subscripts)));
      for (const ValuePtr &condition : element.running) {
        if (std::none_of(conditions.begin(), conditions.end(),
                         [&](const ValuePtr &known) { return same_value(known, condition); })) {
          conditions.push_back(condition);
          running = both(running, condition);
        }
      }
    }
    const auto position = [&](std::int64_t buffer, const std::vector<ValuePtr> &subscripts,
                              int lanes) {
      const auto found =
          std::find_if(elements.begin(), elements.end(), [&](const Element &element) {
            return same_element(element, buffer, subscripts, lanes);
          });
      return static_cast<size_t>(found - elements.begin());
    };
    ValueRewriter read_locals([&](const ValuePtr &value) -> ValuePtr {
      if (value->kind != ValueKind::Load) {
        return nullptr;
      }
      const size_t at = position(value->id, value->operands, value->type.lanes);
      return at < elements.size() ? locals[at] : nullptr;
    });
    const std::function<StmtPtr(const StmtPtr &)> rewrite =
        [&](const StmtPtr &statement) -> StmtPtr {
      if (statement->kind == StatementKind::Store) {
        const size_t at =
            position(statement->buffer, statement->subscripts, statement->value->type.lanes);
        if (at < elements.size()) {
          return assign_local(locals[at]->id, "acc", read_locals(statement->value));
        }
      }
      if (statement->kind == StatementKind::AtomicUpdate) {
        const size_t at = position(statement->buffer, statement->subscripts, 1);
        if (at < elements.size()) {
          return assign_local(
              locals[at]->id, "acc",
              binary_value(statement->op, locals[at], read_locals(statement->value)));
        }
      }
      std::vector<StmtPtr> children;
      for (const StmtPtr &child : statement->children) {
        children.push_back(rewrite(child));
      }
      const StmtPtr mapped = map_values(statement, std::ref(read_locals));
      return children.empty() ? mapped : with_children(mapped, std::move(children));
    };
    const StmtPtr inner = (*this)(rewrite(loop->children[0]));
    const StmtPtr promoted = with_children(loop, {inner});
    // Where the loops do not run, the elements are neither read nor written: they may be another
    // thread's.
    all.push_back(promoted);
    for (size_t i = 0; i < elements.size(); ++i) {
      const Element &element = elements[i];
      all.push_back(element.atomic != Op::None
                        ? atomic_update(element.atomic, element.buffer, element.name,
                                        element.subscripts, locals[i])
                        : store(element.buffer, element.name, element.subscripts, locals[i]));
    }
    // Elements whose loops run under different conditions would need a test each.
    const bool uniform = std::all_of(elements.begin(), elements.end(), [&](const Element &element) {
      return element.running.size() == elements.front().running.size() &&
             std::equal(element.running.begin(), element.running.end(),
                        elements.front().running.begin(), same_value);
    });
    return if_then(running, block(std::move(all)),
                   uniform && conditions.size() == 1 ? nullptr : copy_with(loop, {}, numbers_));
  }

  Numbers numbers_;
};

} // namespace

StmtPtr promote_accumulators(const StmtPtr &body) { return Promotion(body)(body); }

} // namespace tilewright
