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

std::string outer_loop_name(size_t level) { return "@" + std::to_string(level); }

FootprintBox footprint_box(const isl::map &footprint, const isl::set &context) {
  const isl::map needed = checked(footprint.intersect_params(context), "a footprint");
  std::vector<std::string> loops;
  for (unsigned level = 0; level < checked(needed.domain_tuple_dim(), "a footprint"); ++level) {
    loops.push_back(outer_loop_name(level));
  }
  const unsigned rank = checked(needed.range_tuple_dim(), "a footprint");
  FootprintBox box;
  const isl::fixed_box hull = needed.range_simple_fixed_box_hull();
  if (!hull.is_null() && checked(hull.is_valid(), "a footprint")) {
    const isl::multi_aff offset = checked(hull.offset(), "a footprint");
    const isl::multi_val size = checked(hull.size(), "a footprint");
    for (unsigned d = 0; d < rank; ++d) {
      box.lower.push_back(from_affine(isl::pw_aff(offset.at(static_cast<int>(d))), loops));
      box.extents.push_back(constant(std::int64_t(size.at(static_cast<int>(d)).num_si()), Int64));
    }
    return box;
  }
  for (unsigned d = 0; d < rank; ++d) {
    const isl::pw_aff lower = needed.dim_min(static_cast<int>(d));
    const isl::pw_aff size = needed.dim_max(static_cast<int>(d)).sub(lower).add_constant(1L);
    isl::pw_aff largest = checked(size.as_map().range(), "a footprint").dim_max(0);
    const isl::set elsewhere = context.subtract(largest.domain());
    largest = largest.union_add(isl::pw_aff(elsewhere, isl::val(isl_context(), 0L)));
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
    visit(statement.value, [&](const ExprPtr &node) {
      reads = reads || (node->kind == ExprKind::Access && node->producer.get() == &computation);
    });
    if (reads) {
      readers.push_back(&statement);
    }
  }
  return readers;
}

} // namespace tilewright
