#include "planning/tagging.h"

#include "planning/picked_updates.h"

#include <isl/aff.h>

#include <algorithm>
#include <optional>

namespace tilewright {

namespace {

/// So many terms of a window are written out one after the other.
constexpr std::int64_t max_unrolled_terms = 16;
/// Rows of a block of a transposition: of both arrays, a block touches few pages.
constexpr std::int64_t transposed_rows = 32;
/// Work that plain loops do sooner than a loop whose border needs code of its own (a stencil of
/// 32 x 32).
constexpr std::int64_t little_for_borders = 10'000;
/// The same where columns are summed (6 x 6).
constexpr std::int64_t little_for_columns = 150;
/// Columns that are summed side by side where a reduction streams through its operand once.
constexpr std::int64_t block_columns = 1024;
/// Rows of an operand that is read once which are read at the same time: as many streams keep a
/// memory busy, and what the rows share is loaded once for all of them.
constexpr std::int64_t wide_streams = 8;
constexpr std::int64_t narrow_streams = 4;
/// So few columns are no vectors: their terms are.
constexpr std::int64_t few_columns = 3;
/// Rows that share a transposed operand of few columns.
constexpr std::int64_t rows_of_transposed = 256;
/// So few results are no work for several threads, unless these share the terms.
constexpr std::int64_t few_results = 16;
/// Of terms that have several iterators, values of the first one in a block.
constexpr std::int64_t block_rows = 32;
/// Of these, so many are read at the same time: each has sums of its own, so that none waits for
/// the one before, and what they share is loaded once.
constexpr std::int64_t rows_of_block = 4;

} // namespace

/// Vector loops and tiles.
void Tagging::vectorize() {
  if (shape_.has_picked()) {
    update_picked();
    return;
  }
  const bool is_simple = shape_.simple() || (shape_.simple_or_gathered() && shape_.reduced() > 0);
  if (!is_simple || (shape_.has_condition() && !shape_.is_commutative())) {
    sum_inside();
    return;
  }
  const std::int64_t lanes = shape_.lanes();
  const auto long_enough = [&](size_t iterator) {
    return shape_.extent(iterator).value_or(lanes) >= lanes &&
           (shape_.reduced() == 0 || shape_.inner_extent(iterator).value_or(lanes) >= lanes);
  };
  if (shape_.is_scattered()) {
    scatter_rows(lanes);
    return;
  }
  move_singles_out();
  const size_t column = shape_.rank() > 0 ? shape_.column() : 0;
  if (vectorize_one_row() || vectorize_short() || vectorize_interleaved()) {
    return;
  }
  if (shape_.rank() > 0 && shape_.has_border()) {
    little_ = little_for_borders;
  }
  if (shape_.rank() > 0 && !long_enough(column) && sum_beside(lanes)) {
    return;
  }
  if (shape_.rank() > 0 && !shape_.has_condition() && (long_enough(column) || sums_short()) &&
      (shape_.all_contiguous(column) || (shape_.states() < 2 && tiles_apart(column)))) {
    shape_.reduced() == 0 ? give("vectorize", {shape_.name(column), lanes})
                          : reduce(column, shape_.lanes_along(column));
    return;
  }
  if (shape_.rank() > 0 && long_enough(column) && sum_chosen_rows(column, lanes)) {
    return;
  }
  if (column > 0 && shape_.reduced() == 0 && !shape_.is_chosen(column - 1) &&
      shape_.is_transposition(column - 1, column) && long_enough(column)) {
    const std::string i = shape_.name(column - 1);
    const std::string j = shape_.name(column);
    give("split", {i, transposed_rows});
    give("split", {j, lanes});
    give("interchange", {i + "1", j + "0"});
    give("vectorize", {j + "1", lanes});
    return;
  }
  if (vectorize_in_phases() || shape_.reduced() == 0) {
    return;
  }
  const size_t term = shape_.term();
  if (shape_.all_contiguous(term) && shape_.any_contiguous(term) && long_enough(term)) {
    if (shape_.states() > 0) {
      fold_terms(term, lanes);
      return;
    }
    sum_terms(term, lanes);
    return;
  }
  if (long_enough(term)) {
    sum_few_columns(column, term, lanes);
  } else {
    write_out(column);
  }
}

/// Before anything else is said of the loops: terms are counted from where they begin.
void Tagging::skew() {
  if (is_skewed_) {
    return;
  }
  is_skewed_ = true;
  for (const Slant &slant : shape_.slants()) {
    const std::string loop = shape_.name(slant.iterator);
    for (const auto &[iterator, factor] : slant.along) {
      give_to(computation_, "skew", {shape_.name(iterator), loop, -factor});
    }
    if (slant.begin != 0) {
      give_to(computation_, "shift", {loop, -slant.begin});
    }
  }
}

/// Iterators of one iteration stand outside of the innermost loop, which they would keep from
/// being a vector.
void Tagging::move_singles_out() {
  size_t last = shape_.rank() + shape_.reduced();
  std::vector<Argument> order;
  while (last > 0 && shape_.is_single(last - 1)) {
    order.emplace_back(shape_.name(--last));
  }
  if (last > 0 && !order.empty()) {
    order.emplace_back(shape_.name(last - 1));
    give("reorder", std::move(order));
  }
}

/// Is there one result, or are there so few, as far as that is known, that threads have to share
/// the terms?
bool Tagging::has_few_results() const {
  std::int64_t results = 1;
  for (size_t d = 0; d < shape_.rank(); ++d) {
    results *= shape_.extent(d).value_or(few_results + 1);
    if (results > few_results) {
      return false;
    }
  }
  return true;
}

/// Whether results that are fewer than the widest vector has lanes, such as the bands of a filter
/// bank, are summed side by side in one of fewer lanes: unless the terms of each fill vectors.
bool Tagging::sums_short() const {
  if (shape_.reduced() == 0) {
    return false;
  }
  const size_t term = shape_.term();
  const bool terms_fill = shape_.all_contiguous(term) && shape_.any_contiguous(term) &&
                          shape_.extent(term).value_or(shape_.lanes()) >= shape_.lanes();
  return !terms_fill && shape_.extent(shape_.column()).value_or(0) >= fewest_lanes;
}

/// Few results: threads sum blocks of terms, which do not depend on how many threads there are. Of
/// rows of terms, some are summed side by side.
void Tagging::sum_blocks(size_t term, std::int64_t lanes) {
  little_ = std::max(little_, little_for_columns);
  const std::string first = shape_.name(shape_.rank());
  const bool of_rows = shape_.reduced() > 1;
  const std::string outer = first + "0";
  give("split", {first, of_rows ? block_rows : fold_block});
  const std::string blocks = new_name(computation_ + "_blocks");
  give("rfactor", {outer, blocks});
  std::vector<Argument> order = {outer};
  for (size_t d = 0; d < shape_.rank(); ++d) {
    order.emplace_back(shape_.name(d));
  }
  std::string inner = first + "1";
  if (of_rows) {
    const std::string k = shape_.name(term);
    give_to(blocks, "split", {inner, rows_of_block});
    give_to(blocks, "split", {k, lanes});
    order.emplace_back(inner + "0");
    for (size_t d = shape_.rank() + 1; d < term; ++d) {
      order.emplace_back(shape_.name(d));
    }
    order.insert(order.end(), {k + "0", inner + "1", k + "1"});
    give_to(blocks, "reorder", order);
    give_to(blocks, "unroll", {inner + "1", rows_of_block});
    inner = k + "1";
  } else if (shape_.rank() > 0) {
    give_to(blocks, "reorder", order);
  }
  give_to(blocks, "vectorize", {inner, lanes});
  give_to(blocks, "parallelize", {outer});
}

/// A sum in lanes: of one row after the other, or of several at once.
void Tagging::sum_terms(size_t term, std::int64_t lanes) {
  if (has_few_results() && shape_.is_associative() &&
      shape_.extent(shape_.rank()).value_or(fold_block + 1) >
          (shape_.reduced() > 1 ? block_rows : fold_block)) {
    sum_blocks(term, lanes);
    return;
  }
  const auto row = streams_ ? find_streamed_row(shape_) : std::nullopt;
  if (!row) {
    give("vectorize", {shape_.name(term), lanes}); // partial sums in lanes
    return;
  }
  little_ = std::max(little_, little_for_columns);
  const std::string i = shape_.name(*row);
  const std::string k = shape_.name(term);
  const std::int64_t rows = streams();
  give("split", {i, rows});
  give("split", {k, lanes});
  std::vector<Argument> order;
  for (size_t d = 0; d <= term; ++d) {
    order.emplace_back(shape_.name(d) + (d == *row || d == term ? "0" : ""));
  }
  order.emplace_back(i + "1");
  order.emplace_back(k + "1");
  give("reorder", order);
  give("unroll", {i + "1", rows});
  give("vectorize", {k + "1", lanes});
}

/// Few results in a row, of long terms: a tile of results is summed in lanes.
bool Tagging::sum_beside(std::int64_t lanes) {
  const auto tile = streams_ ? plan_result_tile(shape_, wide_) : std::nullopt;
  if (!tile) {
    return false;
  }
  little_ = std::max(little_, little_for_tiles);
  const size_t term = shape_.term();
  const std::string i = shape_.name(tile->row);
  const std::string j = shape_.name(tile->other);
  const std::string k = shape_.name(term);
  give("split", {i, tile->height});
  give("split", {k, lanes});
  std::vector<Argument> order;
  for (size_t d = 0; d <= term; ++d) {
    if (d != tile->other) {
      order.emplace_back(shape_.name(d) + (d == tile->row || d == term ? "0" : ""));
    }
  }
  order.insert(order.end(), {i + "1", j, k + "1"});
  give("reorder", order);
  give("unroll", {i + "1", tile->height});
  give("unroll", {j, *shape_.extent(tile->other)});
  give("vectorize", {k + "1", lanes});
  return true;
}

/// The loops over blocks of a tiled reduction run as one parallel loop, but for inner ones if their
/// bounds depend on others. If `keeps_rows`, the first one stays for others to share if it is a
/// whole loop. False if there are not several.
bool Tagging::join_blocks(bool keeps_rows) {
  if (blocks_.size() < 2 || (keeps_rows && has_rows())) {
    return false;
  }
  const Mapping before = mapping_;
  for (std::ptrdiff_t count = std::ssize(blocks_);; --count) {
    try {
      give("parallelize", {blocks_.begin(), blocks_.begin() + count});
      return true;
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Schedule || count == 2) {
        throw;
      }
      mapping_ = before;
    }
  }
}

