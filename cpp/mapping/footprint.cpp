#include "mapping/footprint.h"

#include "algorithm/affine.h"
#include "mapping/accesses.h"

namespace tilewright {

isl::map footprint(const std::vector<const Statement *> &readers, const Computation &computation,
                   size_t levels) {
  isl::map result;
  for (const Statement *reader : readers) {
    for (const ReadAccess &read : read_accesses(*reader)) {
      if (read.producer.get() != &computation) {
        continue;
      }
      isl_pw_aff_list *loops = isl_pw_aff_list_alloc(isl_context().get(), static_cast<int>(levels));
      for (size_t level = 0; level < levels; ++level) {
        loops = isl_pw_aff_list_add(loops, reader->loops[level].copy());
      }
      isl_space *space = isl_space_from_domain(reader->domain.space().release());
      space = isl_space_add_dims(space, isl_dim_out, static_cast<unsigned>(levels));
      const isl::multi_pw_aff prefix = isl::manage(isl_multi_pw_aff_from_pw_aff_list(space, loops));
      const isl::map part = prefix.as_map().reverse().apply_range(read.relation);
      result = result.is_null() ? part : result.unite(part);
    }
  }
  return checked(result, "a footprint").coalesce();
}

constexpr std::uint64_t footprint_operation_limit = 500'000;

std::string outer_loop_name(size_t level) { return "@" + std::to_string(level); }

namespace {

/// The interval of constant size that holds all values of one dimension in each iteration, where
/// isl finds one.
isl::fixed_box fixed_interval(const isl::map &needed, unsigned dimension) {
  isl_map *alone = needed.copy();
  const auto rank = static_cast<unsigned>(std::max(isl_size(1), isl_map_dim(alone, isl_dim_out)));
  alone = isl_map_project_out(alone, isl_dim_out, dimension + 1, rank - dimension - 1);
  const isl::map values = isl::manage(isl_map_project_out(alone, isl_dim_out, 0, dimension));
  const isl::fixed_box interval = values.range_simple_fixed_box_hull();
  if (interval.is_null() || checked(interval.is_valid(), "a footprint")) {
    return interval;
  }
  // Holes (strided reads) hide an interval that their convex hull shows.
  return isl::map(values.polyhedral_hull()).range_simple_fixed_box_hull();
}

} // namespace

std::int64_t constant_width(const Statement &statement, size_t levels, size_t loop) {
  const OperationLimit limit(footprint_operation_limit);
  isl::map values = isl::map::from_domain(statement.domain);
  for (size_t level = 0; level < levels; ++level) {
    values = values.flat_range_product(statement.loops[level].as_map());
  }
  values = values.reverse().apply_range(statement.loops[loop].as_map());
  const isl::fixed_box interval = fixed_interval(checked(values, "extent of a loop"), 0);
  if (interval.is_null() || !checked(interval.is_valid(), "extent of a loop")) {
    return 0;
  }
  return checked(interval.size(), "extent of a loop").at(0).num_si();
}

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
    const isl::fixed_box interval = fixed_interval(needed, d);
    if (!interval.is_null() && checked(interval.is_valid(), "a footprint")) {
      const isl::multi_aff offset = checked(interval.offset(), "a footprint");
      const isl::multi_val size = checked(interval.size(), "a footprint");
      box.lower.push_back(from_affine(isl::pw_aff(offset.at(0)), loops));
      box.extents.push_back(constant(std::int64_t(size.at(0).num_si()), Int64));
      continue;
    }
    const isl::pw_aff lower = needed.dim_min(static_cast<int>(d));
    const isl::pw_aff size = needed.dim_max(static_cast<int>(d)).sub(lower).add_constant(1L);
    isl::pw_aff largest = checked(size.as_map().range(), "a footprint").dim_max(0);
    const isl::pw_aff simple = largest.gist(largest.domain().intersect(context)).coalesce();
    const isl::pw_aff nothing(context, isl::val(isl_context(), 0L));
    if (checked(context.is_subset(simple.ge_set(nothing)), "a footprint")) {
      largest = simple; // the same formula where nothing is read
    } else {
      const isl::set elsewhere = context.subtract(largest.domain());
      largest = largest.union_add(isl::pw_aff(elsewhere, isl::val(isl_context(), 0L)));
    }
    box.lower.push_back(
        from_affine(checked(lower.gist(needed.domain()).coalesce(), "a footprint"), loops));
    box.extents.push_back(
        from_affine(checked(largest.gist(context).coalesce(), "a footprint"), {}));
  }
  return box;
}

std::vector<const Statement *> readers_of(const std::vector<Statement> &statements,
                                          const Computation &computation) {
  std::vector<const Statement *> readers;
  for (const Statement &statement : statements) {
    bool reads = false;
    for (const ExprPtr &expr : {statement.predicate, statement.value}) {
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
