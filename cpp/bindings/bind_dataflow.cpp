#include "bindings/bind_dataflow.h"

#include "bindings/bind_language.h"
#include "bindings/bind_sets.h"
#include "dataflow/dataflow.h"

#include <isl/set.h>
#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace py = pybind11;

namespace tilewright {

namespace {

constexpr std::uint64_t showing_limit = 300'000'000;

using Held = std::shared_ptr<Dataflow>;
/// (kind, name, text of the readers, what tells them from others or None, subscripts, is certain).
using SourceRow = std::tuple<std::string, std::string, std::string, std::optional<ExprHandle>,
                             std::vector<ExprHandle>, bool>;

std::string kind_name(FlowSource::Kind kind) {
  switch (kind) {
  case FlowSource::Kind::Written:
    return "written";
  case FlowSource::Kind::Initial:
    return "initial";
  case FlowSource::Kind::Killed:
    return "killed";
  }
  return "";
}

AccessKind to_kind(const std::string &name) {
  if (name == "read") {
    return AccessKind::Read;
  }
  if (name == "may write") {
    return AccessKind::MayWrite;
  }
  if (name == "must write") {
    return AccessKind::MustWrite;
  }
  if (name == "kill") {
    return AccessKind::Kill;
  }
  throw Error(ErrorKind::Argument, "there is no kind of access named \"" + name + "\"");
}

std::vector<SourceRow> sources(const Dataflow &flow, const std::string &reference,
                               const std::string &reader, const std::vector<std::string> &free) {
  return analyse_unlocked([&] {
    const OperationLimit limit(showing_limit);
    std::vector<SourceRow> rows;
    for (const FlowSource &source : flow.sources(reference, free)) {
      std::vector<ExprHandle> subscripts;
      for (const ExprPtr &subscript : source.subscripts) {
        subscripts.push_back(ExprHandle{subscript});
      }
      const isl::set renamed =
          isl::manage(isl_set_set_tuple_name(source.readers.copy(), reader.c_str()));
      std::optional<ExprHandle> condition;
      if (source.condition != nullptr) {
        condition = ExprHandle{source.condition};
      }
      rows.emplace_back(kind_name(source.kind), source.name, to_text(renamed), condition,
                        std::move(subscripts), source.is_certain);
    }
    return rows;
  });
}

} // namespace

void bind_dataflow(py::module_ &module) {
  module.def(
      "substitute",
      [](const ExprHandle &expression, const std::map<std::string, ExprHandle> &values) {
        return ExprHandle{substitute(expression.expr, [&](const std::string &name) {
          const auto found = values.find(name);
          return found == values.end() ? nullptr : found->second.expr;
        })};
      },
      py::arg("expression"), py::arg("values"),
      "The expression with other expressions in place of some iterators.");
  using Builder = MemoryProgramBuilder;
  py::class_<Builder, std::shared_ptr<Builder>>(module, "MemoryProgram")
      .def(py::init([](const std::string &context) {
             return analyse_unlocked([&] { return make_isl_shared<Builder>(Builder(context)); });
           }),
           py::arg("context"))
      .def(
          "statement",
          [](Builder &self, const std::string &domain, const std::string &schedule, bool is_live) {
            analyse_unlocked([&] {
              self.add_statement(domain, schedule, is_live);
              return 0;
            });
          },
          py::arg("domain"), py::arg("schedule"), py::arg("is_live") = false)
      .def(
          "access",
          [](Builder &self, const std::string &reference, const std::string &relation,
             const std::string &kind) {
            analyse_unlocked([&] {
              self.add_access(reference, relation, to_kind(kind));
              return 0;
            });
          },
          py::arg("reference"), py::arg("relation"), py::arg("kind"))
      .def("dataflow", [](const Builder &self) {
        return analyse_unlocked(
            [&] { return make_isl_shared<Dataflow>(Dataflow(self.program())); });
      });
  py::class_<Dataflow, Held>(module, "Dataflow")
      .def("sources", &sources, py::arg("reference"), py::arg("reader"),
           py::arg("free") = std::vector<std::string>{})
      .def("needed",
           [](const Dataflow &self) {
             return analyse_unlocked([&] { return held(IntegerSet(self.needed())); });
           })
      .def("dead", [](const Dataflow &self) {
        return analyse_unlocked([&] { return held(IntegerSet(self.dead())); });
      });
}

} // namespace tilewright
