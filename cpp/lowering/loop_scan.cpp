#include "lowering/loop_scan.h"

#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/set.h>
#include <isl/space.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

namespace tilewright {

namespace {

constexpr const char *doing_loop_scan = "scanning loops";

/// sum of loops * values + parameters * values + constant, which is >= 0 or = 0.
struct Row {
  bool equality = false;
  std::vector<std::int64_t> loops;
  std::vector<std::int64_t> parameters;
  std::int64_t constant = 0;

  auto operator<=>(const Row &) const = default;
};

/// What the program calls unsuitable is left to isl.
struct Unsuitable {};

std::int64_t number_of(isl_val *value) {
  const isl::val owned = checked(isl::manage(value), doing_loop_scan);
  constexpr long widest = 1L << 40;
  const isl::val size = checked(owned.abs(), doing_loop_scan);
  if (isl_val_is_int(owned.get()) != isl_bool_true || isl_val_cmp_si(size.get(), widest) > 0) {
    throw Unsuitable();
  }
  return isl_val_get_num_si(owned.get());
}

struct Constraint {
  Row row;
  isl::constraint same;
};

/// Coefficients can be too large, which a callback of isl must not throw for.
std::vector<Constraint> constraints_of(const isl::basic_set &points) {
  std::vector<Constraint> result;
  isl_basic_set_foreach_constraint(
      points.get(),
      [](isl_constraint *constraint, void *user) {
        static_cast<std::vector<Constraint> *>(user)->push_back({{}, isl::manage(constraint)});
        return isl_stat_ok;
      },
      &result);
  for (Constraint &constraint : result) {
    isl_constraint *from = checked(constraint.same, doing_loop_scan).get();
    Row &row = constraint.row;
    row.equality = isl_constraint_is_equality(from) == isl_bool_true;
    for (const auto &[type, into] :
         {std::pair(isl_dim_set, &row.loops), std::pair(isl_dim_param, &row.parameters)}) {
      const int count = isl_constraint_dim(from, type);
      for (int i = 0; i < count; ++i) {
        into->push_back(number_of(isl_constraint_get_coefficient_val(from, type, i)));
      }
    }
    row.constant = number_of(isl_constraint_get_constant_val(from));
  }
  return result;
}

class Scanner {
public:
  Scanner(const Program &program, const isl::set &context, const std::vector<isl::set> &points,
          const std::vector<size_t> &group)
      : program_(program), context_(context) {
    space_ = isl::manage(isl_space_add_dims(isl_space_set_from_params(context.space().release()),
                                            isl_dim_set, static_cast<unsigned>(program.depth)));
    for (const size_t position : group) {
      project(position, points[position]);
    }
  }

  std::vector<ScannedNode> scan(const std::vector<size_t> &group) {
    isl_set *context = isl_set_from_params(context_.copy());
    context = isl_set_add_dims(context, isl_dim_set, static_cast<unsigned>(program_.depth));
    Known known;
    known.set = only_part(checked(isl::manage(context), doing_loop_scan));
    for (const Constraint &constraint : constraints_of(known.set)) {
      known.rows.push_back(constraint.row);
    }
    for (const size_t position : group) {
      conditions_[position] = conditions_on_parameters(levels_.at(position).back(), known);
    }
    return sequence(group, 0, known);
  }

private:
  /// What holds inside the loops and conditions so far.
  struct Known {
    isl::basic_set set;
    std::vector<Row> rows; ///< those as they were given

    bool has(const Row &row) const {
      return std::find(rows.begin(), rows.end(), row) != rows.end();
    }
    Known with(const Constraint &constraint) const {
      Known more{
          checked(isl::manage(isl_basic_set_add_constraint(set.copy(), constraint.same.copy())),
                  doing_loop_scan),
          rows};
      more.rows.push_back(constraint.row);
      return more;
    }
  };

  static isl::basic_set only_part(const isl::set &set) {
    if (isl_set_n_basic_set(set.get()) != 1) {
      throw Unsuitable();
    }
    isl_basic_set_list *list = isl_set_get_basic_set_list(set.get());
    const isl::basic_set only = isl::manage(isl_basic_set_list_get_at(list, 0));
    isl_basic_set_list_free(list);
    return without_divisions(only);
  }

