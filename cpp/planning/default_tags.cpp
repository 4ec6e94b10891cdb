#include "planning/default_tags.h"

#include "algorithm/affine.h"
#include "algorithm/reductions.h"
#include "analysis/legality.h"
#include "hardware/processor.h"
#include "mapping/accesses.h"
#include "mapping/program.h"
#include "planning/access_steps.h"
#include "planning/shared_rows.h"
#include "polyhedral/interruption.h"

#include <isl/aff.h>
#include <isl/val.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

namespace {

/// Bytes of a vector of the largest type in a loop: two AVX registers, one of AVX-512.
constexpr std::int64_t vector_bytes = widest_vector_bytes;
/// Rows of a register tile where registers are wide and where not, and of a block of such tiles,
/// which share what is packed.
constexpr std::int64_t wide_tile_rows = 8;
constexpr std::int64_t tile_rows = 4;
constexpr std::int64_t block_rows = 64;
/// Terms of a reduction that a block sums before it goes on to the next columns.
constexpr std::int64_t block_terms = 256;
/// So many terms of a window are written out one after the other.
constexpr std::int64_t max_unrolled_terms = 16;
/// Rows of a block of a transposition: of both arrays, a block touches few pages.
constexpr std::int64_t transposed_rows = 32;
/// Work that plain loops do sooner than a register tile (a product of 6 x 6) and than a loop whose
/// border needs code of its own (a stencil of 32 x 32).
constexpr std::int64_t little_for_tiles = 1'500;
constexpr std::int64_t little_for_borders = 10'000;
/// The same where columns are summed (6 x 6).
constexpr std::int64_t little_for_columns = 150;
/// The same where many loops each ask whether threads are worth while.
constexpr size_t several = 3;
constexpr std::int64_t little_for_several = 600;
/// Columns that are summed side by side where a reduction streams through its operand once.
constexpr std::int64_t block_columns = 1024;
/// Functions of more computations run as they are declared: their code would take too long to make.
constexpr size_t max_computations = 128;

/// What one computation reads and computes.
class Shape {
public:
  explicit Shape(const Computation &computation) : space_(instance_space(computation)) {
    largest_bytes_ = computation.type.bytes();
    simple_ = !space_.iterators.empty() && !computation.type.is_complex();
    for (const Piece &piece : computation.pieces) {
      const ExprPtr reduction = space_.reduced > 0 ? scheduled_reduction(computation) : nullptr;
      const Expr *terms = reduction ? reduction_of(*reduction) : nullptr;
      collect(terms != nullptr ? terms->operands.front() : piece.value, computation.name);
      simple_ = simple_ && (terms == nullptr || !terms->predicate);
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

  bool has_border() const {
    return std::any_of(reads_.begin(), reads_.end(),
                       [](const Access &read) { return read.has_border(); });
  }
  /// What is read along `column` by vectors that all iterations of `row` share, if only from one
  /// place of one array.
  struct Packable {
    std::string array;
    std::vector<std::int64_t> order; ///< of its dimensions, where not its own is needed
  };
  std::optional<Packable> packable(size_t row, size_t column) const {
    std::optional<Packable> found;
    for (const Access &read : reads_) {
      const auto strided = read.strided_dimension(column);
      const bool moves = strided || read.step(column) == Step::Unit;
      if (!moves || read.step(row) != Step::None) {
        continue;
      }
      const auto same = std::count_if(reads_.begin(), reads_.end(), [&](const Access &other) {
        return other.array == read.array;
      });
      if (found || same > 1 || read.has_border()) {
        return std::nullopt;
      }
      found = Packable{read.array, {}};
      for (size_t d = 0; strided && d < read.subscripts.size(); ++d) {
        if (d != *strided) {
          found->order.push_back(static_cast<std::int64_t>(d));
        }
      }
      if (strided) {
        found->order.push_back(static_cast<std::int64_t>(*strided));
      }
    }
    return found;
  }
  /// Is the packable operand the only one that is not contiguous along `column`?
  bool packs_all(size_t row, size_t column) const {
    const auto packed = packable(row, column);
    return packed && std::all_of(reads_.begin(), reads_.end(), [&](const Access &read) {
             return read.array == packed->array || read.step(column) != Step::Other;
           });
  }
  /// Is every read contiguous along `column`, or else along `row`, and some along `row` only?
  bool is_transposition(size_t row, size_t column) const {
    return std::all_of(reads_.begin(), reads_.end(),
                       [&](const Access &read) {
                         return read.step(column) != Step::Other ||
                                (read.step(row) == Step::Unit && read.strided_dimension(column));
                       }) &&
           !all_contiguous(column) && !has_border();
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
    if (!collected_.insert(node.get()).second) {
      return;
    }
    count_visit();
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
        if (operand->kind != ExprKind::Constant && operand->kind != ExprKind::Parameter) {
          collect_values(operand, own);
        }
      }
      return;
    }
    Access access;
    access.array = node->producer->name;
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
    return low && high ? std::optional((*high - *low) / space_.strides[iterator].step + 1)
                       : std::nullopt;
  }

