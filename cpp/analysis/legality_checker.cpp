#include "analysis/legality_checker.h"

#include "mapping/accesses.h"
#include "mapping/compare_loops.h"

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

bool holds_one_value_each(const Program &program, size_t buffer) {
  const Computation *owner = nullptr;
  for (const Statement &statement : program.statements) {
    if (statement.buffer != buffer) {
      continue;
    }
    if (statement.replicas > 0 && statement.role != StatementRole::Value) {
      return false; // a replica starts the same sum anew
    }
    if (owner != nullptr && owner != statement.computation.get()) {
      return false;
    }
    owner = statement.computation.get();
  }
  if (owner == nullptr) {
    return true;
  }
  isl::set written = isl::set::empty(owner->domain.space());
  for (const Piece &piece : owner->pieces) {
    written = written.unite(piece.domain);
  }
  // Most are so whatever the parameters, which may be many, are.
  const isl::map anywhere = program.places.at(owner->name).relation.intersect_domain(written);
  if (checked(anywhere.is_injective(), "storage of a computation")) {
    return true;
  }
  const isl::map relation = anywhere.intersect_params(program.context);
  return checked(relation.is_injective(), "storage of a computation");
}

/// Why a dependence may not be there, as the end of a sentence; empty when it is there for certain.
std::string doubt_about(const Statement &source, const Statement &sink, const ReadAccess &read) {
  if (!read.exact) {
    return " (its subscript is not affine, so it may read any element)";
  }
  if (source.predicate || sink.predicate) {
    return " (the condition of " + (sink.predicate ? sink : source).name +
           " reads data, so it may run or not)";
  }
  if (!read.certain) {
    return " (whether it is read depends on data)";
  }
  return "";
}

std::set<const Computation *> producers_of(const Statement &statement) {
  std::set<const Computation *> producers;
  const auto collect = [&](const ExprPtr &node) {
    if (node->kind == ExprKind::Access) {
      producers.insert(node->producer.get());
    }
  };
  for (const ExprPtr &value : values_of(statement)) {
    visit(value, collect);
  }
  if (statement.predicate) {
    visit(statement.predicate, collect);
  }
  return producers;
}

} // namespace

LegalityChecker::LegalityChecker(const Program &program, const LegalProgram *before)
    : program_(program), unchanged_(program, before), writers_(program.buffers.size()) {
  for (const Statement &statement : program.statements) {
    statements_of_[statement.computation.get()].push_back(&statement);
    writers_[statement.buffer].push_back(&statement);
  }
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    apart_.push_back(unchanged_.same_writes(b) ? unchanged_.was_apart(b)
                                               : holds_one_value_each(program, b));
  }
}

std::optional<Violation> LegalityChecker::find() {
  check_iterations();
  if (violation_) {
    return violation_;
  }
  for (const Statement &sink : program_.statements) {
    if (is_settled(sink)) {
      continue;
    }
    if (sink.role == StatementRole::Update) {
      check_accumulation(sink);
    } else if (sink.role == StatementRole::Finish) {
      check_accumulated(sink, defined_value(sink));
    }
    const auto &reads = reads_[sink.name] = reads_of(sink);
    for (const ReadAccess &read : *reads) {
      if (read.producer->is_input) {
        check_input(sink, read);
      } else {
        check_read(sink, read);
      }
      if (violation_) {
        return violation_;
      }
    }
  }
  for (const ComputationPtr &output : program_.function->outputs) {
    for (const Statement *source : statements_of_[output.get()]) {
      if (!violation_) {
        check_survival(*source);
      }
    }
  }
  for (const Program::View &view : program_.views) {
    if (!violation_) {
      check_shown(view);
    }
  }
  return violation_;
}

/// Each read once: a stencil names many an element twice.
std::shared_ptr<const std::vector<ReadAccess>>
LegalityChecker::reads_of(const Statement &sink) const {
  if (auto known = unchanged_.reads(sink)) {
    return known;
  }
  std::vector<ReadAccess> reads;
  for (ReadAccess &read : read_accesses(sink)) {
    const bool is_new = std::none_of(reads.begin(), reads.end(), [&](const ReadAccess &other) {
      return read.producer == other.producer && read.exact == other.exact &&
             read.certain == other.certain &&
             isl_map_plain_is_equal(read.relation.get(), other.relation.get()) == isl_bool_true;
    });
    if (is_new) {
      reads.push_back(std::move(read));
    }
  }
  return std::make_shared<const std::vector<ReadAccess>>(std::move(reads));
}

