// The way back: isl functions as expressions that people and the loop IR read.
#include "algorithm/affine.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/set.h>

#include <cstdint>
#include <exception>
#include <utility>

namespace tilewright {

namespace {

ExprPtr integer(std::int64_t value) { return constant(value, Int64); }

std::int64_t take_integer(isl_val *value, const char *what) {
  const isl::val owned = checked(isl::manage(value), what);
  if (isl_val_is_int(owned.get()) != isl_bool_true) {
    throw Error(ErrorKind::Internal, std::string(what) + ": a coefficient is not an integer");
  }
  isl_ctx_reset_error(isl_context().get()); // that of a text which isl could not read, say
  const long result = isl_val_get_num_si(owned.get());
  if (isl_ctx_last_error(isl_context().get()) != isl_error_none) {
    isl_ctx_reset_error(isl_context().get());
    throw Error(ErrorKind::Limit, std::string(what) + ": a coefficient does not fit 64 bits");
  }
  return result;
}

/// coefficient * factor; a null factor stands for 1.
struct Term {
  std::int64_t coefficient;
  ExprPtr factor;
};

ExprPtr term_expression(const Term &term) {
  const std::int64_t magnitude = term.coefficient < 0 ? -term.coefficient : term.coefficient;
  if (term.factor == nullptr) {
    return integer(magnitude);
  }
  return magnitude == 1 ? term.factor : binary(Op::Mul, integer(magnitude), term.factor);
}

/// Positive terms first, the constant last: "2 * i + N - 1".
ExprPtr sum_of(const std::vector<Term> &terms) {
  ExprPtr sum;
  for (const Term &term : terms) {
    if (term.coefficient > 0) {
      sum = sum == nullptr ? term_expression(term) : binary(Op::Add, sum, term_expression(term));
    }
  }
  for (const Term &term : terms) {
    if (term.coefficient >= 0) {
      continue;
    }
    if (sum != nullptr) {
      sum = binary(Op::Sub, sum, term_expression(term));
    } else {
      sum = term.factor == nullptr ? integer(term.coefficient)
                                   : unary(Op::Neg, term_expression(term));
    }
  }
  return sum == nullptr ? integer(0) : sum;
}

class Reader {
public:
  explicit Reader(const std::vector<std::string> &iterators) : iterators_(iterators) {}

  ExprPtr function(const isl::aff &aff) const {
    const std::int64_t denominator = take_integer(isl_aff_get_denominator_val(aff.get()),
                                                  "reading the denominator of a function");
    if (denominator == 1) {
      return whole_function(aff);
    }
    return binary(Op::FloorDiv, sum_of(terms(scaled(aff, denominator))), integer(denominator));
  }

  /// Null when the set is everything.
  ExprPtr condition(const isl::set &set) const {
    const isl::set explicit_divisions = checked(
        isl::manage(isl_set_compute_divs(isl_set_coalesce(set.copy()))), "reading a condition");
    ExprPtr any;
    bool everything = false;
    const isl::basic_set_list parts =
        checked(explicit_divisions.basic_set_list(), "reading a condition");
    const isl_size count = isl_basic_set_list_n_basic_set(parts.get());
    for (isl_size p = 0; p < count; ++p) {
      const isl::basic_set part =
          checked(isl::manage(isl_basic_set_list_get_at(parts.get(), p)), "reading a condition");
      const ExprPtr all = conjunction(part);
      everything = everything || all == nullptr;
      any = any == nullptr || all == nullptr ? all : binary(Op::Or, any, all);
      if (everything) {
        return nullptr;
      }
    }
    return count == 0 ? constant(false, Bool) : any;
  }

private:
  /// isl keeps remainders small: floor((i + 3)/4) arrives as floor((i - 1)/4) + 1, and is put
  /// together again.
  ExprPtr whole_function(const isl::aff &aff) const {
    std::vector<Term> sum = terms(aff);
    if (sum.size() != 2 || sum[1].factor != nullptr) {
      return sum_of(sum);
    }
    // Of the divisions that a function lists, it may use none: it may be a parameter and a
    // constant.
    isl_size used = 0;
    const isl_size divisions = isl_aff_dim(aff.get(), isl_dim_div);
    const auto coefficient = [&](isl_size division) {
      return take_integer(isl_aff_get_coefficient_val(aff.get(), isl_dim_div, division),
                          "reading a coefficient");
    };
    while (used < divisions && coefficient(used) != 1) {
      ++used;
    }
    if (used == divisions) {
      return sum_of(sum);
    }
    const isl::aff division =
        checked(isl::manage(isl_aff_get_div(aff.get(), used)), "reading a division");
    const isl::val offset =
        checked(isl::manage(isl_aff_get_constant_val(aff.get())), "reading a constant");
    return function(checked(isl::manage(isl_aff_add_constant_val(division.copy(), offset.copy())),
                            "reading a division"));
  }

  static isl::aff scaled(const isl::aff &aff, std::int64_t factor) {
    isl_val *value = isl_val_int_from_si(isl_context().get(), factor);
    return checked(isl::manage(isl_aff_scale_val(aff.copy(), value)), "reading a function");
  }

