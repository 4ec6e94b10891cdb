#include "bindings/bind_views.h"

#include "algorithm/affine.h"
#include "algorithm/declaration_checks.h"
#include "algorithm/existing.h"
#include "algorithm/expression_depth.h"
#include "algorithm/predicates.h"
#include "algorithm/views.h"
#include "bindings/bind_language.h"
#include "polyhedral/isl_lock.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace tilewright {

namespace py = pybind11;

void bind_views(py::module_ &module) {
  module.def(
      "conjuncts",
      [](const ExprHandle &condition) {
        std::vector<ExprHandle> parts;
        for (const ExprPtr &part : conjuncts_of(condition.expr)) {
          parts.push_back(ExprHandle{part});
        }
        return parts;
      },
      py::arg("condition"));
  module.def(
      "is_affine_condition",
      [](const ExprHandle &condition, const std::vector<std::string> &iterators) {
        const IslLock lock;
        const OperationLimit limit(declaration_operation_limit);
        require_stack(condition.expr);
        return to_set(condition.expr, {"", iterators}).has_value();
      },
      py::arg("condition"), py::arg("iterators"));
  module.def(
      "where_exists",
      [](const std::vector<ExprHandle> &conditions, const ExprHandle &value) {
        return ExprHandle{where_exists(to_expressions(conditions), value.expr)};
      },
      py::arg("conditions"), py::arg("value"));
  module.def(
      "make_view", [](const ComputationPtr &computation) { make_view(computation); },
      py::arg("computation"));
  module.def(
      "phi",
      [](const std::vector<ExprHandle> &reads, const py::handle &where) {
        const IslLock lock;
        return ExprHandle{phi(to_expressions(reads), to_location(where))};
      },
      py::arg("reads"), py::arg("where") = py::none());
}

} // namespace tilewright
