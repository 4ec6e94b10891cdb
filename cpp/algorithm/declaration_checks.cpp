#include "algorithm/declaration_checks.h"

#include "algorithm/affine.h"
#include "algorithm/forever.h"
#include "algorithm/instance_walk.h"
#include "polyhedral/interruption.h"
#include "polyhedral/set_text.h"

#include <isl/set.h>

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

std::string list_text(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

bool contains(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void throw_collision(const std::string &owner, const std::string &name,
                                  const SourceLocation &where) {
  const std::string message =
      owner + " has a parameter and an iterator that are both named " + name;
  throw Error(ErrorKind::Declaration, message + "; rename one of them", where);
}

class ScopeCheck {
public:
  ScopeCheck(const std::string &owner, const std::vector<std::string> &iterators,
             const SourceLocation &where)
      : owner_(owner), own_(iterators), scope_(iterators), where_(where) {}

  void walk(const ExprPtr &expr) {
    if (expr == nullptr || !seen_.insert(expr.get()).second) {
      return;
    }
    count_visit();
    switch (expr->kind) {
    case ExprKind::State:
      if (!states_.contains(expr.get())) {
        throw Error(ErrorKind::Declaration,
                    owner_ + " uses " + expr->name +
                        ", a state variable of a while_loop or a fold, outside of it; take "
                        "its result instead",
                    where_);
      }
      break;
    case ExprKind::While:
      walk_loop(*expr);
      return;
    case ExprKind::Iterator:
      if (!contains(scope_, expr->name)) {
        throw Error(ErrorKind::Declaration,
                    owner_ + " uses the iterator " + expr->name +
                        ", which is neither one of its iterators (" + list_text(own_) +
                        ") nor reduced there",
                    where_);
      }
      break;
    case ExprKind::Parameter:
      if (contains(scope_, expr->name)) {
        throw_collision(owner_, expr->name, where_);
      }
      parameters_.push_back(expr->name);
      break;
    case ExprKind::Access:
      check_rank(*expr);
      break;
    case ExprKind::Reduce:
      walk_reduction(*expr);
      return;
    default:
      break;
    }
    for (const ExprPtr &operand : expr->operands) {
      walk(operand);
    }
  }

private:
  void check_rank(const Expr &read) const {
    const Computation &producer = *read.producer;
    if (read.operands.size() != producer.rank()) {
      throw Error(ErrorKind::Declaration,
                  owner_ + " reads " + producer.name + " with " +
                      std::to_string(read.operands.size()) +
                      (read.operands.size() == 1 ? " subscript" : " subscripts") + ", but " +
                      producer.name + " has " + std::to_string(producer.rank()) +
                      (producer.rank() == 1 ? " dimension" : " dimensions"),
                  read.where.known() ? read.where : where_);
    }
  }

  void walk_loop(const Expr &loop) {
    const WhileParts parts = while_parts(loop);
    for (const ExprPtr &value : parts.initial) {
      walk(value);
    }
    walk(parts.limit);
    // What was seen inside may use states, which are out of scope outside.
    const std::set<const Expr *> outside = seen_;
    for (const ExprPtr &state : loop.states) {
      states_.insert(state.get());
    }
    walk(parts.condition);
    for (const ExprPtr &value : parts.next) {
      walk(value);
    }
    for (const ExprPtr &state : loop.states) {
      states_.erase(state.get());
    }
    seen_ = outside;
  }

  void walk_reduction(const Expr &reduce) {
    const size_t outer = scope_.size();
    // What was seen outside may be out of scope inside and the other way round.
    std::set<const Expr *> outside;
    outside.swap(seen_);
    for (const ReduceRange &range : reduce.ranges) {
      walk(range.lower);
      walk(range.upper);
      check_name(range.iterator, "iterator", where_);
      if (contains(scope_, range.iterator)) {
        throw Error(ErrorKind::Declaration,
                    "the " + op_name(reduce.op) + " in " + owner_ + " reduces over " +
                        range.iterator + ", but an iterator of that name is already in scope (" +
                        list_text(scope_) + ")",
                    where_);
      }
      if (contains(parameters_, range.iterator)) {
        throw_collision(owner_, range.iterator, where_);
      }
      scope_.push_back(range.iterator);
      seen_.clear();
    }
    walk(reduce.condition);
    walk(reduce.predicate);
    for (const ExprPtr &state : reduce.states) {
      states_.insert(state.get());
    }
    for (const ExprPtr &operand : reduce.operands) {
      walk(operand);
    }
    for (const ExprPtr &state : reduce.states) {
      states_.erase(state.get());
    }
    scope_.resize(outer);
    outside.swap(seen_);
  }

  const std::string &owner_;
  const std::vector<std::string> &own_;
  std::vector<std::string> scope_;
  std::vector<std::string> parameters_;
  std::set<const Expr *> states_; ///< of the loops around
  std::set<const Expr *> seen_;
  const SourceLocation &where_;
};

/// A read at the instances of a scope, and the way to say what is wrong with it.
struct ReadSite {
  const Expr &read;
  const Scope &scope;
  size_t outer_rank; ///< iterators of the computation itself; reduced ones follow
};

class ReadCheck {
public:
  ReadCheck(const Computation &computation, const SourceLocation &where, Readable readable)
      : computation_(computation), where_(where), readable_(readable) {}

  void walk(const ExprPtr &value, const Scope &scope) const {
    InstanceWalk walk;
    walk.name = computation_.name;
    walk.tells_certain = false;
    walk.where = where_;
    walk.visit = [&](const InstanceNode &at) {
      if (at.node->kind == ExprKind::Access) {
        const Scope reading{at.domain, at.iterators};
        check({*at.node, reading, computation_.rank()});
      }
      return true;
    };
    walk({value}, scope.domain, scope.iterators);
  }

private:
  void check(const ReadSite &site) const {
    const Computation &producer = *site.read.producer;
    if (producer.is_input) {
      check_box(site, producer);
      return;
    }
    const IterationSpace space{computation_.name, site.scope.iterators};
    std::vector<isl::pw_aff> subscripts;
    for (const ExprPtr &subscript : site.read.operands) {
      const auto affine = to_affine(subscript, space);
      if (!affine) {
        return; // checked when it runs
      }
      subscripts.push_back(*affine);
    }
    isl::set readable = producer.domain;
    if (readable_ == Readable::Defined && !producer.pieces.empty()) {
      readable = readable.subtract(readable);
      for (const Piece &piece : producer.pieces) {
        readable = readable.unite(piece.domain);
      }
    }
    readable = at_all_times(readable);
    if (producer.rank() == 0) {
      const isl::set inside = site.scope.domain.intersect_params(readable.params());
      report_if_any(site, site.scope.domain.subtract(inside), readable);
      return;
    }
    // The space of { C[i,j] -> A[..] } with every parameter that occurs: isl aligns neither lists
    // nor preimages itself.
    isl_space *instances = isl_space_align_params(isl_set_get_space(site.scope.domain.get()),
                                                  isl_set_get_space(readable.get()));
    for (const isl::pw_aff &subscript : subscripts) {
      instances = isl_space_align_params(instances, isl_pw_aff_get_domain_space(subscript.get()));
    }
    isl_space *elements =
        isl_space_align_params(isl_set_get_space(readable.get()), isl_space_copy(instances));
    isl_space *access_space = isl_space_map_from_domain_and_range(instances, elements);
    const isl::space aligned =
        checked(isl::manage(access_space), "checking the reads of a computation");
    isl_pw_aff_list *list =
        isl_pw_aff_list_alloc(isl_context().get(), static_cast<int>(subscripts.size()));
    for (const isl::pw_aff &subscript : subscripts) {
      list = isl_pw_aff_list_add(list, isl_pw_aff_align_params(subscript.copy(), aligned.copy()));
    }
    const isl::multi_pw_aff access =
        isl::manage(isl_multi_pw_aff_from_pw_aff_list(aligned.copy(), list));
    readable = readable.align_params(aligned);
    const isl::set inside = readable.preimage(access);
    if (!checked(site.scope.domain.is_subset(inside), "checking the reads of a computation")) {
      report_if_any(site, site.scope.domain.subtract(inside), readable);
    }
  }

  /// Each affine subscript of an input against its own extent, even beside subscripts that are not
  /// affine.
  void check_box(const ReadSite &site, const Computation &input) const {
    const IterationSpace space{computation_.name, site.scope.iterators};
    static const ExprPtr zero = constant(std::int64_t{0}, Int64);
    for (size_t d = 0; d < input.rank(); ++d) {
      for (const bool below : {true, false}) {
        const auto outside = below
                                 ? compare(Op::Lt, site.read.operands[d], zero, space)
                                 : compare(Op::Ge, site.read.operands[d], input.extents[d], space);
        if (!outside) {
          break;
        }
        report_if_any(site, site.scope.domain.intersect(*outside), input.domain);
      }
    }
  }

  void report_if_any(const ReadSite &site, const isl::set &outside,
                     const isl::set &readable) const {
    checked(outside, "checking the reads of a computation");
    if (checked(outside.is_empty(), "checking the reads of a computation")) {
      return;
    }
    report(site, at_all_times(outside), readable);
  }

  /// For which parameters there are instances, but none that reads there: nothing if there are no
  /// such, or if that is too long to be read.
  static std::string way_out(const ReadSite &site, const isl::set &outside) {
    if (lasts_forever(site.scope.domain)) {
      return "; say what is meant there, in a piece of its own or by tw.select";
    }
    const isl::set any = site.scope.domain.params();
    const isl::set inside = any.subtract(outside.params());
    if (checked(inside.is_empty(), "describing a read")) {
      return "";
    }
    constexpr size_t longest = 60;
    const std::string text =
        constraint_text(checked(inside.gist(any).coalesce(), "describing a read"));
    if (text.empty() || text.size() > longest) {
      return "";
    }
    return "; it does not if " + text +
           ": if that always holds, let the parameters say so (constraint= or minimum= of "
           "tw.params)";
  }

  [[noreturn]] void report(const ReadSite &site, const isl::set &outside,
                           const isl::set &readable) const {
    const Computation &producer = *site.read.producer;
    const size_t rank = site.scope.iterators.size();
    // One sample of instance and subscripts together: { C[i,j] -> [subscripts] } as a flat set.
    std::vector<bool> is_affine;
    isl_map *map = isl_map_from_domain(outside.copy());
    for (const ExprPtr &subscript : site.read.operands) {
      const auto affine = to_affine(subscript, {computation_.name, site.scope.iterators});
      is_affine.push_back(affine.has_value());
      if (affine) {
        map = isl_map_flat_range_product(map, isl_map_from_pw_aff(affine->copy()));
      }
    }
    const isl::set joined =
        checked(isl::manage(isl_set_flatten(isl_map_wrap(map))), "describing a read");
    Point point;
    sample_point(joined, point);

    const std::vector<std::int64_t> instance(point.coordinates.begin(),
                                             point.coordinates.begin() +
                                                 static_cast<std::ptrdiff_t>(site.outer_rank));
    std::string reduced;
    for (size_t d = site.outer_rank; d < rank; ++d) {
      reduced += (reduced.empty() ? "" : ", ") + site.scope.iterators[d] + " = " +
                 std::to_string(point.coordinates[d]);
    }
    std::string read = producer.name + "[";
    size_t next = rank;
    for (size_t d = 0; d < is_affine.size(); ++d) {
      read += d == 0 ? "" : ",";
      read += is_affine[d] ? std::to_string(point.coordinates[next++])
                           : to_string(site.read.operands[d]);
    }
    read += "]";

    const std::string at = instance_text(computation_.name, instance);
    const std::string parameters = parameter_text(point);
    const std::string constraints = constraint_text(readable);
    std::string message =
        at + (reduced.empty() ? "" : " at " + reduced) + " reads " + read + ", outside " +
        producer.name +
        (readable_ == Readable::Defined && !producer.is_input ? "'s defined points" : "'s domain") +
        (constraints.empty() ? "" : " " + constraints) +
        (parameters.empty() ? "" : " (" + parameters + ")") + way_out(site, outside);
    Error error(ErrorKind::Bounds, message, site.read.where.known() ? site.read.where : where_);
    error.details["point"] = at;
    error.details["read"] = read;
    error.details["parameters"] = parameters;
    if (!reduced.empty()) {
      error.details["reduced"] = reduced;
    }
    throw error;
  }

  const Computation &computation_;
  const SourceLocation &where_;
  Readable readable_;
};

} // namespace

std::string line_text(const SourceLocation &where) {
  return where.known() ? where.file + ":" + std::to_string(where.line) : "an unknown line";
}

void check_name(const std::string &name, const std::string &what, const SourceLocation &where) {
  if (!is_isl_identifier(name)) {
    throw Error(ErrorKind::Declaration,
                "\"" + name + "\" cannot name a " + what +
                    ": expected letters, digits and underscores, not starting with a digit, and no "
                    "reserved word of "
                    "isl's notation (and, or, not, exists, mod, floor, ceil, min, max ...)",
                where);
  }
}

void check_iterators(const std::string &owner, const std::vector<std::string> &iterators,
                     const SourceLocation &where) {
  for (size_t d = 0; d < iterators.size(); ++d) {
    check_name(iterators[d], "iterator", where);
    for (size_t other = 0; other < d; ++other) {
      if (iterators[other] == iterators[d]) {
        throw Error(ErrorKind::Declaration,
                    owner + " has two iterators named " + iterators[d] + " (dimensions " +
                        std::to_string(other) + " and " + std::to_string(d) + ")",
                    where);
      }
    }
  }
}

void check_scopes(const std::string &owner, const std::vector<std::string> &iterators,
                  const ExprPtr &expr, const SourceLocation &where) {
  ScopeCheck(owner, iterators, where).walk(expr);
}

void check_parameters(const std::string &owner, const std::vector<std::string> &iterators,
                      const isl::set &set, const SourceLocation &where) {
  const isl_size count = isl_set_dim(set.get(), isl_dim_param);
  for (isl_size p = 0; p < count; ++p) {
    const std::string name = isl_set_get_dim_name(set.get(), isl_dim_param, p);
    if (contains(iterators, name)) {
      throw_collision(owner, name, where);
    }
  }
}

void check_bounded(const std::string &owner, const std::vector<std::string> &iterators,
                   const isl::set &domain, const SourceLocation &where) {
  if (checked(isl::manage(isl_set_is_bounded(domain.get())),
              "asking whether a domain is bounded")) {
    return;
  }
  std::string unbounded;
  for (size_t d = 0; d < iterators.size(); ++d) {
    const unsigned after = static_cast<unsigned>(iterators.size() - d - 1);
    isl_set *alone =
        isl_set_project_out(domain.copy(), isl_dim_set, static_cast<unsigned>(d) + 1, after);
    const isl::set line =
        checked(isl::manage(isl_set_project_out(alone, isl_dim_set, 0, static_cast<unsigned>(d))),
                "projecting a domain");
    const bool above = isl_set_dim_has_upper_bound(line.get(), isl_dim_set, 0) == isl_bool_true;
    const bool below = isl_set_dim_has_lower_bound(line.get(), isl_dim_set, 0) == isl_bool_true;
    if (!above || !below) {
      unbounded += (unbounded.empty() ? "" : ", ") + iterators[d] + " has no " +
                   (above ? "lower bound" : (below ? "upper bound" : "bounds"));
    }
  }
  throw Error(ErrorKind::Declaration,
              "the domain of " + owner + " is unbounded" +
                  (unbounded.empty() ? "" : ": " + unbounded) + " in " + braced_text(domain),
              where);
}

void check_overlap(const Computation &computation, const Piece &a, const Piece &b,
                   const isl::set &context) {
  const isl::set both = checked(a.domain.intersect(b.domain), "checking pieces for overlap");
  if (checked(both.is_empty(), "checking pieces for overlap")) {
    return;
  }
  Point point;
  if (!sample_point(both.intersect_params(context), point)) {
    return;
  }
  const std::string at = instance_text(computation.name, point.coordinates);
  const std::string parameters = parameter_text(point);
  Error error(ErrorKind::Declaration,
              "pieces of " + computation.name + " overlap at " + at +
                  (parameters.empty() ? "" : " with " + parameters) + ": both the piece of " +
                  line_text(a.where) + " and the piece of " + line_text(b.where) + " define it",
              b.where);
  error.details["point"] = at;
  error.details["parameters"] = parameters;
  throw error;
}

void check_reads(const Computation &computation, const Piece &piece, const isl::set &context,
                 Readable readable) {
  Scope scope;
  scope.domain =
      checked(piece.domain.intersect_params(context), "checking the reads of a computation");
  scope.iterators = computation.iterators;
  ReadCheck(computation, piece.where, readable).walk(piece.value, scope);
}

void check_defined_reads(const Computation &computation) {
  // What is said of a parameter counts wherever it stands: in the shape of what is read, too.
  isl::set context = computation.context;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &part) {
      if (part->kind == ExprKind::Access) {
        context = checked(context.intersect(part->producer->context),
                          "the constraints of the parameters of what is read");
      }
    });
  }
  for (const Piece &piece : computation.pieces) {
    check_reads(computation, piece, context, Readable::Defined);
  }
}

} // namespace tilewright
