// Stream.push as a method in C++ for pushes like the last one, which in real-time use are nearly
// all: checking them and counting the elements in Python would take longer than the kernels of
// short chunks do. All other pushes go to the function in Python that it wraps.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

/// Of a push that was made: what the next one must be like, and what it does then. `chunks` and
/// `outputs` are its arrays, `calls` the prepared calls for both sides of the memory, `ticks` by
/// how much it moves on, and `lock` the stream's.
pybind11::object alike_push(const pybind11::object &lock, const pybind11::tuple &chunks,
                            const pybind11::tuple &outputs, const pybind11::tuple &calls,
                            const pybind11::int_ &ticks);

/// A method that does what `wrapped`, the one in Python, does. If the attribute _again of its
/// object is an alike_push, and chunks and `out` are given that are like those of it (`out` as a
/// tuple if there are several), it runs the call of the present _side, and changes _side and
/// _ticks; an error of the call goes to the object's _interrupted first.
pybind11::object push_method(const pybind11::object &wrapped);

} // namespace tilewright
