#include "bindings/dlpack.h"

#include "bindings/bind_arrays.h"
#include "bindings/dlpack_layout.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

bool is_on_host(std::int32_t type) {
  // The processor's memory, and memory that CUDA or ROCm pinned there.
  return type == dlpack::Host || type == dlpack::CudaHost || type == dlpack::RocmHost;
}

void require_host(const dlpack::Device &device) {
  if (!is_on_host(device.type)) {
    throw RefusedArray("the array is on " + dlpack::device_text(device) +
                       ", and this code runs on the processor; copy it there first, for instance "
                       "with .cpu() or np.asarray()");
  }
}

// ---- the view ----

template <class Managed>
struct Deleter {
  void operator()(Managed *managed) const {
    if (managed->deleter != nullptr) {
      managed->deleter(managed);
    }
  }
};

/// Destructor of the capsule that keeps a tensor alive behind a view.
template <class Managed>
void release(PyObject *capsule) {
  // Deleters may run Python code; an error that is on its way stays as it is.
  PyObject *type = nullptr;
  PyObject *value = nullptr;
  PyObject *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  Deleter<Managed>()(static_cast<Managed *>(PyCapsule_GetPointer(capsule, nullptr)));
  PyErr_Restore(type, value, trace);
}

py::object view_of(const dlpack::Tensor &tensor, bool writeable, const py::object &owner) {
  require_host(tensor.device);
  const std::optional<ScalarType> type = dlpack::scalar_type(tensor.type);
  if (!type) {
    throw RefusedArray("its elements are " + dlpack::type_text(tensor.type) +
                       " (DLPack), a type that does not exist here");
  }
  constexpr std::int32_t largest_rank = 64;
  if (tensor.rank < 0 || tensor.rank > largest_rank) {
    throw RefusedArray("it has " + std::to_string(tensor.rank) + " dimensions");
  }
  const auto rank = static_cast<size_t>(tensor.rank);
  const std::int64_t bytes = type->bytes();
  std::vector<Py_intptr_t> shape(rank);
  std::vector<Py_intptr_t> strides(rank);
  bool is_empty = false;
  std::int64_t packed = bytes;
  for (size_t d = rank; d-- > 0;) {
    shape[d] = tensor.shape[d];
    strides[d] = tensor.strides == nullptr ? packed : tensor.strides[d] * bytes;
    packed *= tensor.shape[d];
    is_empty = is_empty || shape[d] == 0;
  }
  if (tensor.data == nullptr) {
    if (!is_empty) {
      throw RefusedArray("it has elements but no memory (DLPack)");
    }
    return new_array(numpy_dtype(*type), std::vector<std::int64_t>(shape.begin(), shape.end()),
                     false);
  }
  const auto &api = py::detail::npy_api::get();
  auto descriptor = numpy_dtype(*type); // the call takes one reference
  auto array = py::reinterpret_steal<py::object>(api.PyArray_NewFromDescr_(
      api.PyArray_Type_, descriptor.release().ptr(), tensor.rank, shape.data(), strides.data(),
      static_cast<char *>(tensor.data) + tensor.byte_offset,
      writeable ? py::detail::npy_api::NPY_ARRAY_WRITEABLE_ : 0, nullptr));
  if (!array || api.PyArray_SetBaseObject_(array.ptr(), py::object(owner).release().ptr()) != 0) {
    throw py::error_already_set();
  }
  return array;
}

/// Takes the tensor out of the capsule, so that nobody else does, and keeps it for the view.
template <class Managed>
std::pair<Managed *, py::object> consume(PyObject *capsule, const char *name, const char *used) {
  auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
  if (managed == nullptr || PyCapsule_SetName(capsule, used) != 0) {
    throw py::error_already_set();
  }
  std::unique_ptr<Managed, Deleter<Managed>> held(managed);
  auto owner =
      py::reinterpret_steal<py::object>(PyCapsule_New(managed, nullptr, &release<Managed>));
  if (!owner) {
    throw py::error_already_set();
  }
  held.release();
  return {managed, owner};
}

py::object export_of(const py::handle &object) {
  try {
    return object.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set &error) {
    if (!error.matches(PyExc_TypeError)) {
      throw;
    }
  }
  return object.attr("__dlpack__")(); // an exporter from before versions
}

} // namespace

py::object from_dlpack(const py::handle &object) {
  if (py::hasattr(object, "__dlpack_device__")) {
    dlpack::Device device{};
    try {
      const auto [type, number] = py::tuple(object.attr("__dlpack_device__")())
                                      .cast<std::pair<std::int32_t, std::int32_t>>();
      device = {type, number};
    } catch (const py::cast_error &) {
      throw RefusedArray("its __dlpack_device__() gave no pair of integers");
    }
    require_host(device);
  }
  const py::object capsule = export_of(object);
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::versioned_name) != 0) {
    const auto [managed, owner] = consume<dlpack::VersionedTensor>(
        capsule.ptr(), dlpack::versioned_name, "used_dltensor_versioned");
    if (managed->major != 1) {
      throw RefusedArray("it is exported by DLPack version " + std::to_string(managed->major) +
                         "." + std::to_string(managed->minor) +
                         "; version 1 or older is understood");
    }
    return view_of(managed->tensor, (managed->flags & dlpack::read_only_flag) == 0, owner);
  }
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::legacy_name) != 0) {
    const auto [managed, owner] =
        consume<dlpack::LegacyTensor>(capsule.ptr(), dlpack::legacy_name, "used_dltensor");
    return view_of(managed->tensor, true, owner);
  }
  throw RefusedArray("its __dlpack__() gave no tensor, or one that was used before");
}

} // namespace tilewright
