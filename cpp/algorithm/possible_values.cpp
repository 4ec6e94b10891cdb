#include "algorithm/possible_values.h"

#include "algorithm/affine_linear.h"
#include "algorithm/float_ranges.h"
#include "algorithm/function.h"
#include "algorithm/value_relations.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_map>
#include <utility>

namespace tilewright {

namespace {

/// Larger expressions are anything: each condition in them is a case of its own.
constexpr int most_nodes = 4000;
/// So many definitions are looked into, one within the other.
constexpr std::size_t most_producers = 8;
constexpr double infinity = std::numeric_limits<double>::infinity();
/// What an iterator or a parameter is at most, as far as wrapping is concerned.
constexpr double largest_affine = 0x1p48;

/// What one question has found out, wherever it goes on.
struct Findings {
  int visited = 0;
  std::vector<const Computation *> producers; ///< whose definitions are being looked into
  /// { producer[e] -> [value] }, or nothing: each definition is looked into once, however many
  /// reads lead there.
  std::unordered_map<const Computation *, Possible> elements;
  std::unordered_map<const Computation *, FloatRange> float_elements;
};

class Finder {
public:
  Finder(const ValueSite &site, Findings &findings) : site_(site), findings_(findings) {
    for (const Fact &fact : site.facts) {
      comparisons_of(fact, facts_, &alternatives_);
    }
  }

  Possible values(const ExprPtr &expr) {
    if (!expr->type.is_integer()) {
      return std::nullopt;
    }
    if (const auto known = remembered_.find(expr.get()); known != remembered_.end()) {
      return known->second;
    }
    if (++findings_.visited > most_nodes) {
      return std::nullopt;
    }
    count_visit();
    Possible result = of_affine(expr);
    if (!result) {
      result = in_type(of_node(expr), *expr);
      result = with_facts(expr, facts_, alternatives_, std::move(result));
    }
    remembered_.insert_or_assign(expr.get(), result);
    return result;
  }

private:
  const ValueSite &site_;
  Findings &findings_;
  std::vector<Fact> facts_; ///< comparisons
  std::vector<Alternatives> alternatives_;
  std::unordered_map<const Expr *, Possible> remembered_;
  std::unordered_map<const Expr *, FloatRange> floats_;
  bool in_fact_ = false; ///< a bound is asked for: facts about it are left alone

  // ---- integers ----

  Possible of_affine(const ExprPtr &expr) const {
    const auto affine = to_affine(expr, site_.space);
    if (!affine) {
      return std::nullopt;
    }
    const auto constant = constant_behind_casts(*expr);
    const isl::map pairs = affine->as_map().intersect_domain(site_.domain);
    return constant
               ? kept(pairs.copy(), static_cast<double>(*constant), static_cast<double>(*constant))
               : kept(pairs.copy(), -largest_affine, largest_affine);
  }

  static double least(ScalarType type) { return static_cast<double>(integer_min(type)); }
  static double most(ScalarType type) { return static_cast<double>(integer_max(type)); }

  /// Whether a node computes what may be beyond its type.
  static bool is_arithmetic(const Expr &node) {
    return node.kind == ExprKind::Cast || node.kind == ExprKind::Unary || node.op == Op::Add ||
           node.op == Op::Sub || node.op == Op::Mul;
  }

  /// Values in a narrow type: what has wrapped around is any number of it.
  Possible in_type(const Possible &values, const Expr &node) const {
    const ScalarType type = node.type;
    const Possible range = between(site_.domain, least(type), most(type));
    // Arrays are no larger than what 32 bits count: such bounds would only make relations longer.
    const bool is_wide = type.bits >= 32;
    const Possible all =
        is_wide && range ? kept(any_value(site_.domain).release(), range->lo, range->hi) : range;
    if (!values || type == Int64) {
      return values ? values : all;
    }
    const auto lowest = isl_val_int_from_si(isl_context().get(), integer_min(type));
    isl_map *pairs =
        isl_map_lower_bound_val(any_value(site_.domain).release(), isl_dim_out, 0, lowest);
    isl::map fits = checked(isl::manage(pairs), doing_possible_values);
    fits = range ? fits.intersect(range->pairs) : fits;
    if (!is_arithmetic(node)) {
      return kept(is_wide ? values->pairs.copy()
                          : isl_map_intersect(values->pairs.copy(), fits.release()),
                  std::max(values->lo, least(type)), std::min(values->hi, most(type)));
    }
    const bool is_within = checked(isl::manage(isl_map_is_subset(values->pairs.get(), fits.get())),
                                   doing_possible_values);
    return is_within ? values : all;
  }