void Tagging::set_side_by_side(const Chains &chains) {
  const size_t inner = shape_.rank() - 1;
  for (const Command &command :
       chains.commands(computation_, shape_.name(inner - 1), shape_.name(inner))) {
    mapping_ = mapping_.with(command);
  }
}

/// The outermost of the loops that no reduced iterator drives, after so many others.
bool Tagging::parallelize(size_t choice) {
  std::vector<LoopDimension> loops = mapping_.time_space(computation_).dimensions;
  const size_t outer = shape_.rank();
  for (const LoopDimension &loop : loops) {
    const bool reduced =
        shape_.reduced() > 0 &&
        isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, static_cast<unsigned>(outer),
                                 static_cast<unsigned>(shape_.reduced())) != isl_bool_false;
    if (loop.tag.tag != Tag::Sequential || reduced || shape_.is_chosen(loop)) {
      return false; // what is inside of these is not worth threads
    }
    if (shape_.is_single(loop)) {
      continue;
    }
    if (choice-- == 0) {
      parallelize_fold(computation_, loop.name);
      return true;
    }
  }
  return false;
}

/// A few results of a few terms each, such as products with a matrix of 3 x 3, are written out:
/// LLVM makes a vector loop of the rows around them.
void Tagging::write_out(size_t column) {
  const auto columns = shape_.rank() > 1 ? shape_.extent(column) : std::nullopt;
  if (!columns || shape_.has_condition() || shape_.states() > 0) {
    return;
  }
  std::vector<size_t> loops = {column};
  std::int64_t copies = *columns;
  for (size_t d = shape_.rank(); d < shape_.rank() + shape_.reduced(); ++d) {
    loops.push_back(d);
    copies *= shape_.extent(d).value_or(max_unrolled_terms + 1);
    if (copies > max_unrolled_terms) {
      return;
    }
  }
  for (const size_t d : loops) {
    if (!shape_.is_single(d)) {
      give("unroll", {shape_.name(d), *shape_.extent(d)});
    }
  }
}

