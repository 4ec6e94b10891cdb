// The statements of the loop IR: loops, conditions, stores and locals, and what a GPU's kernel has
// besides. A statement is made by build.h and does not change; statements share their children.
// Each kind is a struct of its own with the fields that it has (node.h). What passes walk through
// without looking at kinds is the children; each_value (traverse.h) gives the values.
#pragma once

#include "loops/value.h"
#include "mapping/mapping.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

enum class StatementKind {
  Block,
  For,
  While,
  If,
  Store,
  AtomicUpdate,
  Let,
  DeclareLocal,
  AssignLocal,
  Allocate,
  CheckIndex,
  CheckValue,
  Timed,
  Launch,
  Barrier,
  CopyAsync,
  CommitCopies,
  WaitForCopies
};

struct LoopStatement;
using StmtPtr = std::shared_ptr<const LoopStatement>;

struct LoopStatement {
  const StatementKind kind;
  std::vector<StmtPtr> children;

protected: // a statement is always one of the kinds below
  LoopStatement(StatementKind kind, std::vector<StmtPtr> children)
      : kind(kind), children(std::move(children)) {}
  LoopStatement(const LoopStatement &) = default;
  ~LoopStatement() = default;
};

/// What most structs below begin with.
template <StatementKind own_kind>
struct StatementNode : LoopStatement {
  static constexpr bool includes(StatementKind kind) { return kind == own_kind; }

protected:
  explicit StatementNode(std::vector<StmtPtr> children = {})
      : LoopStatement(own_kind, std::move(children)) {}
};

/// A statement around one other.
template <StatementKind own_kind>
struct StatementAround : StatementNode<own_kind> {
  const StmtPtr &body() const { return this->children[0]; }

protected:
  explicit StatementAround(StmtPtr body)
      : StatementNode<own_kind>(std::vector<StmtPtr>{std::move(body)}) {}
};

/// The children in order.
struct Block final : StatementNode<StatementKind::Block> {
  explicit Block(std::vector<StmtPtr> children) : StatementNode(std::move(children)) {}
};

enum class LoopKind {
  Serial,
  Parallel,
  Vector,
  MaskedVector, ///< a Vector loop of fewer iterations than lanes
  Unrolled,
  GpuBlock,  ///< in a Launch: blocks have an iteration each, along `axis`
  GpuThread, ///< in a Launch: thread t has the iterations t modulo the threads along `axis`
  GpuSpread, ///< in a Launch: dealt out to all threads, with the GpuSpread loop that is its body
  GpuMma     ///< in a Launch: of a tile that a warp has together; `axis` as LoopTag has it
};

/// How a Parallel loop runs (mapping.h says what the words mean).
struct ParallelSchedule {
  Dealing dealing = Dealing::Static;
  std::int64_t chunk = 0;
  bool joined = false; ///< runs as one with the Parallel loop of which it is the body
};

/// Loops that a schedule counts through as one (join): until passes/count_joined_loops.h makes that
/// loop of them, the outermost one has this of `inside` loops that are its body, and theirs.
struct JoinedCount {
  int inside = 0;
  std::int64_t strip = 0;             ///< cut into strips of so many iterations; 0: not cut
  LoopKind strips = LoopKind::Serial; ///< of the loop in a strip
};

/// The body for a variable in [lower, upper), step 1.
struct For final : StatementAround<StatementKind::For> {
  For(std::int64_t id, std::string name, ValuePtr lower, ValuePtr upper, StmtPtr body)
      : StatementAround(std::move(body)), id(id), name(std::move(name)), lower(std::move(lower)),
        upper(std::move(upper)) {}
  std::int64_t id; ///< of the variable
  std::string name;
  ValuePtr lower;
  ValuePtr upper;
  LoopKind loop = LoopKind::Serial;
  std::int64_t factor = 0; ///< lanes of a Vector loop, largest extent of an Unrolled one
  /// What loads in an iteration read of a buffer is asked for so many iterations ahead.
  std::vector<std::pair<std::int64_t, std::int64_t>> prefetches;
  ParallelSchedule parallel; ///< of a Parallel loop
  JoinedCount counts;
  int axis = 0; ///< of a GPU's loop, as LoopTag has it
};

/// The body again and again, as long as the condition holds before it.
struct While final : StatementAround<StatementKind::While> {
  While(ValuePtr condition, StmtPtr body)
      : StatementAround(std::move(body)), condition(std::move(condition)) {}
  ValuePtr condition;
};

struct If final : StatementNode<StatementKind::If> {
  /// `branches`: then, and otherwise if there is one.
  If(ValuePtr condition, std::vector<StmtPtr> branches)
      : StatementNode(std::move(branches)), condition(std::move(condition)) {}
  ValuePtr condition;