  Possible of_node(const ExprPtr &expr) {
    switch (expr->kind) {
    case ExprKind::Access:
      return of_access(*expr);
    case ExprKind::Cast:
      return of_cast(*expr);
    case ExprKind::Select:
      return of_select(*expr);
    case ExprKind::Checked:
      return values(expr->operands[0]);
    case ExprKind::Unary: {
      const Possible a = values(expr->operands[0]);
      if (!a || (expr->op != Op::Neg && expr->op != Op::Abs)) {
        return std::nullopt;
      }
      const double largest = std::max(std::abs(a->lo), std::abs(a->hi));
      return expr->op == Op::Neg
                 ? computed(isl_map_neg(a->pairs.copy()), -a->hi, -a->lo)
                 : computed(then(*a, value_relation("v >= 0 and (v = a or v = -a)")), 0, largest);
    }
    case ExprKind::Binary:
    case ExprKind::Call:
      return of_operation(*expr);
    default:
      return std::nullopt;
    }
  }

  Possible of_access(const Expr &expr) {
    const auto promised = site_.promised ? site_.promised(expr) : std::nullopt;
    if (promised) {
      return kept(promised->copy(), -largest_affine, largest_affine);
    }
    return of_element(expr);
  }

  /// { space[i] -> producer[e] } of a read whose subscripts are affine.
  std::optional<isl::map> element_of(const Expr &read) const {
    isl_map *element = isl_map_from_domain(site_.domain.copy());
    for (const ExprPtr &subscript : read.operands) {
      const auto affine = to_affine(subscript, site_.space);
      if (!affine) {
        isl_map_free(element);
        return std::nullopt;
      }
      element = isl_map_flat_range_product(element, affine->as_map().release());
    }
    element = isl_map_set_tuple_name(element, isl_dim_out, read.producer->name.c_str());
    return checked(isl::manage(element), doing_possible_values);
  }

  /// Whether the definition of what is read can be looked into: not within itself, or too deep.
  bool has_definition(const Expr &read) const {
    const std::vector<const Computation *> &around = findings_.producers;
    return read.position == 0 && !read.producer->pieces.empty() && around.size() < most_producers &&
           std::find(around.begin(), around.end(), read.producer.get()) == around.end();
  }

  /// Finds in each piece of a definition, up to the first where it says false.
  template <class Find>
  bool in_definition(const Computation &producer, const Find &find) {
    const IterationSpace space{producer.name, producer.iterators};
    const std::vector<Fact> nothing;
    findings_.producers.push_back(&producer);
    const bool is_known =
        std::all_of(producer.pieces.begin(), producer.pieces.end(), [&](const Piece &piece) {
          const ValueSite site{space, piece.domain, nothing};
          Finder inside(site, findings_);
          return find(inside, piece);
        });
    findings_.producers.pop_back();
    return is_known;
  }

  /// { producer[e] -> [value] } as its pieces define it.
  Possible of_definition(const Computation &producer) {
    if (const auto known = findings_.elements.find(&producer); known != findings_.elements.end()) {
      return known->second;
    }
    Possible result;
    const bool is_known = in_definition(producer, [&](Finder &inside, const Piece &piece) {
      const Possible found = inside.values(piece.value);
      if (!found) {
        return false;
      }
      const isl::map defined = found->pairs.intersect_domain(piece.domain);
      const Possible own = kept(defined.copy(), found->lo, found->hi);
      result = result ? either(result, own) : own;
      return result.has_value();
    });
    return findings_.elements.insert_or_assign(&producer, is_known ? result : std::nullopt)
        .first->second;
  }

  /// What a computation that is a subscript is defined as.
  Possible of_element(const Expr &read) {
    const auto element = has_definition(read) ? element_of(read) : std::nullopt;
    const Possible defined = element ? of_definition(*read.producer) : std::nullopt;
    return defined ? kept(isl_map_apply_range(element->copy(), defined->pairs.copy()), defined->lo,
                          defined->hi)
                   : std::nullopt;
  }

