#include "passes/loop_outcomes.h"

#include "loops/traverse.h"

#include <algorithm>
#include <map>

namespace tilewright {

namespace {

/// Nodes of a value that is still looked at: each assignment may double the one before it.
constexpr int most_nodes = 256;

ValuePtr chosen(const ValuePtr &condition, const ValuePtr &then, const ValuePtr &otherwise) {
  const auto *inverse = as<Unary>(condition);
  return inverse != nullptr && inverse->op == Op::Not
             ? select_value(inverse->operands[0], otherwise, then)
             : select_value(condition, then, otherwise);
}

class OneIteration {
public:
  explicit OneIteration(size_t most) : most_(most) {}

  bool run(const StmtPtr &body) {
    if (const auto *sequence = as<Block>(body)) {
      return std::all_of(sequence->children.begin(), sequence->children.end(),
                         [&](const StmtPtr &child) { return run(child); });
    }
    if (const auto *assigned = as<AssignLocal>(body)) {
      return assign(*assigned, now(assigned->value));
    }
    if (const auto *test = as<If>(body)) {
      return assign_if(*test);
    }
    const auto *declared = as<DeclareLocal>(body);
    return declared != nullptr && note(declared->id, now(declared->value));
  }

  std::vector<LoopOutcome> outcomes() const {
    std::vector<LoopOutcome> all;
    for (const auto &[id, local] : assigned_) {
      all.push_back({local, values_.at(id)});
    }
    return all;
  }

private:
  bool note(std::int64_t id, const ValuePtr &value) {
    int nodes = 0;
    visit_value(value, [&](const Value & /*node*/) { ++nodes; });
    values_[id] = value;
    return nodes <= most_nodes;
  }

  bool assign(const AssignLocal &assigned, const ValuePtr &value) {
    assigned_[assigned.id] = local(assigned.id, assigned.name, assigned.value->type);
    return note(assigned.id, value) && assigned_.size() <= most_;
  }

  /// Assignments under a condition.
  bool assign_if(const If &test) {
    if (test.has_otherwise()) {
      return false;
    }
    const ValuePtr condition = now(test.condition);
    const StmtPtr &then = test.then();
    const std::vector<StmtPtr> alone = {then};
    const std::vector<StmtPtr> &all = is<Block>(then) ? then->children : alone;
    return std::all_of(all.begin(), all.end(), [&](const StmtPtr &statement) {
      const auto *assigned = as<AssignLocal>(statement);
      if (assigned == nullptr) {
        return false;
      }
      const ValuePtr before = now(local(assigned->id, assigned->name, assigned->value->type));
      return assign(*assigned, chosen(condition, now(assigned->value), before));
    });
  }

  ValuePtr now(const ValuePtr &value) const {
    return ValueRewriter([&](const ValuePtr &node) -> ValuePtr {
      const auto *own = as<Local>(node);
      const auto known = own == nullptr ? values_.end() : values_.find(own->id);
      return known == values_.end() ? nullptr : known->second;
    })(value);
  }

  size_t most_;
  std::map<std::int64_t, ValuePtr> values_;
  std::map<std::int64_t, std::shared_ptr<const Local>> assigned_;
};

} // namespace

std::optional<std::vector<LoopOutcome>> loop_outcomes(const StmtPtr &body, size_t most) {
  OneIteration iteration(most);
  return iteration.run(body) ? std::optional(iteration.outcomes()) : std::nullopt;
}

bool reads_local(const ValuePtr &value, std::int64_t id) {
  bool found = false;
  visit_value(value, [&](const Value &node) {
    const auto *own = as<Local>(node);
    found = found || (own != nullptr && own->id == id);
  });
  return found;
}

bool reads_any(const ValuePtr &value, const std::vector<LoopOutcome> &locals) {
  bool found = false;
  visit_value(value, [&](const Value &node) {
    const auto *own = as<Local>(node);
    found = found || (own != nullptr &&
                      std::any_of(locals.begin(), locals.end(), [&](const LoopOutcome &each) {
                        return each.local->id == own->id;
                      }));
  });
  return found;
}

ValuePtr with_variable(const ValuePtr &value, std::int64_t variable, const ValuePtr &by) {
  return ValueRewriter([&](const ValuePtr &node) -> ValuePtr {
    const auto *own = as<Variable>(node);
    return own != nullptr && own->id == variable ? by : nullptr;
  })(value);
}

} // namespace tilewright