/// Few results along `column`, of terms that lie side by side but for an operand that all rows
/// share, such as the columns of a narrow matrix: this is transposed once for a block of rows, and
/// a tile of a few rows and all columns is summed in lanes.
///     for i / block_rows:
///       [pack]
///       for i / rows in the block: for k / lanes: for rows, j (unrolled): for lanes (a vector)
void Tagging::sum_few_columns(size_t column, size_t term, std::int64_t lanes) {
  const auto columns = shape_.rank() > 1 ? shape_.extent(column) : std::nullopt;
  if (!columns || *columns > few_columns || shape_.states() > 0 || shape_.reduced() != 1) {
    return;
  }
  for (size_t row = column; row-- > 0;) {
    if (shape_.extent(row).value_or(few_results) < few_results || shape_.is_chosen(row) ||
        !shape_.packs_all(row, term)) {
      continue;
    }
    little_ = little_for_tiles;
    const auto packed = shape_.packable(row, term);
    const std::int64_t rows = std::max<std::int64_t>(1, (wide_ ? 8 : 4) / *columns);
    const std::string i = shape_.name(row);
    const std::string j = shape_.name(column);
    const std::string k = shape_.name(term);
    give("split", {i, rows_of_transposed});
    give("split", {i + "1", rows});
    give("split", {k, lanes});
    give("reorder", {i + "0", i + "10", k + "0", i + "11", j, k + "1"});
    give("unroll", {i + "11", rows});
    give("unroll", {j, *columns});
    give("vectorize", {k + "1", lanes});
    keep(*packed, i + "0", lanes);
    return;
  }
}

