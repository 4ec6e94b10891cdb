#include "algorithm/convergence.h"

#include "algorithm/affine.h"
#include "algorithm/declaration_checks.h"
#include "algorithm/instance_walk.h"
#include "algorithm/size_parameters.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/set.h>

#include <algorithm>
#include <functional>

namespace tilewright {

namespace {

constexpr const char *doing_convergence = "iterations until a condition holds";

bool involves(const isl::set &set, const std::string &parameter) {
  const int position = isl_set_find_dim_by_name(set.get(), isl_dim_param, parameter.c_str());
  return position >= 0 &&
         isl_set_involves_dims(set.get(), isl_dim_param, static_cast<unsigned>(position), 1) ==
             isl_bool_true;
}

bool mentions(const ExprPtr &root, const std::string &parameter) {
  bool found = false;
  if (root) {
    visit(root, [&](const ExprPtr &node) {
      found = found || (node->kind == ExprKind::Parameter && node->name == parameter);
    });
  }
  return found;
}

[[noreturn]] void refuse(const Function &function, const std::string &message,
                         const SourceLocation &where) {
  throw Error(ErrorKind::Declaration,
              "function " + function.name + " iterates until " + function.stop->test->name +
                  " says so, and " + message,
              where.known() ? where : function.stop->where);
}

/// The first iterator at least 0 and below the parameter, or only the latter.
isl::set below(const isl::set &domain, const std::string &parameter) {
  const isl::space space = domain.get_space();
  isl_set *universe = isl_set_universe(isl_space_add_param_id(
      space.copy(), isl_id_alloc(isl_context().get(), parameter.c_str(), nullptr)));
  isl_local_space *local = isl_local_space_from_space(isl_set_get_space(universe));
  const int position = isl_set_find_dim_by_name(universe, isl_dim_param, parameter.c_str());
  isl_aff *difference = isl_aff_zero_on_domain(local);
  difference = isl_aff_set_coefficient_si(difference, isl_dim_param, position, 1);
  difference = isl_aff_set_coefficient_si(difference, isl_dim_in, 0, -1);
  difference = isl_aff_add_constant_si(difference, -1);
  isl_set *result =
      isl_set_intersect(universe, isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(difference)));
  return checked(isl::manage(isl_set_lower_bound_si(result, isl_dim_set, 0, 0)), doing_convergence);
}

/// Whether a set is what it is without the parameter, as far as the first iterator is below it.
bool is_bounded_only(const isl::set &domain, const std::string &parameter) {
  const int position = isl_set_find_dim_by_name(domain.get(), isl_dim_param, parameter.c_str());
  const isl::set free = isl::manage(
      isl_set_project_out(domain.copy(), isl_dim_param, static_cast<unsigned>(position), 1));
  return checked(free.intersect(below(domain, parameter)).is_equal(domain), doing_convergence);
}

/// Each read of an iterated computation below `reader`'s pieces, with the instances that do it and
/// the iteration that is read, if that is affine.
void visit_reads(const Function &function, const Computation &reader,
                 const std::function<void(const Expr &, const InstanceNode &,
                                          std::optional<isl::pw_aff>)> &use) {
  for (const Piece &piece : reader.pieces) {
    InstanceWalk walk;
    walk.name = reader.name;
    walk.where = piece.where;
    walk.visit = [&](const InstanceNode &at) {
      const Expr &node = *at.node;
      if (node.kind == ExprKind::Access && is_iterated(function, *node.producer)) {
        use(node, at, to_affine(node.operands.front(), {reader.name, at.iterators}));
      }
      return true;
    };
    walk({piece.value}, piece.domain.intersect_params(function.context), reader.iterators);
  }
}

isl::pw_aff first_iterator(const isl::set &domain) {
  isl_local_space *local = isl_local_space_from_space(isl_set_get_space(domain.get()));
  return isl::manage(isl_pw_aff_var_on_domain(local, isl_dim_set, 0));
}

isl::pw_aff last_iteration(const isl::set &domain, const std::string &parameter) {
  isl_space *space =
      isl_space_add_param_id(isl_set_get_space(domain.get()),
                             isl_id_alloc(isl_context().get(), parameter.c_str(), nullptr));
  const int position = isl_space_find_dim_by_name(space, isl_dim_param, parameter.c_str());
  isl_aff *value = isl_aff_zero_on_domain(isl_local_space_from_space(space));
  value = isl_aff_set_coefficient_si(value, isl_dim_param, position, 1);
  return isl::manage(isl_pw_aff_from_aff(isl_aff_add_constant_si(value, -1)));
}

void check_member(const Function &function, const Computation &computation) {
  const std::string &parameter = function.stop->parameter;
  const auto require_bound = [&](const isl::set &domain, const SourceLocation &where) {
    if (!involves(domain, parameter)) {
      return;
    }
    if (computation.rank() == 0 ||
        !checked(domain.is_subset(below(domain, parameter)), doing_convergence) ||
        !is_bounded_only(domain, parameter)) {
      refuse(function,
             "the domain of " + computation.name + ", " + braced_text(domain) +
                 ", uses the number of iterations " + parameter +
                 " otherwise than to say that its first iterator is in range(0, " + parameter +
                 "), which is all that is known of it while they are made",
             where);
    }
  };
  require_bound(computation.domain, computation.where);
  if (!computation.strides.empty() && computation.strides.front().step != 1) {
    refuse(function,
           computation.name + " is computed in some iterations only, those of a range with a step; "
                              "compute it in all, or choose with tw.select",
           computation.where);
  }
  for (const Piece &piece : computation.pieces) {
    require_bound(piece.domain, piece.where);
    if (mentions(piece.value, parameter)) {
      refuse(function,
             computation.name + " is computed in each iteration, so its value cannot use " +
                 parameter + ", the number of all",
             piece.where);
    }
  }
  visit_reads(function, computation,
              [&](const Expr &read, const InstanceNode &at, std::optional<isl::pw_aff> iteration) {
                const SourceLocation &where = read.where.known() ? read.where : computation.where;
                if (!iteration) {
                  refuse(function,
                         computation.name + " reads " + read.producer->name + " of iteration " +
                             to_string(read.operands.front()) +
                             ", which depends on data; say which one it is",
                         where);
                }
                const isl::set later =
                    at.domain.intersect(iteration->gt_set(first_iterator(at.domain)));
                Point point;
                if (sample_point(checked(later, doing_convergence), point)) {
                  refuse(function,
                         instance_text(computation.name, point.coordinates) + " reads " +
                             read.producer->name + " of a later iteration, " +
                             to_string(read.operands.front()) + ", which may never be made",
                         where);
                }
              });
}

/// Those that cannot be computed before the loop is over.
std::vector<const Computation *> computed_after(const Function &function) {
  std::vector<const Computation *> after;
  const auto reads_one = [&](const Computation &computation, const auto &is_one) {
    bool found = false;
    for (const Piece &piece : computation.pieces) {
      visit(piece.value, [&](const ExprPtr &node) {
        found = found || (node->kind == ExprKind::Access && is_one(*node->producer));
      });
    }
    return found;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const ComputationPtr &computation : function.computations) {
      const auto is_after = [&](const Computation &other) {
        return std::find(after.begin(), after.end(), &other) != after.end();
      };
      if (is_after(*computation) || is_iterated(function, *computation)) {
        continue;
      }
      if (uses_count(function, *computation) ||
          reads_one(*computation, [&](const Computation &other) {
            return is_after(other) || is_iterated(function, other);
          })) {
        after.push_back(computation.get());
        changed = true;
      }
    }
  }
  return after;
}

} // namespace