  InstanceSpace space_;
  std::vector<Access> reads_;
  std::set<const Expr *> collected_; ///< whose values were looked at
  std::vector<std::optional<std::int64_t>> extents_;
  std::int64_t largest_bytes_ = 1;
  bool simple_ = true;
};

/// The mapping while it gets its tags.
class Tagging {
public:
  Tagging(Mapping mapping, std::string computation, const Shape &shape, bool wide)
      : mapping_(std::move(mapping)), computation_(std::move(computation)), shape_(shape),
        wide_(wide) {}

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
    if (shape_.rank() > 0 && shape_.has_border()) {
      little_ = little_for_borders;
    }
    if (shape_.rank() > 0 && long_enough(column) &&
        (shape_.all_contiguous(column) || contiguous_when_packed(column))) {
      shape_.reduced() == 0 ? give("vectorize", {shape_.name(column), lanes}) : tile(column, lanes);
      return;
    }
    if (shape_.rank() > 1 && shape_.reduced() == 0 && shape_.is_transposition(column - 1, column) &&
        long_enough(column)) {
      const std::string i = shape_.name(column - 1);
      const std::string j = shape_.name(column);
      give("split", {i, transposed_rows});
      give("split", {j, lanes});
      give("interchange", {i + "1", j + "0"});
      give("vectorize", {j + "1", lanes});
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
  std::int64_t little() const { return little_; }
  int around() const { return around_; }

private:
  void give(const std::string &command, std::vector<Argument> arguments) {
    mapping_ = mapping_.with({computation_, command, std::move(arguments), {}});
  }

  /// Are there few terms, whatever the parameters?
  bool has_small_window() const {
    bool small = true;
    for (size_t d = shape_.rank(); d < shape_.rank() + shape_.reduced(); ++d) {
      small = small && shape_.extent(d).value_or(block_terms) <= block_terms / 4;
    }
    return small;
  }

  std::int64_t tile_height() const { return wide_ ? wide_tile_rows : tile_rows; }

  /// Do the rows around `column` share what is read along it?
  bool has_rows(size_t column) const {
    return column > 0 && (shape_.is_shared(column - 1, column) || contiguous_when_packed(column)) &&
           shape_.extent(column - 1).value_or(block_rows) >= tile_height();
  }

  /// Is all that is read contiguous along `column` once a shared operand is packed?
  bool contiguous_when_packed(size_t column) const {
    return shape_.reduced() > 0 && column > 0 && !has_small_window() &&
           shape_.extent(column - 1).value_or(block_rows) >= tile_height() &&
           shape_.packs_all(column - 1, column);
  }

  /// A reduction whose results lie side by side along `column`.
  void tile(size_t column, std::int64_t lanes) {
    const std::string j = shape_.name(column);
    std::vector<std::string> terms;
    for (size_t d = shape_.rank(); d < shape_.rank() + shape_.reduced(); ++d) {
      terms.push_back(shape_.name(d));
    }
    const bool small_window = has_small_window();
    const std::int64_t height = tile_height();
    std::vector<Argument> order;
    if (has_rows(column)) {
      // i0 (a block), k0, j0, (what is packed,) i10, k1, i11 (unrolled), j1 (a vector)
      little_ = little_for_tiles;
      around_ = static_cast<int>(column) - 1;
      const std::string i = shape_.name(column - 1);
      give("split", {i, block_rows});
      give("split", {i + "1", height});
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
      give("unroll", {i + "11", height});
      give("vectorize", {j + "1", lanes});
      const auto packed = small_window ? std::nullopt : shape_.packable(column - 1, column);
      if (packed) {
        pack(*packed, j + "0", lanes);
      }
    } else if (small_window) {
      // Every result is summed in a register.
      give("split", {j, lanes});
      order.emplace_back(j + "0");
      order.insert(order.end(), terms.begin(), terms.end());
      order.emplace_back(j + "1");
      give("reorder", order);
      give("vectorize", {j + "1", lanes});
      std::int64_t copies = 1;
      for (size_t d = shape_.rank() + shape_.reduced(); d-- > shape_.rank();) {
        copies *= shape_.extent(d).value_or(max_unrolled_terms + 1);
        if (copies > max_unrolled_terms) {
          break;
        }
        if (shape_.extent(d) > 1) {
          give("unroll", {shape_.name(d), *shape_.extent(d)});
        }
      }
    } else {
      // What is read once is read in the order of memory, beside results that stay in a cache.
      little_ = std::max(little_, little_for_columns);
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

  /// A copy whose last dimension has one vector: its accesses lie side by side, however far the
  /// rows of the array itself are apart.
  void pack(const Shape::Packable &packed, const std::string &level, std::int64_t lanes) {
    std::string name = packed.array + "_cache";
    for (int number = 2; mapping_.function().find(name) != nullptr; ++number) {
      name = packed.array + "_cache" + std::to_string(number);
    }
    std::vector<Argument> arguments{packed.array, level, name, std::string("auto")};
    if (!packed.order.empty()) {
      arguments.emplace_back(packed.order);
    }
    give("cache", std::move(arguments));
    mapping_ = mapping_.with(
        {name, "vectorize", {mapping_.time_space(name).dimensions.back().name, lanes}, {}});
  }

  Mapping mapping_;
  std::string computation_;
  const Shape &shape_;
  bool wide_;
  std::int64_t little_ = 0;
  int around_ = 0;
};

/// The program of `mapping` where it is legal, else null. `before` is one that is.
std::shared_ptr<const LegalProgram> legal_program(const Mapping &mapping,
                                                  const LegalProgram *before) {
  try {
    return find_legal(build_program(mapping), before);
  } catch (const Error &error) {
    if (error.kind == ErrorKind::Internal) {
      throw;
    }
    return nullptr;
  }
}

bool has_parallel_loops(const Mapping &mapping) {
  const auto &maps = mapping.state().time_space;
  return std::any_of(maps.begin(), maps.end(), [](const auto &entry) {
    const std::vector<LoopDimension> &loops = entry.second.dimensions;
    return std::any_of(loops.begin(), loops.end(),
                       [](const LoopDimension &loop) { return loop.tag.tag == Tag::Parallel; });
  });
}

bool reads_itself(const Computation &computation) {
  bool found = false;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      found = found || (node->kind == ExprKind::Access && node->producer->name == computation.name);
    });
  }
  return found;
}

/// Has the planner left the loops of a computation as they were declared, in a nest of their own?
bool is_apart(const MappingState &state, const std::string &computation) {
  return !state.time_space.at(computation).explicit_time &&
         std::none_of(state.placements.begin(), state.placements.end(), [&](const auto &placement) {
           return placement.computation == computation || placement.other == computation;
         });
}

/// A computation whose loops may get tags.
struct Candidate {
  std::string name;
  Shape shape;
  bool reads_itself;
};

/// A mapping with default tags.
struct DefaultSchedule {
  Mapping mapping;
  /// Less work than this altogether is done sooner by the loops as they were; 0 where these are
  /// never faster.
  std::int64_t little = 0;
  /// That is work in one iteration of so many outermost loops: of one product of a batch.
  int around = 0;
};

/// Chooses the tags: all at once where that is legal, else one computation after the other.
class TagChoice {
public:
  TagChoice(const Mapping &plain, bool wide) : plain_(plain), wide_(wide) {
    for (const ComputationPtr &computation : plain.function().computations) {
      if (is_apart(plain.state(), computation->name)) {
        candidates_.push_back({computation->name, Shape(*computation), reads_itself(*computation)});
      }
    }
  }

