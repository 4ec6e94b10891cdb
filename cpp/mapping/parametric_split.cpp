// split with a size that is an expression in parameters: C.split(i, N // 4). isl multiplies no
// parameter with a loop. As long as the number of blocks is a constant, block c is an affine case
// of its own: c * s <= i < (c + 1) * s, which is what these loops are made of.
#include "mapping/parametric_split.h"

#include "mapping/copies.h"
#include "mapping/number_limits.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <regex>

namespace tilewright {

namespace {

constexpr const char *doing_parametric_split = "the size of a block";

isl::pw_aff number_on(const isl::set &domain, std::int64_t value) {
  return isl::pw_aff(domain, isl::val(isl_context(), static_cast<long>(value)));
}

/// isl's names of what an expression prints.
std::string in_isl(std::string text) {
  static const std::regex maximum(R"(\bmaximum\()");
  static const std::regex minimum(R"(\bminimum\()");
  return std::regex_replace(std::regex_replace(text, maximum, "max("), minimum, "min(");
}

/// The text as a function of parameters, on the tuple of `like`.
isl::pw_aff read_size(const MappingState &state, const Command &command, const std::string &text,
                      const isl::set &like) {
  std::string problem;
  const isl::map size = text.find_first_of("[]{}:;") == std::string::npos
                            ? parse_map("{ [] -> [(" + in_isl(text) + ")] }", problem)
                            : isl::map();
  static const std::regex one_slash(R"((^|[^/])/([^/]|$))");
  if (std::regex_search(text, one_slash)) {
    refuse(command,
           "'" + text + "' is no integer everywhere; write // for the quotient rounded down");
  }
  if (size.is_null() || !checked(size.is_single_valued(), doing_parametric_split)) {
    refuse(command, "'" + text +
                        "' is no size that is affine in parameters, as N // 4 or (N + 3) // 4 is; "
                        "by a parameter nothing is multiplied or divided, unless fix(...) gives it "
                        "a value first");
  }
  const std::vector<std::string> &known = state.function->parameters;
  for (isl_size p = 0; p < isl_map_dim(size.get(), isl_dim_param); ++p) {
    const char *name = isl_map_get_dim_name(size.get(), isl_dim_param, static_cast<unsigned>(p));
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      refuse(command,
             "'" + std::string(name) + "' in the size is no parameter of " + state.function->name);
    }
  }
  isl_pw_aff *value = size.as_pw_multi_aff().at(0).release();
  value = isl_pw_aff_insert_dims(value, isl_dim_in, 0,
                                 static_cast<unsigned>(isl_set_dim(like.get(), isl_dim_set)));
  value = isl_pw_aff_set_tuple_id(value, isl_dim_in, like.tuple_id().release());
  const isl::set anywhere = isl::set::universe(like.space());
  const isl::set positive =
      isl::manage(isl_pw_aff_ge_set(isl_pw_aff_copy(value), number_on(anywhere, 1).release()));
  if (checked(positive.intersect_params(state.function->context).is_empty(),
              doing_parametric_split)) {
    isl_pw_aff_free(value);
    refuse(command, "'" + text + "' is below 1 for all values of the parameters");
  }
  value = isl_pw_aff_max(value, number_on(anywhere, 1).release());
  return checked(isl::manage(isl_pw_aff_coalesce(value)), doing_parametric_split);
}

/// The first, or one behind the last, block that a loop comes to: all of its values lie before
/// (`behind`) or not before the multiple of the size. Nothing if that is no small number.
std::optional<std::int64_t> block_limit(const isl::set &instances, const isl::pw_aff &value,
                                        const isl::pw_aff &size, bool behind) {
  for (std::int64_t block = behind ? 1 : 0; std::abs(block) <= most_blocks_of_parameters;
       block += behind ? 1 : -1) {
    const isl::pw_aff start = size.scale(isl::val(isl_context(), static_cast<long>(block)));
    const isl::set inside = behind ? value.lt_set(start) : value.ge_set(start);
    if (checked(instances.is_subset(inside), doing_parametric_split)) {
      return block;
    }
  }
  return std::nullopt;
}

/// The tag that the loop over blocks has of the loop that is cut.
LoopTag tag_of(const LoopDimension &loop, const Command &command) {
  const Tag tag = loop.tag.tag;
  if (tag != Tag::Sequential && tag != Tag::Parallel) {
    refuse(command, "loop '" + loop.name + "' is " + tag_description(tag) +
                        ", which neither of the loops that it is cut into would be; cut it first, "
                        "and tag the loops that come of it");
  }
  LoopTag blocks = loop.tag;
  blocks.chunk = std::min<std::int64_t>(blocks.chunk, 1); // how many hold a chunk, nobody knows
  return blocks;
}

/// A function that is `values[b]` in block `first + b`, of which the outermost two have no end.
isl::pw_aff by_block(const std::vector<isl::pw_aff> &starts, const isl::pw_aff &value,
                     const std::vector<isl::pw_aff> &values) {
  isl::pw_aff result;
  for (size_t b = 0; b < values.size(); ++b) {
    isl::set here = isl::manage(isl_set_universe(isl_pw_aff_get_domain_space(value.get())));
    here = b > 0 ? here.intersect(value.ge_set(starts[b])) : here;
    here = b + 1 < values.size() ? here.intersect(value.lt_set(starts[b + 1])) : here;
    const isl::pw_aff part = values[b].intersect_domain(here);
    result = result.is_null() ? part : result.union_add(part);
  }
  return checked(result.coalesce(), doing_parametric_split);
}

} // namespace