  const StmtPtr &then() const { return children[0]; }
  bool has_otherwise() const { return children.size() > 1; }
  const StmtPtr &otherwise() const { return children[1]; }
};

/// What changes one element of a buffer, or one for each lane: Store, AtomicUpdate, CopyAsync.
struct ElementChange : LoopStatement {
  static constexpr bool includes(StatementKind kind) {
    return kind == StatementKind::Store || kind == StatementKind::AtomicUpdate ||
           kind == StatementKind::CopyAsync;
  }
  std::int64_t buffer; ///< in Kernel::buffers
  std::string name;
  std::vector<ValuePtr> subscripts;
  ValuePtr value;
  std::int64_t statement = -1; ///< in Kernel::statements; -1 where a pass put it there

protected:
  ElementChange(StatementKind kind, std::int64_t buffer, std::string name,
                std::vector<ValuePtr> subscripts, ValuePtr value)
      : LoopStatement(kind, {}), buffer(buffer), name(std::move(name)),
        subscripts(std::move(subscripts)), value(std::move(value)) {}
};

/// buffer[subscripts] = value
struct Store final : ElementChange {
  static constexpr bool includes(StatementKind kind) { return kind == StatementKind::Store; }
  Store(std::int64_t buffer, std::string name, std::vector<ValuePtr> subscripts, ValuePtr value)
      : ElementChange(StatementKind::Store, buffer, std::move(name), std::move(subscripts),
                      std::move(value)) {}
  /// The element itself is the left operand of `value`, op(element, x), one of the terms of a
  /// reduction, which may be combined in any order.
  Op op = Op::None;
  ValuePtr mask; ///< the lanes that take part; null for all
};

/// buffer[subscripts] = op(buffer[subscripts], value), in one step for all threads.
struct AtomicUpdate final : ElementChange {
  static constexpr bool includes(StatementKind kind) { return kind == StatementKind::AtomicUpdate; }
  AtomicUpdate(Op op, std::int64_t buffer, std::string name, std::vector<ValuePtr> subscripts,
               ValuePtr value)
      : ElementChange(StatementKind::AtomicUpdate, buffer, std::move(name), std::move(subscripts),
                      std::move(value)),
        op(op) {}
  Op op;
  /// Threads along these axes of a Launch have terms of one element at the same time. They put them
  /// together first (thread_reductions.h), and one of them updates the element: in one step if it
  /// `is_atomic`, as other blocks may, too. The value may be wider than the element then.
  std::array<bool, 3> combines{};
  bool is_atomic = true;
};

/// A Store of a Load to shared memory that the thread does not wait for: what is stored is there
/// after a WaitForCopies, and until then nobody may touch it. In a Launch, after map_launches.
struct CopyAsync final : ElementChange {
  static constexpr bool includes(StatementKind kind) { return kind == StatementKind::CopyAsync; }
  explicit CopyAsync(const Store &store)
      : ElementChange(StatementKind::CopyAsync, store.buffer, store.name, store.subscripts,
                      store.value) {}
};

/// What gives a variable or a local a value: Let, DeclareLocal, AssignLocal.
struct Definition : LoopStatement {
  static constexpr bool includes(StatementKind kind) {
    return kind == StatementKind::Let || kind == StatementKind::DeclareLocal ||
           kind == StatementKind::AssignLocal;
  }
  std::int64_t id;
  std::string name;
  ValuePtr value;
  std::int64_t statement = -1; ///< in Kernel::statements, of the store that it is; -1 of others

protected:
  Definition(StatementKind kind, std::int64_t id, std::string name, ValuePtr value)
      : LoopStatement(kind, {}), id(id), name(std::move(name)), value(std::move(value)) {}
};

/// variable = value for the statements after it in the block.
struct Let final : Definition {
  static constexpr bool includes(StatementKind kind) { return kind == StatementKind::Let; }
  Let(std::int64_t id, std::string name, ValuePtr value)
      : Definition(StatementKind::Let, id, std::move(name), std::move(value)) {}
};

/// A mutable local with its first value.
struct DeclareLocal final : Definition {
  static constexpr bool includes(StatementKind kind) { return kind == StatementKind::DeclareLocal; }
  DeclareLocal(std::int64_t id, std::string name, ValuePtr value)
      : Definition(StatementKind::DeclareLocal, id, std::move(name), std::move(value)) {}
};

struct AssignLocal final : Definition {
  static constexpr bool includes(StatementKind kind) { return kind == StatementKind::AssignLocal; }
  AssignLocal(std::int64_t id, std::string name, ValuePtr value)
      : Definition(StatementKind::AssignLocal, id, std::move(name), std::move(value)) {}
  Op op = Op::None; ///< as Store has it: the local is the left operand of op(local, term)
  /// The terms of this sum may be added in any order.
  bool any_order = false;
};

