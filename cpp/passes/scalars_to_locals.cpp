#include "passes/scalars_to_locals.h"

#include "loops/traverse.h"
#include "passes/kept_scalars.h"
#include "passes/loop_changes.h"

#include <map>
#include <memory>
#include <set>

namespace tilewright {

namespace {

/// Scalars that one thread has for itself.
class OwnScalars {
public:
  explicit OwnScalars(const Kernel &kernel) : kernel_(kernel) { visit(kernel.body, nullptr); }

  bool contains(std::int64_t buffer) const {
    return places_.contains(buffer) && !shared_.contains(buffer);
  }

private:
  /// `around`: the innermost loop that does not run one iteration after the other.
  void visit(const StmtPtr &statement, const LoopStatement *around) {
    visit_values(*statement, [&](const Value &value) {
      if (const auto *read = as<Load>(value)) {
        note(read->buffer, read->type.lanes == 1, around);
      } else if (const auto *matrices = as<Matrices>(value)) {
        shared_.insert(matrices->buffer);
      } else if (const auto buffer = given_buffer(value)) {
        shared_.insert(*buffer);
      }
    });
    if (const auto *change = as<ElementChange>(*statement)) {
      const auto *store = as<Store>(statement);
      note(change->buffer, store != nullptr && !store->mask && store->value->type.lanes == 1,
           around);
    }
    if (const auto *memory = as<Allocate>(statement)) {
      note(memory->buffer, true, around);
    }
    const auto *loop = as<For>(statement);
    const bool is_boundary =
        is<Launch>(statement) || (loop != nullptr && loop->loop != LoopKind::Serial);
    for (const StmtPtr &child : statement->children) {
      visit(child, is_boundary ? statement.get() : around);
    }
  }

  void note(std::int64_t buffer, bool is_plain, const LoopStatement *around) {
    const KernelBuffer &declared = kernel_.buffers.at(static_cast<size_t>(buffer));
    if (declared.is_argument || !declared.extents.empty() || declared.record != Record{}) {
      return;
    }
    const bool is_here = places_.emplace(buffer, around).first->second == around;
    if (!is_plain || !is_here || (!declared.is_scoped && around != nullptr)) {
      shared_.insert(buffer);
    }
  }

  const Kernel &kernel_;
  std::map<std::int64_t, const LoopStatement *> places_;
  std::set<std::int64_t> shared_;
};

class InLocals {
public:
  explicit InLocals(Kernel &kernel)
      : kernel_(kernel), own_(kernel), kept_(kernel.body, KeptScalars::Set::Before),
        numbers_(kernel.body), values_([this](const ValuePtr &value) -> ValuePtr {
          const auto *read = as<Load>(value);
          return read != nullptr ? now(read->buffer) : nullptr;
        }) {}

  void run() {
    std::vector<StmtPtr> all;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      KernelBuffer &buffer = kernel_.buffers[b];
      const auto number = static_cast<std::int64_t>(b);
      if (!own_.contains(number)) {
        continue;
      }
      if (!buffer.is_scoped && kept_.contains(number)) {
        all.push_back(declare(number, zero_of(buffer.type)));
      }
      buffer.is_scoped = true; // of no Allocate: there is no memory for it any more
    }
    all.push_back(rewritten(kernel_.body));
    kernel_.body = block(std::move(all));
  }

private:
  using Locals = std::map<std::int64_t, std::shared_ptr<const Local>>;

  ValuePtr now(std::int64_t buffer) const {
    const auto found = locals_.find(buffer);
    return found == locals_.end() ? nullptr : found->second;
  }

  StmtPtr declare(std::int64_t buffer, const ValuePtr &value) {
    const std::string &name = kernel_.buffers.at(static_cast<size_t>(buffer)).name;
    locals_[buffer] = local(numbers_.next(), name, value->type);
    return declare_local(locals_[buffer]->id, name, value);
  }

  static StmtPtr of_statement(std::int64_t number, const StmtPtr &made) {
    const std::shared_ptr<LoopStatement> copy = copy_statement(*made);
    as<Definition>(*copy)->statement = number;
    return copy;
  }

  /// Values are the same node in several places, with other locals there.
  StmtPtr with_values(const StmtPtr &statement) {
    ValueRewriter rewriter = values_;
    return map_values(statement, [&](const ValuePtr &value) { return rewriter(value); });
  }

  StmtPtr rewritten(const StmtPtr &statement) {
    const auto *store = as<Store>(statement);
    if (store != nullptr && own_.contains(store->buffer)) {
      const StmtPtr changed = with_values(statement);
      const ValuePtr &value = cast<Store>(changed).value;
      const auto known = locals_.find(store->buffer);
      StmtPtr made = known == locals_.end()
                         ? declare(store->buffer, value)
                         : assign_local(known->second->id, known->second->name, value, store->op);
      return of_statement(store->statement, made);
    }
    const auto *memory = as<Allocate>(statement);
    if (memory != nullptr && own_.contains(memory->buffer)) {
      return in_place_of(*memory);
    }
    const StmtPtr changed = with_values(statement);
    if (is<Block>(statement)) { // what is declared in it is there behind it
      std::vector<StmtPtr> children;
      for (const StmtPtr &child : changed->children) {
        children.push_back(rewritten(child));
      }
      return block(std::move(children));
    }
    return map_children(changed, [&](const StmtPtr &child) {
      const Locals outside = locals_;
      StmtPtr made = rewritten(child);
      locals_ = outside;
      return made;
    });
  }

  StmtPtr in_place_of(const Allocate &memory) {
    const Locals outside = locals_;
    locals_.erase(memory.buffer);
    std::vector<StmtPtr> all;
    if (kept_.contains(memory.buffer)) {
      all.push_back(declare(memory.buffer,
                            zero_of(kernel_.buffers.at(static_cast<size_t>(memory.buffer)).type)));
    }
    all.push_back(rewritten(memory.body()));
    locals_ = outside;
    return block(std::move(all));
  }

  Kernel &kernel_;
  OwnScalars own_;
  KeptScalars kept_;
  Numbers numbers_;
  Locals locals_;
  ValueRewriter values_;
};

} // namespace

void scalars_to_locals(Kernel &kernel) { InLocals(kernel).run(); }

} // namespace tilewright
