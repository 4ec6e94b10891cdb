#include "bindings/kept_kernel.h"

#include "algorithm/block.h"
#include "algorithm/type.h"
#include "bindings/array_memory.h"
#include "bindings/bind_language.h"
#include "bindings/call_errors.h"
#include "bindings/callbacks.h"
#include "bindings/scalar_arguments.h"
#include "bindings/signals.h"
#include "runtime/cache.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace tilewright {

namespace py = pybind11;

namespace {

/// Larger ones are for the function, which knows whether its loops can count so far.
constexpr std::int64_t largest_parameter = std::numeric_limits<std::int32_t>::max();

using ExtentTuple = std::pair<std::int64_t, std::vector<std::pair<int, std::int64_t>>>;
using ArgumentTuple =
    std::tuple<std::string, std::vector<ExtentTuple>, int, int, int, int, bool, bool>;
using RowTuple = std::pair<std::vector<std::int64_t>, bool>;

} // namespace

std::optional<std::int64_t> LinearExtent::evaluate(const std::int64_t *parameters) const {
  std::int64_t sum = constant;
  bool overflow = false;
  for (const auto &[parameter, coefficient] : terms) {
    std::int64_t part = 0;
    overflow = __builtin_mul_overflow(coefficient, parameters[parameter], &part) || overflow;
    overflow = __builtin_add_overflow(sum, part, &sum) || overflow;
  }
  return overflow ? std::nullopt : std::optional(sum);
}

KeptKernel::KeptKernel(std::string name, std::string key, CompileOptions options, size_t inputs,
                       std::vector<Argument> arguments, ContextRows context)
    : name_(std::move(name)), key_(std::move(key)), options_(std::move(options)), inputs_(inputs),
      arguments_(std::move(arguments)), context_(std::move(context)) {
  for (Argument &argument : arguments_) {
    argument.dtype = numpy_dtype(argument.type);
    argument.item_size = argument.type.bytes();
    overwrites_ = overwrites_ || argument.is_overwritten;
  }
}

std::shared_ptr<KeptKernel> KernelFunction::kept_kernel() const {
  const CallPlan *const plan = plans_.latest();
  const CompileOptions &options = scheduled_->options();
  const bool is_plain = plan != nullptr && plan->kernel != nullptr && plan->overlaps.empty() &&
                        !on_device_ && fixed_.empty() && context_.rows() != nullptr &&
                        options.instrumentation == Instrumentation{} && !function().stop;
  if (!is_plain || !plan->kernel->externs.empty() || plan->kernel->target.target->has_devices() ||
      !blocks_of(function()).empty()) {
    return nullptr;
  }
  std::vector<KeptKernel::Argument> kept;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ArrayArgument &argument = arguments_[i];
    if (argument.is_field || argument.type.kind == TypeKind::BFloat) {
      return nullptr;
    }
    KeptKernel::Argument &one = kept.emplace_back();
    one.type = argument.type;
    one.layout = plan->layouts_of_sizes[i];
    one.constant_tail = constant_tail(i, plan->sizes);
    one.stored_in = stored_in_[i];
    one.is_overwritten = overwritten_[i];
    one.needs_zeros = argument.needs_zeros;
    for (const Extent &extent : argument.extents) {
      if (!extent.is_linear()) {
        return nullptr;
      }
      one.extents.push_back({extent.constant(), extent.terms()});
    }
  }
  ContextRows context = *context_.rows();
  const std::vector<std::string> &parameters = function().parameters;
  for (const auto &[name, value] : plan->sizes) {
    ContextRow row{std::vector<std::int64_t>(parameters.size() + 1, 0), true};
    const auto position = std::find(parameters.begin(), parameters.end(), name);
    row.coefficients[static_cast<size_t>(position - parameters.begin())] = 1;
    row.coefficients.back() = -value;
    for (auto &conjunction : context) {
      conjunction.push_back(row);
    }
  }
  return std::make_shared<KeptKernel>(function().name, plan->kernel->key, options, inputs_,
                                      std::move(kept), std::move(context));
}

// ---- plain values ----

py::tuple KeptKernel::plain() const {
  std::vector<ArgumentTuple> arguments;
  for (const Argument &argument : arguments_) {
    std::vector<ExtentTuple> extents;
    for (const LinearExtent &extent : argument.extents) {
      extents.emplace_back(extent.constant, extent.terms);
    }
    arguments.emplace_back(type_name(argument.type), std::move(extents), argument.layout.unit,
                           argument.layout.packed, argument.constant_tail, argument.stored_in,
                           argument.is_overwritten, argument.needs_zeros);
  }
  std::vector<std::vector<RowTuple>> context;
  for (const auto &conjunction : context_) {
    std::vector<RowTuple> &rows = context.emplace_back();
    for (const ContextRow &row : conjunction) {
      rows.emplace_back(row.coefficients, row.is_equality);
    }
  }
  return py::make_tuple(name_, key_, inputs_, arguments, context);
}

