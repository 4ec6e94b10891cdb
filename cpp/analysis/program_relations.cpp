#include "analysis/program_relations.h"

#include "mapping/accesses.h"

#include <isl/map.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <map>
#include <utility>

namespace tilewright {

namespace {

constexpr const char *doing_program_relations = "the relations of a program";

/// An element by its subscripts: "C[i, j] -> A[i, j + 1]", and not "C[i, j] -> A[i' = i, j' =
/// ...]".
isl::map without_names(isl::map element) {
  const unsigned rank = checked(element.range_tuple_dim(), doing_program_relations);
  for (unsigned d = 0; d < rank; ++d) {
    element = isl::manage(isl_map_set_dim_name(element.release(), isl_dim_out, d, nullptr));
  }
  return checked(element, doing_program_relations);
}

/// statement instance -> buffer[index] of a read.
isl::map read_element(const Program &program, const Statement &statement, const ReadAccess &read) {
  const Program::Place &place = program.places.at(read.producer->name);
  isl::map element = read.relation.intersect_domain(statement.domain).apply_range(place.relation);
  const int levels = program.buffers[place.buffer].level;
  if (levels > 0) {
    const isl::id name = element.range_tuple_id();
    isl::map address = isl::map::from_domain(statement.domain);
    for (int level = 0; level < levels; ++level) {
      address = address.flat_range_product(statement.loops[static_cast<size_t>(level)].as_map());
    }
    element = address.flat_range_product(element).set_range_tuple(name);
  }
  return without_names(element);
}

/// Without constraints that others imply, for people to read.
isl::union_set simple(const isl::union_set &points) {
  return checked(isl::manage(isl_union_set_remove_redundancies(points.coalesce().release())),
                 doing_program_relations);
}

isl::union_map simple(const isl::union_map &pairs) {
  return checked(isl::manage(isl_union_map_remove_redundancies(pairs.coalesce().release())),
                 doing_program_relations);
}

/// What a statement does to one buffer.
struct Access {
  const Statement *statement;
  isl::map element;
};

struct Accesses {
  std::vector<Access> reads;
  std::vector<Access> writes;
};

class StorageSearch {
public:
  explicit StorageSearch(const Program &program) {
    for (const Statement &statement : program.statements) {
      times_.emplace(&statement, time_map(statement));
    }
  }

  /// Pairs of the one and the other access to an element, the first one earlier.
  isl::union_map pairs(const std::vector<Access> &first, const std::vector<Access> &second) const {
    isl::union_map all = isl::union_map::empty(isl_context());
    for (const Access &a : first) {
      for (const Access &b : second) {
        const isl::map earlier = pairs(a, b);
        if (!checked(earlier.is_empty(), doing_program_relations)) {
          all = all.unite(earlier.coalesce());
        }
      }
    }
    return simple(all);
  }

  isl::map pairs(const Access &first, const Access &second) const {
    const isl::map shared =
        checked(first.element.apply_range(second.element.reverse()), doing_program_relations);
    if (checked(shared.is_empty(), doing_program_relations)) {
      return shared;
    }
    const isl::map earlier = isl::manage(
        isl_map_lex_lt_map(times_.at(first.statement).copy(), times_.at(second.statement).copy()));
    return checked(shared.intersect(earlier), doing_program_relations);
  }

private:
  std::map<const Statement *, isl::map> times_;
};

std::map<size_t, Accesses> accesses_by_buffer(const Program &program) {
  std::map<size_t, Accesses> accesses;
  for (const Statement &statement : program.statements) {
    accesses[statement.buffer].writes.push_back(
        {&statement, written_element(program, statement).intersect_domain(statement.domain)});
    for (const ReadAccess &read : read_accesses(statement)) {
      accesses[program.places.at(read.producer->name).buffer].reads.push_back(
          {&statement, read_element(program, statement, read)});
    }
  }
  return accesses;
}

} // namespace

ProgramRelations program_relations(const Program &program, const std::string &computation) {
  ProgramRelations all{isl::union_set::empty(isl_context()), isl::union_map::empty(isl_context()),
                       isl::union_map::empty(isl_context()), isl::union_map::empty(isl_context())};
  for (const Statement &statement : program.statements) {
    if (!computation.empty() && statement.computation->name != computation) {
      continue;
    }
    all.instances = all.instances.unite(statement.domain);
    all.writes = all.writes.unite(
        without_names(written_element(program, statement).intersect_domain(statement.domain)));
    all.schedule = all.schedule.unite(time_map(statement));
    for (const ReadAccess &read : read_accesses(statement)) {
      all.reads = all.reads.unite(read_element(program, statement, read));
    }
  }
  return {simple(all.instances), simple(all.reads), simple(all.writes), simple(all.schedule)};
}

std::vector<StorageDependences> storage_dependences(const Program &program) {
  const std::map<size_t, Accesses> accesses = accesses_by_buffer(program);
  const StorageSearch search(program);
  std::vector<StorageDependences> all;
  for (const auto &[buffer, of_buffer] : accesses) {
    StorageDependences found{program.buffers[buffer].name,
                             search.pairs(of_buffer.reads, of_buffer.writes),
                             search.pairs(of_buffer.writes, of_buffer.writes),
                             search.pairs(of_buffer.reads, of_buffer.reads)};
    const auto has = [](const isl::union_map &pairs) {
      return !checked(pairs.is_empty(), doing_program_relations);
    };
    if (has(found.anti) || has(found.output) || has(found.input)) {
      all.push_back(std::move(found));
    }
  }
  return all;
}

std::vector<Overwriting> overwriting_pairs(const Program &program) {
  const StorageSearch search(program);
  std::vector<Overwriting> all;
  for (const auto &[buffer, of_buffer] : accesses_by_buffer(program)) {
    for (const std::vector<Access> *before : {&of_buffer.reads, &of_buffer.writes}) {
      for (const Access &first : *before) {
        for (const Access &second : of_buffer.writes) {
          const isl::map pairs = search.pairs(first, second);
          if (!checked(pairs.is_empty(), doing_program_relations)) {
            all.push_back({first.statement, second.statement, pairs});
          }
        }
      }
    }
  }
  return all;
}

} // namespace tilewright
