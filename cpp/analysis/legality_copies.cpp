// What reads a value that is computed several times. In the loops of its reader (compute_at), each
// iteration reads its own; of a one-to-many map, all copies are the same value, so that one which
// comes before is enough. (Redundant computation, as overlapped tiles have it: Krishnamoorthy et
// al., "Effective automatic parallelization of stencil computations", PLDI 2007.)
#include "analysis/legality_checker.h"
#include "mapping/accesses.h"

#include <isl/aff.h>
#include <isl/map.h>

namespace tilewright {

namespace {

constexpr const char *doing_legality_copies = "copies of a value";

/// Those of `flow` that lie in one buffer: of a buffer inside loops there is one for each of their
/// iterations.
isl::map in_one_buffer(const Program &program, const Statement &source, const Statement &sink,
                       isl::map flow) {
  const auto levels = static_cast<size_t>(program.buffers[source.buffer].level);
  for (size_t level = 0; level < levels; ++level) {
    flow = flow.intersect(
        isl::manage(isl_pw_aff_eq_map(source.loops[level].copy(), sink.loops[level].copy())));
  }
  return checked(flow, doing_legality_copies);
}

} // namespace

/// A recurrence inside a loop of its reader (compute_at) has there what the reader reads: each
/// value that it needs of its own has to be among that.
void LegalityChecker::check_chain(const Statement &sink, const ReadAccess &read) {
  isl::map missing = read.relation;
  for (const Statement *source : statements_of_[read.producer.get()]) {
    missing = missing.subtract(
        flow_relation(*source, sink, read.relation).reverse().apply_range(defined_value(*source)));
  }
  missing = checked(missing.coalesce(), "a recurrence inside a loop");
  if (checked(missing.is_empty(), "a recurrence inside a loop")) {
    return;
  }
  // No statement computes it here: it is told of the one that computes such elements elsewhere.
  const Statement *owner = &sink;
  for (const Statement *source : statements_of_[read.producer.get()]) {
    const isl::map theirs = missing.intersect_range(defined_value(*source).range());
    if (!checked(theirs.is_empty(), "a recurrence inside a loop")) {
      owner = source;
      missing = theirs;
      break;
    }
  }
  isl::map same = isl::map::from_domain_and_range(isl::set::universe(read.producer->domain.space()),
                                                  isl::set::universe(owner->domain.space()));
  for (size_t d = 0; d < read.producer->rank(); ++d) {
    same = same.equate(isl::dim::in, static_cast<int>(d), isl::dim::out,
                       static_cast<int>(owner->replicas + d));
  }
  const isl::map pairs = same_replica(missing.apply_range(same).reverse(), sink.replicas);
  report(read.exact ? Violation::Kind::Order : Violation::Kind::Undecided, *owner, sink,
         checked(pairs, "a recurrence inside a loop"),
         sink.name + " reads a value of its own that no iteration up to this one of loop '" +
             loop_name(sink, static_cast<int>(sink.replicas) - 1) +
             "' computes, since what the loop computes is what is read in it; compute it in a loop "
             "that reads the whole chain, or give compute_at and a store_at further out in one "
             "transaction");
}

void LegalityChecker::check_copies(const Statement &sink, const ReadAccess &read) {
  const std::vector<const Statement *> &sources = statements_of_[read.producer.get()];
  isl::map missing = read.relation;
  std::vector<isl::map> flows;
  for (const Statement *source : sources) {
    isl::map flow =
        in_one_buffer(program_, *source, sink, flow_relation(*source, sink, read.relation));
    for (const UnorderedPairs &wrong : not_before(program_, *source, sink, flow)) {
      flow = flow.subtract(wrong.pairs);
    }
    flows.push_back(checked(flow.coalesce(), doing_legality_copies));
    missing = missing.subtract(flows.back().reverse().apply_range(defined_value(*source)));
  }
  for (const Statement *source : sources) {
    const isl::map pairs = checked(flow_relation(*source, sink, missing), doing_legality_copies);
    if (!checked(pairs.is_empty(), doing_legality_copies)) {
      report(read.exact && read.certain && !source->predicate && !sink.predicate
                 ? Violation::Kind::Order
                 : Violation::Kind::Undecided,
             *source, sink, pairs,
             sink.name + " reads what " + source->name +
                 " writes, but none of the times at which the map computes it comes before");
      return;
    }
  }
  for (size_t s = 0; s < sources.size(); ++s) {
    for (const Statement *writer : writers_[sources[s]->buffer]) {
      if (!violation_ && !apart_[sources[s]->buffer]) {
        check_overwrite(*sources[s], sink, *writer, flows[s], "");
      }
    }
  }
}

} // namespace tilewright