std::shared_ptr<const LegalProgram> LegalityChecker::legal(Program &&program) const {
  auto reads = reads_;
  for (const Statement &statement : program.statements) {
    if (!reads.contains(statement.name)) {
      if (auto known = unchanged_.reads(statement)) {
        reads.emplace(statement.name, std::move(known));
      }
    }
  }
  return std::make_shared<const LegalProgram>(
      LegalProgram{std::move(program), apart_, std::move(reads)});
}

/// Nothing that the reads of `sink` rely on has changed.
bool LegalityChecker::is_settled(const Statement &sink) const {
  if (!unchanged_.statement(sink)) {
    return false;
  }
  const auto settled_with = [&](const Computation *producer) {
    const auto sources = statements_of_.find(producer);
    return sources == statements_of_.end() ||
           std::all_of(sources->second.begin(), sources->second.end(),
                       [&](const Statement *source) { return is_settled(*source, sink); });
  };
  const std::set<const Computation *> producers = producers_of(sink);
  for (const Computation *producer : producers) {
    if (!producer->is_input) {
      if (!settled_with(producer)) {
        return false;
      }
      continue;
    }
    const size_t buffer = program_.places.at(producer->name).buffer;
    if (!unchanged_.buffer(buffer) ||
        !std::all_of(writers_[buffer].begin(), writers_[buffer].end(),
                     [&](const Statement *writer) { return unchanged_.pair(sink, *writer); })) {
      return false;
    }
  }
  const bool accumulates = sink.role == StatementRole::Update || sink.role == StatementRole::Finish;
  return !accumulates || settled_with(sink.computation.get());
}

/// The flow from `source` to `sink` is ordered as it was, among the same writes.
bool LegalityChecker::is_settled(const Statement &source, const Statement &sink) const {
  if (!unchanged_.pair(source, sink)) {
    return false;
  }
  const std::vector<const Statement *> &writers = writers_[source.buffer];
  // What is private to an iteration asks more than that each element holds one value.
  return (apart_[source.buffer] && program_.buffers[source.buffer].level == 0) ||
         (unchanged_.buffer(source.buffer) &&
          std::all_of(writers.begin(), writers.end(),
                      [&](const Statement *writer) { return unchanged_.pair(sink, *writer); }));
}

/// A tag changes no loop: where it is all that a command has changed, those of `pairs` that were
/// ordered are so, unless their times differ first at a loop that is concurrent now. A yes is
/// certain; where it is no, everything is asked. `forward`: no second one came before its first.
bool LegalityChecker::stay_ordered(const Statement &first, const Statement &second,
                                   const isl::map &pairs, bool forward) const {
  const auto levels = unchanged_.newly_concurrent(first, second);
  return levels && !differ_first_at(*levels, first, second, pairs, forward);
}

/// What wrote another value to an element of `source` comes before or after it as it did.
bool LegalityChecker::writes_stay_ordered(const Statement &source, const Statement &writer) const {
  const auto [known, is_new] = writes_stay_ordered_.try_emplace({&source, &writer});
  if (is_new) {
    const auto levels = unchanged_.newly_concurrent(writer, source);
    // Of one statement, both directions are there.
    known->second = levels && (levels->empty() ||
                               !differ_first_at(*levels, writer, source,
                                                other_writes(source, writer), &source == &writer));
  }
  return known->second;
}

/// The same for all that `read` of values of `producer` relies on: whatever is written where it
/// reads comes before or after it, and among each other, as it did.
bool LegalityChecker::reads_stay_ordered(const Statement &sink, const Computation &producer,
                                         const isl::map &read) const {
  const Program::Place &place = program_.places.at(producer.name);
  const std::vector<const Statement *> &writers = writers_[place.buffer];
  const auto sources = statements_of_.find(&producer);
  // Of a buffer for each iteration (store_at), an element's address takes more than its place.
  if (sources == statements_of_.end() || program_.buffers[place.buffer].level > 0 ||
      !std::all_of(writers.begin(), writers.end(), [&](const Statement *writer) {
        return unchanged_.newly_concurrent(sink, *writer).has_value();
      })) {
    return false;
  }
  const isl::map elements = read.apply_range(place.relation);
  for (const Statement *writer : writers) {
    const auto levels = unchanged_.newly_concurrent(sink, *writer);
    if (!levels->empty() &&
        differ_first_at(*levels, sink, *writer, elements.apply_range(written(*writer).reverse()))) {
      return false;
    }
  }
  return apart_[place.buffer] ||
         std::all_of(sources->second.begin(), sources->second.end(), [&](const auto &source) {
           return std::all_of(writers.begin(), writers.end(), [&](const Statement *writer) {
             return writes_stay_ordered(*source, *writer);
           });
         });
}

