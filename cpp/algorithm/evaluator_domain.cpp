#include "algorithm/evaluator_domain.h"

#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/mat.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>

namespace tilewright {

namespace {

std::int64_t integer_of(const isl::val &value) {
  checked(value, "reading a coefficient");
  if (!value.is_int().is_true()) {
    throw Error(ErrorKind::Internal,
                "a constraint of a domain has a coefficient that is not an integer");
  }
  return isl_val_get_num_si(value.get());
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && a < 0 ? quotient - 1 : quotient; // b > 0
}

} // namespace

isl::set fix_parameters(isl::set set, const std::map<std::string, std::int64_t> &parameters) {
  const isl_size count = isl_set_dim(checked(set, "a domain").get(), isl_dim_param);
  for (isl_size i = 0; i < count; ++i) {
    const char *name = isl_set_get_dim_name(set.get(), isl_dim_param, static_cast<unsigned>(i));
    const auto given = parameters.find(name != nullptr ? name : "");
    if (given == parameters.end()) {
      throw Error(ErrorKind::Argument, "parameter '" + std::string(name != nullptr ? name : "?") +
                                           "' has no value in this call");
    }
    isl_val *value = isl_val_int_from_si(set.ctx().get(), given->second);
    set =
        isl::manage(isl_set_fix_val(set.release(), isl_dim_param, static_cast<unsigned>(i), value));
    set = checked(set, "fixing a parameter");
  }
  return checked(isl::manage(isl_set_project_out(set.release(), isl_dim_param, 0,
                                                 static_cast<unsigned>(count))),
                 "fixing the parameters");
}

std::int64_t Box::offset(std::span<const std::int64_t> point) const {
  std::int64_t offset = 0;
  for (size_t i = 0; i < extent.size(); ++i) {
    // Also right for points far away, where the difference would overflow.
    if (point[i] < lower[i] ||
        static_cast<std::uint64_t>(point[i]) - static_cast<std::uint64_t>(lower[i]) >=
            static_cast<std::uint64_t>(extent[i])) {
      return -1;
    }
    offset = offset * extent[i] + (point[i] - lower[i]);
  }
  return points > 0 ? offset : -1;
}

void Box::point_at(std::int64_t offset, std::span<std::int64_t> point) const {
  for (size_t i = extent.size(); i-- > 0;) {
    point[i] = lower[i] + offset % extent[i];
    offset /= extent[i];
  }
}

Box bounding_box(const isl::set &set, std::int64_t limit, const std::string &what) {
  const isl_size rank = isl_set_dim(checked(set, "a domain").get(), isl_dim_set);
  Box box;
  box.lower.assign(static_cast<size_t>(rank), 0);
  box.extent.assign(static_cast<size_t>(rank), 0);
  if (checked(set.is_empty(), "testing a domain for emptiness")) {
    return box;
  }
  box.points = 1;
  for (isl_size i = 0; i < rank; ++i) {
    const isl::val lower =
        checked(isl::manage(isl_set_dim_min_val(set.copy(), static_cast<int>(i))), "a lower bound");
    const isl::val upper = checked(
        isl::manage(isl_set_dim_max_val(set.copy(), static_cast<int>(i))), "an upper bound");
    if (!lower.is_int().is_true() || !upper.is_int().is_true()) {
      throw Error(ErrorKind::Argument,
                  "the domain of " + what + " is unbounded in dimension " + std::to_string(i) +
                      "; the evaluator keeps every instance and needs a finite box");
    }
    const std::int64_t first = integer_of(lower);
    const std::int64_t extent = integer_of(upper) - first + 1;
    if (extent > limit / box.points) {
      throw Error(ErrorKind::Argument,
                  "the domain of " + what + " spans more than " + std::to_string(limit) +
                      " instances; the evaluator keeps every one and cannot run it");
    }
    box.lower[static_cast<size_t>(i)] = first;
    box.extent[static_cast<size_t>(i)] = extent;
    box.points *= extent;
  }
  return box;
}

DomainTest::DomainTest(const isl::set &set) {
  const isl::set explicit_divisions =
      checked(isl::manage(isl_set_compute_divs(set.copy())), "the divisions of a domain");
  rank_ = static_cast<size_t>(isl_set_dim(explicit_divisions.get(), isl_dim_set));
  const isl::basic_set_list parts =
      checked(isl::manage(isl_set_get_basic_set_list(explicit_divisions.get())), "a domain");
  const isl_size count = isl_basic_set_list_n_basic_set(parts.get());
  for (isl_size i = 0; i < count; ++i) {
    add(isl::manage(isl_basic_set_list_get_basic_set(parts.get(), static_cast<int>(i))));
  }
}

void DomainTest::add(const isl::basic_set &part) {
  Conjunction result;
  const auto matrix_rows = [&](isl_mat *raw) {
    std::vector<Form> rows;
    const isl_size height = isl_mat_rows(raw);
    const isl_size width = isl_mat_cols(raw);
    for (isl_size r = 0; r < height; ++r) {
      Form form;
      for (isl_size c = 0; c < width; ++c) {
        const std::int64_t element = integer_of(isl::manage(isl_mat_get_element_val(raw, r, c)));
        if (c + 1 < width) {
          form.coefficients.push_back(element);
        } else {
          form.constant = element;
        }
      }
      while (!form.coefficients.empty() && form.coefficients.back() == 0) {
        form.coefficients.pop_back();
      }
      rows.push_back(std::move(form));
    }
    isl_mat_free(raw);
    return rows;
  };
  checked(part, "a part of a domain");
  result.equalities = matrix_rows(isl_basic_set_equalities_matrix(
      part.get(), isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst));
  result.inequalities = matrix_rows(isl_basic_set_inequalities_matrix(
      part.get(), isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst));

  isl_local_space *local = isl_basic_set_get_local_space(part.get());
  const isl_size count = isl_local_space_dim(local, isl_dim_div);
  std::vector<Division> divisions;
  for (isl_size i = 0; i < count; ++i) {
    const isl::aff argument = isl::manage(isl_local_space_get_div(local, static_cast<int>(i)));
    if (argument.is_null()) {
      isl_local_space_free(local);
      throw_isl_error("the divisions of a domain");
    }
    const isl::val denominator = isl::manage(isl_aff_get_denominator_val(argument.get()));
    const auto scaled = [&](const isl::val &value) { return integer_of(value.mul(denominator)); };
    Division division;
    division.position = rank_ + static_cast<size_t>(i);
    division.denominator = integer_of(denominator);
    for (size_t d = 0; d < rank_; ++d) {
      division.numerator.coefficients.push_back(scaled(isl::manage(
          isl_aff_get_coefficient_val(argument.get(), isl_dim_in, static_cast<int>(d)))));
    }
    for (isl_size d = 0; d < count; ++d) {
      division.numerator.coefficients.push_back(scaled(isl::manage(
          isl_aff_get_coefficient_val(argument.get(), isl_dim_div, static_cast<int>(d)))));
    }
    division.numerator.constant = scaled(isl::manage(isl_aff_get_constant_val(argument.get())));
    divisions.push_back(std::move(division));
  }
  isl_local_space_free(local);

  // An order in which each division uses only those before it.
  std::vector<bool> known(divisions.size(), false);
  while (result.divisions.size() < divisions.size()) {
    const size_t before = result.divisions.size();
    for (size_t i = 0; i < divisions.size(); ++i) {
      bool ready = !known[i];
      for (size_t d = 0; ready && d < divisions.size(); ++d) {
        ready = known[d] || divisions[i].numerator.coefficients[rank_ + d] == 0;
      }
      if (ready) {
        known[i] = true;
        result.divisions.push_back(divisions[i]);
      }
    }
    if (result.divisions.size() == before) {
      throw Error(ErrorKind::Internal, "the divisions of a domain depend on each other");
    }
  }
  variables_.resize(std::max(variables_.size(), rank_ + divisions.size()));
  parts_.push_back(std::move(result));
}

std::int64_t DomainTest::value(const Form &form) const {
  std::int64_t sum = form.constant;
  for (size_t i = 0; i < form.coefficients.size(); ++i) {
    sum += form.coefficients[i] * variables_[i];
  }
  return sum;
}

bool DomainTest::holds(const Conjunction &part) {
  for (const Division &division : part.divisions) {
    variables_[division.position] = floor_quotient(value(division.numerator), division.denominator);
  }
  return std::all_of(part.equalities.begin(), part.equalities.end(),
                     [&](const Form &f) { return value(f) == 0; }) &&
         std::all_of(part.inequalities.begin(), part.inequalities.end(),
                     [&](const Form &f) { return value(f) >= 0; });
}

bool DomainTest::contains(std::span<const std::int64_t> point) {
  variables_.resize(std::max(variables_.size(), rank_));
  std::copy(point.begin(), point.end(), variables_.begin());
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Conjunction &part) { return holds(part); });
}

} // namespace tilewright
