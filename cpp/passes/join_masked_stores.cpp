#include "passes/join_masked_stores.h"

#include "loops/traverse.h"
#include "passes/loop_changes.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

/// Do data decide which lanes take part? Those of the end of a loop are the same everywhere, and
/// accumulators (promote_accumulators) live with that.
bool is_of_data(const ValuePtr &mask) {
  bool found = false;
  visit_value(mask, [&](const Value &node) { found = found || is<Local>(node) || is<Load>(node); });
  return found;
}

/// A store under a mask, asked for as vectorize_loops does: if any lane takes part.
const Store *masked_store(const StmtPtr &statement) {
  const auto *test = as<If>(statement);
  const auto *store =
      as<Store>(test != nullptr && !test->has_otherwise() ? test->then() : statement);
  return store != nullptr && store->mask && is_of_data(store->mask) ? store : nullptr;
}

/// The same, or a store of all lanes.
const Store *vector_store(const StmtPtr &statement) {
  const auto *plain = as<Store>(statement);
  const Store *store = plain != nullptr && !plain->mask ? plain : masked_store(statement);
  // Terms of a reduction are added in one step with their products (fused), where they are stored.
  const bool is_value = store != nullptr && store->op == Op::None;
  return is_value && store->value->type.lanes > 1 ? store : nullptr;
}

bool is_place(const Store &place, std::int64_t buffer, const std::vector<ValuePtr> &subscripts) {
  return buffer == place.buffer && subscripts.size() == place.subscripts.size() &&
         std::equal(subscripts.begin(), subscripts.end(), place.subscripts.begin(), same_value);
}

/// How a statement meets the elements of a store.
struct Meeting {
  bool reads = false;
  bool stores = false;
  bool ends = false; ///< it touches others of the array, or may end the kernel
};

Meeting meeting_of(const StmtPtr &root, const Store &place) {
  Meeting met;
  visit_statements(root, [&](const LoopStatement &statement) {
    visit_values(statement, [&](const Value &value) {
      if (const auto *read = as<Load>(value); read != nullptr && read->buffer == place.buffer) {
        const bool is_it = is_place(place, read->buffer, read->subscripts()) &&
                           read->type.lanes == place.value->type.lanes;
        (is_it ? met.reads : met.ends) = true;
      }
      met.ends = met.ends || given_buffer(value) == place.buffer;
    });
    const bool is_known = is<Block>(statement) || is<If>(statement) || is<Store>(statement) ||
                          is<DeclareLocal>(statement) || is<AssignLocal>(statement) ||
                          is<Let>(statement);
    const auto *store = as<Store>(statement);
    if (store != nullptr && store->buffer == place.buffer) {
      const bool is_it = is_place(place, store->buffer, store->subscripts) &&
                         store->value->type == place.value->type && store->op == Op::None;
      (is_it ? met.stores : met.ends) = true;
    }
    met.ends = met.ends || !is_known;
  });
  // Stores among others, or under other tests, are none that can be joined.
  const bool is_plain = is<Store>(root) || masked_store(root) != nullptr;
  met.ends = met.ends || (met.stores && !is_plain);
  return met;
}

class Joiner {
public:
  explicit Joiner(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const StmtPtr made = map_children(statement, *this);
    return is<Block>(made) ? block(joined(made->children)) : made;
  }

private:
  std::vector<StmtPtr> joined(std::vector<StmtPtr> all) {
    for (size_t k = 0; k < all.size(); ++k) {
      const Store *first = vector_store(all[k]);
      if (first == nullptr || !has_plain_place(*first)) {
        continue;
      }
      size_t end = k + 1; // behind the last statement that gains by it
      for (size_t next = k + 1; next < all.size(); ++next) {
        const Meeting met = meeting_of(all[next], *first);
        if (met.ends) {
          break;
        }
        // What all lanes store is handed to a load.
        const bool gains = first->mask ? met.reads || met.stores : met.stores;
        end = gains && (first->mask || masked_store(all[next])) ? next + 1 : end;
      }
      if (end > k + 1) {
        all = with_one_store(all, k, end);
      }
    }
    return all;
  }

