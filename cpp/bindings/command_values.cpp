#include "bindings/command_values.h"

#include "bindings/bind_language.h"
#include "polyhedral/error.h"

#include <cstdint>
#include <variant>

namespace tilewright {

namespace py = pybind11;

namespace {

Argument to_argument(const py::handle &value) {
  if (py::isinstance<py::str>(value)) {
    return value.cast<std::string>();
  }
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    const auto items = py::reinterpret_borrow<py::sequence>(value);
    bool all_text = true;
    for (const auto &item : items) {
      all_text = all_text && py::isinstance<py::str>(item);
    }
    if (all_text) {
      return value.cast<std::vector<std::string>>();
    }
    return value.cast<std::vector<std::int64_t>>();
  }
  return value.cast<std::int64_t>();
}

py::object from_argument(const Argument &argument) {
  return std::visit([](const auto &value) -> py::object { return py::cast(value); }, argument);
}

} // namespace

Command to_command(const std::string &computation, const std::string &name,
                   const std::vector<py::object> &arguments, const py::handle &where) {
  Command command;
  command.computation = computation;
  command.name = name;
  command.where = to_location(where);
  const bool is_transaction = computation.empty() && name == transaction_name;
  for (const auto &argument : arguments) {
    try {
      if (is_transaction) {
        const auto [own, given, values] = argument.cast<CommandTuple>();
        command.commands.push_back(to_command(own, given, values, where));
      } else {
        command.arguments.push_back(to_argument(argument));
      }
    } catch (const py::cast_error &) {
      throw Error(ErrorKind::Schedule,
                  computation + "." + name +
                      ": an argument must be a name, an integer of 64 bits " +
                      "or a list of these, got " + py::repr(argument).cast<std::string>(),
                  command.where);
    }
  }
  return command;
}

Schedule to_schedule(const std::vector<CommandTuple> &commands, const py::handle &where) {
  Schedule schedule;
  for (const auto &[computation, name, arguments] : commands) {
    schedule.commands.push_back(to_command(computation, name, arguments, where));
  }
  return schedule;
}

py::list from_schedule(const Schedule &schedule) {
  py::list commands;
  for (const auto &command : schedule.commands) {
    py::list arguments = from_schedule({command.commands});
    for (const auto &argument : command.arguments) {
      arguments.append(from_argument(argument));
    }
    commands.append(py::make_tuple(command.computation, command.name, arguments));
  }
  return commands;
}

} // namespace tilewright
