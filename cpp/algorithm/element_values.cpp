#include "algorithm/element_values.h"

#include "algorithm/block.h"
#include "algorithm/existing.h"
#include "algorithm/expression_depth.h"
#include "algorithm/expression_key.h"
#include "algorithm/free_iterators.h"
#include "algorithm/function_copy.h"
#include "algorithm/function_extents.h"
#include "algorithm/instance_walk.h"
#include "algorithm/reductions.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>

namespace tilewright {

namespace {

/// Is there something to be computed at the root of the part?
bool computes(const Expr &node) {
  switch (node.kind) {
  case ExprKind::Unary:
    return node.type.is_floating() && node.op != Op::Neg; // products and sums take it for nothing
  case ExprKind::Binary:
  case ExprKind::Call:
    return node.type.is_floating();
  case ExprKind::Cast:
    return node.type.is_floating() && !node.operands.front()->type.is_floating();
  case ExprKind::Select:
    // A condition on indices bounds loops where it stands.
    return node.type.is_floating() && contains_kind(node.operands.front(), ExprKind::Access);
  default:
    return false;
  }
}

/// Is it made of elements, numbers, iterators and arithmetic alone? What data decide to be no value
/// at all (where=) is none to be kept.
bool is_plain(const ExprPtr &part) {
  constexpr std::array others = {ExprKind::Reduce, ExprKind::Fold,        ExprKind::State,
                                 ExprKind::While,  ExprKind::WhileResult, ExprKind::Extern};
  bool exists = true;
  visit(part, [&](const ExprPtr &node) { exists = exists && !is_nothing(*node); });
  return exists && std::none_of(others.begin(), others.end(),
                                [&](ExprKind kind) { return contains_kind(part, kind); });
}

class Search {
public:
  /// Of elements of `array`, or of any if it is empty. `bare`: the elements themselves.
  Search(const Computation &computation, std::string array, bool bare)
      : computation_(computation), array_(std::move(array)), bare_(bare) {}

  std::vector<ElementValue> find() {
    for (const Piece &piece : computation_.pieces) {
      add(piece.value);
    }
    return std::move(found_);
  }

private:
  void add(const ExprPtr &root) {
    std::set<const Expr *> parts; ///< of what was found
    const auto goes_below = [](const Expr &node) {
      return node.kind != ExprKind::Reduce && node.kind != ExprKind::Access &&
             node.kind != ExprKind::Select && node.kind != ExprKind::While &&
             node.kind != ExprKind::Fold;
    };
    for (const ExprPtr &node : parents_first({root}, goes_below)) {
      if (parts.contains(node.get())) {
        continue;
      }
      if (node->kind == ExprKind::Reduce && node->op != Op::ReduceFold && !node->predicate) {
        add(node->operands.front());
      } else if (auto value = value_at(node)) {
        visit(node, [&](const ExprPtr &part) { parts.insert(part.get()); });
        found_.push_back(std::move(*value));
      }
    }
  }

  std::optional<ElementValue> value_at(const ExprPtr &node) {
    const bool may_be = bare_ ? node->kind == ExprKind::Access : computes(*node);
    if (!may_be || !is_plain(node) || reads_itself(node)) {
      return std::nullopt;
    }
    const std::set<std::string> &used = free_.of(node);
    const auto goes_below = [](const Expr &part) { return part.kind != ExprKind::Access; };
    for (const ExprPtr &part : parents_first({node}, goes_below)) {
      if (part->kind != ExprKind::Access || part->operands.empty() ||
          (!array_.empty() && part->producer->name != array_)) {
        continue;
      }
      std::vector<std::string> iterators;
      for (const ExprPtr &subscript : part->operands) {
        if (subscript->kind == ExprKind::Iterator) {
          iterators.push_back(subscript->name);
        }
      }
      const std::set<std::string> names(iterators.begin(), iterators.end());
      if (iterators.size() == part->operands.size() && names.size() == iterators.size() &&
          std::includes(names.begin(), names.end(), used.begin(), used.end())) {
        return ElementValue{node, part, iterators};
      }
    }
    return std::nullopt;
  }

  bool reads_itself(const ExprPtr &node) const {
    bool reads = false;
    visit(node, [&](const ExprPtr &part) {
      reads = reads || (part->kind == ExprKind::Access && part->producer.get() == &computation_);
    });
    return reads;
  }

