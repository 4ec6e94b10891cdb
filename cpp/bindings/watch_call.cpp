// Calls that are watched: a kernel of its own runs, beside the plans of plain calls.
#include "analysis/work_counts.h"
#include "bindings/call_errors.h"
#include "bindings/gil.h"
#include "bindings/kernel_call.h"
#include "bindings/signals.h"
#include "bindings/watched_sites.h"
#include "mapping/program.h"
#include "runtime/parallel.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <complex>
#include <string>
#include <thread>
#include <vector>

namespace tilewright {

namespace py = pybind11;

namespace {

/// Reads what a check reported after its instance.
class Reports {
public:
  Reports(const KernelFailure &failure, size_t start) : failure_(failure), next_(start) {}

  bool has(size_t count) const { return next_ + count <= static_cast<size_t>(failure_.reported); }
  std::int64_t integer() { return failure_.reports[next_++]; }
  py::object number(bool is_complex) {
    const auto real = std::bit_cast<double>(integer());
    if (!is_complex) {
      return py::float_(real);
    }
    return py::cast(std::complex<double>(real, std::bit_cast<double>(integer())));
  }

private:
  const KernelFailure &failure_;
  size_t next_;
};

py::object value_report(const IndexSite &site, const KernelFailure &failure,
                        const Function &function) {
  const WatchedInstance instance = instance_of(site, failure);
  py::dict point;
  for (const auto &[name, value] : instance.iterators) {
    point[py::str(name)] = value;
  }
  Reports reports(failure, std::max<size_t>(site.iterators.size(), 1));
  py::dict found;
  found["computation"] = site.array;
  found["rank"] = site.rank;
  found["point"] = point;
  found["value"] = reports.has(2) ? reports.number(site.is_complex) : py::none();
  py::list reads;
  for (const ReportedRead &read : site.reads) {
    const auto rank = static_cast<size_t>(read.rank);
    if (!reports.has(rank + (read.is_complex ? 3 : 2))) {
      break;
    }
    const bool happened = reports.integer() != 0;
    py::list element;
    for (size_t d = 0; d < rank; ++d) {
      element.append(reports.integer());
    }
    py::object value = reports.number(read.is_complex);
    const ComputationPtr *array = function.find(read.array);
    if (array != nullptr && !(*array)->type.is_floating() && !read.is_complex) {
      value = py::int_(value);
    }
    if (happened) {
      reads.append(py::make_tuple(read.array, py::tuple(element), value));
    }
  }
  found["reads"] = reads;
  const SourceLocation where = location_of(site, function);
  found["where"] = where.known() ? py::object(py::make_tuple(where.file, where.line, where.text))
                                 : py::object(py::none());
  return found;
}

/// isl steps for counting what all nests of a function do.
constexpr std::uint64_t counting_limit = 100'000'000;

/// Finds the statements of nests: in the program that runs, else in the one as declared, which a
/// default schedule keeps for little work.
class NestPrograms {
public:
  NestPrograms(const Mapping &running, const Mapping &declared)
      : programs_{build_program(running), build_program(declared)} {}

  py::dict describe(const TimedNest &nest, const std::map<std::string, std::int64_t> &parameters) {
    py::dict described;
    std::vector<const Statement *> part;
    const Program *program = nullptr;
    for (const Program &candidate : programs_) {
      part = find(candidate, nest);
      if (part.size() == nest.statements.size()) {
        program = &candidate;
        break;
      }
    }
    std::vector<std::string> computations;
    std::vector<std::string> loops;
    std::vector<std::string> types;
    bool is_parallel = false;
    for (const Statement *statement : part) {
      const Computation &computation = *statement->computation;
      const auto add = [](std::vector<std::string> &list, const std::string &name) {
        if (std::find(list.begin(), list.end(), name) == list.end()) {
          list.push_back(name);
        }
      };
      add(computations, computation.name);
      add(types, type_name(computation.type));
      for (const LoopTag &tag : statement->tags) {
        is_parallel = is_parallel || tag.tag == Tag::Parallel;
      }
      if (loops.size() < statement->loop_names.size()) {
        loops = statement->loop_names;
      }
    }
    described["computations"] = computations;
    described["loops"] = loops;
    described["types"] = types;
    described["parallel"] = is_parallel;
    described["counts"] = py::none();
    if (program != nullptr) {
      described["counts"] = counts(*program, part, parameters);
    }
    return described;
  }

private:
  static std::vector<const Statement *> find(const Program &program, const TimedNest &nest) {
    std::vector<const Statement *> part;
    for (const Statement &statement : program.statements) {
      if (std::find(nest.statements.begin(), nest.statements.end(), statement.name) !=
          nest.statements.end()) {
        part.push_back(&statement);
      }
    }
    return part;
  }

  static py::object counts(const Program &program, const std::vector<const Statement *> &part,
                           const std::map<std::string, std::int64_t> &parameters) {
    const OperationLimit limit(counting_limit);
    try {
      const WorkCounts counts = count_work(program, part, parameters);
      if (!counts.is_known) {
        return py::none();
      }
      py::dict all;
      all["instances"] = counts.instances;
      all["flops"] = counts.flops;
      all["integer_operations"] = counts.integer_operations;
      all["loaded"] = counts.loaded;
      all["stored"] = counts.stored;
      all["read"] = counts.read;
      all["written"] = counts.written;
      all["exact"] = counts.is_exact;
      return all;
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Limit) {
        throw;
      }
      return py::none();
    }
  }