/// Rows that data choose: the elements of a row lie side by side.
void Tagging::scatter_rows(std::int64_t lanes) {
  size_t column = shape_.column();
  std::vector<Argument> order;
  for (; column > 0 && shape_.is_chosen(column); --column) {
    order.emplace_back(shape_.name(column));
  }
  std::reverse(order.begin(), order.end());
  if (shape_.is_chosen(column) || shape_.is_choosing(column) || shape_.reduced() > 0 ||
      !shape_.all_contiguous(column) || !shape_.any_contiguous(column) ||
      shape_.extent(column).value_or(lanes) < lanes) {
    return;
  }
  order.emplace_back(shape_.name(column));
  give("reorder", order);
  give("vectorize", {shape_.name(column), lanes});
}

void Tagging::update_picked() {
  for (const Command &command : picked_updates(mapping_, computation_, shape_, 0)) {
    mapping_ = mapping_.with(command);
  }
}

std::string Tagging::new_name(const std::string &stem) const {
  std::string name = stem;
  for (int number = 2; mapping_.function().find(name) != nullptr; ++number) {
    name = stem + std::to_string(number);
  }
  return name;
}

std::int64_t Tagging::streams() const { return wide_ ? wide_streams : narrow_streams; }

/// Has it a tile in which what is not contiguous along `column` is packed, or chosen from whole
/// vectors for several rows?
bool Tagging::tiles_apart(size_t column) const {
  return !shape_.all_contiguous(column) && find_row(shape_, column);
}

