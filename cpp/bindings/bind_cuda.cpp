#include "bindings/bind_cuda.h"

#include "bindings/bind_arrays.h"
#include "bindings/bind_errors.h"
#include "bindings/device_array.h"
#include "bindings/gil.h"
#include "bindings/signals.h"
#include "hardware/gpu.h"
#include "runtime/cuda_device.h"
#include "runtime/devices.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

cuda::Stream stream_of(std::uintptr_t handle) {
  return reinterpret_cast<cuda::Stream>(handle); // NOLINT(performance-no-int-to-ptr)
}

/// The first use of a device may take a second; other threads run meanwhile.
Device &device_named(const std::string &name) {
  const GilReleased unlocked;
  return find_device(name);
}

CudaDevice &cuda_device(int number) {
  const GilReleased unlocked;
  return CudaDevice::get(number);
}

/// A stream that a thread has entered, until it is left.
struct EnteredStream {
  CudaDevice *device;
  std::shared_ptr<CudaPlace> place;
};

py::dict properties_of(int number) {
  const CudaDriver &driver = CudaDriver::get();
  const CudaProperties found = cuda_properties(driver, number);
  py::dict result;
  result["name"] = found.name;
  result["compute_capability"] = py::make_tuple(found.major, found.minor);
  result["memory"] = found.memory;
  result["multiprocessors"] = found.multiprocessors;
  result["shared_memory"] = found.max_shared_bytes;
  return result;
}

ScalarType type_named(const std::string &name) {
  const auto type = type_from_name(name);
  if (!type) {
    throw_argument_error(ArgumentProblem::Type,
                         "there is no type '" + name + "' for device arrays");
  }
  return *type;
}

std::string repr(const DeviceArray &array) {
  std::string text =
      "DeviceArray(shape=" + py::repr(py::tuple(py::cast(array.shape()))).cast<std::string>() +
      ", dtype=" + type_name(array.type()) + ", device='" + short_name(array.device()) + "'";
  if (!array.is_row_major()) {
    text += ", strides=" + py::repr(py::tuple(py::cast(array.strides()))).cast<std::string>();
  }
  return text + ")";
}

void bind_devices(py::module_ &module) {
  module.def("cuda_driver", [] {
    const GilReleased unlocked;
    const CudaDriver &driver = CudaDriver::get();
    return std::make_tuple(driver.path(), driver.version(), driver.device_count());
  });
  module.attr("oldest_compute_capability") =
      py::make_tuple(oldest_architecture / 10, oldest_architecture % 10);
  module.def("cuda_properties", &properties_of, py::arg("device"));
  module.def(
      "cuda_synchronize",
      [](int number) {
        const CudaDevice &device = cuda_device(number);
        wait_without_gil([&] { device.context().synchronize(); });
      },
      py::arg("device"));
  module.def(
      "cuda_memory",
      [](int number) {
        CudaDevice &device = cuda_device(number);
        std::size_t free = 0;
        std::size_t total = 0;
        const CudaContext::Scope scope(device.context());
        device.context().check(device.context().functions().memory_info(&free, &total),
                               "ask for free memory");
        return std::make_tuple(free, total, device.memory().in_use());
      },
      py::arg("device"));
  module.def(
      "cuda_release_memory",
      [](int number) {
        CudaDevice &device = cuda_device(number);
        const GilReleased unlocked;
        device.memory().trim();
      },
      py::arg("device"));
  module.def(
      "cuda_modules",
      [](int number) {
        const CudaModules::Counts counts = cuda_device(number).modules().counts();
        return std::make_tuple(counts.compiled, counts.from_cache, counts.loaded);
      },
      py::arg("device"));
}

void bind_streams(py::module_ &module) {
  module.def(
      "cuda_current_stream",
      [](int number) {
        return reinterpret_cast<std::uintptr_t>(cuda_device(number).context().stream());
      },
      py::arg("device"));
  module.def(
      "cuda_synchronize_stream",
      [](int number, std::uintptr_t handle) {
        const CudaDevice &device = cuda_device(number);
        wait_without_gil([&] { device.context().synchronize(stream_of(handle)); });
      },
      py::arg("device"), py::arg("stream"));
  py::class_<EnteredStream>(module, "EnteredStream")
      .def(py::init([](int number, std::uintptr_t handle) {
             CudaDevice &device = cuda_device(number);
             return EnteredStream{&device, device.context().enter(stream_of(handle))};
           }),
           py::arg("device"), py::arg("stream"))
      .def("leave", [](EnteredStream &self) {
        if (self.place) {
          self.device->context().leave(std::exchange(self.place, nullptr));
        }
      });
  py::class_<CudaStream>(module, "CudaStream")
      .def(py::init([](int number, bool non_blocking) {
             return std::make_unique<CudaStream>(cuda_device(number).context(), non_blocking);
           }),
           py::arg("device"), py::arg("non_blocking"))
      .def_property_readonly("handle", [](const CudaStream &self) {
        return reinterpret_cast<std::uintptr_t>(self.handle());
      });
  py::class_<CudaEvent>(module, "CudaEvent")
      .def(py::init([](int number) {
             return std::make_unique<CudaEvent>(cuda_device(number).context());
           }),
           py::arg("device"))
      .def_property_readonly(
          "handle",
          [](const CudaEvent &self) { return reinterpret_cast<std::uintptr_t>(self.handle()); })
      .def(
          "record", [](CudaEvent &self, std::uintptr_t handle) { self.record(stream_of(handle)); },
          py::arg("stream"))
      .def(
          "hold",
          [](const CudaEvent &self, std::uintptr_t handle) { self.hold(stream_of(handle)); },
          py::arg("stream"))
      .def("is_done", &CudaEvent::is_done)
      .def("synchronize",
           [](const CudaEvent &self) { wait_without_gil([&] { self.synchronize(); }); })
      .def("since", &CudaEvent::since, py::arg("start"));
}

