// DLPack in: an ndarray that views the tensor another library exports through __dlpack__ (data-apis
// array exchange; versioned capsules, and the older ones without a version). The capsule is
// consumed once, and the exporter's deleter runs when the last view is gone, or at once where the
// tensor cannot be used.
#pragma once

#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>

namespace tilewright {

/// Why an object that has array data cannot be used; the message says what to do.
struct RefusedArray : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A view of `object`, which has __dlpack__; not writeable where its owner says so. Throws
/// RefusedArray, or the exporter's own Python error.
pybind11::object from_dlpack(const pybind11::handle &object);

} // namespace tilewright
