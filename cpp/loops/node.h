// What kind of node a value or a statement of the loop IR is, and how one gets at the fields that
// only this kind has: `as<Load>(value)` is the load or null, `cast<Load>(value)` the load that the
// value is known to be, and an internal error if it is another.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>

namespace tilewright {

[[noreturn]] void wrong_node(); ///< throws Error(ErrorKind::Internal)

template <class Node, class Base>
  requires std::derived_from<Node, Base>
bool is(const Base &node) {
  return Node::includes(node.kind);
}

template <class Node, class Base>
bool is(const std::shared_ptr<Base> &node) {
  return Node::includes(node->kind);
}

template <class Node, class Base>
  requires std::derived_from<Node, Base>
const Node *as(const Base &node) {
  return Node::includes(node.kind) ? static_cast<const Node *>(&node) : nullptr;
}

/// Of a copy that others do not see yet (copy_of).
template <class Node, class Base>
  requires std::derived_from<Node, Base> && (!std::is_const_v<Base>)
Node *as(Base &node) {
  return Node::includes(node.kind) ? static_cast<Node *>(&node) : nullptr;
}

template <class Node, class Base>
const Node *as(const std::shared_ptr<Base> &node) {
  return Node::includes(node->kind) ? static_cast<const Node *>(node.get()) : nullptr;
}

template <class Node, class Base>
  requires std::derived_from<Node, Base>
const Node &cast(const Base &node) {
  if (!Node::includes(node.kind)) {
    wrong_node();
  }
  return static_cast<const Node &>(node);
}

template <class Node, class Base>
const Node &cast(const std::shared_ptr<Base> &node) {
  return cast<Node>(*node);
}

/// A copy whose fields may be changed before others see it.
template <class Node, class From>
std::shared_ptr<Node> copy_of(const From &node) {
  return std::make_shared<Node>(cast<Node>(node));
}

} // namespace tilewright
