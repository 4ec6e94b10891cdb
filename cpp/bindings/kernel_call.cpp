#include "bindings/kernel_call.h"

#include "algorithm/evaluator.h"
#include "analysis/legality.h"
#include "bindings/call_errors.h"
#include "mapping/program.h"
#include "planning/default_mapping.h"
#include "planning/resolve.h"
#include "runtime/cpu.h"

#include <algorithm>

namespace tilewright {

namespace py = pybind11;

namespace {

/// Of a default mapping, or of one command with all that is asked about it; each part has a tighter
/// one.
constexpr std::uint64_t planning_limit = 500'000'000;

py::object interned(const std::string &text) {
  auto name = py::reinterpret_steal<py::object>(PyUnicode_InternFromString(text.c_str()));
  if (!name) {
    throw py::error_already_set();
  }
  return name;
}

bool is_name(PyObject *key, const py::object &name) {
  return key == name.ptr() || PyUnicode_Compare(key, name.ptr()) == 0;
}

std::string text_of(PyObject *unicode) { return py::str(py::handle(unicode)).cast<std::string>(); }

} // namespace

KernelFunction::KernelFunction(std::shared_ptr<const Function> function, CompileOptions settings)
    : function_(std::move(function)), settings_(std::move(settings)), out_name_(interned("out")),
      context_(function_->context, function_->parameters) {
  describe_cpu(settings_.cpu);
  const auto add = [&](const Computation &computation, bool is_output) {
    ArrayArgument argument;
    argument.name = computation.name;
    argument.type = computation.type;
    argument.item_size = computation.type.bytes();
    argument.dtype = numpy_dtype(computation.type);
    argument.interned_name = interned(computation.name);
    for (const auto &extent : computation.extents) {
      argument.extents.emplace_back(extent, function_->parameters);
      argument.constant_tail =
          argument.extents.back().parameters().empty() ? argument.constant_tail + 1 : 0;
    }
    argument.is_output = is_output;
    argument.is_field = !computation.record.empty();
    argument.needs_zeros = is_output && !covers_array(computation, function_->context);
    arguments_.push_back(std::move(argument));
  };
  for (const auto &input : function_->inputs) {
    add(*input, false);
  }
  inputs_ = arguments_.size();
  for (const auto &output : function_->outputs) {
    add(*output, true);
  }
  for (const auto &parameter : function_->parameters) {
    parameter_names_.push_back(interned(parameter));
  }
  std::vector<std::vector<Extent>> inputs;
  for (size_t i = 0; i < inputs_; ++i) {
    inputs.push_back(arguments_[i].extents);
  }
  overwritten_.assign(arguments_.size(), false);
  stored_in_.assign(arguments_.size(), -1);
  steps_ = plan_steps(inputs, std::vector<bool>(function_->parameters.size(), false));
  inputs_solve_all_ = steps_.size() == function_->parameters.size();
}

// ---- schedule ----

const Mapping &KernelFunction::mapping() const {
  if (!mapping_) {
    const OperationLimit limit(planning_limit);
    PlannedMapping planned = plan_default(function_);
    mapping_.emplace(std::move(planned.mapping));
    legal_ = std::move(planned.legal);
  }
  return *mapping_;
}

void KernelFunction::set_mapping(Mapping next, std::shared_ptr<const LegalProgram> legal) {
  mapping_ = std::move(next);
  kernels_.clear();
  legal_ = std::move(legal);
  find_overwritten();
  ++version_;
}

void KernelFunction::apply(const Command &given) {
  const OperationLimit limit(planning_limit);
  const Command command = resolve(mapping(), given);
  Mapping next = mapping().with(command);
  std::shared_ptr<const LegalProgram> legal =
      require_legal(build_program(next), &command, legal_.get());
  set_mapping(std::move(next), std::move(legal));
}

void KernelFunction::replay(const Schedule &schedule) {
  const OperationLimit limit(planning_limit);
  PlannedMapping planned = plan_default(function_);
  Mapping next = std::move(planned.mapping);
  std::shared_ptr<const LegalProgram> legal = std::move(planned.legal);
  for (const auto &command : schedule.commands) {
    next = next.with(command);
    legal = require_legal(build_program(next), &command, legal.get());
  }
  set_mapping(std::move(next), std::move(legal));
}

void KernelFunction::take_mapping(const KernelFunction &other) {
  if (other.mapping_) {
    set_mapping(*other.mapping_, other.legal_);
  }
}

void KernelFunction::require_checked() {
  const Mapping &current = mapping();
  if (legal_ == nullptr) {
    legal_ = require_legal(build_program(current), nullptr);
  }
}

void KernelFunction::find_overwritten() {
  overwrites_ = false;
  overwritten_.assign(arguments_.size(), false);
  stored_in_.assign(arguments_.size(), -1);
  for (size_t input = 0; input < inputs_; ++input) {
    for (const auto &[computation, storage] : mapping_->state().storage) {
      if (storage.buffer != arguments_[input].name) {
        continue;
      }
      overwrites_ = true;
      overwritten_[input] = true;
      for (size_t output = inputs_; output < arguments_.size(); ++output) {
        if (arguments_[output].name == computation) {
          stored_in_[output] = static_cast<int>(input);
        }
      }
    }
  }
}

std::vector<std::pair<std::string, std::vector<std::string>>> KernelFunction::overwritten() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  for (size_t input = 0; input < inputs_; ++input) {
    std::vector<std::string> computations;
    for (const ComputationPtr &computation : scheduled_function().computations) {
      if (overwritten_[input] &&
          mapping_->storage(computation->name).buffer == arguments_[input].name) {
        computations.push_back(computation->name);
      }
    }
    if (!computations.empty()) {
      all.emplace_back(arguments_[input].name, std::move(computations));
    }
  }
  return all;
}