std::optional<std::pair<LoopDimension, LoopDimension>>
stripmined_by_parameters(const MappingState &state, const Command &command,
                         const LoopDimension &loop, const std::string &text, std::int64_t &number) {
  const isl::set instances = instances_in_loop(state, command.computation, loop.value);
  const isl::pw_aff size = read_size(state, command, text, instances);
  const isl::pw_aff here =
      checked(size.intersect_params(state.function->context), doing_parametric_split);
  const isl::val least = isl::manage(isl_pw_aff_min_val(here.copy()));
  const isl::val most = isl::manage(isl_pw_aff_max_val(here.copy()));
  if (least.is_int().is_true() && least.eq(most).is_true() &&
      most.le(isl::val(isl_context(), static_cast<long>(largest_size))).is_true()) {
    number = most.num_si(); // parameters have values (fix): a size like any other
    return std::nullopt;
  }
  const LoopTag tag = tag_of(loop, command);
  const auto first = block_limit(instances, loop.value, size, false);
  const auto end = block_limit(instances, loop.value, size, true);
  if (!first || !end || *end - *first > most_blocks_of_parameters) {
    refuse(command, "blocks of " + text + " iterations are more than " +
                        std::to_string(most_blocks_of_parameters) + " in loop '" + loop.name +
                        "', or nothing says how many; a size that is a "
                        "number makes any number of blocks, a size that grows with the loop, as "
                        "N // 4 for a loop of N iterations, few, and fix(...) makes a number of a "
                        "parameter");
  }
  std::vector<isl::pw_aff> starts;
  std::vector<isl::pw_aff> blocks;
  std::vector<isl::pw_aff> rests;
  for (std::int64_t block = *first; block < *end; ++block) {
    starts.push_back(size.scale(isl::val(isl_context(), static_cast<long>(block))));
    blocks.push_back(number_on(isl::set::universe(instances.space()), block));
    rests.push_back(loop.value.sub(starts.back()));
  }
  return std::pair(LoopDimension{"", by_block(starts, loop.value, blocks), tag, 0},
                   LoopDimension{"", by_block(starts, loop.value, rests), {}, 0, loop.prefetches});
}

} // namespace tilewright
