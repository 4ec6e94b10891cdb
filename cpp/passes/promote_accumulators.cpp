#include "passes/promote_accumulators.h"

#include "loops/traverse.h"
#include "passes/loop_elements.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

namespace tilewright {

namespace {

/// So many vectors sum up one element side by side, so that none waits for the one before.
constexpr int max_partial_sums = 8;

class Promotion {
public:
  explicit Promotion(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    if (is<Block>(statement)) {
      return in_sequence(*statement);
    }
    const std::vector<Element> elements = promotable(*statement);
    return elements.empty() ? map_children(statement, *this) : promote(statement, elements, {});
  }

private:
  static std::vector<Element> promotable(const LoopStatement &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    return loop == nullptr ? std::vector<Element>() : promotable_elements(*loop);
  }

  StmtPtr in_sequence(const LoopStatement &sequence) {
    std::vector<StmtPtr> done;
    const std::vector<StmtPtr> &children = sequence.children;
    for (size_t next = 0; next < children.size(); ++next) {
      const size_t end = end_of_stores(children, next);
      if (end > next + 1) {
        const auto first = children.begin() + static_cast<std::ptrdiff_t>(next);
        promote_run({first, first + static_cast<std::ptrdiff_t>(end - next)}, done);
        next = end - 1;
        continue;
      }
      const StmtPtr &child = children[next];
      const std::vector<Element> elements = promotable(*child);
      if (elements.empty()) {
        done.push_back((*this)(child));
        continue;
      }
      const std::vector<ValuePtr> first = take_first_values(cast<For>(child), elements, done);
      done.push_back(promote(child, elements, first));
    }
    return block(std::move(done));
  }

  /// Where the stores end that begin at `next`.
  static size_t end_of_stores(const std::vector<StmtPtr> &statements, size_t next) {
    while (next < statements.size() && is<Store>(statements[next])) {
      ++next;
    }
    return next;
  }

  /// Stores one after the other, as of a loop that was written out: as if they were the body of a
  /// loop of one iteration, those that several of them store into are locals.
  void promote_run(std::vector<StmtPtr> stores, std::vector<StmtPtr> &done) {
    const auto once = for_loop(numbers_.next(), "once", integer(0), integer(1), LoopKind::Serial, 1,
                               block(std::move(stores)));
    const std::vector<Element> elements = promotable_elements(*once, 2);
    const StmtPtr rest = elements.empty() ? once->body() : promote(once, elements, {}, true);
    done.insert(done.end(), rest->children.begin(), rest->children.end());
  }

  /// What the last statements of `before` store into the elements, without these statements: the
  /// locals begin with it. Nothing where they do not store into all of them, and nothing else.
  static std::vector<ValuePtr> take_first_values(const For &loop,
                                                 const std::vector<Element> &elements,
                                                 std::vector<StmtPtr> &before) {
    if (before.size() < elements.size()) {
      return {};
    }
    const auto reads = [](const ValuePtr &root, std::int64_t buffer) {
      bool found = false;
      visit_value(root, [&](const Value &value) { found = found || is_load_of(value, buffer); });
      return found;
    };
    std::vector<ValuePtr> first(elements.size());
    const auto stores = before.end() - static_cast<std::ptrdiff_t>(elements.size());
    for (auto statement = stores; statement != before.end(); ++statement) {
      if (!is<Store>(*statement)) {
        return {};
      }
      const auto &store = cast<Store>(*statement);
      const auto found =
          std::find_if(elements.begin(), elements.end(), [&](const Element &element) {
            return element.terms == 0 && element.atomic == Op::None &&
                   same_element(element, store.buffer, store.subscripts, store.value->type.lanes,
                                store.mask);
          });
      ValuePtr *value =
          found == elements.end() ? nullptr : &first[static_cast<size_t>(found - elements.begin())];
      const bool apart =
          std::none_of(elements.begin(), elements.end(),
                       [&](const Element &element) { return reads(store.value, element.buffer); });
      if (value == nullptr || *value || !apart || reads(loop.lower, store.buffer) ||
          reads(loop.upper, store.buffer)) {
        return {};
      }
      *value = store.value;
    }
    before.erase(stores, before.end());
    return first;
  }

  /// One promoted element: the locals that hold it while the loop runs.
  struct Promoted {
    const Element &element;
    std::vector<std::shared_ptr<const Local>> locals; ///< one, or the vectors of a sum
    size_t next = 0;                                  ///< of these, which takes the next term
  };

  Promoted open(const Element &element) {
    Promoted promoted{element, {}, 0};
    const ValueType type =
        element.terms > 0 ? ValueType{element.type.scalar, element.sum_lanes} : element.type;
    const int count = std::max(1, std::min(element.terms, max_partial_sums));
    for (int i = 0; i < count; ++i) {
      promoted.locals.push_back(local(numbers_.next(), "acc", type));
    }
    return promoted;
  }

