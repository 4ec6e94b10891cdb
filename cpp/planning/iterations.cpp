#include "planning/iterations.h"

#include "algorithm/convergence.h"
#include "mapping/accesses.h"
#include "mapping/program.h"

#include <isl/map.h>

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

constexpr const char *doing_iterations = "the order of an iteration";

using Names = std::vector<std::string>;

Mapping placed(const Mapping &mapping, const std::string &computation, const std::string &name,
               std::vector<Argument> arguments) {
  return mapping.with({computation, name, std::move(arguments), {}});
}

/// By reader: what it reads of its own iteration.
std::map<std::string, std::set<std::string>> read_within(const Mapping &mapping) {
  const Program program = build_program(mapping);
  std::map<std::string, std::set<std::string>> read;
  for (const Statement &statement : program.statements) {
    if (!is_iterated(*program.function, *statement.computation)) {
      continue;
    }
    for (const ReadAccess &access : read_accesses(statement)) {
      if (access.producer == statement.computation ||
          !is_iterated(*program.function, *access.producer)) {
        continue;
      }
      const isl::map same =
          isl::manage(isl_map_equate(access.relation.copy(), isl_dim_in, 0, isl_dim_out, 0));
      if (!checked(same.is_empty(), doing_iterations)) {
        read[statement.computation->name].insert(access.producer->name);
      }
    }
  }
  return read;
}

/// Each behind what it reads of its own iteration, else as they stand in the function; those that
/// need each other come as they stand.
Names in_order(const Names &members, const std::map<std::string, std::set<std::string>> &read) {
  Names order;
  std::set<std::string> waiting(members.begin(), members.end());
  const auto is_ready = [&](const std::string &name) {
    const auto needs = read.find(name);
    return waiting.contains(name) &&
           (needs == read.end() ||
            std::none_of(needs->second.begin(), needs->second.end(),
                         [&](const std::string &other) { return waiting.contains(other); }));
  };
  while (!waiting.empty()) {
    auto next = std::find_if(members.begin(), members.end(), is_ready);
    if (next == members.end()) {
      next = std::find_if(members.begin(), members.end(),
                          [&](const std::string &name) { return waiting.contains(name); });
    }
    waiting.erase(*next);
    order.push_back(*next);
  }
  return order;
}

/// What is computed in no iteration, and needs none.
Names computed_before(const Function &function) {
  std::set<std::string> after;
  for (bool changed = true; changed;) {
    changed = false;
    for (const ComputationPtr &computation : function.computations) {
      bool is_after = is_iterated(function, *computation) || uses_count(function, *computation);
      for (const Piece &piece : computation->pieces) {
        visit(piece.value, [&](const ExprPtr &node) {
          is_after =
              is_after || (node->kind == ExprKind::Access && after.contains(node->producer->name));
        });
      }
      changed = (is_after && after.insert(computation->name).second) || changed;
    }
  }
  Names before;
  for (const ComputationPtr &computation : function.computations) {
    if (!after.contains(computation->name)) {
      before.push_back(computation->name);
    }
  }
  return before;
}

} // namespace

PlannedMapping plan_iterations(
    const std::shared_ptr<const Function> &function,
    const std::function<std::shared_ptr<const LegalProgram>(const Mapping &)> &legal_program) {
  Mapping mapping(function);
  Names members;
  for (const ComputationPtr &computation : function->computations) {
    if (!is_iterated(*function, *computation)) {
      continue;
    }
    members.push_back(computation->name);
    const std::optional<std::int64_t> kept = iterations_kept(*function, *computation);
    if (kept) {
      mapping = placed(mapping, computation->name, "storage_fold",
                       {computation->iterators.front(), *kept});
    }
  }
  const Names order = in_order(members, read_within(mapping));
  for (size_t m = 1; m < order.size(); ++m) {
    const std::string &loop = mapping.time_space(order[m - 1]).dimensions.front().name;
    mapping = placed(mapping, order[m], "after", {order[m - 1], loop});
  }
  if (auto legal = legal_program(mapping)) {
    return {mapping.recorded_as({}), std::move(legal)};
  }
  // All in a row: what needs no iteration, the loop, the rest.
  Names row = computed_before(*function);
  row.push_back(order.front());
  for (const ComputationPtr &computation : function->computations) {
    const std::string &name = computation->name;
    if (!is_iterated(*function, *computation) &&
        std::find(row.begin(), row.end(), name) == row.end()) {
      row.push_back(name);
    }
  }
  for (size_t c = 1; c < row.size(); ++c) {
    mapping = placed(mapping, row[c], "after", {row[c - 1]});
  }
  auto legal = legal_program(mapping);
  return {mapping.recorded_as({}), std::move(legal)};
}

} // namespace tilewright
