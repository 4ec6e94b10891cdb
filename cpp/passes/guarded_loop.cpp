#include "passes/guarded_loop.h"

#include "loops/index_tests.h"
#include "passes/join_guards.h"
#include "passes/lift_fills.h"

#include <algorithm>
#include <iterator>

namespace tilewright {

namespace {

/// The parts of a < or <= comparison whose sides are max(..) and min(..); else the comparison.
std::vector<ValuePtr> parts_of(const ValuePtr &test) {
  const auto *binary = as<Binary>(test);
  const bool less = binary != nullptr && (binary->op == Op::Lt || binary->op == Op::Le);
  const bool more = binary != nullptr && (binary->op == Op::Gt || binary->op == Op::Ge);
  if ((!less && !more) || !is_int64(binary->left())) {
    return {test};
  }
  std::vector<ValuePtr> small;
  std::vector<ValuePtr> large;
  operands_of(Op::Max, less ? binary->left() : binary->right(), small);
  operands_of(Op::Min, less ? binary->right() : binary->left(), large);
  const Op op = less ? binary->op : mirrored(binary->op);
  std::vector<ValuePtr> parts;
  for (const ValuePtr &a : small) {
    for (const ValuePtr &b : large) {
      const ValuePtr part = binary_value(op, a, b);
      if (as_boolean(part) != true) {
        parts.push_back(part);
      }
    }
  }
  return parts;
}

std::vector<ValuePtr> conjuncts_of(const ValuePtr &condition) {
  std::vector<ValuePtr> all;
  operands_of(Op::And, condition, all);
  std::vector<ValuePtr> parts;
  for (const ValuePtr &one : all) {
    for (const ValuePtr &part : parts_of(one)) {
      parts.push_back(part);
    }
  }
  return parts;
}

/// Does a statement nothing but store to these buffers?
bool only_fills(const StmtPtr &root, const std::set<std::int64_t> &buffers) {
  std::set<std::int64_t> locals;
  bool fills = true;
  visit_statements(root, [&](const LoopStatement &statement) {
    switch (statement.kind) {
    case StatementKind::Block:
    case StatementKind::For:
    case StatementKind::If:
    case StatementKind::Let:
      return;
    case StatementKind::DeclareLocal:
      locals.insert(cast<DeclareLocal>(statement).id);
      return;
    case StatementKind::AssignLocal:
      fills = fills && locals.contains(cast<AssignLocal>(statement).id);
      return;
    case StatementKind::Store:
      fills = fills && buffers.contains(cast<Store>(statement).buffer);
      return;
    default: // what may fail, wait or not end
      fills = false;
    }
  });
  return fills;
}

/// The locals that a statement chooses a value for, by tests and nothing else:
///     if 0 < n: chosen = x[n - 1] else: chosen = 0
/// Nothing if it does anything else.
std::set<std::int64_t> locals_chosen_by(const StmtPtr &root) {
  std::set<std::int64_t> locals;
  std::set<std::int64_t> own; // of a branch
  bool chooses = is<If>(root);
  visit_statements(root, [&](const LoopStatement &statement) {
    if (const auto *assigned = as<AssignLocal>(statement)) {
      locals.insert(assigned->id);
    } else if (const auto *declared = as<DeclareLocal>(statement)) {
      own.insert(declared->id);
    } else {
      chooses = chooses && (is<If>(statement) || is<Block>(statement));
    }
  });
  std::set<std::int64_t> chosen;
  std::set_difference(locals.begin(), locals.end(), own.begin(), own.end(),
                      std::inserter(chosen, chosen.end()));
  return chooses ? chosen : std::set<std::int64_t>();
}

/// How often a local gets a value in `root`.
std::ptrdiff_t assignments(const StmtPtr &root, std::int64_t local) {
  std::ptrdiff_t count = 0;
  visit_statements(root, [&](const LoopStatement &statement) {
    const auto *assigned = as<AssignLocal>(statement);
    count += assigned != nullptr && assigned->id == local ? 1 : 0;
  });
  return count;
}

} // namespace

GuardedLoop::GuardedLoop(const For &loop, EnclosingLoops &around,
                         const std::set<std::int64_t> &changed)
    : loop_(loop), lower_(loop.lower), upper_(loop.upper), around_(around), changed_(changed) {
  inside_.insert(loop.id);
  visit_statements(loop.body(), [&](const LoopStatement &inner) {
    if (const std::int64_t *variable = defined_variable(inner)) {
      inside_.insert(*variable);
    } else if (const auto *declaration = as<DeclareLocal>(inner)) {
      locals_.insert(declaration->id);
    } else if (const auto *assignment = as<AssignLocal>(inner)) {
      locals_.insert(assignment->id);
      assigned_.insert(assignment->id);
    } else if (const auto *change = as<ElementChange>(inner)) {
      stored_.insert(change->buffer);
    }
  });
}

void GuardedLoop::open(bool through_loops) {
  peel(through_loops);
  first_ = {{loop_.id, lower_}};
  std::vector<const For *> entered;
  for (Level &level : levels_) {
    if (!enter(level)) {
      break;
    }
    first_.front().second = lower_;
    if (const auto *inner = as<For>(level.shell)) {
      around_.enter(*inner);
      entered.push_back(inner);
      first_.emplace_back(inner->id, inner->lower);
    }
  }
  for (const For *inner : entered) {
    around_.leave(*inner);
  }
}

/// Splits the body into levels, as long as there is nothing in it but the next test, loop or
/// memory.
void GuardedLoop::peel(bool through_loops) {
  core_ = loop_.body();
  std::set<std::int64_t> own; // buffers that are there in one iteration only
  while (!is_empty(core_)) {
    const std::vector<StmtPtr> single{core_};
    const std::vector<StmtPtr> &children = is<Block>(core_) ? core_->children : single;
    Level level;
    level.shell = children.back();
    level.before.assign(children.begin(), children.end() - 1);
    std::set<std::int64_t> declared;
    for (const StmtPtr &statement : level.before) {
      const auto *local = as<DeclareLocal>(statement);
      if (local != nullptr) {
        declared.insert(local->id);
      }
      const bool is_plain = is<Let>(statement) || local != nullptr || is<CheckIndex>(statement);
      const std::set<std::int64_t> chosen = locals_chosen_by(statement);
      const bool chooses = !chosen.empty() && std::includes(declared.begin(), declared.end(),
                                                            chosen.begin(), chosen.end());
      if (!is_plain && !chooses && !only_fills(statement, own)) {
        return;
      }
    }
    const auto *loop = through_loops ? as<For>(level.shell) : nullptr;
    const auto *test = as<If>(level.shell);
    if (loop != nullptr) {
      level.conjuncts = parts_of(binary_value(Op::Lt, loop->lower, loop->upper));
    } else if (test != nullptr && !test->has_otherwise()) {
      level.conjuncts = conjuncts_of(test->condition);
    } else if (const auto *memory = as<Allocate>(level.shell)) {
      own.insert(memory->buffer);
    } else {
      return;
    }
    core_ = StmtPtr(level.shell->children[0]);
    levels_.push_back(std::move(level));
    if (loop != nullptr && is_gpu(loop->loop)) {
      return; // its iterations are threads
    }
  }
}

bool GuardedLoop::is_invariant(const ValuePtr &root, const std::set<std::int64_t> &own) const {
  bool invariant = true;
  visit_value(root, [&](const Value &value) {
    if (const auto *variable = as<Variable>(value)) {
      invariant = invariant && !inside_.contains(variable->id);
    } else if (const auto *local = as<Local>(value)) {
      invariant = invariant && (own.contains(local->id) || !locals_.contains(local->id));
    } else if (const auto *load = as<Load>(value)) {
      invariant = invariant && !stored_.contains(load->buffer);
    }
  });
  return invariant;
}

/// A check that reports the first iteration where it is the same in all of them.
StmtPtr GuardedLoop::reported_first(const StmtPtr &statement) const {
  const auto &check = cast<CheckIndex>(statement);
  if (check.reported.empty() || !is_invariant(check.value)) {
    return statement;
  }
  auto reported = copy_of<CheckIndex>(check);
  // Bounds of inner loops may speak of outer ones.
  for (auto first = first_.rbegin(); first != first_.rend(); ++first) {
    ValueRewriter rewrite([&](const ValuePtr &value) -> ValuePtr {
      return is_variable(value, first->first) ? first->second : nullptr;
    });
    for (ValuePtr &value : reported->reported) {
      value = rewrite(value);
    }
  }
  return reported;
}

/// May a statement before the test of a level run once, outside of the loop?
bool GuardedLoop::may_leave(const LoopStatement &statement) const {
  bool invariant = true;
  each_value(statement,
             [&](const ValuePtr &value) { invariant = invariant && is_invariant(value); });
  const auto *local = as<DeclareLocal>(statement);
  return invariant && (local == nullptr || !assigned_.contains(local->id));
}

/// The locals of a level whose value a statement before its test chooses, the same in all
/// iterations: they leave the loop with it.
std::set<std::int64_t> GuardedLoop::chosen_once(const Level &level) const {
  std::set<std::int64_t> once;
  std::set<std::int64_t> begun; // declared with the same value in all iterations, and not read yet
  const auto forget_read = [&](const ValuePtr &value) {
    visit_value(value, [&](const Value &part) {
      if (const auto *local = as<Local>(part)) {
        begun.erase(local->id);
      }
    });
  };
  for (const StmtPtr &statement : level.before) {
    const std::set<std::int64_t> chosen = locals_chosen_by(statement);
    if (chosen.empty()) {
      visit_statements(statement,
                       [&](const LoopStatement &inner) { each_value(inner, forget_read); });
      if (const auto *local = as<DeclareLocal>(statement);
          local != nullptr && is_invariant(local->value)) {
        begun.insert(local->id);
      }
      continue;
    }
    bool leaves = !is_gpu(loop_.loop) &&
                  std::includes(begun.begin(), begun.end(), chosen.begin(), chosen.end());
    std::set<std::int64_t> own; // declared in a branch
    visit_statements(statement, [&](const LoopStatement &inner) {
      if (const auto *declared = as<DeclareLocal>(inner)) {
        own.insert(declared->id);
      }
    });
    visit_statements(statement, [&](const LoopStatement &inner) {
      each_value(inner,
                 [&](const ValuePtr &value) { leaves = leaves && is_invariant(value, own); });
    });
    for (const std::int64_t local : chosen) {
      leaves = leaves && assignments(loop_.body(), local) == assignments(statement, local);
    }
    if (leaves) {
      once.insert(chosen.begin(), chosen.end());
    }
  }
  return once;
}

/// May a test be asked once, outside of the loop? The host does not read data of a launch; all
/// threads of a block may, if nothing writes to them.
bool GuardedLoop::may_guard(const ValuePtr &test) const {
  if (!is_invariant(test)) {
    return false;
  }
  if (!is_gpu(loop_.loop) || is_index_test(test)) {
    return true;
  }
  bool same = loop_.loop == LoopKind::GpuThread;
  visit_value(test, [&](const Value &value) {
    const auto *load = as<Load>(value);
    same = same && !is<Local>(value) && (load == nullptr || !changed_.contains(load->buffer));
  });
  return same;
}

/// Does a test hold wherever the loop comes to the next level?
bool GuardedLoop::is_known(const ValuePtr &test) const {
  return around_.holds(test) ||
         std::any_of(layers_.begin(), layers_.end(), [&](const Layer &layer) {
           return std::any_of(layer.guards.begin(), layer.guards.end(),
                              [&](const ValuePtr &guard) { return same_value(guard, test); });
         });
}

/// Takes what it can of a level out of the loop; false where deeper levels must stay as they are.
bool GuardedLoop::enter(Level &level) {
  Layer layer;
  layer.runs = binary_value(Op::Lt, lower_, upper_);
  std::vector<StmtPtr> kept;
  const std::set<std::int64_t> once = chosen_once(level);
  for (std::int64_t local : once) {
    assigned_.erase(local);
  }
  for (StmtPtr statement : level.before) {
    const bool is_check = is<CheckIndex>(statement);
    if (is_check) {
      statement = reported_first(statement);
    }
    if (const std::set<std::int64_t> chosen = locals_chosen_by(statement);
        !chosen.empty() && std::includes(once.begin(), once.end(), chosen.begin(), chosen.end())) {
      for (const std::int64_t local : chosen) {
        locals_.erase(local);
      }
      layer.hoisted.push_back(statement);
      continue;
    }
    const bool hoisted =
        statement->children.empty() && !is<ElementChange>(statement) && may_leave(*statement);
    if (!hoisted && is_check) {
      return false; // each iteration may fail: none can be left out
    }
    if (hoisted && !is_check) {
      const std::int64_t own = cast<Definition>(statement).id;
      if (!once.contains(own)) { // else it has its value behind the choice
        (is<Let>(statement) ? inside_ : locals_).erase(own);
      }
    }
    if (hoisted) {
      note_hoisted(*statement);
    }
    (hoisted ? layer.hoisted : kept).push_back(statement);
  }
  level.before = std::move(kept);
  std::vector<ValuePtr> residual;
  for (const ValuePtr &conjunct : level.conjuncts) {
    if (is_known(conjunct)) {
      continue;
    }
    if (may_guard(conjunct)) {
      layer.guards.push_back(conjunct);
    } else if (!take(conjunct, layer)) {
      residual.push_back(conjunct);
    }
  }
  level.conjuncts = std::move(residual);
  layers_.push_back(std::move(layer));
  return level.conjuncts.empty() && goes_deeper();
}

StmtPtr GuardedLoop::loop_around(const StmtPtr &body) const {
  return for_loop(loop_, lower_, upper_, body);
}

StmtPtr GuardedLoop::rebuild() const {
  StmtPtr body = core_;
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    if (is<If>(level->shell)) {
      ValuePtr condition = boolean(true);
      for (const ValuePtr &conjunct : level->conjuncts) {
        condition = both(condition, conjunct);
      }
      body = if_then(condition, body);
    } else {
      body = with_children(level->shell, {body});
    }
    std::vector<StmtPtr> statements = level->before;
    statements.push_back(body);
    body = block(std::move(statements));
  }
  StmtPtr result = loop_around(body);
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    bool reads = !layer->hoisted.empty();
    ValuePtr guards = boolean(true);
    for (const ValuePtr &guard : layer->guards) {
      guards = both(guards, guard);
      reads = reads || !is_index_test(guard);
    }
    result = if_then(guards, result);
    if (!reads) {
      continue;
    }
    std::vector<StmtPtr> statements = layer->hoisted;
    statements.push_back(result);
    result = block(std::move(statements));
    // What was read in the loop's first iteration is read only where there is one.
    result = around_.holds(layer->runs) ? result : if_then(layer->runs, result);
  }
  return result;
}

