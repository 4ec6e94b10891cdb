#include "bindings/array_memory.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

/// The axes with more than one element, by stride.
std::vector<std::pair<py::ssize_t, py::ssize_t>> moving_axes(const BoundArray &array) {
  std::vector<std::pair<py::ssize_t, py::ssize_t>> axes; // stride, elements
  for (int axis = 0; axis < array.nd; ++axis) {
    if (array.dimensions[axis] > 1) {
      axes.emplace_back(std::abs(array.strides[axis]), array.dimensions[axis]);
    }
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool is_empty(const BoundArray &array) {
  return std::any_of(array.dimensions, array.dimensions + array.nd,
                     [](py::ssize_t length) { return length == 0; });
}

/// Each stride passes everything inside of it.
bool strides_nest(const BoundArray &array, int item_size) {
  py::ssize_t reach = item_size;
  for (const auto &[stride, elements] : moving_axes(array)) {
    if (stride < reach) {
      return false;
    }
    reach += stride * (elements - 1);
  }
  return true;
}

} // namespace

ByteSpan span_of(const BoundArray &array, int item_size) {
  ByteSpan span{0, item_size};
  for (int axis = 0; axis < array.nd; ++axis) {
    if (array.dimensions[axis] == 0) {
      return {};
    }
    const std::ptrdiff_t reach = array.strides[axis] * (array.dimensions[axis] - 1);
    (reach < 0 ? span.low : span.high) += reach;
  }
  return span;
}

bool overlaps_itself(const BoundArray &array, int item_size) {
  if (is_empty(array) || strides_nest(array, item_size)) {
    return false;
  }
  constexpr py::ssize_t most = 1 << 16;
  const auto axes = moving_axes(array);
  std::vector<py::ssize_t> places{0};
  for (const auto &[stride, elements] : axes) {
    if (stride == 0 || elements > most / static_cast<py::ssize_t>(places.size())) {
      return true;
    }
    const size_t before = places.size();
    for (py::ssize_t step = 1; step < elements; ++step) {
      for (size_t i = 0; i < before; ++i) {
        places.push_back(places[i] + step * stride);
      }
    }
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end(), [&](py::ssize_t a, py::ssize_t b) {
           return b - a < item_size;
         }) != places.end();
}

bool shares_memory(const BoundArray &a, const BoundArray &b, int a_item, int b_item) {
  if (a.array == nullptr || b.array == nullptr ||
      !spans_overlap(a.data, span_of(a, a_item), b.data, span_of(b, b_item))) {
    return false;
  }
  constexpr int max_work = 100'000;
  try {
    return py::module_::import("numpy")
        .attr("shares_memory")(py::handle(a.array), py::handle(b.array), max_work)
        .cast<bool>();
  } catch (py::error_already_set &error) {
    if (error.matches(PyExc_KeyboardInterrupt)) {
      throw;
    }
    return true; // too hard to tell within the bound
  }
}

std::optional<llvm::SmallVector<std::int64_t, 4>>
place_inside(const BoundArray &inner, const BoundArray &outer, int item_size) {
  if (inner.nd != outer.nd || is_empty(inner) || is_empty(outer) ||
      !strides_nest(outer, item_size)) {
    return std::nullopt;
  }
  const int rank = inner.nd;
  llvm::SmallVector<int, 4> order; // the largest stride first
  for (int axis = 0; axis < rank; ++axis) {
    if (inner.dimensions[axis] > 1 &&
        (outer.dimensions[axis] <= 1 || inner.strides[axis] != outer.strides[axis])) {
      return std::nullopt;
    }
    if (outer.dimensions[axis] > 1) { // a stride means nothing along one element
      order.push_back(axis);
    }
  }
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::abs(outer.strides[a]) > std::abs(outer.strides[b]); });
  std::ptrdiff_t distance = inner.data - outer.data;
  llvm::SmallVector<std::int64_t, 4> offset(static_cast<size_t>(rank), 0);
  for (size_t at = 0; at < order.size(); ++at) {
    const int axis = order[at];
    const py::ssize_t stride = outer.strides[axis];
    if (stride == 0) {
      return std::nullopt;
    }
    // What is left must be reached by the inner axes from inside: forwards by the strides' signs.
    std::ptrdiff_t low = 0;
    std::ptrdiff_t high = 0;
    for (size_t rest = at + 1; rest < order.size(); ++rest) {
      const std::ptrdiff_t reach = outer.strides[order[rest]] * (outer.dimensions[order[rest]] - 1);
      (reach < 0 ? low : high) += reach;
    }
    std::ptrdiff_t steps = distance / stride;
    bool found = false;
    for (const std::ptrdiff_t candidate : {steps, steps - 1, steps + 1}) {
      const std::ptrdiff_t left = distance - candidate * stride;
      if (!found && left >= low && left <= high) {
        steps = candidate;
        found = true;
      }
    }
    const bool inside = steps >= 0 && steps + inner.dimensions[axis] <= outer.dimensions[axis];
    if (!found || (at > 0 && !inside)) {
      return std::nullopt;
    }
    offset[static_cast<size_t>(axis)] = steps;
    distance -= steps * stride;
  }
  if (distance != 0) {
    return std::nullopt;
  }
  return offset;
}

bool same_elements(const BoundArray &a, const BoundArray &b) {
  return a.array == b.array || (a.data == b.data && a.nd == b.nd &&
                                std::equal(a.dimensions, a.dimensions + a.nd, b.dimensions) &&
                                std::equal(a.strides, a.strides + a.nd, b.strides));
}

} // namespace tilewright