  static isl::basic_set without_divisions(const isl::basic_set &set) {
    if (isl_basic_set_dim(checked(set, doing_loop_scan).get(), isl_dim_div) != 0) {
      throw Unsuitable();
    }
    return set;
  }

  /// The points' values of the outermost loops, for each number of these.
  void project(size_t position, const isl::set &points) {
    const auto loops = static_cast<unsigned>(isl_set_dim(points.get(), isl_dim_set));
    isl_set *all = isl_set_reset_tuple_id(points.copy());
    all = isl_set_add_dims(all, isl_dim_set, static_cast<unsigned>(program_.depth) - loops);
    all = isl_set_align_params(all, isl_space_params(space_.copy()));
    std::vector<isl::basic_set> levels(loops + 1);
    levels[loops] = only_part(checked(isl::manage(all), doing_loop_scan));
    if (isl_basic_set_dim(levels[loops].get(), isl_dim_param) !=
        isl_space_dim(space_.get(), isl_dim_param)) {
      throw Unsuitable();
    }
    for (unsigned loop = loops; loop-- > 0;) {
      // With what lies between whole numbers: a loop may then have an iteration in which those
      // inside have none, as isl's may.
      isl_basic_set *outer =
          isl_basic_set_remove_dims(levels[loop + 1].copy(), isl_dim_set, loop, 1);
      outer = isl_basic_set_insert_dims(outer, isl_dim_set, loop, 1);
      levels[loop] = without_divisions(isl::manage(outer));
    }
    levels_[position] = std::move(levels);
  }

  size_t loops_of(size_t position) const { return levels_.at(position).size() - 1; }

  /// What shares the loops outside of `level`, in order. `known` holds there.
  std::vector<ScannedNode> sequence(const std::vector<size_t> &group, int level,
                                    const Known &known) {
    std::map<int, std::vector<size_t>> parts;
    for (const size_t position : group) {
      parts[program_.statements[position].order[static_cast<size_t>(level)]].push_back(position);
    }
    std::vector<ScannedNode> nodes;
    for (const auto &[order, part] : parts) {
      ScannedNode guard;
      const Known there = under_conditions(guard, part, known);
      std::vector<ScannedNode> inside = part_of_sequence(part, level, there);
      if (guard.conditions.empty()) {
        std::move(inside.begin(), inside.end(), std::back_inserter(nodes));
      } else {
        guard.body = std::move(inside);
        nodes.push_back(std::move(guard));
      }
    }
    return nodes;
  }

  /// Takes the conditions on parameters that all of `part` have out of them; what is known inside.
  Known under_conditions(ScannedNode &guard, const std::vector<size_t> &part, const Known &known) {
    Known there = known;
    const std::vector<Constraint> common = conditions_.at(part.front());
    for (const Constraint &condition : common) {
      if (condition.row.equality) {
        throw Unsuitable();
      }
      const auto same = [&](const Constraint &other) { return other.row == condition.row; };
      if (!std::all_of(part.begin(), part.end(), [&](size_t position) {
            const std::vector<Constraint> &own = conditions_.at(position);
            return std::any_of(own.begin(), own.end(), same);
          })) {
        continue;
      }
      for (const size_t position : part) {
        std::erase_if(conditions_.at(position), same);
      }
      guard.conditions.push_back(bound_of(condition.row, 1));
      there = there.with(condition);
    }
    return there;
  }

  std::vector<ScannedNode> part_of_sequence(const std::vector<size_t> &part, int level,
                                            const Known &known) {
    const bool ends = std::any_of(part.begin(), part.end(), [&](size_t position) {
      return loops_of(position) == static_cast<size_t>(level);
    });
    if (!ends) {
      return loops(part, level, known);
    }
    if (part.size() > 1) {
      throw Unsuitable(); // nothing but isl's order of equal times orders them
    }
    return {statement(part.front(), known)};
  }