  FloatRange of_float_element(const Expr &read) {
    const Computation &producer = *read.producer;
    std::unordered_map<const Computation *, FloatRange> &all = findings_.float_elements;
    if (const auto known = all.find(&producer); known != all.end() && read.position == 0) {
      return known->second;
    }
    if (!has_definition(read)) {
      return any_float();
    }
    std::optional<FloatRange> result;
    in_definition(producer, [&](Finder &inside, const Piece &piece) {
      const FloatRange found = inside.floats(piece.value);
      result = result ? tilewright::either(*result, found) : found;
      return true;
    });
    return all.insert_or_assign(&producer, *result).first->second;
  }

  Possible of_cast(const Expr &expr) {
    const ExprPtr &from = expr.operands[0];
    if (from->type.is_integer()) {
      return values(from);
    }
    if (from->type.is_bool()) {
      return between(site_.domain, 0, 1);
    }
    if (!from->type.is_floating()) {
      return std::nullopt;
    }
    const FloatRange range = floats(from);
    const double lo = std::max(std::trunc(range.lo), least(expr.type));
    const double hi = std::min(std::trunc(range.hi), most(expr.type));
    const Possible numbers =
        between(site_.domain, std::min(lo, most(expr.type)), std::max(hi, least(expr.type)));
    return range.may_be_nan ? either(numbers, between(site_.domain, 0, 0)) : numbers;
  }

  /// Finds in a branch of a select, knowing its condition. Says where the branch is taken.
  template <class Find>
  isl::set in_branch(const Expr &expr, bool holds, const Find &find) {
    std::vector<Fact> more = site_.facts;
    more.push_back({expr.operands[0], holds});
    const auto set = to_set(expr.operands[0], site_.space);
    const isl::set where = !set    ? site_.domain
                           : holds ? site_.domain.intersect(*set)
                                   : site_.domain.subtract(*set);
    const ValueSite site{site_.space, where, more, site_.promised};
    Finder finder(site, findings_);
    find(finder, expr.operands[holds ? 1 : 2]);
    return where;
  }

  Possible of_select(const Expr &expr) {
    std::vector<Possible> branches;
    for (const bool holds : {true, false}) {
      Possible found;
      const isl::set where = in_branch(
          expr, holds, [&](Finder &inside, const ExprPtr &value) { found = inside.values(value); });
      if (!found) {
        return std::nullopt;
      }
      branches.push_back(
          kept(isl_map_intersect_domain(found->pairs.copy(), where.copy()), found->lo, found->hi));
    }
    return either(branches[0], branches[1]);
  }

  Possible of_operation(const Expr &expr) {
    if (expr.operands.size() != 2) {
      return std::nullopt;
    }
    const Possible a = values(expr.operands[0]);
    const Possible b = values(expr.operands[1]);
    const auto divisor = constant_behind_casts(*expr.operands[1]);
    switch (expr.op) {
    case Op::Min:
    case Op::Fmin:
      return of_extreme(a, b, true);
    case Op::Max:
    case Op::Fmax:
      return of_extreme(a, b, false);
    case Op::Mod:
      return b ? kept(then(*b, value_relation("0 <= v < a or a < v <= 0 or a = v = 0")),
                      std::min(b->lo, 0.0), std::max(b->hi, 0.0))
               : std::nullopt;
    case Op::And:
      return of_bits(a, b);
    case Op::Shr:
      return divisor && *divisor >= 0 && *divisor < 32 ? divided(a, std::int64_t{1} << *divisor)
                                                       : std::nullopt;
    case Op::FloorDiv:
      return divisor && *divisor > 0 && is_small(*divisor) ? divided(a, *divisor) : std::nullopt;
    default:
      break;
    }
    if (expr.op == Op::Fmod && divisor && *divisor != 0 && is_small(*divisor)) {
      const auto last = static_cast<double>(std::abs(*divisor) - 1);
      return between(site_.domain, -last, last);
    }
    if (!a || !b) {
      return std::nullopt;
    }
    if (expr.op == Op::Add || expr.op == Op::Sub) {
      const bool minus = expr.op == Op::Sub;
      return computed(sum(*a, *b, minus), a->lo + (minus ? -b->hi : b->lo),
                      a->hi + (minus ? -b->lo : b->hi));
    }
    if (expr.op == Op::Mul) {
      const auto first = constant_behind_casts(*expr.operands[0]);
      return divisor ? scaled(*a, *divisor) : first ? scaled(*b, *first) : std::nullopt;
    }
    return std::nullopt;
  }

