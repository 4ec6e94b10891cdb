#include "planning/views_in_place.h"

#include "algorithm/affine.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/map.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

constexpr const char *doing_views_in_place = "the storage of a view";

/// The iterator in which a subscript is i + c or c - i, with c the same for all instances.
std::optional<size_t> moved_iterator(const isl::pw_aff &subscript, size_t iterators) {
  if (!checked(subscript.isa_aff(), doing_views_in_place)) {
    return {};
  }
  const isl::aff aff = checked(subscript.as_aff(), doing_views_in_place);
  for (isl_size d = 0; d < isl_aff_dim(aff.get(), isl_dim_div); ++d) {
    if (!checked(isl::manage(isl_aff_get_coefficient_val(aff.get(), isl_dim_div, d)),
                 doing_views_in_place)
             .is_zero()
             .is_true()) {
      return {};
    }
  }
  std::optional<size_t> found;
  for (size_t d = 0; d < iterators; ++d) {
    const isl::val coefficient = checked(
        isl::manage(isl_aff_get_coefficient_val(aff.get(), isl_dim_in, static_cast<int>(d))),
        doing_views_in_place);
    if (coefficient.is_zero().is_true()) {
      continue;
    }
    if (found || !coefficient.abs().is_one().is_true()) {
      return {};
    }
    found = d;
  }
  return found;
}

/// producer[p] -> output[i], which for what the piece reads is where the output has it; nothing
/// where its subscripts do not say so.
std::optional<isl::map> storage_in(const Computation &output, const Piece &piece) {
  const Expr &read = *piece.value;
  const Computation &producer = *read.producer;
  const IterationSpace space{output.name, output.iterators};
  const isl::space elements = producer.domain.space();
  isl::map storage = isl::map::from_domain_and_range(isl::set::universe(elements),
                                                     isl::set::universe(output.domain.space()));
  std::vector<bool> known(output.rank(), false);
  for (size_t s = 0; s < read.operands.size(); ++s) {
    const auto subscript = to_affine(read.operands[s], space);
    const auto iterator = subscript ? moved_iterator(*subscript, output.rank()) : std::nullopt;
    if (!iterator || known[*iterator]) {
      continue;
    }
    known[*iterator] = true;
    const isl::pw_aff own = isl::pw_aff::var_on_domain(isl::local_space(elements), isl::dim::set,
                                                       static_cast<unsigned>(s));
    storage = storage.intersect(own.as_map().apply_range(subscript->as_map().reverse()));
  }
  if (!std::all_of(known.begin(), known.end(), [](bool each) { return each; })) {
    return {};
  }
  return checked(storage, doing_views_in_place);
}

bool may_be_stored(const Mapping &mapping, const Computation &producer) {
  const std::vector<ComputationPtr> &outputs = mapping.function().outputs;
  return !producer.is_input && mapping.storage(producer.name).buffer == producer.name &&
         std::none_of(outputs.begin(), outputs.end(),
                      [&](const ComputationPtr &output) { return output.get() == &producer; });
}

} // namespace

std::shared_ptr<const LegalProgram> store_views_in_place(Mapping &mapping,
                                                         const FindLegal &find_legal) {
  std::shared_ptr<const LegalProgram> legal;
  for (const ComputationPtr &output : mapping.function().outputs) {
    for (const Piece &piece : output->is_view ? output->pieces : std::vector<Piece>()) {
      const Computation &producer = *piece.value->producer;
      const auto storage =
          may_be_stored(mapping, producer) ? storage_in(*output, piece) : std::nullopt;
      if (!storage) {
        continue;
      }
      try {
        Mapping candidate = mapping.with({producer.name, "set_access", {to_text(*storage)}, {}});
        if (auto program = find_legal(candidate)) {
          mapping = std::move(candidate);
          legal = std::move(program);
        }
      } catch (const Error &error) {
        if (error.kind != ErrorKind::Schedule) { // elements that the array does not have
          throw;
        }
      }
    }
  }
  return legal;
}

bool may_store_views_in_place(const Mapping &mapping) {
  const std::vector<ComputationPtr> &outputs = mapping.function().outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](const ComputationPtr &output) {
    return output->is_view &&
           std::any_of(output->pieces.begin(), output->pieces.end(), [&](const Piece &piece) {
             return may_be_stored(mapping, *piece.value->producer);
           });
  });
}

} // namespace tilewright
