#include "planning/computation_shape.h"

#include "algorithm/affine.h"
#include "algorithm/existing.h"
#include "algorithm/expression_depth.h"
#include "algorithm/expression_nodes.h"
#include "algorithm/extrema.h"
#include "algorithm/free_iterators.h"
#include "algorithm/reductions.h"
#include "hardware/processor.h"
#include "polyhedral/interruption.h"

#include <isl/aff.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

namespace tilewright {

namespace {

/// Of more, each would have too few iterations.
constexpr std::int64_t most_phases = 8;

/// `set` with one dimension left.
isl_set *project_onto(const isl::set &set, size_t dimension, size_t rank) {
  isl_set *rest = isl_set_project_out(set.copy(), isl_dim_set, static_cast<unsigned>(dimension) + 1,
                                      static_cast<unsigned>(rank - dimension - 1));
  return isl_set_project_out(rest, isl_dim_set, 0, static_cast<unsigned>(dimension));
}

/// Is a condition on data about elements alone? Comparisons of iterators may become bounds of
/// loops, which lanes have no use for.
bool asks_elements(const ExprPtr &condition) {
  const auto goes_below = [](const Expr &node) { return node.kind != ExprKind::Access; };
  const std::vector<ExprPtr> parts = parents_first({condition}, goes_below);
  return std::none_of(parts.begin(), parts.end(), [](const ExprPtr &part) {
    return part->kind == ExprKind::Iterator || part->kind == ExprKind::Parameter;
  });
}

/// Is it a function of complex numbers that lanes compute one after the other?
bool takes_turns(const Expr &node) {
  const bool is_function = node.kind == ExprKind::Unary || node.kind == ExprKind::Call ||
                           node.kind == ExprKind::Extern ||
                           (node.kind == ExprKind::Binary && node.op == Op::Pow);
  constexpr std::array in_lanes = {Op::Neg, Op::Abs, Op::Conj, Op::Real, Op::Imag};
  return is_function && std::find(in_lanes.begin(), in_lanes.end(), node.op) == in_lanes.end() &&
         (node.type.is_complex() ||
          std::any_of(node.operands.begin(), node.operands.end(),
                      [](const ExprPtr &operand) { return operand->type.is_complex(); }));
}

std::optional<std::int64_t> number_of(const Expr &constant) {
  const auto number = nodes::as_integer(constant.value);
  return number ? std::optional(static_cast<std::int64_t>(number->bits())) : std::nullopt;
}

/// Do bounds of an iterator depend on others, or theirs on it?
bool hangs_together(const isl::set &domain, size_t iterator) {
  const auto own = static_cast<unsigned>(iterator);
  struct Asked {
    unsigned own;
    bool found = false;
  } asked{own};
  const auto ask = [](isl_constraint *raw, void *user) {
    const isl::constraint constraint = isl::manage(raw);
    auto &[position, found] = *static_cast<Asked *>(user);
    const auto count = static_cast<unsigned>(isl_constraint_dim(raw, isl_dim_set));
    const auto involves = [&](unsigned first, unsigned end) {
      return isl_constraint_involves_dims(raw, isl_dim_set, first, end - first) == isl_bool_true;
    };
    found |= involves(position, position + 1) &&
             (involves(0, position) || involves(position + 1, count));
    return isl_stat_ok;
  };
  const isl::basic_set_list parts = domain.get_basic_set_list();
  const isl_size count = isl_basic_set_list_n_basic_set(parts.get());
  for (isl_size i = 0; i < count; ++i) {
    isl_basic_set_foreach_constraint(parts.get_at(static_cast<int>(i)).get(), ask, &asked);
  }
  return asked.found;
}

} // namespace

Shape::Shape(const Computation &computation, std::map<std::string, std::int64_t> fixed)
    : Shape(computation, std::move(fixed), {}) {}

Shape Shape::from_begin(const Computation &computation, std::map<std::string, std::int64_t> fixed) {
  Shape declared(computation, std::move(fixed));
  const ExprPtr reduction = scheduled_reduction(computation);
  const Expr *terms = reduction ? reduction_of(*reduction) : nullptr;
  const bool is_sum = terms != nullptr && !terms->predicate && terms->op != Op::ReduceFold &&
                      terms->op != Op::ReduceArgMin && terms->op != Op::ReduceArgMax;
  const auto slants = is_sum ? find_slants(declared.space_, declared.rank()) : std::vector<Slant>();
  if (slants.empty()) {
    return declared;
  }
  Shape moved(computation, declared.fixed_, slants);
  if (declared.rank() == 0 || moved.all_contiguous(declared.column())) {
    return moved;
  }
  // Of the diagonals of a matrix, terms X[q, i - q] lie side by side along i: not if q begins at i.
  const std::int64_t lanes = declared.lanes();
  const size_t column = declared.column();
  const bool is_row =
      declared.all_contiguous(column) && declared.inner_extent(column).value_or(lanes) >= lanes;
  return is_row ? declared : moved;
}

Shape::Shape(const Computation &computation, std::map<std::string, std::int64_t> fixed,
             std::vector<Slant> slants)
    : fixed_(std::move(fixed)), space_(instance_space(computation)), slants_(std::move(slants)) {
  if (!slants_.empty()) {
    from_begin_ = tilewright::from_begin(space_, slants_);
    space_.domain = space_.domain.preimage(from_begin_);
  }
  largest_bytes_ = computation.type.bytes();
  simple_ = !space_.iterators.empty();
  for (const Piece &piece : computation.pieces) {
    const auto [condition, value] = existing_value(piece.value);
    const ExprPtr reduction = space_.reduced > 0 ? scheduled_reduction(computation) : nullptr;
    const Expr *terms = reduction ? reduction_of(*reduction) : nullptr;
    if (condition) {
      is_guarded_ = true;
      simple_ = simple_ && asks_elements(condition);
      collect(condition, computation.name);
    }
    note_choice(condition);
    if (const ExprPtr update = update_of(value, computation)) {
      collect(update, computation.name);
      continue;
    }
    if (terms != nullptr && terms->predicate) {
      has_condition_ = true;
      deciding_ = iterators_in(terms->predicate);
      note_picked(*terms);
      compares_ = compares_ || !asks_elements(terms->predicate);
      collect(terms->predicate, computation.name);
    }
    if (terms == nullptr || terms->op != Op::ReduceFold) {
      collect(terms != nullptr ? terms->operands.front() : value, computation.name);
      if (terms != nullptr) {
        find_operands(computation, terms->operands.front());
      }
      is_associative_ = is_commutative_ = terms != nullptr && !terms->ordered;
      continue;
    }
    const FoldParts parts = fold_parts(*terms);
    states_ = parts.states.size();
    is_associative_ = tilewright::is_associative(*terms);
    is_commutative_ = !terms->ordered;
    is_extremum_ = tilewright::is_extremum(*terms);
    for (const ExprPtr &next : parts.next) {
      largest_bytes_ = std::max<std::int64_t>(largest_bytes_, next->type.bytes());
      collect(next, computation.name);
    }
  }
  extents_.assign(space_.iterators.size(), std::nullopt);
  for (size_t d = 0; d < extents_.size(); ++d) {
    extents_[d] = constant_extent(d);
  }
}

std::optional<Shape> Shape::in_phases() const {
  std::vector<std::int64_t> periods(extents_.size(), 1);
  for (size_t d = 0; d < rank(); ++d) {
    for (const Access &read : reads_) {
      periods[d] = std::lcm(periods[d], read.period(d).value_or(1));
    }
    if (periods[d] > most_phases) {
      periods[d] = 1;
    }
  }
  if (std::all_of(periods.begin(), periods.end(), [](std::int64_t each) { return each == 1; })) {
    return std::nullopt;
  }
  Shape result = *this;
  for (Access &read : result.reads_) {
    read.periods = periods;
  }
  for (Operand &operand : result.operands_) {
    operand.access.periods = periods;
  }
  for (size_t d = 0; d < periods.size(); ++d) {
    if (result.extents_[d]) {
      result.extents_[d] = (*result.extents_[d] + periods[d] - 1) / periods[d];
    }
  }
  result.periods_ = std::move(periods);
  return result;
}

bool Shape::is_over(const LoopDimension &loop, const std::set<std::string> &iterators) const {
  for (size_t d = 0; d < rank(); ++d) {
    if (iterators.contains(space_.iterators[d]) &&
        isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, static_cast<unsigned>(d), 1) !=
            isl_bool_false) {
      return true;
    }
  }
  return false;
}

