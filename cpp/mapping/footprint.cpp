#include "mapping/footprint.h"

#include "algorithm/affine.h"

#include <algorithm>
#include <optional>

namespace tilewright {

namespace {

/// instance -> [d0, ..., d(levels-1)]
isl::map outer_loops(const Statement &statement, size_t levels) {
  isl_pw_aff_list *loops = isl_pw_aff_list_alloc(isl_context().get(), static_cast<int>(levels));
  for (size_t level = 0; level < levels; ++level) {
    loops = isl_pw_aff_list_add(loops, statement.loops[level].copy());
  }
  isl_space *space = isl_space_from_domain(statement.domain.space().release());
  space = isl_space_add_dims(space, isl_dim_out, static_cast<unsigned>(levels));
  const isl::multi_pw_aff prefix = isl::manage(isl_multi_pw_aff_from_pw_aff_list(space, loops));
  return prefix.as_map();
}

} // namespace

isl::map written_footprint(const std::vector<const Statement *> &writers, size_t levels) {
  isl::map result;
  for (const Statement *writer : writers) {
    const isl::map part = outer_loops(*writer, levels)
                              .intersect_domain(writer->domain)
                              .reverse()
                              .apply_range(defined_value(*writer));
    result = result.is_null() ? part : result.unite(part);
  }
  return checked(result, "a footprint").coalesce();
}

isl::map footprint(const std::vector<const Statement *> &readers, const Computation &computation,
                   size_t levels) {
  KnownReads known;
  return footprint(readers, computation, levels, known);
}

isl::map footprint(const std::vector<const Statement *> &readers, const Computation &computation,
                   size_t levels, KnownReads &known) {
  isl::map result;
  for (const Statement *reader : readers) {
    auto found = known.find(reader);
    if (found == known.end()) {
      found = known.emplace(reader, read_accesses(*reader)).first;
    }
    for (const ReadAccess &read : found->second) {
      if (read.producer.get() != &computation) {
        continue;
      }
      const isl::map part = outer_loops(*reader, levels).reverse().apply_range(read.relation);
      result = result.is_null() ? part : result.unite(part);
    }
  }
  return checked(result, "a footprint").coalesce();
}

constexpr std::uint64_t footprint_operation_limit = 500'000;
/// A hull that is found late is found by nobody who waits for it.
constexpr std::uint64_t hull_operation_limit = 150'000;

std::string outer_loop_name(size_t level) { return "@" + std::to_string(level); }

namespace {

/// What one dimension takes in each iteration.
isl::map values_of(const isl::map &needed, unsigned dimension) {
  isl_map *alone = needed.copy();
  const auto rank = static_cast<unsigned>(std::max(isl_size(1), isl_map_dim(alone, isl_dim_out)));
  alone = isl_map_project_out(alone, isl_dim_out, dimension + 1, rank - dimension - 1);
  return isl::manage(isl_map_project_out(alone, isl_dim_out, 0, dimension));
}

bool is_valid(const isl::fixed_box &interval) {
  return !interval.is_null() && checked(interval.is_valid(), "a footprint");
}

/// The interval of constant size that holds all values of one dimension in each iteration, where
/// isl finds one. Holes (strided reads) hide an interval that their convex hull shows, which takes
/// isl long for many pieces.
isl::fixed_box interval_of_hull(const isl::map &values) {
  return isl::map(values.polyhedral_hull()).range_simple_fixed_box_hull();
}
isl::fixed_box fixed_interval(const isl::map &needed, unsigned dimension) {
  const isl::map values = values_of(needed, dimension);
  const isl::fixed_box interval = values.range_simple_fixed_box_hull();
  return interval.is_null() || is_valid(interval) ? interval : interval_of_hull(values);
}

/// The first `count` dimensions of each element.
isl::map prefix_of(const isl::map &map, unsigned count) {
  const unsigned rank = checked(map.range_tuple_dim(), "a footprint");
  return isl::manage(isl_map_project_out(map.copy(), isl_dim_out, count, rank - count));
}

/// The part of `map` that is there for parameters that are not small.
isl::map for_large_parameters(const isl::map &map) {
  constexpr int smallest = 64;
  isl_map *part = map.copy();
  const isl_size parameters = isl_map_dim(part, isl_dim_param);
  for (isl_size p = 0; p < parameters; ++p) {
    part = isl_map_lower_bound_si(part, isl_dim_param, static_cast<unsigned>(p), smallest);
  }
  return isl::manage(part);
}

/// The product of the sizes of a box; nothing where one is not constant.
std::optional<std::int64_t> volume(const isl::fixed_box &box) {
  if (box.is_null() || !checked(box.is_valid(), "a footprint")) {
    return std::nullopt;
  }
  const isl::multi_val size = checked(box.size(), "a footprint");
  std::int64_t product = 1;
  for (unsigned d = 0; d < checked(size.size(), "a footprint"); ++d) {
    if (__builtin_mul_overflow(product, std::int64_t(size.at(static_cast<int>(d)).num_si()),
                               &product)) {
      return std::nullopt;
    }
  }
  return product;
}

/// How many elements the basic maps of `map` have in each iteration, at most; with the first
/// `fixed` dimensions given. Nothing where that grows with parameters.
std::optional<std::int64_t> elements_of(const isl::map &map, unsigned fixed) {
  struct Sum {
    std::optional<std::int64_t> elements = 0;
    unsigned fixed;
  } sum{0, fixed};
  const isl_stat status = isl_map_foreach_basic_map(
      map.get(),
      [](isl_basic_map *piece, void *user) {
        auto &total = *static_cast<Sum *>(user);
        isl_map *values = isl_map_from_basic_map(piece);
        const isl_size loops = std::max(isl_size(0), isl_map_dim(values, isl_dim_in));
        values = isl_map_move_dims(values, isl_dim_in, static_cast<unsigned>(loops), isl_dim_out, 0,
                                   total.fixed);
        const auto size = volume(isl::manage(values).range_simple_fixed_box_hull());
        total.elements =
            total.elements && size ? std::optional(*total.elements + *size) : std::nullopt;
        return isl_stat_ok;
      },
      &sum);
  if (status != isl_stat_ok) {
    throw_isl_error("a footprint");
  }
  return sum.elements;
}

/// Does `hull` hold no, or at most a few elements more than `footprint`: a quarter where it has a
/// constant size, else a constant number along each line of each dimension?
bool is_close(const isl::map &hull, const isl::map &footprint, const isl::set &context) {
  constexpr std::int64_t max_added_elements = 32;
  constexpr std::int64_t share = 4;
  const unsigned rank = checked(hull.range_tuple_dim(), "a footprint");
  for (unsigned d = 0; d < rank; ++d) {
    // Along the lines that the footprint has; lines of the hull's own were counted before.
    const isl::map along =
        isl::manage(isl_map_add_dims(prefix_of(footprint, d).release(), isl_dim_out, 1));
    const isl::map line = prefix_of(hull, d + 1).intersect(along);
    const isl::map more = checked(
        line.subtract(prefix_of(footprint, d + 1)).intersect_params(context), "a footprint");
    const auto added = elements_of(more, 0);
    const auto whole = elements_of(line, 0);
    if (added == 0 || (added && whole && *added * share <= *whole)) {
      continue;
    }
    const auto in_line = elements_of(more, d);
    const auto length = elements_of(line, d);
    if (!in_line || *in_line > max_added_elements || (length && *in_line * share > *length)) {
      return false;
    }
  }
  return true;
}

/// All elements whose every coordinate is one of the footprint's.
isl::map box_of(const isl::map &footprint) {
  const unsigned rank = checked(footprint.range_tuple_dim(), "a footprint");
  isl::map box = isl::manage(isl_map_universe(isl_map_get_space(footprint.get())));
  for (unsigned d = 0; d < rank; ++d) {
    isl_map *values = isl_map_project_out(footprint.copy(), isl_dim_out, d + 1, rank - d - 1);
    values = isl_map_project_out(values, isl_dim_out, 0, d);
    values = isl_map_from_basic_map(isl_map_simple_hull(values));
    values = isl_map_insert_dims(values, isl_dim_out, 0, d);
    values = isl_map_add_dims(values, isl_dim_out, rank - d - 1);
    values = isl_map_set_tuple_id(values, isl_dim_out,
                                  isl_map_get_tuple_id(footprint.get(), isl_dim_out));
    box = box.intersect(isl::manage(values));
  }
  return checked(isl::manage(isl_map_remove_redundancies(box.release())), "a footprint");
}

} // namespace

isl::map plain_footprint(const isl::map &footprint, const isl::set &domain, bool more) {
  const bool pieces = isl_map_n_basic_map(footprint.get()) > 1;
  if ((!pieces && !more) || checked(footprint.range_tuple_dim(), "a footprint") == 0) {
    return footprint;
  }
  try {
    const OperationLimit limit(hull_operation_limit);
    const isl::set context = domain.params();
    const isl::set iterations = footprint.domain().intersect_params(context).coalesce();
    const isl::map simple =
        isl::manage(isl_map_from_basic_map(isl_map_simple_hull(footprint.copy())));
    const isl::map hull = checked(simple.intersect_domain(iterations), "a footprint");
    if (!more) {
      return checked(hull.is_subset(footprint), "a footprint") ? hull : footprint;
    }
    // A box has the plainest loops, and where it is close it costs no more than what it saves.
    const isl::map box = checked(box_of(footprint).intersect_domain(iterations), "a footprint");
    if (!checked(box.is_subset(hull), "a footprint") &&
        checked(box.range().is_subset(domain), "a footprint") &&
        is_close(box, footprint, context)) {
      return box;
    }
    if (pieces && checked(hull.range().is_subset(domain), "a footprint") &&
        (checked(for_large_parameters(hull).is_subset(footprint), "a footprint") ||
         is_close(hull, footprint, context))) {
      return hull;
    }
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
  }
  return footprint;
}

std::int64_t constant_extent(const isl::map &footprint, unsigned dimension) {
  const OperationLimit limit(footprint_operation_limit);
  const isl::fixed_box interval = fixed_interval(checked(footprint, "a footprint"), dimension);
  if (!is_valid(interval)) {
    return 0;
  }
  return checked(interval.size(), "a footprint").at(0).num_si();
}

std::int64_t constant_width(const Statement &statement, size_t levels, size_t loop) {
  const OperationLimit limit(footprint_operation_limit);
  isl::map values = isl::map::from_domain(statement.domain);
  for (size_t level = 0; level < levels; ++level) {
    values = values.flat_range_product(statement.loops[level].as_map());
  }
  values = values.reverse().apply_range(statement.loops[loop].as_map());
  return constant_extent(values, 0);
}

namespace {

/// The largest value of a size as a function of parameters, 0 where there is none.
isl::pw_aff largest_of(const isl::pw_aff &size, const isl::set &context) {
  isl::pw_aff largest = checked(size.as_map().range(), "a footprint").dim_max(0);
  const isl::pw_aff simple = largest.gist(largest.domain().intersect(context)).coalesce();
  const isl::pw_aff nothing(context, isl::val(isl_context(), 0L));
  if (checked(context.is_subset(simple.ge_set(nothing)), "a footprint")) {
    largest = simple; // the same formula where nothing is read
  } else {
    const isl::set elsewhere = context.subtract(largest.domain());
    largest = largest.union_add(isl::pw_aff(elsewhere, isl::val(isl_context(), 0L)));
  }
  return checked(largest.gist(context).coalesce(), "a footprint");
}

/// A loop of few iterations, as over blocks whose size is an expression in parameters.
struct FewValues {
  unsigned loop = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The first such loop on which `values`, of one dimension, depend.
std::optional<FewValues> loop_of_few_values(const isl::map &values) {
  constexpr std::int64_t few = 16;
  const isl::map dependent = values.gist_domain(values.domain());
  const unsigned loops = checked(values.domain_tuple_dim(), "a footprint");
  for (unsigned loop = 0; loop < loops; ++loop) {
    if (isl_map_involves_dims(dependent.get(), isl_dim_in, loop, 1) != isl_bool_true) {
      continue;
    }
    const isl::set all = checked(values.domain().project_out_all_params(), "a footprint");
    const isl::val first = isl::manage(isl_set_dim_min_val(all.copy(), static_cast<int>(loop)));
    const isl::val last = isl::manage(isl_set_dim_max_val(all.copy(), static_cast<int>(loop)));
    if (!first.is_null() && !last.is_null() && first.is_int().is_true() &&
        last.is_int().is_true() && last.sub(first).lt(isl::val(isl_context(), few)).is_true() &&
        last.gt(first).is_true()) {
      return FewValues{loop, first.num_si(), last.num_si()};
    }
  }
  return std::nullopt;
}

struct CaseInterval {
  ExprPtr lower;
  ExprPtr extent; ///< over parameters
};

/// Are all terms integers, wherever this is asked? `(i - 3)/2` is one for odd i only, and an
/// expression that divides rounds elsewhere.
bool has_integer_terms(const isl::pw_aff &value) {
  bool found = true;
  const isl::stat walked = value.foreach_piece([&](const isl::set &, const isl::aff &piece) {
    const isl::val divisor = isl::manage(isl_aff_get_denominator_val(piece.get()));
    found = found && divisor.is_one().is_true();
    return isl::stat::ok();
  });
  if (walked.is_error()) {
    throw_isl_error("a footprint");
  }
  return found;
}

/// The interval of each value of the loop on its own: as one set of all of them isl would look at
/// every pair of cases. If the beginnings are as far from each other as the first two, one formula
/// says them all. It holds in a case only if the first two are known for all that the case reads:
/// what isl says of a beginning is of no meaning outside of its own case.
CaseInterval interval_by_cases(const isl::map &values, const FewValues &cases,
                               const isl::set &context, const std::vector<std::string> &loops) {
  std::vector<isl::pw_aff> lowers;
  isl::pw_aff extent(context, isl::val(isl_context(), 0L));
  for (std::int64_t value = cases.first; value <= cases.last; ++value) {
    const isl::map here = isl::manage(isl_map_coalesce(
        isl_map_fix_si(values.copy(), isl_dim_in, cases.loop, static_cast<int>(value))));
    const isl::pw_aff lower = checked(here.dim_min(0), "a footprint");
    const isl::pw_aff size = here.dim_max(0).sub(lower).add_constant(1L);
    lowers.push_back(checked(lower.gist(here.domain()).coalesce(), "a footprint"));
    const isl::pw_aff largest = largest_of(size, context);
    if (!checked(context.is_subset(extent.ge_set(largest)), "a footprint")) {
      const bool covers = checked(context.is_subset(largest.ge_set(extent)), "a footprint");
      extent = covers ? largest : checked(extent.max(largest).coalesce(), "a footprint");
    }
  }
  const isl::pw_aff step = checked(lowers[1].sub(lowers[0]).coalesce(), "a footprint");
  bool in_steps = has_integer_terms(lowers[0]) && has_integer_terms(step);
  for (size_t c = 1; c < lowers.size() && in_steps; ++c) {
    const isl::pw_aff there =
        lowers[0].add(step.scale(isl::val(isl_context(), static_cast<long>(c))));
    const isl::set inside = values.domain().intersect(
        isl::manage(isl_set_fix_si(values.domain().release(), isl_dim_set, cases.loop,
                                   static_cast<int>(cases.first + static_cast<std::int64_t>(c)))));
    in_steps = checked(inside.is_subset(lowers[c].eq_set(there)), "a footprint");
  }
  const ExprPtr loop = iterator(loops[cases.loop]);
  if (in_steps) {
    const ExprPtr number =
        cases.first == 0 ? loop : binary(Op::Sub, loop, constant(cases.first, Int64));
    return {binary(Op::Add, from_affine(lowers[0], loops),
                   binary(Op::Mul, number, from_affine(step, loops))),
            from_affine(extent, {})};
  }
  ExprPtr lower = from_affine(lowers.back(), loops);
  for (size_t c = lowers.size() - 1; c-- > 0;) {
    const ExprPtr here =
        binary(Op::Eq, loop, constant(cases.first + static_cast<std::int64_t>(c), Int64));
    lower = select(here, from_affine(lowers[c], loops), lower);
  }
  return {lower, from_affine(extent, {})};
}

} // namespace

FootprintBox footprint_box(const isl::map &footprint, const isl::set &context) {
  const OperationLimit limit(footprint_operation_limit); // shapes far from a box have no small one
  const isl::map needed = checked(footprint.intersect_params(context), "a footprint");
  std::vector<std::string> loops;
  for (unsigned level = 0; level < checked(needed.domain_tuple_dim(), "a footprint"); ++level) {
    loops.push_back(outer_loop_name(level));
  }
  const unsigned rank = checked(needed.range_tuple_dim(), "a footprint");
  FootprintBox box;
  for (unsigned d = 0; d < rank; ++d) {
    const isl::map values = values_of(needed, d);
    isl::fixed_box interval = values.range_simple_fixed_box_hull();
    if (!is_valid(interval)) {
      if (const auto cases = loop_of_few_values(values)) {
        const CaseInterval found = interval_by_cases(values, *cases, context, loops);
        box.lower.push_back(found.lower);
        box.extents.push_back(found.extent);
        continue;
      }
      interval = interval_of_hull(values);
    }
    if (is_valid(interval)) {
      const isl::multi_aff offset = checked(interval.offset(), "a footprint");
      const isl::multi_val size = checked(interval.size(), "a footprint");
      box.lower.push_back(from_affine(isl::pw_aff(offset.at(0)), loops));
      box.extents.push_back(constant(std::int64_t(size.at(0).num_si()), Int64));
      continue;
    }
    const isl::pw_aff lower = needed.dim_min(static_cast<int>(d));
    const isl::pw_aff size = needed.dim_max(static_cast<int>(d)).sub(lower).add_constant(1L);
    box.lower.push_back(
        from_affine(checked(lower.gist(needed.domain()).coalesce(), "a footprint"), loops));
    box.extents.push_back(from_affine(largest_of(size, context), {}));
  }
  return box;
}

std::vector<const Statement *> readers_of(const std::vector<Statement> &statements,
                                          const Computation &computation) {
  std::vector<const Statement *> readers;
  for (const Statement &statement : statements) {
    bool reads = false;
    std::vector<ExprPtr> parts = values_of(statement);
    parts.push_back(statement.predicate);
    for (const ExprPtr &expr : parts) {
      visit(expr, [&](const ExprPtr &node) {
        reads = reads || (node->kind == ExprKind::Access && node->producer.get() == &computation);
      });
    }
    if (reads) {
      readers.push_back(&statement);
    }
  }
  return readers;
}

} // namespace tilewright
