// Folds, whose state is handed from term to term.
#include "planning/tagging.h"

#include <algorithm>

namespace tilewright {

namespace {

/// Vectors of partial states that a fold has side by side, so that none waits for the one before.
constexpr std::int64_t fold_vectors = 4;

} // namespace

/// A fold that takes its terms in order runs for several results at a time.
void Tagging::fold_rows(size_t term, std::int64_t lanes) {
  const size_t column = shape_.column();
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

/// Partial states of `folded` in `width` lanes. They become fewer until they are one: of a vector
/// of the widest state, a few, and one after the other only these.
void Tagging::fold_lanes(const std::string &folded, const std::string &term,
                         const std::string &outer, std::int64_t width) {
  std::string inner = term;
  const auto factor = [&](std::int64_t lanes, const std::string &suffix) {
    const std::string partial = new_name(computation_ + suffix);
    give_to(folded, "split", {inner, lanes});
    inner += "1";
    give_to(folded, "rfactor", {inner, partial});
    if (!lanes_.empty()) {
      give_to(partial, "vectorize", {inner, lanes});
      give_to(partial, "after", {lanes_.back(), outer});
    }
    lanes_.push_back(partial);
  };
  lanes_.clear();
  factor(width, "_lanes");
  const std::int64_t lanes = std::min(width, shape_.read_lanes());
  give_to(lanes_.front(), "split", {inner, lanes});
  if (width > lanes) {
    give_to(lanes_.front(), "unroll", {inner + "0", width / lanes});
  }
  give_to(lanes_.front(), "vectorize", {inner + "1", lanes});
  factor(shape_.lanes(), "_vector");
  if (const std::int64_t few = shape_.lanes() / fold_vectors; few > 1) {
    factor(few, "_part");
  }
  give_to(folded, "after", {lanes_.back(), outer});
  for (const std::string &partial : lanes_) {
    give_to(partial, "private", {outer});
  }
}

/// A fold whose terms lie side by side. Lanes have partial states of their own, and so have
/// threads where there is one result only: blocks of terms, which keep their order.
void Tagging::fold_terms(size_t term, std::int64_t lanes) {
  const std::string k = shape_.name(term);
  if (shape_.rank() > 0 && !shape_.is_commutative()) {
    fold_rows(term, lanes);
    return;
  }
  if (!shape_.is_associative()) {
    return;
  }
  const bool is_searched = shape_.is_extremum() && !shape_.has_condition();
  if (is_searched && shape_.rank() > 0) {
    return; // blocks of terms are searched (passes/search_blocks.h)
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
  if (is_searched || !shape_.is_commutative()) {
    give_to(folded, "parallelize", {outer});
    return;
  }
  fold_lanes(folded, inner, outer, width);
  if (shape_.rank() == 0) {
    parallelize_fold(folded, outer);
  }
}

/// The loop of what is folded, and that of its partial states.
void Tagging::parallelize_fold(const std::string &folded, const std::string &loop) {
  give_to(folded, "parallelize", {loop});
  for (const std::string &partial : lanes_) {
    give_to(partial, "parallelize", {loop});
  }
}

} // namespace tilewright
