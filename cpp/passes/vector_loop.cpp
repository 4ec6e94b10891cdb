#include "passes/vector_loop.h"

#include "loops/dispatch.h"
#include "loops/gpu_queries.h"
#include "loops/index_tests.h"
#include "loops/speculation.h"
#include "loops/tile_extent.h"
#include "loops/traverse.h"
#include "passes/gpu/thread_reductions.h"
#include "passes/lane_places.h"
#include "passes/relaxations.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace tilewright {

namespace {

constexpr int max_lanes = 256; ///< wider vectors would be split into very many

/// What `op` leaves as it is, in every lane.
ValuePtr identity_lanes(Op op, ValueType type) {
  return broadcast(identity_of(op, type.scalar), type.lanes);
}

class VectorLoop {
public:
  VectorLoop(int lanes, const VectorOptions &options, bool nested, Numbers &numbers)
      : lanes_(lanes), options_(options), may_nest_(nested), numbers_(numbers) {}

  /// The body for all lanes at once; null when there is none.
  StmtPtr convert(const For &loop, bool partial) {
    const StmtPtr &body = loop.body();
    vectors_[loop.id] = ramp(loop.lower, 1, lanes_);
    find_locals(body, loop.id, partial);
    if (partial) {
      // At least one lane runs, so what all lanes share may be read.
      const ValuePtr inside = binary_value(Op::Lt, variable(loop.id, loop.name), loop.upper);
      if (options_.masked_bytes == 0) {
        return nullptr;
      }
      const StmtPtr result = under(inside, false, [&] { return statement(body); });
      return failed_ ? nullptr : if_then(binary_value(Op::Lt, loop.lower, loop.upper), result);
    }
    const StmtPtr result = statement(body);
    return failed_ ? nullptr : result;
  }

private:
  /// A condition that not all lanes meet.
  struct Condition {
    ValuePtr test;  ///< as it stood in the loop; null where it cannot be asked again
    ValuePtr lanes; ///< a bool for each lane
  };

  // ---- locals ----

  /// Which locals differ between lanes: those that are given such a value, and so on until nothing
  /// changes. `partial`: all of them, as not all lanes run.
  void find_locals(const StmtPtr &body, std::int64_t loop, bool partial) {
    visit_statements(body, [&](const LoopStatement &inner) {
      if (const auto *declaration = as<DeclareLocal>(inner)) {
        own_locals_.insert(declaration->id);
      } else if (const auto *assignment = as<AssignLocal>(inner)) {
        assigned_.insert(assignment->id);
      }
    });
    std::set<std::int64_t> varying{loop};
    for (bool changed = true; changed;) {
      changed = false;
      mark(body, varying, partial, changed);
    }
  }

  void mark(const StmtPtr &root, std::set<std::int64_t> &variables, bool guarded, bool &changed) {
    bool inside = guarded;
    if (const auto *loop = as<For>(root)) {
      if (loop->loop == LoopKind::Vector && constant_extent(*loop) && may_nest_) {
        changed = variables.insert(loop->id).second || changed;
      }
      inside = inside || varies(loop->lower, variables) || varies(loop->upper, variables);
    } else if (const auto *test = as<If>(root)) {
      inside = inside || varies(test->condition, variables);
    } else if (const auto *let = as<Let>(root)) {
      if (varies(let->value, variables)) {
        changed = variables.insert(let->id).second || changed;
      }
    } else if (const auto *local = as<Definition>(root)) {
      if (guarded || varies(local->value, variables)) {
        changed = vector_locals_.insert(local->id).second || changed;
      }
    }
    for (const StmtPtr &child : root->children) {
      mark(child, variables, inside, changed);
    }
  }

  bool varies(const ValuePtr &root, const std::set<std::int64_t> &variables) const {
    bool found = false;
    visit_value(root, [&](const Value &value) {
      if (const auto *variable = as<Variable>(value)) {
        found = found || variables.contains(variable->id);
      } else if (const auto *local = as<Local>(value)) {
        found = found || vector_locals_.contains(local->id);
      }
    });
    return found;
  }

  // ---- masks ----

  /// The lanes that run what is converted now; null for all.
  ValuePtr mask() const { return conditions_.empty() ? nullptr : conditions_.back().lanes; }

  template <class Convert>
  StmtPtr under(const ValuePtr &test, bool negated, const Convert &convert) {
    const ValuePtr asked = negated ? unary_value(Op::Not, test) : test;
    const bool again = is_index_test(test);
    return within({again ? asked : nullptr, narrowed(value(asked))}, convert);
  }

