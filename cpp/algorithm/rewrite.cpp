#include "algorithm/rewrite.h"

#include "algorithm/affine.h"
#include "algorithm/existing.h"
#include "algorithm/expression_depth.h"
#include "algorithm/function_copy.h"
#include "algorithm/reads.h"
#include "algorithm/reductions.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace tilewright {

namespace {

using Rewritten = std::unordered_map<const Expr *, ExprPtr>;

[[noreturn]] void refuse(const std::string &message, const SourceLocation &where) {
  throw Error(ErrorKind::Schedule, message, where);
}

/// Each read at other subscripts is another copy of what is inlined, and of the copies in it: the
/// code would be too large.
constexpr size_t largest_inlined = 20'000;

void require_size(const Computation &reader, const ExprPtr &value, const std::string &inlined,
                  const SourceLocation &where) {
  size_t nodes = 0;
  visit(value, [&](const ExprPtr &) { ++nodes; });
  if (nodes > largest_inlined) {
    refuse(reader.name + " would be an expression of " + std::to_string(nodes) +
               " parts, and at most " + std::to_string(largest_inlined) +
               " can be computed in place; keep " + inlined + " in memory, or compute_at() it",
           where);
  }
}

/// Refuses reads of `producer` whose subscripts isl does not see: only where it is stored can they
/// be checked.
void require_affine_reads(const Computation &reader, const Computation &producer,
                          const SourceLocation &where) {
  const IterationSpace space = space_of_reads(reader);
  for (const Piece &piece : reader.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind != ExprKind::Access || node->producer.get() != &producer) {
        return;
      }
      for (const ExprPtr &subscript : node->operands) {
        if (!to_affine(subscript, space)) {
          refuse(reader.name + " reads " + to_string(node) + ", and the subscript " +
                     to_string(subscript) + " is checked against the bounds of " + producer.name +
                     " when it runs, which needs its storage",
                 where);
        }
      }
    });
  }
}

/// The iterators of a computation and those that its value reduces.
std::set<std::string> iterators_of(const Computation &computation, const ExprPtr &value) {
  std::set<std::string> names(computation.iterators.begin(), computation.iterators.end());
  visit(value, [&](const ExprPtr &node) {
    for (const ReduceRange &range : node->ranges) {
      names.insert(range.iterator);
    }
  });
  return names;
}

/// A reduction over iterators that are not in `taken`; other nodes as they are.
ExprPtr with_renamed_ranges(const ExprPtr &node, const std::set<std::string> &taken) {
  const bool clashes =
      std::any_of(node->ranges.begin(), node->ranges.end(),
                  [&](const ReduceRange &range) { return taken.count(range.iterator) != 0; });
  if (!clashes) {
    return node;
  }
  std::set<std::string> used = taken;
  for (const ReduceRange &range : node->ranges) {
    used.insert(range.iterator);
  }
  std::vector<ExprPtr> insides = node->operands;
  insides.push_back(node->predicate);
  for (const ExprPtr &inside : insides) {
    visit(inside, [&](const ExprPtr &inner) {
      for (const ReduceRange &range : inner->ranges) {
        used.insert(range.iterator);
      }
    });
  }
  std::map<std::string, ExprPtr> names;
  std::vector<ReduceRange> ranges = node->ranges;
  const auto replaced = [&](const ExprPtr &value) -> ExprPtr {
    if (!value) {
      return value;
    }
    return substitute(value, [&](const std::string &name) {
      const auto found = names.find(name);
      return found == names.end() ? nullptr : found->second;
    });
  };
  for (ReduceRange &range : ranges) {
    range.lower = replaced(range.lower);
    range.upper = replaced(range.upper);
    if (taken.count(range.iterator) != 0) {
      std::string name = range.iterator;
      while (used.count(name) != 0) {
        name += "_";
      }
      used.insert(name);
      names[range.iterator] = iterator(name);
      range.iterator = name;
    }
  }
  Expr renamed = *node; // a sum of integers that was made narrow keeps its type
  renamed.ranges = std::move(ranges);
  for (ExprPtr &operand : renamed.operands) {
    operand = replaced(operand);
  }
  renamed.condition = replaced(node->condition);
  renamed.predicate = replaced(node->predicate);
  return finished(std::move(renamed));
}

