#include "analysis/suggestions.h"

#include "mapping/command_table.h"

#include <isl/set.h>

#include <algorithm>

namespace tilewright {

namespace {

/// The loops of the command's computation that may carry its tag instead.
std::string legal_loops(const Program &program, const Command &command) {
  const bool vector = traits(command).tag == Tag::Vector;
  // Blocks and threads of a GPU may be the loops that may be parallel.
  const Tag tag = vector ? Tag::Vector : Tag::Parallel;
  std::string loops;
  size_t levels = 0;
  for (const Statement &statement : program.statements) {
    if (statement.computation->name == command.computation) {
      levels = std::max(levels, statement.loop_names.size());
    }
  }
  for (size_t level = 0; level < levels; ++level) {
    Program candidate = program;
    std::string name;
    for (Statement &statement : candidate.statements) {
      if (statement.computation->name != command.computation) {
        continue;
      }
      for (LoopTag &other : statement.tags) {
        other = other.tag == tag ? LoopTag{} : other;
      }
      if (level < statement.loop_names.size() && level >= statement.replicas) {
        statement.tags[level] = {tag, 0};
        if (statement.role != StatementRole::Initialise || name.empty()) {
          name = statement.loop_names[level];
        }
      }
    }
    if (!name.empty() && !find_violation(candidate)) {
      loops += (loops.empty() ? "" : ", ") + name;
    }
  }
  if (loops.empty()) {
    return "no loop of " + command.computation + " can be " + (vector ? "vectorised" : "parallel") +
           " in this order";
  }
  return std::string(vector ? "vectorize" : "parallelize") + " is legal for: " + loops;
}

/// The largest distance, along loop `level`, by which a sink comes too early; nothing when it is
/// not a constant.
std::optional<std::int64_t> largest_distance(const Statement &source, const Statement &sink,
                                             const isl::map &pairs, size_t level) {
  const isl::map values =
      pairs.apply_domain(source.loops[level].as_map()).apply_range(sink.loops[level].as_map());
  const isl::set distances =
      isl::manage(isl_set_neg(isl_map_deltas(values.copy()))).project_out_all_params();
  const isl::val most = isl::manage(isl_set_dim_max_val(distances.copy(), 0));
  if (most.is_null() || !most.is_int().is_true()) {
    isl_ctx_reset_error(isl_context().get());
    return std::nullopt;
  }
  return most.num_si();
}

/// A shift of the sink's computation along the loop at fault (or the innermost shared one) after
/// which all is legal.
std::string repairing_shift(const Program &program, const Violation &violation) {
  const int level = violation.is_static ? violation.level - 1 : violation.level;
  if (violation.concurrent || level < 0 || level >= program.depth ||
      violation.source == violation.sink) {
    return "";
  }
  const auto named = [&](const std::string &name) {
    return std::find_if(program.statements.begin(), program.statements.end(),
                        [&](const Statement &statement) { return statement.name == name; });
  };
  const auto source = named(violation.source);
  const auto sink = named(violation.sink);
  const auto position = static_cast<size_t>(level);
  if (source == program.statements.end() || sink == program.statements.end() ||
      position >= sink->loop_names.size() || source->computation == sink->computation ||
      sink->replicas > 0) {
    return "";
  }
  const std::optional<std::int64_t> distance =
      largest_distance(*source, *sink, violation.pairs, position);
  if (!distance || *distance < 0) {
    return "";
  }
  for (const std::int64_t shift : {*distance, *distance + 1}) {
    Program candidate = program;
    for (Statement &statement : candidate.statements) {
      if (statement.computation == sink->computation) {
        statement.loops[position] = statement.loops[position].add_constant(
            isl::val(isl_context(), static_cast<long>(shift)));
      }
    }
    if (shift > 0 && !find_violation(candidate)) {
      return "it would be legal after " + sink->computation->name + ".shift(\"" +
             sink->loop_names[position] + "\", " + std::to_string(shift) + ")";
    }
  }
  return "";
}

} // namespace

std::string suggest(const Program &program, const Command &command, const Violation &violation) {
  const std::optional<Tag> asked = traits(command).tag;
  if (asked == Tag::Vector || asked == Tag::Parallel) {
    return legal_loops(program, command);
  }
  if (violation.kind == Violation::Kind::Order) {
    return repairing_shift(program, violation);
  }
  return "";
}

} // namespace tilewright