  /// What `convert` gives for the lanes of `condition` only.
  template <class Convert>
  StmtPtr within(Condition condition, const Convert &convert) {
    // Loads depend on the lanes that take part.
    const auto outside = std::exchange(done_, {});
    conditions_.push_back(std::move(condition));
    StmtPtr result = convert();
    conditions_.pop_back();
    done_ = outside;
    return result;
  }

  /// The lanes that meet `condition` as well as all around it.
  ValuePtr narrowed(const ValuePtr &condition) const {
    const ValuePtr lanes = widened(condition);
    return mask() ? both(mask(), lanes) : lanes;
  }

  bool masks(ScalarType type) const {
    const int bytes = type.is_bool() ? 1 : type.bytes();
    return options_.masked_bytes > 0 && bytes >= options_.masked_bytes && !type.is_complex();
  }

  // ---- statements ----

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
    return dispatch(*node, [&](const auto &own) { return in_lanes(own); });
  }

  /// Each lane has iterations, or memory, of its own.
  StmtPtr in_lanes(const LoopStatement & /*other*/) { return fail(); }

  StmtPtr in_lanes(const Block &sequence) {
    std::vector<StmtPtr> children;
    for (const StmtPtr &child : sequence.children) {
      children.push_back(statement(child));
    }
    return block(std::move(children));
  }

  StmtPtr in_lanes(const Let &node) {
    const ValuePtr converted = value(node.value);
    if (converted->type.lanes == 1) {
      return let(node.id, node.name, converted);
    }
    if (is<Ramp>(converted)) {
      vectors_[node.id] = converted;
      return block({});
    }
    const std::int64_t id = numbers_.next();
    vectors_[node.id] = local(id, node.name, converted->type);
    return declare_local(id, node.name, converted);
  }

  StmtPtr in_lanes(const DeclareLocal &node) {
    const ValuePtr converted = value(node.value);
    const bool vector = vector_locals_.contains(node.id);
    const auto *lanes = as<Ramp>(converted);
    if (vector && lanes != nullptr && is_index(lanes->base()) && !assigned_.contains(node.id)) {
      vectors_[node.id] = converted; // a subscript with a quotient, say, which was none in the end
      return block({});
    }
    lanes_of_local_[node.id] = vector ? lanes_ : 1;
    return declare_local(node.id, node.name, vector ? widened(converted) : converted);
  }

  StmtPtr in_lanes(const CheckIndex &check) {
    const ValuePtr converted = value(check.value);
    const ValuePtr upper = value(check.upper);
    if (upper->type.lanes != 1) {
      return fail();
    }
    // Of one lane alone where the subscript does not vary: the first of them is reported.
    const bool wide = mask() || converted->type.lanes != 1;
    return check_index(check.site, wide ? widened(converted) : converted, upper, mask(),
                       reported(check, wide));
  }

  StmtPtr in_lanes(const CheckValue &check) {
    const ValuePtr converted = value(check.value);
    const bool wide = mask() || converted->type.lanes != 1;
    return check_value(check.site, wide ? widened(converted) : converted, mask(),
                       reported(check, wide));
  }

  /// What a check reports, in all lanes or in the first.
  std::vector<ValuePtr> reported(const RuntimeCheck &check, bool wide) {
    std::vector<ValuePtr> values;
    for (const ValuePtr &given : check.reported) {
      ValuePtr converted = value(given);
      if (const auto *ramp = as<Ramp>(converted); !wide && ramp != nullptr) {
        converted = ValuePtr(ramp->base());
      }
      failed_ = failed_ || (!wide && converted->type.lanes != 1);
      values.push_back(std::move(converted));
    }
    return values;
  }

  StmtPtr in_lanes(const AssignLocal &node) {
    if (!own_locals_.contains(node.id)) {
      return fail(); // carries a value from lane to lane
    }
    ValuePtr converted = value(node.value);
    if (vector_locals_.contains(node.id)) {
      converted = widened(converted);
      if (lanes_of_local_[node.id] != lanes_) {
        return fail();
      }
      if (mask()) {
        converted = select_value(mask(), converted, local(node.id, node.name, converted->type));
      }
    } else if (mask()) {
      return fail();
    }
    return assign_local(node.id, node.name, converted, node.op);
  }