  std::vector<Term> terms(const isl::aff &aff) const {
    std::vector<Term> result;
    const auto append = [&](isl_dim_type type, isl_size position, const auto &factor) {
      const std::int64_t coefficient = take_integer(
          isl_aff_get_coefficient_val(aff.get(), type, position), "reading a coefficient");
      if (coefficient != 0) {
        result.push_back({coefficient, factor()});
      }
    };
    for (isl_size d = 0; d < isl_aff_dim(aff.get(), isl_dim_in); ++d) {
      append(isl_dim_in, d, [&] { return iterator(iterators_.at(d)); });
    }
    for (isl_size p = 0; p < isl_aff_dim(aff.get(), isl_dim_param); ++p) {
      append(isl_dim_param, p,
             [&] { return parameter(isl_aff_get_dim_name(aff.get(), isl_dim_param, p)); });
    }
    for (isl_size d = 0; d < isl_aff_dim(aff.get(), isl_dim_div); ++d) {
      append(isl_dim_div, d, [&] {
        return function(checked(isl::manage(isl_aff_get_div(aff.get(), d)), "reading a division"));
      });
    }
    const std::int64_t constant_term =
        take_integer(isl_aff_get_constant_val(aff.get()), "reading a constant");
    if (constant_term != 0) {
      result.push_back({constant_term, nullptr});
    }
    return result;
  }

  /// The constraint with only positive terms on both sides: "j + 1 <= i".
  ExprPtr comparison(const isl::constraint &constraint) const {
    const isl::aff aff =
        checked(isl::manage(isl_constraint_get_aff(constraint.get())), "reading a constraint");
    std::vector<Term> left;
    std::vector<Term> right;
    for (const Term &term : terms(aff)) {
      if (term.coefficient > 0) {
        left.push_back(term);
      } else {
        right.push_back({-term.coefficient, term.factor});
      }
    }
    const bool equality = isl_constraint_is_equality(constraint.get()) == isl_bool_true;
    return binary(equality ? Op::Eq : Op::Ge, sum_of(left), sum_of(right));
  }

  ExprPtr conjunction(const isl::basic_set &set) const {
    ExprPtr all;
    const auto take = [&](const isl::constraint &constraint) {
      // The two bounds that define a division follow from the division itself.
      if (isl_constraint_is_div_constraint(constraint.get()) != isl_bool_true) {
        const ExprPtr next = comparison(constraint);
        all = all == nullptr ? next : binary(Op::And, all, next);
      }
    };
    struct Walk {
      const decltype(take) &visit;
      std::exception_ptr failure;
    } walk{take, nullptr};
    const isl_stat walked = isl_basic_set_foreach_constraint(
        set.get(),
        [](isl_constraint *raw, void *user) {
          Walk &state = *static_cast<Walk *>(user);
          try { // no exception may cross isl's C frames
            state.visit(isl::manage(raw));
          } catch (...) {
            state.failure = std::current_exception();
            return isl_stat_error;
          }
          return isl_stat_ok;
        },
        &walk);
    if (walk.failure) {
      std::rethrow_exception(walk.failure);
    }
    if (walked != isl_stat_ok) {
      throw_isl_error("reading a condition");
    }
    return all;
  }

  const std::vector<std::string> &iterators_;
};

/// Whether `affine` is `candidate` everywhere on its own domain.
bool agrees(const isl::pw_aff &affine, const isl::pw_aff &candidate) {
  const isl::pw_aff restricted = candidate.intersect_domain(affine.domain());
  return checked(affine.is_equal(restricted), "comparing functions");
}

} // namespace

ExprPtr from_affine(const isl::pw_aff &affine, const std::vector<std::string> &iterators) {
  const OperationLimit limit(5'000'000);
  const isl::pw_aff function = checked(affine.coalesce(), "simplifying a function");
  std::vector<std::pair<isl::set, isl::aff>> pieces;
  const isl::stat walked = function.foreach_piece([&](const isl::set &domain, const isl::aff &aff) {
    pieces.emplace_back(domain, aff);
    return isl::stat::ok();
  });
  if (walked.is_error()) {
    throw_isl_error("reading the pieces of a function");
  }
  if (pieces.empty()) {
    return integer(0);
  }
  const Reader reader(iterators);
  if (pieces.size() == 1) {
    return reader.function(pieces.front().second);
  }
  constexpr size_t few = 4;
  if (pieces.size() <= few) {
    for (const Op op : {Op::Max, Op::Min}) {
      isl::pw_aff candidate(pieces.front().second);
      for (size_t p = 1; p < pieces.size(); ++p) {
        const isl::pw_aff piece(pieces[p].second);
        candidate = op == Op::Max ? candidate.max(piece) : candidate.min(piece);
      }
      if (agrees(function, candidate)) {
        ExprPtr result = reader.function(pieces.front().second);
        for (size_t p = 1; p < pieces.size(); ++p) {
          result = binary(op, result, reader.function(pieces[p].second));
        }
        return result;
      }
    }
  }
  const isl::set whole = checked(function.domain(), "reading the domain of a function");
  ExprPtr result = reader.function(pieces.back().second);
  for (size_t p = pieces.size() - 1; p-- > 0;) {
    const ExprPtr condition = reader.condition(pieces[p].first.gist(whole));
    const ExprPtr value = reader.function(pieces[p].second);
    result = condition == nullptr ? value : select(condition, value, result);
  }
  return result;
}

ExprPtr from_set(const isl::set &set, const std::vector<std::string> &iterators) {
  const OperationLimit limit(5'000'000);
  return Reader(iterators).condition(set);
}

} // namespace tilewright
