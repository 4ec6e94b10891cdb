#include "passes/carry_elements.h"

#include "loops/linear.h"
#include "loops/tile_extent.h"
#include "loops/traverse.h"
#include "passes/loop_changes.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

/// Elements that are read after more iterations stay in memory.
constexpr std::int64_t most_iterations = 4;
/// More locals than these would not stay in registers.
constexpr size_t most_locals = 24;
/// A loop inside is written out if it has no more iterations, and the body no more statements then.
constexpr std::int64_t most_copies = 8;
constexpr size_t most_statements = 32;

/// The statements of a body without loops and conditions; nothing of another one.
std::optional<std::vector<StmtPtr>> straight(const StmtPtr &body, Numbers &numbers) {
  if (is<Store>(body) || is<Let>(body) || is<DeclareLocal>(body) || is<AssignLocal>(body)) {
    return std::vector<StmtPtr>{body};
  }
  std::vector<StmtPtr> all;
  const auto append = [&](const StmtPtr &part) {
    const auto more = straight(part, numbers);
    if (more) {
      all.insert(all.end(), more->begin(), more->end());
    }
    return more && all.size() <= most_statements;
  };
  if (is<Block>(body)) {
    if (!std::all_of(body->children.begin(), body->children.end(), append)) {
      return std::nullopt;
    }
    return all;
  }
  const auto *loop = as_loop(body, LoopKind::Serial);
  const auto extent = loop == nullptr ? std::nullopt : constant_extent(*loop);
  if (!extent || *extent > most_copies || !loop->prefetches.empty()) {
    return std::nullopt;
  }
  for (std::int64_t i = 0; i < *extent; ++i) {
    const ValuePtr at = add(loop->lower, integer(i));
    if (!append(copy_with(loop->body(), {{loop->id, at}}, numbers))) {
      return std::nullopt;
    }
  }
  return all;
}

/// A subscript: the same multiple of the loop's variable, and the same lanes, in all accesses.
struct Subscript {
  std::int64_t factor = 0;
  Linear rest; ///< without the variable
  const Ramp *lanes = nullptr;
};
using Place = std::vector<Subscript>;

bool same_lanes(const Ramp *a, const Ramp *b) {
  if (a == nullptr || b == nullptr) {
    return a == b;
  }
  return a->stride == b->stride && a->inner == b->inner && a->inner_stride == b->inner_stride &&
         a->type == b->type;
}

/// What one buffer's elements are, of those that the body of a loop touches.
struct Touched {
  struct Access {
    Place place;
    size_t statement = 0;
    bool always = true; ///< not under a condition
    ValuePtr load;      ///< null of a store
  };
  std::vector<Access> stores;
  std::vector<Access> loads;
  std::string name;
  ValueType type{Float64, 1};
  bool is_plain = true; ///< all of it is known
};

/// An element that is kept: stored by a statement, read so many iterations later at the most.
struct Carried {
  size_t statement = 0;
  std::int64_t buffer = 0;
  std::string name;
  ValueType type{Float64, 1};
  Place place;
  std::vector<std::shared_ptr<const Local>> last; ///< of one iteration ago, of two, ...
  std::shared_ptr<const Local> now;
};

class Body {
public:
  Body(const For &loop, std::vector<StmtPtr> statements)
      : loop_(loop), statements_(std::move(statements)) {
    for (const StmtPtr &statement : statements_) {
      if (const std::int64_t *variable = defined_variable(*statement)) {
        defined_.insert(*variable);
      }
    }
    for (size_t s = 0; s < statements_.size(); ++s) {
      note(s);
    }
  }

  /// The loop with such elements in locals; null if there are none.
  StmtPtr carried(Numbers &numbers) {
    for (auto &[buffer, touched] : touched_) {
      carry(buffer, touched, numbers);
    }
    size_t locals = 0;
    for (const Carried &one : carried_) {
      locals += one.last.size() + 1;
    }
    return carried_.empty() || locals > most_locals ? nullptr : rewritten();
  }

private:
  void note(size_t s) {
    const StmtPtr &statement = statements_[s];
    std::set<std::pair<const Value *, bool>> seen; // branches are shared
    each_value(*statement, [&](const ValuePtr &value) { note_loads(value, s, true, seen); });
    const auto *store = as<Store>(statement);
    if (store == nullptr) {
      return;
    }
    Touched &touched = touched_of(store->buffer, store->name, store->value->type);
    const std::optional<Place> place = place_of(store->subscripts);
    touched.is_plain &= place && !store->mask && store->op == Op::None;
    touched.stores.push_back({place.value_or(Place{}), s, true, nullptr});
  }

  Touched &touched_of(std::int64_t buffer, const std::string &name, ValueType type) {
    const auto [found, is_new] = touched_.try_emplace(buffer);
    if (is_new) {
      found->second.name = name;
      found->second.type = type;
    }
    found->second.is_plain &= found->second.type == type;
    return found->second;
  }

