#include "polyhedral/cardinality.h"

#include "polyhedral/integer_set_parts.h"
#include "polyhedral/polynomial.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/stride_info.h>

#include <algorithm>
#include <utility>

namespace tilewright {

using namespace integer_set_parts;

namespace {

constexpr const char *doing_cardinality = "cardinality";

/// What is to be summed up over the points of a basic set, of which the dimensions are parameters,
/// too.
struct Summand {
  isl::set domain;
  Polynomial value;
};

/// The bounds of a variable on a part of the other parameters.
struct Bounds {
  isl::set domain;
  isl::aff lower;
  isl::aff upper;
};

std::vector<std::pair<isl::set, isl::aff>> pieces_of(const isl::pw_aff &function,
                                                     const isl::space &space) {
  std::vector<std::pair<isl::set, isl::aff>> pieces;
  const isl::stat status = function.foreach_piece([&](const isl::set &set, const isl::aff &aff) {
    pieces.emplace_back(isl::manage(isl_set_align_params(isl_set_params(set.copy()), space.copy())),
                        isl::manage(isl_aff_align_params(
                            isl_aff_project_domain_on_params(aff.copy()), space.copy())));
    return isl::stat::ok();
  });
  if (status.is_error()) {
    throw_isl_error(doing_cardinality);
  }
  return pieces;
}

class Summation {
public:
  /// `space`: of the parameters and variables.
  explicit Summation(const isl::space &space) : space_(space) {}

  /// Sums up over all `variables`, in whatever order that can be done.
  std::optional<std::vector<Summand>> over(const Summand &summand,
                                           const std::vector<std::string> &variables) {
    if (variables.empty()) {
      return std::vector<Summand>{summand};
    }
    for (size_t v = variables.size(); v-- > 0;) {
      std::vector<std::string> others = variables;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(v));
      if (auto all = with_first(summand, variables[v], others)) {
        return all;
      }
    }
    return std::nullopt;
  }

private:
  std::optional<std::vector<Summand>> with_first(const Summand &summand,
                                                 const std::string &variable,
                                                 const std::vector<std::string> &others) {
    constexpr int most_steps = 500;
    if (++steps_ > most_steps) {
      return std::nullopt;
    }
    const std::optional<std::vector<Summand>> sums = over_one(summand, variable);
    if (!sums) {
      return std::nullopt;
    }
    std::vector<Summand> all;
    for (const Summand &sum : *sums) {
      auto rest = over(sum, others);
      if (!rest) {
        return std::nullopt;
      }
      all.insert(all.end(), rest->begin(), rest->end());
    }
    return all;
  }

  std::optional<std::vector<Summand>> over_one(const Summand &summand,
                                               const std::string &variable) const {
    const auto position = static_cast<unsigned>(
        isl_space_find_dim_by_name(space_.get(), isl_dim_param, variable.c_str()));
    if (summand.value.divides(position)) {
      return std::nullopt;
    }
    // As a set of the values of the variable.
    const isl::set values =
        checked(isl::manage(isl_set_move_dims(isl_set_from_params(summand.domain.copy()),
                                              isl_dim_set, 0, isl_dim_param, position, 1)),
                doing_cardinality);
    if (isl_set_dim_has_lower_bound(values.get(), isl_dim_set, 0) != isl_bool_true ||
        isl_set_dim_has_upper_bound(values.get(), isl_dim_set, 0) != isl_bool_true) {
      return std::nullopt;
    }
    isl_stride_info *info = isl_set_get_stride_info(values.get(), 0);
    const isl::val stride = isl::manage(isl_stride_info_get_stride(info));
    isl_stride_info_free(info);
    const isl::val step = checked(stride, doing_cardinality);
    std::vector<Summand> sums;
    for (const Bounds &bounds : bounds_of(values)) {
      if (!are_all_there(summand.domain, bounds, variable, step)) {
        return std::nullopt;
      }
      const Polynomial lower(bounds.lower);
      const Polynomial count = (Polynomial(bounds.upper) - lower) / step; // minus one
      const Polynomial sum = summand.value.sum(position, lower, step, count);
      const isl::set simple =
          checked(isl::manage(isl_set_compute_divs(isl_set_make_disjoint(bounds.domain.copy()))),
                  doing_cardinality);
      const isl::basic_set_list parts = checked(simple.basic_set_list(), doing_cardinality);
      const auto number = static_cast<int>(checked(parts.size(), doing_cardinality));
      for (int p = 0; p < number; ++p) {
        sums.push_back({isl::set(checked(parts.at(p), doing_cardinality)), sum});
      }
    }
    return sums;
  }