  ScannedNode statement(size_t position, const Known &known) const {
    const isl::basic_set &points = levels_.at(position).back();
    const std::vector<Constraint> needed = constraints_of(points);
    const bool tested =
        std::all_of(needed.begin(), needed.end(),
                    [&](const Constraint &constraint) { return known.has(constraint.row); });
    const isl_bool exact =
        tested ? isl_bool_true : isl_basic_set_is_subset(known.set.get(), points.get());
    if (exact == isl_bool_error) {
      throw_isl_error(doing_loop_scan);
    }
    if (exact == isl_bool_false) {
      throw Unsuitable();
    }
    ScannedNode node;
    node.statement = position;
    return node;
  }

  /// What `points` has more than is known.
  static std::vector<Constraint> left(const isl::basic_set &points, const Known &known) {
    return constraints_of(
        without_divisions(isl::manage(isl_basic_set_gist(points.copy(), known.set.copy()))));
  }

  static std::vector<Constraint> conditions_on_parameters(const isl::basic_set &points,
                                                          const Known &known) {
    const auto has_loops = [](const Constraint &constraint) {
      return std::any_of(constraint.row.loops.begin(), constraint.row.loops.end(),
                         [](std::int64_t coefficient) { return coefficient != 0; });
    };
    std::vector<Constraint> found = constraints_of(points);
    std::erase_if(found, [&](const Constraint &constraint) {
      return has_loops(constraint) || known.has(constraint.row);
    });
    if (!found.empty()) {
      found = left(points, known);
      std::erase_if(found, has_loops);
    }
    return found;
  }

  /// What the points of `position` ask of the loop `level`.
  std::vector<Constraint> bounds_of(size_t position, int level) const {
    return only_of(constraints_of(levels_.at(position)[static_cast<size_t>(level) + 1]), level);
  }

  static std::vector<Constraint> only_of(std::vector<Constraint> constraints, int level) {
    std::erase_if(constraints, [&](const Constraint &constraint) {
      return constraint.row.loops[static_cast<size_t>(level)] == 0;
    });
    std::sort(constraints.begin(), constraints.end(),
              [](const Constraint &a, const Constraint &b) { return a.row < b.row; });
    return constraints;
  }

  /// `bounds` without those that the others and what is known imply.
  std::vector<Constraint> needed(size_t position, int level, std::vector<Constraint> bounds,
                                 const Known &known) const {
    const auto above = std::count_if(bounds.begin(), bounds.end(), [&](const Constraint &bound) {
      return bound.row.loops[static_cast<size_t>(level)] > 0;
    });
    const bool one_each = above == 1 && bounds.size() == 2 && !bounds.front().row.equality;
    return one_each || bounds.size() == 1
               ? std::move(bounds)
               : only_of(left(levels_.at(position)[static_cast<size_t>(level) + 1], known), level);
  }

  static bool same_rows(const std::vector<Constraint> &a, const std::vector<Constraint> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Constraint &x, const Constraint &y) { return x.row == y.row; });
  }

  /// The loop `level` of all of them; or one after the other, where it is a constant in each.
  std::vector<ScannedNode> loops(const std::vector<size_t> &group, int level, const Known &known) {
    std::vector<std::vector<Constraint>> bounds;
    std::vector<Constraint> first;
    for (const size_t position : group) {
      std::vector<Constraint> own = bounds_of(position, level);
      if (!bounds.empty() && same_rows(own, first)) {
        bounds.push_back(bounds.front());
        continue;
      }
      if (bounds.empty()) {
        first = own;
      }
      bounds.push_back(needed(position, level, std::move(own), known));
    }
    const bool alike = std::all_of(bounds.begin(), bounds.end(), [&](const auto &others) {
      return same_rows(bounds.front(), others);
    });
    if (alike) {
      return {loop(group, level, bounds.front(), known)};
    }
    std::map<std::int64_t, std::vector<size_t>> times;
    for (size_t i = 0; i < group.size(); ++i) {
      times[constant_time(bounds[i], level)].push_back(i);
    }
    std::vector<ScannedNode> nodes;
    for (const auto &[time, members] : times) {
      std::vector<size_t> part;
      for (const size_t member : members) {
        part.push_back(group[member]);
      }
      nodes.push_back(loop(part, level, bounds[members.front()], known));
    }
    return nodes;
  }

