#include "polyhedral/integer_set_parts.h"

#include <cstdlib>

namespace tilewright::integer_set_parts {

namespace {

template <class Part, class List>
std::vector<Part> parts_of(const List &list, int count) {
  std::vector<std::pair<std::string, Part>> parts;
  for (int k = 0; k < count; ++k) {
    const Part part = checked(list.at(k), "the parts of a set");
    parts.emplace_back(shape_of(part.space()).text(), part);
  }
  std::sort(parts.begin(), parts.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<Part> sorted;
  for (auto &[text, part] : parts) {
    sorted.push_back(std::move(part));
  }
  return sorted;
}

} // namespace

void require_optimum(bool is_null, const char *what) {
  isl_ctx *context = isl_context().get();
  const char *message = is_null ? isl_ctx_last_error_msg(context) : nullptr;
  if (message != nullptr && std::string(message).find("unbounded") != std::string::npos) {
    isl_ctx_reset_error(context);
    throw Error(ErrorKind::Set, std::string(what) + ": there is none, as there are points without "
                                                    "end in that direction; intersect with a set "
                                                    "that has an end");
  }
}

std::string text_of(char *text) {
  if (text == nullptr) {
    throw_isl_error("printing a set");
  }
  std::string result = text;
  std::free(text);
  // isl leaves the place of a parameter set's missing tuple empty, and that of an empty union.
  for (const char *gap : {"{  :", "{  }"}) {
    if (const size_t at = result.find(gap); at != std::string::npos) {
      result.erase(at + 1, 1);
    }
  }
  return result;
}

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::vector<std::string> parameters_of(const isl::space &space) {
  std::vector<std::string> names;
  const isl_size count = isl_space_dim(space.get(), isl_dim_param);
  for (isl_size p = 0; p < count; ++p) {
    names.emplace_back(
        isl_space_get_dim_name(space.get(), isl_dim_param, static_cast<unsigned>(p)));
  }
  return names;
}

std::vector<isl::set> sets_of(const isl::union_set &points) {
  const isl::set_list list = checked(points.set_list(), "the parts of a set");
  return parts_of<isl::set>(list, static_cast<int>(checked(list.size(), "the parts of a set")));
}

std::vector<isl::map> maps_of(const isl::union_map &pairs) {
  const isl::map_list list = checked(pairs.map_list(), "the parts of a map");
  return parts_of<isl::map>(list, static_cast<int>(checked(list.size(), "the parts of a map")));
}

std::vector<TupleShape> sides_of(const IntegerMap &map, size_t side) {
  std::vector<TupleShape> sides;
  for (const TupleShape &shape : map.tuples()) {
    sides.push_back(shape.nested.at(side));
  }
  return sides;
}

void require_points(const IntegerSet &set, const char *what) {
  if (set.is_parameter_set()) {
    throw Error(ErrorKind::Set, std::string(what) + ": " + set.text() +
                                    " is a set of parameter values, which has no points");
  }
}

isl::set parameter_part(const IntegerSet &values) {
  if (checked(values.points().is_empty(), "parameters")) {
    return isl::set::empty(checked(values.points().space(), "parameters").params());
  }
  if (!values.is_parameter_set()) {
    throw Error(ErrorKind::Set, "a set of parameter values has no tuple, as \"[N] -> { : N > 3 }\" "
                                "has none; got " +
                                    values.text());
  }
  return values.points().params();
}

void require_positions(const std::vector<unsigned> &positions, unsigned dimensions,
                       const char *what) {
  for (const unsigned position : positions) {
    if (position >= dimensions) {
      throw Error(ErrorKind::Set, std::string(what) + ": there is no dimension " +
                                      std::to_string(position) + ", as the tuple has " +
                                      std::to_string(dimensions));
    }
  }
}

std::vector<unsigned> descending(std::vector<unsigned> positions) {
  std::sort(positions.begin(), positions.end(), std::greater<>());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

isl::union_set project_parameter(const isl::union_set &points, unsigned position) {
  return isl::manage(isl_union_set_project_out(points.copy(), isl_dim_param, position, 1));
}

isl::union_map project_parameter(const isl::union_map &pairs, unsigned position) {
  return isl::manage(isl_union_map_project_out(pairs.copy(), isl_dim_param, position, 1));
}

isl::set values_set(const isl::space &space, const std::map<std::string, std::int64_t> &values) {
  isl::set set = isl::set::universe(space.params());
  for (const auto &[name, value] : values) {
    const int position = isl_space_find_dim_by_name(space.get(), isl_dim_param, name.c_str());
    set = isl::manage(isl_set_fix_val(set.release(), isl_dim_param, static_cast<unsigned>(position),
                                      isl_val_int_from_si(isl_context().get(), value)));
  }
  return checked(set, "fix");
}

} // namespace tilewright::integer_set_parts
