#include "algorithm/isolate_reductions.h"

#include "algorithm/block.h"
#include "algorithm/expression_depth.h"
#include "algorithm/expression_key.h"
#include "algorithm/extrema.h"
#include "algorithm/free_iterators.h"
#include "algorithm/function_copy.h"
#include "algorithm/function_extents.h"
#include "algorithm/instance_walk.h"
#include "algorithm/joined_reductions.h"
#include "algorithm/predicates.h"
#include "algorithm/reductions.h"
#include "algorithm/repeated_parts.h"
#include "algorithm/window_values.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

constexpr const char *doing_isolate = "isolating a reduction";

/// A reduction of so many terms is written out where it stands.
constexpr std::int64_t few_terms = 16;

std::optional<std::int64_t> known_integer(const ExprPtr &value) {
  const auto *number =
      value->kind == ExprKind::Constant ? std::get_if<std::int64_t>(&value->value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

/// Has the reduction few terms, whatever the parameters are?
bool has_few_terms(const Expr &reduction) {
  std::int64_t terms = 1;
  for (const ReduceRange &range : reduction.ranges) {
    const auto lower = known_integer(range.lower);
    const auto upper = known_integer(range.upper);
    if (!lower || !upper || *upper - *lower > few_terms * range.step) {
      return false;
    }
    terms *= (std::max<std::int64_t>(0, *upper - *lower) + range.step - 1) / range.step;
    if (terms > few_terms) {
      return false;
    }
  }
  return true;
}

/// The first one in the part of an expression, as it is written.
ExprPtr first_reduction(const ExprPtr &part) {
  const auto goes_below = [](const Expr &node) { return node.kind != ExprKind::Reduce; };
  for (const ExprPtr &node : parents_first({part}, goes_below)) {
    if (node->kind == ExprKind::Reduce) {
      return node;
    }
  }
  return part;
}

/// Is it a part of a loop over states (tw.while_loop, tw.fold), and reads them?
bool reads_outer_states(const ExprPtr &part) {
  if (!contains_kind(part, ExprKind::State)) {
    return false;
  }
  std::set<const Expr *> read;
  std::set<const Expr *> own;
  visit(part, [&](const ExprPtr &node) {
    if (node->kind == ExprKind::State) {
      read.insert(node.get());
    }
    for (const ExprPtr &variable : node->states) {
      own.insert(variable.get());
    }
  });
  return !std::includes(own.begin(), own.end(), read.begin(), read.end());
}

/// What was isolated, by key.
struct Isolated {
  ComputationPtr computation;
  /// For each of its iterators, which one of the key's it is.
  std::vector<size_t> positions;
};
using Registry = std::map<std::string, Isolated>;

/// A part of an expression that may be isolated.
struct Found {
  ExprPtr part;
  ExpressionKey key;
  std::vector<std::string> iterators; ///< that it uses, in the order of the loops around it
  std::optional<isl::set> certain;    ///< for which of their values it is computed for certain
  std::optional<isl::set> doubtful;   ///< those for which data decide
};

void unite(std::optional<isl::set> &known, const isl::set &more) {
  known = known ? checked(known->unite(more).coalesce(), doing_isolate) : more;
}

/// Is there a reduction beside the one that the computation is scheduled by? Asked of every
/// function: it takes no isl.
bool is_worth_while(const Computation &computation) {
  std::set<const Expr *> reductions;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::Reduce) {
        reductions.insert(node.get());
      }
    });
  }
  if (reductions.size() != 1) {
    return !reductions.empty();
  }
  const ExprPtr scheduled = scheduled_reduction(computation);
  return scheduled == nullptr || (scheduled != computation.pieces.front().value &&
                                  FreeIterators().of(scheduled).size() != computation.rank());
}

/// Does it stand around a fold of several states?
bool is_around_states(const ExprPtr &part) {
  return !has_several_states(*part) && contains_several_states(part);
}

/// All results of a fold have the key of the first one.
ExpressionKey key_of_part(const ExprPtr &part) {
  return key_of(has_several_states(*part) ? first_result(part) : part);
}

/// The parts of one computation that may be isolated, none of them inside of another.
class Search {
public:
  Search(const Computation &computation, const RepeatedParts &repeated, const Registry &registry)
      : computation_(computation), repeated_(repeated), registry_(registry), own_(own_reduction()) {
  }

