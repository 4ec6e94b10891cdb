#include "bindings/prepared_call.h"

#include "bindings/call_errors.h"
#include "bindings/guarded.h"
#include "bindings/kernel_call.h"
#include "bindings/signals.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tilewright {

namespace py = pybind11;

namespace {

constexpr const char *capsule_name = "tilewright.prepared_call";

std::vector<std::int64_t> layout_numbers(int rank, const py::ssize_t *dimensions,
                                         const py::ssize_t *strides) {
  std::vector<std::int64_t> numbers(dimensions, dimensions + rank);
  numbers.insert(numbers.end(), strides, strides + rank);
  return numbers;
}

/// The arguments of the general call; `owner` keeps what they are borrowed from.
struct GeneralCall {
  GeneralCall(const PreparedCall &prepared, PyObject *const *given) {
    for (const py::object &value : prepared.values) {
      values.push_back(value.ptr());
    }
    for (const PreparedCall::Sliding &one : prepared.sliding) {
      parts.push_back(one.part());
      values[one.argument] = parts.back().ptr();
    }
    out = py::tuple(prepared.outputs.size());
    for (size_t i = 0; i < prepared.outputs.size(); ++i) {
      out[i] = prepared.outputs[i];
    }
    for (size_t i = 0; i < prepared.changing.size(); ++i) {
      const PreparedCall::Changing &one = prepared.changing[i];
      if (one.argument < prepared.positional) {
        values[one.value] = given[i];
      } else {
        out[one.value] = py::handle(given[i]);
      }
    }
    values.push_back(out.ptr());
  }

  CallArguments arguments(const PreparedCall &prepared) const {
    return {values.data(), prepared.positional, prepared.names.ptr()};
  }

  llvm::SmallVector<PyObject *, 32> values;
  std::vector<py::object> parts;
  py::tuple out;
};

PyObject *run_prepared(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  return guarded([&]() -> PyObject * {
    auto &prepared = *static_cast<PreparedCall *>(PyCapsule_GetPointer(self, capsule_name));
    if (static_cast<size_t>(count) != prepared.changing.size()) {
      throw py::type_error("this call takes " + std::to_string(prepared.changing.size()) +
                           " arrays, got " + std::to_string(count));
    }
    for (const PreparedCall::Sliding &one : prepared.sliding) {
      one.make_room();
    }
    if (!prepared.kernel->call_again(prepared, given)) {
      const GeneralCall general(prepared, given);
      prepared.kernel->call(general.arguments(prepared));
      prepared.kernel->remember(prepared, given);
    }
    for (const PreparedCall::Sliding &one : prepared.sliding) {
      one.move_on();
    }
    return py::none().release().ptr();
  });
}

PreparedCall::Sliding sliding_of(const py::tuple &given, size_t argument) {
  PreparedCall::Sliding one;
  one.argument = argument;
  one.line = py::array(given[1]);
  one.places = py::array(given[2]);
  auto *places = static_cast<std::int64_t *>(one.places.mutable_data());
  const auto side = given[3].cast<size_t>();
  one.now = places + side;
  one.next = places + (1 - side);
  one.rows = given[4].cast<std::int64_t>();
  one.kept = given[5].cast<std::int64_t>();
  one.moves = given[6].cast<std::int64_t>();
  one.room = one.line.shape(0);
  one.bytes = one.line.strides(0);
  if (one.rows > one.room || one.kept > one.rows || one.moves + one.kept > one.rows) {
    throw py::value_error("a line has too few rows");
  }
  return one;
}

} // namespace

char *PreparedCall::Sliding::data() const {
  return static_cast<char *>(const_cast<void *>(line.data())) + *now * bytes;
}

py::object PreparedCall::Sliding::part() const {
  return line[py::slice(static_cast<py::ssize_t>(*now), static_cast<py::ssize_t>(*now + rows), 1)];
}

void PreparedCall::Sliding::make_room() const {
  if (*now + rows > room) {
    char *front = data() - *now * bytes;
    std::memmove(front, data(), static_cast<size_t>(kept * bytes));
    *now = 0;
  }
}