void LegalityChecker::check_read(const Statement &sink, const ReadAccess &read) {
  const std::vector<const Statement *> &sources = statements_of_[read.producer.get()];
  if (std::any_of(sources.begin(), sources.end(),
                  [](const Statement *source) { return source->copied; })) {
    check_copies(sink, read);
    return;
  }
  if (sink.replicas > 0 && read.producer == sink.computation) {
    check_chain(sink, read);
    if (violation_) {
      return;
    }
  }
  if (reads_stay_ordered(sink, *read.producer, read.relation)) {
    return;
  }
  for (const Statement *source : statements_of_[read.producer.get()]) {
    if (!violation_ && !is_settled(*source, sink)) {
      check_flow(*source, sink, flow_relation(*source, sink, read.relation),
                 doubt_about(*source, sink, read));
    }
  }
}

/// An input whose array holds computations too (in-place): it is read before they overwrite it.
void LegalityChecker::check_input(const Statement &sink, const ReadAccess &read) {
  const Program::Place &place = program_.places.at(read.producer->name);
  for (const Statement *writer : writers_[place.buffer]) {
    isl::map pairs =
        read.relation.apply_range(place.relation).apply_range(written(*writer).reverse());
    if (writer == &sink) {
      // An instance reads before it writes.
      pairs = pairs.subtract(isl::map::identity(pairs.space()));
    }
    const std::string doubt = doubt_about(*writer, sink, read);
    pairs = promised(sink, *writer, checked(pairs, "reads of an overwritten input"), doubt.empty());
    if (violation_) {
      return;
    }
    if (stay_ordered(sink, *writer, pairs, true)) {
      continue;
    }
    for (const UnorderedPairs &wrong : not_before(program_, sink, *writer, pairs)) {
      report(doubt.empty() ? Violation::Kind::Overwrite : Violation::Kind::Undecided, sink, *writer,
             wrong.pairs,
             writer->name + " overwrites an element of the input " + read.producer->name +
                 " that " + sink.name + " still has to read" + doubt +
                 (wrong.concurrent ? ": the loops that run them are not ordered" : ""));
      add_element(*writer, true);
      return;
    }
  }
}

/// `pairs` of instances that may touch one element, without those that independent() promises away.
/// A promise that surely existing pairs contradict is a violation itself.
isl::map LegalityChecker::promised(const Statement &first, const Statement &second, isl::map pairs,
                                   bool exact) {
  for (const auto &[promise, value] : first.independent) {
    const auto other = second.independent.find(promise);
    if (other == second.independent.end() || violation_) {
      continue;
    }
    const isl::map same =
        checked(isl::manage(isl_pw_aff_eq_map(value.copy(), other->second.copy())), "a promise");
    if (!exact) {
      pairs = checked(pairs.intersect(same), "a promise");
      continue;
    }
    const isl::map broken = pairs.subtract(same);
    if (!checked(broken.is_empty(), "a promise")) {
      report(Violation::Kind::Promise, first, second, broken,
             "iterations of loop '" + program_.independent_loops[promise] +
                 "' are promised to be independent, but two of them touch one element for certain");
    }
  }
  return pairs;
}