  DefaultSchedule choose() const {
    if (candidates_.size() > max_computations) {
      return {plain_};
    }
    DefaultSchedule all = together(true);
    if (candidates_.size() >= several) {
      all.little = std::max(all.little, little_for_several);
      all.around = 0;
    }
    std::shared_ptr<const LegalProgram> legal = legal_program(all.mapping, nullptr);
    return legal ? in_rows(all, *legal) : one_by_one();
  }

private:
  /// Computations that read each other's rows share a loop, if that is legal.
  static DefaultSchedule in_rows(const DefaultSchedule &given, const LegalProgram &legal) {
    const Mapping shared = with_shared_rows(given.mapping);
    if (shared.state().placements.size() == given.mapping.state().placements.size() ||
        !legal_program(shared, &legal)) {
      return given;
    }
    DefaultSchedule result = given;
    result.mapping = shared;
    return result;
  }

  /// `before` with the tags of one more computation; nothing where it cannot have them.
  std::optional<DefaultSchedule> tagged(const DefaultSchedule &before, const Candidate &candidate,
                                        bool vector, std::optional<size_t> parallel) const {
    Tagging tagging(before.mapping, candidate.name, candidate.shape, wide_);
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
    DefaultSchedule next{tagging.mapping(), std::max(before.little, tagging.little()),
                         before.around};
    if (tagging.little() > 0) {
      next.around =
          before.little > 0 ? std::min(before.around, tagging.around()) : tagging.around();
    }
    return next;
  }