  const Computation &computation_;
  const std::string array_;
  const bool bare_;
  FreeIterators free_;
  std::vector<ElementValue> found_;
};

constexpr const char *doing_element_values = "the elements of which a value is kept";

/// The instances of a part of an expression as those of a computation over some of the iterators
/// around it.
isl::set instances_over(const InstanceNode &at, const std::vector<std::string> &iterators) {
  isl_set *set = isl_set_reset_tuple_id(at.domain.copy());
  isl_space *elements =
      isl_space_add_dims(isl_space_set_from_params(isl_space_params(isl_set_get_space(set))),
                         isl_dim_set, static_cast<unsigned>(iterators.size()));
  isl_space *space = isl_space_map_from_domain_and_range(isl_set_get_space(set), elements);
  isl_map *kept = isl_map_universe(space);
  for (size_t d = 0; d < iterators.size(); ++d) {
    const auto around =
        std::find(at.iterators.begin(), at.iterators.end(), iterators[d]) - at.iterators.begin();
    kept = isl_map_equate(kept, isl_dim_in, static_cast<int>(around), isl_dim_out,
                          static_cast<int>(d));
  }
  return checked(isl::manage(isl_set_coalesce(isl_set_apply(set, kept))), doing_element_values);
}

/// Where `reader` computes `value`, and parts that are the same.
struct Occurrences {
  std::optional<isl::set> instances; ///< over the iterators of the value
  std::unordered_map<const Expr *, ExprPtr> nodes;
};

Occurrences occurrences_of(const ElementValue &value, const Computation &reader) {
  Occurrences result;
  const ExpressionKey key = key_of(value.value);
  InstanceWalk walk;
  walk.name = reader.name;
  walk.visit = [&](const InstanceNode &at) {
    if (at.node != value.value) {
      const ExpressionKey other =
          at.node->kind == value.value->kind && at.certain ? key_of(at.node) : ExpressionKey{};
      if (other.text.empty() || other.text != key.text || other.iterators != key.iterators) {
        return at.node->kind != ExprKind::Access;
      }
    }
    const isl::set instances = instances_over(at, value.iterators);
    result.instances = result.instances ? checked(result.instances->unite(instances).coalesce(),
                                                  doing_element_values)
                                        : instances;
    result.nodes[at.node.get()] = nullptr;
    return false;
  };
  for (const Piece &piece : reader.pieces) {
    walk({piece.value}, piece.domain, reader.iterators);
  }
  return result;
}

} // namespace

std::vector<ElementValue> element_values(const Computation &computation) {
  return is_block_call(computation) ? std::vector<ElementValue>()
                                    : Search(computation, "", false).find();
}

std::vector<ElementValue> values_of(const Computation &computation, const std::string &array) {
  std::vector<ElementValue> found;
  for (const bool bare : {false, true}) {
    if (found.empty() && !is_block_call(computation)) {
      found = Search(computation, array, bare).find();
    }
  }
  return found;
}

std::shared_ptr<const Function> copy_values(const Function &function, const std::string &reader,
                                            const std::string &array, const std::string &copy,
                                            const SourceLocation &where) {
  Copies copies;
  std::shared_ptr<Function> result = copy_function(function, copies);
  const ComputationPtr consumer = *result->find(reader);
  const std::vector<ElementValue> values = values_of(*consumer, array);
  if (values.empty()) {
    throw Error(ErrorKind::Schedule,
                reader + " reads no element of " + array +
                    " with one iterator for each dimension, whatever the data are; keep the "
                    "elements (keeps=\"elements\")",
                where);
  }
  const ElementValue &value = values.front();
  Occurrences occurrences = occurrences_of(value, *consumer);
  isl_set *domain = isl_set_set_tuple_name(occurrences.instances->copy(), copy.c_str());
  std::vector<ExprPtr> subscripts;
  for (unsigned d = 0; d < value.iterators.size(); ++d) {
    domain = isl_set_set_dim_name(domain, isl_dim_set, d, value.iterators[d].c_str());
    subscripts.push_back(iterator(value.iterators[d]));
  }
  const ComputationPtr kept =
      declare_computation(to_text(checked(isl::manage(domain), doing_element_values)),
                          value.value->type, {}, consumer->where);
  // What is known of parameters since the consumer was declared may be in its value already.
  kept->context = checked(kept->context.intersect(result->context), doing_element_values);
  define_piece(kept, nullptr, value.value, consumer->where);
  begin_at_domain(*kept);
  for (auto &[node, read] : occurrences.nodes) {
    read = access(kept, subscripts, consumer->where);
  }
  for (Piece &piece : consumer->pieces) {
    piece.value = with_replaced(piece.value, occurrences.nodes);
  }
  const auto position =
      std::find(result->computations.begin(), result->computations.end(), consumer);
  result->computations.insert(position, kept);
  return result;
}

} // namespace tilewright