  std::vector<Found> find() {
    InstanceWalk walk;
    walk.name = computation_.name;
    walk.visit = [&](const InstanceNode &at) {
      if (contains_kind(at.node, ExprKind::Reduce)) {
        return !add(at);
      }
      return repeated_.has_values() && !(RepeatedParts::is_costly(*at.node) && add(at));
    };
    for (const Piece &piece : computation_.pieces) {
      walk({piece.value}, piece.domain, computation_.iterators);
    }
    std::for_each(found_.begin(), found_.end(), [&](Found &found) { order(found); });
    return std::move(found_);
  }

private:
  /// By whose terms the computation is scheduled: of those that use all iterators the first one,
  /// which nobody else needs.
  ExprPtr own_reduction() {
    for (const ExprPtr &node : schedulable_reductions(computation_)) {
      const bool is_all = node == computation_.pieces.front().value && !is_of_other(node);
      if (is_all || (free_.of(node).size() == computation_.rank() &&
                     !repeated_.has_reduction(key_of_part(node).text) && !is_shared(node))) {
        return node;
      }
    }
    return nullptr;
  }

  /// Is it a fold of several states that others need as well?
  bool is_shared(const ExprPtr &node) const {
    return repeated_.has_folds() && has_several_states(*node) &&
           repeated_.has_fold(key_of_part(node).text);
  }

  /// Is there a computation that is nothing else?
  bool is_of_other(const ExprPtr &node) const {
    const auto known = is_shared(node) ? registry_.find(key_of_part(node).text) : registry_.end();
    return known != registry_.end() && known->second.computation.get() != &computation_;
  }

  /// Is it the computation's own reduction, or another result of it?
  bool is_own(const ExprPtr &node) const {
    return own_ && (node == own_ || (has_several_states(*node) && has_several_states(*own_) &&
                                     node->operands.front() == own_->operands.front()));
  }

  /// False where the part stays: then what it is made of is looked at.
  bool add(const InstanceNode &at) {
    const std::set<std::string> &used = free_.of(at.node);
    const std::set<std::string> around(at.iterators.begin(), at.iterators.end());
    std::vector<unsigned> kept;
    for (unsigned d = 0; d < at.iterators.size(); ++d) {
      if (used.contains(at.iterators[d])) {
        kept.push_back(d);
      }
    }
    // A name may stand for two loops, one inside of the other, or for a variable of a while loop.
    // What changes the type, a comparison above all, leaves the reduction to others who need it.
    const bool keeps_type =
        has_several_states(*at.node) || at.node->type == first_reduction(at.node)->type;
    if (is_own(at.node) || is_all(at.node) || is_around_states(at.node) || !keeps_type ||
        kept.size() != used.size() || around.size() != at.iterators.size() ||
        at.node->op == Op::ReduceFold || is_of_block(*at.node) ||
        at.node->kind == ExprKind::While || reads_outer_states(at.node)) {
      return false;
    }
    ExpressionKey key = key_of_part(at.node);
    const bool is_whole = kept.size() == at.iterators.size();
    const bool has_reduction = contains_kind(at.node, ExprKind::Reduce);
    if ((is_whole || !has_reduction) && !is_isolated_whole(*at.node, key)) {
      return false;
    }
    auto known = std::find_if(found_.begin(), found_.end(),
                              [&](const Found &other) { return other.part == at.node; });
    if (known == found_.end()) {
      known = found_.insert(found_.end(), {at.node, std::move(key), {}, {}, {}});
      for (const unsigned d : kept) {
        known->iterators.push_back(at.iterators[d]);
      }
    }
    unite(at.certain ? known->certain : known->doubtful, projected(at, kept));
    return true;
  }

  /// Is a value that others may need all that is computed here?
  bool is_all(const ExprPtr &node) const {
    return RepeatedParts::is_costly(*node) &&
           std::any_of(computation_.pieces.begin(), computation_.pieces.end(),
                       [&](const Piece &piece) { return piece.value == node; });
  }

  /// Of a part that uses all iterators around it, or has no reduction.
  bool is_isolated_whole(const Expr &part, const ExpressionKey &key) const {
    if (const auto known = registry_.find(key.text); known != registry_.end()) {
      return known->second.computation.get() != &computation_;
    }
    if (repeated_.has_value(key.text)) {
      return RepeatedParts::is_costly(part);
    }
    return is_combined(part) &&
           (repeated_.has_reduction(key.text) || repeated_.has_fold(key.text) ||
            !has_few_terms(*reduction_of(part)));
  }