  static ValuePtr first_value(const Element &element) {
    if (element.terms > 0) {
      return broadcast(identity_of(element.sum, element.type.scalar), element.sum_lanes);
    }
    if (element.atomic != Op::None) {
      return identity_of(element.atomic, element.type.scalar);
    }
    return masked(element.mask,
                  load(element.buffer, element.name, element.type, element.subscripts));
  }

  /// Brings the locals back to memory.
  static StmtPtr close(const Promoted &promoted) {
    const Element &element = promoted.element;
    const ValuePtr first = promoted.locals.front();
    if (element.terms > 0) {
      ValuePtr sum = first;
      for (size_t i = 1; i < promoted.locals.size(); ++i) {
        sum = binary_value(element.sum, sum, promoted.locals[i]);
      }
      const ValuePtr before = load(element.buffer, element.name, element.type, element.subscripts);
      return store(element.buffer, element.name, element.subscripts,
                   binary_value(element.sum, before, reduce_lanes(element.sum, sum)), element.sum);
    }
    if (element.atomic != Op::None) {
      return atomic_update(element.atomic, element.buffer, element.name, element.subscripts, first);
    }
    return store(element.buffer, element.name, element.subscripts, first, Op::None, element.mask);
  }

  /// The conditions under which loops around run that store the elements.
  static std::vector<ValuePtr> conditions_of(const std::vector<Element> &elements) {
    std::vector<ValuePtr> conditions;
    for (const Element &element : elements) {
      for (const ValuePtr &condition : element.running) {
        if (std::none_of(conditions.begin(), conditions.end(),
                         [&](const ValuePtr &known) { return same_value(known, condition); })) {
          conditions.push_back(condition);
        }
      }
    }
    return conditions;
  }

  /// `first`: the values of the elements before the loop, which are not in memory; empty where they
  /// are. `once`: it has one iteration, and becomes its body.
  StmtPtr promote(const StmtPtr &loop, const std::vector<Element> &elements,
                  const std::vector<ValuePtr> &first, bool once = false) {
    std::vector<Promoted> promoted;
    std::vector<StmtPtr> all;
    const std::vector<ValuePtr> conditions = conditions_of(elements);
    const ValuePtr running =
        std::accumulate(conditions.begin(), conditions.end(), boolean(true), both);
    for (size_t e = 0; e < elements.size(); ++e) {
      const Element &element = elements[e];
      promoted.push_back(open(element));
      for (const auto &local : promoted.back().locals) {
        all.push_back(
            declare_local(local->id, "acc", first.empty() ? first_value(element) : first[e]));
      }
    }
    const auto find = [&](std::int64_t buffer, const std::vector<ValuePtr> &subscripts, int lanes,
                          const ValuePtr &mask) -> Promoted * {
      const auto found =
          std::find_if(promoted.begin(), promoted.end(), [&](const Promoted &candidate) {
            return same_element(candidate.element, buffer, subscripts, lanes, mask);
          });
      return found == promoted.end() ? nullptr : &*found;
    };
    ValueRewriter read_locals([&](const ValuePtr &value) -> ValuePtr {
      const auto *masked = as<Masked>(value);
      const auto *load = as<Load>(masked != nullptr ? masked->load() : value);
      if (load == nullptr) {
        return nullptr;
      }
      const Promoted *found = find(load->buffer, load->subscripts(), load->type.lanes,
                                   masked != nullptr ? masked->mask() : nullptr);
      return found == nullptr ? nullptr : found->locals.front();
    });
    const std::function<StmtPtr(const StmtPtr &)> rewrite =
        [&](const StmtPtr &statement) -> StmtPtr {
      if (const auto *store = as<Store>(statement)) {
        const ValuePtr term = lanes_of_term(*store);
        if (Promoted *found = term ? find(store->buffer, store->subscripts, 1, nullptr) : nullptr) {
          const auto &sum = found->locals[found->next];
          found->next = (found->next + 1) % found->locals.size();
          return assign_local(sum->id, "acc", binary_value(store->op, sum, read_locals(term)),
                              store->op);
        }
        if (const Promoted *found =
                find(store->buffer, store->subscripts, store->value->type.lanes, store->mask)) {
          return assign_local(found->locals.front()->id, "acc", read_locals(store->value),
                              store->op);
        }
      }
      if (const auto *update = as<AtomicUpdate>(statement)) {
        if (const Promoted *found = find(update->buffer, update->subscripts, 1, nullptr)) {
          const auto &sum = found->locals.front();
          return assign_local(sum->id, "acc",
                              binary_value(update->op, sum, read_locals(update->value)),
                              update->op);
        }
      }
      return map_children(map_values(statement, std::ref(read_locals)), rewrite);
    };
    const StmtPtr inner = (*this)(rewrite(cast<For>(loop).body()));
    all.push_back(once ? inner : with_children(loop, {inner}));
    for (const Promoted &element : promoted) {
      all.push_back(close(element));
    }
    if (!first.empty() || once) {
      return block(std::move(all)); // what was stored before the loop still has to be
    }
    // Where the loops do not run, the elements are neither read nor written: they may be another
    // thread's. Elements whose loops run under different conditions would need a test each.
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