CompileOptions KernelFunction::current_settings() const {
  CompileOptions options = settings_;
  options.default_schedule = options.default_schedule && commands().empty();
  return options;
}

Mapping KernelFunction::mapping_that_runs() const {
  const OperationLimit limit(planning_limit);
  return tilewright::mapping_that_runs(mapping(), current_settings());
}

CompileOptions KernelFunction::default_options() const {
  CompileOptions options = current_settings();
  for (const auto &argument : arguments_) {
    const int rank = static_cast<int>(argument.extents.size());
    options.layouts.push_back({rank - 1, std::min(argument.constant_tail, std::max(0, rank - 1))});
  }
  return options;
}

// ---- arguments ----

void KernelFunction::bind(PyObject *arguments, PyObject *keywords, BoundCall &call) const {
  call.arrays.assign(arguments_.size(), nullptr);
  call.parameters.assign(parameter_names_.size(), 0);
  call.sources.assign(parameter_names_.size(), ParameterSource());
  const auto given = static_cast<size_t>(PyTuple_GET_SIZE(arguments));
  if (given > inputs_) {
    CallExplainer(*this).too_many(given);
  }
  for (size_t i = 0; i < given; ++i) {
    call.arrays[i] = PyTuple_GET_ITEM(arguments, static_cast<Py_ssize_t>(i));
  }
  PyObject *out = nullptr;
  if (keywords != nullptr) {
    PyObject *key = nullptr;
    PyObject *value = nullptr;
    Py_ssize_t place = 0;
    while (PyDict_Next(keywords, &place, &key, &value) != 0) {
      bind_keyword(key, value, call, out);
    }
  }
  for (size_t i = 0; i < inputs_; ++i) {
    if (call.arrays[i] == nullptr) {
      CallExplainer(*this).missing(call);
    }
    check_array(i, call.arrays[i]);
  }
  if (out != nullptr && out != Py_None) {
    bind_outputs(out, call);
  }
  solve(call);
  check_shapes(call);
}

