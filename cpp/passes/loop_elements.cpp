#include "passes/loop_elements.h"

#include "loops/linear.h"
#include "loops/traverse.h"
#include "passes/loop_changes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tilewright {

namespace {

/// More would not stay in registers.
constexpr size_t max_accumulators = 64;

/// The lowest subscript of a dimension and the distance to the highest one.
using Span = std::pair<Linear, std::int64_t>;

/// Nothing for gathers.
std::optional<Span> span_of(const ValuePtr &subscript) {
  const auto *ramp = as<Ramp>(subscript);
  const ValuePtr &base = ramp != nullptr ? ramp->base() : subscript;
  if (!is_index(base) || (ramp != nullptr && (ramp->stride < 0 || ramp->inner_stride < 0))) {
    return std::nullopt;
  }
  const auto linear = linear_of(base);
  if (!linear) {
    return std::nullopt;
  }
  const std::int64_t length = ramp == nullptr
                                  ? 0
                                  : ramp->stride * (ramp->type.lanes / ramp->inner - 1) +
                                        ramp->inner_stride * (ramp->inner - 1);
  return std::pair(*linear, length);
}

using Spans = std::vector<std::optional<Span>>; ///< of all dimensions of an element

Spans spans_of(const Element &element) {
  Spans spans;
  std::transform(element.subscripts.begin(), element.subscripts.end(), std::back_inserter(spans),
                 span_of);
  return spans;
}

/// The ends of a loop by its variable, which is less than each of `uppers`, and
/// not less than any of `lowers`.
struct Ends {
  std::vector<Linear> lowers;
  std::vector<Linear> uppers;
};
using EndsOf = std::map<std::int64_t, Ends>;

/// The linear forms that a minimum, or a maximum, is made of.
void collect_bounds(const ValuePtr &value, Op op, std::vector<Linear> &bounds) {
  if (const auto *both = as_binary(value, op)) {
    collect_bounds(both->left(), op, bounds);
    collect_bounds(both->right(), op, bounds);
  } else if (const auto linear = is_index(value) ? linear_of(value) : std::nullopt) {
    bounds.push_back(*linear);
  }
}

/// Is `linear` less than `limit` whatever the loops' variables are? Bounds take the place of so
/// many variables.
bool is_below(const Linear &linear, std::int64_t limit, const EndsOf &bounds, int variables) {
  if (linear.is_constant() || variables == 0) {
    return linear.is_constant() && linear.constant < limit;
  }
  return std::any_of(linear.terms.begin(), linear.terms.end(), [&](const Linear::Term &term) {
    const auto *variable = as<Variable>(term.atom);
    const auto known = variable != nullptr ? bounds.find(variable->id) : bounds.end();
    if (known == bounds.end()) {
      return false;
    }
    const bool grows = term.coefficient > 0;
    const std::vector<Linear> &ends = grows ? known->second.uppers : known->second.lowers;
    const Linear atom{{{term.atom, 1}}, 0};
    return std::any_of(ends.begin(), ends.end(), [&](const Linear &end) {
      const auto rest = combine(linear, atom, -term.coefficient);
      auto most = rest ? combine(*rest, end, term.coefficient) : std::nullopt;
      if (!most) {
        return false;
      }
      most->constant -= grows ? term.coefficient : 0; // an upper bound is not reached
      return is_below(*most, limit, bounds, variables - 1);
    });
  });
}

/// Variables of nested loops that are looked at.
constexpr int most_variables = 2;

/// Are the two never the same memory? Asked of subscripts of which those of `a` do not change in
/// the loop. Those of `b` may, within `bounds`.
bool disjoint(const Spans &a, const Spans &b, const EndsOf &bounds) {
  for (size_t d = 0; d < a.size(); ++d) {
    const std::optional<Span> &first = a[d];
    const std::optional<Span> &second = b[d];
    if (!first || !second) {
      continue;
    }
    const auto up = combine(second->first, first->first, -1);
    const auto down = combine(first->first, second->first, -1);
    if ((up && is_below(*up, -second->second, bounds, most_variables)) ||
        (down && is_below(*down, -first->second, bounds, most_variables))) {
      return true;
    }
  }
  return false;
}

/// What the body of one loop touches.
class LoopElements {
public:
  explicit LoopElements(const For &loop) {
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      if (const std::int64_t *variable = defined_variable(inner)) {
        changing_.insert(*variable);
      }
      if (const auto *allocate = as<Allocate>(inner)) {
        scoped_.insert(allocate->buffer); // is there only inside the loop
      }
      const auto *nested = as<For>(inner);
      if (nested != nullptr) {
        note_bounds(*nested);
      }
      has_parallel_ =
          has_parallel_ || is<Launch>(inner) ||
          (nested != nullptr && (nested->loop == LoopKind::Parallel || is_gpu(nested->loop)));
    });
    changing_.insert(loop.id);
    note_bounds(loop);
    std::vector<ValuePtr> running{binary_value(Op::Lt, loop.lower, loop.upper)};
    collect(loop.body(), true, running);
  }

  /// The elements that may live in a local while the loop runs, if so many statements store them.
  std::vector<Element> promotable(int fewest_stores) const {
    std::vector<Element> found;
    if (has_parallel_) {
      return found; // its threads would share the locals
    }
    std::vector<Spans> spans;
    for (size_t e = 0; e < elements_.size() && found.size() < max_accumulators; ++e) {
      const bool is_worth = elements_[e].stores >= fewest_stores;
      if (is_worth && may_be_local(elements_[e]) && is_alone(e, spans)) {
        found.push_back(elements_[e]);
      }
    }
    return found;
  }