  /// Of a value of windows, neighbouring results stand side by side (window_values.h).
  void order(Found &found) const {
    const std::vector<std::string> &own = computation_.iterators;
    const auto of_results =
        std::count_if(found.iterators.begin(), found.iterators.end(), [&](const std::string &name) {
          return std::find(own.begin(), own.end(), name) != own.end();
        });
    const isl::set &values = found.certain ? *found.certain : *found.doubtful;
    if (of_results == 0 || contains_kind(found.part, ExprKind::Reduce) ||
        !is_of_windows(found.part, found.iterators, static_cast<size_t>(of_results), values)) {
      return;
    }
    const auto last = found.iterators.begin() + of_results - 1;
    std::rotate(last, last + 1, found.iterators.end());
    for (std::optional<isl::set> *set : {&found.certain, &found.doubtful}) {
      if (*set) {
        *set = with_last(**set, static_cast<unsigned>(of_results - 1));
      }
    }
  }

  static isl::set projected(const InstanceNode &at, const std::vector<unsigned> &kept) {
    isl_set *set = isl_set_reset_tuple_id(at.domain.copy());
    for (auto d = static_cast<unsigned>(at.iterators.size()); d-- > 0;) {
      if (std::find(kept.begin(), kept.end(), d) == kept.end()) {
        set = isl_set_project_out(set, isl_dim_set, d, 1);
      }
    }
    return checked(isl::manage(set), doing_isolate);
  }

  const Computation &computation_;
  const RepeatedParts &repeated_;
  const Registry &registry_;
  FreeIterators free_;
  ExprPtr own_;
  std::vector<Found> found_;
};

/// A function while its reductions are isolated.
class Isolation {
public:
  explicit Isolation(const Function &function)
      : result_(copy_function(function, copies_)), repeated_(*result_) {
    names_.insert(function.parameters.begin(), function.parameters.end());
    for (const auto *list : {&result_->inputs, &result_->computations}) {
      for (const ComputationPtr &computation : *list) {
        names_.insert(computation->name);
      }
    }
  }

  /// Null where nothing was isolated.
  std::shared_ptr<const Function> run() {
    find_shared_folds();
    // What was isolated is looked at as well.
    std::vector<ComputationPtr> open(result_->computations.rbegin(), result_->computations.rend());
    while (!open.empty()) {
      const ComputationPtr computation = open.back();
      open.pop_back();
      const std::vector<ComputationPtr> made = isolate(*computation);
      open.insert(open.end(), made.rbegin(), made.rend());
      isolated_.insert(made.begin(), made.end());
    }
    if (isolated_.empty() && !changed_) {
      return nullptr;
    }
    put_before_readers();
    return result_;
  }

private:
  /// Of folds of several states that several computations need, one may be such a fold and nothing
  /// else: the others read its states.
  void find_shared_folds() {
    if (!repeated_.has_folds()) {
      return;
    }
    for (const ComputationPtr &computation : result_->computations) {
      const ExprPtr value =
          computation->pieces.size() == 1 ? computation->pieces.front().value : nullptr;
      if (value == nullptr || !has_several_states(*value) ||
          scheduled_reduction(*computation) != value) {
        continue;
      }
      const ExpressionKey key = key_of_part(value);
      if (repeated_.has_fold(key.text) && key.iterators.size() == computation->rank() &&
          registry_.emplace(key.text, isolated_as(computation, key)).second) {
        isolated_.insert(computation);
      }
    }
  }

  /// `computation`, whose iterators are those of the key.
  static Isolated isolated_as(const ComputationPtr &computation, const ExpressionKey &key) {
    Isolated isolated{computation, {}};
    const std::vector<std::string> &all = key.iterators;
    for (const std::string &iterator : computation->iterators) {
      isolated.positions.push_back(
          static_cast<size_t>(std::find(all.begin(), all.end(), iterator) - all.begin()));
    }
    return isolated;
  }