void KernelFunction::bind_keyword(PyObject *key, PyObject *value, BoundCall &call,
                                  PyObject *&out) const {
  if (is_name(key, out_name_)) {
    out = value;
    return;
  }
  for (size_t i = 0; i < inputs_; ++i) {
    if (is_name(key, arguments_[i].interned_name)) {
      if (call.arrays[i] != nullptr) {
        CallExplainer(*this).given_twice(arguments_[i].name);
      }
      call.arrays[i] = value;
      return;
    }
  }
  for (size_t i = 0; i < parameter_names_.size(); ++i) {
    if (is_name(key, parameter_names_[i])) {
      if (value == Py_None) {
        return;
      }
      if (PyIndex_Check(value) == 0 || PyBool_Check(value) != 0) {
        CallExplainer(*this).bad_parameter(text_of(key), value);
      }
      const auto integer = py::reinterpret_steal<py::object>(PyNumber_Index(value));
      if (!integer) {
        throw py::error_already_set();
      }
      int overflow = 0;
      const long long number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
      if (overflow != 0) {
        CallExplainer(*this).bad_parameter(text_of(key), value);
      }
      call.parameters[i] = number;
      call.sources[i].kind = ParameterSource::Kind::Keyword;
      call.has_given_parameters = true;
      return;
    }
  }
  CallExplainer(*this).unexpected_keyword(text_of(key));
}

void KernelFunction::bind_outputs(PyObject *out, BoundCall &call) const {
  const size_t count = arguments_.size() - inputs_;
  if (PyTuple_Check(out) != 0 || PyList_Check(out) != 0) {
    if (static_cast<size_t>(PySequence_Fast_GET_SIZE(out)) != count) {
      CallExplainer(*this).bad_out(out);
    }
    for (size_t i = 0; i < count; ++i) {
      PyObject *item = PySequence_Fast_GET_ITEM(out, static_cast<Py_ssize_t>(i));
      call.arrays[inputs_ + i] = item == Py_None ? nullptr : item;
    }
  } else if (PyDict_Check(out) != 0) {
    PyObject *key = nullptr;
    PyObject *value = nullptr;
    Py_ssize_t place = 0;
    while (PyDict_Next(out, &place, &key, &value) != 0) {
      bool found = false;
      for (size_t i = inputs_; i < arguments_.size() && PyUnicode_Check(key) != 0; ++i) {
        if (is_name(key, arguments_[i].interned_name)) {
          call.arrays[i] = value == Py_None ? nullptr : value;
          found = true;
        }
      }
      if (!found) {
        CallExplainer(*this).bad_out(out);
      }
    }
  } else if (count == 1) {
    call.arrays[inputs_] = out;
  } else {
    CallExplainer(*this).bad_out(out);
  }
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    if (call.arrays[i] != nullptr) {
      check_array(i, call.arrays[i]);
      call.has_given_outputs = true;
    }
  }
}

void KernelFunction::check_array(size_t argument, PyObject *array) const {
  const ArrayArgument &expected = arguments_[argument];
  const bool is_exact = Py_TYPE(array) == py::detail::npy_api::get().PyArray_Type_;
  if (!is_exact && (!is_array(array) || PyObject_HasAttrString(array, "mask") != 0)) {
    CallExplainer(*this).bad_array(argument, array);
  }
  const auto &fields = array_fields(array);
  if (!same_dtype(fields.descr, expected.dtype.ptr()) ||
      static_cast<size_t>(fields.nd) != expected.extents.size() ||
      (!expected.is_field && !is_aligned(array)) || (expected.is_output && !is_writeable(array))) {
    CallExplainer(*this).bad_array(argument, array);
  }
}

void KernelFunction::solve_axis(const SolveStep &step, BoundCall &call) const {
  const Extent &extent =
      arguments_[static_cast<size_t>(step.argument)].extents[static_cast<size_t>(step.axis)];
  std::int64_t rest =
      array_fields(call.arrays[static_cast<size_t>(step.argument)]).dimensions[step.axis];
  rest -= extent.constant();
  std::int64_t coefficient = 1;
  for (const auto &[parameter, factor] : extent.terms()) {
    if (parameter == step.parameter) {
      coefficient = factor;
    } else {
      rest -= factor * call.parameters[static_cast<size_t>(parameter)];
    }
  }
  if (rest % coefficient != 0) {
    CallExplainer(*this).unsolvable(step, call);
  }
  call.parameters[static_cast<size_t>(step.parameter)] = rest / coefficient;
  call.sources[static_cast<size_t>(step.parameter)] = {ParameterSource::Kind::Axis, step.argument,
                                                       step.axis};
}