  StmtPtr in_lanes(const Store &node) {
    std::vector<ValuePtr> subscripts;
    bool varying = false;
    for (const ValuePtr &subscript : node.subscripts) {
      subscripts.push_back(value(subscript));
      varying = varying || subscripts.back()->type.lanes != 1;
    }
    if (!varying) {
      return combine_lanes(node, std::move(subscripts));
    }
    // Terms of one reduction may meet in one element, which lanes cannot.
    if (node.op != Op::None && !lanes_are_apart(subscripts, lanes_)) {
      return fail();
    }
    const ValuePtr stored = widened(value(node.value));
    if (mask() && !masks(stored->type.scalar)) {
      return fail();
    }
    return store(node.buffer, node.name, std::move(subscripts), stored, node.op, mask());
  }

  /// A reduction into one element: its terms are combined among the lanes first.
  StmtPtr combine_lanes(const Store &node, std::vector<ValuePtr> subscripts) {
    const auto *update = as_binary(node.value, node.op);
    if (node.op == Op::None || update == nullptr || !is_load_of(update->left(), node.buffer)) {
      return fail(); // all lanes would store to one element
    }
    ValuePtr term = widened(value(update->right()));
    if (mask()) {
      term = select_value(mask(), term, identity_lanes(node.op, term->type));
    }
    const ValuePtr element = load(node.buffer, node.name, {term->type.scalar, 1}, subscripts);
    return store(node.buffer, node.name, std::move(subscripts),
                 binary_value(node.op, element, reduce_lanes(node.op, term)), node.op);
  }

  /// Terms that threads put together: those of one thread first.
  StmtPtr in_lanes(const AtomicUpdate &node) {
    if (!combines_threads(node)) {
      return fail(); // one element at a time
    }
    auto update = copy_of<AtomicUpdate>(node);
    for (ValuePtr &subscript : update->subscripts) {
      subscript = value(subscript);
      if (subscript->type.lanes != 1) {
        return fail();
      }
    }
    const ValuePtr lanes = widened(value(node.value));
    ValuePtr term = cast_value(lanes, accumulator_type(lanes->type.scalar));
    if (mask()) {
      term = select_value(mask(), term, identity_lanes(node.op, term->type));
    }
    update->value = reduce_lanes(node.op, term);
    return update;
  }

  StmtPtr in_lanes(const For &loop) {
    const auto extent = constant_extent(loop);
    if (loop.loop == LoopKind::Vector && may_nest_ && extent && *extent > 1 &&
        *extent * lanes_ <= max_lanes) {
      return nested(loop, static_cast<int>(*extent));
    }
    const ValuePtr lower = value(loop.lower);
    const ValuePtr upper = value(loop.upper);
    if (loop.loop == LoopKind::Vector || loop.loop == LoopKind::MaskedVector) {
      return fail(); // the inner loop takes the vectors
    }
    if (lower->type.lanes == 1 && upper->type.lanes == 1) {
      return for_loop(loop, lower, upper, statement(loop.body()));
    }
    return uneven_loop(loop, lower, upper);
  }

  /// A loop whose bounds differ between the lanes runs over all of their iterations, each for the
  /// lanes that have it.
  StmtPtr uneven_loop(const For &node, ValuePtr lower, ValuePtr upper) {
    if (options_.masked_bytes == 0) {
      return fail();
    }
    lower = widened(lower);
    upper = widened(upper);
    if (mask()) {
      using Limits = std::numeric_limits<std::int64_t>;
      lower = select_value(mask(), lower, broadcast(integer(Limits::max()), lanes_));
      upper = select_value(mask(), upper, broadcast(integer(Limits::min()), lanes_));
    }
    const ValuePtr first = reduce_lanes(Op::Min, lower);
    const ValuePtr last = reduce_lanes(Op::Max, upper);
    const ValuePtr counter = variable(node.id, node.name);
    const ValuePtr inside = both(binary_value(Op::Le, lower, broadcast(counter, lanes_)),
                                 binary_value(Op::Lt, broadcast(counter, lanes_), upper));
    return for_loop(node.id, node.name, first, last, LoopKind::Serial, 0,
                    where(inside, node.body()));
  }

  /// `body` for the lanes of `condition` only, which no lane may meet.
  /// `may_be_none`: it costs little if it is for no lane.
  StmtPtr where(const ValuePtr &condition, const StmtPtr &body, bool may_be_none = false) {
    const std::int64_t id = numbers_.next();
    const ValuePtr lanes = local(id, "mask", {Bool, lanes_});
    const ValuePtr narrow = narrowed(condition);
    StmtPtr inner = within({nullptr, lanes}, [&] { return statement(body); });
    if (!is_speculable(body) && !(may_be_none && !reads_shared(inner))) {
      // What all lanes share is read only where one lane reads it.
      inner = if_then(reduce_lanes(Op::Or, lanes), inner);
    }
    return block({declare_local(id, "mask", narrow), inner});
  }

