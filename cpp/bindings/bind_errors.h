// Turns the core's one error type into Python's exceptions. Which class an error has is up to what
// Python has registered (callbacks.h), so the extension imports without the package.
#pragma once

#include "polyhedral/error.h"

#include <pybind11/pybind11.h>

#include <string>

namespace tilewright {

/// What is wrong with an argument: tw.ArgumentTypeError, ArgumentError, ArgumentOverflowError.
enum class ArgumentProblem { Type, Value, Overflow };

/// Throws what Python shows as that error; `cause` is the Python exception that led to it.
[[noreturn]] void throw_argument_error(ArgumentProblem problem, const std::string &message,
                                       const pybind11::object &cause = {});

/// Throws what Python shows as `error`, of a function whose schedule it leaves as it was.
[[noreturn]] void raise_of_function(const Error &error, const pybind11::object &function);

/// Registers the translation of tilewright::Error for the whole extension.
void bind_errors(pybind11::module_ &module);

} // namespace tilewright
