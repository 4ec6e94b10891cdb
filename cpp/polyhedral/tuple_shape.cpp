#include "polyhedral/tuple_shape.h"

#include "polyhedral/counted.h"
#include "polyhedral/isl.h"

#include <isl/space.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_tuple_shape = "looking at a space";

TupleShape shape_of_tuple(const isl::space &space) {
  TupleShape shape;
  if (isl_space_has_tuple_name(space.get(), isl_dim_set) == isl_bool_true) {
    shape.name = isl_space_get_tuple_name(space.get(), isl_dim_set);
  }
  if (checked(space.is_wrapping(), doing_tuple_shape)) {
    const TupleShape pair = shape_of(space.unwrap());
    shape.nested = pair.nested;
    shape.dimensions = pair.dimensions;
    return shape;
  }
  const isl_size count = isl_space_dim(space.get(), isl_dim_set);
  for (isl_size d = 0; d < count; ++d) {
    const char *name = isl_space_get_dim_name(space.get(), isl_dim_set, static_cast<unsigned>(d));
    shape.dimensions.emplace_back(name == nullptr ? "" : name);
  }
  return shape;
}

/// "2 dimensions"; of a wrapped relation, its text.
std::string extent_text(const TupleShape &shape) {
  if (!shape.nested.empty()) {
    return "the form " + shape.text();
  }
  return counted(shape.dimensions.size(), "dimension");
}

} // namespace

bool TupleShape::matches(const TupleShape &other) const {
  return name == other.name && dimensions.size() == other.dimensions.size() &&
         std::equal(nested.begin(), nested.end(), other.nested.begin(), other.nested.end(),
                    [](const TupleShape &a, const TupleShape &b) { return a.matches(b); });
}

std::string TupleShape::text() const {
  std::string inside;
  if (!nested.empty()) {
    inside = nested[0].text() + " -> " + nested[1].text();
  }
  for (size_t d = 0; nested.empty() && d < dimensions.size(); ++d) {
    inside += (d == 0 ? "" : ", ") + (dimensions[d].empty() ? "*" : dimensions[d]);
  }
  return name + "[" + inside + "]";
}

std::string TupleShape::without_dimension_names() const {
  TupleShape anonymous = *this;
  for (std::string &dimension : anonymous.dimensions) {
    dimension.clear();
  }
  std::string inside;
  if (!nested.empty()) {
    inside = nested[0].without_dimension_names() + " -> " + nested[1].without_dimension_names();
    return name + "[" + inside + "]";
  }
  return anonymous.text();
}

TupleShape shape_of(const isl::space &space) {
  checked(space, doing_tuple_shape);
  if (isl_space_is_set(space.get()) == isl_bool_true) {
    return shape_of_tuple(space);
  }
  if (isl_space_is_params(space.get()) == isl_bool_true) {
    return {};
  }
  TupleShape shape;
  shape.nested = {shape_of_tuple(checked(space.domain(), doing_tuple_shape)),
                  shape_of_tuple(checked(space.range(), doing_tuple_shape))};
  for (const TupleShape &part : shape.nested) {
    shape.dimensions.insert(shape.dimensions.end(), part.dimensions.begin(), part.dimensions.end());
  }
  return shape;
}

void require_matching(const std::vector<TupleShape> &first, const std::vector<TupleShape> &second,
                      const char *what) {
  const auto has = [](const std::vector<TupleShape> &shapes, const auto &test) {
    return std::find_if(shapes.begin(), shapes.end(), test) != shapes.end();
  };
  for (const TupleShape &shape : first) {
    const auto is_named_so = [&](const TupleShape &each) { return each.name == shape.name; };
    const auto is_in_both = [&](const TupleShape &each) {
      return is_named_so(each) &&
             has(second, [&](const TupleShape &other) { return other.matches(each); });
    };
    const auto other = std::find_if(second.begin(), second.end(), is_named_so);
    if (other != second.end() && !has(first, is_in_both)) {
      const std::string tuple = shape.name.empty() ? "the tuple without a name" : shape.name;
      throw Error(ErrorKind::Set, std::string(what) + ": " + tuple + " has " + extent_text(shape) +
                                      " in the first operand and " + extent_text(*other) +
                                      " in the second; bring both into one space, by "
                                      "project_out(...) or by a map, or give one another name");
    }
  }
}

} // namespace tilewright