  static std::int64_t constant_time(const std::vector<Constraint> &bounds, int level) {
    const auto zero = [](std::int64_t coefficient) { return coefficient == 0; };
    if (bounds.size() == 1 && bounds.front().row.equality) {
      Row row = bounds.front().row;
      const std::int64_t factor = std::exchange(row.loops[static_cast<size_t>(level)], 0);
      if (std::abs(factor) == 1 && std::all_of(row.loops.begin(), row.loops.end(), zero) &&
          std::all_of(row.parameters.begin(), row.parameters.end(), zero)) {
        return -factor * row.constant;
      }
    }
    throw Unsuitable();
  }

  ScannedNode loop(const std::vector<size_t> &group, int level,
                   const std::vector<Constraint> &bounds, const Known &known) {
    ScannedNode node;
    node.level = level;
    Known inside = known;
    for (const Constraint &bound : bounds) {
      add_bound(node, bound.row);
      inside = inside.with(bound);
    }
    for (std::vector<LoopBound> *several : {&node.lowers, &node.uppers}) {
      std::sort(several->begin(), several->end(), [](const LoopBound &a, const LoopBound &b) {
        return std::pair(!a.is_constant(), a) < std::pair(!b.is_constant(), b);
      });
    }
    const bool bounded = !node.lowers.empty() && !node.uppers.empty();
    if (node.value ? bounds.size() != 1 : !bounded) {
      throw Unsuitable();
    }
    node.body = sequence(group, level + 1, inside);
    return node;
  }

  /// What a row says without its loop `level`, if any, times `sign`.
  LoopBound bound_of(const Row &row, std::int64_t sign, int level = -1) const {
    LoopBound bound;
    for (size_t i = 0; i < row.loops.size(); ++i) {
      if (row.loops[i] != 0 && static_cast<int>(i) != level) {
        bound.loops.emplace_back(static_cast<int>(i), sign * row.loops[i]);
      }
    }
    for (size_t i = 0; i < row.parameters.size(); ++i) {
      if (row.parameters[i] != 0) {
        const char *name =
            isl_space_get_dim_name(space_.get(), isl_dim_param, static_cast<unsigned>(i));
        bound.parameters.emplace_back(name, sign * row.parameters[i]);
      }
    }
    bound.constant = sign * row.constant;
    return bound;
  }

  /// factor * loop + rest >= 0, or = 0
  void add_bound(ScannedNode &node, const Row &row) const {
    const std::int64_t factor = row.loops[static_cast<size_t>(node.level)];
    LoopBound bound = bound_of(row, factor > 0 ? -1 : 1, node.level);
    bound.divisor = std::abs(factor);
    if (row.equality) {
      if (bound.divisor != 1) {
        throw Unsuitable();
      }
      node.value = std::move(bound);
    } else if (factor > 0) {
      bound.constant += bound.divisor - 1; // rounded up
      node.lowers.push_back(std::move(bound));
    } else {
      bound.constant += bound.divisor; // exclusive
      node.uppers.push_back(std::move(bound));
    }
  }

  const Program &program_;
  const isl::set &context_;
  isl::space space_; ///< of all loops
  std::map<size_t, std::vector<isl::basic_set>> levels_;
  std::map<size_t, std::vector<Constraint>> conditions_; ///< on parameters, to be tested yet
};

} // namespace

std::optional<std::vector<ScannedNode>> scan_loops(const Program &program, const isl::set &context,
                                                   const std::vector<isl::set> &points,
                                                   const std::vector<size_t> &group) {
  try {
    return Scanner(program, context, points, group).scan(group);
  } catch (const Unsuitable &) {
    return std::nullopt;
  }
}

std::vector<size_t> statements_of(const ScannedNode &node) {
  std::vector<size_t> found;
  if (node.statement) {
    found.push_back(*node.statement);
  }
  for (const ScannedNode &child : node.body) {
    const std::vector<size_t> below = statements_of(child);
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

} // namespace tilewright