bool KernelFunction::call_again(const PreparedCall &prepared, PyObject *const *given) {
  scheduled_->require_no_transaction();
  if (prepared.plan == nullptr || prepared.version != version_) {
    return false;
  }
  const CallPlan &plan = *prepared.plan;
  llvm::SmallVector<void *, 16> data(prepared.data);
  for (size_t i = 0; i < prepared.changing.size(); ++i) {
    const PreparedCall::Changing &one = prepared.changing[i];
    const ArrayArgument &expected = arguments_[one.argument];
    if (Py_TYPE(given[i]) != py::detail::npy_api::get().PyArray_Type_) {
      return false;
    }
    const auto &fields = array_fields(given[i]);
    const size_t rank = expected.extents.size();
    if (fields.descr != expected.dtype.ptr() || static_cast<size_t>(fields.nd) != rank ||
        !std::equal(fields.dimensions, fields.dimensions + rank, one.layout.begin()) ||
        !std::equal(fields.strides, fields.strides + rank, one.layout.begin() + rank) ||
        !is_aligned(given[i]) || (expected.is_output && !is_writeable(given[i]))) {
      return false;
    }
    data[one.argument] = fields.data;
  }
  for (const PreparedCall::Sliding &one : prepared.sliding) {
    data[one.argument] = one.data();
  }
  for (const PreparedCall::Changing &one : prepared.changing) {
    const size_t own = one.argument;
    const auto is_target = [&](size_t i) { return i < inputs_ ? overwritten_[i] : true; };
    for (size_t other = 0; other < data.size(); ++other) {
      if (other != own && (is_target(own) || is_target(other)) &&
          spans_overlap(static_cast<char *>(data[own]), plan.spans[own],
                        static_cast<char *>(data[other]), plan.spans[other])) {
        return false;
      }
    }
  }
  if (plan.writes_nothing) {
    return true;
  }
  const std::shared_ptr<CallPlan> kept = prepared.plan; // while the kernel runs without the GIL
  InterruptibleCall record;
  record.threads = threads_;
  const CompiledKernel &kernel = *kept->kernel;
  const std::int32_t status =
      record.run([&] { return kernel.entry()(data.data(), kept->integers.data(), &record); });
  if (status != KernelOk) {
    const GeneralCall general(prepared, given);
    BoundCall call;
    bind_arguments(general.arguments(prepared), call);
    const bool is_unchanged = !overwrites_ && record.failure.reported == 0;
    CallExplainer(*this).failed(kernel, status, record.failure,
                                status == KernelIndexError && is_unchanged ? failing_read(call)
                                                                           : std::nullopt);
  }
  return true;
}

void KernelFunction::remember(PreparedCall &prepared, PyObject *const *given) {
  if ((prepared.plan != nullptr && prepared.version == version_) || on_device_ ||
      std::any_of(stored_in_.begin(), stored_in_.end(), [](int input) { return input >= 0; })) {
    return;
  }
  const GeneralCall general(prepared, given);
  BoundCall call;
  bind_arguments(general.arguments(prepared), call);
  const std::shared_ptr<CallPlan> plan = plans_.find(call);
  const bool is_plain =
      std::all_of(call.arrays.begin(), call.arrays.end(), [](const BoundArray &array) {
        return array.array != nullptr && array.array == array.object;
      });
  if (plan == nullptr || plan->kernel == nullptr || !is_plain || !call.numbers.empty() ||
      !find_overlaps(*plan, call).empty()) {
    return;
  }
  const auto data = call.data();
  prepared.data.assign(data.begin(), data.end());
  for (PreparedCall::Changing &one : prepared.changing) {
    const BoundArray &array = call.arrays[one.argument];
    one.layout = layout_numbers(array.nd, array.dimensions, array.strides);
  }
  prepared.plan = plan;
  prepared.version = call.version;
}

py::object prepare_call(const py::object &function, const py::dict &arguments,
                        const std::vector<std::string> &changing, const py::tuple &outputs,
                        const py::list &lines) {
  auto prepared = std::make_unique<PreparedCall>();
  prepared->function = function;
  prepared->kernel = function.cast<KernelFunction *>();
  const std::vector<ArrayArgument> &expected = prepared->kernel->arguments();
  prepared->positional = prepared->kernel->input_count();
  const py::dict rest(py::reinterpret_steal<py::dict>(PyDict_Copy(arguments.ptr())));
  for (size_t i = 0; i < prepared->positional; ++i) {
    const py::str name(expected[i].name);
    py::object value = py::none();
    if (rest.contains(name)) {
      value = rest[name];
      rest.attr("__delitem__")(name);
    }
    prepared->values.push_back(std::move(value));
  }
  const auto place_of = [&](const std::string &name) {
    const auto found = std::find_if(
        expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(prepared->positional),
        [&](const ArrayArgument &one) { return one.name == name; });
    const auto place = static_cast<size_t>(found - expected.begin());
    if (place == prepared->positional) {
      throw py::value_error("the function has no input " + name);
    }
    return place;
  };
  for (const std::string &name : changing) {
    const size_t place = place_of(name);
    prepared->changing.push_back({place, place, {}});
  }
  for (const py::handle line : lines) {
    const auto given = py::reinterpret_borrow<py::tuple>(line);
    prepared->sliding.push_back(sliding_of(given, place_of(given[0].cast<std::string>())));
  }
  const size_t count = expected.size() - prepared->positional;
  if (outputs.size() > count) {
    throw py::value_error("the function has fewer outputs");
  }
  const size_t given = count - outputs.size();
  prepared->outputs = py::tuple(count);
  for (size_t i = 0; i < count; ++i) {
    prepared->outputs[i] = i < given ? py::object(py::none()) : py::object(outputs[i - given]);
    if (i < given) {
      prepared->changing.push_back({prepared->positional + i, i, {}});
    }
  }
  py::list names;
  for (const auto &[name, value] : rest) {
    names.append(name);
    prepared->values.push_back(py::reinterpret_borrow<py::object>(value));
  }
  names.append("out");
  prepared->names = py::tuple(names);
  static PyMethodDef definition = {
      "prepared_call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_prepared)),
      METH_FASTCALL, "A call of which a few arrays change."};
  const py::capsule capsule(prepared.release(), capsule_name, [](PyObject *self) {
    delete static_cast<PreparedCall *>(PyCapsule_GetPointer(self, capsule_name));
  });
  return py::reinterpret_steal<py::object>(PyCFunction_NewEx(&definition, capsule.ptr(), nullptr));
}

} // namespace tilewright
