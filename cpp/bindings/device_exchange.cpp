// Device arrays to and from other libraries, without a copy: __cuda_array_interface__ (versions 0
// to 3) and DLPack (with and without versions), each with the order of streams that it asks for.
#include "bindings/bind_arrays.h"
#include "bindings/bind_errors.h"
#include "bindings/device_array.h"
#include "bindings/dlpack.h"
#include "bindings/dlpack_layout.h"
#include "runtime/cuda_device.h"

#include <pybind11/stl.h>

#include <optional>
#include <utility>

namespace tilewright {

namespace py = pybind11;

namespace {

using Extents = std::vector<std::int64_t>;

const CudaDevice *cuda_device(const Device &device) {
  return dynamic_cast<const CudaDevice *>(&device);
}

// ---- what is taken ----

/// Keeps a Python object that owns memory; given back under the GIL, by whatever thread.
std::shared_ptr<void> keep(const py::object &object) {
  return {py::object(object).release().ptr(), [](void *owner) {
            if (Py_IsInitialized() != 0) {
              const py::gil_scoped_acquire locked;
              Py_DECREF(static_cast<PyObject *>(owner));
            }
          }};
}

/// What this thread does from now on waits for another library's stream.
void wait_for_stream(CudaDevice &device, cuda::Stream stream) {
  const auto place = std::make_shared<CudaPlace>(
      device.context(), stream == cuda::legacy_stream() ? nullptr : stream);
  device.wait_for(place);
}

std::shared_ptr<DeviceArray> make_view(CudaDevice &device, void *data, ScalarType type,
                                       Extents shape, Extents strides, bool is_read_only,
                                       std::shared_ptr<void> owner) {
  std::int64_t bytes = type.bytes();
  for (const std::int64_t extent : shape) {
    bytes *= extent;
  }
  auto memory = std::make_shared<DeviceMemory>(device, data, bytes, std::move(owner));
  return std::make_shared<DeviceArray>(std::move(memory), data, type, std::move(shape),
                                       std::move(strides), is_read_only);
}

Extents packed_strides(const Extents &shape, std::int64_t item) {
  Extents strides(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = item;
    item *= shape[d];
  }
  return strides;
}

[[noreturn]] void refuse(const std::string &why) {
  throw_argument_error(ArgumentProblem::Type, "the device array cannot be used: " + why);
}

/// The device whose memory has the address.
CudaDevice &owner_of(std::uintptr_t address) {
  const CudaDriver &driver = CudaDriver::get();
  std::int32_t number = 0;
  if (address != 0) {
    const cuda::Result result =
        driver.functions().pointer_attribute(&number, cuda::PointerDevice, address);
    driver.check(result, "find the device of an array (is its memory still there?)");
  }
  return CudaDevice::get(number);
}

std::shared_ptr<DeviceArray> from_interface(const py::object &object) {
  const auto fields = py::cast<py::dict>(object.attr("__cuda_array_interface__"));
  const auto optional = [&](const char *name) -> py::object {
    return fields.contains(name) ? py::object(fields[name]) : py::none();
  };
  if (!optional("mask").is_none()) {
    refuse("it has a mask (__cuda_array_interface__)");
  }
  const auto dtype = py::dtype::from_args(fields["typestr"]);
  const auto name = py::str(dtype.attr("name")).cast<std::string>();
  const std::optional<ScalarType> type = type_from_name(name);
  if (!type || !dtype.attr("isnative").cast<bool>()) {
    refuse("its elements are " + name + ", a type that does not exist here");
  }
  const auto [address, is_read_only] = fields["data"].cast<std::pair<std::uintptr_t, bool>>();
  auto shape = fields["shape"].cast<Extents>();
  const py::object given = optional("strides");
  Extents strides = given.is_none() ? packed_strides(shape, type->bytes()) : given.cast<Extents>();
  if (strides.size() != shape.size()) {
    refuse("its shape and its strides are of different lengths");
  }
  CudaDevice &device = owner_of(address);
  if (const py::object stream = optional("stream"); !stream.is_none()) {
    const auto handle = stream.cast<std::uintptr_t>();
    if (handle == 0) {
      refuse("its stream is 0, which __cuda_array_interface__ does not allow");
    }
    wait_for_stream(device, reinterpret_cast<cuda::Stream>(handle)); // NOLINT(*-no-int-to-ptr)
  }
  return make_view(device, reinterpret_cast<void *>(address), // NOLINT(*-no-int-to-ptr)
                   *type, std::move(shape), std::move(strides), is_read_only, keep(object));
}

template <class Managed>
std::shared_ptr<DeviceArray> consume(CudaDevice &device, PyObject *capsule, const char *name,
                                     const char *used, bool is_read_only) {
  auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
  const dlpack::Tensor &tensor = managed->tensor;
  const std::optional<ScalarType> type = dlpack::scalar_type(tensor.type);
  if (!type) {
    refuse("its elements are " + dlpack::type_text(tensor.type) +
           " (DLPack), a type that does not exist here");
  }
  const auto rank = static_cast<size_t>(tensor.rank);
  Extents shape(tensor.shape, tensor.shape + rank);
  Extents strides = packed_strides(shape, type->bytes());
  for (size_t d = 0; tensor.strides != nullptr && d < rank; ++d) {
    strides[d] = tensor.strides[d] * type->bytes();
  }
  if (PyCapsule_SetName(capsule, used) != 0) {
    throw py::error_already_set();
  }
  const std::shared_ptr<void> owner(managed, [](Managed *done) {
    if (done->deleter != nullptr && Py_IsInitialized() != 0) {
      const py::gil_scoped_acquire locked;
      done->deleter(done);
    }
  });
  return make_view(device, static_cast<char *>(tensor.data) + tensor.byte_offset, *type,
                   std::move(shape), std::move(strides), is_read_only, owner);
}

py::object export_of(const py::object &object, std::intptr_t stream) {
  try {
    return object.attr("__dlpack__")(py::arg("stream") = stream,
                                     py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set &error) {
    if (!error.matches(PyExc_TypeError)) {
      throw;
    }
  }
  return object.attr("__dlpack__")(py::arg("stream") = stream); // from before versions
}

/// The stream as DLPack and __cuda_array_interface__ number it: 1 for the default one.
std::intptr_t stream_number(const CudaDevice &device) {
  const cuda::Stream stream = device.context().stream();
  return reinterpret_cast<std::intptr_t>(stream == nullptr ? cuda::legacy_stream() : stream);
}

using DlpackDevice = std::pair<std::int32_t, std::int32_t>;

std::optional<DlpackDevice> dlpack_device_of(const py::handle &object) {
  if (!py::hasattr(object, "__dlpack_device__") || !py::hasattr(object, "__dlpack__")) {
    return std::nullopt;
  }
  try {
    return py::tuple(object.attr("__dlpack_device__")()).cast<DlpackDevice>();
  } catch (const py::cast_error &) {
    return std::nullopt; // no device of anybody's
  }
}

bool is_cuda(const DlpackDevice &device) {
  return device.first == dlpack::Cuda || device.first == dlpack::CudaManaged;
}

std::shared_ptr<DeviceArray> from_dlpack_on_device(const py::object &object, int number) {
  CudaDevice &device = CudaDevice::get(number);
  const py::object capsule = export_of(object, stream_number(device));
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::versioned_name) != 0) {
    const auto *managed = static_cast<dlpack::VersionedTensor *>(
        PyCapsule_GetPointer(capsule.ptr(), dlpack::versioned_name));
    if (managed->major != 1) {
      refuse("it is exported by DLPack version " + std::to_string(managed->major) +
             "; version 1 or older is understood");
    }
    return consume<dlpack::VersionedTensor>(device, capsule.ptr(), dlpack::versioned_name,
                                            "used_dltensor_versioned",
                                            (managed->flags & dlpack::read_only_flag) != 0);
  }
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::legacy_name) != 0) {
    return consume<dlpack::LegacyTensor>(device, capsule.ptr(), dlpack::legacy_name,
                                         "used_dltensor", false);
  }
  refuse("its __dlpack__() gave no tensor, or one that was used before");
}

