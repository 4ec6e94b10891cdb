#include "dataflow/memory_program.h"

#include "polyhedral/set_text.h"

#include <isl/set.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr std::uint64_t reading_limit = 10'000'000;

isl::map read_relation(const std::string &text, const char *what) {
  std::string problem;
  const isl::map map = parse_map(text, problem);
  if (map.is_null()) {
    throw Error(ErrorKind::Declaration,
                std::string(what) + ": isl cannot read \"" + text + "\": " + problem);
  }
  return map;
}

std::string name_of_tuple(const isl::set &set, const std::string &text) {
  const char *name = isl_set_get_tuple_name(set.get());
  if (name == nullptr) {
    throw Error(ErrorKind::Declaration, "the domain \"" + text + "\" has no name");
  }
  return name;
}

std::vector<std::string> iterators_of(const isl::set &domain) {
  std::vector<std::string> names;
  const unsigned count = checked(domain.tuple_dim(), "a statement");
  for (unsigned d = 0; d < count; ++d) {
    const char *name = isl_set_get_dim_name(domain.get(), isl_dim_set, d);
    names.push_back(name == nullptr ? "i" + std::to_string(d) : name);
  }
  return names;
}

} // namespace

const MemoryStatement *MemoryProgram::find(const std::string &name) const {
  const auto found =
      std::find_if(statements.begin(), statements.end(),
                   [&](const MemoryStatement &statement) { return statement.name == name; });
  return found == statements.end() ? nullptr : &*found;
}

MemoryProgramBuilder::MemoryProgramBuilder(const std::string &context) {
  const OperationLimit limit(reading_limit);
  program_.context = read_parameter_set(context, "the context of a program", {});
}

void MemoryProgramBuilder::add_statement(const std::string &domain, const std::string &schedule,
                                         bool is_live) {
  const OperationLimit limit(reading_limit);
  MemoryStatement statement;
  // Parts that overlap (p != 0 or q != 0) would be searched for the last write in all combinations.
  const isl::set whole =
      read_set(domain, "the domain of a statement", {}).intersect_params(program_.context);
  statement.domain = checked(isl::manage(isl_set_make_disjoint(isl_set_coalesce(whole.copy()))),
                             "the domain of a statement");
  statement.name = name_of_tuple(statement.domain, domain);
  if (program_.find(statement.name) != nullptr) {
    throw Error(ErrorKind::Declaration, "there are two statements named " + statement.name);
  }
  statement.iterators = iterators_of(statement.domain);
  statement.schedule = checked(
      read_relation(schedule, "the schedule of a statement").intersect_domain(statement.domain),
      "the schedule of a statement");
  statement.is_live = is_live;
  program_.statements.push_back(std::move(statement));
}

void MemoryProgramBuilder::add_access(const std::string &reference, const std::string &relation,
                                      AccessKind kind) {
  const OperationLimit limit(reading_limit);
  const isl::map read = read_relation(relation, "an access");
  if (!read.has_domain_tuple_id().is_true() || !read.has_range_tuple_id().is_true()) {
    throw Error(ErrorKind::Declaration,
                "the access \"" + relation + "\" is not from a statement to an array");
  }
  const std::string name = read.domain_tuple_id().name();
  for (MemoryStatement &statement : program_.statements) {
    for (const MemoryAccess &access : statement.accesses) {
      if (access.reference == reference) {
        throw Error(ErrorKind::Declaration, "there are two references named " + reference);
      }
    }
  }
  for (MemoryStatement &statement : program_.statements) {
    if (statement.name == name) {
      statement.accesses.push_back(
          {reference, checked(read.intersect_domain(statement.domain), "an access"), kind});
      return;
    }
  }
  throw Error(ErrorKind::Declaration,
              "the access \"" + relation + "\" is of no statement of the program");
}

} // namespace tilewright