  std::vector<Bounds> bounds_of(const isl::set &values) const {
    const isl::pw_aff upper =
        checked(isl::manage(isl_set_dim_max(values.copy(), 0)), doing_cardinality).coalesce();
    const isl::pw_aff lower =
        checked(isl::manage(isl_set_dim_min(values.copy(), 0)), doing_cardinality).coalesce();
    std::vector<Bounds> all;
    for (const auto &[above, last] : pieces_of(upper, space_)) {
      for (const auto &[below, first] : pieces_of(lower, space_)) {
        const isl::set domain = checked(above.intersect(below), doing_cardinality);
        if (!checked(domain.is_empty(), doing_cardinality)) {
          all.push_back({domain, first, last});
        }
      }
    }
    return all;
  }

  /// Whether the variable has each value from the lower to the upper bound, in these steps.
  bool are_all_there(const isl::set &domain, const Bounds &bounds, const std::string &variable,
                     const isl::val &step) const {
    const isl::id id = isl::manage(isl_id_alloc(isl_context().get(), variable.c_str(), nullptr));
    const isl::aff value = isl::manage(isl_aff_param_on_domain_space_id(space_.copy(), id.copy()));
    const isl::aff above = checked(value.sub(bounds.lower), doing_cardinality);
    const isl::aff rest = checked(above.mod(step), doing_cardinality);
    const isl::aff zero = isl::manage(isl_aff_zero_on_domain_space(space_.copy()));
    const isl::set expected =
        bounds.domain.intersect(isl::manage(isl_aff_ge_set(above.copy(), zero.copy())))
            .intersect(isl::manage(isl_aff_le_set(value.copy(), bounds.upper.copy())))
            .intersect(isl::manage(isl_aff_eq_set(rest.copy(), zero.copy())));
    return checked(expected.is_equal(domain.intersect(bounds.domain)), doing_cardinality);
  }

  isl::space space_;
  int steps_ = 0;
};

/// The names that the dimensions of a set have as parameters; nobody can write them.
std::string variable_name(unsigned dimension) { return "#" + std::to_string(dimension); }

/// The polynomial of a set without its variables.
isl_pw_qpolynomial *without_variables(const Summand &sum, unsigned parameters, unsigned count) {
  isl_set *domain = isl_set_project_out(sum.domain.copy(), isl_dim_param, parameters, count);
  return isl_pw_qpolynomial_alloc(domain, sum.value.without(parameters, count).copy());
}

/// Nothing where a part of the set cannot be summed up.
isl_pw_qpolynomial *count_symbolically(const isl::set &set) {
  const unsigned dimensions = checked(set.tuple_dim(), doing_cardinality);
  const auto parameters = static_cast<unsigned>(parameter_names(set).size());
  isl_set *flat = isl_set_reset_tuple_id(isl_set_flatten(set.copy()));
  std::vector<std::string> variables;
  for (unsigned d = 0; d < dimensions; ++d) {
    variables.push_back(variable_name(d));
    flat = isl_set_set_dim_name(flat, isl_dim_set, d, variables.back().c_str());
  }
  flat = isl_set_params(
      isl_set_move_dims(flat, isl_dim_param, parameters, isl_dim_set, 0, dimensions));
  const isl::set simple =
      checked(isl::manage(isl_set_compute_divs(isl_set_make_disjoint(isl_set_coalesce(flat)))),
              doing_cardinality);
  const isl::space space = simple.space();
  isl_pw_qpolynomial *total = isl_pw_qpolynomial_zero(isl_space_add_dims(
      isl_space_from_domain(isl_set_get_space(set.params().get())), isl_dim_out, 1));
  const isl::basic_set_list parts = checked(simple.basic_set_list(), doing_cardinality);
  const auto number = static_cast<int>(checked(parts.size(), doing_cardinality));
  Summation summation(space);
  for (int p = 0; p < number; ++p) {
    const auto sums = summation.over(
        {isl::set(checked(parts.at(p), doing_cardinality)), Polynomial::one(space)}, variables);
    if (!sums) {
      isl_pw_qpolynomial_free(total);
      return nullptr;
    }
    for (const Summand &sum : *sums) {
      total = isl_pw_qpolynomial_add(total, without_variables(sum, parameters, dimensions));
    }
  }
  if (total == nullptr) {
    throw_isl_error(doing_cardinality);
  }
  return total;
}

/// The points of which one dimension leaves this rest when it is divided, with the quotient in its
/// place: as many as those.
isl::set residue_class(const isl::set &set, unsigned dimension, int modulus, int rest) {
  isl_multi_aff *substitution =
      isl_multi_aff_identity(isl_space_map_from_set(set.space().release()));
  isl_aff *value = isl_multi_aff_get_aff(substitution, static_cast<int>(dimension));
  value = isl_aff_scale_val(value, isl_val_int_from_si(isl_context().get(), modulus));
  value = isl_aff_add_constant_si(value, rest);
  substitution = isl_multi_aff_set_aff(substitution, static_cast<int>(dimension), value);
  return checked(isl::manage(isl_set_preimage_multi_aff(set.copy(), substitution)),
                 doing_cardinality);
}

/// Of a checkerboard, each colour's rows may be counted: those of even and those of odd numbers.
isl_pw_qpolynomial *count_by_residues(const isl::set &set) {
  constexpr int largest_modulus = 4;
  constexpr unsigned most_dimensions = 3;
  const unsigned dimensions = checked(set.tuple_dim(), doing_cardinality);
  const isl::set flat = checked(isl::manage(isl_set_flatten(set.copy())), doing_cardinality);
  for (int modulus = 2; dimensions <= most_dimensions && modulus <= largest_modulus; ++modulus) {
    for (unsigned d = 0; d < dimensions; ++d) {
      isl_pw_qpolynomial *total = count_symbolically(residue_class(flat, d, modulus, 0));
      for (int rest = 1; total != nullptr && rest < modulus; ++rest) {
        isl_pw_qpolynomial *count = count_symbolically(residue_class(flat, d, modulus, rest));
        total = count == nullptr ? isl_pw_qpolynomial_free(total)
                                 : isl_pw_qpolynomial_add(total, count);
      }
      if (total != nullptr) {
        return total;
      }
    }
  }
  return nullptr;
}

} // namespace

