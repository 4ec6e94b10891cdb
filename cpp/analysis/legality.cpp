#include "analysis/legality.h"

#include "analysis/legality_checker.h"
#include "analysis/suggestions.h"

namespace tilewright {

namespace {

constexpr std::uint64_t operation_limit = 40'000'000;

const char *kind_name(Violation::Kind kind) {
  switch (kind) {
  case Violation::Kind::Order:
    return "order";
  case Violation::Kind::Overwrite:
    return "overwrite";
  case Violation::Kind::Race:
    return "race";
  case Violation::Kind::Promise:
    return "promise";
  case Violation::Kind::Undecided:
    return "undecided";
  }
  return "";
}

} // namespace

namespace {

/// Names the loops in which the instances of one side are computed anew (compute_at), as "@i".
isl::map with_replicas_named(const Program &program, const isl::map &relation, isl_dim_type side) {
  if (isl_map_has_tuple_name(relation.get(), side) != isl_bool_true) {
    return relation;
  }
  const std::string name = isl_map_get_tuple_name(relation.get(), side);
  isl::map result = relation;
  for (const Statement &statement : program.statements) {
    for (size_t d = 0; statement.name == name && d < statement.replicas; ++d) {
      result = isl::manage(isl_map_set_dim_name(result.release(), side, static_cast<unsigned>(d),
                                                statement.iterators[d].c_str()));
    }
  }
  return result;
}

} // namespace

std::string relation_text(const Program &program, const isl::map &relation,
                          const Statement &source) {
  isl::map simple = relation.coalesce().gist_domain(source.domain).gist_params(program.context);
  if (!simple.is_null() && isl_map_plain_is_empty(simple.get()) == isl_bool_true) {
    // What lies outside of the domain, as values have that nothing computes, has no gist in it.
    simple = relation.coalesce().gist_params(program.context);
  }
  if (!simple.is_null()) {
    simple = with_replicas_named(program, simple, isl_dim_in);
    simple = with_replicas_named(program, simple, isl_dim_out);
  }
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
  return LegalityChecker(program, nullptr).find();
}

std::shared_ptr<const LegalProgram> find_legal(Program program, const LegalProgram *before) {
  const OperationLimit limit(operation_limit);
  LegalityChecker checker(program, before);
  if (checker.find()) {
    return nullptr;
  }
  return checker.legal(std::move(program));
}

std::shared_ptr<const LegalProgram> still_legal(Program program, const LegalProgram &before) {
  return std::make_shared<const LegalProgram>(
      LegalProgram{std::move(program), before.stored_apart, before.reads});
}

std::shared_ptr<const LegalProgram> require_legal(Program program, const Command *command,
                                                  const LegalProgram *before,
                                                  const Mapping *mapping) {
  const OperationLimit limit(operation_limit);
  LegalityChecker checker(program, before);
  std::optional<Violation> violation = checker.find();
  if (!violation) {
    return checker.legal(std::move(program));
  }
  if (command != nullptr) {
    violation->suggestion = suggest(program, *command, *violation, mapping);
  }
  throw refusal(*violation, command);
}

Error refusal(const Violation &violation, const Command *command) {
  const bool undecided = violation.kind == Violation::Kind::Undecided;
  std::string suggestion = violation.suggestion;
  if (undecided) {
    suggestion += std::string(suggestion.empty() ? "" : "\n  ") +
                  "what you know of the data can be promised: assume(...) says which "
                  "values a subscript has, independent(...) that iterations of a loop "
                  "touch different elements";
  }
  std::string message = command != nullptr ? to_string(*command) : "the default schedule";
  message += undecided ? " cannot be shown to be legal: " : " is illegal: ";
  message += violation.explanation;
  if (!violation.source_instance.empty()) { // none: what is wrong is no pair of instances
    message += "\n  dependence: " + violation.dependence +
               "\n  for example: " + violation.source_instance + " -> " + violation.sink_instance;
  }
  if (!violation.element.empty()) {
    message += " at element " + violation.element;
  }
  if (!violation.parameters.empty()) {
    message += " with " + violation.parameters;
  }
  if (!suggestion.empty()) {
    message += "\n  " + suggestion;
  }
  Error error(ErrorKind::IllegalSchedule, message,
              command != nullptr ? command->where : SourceLocation{});
  error.details = {{"kind", kind_name(violation.kind)},
                   {"dependence", violation.dependence},
                   {"source_instance", violation.source_instance},
                   {"sink_instance", violation.sink_instance},
                   {"element", violation.element},
                   {"parameters", violation.parameters},
                   {"suggestion", suggestion},
                   {"computation", command != nullptr ? command->computation : ""},
                   {"command", command != nullptr ? to_string(*command) : ""}};
  return error;
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
          const bool exact = read.exact && read.certain && !source.predicate && !sink.predicate;
          result.push_back({source.name, sink.name, read.producer->name, relation, exact});
        }
      }
    }
  }
  return result;
}

} // namespace tilewright