std::optional<std::int64_t> Shape::length(const ExprPtr &extent) const {
  if (extent->kind == ExprKind::Parameter && fixed_.contains(extent->name)) {
    return fixed_.at(extent->name);
  }
  return extent->kind == ExprKind::Constant ? number_of(*extent) : std::nullopt;
}

size_t Shape::innermost(size_t first, size_t end) const {
  for (size_t d = end; d-- > first;) {
    if (!is_single(d)) {
      return d;
    }
  }
  return end - 1;
}

bool Shape::is_single(const LoopDimension &loop) const {
  for (size_t d = 0; d < extents_.size(); ++d) {
    if (!is_single(d) && isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in,
                                                  static_cast<unsigned>(d), 1) != isl_bool_false) {
      return false;
    }
  }
  return true;
}

std::int64_t Shape::lanes() const {
  return std::max<std::int64_t>(2, widest_vector_bytes / largest_bytes_);
}

std::int64_t Shape::lanes_along(size_t iterator) const {
  const auto extent = static_cast<std::uint64_t>(extents_[iterator].value_or(lanes()));
  return std::min(lanes(), static_cast<std::int64_t>(std::bit_ceil(extent)));
}

std::int64_t Shape::read_lanes() const {
  std::int64_t bytes = 1;
  for (const Access &read : reads_) {
    bytes = std::max(bytes, read.bytes);
  }
  return reads_.empty() ? lanes() : widest_vector_bytes / bytes;
}