void KernelFunction::solve(BoundCall &call) const {
  if (!call.has_given_parameters && inputs_solve_all_) {
    for (const auto &step : steps_) {
      solve_axis(step, call);
    }
    return;
  }
  // Given parameters first, then the inputs' shapes, then those of given outputs.
  std::vector<bool> known(parameter_names_.size());
  for (size_t i = 0; i < known.size(); ++i) {
    known[i] = call.sources[i].kind == ParameterSource::Kind::Keyword;
  }
  std::vector<std::vector<Extent>> extents;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    extents.push_back(call.arrays[i] != nullptr ? arguments_[i].extents : std::vector<Extent>());
  }
  for (const auto &step : plan_steps(extents, known)) {
    solve_axis(step, call);
  }
  for (size_t i = 0; i < call.sources.size(); ++i) {
    if (call.sources[i].kind == ParameterSource::Kind::Unknown) {
      CallExplainer(*this).unknown_parameter(i);
    }
  }
}

void KernelFunction::check_shapes(const BoundCall &call) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (call.arrays[i] == nullptr) {
      continue;
    }
    const auto &fields = array_fields(call.arrays[i]);
    for (size_t axis = 0; axis < arguments_[i].extents.size(); ++axis) {
      const std::int64_t expected = arguments_[i].extents[axis].evaluate(call.parameters.data());
      if (fields.dimensions[axis] != std::max<std::int64_t>(expected, 0)) {
        CallExplainer(*this).bad_shape(i, static_cast<int>(axis), call);
      }
    }
  }
  if (!context_.holds(call.parameters.data())) {
    CallExplainer(*this).bad_context(call);
  }
}

void KernelFunction::make_outputs(BoundCall &call, bool zeros) const {
  call.is_fresh.assign(arguments_.size(), false);
  llvm::SmallVector<std::int64_t, 8> shape;
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    if (call.arrays[i] != nullptr) {
      continue;
    }
    shape.clear();
    for (const auto &extent : arguments_[i].extents) {
      shape.push_back(std::max<std::int64_t>(extent.evaluate(call.parameters.data()), 0));
    }
    call.owned.push_back(new_array(arguments_[i].dtype, shape, zeros || arguments_[i].needs_zeros));
    call.arrays[i] = call.owned.back().ptr();
    call.is_fresh[i] = true;
  }
}

void KernelFunction::place_in_inputs(BoundCall &call) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (overwritten_[i] && !is_writeable(call.arrays[i])) {
      CallExplainer(*this).read_only_input(i);
    }
    if (stored_in_[i] < 0) {
      continue;
    }
    PyObject *array = call.arrays[static_cast<size_t>(stored_in_[i])];
    if (call.arrays[i] != nullptr && !same_elements(call.arrays[i], array)) {
      CallExplainer(*this).other_output(i, static_cast<size_t>(stored_in_[i]));
    }
    call.arrays[i] = array;
  }
}

void KernelFunction::separate(BoundCall &call, bool in_place) const {
  const auto is_written = [&](size_t i) {
    return i < inputs_ ? in_place && overwritten_[i]
                       : !call.is_fresh[i] && !(in_place && stored_in_[i] >= 0);
  };
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!is_written(i)) {
      continue;
    }
    if (may_overlap_itself(call.arrays[i])) {
      CallExplainer(*this).self_overlap(i);
    }
    for (size_t other = i + 1; other < arguments_.size(); ++other) {
      if (is_written(other) && shares_memory(call.arrays[i], call.arrays[other])) {
        CallExplainer(*this).overlapping_outputs(i, other);
      }
    }
    const MemoryRange written = memory_range(call.arrays[i]);
    for (size_t input = 0; input < inputs_; ++input) {
      if (!is_written(input) && overlap(written, memory_range(call.arrays[input]))) {
        call.owned.push_back(copy_array(call.arrays[input]));
        call.arrays[input] = call.owned.back().ptr();
      }
    }
  }
}

