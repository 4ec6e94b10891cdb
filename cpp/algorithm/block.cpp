#include "algorithm/block.h"

#include "algorithm/declaration_checks.h"
#include "algorithm/expression_depth.h"
#include "algorithm/expression_nodes.h"
#include "polyhedral/interruption.h"

#include <algorithm>

namespace tilewright {

namespace {

std::shared_ptr<ExternFunction> external_of(const BlockPtr &block, int result) {
  auto external = std::make_shared<ExternFunction>();
  external->block = block;
  external->result_of_block = result;
  external->owner = block->owner;
  external->where = block->where;
  external->address = block->address;
  if (result >= 0) {
    const BlockResult &own = block->results[static_cast<size_t>(result)];
    external->name = own.name;
    external->result = own.type;
    return external;
  }
  external->name = block->name;
  external->result = Int32;
  for (const BlockArgument &argument : block->arguments) {
    const bool is_number = argument.kind == BlockArgument::Kind::Number;
    const size_t rank = argument.kind == BlockArgument::Kind::Read
                            ? block->read_ranks[argument.index]
                        : is_number ? 0
                                    : block->results[argument.index].extents.size();
    const size_t words = !block->is_described || is_number ? 1 : 1 + 2 * rank;
    external->arguments.insert(external->arguments.end(), words,
                               is_number && !block->is_described ? block->numbers[argument.index]
                                                                 : Int64);
  }
  return external;
}

std::vector<ExprPtr> own_iterators(const Computation &computation) {
  std::vector<ExprPtr> iterators;
  iterators.reserve(computation.rank());
  for (const std::string &name : computation.iterators) {
    iterators.push_back(iterator(name));
  }
  return iterators;
}

} // namespace

ExprPtr part_of(const ExprPtr &read, std::vector<ReduceRange> ranges) {
  Expr node = nodes::node_of(ExprKind::Reduce, read->type, {read});
  for (ReduceRange &range : ranges) {
    range.lower = cast(range.lower, Int64);
    range.upper = cast(range.upper, Int64);
  }
  node.ranges = std::move(ranges);
  node.where = read->where;
  return nodes::make(std::move(node));
}

bool is_part(const Expr &value) { return value.kind == ExprKind::Reduce && value.op == Op::None; }

bool is_of_block(const Expr &value) {
  return is_part(value) || (value.external && value.external->block);
}

ComputationPtr declare_block(const BlockPtr &block, const std::vector<ExprPtr> &reads,
                             const std::vector<ExprPtr> &numbers) {
  const OperationLimit limit(declaration_operation_limit);
  ComputationPtr call =
      declare_computation(block->name, block->instances, block->condition, Int32, {}, block->where);
  std::vector<ExprPtr> operands = reads;
  for (const BlockResult &result : block->results) {
    if (result.initial) {
      operands.push_back(result.initial);
    }
  }
  for (const BlockResult &result : block->results) {
    operands.insert(operands.end(), result.extents.begin(), result.extents.end());
  }
  operands.insert(operands.end(), numbers.begin(), numbers.end());
  Expr node = nodes::node_of(ExprKind::Extern, Int32, std::move(operands));
  node.external = external_of(block, -1);
  define_piece(call, nullptr, nodes::make(std::move(node)), block->where);
  return call;
}

ComputationPtr block_result(const ComputationPtr &call, size_t result) {
  const OperationLimit limit(declaration_operation_limit);
  const BlockPtr &block = block_node(*call)->external->block;
  const BlockResult &own = block->results.at(result);
  std::vector<Range> ranges = block->instances;
  for (size_t d = 0; d < own.extents.size(); ++d) {
    std::string name = own.name + "_" + std::to_string(d);
    ranges.push_back({std::move(name), constant(std::int64_t{0}, Int64), own.extents[d]});
  }
  ComputationPtr made =
      declare_computation(own.name, ranges, block->condition, own.type, {}, block->where);
  std::vector<ExprPtr> operands = {access(call, own_iterators(*call), block->where)};
  for (const ExprPtr &own_iterator : own_iterators(*made)) {
    operands.push_back(own_iterator);
  }
  Expr node = nodes::node_of(ExprKind::Extern, own.type, std::move(operands));
  node.external = external_of(block, static_cast<int>(result));
  define_piece(made, nullptr, nodes::make(std::move(node)), block->where);
  return made;
}

const Expr *block_node(const Computation &computation) {
  if (computation.pieces.size() != 1) {
    return nullptr;
  }
  const Expr &value = *computation.pieces.front().value;
  return value.kind == ExprKind::Extern && value.external->block ? &value : nullptr;
}

BlockOperands operands_of_call(const Expr &call) {
  const BlockFunction &block = *call.external->block;
  auto next = call.operands.begin();
  BlockOperands parts;
  parts.reads.assign(next, next + static_cast<std::ptrdiff_t>(block.read_ranks.size()));
  next += static_cast<std::ptrdiff_t>(block.read_ranks.size());
  for (const BlockResult &result : block.results) {
    parts.initial.push_back(result.initial ? *next++ : nullptr);
  }
  for (const BlockResult &result : block.results) {
    const auto rank = static_cast<std::ptrdiff_t>(result.extents.size());
    parts.extents.emplace_back(next, next + rank);
    next += rank;
  }
  parts.numbers.assign(next, call.operands.end());
  return parts;
}

ComputationPtr call_of_result(const Expr &result) { return result.operands.front()->producer; }

bool is_block_call(const Computation &computation) {
  const Expr *node = block_node(computation);
  return node != nullptr && node->external->result_of_block < 0;
}

bool is_block_result(const Computation &computation) {
  const Expr *node = block_node(computation);
  return node != nullptr && node->external->result_of_block >= 0;
}

std::vector<BlockPtr> blocks_of(const Function &function) {
  std::vector<BlockPtr> blocks;
  for (const ComputationPtr &computation : function.computations) {
    if (is_block_call(*computation)) {
      blocks.push_back(block_node(*computation)->external->block);
    }
  }
  return blocks;
}

void check_blocks(const Function &function) {
  const std::vector<BlockPtr> blocks = blocks_of(function);
  if (function.stop && !blocks.empty()) {
    throw Error(ErrorKind::Declaration,
                "function " + function.name + " iterates until its data say so and has the block " +
                    blocks.front()->name +
                    ", which iterations cannot call; iterate a fixed number of times, or in Python",
                blocks.front()->where);
  }
}

void require_no_blocks(const Function &function, const std::string &what) {
  const std::vector<BlockPtr> blocks = blocks_of(function);
  if (!blocks.empty()) {
    throw Error(ErrorKind::Schedule,
                "function " + function.name + " has the block " + blocks.front()->name + " (" +
                    line_text(blocks.front()->where) + "), and " + what +
                    " cannot call it: a block is a function at an address of this process; run the "
                    "function here, on loops of the CPU",
                blocks.front()->where);
  }
}

} // namespace tilewright