std::shared_ptr<KeptKernel> KeptKernel::from_plain(const py::sequence &plain,
                                                   const CompileOptions &options) {
  std::vector<Argument> arguments;
  for (const auto &[type, extents, unit, packed, tail, stored_in, is_overwritten, needs_zeros] :
       plain[3].cast<std::vector<ArgumentTuple>>()) {
    Argument argument{
        to_type(type), {}, {unit, packed}, tail, stored_in, is_overwritten, needs_zeros, {}, 0};
    for (const auto &[constant, terms] : extents) {
      argument.extents.push_back({constant, terms});
    }
    arguments.push_back(std::move(argument));
  }
  ContextRows context;
  for (const auto &conjunction : plain[4].cast<std::vector<std::vector<RowTuple>>>()) {
    auto &rows = context.emplace_back();
    for (const auto &[coefficients, is_equality] : conjunction) {
      rows.push_back({coefficients, is_equality});
    }
  }
  return std::make_shared<KeptKernel>(plain[0].cast<std::string>(), plain[1].cast<std::string>(),
                                      options, plain[2].cast<size_t>(), std::move(arguments),
                                      std::move(context));
}

bool KeptKernel::takes(size_t inputs, size_t parameters) const {
  const auto is_known = [&](const LinearExtent &extent) {
    return std::all_of(extent.terms.begin(), extent.terms.end(), [&](const auto &term) {
      return term.first >= 0 && static_cast<size_t>(term.first) < parameters;
    });
  };
  const bool arguments_fit =
      inputs == inputs_ && inputs_ < arguments_.size() &&
      std::all_of(
          arguments_.begin(), arguments_.end(),
          [&](const Argument &argument) {
            const auto rank = static_cast<int>(argument.extents.size());
            return argument.stored_in < static_cast<int>(inputs_) && argument.layout.unit < rank &&
                   std::all_of(argument.extents.begin(), argument.extents.end(), is_known);
          });
  return arguments_fit && std::all_of(context_.begin(), context_.end(), [&](const auto &rows) {
           return std::all_of(rows.begin(), rows.end(), [&](const ContextRow &row) {
             return row.coefficients.size() == parameters + 1;
           });
         });
}

// ---- the arguments of a call ----

bool KeptKernel::bind_number(size_t argument, PyObject *value, BoundCall &call) const {
  if (!arguments_[argument].extents.empty() || arguments_[argument].is_overwritten) {
    return false;
  }
  if (call.numbers.empty()) {
    call.numbers.reserve(arguments_.size()); // their addresses are kept
  }
  std::byte *slot = call.numbers.emplace_back().data();
  if (is_plain_number(value)) {
    if (store_number(value, arguments_[argument].type, slot) != NumberFit::Fits) {
      return false;
    }
  } else {
    const auto &api = py::detail::npy_api::get();
    const auto dtype = py::reinterpret_steal<py::object>(api.PyArray_DescrFromScalar_(value));
    if (!dtype || !same_dtype(dtype.ptr(), arguments_[argument].dtype.ptr())) {
      PyErr_Clear();
      return false;
    }
    api.PyArray_ScalarAsCtype_(value, slot);
  }
  call.arrays[argument] = {
      reinterpret_cast<char *>(slot), 0, nullptr, nullptr, nullptr, value, nullptr, false};
  return true;
}

bool KeptKernel::make_array(size_t argument, bool zeros, BoundCall &call) const {
  const Argument &made = arguments_[argument];
  if (made.extents.empty()) {
    if (call.numbers.empty()) {
      call.numbers.reserve(arguments_.size());
    }
    call.arrays[argument] = {reinterpret_cast<char *>(call.numbers.emplace_back().data()),
                             0,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             true};
    return true;
  }
  llvm::SmallVector<std::int64_t, 8> shape;
  for (const LinearExtent &extent : made.extents) {
    const auto length = extent.evaluate(call.parameters.data());
    if (!length) {
      return false;
    }
    shape.push_back(std::max<std::int64_t>(*length, 0));
  }
  call.owned.push_back(new_array(made.dtype, shape, zeros));
  call.arrays[argument] = bound(call.owned.back().ptr(), call.owned.back().ptr());
  call.arrays[argument].is_fresh = true;
  return true;
}

bool KeptKernel::has_the_shape(size_t argument, const BoundCall &call) const {
  const Argument &expected = arguments_[argument];
  const BoundArray &array = call.arrays[argument];
  for (size_t axis = 0; axis < expected.extents.size(); ++axis) {
    const auto length = expected.extents[axis].evaluate(call.parameters.data());
    if (!length || array.dimensions[axis] != std::max<std::int64_t>(*length, 0)) {
      return false;
    }
  }
  return true;
}

