#include "planning/default_tags.h"

#include "algorithm/block.h"
#include "analysis/legality.h"
#include "mapping/program.h"
#include "planning/computation_shape.h"
#include "planning/register_tiles.h"
#include "planning/shared_rows.h"

#include <isl/aff.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

namespace {

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

/// Vectors of partial states that a fold has side by side, so that none waits for the one before.
constexpr std::int64_t fold_vectors = 4;
/// Terms of a block of which a thread makes a partial state, where there is one result.
constexpr std::int64_t fold_block = 32 * 1024;

/// The mapping while it gets its tags.
class Tagging {
public:
  Tagging(Mapping mapping, std::string computation, const Shape &shape, bool wide)
      : mapping_(std::move(mapping)), computation_(std::move(computation)), shape_(shape),
        wide_(wide) {}

  /// Vector loops and tiles.
  void vectorize() {
    if (!shape_.simple() || (shape_.has_condition() && !shape_.is_commutative())) {
      return;
    }
    const std::int64_t lanes = shape_.lanes();
    const auto long_enough = [&](size_t iterator) {
      return shape_.extent(iterator).value_or(lanes) >= lanes;
    };
    if (shape_.is_scattered()) {
      scatter_rows(lanes);
      return;
    }
    const size_t column = shape_.rank() - 1;
    if (shape_.rank() > 0 && shape_.has_border()) {
      little_ = little_for_borders;
    }
    if (shape_.rank() > 0 && !shape_.has_condition() && long_enough(column) &&
        (shape_.all_contiguous(column) ||
         (shape_.states() < 2 && contiguous_when_packed(column)))) {
      shape_.reduced() == 0 ? give("vectorize", {shape_.name(column), lanes})
                            : reduce(column, lanes);
      return;
    }
    if (shape_.rank() > 1 && shape_.reduced() == 0 && !shape_.is_chosen(column - 1) &&
        shape_.is_transposition(column - 1, column) && long_enough(column)) {
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
      if (shape_.states() > 0) {
        fold_terms(term, lanes);
        return;
      }
      give("vectorize", {shape_.name(term), lanes}); // partial sums in lanes
    }
  }

  /// The loops over blocks of a tiled reduction run as one parallel loop. If `keeps_rows`, the
  /// first one stays for others to share if it is a whole loop. False if there are not several.
  bool join_blocks(bool keeps_rows) {
    if (blocks_.size() < 2 || (keeps_rows && has_rows())) {
      return false;
    }
    give("parallelize", {blocks_.begin(), blocks_.end()});
    return true;
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
      if (loop.tag.tag != Tag::Sequential || reduced || is_chosen(loop)) {
        return false; // what is inside of these is not worth threads
      }
      if (choice-- == 0) {
        parallelize_fold(computation_, loop.name);
        return true;
      }
    }
    return false;
  }

  /// Has the loop one iteration that data choose?
  bool is_chosen(const LoopDimension &loop) const {
    for (size_t d = 0; d < shape_.rank(); ++d) {
      if (shape_.is_chosen(d) && isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in,
                                                          static_cast<unsigned>(d), 1) != 0) {
        return true;
      }
    }
    return false;
  }

  /// Is it tiled, and its first loop a whole one?
  bool has_rows() const { return !blocks_.empty() && blocks_.front() == shape_.name(0); }

  const Mapping &mapping() const { return mapping_; }
  std::int64_t little() const { return little_; }
  int around() const { return around_; }

