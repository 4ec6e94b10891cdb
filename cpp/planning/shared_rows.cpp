#include "planning/shared_rows.h"

#include "algorithm/block.h"
#include "algorithm/existing.h"
#include "algorithm/reads.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tilewright {

namespace {

constexpr const char *doing_shared_rows = "loops over the same rows";

/// The rows of a computation, its first iterator, and the loop over them or over blocks of them.
struct Rows {
  isl::set values; ///< null where there is no such loop
  isl::map loop;   ///< the iteration that has a row

  bool is_null() const { return values.is_null(); }
};

/// The first iterator alone, without the computation's name.
isl::map from_row(const isl::pw_aff &loop, size_t iterators) {
  isl_map *map = isl_map_project_out(loop.as_map().release(), isl_dim_in, 1,
                                     static_cast<unsigned>(iterators - 1));
  map = isl_map_reset_tuple_id(map, isl_dim_in);
  return checked(isl::manage(map), doing_shared_rows);
}

/// The rows, if the outermost loop is over them and nothing else, on threads, around other loops,
/// and nobody else shares it.
Rows rows_of(const MappingState &state, const Computation &computation) {
  const TimeSpaceMap &map = state.time_space.at(computation.name);
  if (map.explicit_time || computation.rank() == 0 || map.dimensions.size() < 2) {
    return {};
  }
  const LoopDimension &loop = map.dimensions.front();
  const size_t iterators = instance_space(computation).iterators.size();
  const auto others = static_cast<unsigned>(iterators - 1);
  const bool plain =
      loop.tag.tag == Tag::Parallel && loop.tag.dealing == Dealing::Static && !loop.tag.joined &&
      !map.dimensions[1].tag.joined && map.dimensions[1].tag.tag != Tag::Parallel &&
      (others == 0 ||
       isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, 1, others) == isl_bool_false);
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
  rows = isl_set_set_dim_name(rows, isl_dim_set, 0, "row");
  return {checked(isl::manage(rows), doing_shared_rows), from_row(loop.value, iterators)};
}

/// Are they the same rows wherever both are there, in the same iterations? (Of no columns there are
/// none.)
bool are_same(const Rows &rows, const Rows &others) {
  const isl::set own = rows.values.intersect_params(others.values.params());
  return checked(own.is_equal(others.values.intersect_params(rows.values.params())),
                 doing_shared_rows) &&
         checked(
             isl::manage(isl_map_intersect_domain(rows.loop.copy(), own.copy()))
                 .is_equal(isl::manage(isl_map_intersect_domain(others.loop.copy(), own.copy()))),
             doing_shared_rows);
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

/// Does `reader` read `producer`, and each element for its own only?
bool reads_own_element(const Computation &reader, const Computation &producer) {
  bool reads = false;
  bool own = true;
  for (const Piece &piece : reader.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind != ExprKind::Access || node->producer->name != producer.name) {
        return;
      }
      reads = true;
      for (size_t d = 0; d < node->operands.size(); ++d) {
        const Expr &index = *node->operands[d];
        own = own && index.kind == ExprKind::Iterator && index.name == reader.iterators[d];
      }
    });
  }
  return reads && own;
}

bool have_same_elements(const Computation &one, const Computation &other) {
  return one.rank() == other.rank() && one.type == other.type &&
         checked(isl::manage(isl_set_reset_tuple_id(one.domain.copy()))
                     .is_equal(isl::manage(isl_set_reset_tuple_id(other.domain.copy()))),
                 doing_shared_rows);
}

/// Do they share a loop?
bool are_together(const MappingState &state, const std::string &one, const std::string &other) {
  // Each of a group was placed behind the one before it.
  const auto root = [&](std::string name) {
    for (const Placement *placement = find_placement(state, name); placement != nullptr;
         placement = find_placement(state, name)) {
      name = placement->other;
    }
    return name;
  };
  return root(one) == root(other);
}

} // namespace

Mapping with_shared_rows(Mapping mapping) {
  const MappingState before = mapping.state();
  std::vector<std::string> together; // those that share the loop at hand
  Rows rows;                         // over which it runs
  for (const std::string &name : before.order) {
    const Computation &computation = **before.function->find(name);
    // Blocks keep loops of their own.
    const Rows own = block_node(computation) != nullptr ? Rows{} : rows_of(before, computation);
    const Reads reads = own.is_null() ? Reads{} : reads_of(computation, together);
    if (reads.some && reads.of_own_row && are_same(own, rows)) {
      const std::string &last = together.back();
      const std::string &loop = mapping.time_space(last).dimensions.front().name;
      mapping = mapping.with({name, "after", {last, loop}, {}});
    } else {
      together.clear();
      rows = own;
    }
    if (!own.is_null()) {
      together.push_back(name);
    }
  }
  return mapping;
}

Mapping with_private_rows(Mapping mapping) {
  const MappingState before = mapping.state();
  const Function &function = *before.function;
  for (const ComputationPtr &row : function.computations) {
    const bool is_output =
        std::find(function.outputs.begin(), function.outputs.end(), row) != function.outputs.end();
    const bool by_data =
        std::any_of(row->pieces.begin(), row->pieces.end(), [](const Piece &piece) {
          return existing_value(piece.value).condition != nullptr;
        });
    bool is_shared = false;
    bool is_wide = true; // of more elements than what is computed from it
    for (const ComputationPtr &reader : function.computations) {
      if (reader != row && reads(*reader, *row)) {
        const bool shares = are_together(before, reader->name, row->name);
        is_shared = is_shared || shares;
        is_wide = is_wide && shares && reader->rank() < row->rank();
      }
    }
    const Placement *placed = find_placement(before, row->name);
    const bool is_copy = placed != nullptr && placed->compute_at; // has its memory there
    if (!is_output && !is_copy && (by_data || is_wide) && is_shared && row->rank() >= 2 &&
        !is_block_result(*row)) {
      const std::string &loop = mapping.time_space(row->name).dimensions.front().name;
      mapping = mapping.with({row->name, "private", {loop}, {}});
    }
  }
  return mapping;
}

Mapping with_rows_in_results(Mapping mapping) {
  const MappingState before = mapping.state();
  const Function &function = *before.function;
  std::vector<ComputationPtr> taken = function.outputs;
  for (const ComputationPtr &output : function.outputs) {
    if (output->rank() < 2) {
      continue;
    }
    for (const ComputationPtr &row : function.computations) {
      if (std::find(taken.begin(), taken.end(), row) == taken.end() &&
          reads_own_element(*output, *row) && have_same_elements(*output, *row) &&
          are_together(before, row->name, output->name)) {
        std::string element = output->name;
        for (size_t d = 0; d < row->rank(); ++d) {
          element += (d == 0 ? "[" : ", ") + row->iterators[d];
        }
        mapping = mapping.with({row->name, "store_in", {element + "]"}, {}});
        taken.push_back(row);
        break;
      }
    }
  }
  return mapping;
}

} // namespace tilewright
