#include "dataflow/dataflow.h"

#include "algorithm/affine.h"

#include <isl/aff.h>
#include <isl/flow.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/val.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

constexpr std::uint64_t dataflow_limit = 200'000'000;
/// In front of the names of the tuples that kills write from, which are no statements.
constexpr const char *kill_prefix = "kill ";

/// { [S[i] -> reference[]] -> S[i] }: instances of a reference, by which isl tells those of one
/// statement apart.
isl::map instances_of_reference(const MemoryStatement &statement, const MemoryAccess &access) {
  const std::string name = (access.kind == AccessKind::Kill ? kill_prefix : "") + access.reference;
  const isl::space none = isl::manage(isl_space_set_tuple_name(
      isl_space_set_alloc(isl_context().get(), 0, 0), isl_dim_set, name.c_str()));
  const isl::map tag = isl::map::from_domain_and_range(statement.domain, isl::set::universe(none));
  return checked(isl::manage(isl_map_domain_map(tag.copy())), "dataflow");
}

/// The accesses of some kinds, { [S[i] -> reference[]] -> A[x] }.
class Accesses {
public:
  void add(const isl::map &map) { all_ = all_.is_null() ? isl::union_map(map) : all_.unite(map); }
  bool is_empty() const { return all_.is_null(); }
  isl::union_map all() const {
    return all_.is_null() ? isl::union_map::empty(isl_context()) : all_;
  }

private:
  isl::union_map all_;
};

/// The accesses of one array: what is read there comes from writes of it alone.
struct ArrayAccesses {
  Accesses reads;
  Accesses certain;
  Accesses possible;
  std::vector<std::pair<isl::map, isl::map>> times; ///< instances of a reference, their statement's
};

/// When the accesses happen, { [S[i] -> reference[]] -> [t] }, without the dimensions in which all
/// have one and the same number: isl looks at each of the others, for each write and read.
isl::union_map times_of(const ArrayAccesses &array) {
  std::vector<std::pair<isl::map, isl::map>> times = array.times;
  const auto fixed_at = [](const isl::map &time, unsigned d) {
    return isl::manage(isl_map_plain_get_val_if_fixed(time.get(), isl_dim_out, d));
  };
  for (unsigned d = checked(times.front().second.range_tuple_dim(), "dataflow"); d-- > 0;) {
    const isl::val first = fixed_at(times.front().second, d);
    if (std::all_of(times.begin(), times.end(), [&](const auto &time) {
          const isl::val own = fixed_at(time.second, d);
          return isl_val_is_int(own.get()) == isl_bool_true && own.eq(first);
        })) {
      for (auto &[instances, time] : times) {
        time = isl::manage(isl_map_project_out(time.copy(), isl_dim_out, d, 1));
      }
    }
  }
  Accesses all;
  for (const auto &[instances, time] : times) {
    all.add(instances.apply_range(time));
  }
  return all.all();
}

/// { [W -> writing[]] -> [R -> reading[]] }: certain, and possible beside it; and reads that may
/// see what was there before the program, { [R -> reading[]] -> A[x] }.
struct ArrayFlow {
  isl::union_map certain;
  isl::union_map possible;
  isl::union_map initial;
};

ArrayFlow flow_of(const ArrayAccesses &array) {
  const isl::union_map none = isl::union_map::empty(isl_context());
  const isl::union_map reads = array.reads.all();
  if (array.certain.is_empty() && array.possible.is_empty()) {
    return {none, none, reads};
  }
  isl::union_access_info info(reads);
  info = info.set_must_source(array.certain.all())
             .set_may_source(array.possible.all())
             .set_schedule_map(times_of(array));
  const isl::union_flow flow = checked(info.compute_flow(), "dataflow");
  const isl::union_map must = checked(flow.must_dependence(), "dataflow");
  if (array.possible.is_empty()) {
    return {must, none, checked(flow.may_no_source(), "dataflow")};
  }
  const isl::union_map may = checked(flow.may_dependence(), "dataflow");
  return {must, checked(may.subtract(must), "dataflow"), checked(flow.may_no_source(), "dataflow")};
}

std::string reference_of(const isl::set &wrapped) {
  const isl::map unwrapped = checked(wrapped.unwrap(), "dataflow");
  return unwrapped.range_tuple_id().name();
}