bool Shape::all_contiguous(size_t iterator) const {
  return std::all_of(reads_.begin(), reads_.end(),
                     [&](const Access &read) { return read.step(iterator) != Step::Other; });
}

bool Shape::any_contiguous(size_t iterator) const {
  return std::any_of(reads_.begin(), reads_.end(),
                     [&](const Access &read) { return read.step(iterator) == Step::Unit; });
}

bool Shape::has_border() const {
  return std::any_of(reads_.begin(), reads_.end(),
                     [](const Access &read) { return read.has_border(); });
}

bool Shape::is_one_row(size_t outer, size_t inner) const {
  return std::all_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    const auto within = read.distance(inner);
    const auto around = read.distance(outer);
    return (within == 1 && around == extent(inner)) || (within == 0 && around == 0);
  });
}

bool Shape::moves_at_most(size_t iterator, std::int64_t most) const {
  return std::all_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    const auto moved = read.distance(iterator);
    return moved && *moved >= 0 && *moved <= (read.has_border() ? 1 : most);
  });
}

bool Shape::is_shared(size_t row, size_t column) const {
  return std::any_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    return read.step(column) == Step::Unit && read.step(row) == Step::None;
  });
}

bool Shape::is_shared_apart(size_t row, size_t column) const {
  return moves_at_most(column, most_apart) &&
         std::any_of(reads_.begin(), reads_.end(), [&](const Access &read) {
           return read.distance(column).value_or(0) != 0 && read.step(row) == Step::None;
         });
}

bool Shape::is_outer_product(size_t row, size_t other, size_t term) const {
  const auto moves_with = [&](size_t iterator, size_t still) {
    return std::any_of(reads_.begin(), reads_.end(), [&](const Access &read) {
      return read.distance(term).value_or(0) != 0 && read.step(iterator) != Step::None &&
             read.step(still) == Step::None;
    });
  };
  return moves_with(row, other) && moves_with(other, row);
}