/// The same value with reduced iterators that are not in `taken`: each name means one loop.
ExprPtr with_other_iterators(const ExprPtr &node, const std::set<std::string> &taken,
                             Rewritten &done) {
  if (const auto found = done.find(node.get()); found != done.end()) {
    return found->second;
  }
  count_visit();
  std::vector<ExprPtr> operands;
  for (const ExprPtr &operand : node->operands) {
    operands.push_back(with_other_iterators(operand, taken, done));
  }
  ExprPtr result = with_operands(node, std::move(operands));
  if (node->predicate) {
    result = with_predicate(result, with_other_iterators(node->predicate, taken, done));
  }
  result = with_renamed_ranges(result, taken);
  done.emplace(node.get(), result);
  return result;
}

ExprPtr with_other_iterators(const ExprPtr &node, const std::set<std::string> &taken) {
  Rewritten done;
  return with_other_iterators(node, taken, done);
}

/// The value of a computation in one of its readers: one expression for all reads of one element,
/// so that what is read at several places is computed once.
class InlinedValue {
public:
  /// `taken`: the reader's iterators.
  InlinedValue(const Computation &gone, const ExprPtr &value, const std::set<std::string> &taken)
      : gone_(gone), body_(with_other_iterators(value, taken)) {
    visit(body_, [&](const ExprPtr &node) { has_states_ = has_states_ || !node->states.empty(); });
  }

  ExprPtr at(const Expr &read) {
    std::string key = std::to_string(read.position);
    for (const ExprPtr &subscript : read.operands) {
      key += "," + to_string(subscript);
    }
    ExprPtr &known = known_[key];
    known = known ? known : made(read);
    return known;
  }

private:
  ExprPtr made(const Expr &read) const {
    const ExprPtr own = read.position > 0 ? result_of(body_, read.position - 1) : body_;
    return substitute(own, [&](const std::string &name) -> ExprPtr {
      const auto found = std::find(gone_.iterators.begin(), gone_.iterators.end(), name);
      if (found == gone_.iterators.end()) {
        return nullptr;
      }
      const ExprPtr &subscript =
          read.operands[static_cast<size_t>(found - gone_.iterators.begin())];
      const bool is_same = subscript->kind == ExprKind::Iterator && subscript->name == name;
      // What does not change stays the same node, unless it has state variables: the reader may be
      // a loop over states that has them from the same place.
      return is_same && !has_states_ ? nullptr : subscript;
    });
  }

  const Computation &gone_;
  ExprPtr body_;
  bool has_states_ = false;
  std::map<std::string, ExprPtr> known_;
};

/// Whether the expression uses one of the iterators from position `first` on.
bool mentions(const ExprPtr &value, const std::vector<std::string> &iterators, size_t first) {
  bool found = false;
  visit(value, [&](const ExprPtr &node) {
    found = found || (node->kind == ExprKind::Iterator &&
                      std::find(iterators.begin() + static_cast<std::ptrdiff_t>(first),
                                iterators.end(), node->name) != iterators.end());
  });
  return found;
}

/// lower <= r < upper over the computation's own iterators; an empty range where nothing is
/// reduced.
ReduceRange range_of(const std::string &iterator, const isl::map &values, const isl::set &domain,
                     const std::vector<std::string> &iterators) {
  const isl::pw_aff least = values.dim_min(0);
  const isl::pw_aff most = values.dim_max(0).add_constant(1L);
  const isl::set empty = domain.subtract(values.domain());
  const isl::pw_aff zero(empty, isl::val(isl_context(), 0L));
  const auto bound = [&](const isl::pw_aff &value) {
    return from_affine(
        checked(value.union_add(zero).gist(domain).coalesce(), "the range of a partial reduction"),
        iterators);
  };
  return {iterator, bound(least), bound(most)};
}

} // namespace

