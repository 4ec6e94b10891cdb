#include "lowering/ast_generation.h"

#include <isl/aff.h>
#include <isl/ast_build.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>

#include <algorithm>
#include <map>

namespace tilewright {

namespace {

constexpr std::uint64_t max_operations = 200'000'000;
constexpr const char *doing = "generating loops";

/// One statement on its way into isl: the time points it occupies, and the way back.
struct Scan {
  isl::map time;                   ///< instance -> time, within domain and context
  isl::set points;                 ///< its range
  std::vector<isl::aff> iterators; ///< empty: there is no single quasi-affine inverse
};

std::vector<isl::aff> affine_inverse(const isl::map &time) {
  const isl::pw_multi_aff inverse =
      isl::manage(isl_pw_multi_aff_from_map(isl_map_reverse(time.copy())));
  if (inverse.is_null() && isl_ctx_last_error(isl_context().get()) != isl_error_quota) {
    isl_ctx_reset_error(isl_context().get()); // two instances at one time: isl finds out by itself
    return {};
  }
  checked(inverse, doing);
  struct Pieces {
    std::vector<isl::aff> affs;
    int count = 0;
  } pieces;
  isl_pw_multi_aff_foreach_piece(
      inverse.get(),
      [](isl_set *set, isl_multi_aff *values, void *user) {
        auto &into = *static_cast<Pieces *>(user);
        isl_set_free(set);
        const isl_size count = isl_multi_aff_size(values);
        if (++into.count == 1) {
          for (isl_size i = 0; i < count; ++i) {
            into.affs.push_back(isl::manage(isl_multi_aff_get_at(values, i)));
          }
        }
        isl_multi_aff_free(values);
        return isl_stat_ok;
      },
      &pieces);
  if (pieces.count != 1) {
    return {};
  }
  for (const isl::aff &aff : pieces.affs) {
    checked(aff, doing);
  }
  return pieces.affs;
}

Scan scan_statement(const Statement &statement, const isl::set &context) {
  Scan scan;
  scan.time = time_map(statement);
  scan.time =
      checked(isl::manage(isl_map_intersect_params(scan.time.release(), context.copy())), doing);
  isl_set *points = isl_map_range(scan.time.copy());
  points = isl_set_coalesce(isl_set_remove_redundancies(points));
  scan.points = checked(isl::manage(isl_set_detect_equalities(points)), doing);
  if (!statement.iterators.empty()) {
    scan.iterators = affine_inverse(scan.time);
  }
  return scan;
}

/// Does the static dimension before loop `level` order any two statements that no earlier one
/// orders?
bool orders(const std::vector<Statement> &statements, const std::vector<size_t> &group,
            size_t level) {
  std::map<std::vector<int>, int> seen;
  for (const size_t position : group) {
    const Statement &statement = statements[position];
    const auto begin = statement.order.begin();
    const std::vector<int> prefix(begin, begin + static_cast<std::ptrdiff_t>(level));
    if (seen.emplace(prefix, statement.order[level]).first->second != statement.order[level]) {
      return true;
    }
  }
  return false;
}

/// Is the dimension fixed at the same value for all statements?
bool is_fixed(const std::vector<Scan> &scans, const std::vector<size_t> &group, int dimension) {
  isl::val common;
  for (const size_t position : group) {
    isl_val *raw = isl_set_plain_get_val_if_fixed(scans[position].points.get(), isl_dim_set,
                                                  static_cast<unsigned>(dimension));
    const isl::val value = checked(isl::manage(raw), doing);
    if (isl_val_is_int(value.get()) != isl_bool_true ||
        (!common.is_null() && !value.eq(common).is_true())) {
      return false;
    }
    common = value;
  }
  return isl_val_is_zero(common.get()) == isl_bool_true;
}

/// A buffer inside loops (store_at) needs each iteration of them in one piece, and isl may put what
/// a statement does in the first iteration in front of the loop. An anchor is a statement without
/// code; there is one before and one behind all others in each iteration of these loops, and
/// nothing between them can leave.
struct Anchor {
  int level = 0;   ///< loops outside of the buffer
  int group = 0;   ///< the outermost static order of the statements it stands among
  isl::set points; ///< in time
};

/// Whether two statements stand in the same outermost loops, so many of them.
bool share_loops(const Statement &a, const Statement &b, int level) {
  return std::equal(a.order.begin(), a.order.begin() + level, b.order.begin());
}

std::vector<Anchor> find_anchors(const Program &program, const std::vector<Scan> &scans) {
  std::vector<Anchor> anchors;
  const auto count = static_cast<unsigned>(2 * program.depth + 1);
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const int level = program.buffers[b].level;
    const auto owner =
        std::find_if(program.statements.begin(), program.statements.end(),
                     [&](const Statement &statement) { return statement.buffer == b; });
    if (level == 0 || owner == program.statements.end()) {
      continue;
    }
    // Where only some iterations use the buffer, these must not leave the loop either.
    isl_set *used = nullptr;
    for (size_t s = 0; s < scans.size(); ++s) {
      if (share_loops(program.statements[s], *owner, level)) {
        isl_set *points = isl_set_copy(scans[s].points.get());
        used = used == nullptr ? points : isl_set_union(used, points);
      }
    }
    const auto first = static_cast<unsigned>(2 * level);
    used = isl_set_project_out(used, isl_dim_set, first, count - first);
    used = isl_set_add_dims(isl_set_coalesce(used), isl_dim_set, count - first);
    for (unsigned d = first + 1; d < count; ++d) {
      used = isl_set_fix_si(used, isl_dim_set, d, 0);
    }
    int last = 0;
    for (const Statement &statement : program.statements) {
      last = std::max(last, statement.order[static_cast<size_t>(level)] + 1);
    }
    const isl::set each = checked(isl::manage(used), doing);
    for (const int position : {-1, last}) {
      isl_set *points = isl_set_fix_si(each.copy(), isl_dim_set, first, position);
      anchors.push_back({level, owner->order[0], checked(isl::manage(points), doing)});
    }
  }
  return anchors;
}

/// The time dimensions that are worth scanning: isl's time grows fast with their number.
std::vector<int> useful_dimensions(const Program &program, const std::vector<Scan> &scans,
                                   const std::vector<size_t> &group,
                                   const std::vector<Anchor> &anchors) {
  std::vector<int> kept;
  for (int d = 0; d < 2 * program.depth + 1; ++d) {
    const bool is_static = d % 2 == 0;
    const bool anchored = std::any_of(anchors.begin(), anchors.end(),
                                      [&](const Anchor &anchor) { return d == 2 * anchor.level; });
    if (anchored || (is_static ? orders(program.statements, group, static_cast<size_t>(d / 2))
                               : !is_fixed(scans, group, d))) {
      kept.push_back(d);
    }
  }
  return kept;
}

/// Leaves only the dimensions `kept` (ascending) of `object`'s output.
isl::set keep(isl::set set, const std::vector<int> &kept, int count) {
  for (int d = count - 1; d >= 0; --d) {
    if (!std::binary_search(kept.begin(), kept.end(), d)) {
      set =
          isl::manage(isl_set_project_out(set.release(), isl_dim_set, static_cast<unsigned>(d), 1));
    }
  }
  return checked(set, doing);
}

isl::map keep(isl::map map, const std::vector<int> &kept, int count) {
  for (int d = count - 1; d >= 0; --d) {
    if (!std::binary_search(kept.begin(), kept.end(), d)) {
      map =
          isl::manage(isl_map_project_out(map.release(), isl_dim_out, static_cast<unsigned>(d), 1));
    }
  }
  return checked(map, doing);
}

/// The part of the schedule of one statement: time point -> time point, called by the statement's
/// name; or the time map itself when the instance cannot be computed from the time point.
isl::map schedule_of(const Statement &statement, const Scan &scan, const std::vector<int> &kept,
                     int count) {
  if (!statement.iterators.empty() && scan.iterators.empty()) {
    return keep(scan.time, kept, count);
  }
  isl_map *identity = isl_set_identity(keep(scan.points, kept, count).release());
  return checked(isl::manage(isl_map_set_tuple_name(identity, isl_dim_in, statement.name.c_str())),
                 doing);
}

GeneratedAst::Part generate_part(const Program &program, const std::vector<Scan> &scans,
                                 const std::vector<size_t> &group,
                                 const std::vector<Anchor> &anchors) {
  GeneratedAst::Part part;
  const int count = 2 * program.depth + 1;
  part.dimensions = useful_dimensions(program, scans, group, anchors);
  isl::union_map schedule;
  for (const size_t i : group) {
    const isl::map times = schedule_of(program.statements[i], scans[i], part.dimensions, count);
    const isl::union_map one = isl::manage(isl_union_map_from_map(times.copy()));
    schedule = schedule.is_null() ? one : schedule.unite(one);
  }
  for (size_t a = 0; a < anchors.size(); ++a) {
    isl_map *same = isl_set_identity(keep(anchors[a].points, part.dimensions, count).release());
    same = isl_map_set_tuple_name(same, isl_dim_in, ("@" + std::to_string(a)).c_str());
    schedule = schedule.unite(isl::manage(isl_union_map_from_map(same)));
  }
  isl::ast_build build = isl::manage(isl_ast_build_from_context(program.context.copy()));
  isl_id_list *names =
      isl_id_list_alloc(isl_context().get(), static_cast<int>(part.dimensions.size()));
  for (const int dimension : part.dimensions) {
    const std::string name = "t" + std::to_string(dimension);
    names = isl_id_list_add(names, isl_id_alloc(isl_context().get(), name.c_str(), nullptr));
  }
  build = checked(isl::manage(isl_ast_build_set_iterators(build.release(), names)), doing);
  part.root = checked(build.node_from_schedule_map(schedule), doing);
  return part;
}

} // namespace

GeneratedAst generate_ast(const Program &program) {
  GeneratedAst result;
  const OperationLimit limit(max_operations);
  std::vector<Scan> scans;
  std::map<int, std::vector<size_t>> groups;
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const Statement &statement = program.statements[i];
    scans.push_back(scan_statement(statement, program.context));
    result.iterators.push_back(scans.back().iterators);
    groups[statement.order[0]].push_back(i);
  }
  std::map<int, std::vector<Anchor>> anchors;
  for (Anchor &anchor : find_anchors(program, scans)) {
    anchors[anchor.group].push_back(std::move(anchor));
  }
  for (const auto &[order, group] : groups) {
    result.parts.push_back(generate_part(program, scans, group, anchors[order]));
  }
  return result;
}

} // namespace tilewright
