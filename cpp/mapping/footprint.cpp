#include "mapping/footprint.h"

#include "mapping/accesses.h"

namespace tilewright {

isl::map footprint(const std::vector<const Statement *> &readers, const Computation &computation, size_t levels) {
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

std::vector<const Statement *> readers_of(const std::vector<Statement> &statements, const Computation &computation) {
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

}  // namespace tilewright