/// { [W -> writing[]] -> [R -> reading[]] } as (reading, is a kill, { R -> W }).
template <class Take>
void for_each_flow(const isl::union_map &flow, const Take &take) {
  std::vector<isl::map> maps;
  const isl::stat walked = flow.foreach_map([&](const isl::map &map) {
    maps.push_back(map);
    return isl::stat::ok();
  });
  if (walked.is_error()) {
    throw_isl_error("dataflow");
  }
  for (const isl::map &map : maps) {
    const bool is_kill = reference_of(map.domain()).rfind(kill_prefix, 0) == 0;
    const isl::map stripped = isl::manage(isl_map_reverse(isl_map_factor_domain(map.copy())));
    take(reference_of(map.range()), is_kill, checked(stripped.coalesce(), "dataflow"));
  }
}

/// The statement of a kill, so that its instances are told from those that write.
isl::map as_killed(const isl::map &map) {
  const std::string name = kill_prefix + map.range_tuple_id().name();
  return isl::manage(isl_map_set_tuple_name(map.copy(), isl_dim_out, name.c_str()));
}

void append_sources(std::vector<FlowSource> &sources, const MemoryStatement &reader,
                    const isl::map &map, FlowSource::Kind kind, bool is_certain) {
  std::string name = map.range_tuple_id().name();
  if (name.rfind(kill_prefix, 0) == 0) {
    name.erase(0, std::string(kill_prefix).size());
    kind = FlowSource::Kind::Killed;
  }
  if (kind == FlowSource::Kind::Killed || !checked(map.is_single_valued(), "dataflow")) {
    sources.push_back(
        {kind, name, checked(map.domain().coalesce(), "dataflow"), nullptr, {}, is_certain});
    return;
  }
  const isl::pw_multi_aff function =
      checked(isl::manage(isl_pw_multi_aff_from_map(map.copy())).coalesce(), "dataflow");
  const isl::stat walked =
      function.foreach_piece([&](const isl::set &domain, const isl::multi_aff &at) {
        FlowSource source{kind, name, domain.coalesce(), nullptr, {}, is_certain};
        const unsigned count = checked(at.size(), "dataflow");
        for (unsigned d = 0; d < count; ++d) {
          source.subscripts.push_back(
              from_affine(isl::pw_aff(at.at(static_cast<int>(d))), reader.iterators));
        }
        sources.push_back(std::move(source));
        return isl::stat::ok();
      });
  if (walked.is_error()) {
    throw_isl_error("dataflow");
  }
}

} // namespace

Dataflow::Dataflow(const MemoryProgram &program) : program_(program) {
  const OperationLimit limit(dataflow_limit);
  std::map<std::string, ArrayAccesses> arrays;
  for (const MemoryStatement &statement : program_.statements) {
    for (const MemoryAccess &access : statement.accesses) {
      const isl::map instances = instances_of_reference(statement, access);
      const isl::map relation = instances.apply_range(access.relation);
      ArrayAccesses &array = arrays[access.relation.range_tuple_id().name()];
      array.times.emplace_back(instances, statement.schedule);
      switch (access.kind) {
      case AccessKind::Read:
        array.reads.add(relation);
        readers_.emplace(
            access.reference,
            Reader{&statement, &access, {}, {}, isl::set::empty(statement.domain.space())});
        break;
      case AccessKind::MayWrite:
        array.possible.add(relation);
        break;
      case AccessKind::MustWrite:
      case AccessKind::Kill:
        array.certain.add(relation);
        break;
      }
    }
  }
  for (const auto &[name, array] : arrays) {
    if (array.reads.is_empty()) {
      continue;
    }
    const ArrayFlow flow = flow_of(array);
    for_each_flow(flow.certain,
                  [&](const std::string &reference, bool is_kill, const isl::map &map) {
                    readers_.at(reference).certain.push_back(is_kill ? as_killed(map) : map);
                  });
    for_each_flow(flow.possible,
                  [&](const std::string &reference, bool is_kill, const isl::map &map) {
                    readers_.at(reference).possible.push_back(is_kill ? as_killed(map) : map);
                  });
    const isl::stat walked = flow.initial.foreach_map([&](const isl::map &map) {
      Reader &reader = readers_.at(reference_of(map.domain()));
      reader.initial = reader.initial.unite(map.domain().unwrap().domain());
      return isl::stat::ok();
    });
    if (walked.is_error()) {
      throw_isl_error("dataflow");
    }
  }
}