namespace {

class Changing {
public:
  Changing(const StmtPtr &root, const Ranges &known, const LoopChange &change)
      : around_(known), change_(change) {
    visit_statements(root, [&](const LoopStatement &statement) {
      if (const auto *change = as<ElementChange>(statement)) {
        changed_.insert(change->buffer);
      }
    });
  }

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    StmtPtr node = inside(statement);
    const auto *loop = as<For>(node);
    if (loop == nullptr) {
      return node;
    }
    if (const auto fill = lifted_fill(*loop)) {
      const StmtPtr body = rewritten(with_children(node, {fill->rest}), *loop);
      std::vector<StmtPtr> statements = fill->fills;
      statements.push_back(body);
      const ValuePtr runs = binary_value(Op::Lt, loop->lower, loop->upper);
      const StmtPtr made = with_children(fill->memory, {block(std::move(statements))});
      return around_.holds(runs) ? made : if_then(runs, made);
    }
    return rewritten(node, *loop);
  }

private:
  /// What becomes of a loop that was entered.
  StmtPtr rewritten(const StmtPtr &node, const For &entered) {
    const auto &loop = cast<For>(node);
    const StmtPtr other = loop.parallel.joined ? nullptr : change_(loop, around_, changed_);
    around_.leave(entered); // what has become of it may be one number with the same name
    return other ? other : node;
  }

  StmtPtr inside(const StmtPtr &statement) {
    if (const auto *loop = as<For>(statement)) {
      around_.enter(*loop);
    }
    if (const auto *test = as<If>(statement); test != nullptr && !test->has_otherwise()) {
      EnclosingLoops::Known before = around_.assume(test->condition);
      StmtPtr then = (*this)(test->then());
      around_.forget(std::move(before));
      return then == test->then() ? statement : if_then(test->condition, then);
    }
    std::vector<StmtPtr> children;
    bool changed = false;
    for (const StmtPtr &child : statement->children) {
      children.push_back((*this)(child));
      changed = changed || children.back() != child;
    }
    return join_guards(changed ? with_children(statement, std::move(children)) : statement);
  }

  EnclosingLoops around_;
  std::set<std::int64_t> changed_;
  const LoopChange &change_;
};

} // namespace

StmtPtr change_guarded_loops(const StmtPtr &root, const Ranges &known, const LoopChange &change) {
  return Changing(root, known, change)(root);
}

} // namespace tilewright