std::shared_ptr<const Function>
inline_computation(const Function &function, const std::string &name, const SourceLocation &where) {
  const ComputationPtr original = *function.find(name);
  if (std::find(function.outputs.begin(), function.outputs.end(), original) !=
      function.outputs.end()) {
    refuse(name + " is an output and cannot be computed in its readers only", where);
  }
  if (reads(*original, *original)) {
    refuse(name + " reads its own earlier values and cannot be inlined", where);
  }
  if (original->pieces.size() != 1) {
    refuse(name + " has " + std::to_string(original->pieces.size()) +
               " pieces; only one expression can be inlined",
           where);
  }
  for (const ComputationPtr &reader : function.computations) {
    require_affine_reads(*reader, *original, where);
  }
  Copies copies;
  std::shared_ptr<Function> result = copy_function(function, copies);
  const ComputationPtr gone = copies.at(original.get());
  // Who reads it stands under the conditions under which it exists.
  const ExprPtr value = existing_value(gone->pieces.front().value).value;
  std::erase(result->computations, gone);
  for (const ComputationPtr &computation : result->computations) {
    for (Piece &piece : computation->pieces) {
      InlinedValue inlined(*gone, value, iterators_of(*computation, piece.value));
      piece.value = rewrite_accesses(piece.value, [&](const ExprPtr &node) {
        return node->producer == gone ? inlined.at(*node) : node;
      });
      require_size(*computation, piece.value, name, where);
    }
  }
  return result;
}

std::shared_ptr<const Function> copy_reads(const Function &function, const std::string &reader,
                                           const std::string &array, const std::string &copy,
                                           const SourceLocation &where) {
  Copies copies;
  std::shared_ptr<Function> result = copy_function(function, copies);
  const ComputationPtr consumer = *result->find(reader);
  const ComputationPtr producer = *result->find(array);
  if (!reads(*consumer, *producer)) {
    refuse(reader + " does not read " + array, where);
  }
  auto cached = make_isl_shared<Computation>(*producer);
  cached->name = copy;
  cached->is_input = false;
  cached->where = consumer->where;
  cached->domain = isl::manage(isl_set_set_tuple_name(producer->domain.copy(), copy.c_str()));
  cached->domain = checked(cached->domain, "a copy of an array");
  std::vector<ExprPtr> subscripts;
  for (const std::string &name : producer->iterators) {
    subscripts.push_back(iterator(name));
  }
  cached->pieces = {
      {cached->domain, access(producer, subscripts, consumer->where), consumer->where}};
  for (Piece &piece : consumer->pieces) {
    piece.value = rewrite_accesses(piece.value, [&](const ExprPtr &node) {
      return node->producer == producer ? with_producer(node, cached) : node;
    });
  }
  const auto position =
      std::find(result->computations.begin(), result->computations.end(), consumer);
  result->computations.insert(position, cached);
  return result;
}

std::shared_ptr<const Function> copy_writes(const Function &function, const std::string &name,
                                            const std::string &local) {
  Copies copies;
  std::shared_ptr<Function> result = copy_function(function, copies);
  const ComputationPtr original = copies.at(function.find(name)->get());
  auto computed = make_isl_shared<Computation>(*original);
  computed->name = local;
  const auto renamed = [&](const isl::set &domain) {
    return checked(isl::manage(isl_set_set_tuple_name(domain.copy(), local.c_str())),
                   "a local copy of a result");
  };
  computed->domain = renamed(original->domain);
  isl::set written = isl::set::empty(original->domain.space());
  for (Piece &piece : computed->pieces) {
    written = written.unite(piece.domain);
    piece.domain = renamed(piece.domain);
  }
  std::vector<ExprPtr> subscripts;
  for (const std::string &own : original->iterators) {
    subscripts.push_back(iterator(own));
  }
  original->pieces = {{checked(written.coalesce(), "a local copy of a result"),
                       access(computed, subscripts, original->where), original->where}};
  const auto position =
      std::find(result->computations.begin(), result->computations.end(), original);
  result->computations.insert(position, computed);
  return result;
}