std::int64_t most_iterations(const StopTest &stop) {
  return stop.limit > 0 ? stop.limit : largest_size_parameter;
}

isl::set at_least_one(const std::string &parameter) {
  return isl::set(isl_context(), "[" + parameter + "] -> { : " + parameter + " >= 1 }");
}

ComputationPtr total_test(const StopTest &stop) {
  const Computation &given = *stop.test;
  if (given.is_input || !(given.type == Bool) || given.rank() != 1) {
    throw Error(ErrorKind::Declaration,
                "until= takes a bool computation of one iterator, which says of each iteration t "
                "whether it is the last, such as tw.computation(\"done\", {t: " +
                    stop.parameter + "}, change[t] < 1e-6), got " +
                    (given.is_input ? "the input " : "") + given.name + " of " +
                    std::to_string(given.rank()) + " iterators and type " + type_name(given.type),
                stop.where);
  }
  const std::string &iterator_name = given.iterators.front();
  const ExprPtr count = parameter(stop.parameter);
  const ComputationPtr total = declare_computation(
      stop.parameter + "_reached", {{iterator_name, constant(std::int64_t{0}, Int64), count}},
      nullptr, Bool, {}, stop.where);
  isl::set defined = isl::manage(isl_set_set_tuple_name(
      isl_set_intersect(isl_set_copy(given.domain.get()),
                        isl_set_set_tuple_name(total->domain.copy(), given.name.c_str())),
      total->name.c_str()));
  const isl::set rest = total->domain.subtract(defined).coalesce();
  const auto add = [&](const isl::set &domain, const ExprPtr &value) {
    if (!checked(domain.is_empty(), doing_convergence)) {
      total->pieces.push_back({domain, value, stop.where});
    }
  };
  add(checked(defined, doing_convergence),
      access(stop.test, {iterator(iterator_name)}, stop.where));
  add(checked(rest, doing_convergence), constant(false, Bool));
  total->context = total->context.intersect(given.context);
  return total;
}

