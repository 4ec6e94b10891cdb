#include "algorithm/canonical_writer.h"

#include "algorithm/expression_depth.h"
#include "algorithm/extern_function.h"
#include "polyhedral/interruption.h"

#include <fmt/format.h>

#include <cstdlib>

namespace tilewright {

namespace {

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

} // namespace

std::string sized_text(const std::string &text) { return std::to_string(text.size()) + ":" + text; }

std::string canonical_text(const isl::set &set) {
  return to_text(checked(isl::manage(isl_set_remove_redundancies(set.copy())), "a cache key"));
}

std::string canonical_text(const isl::map &map) {
  return to_text(checked(isl::manage(isl_map_remove_redundancies(map.copy())), "a cache key"));
}

std::string canonical_text(const isl::pw_aff &affine) {
  char *raw = isl_pw_aff_to_str(affine.get());
  if (raw == nullptr) {
    throw_isl_error("a cache key");
  }
  std::string text = raw;
  std::free(raw);
  return text;
}

void CanonicalWriter::expression(const std::string &label, const ExprPtr &expr) {
  require_stack(expr);
  const std::string number = std::to_string(node(expr));
  line(label + " #" + number);
}

void CanonicalWriter::names(const std::string &label, const std::vector<std::string> &list) {
  std::string text = label;
  for (const std::string &name : list) {
    text += " " + sized_text(name);
  }
  line(text);
}

size_t CanonicalWriter::node(const ExprPtr &expr) {
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
    text += " " + sized_text(expr->name);
  }
  if (expr->producer) {
    text += " " + sized_text(expr->producer->name);
  }
  for (const ReduceRange &range : expr->ranges) {
    text += fmt::format(" {} #{} #{}", sized_text(range.iterator), node(range.lower),
                        node(range.upper));
    if (range.step != 1) {
      text += fmt::format(" step {}", range.step);
    }
  }
  for (const ExprPtr &state : expr->states) {
    text += " state #" + std::to_string(node(state));
  }
  if (expr->kind == ExprKind::WhileResult || expr->kind == ExprKind::Fold || expr->position > 0) {
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
  if (expr->external) {
    text += " extern " + sized_text(extern_key(*expr->external));
  }
  const size_t number = numbers_.size() + 1;
  numbers_.emplace(expr.get(), number);
  line(fmt::format("#{} = {}", number, text));
  return number;
}

void CanonicalWriter::computation(const Computation &computation) {
  line(fmt::format("computation {} {}{} {} {} {}", sized_text(computation.name),
                   static_cast<int>(computation.type.kind), computation.type.bits,
                   computation.is_input, sized_text(computation.record),
                   sized_text(computation.field)));
  if (computation.is_view) {
    line("view");
  }
  names("iterators", computation.iterators);
  line("domain " + canonical_text(computation.domain));
  for (const ExprPtr &extent : computation.extents) {
    expression("extent", extent);
  }
  for (const ExprPtr &first : computation.origin) {
    expression("origin", first);
  }
  for (const Stride &stride : computation.strides) {
    line(fmt::format("stride {}", stride.step));
    expression("first", stride.first);
  }
  for (const Piece &piece : computation.pieces) {
    line("piece " + canonical_text(piece.domain));
    expression("value", piece.value);
  }
}

void CanonicalWriter::function(const Function &function) {
  line("function " + sized_text(function.name));
  names("parameters", function.parameters);
  line("context " + canonical_text(function.context));
  for (const ComputationPtr &input : function.inputs) {
    this->computation(*input);
  }
  for (const ComputationPtr &computation : function.computations) {
    this->computation(*computation);
  }
  for (const ComputationPtr &output : function.outputs) {
    line("output " + sized_text(output->name));
  }
  if (function.stop) {
    line(fmt::format("until {} {} {}", sized_text(function.stop->parameter),
                     sized_text(function.stop->test->name), function.stop->limit));
  }
}

} // namespace tilewright
