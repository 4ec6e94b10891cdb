#include "analysis/suggestions.h"

#include "mapping/command_table.h"

#include <isl/set.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

/// isl operations for the commands that would take computations out of a shared loop: a refusal
/// without that advice is worth more than none.
constexpr std::uint64_t distribution_limit = 20'000'000;
/// So many mappings are tried for it, and so many commands are worth saying.
constexpr int max_tried = 6;
constexpr size_t max_commands = 3;

const Statement *find_statement(const Program &program, const std::string &name) {
  const auto found =
      std::find_if(program.statements.begin(), program.statements.end(),
                   [&](const Statement &statement) { return statement.name == name; });
  return found == program.statements.end() ? nullptr : &*found;
}

/// How many loops two statements share.
size_t shared_loops(const Statement &a, const Statement &b) {
  const size_t most = std::min(a.loop_names.size(), b.loop_names.size());
  size_t shared = 0;
  while (shared < most && a.order[shared] == b.order[shared]) {
    ++shared;
  }
  return shared;
}

/// The mapping in which the later one of the two computations at fault shares no more than `shared`
/// loops with the other one, and the command for it; nothing where no command does that.
std::optional<std::pair<Mapping, Command>> set_apart(const Mapping &mapping, const Program &program,
                                                     const Violation &violation, size_t shared) {
  const Statement *first = find_statement(program, violation.source);
  const Statement *later = find_statement(program, violation.sink);
  if (first == nullptr || later == nullptr || first->computation == later->computation ||
      first->replicas > 0 || later->replicas > 0) {
    return std::nullopt;
  }
  const size_t together = shared_loops(*first, *later);
  if (together <= shared || first->order[together] == later->order[together]) {
    return std::nullopt;
  }
  if (later->order[together] < first->order[together]) {
    std::swap(first, later);
  }
  const auto place = [&](const Statement &moved, const char *name, const Statement &other) {
    Command command{moved.computation->name, name, {other.computation->name}, {}};
    if (shared > 0) {
      command.arguments.emplace_back(
          mapping.time_space(other.computation->name).dimensions.at(shared - 1).name);
    }
    return std::make_pair(mapping.with(command), command);
  };
  try {
    return place(*later, "after", *first);
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Schedule) {
      throw;
    }
  }
  // The earlier one is placed relative to the later one.
  try {
    return place(*first, "before", *later);
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Schedule) {
      throw;
    }
    return std::nullopt;
  }
}

/// Commands after which `command`, refused because of `violation`, is legal: they take computations
/// out of the loop at fault and leave the loops around it shared. Empty: none were found.
std::string repairing_distribution(const Mapping &mapping, const Command &command,
                                   const Program &program, const Violation &violation, int &tried) {
  const Statement *source = find_statement(program, violation.source);
  const Statement *sink = find_statement(program, violation.sink);
  if (source == nullptr || sink == nullptr) {
    return "";
  }
  const size_t together = shared_loops(*source, *sink);
  size_t shared = violation.concurrent
                      ? std::min(together, static_cast<size_t>(violation.level) + 1)
                      : together;
  while (shared-- > 0) {
    Mapping distributed = mapping;
    Program tagged = program;
    std::optional<Violation> wrong = violation;
    std::string commands;
    for (size_t given = 0; wrong && given < max_commands && tried < max_tried; ++given, ++tried) {
      auto next = set_apart(distributed, tagged, *wrong, shared);
      if (!next) {
        break;
      }
      distributed = std::move(next->first);
      commands += (commands.empty() ? "" : " and ") + to_string(next->second);
      tagged = build_program(distributed.with(command));
      wrong = find_violation(tagged);
    }
    if (!wrong && !find_violation(build_program(distributed))) {
      return commands;
    }
  }
  return "";
}

/// The same, where isl's operations last; for the loop asked for, else for another one.
std::string distribution(const Mapping &mapping, const Command &command, const Program &program,
                         const Violation &violation,
                         const std::vector<std::pair<std::string, Violation>> &others) {
  int tried = 0;
  try {
    const OperationLimit limit(distribution_limit);
    const std::string commands =
        repairing_distribution(mapping, command, program, violation, tried);
    if (!commands.empty()) {
      return "; it would be legal after " + commands;
    }
    for (const auto &[loop, wrong] : others) {
      Command other = command;
      if (command.name != "parallelize" || command.arguments.size() != 1 ||
          command.arguments[0] == Argument(loop)) {
        continue;
      }
      other.arguments[0] = loop;
      const std::string before = repairing_distribution(mapping, other, program, wrong, tried);
      if (!before.empty()) {
        return "; parallelize(\"" + loop + "\") would be legal after " + before;
      }
    }
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit && error.kind != ErrorKind::Schedule) {
      throw;
    }
  }
  return "";
}

/// The loops of the command's computation that may carry its tag instead; where there is none, what
/// takes the computations apart that share its loops.
std::string legal_loops(const Program &program, const Command &command, const Violation &violation,
                        const Mapping *mapping) {
  const bool vector = traits(command).tag == Tag::Vector;
  // Blocks and threads of a GPU may be the loops that may be parallel.
  const Tag tag = vector ? Tag::Vector : Tag::Parallel;
  std::string loops;
  std::vector<std::pair<std::string, Violation>> refused;
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
        other = other.tag == tag && other.counts == 0 ? LoopTag{} : other;
        if (other.tag == tag || other.strips == tag) { // joined loops stay joined
          other.tag = Tag::Sequential;
          other.strips = Tag::Sequential;
        }
      }
      if (level < statement.loop_names.size() && level >= statement.replicas &&
          statement.tags[level].counts >= 0) {
        const auto joined = static_cast<size_t>(statement.tags[level].counts);
        for (size_t d = level; d <= std::min(level + joined, statement.tags.size() - 1); ++d) {
          statement.tags[d] = {tag, 0};
        }
        const bool has_all =
            statement.role == StatementRole::Value || statement.role == StatementRole::Update;
        if (has_all || name.empty()) {
          name = statement.loop_names[level];
        }
      }
    }
    if (name.empty()) {
      continue;
    }
    if (auto wrong = find_violation(candidate)) {
      refused.emplace_back(name, std::move(*wrong));
    } else {
      loops += (loops.empty() ? "" : ", ") + name;
    }
  }
  if (loops.empty()) {
    return "no loop of " + command.computation + " can be " + (vector ? "vectorised" : "parallel") +
           " in this order" +
           (mapping == nullptr ? "" : distribution(*mapping, command, program, violation, refused));
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
  const Statement *source = find_statement(program, violation.source);
  const Statement *sink = find_statement(program, violation.sink);
  const auto position = static_cast<size_t>(level);
  if (source == nullptr || sink == nullptr || position >= sink->loop_names.size() ||
      source->computation == sink->computation || sink->replicas > 0) {
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

std::string suggest(const Program &program, const Command &command, const Violation &violation,
                    const Mapping *mapping) {
  const std::optional<Tag> asked = traits(command).tag;
  if (asked == Tag::Vector || asked == Tag::Parallel) {
    return legal_loops(program, command, violation, mapping);
  }
  if (violation.kind == Violation::Kind::Order) {
    return repairing_shift(program, violation);
  }
  return "";
}

} // namespace tilewright
