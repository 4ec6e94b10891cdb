#include "lowering/joined_reads.h"

#include "algorithm/expression_key.h"
#include "algorithm/function_extents.h"
#include "algorithm/possible_values.h"
#include "algorithm/predicates.h"
#include "lowering/expression_forms.h"
#include "lowering/expressions.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

constexpr size_t most_branches = 8;
constexpr const char *doing_joined_reads = "finding what is read in one place";

/// A subscript: affine, or as data say, and then checked against the buffer's extent. What is
/// affine in such a sum stands apart, so that the order of its terms plays no part.
struct Subscript {
  std::optional<isl::pw_aff> affine;
  ExpressionKey key;
  std::optional<isl::pw_aff> rest; ///< beside the key; none for 0
};

/// A condition by which data are an affine value: p[i] == 0.
struct Equality {
  ExpressionKey key;
  isl::pw_aff value;
};

struct Branch {
  const Expr *read = nullptr;
  isl::set instances;            ///< that take it
  std::vector<Equality> holding; ///< for them
  size_t buffer = 0;
  std::vector<Subscript> index; ///< in the buffer
  bool is_whole = true;         ///< its subscripts are checked against the buffer's extents
};

class Branches {
public:
  Branches(const IterationSpace &space, const Program &program)
      : space_(space), program_(program) {}

  /// False where something is chosen that is no read of the memory of the others.
  bool add(const Expr &value, const isl::set &instances) {
    if (checked(instances.is_empty(), doing_joined_reads)) {
      return true;
    }
    if (value.kind == ExprKind::Select) {
      const size_t known = holding_.size();
      facts_.push_back({value.operands[0], true});
      const bool has_first = add(*value.operands[1], where(value.operands[0], instances));
      holding_.resize(known);
      facts_.back().holds = false;
      const auto holds = to_set(value.operands[0], space_);
      const bool has_both =
          has_first && add(*value.operands[2], holds ? instances.subtract(*holds) : instances);
      facts_.pop_back();
      return has_both;
    }
    auto branch = branch_of(value, instances);
    if (!branch || (!found_.empty() && branch->buffer != found_.front().buffer)) {
      return false;
    }
    branch->instances = instances;
    branch->holding = holding_;
    found_.push_back(std::move(*branch));
    return true;
  }

  /// Rather one of the array itself: an error speaks of it.
  const Expr *joined() const {
    const Expr *read = nullptr;
    for (const Branch &one : found_) {
      const bool stands_for_all =
          one.is_whole && std::all_of(found_.begin(), found_.end(), [&](const Branch &other) {
            return &other == &one || are_same(one, other);
          });
      if (stands_for_all && program_.buffers.at(one.buffer).name == one.read->producer->name) {
        return one.read;
      }
      if (stands_for_all && read == nullptr) {
        read = one.read;
      }
    }
    return read;
  }

private:
  /// The instances for which a condition may hold; what else it says is noted. If data decide, all
  /// instances may take either branch.
  isl::set where(const ExprPtr &condition, isl::set instances) {
    for (const ExprPtr &part : conjuncts_of(condition)) {
      if (const auto holds = to_set(part, space_)) {
        instances = instances.intersect(*holds);
      } else if (part->op == Op::Eq) {
        note_equality(part->operands[0], part->operands[1]);
        note_equality(part->operands[1], part->operands[0]);
      }
    }
    return instances;
  }

  void note_equality(const ExprPtr &data, const ExprPtr &value) {
    auto affine = to_affine(value, space_);
    ExpressionKey key = affine ? key_of(data) : ExpressionKey{};
    if (!key.text.empty()) {
      holding_.push_back({std::move(key), *affine});
    }
  }

