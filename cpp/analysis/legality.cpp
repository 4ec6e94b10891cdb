#include "analysis/legality.h"

#include "analysis/happens_before.h"
#include "analysis/suggestions.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr std::uint64_t operation_limit = 40'000'000;

std::string instance(const std::string &name, const std::vector<std::int64_t> &coordinates,
                     size_t first, size_t count) {
  std::string text = name + "[";
  for (size_t d = 0; d < count; ++d) {
    text += (d ? "," : "") + std::to_string(coordinates[first + d]);
  }
  return text + "]";
}

bool stored_apart(const Program &program, size_t buffer) {
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
  const isl::map relation =
      program.places.at(owner->name)
          .relation.intersect_domain(written.intersect_params(program.context));
  return checked(relation.is_injective(), "storage of a computation");
}

class LegalityChecker {
public:
  explicit LegalityChecker(const Program &program) : program_(program) {
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      apart_.push_back(stored_apart(program, b));
    }
  }

  std::optional<Violation> find() {
    for (const Statement &sink : program_.statements) {
      if (sink.role == StatementRole::Update) {
        check_accumulation(sink);
      }
      for (const ReadAccess &read : read_accesses(sink)) {
        if (!read.producer->is_input) {
          check_read(sink, read);
        }
        if (violation_) {
          return violation_;
        }
      }
    }
    for (const Statement &source : program_.statements) {
      const auto &outputs = program_.function->outputs;
      if (!violation_ &&
          std::find(outputs.begin(), outputs.end(), source.computation) != outputs.end()) {
        check_survival(source);
      }
    }
    return violation_;
  }

