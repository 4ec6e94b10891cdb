// How deep and how large expressions are. What walks an expression goes as deep as it does, so
// deeper trees than `deepest_expression` are refused where they are made, and whoever begins to
// walk one asks whether this thread's stack has room. Every node is made by `finished`, which
// counts.
#pragma once

#include "algorithm/expression.h"

#include <cstddef>
#include <cstdint>

namespace tilewright {

struct Function;

inline constexpr size_t deepest_expression = 2000;

/// The node, shared from now on. Error(Declaration) where it is deeper than deepest_expression.
/// However deep it is, it is freed node by node.
ExprPtr finished(Expr node);

/// Of the tree below a node; 0 for null. What a node reads of a producer does not count.
size_t depth_of(const ExprPtr &expr);

/// How many nodes somebody would visit who walks the expression as a tree, so that shared parts
/// count each time; 2**62 stands for more. 0 for null. Told where the node is made.
std::uint64_t tree_size_of(const ExprPtr &expr);

/// Whether `visit` comes to a read of something else than an input. Told where the node is made.
bool reads_computations(const ExprPtr &expr);

/// Whether `visit` comes to a node of that kind. Told where the node is made.
bool contains_kind(const ExprPtr &expr, ExprKind kind);
/// Whether it is int64 arithmetic of iterators, parameters and constants, made of sums and products
/// with constants. Told where the node is made.
bool is_plainly_affine(const ExprPtr &expr);

/// Error(Declaration) where what walks the expression would not fit on the stack that this thread
/// has left.
void require_stack(const ExprPtr &expr);
/// The same for the deepest expression of a function.
void require_stack(const Function &function);

} // namespace tilewright