  /// Has each lane an element of its own, which is the same one wherever it is named?
  static bool has_plain_place(const Store &store) {
    bool is_apart = false;
    bool is_plain = true;
    for (const ValuePtr &subscript : store.subscripts) {
      const auto *steps = as<Ramp>(subscript);
      is_apart = is_apart || (steps != nullptr && steps->stride != 0 && steps->inner == 1);
      is_plain = is_plain && (steps != nullptr || subscript->type.lanes == 1);
      visit_value(subscript, [&](const Value &node) {
        is_plain = is_plain && !is<Local>(node) && !is<Load>(node) && !is<Extern>(node);
      });
    }
    return is_apart && is_plain;
  }

  /// The statements with those in [begin, end) joined, the first of which is a store.
  std::vector<StmtPtr> with_one_store(const std::vector<StmtPtr> &all, size_t begin, size_t end) {
    const Store first = *vector_store(all[begin]);
    const ValueType type = first.value->type;
    const auto kept = local(numbers_.next(), "kept", type);
    std::vector<StmtPtr> made(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin));
    made.push_back(
        declare_local(kept->id, kept->name,
                      first.mask ? broadcast(zero_of(type.scalar), type.lanes) : first.value));
    ValuePtr taken; // the lanes that have been stored; null: all, behind the first one
    for (size_t k = begin; k < end; ++k) {
      const bool is_behind = k > begin;
      const StmtPtr statement = is_behind ? reading(all[k], first, taken, kept) : all[k];
      const Store *store = vector_store(statement);
      if (store == nullptr || !is_place(first, store->buffer, store->subscripts)) {
        made.push_back(statement);
      } else if (store->mask) {
        const auto own = local(numbers_.next(), "takes", store->mask->type);
        made.push_back(declare_local(own->id, own->name, store->mask));
        const ValuePtr value = is_behind ? select_value(own, store->value, kept) : store->value;
        made.push_back(
            if_then(reduce_lanes(Op::Or, own), assign_local(kept->id, kept->name, value)));
        if (taken || !is_behind) {
          const auto both_of = local(numbers_.next(), "taken", store->mask->type);
          made.push_back(declare_local(both_of->id, both_of->name,
                                       taken ? either(taken, own) : ValuePtr(own)));
          taken = both_of;
        }
      } else {
        if (is_behind) {
          made.push_back(assign_local(kept->id, kept->name, store->value));
        }
        taken = nullptr;
      }
    }
    const StmtPtr stored = store(first.buffer, first.name, first.subscripts, kept, Op::None, taken);
    made.push_back(taken ? if_then(reduce_lanes(Op::Or, taken), stored) : stored);
    made.insert(made.end(), all.begin() + static_cast<std::ptrdiff_t>(end), all.end());
    return made;
  }

  /// The statement with what it reads of the elements as it is in the lanes that were stored; a
  /// null mask is all of them.
  static StmtPtr reading(const StmtPtr &statement, const Store &place, const ValuePtr &mask,
                         const ValuePtr &kept) {
    const auto leaf = [&](const ValuePtr &node) -> ValuePtr {
      const auto *under = as<Masked>(node);
      const auto *read = as<Load>(under != nullptr ? under->load() : node);
      const bool is_it = read != nullptr && is_place(place, read->buffer, read->subscripts());
      return !is_it ? nullptr : mask ? select_value(mask, kept, node) : kept;
    };
    const std::function<StmtPtr(const StmtPtr &)> rewrite = [&](const StmtPtr &each) -> StmtPtr {
      ValueRewriter values(leaf);
      const StmtPtr made = map_values(each, [&](const ValuePtr &value) { return values(value); });
      return map_children(made, rewrite);
    };
    return rewrite(statement);
  }

  Numbers numbers_;
};

} // namespace

StmtPtr join_masked_stores(const StmtPtr &body) { return Joiner(body)(body); }

} // namespace tilewright
