#include "lowering/block_instances.h"

#include "lowering/ast_generation.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <optional>
#include <set>

namespace tilewright {

namespace {

constexpr const char *doing_block_instances = "the instances of blocks";

/// The constants of a value that is one in each case.
std::set<std::int64_t> cases_of(const isl::pw_aff &value) {
  std::set<std::int64_t> cases;
  isl_pw_aff_foreach_piece(
      value.get(),
      [](isl_set *domain, isl_aff *aff, void *user) {
        isl_set_free(domain);
        isl_val *constant = isl_aff_get_constant_val(aff);
        static_cast<std::set<std::int64_t> *>(user)->insert(isl_val_get_num_si(constant));
        isl_val_free(constant);
        isl_aff_free(aff);
        return isl_stat_ok;
      },
      &cases);
  return cases;
}

isl::map in_block(const isl::map &time, size_t loop, std::int64_t block) {
  return checked(isl::manage(isl_map_fix_si(time.copy(), isl_dim_out, static_cast<unsigned>(loop),
                                            static_cast<int>(block))),
                 doing_block_instances);
}

/// parameters -> how much farther iterator `k` is in a block than at the same place of the block
/// before.
std::optional<isl::pw_aff> step_of(const isl::map &earlier, const isl::map &later, size_t loop,
                                   unsigned k) {
  const auto places = [&](const isl::map &time) { // place in the block -> iterator
    isl_map *map = isl_map_project_out(time.copy(), isl_dim_out, static_cast<unsigned>(loop), 1);
    map = isl_map_reverse(isl_map_reset_tuple_id(map, isl_dim_in));
    const auto rank = static_cast<unsigned>(isl_map_dim(map, isl_dim_out));
    map = isl_map_project_out(map, isl_dim_out, k + 1, rank - k - 1);
    return isl_map_project_out(map, isl_dim_out, 0, k);
  };
  isl_map *differences = isl_map_sum(places(later), isl_map_neg(places(earlier)));
  const isl::set found =
      checked(isl::manage(isl_map_range(differences)).coalesce(), doing_block_instances);
  isl_map *step = isl_map_from_range(found.copy());
  const isl::map by_parameters = checked(isl::manage(step), doing_block_instances);
  if (!checked(by_parameters.is_single_valued(), doing_block_instances)) {
    return std::nullopt;
  }
  const isl::pw_aff known = checked(isl::manage(isl_pw_aff_project_domain_on_params(
                                        by_parameters.as_pw_multi_aff().at(0).release())),
                                    doing_block_instances);
  // Where there is no such block, any step will do.
  const isl::pw_aff simple = checked(known.gist(known.domain()).coalesce(), doing_block_instances);
  const isl::pw_aff nothing(simple.domain().complement(), isl::val(isl_context(), 0L));
  return checked(simple.union_add(nothing).coalesce(), doing_block_instances);
}

/// value + factor * step, as a function of the loops.
isl::pw_aff stepped(const isl::aff &value, const isl::pw_aff &step, std::int64_t factor) {
  isl_pw_aff *more =
      isl_pw_aff_scale_val(step.copy(), isl_val_int_from_si(isl_context().get(), factor));
  isl_pw_aff *base = isl_pw_aff_from_aff(value.copy());
  more = isl_pw_aff_insert_domain(more, isl_pw_aff_get_domain_space(base));
  return checked(isl::manage(isl_pw_aff_add(base, more)), doing_block_instances);
}

} // namespace

bool is_by_case(const isl::pw_aff &value) {
  return isl_pw_aff_n_piece(value.get()) > 1 &&
         isl_pw_aff_every_piece(
             value.get(), [](isl_set *, isl_aff *aff, void *) { return isl_aff_is_cst(aff); },
             nullptr) == isl_bool_true &&
         cases_of(value).size() > 1; // a loop over such blocks that was split may have one value
}

BlockInstances block_instances(const Statement &statement, const isl::map &time) {
  BlockInstances result;
  const auto begin = statement.loops.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(statement.loop_names.size());
  const auto found = std::find_if(begin, end, is_by_case);
  if (found == end || std::count_if(begin, end, is_by_case) > 1) {
    return result;
  }
  result.loop = static_cast<size_t>(found - begin);
  std::set<std::int64_t> cases;
  for (const std::int64_t block : cases_of(*found)) {
    if (!checked(in_block(time, result.loop, block).is_empty(), doing_block_instances)) {
      cases.insert(block);
    }
  }
  if (cases.empty()) {
    return result;
  }
  result.first = *cases.begin();
  const isl::map first = in_block(time, result.loop, result.first);
  const isl::map second = in_block(time, result.loop, result.first + 1);
  std::vector<isl::aff> iterators = affine_inverse(first);
  for (unsigned k = 0; k < iterators.size(); ++k) {
    const auto step = step_of(first, second, result.loop, k);
    if (!step) {
      return result;
    }
    result.steps.push_back(*step);
  }
  for (const std::int64_t block : cases) {
    const isl::map here = in_block(time, result.loop, block).reverse();
    isl::map formula = isl::map::from_domain(here.domain());
    for (size_t k = 0; k < iterators.size(); ++k) {
      formula = formula.flat_range_product(
          stepped(iterators[k], result.steps[k], block - result.first).as_map());
    }
    const isl::map given = isl::manage(isl_map_reset_tuple_id(here.copy(), isl_dim_out));
    if (!checked(given.is_subset(formula), doing_block_instances)) {
      return result;
    }
  }
  result.iterators = std::move(iterators);
  return result;
}

} // namespace tilewright
