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

/// What every ExprPtr points to: its depth and size are nobody else's concern.
struct Node : Expr {
  Node(Expr expr, size_t depth, std::uint64_t tree_size)
      : Expr(std::move(expr)), depth(depth), tree_size(tree_size) {}
  size_t depth;
  std::uint64_t tree_size;
};

/// Frees a tree node by node: its depth would else be the stack's. Expressions outlive everything
/// (static variables hold some), so nothing that a thread destroys at its end is needed here.
void destroy(const Node *node) {
  static thread_local std::vector<const Node *> *waiting = nullptr; // of the outermost call
  if (waiting != nullptr) {
    waiting->push_back(node);
    return;
  }
  if (node->depth <= shallow) {
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

size_t depth_of(const ExprPtr &expr) { return expr ? static_cast<const Node &>(*expr).depth : 0; }

std::uint64_t tree_size_of(const ExprPtr &expr) {
  return expr ? static_cast<const Node &>(*expr).tree_size : 0;
}

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
  size_t deepest = 0;
  std::uint64_t tree_size = 1;
  const auto look_at = [&](const ExprPtr &child) {
    deepest = std::max(deepest, depth_of(child));
    tree_size = std::min(largest_tree, tree_size + tree_size_of(child));
  };
  std::for_each(node.operands.begin(), node.operands.end(), look_at);
  for (const ReduceRange &range : node.ranges) {
    look_at(range.lower);
    look_at(range.upper);
  }
  look_at(node.condition);
  look_at(node.predicate);
  if (deepest >= deepest_expression) {
    throw Error(ErrorKind::Declaration,
                "an expression may be at most " + std::to_string(deepest_expression) +
                    " operations deep; add up many terms in pairs, or with tw.sum over an "
                    "iterator, or compute parts in computations of their own");
  }
  return {new Node(std::move(node), deepest + 1, tree_size), destroy};
}

} // namespace tilewright
