// Host code of kernels that have launches: what is copied to the device, where memory is, and the
// launches, by the functions tilewright_gpu_... that stand before the printed text
// (python/tilewright/export/gpu_host.c). Those do nothing once one of them has failed, so that
// nothing is asked in between; the last one gives the status.
#include "loops/traverse.h"
#include "polyhedral/error.h"
#include "targets/c_source/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace tilewright {

namespace {

/// The text as a literal of C for each of its lines.
std::string literals(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    lines += "  \"";
    for (const char c : text.substr(0, end + 1)) {
      if (c == '"' || c == '\\') {
        lines += '\\';
      }
      lines += c == '\n' ? "\\n" : c == '\t' ? " " : std::string(1, c);
    }
    lines += "\"\n";
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// The computations whose elements a launch writes, in the order of the program's text.
std::string written_by(const Launch &launch, const Kernel &kernel) {
  std::set<std::int64_t> numbers;
  visit_statements(launch.body(), [&](const LoopStatement &statement) {
    if (const auto *change = as<ElementChange>(statement)) {
      numbers.insert(change->statement);
    }
  });
  std::string names;
  for (const std::int64_t number : numbers) {
    if (number >= 0) {
      names += (names.empty() ? "" : ", ") + kernel.statements.at(static_cast<size_t>(number)).name;
    }
  }
  return names;
}

} // namespace

void CStatements::set_device(const DeviceProgram &program, const CSourceFunction &function) {
  device_ = &program;
  function_ = &function;
  gpu_ = names_.take("gpu");
  kernels_ = names_.take(function.symbol + "_kernels");
  program_ = names_.take(function.symbol + "_program");
}

std::string CStatements::device_definitions() const {
  std::string text = "/* The kernels, for the driver's compiler. */\n";
  text += "static const char " + function_->symbol + "_ptx[] =\n" + literals(device_->text);
  text.back() = ';'; // in the place of the last line's end
  text += fmt::format("\n\nstatic tilewright_gpu_kernel {}[] = {{\n", kernels_);
  for (const DeviceLaunch &launch : device_->launches) {
    const auto &threads = launch.statement->threads;
    text += fmt::format("  {{\"{}\", {{{}, {}, {}}}, {}, NULL}},\n", launch.symbol, threads[0],
                        threads[1], threads[2], launch.shared_bytes);
  }
  text += fmt::format(
      "}};\nstatic tilewright_gpu_program {} = {{{}_ptx, {}, {}, NULL, {{0, \"\"}}}};\n\n",
      program_, function_->symbol, kernels_, device_->launches.size());
  return text;
}

/// Memory of the device for what the function is given, and what is copied.
void CStatements::copy_arguments() {
  std::set<size_t> touched;
  for (const DeviceLaunch &launch : device_->launches) {
    for (const PassedBuffer &passed : launch.buffers) {
      touched.insert(passed.buffer);
    }
  }
  struct Array {
    const CSourceArray *given = nullptr;
    std::string count;
    bool is_read = false;
    bool is_written = false;
    std::vector<size_t> buffers; ///< fields of structures, or also what is stored in an input
  };
  std::vector<Array> arrays;
  for (size_t b = 0; b < function_->arrays.size(); ++b) { // the first buffers are the arguments
    const KernelBuffer &buffer = kernel_.buffers.at(b);
    const CSourceArray &given = function_->arrays[b];
    auto known = std::find_if(arrays.begin(), arrays.end(),
                              [&](const Array &array) { return array.given->name == given.name; });
    if (known == arrays.end()) {
      known = arrays.insert(arrays.end(), Array());
      known->given = &given;
      known->count = count_of(buffer);
    }
    known->is_read = known->is_read || given.is_read;
    known->is_written = known->is_written || buffer.is_written;
    known->buffers.push_back(b);
  }
  for (const Array &array : arrays) {
    if (std::none_of(array.buffers.begin(), array.buffers.end(),
                     [&](size_t b) { return touched.contains(b); })) {
      continue;
    }
    const CSourceArray &given = *array.given;
    const std::string own = names_.take(given.name + "_gpu");
    const std::string copies = !array.is_written ? "tilewright_gpu_in"
                               : array.is_read   ? "tilewright_gpu_in | tilewright_gpu_out"
                                                 : "tilewright_gpu_out";
    line(fmt::format("const uint64_t {} =", own));
    line(fmt::format("    tilewright_gpu_array(&{}, {}{}, {}, sizeof {}{}, {});", gpu_,
                     given.by_value ? "&" : "", given.name, given.by_value ? "1" : array.count,
                     given.by_value ? "" : "*", given.name, copies));
    for (const size_t b : array.buffers) {
      const std::string &member = function_->arrays[b].member;
      addresses_[b] = member.empty() ? own
                                     : fmt::format("{} + (uint64_t)((const char *)&{}[0]{} - "
                                                   "(const char *){})",
                                                   own, given.name, member, given.name);
    }
  }
}

/// Memory of the device for temporaries of the whole kernel. Fields of a record share it.
void CStatements::allocate_on_device() {
  std::map<std::string, std::string> records;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    const KernelBuffer &buffer = kernel_.buffers[b];
    if (buffer.is_argument || buffer.is_scoped) {
      continue;
    }
    const Record &record = buffer.record;
    const auto known = records.find(record.name);
    if (!record.name.empty() && known != records.end()) {
      addresses_[b] = known->second;
      continue;
    }
    addresses_[b] = names_.take(buffer.name);
    records.emplace(record.name, addresses_[b]);
    line(fmt::format("const uint64_t {} = tilewright_gpu_memory(&{}, {}, {});", addresses_[b], gpu_,
                     count_of(buffer), record.name.empty() ? buffer.type.bytes() : record.size));
  }
}

