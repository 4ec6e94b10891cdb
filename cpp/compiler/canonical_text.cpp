#include "compiler/canonical_text.h"

#include "polyhedral/interruption.h"
#include "runtime/build_identity.h"

#include <fmt/format.h>

#include <cstdlib>
#include <unordered_map>

namespace tilewright {

namespace {

/// To be raised whenever the loops or the machine code made from the same text change.
constexpr int code_generation_version = 33;

std::string constant_text(const ConstantValue &value) {
  return std::visit(
      [](const auto &number) -> std::string {
        using T = std::decay_t<decltype(number)>;
        if constexpr (std::is_same_v<T, std::complex<double>>) {
          return fmt::format("c{:a},{:a}", number.real(), number.imag());
        } else if constexpr (std::is_same_v<T, double>) {
          return fmt::format("d{:a}", number);
        } else if constexpr (std::is_same_v<T, bool>) {
          return number ? "true" : "false";
        } else {
          return fmt::format("{}{}", std::is_signed_v<T> ? 'i' : 'u', number);
        }
      },
      value);
}

/// isl's own text of an affine function.
std::string affine_text(const isl::pw_aff &affine) {
  char *raw = isl_pw_aff_to_str(affine.get());
  std::string text = raw == nullptr ? "?" : raw;
  std::free(raw);
  return text;
}

/// The text of a set without redundant constraints: isl finds some and drops them while it answers
/// other questions, so that what a set prints as depends on what it was asked before.
std::string canonical(const isl::set &set) {
  return to_text(checked(isl::manage(isl_set_remove_redundancies(set.copy())), "a cache key"));
}

std::string canonical(const isl::map &map) {
  const isl::map few = checked(isl::manage(isl_map_remove_redundancies(map.copy())), "a cache key");
  char *raw = isl_map_to_str(few.get());
  std::string text = raw == nullptr ? "?" : raw;
  std::free(raw);
  return text;
}

/// Expressions as numbered lines, a shared node once: linear in the number of nodes.
class Writer {
public:
  void line(const std::string &text) { text_ += text + '\n'; }

  void expression(const char *label, const ExprPtr &expr) {
    const std::string number = std::to_string(node(expr));
    line(std::string(label) + " #" + number);
  }

  void names(const char *label, const std::vector<std::string> &list) {
    std::string text = label;
    for (const std::string &name : list) {
      text += " " + quoted(name);
    }
    line(text);
  }

  static std::string quoted(const std::string &text) {
    return std::to_string(text.size()) + ":" + text;
  }

  std::string take() { return std::move(text_); }

private:
  size_t node(const ExprPtr &expr) {
    if (!expr) {
      return 0;
    }
    if (const auto found = numbers_.find(expr.get()); found != numbers_.end()) {
      return found->second;
    }
    count_visit();
    std::string text =
        fmt::format("{} {}{} {}", static_cast<int>(expr->kind), static_cast<int>(expr->type.kind),
                    expr->type.bits, static_cast<int>(expr->op));
    for (const ExprPtr &operand : expr->operands) {
      text += " #" + std::to_string(node(operand));
    }
    if (expr->kind == ExprKind::Constant) {
      text += " " + constant_text(expr->value);
    }
    if (!expr->name.empty()) {
      text += " " + quoted(expr->name);
    }
    if (expr->producer) {
      text += " " + quoted(expr->producer->name);
    }
    for (const ReduceRange &range : expr->ranges) {
      text +=
          fmt::format(" {} #{} #{}", quoted(range.iterator), node(range.lower), node(range.upper));
    }
    for (const ExprPtr &state : expr->states) {
      text += " state #" + std::to_string(node(state));
    }
    if (expr->kind == ExprKind::WhileResult) {
      text += " " + std::to_string(expr->position);
    }
    if (expr->condition) {
      text += " if #" + std::to_string(node(expr->condition));
    }
    if (expr->predicate) {
      text += " where #" + std::to_string(node(expr->predicate));
    }
    if (expr->ordered) {
      text += " ordered";
    }
    const size_t number = numbers_.size() + 1;
    numbers_.emplace(expr.get(), number);
    line(fmt::format("#{} = {}", number, text));
    return number;
  }

