#include "analysis/dependence_table.h"

#include "mapping/compare_loops.h"

namespace tilewright {

namespace {

bool is_empty(const isl::map &map) { return checked(map.is_empty(), "a dependence"); }

const Statement &statement_named(const Program &program, const std::string &name) {
  for (const Statement &statement : program.statements) {
    if (statement.name == name) {
      return statement;
    }
  }
  throw Error(ErrorKind::Internal, "no statement named " + name);
}

void fill(const Program &program, const Statement &source, const Statement &sink,
          DependenceRow &row) {
  isl::map open = row.dependence.relation;
  for (size_t level = 0; level <= static_cast<size_t>(program.depth) && !is_empty(open); ++level) {
    if (source.order[level] != sink.order[level]) {
      row.by_order = source.order[level] < sink.order[level];
      return;
    }
    if (level >= sink.loop_names.size() || level >= static_cast<size_t>(program.depth)) {
      return;
    }
    const isl::pw_aff &first = source.loops[level];
    const isl::pw_aff &second = sink.loops[level];
    const auto [later, earlier, same] = compare_loops(open, first, second);
    const bool concurrent = is_concurrent(source.tags[level]) || is_concurrent(sink.tags[level]);
    row.loops.push_back(sink.loop_names[level]);
    if (!is_empty(later) || (concurrent && !is_empty(earlier))) {
      row.satisfied.push_back(Satisfaction::Violated);
    } else if (is_empty(earlier)) {
      row.satisfied.push_back(Satisfaction::Zero);
    } else {
      row.satisfied.push_back(is_empty(same) ? Satisfaction::Strict : Satisfaction::Weak);
    }
    open = same;
  }
}

} // namespace

std::vector<DependenceRow> dependence_table(const Program &program) {
  std::vector<DependenceRow> table;
  for (const Dependence &dependence : flow_dependences(program)) {
    DependenceRow row;
    row.dependence = dependence;
    const Statement &source = statement_named(program, dependence.source);
    row.text = relation_text(program, dependence.relation, source);
    fill(program, source, statement_named(program, dependence.sink), row);
    table.push_back(std::move(row));
  }
  return table;
}

} // namespace tilewright