void copy_from(DeviceArray &self, const py::object &given) {
  if (const auto other = view_device_array(given)) {
    self.copy_from(*other);
    return;
  }
  const py::array host = py::array::ensure(given);
  if (!host) {
    PyErr_Clear();
    throw_argument_error(ArgumentProblem::Type,
                         std::string("copy_from takes an array on the host or a device, got ") +
                             Py_TYPE(given.ptr())->tp_name);
  }
  self.copy_from_host(host);
}

using ArrayClass = py::class_<DeviceArray, std::shared_ptr<DeviceArray>>;

/// What an array is: shape, type, place.
void bind_array_facts(ArrayClass &type) {
  type.def_property_readonly(
          "shape", [](const DeviceArray &self) { return py::tuple(py::cast(self.shape())); })
      .def_property_readonly(
          "strides", [](const DeviceArray &self) { return py::tuple(py::cast(self.strides())); })
      .def_property_readonly("dtype",
                             [](const DeviceArray &self) { return numpy_dtype(self.type()); })
      .def_property_readonly("ndim", [](const DeviceArray &self) { return self.shape().size(); })
      .def_property_readonly("size", &DeviceArray::size)
      .def_property_readonly("itemsize",
                             [](const DeviceArray &self) { return self.type().bytes(); })
      .def_property_readonly(
          "nbytes", [](const DeviceArray &self) { return self.size() * self.type().bytes(); })
      .def_property_readonly("device",
                             [](const DeviceArray &self) { return short_name(self.device()); })
      .def_property_readonly("is_row_major", &DeviceArray::is_row_major)
      .def_property_readonly("is_read_only", &DeviceArray::is_read_only);
}

void bind_device_arrays(py::module_ &module) {
  ArrayClass type(module, "DeviceArray", R"(An array in the memory of a device.

Made by `tw.to_device`, `tw.empty` and `tw.as_device_array`, and by functions whose inputs are on a
device. Basic slices are views of the same memory. Values come to the host by `numpy()` only;
other libraries use the array where it is, by `__dlpack__` and, on a CUDA device, by
`__cuda_array_interface__` (version 3).

Work on the array follows the work before it, on whatever stream that was. Its memory is given back
when the last array and view of it is dropped.

Attributes:
    shape, strides (in bytes), dtype, ndim, size, nbytes, itemsize: as NumPy's.
    device: "cuda:0", or "gpu-emulator".
    is_row_major: whether its elements lie one after the other, the last axis fastest.
    is_read_only: whether it is a view of what its owner does not let others write.
)");
  bind_array_facts(type);
  type.def("numpy", &DeviceArray::to_host,
           R"(A copy on the host, row-major; waits for the work on the array.

Raises:
    DeviceError: what went wrong on the device meanwhile.)")
      .def("copy_from", &copy_from, py::arg("array"),
           R"(Overwrites the elements with those of an array on the host or a device.

Between arrays of one device this does not wait; from the host it returns when that array may
change again.

Args:
    array: of the same shape and type.

Raises:
    ArgumentError: another shape, or this array is read-only.
    ArgumentTypeError: another type.
    DeviceError: the device failed.)")
      .def("copy", &DeviceArray::copy, "A copy on the same device, row-major.")
      .def("__getitem__", &DeviceArray::view, py::arg("key"))
      .def("__setitem__",
           [](const DeviceArray &self, const py::object &key, const py::object &value) {
             DeviceArray view = self.view(key);
             copy_from(view, value);
           })
      .def("__len__",
           [](const DeviceArray &self) {
             if (self.shape().empty()) {
               throw py::type_error("an array without axes has no length");
             }
             return self.shape()[0];
           })
      .def("__repr__", &repr)
      .def("__array__",
           [](const DeviceArray &self, const py::args &, const py::kwargs &) -> py::object {
             throw_argument_error(ArgumentProblem::Type,
                                  "the " + describe(self) +
                                      " is not copied to the host unasked; write .numpy()");
           })
      .def_property_readonly("__cuda_array_interface__", &cuda_array_interface)
      .def("__dlpack_device__", &dlpack_device)
      .def("__dlpack__", &to_dlpack, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
           py::arg("copy") = py::none());
  module.def(
      "empty_on_device",
      [](std::vector<std::int64_t> shape, const std::string &type, const std::string &device) {
        return std::make_shared<DeviceArray>(device_named(device), type_named(type),
                                             std::move(shape));
      },
      py::arg("shape"), py::arg("dtype"), py::arg("device"));
  module.def("view_device_array", &view_device_array, py::arg("object"));
}

} // namespace

void bind_cuda(py::module_ &module) {
  bind_devices(module);
  bind_streams(module);
  bind_device_arrays(module);
}

} // namespace tilewright