  /// One of both, and not beyond either: of one that may be anything nothing is known.
  static Possible of_extreme(const Possible &a, const Possible &b, bool smaller) {
    if (!a && !b) {
      return std::nullopt;
    }
    const isl::map beside = value_relation(smaller ? "v <= a" : "v >= a");
    if (!a || !b) {
      const Values &known = a ? *a : *b;
      return kept(then(known, beside), smaller ? -infinity : known.lo,
                  smaller ? known.hi : infinity);
    }
    const isl::map one = checked(isl::manage(then(*a, beside)), doing_possible_values);
    const isl::map other = checked(isl::manage(then(*b, beside)), doing_possible_values);
    isl_map *either = isl_map_union(a->pairs.copy(), b->pairs.copy());
    return kept(isl_map_intersect(either, one.intersect(other).release()),
                smaller ? std::min(a->lo, b->lo) : std::max(a->lo, b->lo),
                smaller ? std::min(a->hi, b->hi) : std::max(a->hi, b->hi));
  }

  /// a & b has no bits that one of them, if it is not negative, does not have.
  Possible of_bits(const Possible &a, const Possible &b) const {
    Possible result;
    for (const Possible *each : {&a, &b}) {
      const isl::map below = any_value(site_.domain).lower_bound_si(isl::dim::out, 0, 0);
      if (*each && checked(isl::manage(isl_map_is_subset((*each)->pairs.get(), below.get())),
                           doing_possible_values)) {
        const Possible found = kept(then(**each, value_relation("0 <= v <= a")), 0, (*each)->hi);
        result = result && found
                     ? kept(isl_map_intersect(result->pairs.copy(), found->pairs.copy()), 0,
                            std::min(result->hi, found->hi))
                     : found;
      }
    }
    return result;
  }

  static Possible divided(const Possible &a, std::int64_t divisor) {
    const std::string number = std::to_string(divisor);
    return a ? kept(then(*a, value_relation("v = floor(a / " + number + ")")), std::min(a->lo, 0.0),
                    std::max(a->hi, 0.0))
             : std::nullopt;
  }

  static Possible scaled(const Values &a, std::int64_t factor) {
    if (!is_small(factor)) {
      return std::nullopt;
    }
    const auto times = static_cast<double>(factor);
    return factor == 0 ? std::nullopt
                       : computed(then(a, value_relation("v = " + std::to_string(factor) + " * a")),
                                  std::min(times * a.lo, times * a.hi),
                                  std::max(times * a.lo, times * a.hi));
  }

  // ---- what is known ----

  Possible with_facts(const ExprPtr &expr, const std::vector<Fact> &facts,
                      const std::vector<Alternatives> &alternatives, Possible known) {
    for (const Fact &fact : facts) {
      known = with_fact(expr, fact, std::move(known));
    }
    for (const Alternatives &each : alternatives) {
      known = with_alternatives(expr, each, known);
    }
    return known;
  }

  /// One of two facts holds: the values that one or the other leaves, where it may hold.
  Possible with_alternatives(const ExprPtr &expr, const Alternatives &facts,
                             const Possible &known) {
    if (in_fact_) {
      return known;
    }
    const Possible before =
        known ? known : kept(any_value(site_.domain).release(), -infinity, infinity);
    Possible result;
    for (const Fact &fact : {facts.first, facts.second}) {
      std::vector<Fact> comparisons;
      std::vector<Alternatives> more;
      comparisons_of(fact, comparisons, &more);
      Possible found = with_facts(expr, comparisons, more, before);
      for (const Fact &each : comparisons) {
        const auto set = to_set(each.condition, site_.space);
        if (found && set) {
          const isl::set where = each.holds ? *set : set->complement();
          found = kept(isl_map_intersect_domain(found->pairs.copy(), where.copy()), found->lo,
                       found->hi);
        }
      }
      if (!found) {
        return known;
      }
      result = result ? either(result, found) : found;
    }
    return result ? result : known;
  }