bool Shape::is_streamed(size_t row, size_t column) const {
  return std::any_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    return read.step(column) == Step::Unit && read.step(row) != Step::None;
  });
}

bool Shape::is_transposition(size_t row, size_t column) const {
  return std::all_of(reads_.begin(), reads_.end(),
                     [&](const Access &read) {
                       return read.step(column) != Step::Other ||
                              (read.step(row) == Step::Unit && read.strided_dimension(column));
                     }) &&
         !all_contiguous(column) && !has_border();
}

std::int64_t Shape::shared_bytes(size_t row, size_t column, size_t term, std::int64_t lanes) const {
  std::int64_t bytes = 0;
  for (const Access &read : reads_) {
    if (read.step(row) != Step::None || read.step(column) == Step::None) {
      continue;
    }
    std::int64_t elements = 1;
    for (size_t d = 0; d < read.subscripts.size(); ++d) {
      std::int64_t range = 1;
      for (size_t iterator = 0; iterator < extents_.size(); ++iterator) {
        const bool inside = iterator == column || (iterator >= rank() && iterator != term);
        const std::int64_t extent = iterator == column ? lanes : extents_[iterator].value_or(1);
        range += inside ? std::abs(read.coefficient(d, iterator).value_or(0)) * (extent - 1) : 0;
      }
      elements *= range;
    }
    bytes += elements * read.bytes;
  }
  return bytes;
}

void Shape::collect(const ExprPtr &root, const std::string &own) {
  visit(root, [&](const ExprPtr &node) {
    if (node->kind == ExprKind::While || node->kind == ExprKind::Reduce || takes_turns(*node)) {
      simple_ = false;
    }
  });
  collect_values(root, own, false);
}

/// A condition on indices is decided outside of the vector loop, or a mask.
void Shape::collect_choice(const ExprPtr &choice, const std::string &own) {
  collect_values(choice->operands[1], own, true);
  collect_values(choice->operands[2], own, true);
  visit(choice->operands[0], [&](const ExprPtr &part) {
    if (part->kind == ExprKind::Access) {
      collect_values(part, own, true);
    } else if (part->kind == ExprKind::Iterator) {
      tested_.insert(part->name);
      for (const Slant &slant : slants_) {
        if (space_.iterators[slant.iterator] == part->name) {
          for (const auto &[iterator, factor] : slant.along) {
            tested_.insert(space_.iterators[iterator]);
          }
        }
      }
    }
  });
}

/// Of the iterators as loops have them.
std::optional<isl::pw_aff> Shape::affine(const ExprPtr &index, const std::string &own) const {
  const auto declared = to_affine(index, {own, space_.iterators});
  return declared && !slants_.empty() ? std::optional(declared->pullback(from_begin_)) : declared;
}

void Shape::add_subscript(const ExprPtr &index, const std::string &own, Access &access) const {
  access.subscripts.push_back(affine(index, own));
  access.chosen_by.emplace_back();
  if (access.subscripts.back()) {
    return;
  }
  const std::set<std::string> names = iterators_in(index);
  for (size_t d = 0; d < space_.iterators.size(); ++d) {
    if (names.contains(space_.iterators[d])) {
      access.chosen_by.back().insert(d);
    }
  }
  for (const Slant &slant : slants_) { // as it runs, it has those that it moves along with in it
    if (access.chosen_by.back().contains(slant.iterator)) {
      for (const auto &along : slant.along) {
        access.chosen_by.back().insert(along.first);
      }
    }
  }
}

/// Is it an integer made a number, as the distance in a window is, and the same along the innermost
/// iterator of the results?
bool Shape::is_of_rows(const Expr &node) const {
  return node.kind == ExprKind::Cast && node.operands[0]->type.is_integer() && rank() > 0 &&
         !contains_kind(node.operands[0], ExprKind::Access) &&
         !iterators_in(node.operands[0]).contains(space_.iterators[rank() - 1]);
}