  std::string text_;
  std::unordered_map<const Expr *, size_t> numbers_;
};

void write_computation(Writer &out, const Computation &computation) {
  out.line(fmt::format("computation {} {}{} {} {} {}", Writer::quoted(computation.name),
                       static_cast<int>(computation.type.kind), computation.type.bits,
                       computation.is_input, Writer::quoted(computation.record),
                       Writer::quoted(computation.field)));
  out.names("iterators", computation.iterators);
  out.line("domain " + canonical(computation.domain));
  for (const ExprPtr &extent : computation.extents) {
    out.expression("extent", extent);
  }
  for (const Piece &piece : computation.pieces) {
    out.line("piece " + canonical(piece.domain));
    out.expression("value", piece.value);
  }
}

void write_function(Writer &out, const Function &function) {
  out.line("function " + Writer::quoted(function.name));
  out.names("parameters", function.parameters);
  out.line("context " + canonical(function.context));
  for (const ComputationPtr &input : function.inputs) {
    write_computation(out, *input);
  }
  for (const ComputationPtr &computation : function.computations) {
    write_computation(out, *computation);
  }
  for (const ComputationPtr &output : function.outputs) {
    out.line("output " + Writer::quoted(output->name));
  }
}

void write_mapping(Writer &out, const MappingState &state) {
  for (const auto &[name, time_space] : state.time_space) {
    out.line(fmt::format("time {} {}", Writer::quoted(name), time_space.explicit_time));
    for (const LoopDimension &dimension : time_space.dimensions) {
      const LoopTag &tag = dimension.tag;
      out.line(fmt::format("loop {} {} {} {} {} {} {} {} {}", Writer::quoted(dimension.name),
                           static_cast<int>(tag.tag), tag.factor, static_cast<int>(tag.dealing),
                           tag.chunk, tag.joined, tag.axis, dimension.extent,
                           affine_text(dimension.value)));
      for (const Prefetch &prefetch : dimension.prefetches) {
        out.line(fmt::format("prefetch {} {}", Writer::quoted(prefetch.array), prefetch.distance));
      }
    }
  }
  const auto write_storage = [&](const char *kind, const std::string &name,
                                 const Storage &storage) {
    out.line(fmt::format("{} {} {} {} {} {}", kind, Writer::quoted(name),
                         Writer::quoted(storage.buffer), Writer::quoted(storage.record.name),
                         storage.record.offset, storage.record.size));
    for (const ExprPtr &index : storage.index) {
      out.expression("index", index);
    }
    for (const ExprPtr &extent : storage.extents) {
      out.expression("extent", extent);
    }
  };
  for (const auto &[name, storage] : state.storage) {
    write_storage("storage", name, storage);
  }
  for (const auto &[name, storage] : state.shared) {
    write_storage("shared", name, storage);
  }
  for (const Placement &placement : state.placements) {
    out.line(fmt::format("place {} {} {} {} {}", Writer::quoted(placement.computation),
                         Writer::quoted(placement.other), placement.shared, placement.before,
                         placement.compute_at));
  }
  for (const auto &[name, allocation] : state.allocations) {
    std::string order;
    for (const int dimension : allocation.order) {
      order += fmt::format(" {}", dimension);
    }
    out.line(fmt::format("allocate {} {} {} {} pad {} stages {} order{}", Writer::quoted(name),
                         Writer::quoted(allocation.other), allocation.levels, allocation.memory,
                         allocation.pad, allocation.stages, order));
  }
  // Promises, too: by what they say of reads, compute_at and store_at leave instances and elements
  // out, which a function without them needs.
  for (const IndependencePromise &promise : state.independent) {
    out.line("independent " + Writer::quoted(promise.loop));
    for (const auto &[name, value] : promise.values) {
      out.line(fmt::format("value {} {}", Writer::quoted(name), affine_text(value)));
    }
  }
  for (const ValuePromise &promise : state.assumed) {
    out.line(fmt::format("assume {} {} {}", Writer::quoted(promise.computation),
                         Writer::quoted(promise.array), canonical(promise.values)));
  }
  out.names("order", state.order);
  out.names("streamed", {state.streamed.begin(), state.streamed.end()});
  out.names("atomic", {state.atomic.begin(), state.atomic.end()});
}

std::string versions() {
  return fmt::format("tilewright code {} build {} llvm {} isl {}", code_generation_version,
                     build_identity(), llvm_version(), isl_version_text());
}

} // namespace

std::string canonical_text(const Function &function) {
  Writer out;
  out.line(versions());
  write_function(out, function);
  return out.take();
}

std::string canonical_text(const Mapping &mapping, const CompileOptions &options,
                           const CpuDescription &cpu) {
  const Function &function = mapping.function();
  Writer out;
  out.line(versions());
  out.line("cpu " + cpu.text());
  out.line(fmt::format("optimize {} default_schedule {}", static_cast<int>(options.optimize),
                       options.default_schedule));
  if (has_gpu_loops(mapping)) {
    out.line(fmt::format("gpu {} {} {}", static_cast<int>(options.gpu.kind),
                         options.gpu.architecture, options.gpu.is_exact));
  }
  const Instrumentation &asked = options.instrumentation;
  if (asked != Instrumentation{}) {
    out.line(fmt::format("watch {} {} {} {} {}", asked.bounds, asked.values, asked.infinities,
                         asked.times, Writer::quoted(asked.computation)));
  }
  std::string layouts;
  for (const ArrayLayout &layout : options.layouts) {
    layouts += fmt::format(" {}/{}", layout.unit, layout.packed);
  }
  out.line(fmt::format("fast_math {} layouts{}", options.fast_math, layouts));
  write_function(out, function);
  write_mapping(out, mapping.state());
  return out.take();
}

} // namespace tilewright
