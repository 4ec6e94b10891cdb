// Commands and schedules between Python, which holds them as plain values, and the core.
#pragma once

#include "mapping/schedule.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <vector>

namespace tilewright {

/// (computation, command, arguments): a command as Python holds it. The computation is empty of one
/// that is given to the whole function; the arguments of a transaction are its commands.
using CommandTuple = std::tuple<std::string, std::string, std::vector<pybind11::object>>;

/// Throws Error(Schedule) for an argument that no command takes. `where`: the line that gives it.
Command to_command(const std::string &computation, const std::string &name,
                   const std::vector<pybind11::object> &arguments, const pybind11::handle &where);
Schedule to_schedule(const std::vector<CommandTuple> &commands, const pybind11::handle &where);
pybind11::list from_schedule(const Schedule &schedule);

} // namespace tilewright