  Program programs_[2];
};

/// Runs the code that is there in the end, not what stands in for it.
void await_improvement(const CompiledKernel &kernel) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (kernel.code->improvement() == Improvement::Pending &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

} // namespace

std::shared_ptr<const CompiledKernel>
KernelFunction::watching_kernel(const CallPlan &plan, const BoundCall &call,
                                const Instrumentation &asked) {
  KernelRequest request;
  if (!find_overlaps(plan, call).empty()) {
    request.shared = shared_arrays(call);
    if (!request.shared.empty()) {
      sharing_kernel(plan, call); // refuses what is not safe
    }
  }
  request.layouts.assign(plan.layouts.begin(), plan.layouts.end());
  request.instrumentation = asked;
  return compile_kernel(request, call.version);
}

py::object KernelFunction::trace_once(const std::string &computation, bool infinities,
                                      const CallArguments &given) {
  BoundCall call;
  bind_arguments(given, call);
  if (overwrites_) {
    place_in_inputs(call);
  }
  const std::shared_ptr<CallPlan> plan = make_plan(call);
  Instrumentation asked;
  asked.bounds = scheduled_->options().instrumentation.bounds;
  asked.values = true;
  asked.infinities = infinities;
  asked.computation = computation;
  const std::shared_ptr<const CompiledKernel> kernel = watching_kernel(*plan, call, asked);
  const auto data = call.data();
  InterruptibleCall record;
  record.threads = 1;
  const KernelFailure &failure = record.failure;
  const std::int32_t status =
      record.run([&] { return kernel->entry()(data.data(), plan->integers.data(), &record); });
  const IslLock lock;
  if (status == KernelNotANumber && failure.reported > 0 && failure.site >= 0 &&
      static_cast<size_t>(failure.site) < kernel->sites.size()) {
    return value_report(kernel->sites[static_cast<size_t>(failure.site)], failure,
                        scheduled_->function());
  }
  if (status != KernelOk) {
    CallExplainer(*this).failed(*kernel, status, failure, std::nullopt);
  }
  return py::none();
}

py::object KernelFunction::profile_once(int repeats, const CallArguments &given) {
  if (const std::optional<StopTest> &stop = function().stop) {
    throw Error(ErrorKind::Argument,
                function().name +
                    ": a profile counts what a function does from its sizes, and how "
                    "often it iterates until " +
                    stop->test->name + " holds follows from data; profile a function of a fixed " +
                    "number of iterations");
  }
  if (on_device_) {
    return profile_on_device(repeats, given);
  }
  BoundCall call;
  bind_arguments(given, call);
  if (overwrites_) {
    place_in_inputs(call);
  }
  const std::shared_ptr<CallPlan> plan = make_plan(call);
  Instrumentation asked;
  asked.times = true;
  const std::shared_ptr<const CompiledKernel> kernel = watching_kernel(*plan, call, asked);
  const auto data = call.data();
  InterruptibleCall record;
  record.threads = call.threads > 0 ? call.threads : threads_;
  {
    const GilReleased unlocked;
    await_improvement(*kernel);
  }
  py::dict profile = profile_runs(*kernel, call, repeats, record, [&](int /*run*/) {
    return kernel->entry()(data.data(), plan->integers.data(), &record);
  });
  profile["threads"] = record.threads > 0 ? record.threads : num_threads();
  return profile;
}

py::dict KernelFunction::profile_runs(const CompiledKernel &kernel, const BoundCall &call,
                                      int repeats, InterruptibleCall &record,
                                      const std::function<std::int32_t(int)> &run) {
  std::vector<std::int64_t> times(kernel.nests.size());
  std::vector<std::vector<std::int64_t>> nests(kernel.nests.size());
  std::vector<std::int64_t> totals;
  record.failure.times = times.data();
  const std::int32_t status = record.run([&] {
    std::int32_t latest = KernelOk;
    // The first run touches memory, wakes threads, loads what a device runs.
    for (int number = -1; number < repeats && latest == KernelOk; ++number) {
      std::fill(times.begin(), times.end(), 0);
      const auto start = std::chrono::steady_clock::now();
      latest = run(number);
      const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - start;
      if (number >= 0) {
        totals.push_back(passed.count());
        for (size_t n = 0; n < nests.size(); ++n) {
          nests[n].push_back(times[n]);
        }
      }
    }
    return latest;
  });
  if (status != KernelOk) {
    CallExplainer(*this).failed(kernel, status, record.failure, std::nullopt);
  }
  const OperationLimit limit(counting_limit);
  NestPrograms programs(mapping_that_runs(), mapping());
  py::list all;
  for (size_t n = 0; n < nests.size(); ++n) {
    py::dict nest = programs.describe(kernel.nests[n], parameters_of(call));
    nest["nanoseconds"] = nests[n];
    all.append(nest);
  }
  py::dict profile;
  profile["nests"] = all;
  profile["nanoseconds"] = totals;
  profile["parameters"] = parameters_of(call);
  profile["key"] = kernel.key;
  return profile;
}

} // namespace tilewright