/// The tile in its blocks.
void Tagging::tile(const RegisterTile &plan) {
  little_ = little_for_tiles;
  around_ = static_cast<int>(std::min(plan.row, plan.column));
  const std::string row = shape_.name(plan.row);
  const std::string column = shape_.name(plan.column);
  give("split", {row, plan.block_rows});
  give("split", {row + "1", plan.height});
  const bool has_blocks = plan.block_columns > 0;
  give("split", {column, has_blocks ? plan.block_columns : plan.lanes});
  const std::string lanes = column + (has_blocks ? "11" : "1");
  if (has_blocks) {
    give("split", {column + "1", plan.lanes});
  }
  std::vector<Argument> order;
  blocks_.clear();
  std::vector<std::string> phases;
  for (size_t d = 0; d < shape_.rank(); ++d) {
    if (shape_.period(d) > 1) {
      phases.push_back(shape_.phase(d));
    }
  }
  for (size_t d = 0; d < shape_.rank(); ++d) {
    if (shape_.period(d) > 1) { // all phases stand outside of the first loop that has some
      blocks_.insert(blocks_.end(), phases.begin(), phases.end());
      phases.clear();
    }
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
  if (has_blocks) {
    order.emplace_back(column + "10");
  }
  for (const size_t term : plan.terms) {
    order.emplace_back(shape_.name(term) + (plan.split == term ? "1" : ""));
  }
  order.emplace_back(row + "11");
  order.emplace_back(lanes);
  give("reorder", order);
  give("unroll", {row + "11", plan.height});
  give("vectorize", {lanes, plan.lanes});
  pack(plan, std::get<std::string>(level), row + "10");
}

/// A reduction whose results lie side by side along `column`.
void Tagging::reduce(size_t column, std::int64_t lanes) {
  // Vectors from the first result on: one border less, and none where both meet.
  if (const std::int64_t begin = shape_.begin(column).value_or(0); begin != 0) {
    give("shift", {shape_.name(column), -begin});
  }
  const auto plan = shape_.states() < 2 ? plan_register_tile(shape_, column, wide_)
                                        : std::nullopt; // too many registers
  if (plan) {
    tile(*plan);
  } else if (has_small_window(shape_)) {
    sum_window(column, lanes);
  } else {
    sum_columns(column, lanes);
  }
}

/// Every result is summed in a register: vectors of results along `column`, inside of the terms,
/// which are written out.
void Tagging::sum_window(size_t column, std::int64_t lanes) {
  const std::string j = shape_.name(column);
  give("split", {j, lanes});
  std::vector<Argument> order = {j + "0"};
  const size_t end = shape_.rank() + shape_.reduced();
  for (size_t d = shape_.rank(); d < end; ++d) {
    order.emplace_back(shape_.name(d));
  }
  order.emplace_back(j + "1");
  give("reorder", order);
  give("vectorize", {j + "1", lanes});
  std::int64_t copies = 1;
  for (size_t d = end; d-- > shape_.rank();) {
    copies *= shape_.extent(d).value_or(max_unrolled_terms + 1);
    if (copies > max_unrolled_terms) {
      break;
    }
    if (shape_.extent(d) > 1) {
      give("unroll", {shape_.name(d), *shape_.extent(d)});
    }
  }
}

/// What is read once is read in the order of memory, some rows at a time, beside results that stay
/// in a cache.
void Tagging::sum_columns(size_t column, std::int64_t lanes) {
  little_ = std::max(little_, little_for_columns);
  const std::string j = shape_.name(column);
  const size_t term = shape_.term();
  const std::int64_t rows = streams();
  const bool several = shape_.states() == 0 && shape_.extent(term).value_or(rows) >= rows;
  give("split", {j, block_columns});
  give("split", {j + "1", lanes});
  if (several) {
    give("split", {shape_.name(term), rows});
  }
  std::vector<Argument> order = {j + "0"};
  for (size_t d = shape_.rank(); d <= term; ++d) {
    order.emplace_back(shape_.name(d) + (several && d == term ? "0" : ""));
  }
  order.emplace_back(j + "10");
  if (several) {
    order.emplace_back(shape_.name(term) + "1");
  }
  order.emplace_back(j + "11");
  give("reorder", order);
  if (several) {
    give("unroll", {shape_.name(term) + "1", rows});
  }
  give("vectorize", {j + "11", lanes});
}

/// Terms that data choose for whole rows of results, such as the words of a text that a padded
/// table names: what decides is asked once for each row.
bool Tagging::sum_chosen_rows(size_t column, std::int64_t lanes) {
  if (!shape_.has_condition() || shape_.has_condition_on(column) || shape_.states() > 0 ||
      !shape_.all_contiguous(column) || !shape_.any_contiguous(column)) {
    return false;
  }
  little_ = std::max(little_, little_for_columns);
  std::vector<Argument> order;
  for (size_t d = shape_.rank(); d < shape_.rank() + shape_.reduced(); ++d) {
    order.emplace_back(shape_.name(d));
  }
  order.emplace_back(shape_.name(column));
  give("reorder", order);
  give("vectorize", {shape_.name(column), lanes});
  return true;
}

/// The values of an array are kept in the order in which they are written; copies of elements come
/// behind, when the values do not read these any more.
void Tagging::pack(const RegisterTile &plan, const std::string &level, const std::string &rows) {
  struct Copy {
    Shape::Packable operand;
    std::string level;
    std::int64_t lanes;
  };
  std::vector<Copy> copies;
  const auto add = [&](const Shape::Packable &operand, const std::string &at, std::int64_t lanes) {
    const auto behind = std::find_if(copies.begin(), copies.end(), [&](const Copy &copy) {
      return copy.operand.is_value && operand.is_value && copy.operand.array == operand.array &&
             copy.operand.position > operand.position;
    });
    copies.insert(behind, {operand, at, lanes});
  };
  for (const Shape::Packable &value : plan.values) {
    copies.push_back({value, level, shape_.lanes()});
  }
  if (plan.packed) {
    add(*plan.packed, level, plan.lanes);
  }
  if (plan.rows) {
    add(*plan.rows, rows, plan.height);
  }
  for (const Copy &copy : copies) {
    keep(copy.operand, copy.level, copy.lanes);
  }
}

/// A copy whose last dimension has one vector: its accesses lie side by side, however far the
/// rows of the array itself are apart.
void Tagging::keep(const Shape::Packable &operand, const std::string &level, std::int64_t lanes) {
  const std::string name = new_name(operand.array + "_cache");
  // All arguments, as who prints and replays it gives them.
  std::vector<Argument> arguments = {operand.array, level, name, std::string("auto"),
                                     operand.order};
  if (operand.is_value) {
    arguments.insert(arguments.end(), {std::int64_t{0}, std::int64_t{1}, std::string("values")});
  }
  give("cache", std::move(arguments));
  mapping_ = mapping_.with(
      {name, "vectorize", {mapping_.time_space(name).dimensions.back().name, lanes}, {}});
}

} // namespace tilewright
