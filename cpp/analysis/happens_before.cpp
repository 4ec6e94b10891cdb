#include "analysis/happens_before.h"

#include "mapping/compare_loops.h"
#include "polyhedral/integer_value.h"

namespace tilewright {

namespace {

bool is_empty(const isl::map &map) { return checked(map.is_empty(), "the order of instances"); }

/// Which comes first where both loops are numbers: places between other loops, or padding.
std::optional<int> order_of_places(const Statement &first, const Statement &second, size_t level) {
  if (is_concurrent(first.tags[level]) || is_concurrent(second.tags[level])) {
    return std::nullopt;
  }
  const auto one = place_of(first.loops[level]);
  const auto other = one ? place_of(second.loops[level]) : std::nullopt;
  if (!other) {
    return std::nullopt;
  }
  return *one < *other ? -1 : *one > *other ? 1 : 0;
}

} // namespace

std::optional<std::int64_t> place_of(const isl::pw_aff &loop) {
  if (isl_pw_aff_is_cst(loop.get()) != isl_bool_true || isl_pw_aff_n_piece(loop.get()) != 1) {
    return std::nullopt;
  }
  const isl::val value = loop.as_aff().constant_val();
  return value.is_int().is_true() ? small_integer(value) : std::nullopt;
}

isl::map same_replica(isl::map pairs, size_t replicas) {
  for (size_t d = 0; d < replicas; ++d) {
    pairs = pairs.equate(isl::dim::in, static_cast<int>(d), isl::dim::out, static_cast<int>(d));
  }
  return pairs;
}

std::vector<UnorderedPairs> not_before(const Program &program, const Statement &source,
                                       const Statement &sink, isl::map pairs) {
  std::vector<UnorderedPairs> result;
  const auto depth = static_cast<size_t>(program.depth);
  for (size_t level = 0; level <= depth; ++level) {
    if (is_empty(pairs) || source.order[level] < sink.order[level]) {
      return result;
    }
    if (source.order[level] > sink.order[level]) {
      result.push_back({pairs, static_cast<int>(level), true, false});
      return result;
    }
    if (level == depth) {
      break;
    }
    if (const auto places = order_of_places(source, sink, level)) {
      if (*places < 0) {
        return result;
      }
      if (*places > 0) {
        result.push_back({pairs.coalesce(), static_cast<int>(level), false, false});
        return result;
      }
      continue;
    }
    const isl::pw_aff &first = source.loops[level];
    const isl::pw_aff &second = sink.loops[level];
    const bool concurrent = is_concurrent(source.tags[level]) || is_concurrent(sink.tags[level]);
    const ComparedLoops by_order = compare_loops(pairs, first, second, concurrent);
    const isl::map wrong = concurrent ? by_order.larger.unite(by_order.smaller) : by_order.larger;
    if (!is_empty(wrong)) {
      result.push_back({wrong.coalesce(), static_cast<int>(level), false, concurrent});
    }
    pairs = by_order.equal;
  }
  result.push_back({pairs, static_cast<int>(depth), false, false});
  return result;
}

bool differ_first_at(const std::vector<size_t> &levels, const Statement &first,
                     const Statement &second, isl::map pairs, bool forward) {
  size_t level = 0;
  for (const size_t wanted : levels) {
    for (; level <= wanted; ++level) {
      if (first.order[level] != second.order[level]) {
        return false;
      }
      if (const auto places = order_of_places(first, second, level)) {
        if (*places != 0) {
          return false;
        }
        continue;
      }
      const isl::pw_aff &one = first.loops[level];
      const isl::pw_aff &other = second.loops[level];
      if (level == wanted) {
        const ComparedLoops by_order = compare_loops(pairs, one, other);
        if (!is_empty(by_order.smaller) || (!forward && !is_empty(by_order.larger))) {
          return true;
        }
        pairs = by_order.equal;
      } else {
        pairs = with_equal_loops(pairs, one, other);
      }
      if (isl_map_plain_is_empty(pairs.get()) == isl_bool_true) {
        return false; // seen without a search
      }
    }
  }
  return false;
}

} // namespace tilewright