  std::vector<ComputationPtr> isolate(Computation &reader) {
    if (!is_worth_while(reader) && !repeated_.has_values() && !repeated_.has_folds()) {
      return {};
    }
    for (Piece &piece : reader.pieces) {
      const ExprPtr joined = with_joined_reductions(piece.value);
      changed_ = changed_ || joined != piece.value;
      piece.value = joined;
    }
    std::vector<ComputationPtr> made;
    std::unordered_map<const Expr *, ExprPtr> reads;
    std::vector<Found> parts = Search(reader, repeated_, registry_).find();
    std::erase_if(parts, [&](const Found &found) {
      return needs(found.part, reader) && !picks_results(found);
    });
    for (const Found &found : parts) {
      if (!is_certain(found)) {
        continue;
      }
      if (const auto read = known_read(found, reader)) {
        reads[found.part.get()] = read;
        continue;
      }
      Isolated isolated = declared(found, reader);
      if (isolated.computation == nullptr) {
        continue;
      }
      made.push_back(isolated.computation);
      reads[found.part.get()] = read_of(isolated, found, reader);
      if (!found.key.text.empty()) {
        registry_[found.key.text] = std::move(isolated);
      }
    }
    for (const Found &found : parts) { // that data decide about, and others need for certain
      if (const auto read =
              reads.contains(found.part.get()) ? nullptr : known_read(found, reader)) {
        reads[found.part.get()] = read;
      }
    }
    for (Piece &piece : reader.pieces) {
      piece.value = reads.empty() ? piece.value : with_replaced(piece.value, reads);
    }
    return made;
  }

  /// The read of what was isolated before and is the same; null where there is none.
  ExprPtr known_read(const Found &found, const Computation &reader) const {
    const auto known = registry_.find(found.key.text);
    return known != registry_.end() && holds(known->second, found)
               ? read_of(known->second, found, reader)
               : nullptr;
  }

  /// Is it computed wherever it is read?
  static bool is_certain(const Found &found) {
    return found.certain &&
           (!found.doubtful || checked(found.doubtful->is_subset(*found.certain), doing_isolate));
  }

  /// Does it need, directly or through others, what its reader computes?
  static bool needs(const ExprPtr &part, const Computation &reader) {
    std::set<const Computation *> seen;
    std::vector<ExprPtr> open = {part};
    bool reaches = false;
    while (!open.empty() && !reaches) {
      const ExprPtr value = open.back();
      open.pop_back();
      visit(value, [&](const ExprPtr &node) {
        if (node->kind != ExprKind::Access || !seen.insert(node->producer.get()).second) {
          return;
        }
        reaches = reaches || node->producer.get() == &reader;
        for (const Piece &piece : node->producer->pieces) {
          open.push_back(piece.value);
        }
      });
    }
    return reaches;
  }

  /// Do data pick a result for each term, as in sum(x[src[e]] for e where dst[e] == n)? Then the
  /// terms are gone through once for all results, if the sum has loops of its own.
  static bool picks_results(const Found &found) {
    const std::set<std::string> compared =
        compared_iterators(first_reduction(found.part)->predicate);
    for (size_t d = 1; d < found.iterators.size(); ++d) { // the first one is that of the recurrence
      if (compared.contains(found.iterators[d])) {
        return true;
      }
    }
    return false;
  }

  /// Does it have all elements that are needed here?
  static bool holds(const Isolated &isolated, const Found &found) {
    const auto rank = static_cast<unsigned>(found.iterators.size());
    std::optional<isl::set> all = found.certain;
    if (found.doubtful) {
      unite(all, *found.doubtful);
    }
    isl_space *needed = isl_set_get_space(all->get());
    isl_map *order = isl_map_universe(isl_space_align_params(
        isl_space_map_from_set(isl_set_get_space(isolated.computation->domain.get())), needed));
    order = isl_map_reset_tuple_id(order, isl_dim_in);
    for (unsigned d = 0; d < rank; ++d) {
      order = isl_map_equate(order, isl_dim_in, static_cast<int>(place_of(isolated, found, d)),
                             isl_dim_out, static_cast<int>(d));
    }
    const isl::set there = isl::manage(isl_set_apply(all->copy(), order));
    return checked(there.is_subset(isolated.computation->domain), doing_isolate);
  }

  /// Which of its own iterators stands for iterator `d` of what was isolated.
  static size_t place_of(const Isolated &isolated, const Found &found, size_t d) {
    const std::string &name = found.key.iterators[isolated.positions[d]];
    return static_cast<size_t>(std::find(found.iterators.begin(), found.iterators.end(), name) -
                               found.iterators.begin());
  }

