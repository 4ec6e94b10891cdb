#include "passes/contract_arrays.h"

#include "loops/linear.h"
#include "loops/traverse.h"
#include "passes/kept_scalars.h"
#include "passes/loop_changes.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

/// Which temporaries each loop has for itself, an element for each iteration.
class OwnElements {
public:
  struct Own {
    std::int64_t buffer;
    bool is_only; ///< no other iteration touches the element, of this loop or of those around it
  };

  explicit OwnElements(const Kernel &kernel) : kernel_(kernel) {
    visit(kernel.body);
    for (const auto &[buffer, place] : places_) {
      if (!shared_.contains(buffer)) {
        own_[place.loop->id].push_back({buffer, place.is_only});
      }
    }
  }

  std::vector<Own> of(const For &loop) const {
    const auto found = own_.find(loop.id);
    return found == own_.end() ? std::vector<Own>() : found->second;
  }

private:
  /// A subscript, factor * variable + constant: each iteration has another one.
  struct Subscript {
    std::int64_t variable;
    std::int64_t factor;
    std::int64_t constant;

    bool operator==(const Subscript &) const = default;
  };

  /// Where a temporary is touched: at the variables of loops, the innermost one of which is `loop`.
  struct Place {
    std::vector<Subscript> subscripts;
    const For *loop;
    bool is_only;

    bool operator==(const Place &) const = default;
  };

  bool is_candidate(std::int64_t buffer) const {
    const KernelBuffer &declared = kernel_.buffers.at(static_cast<size_t>(buffer));
    return !declared.is_argument && !declared.is_scoped && !declared.is_streamed &&
           !declared.extents.empty() && declared.record == Record{};
  }

  void visit(const StmtPtr &statement) {
    const auto *own = as<For>(statement);
    if (own != nullptr) {
      for (const auto &[buffer, distance] : own->prefetches) {
        shared_.insert(buffer);
      }
    }
    visit_values(*statement, [&](const Value &value) {
      const auto *read = as<Load>(value);
      if (read != nullptr) {
        note(read->buffer, read->subscripts(), read->type.lanes);
      }
      if (const auto buffer = given_buffer(value)) {
        shared_.insert(*buffer);
      }
    });
    if (const auto *change = as<ElementChange>(*statement)) {
      note(change->buffer, change->subscripts,
           is<Store>(statement) ? change->value->type.lanes : 0);
    }
    const bool is_loop = own != nullptr || is<While>(statement);
    if (is_loop) {
      around_.push_back(statement.get());
    }
    for (const StmtPtr &child : statement->children) {
      visit(child);
    }
    if (is_loop) {
      around_.pop_back();
    }
  }

  void note(std::int64_t buffer, const std::vector<ValuePtr> &subscripts, int lanes) {
    if (!is_candidate(buffer) || shared_.contains(buffer)) {
      return;
    }
    const std::optional<Place> place = lanes == 1 ? place_of(subscripts) : std::nullopt;
    if (!place || places_.emplace(buffer, *place).first->second != *place) {
      shared_.insert(buffer);
    }
  }

  static std::optional<Subscript> subscript_of(const ValuePtr &value) {
    const auto linear = is_index(value) ? linear_of(value) : std::nullopt;
    if (!linear || linear->terms.size() != 1) {
      return std::nullopt;
    }
    const auto &[atom, factor] = linear->terms.front();
    const auto *at = as<Variable>(atom);
    return at == nullptr ? std::nullopt
                         : std::optional(Subscript{at->id, factor, linear->constant});
  }

  /// Nothing unless the subscripts are of variables of loops that run one iteration after the
  /// other, or on threads, one each.
  std::optional<Place> place_of(const std::vector<ValuePtr> &subscripts) const {
    std::set<std::int64_t> wanted;
    std::vector<Subscript> places;
    for (const ValuePtr &subscript : subscripts) {
      const auto at = subscript_of(subscript);
      if (!at || !wanted.insert(at->variable).second) {
        return std::nullopt;
      }
      places.push_back(*at);
    }
    bool is_only = true;
    for (const LoopStatement *around : around_) {
      const auto *loop = as<For>(*around);
      if (loop != nullptr && loop->loop != LoopKind::Serial && loop->loop != LoopKind::Parallel) {
        return std::nullopt;
      }
      is_only &= loop != nullptr && wanted.erase(loop->id) > 0;
      if (wanted.empty()) {
        return Place{places, loop, is_only};
      }
    }
    return std::nullopt;
  }

  const Kernel &kernel_;
  std::vector<const LoopStatement *> around_;
  std::map<std::int64_t, Place> places_;         ///< by buffer
  std::map<std::int64_t, std::vector<Own>> own_; ///< by the variable of the loop
  std::set<std::int64_t> shared_;
};

/// A loop in which these temporaries are scalars.
class Contraction {
public:
  explicit Contraction(std::set<std::int64_t> buffers)
      : buffers_(std::move(buffers)), values_([&](const ValuePtr &value) -> ValuePtr {
          const auto *read = as<Load>(value);
          return read != nullptr && buffers_.contains(read->buffer)
                     ? load(read->buffer, read->name, read->type, {})
                     : nullptr;
        }) {}

  StmtPtr operator()(const StmtPtr &statement) {
    StmtPtr changed = map_values(statement, [&](const ValuePtr &value) { return values_(value); });
    const auto *change = as<ElementChange>(*changed);
    if (change != nullptr && buffers_.contains(change->buffer)) {
      changed = with_subscripts(*change, {});
    }
    return map_children(changed, *this);
  }

private:
  std::set<std::int64_t> buffers_;
  ValueRewriter values_;
};

class Contracted {
public:
  explicit Contracted(Kernel &kernel) : kernel_(kernel), own_(kernel) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as<For>(statement);
    const std::set<std::int64_t> buffers =
        loop == nullptr ? std::set<std::int64_t>() : scalars_of(*loop);
    if (buffers.empty()) {
      return map_children(statement, *this);
    }
    StmtPtr body = (*this)(Contraction(buffers)(loop->body()));
    for (const std::int64_t buffer : buffers) {
      KernelBuffer &declared = kernel_.buffers.at(static_cast<size_t>(buffer));
      declared.is_scoped = true;
      declared.extents.clear();
      declared.layout = {};
      body = allocate(buffer, declared.name, body);
    }
    return with_children(statement, {body});
  }

private:
  /// Of those with an element for each iteration of this loop: what no other iteration touches, and
  /// what each iteration sets before it reads it, so that what others have left there is gone.
  std::set<std::int64_t> scalars_of(const For &loop) const {
    const std::vector<OwnElements::Own> found = own_.of(loop);
    std::set<std::int64_t> scalars;
    for (const OwnElements::Own &own : found) {
      scalars.insert(own.buffer);
    }
    if (scalars.empty()) {
      return {};
    }
    const KeptScalars kept(Contraction(scalars)(loop.body()), KeptScalars::Set::Before);
    for (const OwnElements::Own &own : found) {
      if (!own.is_only && kept.contains(own.buffer)) {
        scalars.erase(own.buffer);
      }
    }
    return scalars;
  }

  Kernel &kernel_;
  OwnElements own_;
};

} // namespace

void contract_arrays(Kernel &kernel) { kernel.body = Contracted(kernel)(kernel.body); }

} // namespace tilewright