/// Types count where values are computed, not in subscripts.
void Shape::collect_values(const ExprPtr &node, const std::string &own, bool conditional) {
  if (!collected_.insert(node.get()).second) {
    return;
  }
  count_visit();
  largest_bytes_ = std::max<std::int64_t>(largest_bytes_, node->type.bytes());
  // A fold chooses between its states and a term, which is read in any case.
  if (node->kind == ExprKind::Select && states_ < 2) {
    collect_choice(node, own);
    return;
  }
  if (is_of_rows(*node)) {
    return; // a number for all lanes
  }
  if (node->kind != ExprKind::Access) {
    for (const ExprPtr &operand : node->operands) {
      if (operand->kind != ExprKind::Constant && operand->kind != ExprKind::Parameter) {
        collect_values(operand, own, conditional);
      }
    }
    return;
  }
  Access access;
  access.array = node->producer->name;
  access.bytes = node->type.bytes();
  access.conditional = conditional;
  access.node = node.get();
  for (size_t d = 0; d < node->operands.size(); ++d) {
    const std::vector<ExprPtr> &extents = node->producer->extents;
    access.extents.push_back(d < extents.size() ? length(extents[d]) : std::nullopt);
  }
  for (const ExprPtr &index : node->operands) {
    add_subscript(index, own, access);
  }
  gathers_ = gathers_ || !access.is_affine();
  reads_.push_back(std::move(access));
}

/// The domain where parameters have the values that are known.
isl::set Shape::fixed_domain() const {
  isl_set *domain = space_.domain.copy();
  for (const auto &[name, value] : fixed_) {
    const int position = isl_set_find_dim_by_name(domain, isl_dim_param, name.c_str());
    if (position >= 0) {
      domain = isl_set_fix_val(domain, isl_dim_param, static_cast<unsigned>(position),
                               isl_val_int_from_si(isl_context().get(), value));
    }
  }
  return isl::manage(domain);
}

isl::set Shape::range_of(size_t iterator) const {
  return isl::manage(project_onto(fixed_domain(), iterator, space_.iterators.size()));
}

std::optional<std::int64_t> Shape::begin(size_t iterator) const {
  const isl::pw_aff first =
      isl::manage(isl_pw_aff_coalesce(isl_set_dim_min(range_of(iterator).release(), 0)));
  if (first.is_null() || isl_pw_aff_n_piece(first.get()) != 1 ||
      isl_pw_aff_is_cst(first.get()) != isl_bool_true) {
    return std::nullopt;
  }
  return whole_number(isl_pw_aff_min_val(first.copy()));
}

std::optional<std::int64_t> Shape::constant_extent(size_t iterator) const {
  const isl::set values = range_of(iterator);
  const auto low = whole_number(isl_set_dim_min_val(values.copy(), 0));
  const auto high = whole_number(isl_set_dim_max_val(values.copy(), 0));
  return low && high ? std::optional((*high - *low) / space_.strides[iterator].step + 1)
                     : std::nullopt;
}

std::optional<std::int64_t> Shape::inner_extent(size_t iterator) const {
  if (!hangs_together(space_.domain, iterator)) {
    return extent(iterator);
  }
  isl_map *others = isl_map_from_range(fixed_domain().release());
  const auto count = static_cast<unsigned>(space_.iterators.size());
  const auto own = static_cast<unsigned>(iterator);
  others = isl_map_move_dims(others, isl_dim_in, 0, isl_dim_out, 0, own);
  others = isl_map_move_dims(others, isl_dim_in, own, isl_dim_out, 1, count - own - 1);
  // Of two of its values that are there at once, how far the one is from the other.
  isl_set *apart =
      isl_map_deltas(isl_map_apply_range(isl_map_reverse(isl_map_copy(others)), others));
  const auto most = whole_number(isl_set_dim_max_val(apart, 0));
  return most ? std::optional(*most / space_.strides[iterator].step + 1) : std::nullopt;
}

} // namespace tilewright