  static ExprPtr read_of(const Isolated &isolated, const Found &found, const Computation &reader) {
    std::vector<ExprPtr> subscripts;
    for (size_t d = 0; d < found.iterators.size(); ++d) {
      subscripts.push_back(iterator(found.iterators[place_of(isolated, found, d)]));
    }
    return has_several_states(*found.part)
               ? access_state(isolated.computation, subscripts, found.part->position,
                              found.part->type, reader.where)
               : access(isolated.computation, subscripts, reader.where);
  }

  std::string new_name(const std::string &reader, const ExprPtr &part) {
    const Op op = RepeatedParts::is_costly(*part) ? part->op : first_reduction(part)->op;
    const std::string stem = reader + "_" + (op == Op::Pow ? "power" : op_name(op));
    std::string name = stem;
    for (int number = 2; !names_.insert(name).second; ++number) {
      name = stem + std::to_string(number);
    }
    return name;
  }

  /// Its loops count what those of the reader of the same name count: they may be shared.
  static void copy_strides(Computation &isolated, const Computation &reader) {
    if (reader.strides.empty()) {
      return;
    }
    const std::vector<std::string> &kept = isolated.iterators;
    isolated.strides.resize(kept.size());
    FreeIterators free;
    for (size_t d = 0; d < reader.rank(); ++d) {
      const auto position = std::find(kept.begin(), kept.end(), reader.iterators[d]);
      if (position == kept.end() || reader.strides[d].step == 1) {
        continue;
      }
      const std::set<std::string> &used = free.of(reader.strides[d].first);
      if (std::all_of(used.begin(), used.end(), [&](const std::string &name) {
            return std::find(kept.begin(), position, name) != position;
          })) {
        isolated.strides[static_cast<size_t>(position - kept.begin())] = reader.strides[d];
      }
    }
  }

  /// Nothing where there can be no such computation: it would have no shape.
  Isolated declared(const Found &found, const Computation &reader) {
    const std::string name = new_name(reader.name, found.part);
    isl_set *domain = isl_set_set_tuple_name(found.certain->copy(), name.c_str());
    for (unsigned d = 0; d < found.iterators.size(); ++d) {
      domain = isl_set_set_dim_name(domain, isl_dim_set, d, found.iterators[d].c_str());
    }
    const ExprPtr value = has_several_states(*found.part) ? first_result(found.part) : found.part;
    ComputationPtr computation;
    try {
      computation = declare_computation(to_text(checked(isl::manage(domain), doing_isolate)),
                                        value->type, {}, reader.where);
      define_piece(computation, nullptr, value, reader.where);
      begin_at_domain(*computation);
    } catch (const Error &error) {
      if (error.kind == ErrorKind::Internal || error.kind == ErrorKind::Limit) {
        throw;
      }
      names_.erase(name);
      return {};
    }
    copy_strides(*computation, reader);
    return isolated_as(computation, found.key);
  }

  /// What was isolated stands before all that read it.
  void put_before_readers() {
    std::vector<ComputationPtr> ordered;
    std::set<const Computation *> placed;
    const auto place = [&](const auto &self, const ComputationPtr &computation) -> void {
      if (!placed.insert(computation.get()).second) {
        return;
      }
      for (const Piece &piece : computation->pieces) {
        visit(piece.value, [&](const ExprPtr &node) {
          if (node->kind == ExprKind::Access && isolated_.contains(node->producer)) {
            self(self, node->producer);
          }
        });
      }
      ordered.push_back(computation);
    };
    for (const ComputationPtr &computation : result_->computations) {
      place(place, computation);
    }
    result_->computations = std::move(ordered);
  }

  Copies copies_;
  std::shared_ptr<Function> result_;
  RepeatedParts repeated_;
  Registry registry_;
  std::set<std::string> names_;
  std::set<ComputationPtr> isolated_;
  bool changed_ = false; ///< in another way
};

} // namespace

std::shared_ptr<const Function>
isolate_reductions(const std::shared_ptr<const Function> &declared) {
  std::shared_ptr<const Function> function = extrema_as_folds(declared);
  const auto has_work = [](const ComputationPtr &computation) {
    return is_worth_while(*computation) || RepeatedParts::computes_again(*computation) ||
           std::any_of(computation->pieces.begin(), computation->pieces.end(),
                       [](const Piece &piece) { return contains_several_states(piece.value); });
  };
  if (std::none_of(function->computations.begin(), function->computations.end(), has_work)) {
    return function;
  }
  auto isolated = Isolation(*function).run();
  return isolated ? isolated : function;
}

} // namespace tilewright