void CStatements::allocate_on_device(const Allocate &allocate) {
  const auto b = static_cast<size_t>(allocate.buffer);
  const KernelBuffer &buffer = kernel_.buffers.at(b);
  const std::string own = names_.take(buffer.name);
  const std::string outer = std::exchange(addresses_[b], own);
  line(fmt::format("const uint64_t {} = tilewright_gpu_memory(&{}, {}, {});", own, gpu_,
                   count_of(buffer), buffer.type.bytes()));
  print(allocate.body());
  line(fmt::format("tilewright_gpu_free(&{}, {});", gpu_, own));
  addresses_[b] = outer;
}

std::string CStatements::device_body() {
  const size_t begin = text_.size();
  exits_.back().label = labels_.take("end");
  line("tilewright_gpu " + gpu_ + ";");
  line(fmt::format("tilewright_gpu_begin(&{}, &{}, {});", gpu_, program_,
                   kernel_.sites.empty() ? 0 : 1));
  copy_arguments();
  allocate_on_device();
  print(kernel_.body);
  if (needs_status_) {
    text_.insert(begin, "  int status = " + status_prefix_ + "OK;\n");
    text_ += exits_.back().label + ":\n";
  }
  line(fmt::format("return tilewright_gpu_end(&{}, {});", gpu_,
                   needs_status_ ? "status" : status_prefix_ + "OK"));
  return text_;
}

std::vector<std::string> CStatements::passed_values(const DeviceLaunch &launch) {
  std::vector<std::string> passed = {gpu_ + ".failure"};
  for (const std::string &parameter : function_->parameters) {
    passed.push_back(parameter);
  }
  for (const PassedBuffer &array : launch.buffers) {
    passed.push_back(addresses_.at(array.buffer));
    const CArrayName &name = arrays_.at(static_cast<std::int64_t>(array.buffer));
    for (const size_t d : array.strides) {
      std::string stride = "sizeof *" + function_->arrays.at(array.buffer).name;
      for (size_t inner = d + 1; inner < name.extents.size(); ++inner) {
        stride += " * (uint64_t)" + name.extents[inner].beside(CPrecedence::Prefix);
      }
      passed.push_back(stride);
    }
  }
  for (const std::int64_t variable : launch.variables) {
    passed.push_back(names_.of(variable));
  }
  return passed;
}

void CStatements::print_launch(const Launch &statement) {
  if (next_launch_ >= device_->launches.size() ||
      device_->launches[next_launch_].statement != &statement) {
    throw Error(ErrorKind::Internal,
                "C source meets a launch that the device's code does not have");
  }
  const size_t number = next_launch_++;
  const DeviceLaunch &launch = device_->launches[number];
  name_shared(statement.grid);
  std::vector<std::string> grid;
  for (size_t axis = 0; axis < statement.threads.size(); ++axis) {
    grid.push_back(axis < statement.grid.size() ? expressions_.text(statement.grid[axis]).text
                                                : "1");
  }
  expressions_.forget_names();
  const std::string written = written_by(statement, kernel_);
  if (!written.empty()) {
    line("/* " + written + " */");
  }
  line(fmt::format("tilewright_gpu_launch(&{}, &{}[{}],", gpu_, kernels_, number));
  list("    ", grid, ",");
  const std::vector<std::string> passed = passed_values(launch);
  list(fmt::format("    {}, (const uint64_t[]){{", passed.size()), passed, "});");
}

void CStatements::list(std::string text, const std::vector<std::string> &values,
                       const std::string &end) {
  for (const std::string &value : values) {
    const bool is_first = &value == &values.front();
    if (!is_first && text.size() + value.size() > longest_line) {
      line(text + ",");
      text = "        " + value;
    } else {
      text += (is_first ? "" : ", ") + value;
    }
  }
  line(text + end);
}

} // namespace tilewright
