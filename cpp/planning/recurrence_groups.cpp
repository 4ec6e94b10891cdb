#include "planning/recurrence_groups.h"

#include "algorithm/block.h"

#include <map>

namespace tilewright {

namespace {

/// The name of what has the loops of a computation: of what a block writes, the call.
const std::string &name_of_loops(const Computation &computation) {
  return is_block_result(computation) ? call_of_result(*block_node(computation))->name
                                      : computation.name;
}

/// What can be reached from `start` along `edges`.
std::vector<bool> reachable(const std::vector<std::vector<size_t>> &edges, size_t start) {
  std::vector<bool> seen(edges.size(), false);
  std::vector<size_t> open = {start};
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    for (const size_t next : edges[at]) {
      if (!seen[next]) {
        seen[next] = true;
        open.push_back(next);
      }
    }
  }
  return seen;
}

} // namespace

std::set<std::string> computations_read_by(const Computation &computation) {
  std::set<std::string> names;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::Access && !node->producer->is_input) {
        names.insert(name_of_loops(*node->producer));
      }
    });
  }
  return names;
}

/// Producers stand before their readers except inside a group, so a group is looked for only where
/// somebody reads a later computation.
std::vector<std::vector<std::string>> recurrence_groups(const Function &function) {
  std::map<std::string, size_t> positions;
  for (size_t c = 0; c < function.computations.size(); ++c) {
    positions[function.computations[c]->name] = c;
  }
  std::vector<std::vector<size_t>> producers(positions.size());
  std::vector<std::vector<size_t>> readers(positions.size());
  std::vector<bool> reads_later(positions.size(), false);
  for (size_t c = 0; c < function.computations.size(); ++c) {
    if (is_block_result(*function.computations[c])) {
      continue;
    }
    for (const std::string &name : computations_read_by(*function.computations[c])) {
      const size_t producer = positions.at(name);
      producers[c].push_back(producer);
      readers[producer].push_back(c);
      reads_later[c] = reads_later[c] || producer > c;
    }
  }
  std::vector<std::vector<std::string>> groups;
  std::vector<bool> grouped(positions.size(), false);
  for (size_t c = 0; c < positions.size(); ++c) {
    if (!reads_later[c] || grouped[c]) {
      continue;
    }
    const std::vector<bool> needed = reachable(producers, c);
    const std::vector<bool> needing = reachable(readers, c);
    std::vector<std::string> group;
    for (size_t other = 0; other < positions.size(); ++other) {
      if (needed[other] && needing[other]) {
        group.push_back(function.computations[other]->name);
        grouped[other] = true;
      }
    }
    if (group.size() > 1) {
      groups.push_back(group);
    }
  }
  return groups;
}

} // namespace tilewright