// ---- what is given ----

/// What keeps an exported array.
struct Export {
  std::shared_ptr<DeviceMemory> memory;
  Extents shape;
  Extents strides; ///< in elements
};

template <class Managed>
void delete_export(Managed *managed) {
  delete static_cast<Export *>(managed->context);
  delete managed;
}

/// Of a capsule that nobody consumed.
template <class Managed>
void drop_capsule(PyObject *capsule, const char *name) {
  if (PyCapsule_IsValid(capsule, name) != 0) {
    auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
    managed->deleter(managed);
  }
}

template <class Managed>
std::unique_ptr<Managed> managed_tensor(const DeviceArray &array) {
  auto context = std::make_unique<Export>();
  context->memory = array.memory();
  context->shape = array.shape();
  const std::int64_t item = array.type().bytes();
  for (size_t d = 0; d < array.shape().size(); ++d) {
    const std::int64_t stride = array.strides()[d];
    if (stride % item != 0 && array.shape()[d] > 1) {
      throw py::buffer_error("DLPack counts strides in elements, and a stride of " +
                             std::to_string(stride) + " bytes is no multiple of " +
                             std::to_string(item));
    }
    context->strides.push_back(stride / item);
  }
  auto managed = std::make_unique<Managed>();
  const CudaDevice *device = cuda_device(array.device());
  managed->tensor.data = array.data();
  managed->tensor.device =
      device == nullptr ? dlpack::Device{dlpack::Host, 0}
                        : dlpack::Device{dlpack::Cuda, device->context().properties().number};
  managed->tensor.rank = static_cast<std::int32_t>(array.shape().size());
  managed->tensor.type = dlpack::element_type(array.type());
  managed->tensor.shape = context->shape.data();
  managed->tensor.strides = context->strides.data();
  managed->tensor.byte_offset = 0;
  managed->context = context.release();
  managed->deleter = &delete_export<Managed>;
  return managed;
}

