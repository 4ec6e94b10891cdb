#include "planning/default_tags.h"

#include "algorithm/affine.h"
#include "analysis/legality.h"
#include "mapping/accesses.h"
#include "mapping/program.h"

#include <isl/aff.h>
#include <isl/val.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

namespace {

/// Bytes of a vector of the largest type in a loop: two AVX registers, one of AVX-512.
constexpr std::int64_t vector_bytes = 64;
/// Rows of a register tile, and of a block of such tiles whose operands stay in a cache.
constexpr std::int64_t tile_rows = 4;
constexpr std::int64_t block_rows = 32;
/// Terms of a reduction that a block sums before it goes on to the next columns.
constexpr std::int64_t block_terms = 256;
/// Columns that are summed side by side where a reduction streams through its operand once.
constexpr std::int64_t block_columns = 1024;

/// How an access moves from one iteration of a loop to the next.
enum class Step { None, Unit, Other };

/// The coefficient of one iterator, where all pieces of a function have the same or none.
std::optional<std::int64_t> coefficient_of(const isl::pw_aff &value, size_t iterator) {
  struct Found {
    unsigned position;
    std::optional<std::int64_t> coefficient = 0;
  } found{static_cast<unsigned>(iterator)};
  const isl_stat status = isl_pw_aff_foreach_piece(
      value.get(),
      [](isl_set *piece, isl_aff *affine, void *user) {
        auto &into = *static_cast<Found *>(user);
        isl_set_free(piece);
        const isl::aff function = isl::manage(affine);
        const isl::val one =
            isl::manage(isl_aff_get_coefficient_val(function.get(), isl_dim_in, into.position));
        bool divided = false;
        const isl_size divisions = isl_aff_dim(function.get(), isl_dim_div);
        for (isl_size d = 0; d < divisions; ++d) {
          const isl::aff division =
              isl::manage(isl_aff_get_div(function.get(), static_cast<int>(d)));
          divided = divided || isl_aff_involves_dims(division.get(), isl_dim_in, into.position,
                                                     1) != isl_bool_false;
        }
        if (one.is_null() || isl_val_is_int(one.get()) != isl_bool_true || divided ||
            !into.coefficient) {
          into.coefficient = std::nullopt;
          return isl_stat_ok;
        }
        const std::int64_t here = isl_val_get_num_si(one.get());
        // A clamped subscript stands still at the border.
        if (here != 0 && *into.coefficient != 0 && here != *into.coefficient) {
          into.coefficient = std::nullopt;
        } else if (here != 0) {
          into.coefficient = here;
        }
        return isl_stat_ok;
      },
      &found);
  if (status != isl_stat_ok) {
    throw_isl_error("the step of a subscript");
  }
  return found.coefficient;
}

/// An access of one computation: its subscripts as functions of all scheduled iterators.
struct Access {
  std::vector<std::optional<isl::pw_aff>> subscripts;

  Step step(size_t iterator) const {
    Step result = Step::None;
    for (size_t d = 0; d < subscripts.size(); ++d) {
      const auto coefficient =
          subscripts[d] ? coefficient_of(*subscripts[d], iterator) : std::nullopt;
      if (!coefficient || (*coefficient != 0 && (d + 1 < subscripts.size() || *coefficient != 1))) {
        return Step::Other;
      }
      result = *coefficient != 0 ? Step::Unit : result;
    }
    return result;
  }
  bool is_affine() const {
    return std::all_of(subscripts.begin(), subscripts.end(),
                       [](const auto &subscript) { return subscript.has_value(); });
  }
};

/// What one computation reads and computes.
class Shape {
public:
  explicit Shape(const Computation &computation) : space_(instance_space(computation)) {
    largest_bytes_ = computation.type.bytes();
    simple_ = !space_.iterators.empty() && !computation.type.is_complex();
    for (const Piece &piece : computation.pieces) {
      collect(space_.reduced > 0 ? piece.value->operands.front() : piece.value, computation.name);
      if (space_.reduced > 0 && piece.value->predicate) {
        simple_ = false;
      }
    }
    extents_.assign(space_.iterators.size(), std::nullopt);
    for (size_t d = 0; d < extents_.size(); ++d) {
      extents_[d] = constant_extent(d);
    }
  }

  /// Is it made of affine reads and arithmetic that vectors have?
  bool simple() const { return simple_; }
  size_t rank() const { return space_.iterators.size() - space_.reduced; }
  size_t reduced() const { return space_.reduced; }
  const std::string &name(size_t iterator) const { return space_.iterators[iterator]; }
  std::int64_t lanes() const { return std::max<std::int64_t>(2, vector_bytes / largest_bytes_); }
  /// The number of iterations where it is a constant.
  std::optional<std::int64_t> extent(size_t iterator) const { return extents_[iterator]; }