py::object KernelFunction::results(const BoundCall &call) const {
  const auto one = [&](size_t i) -> py::object {
    auto array = py::reinterpret_borrow<py::object>(call.arrays[i]);
    if (call.is_fresh[i] && arguments_[i].extents.empty()) {
      return array[py::tuple()]; // NumPy gives scalars for results without axes
    }
    return array;
  };
  if (arguments_.size() - inputs_ == 1) {
    return one(inputs_);
  }
  py::tuple all(arguments_.size() - inputs_);
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    all[i - inputs_] = one(i);
  }
  return all;
}

// ---- kernels ----

std::shared_ptr<const CompiledKernel> KernelFunction::find_kernel(const Layouts &layouts) const {
  for (const auto &entry : kernels_) {
    if (entry.layouts == layouts) {
      return entry.kernel;
    }
  }
  return nullptr;
}

std::shared_ptr<const CompiledKernel> KernelFunction::make_kernel(const Layouts &layouts) {
  require_checked();
  CompileOptions options = current_settings();
  options.layouts.assign(layouts.begin(), layouts.end());
  const std::uint64_t version = version_;
  PreparedKernel prepared = prepare(mapping(), options); // all of isl's work, so under the lock
  std::shared_ptr<const CompiledKernel> kernel;
  {
    const py::gil_scoped_release unlocked;
    kernel = finish(std::move(prepared));
  }
  if (version == version_ && find_kernel(layouts) == nullptr) {
    kernels_.push_back({layouts, kernel});
  }
  last_compile_ = kernel;
  return kernel;
}

py::object KernelFunction::call(PyObject *arguments, PyObject *keywords) {
  BoundCall call;
  bind(arguments, keywords, call);
  if (overwrites_) {
    place_in_inputs(call);
  }
  make_outputs(call, false);
  if (call.has_given_outputs || overwrites_) {
    separate(call, true);
  }
  Layouts layouts(arguments_.size());
  llvm::SmallVector<void *, 8> data(arguments_.size());
  llvm::SmallVector<std::int64_t, 32> integers(call.parameters.begin(), call.parameters.end());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const auto &fields = array_fields(call.arrays[i]);
    layouts[i] = layout_of(call.arrays[i], arguments_[i].item_size, arguments_[i].constant_tail);
    data[i] = fields.data;
    integers.append(fields.strides, fields.strides + fields.nd);
    if (layouts[i].unit >= 0) {
      // An axis of one element may have any stride.
      integers[integers.size() - static_cast<size_t>(fields.nd - layouts[i].unit)] =
          arguments_[i].item_size;
    }
  }
  std::shared_ptr<const CompiledKernel> kernel = find_kernel(layouts);
  if (kernel == nullptr) {
    kernel = make_kernel(layouts);
  }
  KernelFailure failure;
  PyThreadState *state = PyEval_SaveThread();
  const std::int32_t status = kernel->entry()(data.data(), integers.data(), &failure);
  PyEval_RestoreThread(state);
  if (status != KernelOk) {
    throw_failure(*kernel, status, failure);
  }
  return results(call);
}

void KernelFunction::throw_failure(const CompiledKernel &kernel, std::int32_t status,
                                   const KernelFailure &failure) const {
  if (status == KernelIndexError) {
    std::string read = "a read";
    std::string array = "the array";
    int dimension = 0;
    if (failure.site >= 0 && static_cast<size_t>(failure.site) < kernel.sites.size()) {
      const IndexSite &site = kernel.sites[static_cast<size_t>(failure.site)];
      read = site.text;
      array = site.array;
      dimension = site.dimension;
    }
    Error error(ErrorKind::Index,
                function_->name + ": " + read + ": subscript " + std::to_string(failure.value) +
                    " is out of bounds for axis " + std::to_string(dimension) + " of " + array +
                    " with size " + std::to_string(failure.extent),
                function_->where);
    error.details["array"] = array;
    error.details["axis"] = std::to_string(dimension);
    error.details["value"] = std::to_string(failure.value);
    error.details["extent"] = std::to_string(failure.extent);
    throw error;
  }
  if (status == KernelOutOfMemory) {
    PyErr_Format(PyExc_MemoryError, "%s: no memory for a temporary array", function_->name.c_str());
    throw py::error_already_set();
  }
  if (status == KernelInterrupted) {
    if (PyErr_CheckSignals() == 0) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
    throw py::error_already_set();
  }
  throw Error(ErrorKind::Internal,
              function_->name + ": the kernel ended with the unknown status " +
                  std::to_string(status),
              function_->where);
}