  /// The lanes of an inner loop beside each other, for each lane of this one.
  StmtPtr nested(const For &node, int extent) {
    const ValuePtr lower = value(node.lower);
    const bool can_ask_again =
        std::all_of(conditions_.begin(), conditions_.end(),
                    [](const Condition &condition) { return condition.test != nullptr; });
    if (lower->type.lanes != 1 || inner_ != 1 || !can_ask_again) {
      return fail();
    }
    const auto outer_vectors = vectors_;
    const auto outer_conditions = conditions_;
    const auto outer_done = std::move(done_);
    done_.clear();
    lanes_ *= extent;
    inner_ = extent;
    for (auto &[id, vector] : vectors_) {
      if (const auto *plain = as<Ramp>(vector)) {
        vector = ramp(plain->base(), plain->stride, lanes_, extent, 0);
      }
    }
    vectors_[node.id] = ramp(lower, 0, lanes_, extent, 1);
    conditions_.clear();
    for (const Condition &condition : outer_conditions) {
      conditions_.push_back({condition.test, narrowed(value(condition.test))});
    }
    StmtPtr result = statement(node.body());
    lanes_ /= extent;
    inner_ = 1;
    vectors_ = outer_vectors;
    conditions_ = outer_conditions;
    done_ = outer_done;
    return result;
  }

  /// Lanes choose between two values, whose loads are under masks; null if there is more to it.
  StmtPtr choice(const If &node, const ValuePtr &holds) {
    const auto *then = as<AssignLocal>(node.then());
    const auto *otherwise = node.has_otherwise() ? as<AssignLocal>(node.otherwise()) : nullptr;
    if (then == nullptr || otherwise == nullptr || then->id != otherwise->id ||
        !vector_locals_.contains(then->id) || lanes_of_local_[then->id] != lanes_) {
      return nullptr;
    }
    bool shares = false; // what all lanes share is read only where one lane reads it
    const auto of_lanes = [&](const ValuePtr &condition, const ValuePtr &chosen) {
      ValuePtr result;
      within({nullptr, narrowed(condition)}, [&] {
        result = widened(value(chosen));
        return block({});
      });
      visit_value(result, [&](const Value &part) {
        shares = shares || (!is_speculable(part) && part.type.lanes == 1);
      });
      return result;
    };
    const ValuePtr first = of_lanes(holds, then->value);
    const ValuePtr second = of_lanes(unary_value(Op::Not, holds), otherwise->value);
    return shares
               ? nullptr
               : assign_local(then->id, then->name, select_value(holds, first, second), then->op);
  }

  StmtPtr in_lanes(const If &node) {
    const ValuePtr test = value(node.condition);
    const StmtPtr otherwise = node.has_otherwise() ? node.otherwise() : nullptr;
    if (test->type.lanes == 1) {
      const StmtPtr then = statement(node.then());
      return if_then(test, then, otherwise ? statement(otherwise) : nullptr);
    }
    const std::int64_t id = numbers_.next();
    const ValuePtr holds = local(id, "holds", test->type);
    std::vector<StmtPtr> parts = {declare_local(id, "holds", test)};
    if (const StmtPtr chosen = choice(node, holds)) {
      return block({parts.front(), chosen});
    }
    const bool has_masks = options_.masked_bytes == 1; // of all elements, for nothing
    parts.push_back(where(holds, node.then(), has_masks && is_relaxation(node)));
    if (otherwise) {
      parts.push_back(where(unary_value(Op::Not, holds), otherwise));
    }
    return block(std::move(parts));
  }

