// C++ code that CPython calls without pybind11 in between: what it throws becomes Python's error.
#pragma once

#include <pybind11/pybind11.h>

#include <cxxabi.h>

namespace tilewright {

/// Runs C++ code that may throw for Python.
template <class Body>
PyObject *guarded(const Body &body) {
  try {
    return body();
  } catch (pybind11::error_already_set &error) {
    error.restore();
  } catch (abi::__forced_unwind &) {
    throw; // Python ends a daemon thread at the end of the process
  } catch (...) {
    pybind11::detail::try_translate_exceptions();
  }
  return nullptr;
}

} // namespace tilewright
