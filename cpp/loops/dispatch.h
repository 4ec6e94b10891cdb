// From a node to the struct of its kind: `dispatch(statement, use)` calls `use` with a For, a Store
// and so on, so that a walk over all kinds is a set of overloads of which the compiler says which
// one is missing.
#pragma once

#include "loops/statement.h"

#include <type_traits>

namespace tilewright {

namespace nodes {
template <class Node, class Base, class Use>
decltype(auto) use_as(Base &node, Use &use) {
  return use(static_cast<std::conditional_t<std::is_const_v<Base>, const Node, Node> &>(node));
}
} // namespace nodes

template <class Base, class Use>
  requires std::is_same_v<std::remove_const_t<Base>, LoopStatement>
decltype(auto) dispatch(Base &statement, Use &&use) {
  switch (statement.kind) {
  case StatementKind::Block:
    return nodes::use_as<Block>(statement, use);
  case StatementKind::For:
    return nodes::use_as<For>(statement, use);
  case StatementKind::While:
    return nodes::use_as<While>(statement, use);
  case StatementKind::If:
    return nodes::use_as<If>(statement, use);
  case StatementKind::Store:
    return nodes::use_as<Store>(statement, use);
  case StatementKind::AtomicUpdate:
    return nodes::use_as<AtomicUpdate>(statement, use);
  case StatementKind::Let:
    return nodes::use_as<Let>(statement, use);
  case StatementKind::DeclareLocal:
    return nodes::use_as<DeclareLocal>(statement, use);
  case StatementKind::AssignLocal:
    return nodes::use_as<AssignLocal>(statement, use);
  case StatementKind::Allocate:
    return nodes::use_as<Allocate>(statement, use);
  case StatementKind::CheckIndex:
    return nodes::use_as<CheckIndex>(statement, use);
  case StatementKind::CheckValue:
    return nodes::use_as<CheckValue>(statement, use);
  case StatementKind::Timed:
    return nodes::use_as<Timed>(statement, use);
  case StatementKind::Launch:
    return nodes::use_as<Launch>(statement, use);
  case StatementKind::Barrier:
    return nodes::use_as<Barrier>(statement, use);
  case StatementKind::CopyAsync:
    return nodes::use_as<CopyAsync>(statement, use);
  case StatementKind::CommitCopies:
    return nodes::use_as<CommitCopies>(statement, use);
  case StatementKind::WaitForCopies:
    return nodes::use_as<WaitForCopies>(statement, use);
  }
  wrong_node();
}

template <class Base, class Use>
  requires std::is_same_v<std::remove_const_t<Base>, Value>
decltype(auto) dispatch(Base &value, Use &&use) {
  switch (value.kind) {
  case ValueKind::Constant:
    return nodes::use_as<Constant>(value, use);
  case ValueKind::Variable:
    return nodes::use_as<Variable>(value, use);
  case ValueKind::Parameter:
    return nodes::use_as<Parameter>(value, use);
  case ValueKind::Local:
    return nodes::use_as<Local>(value, use);
  case ValueKind::Load:
    return nodes::use_as<Load>(value, use);
  case ValueKind::Unary:
    return nodes::use_as<Unary>(value, use);
  case ValueKind::Binary:
    return nodes::use_as<Binary>(value, use);
  case ValueKind::Call:
    return nodes::use_as<Call>(value, use);
  case ValueKind::Cast:
    return nodes::use_as<Cast>(value, use);
  case ValueKind::Select:
    return nodes::use_as<Select>(value, use);
  case ValueKind::Ramp:
    return nodes::use_as<Ramp>(value, use);
  case ValueKind::Broadcast:
    return nodes::use_as<Broadcast>(value, use);
  case ValueKind::Masked:
    return nodes::use_as<Masked>(value, use);
  case ValueKind::Reduce:
    return nodes::use_as<Reduce>(value, use);
  case ValueKind::GpuIndex:
    return nodes::use_as<GpuIndex>(value, use);
  case ValueKind::Mma:
    return nodes::use_as<Mma>(value, use);
  case ValueKind::Lane:
    return nodes::use_as<Lane>(value, use);
  case ValueKind::Matrices:
    return nodes::use_as<Matrices>(value, use);
  case ValueKind::Shuffle:
    return nodes::use_as<Shuffle>(value, use);
  case ValueKind::Aligned:
    return nodes::use_as<Aligned>(value, use);
  case ValueKind::Extern:
    return nodes::use_as<Extern>(value, use);
  }
  wrong_node();
}

} // namespace tilewright