Cardinality::Cardinality(isl_pw_qpolynomial *polynomial)
    : polynomial_(polynomial, [](isl_pw_qpolynomial *p) { isl_pw_qpolynomial_free(p); }) {}

std::string Cardinality::text() const {
  const OperationLimit limit(operation_limit);
  return text_of(isl_pw_qpolynomial_to_str(polynomial_.get()));
}

std::vector<std::string> Cardinality::parameters() const {
  const OperationLimit limit(operation_limit);
  return parameters_of(checked(isl::manage(isl_pw_qpolynomial_get_domain_space(polynomial_.get())),
                               doing_cardinality));
}

std::string Cardinality::at(const std::map<std::string, std::int64_t> &values) const {
  const OperationLimit limit(operation_limit);
  const isl::space space = checked(
      isl::manage(isl_pw_qpolynomial_get_domain_space(polynomial_.get())), doing_cardinality);
  std::vector<std::string> names;
  for (const auto &[name, value] : values) {
    names.push_back(name);
  }
  const std::vector<std::string> known = parameters();
  require_parameters(names, known, doing_cardinality);
  isl_point *point = isl_point_zero(space.copy());
  for (unsigned p = 0; p < known.size(); ++p) {
    const auto found = values.find(known[p]);
    if (found == values.end()) {
      isl_point_free(point);
      throw Error(ErrorKind::Set, std::string(doing_cardinality) + ": " + known[p] +
                                      " has no value; there are " + joined(known));
    }
    point = isl_point_set_coordinate_val(point, isl_dim_param, static_cast<int>(p),
                                         isl_val_int_from_si(isl_context().get(), found->second));
  }
  const isl::val value = checked(
      isl::manage(isl_pw_qpolynomial_eval(isl_pw_qpolynomial_copy(polynomial_.get()), point)),
      doing_cardinality);
  return text_of(isl_val_to_str(value.get()));
}

std::optional<Cardinality> cardinality_of(const IntegerSet &set) {
  const OperationLimit limit(operation_limit);
  require_points(set, doing_cardinality);
  isl_pw_qpolynomial *total = nullptr;
  for (const isl::set &part : sets_of(set.points())) {
    if (!checked(isl::manage(isl_set_is_bounded(part.get())), doing_cardinality)) {
      throw Error(ErrorKind::Set, std::string(doing_cardinality) + ": " +
                                      shape_of(part.space()).text() +
                                      " has infinitely many points: " + braced_text(part));
    }
    isl_pw_qpolynomial *count = count_symbolically(part);
    count = count == nullptr ? count_by_residues(part) : count;
    if (count == nullptr) {
      isl_pw_qpolynomial_free(total);
      return std::nullopt;
    }
    total = total == nullptr ? count : isl_pw_qpolynomial_add(total, count);
  }
  if (total == nullptr) {
    const isl::space space = checked(set.points().space(), doing_cardinality);
    total = isl_pw_qpolynomial_zero(
        isl_space_add_dims(isl_space_from_domain(isl_space_params(space.copy())), isl_dim_out, 1));
  }
  return Cardinality(isl_pw_qpolynomial_coalesce(total));
}

} // namespace tilewright