py::object legacy_capsule(const DeviceArray &array) {
  if (array.is_read_only()) {
    throw py::buffer_error("a read-only array is exported by DLPack 1.0 or newer only");
  }
  auto managed = managed_tensor<dlpack::LegacyTensor>(array);
  auto capsule = py::reinterpret_steal<py::object>(
      PyCapsule_New(managed.get(), dlpack::legacy_name, [](PyObject *dropped) {
        drop_capsule<dlpack::LegacyTensor>(dropped, dlpack::legacy_name);
      }));
  if (!capsule) {
    delete_export(managed.release());
    throw py::error_already_set();
  }
  managed.release();
  return capsule;
}

py::object versioned_capsule(const DeviceArray &array, bool is_copy) {
  auto managed = managed_tensor<dlpack::VersionedTensor>(array);
  managed->major = 1;
  managed->minor = 0;
  managed->flags =
      (array.is_read_only() ? dlpack::read_only_flag : 0) | (is_copy ? dlpack::is_copied_flag : 0);
  auto capsule = py::reinterpret_steal<py::object>(
      PyCapsule_New(managed.get(), dlpack::versioned_name, [](PyObject *dropped) {
        drop_capsule<dlpack::VersionedTensor>(dropped, dlpack::versioned_name);
      }));
  if (!capsule) {
    delete_export(managed.release());
    throw py::error_already_set();
  }
  managed.release();
  return capsule;
}