py::object KernelFunction::compile_for(PyObject *arguments, PyObject *keywords) {
  const std::vector<ArrayLayout> row_major = default_options().layouts;
  Layouts layouts(row_major.begin(), row_major.end());
  if (PyTuple_GET_SIZE(arguments) > 0 || (keywords != nullptr && PyDict_GET_SIZE(keywords) > 0)) {
    BoundCall call;
    bind(arguments, keywords, call);
    if (overwrites_) {
      place_in_inputs(call);
    }
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (call.arrays[i] != nullptr) {
        layouts[i] =
            layout_of(call.arrays[i], arguments_[i].item_size, arguments_[i].constant_tail);
      }
    }
  }
  last_compile_ = find_kernel(layouts);
  if (last_compile_ == nullptr) {
    make_kernel(layouts);
  }
  return last_compile_info();
}

std::vector<std::vector<std::int64_t>> KernelFunction::output_shapes(PyObject *arguments,
                                                                     PyObject *keywords) const {
  BoundCall call;
  bind(arguments, keywords, call);
  std::vector<std::vector<std::int64_t>> shapes;
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    std::vector<std::int64_t> &shape = shapes.emplace_back();
    for (const auto &extent : arguments_[i].extents) {
      shape.push_back(std::max<std::int64_t>(extent.evaluate(call.parameters.data()), 0));
    }
  }
  return shapes;
}

py::object KernelFunction::last_compile_info() const {
  if (last_compile_ == nullptr) {
    return py::none();
  }
  py::dict milliseconds;
  for (const auto &[phase, time] : last_compile_->milliseconds) {
    milliseconds[py::str(phase)] = time;
  }
  py::dict info;
  info["key"] = last_compile_->key;
  info["from_cache"] = last_compile_->from_cache;
  info["milliseconds"] = milliseconds;
  const Improvement improvement = last_compile_->code->improvement();
  info["optimized"] = last_compile_->is_full() ? "full" : "light";
  info["pending"] = improvement == Improvement::Pending;
  info["problem"] = last_compile_->code->problem();
  return info;
}

bool KernelFunction::is_pending() const {
  return std::any_of(kernels_.begin(), kernels_.end(), [](const CompiledEntry &entry) {
    return entry.kernel->code->improvement() == Improvement::Pending;
  });
}

bool KernelFunction::is_full() const {
  return !kernels_.empty() &&
         std::all_of(kernels_.begin(), kernels_.end(),
                     [](const CompiledEntry &entry) { return entry.kernel->is_full(); });
}

py::object KernelFunction::evaluate(PyObject *arguments, PyObject *keywords) {
  BoundCall call;
  bind(arguments, keywords, call);
  make_outputs(call, true);
  if (call.has_given_outputs) {
    separate(call, false);
  }
  std::map<std::string, std::int64_t> parameters;
  for (size_t i = 0; i < call.parameters.size(); ++i) {
    parameters[function_->parameters[i]] = call.parameters[i];
  }
  std::map<std::string, ArrayView> inputs;
  std::map<std::string, ArrayView> outputs;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const auto &fields = array_fields(call.arrays[i]);
    ArrayView view;
    view.data = fields.data;
    view.extents.assign(fields.dimensions, fields.dimensions + fields.nd);
    view.strides.assign(fields.strides, fields.strides + fields.nd);
    (arguments_[i].is_output ? outputs : inputs)[arguments_[i].name] = std::move(view);
  }
  tilewright::evaluate(*function_, parameters, inputs, outputs);
  return results(call);
}

} // namespace tilewright