  bool all_contiguous(size_t iterator) const {
    return std::all_of(reads_.begin(), reads_.end(),
                       [&](const Access &read) { return read.step(iterator) != Step::Other; });
  }
  bool any_contiguous(size_t iterator) const {
    return std::any_of(reads_.begin(), reads_.end(),
                       [&](const Access &read) { return read.step(iterator) == Step::Unit; });
  }
  /// Is something that vectors along `column` load the same in all iterations of `row`?
  bool is_shared(size_t row, size_t column) const {
    return std::any_of(reads_.begin(), reads_.end(), [&](const Access &read) {
      return read.step(column) == Step::Unit && read.step(row) == Step::None;
    });
  }

private:
  void collect(const ExprPtr &root, const std::string &own) {
    visit(root, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::While || node->kind == ExprKind::Reduce ||
          node->type.is_complex()) {
        simple_ = false;
      }
    });
    collect_values(root, own);
  }

  /// Types count where values are computed, not in subscripts.
  void collect_values(const ExprPtr &node, const std::string &own) {
    largest_bytes_ = std::max<std::int64_t>(largest_bytes_, node->type.bytes());
    if (node->kind != ExprKind::Access) {
      if (node->kind == ExprKind::Select) {
        // A condition on indices is decided outside of the vector loop, or a mask.
        collect_values(node->operands[1], own);
        collect_values(node->operands[2], own);
        visit(node->operands[0], [&](const ExprPtr &part) {
          if (part->kind == ExprKind::Access) {
            collect_values(part, own);
          }
        });
        return;
      }
      for (const ExprPtr &operand : node->operands) {
        if (operand->kind != ExprKind::Constant) {
          collect_values(operand, own);
        }
      }
      return;
    }
    Access access;
    for (const ExprPtr &index : node->operands) {
      access.subscripts.push_back(to_affine(index, {own, space_.iterators}));
    }
    simple_ = simple_ && access.is_affine();
    reads_.push_back(std::move(access));
  }

  std::optional<std::int64_t> constant_extent(size_t iterator) const {
    const isl::set values = isl::manage(isl_set_project_out(
        isl_set_project_out(space_.domain.copy(), isl_dim_set, static_cast<unsigned>(iterator) + 1,
                            static_cast<unsigned>(space_.iterators.size() - iterator - 1)),
        isl_dim_set, 0, static_cast<unsigned>(iterator)));
    const auto bound = [](isl_val *raw) -> std::optional<std::int64_t> {
      const isl::val value = isl::manage(raw);
      if (value.is_null() || isl_val_is_int(value.get()) != isl_bool_true) {
        return std::nullopt;
      }
      return isl_val_get_num_si(value.get());
    };
    const auto low = bound(isl_set_dim_min_val(values.copy(), 0));
    const auto high = bound(isl_set_dim_max_val(values.copy(), 0));
    return low && high ? std::optional(*high - *low + 1) : std::nullopt;
  }

  InstanceSpace space_;
  std::vector<Access> reads_;
  std::vector<std::optional<std::int64_t>> extents_;
  std::int64_t largest_bytes_ = 1;
  bool simple_ = true;
};

/// The mapping while it gets its tags.
class Tagging {
public:
  Tagging(Mapping mapping, std::string computation, const Shape &shape)
      : mapping_(std::move(mapping)), computation_(std::move(computation)), shape_(shape) {}

  /// Vector loops and tiles.
  void vectorize() {
    if (!shape_.simple()) {
      return;
    }
    const std::int64_t lanes = shape_.lanes();
    const auto long_enough = [&](size_t iterator) {
      return shape_.extent(iterator).value_or(lanes) >= lanes;
    };
    const size_t column = shape_.rank() - 1;
    if (shape_.rank() > 0 && shape_.all_contiguous(column) && long_enough(column)) {
      shape_.reduced() == 0 ? give("vectorize", {shape_.name(column), lanes}) : tile(column, lanes);
      return;
    }
    const size_t term = shape_.rank() + shape_.reduced() - 1;
    if (shape_.reduced() > 0 && shape_.all_contiguous(term) && shape_.any_contiguous(term) &&
        long_enough(term)) {
      give("vectorize", {shape_.name(term), lanes}); // partial sums in lanes
    }
  }

  /// The outermost of the loops that no reduced iterator drives and that is none of `tried`.
  bool parallelize(size_t choice) {
    std::vector<LoopDimension> loops = mapping_.time_space(computation_).dimensions;
    const size_t outer = shape_.rank();
    for (const LoopDimension &loop : loops) {
      const bool reduced =
          shape_.reduced() > 0 &&
          isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, static_cast<unsigned>(outer),
                                   static_cast<unsigned>(shape_.reduced())) != isl_bool_false;
      if (loop.tag.tag != Tag::Sequential || reduced) {
        return false; // what is inside of these is not worth threads
      }
      if (choice-- == 0) {
        give("parallelize", {loop.name});
        return true;
      }
    }
    return false;
  }

  const Mapping &mapping() const { return mapping_; }