/// The consumer's stream (or this thread's, where it names none) waits for the work on the array.
void order_before_consumer(const DeviceArray &array, const py::object &stream) {
  auto *device = dynamic_cast<CudaDevice *>(&array.device());
  if (device == nullptr) {
    if (!stream.is_none()) {
      throw py::buffer_error("arrays of the emulator have no streams, so __dlpack__ takes none");
    }
    return;
  }
  const auto number = stream.is_none() ? std::intptr_t{1} : stream.cast<std::intptr_t>();
  if (number == -1) {
    return; // the consumer takes care
  }
  if (number == 0 || number < -1) {
    throw py::buffer_error("__dlpack__ takes no stream " + std::to_string(number) +
                           " of CUDA: 1 is the default one, 2 each thread's, -1 none");
  }
  const CudaContext &context = device->context();
  const auto place =
      context.enter(reinterpret_cast<cuda::Stream>(number)); // NOLINT(*-no-int-to-ptr)
  try {
    array.memory()->use();
  } catch (...) {
    context.leave(place);
    throw;
  }
  context.leave(place);
}

} // namespace

bool is_device_array(const py::handle &object) {
  if (PyType_Check(object.ptr()) != 0) {
    return false;
  }
  if (const std::optional<DlpackDevice> device = dlpack_device_of(object)) {
    return is_cuda(*device);
  }
  return py::hasattr(object, "__cuda_array_interface__");
}

std::shared_ptr<DeviceArray> view_device_array(const py::object &object) {
  if (py::isinstance<DeviceArray>(object)) {
    return object.cast<std::shared_ptr<DeviceArray>>();
  }
  if (PyType_Check(object.ptr()) != 0) {
    return nullptr;
  }
  if (const std::optional<DlpackDevice> device = dlpack_device_of(object)) {
    return is_cuda(*device) ? from_dlpack_on_device(object, device->second) : nullptr;
  }
  return py::hasattr(object, "__cuda_array_interface__") ? from_interface(object) : nullptr;
}

py::dict cuda_array_interface(const DeviceArray &array) {
  const CudaDevice *device = cuda_device(array.device());
  if (device == nullptr) {
    throw py::attribute_error(
        "arrays of the emulator are on the host: no __cuda_array_interface__");
  }
  array.memory()->use();
  py::dict fields;
  fields["shape"] = py::tuple(py::cast(array.shape()));
  fields["typestr"] = numpy_dtype(array.type()).attr("str");
  const std::uintptr_t address =
      array.size() == 0 ? 0 : reinterpret_cast<std::uintptr_t>(array.data());
  fields["data"] = py::make_tuple(address, array.is_read_only());
  fields["strides"] =
      array.is_row_major() ? py::none() : py::object(py::tuple(py::cast(array.strides())));
  fields["version"] = 3;
  fields["stream"] = stream_number(*device);
  return fields;
}

py::tuple dlpack_device(const DeviceArray &array) {
  const CudaDevice *device = cuda_device(array.device());
  const int type = device == nullptr ? dlpack::Host : dlpack::Cuda;
  const int number = device == nullptr ? 0 : device->context().properties().number;
  return py::make_tuple(type, number);
}

py::object to_dlpack(const DeviceArray &array, const py::object &stream,
                     const py::object &max_version, const py::object &dl_device,
                     const py::object &copy) {
  if (!dl_device.is_none() && !py::tuple(dl_device).equal(dlpack_device(array))) {
    const auto wanted = py::tuple(dl_device).cast<DlpackDevice>();
    if (wanted.first != dlpack::Host || (!copy.is_none() && !copy.cast<bool>())) {
      throw py::buffer_error("the " + describe(array) + " cannot be exported to " +
                             dlpack::device_text({wanted.first, wanted.second}) +
                             (wanted.first == dlpack::Host ? " without a copy" : ""));
    }
    return array.to_host().attr("__dlpack__")();
  }
  const bool is_copy = !copy.is_none() && copy.cast<bool>();
  const DeviceArray given = is_copy ? array.copy() : array;
  order_before_consumer(given, stream);
  const bool is_versioned = !max_version.is_none() && py::tuple(max_version)[0].cast<int>() >= 1;
  return is_versioned ? versioned_capsule(given, is_copy) : legacy_capsule(given);
}

} // namespace tilewright
