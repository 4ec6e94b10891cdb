#include "bindings/push_method.h"

#include "bindings/array_memory.h"
#include "bindings/guarded.h"

#include <llvm/ADT/SmallVector.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <memory>
#include <structmember.h>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

constexpr const char *capsule_name = "tilewright.alike_push";

struct AlikeArray {
  explicit AlikeArray(const py::handle &array) {
    const auto &fields = array_fields(array.ptr());
    type = py::reinterpret_borrow<py::object>(fields.descr);
    extents.assign(fields.dimensions, fields.dimensions + fields.nd);
  }

  bool is_like(PyObject *value) const {
    if (Py_TYPE(value) != py::detail::npy_api::get().PyArray_Type_) {
      return false;
    }
    const auto &fields = array_fields(value);
    return fields.descr == type.ptr() && static_cast<size_t>(fields.nd) == extents.size() &&
           std::equal(extents.begin(), extents.end(), fields.dimensions);
  }

  py::object type;
  std::vector<py::ssize_t> extents;
};

struct AlikePush {
  std::vector<AlikeArray> chunks;
  std::vector<AlikeArray> outputs;
  std::array<py::object, 2> calls;
  py::object ticks;
  py::object acquire;
  py::object release;
};

/// The attributes of a stream that a push reads and changes.
struct StreamAttributes {
  PyObject *again = PyUnicode_InternFromString("_again");
  PyObject *side = PyUnicode_InternFromString("_side");
  PyObject *ticks = PyUnicode_InternFromString("_ticks");
  PyObject *interrupted = PyUnicode_InternFromString("_interrupted");
  PyObject *out = PyUnicode_InternFromString("out");
};

const StreamAttributes &attributes() {
  static const StreamAttributes names;
  return names;
}

py::object stolen(PyObject *value) {
  if (value == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(value);
}

class Locked {
public:
  explicit Locked(const AlikePush &push) : release_(push.release) {
    stolen(PyObject_CallNoArgs(push.acquire.ptr()));
  }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;
  ~Locked() {
    const py::error_scope error; // an error of the push stays
    Py_XDECREF(PyObject_CallNoArgs(release_.ptr()));
  }

private:
  py::object release_;
};

using Arrays = llvm::SmallVector<PyObject *, 8>;

/// The chunks and then the outputs, borrowed; nothing if these are not as many as those of `push`.
Arrays arrays_of(const AlikePush &push, PyObject *const *chunks, size_t count, PyObject *out) {
  Arrays arrays;
  if (count != push.chunks.size()) {
    return arrays;
  }
  arrays.append(chunks, chunks + count);
  if (PyTuple_CheckExact(out) == 0) {
    arrays.push_back(out);
  } else if (PyTuple_GET_SIZE(out) > 1) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); ++i) {
      arrays.push_back(PyTuple_GET_ITEM(out, i));
    }
  }
  if (arrays.size() != count + push.outputs.size()) {
    arrays.clear();
  }
  return arrays;
}

bool are_alike(const AlikePush &push, const Arrays &arrays) {
  const auto is_like = [](const AlikeArray &known, PyObject *array) {
    return known.is_like(array);
  };
  const auto outputs = arrays.begin() + push.chunks.size();
  return !arrays.empty() &&
         std::equal(push.chunks.begin(), push.chunks.end(), arrays.begin(), outputs, is_like) &&
         std::equal(push.outputs.begin(), push.outputs.end(), outputs, arrays.end(), is_like);
}

void run_call(PyObject *stream, const py::object &call, const Arrays &arrays) {
  PyObject *done = PyObject_Vectorcall(call.ptr(), arrays.data(), arrays.size(), nullptr);
  if (done != nullptr) {
    Py_DECREF(done);
    return;
  }
  py::error_already_set error;
  stolen(PyObject_CallMethodOneArg(stream, attributes().interrupted, error.value().ptr()));
  error.restore();
  throw py::error_already_set();
}

/// False if the push is not like the last one.
bool push_again(PyObject *stream, PyObject *const *chunks, size_t count, PyObject *out) {
  const StreamAttributes &names = attributes();
  const py::object again = stolen(PyObject_GetAttr(stream, names.again));
  if (PyCapsule_CheckExact(again.ptr()) == 0) {
    return false;
  }
  const auto *push =
      static_cast<const AlikePush *>(PyCapsule_GetPointer(again.ptr(), capsule_name));
  if (push == nullptr) {
    throw py::error_already_set();
  }
  const Arrays arrays = arrays_of(*push, chunks, count, out);
  if (!are_alike(*push, arrays)) {
    return false;
  }
  const Locked locked(*push);
  if (stolen(PyObject_GetAttr(stream, names.again)).ptr() != again.ptr()) {
    return false; // another thread has pushed something else meanwhile
  }
  const int second = PyObject_IsTrue(stolen(PyObject_GetAttr(stream, names.side)).ptr());
  run_call(stream, push->calls[second != 0 ? 1 : 0], arrays);
  // No signal is heard between the two changes.
  const py::object ticks =
      stolen(PyNumber_Add(stolen(PyObject_GetAttr(stream, names.ticks)).ptr(), push->ticks.ptr()));
  const py::int_ side(second != 0 ? 0 : 1);
  if (PyObject_SetAttr(stream, names.side, side.ptr()) != 0 ||
      PyObject_SetAttr(stream, names.ticks, ticks.ptr()) != 0) {
    throw py::error_already_set();
  }
  return true;
}