namespace {

/// What a set says of the other iterators than these.
isl::set without(isl::set set, const std::vector<std::string> &iterators,
                 const std::vector<std::string> &free) {
  for (size_t i = 0; i < iterators.size(); ++i) {
    if (std::find(free.begin(), free.end(), iterators[i]) != free.end()) {
      set = isl::manage(isl_set_eliminate(set.release(), isl_dim_set, static_cast<unsigned>(i), 1));
    }
  }
  return checked(set.coalesce(), "dataflow");
}

} // namespace

std::vector<FlowSource> Dataflow::sources(const std::string &reference,
                                          const std::vector<std::string> &free) const {
  const OperationLimit limit(dataflow_limit);
  const auto found = readers_.find(reference);
  if (found == readers_.end()) {
    throw Error(ErrorKind::Argument, "the program has no read named " + reference);
  }
  const Reader &reader = found->second;
  std::vector<FlowSource> sources;
  const auto is_possible = [&](const isl::set &readers) {
    return std::any_of(reader.possible.begin(), reader.possible.end(), [&](const isl::map &map) {
      return !checked(map.domain().intersect(readers).is_empty(), "dataflow");
    });
  };
  for (const isl::map &map : reader.certain) {
    append_sources(sources, *reader.statement, map, FlowSource::Kind::Written,
                   !is_possible(map.domain()));
  }
  for (const isl::map &map : reader.possible) {
    append_sources(sources, *reader.statement, map, FlowSource::Kind::Written, false);
  }
  const isl::set initial = reader.initial.coalesce();
  if (!checked(initial.is_empty(), "dataflow")) {
    const size_t first = sources.size();
    append_sources(sources, *reader.statement, reader.access->relation, FlowSource::Kind::Initial,
                   !is_possible(initial));
    // The element as the program writes it: A[i - 1], even if i is 1 for all of these readers.
    for (size_t s = first; s < sources.size(); ++s) {
      sources[s].readers = checked(sources[s].readers.intersect(initial).coalesce(), "dataflow");
    }
  }
  const isl::set all = checked(reader.access->relation.domain(), "dataflow");
  for (FlowSource &source : sources) {
    const std::vector<std::string> &iterators = reader.statement->iterators;
    source.condition = from_set(checked(source.readers.gist(all), "dataflow"), iterators);
    if (source.condition == nullptr || free.empty()) {
      continue;
    }
    const isl::set others =
        without(source.readers, iterators, free).gist(without(all, iterators, free));
    if (const ExprPtr known = from_set(checked(others, "dataflow"), iterators)) {
      source.condition = binary(Op::And, known, source.condition);
    }
  }
  return sources;
}

isl::union_set Dataflow::needed() const {
  const OperationLimit limit(dataflow_limit);
  isl::union_set domains = isl::union_set::empty(isl_context());
  isl::union_set live = domains;
  isl::union_map flow = isl::union_map::empty(isl_context());
  for (const MemoryStatement &statement : program_.statements) {
    domains = domains.unite(statement.domain);
    if (statement.is_live) {
      live = live.unite(statement.domain);
    }
  }
  for (const auto &[reference, reader] : readers_) {
    for (const std::vector<isl::map> *maps : {&reader.certain, &reader.possible}) {
      for (const isl::map &map : *maps) {
        flow = flow.unite(map);
      }
    }
  }
  // A kill writes nothing that could be needed.
  flow = checked(flow.intersect_range(domains), "dead code");
  for (;;) {
    const isl::union_set more = checked(live.apply(flow), "dead code");
    if (checked(more.is_subset(live), "dead code")) {
      return live;
    }
    // Each round makes the hull of some statement one dimension larger, or its lattice denser.
    live = checked(live.unite(more).affine_hull().intersect(domains).coalesce(), "dead code");
  }
}

isl::union_set Dataflow::dead() const {
  const OperationLimit limit(dataflow_limit);
  isl::union_set domains = isl::union_set::empty(isl_context());
  for (const MemoryStatement &statement : program_.statements) {
    domains = domains.unite(statement.domain);
  }
  return checked(domains.subtract(needed()).coalesce(), "dead code");
}

} // namespace tilewright