  void note_loads(const ValuePtr &root, size_t s, bool always,
                  std::set<std::pair<const Value *, bool>> &seen) {
    if (!seen.emplace(root.get(), always).second) {
      return;
    }
    if (const auto *masked = as<Masked>(root)) {
      if (const auto *load = as<Load>(masked->load())) {
        touched_of(load->buffer, load->name, load->type).is_plain = false;
      }
    }
    if (const auto *load = as<Load>(root)) {
      Touched &touched = touched_of(load->buffer, load->name, load->type);
      const std::optional<Place> place = place_of(load->subscripts());
      touched.is_plain &= place.has_value();
      touched.loads.push_back({place.value_or(Place{}), s, always, root});
    }
    if (const auto buffer = given_buffer(*root)) {
      given_.insert(*buffer);
    }
    const auto *both = as<Binary>(root);
    const bool chooses =
        is<Select>(root) || (both != nullptr && (both->op == Op::And || both->op == Op::Or));
    for (size_t o = 0; o < root->operands.size(); ++o) {
      note_loads(root->operands[o], s, always && !is<Masked>(root) && (!chooses || o == 0), seen);
    }
  }

  std::optional<Place> place_of(const std::vector<ValuePtr> &subscripts) const {
    Place place;
    for (const ValuePtr &subscript : subscripts) {
      const auto *lanes = as<Ramp>(subscript);
      const ValuePtr &base = lanes != nullptr ? lanes->base() : subscript;
      const auto linear = is_index(base) ? linear_of(base) : std::nullopt;
      if (!linear) {
        return std::nullopt;
      }
      Subscript one{0, {{}, linear->constant}, lanes};
      for (const Linear::Term &term : linear->terms) {
        if (is_variable(*term.atom, loop_.id)) {
          one.factor = term.coefficient;
        } else if (changes(term.atom)) {
          return std::nullopt;
        } else {
          one.rest.terms.push_back(term);
        }
      }
      place.push_back(std::move(one));
    }
    return place;
  }

  bool changes(const ValuePtr &atom) const {
    bool found = false;
    visit_value(atom, [&](const Value &value) {
      const auto *own = as<Variable>(value);
      found = found || (own != nullptr && (own->id == loop_.id || defined_.contains(own->id)));
    });
    return found;
  }

  /// How far `a` lies from `b` in each dimension; nothing unless that is a number, whatever the
  /// iteration.
  static std::optional<std::vector<std::int64_t>> distance(const Place &a, const Place &b) {
    std::vector<std::int64_t> found;
    for (size_t d = 0; d < a.size(); ++d) {
      const auto apart = combine(a[d].rest, b[d].rest, -1);
      if (a[d].factor != b[d].factor || !same_lanes(a[d].lanes, b[d].lanes) || !apart ||
          !apart->is_constant()) {
        return std::nullopt;
      }
      found.push_back(apart->constant);
    }
    return found;
  }

  /// After how many iterations an access at `by` comes to the element of one at `of`; nothing if it
  /// never does.
  static std::optional<std::int64_t> iterations(const Place &of, const Place &by) {
    const auto apart = distance(of, by);
    std::optional<std::int64_t> found;
    for (size_t d = 0; d < of.size(); ++d) {
      const std::int64_t factor = of[d].factor;
      if (factor == 0 ? (*apart)[d] != 0
                      : (*apart)[d] % factor != 0 || (found && *found != (*apart)[d] / factor)) {
        return std::nullopt;
      }
      if (factor != 0) {
        found = (*apart)[d] / factor;
      }
    }
    return found;
  }

  /// Do all accesses move on alike, so that two of them are one element after a known number of
  /// iterations or never?
  static bool moves_on(const Touched &touched) {
    if (!touched.is_plain || touched.stores.empty()) {
      return false;
    }
    const Place &first = touched.stores.front().place;
    const auto alike = [&](const Touched::Access &access) {
      return distance(first, access.place).has_value();
    };
    return std::any_of(first.begin(), first.end(),
                       [](const Subscript &one) { return one.factor != 0; }) &&
           std::all_of(touched.stores.begin(), touched.stores.end(), alike) &&
           std::all_of(touched.loads.begin(), touched.loads.end(), alike);
  }

  /// Is no element of one store one of another, as long as elements are kept? Lanes may overlap, so
  /// that one subscript without them has to differ.
  static bool stores_apart(const Touched &touched) {
    const std::vector<Touched::Access> &stores = touched.stores;
    for (size_t a = 0; a < stores.size(); ++a) {
      for (size_t b = a + 1; b < stores.size(); ++b) {
        const Place &place = stores[a].place;
        const auto apart = distance(place, stores[b].place);
        const auto later = iterations(place, stores[b].place);
        bool differs = touched.type.lanes == 1 && (!later || std::abs(*later) > most_iterations);
        for (size_t d = 0; d < place.size(); ++d) {
          differs =
              differs || (place[d].factor == 0 && place[d].lanes == nullptr && (*apart)[d] != 0);
        }
        if (!differs) {
          return false;
        }
      }
    }
    return true;
  }

