// What a reduction asks: it begins before its first term and ends after its last one, terms that
// have an order keep it, and two of them do not meet in one element.
#include "algorithm/reductions.h"
#include "analysis/legality_checker.h"
#include "mapping/accesses.h"

#include <algorithm>

namespace tilewright {

std::string LegalityChecker::loop_name(const Statement &statement, int level) {
  const auto position = static_cast<size_t>(level);
  return position < statement.loop_names.size() ? statement.loop_names[position]
                                                : std::to_string(level);
}

std::string LegalityChecker::tag_name(const Statement &statement, int level) {
  const LoopTag &tag = statement.tags[static_cast<size_t>(level)];
  const bool lanes = tag.tag == Tag::Sequential && tag.strips == Tag::Vector;
  return lanes                    ? "cut into strips of one vector each"
         : tag.tag == Tag::Vector ? "a vector loop"
         : is_gpu(tag.tag)        ? "parallel (" + gpu_tag_name(tag.tag, tag.axis) + ")"
                                  : "parallel";
}

namespace {

/// Whether this statement's loop `level` may combine terms of one element at the same time: threads
/// in one step each, lanes and the threads of a GPU's block among each other.
bool combines(const Statement &update, size_t level) {
  const LoopTag &tag = update.tags[level];
  if (!update.states.empty()) {
    return false; // lanes and threads have no states of their own (rfactor gives them some)
  }
  if (tag.counts != 0) {
    return tag.tag != Tag::Parallel && tag.strips == Tag::Vector;
  }
  return tag.tag == Tag::Vector || tag.tag == Tag::GpuThread ||
         (tag.tag == Tag::GpuMma && tag.axis >= 2) || (update.atomic && is_concurrent(tag));
}

/// What gives threads and lanes that meet in one element partial results of their own.
std::string way_out(const Statement &update, const LoopTag &tag) {
  const ExprPtr reduction = scheduled_reduction(*update.computation);
  if (!is_associative(*reduction_of(*reduction))) {
    return "";
  }
  const char *gives = tag.tag == Tag::Parallel ? "partial= of parallelize gives each block of terms"
                      : tag.tag == Tag::Vector
                          ? "partial= of vectorize gives each lane"
                          : "rfactor() gives each iteration of a loop over terms";
  return std::string("; ") + gives + " a result of its own";
}

} // namespace

/// Initialisation first; updates of one element in any order, but not at once.
void LegalityChecker::check_accumulation(const Statement &update) {
  const isl::map value = defined_value(update);
  check_accumulated(update, value);
  const auto consecutive = [&] {
    return same_replica(value.apply_range(value.reverse()), update.anew)
        .intersect(isl::map::lex_lt(update.domain.space()));
  };
  if (!violation_ && update.ordered) {
    check_order_of_terms(update, consecutive());
    return;
  }
  if (violation_ || !terms_may_meet(update)) {
    return;
  }
  const isl::map pairs = promised(update, update, consecutive(), !update.predicate);
  if (violation_) {
    return;
  }
  if (auto levels = unchanged_.newly_concurrent(update, update)) {
    std::erase_if(*levels, [&](size_t level) { return combines(update, level); });
    if (!differ_first_at(*levels, update, update, pairs)) {
      return;
    }
  }
  for (const UnorderedPairs &forward : not_before(program_, update, update, pairs)) {
    if (!forward.concurrent || combines(update, static_cast<size_t>(forward.level))) {
      continue;
    }
    const isl::map race = checked(forward.pairs.lexmin(), "races of a reduction");
    const bool by_data = update.predicate != nullptr;
    const std::string both = !update.states.empty() ? "both combine a term with the same element"
                                                    : "both add to the same element";
    report(by_data ? Violation::Kind::Undecided : Violation::Kind::Race, update, update, race,
           both + (by_data ? " where data let both happen" : "") + ", and loop '" +
               loop_name(update, forward.level) + "' is " + tag_name(update, forward.level) +
               ", so neither comes first" +
               way_out(update, update.tags[static_cast<size_t>(forward.level)]));
    add_element(update);
    return;
  }
}

/// Terms are added to what the sum begins with, and what is computed from the sum has all of them.
void LegalityChecker::check_accumulated(const Statement &sink, const isl::map &value) {
  if (reads_stay_ordered(sink, *sink.computation, value)) {
    return;
  }
  for (const Statement *source : statements_of_[sink.computation.get()]) {
    if (source->role < sink.role && !violation_ && !is_settled(*source, sink)) {
      check_flow(*source, sink, flow_relation(*source, sink, value), "");
    }
  }
}

/// An ordered reduction combines its terms in lexicographic order.
void LegalityChecker::check_order_of_terms(const Statement &update, const isl::map &pairs) {
  if (stay_ordered(update, update, pairs, true)) {
    return;
  }
  for (const UnorderedPairs &wrong : not_before(program_, update, update, pairs)) {
    report(Violation::Kind::Order, update, update,
           checked(wrong.pairs.lexmin(), "the order of a reduction"),
           update.computation->name +
               (!update.states.empty() ? " is a fold that takes its terms in order, and loop '"
                                       : " is an ordered reduction, and loop '") +
               loop_name(update, wrong.level) + "' " +
               (wrong.concurrent ? "is " + tag_name(update, wrong.level)
                                 : std::string("takes its terms in another order")) +
               (wrong.concurrent ? way_out(update, update.tags[static_cast<size_t>(wrong.level)])
                                 : ""));
    add_element(update);
    return;
  }
}

} // namespace tilewright