bool KeptKernel::has_the_layout(size_t argument, const BoundCall &call) const {
  const Argument &expected = arguments_[argument];
  const BoundArray &array = call.arrays[argument];
  return layout_of(array.nd, array.dimensions, array.strides, expected.item_size,
                   expected.constant_tail) == expected.layout;
}

bool KeptKernel::bind(llvm::ArrayRef<PyObject *> inputs, BoundCall &call) const {
  call.arrays.resize(arguments_.size());
  for (size_t i = 0; i < inputs_; ++i) {
    const Argument &expected = arguments_[i];
    PyObject *value = inputs[i];
    if (value == nullptr) {
      if (!make_array(i, expected.needs_zeros, call)) {
        return false;
      }
    } else if (Py_TYPE(value) != py::detail::npy_api::get().PyArray_Type_) {
      if (!bind_number(i, value, call)) {
        return false;
      }
    } else {
      const auto &fields = array_fields(value);
      if (!same_dtype(fields.descr, expected.dtype.ptr()) || !is_aligned(value) ||
          static_cast<size_t>(fields.nd) != expected.extents.size() ||
          (expected.is_overwritten && !is_writeable(value))) {
        return false;
      }
      call.arrays[i] = bound(value, value);
    }
    if (!has_the_shape(i, call)) {
      return false;
    }
  }
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    if (const int input = arguments_[i].stored_in; input >= 0) {
      call.arrays[i] = call.arrays[static_cast<size_t>(input)];
    } else if (!make_array(i, arguments_[i].needs_zeros, call)) {
      return false;
    }
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!has_the_layout(i, call)) {
      return false;
    }
  }
  return true;
}

bool KeptKernel::lies_apart(const BoundCall &call) const {
  llvm::SmallVector<ByteSpan, 8> spans;
  for (size_t i = 0; i < inputs_; ++i) {
    spans.push_back(span_of(call.arrays[i], arguments_[i].item_size));
  }
  for (size_t i = 0; i < inputs_; ++i) {
    if (!arguments_[i].is_overwritten) {
      continue;
    }
    if (overlaps_itself(call.arrays[i], arguments_[i].item_size)) {
      return false;
    }
    for (size_t other = 0; other < inputs_; ++other) {
      if (other != i &&
          spans_overlap(call.arrays[i].data, spans[i], call.arrays[other].data, spans[other])) {
        return false;
      }
    }
  }
  return true;
}

bool KeptKernel::writes_nothing(const BoundCall &call) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const BoundArray &array = call.arrays[i];
    if ((i >= inputs_ || arguments_[i].is_overwritten) &&
        std::all_of(array.dimensions, array.dimensions + array.nd,
                    [](py::ssize_t length) { return length > 0; })) {
      return false;
    }
  }
  return true;
}

// ---- the call ----

std::shared_ptr<const CompiledKernel> KeptKernel::loaded() {
  if (kernel_ == nullptr) {
    kernel_ = find_kernel(name_, key_, options_);
    if (kernel_ != nullptr) {
      note_compiled(name_, KernelFunction::compile_info(*kernel_), py::bytes(cache_problem()));
    }
  }
  return kernel_;
}

py::object KeptKernel::outputs(const BoundCall &call) const {
  return results_of(call, inputs_,
                    [&](size_t i) -> const py::dtype & { return arguments_[i].dtype; });
}

py::object KeptKernel::call(llvm::ArrayRef<PyObject *> inputs,
                            llvm::ArrayRef<std::int64_t> parameters,
                            const FunctionMaker &function) {
  if (!std::all_of(parameters.begin(), parameters.end(),
                   [](std::int64_t value) {
                     return -largest_parameter <= value && value <= largest_parameter;
                   }) ||
      !holds(context_, parameters.data())) {
    return {};
  }
  BoundCall call;
  call.parameters.assign(parameters.begin(), parameters.end());
  if (!bind(inputs, call) || !lies_apart(call)) {
    return {};
  }
  if (writes_nothing(call)) {
    return outputs(call);
  }
  const std::shared_ptr<const CompiledKernel> kernel = loaded();
  if (kernel == nullptr) {
    return {};
  }
  std::vector<std::int64_t> integers(parameters.begin(), parameters.end());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const BoundArray &array = call.arrays[i];
    integers.insert(integers.end(), array.strides, array.strides + array.nd);
    if (const int unit = arguments_[i].layout.unit; unit >= 0) {
      // An axis of one element may have any stride.
      integers[integers.size() - static_cast<size_t>(array.nd - unit)] = arguments_[i].item_size;
    }
  }
  const auto data = call.data();
  InterruptibleCall record;
  const std::int32_t status =
      record.run([&] { return kernel->entry()(data.data(), integers.data(), &record); });
  if (status == KernelOk) {
    return outputs(call);
  }
  if (!overwrites_) {
    return {}; // the function runs it again, and says more of it
  }
  const py::object made = function();
  CallExplainer(made.cast<KernelFunction &>()).failed(*kernel, status, record.failure, {});
}

} // namespace tilewright