namespace {

/// The same reduction (a Reduce or a Fold) of other terms: `next` is what a fold makes of its
/// states for each of them, and otherwise the body.
ExprPtr reduction_like(const ExprPtr &reduction, std::vector<ReduceRange> ranges,
                       const std::vector<ExprPtr> &next, const ExprPtr &condition,
                       const ExprPtr &predicate) {
  Expr terms = *reduction_of(*reduction); // of a sum that was made narrow, its type stays
  terms.ranges = std::move(ranges);
  for (size_t k = 0; k < next.size(); ++k) {
    terms.operands[k] =
        cast(next[k], reduction->kind == ExprKind::Fold ? terms.states[k]->type : terms.type);
  }
  terms.condition = condition;
  terms.predicate = predicate;
  ExprPtr made = finished(std::move(terms));
  if (reduction->kind != ExprKind::Fold) {
    return made;
  }
  std::vector<ExprPtr> operands = reduction->operands;
  operands.front() = made;
  return with_operands(reduction, std::move(operands));
}

/// What becomes of each term: of a fold, of each state.
std::vector<ExprPtr> next_values(const Expr &reduction) {
  return reduction.op == Op::ReduceFold ? fold_parts(reduction).next : reduction.operands;
}

/// `value` with `made` for `reduction`: for all results of a fold.
ExprPtr with_reduction(const ExprPtr &value, const ExprPtr &reduction, const ExprPtr &made) {
  if (!has_several_states(*reduction)) {
    return with_replaced(value, reduction, made);
  }
  std::unordered_map<const Expr *, ExprPtr> by;
  for (const ExprPtr &result : results_of_fold(value, *reduction_of(*reduction))) {
    by[result.get()] = result_of(made, result->position);
  }
  return with_replaced(value, std::move(by));
}

/// A loop with more values of its own than this may have far fewer with terms.
constexpr long most_own_values = 1024;

/// The least and the largest value that the loop has for any integers at all: of the inner loop of
/// a split by 8, 0 and 7. None if there is no such value, as for the outer one, or if they are far
/// apart.
std::optional<std::pair<isl::val, isl::val>> own_range(const isl::pw_aff &loop) {
  isl_set *values = isl_map_range(loop.as_map().release());
  values = isl_set_project_out(values, isl_dim_param, 0,
                               static_cast<unsigned>(isl_set_dim(values, isl_dim_param)));
  const isl::set all = checked(isl::manage(values), "the values of a loop");
  const isl::val least = checked(all.dim_min_val(0), "the values of a loop");
  const isl::val most = checked(all.dim_max_val(0), "the values of a loop");
  if (!least.is_int() || !most.is_int() || most.sub(least).ge(most_own_values)) {
    return std::nullopt;
  }
  return std::pair(least, most);
}

/// The partial results, { [element] -> [value of the factored loop] } in the space of `elements`,
/// of the terms { [element, term] } in `body`. If the loop has a range of its own, each element has
/// one partial result for each value in it, some perhaps without terms: of k in [i, N), the lanes k
/// mod 8 are 0 to 7 for all i. Which of them have terms takes quotients and cases to say. These
/// would come into the domain and the bounds of what reads the partial results, and again into
/// those of their own partial results, and soon be too intricate for isl.
isl::map partial_results(const ReductionFactor &factor, const isl::set &body,
                         const isl::set &elements) {
  const char *const doing = "the partial results of a reduction";
  if (const auto range = own_range(factor.value)) {
    isl_map *all = isl_map_add_dims(isl_map_from_domain(elements.copy()), isl_dim_out, 1);
    all = isl_map_lower_bound_val(all, isl_dim_out, 0, range->first.copy());
    all = isl_map_upper_bound_val(all, isl_dim_out, 0, range->second.copy());
    return checked(isl::manage(all), doing);
  }
  const auto outer = static_cast<unsigned>(isl_set_dim(elements.get(), isl_dim_set));
  const auto terms = static_cast<unsigned>(isl_set_dim(body.get(), isl_dim_set)) - outer;
  const isl::map values = factor.value.as_map().intersect_domain(body);
  isl_map *with_terms = isl_map_project_out(values.copy(), isl_dim_in, outer, terms);
  return checked(
      isl::manage(isl_map_set_tuple_id(with_terms, isl_dim_in, elements.tuple_id().release())),
      doing);
}

/// The value of a partial result: the reduction over what the factor leaves of the iterators.
ExprPtr partial_sum(const ExprPtr &reduction, const ReductionFactor &factor,
                    const std::vector<std::string> &iterators) {
  const Expr &root = *reduction_of(*reduction);
  std::vector<ReduceRange> ranges;
  ExprPtr condition = root.condition;
  std::vector<std::string> body_iterators = iterators;
  const auto also = [&](const ExprPtr &one) {
    condition = condition == nullptr ? one : binary(Op::And, condition, one);
  };
  const auto outer = static_cast<unsigned>(iterators.size());
  for (const ReduceRange &range : root.ranges) {
    if (!factor.is_iterator || range.iterator != factor.iterator) {
      ranges.push_back(range);
    } else if (mentions(range.lower, body_iterators, outer) ||
               mentions(range.upper, body_iterators, outer)) {
      // Bounds over iterators that are still reduced hold for each of their terms.
      also(binary(Op::Le, range.lower, iterator(range.iterator)));
      also(binary(Op::Lt, iterator(range.iterator), range.upper));
    }
    const bool is_factor = factor.is_iterator && range.iterator == factor.iterator;
    if (is_factor && range.step != 1) {
      const ExprPtr distance = binary(Op::Sub, iterator(range.iterator), range.lower);
      also(binary(Op::Eq, binary(Op::Mod, distance, constant(range.step, Int64)),
                  constant(std::int64_t{0}, Int64)));
    }
    body_iterators.push_back(range.iterator);
  }
  if (!factor.is_iterator) {
    also(binary(Op::Eq, from_affine(factor.value, body_iterators), iterator(factor.iterator)));
  }
  ExprPtr inner = cast(root.operands.front(), root.type);
  if (!ranges.empty()) {
    if (reduction->kind == ExprKind::Fold) {
      return first_result(
          reduction_like(reduction, ranges, next_values(root), condition, root.predicate));
    }
    return reduce(root.op, ranges, inner, condition, false, root.predicate);
  }
  ExprPtr identity;
  if (reduction->kind == ExprKind::Fold) { // one term
    identity = initial_values(*reduction).front();
    inner = with_replaced(inner, fold_parts(root).states.front(), identity);
  } else {
    identity = reduction_identity(root.op, root.type);
  }
  return root.predicate ? select(root.predicate, inner, identity) : inner;
}

} // namespace

