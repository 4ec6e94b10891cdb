#include "lowering/ast_generation.h"

#include "lowering/block_instances.h"
#include "lowering/loop_ends.h"
#include "polyhedral/bounded_hull.h"
#include "polyhedral/relevant_context.h"

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/lp.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/union_map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace tilewright {

namespace {

constexpr std::uint64_t max_operations = 200'000'000;
constexpr const char *doing_ast_generation = "generating loops";

/// One statement on its way into isl: its loops only, without static order and without the loops
/// that others have more.
struct Scan {
  isl::map time;                   ///< instance -> loops, within domain and context
  isl::set points;                 ///< its range
  std::vector<isl::aff> iterators; ///< of loops; empty: there is no single quasi-affine inverse
  BlockInstances blocks;           ///< else perhaps these
};

/// The largest whole number that a loop, or its negative, takes, where that is a constant; by
/// linear programming, so perhaps a larger one.
std::optional<std::int64_t> largest(isl_basic_set *points, unsigned loop, bool negative) {
  isl_aff *value = isl_aff_var_on_domain(
      isl_local_space_from_space(isl_basic_set_get_space(points)), isl_dim_set, loop);
  value = negative ? isl_aff_neg(value) : value;
  const isl::val most = isl::manage(isl_basic_set_max_lp_val(points, value));
  isl_aff_free(value);
  checked(most, doing_ast_generation);
  if (isl_val_is_rat(most.get()) != isl_bool_true) {
    return std::nullopt;
  }
  return checked(most.floor(), doing_ast_generation).num_si();
}

/// The same points with the constant bounds of each loop among their constraints. Of loops that
/// were split several times isl knows bounds of sums, which these imply for whole numbers only: it
/// would carry all of them through every level.
isl::set with_bounds(const isl::set &points) {
  if (isl_set_n_basic_set(points.get()) != 1) {
    return points;
  }
  constexpr std::int64_t widest = std::int64_t{1} << 30;
  isl_basic_set *only = isl_set_simple_hull(points.copy());
  const auto loops = static_cast<unsigned>(isl_basic_set_dim(only, isl_dim_set));
  isl_set *result = points.copy();
  for (unsigned loop = 0; loop < loops; ++loop) {
    const auto least = largest(only, loop, true);
    if (least && std::abs(*least) < widest) {
      result = isl_set_lower_bound_si(result, isl_dim_set, loop, static_cast<int>(-*least));
    }
    const auto most = largest(only, loop, false);
    if (most && std::abs(*most) < widest) {
      result = isl_set_upper_bound_si(result, isl_dim_set, loop, static_cast<int>(*most));
    }
  }
  isl_basic_set_free(only);
  return checked(isl::manage(isl_set_remove_redundancies(result)), doing_ast_generation);
}

/// instance -> the statement's own loops.
isl::map loops_map(const Statement &statement) {
  const auto count = static_cast<unsigned>(statement.loop_names.size());
  isl_pw_aff_list *values = isl_pw_aff_list_alloc(isl_context().get(), static_cast<int>(count));
  for (unsigned loop = 0; loop < count; ++loop) {
    values = isl_pw_aff_list_add(values, statement.loops[loop].copy());
  }
  isl_space *space = isl_space_from_domain(statement.domain.space().release());
  space = isl_space_add_dims(space, isl_dim_out, count);
  const isl::multi_pw_aff loops = isl::manage(isl_multi_pw_aff_from_pw_aff_list(space, values));
  return checked(loops.as_map().intersect_domain(statement.domain), doing_ast_generation);
}

Scan scan_statement(const Statement &statement, const RelevantContext &relevant) {
  Scan scan;
  scan.time = loops_map(statement);
  scan.time = relevant.without_known(scan.time);
  const isl::set context = relevant.of({scan.time.wrap()});
  scan.time = checked(isl::manage(isl_map_intersect_params(scan.time.release(), context.copy())),
                      doing_ast_generation);
  isl_set *points = isl_map_range(scan.time.copy());
  points = isl_set_coalesce(isl_set_remove_redundancies(points));
  scan.points =
      with_bounds(checked(isl::manage(isl_set_detect_equalities(points)), doing_ast_generation));
  if (relevant.leaves_out()) {
    scan.points = checked(isl::manage(isl_set_drop_unused_params(scan.points.release())),
                          doing_ast_generation);
  }
  if (!statement.iterators.empty()) {
    scan.iterators = affine_inverse(scan.time);
    if (scan.iterators.empty()) {
      scan.blocks = block_instances(statement, scan.time);
      scan.iterators = scan.blocks.iterators;
    }
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

/// Is the loop 0 in all statements?
bool is_zero(const std::vector<Scan> &scans, const std::vector<size_t> &group, size_t loop) {
  return std::all_of(group.begin(), group.end(), [&](size_t position) {
    const isl::set &points = scans[position].points;
    if (loop >= static_cast<size_t>(isl_set_dim(points.get(), isl_dim_set))) {
      return true;
    }
    const isl::val value = checked(isl::manage(isl_set_plain_get_val_if_fixed(
                                       points.get(), isl_dim_set, static_cast<unsigned>(loop))),
                                   doing_ast_generation);
    return isl_val_is_zero(value.get()) == isl_bool_true;
  });
}

/// Which time dimension has which part in the space that a statement's points are put into.
bool is_own_loop(const Statement &statement, int dimension) {
  return dimension % 2 == 1 && static_cast<size_t>(dimension / 2) < statement.loop_names.size();
}

/// A set or map over the loops of `statement` (its last dimensions, `type`) as one over the time
/// dimensions `kept` (ascending).
template <class Object, class Insert, class Fix, class Drop>
Object *in_time(Object *object, const Statement &statement, const std::vector<int> &kept,
                const Insert &insert, const Fix &fix, const Drop &drop) {
  for (auto loop = static_cast<int>(statement.loop_names.size()); loop-- > 0;) {
    if (!std::binary_search(kept.begin(), kept.end(), 2 * loop + 1)) {
      object = drop(object, static_cast<unsigned>(loop));
    }
  }
  for (size_t at = 0; at < kept.size(); ++at) {
    if (!is_own_loop(statement, kept[at])) {
      const auto position = static_cast<unsigned>(at);
      const int level = kept[at] / 2;
      object = insert(object, position);
      object = fix(object, position,
                   kept[at] % 2 == 0 ? statement.order[static_cast<size_t>(level)] : 0);
    }
  }
  return object;
}

isl::set in_time(const isl::set &points, const Statement &statement, const std::vector<int> &kept) {
  isl_set *set = in_time(
      points.copy(), statement, kept,
      [](isl_set *to, unsigned at) { return isl_set_insert_dims(to, isl_dim_set, at, 1); },
      [](isl_set *to, unsigned at, int value) {
        return isl_set_fix_si(to, isl_dim_set, at, value);
      },
      [](isl_set *to, unsigned at) { return isl_set_project_out(to, isl_dim_set, at, 1); });
  return checked(isl::manage(isl_set_reset_tuple_id(set)), doing_ast_generation);
}

isl::map in_time(const isl::map &time, const Statement &statement, const std::vector<int> &kept) {
  isl_map *map = in_time(
      time.copy(), statement, kept,
      [](isl_map *to, unsigned at) { return isl_map_insert_dims(to, isl_dim_out, at, 1); },
      [](isl_map *to, unsigned at, int value) {
        return isl_map_fix_si(to, isl_dim_out, at, value);
      },
      [](isl_map *to, unsigned at) { return isl_map_project_out(to, isl_dim_out, at, 1); });
  return checked(isl::manage(map), doing_ast_generation);
}

std::vector<int> all_dimensions(const Program &program) {
  std::vector<int> all(static_cast<size_t>(2 * program.depth + 1));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Functions of the statement's loops as functions of all time dimensions.
std::vector<isl::aff> in_time(const std::vector<isl::aff> &values, const Statement &statement,
                              const Program &program) {
  std::vector<isl::aff> result;
  for (const isl::aff &value : values) {
    isl_aff *aff = value.copy();
    for (const int dimension : all_dimensions(program)) {
      if (!is_own_loop(statement, dimension)) {
        aff = isl_aff_insert_dims(aff, isl_dim_in, static_cast<unsigned>(dimension), 1);
      }
    }
    result.push_back(checked(isl::manage(aff), doing_ast_generation));
  }
  return result;
}

/// A buffer inside loops (store_at) needs each iteration of them in one piece, and isl may put what
/// a statement does in the first iteration in front of the loop. An anchor is a statement without
/// code; there is one before and one behind all others in each iteration of these loops, and
/// nothing between them can leave. Unless each iteration of the loops outside has one iteration of
/// the innermost one: then all that stands before leaves for a loop of its own, with its anchor.
/// For such sets there are anchors in the iterations between as well.
struct Anchor {
  int level = 0;   ///< loops outside of the buffer
  int group = 0;   ///< the outermost static order of the statements it stands among
  isl::set points; ///< in time
};

/// Whether two statements stand in the same outermost loops, so many of them.
bool share_loops(const Statement &a, const Statement &b, int level) {
  return std::equal(a.order.begin(), a.order.begin() + level, b.order.begin());
}

/// Each iteration of so many loops of a statement stays in one piece.
struct AnchoredLoops {
  int level = 0;
  const Statement *owner = nullptr;
};

std::vector<AnchoredLoops> anchored_loops(const Program &program, Together together) {
  std::vector<AnchoredLoops> found;
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const int level = program.buffers[b].level;
    const auto owner = std::find_if(
        program.statements.begin(), program.statements.end(), [&](const Statement &statement) {
          return statement.buffer == program.buffers[b].beside.value_or(b);
        });
    if (level > 0 && owner != program.statements.end()) {
      found.push_back({level, &*owner});
    }
  }
  // Joined loops are to stand directly inside each other. Those that run as one parallel loop do so
  // without help, but for rare sets.
  const auto is_joined = [&](const LoopTag &tag) {
    return tag.counts < 0 || (tag.joined && together != Together::Used);
  };
  for (const Statement &statement : program.statements) {
    for (size_t level = 1; level <= statement.loop_names.size(); ++level) {
      const bool ends = is_joined(statement.tags[level - 1]) &&
                        (level == statement.tags.size() || !is_joined(statement.tags[level]));
      const auto same = [&](const AnchoredLoops &other) {
        return other.level == static_cast<int>(level) &&
               share_loops(*other.owner, statement, other.level);
      };
      if (ends && std::none_of(found.begin(), found.end(), same)) {
        found.push_back({static_cast<int>(level), &statement});
      }
    }
  }
  return found;
}

std::vector<Anchor> find_anchors(const Program &program, const std::vector<Scan> &scans,
                                 Together together) {
  std::vector<Anchor> anchors;
  const std::vector<int> all = all_dimensions(program);
  const auto count = static_cast<unsigned>(all.size());
  for (const auto &[level, owner] : anchored_loops(program, together)) {
    // Where only some iterations use the buffer, these must not leave the loop either.
    isl_set *used = nullptr;
    for (size_t s = 0; s < scans.size(); ++s) {
      if (share_loops(program.statements[s], *owner, level)) {
        isl_set *points = in_time(scans[s].points, program.statements[s], all).release();
        used = used == nullptr ? points : isl_set_union(used, points);
      }
    }
    const auto first = static_cast<unsigned>(2 * level);
    used = isl_set_project_out(used, isl_dim_set, first, count - first);
    used = together != Together::Used ? bounded_hull(isl::manage(used)).release() : used;
    used = isl_set_add_dims(isl_set_coalesce(used), isl_dim_set, count - first);
    for (unsigned d = first + 1; d < count; ++d) {
      used = isl_set_fix_si(used, isl_dim_set, d, 0);
    }
    int last = 0;
    for (const Statement &statement : program.statements) {
      last = std::max(last, statement.order[static_cast<size_t>(level)] + 1);
    }
    const isl::set each = checked(isl::manage(used), doing_ast_generation);
    for (const int position : {-1, last}) {
      isl_set *points = isl_set_fix_si(each.copy(), isl_dim_set, first, position);
      anchors.push_back(
          {level, owner->order[0], checked(isl::manage(points), doing_ast_generation)});
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
                               : !is_zero(scans, group, static_cast<size_t>(d / 2)))) {
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
  return checked(set, doing_ast_generation);
}

/// The part of the schedule of one statement: time point -> time point, called by the statement's
/// name; or the time map itself when the instance cannot be computed from the time point.
isl::map schedule_of(const Statement &statement, const Scan &scan, const std::vector<int> &kept) {
  if (!statement.iterators.empty() && scan.iterators.empty()) {
    return in_time(scan.time, statement, kept);
  }
  isl_map *identity = isl_set_identity(in_time(scan.points, statement, kept).release());
  return checked(isl::manage(isl_map_set_tuple_name(identity, isl_dim_in, statement.name.c_str())),
                 doing_ast_generation);
}

/// isl fails at some sets where it separates loops into parts without guards ("some src divs are
/// unknown": a bound that it found has a division that it forgot), and where it keeps a loop in one
/// piece it may end it by a condition on its own counter (i <= (i + M) / 2), which is no bound.
/// Then it is asked for other loops.
enum class Attempt {
  Plain,        ///< as isl does it by default
  FewerJoined,  ///< parts of sets are not joined where that takes wrapped constraints
  InOnePiece,   ///< no loop is separated
  AllSeparated, ///< every loop is
  BlocksApart,  ///< blocks whose size is an expression in parameters may be loops of their own
};
/// With what each may take of isl's operations: where joining parts of sets takes minutes, loops
/// without it often take a moment.
constexpr std::uint64_t quick_limit = 1'000'000;
constexpr auto no_limit = std::numeric_limits<std::uint64_t>::max(); ///< but that of the lowering
constexpr std::array<std::pair<Attempt, std::uint64_t>, 7> attempts = {
    {{Attempt::Plain, quick_limit},
     {Attempt::FewerJoined, quick_limit},
     {Attempt::Plain, no_limit},
     {Attempt::FewerJoined, no_limit},
     {Attempt::InOnePiece, no_limit},
     {Attempt::AllSeparated, no_limit},
     {Attempt::BlocksApart, no_limit}}};

/// isl's options for the loops: those over a GPU's blocks and threads stay in one piece, as pieces
/// of them would need blocks and threads of their own, and so do those over blocks whose size is an
/// expression in parameters, of which each would be a loop of its own, and not parallel, those
/// that are counted through (join), and those that run as one with the parallel loop outside, as
/// pieces of them would stand under conditions of it. And so do the `whole_loops` outermost ones,
/// of which a buffer needs each iteration together.
std::string loop_options(const Program &program, const std::vector<size_t> &group,
                         const std::vector<int> &dimensions, int whole_loops, Attempt attempt) {
  std::string space;
  std::string whole;
  std::string others;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    space += (d > 0 ? ", d" : "d") + std::to_string(d);
    const auto level = static_cast<size_t>(dimensions[d] / 2);
    const bool is_mapped =
        dimensions[d] % 2 == 1 && std::any_of(group.begin(), group.end(), [&](size_t position) {
          const Statement &statement = program.statements[position];
          return level < statement.loop_names.size() &&
                 (is_gpu(statement.tags[level].tag) || statement.tags[level].counts != 0 ||
                  statement.tags[level].joined ||
                  (attempt != Attempt::BlocksApart && is_by_case(statement.loops[level])));
        });
    const bool is_whole = is_mapped || static_cast<int>(level) < whole_loops;
    std::string &list = is_whole || attempt == Attempt::InOnePiece ? whole : others;
    list += (list.empty() ? "x = " : " or x = ") + std::to_string(d);
  }
  std::string parts = whole.empty() ? "" : "[" + space + "] -> atomic[x] : " + whole;
  if (attempt == Attempt::AllSeparated && !others.empty()) {
    parts += (parts.empty() ? "[" : "; [") + space + "] -> separate[x] : " + others;
  }
  return parts.empty() ? "" : "{ " + parts + " }";
}

/// The loops of a schedule, or null where isl fails at this attempt.
isl::ast_node nodes(const Program &program, const std::vector<size_t> &group,
                    const std::vector<int> &dimensions, const isl::union_map &schedule,
                    int whole_loops, Attempt attempt) {
  isl_ctx *context = isl_context().get();
  isl::ast_build build = isl::manage(isl_ast_build_from_context(program.context.copy()));
  isl_id_list *names = isl_id_list_alloc(context, static_cast<int>(dimensions.size()));
  for (const int dimension : dimensions) {
    const std::string name = "t" + std::to_string(dimension);
    names = isl_id_list_add(names, isl_id_alloc(context, name.c_str(), nullptr));
  }
  build = checked(isl::manage(isl_ast_build_set_iterators(build.release(), names)),
                  doing_ast_generation);
  const std::string options = loop_options(program, group, dimensions, whole_loops, attempt);
  if (!options.empty()) {
    const isl::union_map given(isl_context(), options);
    build = checked(isl::manage(isl_ast_build_set_options(build.release(), given.copy())),
                    doing_ast_generation);
  }
  const int joins = isl_options_get_coalesce_bounded_wrapping(context);
  isl_options_set_coalesce_bounded_wrapping(context, attempt == Attempt::FewerJoined ? 0 : joins);
  isl::ast_node root = build.node_from_schedule_map(schedule);
  isl_options_set_coalesce_bounded_wrapping(context, joins);
  if (root.is_null()) {
    const isl_error error = isl_ctx_last_error(context);
    if (error == isl_error_quota || error == isl_error_abort) {
      throw_isl_error(doing_ast_generation);
    }
    isl_ctx_reset_error(context);
  } else if (ends_by_its_own_counter(root)) {
    return isl::ast_node();
  }
  return root;
}

GeneratedAst::Part generate_part(const Program &program, const std::vector<Scan> &scans,
                                 const std::vector<size_t> &group,
                                 const std::vector<Anchor> &anchors, Together together) {
  GeneratedAst::Part part;
  const int count = 2 * program.depth + 1;
  part.dimensions = useful_dimensions(program, scans, group, anchors);
  isl::union_map schedule;
  for (const size_t i : group) {
    const isl::map times = schedule_of(program.statements[i], scans[i], part.dimensions);
    const isl::union_map one = isl::manage(isl_union_map_from_map(times.copy()));
    schedule = schedule.is_null() ? one : schedule.unite(one);
  }
  for (size_t a = 0; a < anchors.size(); ++a) {
    isl_map *same = isl_set_identity(keep(anchors[a].points, part.dimensions, count).release());
    same = isl_map_set_tuple_name(same, isl_dim_in, ("@" + std::to_string(a)).c_str());
    schedule = schedule.unite(isl::manage(isl_union_map_from_map(same)));
  }
  int whole_loops = 0;
  for (const Anchor &anchor : anchors) {
    whole_loops = std::max(whole_loops, together == Together::Whole ? anchor.level : 0);
  }
  for (const auto &[attempt, operations] : attempts) {
    try {
      const OperationLimit limit(operations);
      part.root = nodes(program, group, part.dimensions, schedule, whole_loops, attempt);
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Limit || operations != quick_limit) {
        throw;
      }
    }
    if (!part.root.is_null()) {
      return part;
    }
  }
  throw Error(ErrorKind::Limit,
              std::string(doing_ast_generation) +
                  ": isl finds no loops for this order of instances; other sizes of "
                  "tiles, or another order of the commands, give it other sets",
              program.statements[group.front()].computation->where);
}

} // namespace

std::vector<isl::aff> affine_inverse(const isl::map &time) {
  const isl::pw_multi_aff inverse =
      isl::manage(isl_pw_multi_aff_from_map(isl_map_reverse(time.copy())));
  if (inverse.is_null() && isl_ctx_last_error(isl_context().get()) != isl_error_quota) {
    isl_ctx_reset_error(isl_context().get()); // two instances at one time: isl finds out by itself
    return {};
  }
  checked(inverse, doing_ast_generation);
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
    checked(aff, doing_ast_generation);
  }
  return pieces.affs;
}

GeneratedAst generate_ast(const Program &program, Together together) {
  GeneratedAst result;
  const OperationLimit limit(max_operations);
  std::vector<Scan> scans;
  std::vector<isl::set> points;
  std::map<int, std::vector<size_t>> groups;
  const RelevantContext relevant(program.context);
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const Statement &statement = program.statements[i];
    scans.push_back(scan_statement(statement, relevant));
    points.push_back(scans.back().points);
    result.iterators.push_back(in_time(scans.back().iterators, statement, program));
    result.blocks.push_back(scans.back().blocks);
    groups[statement.order[0]].push_back(i);
  }
  std::optional<std::map<int, std::vector<Anchor>>> anchors;
  for (const auto &[order, group] : groups) {
    const bool inverted = std::all_of(group.begin(), group.end(), [&](size_t position) {
      return program.statements[position].iterators.empty() || !scans[position].iterators.empty();
    });
    std::vector<isl::set> of_group;
    for (const size_t position : group) {
      of_group.push_back(points[position]);
    }
    const isl::set context = relevant.of(of_group);
    if (auto loops = inverted ? scan_loops(program, context, points, group) : std::nullopt) {
      GeneratedAst::Part part;
      part.loops = std::move(*loops);
      part.dimensions = all_dimensions(program);
      result.parts.push_back(std::move(part));
      continue;
    }
    if (!anchors) {
      anchors.emplace();
      for (Anchor &anchor : find_anchors(program, scans, together)) {
        (*anchors)[anchor.group].push_back(std::move(anchor));
      }
    }
    result.parts.push_back(generate_part(program, scans, group, (*anchors)[order], together));
  }
  return result;
}

} // namespace tilewright
