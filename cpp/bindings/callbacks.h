// What Python registers for the core to call: the maker of exceptions, and who is told of
// compilations and copies. tilewright/__init__.py registers all of them, so that the core imports
// no module of the package. Before that, an error is a RuntimeError with the core's message, and
// notices are dropped. Everything here needs the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace tilewright {

/// The exception for an error: `kind` is its class, `where` a line (file, number, text) or None.
pybind11::object make_error(const char *kind, const std::string &message,
                            const pybind11::object &where, const pybind11::dict &details);

/// Tells of a kernel that was compiled or loaded. `cache_problem` says why it could not be stored;
/// it may hold a path, so it is bytes.
void note_compiled(const std::string &function, const pybind11::object &info,
                   const pybind11::bytes &cache_problem);

/// Tells of arrays that calls like this one copy between the host and a device.
void note_copied(const std::string &function, const pybind11::list &arrays,
                 const std::string &device);

/// Python's `set_error_factory` and `set_notices`.
void bind_callbacks(pybind11::module_ &module);

} // namespace tilewright