private:
  void give(const std::string &command, std::vector<Argument> arguments) {
    mapping_ = mapping_.with({computation_, command, std::move(arguments), {}});
  }

  /// A reduction whose results lie side by side along `column`.
  void tile(size_t column, std::int64_t lanes) {
    const std::string j = shape_.name(column);
    std::vector<std::string> terms;
    for (size_t d = shape_.rank(); d < shape_.rank() + shape_.reduced(); ++d) {
      terms.push_back(shape_.name(d));
    }
    const bool small_window =
        std::all_of(terms.begin(), terms.end(), [&, d = shape_.rank()](const auto &) mutable {
          return shape_.extent(d++).value_or(block_terms) <= block_terms / 4;
        });
    const bool rows = column > 0 && shape_.is_shared(column - 1, column) &&
                      shape_.extent(column - 1).value_or(block_rows) >= tile_rows;
    std::vector<Argument> order;
    if (rows) {
      // i0 (a block), k0, j0, i10, k1, i11 (unrolled), j1 (a vector)
      const std::string i = shape_.name(column - 1);
      give("split", {i, block_rows});
      give("split", {i + "1", tile_rows});
      give("split", {j, lanes});
      order.emplace_back(i + "0");
      if (!small_window) {
        give("split", {terms.front(), block_terms});
        order.emplace_back(terms.front() + "0");
        terms.front() += "1";
      }
      order.emplace_back(j + "0");
      order.emplace_back(i + "10");
      order.insert(order.end(), terms.begin(), terms.end());
      order.emplace_back(i + "11");
      order.emplace_back(j + "1");
      give("reorder", order);
      give("unroll", {i + "11", tile_rows});
      give("vectorize", {j + "1", lanes});
    } else if (small_window) {
      // Every result is summed in a register.
      give("split", {j, lanes});
      order.emplace_back(j + "0");
      order.insert(order.end(), terms.begin(), terms.end());
      order.emplace_back(j + "1");
      give("reorder", order);
      give("vectorize", {j + "1", lanes});
    } else {
      // What is read once is read in the order of memory, beside results that stay in a cache.
      give("split", {j, block_columns});
      give("split", {j + "1", lanes});
      order.emplace_back(j + "0");
      order.insert(order.end(), terms.begin(), terms.end());
      order.emplace_back(j + "10");
      order.emplace_back(j + "11");
      give("reorder", order);
      give("vectorize", {j + "11", lanes});
    }
  }

  Mapping mapping_;
  std::string computation_;
  const Shape &shape_;
};

bool is_legal(const Mapping &mapping) {
  try {
    return find_legal(build_program(mapping)) != nullptr;
  } catch (const Error &error) {
    if (error.kind == ErrorKind::Internal) {
      throw;
    }
    return false;
  }
}

/// Has the planner left the loops of a computation as they were declared, in a nest of their own?
bool is_apart(const MappingState &state, const std::string &computation) {
  return !state.time_space.at(computation).explicit_time &&
         std::none_of(state.placements.begin(), state.placements.end(), [&](const auto &placement) {
           return placement.computation == computation || placement.other == computation;
         });
}

} // namespace

Mapping with_default_tags(const Mapping &plain) {
  struct Candidate {
    std::string name;
    Shape shape;
  };
  std::vector<Candidate> candidates;
  for (const ComputationPtr &computation : plain.function().computations) {
    if (is_apart(plain.state(), computation->name)) {
      candidates.push_back({computation->name, Shape(*computation)});
    }
  }
  const auto tagged = [](const Mapping &before, const Candidate &candidate, bool vector,
                         std::optional<size_t> parallel) -> std::optional<Mapping> {
    Tagging tagging(before, candidate.name, candidate.shape);
    try {
      if (vector) {
        tagging.vectorize();
      }
      if (parallel && !tagging.parallelize(*parallel)) {
        return std::nullopt;
      }
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Schedule && error.kind != ErrorKind::Limit) {
        throw;
      }
      return std::nullopt;
    }
    return tagging.mapping();
  };
  // All at once, which is legal where no computation reads itself.
  Mapping all = plain;
  for (const Candidate &candidate : candidates) {
    auto next = tagged(all, candidate, true, 0);
    next = next ? next : tagged(all, candidate, true, std::nullopt);
    all = next ? *next : all;
  }
  if (is_legal(all)) {
    return all;
  }
  // One after the other: of each what is legal.
  Mapping result = plain;
  const auto accept = [&](const std::optional<Mapping> &next) {
    const bool legal = next && is_legal(*next);
    if (legal) {
      result = *next;
    }
    return legal;
  };
  for (const Candidate &candidate : candidates) {
    bool found = false;
    for (const bool vector : {true, false}) {
      for (size_t loop = 0; !found && loop < candidate.shape.rank(); ++loop) {
        found = accept(tagged(result, candidate, vector, loop));
      }
      found = found || (vector && candidate.shape.simple() &&
                        accept(tagged(result, candidate, true, std::nullopt)));
    }
  }
  return result;
}

} // namespace tilewright