  Possible with_fact(const ExprPtr &expr, const Fact &fact, Possible known) {
    if (in_fact_ || !fact.condition->operands[0]->type.is_integer()) {
      return known;
    }
    // What wraps around says nothing of its terms.
    const Told said = told_of(expr, fact, site_.space, known && !known->may_wrap());
    const Op op = said.op;
    if (op == Op::None || op == Op::Ne) {
      return known;
    }
    in_fact_ = true;
    Possible bound = of_affine(said.other);
    bound = bound ? bound : in_type(of_node(said.other), *said.other);
    in_fact_ = false;
    for (const auto &[term, is_subtracted] : said.added) {
      const Possible other = of_affine(term);
      bound = bound && other ? kept(sum(*bound, *other, !is_subtracted), -infinity, infinity)
                             : std::nullopt;
    }
    if (!bound) {
      return known;
    }
    const char *text = op == Op::Lt   ? "v < a"
                       : op == Op::Le ? "v <= a"
                       : op == Op::Gt ? "v > a"
                       : op == Op::Ge ? "v >= a"
                                      : "v = a";
    const isl::map limited =
        checked(isl::manage(then(*bound, value_relation(text))), doing_possible_values);
    const double lo = op == Op::Lt || op == Op::Le ? -infinity : bound->lo;
    const double hi = op == Op::Gt || op == Op::Ge ? infinity : bound->hi;
    return known ? kept(isl_map_intersect(known->pairs.copy(), limited.copy()),
                        std::max(known->lo, lo), std::min(known->hi, hi))
                 : kept(limited.copy(), lo, hi);
  }

  // ---- floating-point numbers ----

  FloatRange floats(const ExprPtr &expr) {
    if (const auto known = floats_.find(expr.get()); known != floats_.end()) {
      return known->second;
    }
    if (++findings_.visited > most_nodes) {
      return any_float();
    }
    count_visit();
    FloatRange result = of_float_node(expr);
    for (const Fact &fact : facts_) {
      if (fact.condition->operands[0]->type.is_floating() && !in_fact_) {
        const Told said = told_of(expr, fact, site_.space, false);
        // A comparison that does not hold may be one with NaN.
        if (said.op != Op::None && fact.holds) {
          in_fact_ = true;
          result = restricted(result, said.op, of_float_node(said.other));
          in_fact_ = false;
        }
      }
    }
    floats_.insert_or_assign(expr.get(), result);
    return result;
  }

  FloatRange of_float_node(const ExprPtr &expr) {
    switch (expr->kind) {
    case ExprKind::Constant: {
      const auto *value = std::get_if<double>(&expr->value);
      return value && !std::isnan(*value) ? FloatRange{*value, *value, false} : any_float();
    }
    case ExprKind::Access:
      return of_float_element(*expr);
    case ExprKind::Cast:
      return of_float_cast(*expr);
    case ExprKind::Select: {
      std::vector<FloatRange> branches(2);
      for (const bool holds : {true, false}) {
        in_branch(*expr, holds, [&](Finder &inside, const ExprPtr &value) {
          branches[holds ? 0 : 1] = inside.floats(value);
        });
      }
      return tilewright::either(branches[0], branches[1]);
    }
    case ExprKind::Unary:
    case ExprKind::Binary:
    case ExprKind::Call: {
      std::vector<FloatRange> operands;
      for (const ExprPtr &operand : expr->operands) {
        if (!operand->type.is_floating()) {
          return any_float();
        }
        operands.push_back(floats(operand));
      }
      return range_of(expr->op, expr->type, operands);
    }
    default:
      return any_float();
    }
  }

  FloatRange of_float_cast(const Expr &expr) {
    const ExprPtr &from = expr.operands[0];
    if (from->type.is_floating()) {
      return range_of(Op::Add, expr.type, {floats(from), {0, 0, false}});
    }
    if (from->type.is_bool()) {
      return {0, 1, false};
    }
    if (!from->type.is_integer()) {
      return any_float();
    }
    FloatRange result{least(from->type), most(from->type), false};
    if (const Possible found = values(from)) {
      const isl::set numbers =
          checked(found->pairs.range().project_out_all_params(), doing_possible_values);
      const isl::val lo = isl::manage(isl_set_dim_min_val(numbers.copy(), 0));
      const isl::val hi = isl::manage(isl_set_dim_max_val(numbers.copy(), 0));
      if (lo.is_int().is_true()) {
        result.lo = std::max(result.lo, isl_val_get_d(lo.get()));
      }
      if (hi.is_int().is_true()) {
        result.hi = std::min(result.hi, isl_val_get_d(hi.get()));
      }
    }
    return range_of(Op::Add, expr.type, {result, {0, 0, false}});
  }
};

} // namespace

std::optional<isl::map> possible_values(const ExprPtr &expr, const ValueSite &site) {
  Findings findings;
  const Possible found = Finder(site, findings).values(expr);
  return found ? std::optional(found->pairs) : std::nullopt;
}

} // namespace tilewright