  std::optional<Branch> branch_of(const Expr &value, const isl::set &instances) const {
    if (value.kind != ExprKind::Access || value.position != 0) {
      return std::nullopt;
    }
    const auto place = program_.places.find(value.producer->name);
    if (place == program_.places.end()) {
      return std::nullopt;
    }
    Branch branch;
    branch.read = &value;
    branch.buffer = place->second.buffer;
    const std::vector<ExprPtr> index = index_of_read(value, place->second);
    const bool is_inside = program_.buffers.at(branch.buffer).level > 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const ExprPtr at = is_inside ? from_its_begin(index[d]) : index[d];
      Subscript subscript{to_affine(at, space_), {}, {}};
      if (!subscript.affine) {
        subscript = of_data(index[d]);
        if (subscript.key.text.empty()) {
          return std::nullopt;
        }
        if (!is_whole(*value.producer, place->second, d)) {
          branch.is_whole = false;
          if (!is_not_beyond(value, instances)) {
            return std::nullopt;
          }
        }
      }
      branch.index.push_back(std::move(subscript));
    }
    return branch;
  }

  /// Whether the subscripts of a read are not beyond the elements that there are, as far as the
  /// conditions of the choice say. Its own check then fails only below 0, as the buffer's does.
  bool is_not_beyond(const Expr &read, const isl::set &instances) const {
    const Computation &producer = *read.producer;
    if (producer.extents.size() < read.operands.size()) {
      return false;
    }
    for (size_t d = 0; d < read.operands.size(); ++d) {
      if (to_affine(read.operands[d], space_)) {
        continue; // the declaration was refused if it were
      }
      const auto values = possible_values(read.operands[d], {space_, instances, facts_});
      const auto extent = to_affine(producer.extents[d], space_);
      if (!values || !extent) {
        return false;
      }
      const isl::map below =
          checked(isl::manage(isl_map_from_pw_aff(extent->copy())), doing_joined_reads);
      isl_map *good = isl_map_apply_range(
          below.copy(), isl::map(isl_context(), "{ [n] -> [v] : v < n }").release());
      const isl::map found = values->intersect_domain(instances);
      if (!checked(isl::manage(isl_map_is_subset(found.get(), isl::manage(good).get())),
                   doing_joined_reads)) {
        return false;
      }
    }
    return true;
  }

  /// A sum that is not affine: the terms that data decide about, one after the other as a key, and
  /// the rest. Of one term with a plus, the key is its own.
  Subscript of_data(const ExprPtr &sum) const {
    std::vector<std::pair<ExprPtr, bool>> terms; // and whether they are taken off
    ExprPtr rest;
    const std::function<void(const ExprPtr &, bool)> add = [&](const ExprPtr &term,
                                                               bool is_taken_off) {
      if (to_affine(term, space_)) {
        const ExprPtr known = rest ? rest : constant(std::int64_t{0}, Int64);
        rest = binary(is_taken_off ? Op::Sub : Op::Add, known, term);
      } else if (term->kind == ExprKind::Binary && (term->op == Op::Add || term->op == Op::Sub)) {
        add(term->operands[0], is_taken_off);
        add(term->operands[1], is_taken_off != (term->op == Op::Sub));
      } else {
        terms.emplace_back(term, is_taken_off);
      }
    };
    add(sum, false);
    Subscript found;
    found.rest = rest ? to_affine(rest, space_) : std::nullopt;
    for (const auto &[term, is_taken_off] : terms) {
      ExpressionKey key = key_of(term);
      if (key.text.empty()) {
        return {};
      }
      found.key.text += found.key.text.empty() ? "" : "; ";
      found.key.text += is_taken_off ? "-" + key.text : key.text;
      found.key.iterators.insert(found.key.iterators.end(), key.iterators.begin(),
                                 key.iterators.end());
    }
    return found;
  }

  /// A buffer inside of loops begins at an element that these decide, the same for all that lies in
  /// it.
  static ExprPtr from_its_begin(const ExprPtr &index) {
    return substitute(index, [](const std::string &name) {
      return name.front() == '@' ? constant(std::int64_t{0}, Int64) : nullptr;
    });
  }

  /// Are subscripts along a dimension of the buffer checked against its extent there?
  bool is_whole(const Computation &producer, const Program::Place &place, size_t dimension) const {
    size_t own = dimension;
    if (program_.buffers.at(place.buffer).name != producer.name) {
      const ExprPtr &index = place.index.at(dimension);
      const auto found =
          std::find(producer.iterators.begin(), producer.iterators.end(), index->name);
      if (index->kind != ExprKind::Iterator || found == producer.iterators.end()) {
        return false;
      }
      own = static_cast<size_t>(found - producer.iterators.begin());
    }
    const ExprPtr &extent = program_.buffers.at(place.buffer).extents.at(dimension);
    return own >= producer.extents.size() || // then that of the place is asked
           key_of(least_zero(producer.extents[own])).text == key_of(least_zero(extent)).text;
  }

  /// An extent that may be said to be no less than 0, as it is said without that.
  static ExprPtr least_zero(const ExprPtr &extent) {
    if (extent->kind != ExprKind::Binary || extent->op != Op::Max) {
      return extent;
    }
    const ExprPtr &first = extent->operands[0];
    const ExprPtr &second = extent->operands[1];
    return is_zero(first) ? second : is_zero(second) ? first : extent;
  }

  static bool is_equal(const isl::pw_aff &one, const isl::pw_aff &other,
                       const isl::set &instances) {
    return checked(instances.is_subset(one.eq_set(other)), doing_joined_reads);
  }

  static bool is_same_rest(const Subscript &one, const Subscript &other,
                           const isl::set &instances) {
    if (one.rest && other.rest) {
      return is_equal(*one.rest, *other.rest, instances);
    }
    const auto &only = one.rest ? one.rest : other.rest;
    return !only || is_equal(*only, only->sub(*only), instances);
  }

  /// Whether `one` is what `other` is, for the instances that take `other`.
  static bool are_same(const Branch &one, const Branch &other) {
    for (size_t d = 0; d < one.index.size(); ++d) {
      const Subscript &mine = one.index[d];
      const Subscript &its = other.index[d];
      if (!mine.affine && its.affine) { // data say that it is, too
        if (std::none_of(other.holding.begin(), other.holding.end(), [&](const Equality &known) {
              const isl::pw_aff value = mine.rest ? known.value.add(*mine.rest) : known.value;
              return known.key.text == mine.key.text && known.key.iterators == mine.key.iterators &&
                     is_equal(value, *its.affine, other.instances);
            })) {
          return false;
        }
        continue;
      }
      if (!mine.affine || !its.affine) {
        if (mine.affine || its.affine || mine.key.text != its.key.text ||
            mine.key.iterators != its.key.iterators || !is_same_rest(mine, its, other.instances)) {
          return false;
        }
        continue;
      }
      if (!is_equal(*mine.affine, *its.affine, other.instances)) {
        return false;
      }
    }
    return true;
  }

  const IterationSpace &space_;
  const Program &program_;
  std::vector<Branch> found_;
  std::vector<Equality> holding_; ///< in the branch that is looked at
  std::vector<Fact> facts_;       ///< conditions on the way, and whether they hold
};

/// What is chosen, as far as it is read; false where it is computed.
bool collect_reads(const Expr &value, std::vector<const Expr *> &reads) {
  if (value.kind == ExprKind::Select) {
    return collect_reads(*value.operands[1], reads) && collect_reads(*value.operands[2], reads);
  }
  if (value.kind == ExprKind::Access) {
    reads.push_back(&value);
  }
  return reads.size() <= most_branches &&
         (value.kind == ExprKind::Access || value.kind == ExprKind::Constant);
}

} // namespace

const Expr *joined_read(const Expr &choice, const isl::set &instances, const IterationSpace &space,
                        const Program &program) {
  std::vector<const Expr *> reads;
  if (!collect_reads(choice, reads) || reads.size() < 2) {
    return nullptr; // without asking isl
  }
  Branches branches(space, program);
  return branches.add(choice, instances) ? branches.joined() : nullptr;
}

const Expr *ExpressionTranslator::joined(const Expr &choice) const {
  if (is_traced_ || state_.instrumentation.bounds || frame_.domain.is_null()) {
    return nullptr;
  }
  return joined_read(choice, frame_.domain.intersect_params(state_.program.context),
                     {statement_.name, frame_.names}, state_.program);
}

} // namespace tilewright