  /// All at once, which is legal where no computation reads itself.
  DefaultSchedule together(bool with_recurrences) const {
    DefaultSchedule all{plain_};
    for (const Candidate &candidate : candidates_) {
      if (with_recurrences || !candidate.reads_itself) {
        auto next = tagged(all, candidate, true, 0);
        next = next ? next : tagged(all, candidate, true, std::nullopt);
        all = next ? *next : all;
      }
    }
    return all;
  }

  /// One after the other, of each what is legal: of those that read themselves where that is
  /// enough.
  DefaultSchedule one_by_one() const {
    DefaultSchedule result = together(false);
    std::shared_ptr<const LegalProgram> legal = legal_program(result.mapping, nullptr);
    const bool only_recurrences = legal != nullptr;
    if (!only_recurrences) {
      result = {plain_};
      legal = legal_program(plain_, nullptr);
    }
    const auto accept = [&](const std::optional<DefaultSchedule> &next) {
      auto now = next ? legal_program(next->mapping, legal.get()) : nullptr;
      if (!now) {
        return false;
      }
      result = *next;
      legal = std::move(now);
      return true;
    };
    for (const Candidate &candidate : candidates_) {
      if (only_recurrences && !candidate.reads_itself) {
        continue;
      }
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

  const Mapping &plain_;
  bool wide_;
  std::vector<Candidate> candidates_;
};

} // namespace

Mapping with_default_tags(const Mapping &plain, bool wide) {
  const DefaultSchedule chosen = TagChoice(plain, wide).choose();
  const std::int64_t threads = has_parallel_loops(chosen.mapping) ? least_work_for_threads : 0;
  if (chosen.little == 0 && threads == 0) {
    return chosen.mapping;
  }
  std::vector<Argument> limits = {chosen.little};
  if (threads > 0 || chosen.around > 0) {
    limits.emplace_back(threads);
  }
  if (chosen.around > 0) {
    limits.emplace_back(std::int64_t{chosen.around});
  }
  return chosen.mapping.with({"", "when_work", std::move(limits), {}});
}

} // namespace tilewright