  // ---- values ----

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
    if (const auto *variable = as<Variable>(node)) {
      const auto found = vectors_.find(variable->id);
      if (found == vectors_.end()) {
        return node;
      }
      failed_ = failed_ || found->second->type.lanes != lanes_;
      return found->second;
    }
    if (const auto *own = as<Local>(node)) {
      if (const auto ramp = vectors_.find(own->id); ramp != vectors_.end()) {
        failed_ = failed_ || ramp->second->type.lanes != lanes_;
        return ramp->second;
      }
      if (!vector_locals_.contains(own->id)) {
        return node;
      }
      failed_ = failed_ || lanes_of_local_[own->id] != lanes_;
      return local(own->id, own->name, {own->type.scalar, lanes_});
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
    switch (node->kind) {
    case ValueKind::Load: {
      const auto &own = cast<Load>(node);
      failed_ = failed_ || (mask() && !masks(own.type.scalar));
      return masked(mask(),
                    load(own.buffer, own.name, {own.type.scalar, lanes_}, std::move(operands)));
    }
    case ValueKind::Extern:
      std::ranges::for_each(operands, [&](ValuePtr &operand) { operand = widened(operand); });
      return masked(mask(), with_operands(node, std::move(operands)));
    case ValueKind::Ramp:
    case ValueKind::Broadcast:
    case ValueKind::Masked:
    case ValueKind::Reduce:
    case ValueKind::GpuIndex:
    case ValueKind::Mma:
    case ValueKind::Lane:
    case ValueKind::Matrices:
    case ValueKind::Shuffle:
    case ValueKind::Aligned:
      failed_ = true;
      return node;
    case ValueKind::Binary:
      if (ValuePtr moved = ramp_arithmetic(cast<Binary>(node).op, operands[0], operands[1])) {
        return moved;
      }
      break;
    default:
      break;
    }
    for (ValuePtr &operand : operands) {
      operand = widened(operand);
    }
    return with_operands(node, std::move(operands));
  }

  /// A ramp as the steps of the outer and of the inner lanes.
  std::pair<std::int64_t, std::int64_t> steps_of(const ValuePtr &value) const {
    const auto *ramp = as<Ramp>(value);
    if (ramp == nullptr) {
      return {0, 0};
    }
    return ramp->inner == inner_ ? std::pair(ramp->stride, ramp->inner_stride)
                                 : std::pair(ramp->stride * inner_, ramp->stride);
  }

  /// Sums of ramps and scalars, and multiples of ramps, are ramps.
  ValuePtr ramp_arithmetic(Op op, const ValuePtr &a, const ValuePtr &b) const {
    const bool left = is<Ramp>(a);
    const bool right = is<Ramp>(b);
    const bool fits = (left || a->type.lanes == 1) && (right || b->type.lanes == 1);
    if (!fits || a->type.scalar != Int64 || may_wrap(op, *a, *b)) {
      return nullptr;
    }
    const ValuePtr &base_a = left ? a->operands[0] : a;
    const ValuePtr &base_b = right ? b->operands[0] : b;
    const auto [outer_a, inner_a] = steps_of(a);
    const auto [outer_b, inner_b] = steps_of(b);
    if (op == Op::Add || op == Op::Sub) {
      const std::int64_t sign = op == Op::Add ? 1 : -1;
      return lanes_from(binary_value(op, base_a, base_b), outer_a + sign * outer_b,
                        inner_a + sign * inner_b);
    }
    const auto factor = left ? as_integer(b) : as_integer(a);
    if (op != Op::Mul || left == right || !factor) {
      return nullptr;
    }
    return lanes_from(mul(left ? base_a : base_b, integer(*factor)),
                      (left ? outer_a : outer_b) * *factor, (left ? inner_a : inner_b) * *factor);
  }

  ValuePtr lanes_from(const ValuePtr &base, std::int64_t outer, std::int64_t inner) const {
    if (inner_ == 1) {
      return outer == 0 ? broadcast(base, lanes_) : ramp(base, outer, lanes_);
    }
    return ramp(base, outer, lanes_, inner_, inner);
  }

  int lanes_;
  int inner_ = 1; ///< of these, so many belong to one iteration of the outer loop
  VectorOptions options_;
  bool may_nest_;
  Numbers &numbers_;
  bool failed_ = false;
  std::vector<Condition> conditions_;
  std::map<std::int64_t, ValuePtr> vectors_; ///< variables that differ between lanes
  std::set<std::int64_t> own_locals_;
  std::set<std::int64_t> assigned_; ///< locals, again after their declarations
  std::set<std::int64_t> vector_locals_;
  std::map<std::int64_t, int> lanes_of_local_;
  std::unordered_map<ValuePtr, ValuePtr> done_;
};

} // namespace

StmtPtr vector_body(const For &loop, int lanes, bool partial, const VectorOptions &options,
                    Numbers &numbers) {
  for (const bool nested : {true, false}) {
    StmtPtr body = VectorLoop(lanes, options, nested, numbers).convert(loop, partial);
    if (body) {
      return body;
    }
  }
  return nullptr;
}

} // namespace tilewright
