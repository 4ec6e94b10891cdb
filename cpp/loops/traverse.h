// The traversals of the loop IR that every pass uses: a rewriter that keeps sharing, visitors, and
// copies with other variables.
#pragma once

#include "loops/build.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright {

/// The same node with other operands, folded where all of them are constants.
ValuePtr with_operands(const ValuePtr &value, std::vector<ValuePtr> operands);

/// Rewrites values bottom-up. `leaf` is asked first for each node: a non-null answer replaces it
/// without looking below. Shared nodes are rewritten once.
class ValueRewriter {
public:
  using Leaf = std::function<ValuePtr(const ValuePtr &)>;
  explicit ValueRewriter(Leaf leaf) : leaf_(std::move(leaf)) {}
  ValuePtr operator()(const ValuePtr &value);

private:
  Leaf leaf_;
  std::unordered_map<ValuePtr, ValuePtr> done_;
};

/// Appends what a chain of `op` combines: a, b, c of (a & b) & c.
void operands_of(Op op, const ValuePtr &value, std::vector<ValuePtr> &into);

/// A copy of a statement, which shares its children.
std::shared_ptr<LoopStatement> copy_statement(const LoopStatement &statement);
/// The same change of another element.
StmtPtr with_subscripts(const ElementChange &change, std::vector<ValuePtr> subscripts);
/// The statement with every value in it (not in its children) replaced.
std::shared_ptr<LoopStatement> map_values(const StmtPtr &statement,
                                          const std::function<ValuePtr(const ValuePtr &)> &replace);
StmtPtr with_children(const StmtPtr &statement, std::vector<StmtPtr> children);
/// The statement with what `change` makes of each of its children; itself where it has none.
template <class Change>
StmtPtr map_children(const StmtPtr &statement, Change &&change) {
  if (statement->children.empty()) {
    return statement;
  }
  std::vector<StmtPtr> children;
  children.reserve(statement->children.size());
  for (const StmtPtr &child : statement->children) {
    children.push_back(change(child));
  }
  return with_children(statement, std::move(children));
}
/// Every statement, parents first.
void visit_statements(const StmtPtr &root, const std::function<void(const LoopStatement &)> &visit);
/// The values that one statement holds itself: bounds, conditions, what is stored, subscripts.
void each_value(const LoopStatement &statement, const std::function<void(const ValuePtr &)> &visit);
/// Every node in the values of one statement (not of its children), parents first; shared nodes
/// once.
void visit_values(const LoopStatement &statement, const std::function<void(const Value &)> &visit);
void visit_value(const ValuePtr &root, const std::function<void(const Value &)> &visit);

/// The buffer whose address a call of a function of C is given: the function may write it.
std::optional<std::int64_t> given_buffer(const Value &value);

/// The buffer that a value reads, or gives the address of; nothing for other values.
std::optional<std::int64_t> buffer_named_in(const Value &value);

/// Numbers for new variables and locals, above all that occur in a kernel.
class Numbers {
public:
  Numbers() = default;
  explicit Numbers(const StmtPtr &root);
  std::int64_t next() { return ++last_; }

private:
  std::int64_t last_ = 0;
};

/// A copy of `root` in which variables are replaced by id and what it defines itself (loops, lets,
/// locals) is renumbered.
StmtPtr copy_with(const StmtPtr &root, const std::unordered_map<std::int64_t, ValuePtr> &variables,
                  Numbers &numbers);

} // namespace tilewright
