// Layer I as text, in the notation of the papers.
#include "algorithm/declaration_checks.h"
#include "algorithm/function.h"
#include "algorithm/function_extents.h"
#include "polyhedral/set_text.h"

#include <algorithm>

namespace tilewright {

namespace {

std::string names_text(const std::vector<ComputationPtr> &list) {
  std::string text;
  for (const ComputationPtr &declared : list) {
    text += (text.empty() ? "" : ", ") + declared->name;
  }
  return text;
}

std::string shape_text(const Computation &computation) {
  std::string text = computation.name + "[";
  for (size_t d = 0; d < computation.extents.size(); ++d) {
    text += d == 0 ? "" : ", ";
    const ExprPtr first = first_index(computation.origin, d);
    text += is_zero(first) ? to_string(computation.extents[d])
                           : to_string(first) + ":" +
                                 to_string(combined(Op::Add, first, computation.extents[d]));
  }
  return text + "] : " + type_name(computation.type);
}

/// "{ C[i, j] : 0 <= i < N }", without what the context says anyway.
std::string domain_text(const isl::set &domain, const isl::set &context) {
  const isl::set simple = domain.coalesce().gist_params(context);
  return braced_text(checked(simple, "printing a domain"));
}

} // namespace

std::string to_string(const Function &function) {
  const OperationLimit limit(declaration_operation_limit);
  std::string text = "function " + function.name + "(" + names_text(function.inputs) + ") -> " +
                     names_text(function.outputs) + "\n";
  if (!function.parameters.empty()) {
    text += "parameters " + to_text(function.context) + "\n";
  }
  for (const ComputationPtr &input : function.inputs) {
    text += "input " + shape_text(*input) + "\n";
  }
  for (const ComputationPtr &computation : function.computations) {
    const bool is_output = std::find(function.outputs.begin(), function.outputs.end(),
                                     computation) != function.outputs.end();
    text += std::string(is_output              ? "output "
                        : computation->is_view ? ""
                                               : "computation ") +
            (computation->is_view ? "view " : "") + shape_text(*computation) + "\n";
    for (const Piece &piece : computation->pieces) {
      text += "  " + domain_text(piece.domain, function.context) + " : " + to_string(piece.value) +
              "\n";
    }
  }
  if (function.stop) {
    text += "until " + function.stop->test->name +
            (function.stop->limit > 0
                 ? ", at most " + std::to_string(function.stop->limit) + " iterations"
                 : "") +
            "\n";
  }
  return text;
}

} // namespace tilewright
