// fix, specialize, when_work: commands of the function itself. The first two say what is known of
// parameters, the third when the loops of a schedule are worth while.
#include "algorithm/fixed_parameters.h"
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/number_limits.h"
#include "polyhedral/set_text.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

namespace tilewright {

namespace {

constexpr const char *doing_function = "what is known of parameters";
constexpr std::int64_t max_loops_around = 64;

std::string names_text(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

void require_parameter(const MappingState &state, const Command &command, const std::string &name) {
  const std::vector<std::string> &known = state.function->parameters;
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    refuse(command, "'" + name + "' is no parameter of " + state.function->name +
                        "; its parameters are: " + names_text(known));
  }
}

/// "where N >= 1"; "" where nothing is known.
std::string context_text(const MappingState &state) {
  const std::string constraints = constraint_text(state.function->context);
  return constraints.empty() ? "" : ", where " + constraints;
}

isl::set read_condition(const MappingState &state, const Command &command,
                        const std::string &text) {
  isl::set condition;
  try {
    condition = read_parameter_set(text, "the condition", command.where);
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Declaration) {
      throw;
    }
    refuse(command, error.what());
  }
  for (const std::string &name : parameter_names(condition)) {
    require_parameter(state, command, name);
  }
  return checked(condition.coalesce(), doing_function);
}

} // namespace

namespace {

/// How many iterations are made is found by making them (algorithm/convergence.h).
void require_no_count(const MappingState &state, const Command &command, const std::string &name) {
  if (state.function->stop && state.function->stop->parameter == name) {
    refuse(command, name + " is the number of iterations until " +
                        state.function->stop->test->name +
                        " holds, which nobody knows before they are made; limit= of the function "
                        "says how many there are at most");
  }
}

} // namespace

void fix_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  if (arguments.size() == 0 || arguments.size() % 2 != 0) {
    refuse(command, "expected a value for each of some parameters, fix(N=1024, ...)");
  }
  std::map<std::string, std::int64_t> values;
  for (size_t a = 0; a < arguments.size(); a += 2) {
    const std::string name = arguments.name(a, "a parameter");
    const std::int64_t value = arguments.any_integer(a + 1, ("the value of " + name).c_str());
    require_parameter(state, command, name);
    require_no_count(state, command, name);
    const auto [known, is_new] = state.fixed.emplace(name, value);
    if (!is_new && known->second != value) {
      refuse(command, name + " is fixed at " + std::to_string(known->second) +
                          " already; a function has one schedule, so call reset_schedule() first, "
                          "or fix another value in a copy (f.copy())");
    }
    values[name] = value;
  }
  const std::shared_ptr<const Function> fixed = with_fixed_parameters(*state.function, values);
  if (checked(fixed->context.is_empty(), doing_function)) {
    refuse(command,
           "no call of " + state.function->name + " has such parameters" + context_text(state));
  }
  state.function = fixed;
}

void specialize_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 1, "specialize(condition)");
  const std::string text = arguments.name(0, "a condition on parameters");
  const isl::set condition = read_condition(state, command, text);
  if (state.function->stop) {
    const std::string &count = state.function->stop->parameter;
    const int position = isl_set_find_dim_by_name(condition.get(), isl_dim_param, count.c_str());
    if (position >= 0 &&
        isl_set_involves_dims(condition.get(), isl_dim_param, static_cast<unsigned>(position), 1) !=
            isl_bool_false) {
      require_no_count(state, command, count);
    }
  }
  const isl::set &context = state.function->context;
  isl::set left = checked(context.intersect(condition), doing_function);
  if (checked(left.is_empty(), doing_function)) {
    refuse(command,
           "the condition never holds in a call of " + state.function->name + context_text(state));
  }
  if (checked(context.is_subset(condition), doing_function)) {
    refuse(command, "the condition holds in every call of " + state.function->name +
                        context_text(state) + ", so nothing is left for the general version");
  }
  const int parts = isl_set_n_basic_set(condition.get());
  if (parts != 1) {
    refuse(command, "the condition is one of " + std::to_string(parts) +
                        " cases; give each case to a specialize of its own");
  }
  for (const Variant &earlier : state.variants) {
    left = checked(left.subtract(earlier.condition), doing_function);
  }
  if (checked(left.is_empty(), doing_function)) {
    refuse(command, "wherever the condition holds, a variant that was asked for earlier runs");
  }
  state.variants.push_back({text, condition});
}

void when_work_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 3, "when_work(n, threads=0, around=0)");
  const auto number = [&](size_t position, const char *role) -> std::int64_t {
    const std::int64_t value =
        position < arguments.size() ? arguments.any_integer(position, role) : 0;
    if (value < 0) {
      refuse(command, std::string(role) + " must be at least 0, got " + std::to_string(value));
    }
    return value;
  };
  state.work.declared = number(0, "the least work");
  state.work.threads = number(1, "the least work of threads");
  const std::int64_t around = number(2, "the number of loops around");
  if (around > max_loops_around) {
    refuse(command, "the number of loops around must be at most " +
                        std::to_string(max_loops_around) + ", got " + std::to_string(around));
  }
  state.work.around = static_cast<int>(around);
}

void require_replaceable(const MappingState &state, const Command &command) {
  if (state.work.declared == 0) {
    return;
  }
  for (const auto &[name, map] : state.time_space) {
    for (const LoopDimension &loop : map.dimensions) {
      if (is_gpu(loop.tag.tag)) {
        refuse(command, "loop '" + loop.name + "' of " + name +
                            " is a GPU's, where arrays may lie, and loops as declared run on the "
                            "CPU; when_work(0) leaves them out");
      }
    }
  }
  for (const auto &[name, storage] : state.storage) {
    const ComputationPtr *stored_in = state.function->find(storage.buffer);
    if (stored_in != nullptr && (*stored_in)->is_input) {
      refuse(command, name + " is stored in the array of " + storage.buffer +
                          ", and loops as declared keep it in one of its own; when_work(0) leaves "
                          "them out");
    }
  }
}

} // namespace tilewright
