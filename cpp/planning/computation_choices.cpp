// What data choose among the iterations of a computation: the element that is written, the result
// that a term belongs to, the range of a loop.
#include "algorithm/expression_key.h"
#include "algorithm/free_iterators.h"
#include "algorithm/predicates.h"
#include "planning/computation_shape.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

namespace {

bool is_same(const ExpressionKey &key, const ExprPtr &other) {
  const ExpressionKey others = key_of(other);
  return !key.text.empty() && others.text == key.text && others.iterators == key.iterators;
}

/// Does it read the computation, itself or by views that show it? `seen`: those that were asked.
bool reads_itself(const ExprPtr &value, const Computation &computation,
                  std::set<const Computation *> &seen) {
  bool found = false;
  visit(value, [&](const ExprPtr &node) {
    if (node->kind != ExprKind::Access || found) {
      return;
    }
    const Computation &producer = *node->producer;
    found = producer.name == computation.name;
    if (!found && producer.is_view && seen.insert(&producer).second) {
      found = std::any_of(producer.pieces.begin(), producer.pieces.end(), [&](const Piece &piece) {
        return reads_itself(piece.value, computation, seen);
      });
    }
  });
  return found;
}

bool reads_itself(const ExprPtr &value, const Computation &computation) {
  std::set<const Computation *> seen;
  return reads_itself(value, computation, seen);
}

} // namespace

ExprPtr Shape::update_of(const ExprPtr &value, const Computation &computation) {
  if (value->kind != ExprKind::Select || !reads_itself(value->operands[2], computation)) {
    return nullptr;
  }
  const ExprPtr &before = value->operands[2];
  const ExpressionKey key = key_of(before);
  std::vector<ExprPtr> conditions;
  ExprPtr update = value;
  while (update->kind == ExprKind::Select && is_same(key, update->operands[2])) {
    conditions.push_back(update->operands[0]);
    update = update->operands[1];
  }
  std::for_each(conditions.begin(), conditions.end(),
                [&](const ExprPtr &each) { note_choice(each); });
  if (chosen_.empty()) {
    return nullptr;
  }
  leave_out(before, update);
  return update;
}

void Shape::note_choice(const ExprPtr &condition) {
  std::set<std::string> chosen = compared_iterators(condition);
  if (!chosen.empty()) {
    chosen_.merge(chosen);
    choosing_.merge(iterators_in(condition));
  }
}

void Shape::leave_out(const ExprPtr &read, const ExprPtr &value) {
  const ExpressionKey key = key_of(read);
  visit(value, [&](const ExprPtr &node) {
    if (node->kind == read->kind && is_same(key, node)) {
      collected_.insert(node.get());
    }
  });
}

void Shape::note_ranged(const ExprPtr &condition) {
  for (const ExprPtr &part : conjuncts_of(condition)) {
    const bool is_bound =
        part->kind == ExprKind::Binary &&
        (part->op == Op::Lt || part->op == Op::Le || part->op == Op::Gt || part->op == Op::Ge);
    for (const size_t side : {size_t{0}, size_t{1}}) {
      if (!is_bound) {
        continue;
      }
      std::set<std::string> bounded;
      bool is_affine = true;
      visit(part->operands[side], [&](const ExprPtr &node) {
        is_affine = is_affine && node->kind != ExprKind::Access;
        if (node->kind == ExprKind::Iterator) {
          bounded.insert(node->name);
        }
      });
      bool are_data = false;
      visit(part->operands[1 - side], [&](const ExprPtr &node) {
        are_data = are_data || node->kind == ExprKind::Access;
        is_affine =
            is_affine && !(node->kind == ExprKind::Iterator && bounded.contains(node->name));
      });
      if (is_affine && are_data) {
        ranged_.insert(bounded.begin(), bounded.end());
      }
    }
  }
}

void Shape::choose(const ExprPtr &condition, const std::set<std::string> &candidates) {
  note_ranged(condition);
  const std::set<std::string> compared = compared_iterators(condition);
  for (size_t d = rank(); d-- > 0;) {
    const std::string &iterator = space_.iterators[d];
    if (compared.contains(iterator) && candidates.contains(iterator)) {
      chosen_.insert(iterator);
      choosing_.merge(iterators_in(condition));
      return;
    }
  }
}

void Shape::note_picked(const Expr &terms) {
  const std::set<std::string> compared = compared_iterators(terms.predicate);
  for (size_t d = 0; d < rank(); ++d) {
    if (compared.contains(space_.iterators[d])) {
      picked_.insert(space_.iterators[d]);
    }
  }
}

} // namespace tilewright