private:
  void give(const std::string &command, std::vector<Argument> arguments) {
    give_to(computation_, command, std::move(arguments));
  }
  void give_to(const std::string &computation, const std::string &command,
               std::vector<Argument> arguments) {
    mapping_ = mapping_.with({computation, command, std::move(arguments), {}});
  }

  /// Rows that data choose: the elements of a row lie side by side.
  void scatter_rows(std::int64_t lanes) {
    size_t column = shape_.rank() - 1;
    std::vector<Argument> order;
    for (; column > 0 && shape_.is_chosen(column); --column) {
      order.insert(order.begin(), shape_.name(column));
    }
    if (shape_.is_chosen(column) || shape_.reduced() > 0 || !shape_.all_contiguous(column) ||
        !shape_.any_contiguous(column) || shape_.extent(column).value_or(lanes) < lanes) {
      return;
    }
    order.emplace_back(shape_.name(column));
    give("reorder", order);
    give("vectorize", {shape_.name(column), lanes});
  }

  /// A fold that takes its terms in order runs for several results at a time.
  void fold_rows(size_t term, std::int64_t lanes) {
    const size_t column = shape_.rank() - 1;
    if (shape_.extent(column).value_or(lanes) < lanes) {
      return;
    }
    const std::string i = shape_.name(column);
    give("split", {i, lanes});
    std::vector<Argument> order = {i + "0"};
    for (size_t d = shape_.rank(); d <= term; ++d) {
      order.emplace_back(shape_.name(d));
    }
    order.emplace_back(i + "1");
    give("reorder", order);
    give("vectorize", {i + "1", lanes});
  }

  /// A fold whose terms lie side by side. Lanes have partial states of their own, and so have
  /// threads where there is one result only: blocks of terms, which keep their order.
  void fold_terms(size_t term, std::int64_t lanes) {
    const std::string k = shape_.name(term);
    if (shape_.rank() > 0 && !shape_.is_commutative()) {
      fold_rows(term, lanes);
      return;
    }
    if (!shape_.is_associative()) {
      return;
    }
    const std::int64_t width = fold_vectors * lanes;
    if (shape_.extent(term).value_or(width) < width) {
      return;
    }
    little_ = std::max(little_, little_for_tiles);
    std::string folded = computation_; // what has the loop over the terms
    std::string inner = k;
    std::string outer = shape_.rank() > 0 ? shape_.name(shape_.rank() - 1) : "";
    if (shape_.rank() == 0) {
      outer = shape_.name(0);
      if (shape_.reduced() == 1) {
        give("split", {k, fold_block});
        outer = k + "0";
        inner = k + "1";
      }
      folded = new_name(computation_ + "_blocks");
      give("rfactor", {outer, folded});
    }
    if (!shape_.is_commutative()) {
      give_to(folded, "parallelize", {outer});
      return;
    }
    const std::string all = new_name(computation_ + "_lanes");
    give_to(folded, "split", {inner, width});
    give_to(folded, "rfactor", {inner + "1", all});
    give_to(all, "split", {inner + "1", lanes});
    give_to(all, "unroll", {inner + "10", fold_vectors});
    give_to(all, "vectorize", {inner + "11", lanes});
    // The vectors become one before its lanes become one state.
    const std::string vector = new_name(computation_ + "_vector");
    give_to(folded, "split", {inner + "1", lanes});
    give_to(folded, "rfactor", {inner + "11", vector});
    give_to(vector, "vectorize", {inner + "11", lanes});
    give_to(vector, "after", {all, outer});
    give_to(folded, "after", {vector, outer});
    lanes_ = {all, vector};
    for (const std::string &partial : lanes_) {
      give_to(partial, "private", {outer});
    }
    if (shape_.rank() == 0) {
      parallelize_fold(folded, outer);
    }
  }

  /// The loop of what is folded, and that of its partial states.
  void parallelize_fold(const std::string &folded, const std::string &loop) {
    give_to(folded, "parallelize", {loop});
    for (const std::string &partial : lanes_) {
      give_to(partial, "parallelize", {loop});
    }
  }

  std::string new_name(const std::string &stem) const {
    std::string name = stem;
    for (int number = 2; mapping_.function().find(name) != nullptr; ++number) {
      name = stem + std::to_string(number);
    }
    return name;
  }

  /// Is all that is read contiguous along `column` once a shared operand is packed?
  bool contiguous_when_packed(size_t column) const {
    return !shape_.all_contiguous(column) && find_row(shape_, column);
  }

  /// The tile in its blocks.
  void tile(const RegisterTile &plan) {
    little_ = little_for_tiles;
    around_ = static_cast<int>(std::min(plan.row, plan.column));
    const std::string row = shape_.name(plan.row);
    const std::string column = shape_.name(plan.column);
    give("split", {row, plan.block_rows});
    give("split", {row + "1", plan.height});
    give("split", {column, plan.lanes});
    std::vector<Argument> order;
    blocks_.clear();
    for (size_t d = 0; d < shape_.rank(); ++d) {
      const bool cut = d == plan.row || d == plan.column;
      blocks_.push_back(shape_.name(d) + (cut ? "0" : ""));
    }
    order.assign(blocks_.begin(), blocks_.end());
    if (plan.split) {
      give("split", {shape_.name(*plan.split), plan.block_terms});
      order.emplace_back(shape_.name(*plan.split) + "0");
    }
    const Argument level = order.back();
    order.emplace_back(row + "10");
    for (const size_t term : plan.terms) {
      order.emplace_back(shape_.name(term) + (plan.split == term ? "1" : ""));
    }
    order.emplace_back(row + "11");
    order.emplace_back(column + "1");
    give("reorder", order);
    give("unroll", {row + "11", plan.height});
    give("vectorize", {column + "1", plan.lanes});
    if (plan.packed) {
      pack(*plan.packed, std::get<std::string>(level), plan.lanes);
    }
  }

  /// A reduction whose results lie side by side along `column`.
  void reduce(size_t column, std::int64_t lanes) {
    const std::string j = shape_.name(column);
    std::vector<std::string> terms;
    for (size_t d = shape_.rank(); d < shape_.rank() + shape_.reduced(); ++d) {
      terms.push_back(shape_.name(d));
    }
    std::vector<Argument> order;
    const auto plan = shape_.states() < 2 ? plan_register_tile(shape_, column, wide_)
                                          : std::nullopt; // too many registers
    if (plan) {
      tile(*plan);
    } else if (has_small_window(shape_)) {
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
    const std::string name = new_name(packed.array + "_cache");
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
  std::vector<std::string> blocks_; ///< the outer loops of a tiled reduction
  std::vector<std::string> lanes_;  ///< the partial states of a fold
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
  /// Something is tiled whose first loop others might share.
  bool has_rows = false;
};

/// Does an output only show what lies in its array (algorithm/views.h)? Then no loop is its own.
bool is_shown(const MappingState &state, const Computation &computation) {
  return computation.is_view &&
         std::all_of(computation.pieces.begin(), computation.pieces.end(), [&](const Piece &piece) {
           const auto storage = state.storage.find(piece.value->producer->name);
           return storage != state.storage.end() &&
                  storage->second.buffer == state.storage.at(computation.name).buffer;
         });
}

/// Chooses the tags: all at once where that is legal, else one computation after the other.
class TagChoice {
public:
  /// `parts`: null for all computations.
  TagChoice(const Mapping &plain, const std::vector<std::string> *parts, bool wide)
      : plain_(plain), wide_(wide), threads_(parts == nullptr || has_parallel_loops(plain)) {
    for (const ComputationPtr &computation : plain.function().computations) {
      const bool is_asked = parts == nullptr || std::find(parts->begin(), parts->end(),
                                                          computation->name) != parts->end();
      if (is_asked && is_apart(plain.state(), computation->name) &&
          !is_shown(plain.state(), *computation) && block_node(*computation) == nullptr) {
        candidates_.push_back({computation->name, Shape(*computation), reads_itself(*computation)});
      }
    }
  }

  /// Of parts: nobody else's loops are touched.
  DefaultSchedule choose_apart() const {
    if (candidates_.empty() || candidates_.size() > max_computations) {
      return {plain_};
    }
    DefaultSchedule all = together(true, false);
    return legal_program(all.mapping, nullptr) ? all : one_by_one();
  }

  DefaultSchedule choose() const {
    if (candidates_.size() > max_computations) {
      return {plain_};
    }
    const bool several_loops = candidates_.size() > 1;
    DefaultSchedule all = together(true, several_loops);
    std::shared_ptr<const LegalProgram> legal = legal_program(all.mapping, nullptr);
    if (!legal) {
      return one_by_one();
    }
    DefaultSchedule shared = in_rows(all, *legal);
    if (!several_loops || !all.has_rows || placements(shared.mapping) > placements(plain_)) {
      return shared;
    }
    // Nobody shares a loop, so blocks need not be kept apart for it.
    const DefaultSchedule joined = together(true, false);
    return legal_program(joined.mapping, legal.get()) ? joined : shared;
  }

private:
  static size_t placements(const Mapping &mapping) { return mapping.state().placements.size(); }

  /// Computations that read each other's rows share a loop, if that is legal.
  static DefaultSchedule in_rows(const DefaultSchedule &given, const LegalProgram &legal) {
    const Mapping shared = with_shared_rows(given.mapping);
    if (placements(shared) == placements(given.mapping)) {
      return given;
    }
    const auto legal_shared = legal_program(shared, &legal);
    if (!legal_shared) {
      return given;
    }
    const Mapping stored = with_rows_in_results(shared);
    const bool is_stored = stored.schedule().commands.size() > shared.schedule().commands.size();
    DefaultSchedule result = given;
    result.mapping = is_stored && legal_program(stored, legal_shared.get()) ? stored : shared;
    const Mapping own = with_private_rows(result.mapping);
    if (own.schedule().commands.size() > result.mapping.schedule().commands.size() &&
        legal_program(own, nullptr)) {
      result.mapping = own;
    }
    return result;
  }

  /// Which loops of a computation run on threads.
  struct Threads {
    std::optional<size_t> loop; ///< a single one
    bool joined = false;        ///< or those over blocks
    bool keeps_rows = false;    ///< of these, not the first one if others might share it
  };

  /// `before` with the tags of one more computation; nothing where it cannot have them.
  std::optional<DefaultSchedule> tagged(const DefaultSchedule &before, const Candidate &candidate,
                                        bool vector, const Threads &threads) const {
    Tagging tagging(before.mapping, candidate.name, candidate.shape, wide_);
    try {
      if (vector) {
        tagging.vectorize();
      }
      if ((threads.joined && !tagging.join_blocks(threads.keeps_rows)) ||
          (threads.loop && !tagging.parallelize(*threads.loop))) {
        return std::nullopt;
      }
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Schedule && error.kind != ErrorKind::Limit) {
        throw;
      }
      return std::nullopt;
    }
    DefaultSchedule next{tagging.mapping(), std::max(before.little, tagging.little()),
                         before.around, before.has_rows || tagging.has_rows()};
    if (tagging.little() > 0) {
      next.around =
          before.little > 0 ? std::min(before.around, tagging.around()) : tagging.around();
    }
    return next;
  }

  /// All at once, which is legal where no computation reads itself.
  DefaultSchedule together(bool with_recurrences, bool keeps_rows) const {
    DefaultSchedule all{plain_};
    for (const Candidate &candidate : candidates_) {
      if (with_recurrences || !candidate.reads_itself) {
        auto next = threads_ ? tagged(all, candidate, true, {std::nullopt, true, keeps_rows})
                             : std::nullopt;
        next = next || !threads_ ? next : tagged(all, candidate, true, {0});
        next = next ? next : tagged(all, candidate, true, {});
        all = next ? *next : all;
      }
    }
    if (candidates_.size() >= several) {
      all.little = std::max(all.little, little_for_several);
      all.around = 0;
    }
    return all;
  }

  /// One after the other, of each what is legal: of those that read themselves where that is
  /// enough.
  DefaultSchedule one_by_one() const {
    DefaultSchedule result = together(false, true);
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
        found = found ||
                (threads_ && accept(tagged(result, candidate, vector, {std::nullopt, true, true})));
        for (size_t loop = 0; threads_ && !found && loop < candidate.shape.rank(); ++loop) {
          found = accept(tagged(result, candidate, vector, {loop}));
        }
        found = found ||
                (vector && candidate.shape.simple() && accept(tagged(result, candidate, true, {})));
      }
    }
    return result;
  }

  const Mapping &plain_;
  bool wide_;
  bool threads_; ///< loops may be parallel
  std::vector<Candidate> candidates_;
};

} // namespace

Mapping with_default_tags(const Mapping &plain, bool wide) {
  const DefaultSchedule chosen = TagChoice(plain, nullptr, wide).choose();
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

Mapping with_tags_of_parts(const Mapping &given, const std::vector<std::string> &parts, bool wide) {
  return TagChoice(given, &parts, wide).choose_apart().mapping;
}

} // namespace tilewright