private:
  void note_bounds(const For &loop) {
    const auto [known, is_new] = bounds_.try_emplace(loop.id);
    if (!is_new) { // two loops of one number
      known->second = {};
      return;
    }
    collect_bounds(loop.lower, Op::Max, known->second.lowers);
    collect_bounds(loop.upper, Op::Min, known->second.uppers);
  }

  /// Apart from what the elements beside it do.
  bool may_be_local(const Element &element) const {
    const bool updated = element.atomic != Op::None && !element.read_or_stored;
    const bool summed = element.terms == 0 || !element.read_or_stored;
    return (element.always_stored || updated) && summed && !scoped_.contains(element.buffer) &&
           !given_.contains(element.buffer) && (!element.mask || is_invariant(element.mask)) &&
           std::all_of(element.subscripts.begin(), element.subscripts.end(),
                       [&](const ValuePtr &subscript) { return is_invariant(subscript); });
  }

  /// Is no other element ever the same memory? `spans` are those of all elements, once asked for.
  bool is_alone(size_t position, std::vector<Spans> &spans) const {
    for (size_t other = 0; other < elements_.size(); ++other) {
      if (other == position || elements_[other].buffer != elements_[position].buffer) {
        continue;
      }
      if (spans.empty()) {
        std::transform(elements_.begin(), elements_.end(), std::back_inserter(spans), spans_of);
      }
      if (!disjoint(spans[position], spans[other], bounds_)) {
        return false;
      }
    }
    return true;
  }

  bool is_invariant(const ValuePtr &root) const {
    bool invariant = true;
    visit_value(root, [&](const Value &value) {
      const auto *own = as<Variable>(value);
      const bool changes =
          is<Load>(value) || is<Local>(value) || (own != nullptr && changing_.contains(own->id));
      invariant = invariant && !changes;
    });
    return invariant;
  }

  Element &element(std::int64_t buffer, const std::string &name, ValueType type,
                   const std::vector<ValuePtr> &subscripts, const ValuePtr &mask) {
    for (Element &known : elements_) {
      if (same_element(known, buffer, subscripts, type.lanes, mask)) {
        return known;
      }
    }
    Element made;
    made.buffer = buffer;
    made.name = name;
    made.type = type;
    made.subscripts = subscripts;
    made.mask = mask;
    elements_.push_back(std::move(made));
    return elements_.back();
  }

  void collect_loads(const ValuePtr &root, const ValuePtr &mask) {
    if (const auto *masked = as<Masked>(root)) {
      collect_loads(masked->mask(), nullptr);
      collect_loads(masked->load(), masked->mask());
      return;
    }
    if (const auto *load = as<Load>(root)) {
      element(load->buffer, load->name, load->type, load->subscripts(), mask).read_or_stored = true;
    }
    if (const auto buffer = given_buffer(*root)) {
      given_.insert(*buffer);
    }
    for (const ValuePtr &operand : root->operands) {
      collect_loads(operand, nullptr);
    }
  }

  static void note_store(Element &stored, bool always, const std::vector<ValuePtr> &running) {
    ++stored.stores;
    if (always && !stored.always_stored) {
      stored.always_stored = true;
      stored.running = running;
    }
  }

  void collect_store(const Store &store, bool always, const std::vector<ValuePtr> &running) {
    for (const ValuePtr &subscript : store.subscripts) {
      collect_loads(subscript, nullptr);
    }
    if (store.mask) {
      collect_loads(store.mask, nullptr);
    }
    if (const ValuePtr term = lanes_of_term(store)) {
      collect_loads(term, nullptr);
      Element &summed =
          element(store.buffer, store.name, {term->type.scalar, 1}, store.subscripts, nullptr);
      const bool fits =
          summed.terms == 0 || (summed.sum == store.op && summed.sum_lanes == term->type.lanes);
      summed.read_or_stored = summed.read_or_stored || !fits;
      summed.sum = store.op;
      summed.sum_lanes = term->type.lanes;
      ++summed.terms;
      note_store(summed, always, running);
      return;
    }
    collect_loads(store.value, nullptr);
    Element &stored =
        element(store.buffer, store.name, store.value->type, store.subscripts, store.mask);
    stored.read_or_stored = true;
    note_store(stored, always, running);
  }

  void collect(const StmtPtr &statement, bool always, std::vector<ValuePtr> &running) {
    if (const auto *store = as<Store>(statement)) {
      collect_store(*store, always, running);
      return;
    }
    each_value(*statement, [&](const ValuePtr &value) { collect_loads(value, nullptr); });
    if (const auto *update = as<AtomicUpdate>(statement)) {
      // The local is combined with the element at the end: it may as well be the identity.
      element(update->buffer, update->name, update->value->type, update->subscripts, nullptr)
          .atomic = update->op;
    }
    const auto *loop = as<For>(statement);
    const bool runs = loop != nullptr && is_invariant(loop->lower) && is_invariant(loop->upper);
    const size_t outer = running.size();
    if (runs) {
      running.push_back(binary_value(Op::Lt, loop->lower, loop->upper));
    }
    const bool perhaps = is<If>(statement) || is<While>(statement);
    const bool inside = always && !perhaps && (loop == nullptr || runs);
    for (const StmtPtr &child : statement->children) {
      collect(child, inside, running);
    }
    running.resize(outer);
  }

  std::vector<Element> elements_;
  std::set<std::int64_t> changing_;
  EndsOf bounds_;
  std::set<std::int64_t> scoped_;
  std::set<std::int64_t> given_; ///< the loop gives addresses in them to functions
  bool has_parallel_ = false;
};

} // namespace

bool same_element(const Element &element, std::int64_t buffer,
                  const std::vector<ValuePtr> &subscripts, int lanes, const ValuePtr &mask) {
  const bool same_mask = element.mask == nullptr || mask == nullptr
                             ? element.mask == mask
                             : same_value(element.mask, mask);
  return same_mask && element.buffer == buffer && element.type.lanes == lanes &&
         std::equal(element.subscripts.begin(), element.subscripts.end(), subscripts.begin(),
                    subscripts.end(), same_value);
}

ValuePtr lanes_of_term(const Store &update) {
  const auto *combined = as_binary(update.value, update.op);
  if (update.op == Op::None || update.mask || combined == nullptr) {
    return nullptr;
  }
  const auto *element = as_load_of(combined->left(), update.buffer);
  const auto *term = as<Reduce>(combined->right());
  const bool same = element != nullptr &&
                    std::equal(element->subscripts().begin(), element->subscripts().end(),
                               update.subscripts.begin(), update.subscripts.end(), same_value);
  return same && term != nullptr && term->op == update.op ? term->operand() : nullptr;
}

std::vector<Element> promotable_elements(const For &loop, int fewest_stores) {
  return LoopElements(loop).promotable(fewest_stores);
}

} // namespace tilewright
