// The operands of a reduction: elements, and values of elements, and which of them are worth a
// copy.
#include "algorithm/element_values.h"
#include "planning/computation_shape.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace tilewright {

void Shape::find_operands(const Computation &computation, const ExprPtr &terms) {
  if (rank() < 2) { // one row, or one column: nothing is shared
    std::transform(reads_.begin(), reads_.end(), std::back_inserter(operands_),
                   [](const Access &read) { return Operand{read}; });
    return;
  }
  std::set<const void *> in_terms;
  visit(terms, [&](const ExprPtr &node) { in_terms.insert(node.get()); });
  std::set<const void *> in_values;
  std::set<std::string> elsewhere; // arrays that the rest of the expression reads, too
  std::vector<std::set<std::string>> arrays;
  for (const ElementValue &value : element_values(computation)) {
    std::set<std::string> read;
    visit(value.value, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::Access) {
        read.insert(node->producer->name);
      }
    });
    if (!in_terms.contains(value.value.get())) {
      elsewhere.merge(read);
      continue;
    }
    Access access;
    access.array = value.read->producer->name;
    access.bytes = value.value->type.bytes();
    for (const ExprPtr &subscript : value.read->operands) {
      add_subscript(subscript, computation.name, access);
    }
    operands_.push_back({std::move(access), true, false, operands_.size()});
    arrays.push_back(std::move(read));
    visit(value.value, [&](const ExprPtr &node) { in_values.insert(node.get()); });
  }
  // Who asks for the values of an array gets those of its elements, in the order in which they are
  // written: none of them may be a part of another array's.
  for (const Operand &operand : operands_) {
    const std::string &array = operand.access.array;
    bool is_elsewhere = elsewhere.contains(array);
    for (size_t other = 0; other < arrays.size(); ++other) {
      is_elsewhere =
          is_elsewhere || (operands_[other].access.array != array && arrays[other].contains(array));
    }
    if (is_elsewhere) {
      operands_.clear();
      in_values.clear();
      break;
    }
  }
  for (const Access &read : reads_) {
    if (!in_values.contains(read.node)) {
      operands_.push_back({read});
    }
  }
  tell_reads_apart(computation, in_terms);
}

/// An array that is read in several ways, A[i,k] * A[j,k], one of which has to be transposed, or
/// A[k,i] * A[k,j], one of which all columns share: each read is a value of its own.
void Shape::tell_reads_apart(const Computation &computation,
                             const std::set<const void *> &in_terms) {
  std::map<std::string, size_t> reads;
  std::set<std::string> apart;
  std::set<std::string> others; // with values
  for (const Operand &operand : operands_) {
    ++reads[operand.access.array];
    if (operand.is_value) {
      others.insert(operand.access.array);
    } else if (rank() > 0 && (operand.access.strided_dimension(rank() - 1) ||
                              operand.access.step(rank() - 1) == Step::None)) {
      apart.insert(operand.access.array);
    }
  }
  for (const std::string &array : apart) {
    const std::vector<ElementValue> values = values_of(computation, array);
    const bool are_all = reads[array] > 1 && values.size() == reads[array] &&
                         !others.contains(array) &&
                         std::all_of(values.begin(), values.end(), [&](const ElementValue &value) {
                           return value.value == value.read && in_terms.contains(value.read.get());
                         });
    for (Operand &operand : operands_) {
      if (are_all && operand.access.array == array) {
        operand.is_value = operand.is_bare = true;
        operand.position =
            static_cast<size_t>(std::find_if(values.begin(), values.end(),
                                             [&](const ElementValue &value) {
                                               return value.read.get() == operand.access.node;
                                             }) -
                                values.begin());
      }
    }
  }
}

Shape::Packable Shape::packable_of(const Operand &operand, size_t iterators, size_t column) {
  const Access &read = operand.access;
  const auto strided = read.strided_dimension(column);
  Packable found;
  found.array = read.array;
  found.is_value = operand.is_value;
  found.position = operand.position;
  for (size_t d = 0; d < read.subscripts.size(); ++d) {
    if (strided && d != *strided) {
      found.order.push_back(static_cast<std::int64_t>(d));
    }
    int moving = 0;
    for (size_t iterator = 0; iterator < iterators; ++iterator) {
      moving += read.coefficient(d, iterator) != 0 ? 1 : 0;
    }
    found.is_window = found.is_window || moving > 1;
  }
  if (strided) {
    found.order.push_back(static_cast<std::int64_t>(*strided));
  }
  for (size_t iterator = 0; iterator < iterators; ++iterator) {
    if (read.step(iterator) != Step::None) {
      found.along.push_back(iterator);
    }
  }
  return found;
}

std::optional<Shape::Packable> Shape::packable(size_t row, size_t column) const {
  std::optional<Packable> found;
  for (const Operand &operand : operands_) {
    const Access &read = operand.access;
    const bool moves = read.strided_dimension(column) || read.step(column) == Step::Unit;
    if (!moves || read.step(row) != Step::None) {
      continue;
    }
    // Values of rows are kept before, each for itself.
    const auto same = std::count_if(operands_.begin(), operands_.end(), [&](const Operand &other) {
      return other.access.array == read.array &&
             (!other.is_value || other.access.step(column) != Step::None);
    });
    if (found || same > 1 || read.has_border() || read.conditional || !read.is_affine()) {
      return std::nullopt;
    }
    found = packable_of(operand, extents_.size(), column);
  }
  return found;
}

std::vector<Shape::Packable> Shape::row_values(size_t row, size_t column,
                                               const std::optional<Packable> &packed) const {
  std::vector<Packable> found;
  std::set<std::string> others; // arrays whose first value is another one
  for (const Operand &operand : operands_) {
    if (!operand.is_value) {
      continue;
    }
    const Access &read = operand.access;
    const bool is_packed =
        packed && packed->is_value && packed->array == read.array && read.step(row) == Step::None;
    if (operand.is_bare &&
        (!packed || packed->array != read.array || packed->position < operand.position)) {
      continue; // it is read where it is
    }
    if (read.step(column) == Step::None && read.step(row) != Step::None && read.is_affine() &&
        !others.contains(read.array)) {
      found.push_back(packable_of(operand, extents_.size(), column));
    } else if (!is_packed) {
      others.insert(read.array);
    }
  }
  return found;
}

std::optional<Shape::Packable> Shape::rows_apart(size_t row, size_t column, size_t term) const {
  std::optional<Packable> found;
  for (const Operand &operand : operands_) {
    const Access &read = operand.access;
    if ((operand.is_value && !operand.is_bare) || read.step(row) != Step::Unit ||
        read.step(column) != Step::None || read.step(term) == Step::None) {
      continue;
    }
    const bool is_read_elsewhere =
        std::any_of(operands_.begin(), operands_.end(), [&](const Operand &other) {
          return &other != &operand && other.access.array == read.array && !other.is_value;
        });
    if (found || is_read_elsewhere || read.has_border() || read.conditional || !read.is_affine()) {
      return std::nullopt;
    }
    found = packable_of(operand, extents_.size(), row);
  }
  return found && !found->is_window && found->order.empty() ? found : std::nullopt;
}

bool Shape::packs_all(size_t row, size_t column) const {
  const auto packed = packable(row, column);
  return packed && std::all_of(operands_.begin(), operands_.end(), [&](const Operand &operand) {
           return (operand.access.array == packed->array && operand.is_value == packed->is_value) ||
                  operand.access.step(column) != Step::Other;
         });
}

} // namespace tilewright
