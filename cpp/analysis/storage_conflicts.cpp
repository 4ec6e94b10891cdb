#include "analysis/storage_conflicts.h"

#include "analysis/happens_before.h"
#include "mapping/accesses.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

#include <vector>

namespace tilewright {

namespace {

constexpr const char *doing_storage_conflicts = "values that are alive at one time";

class Lives {
public:
  Lives(const Program &program, const FoldQuestion &question)
      : program_(program), question_(question), apart_(apart()) {
    for (const Statement &statement : program.statements) {
      if (statement.computation->name == question.computation) {
        writers_.push_back(&statement);
      }
    }
  }

  isl::set distances() {
    for (const Statement *source : writers_) {
      if (source->role != StatementRole::Value && source->role != StatementRole::Initialise) {
        continue; // the life of an element began before
      }
      for (const Statement &sink : program_.statements) {
        for (const ReadAccess &read : read_accesses(sink)) {
          if (read.producer->name == question_.computation) {
            add(*source, sink, flow_relation(*source, sink, read.relation));
          }
        }
        const bool goes_on = sink.computation == source->computation && &sink != source &&
                             sink.role != StatementRole::Value;
        if (goes_on) {
          add(*source, sink,
              same_replica(defined_value(*source).apply_range(defined_value(sink).reverse()),
                           source->anew));
        }
      }
    }
    return checked(found_.coalesce(), doing_storage_conflicts);
  }

private:
  /// [index] -> [index]: places that differ along the dimension, and agree as the question says.
  isl::map apart() const {
    const isl::space places = question_.places.range().space();
    isl_map *apart = isl_map_universe(isl_space_map_from_set(places.copy()));
    const auto rank = static_cast<unsigned>(isl_map_dim(apart, isl_dim_in));
    for (unsigned d = 0; d < rank; ++d) {
      if (d < question_.dimension ||
          (d > question_.dimension && question_.agreeing == Agreeing::Others)) {
        apart = isl_map_equate(apart, isl_dim_in, static_cast<int>(d), isl_dim_out,
                               static_cast<int>(d));
      }
    }
    isl_map *same =
        isl_map_equate(isl_map_copy(apart), isl_dim_in, static_cast<int>(question_.dimension),
                       isl_dim_out, static_cast<int>(question_.dimension));
    return checked(isl::manage(isl_map_subtract(apart, same)), doing_storage_conflicts);
  }

  isl::map place_of(const Statement &statement) const {
    return defined_value(statement).apply_range(question_.places);
  }

  /// `flow` (source -> sink) is part of the life of values. Whatever is written to another place
  /// neither before the source nor after the sink is alive at one time with them.
  void add(const Statement &source, const Statement &sink, const isl::map &flow) {
    if (checked(flow.is_empty(), doing_storage_conflicts)) {
      return;
    }
    for (const Statement *writer : writers_) {
      const isl::map others =
          place_of(*writer).apply_range(apart_).apply_range(place_of(source).reverse());
      isl::map later = isl::map::empty(others.space());
      for (const UnorderedPairs &part : not_before(program_, *writer, source, others)) {
        later = later.unite(part.pairs);
      }
      isl::map between = flow.reverse().apply_range(later.reverse()); // sink -> writer
      if (writer == &sink) { // an instance reads before it writes
        between = between.subtract(isl::map::identity(between.space()));
      }
      isl::map overlapping = isl::map::empty(between.space());
      for (const UnorderedPairs &part : not_before(program_, sink, *writer, between)) {
        overlapping = overlapping.unite(part.pairs);
      }
      if (checked(overlapping.is_empty(), doing_storage_conflicts)) {
        continue;
      }
      const isl::map alive = flow.range_product(later.reverse())
                                 .intersect_range(overlapping.wrap())
                                 .range_factor_range(); // source -> writer
      add_distances(alive.apply_domain(place_of(source)).apply_range(place_of(*writer)));
    }
  }

  /// Of pairs of places.
  void add_distances(const isl::map &pairs) {
    isl_set *deltas = isl_map_deltas(pairs.intersect(apart_).release());
    const auto rank = static_cast<unsigned>(isl_set_dim(deltas, isl_dim_set));
    deltas = isl_set_project_out(deltas, isl_dim_set, question_.dimension + 1,
                                 rank - question_.dimension - 1);
    deltas = isl_set_project_out(deltas, isl_dim_set, 0, question_.dimension);
    const isl::set one =
        checked(isl::manage(deltas), doing_storage_conflicts).intersect_params(program_.context);
    found_ = found_.is_null() ? one : found_.unite(one);
    found_ = checked(found_, doing_storage_conflicts);
  }

  const Program &program_;
  const FoldQuestion &question_;
  isl::map apart_;
  std::vector<const Statement *> writers_;
  isl::set found_ = isl::manage(isl_set_empty(isl_space_set_alloc(isl_context().get(), 0, 1)));
};

} // namespace

isl::set distances_of_lives(const Program &program, const FoldQuestion &question) {
  return Lives(program, question).distances();
}

std::optional<std::int64_t> smallest_modulus(const isl::set &distances, std::int64_t most) {
  for (std::int64_t m = 1; m <= most; ++m) {
    isl_set *multiples = isl_set_universe(isl_space_set_alloc(isl_context().get(), 0, 1));
    isl_local_space *space = isl_local_space_from_space(isl_set_get_space(multiples));
    isl_aff *rest = isl_aff_var_on_domain(space, isl_dim_set, 0);
    rest = isl_aff_mod_val(rest, isl_val_int_from_si(isl_context().get(), static_cast<long>(m)));
    multiples = isl_set_intersect(multiples, isl_set_from_basic_set(isl_aff_zero_basic_set(rest)));
    if (checked(distances.intersect(isl::manage(multiples)).is_empty(), doing_storage_conflicts)) {
      return m;
    }
  }
  return std::nullopt;
}

} // namespace tilewright