bool is_iterated(const Function &function, const Computation &computation) {
  return function.stop && !computation.is_input &&
         involves(computation.domain, function.stop->parameter);
}

bool uses_count(const Function &function, const Computation &computation) {
  return function.stop && !is_iterated(function, computation) &&
         std::any_of(computation.pieces.begin(), computation.pieces.end(), [&](const Piece &piece) {
           return mentions(piece.value, function.stop->parameter) ||
                  involves(piece.domain, function.stop->parameter);
         });
}

void check_convergence(const Function &function) {
  if (!function.stop) {
    return;
  }
  const std::string &parameter = function.stop->parameter;
  for (const auto *arrays : {&function.inputs, &function.outputs}) {
    for (const ComputationPtr &array : *arrays) {
      if (std::any_of(array->extents.begin(), array->extents.end(),
                      [&](const ExprPtr &extent) { return mentions(extent, parameter); })) {
        refuse(function,
               array->name + " has " + parameter +
                   " in its shape, which is not known before it is called; what the last iteration "
                   "made is " +
                   array->name + "[" + parameter +
                   " - 1, ...], read by a computation "
                   "of its own",
               array->where);
      }
    }
  }
  const std::vector<const Computation *> after = computed_after(function);
  for (const ComputationPtr &computation : function.computations) {
    if (!is_iterated(function, *computation)) {
      continue;
    }
    check_member(function, *computation);
    for (const Piece &piece : computation->pieces) {
      visit(piece.value, [&](const ExprPtr &node) {
        if (node->kind == ExprKind::Access &&
            std::find(after.begin(), after.end(), node->producer.get()) != after.end()) {
          refuse(function,
                 computation->name + " reads " + node->producer->name +
                     ", which is computed from the iterations when all are made",
                 node->where);
        }
      });
    }
    if (!iterations_kept(function, *computation)) {
      refuse(function,
             "values of " + computation->name +
                 " are read however many iterations later, while only the latest ones are kept: "
                 "carry what is needed along, in a computation over " +
                 computation->iterators.front() + " that reads its own value of " +
                 computation->iterators.front() + " - 1",
             computation->where);
    }
  }
}

std::optional<std::int64_t> iterations_kept(const Function &function,
                                            const Computation &computation) {
  std::int64_t most = 1;
  bool is_bounded = true;
  for (const ComputationPtr &reader : function.computations) {
    const bool inside = is_iterated(function, *reader);
    visit_reads(
        function, *reader,
        [&](const Expr &read, const InstanceNode &at, std::optional<isl::pw_aff> iteration) {
          if (read.producer.get() != &computation || !is_bounded) {
            return;
          }
          if (!iteration) {
            is_bounded = false;
            return;
          }
          const isl::pw_aff now = inside ? first_iterator(at.domain)
                                         : last_iteration(at.domain, function.stop->parameter);
          isl_set *distances = isl_map_range(isl_map_intersect_domain(
              isl_map_from_pw_aff(isl_pw_aff_sub(now.copy(), iteration->copy())),
              at.domain.copy()));
          distances =
              isl_set_project_out(distances, isl_dim_param, 0,
                                  static_cast<unsigned>(isl_set_dim(distances, isl_dim_param)));
          const isl::set found = checked(isl::manage(distances), doing_convergence);
          if (checked(found.is_empty(), doing_convergence)) {
            return;
          }
          const isl::val largest = isl::manage(isl_set_dim_max_val(found.copy(), 0));
          if (isl_val_is_int(checked(largest, doing_convergence).get()) != isl_bool_true) {
            is_bounded = false;
            return;
          }
          most = std::max(most, static_cast<std::int64_t>(isl_val_get_num_si(largest.get())) + 1);
        });
  }
  return is_bounded ? std::optional(most) : std::nullopt;
}

} // namespace tilewright