// ---- the method ----

struct PushMethod {
  PyObject ob_base;
  vectorcallfunc call;
  PyObject *wrapped;
};

PushMethod *method(PyObject *self) { return reinterpret_cast<PushMethod *>(self); }

PyObject *call_push(PyObject *self, PyObject *const *values, size_t flags, PyObject *names) {
  const auto positional = PyVectorcall_NARGS(flags);
  if (positional > 1 && names != nullptr && PyTuple_GET_SIZE(names) == 1 &&
      PyTuple_GET_ITEM(names, 0) == attributes().out) {
    bool failed = true;
    PyObject *result = guarded([&]() -> PyObject * {
      PyObject *out = values[positional];
      const bool done = push_again(values[0], values + 1, static_cast<size_t>(positional) - 1, out);
      failed = false;
      return done ? py::reinterpret_borrow<py::object>(out).release().ptr() : nullptr;
    });
    if (result != nullptr || failed) {
      return result;
    }
  }
  return PyObject_Vectorcall(method(self)->wrapped, values, flags, names);
}

PyObject *bind(PyObject *self, PyObject *object, PyObject * /*type*/) {
  if (object == nullptr || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, object);
}

void destroy(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(method(self)->wrapped);
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(method(self)->wrapped);
  return 0;
}

int clear(PyObject *self) {
  Py_CLEAR(method(self)->wrapped);
  return 0;
}

/// What is not found is the function's: its name, its signature, its annotations.
PyObject *attribute(PyObject *self, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return found;
  }
  PyErr_Clear();
  return PyObject_GetAttr(method(self)->wrapped, name);
}

PyObject *documentation(PyObject *self, void * /*closure*/) {
  return PyObject_GetAttrString(method(self)->wrapped, "__doc__");
}

PyObject *module_of(PyObject *self, void * /*closure*/) {
  return PyObject_GetAttrString(method(self)->wrapped, "__module__");
}

template <class Slot>
void *slot(Slot function) {
  return reinterpret_cast<void *>(function);
}

PyTypeObject *method_type() {
  static PyMemberDef members[] = {
      {"__wrapped__", T_OBJECT_EX, offsetof(PushMethod, wrapped), READONLY, nullptr},
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(PushMethod, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef properties[] = {{"__doc__", documentation, nullptr, nullptr, nullptr},
                                     {"__module__", module_of, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_call, slot(PyVectorcall_Call)},
                                {Py_tp_descr_get, slot(bind)},
                                {Py_tp_dealloc, slot(destroy)},
                                {Py_tp_traverse, slot(traverse)},
                                {Py_tp_clear, slot(clear)},
                                {Py_tp_getattro, slot(attribute)},
                                {Py_tp_members, members},
                                {Py_tp_getset, properties},
                                {0, nullptr}};
  static PyType_Spec spec = {"tilewright._core.PushMethod", sizeof(PushMethod), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR,
                             slots};
  static PyObject *const type = PyType_FromSpec(&spec);
  if (type == nullptr) {
    throw py::error_already_set();
  }
  return reinterpret_cast<PyTypeObject *>(type);
}

} // namespace

py::object alike_push(const py::object &lock, const py::tuple &chunks, const py::tuple &outputs,
                      const py::tuple &calls, const py::int_ &ticks) {
  const auto layouts = [](const py::tuple &arrays) {
    std::vector<AlikeArray> found;
    for (const py::handle array : arrays) {
      if (!py::isinstance<py::array>(array)) {
        throw py::type_error("chunks and outputs must be arrays");
      }
      found.emplace_back(array);
    }
    return found;
  };
  auto push = std::make_unique<AlikePush>(AlikePush{layouts(chunks),
                                                    layouts(outputs),
                                                    {py::object(calls[0]), py::object(calls[1])},
                                                    ticks,
                                                    lock.attr("acquire"),
                                                    lock.attr("release")});
  return py::capsule(push.release(), capsule_name, [](PyObject *self) {
    delete static_cast<AlikePush *>(PyCapsule_GetPointer(self, capsule_name));
  });
}

py::object push_method(const py::object &wrapped) {
  PyTypeObject *type = method_type();
  const py::object made = stolen(type->tp_alloc(type, 0));
  method(made.ptr())->call = call_push;
  method(made.ptr())->wrapped = py::object(wrapped).release().ptr();
  return made;
}

} // namespace tilewright
