// Where elements lie, and memory for what is no argument.
#include "loops/traverse.h"
#include "mapping/local_memory.h"
#include "polyhedral/error.h"
#include "targets/c_source/statements.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {

std::string CArrays::element(std::int64_t buffer, const std::vector<CText> &subscripts) const {
  const auto found = arrays_.find(buffer);
  if (found == arrays_.end() || found->second.base.empty()) {
    throw Error(ErrorKind::Internal, "C source uses a buffer that has no memory");
  }
  const CArrayName &array = found->second;
  if (array.by_value) {
    return array.base;
  }
  if (subscripts.empty()) {
    return array.base + "[0]" + array.member;
  }
  std::string text;
  if (array.nested) {
    for (const CText &subscript : subscripts) {
      text += "[" + subscript.text + "]";
    }
    return array.base + text + array.member;
  }
  CText index = subscripts[0];
  for (size_t d = 1; d < subscripts.size(); ++d) {
    if (index.text == "0") {
      index = subscripts[d];
      continue;
    }
    const CText &extent = array.extents.at(d);
    std::string row = index.text == "1" ? extent.at_least(CPrecedence::Product)
                                        : index.at_least(CPrecedence::Product) + " * " +
                                              extent.beside(CPrecedence::Prefix);
    if (subscripts[d].text != "0") {
      row += subscripts[d].text.starts_with('-') ? " + (" + subscripts[d].text + ")"
                                                 : " + " + subscripts[d].at_least(CPrecedence::Sum);
      index = {row, CPrecedence::Sum};
    } else {
      index = {row, CPrecedence::Product};
    }
  }
  return array.base + "[" + index.text + "]" + array.member;
}

std::string CStatements::count_of(const KernelBuffer &buffer) {
  std::string count;
  for (const ValuePtr &extent : buffer.extents) {
    const std::string own = expressions_.text(extent).text;
    count = count.empty() ? own : helpers_.count() + "(" + count + ", " + own + ")";
  }
  return count.empty() ? "1" : count;
}

/// Is it memory of the whole kernel?
bool CStatements::is_temporary(const KernelBuffer &buffer) {
  return !buffer.is_argument && !buffer.is_scoped;
}

/// Single numbers are on the stack: what a loop counts or asks in each iteration can be in
/// registers, then.
void CStatements::allocate_temporaries() {
  std::string missing;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    const KernelBuffer &buffer = kernel_.buffers[b];
    if (!is_temporary(buffer)) {
      continue;
    }
    if (buffer.extents.empty()) {
      declare_on_stack(buffer, static_cast<std::int64_t>(b), " = {0}");
      continue;
    }
    CArrayName &array = arrays_.at(static_cast<std::int64_t>(b));
    array.base = names_.take(buffer.name);
    for (const ValuePtr &extent : buffer.extents) {
      array.extents.push_back(expressions_.text(extent));
    }
    line(fmt::format("{} *{} = {}({}, sizeof *{});", c_memory_type(buffer.type), array.base,
                     helpers_.allocate(), count_of(buffer), array.base));
    missing += (missing.empty() ? "" : " || ") + array.base + " == NULL";
  }
  if (missing.empty()) {
    return;
  }
  line("if (" + missing + ") {");
  ++depth_;
  fail(status_prefix_ + "OUT_OF_MEMORY");
  --depth_;
  line("}");
}

void CStatements::declare_on_stack(const KernelBuffer &buffer, std::int64_t number,
                                   const std::string &value) {
  CArrayName &array = arrays_.at(number);
  array = {};
  array.base = names_.take(buffer.name);
  array.nested = true;
  std::string extents;
  for (const ValuePtr &extent : buffer.extents) {
    const std::int64_t length = std::max<std::int64_t>(1, as_integer(extent).value_or(1));
    extents += "[" + std::to_string(length) + "]";
  }
  line(c_memory_type(buffer.type) + " " + array.base + (extents.empty() ? "[1]" : extents) + value +
       ";");
}

void CStatements::allocate_on_heap(const KernelBuffer &buffer, std::int64_t number,
                                   const StmtPtr &body) {
  CArrayName &array = arrays_.at(number);
  array = {};
  array.base = names_.take(buffer.name);
  for (const ValuePtr &extent : buffer.extents) {
    array.extents.push_back(expressions_.text(extent));
  }
  const std::string base = array.base;
  line(fmt::format("{} *{} = {}({}, sizeof *{});", c_memory_type(buffer.type), base,
                   helpers_.allocate(), count_of(buffer), base));
  line("if (" + base + " == NULL) {");
  ++depth_;
  fail(status_prefix_ + "OUT_OF_MEMORY");
  --depth_;
  line("}");
  Exit exit;
  exit.label = labels_.take("free_" + base);
  exit.status = exits_.back().status;
  exits_.push_back(exit);
  print(body);
  const Exit left = exits_.back();
  exits_.pop_back();
  if (left.used) {
    text_ += left.label + ":\n";
  }
  line("free(" + base + ");");
  if (left.used) {
    pass_on(left);
  }
}

bool CStatements::fits_stack(const KernelBuffer &buffer) const {
  const bool on_stack = buffer.memory == "stack" || buffer.memory == "registers";
  const std::int64_t limit = on_stack                  ? largest_stack_buffer
                             : buffer.memory == "heap" ? 0
                                                       : largest_automatic_stack_buffer;
  std::int64_t bytes = buffer.type.bytes();
  for (const ValuePtr &extent : buffer.extents) {
    const auto size = as_integer(extent);
    bytes = !size || *size < 0 || bytes > limit ? limit + 1 : bytes * *size;
  }
  return bytes <= limit;
}

void CStatements::print_allocation(const Allocate &allocate) {
  if (device_ != nullptr) {
    allocate_on_device(allocate);
    return;
  }
  const KernelBuffer &buffer = kernel_.buffers.at(static_cast<size_t>(allocate.buffer));
  const CArrayName outer =
      arrays_.at(allocate.buffer); // memory of an enclosing allocation, or none
  if (fits_stack(buffer)) {
    declare_on_stack(buffer, allocate.buffer, "");
    if (const auto *inner = as<Allocate>(allocate.body())) {
      print_allocation(*inner); // within the same braces
    } else {
      print(allocate.body());
    }
  } else {
    allocate_on_heap(buffer, allocate.buffer, allocate.body());
  }
  arrays_.at(allocate.buffer) = outer;
}

void CStatements::print_statement(const Allocate &allocate) {
  line("{");
  ++depth_;
  CNames::Scope scope = names_.open();
  print_allocation(allocate);
  names_.close(std::move(scope));
  --depth_;
  line("}");
}

} // namespace tilewright