std::shared_ptr<const Function> factor_reduction(const Function &function, const std::string &name,
                                                 const ReductionFactor &factor,
                                                 const SourceLocation &where) {
  Copies copies;
  std::shared_ptr<Function> result = copy_function(function, copies);
  const ComputationPtr computation = copies.at(function.find(name)->get());
  Piece &piece = computation->pieces.front();
  const ExprPtr value = piece.value;
  const ExprPtr reduction = scheduled_reduction(*computation);
  const Expr &root = *reduction_of(*reduction);
  if (has_several_states(*reduction) && factor.is_iterator && root.ranges.size() == 1) {
    refuse("each partial result of " + name + ", a fold of several states, would have one term; " +
               name + ".split(\"" + factor.iterator + "\", 8) gives loops that have several",
           where);
  }

  // Instances of the partial results: the image of the body's instances under (i, k) -> (i, r).
  const isl::set body = reduction_domain(root, piece.domain, computation->iterators, where);
  const isl::map by_outer = partial_results(factor, body, piece.domain);
  const ReduceRange range =
      range_of(factor.iterator, by_outer, piece.domain, computation->iterators);
  const ExprPtr whole = reduce(Op::ReduceSum, {range}, constant(std::int64_t{0}, Int64));
  isl::set instances = reduction_domain(*whole, piece.domain, computation->iterators, where);
  isl::set needed = checked(by_outer.wrap().flatten(), "partial results");
  needed = isl::manage(isl_set_set_tuple_id(needed.release(), instances.tuple_id().release()));
  // Where the body has no instance, a partial result is the identity, which changes no result.
  const bool over_nothing_else = root.ranges.size() == 1 && factor.is_iterator;
  if (over_nothing_else && !checked(instances.is_equal(needed), "partial results")) {
    refuse("the values of '" + factor.iterator + "' have gaps, so the partial results of " + name +
               " cannot be summed over a range",
           where);
  }
  instances = isl::manage(isl_set_set_tuple_name(instances.release(), factor.partial.c_str()));
  std::vector<std::string> iterators = computation->iterators;
  iterators.push_back(factor.iterator);
  for (size_t d = 0; d < iterators.size(); ++d) {
    instances = isl::manage(isl_set_set_dim_name(instances.release(), isl_dim_set,
                                                 static_cast<unsigned>(d), iterators[d].c_str()));
  }
  const ComputationPtr partial = declare_computation(to_text(checked(instances, "partial results")),
                                                     root.type, {}, computation->where);
  // Values of parameters that are known by now may be all that keeps reads inside.
  partial->context = checked(partial->context.intersect(function.context), "partial results");
  partial->strides = computation->strides;
  partial->strides.resize(partial->strides.empty() ? 0 : partial->rank());
  define_piece(partial, nullptr, partial_sum(reduction, factor, computation->iterators),
               computation->where);

  std::vector<ExprPtr> subscripts;
  for (const std::string &own : computation->iterators) {
    subscripts.push_back(iterator(own));
  }
  subscripts.push_back(iterator(factor.iterator));
  std::vector<ExprPtr> terms = {access(partial, subscripts, computation->where)};
  if (reduction->kind == ExprKind::Fold) {
    const FoldParts parts = fold_parts(root);
    std::unordered_map<const Expr *, ExprPtr> others;
    for (size_t k = 0; k < parts.others.size(); ++k) {
      others[parts.others[k].get()] =
          parts.others.size() == 1
              ? terms.front()
              : access_state(partial, subscripts, k, parts.others[k]->type, computation->where);
    }
    terms.clear();
    for (const ExprPtr &value_of_both : parts.combined) {
      terms.push_back(with_replaced(value_of_both, others));
    }
  }
  piece.value =
      with_reduction(value, reduction, reduction_like(reduction, {range}, terms, nullptr, nullptr));
  const auto position =
      std::find(result->computations.begin(), result->computations.end(), computation);
  result->computations.insert(position, partial);
  return result;
}

std::shared_ptr<const Function> merge_reductions(const Function &function, const std::string &outer,
                                                 const std::string &inner) {
  Copies copies;
  std::shared_ptr<Function> result = copy_function(function, copies);
  const ComputationPtr kept = copies.at(function.find(outer)->get());
  const ComputationPtr gone = copies.at(function.find(inner)->get());
  const ExprPtr value = kept->pieces.front().value;
  const ExprPtr reduction = scheduled_reduction(*kept);
  const Expr &terms = *reduction_of(*gone->pieces.front().value);
  std::vector<ReduceRange> ranges = reduction_of(*reduction)->ranges;
  ranges.insert(ranges.end(), terms.ranges.begin(), terms.ranges.end());
  const ExprPtr merged =
      reduction_like(reduction, ranges, next_values(terms), terms.condition, terms.predicate);
  kept->pieces.front().value = with_reduction(value, reduction, merged);
  std::erase(result->computations, gone);
  return result;
}

} // namespace tilewright
