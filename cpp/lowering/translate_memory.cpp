// The buffers of a kernel, and which loop each of them lives in.
#include "loops/traverse.h"
#include "lowering/ast_translator.h"

#include <algorithm>

namespace tilewright {

void AstTranslator::add_buffers(const LoweringOptions &options) {
  for (size_t i = 0; i < program_.buffers.size(); ++i) {
    const Buffer &from = program_.buffers[i];
    KernelBuffer buffer;
    buffer.name = from.name;
    buffer.type = from.type;
    buffer.is_argument = from.kind != BufferKind::Temporary;
    buffer.is_scoped = from.level > 0;
    buffer.memory = from.memory;
    buffer.record = from.record;
    buffer.command = from.command;
    buffer.where = from.where;
    for (const ExprPtr &extent : from.extents) {
      buffer.extents.push_back(cast_value(translate_parameters(extent, program_), Int64));
    }
    buffer.layout.unit = static_cast<int>(from.extents.size()) - 1;
    if (buffer.is_argument && i < options.layouts.size()) {
      buffer.layout = options.layouts[i];
    }
    kernel_.buffers.push_back(std::move(buffer));
  }
  for (const Statement &statement : program_.statements) {
    KernelBuffer &buffer = kernel_.buffers.at(statement.buffer);
    const bool others = buffer.is_written && !buffer.is_streamed;
    buffer.is_written = true;
    buffer.is_streamed = statement.streamed && !others && buffer.memory != "registers";
    for (const FoldState &state : statement.states) {
      kernel_.buffers.at(state.buffer).is_written = true;
    }
  }
}

void AstTranslator::place_buffers() {
  if (!gpu_) {
    return;
  }
  std::set<std::int64_t> in_launches;
  visit_statements(kernel_.body, [&](const LoopStatement &statement) {
    if (const auto *launch = as<Launch>(statement)) {
      visit_statements(launch->body(), [&](const LoopStatement &inner) {
        if (const auto *allocate = as<Allocate>(inner)) {
          in_launches.insert(allocate->buffer);
        }
      });
    }
  });
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    const bool in_launch = in_launches.contains(static_cast<std::int64_t>(b));
    const auto memory = gpu_->memory_in_kernel(program_.buffers[b].beside.value_or(b));
    if (memory && in_launch) {
      kernel_.buffers[b].memory = *memory == GpuMemory::Shared ? "shared" : "private";
      kernel_.buffers[b].stages = program_.buffers[b].stages;
      for (const Statement &statement : program_.statements) {
        if (statement.buffer == b && kernel_.buffers[b].stages > 1) {
          const int level = program_.buffers[b].level - 1;
          kernel_.buffers[b].stage_loop = statement.loop_names.at(static_cast<size_t>(level));
        }
      }
    } else if (kernel_.buffers[b].is_scoped) {
      // In a kernel of one thread either would do; what several kernels share is outside of all.
      kernel_.buffers[b].memory = in_launch ? "shared" : "heap";
    }
  }
}

StmtPtr AstTranslator::with_memory(int dimension, StmtPtr body) const {
  if (dimension >= 0 && dimension % 2 == 0) {
    return body;
  }
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer &buffer = program_.buffers[b];
    const auto number = static_cast<std::int64_t>(b);
    if (buffer.level > 0 && dimension <= memory_dimension(buffer) && lacks_memory(*body, number)) {
      body = allocate(number, buffer.name, body);
    }
  }
  return body;
}

bool AstTranslator::lacks_memory(const LoopStatement &statement, std::int64_t buffer) {
  const auto *allocate = as<Allocate>(statement);
  if (allocate != nullptr && allocate->buffer == buffer) {
    return false;
  }
  const auto *change = as<ElementChange>(statement);
  bool uses = change != nullptr && change->buffer == buffer;
  visit_values(statement, [&](const Value &value) { uses = uses || is_load_of(value, buffer); });
  return uses || std::any_of(statement.children.begin(), statement.children.end(),
                             [&](const StmtPtr &child) { return lacks_memory(*child, buffer); });
}

int AstTranslator::memory_dimension(const Buffer &buffer) const {
  int found = -1;
  for (const int dimension : dimensions_) {
    if (dimension % 2 == 1 && dimension / 2 < buffer.level) {
      found = dimension;
    }
  }
  return found;
}

} // namespace tilewright
