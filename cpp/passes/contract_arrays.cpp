#include "passes/contract_arrays.h"

#include "loops/traverse.h"
#include "passes/loop_changes.h"

#include <map>
#include <set>

namespace tilewright {

namespace {

/// Which temporaries each outermost loop has for itself, an element for each iteration.
class OwnElements {
public:
  explicit OwnElements(const Kernel &kernel) : kernel_(kernel) {
    visit(kernel.body, nullptr);
    for (const auto &[buffer, loop] : loops_) {
      if (!shared_.contains(buffer)) {
        own_[loop].push_back(buffer);
      }
    }
  }

  std::vector<std::int64_t> of(const LoopStatement *loop) const {
    const auto found = own_.find(loop);
    return found == own_.end() ? std::vector<std::int64_t>() : found->second;
  }

private:
  bool is_candidate(std::int64_t buffer) const {
    const KernelBuffer &declared = kernel_.buffers.at(static_cast<size_t>(buffer));
    return !declared.is_argument && !declared.is_scoped && !declared.is_streamed &&
           declared.extents.size() == 1 && declared.record == Record{};
  }

  /// `loop`: the outermost one around it.
  void visit(const StmtPtr &statement, const LoopStatement *loop) {
    const auto *own = as<For>(statement);
    const bool is_loop = own != nullptr || is<While>(statement);
    if (own != nullptr) {
      for (const auto &[buffer, distance] : own->prefetches) {
        shared_.insert(buffer);
      }
    }
    visit_values(*statement, [&](const Value &value) {
      const auto *read = as<Load>(value);
      if (read != nullptr) {
        note(read->buffer, read->subscripts(), read->type.lanes, loop);
      }
      if (const auto buffer = given_buffer(value)) {
        shared_.insert(*buffer);
      }
    });
    if (const auto *change = as<ElementChange>(*statement)) {
      note(change->buffer, change->subscripts, is<Store>(statement) ? change->value->type.lanes : 0,
           loop);
    }
    for (const StmtPtr &child : statement->children) {
      visit(child, loop != nullptr || !is_loop ? loop : statement.get());
    }
  }

  void note(std::int64_t buffer, const std::vector<ValuePtr> &subscripts, int lanes,
            const LoopStatement *loop) {
    if (!is_candidate(buffer)) {
      return;
    }
    const auto *outermost = loop == nullptr ? nullptr : as<For>(*loop);
    const auto *at = subscripts.size() == 1 ? as<Variable>(subscripts.front()) : nullptr;
    const bool is_own =
        outermost != nullptr && lanes == 1 && at != nullptr && at->id == outermost->id;
    if (!is_own || loops_.emplace(buffer, loop).first->second != loop) {
      shared_.insert(buffer);
    }
  }

  const Kernel &kernel_;
  std::map<std::int64_t, const LoopStatement *> loops_; ///< by buffer
  std::map<const LoopStatement *, std::vector<std::int64_t>> own_;
  std::set<std::int64_t> shared_;
};

/// A loop in which these temporaries are scalars.
class Contraction {
public:
  explicit Contraction(const std::vector<std::int64_t> &buffers)
      : buffers_(buffers.begin(), buffers.end()), values_([&](const ValuePtr &value) -> ValuePtr {
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
    const std::vector<std::int64_t> buffers = own_.of(statement.get());
    if (buffers.empty()) {
      return map_children(statement, *this);
    }
    StmtPtr body = Contraction(buffers)(cast<For>(statement).body());
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
  Kernel &kernel_;
  OwnElements own_;
};

} // namespace

void contract_arrays(Kernel &kernel) { kernel.body = Contracted(kernel)(kernel.body); }

} // namespace tilewright