private:
  /// Initialisation first; updates of one element in any order, but not at once.
  void check_accumulation(const Statement &update) {
    const isl::map value = defined_value(update);
    for (const Statement &init : program_.statements) {
      if (init.computation == update.computation && init.role == StatementRole::Initialise) {
        check_flow(init, update, flow_relation(init, update, value), true);
      }
    }
    const auto consecutive = [&] {
      return same_replica(value.apply_range(value.reverse()), update.replicas)
          .intersect(isl::map::lex_lt(update.domain.space()));
    };
    if (!violation_ && update.computation->pieces[update.piece].value->ordered) {
      check_order_of_terms(update, consecutive());
      return;
    }
    // Two updates of one element differ in reduced iterators only, so only loops that those drive
    // can separate them.
    const auto outer = static_cast<unsigned>(update.replicas + update.computation->rank());
    const auto reduced = static_cast<unsigned>(update.iterators.size()) - outer;
    bool concurrent = false;
    for (size_t level = 0; level < update.tags.size(); ++level) {
      const bool tagged =
          update.tags[level].tag == Tag::Parallel || update.tags[level].tag == Tag::Vector;
      concurrent = concurrent ||
                   (tagged && checked(isl::manage(isl_pw_aff_involves_dims(
                                          update.loops[level].get(), isl_dim_in, outer, reduced)),
                                      "races of a reduction"));
    }
    if (violation_ || !concurrent) {
      return;
    }
    for (const UnorderedPairs &forward : not_before(program_, update, update, consecutive())) {
      if (!forward.concurrent) {
        continue;
      }
      const isl::map race = checked(forward.pairs.lexmin(), "races of a reduction");
      report(Violation::Kind::Race, update, update, race,
             "both add to the same element, and loop '" + loop_name(update, forward.level) +
                 "' is " + tag_name(update, forward.level) + ", so neither comes first");
      add_element(update);
      return;
    }
  }

  /// An ordered reduction combines its terms in lexicographic order.
  void check_order_of_terms(const Statement &update, const isl::map &pairs) {
    for (const UnorderedPairs &wrong : not_before(program_, update, update, pairs)) {
      report(Violation::Kind::Order, update, update,
             checked(wrong.pairs.lexmin(), "the order of a reduction"),
             update.computation->name + " is an ordered reduction, and loop '" +
                 loop_name(update, wrong.level) + "' " +
                 (wrong.concurrent ? "is " + tag_name(update, wrong.level)
                                   : std::string("takes its terms in another order")));
      add_element(update);
      return;
    }
  }

  void check_read(const Statement &sink, const ReadAccess &read) {
    for (const Statement &source : program_.statements) {
      if (source.computation != read.producer || violation_) {
        continue;
      }
      check_flow(source, sink, flow_relation(source, sink, read.relation), read.exact);
    }
  }

  /// Each pair of `flow` (source -> sink): the source comes first, and nothing overwrites its
  /// element in between.
  void check_flow(const Statement &source, const Statement &sink, const isl::map &flow,
                  bool exact) {
    for (const UnorderedPairs &wrong : not_before(program_, source, sink, flow)) {
      report(exact ? Violation::Kind::Order : Violation::Kind::Undecided, source, sink, wrong.pairs,
             order_explanation(source, sink, wrong, exact));
      violation_->level = wrong.level;
      violation_->is_static = wrong.is_static;
      violation_->concurrent = wrong.concurrent;
      return;
    }
    if (!apart_[source.buffer]) {
      for (const Statement &writer : program_.statements) {
        if (writer.buffer == source.buffer && !violation_) {
          check_overwrite(source, sink, writer, flow, exact);
        }
      }
    }
  }

  /// The pairs (of replicated instances) that belong to one iteration of the shared loops.
  static isl::map same_replica(isl::map pairs, size_t replicas) {
    for (size_t d = 0; d < replicas; ++d) {
      pairs = pairs.equate(isl::dim::in, static_cast<int>(d), isl::dim::out, static_cast<int>(d));
    }
    return pairs;
  }

  /// Writes of other values to the element of `source`: writer -> source.
  isl::map other_writes(const Statement &source, const Statement &writer) const {
    const isl::map here = written_element(program_, source);
    const isl::map there = written_element(program_, writer);
    isl::map pairs = there.apply_range(here.reverse());
    if (source.computation == writer.computation) {
      isl::map same = defined_value(writer).apply_range(defined_value(source).reverse());
      if (source.role != StatementRole::Value) {
        same = same_replica(same, source.replicas);
      }
      pairs = pairs.subtract(same);
    }
    return checked(pairs, "writes to one element");
  }

  void check_overwrite(const Statement &source, const Statement &sink, const Statement &writer,
                       const isl::map &flow, bool exact) {
    for (const UnorderedPairs &not_earlier :
         not_before(program_, writer, source, other_writes(source, writer))) {
      isl::map between = flow.reverse().apply_range(not_earlier.pairs.reverse());
      if (&writer == &sink) {
        // An instance reads before it writes.
        between = between.subtract(isl::map::identity(between.space()));
      }
      for (const UnorderedPairs &not_later : not_before(program_, sink, writer, between)) {
        report(exact ? Violation::Kind::Overwrite : Violation::Kind::Undecided, sink, writer,
               not_later.pairs,
               writer.name + " overwrites an element that " + sink.name +
                   " still has to read (written by " + source.name + ")" +
                   (not_later.concurrent || not_earlier.concurrent
                        ? ": the loops that run them are not ordered"
                        : ""));
        add_element(writer, true);
        return;
      }
    }
  }

  /// An output's elements are there at the end.
  void check_survival(const Statement &source) {
    if (apart_[source.buffer]) {
      return;
    }
    for (const Statement &writer : program_.statements) {
      if (writer.buffer != source.buffer || violation_) {
        continue;
      }
      for (const UnorderedPairs &wrong :
           not_before(program_, writer, source, other_writes(source, writer))) {
        report(Violation::Kind::Overwrite, writer, source, wrong.pairs,
               writer.name + " overwrites an element of the output " + source.computation->name);
        add_element(writer);
        return;
      }
    }
  }

  std::string order_explanation(const Statement &source, const Statement &sink,
                                const UnorderedPairs &wrong, bool exact) const {
    std::string text = sink.name + " reads what " + source.name + " writes, but ";
    if (wrong.concurrent) {
      const Statement &tagged =
          source.tags[static_cast<size_t>(wrong.level)].tag == Tag::Parallel ||
                  source.tags[static_cast<size_t>(wrong.level)].tag == Tag::Vector
              ? source
              : sink;
      text += "loop '" + loop_name(tagged, wrong.level) + "' is " + tag_name(tagged, wrong.level) +
              " and carries the dependence";
    } else if (wrong.level == program_.depth && !wrong.is_static) {
      text += "both are scheduled at the same time";
    } else {
      text += "is scheduled before it";
    }
    return exact ? text : text + " (its subscript is not affine, so it may read any element)";
  }

  static std::string loop_name(const Statement &statement, int level) {
    const auto position = static_cast<size_t>(level);
    return position < statement.loop_names.size() ? statement.loop_names[position]
                                                  : std::to_string(level);
  }

  static std::string tag_name(const Statement &statement, int level) {
    return statement.tags[static_cast<size_t>(level)].tag == Tag::Vector ? "a vector loop"
                                                                         : "parallel";
  }

  void report(Violation::Kind kind, const Statement &first, const Statement &second,
              const isl::map &pairs, std::string explanation) {
    Violation violation;
    violation.kind = kind;
    violation.dependence = relation_text(program_, pairs, first);
    violation.source = first.name;
    violation.sink = second.name;
    violation.pairs = pairs;
    Point point;
    const isl::set flat = isl::manage(isl_set_flatten(isl_map_wrap(pairs.copy())));
    if (sample_point(checked(flat, "a witness"), point)) {
      const size_t count = first.iterators.size();
      violation.source_instance = instance(first.name, point.coordinates, 0, count);
      violation.sink_instance =
          instance(second.name, point.coordinates, count, point.coordinates.size() - count);
      for (const auto &[name, value] : point.parameters) {
        violation.parameters +=
            (violation.parameters.empty() ? "" : ", ") + name + " = " + std::to_string(value);
      }
      first_ = point;
      first_.coordinates.resize(count);
      second_ = point;
      second_.coordinates.erase(second_.coordinates.begin(),
                                second_.coordinates.begin() + static_cast<std::ptrdiff_t>(count));
    }
    violation.explanation = std::move(explanation);
    violation_ = std::move(violation);
  }

  /// Names the element that `writer` (the first or the second instance of the witness) writes.
  void add_element(const Statement &writer, bool second = false) {
    const Point &point = second ? second_ : first_;
    isl::map element = written_element(program_, writer);
    for (const auto &[name, value] : point.parameters) {
      const int position = isl_map_find_dim_by_name(element.get(), isl_dim_param, name.c_str());
      if (position >= 0) {
        element = element.fix_si(isl::dim::param, static_cast<unsigned>(position),
                                 static_cast<int>(value));
      }
    }
    for (size_t d = 0; d < point.coordinates.size(); ++d) {
      element = element.fix_si(isl::dim::in, static_cast<unsigned>(d),
                               static_cast<int>(point.coordinates[d]));
    }
    Point at;
    if (sample_point(checked(element.range(), "a witness"), at)) {
      violation_->element =
          instance(program_.buffers[writer.buffer].name, at.coordinates, 0, at.coordinates.size());
    }
  }

  const Program &program_;
  std::vector<bool> apart_;
  std::optional<Violation> violation_;
  Point first_;
  Point second_;
};