/// Each pair of `flow` (source -> sink): the source comes first, and nothing overwrites its
/// element in between.
void LegalityChecker::check_flow(const Statement &source, const Statement &sink, isl::map flow,
                                 const std::string &doubt) {
  flow = promised(source, sink, flow, doubt.empty());
  if (violation_) {
    return;
  }
  for (const UnorderedPairs &wrong : not_before(program_, source, sink, flow)) {
    report(doubt.empty() ? Violation::Kind::Order : Violation::Kind::Undecided, source, sink,
           wrong.pairs, order_explanation(source, sink, wrong) + doubt);
    violation_->level = wrong.level;
    violation_->is_static = wrong.is_static;
    violation_->concurrent = wrong.concurrent;
    return;
  }
  check_private(source, sink, flow, doubt);
  if (violation_ || apart_[source.buffer] || checked(flow.is_empty(), "a flow")) {
    return;
  }
  const size_t together = loops_together(source, sink, flow);
  for (const Statement *writer : writers_[source.buffer]) {
    if (!violation_ && !outside(*writer, source, sink, together) &&
        !(writer == &source && read_before_next_write(source, sink, flow))) {
      check_overwrite(source, sink, *writer, flow, doubt);
    }
  }
}

/// A buffer inside loops is another one in each iteration of them: what is written in one is read
/// in the same one. (compute_at has no other flows.)
void LegalityChecker::check_private(const Statement &source, const Statement &sink,
                                    const isl::map &flow, const std::string &doubt) {
  const auto levels = static_cast<size_t>(program_.buffers[source.buffer].level);
  if (source.replicas > 0) {
    return;
  }
  for (size_t level = 0; level < levels && !violation_; ++level) {
    const ComparedLoops by_order = compare_loops(flow, source.loops[level], sink.loops[level]);
    const isl::map apart = checked(by_order.larger.unite(by_order.smaller), "a private value");
    if (checked(apart.is_empty(), "a private value")) {
      continue;
    }
    report(doubt.empty() ? Violation::Kind::Overwrite : Violation::Kind::Undecided, source, sink,
           checked(apart.lexmin(), "a private value"),
           "it is written in one iteration of loop '" + loop_name(source, static_cast<int>(level)) +
               "' and read in another one, and " + source.computation->name +
               " is private to each" + doubt);
    violation_->level = static_cast<int>(level);
  }
}

/// An output's elements are there at the end.
void LegalityChecker::check_survival(const Statement &source) {
  if (apart_[source.buffer] || unchanged_.buffer(source.buffer)) {
    return;
  }
  for (const Statement *writer : writers_[source.buffer]) {
    if (writes_stay_ordered(source, *writer)) {
      continue;
    }
    for (const UnorderedPairs &wrong : not_earlier(source, *writer)) {
      report(Violation::Kind::Overwrite, *writer, source, wrong.pairs,
             writer->name + " overwrites an element of the output " + source.computation->name);
      add_element(*writer);
      return;
    }
  }
}

/// What an output shows of another computation is there at the end. (Of inputs, nobody overwrites
/// what is shown: the program was built so.)
void LegalityChecker::check_shown(const Program::View &view) {
  const bool was_shown = unchanged_.was_shown(view);
  for (const Statement *source : statements_of_[view.producer.get()]) {
    if (apart_[source->buffer]) {
      return;
    }
    if (was_shown && unchanged_.buffer(source->buffer)) {
      continue;
    }
    const isl::set shown = checked(
        defined_value(*source).intersect_range(view.elements.range()).domain(), "shown elements");
    for (const Statement *writer : writers_[source->buffer]) {
      if (was_shown && writes_stay_ordered(*source, *writer)) {
        continue;
      }
      const isl::map others = other_writes(*source, *writer).intersect_range(shown);
      for (const UnorderedPairs &wrong : not_before(program_, *writer, *source, others)) {
        report(Violation::Kind::Overwrite, *writer, *source, wrong.pairs,
               writer->name + " overwrites an element that the output " + view.output->name +
                   " shows of " + view.producer->name);
        add_element(*writer);
        return;
      }
    }
  }
}

std::string LegalityChecker::order_explanation(const Statement &source, const Statement &sink,
                                               const UnorderedPairs &wrong) const {
  std::string text = sink.name + " reads what " + source.name + " writes, but ";
  if (wrong.concurrent) {
    const Statement &tagged =
        is_concurrent(source.tags[static_cast<size_t>(wrong.level)]) ? source : sink;
    text += "loop '" + loop_name(tagged, wrong.level) + "' is " + tag_name(tagged, wrong.level) +
            " and carries the dependence";
  } else if (wrong.level == program_.depth && !wrong.is_static) {
    text += "both are scheduled at the same time";
  } else {
    text += "is scheduled before it";
  }
  return text;
}

} // namespace tilewright
