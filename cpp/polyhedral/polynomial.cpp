#include "polyhedral/polynomial.h"

#include <isl/aff.h>
#include <isl/val.h>

#include <algorithm>
#include <vector>

namespace tilewright {

namespace {

constexpr const char *doing_polynomial = "cardinality";

isl::val integer(std::int64_t value) {
  return isl::manage(isl_val_int_from_si(isl_context().get(), value));
}

isl::val binomial(unsigned n, unsigned k) {
  isl::val result = integer(1);
  for (unsigned i = 1; i <= k; ++i) {
    result = result.mul(integer(n - k + i)).div(integer(i));
  }
  return checked(result, doing_polynomial);
}

/// A term without its factors of so many parameters from the first on, on a space that has these
/// or, if it is narrower, has not. isl itself does neither where there are integer divisions.
isl_qpolynomial *rebuilt(isl_term *term, const isl::space &space, unsigned first, unsigned count,
                         bool is_narrower) {
  isl_qpolynomial *product =
      isl_qpolynomial_val_on_domain(space.copy(), isl_term_get_coefficient_val(term));
  const auto times = [&](isl_qpolynomial *factor, isl_size exponent) {
    product = isl_qpolynomial_mul(
        product, isl_qpolynomial_pow(factor, static_cast<unsigned>(std::max(0, exponent))));
  };
  const isl_size parameters = isl_term_dim(term, isl_dim_param);
  for (unsigned p = 0; p < static_cast<unsigned>(std::max(0, parameters)); ++p) {
    if (p < first || p >= first + count) {
      const unsigned here = is_narrower && p >= first + count ? p - count : p;
      times(isl_qpolynomial_var_on_domain(space.copy(), isl_dim_param, here),
            isl_term_get_exp(term, isl_dim_param, p));
    }
  }
  const isl_size divs = isl_term_dim(term, isl_dim_div);
  for (unsigned d = 0; d < static_cast<unsigned>(std::max(0, divs)); ++d) {
    if (const isl_size exponent = isl_term_get_exp(term, isl_dim_div, d); exponent > 0) {
      isl_aff *div = isl_term_get_div(term, d);
      div = is_narrower ? isl_aff_drop_dims(div, isl_dim_param, first, count) : div;
      times(isl_qpolynomial_from_aff(isl_aff_floor(div)), exponent);
    }
  }
  return product;
}

} // namespace

/// One of the sum that a polynomial is.
struct Polynomial::Term {
  Polynomial value;  ///< where the parameter is 1
  unsigned exponent; ///< of the parameter
};

Polynomial::Polynomial(isl_qpolynomial *taken)
    : polynomial_(taken, [](isl_qpolynomial *p) { isl_qpolynomial_free(p); }) {
  if (taken == nullptr || isl_work_is_spent) {
    throw_isl_error(doing_polynomial);
  }
}

Polynomial::Polynomial(const isl::aff &function)
    : Polynomial(isl_qpolynomial_from_aff(function.copy())) {}

Polynomial Polynomial::one(const isl::space &space) {
  return Polynomial(isl_qpolynomial_one_on_domain(space.copy()));
}

Polynomial Polynomial::operator+(const Polynomial &other) const {
  return Polynomial(isl_qpolynomial_add(copy(), other.copy()));
}

Polynomial Polynomial::operator-(const Polynomial &other) const {
  return Polynomial(isl_qpolynomial_sub(copy(), other.copy()));
}

Polynomial Polynomial::operator*(const Polynomial &other) const {
  return Polynomial(isl_qpolynomial_mul(copy(), other.copy()));
}

Polynomial Polynomial::operator/(const isl::val &divisor) const {
  return Polynomial(isl_qpolynomial_scale_down_val(copy(), divisor.copy()));
}

Polynomial Polynomial::operator*(const isl::val &factor) const {
  return Polynomial(isl_qpolynomial_scale_val(copy(), factor.copy()));
}

Polynomial Polynomial::power(unsigned exponent) const {
  return Polynomial(isl_qpolynomial_pow(copy(), exponent));
}

std::vector<Polynomial::Term> Polynomial::terms(unsigned position) const {
  struct Search {
    isl::space space;
    unsigned position;
    std::vector<std::pair<isl_qpolynomial *, unsigned>> found;
  };
  Search search{
      checked(isl::manage(isl_qpolynomial_get_domain_space(polynomial_.get())), doing_polynomial),
      position,
      {}};
  const isl_stat status = isl_qpolynomial_foreach_term(
      polynomial_.get(),
      [](isl_term *term, void *user) {
        auto &into = *static_cast<Search *>(user);
        const isl_size exponent = isl_term_get_exp(term, isl_dim_param, into.position);
        into.found.emplace_back(rebuilt(term, into.space, into.position, 1, false),
                                static_cast<unsigned>(exponent));
        isl_term_free(term);
        return exponent < 0 ? isl_stat_error : isl_stat_ok;
      },
      &search);
  std::vector<Term> all;
  for (const auto &[value, exponent] : search.found) {
    if (status == isl_stat_ok && value != nullptr) {
      all.push_back({Polynomial(value), exponent});
    } else {
      isl_qpolynomial_free(value);
    }
  }
  if (status != isl_stat_ok || all.size() != search.found.size()) {
    throw_isl_error(doing_polynomial);
  }
  return all;
}

bool Polynomial::divides(unsigned position) const {
  struct Search {
    unsigned position;
    bool found = false;
  } search{position};
  const isl_stat status = isl_qpolynomial_foreach_term(
      polynomial_.get(),
      [](isl_term *term, void *user) {
        auto &into = *static_cast<Search *>(user);
        const isl_size count = isl_term_dim(term, isl_dim_div);
        for (isl_size d = 0; d < count; ++d) {
          const auto at = static_cast<unsigned>(d);
          const isl::aff div = isl::manage(isl_term_get_div(term, at));
          into.found = into.found || (isl_term_get_exp(term, isl_dim_div, at) > 0 &&
                                      isl_aff_involves_dims(div.get(), isl_dim_param, into.position,
                                                            1) != isl_bool_false);
        }
        isl_term_free(term);
        return count < 0 ? isl_stat_error : isl_stat_ok;
      },
      &search);
  if (status != isl_stat_ok) {
    throw_isl_error(doing_polynomial);
  }
  return search.found;
}

Polynomial Polynomial::without(unsigned first, unsigned count) const {
  struct Sum {
    isl::space space;
    unsigned first;
    unsigned count;
    isl_qpolynomial *total;
  };
  const isl::space space =
      checked(isl::manage(isl_space_drop_dims(isl_qpolynomial_get_domain_space(polynomial_.get()),
                                              isl_dim_param, first, count)),
              doing_polynomial);
  Sum sum{space, first, count, isl_qpolynomial_zero_on_domain(space.copy())};
  const isl_stat status = isl_qpolynomial_foreach_term(
      polynomial_.get(),
      [](isl_term *term, void *user) {
        auto &into = *static_cast<Sum *>(user);
        into.total = isl_qpolynomial_add(into.total,
                                         rebuilt(term, into.space, into.first, into.count, true));
        isl_term_free(term);
        return into.total == nullptr ? isl_stat_error : isl_stat_ok;
      },
      &sum);
  if (status != isl_stat_ok) {
    isl_qpolynomial_free(sum.total);
    throw_isl_error(doing_polynomial);
  }
  return Polynomial(sum.total);
}

/// 0^e + 1^e + ... + n^e for each e up to the largest exponent: (n + 1)^(e + 1) is the sum of the
/// differences (k + 1)^(e + 1) - k^(e + 1), in which those of lower exponents stand.
std::vector<Polynomial> Polynomial::sums_of_powers(const Polynomial &n, unsigned largest) {
  std::vector<Polynomial> sums;
  const Polynomial next =
      n + one(checked(isl::manage(isl_qpolynomial_get_domain_space(n.polynomial_.get())),
                      doing_polynomial));
  for (unsigned e = 0; e <= largest; ++e) {
    Polynomial rest = next.power(e + 1);
    for (unsigned lower = 0; lower < e; ++lower) {
      rest = rest - sums[lower] * binomial(e + 1, lower);
    }
    sums.push_back(rest / integer(static_cast<std::int64_t>(e) + 1));
  }
  return sums;
}

Polynomial Polynomial::sum(unsigned position, const Polynomial &lower, const isl::val &step,
                           const Polynomial &count) const {
  const std::vector<Term> parts = terms(position);
  unsigned largest = 0;
  for (const Term &term : parts) {
    largest = std::max(largest, term.exponent);
  }
  const std::vector<Polynomial> sums = sums_of_powers(count, largest);
  Polynomial total = *this - *this;
  for (const Term &term : parts) {
    // (lower + step * k)^e, by the powers of k.
    isl::val scale = integer(1);
    for (unsigned of_k = 0; of_k <= term.exponent; ++of_k) {
      const Polynomial rest =
          term.value * lower.power(term.exponent - of_k) * binomial(term.exponent, of_k);
      total = total + rest * sums[of_k] * scale;
      scale = checked(scale.mul(step), doing_polynomial);
    }
  }
  return total;
}

} // namespace tilewright