const char *kind_name(Violation::Kind kind) {
  switch (kind) {
  case Violation::Kind::Order:
    return "order";
  case Violation::Kind::Overwrite:
    return "overwrite";
  case Violation::Kind::Race:
    return "race";
  case Violation::Kind::NotInjective:
    return "not injective";
  case Violation::Kind::Undecided:
    return "undecided";
  }
  return "";
}

} // namespace

std::string relation_text(const Program &program, const isl::map &relation,
                          const Statement &source) {
  const isl::map simple =
      relation.coalesce().gist_domain(source.domain).gist_params(program.context);
  if (simple.is_null()) {
    isl_ctx_reset_error(isl_context().get());
    return source.name + " -> ...";
  }
  std::string text = to_text(simple);
  constexpr size_t longest = 300;
  return text.size() > longest ? text.substr(0, longest) + " ..." : text;
}

std::optional<Violation> find_violation(const Program &program) {
  const OperationLimit limit(operation_limit);
  return LegalityChecker(program).find();
}

void require_legal(const Program &program, const Command *command) {
  std::optional<Violation> violation = find_violation(program);
  if (!violation) {
    return;
  }
  if (command != nullptr) {
    violation->suggestion = suggest(program, *command, *violation);
  }
  std::string message = command != nullptr ? to_string(*command) : "the default schedule";
  message += violation->kind == Violation::Kind::Undecided ? " cannot be shown to be legal: "
                                                           : " is illegal: ";
  message += violation->explanation + "\n  dependence: " + violation->dependence +
             "\n  for example: " + violation->source_instance + " -> " + violation->sink_instance;
  if (!violation->element.empty()) {
    message += " at element " + violation->element;
  }
  if (!violation->parameters.empty()) {
    message += " with " + violation->parameters;
  }
  if (!violation->suggestion.empty()) {
    message += "\n  " + violation->suggestion;
  }
  Error error(ErrorKind::IllegalSchedule, message,
              command != nullptr ? command->where : SourceLocation{});
  error.details = {{"kind", kind_name(violation->kind)},
                   {"dependence", violation->dependence},
                   {"source_instance", violation->source_instance},
                   {"sink_instance", violation->sink_instance},
                   {"element", violation->element},
                   {"parameters", violation->parameters},
                   {"suggestion", violation->suggestion},
                   {"computation", command != nullptr ? command->computation : ""},
                   {"command", command != nullptr ? to_string(*command) : ""}};
  throw error;
}

std::vector<Dependence> flow_dependences(const Program &program) {
  std::vector<Dependence> result;
  for (const Statement &sink : program.statements) {
    for (const ReadAccess &read : read_accesses(sink)) {
      for (const Statement &source : program.statements) {
        if (read.producer->is_input || source.computation != read.producer) {
          continue;
        }
        const isl::map relation = flow_relation(source, sink, read.relation);
        if (!checked(relation.is_empty(), "a dependence")) {
          result.push_back({source.name, sink.name, read.producer->name, relation, read.exact});
        }
      }
    }
  }
  return result;
}

} // namespace tilewright