/// The body with memory for a buffer that is there only inside.
struct Allocate final : StatementAround<StatementKind::Allocate> {
  Allocate(std::int64_t buffer, std::string name, StmtPtr body)
      : StatementAround(std::move(body)), buffer(buffer), name(std::move(name)) {}
  std::int64_t buffer;
  std::string name;
};

/// A test at run time that fails with the number of a site: CheckIndex, CheckValue.
struct RuntimeCheck : LoopStatement {
  static constexpr bool includes(StatementKind kind) {
    return kind == StatementKind::CheckIndex || kind == StatementKind::CheckValue;
  }
  std::int64_t site; ///< in Kernel::sites
  ValuePtr value;
  ValuePtr mask;                  ///< the lanes that take part; null for all
  std::vector<ValuePtr> reported; ///< what is reported besides

protected:
  RuntimeCheck(StatementKind kind, std::int64_t site, ValuePtr value, ValuePtr mask,
               std::vector<ValuePtr> reported)
      : LoopStatement(kind, {}), site(site), value(std::move(value)), mask(std::move(mask)),
        reported(std::move(reported)) {}
};

/// Fails with code 1 if value < 0 or value >= upper, in any lane.
struct CheckIndex final : RuntimeCheck {
  static constexpr bool includes(StatementKind kind) { return kind == StatementKind::CheckIndex; }
  CheckIndex(std::int64_t site, ValuePtr value, ValuePtr upper, ValuePtr mask,
             std::vector<ValuePtr> reported)
      : RuntimeCheck(StatementKind::CheckIndex, site, std::move(value), std::move(mask),
                     std::move(reported)),
        upper(std::move(upper)) {}
  ValuePtr upper;
};

/// Fails with code 4 if the value, a bool, holds, in any lane.
struct CheckValue final : RuntimeCheck {
  static constexpr bool includes(StatementKind kind) { return kind == StatementKind::CheckValue; }
  CheckValue(std::int64_t site, ValuePtr fails, ValuePtr mask, std::vector<ValuePtr> reported)
      : RuntimeCheck(StatementKind::CheckValue, site, std::move(fails), std::move(mask),
                     std::move(reported)) {}
};

/// The body, whose time is added to that of a nest.
struct Timed final : StatementAround<StatementKind::Timed> {
  Timed(std::int64_t nest, StmtPtr body) : StatementAround(std::move(body)), nest(nest) {}
  std::int64_t nest; ///< in Kernel::nests
};

// ---- of a GPU ----

/// The body in each thread of a grid of blocks on a GPU. Its GPU loops say of themselves which
/// iterations a thread has; after map_launches there are none, and the grid is known.
struct Launch final : StatementAround<StatementKind::Launch> {
  Launch(const std::array<std::int64_t, 3> &threads, StmtPtr body)
      : StatementAround(std::move(body)), threads(threads) {}
  std::array<std::int64_t, 3> threads; ///< in a block, along x, y and z
  std::vector<ValuePtr> grid;          ///< blocks along x, y and z, or empty
};

/// All threads of the block wait here for each other.
struct Barrier final : StatementNode<StatementKind::Barrier> {
  Barrier() = default;
};

/// What the thread copies since the last one is a group.
struct CommitCopies final : StatementNode<StatementKind::CommitCopies> {
  CommitCopies() = default;
};

/// The thread waits for all of its groups except the last so many.
struct WaitForCopies final : StatementNode<StatementKind::WaitForCopies> {
  explicit WaitForCopies(std::int64_t groups) : groups(groups) {}
  std::int64_t groups;
};

// ---- questions that most passes ask ----

/// The loop, if it is one of this kind; else null.
inline const For *as_loop(const LoopStatement &statement, LoopKind kind) {
  const auto *loop = as<For>(statement);
  return loop != nullptr && loop->loop == kind ? loop : nullptr;
}
inline const For *as_loop(const StmtPtr &statement, LoopKind kind) {
  return as_loop(*statement, kind);
}
inline bool is_loop_of(const LoopStatement &statement, LoopKind kind) {
  return as_loop(statement, kind) != nullptr;
}
inline bool is_loop_of(const StmtPtr &statement, LoopKind kind) {
  return as_loop(*statement, kind) != nullptr;
}

/// What defines a variable: the loop's or the Let's number; else nothing.
inline const std::int64_t *defined_variable(const LoopStatement &statement) {
  if (const auto *loop = as<For>(statement)) {
    return &loop->id;
  }
  const auto *let = as<Let>(statement);
  return let == nullptr ? nullptr : &let->id;
}

} // namespace tilewright