  static bool stays_as_it_is(ScalarType type) {
    return type != Float16 && type != BFloat16; // what is computed with may be wider
  }

  void carry(std::int64_t buffer, const Touched &touched, Numbers &numbers) {
    if (given_.contains(buffer) || !stays_as_it_is(touched.type.scalar) || !moves_on(touched) ||
        !stores_apart(touched)) {
      return;
    }
    for (const Touched::Access &store : touched.stores) {
      std::int64_t longest = 0;
      for (const Touched::Access &load : touched.loads) {
        const auto later = iterations(store.place, load.place);
        if (later && load.always && *later <= most_iterations) {
          longest = std::max(longest, *later);
        }
      }
      if (longest == 0) {
        continue;
      }
      Carried one{store.statement, buffer, touched.name, touched.type, store.place, {}, nullptr};
      for (std::int64_t i = 0; i < longest; ++i) {
        one.last.push_back(local(numbers.next(), "last", touched.type));
      }
      one.now = local(numbers.next(), "now", touched.type);
      for (const Touched::Access &load : touched.loads) {
        const auto later = iterations(store.place, load.place);
        if (later && *later >= 1 && *later <= longest) {
          replaced_[{load.statement, load.load}] = one.last[static_cast<size_t>(*later) - 1];
        } else if (later && *later == 0 && load.statement > store.statement) {
          replaced_[{load.statement, load.load}] = one.now;
        }
      }
      carried_.push_back(std::move(one));
    }
  }

  /// The element that `one` has stored so many iterations before the first.
  ValuePtr before_loop(const Carried &one, std::int64_t ago) const {
    std::vector<ValuePtr> subscripts;
    for (const Subscript &subscript : one.place) {
      const ValuePtr at = add(value_of(subscript.rest),
                              mul(integer(subscript.factor), sub(loop_.lower, integer(ago))));
      subscripts.push_back(subscript.lanes == nullptr ? at : ramp(*subscript.lanes, at));
    }
    return load(one.buffer, one.name, one.type, std::move(subscripts));
  }

  StmtPtr rewritten() const {
    std::vector<StmtPtr> all;
    for (const Carried &one : carried_) {
      for (size_t i = 0; i < one.last.size(); ++i) {
        all.push_back(declare_local(one.last[i]->id, one.last[i]->name,
                                    before_loop(one, static_cast<std::int64_t>(i) + 1)));
      }
    }
    std::vector<StmtPtr> body;
    for (size_t s = 0; s < statements_.size(); ++s) {
      ValueRewriter rewriter([&](const ValuePtr &value) -> ValuePtr {
        const auto found = replaced_.find({s, value});
        return found == replaced_.end() ? nullptr : found->second;
      });
      const StmtPtr changed =
          map_values(statements_[s], [&](const ValuePtr &value) { return rewriter(value); });
      const auto own = std::find_if(carried_.begin(), carried_.end(),
                                    [&](const Carried &one) { return one.statement == s; });
      if (own == carried_.end()) {
        body.push_back(changed);
        continue;
      }
      body.push_back(declare_local(own->now->id, own->now->name, cast<Store>(changed).value));
      const auto stored = std::static_pointer_cast<Store>(copy_statement(*changed));
      stored->value = own->now;
      body.push_back(stored);
    }
    for (const Carried &one : carried_) {
      for (size_t i = one.last.size(); i-- > 0;) {
        const ValuePtr next = i == 0 ? one.now : one.last[i - 1];
        body.push_back(assign_local(one.last[i]->id, one.last[i]->name, next));
      }
    }
    all.push_back(for_loop(loop_, loop_.lower, loop_.upper, block(std::move(body))));
    return if_then(binary_value(Op::Lt, loop_.lower, loop_.upper), block(std::move(all)));
  }

  const For &loop_;
  std::vector<StmtPtr> statements_;
  std::set<std::int64_t> defined_;          ///< variables, in the body
  std::map<std::int64_t, Touched> touched_; ///< by buffer
  std::set<std::int64_t> given_;            ///< buffers whose addresses functions of C get
  std::vector<Carried> carried_;
  std::map<std::pair<size_t, ValuePtr>, ValuePtr> replaced_; ///< loads of a statement
};

class Carrying {
public:
  explicit Carrying(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    const auto extent = loop == nullptr ? std::nullopt : constant_extent(*loop);
    if (loop != nullptr && loop->prefetches.empty() &&
        extent.value_or(most_copies + 1) > most_copies) {
      if (auto statements = straight(loop->body(), numbers_)) {
        if (StmtPtr carried = Body(*loop, std::move(*statements)).carried(numbers_)) {
          return carried;
        }
      }
    }
    return map_children(statement, *this);
  }

private:
  Numbers numbers_;
};

} // namespace

StmtPtr carry_elements(const StmtPtr &body) { return Carrying(body)(body); }

} // namespace tilewright
