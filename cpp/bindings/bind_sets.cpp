#include "bindings/bind_sets.h"

#include "polyhedral/cardinality.h"
#include "polyhedral/explicit_divisions.h"
#include "polyhedral/integer_points.h"

#include <pybind11/stl.h>

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace py = pybind11;

namespace tilewright {

namespace {

/// What goes to Python: values of ours as it holds them, anything else as it is.
template <class Result>
auto handed_over(Result result) {
  if constexpr (std::is_same_v<Result, IntegerSet> || std::is_same_v<Result, IntegerMap> ||
                std::is_same_v<Result, Cardinality>) {
    return held(std::move(result));
  } else {
    return result;
  }
}

/// A method of a value, run without the GIL, with isl's lock, and open to signals.
template <class Value, class Result, class... Arguments>
auto unlocked(Result (Value::*method)(Arguments...) const) {
  return [method](const Value &self, Arguments... arguments) {
    return analyse_unlocked([&] { return handed_over((self.*method)(arguments...)); });
  };
}

/// "12345" as Python's int.
py::object to_integer(const std::string &text) {
  auto number = py::reinterpret_steal<py::object>(PyLong_FromString(text.c_str(), nullptr, 10));
  if (!number) {
    throw py::error_already_set();
  }
  return number;
}

/// (name, names of dimensions, the two tuples inside).
py::tuple to_python(const TupleShape &shape) {
  py::list nested;
  for (const TupleShape &inner : shape.nested) {
    nested.append(to_python(inner));
  }
  return py::make_tuple(shape.name, py::cast(shape.dimensions), nested);
}

template <class Value>
py::list tuples_of(const Value &value) {
  py::list shapes;
  for (const TupleShape &shape : analyse_unlocked([&] { return value.tuples(); })) {
    shapes.append(to_python(shape));
  }
  return shapes;
}

/// [(shape, [coordinates, ...]), ...].
py::list points_in_python(const IntegerSet &set, size_t most) {
  const IntegerPoints all = analyse_unlocked([&] { return points_of(set, most); });
  std::vector<py::list> lists(all.tuples.size());
  for (const IntegerPoint &point : all.points) {
    lists[point.tuple].append(py::tuple(py::cast(point.coordinates)));
  }
  py::list result;
  for (size_t tuple = 0; tuple < lists.size(); ++tuple) {
    result.append(py::make_tuple(to_python(all.tuples[tuple]), lists[tuple]));
  }
  return result;
}

/// (shape, coordinates, {parameter: value}), or None.
py::object sample_in_python(const IntegerSet &set) {
  const std::optional<SampledPoint> point = analyse_unlocked([&] { return sample_of(set); });
  if (!point) {
    return py::none();
  }
  py::dict parameters;
  for (const auto &[name, value] : point->parameters) {
    parameters[py::str(name)] = value;
  }
  return py::make_tuple(to_python(point->tuple), py::tuple(py::cast(point->coordinates)),
                        parameters);
}

template <class Value>
py::class_<Value, std::shared_ptr<Value>> bind_value(py::module_ &module, const char *name) {
  py::class_<Value, std::shared_ptr<Value>> type(module, name);
  type.def(py::init([](const std::string &text) {
             return analyse_unlocked([&] { return held(Value::read(text)); });
           }),
           py::arg("text"))
      .def("text", unlocked(&Value::text))
      .def("parameters", unlocked(&Value::parameters))
      .def("tuples", tuples_of<Value>)
      .def("spaces", unlocked(&Value::spaces))
      .def("is_empty", unlocked(&Value::is_empty))
      .def("equals", unlocked(&Value::equals), py::arg("other"))
      .def("is_subset", unlocked(&Value::is_subset), py::arg("other"))
      .def("unite", unlocked(&Value::unite), py::arg("other"))
      .def("intersect", unlocked(&Value::intersect), py::arg("other"))
      .def("subtract", unlocked(&Value::subtract), py::arg("other"))
      .def("product", unlocked(&Value::product), py::arg("other"))
      .def("gist", unlocked(&Value::gist), py::arg("context"))
      .def("lexmin", unlocked(&Value::lexmin))
      .def("lexmax", unlocked(&Value::lexmax))
      .def("coalesce", unlocked(&Value::coalesce))
      .def("hull", unlocked(&Value::hull), py::arg("kind"))
      .def("parameter_values", unlocked(&Value::parameter_values))
      .def("intersect_parameters", unlocked(&Value::intersect_parameters), py::arg("values"))
      .def("fix", unlocked(&Value::fix), py::arg("values"))
      .def("project_out_parameters", unlocked(&Value::project_out_parameters), py::arg("names"));
  return type;
}

void bind_set(py::class_<IntegerSet, std::shared_ptr<IntegerSet>> &type) {
  type.def("is_parameter_set", unlocked(&IntegerSet::is_parameter_set))
      .def("apply", unlocked(&IntegerSet::apply), py::arg("map"))
      .def("before", unlocked(&IntegerSet::before), py::arg("other"), py::arg("or_same"))
      .def("project_out", unlocked(&IntegerSet::project_out), py::arg("positions"))
      .def("explicit_divisions",
           [](const IntegerSet &self) {
             return analyse_unlocked([&] { return held(explicit_divisions(self)); });
           })
      .def("identity", unlocked(&IntegerSet::identity))
      .def("unwrap", unlocked(&IntegerSet::unwrap))
      .def("points", points_in_python, py::arg("most"))
      .def("sample", sample_in_python)
      .def("count",
           [](const IntegerSet &self) {
             return to_integer(analyse_unlocked([&] { return count_of(self); }));
           })
      .def(
          "contains",
          [](const IntegerSet &self, const IntegerSet &point) {
            return analyse_unlocked([&] { return contains(self, point); });
          },
          py::arg("point"))
      .def("cardinality", [](const IntegerSet &self) {
        return analyse_unlocked([&]() -> std::shared_ptr<Cardinality> {
          std::optional<Cardinality> found = cardinality_of(self);
          return found ? held(std::move(*found)) : nullptr;
        });
      });
}

void bind_map(py::class_<IntegerMap, std::shared_ptr<IntegerMap>> &type) {
  type.def("is_single_valued", unlocked(&IntegerMap::is_single_valued))
      .def("is_injective", unlocked(&IntegerMap::is_injective))
      .def("range_product", unlocked(&IntegerMap::range_product), py::arg("other"))
      .def("apply_range", unlocked(&IntegerMap::apply_range), py::arg("other"))
      .def("apply_domain", unlocked(&IntegerMap::apply_domain), py::arg("other"))
      .def("intersect_domain", unlocked(&IntegerMap::intersect_domain), py::arg("set"))
      .def("intersect_range", unlocked(&IntegerMap::intersect_range), py::arg("set"))
      .def("subtract_domain", unlocked(&IntegerMap::subtract_domain), py::arg("set"))
      .def("subtract_range", unlocked(&IntegerMap::subtract_range), py::arg("set"))
      .def("reverse", unlocked(&IntegerMap::reverse))
      .def("domain", unlocked(&IntegerMap::domain))
      .def("range", unlocked(&IntegerMap::range))
      .def("deltas", unlocked(&IntegerMap::deltas))
      .def("wrap", unlocked(&IntegerMap::wrap))
      .def("project_out", unlocked(&IntegerMap::project_out), py::arg("of_range"),
           py::arg("positions"))
      .def("power", unlocked(&IntegerMap::power), py::arg("steps"))
      .def("transitive_closure", [](const IntegerMap &self) {
        return analyse_unlocked([&] {
          auto [closure, exact] = self.transitive_closure();
          return std::make_pair(held(std::move(closure)), exact);
        });
      });
}

} // namespace

void bind_sets(py::module_ &module) {
  py::enum_<Hull>(module, "Hull")
      .value("Simple", Hull::Simple)
      .value("Convex", Hull::Convex)
      .value("Affine", Hull::Affine)
      .value("Polyhedral", Hull::Polyhedral);
  py::class_<Cardinality, std::shared_ptr<Cardinality>>(module, "Cardinality")
      .def("text", unlocked(&Cardinality::text))
      .def("parameters", unlocked(&Cardinality::parameters))
      .def(
          "at",
          [](const Cardinality &self, const std::map<std::string, std::int64_t> &values) {
            return to_integer(analyse_unlocked([&] { return self.at(values); }));
          },
          py::arg("values"));
  auto set = bind_value<IntegerSet>(module, "IntegerSet");
  auto map = bind_value<IntegerMap>(module, "IntegerMap");
  bind_set(set);
  bind_map(map);
}

} // namespace tilewright
