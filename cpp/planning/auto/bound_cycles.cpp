#include "planning/auto/bound_cycles.h"

#include "planning/recurrence_groups.h"

#include <algorithm>
#include <vector>

namespace tilewright {

namespace {

using Names = std::vector<std::string>;

/// Does it read members in its own iteration of so many outermost loops only? Its iterators are
/// those of the loops.
bool stays_in_iteration(const Computation &reader, const Names &members, size_t loops) {
  bool stays = true;
  for (const Piece &piece : reader.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind != ExprKind::Access ||
          std::find(members.begin(), members.end(), node->producer->name) == members.end()) {
        return;
      }
      for (size_t d = 0; d < loops; ++d) {
        stays = stays && d < node->operands.size() && d < reader.iterators.size() &&
                node->operands[d]->kind == ExprKind::Iterator &&
                node->operands[d]->name == reader.iterators[d];
      }
    });
  }
  return stays;
}

bool are_over_iterators(const NestTimes &times, size_t loops) {
  for (size_t d = 0; d < loops; ++d) {
    if (times.loops[d].iterator != d) {
      return false;
    }
  }
  return true;
}

} // namespace

std::set<std::string> bound_in_cycles(const Function &function, const Nests &nests) {
  std::set<std::string> bound;
  for (const Names &members : recurrence_groups(function)) {
    Names statements;
    std::copy_if(members.begin(), members.end(), std::back_inserter(statements),
                 [&](const std::string &name) {
                   return nests.all().contains(name) && !(**function.find(name)).is_view;
                 });
    if (statements.size() < 2) {
      continue;
    }
    size_t shared = nests.times(statements.front()).loops.size();
    for (const std::string &name : statements) {
      shared = std::min(shared, nests.shared(statements.front(), name));
    }
    const bool is_bound = shared > 0 &&
                          std::all_of(statements.begin(), statements.end(),
                                      [&](const auto &name) {
                                        return are_over_iterators(nests.times(name), shared);
                                      }) &&
                          std::all_of(members.begin(), members.end(), [&](const auto &name) {
                            return stays_in_iteration(**function.find(name), members, shared - 1);
                          });
    for (const std::string &name : statements) {
      if (is_bound && nests.times(name).loops.size() == shared) {
        bound.insert(name);
      }
    }
  }
  return bound;
}

} // namespace tilewright
