#include "polyhedral/relevant_context.h"

#include <isl/constraint.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace tilewright {

namespace {

constexpr const char *doing_relevant_context = "the context of a statement";
constexpr isl_size few_parameters = 16;

std::string text_of(const isl::val &value) {
  char *text = isl_val_to_str(checked(value, doing_relevant_context).get());
  if (text == nullptr) {
    throw_isl_error(doing_relevant_context);
  }
  std::string result = text;
  std::free(text);
  return result;
}

/// A constraint on parameters alone as text, the same wherever the parameters stand; the names of
/// the parameters in any case.
struct ConstraintNames {
  std::vector<std::string> parameters;
  std::string text; ///< empty: on others, too
};

ConstraintNames names_of(isl_constraint *constraint) {
  ConstraintNames names;
  std::map<std::string, std::string> factors;
  const isl_size count = isl_constraint_dim(constraint, isl_dim_param);
  for (isl_size p = 0; p < count; ++p) {
    const isl::val factor = isl::manage(
        isl_constraint_get_coefficient_val(constraint, isl_dim_param, static_cast<int>(p)));
    if (isl_val_is_zero(checked(factor, doing_relevant_context).get()) == isl_bool_false) {
      const char *name =
          isl_constraint_get_dim_name(constraint, isl_dim_param, static_cast<unsigned>(p));
      factors[name] = text_of(factor);
      names.parameters.emplace_back(name);
    }
  }
  for (const isl_dim_type type : {isl_dim_set, isl_dim_div}) {
    const auto others = static_cast<unsigned>(isl_constraint_dim(constraint, type));
    if (isl_constraint_involves_dims(constraint, type, 0, others) != isl_bool_false) {
      return names;
    }
  }
  names.text = isl_constraint_is_equality(constraint) == isl_bool_true ? "= " : ">= ";
  names.text += text_of(isl::manage(isl_constraint_get_constant_val(constraint)));
  for (const auto &[name, factor] : factors) {
    names.text += " " + factor + " " + name;
  }
  return names;
}

std::vector<ConstraintNames> constraints_of(const isl::basic_set &set) {
  std::vector<isl::constraint> all;
  isl_basic_set_foreach_constraint(
      set.get(),
      [](isl_constraint *raw, void *user) {
        static_cast<std::vector<isl::constraint> *>(user)->push_back(isl::manage(raw));
        return isl_stat_ok;
      },
      &all);
  std::vector<ConstraintNames> names;
  names.reserve(all.size());
  for (const isl::constraint &constraint : all) {
    names.push_back(names_of(checked(constraint, doing_relevant_context).get()));
  }
  return names;
}

/// Leaves the parameters out that `goes` says, and all constraints on them.
isl::set without(const isl::set &set, const std::function<bool(const std::string &)> &goes) {
  isl_set *left = set.copy();
  const auto count = static_cast<unsigned>(isl_set_dim(left, isl_dim_param));
  for (unsigned end = count; end > 0;) {
    unsigned begin = end; // of a run
    while (begin > 0 && goes(isl_set_get_dim_name(left, isl_dim_param, begin - 1))) {
      --begin;
    }
    if (begin < end) {
      left = isl_set_drop_constraints_involving_dims(left, isl_dim_param, begin, end - begin);
      left = isl_set_project_out(left, isl_dim_param, begin, end - begin);
      end = begin;
    } else {
      --end;
    }
  }
  return checked(isl::manage(left), doing_relevant_context);
}

} // namespace

RelevantContext::RelevantContext(const isl::set &context) : context_(context) {
  const isl_size count = isl_set_dim(context.get(), isl_dim_param);
  if (count <= few_parameters || isl_set_n_basic_set(context.get()) != 1) {
    return;
  }
  isl_basic_set_list *list = isl_set_get_basic_set_list(context.get());
  const isl::basic_set only = isl::manage(isl_basic_set_list_get_at(list, 0));
  isl_basic_set_list_free(list);
  if (isl_basic_set_dim(checked(only, doing_relevant_context).get(), isl_dim_div) != 0) {
    return; // what a division ties is not looked into
  }
  for (isl_size p = 0; p < count; ++p) {
    names_.emplace_back(isl_set_get_dim_name(context.get(), isl_dim_param, p));
  }
  representative_.resize(names_.size());
  std::iota(representative_.begin(), representative_.end(), size_t{0});
  const auto position_of = [&](const std::string &name) {
    return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  };
  for (const ConstraintNames &constraint : constraints_of(only)) {
    known_.insert(constraint.text);
    if (constraint.parameters.size() < 2) {
      continue;
    }
    const size_t first = representative_[position_of(constraint.parameters.front())];
    for (const std::string &name : constraint.parameters) {
      const size_t from = representative_[position_of(name)];
      std::replace(representative_.begin(), representative_.end(), from, first);
    }
  }
}

void RelevantContext::mentioned_in(const isl::basic_set &part, std::set<std::string> &names) const {
  for (const ConstraintNames &constraint : constraints_of(part)) {
    if (constraint.text.empty() || !known_.contains(constraint.text)) {
      names.insert(constraint.parameters.begin(), constraint.parameters.end());
    }
  }
}

std::set<std::string> RelevantContext::mentioned_in(const isl::set &set) const {
  std::set<std::string> names;
  const isl::basic_set_list parts = checked(set.basic_set_list(), doing_relevant_context);
  const isl_size count = isl_basic_set_list_n_basic_set(parts.get());
  for (isl_size p = 0; p < count; ++p) {
    mentioned_in(
        checked(isl::manage(isl_basic_set_list_get_at(parts.get(), p)), doing_relevant_context),
        names);
  }
  return names;
}

isl::map RelevantContext::without_known(const isl::map &points) const {
  if (names_.empty()) {
    return points;
  }
  const isl::set wrapped = points.wrap();
  const std::set<std::string> mentioned = mentioned_in(wrapped);
  // Every constraint on the others is one of the context's.
  const isl::set left =
      without(wrapped, [&](const std::string &name) { return !mentioned.contains(name); });
  return checked(left.unwrap(), doing_relevant_context);
}

isl::set RelevantContext::of(const std::vector<isl::set> &sets) const {
  if (names_.empty()) {
    return context_;
  }
  std::set<std::string> mentioned;
  for (const isl::set &set : sets) {
    mentioned.merge(mentioned_in(set));
    // What is a dimension stays one.
    for (isl_size p = 0; p < isl_set_dim(set.get(), isl_dim_param); ++p) {
      mentioned.insert(isl_set_get_dim_name(set.get(), isl_dim_param, static_cast<unsigned>(p)));
    }
  }
  std::set<size_t> kept;
  for (size_t p = 0; p < names_.size(); ++p) {
    if (mentioned.contains(names_[p])) {
      kept.insert(representative_[p]);
    }
  }
  std::set<std::string> tied;
  for (size_t p = 0; p < names_.size(); ++p) {
    if (kept.contains(representative_[p])) {
      tied.insert(names_[p]);
    }
  }
  // Nothing ties the others to these, and the context has points.
  return without(context_, [&](const std::string &name) { return !tied.contains(name); });
}

} // namespace tilewright
