#include "algorithm/expression_depth.h"

#include "algorithm/function.h"

#include <algorithm>
#include <cstdint>
#include <pthread.h>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t bytes_of_level = 16 << 10;
#else
constexpr size_t bytes_of_level = 3 << 9; ///< twice what the evaluator, the hungriest, takes
#endif
constexpr size_t bytes_of_rest = 64 << 10;
/// No thread needs to be asked for trees that any one can walk.
constexpr size_t shallow = 32;

/// The lowest address of this thread's stack; 0 where nobody knows.
std::uintptr_t end_of_stack() {
  static thread_local const std::uintptr_t end = [] {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
      return std::uintptr_t{0};
    }
    void *lowest = nullptr;
    size_t size = 0;
    const int failed = pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    return failed != 0 ? std::uintptr_t{0} : reinterpret_cast<std::uintptr_t>(lowest);
  }();
  return end;
}

constexpr std::uint64_t largest_tree = std::uint64_t{1} << 62;

/// What is known of a tree, from what is known of the parts of its root.
struct Facts {
  size_t depth = 0;
  std::uint64_t tree_size = 1;
  std::uint32_t kinds = 0; ///< bits
  bool is_plainly_affine = true;
  bool reads_computations = false;
};

/// What every ExprPtr points to: the facts are nobody else's concern.
struct Node : Expr {
  Node(Expr expr, const Facts &facts) : Expr(std::move(expr)), facts(facts) {}
  Facts facts;
};

const Facts &facts_of(const ExprPtr &expr) { return static_cast<const Node &>(*expr).facts; }

std::uint32_t bit_of(ExprKind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind); }

/// Whether the node is plainly affine where its operands are.
bool keeps_affine(const Expr &node) {
  switch (node.kind) {
  case ExprKind::Constant:
  case ExprKind::Iterator:
  case ExprKind::Parameter:
    return node.type.is_integer();
  case ExprKind::Binary:
    return node.type == Int64 &&
           (node.op == Op::Add || node.op == Op::Sub ||
            (node.op == Op::Mul && (node.operands[0]->kind == ExprKind::Constant ||
                                    node.operands[1]->kind == ExprKind::Constant)));
  default:
    return false;
  }
}

/// Frees a tree node by node: its depth would else be the stack's. Expressions outlive everything
/// (static variables hold some), so nothing that a thread destroys at its end is needed here.
void destroy(const Node *node) {
  static thread_local std::vector<const Node *> *waiting = nullptr; // of the outermost call
  if (waiting != nullptr) {
    waiting->push_back(node);
    return;
  }
  if (node->facts.depth <= shallow) {
    delete node;
    return;
  }
  std::vector<const Node *> nodes = {node};
  waiting = &nodes;
  while (!nodes.empty()) {
    const Node *next = nodes.back();
    nodes.pop_back();
    delete next;
  }
  waiting = nullptr;
}

void require_stack(size_t depth) {
  if (depth <= shallow) {
    return;
  }
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t end = end_of_stack();
  const size_t needed = depth * bytes_of_level + bytes_of_rest;
  if (end == 0 || here < end || here - end >= needed) {
    return; // a stack that nobody knows of: a fibre's
  }
  throw Error(ErrorKind::Declaration,
              "an expression of depth " + std::to_string(depth) + " takes " +
                  std::to_string((needed >> 10) + 1) + " KiB of stack, and this thread has " +
                  std::to_string((here - end) >> 10) +
                  " KiB left; use a thread with more (threading.stack_size), or compute parts of "
                  "the expression in computations of their own");
}

} // namespace

size_t depth_of(const ExprPtr &expr) { return expr ? facts_of(expr).depth : 0; }

std::uint64_t tree_size_of(const ExprPtr &expr) { return expr ? facts_of(expr).tree_size : 0; }

bool contains_kind(const ExprPtr &expr, ExprKind kind) {
  return expr && (facts_of(expr).kinds & bit_of(kind)) != 0;
}

bool reads_computations(const ExprPtr &expr) { return expr && facts_of(expr).reads_computations; }

bool is_plainly_affine(const ExprPtr &expr) { return facts_of(expr).is_plainly_affine; }

void require_stack(const ExprPtr &expr) { require_stack(depth_of(expr)); }

void require_stack(const Function &function) {
  size_t depth = 0;
  for (const ComputationPtr &computation : function.computations) {
    for (const Piece &piece : computation->pieces) {
      depth = std::max(depth, depth_of(piece.value));
    }
  }
  require_stack(depth);
}

ExprPtr finished(Expr node) {
  Facts facts;
  facts.kinds = bit_of(node.kind);
  facts.is_plainly_affine = keeps_affine(node);
  facts.reads_computations =
      node.kind == ExprKind::Access && node.producer && !node.producer->is_input;
  const auto look_at = [&](const ExprPtr &child) {
    if (child) {
      const Facts &part = facts_of(child);
      facts.depth = std::max(facts.depth, part.depth);
      facts.tree_size = std::min(largest_tree, facts.tree_size + part.tree_size);
      facts.kinds |= part.kinds;
      facts.is_plainly_affine = facts.is_plainly_affine && part.is_plainly_affine;
      facts.reads_computations = facts.reads_computations || part.reads_computations;
    }
  };
  std::for_each(node.operands.begin(), node.operands.end(), look_at);
  for (const ReduceRange &range : node.ranges) {
    look_at(range.lower);
    look_at(range.upper);
  }
  look_at(node.condition);
  look_at(node.predicate);
  if (facts.depth >= deepest_expression) {
    throw Error(ErrorKind::Declaration,
                "an expression may be at most " + std::to_string(deepest_expression) +
                    " operations deep; add up many terms in pairs, or with tw.sum over an "
                    "iterator, or compute parts in computations of their own");
  }
  ++facts.depth;
  return {new Node(std::move(node), facts), destroy};
}

} // namespace tilewright
