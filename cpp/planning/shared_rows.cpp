#include "planning/shared_rows.h"

#include <isl/aff.h>
#include <isl/set.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tilewright {

namespace {

constexpr const char *doing = "loops over the same rows";

/// The values of a computation's first iterator, if its outermost loop is over them, on threads,
/// around other loops, and nobody else shares it; else null.
isl::set rows_of(const MappingState &state, const Computation &computation) {
  const TimeSpaceMap &map = state.time_space.at(computation.name);
  if (map.explicit_time || computation.rank() == 0 || map.dimensions.size() < 2) {
    return {};
  }
  const LoopDimension &loop = map.dimensions.front();
  const InstanceSpace instances = instance_space(computation);
  const isl::pw_aff first =
      isl::pw_aff::var_on_domain(isl::local_space(instances.domain.space()), isl::dim::set, 0);
  const bool plain =
      loop.tag.tag == Tag::Parallel && loop.tag.dealing == Dealing::Static && !loop.tag.joined &&
      !map.dimensions[1].tag.joined && map.dimensions[1].tag.tag != Tag::Parallel &&
      checked(isl::manage(isl_pw_aff_is_equal(loop.value.get(), first.get())), doing);
  const bool alone =
      std::none_of(state.placements.begin(), state.placements.end(), [&](const auto &placement) {
        return placement.computation == computation.name || placement.other == computation.name;
      });
  if (!plain || !alone) {
    return {};
  }
  isl_set *rows = isl_set_project_out(computation.domain.copy(), isl_dim_set, 1,
                                      static_cast<unsigned>(computation.rank() - 1));
  rows = isl_set_reset_tuple_id(rows);
  return checked(isl::manage(isl_set_set_dim_name(rows, isl_dim_set, 0, "row")), doing);
}

/// Are they the same rows wherever both are there? (Of no columns there are none.)
bool are_same(const isl::set &rows, const isl::set &others) {
  return checked(
      rows.intersect_params(others.params()).is_equal(others.intersect_params(rows.params())),
      doing);
}

/// How a computation reads the ones that share a loop.
struct Reads {
  bool some = false;
  bool of_own_row = true;
};
Reads reads_of(const Computation &reader, const std::vector<std::string> &together) {
  Reads reads;
  for (const Piece &piece : reader.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind != ExprKind::Access ||
          std::find(together.begin(), together.end(), node->producer->name) == together.end()) {
        return;
      }
      const Expr &row = *node->operands.front();
      reads.some = true;
      reads.of_own_row = reads.of_own_row && row.kind == ExprKind::Iterator &&
                         row.name == reader.iterators.front();
    });
  }
  return reads;
}

/// The computations that read `name`.
std::vector<std::string> readers_of(const Function &function, const std::string &name) {
  std::vector<std::string> readers;
  for (const ComputationPtr &computation : function.computations) {
    bool reads = false;
    for (const Piece &piece : computation->pieces) {
      visit(piece.value, [&](const ExprPtr &node) {
        reads = reads || (node->kind == ExprKind::Access && node->producer->name == name);
      });
    }
    if (reads) {
      readers.push_back(computation->name);
    }
  }
  return readers;
}

/// Rows that only those read who share the loop are kept for one iteration.
Mapping with_private_rows(Mapping mapping, const std::vector<std::string> &together) {
  const Function &function = mapping.function();
  for (const std::string &name : together) {
    const ComputationPtr &computation = *function.find(name);
    const std::vector<std::string> readers = readers_of(function, name);
    const auto shares = [&](const std::string &reader) {
      return std::find(together.begin(), together.end(), reader) != together.end();
    };
    if (computation->rank() > 1 && std::all_of(readers.begin(), readers.end(), shares) &&
        std::find(function.outputs.begin(), function.outputs.end(), computation) ==
            function.outputs.end()) {
      const std::string &loop = mapping.time_space(name).dimensions.front().name;
      mapping = mapping.with({name, "private", {loop}, {}});
    }
  }
  return mapping;
}

} // namespace

Mapping with_shared_rows(Mapping mapping) {
  const MappingState before = mapping.state();
  std::vector<std::vector<std::string>> groups;
  std::vector<std::string> together; // those that share the loop at hand
  isl::set rows;                     // over which it runs
  for (const std::string &name : before.order) {
    const Computation &computation = **before.function->find(name);
    const isl::set own = rows_of(before, computation);
    const Reads reads = own.is_null() ? Reads{} : reads_of(computation, together);
    if (reads.some && reads.of_own_row && are_same(own, rows)) {
      const std::string &last = together.back();
      const std::string &loop = mapping.time_space(last).dimensions.front().name;
      mapping = mapping.with({name, "after", {last, loop}, {}});
    } else {
      groups.push_back(std::move(together));
      together.clear();
      rows = own;
    }
    if (!own.is_null()) {
      together.push_back(name);
    }
  }
  groups.push_back(std::move(together));
  for (const std::vector<std::string> &group : groups) {
    if (group.size() > 1) {
      mapping = with_private_rows(std::move(mapping), group);
    }
  }
  return mapping;
}

} // namespace tilewright
