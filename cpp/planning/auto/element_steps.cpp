#include "planning/auto/element_steps.h"

#include "algorithm/affine_linear.h"
#include "mapping/accesses.h"
#include "planning/auto/iterator_steps.h"
#include "planning/computation_shape.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

constexpr const char *doing_element_steps = "the elements along a loop";

/// x -> x with one iterator at its next value, and those that are slanted along it moved as far as
/// their ranges.
isl::map next(const isl::set &domain, size_t iterator, const std::vector<Slant> &slants) {
  const std::int64_t step = step_of(domain, iterator);
  isl_multi_aff *moved = next_value(domain, iterator, step).release();
  for (const Slant &slant : slants) {
    for (const auto &[along, factor] : slant.along) {
      if (along == iterator) {
        const auto own = static_cast<int>(slant.iterator);
        isl_aff *there = isl_multi_aff_get_aff(moved, own);
        there = isl_aff_add_constant_si(there, static_cast<int>(factor * step));
        moved = isl_multi_aff_set_aff(moved, own, there);
      }
    }
  }
  return checked(isl::manage(isl_map_from_multi_aff(moved)), doing_element_steps);
}

/// The distance along one dimension, if it is the same everywhere.
std::optional<std::int64_t> distance(const isl::set &deltas, int dimension) {
  const isl::val low = isl::manage(isl_set_dim_min_val(deltas.copy(), dimension));
  const isl::val high = isl::manage(isl_set_dim_max_val(deltas.copy(), dimension));
  if (low.is_null() || high.is_null() || isl_val_is_int(low.get()) != isl_bool_true ||
      isl_val_eq(low.get(), high.get()) != isl_bool_true) {
    return std::nullopt;
  }
  return isl_val_get_num_si(low.get());
}

/// By dimensions of a buffer, how far elements move from one iteration to the next; empty where
/// there is one iteration only. `elements`: instance -> buffer[index].
std::vector<std::optional<std::int64_t>> distances(const isl::map &elements, const isl::set &domain,
                                                   size_t iterator,
                                                   const std::vector<Slant> &slants) {
  const isl::map pairs =
      elements.reverse().apply_range(next(domain, iterator, slants)).apply_range(elements);
  std::vector<std::optional<std::int64_t>> moved;
  if (checked(pairs.is_empty(), doing_element_steps)) {
    return moved;
  }
  const isl::set deltas = checked(isl::manage(isl_map_deltas(pairs.copy())), doing_element_steps);
  const auto dimensions = static_cast<int>(isl_set_dim(deltas.get(), isl_dim_set));
  for (int d = 0; d < dimensions; ++d) {
    moved.push_back(distance(deltas, d));
  }
  return moved;
}

/// By how many elements of memory that is, if it is known.
std::optional<std::int64_t> elements_moved(const std::vector<std::optional<std::int64_t>> &moved,
                                           const std::vector<ExprPtr> &extents) {
  std::int64_t elements = 0;
  std::optional<std::int64_t> stride = 1;
  for (size_t d = moved.size(); d-- > 0;) {
    if (moved[d] != 0) {
      if (!moved[d] || !stride) {
        return std::nullopt;
      }
      elements += *moved[d] * *stride;
    }
    const std::optional<std::int64_t> extent = constant_behind_casts(*extents[d]);
    stride =
        stride && extent && *extent <= most_apart ? std::optional(*stride * *extent) : std::nullopt;
  }
  return elements;
}

Step worse(Step one, Step other) {
  return one == other ? one : one == Step::None ? other : other == Step::None ? one : Step::Other;
}

} // namespace

ElementSteps::Access ElementSteps::access_of(const isl::map &elements, const isl::set &domain,
                                             const Buffer &buffer,
                                             const std::vector<Slant> &slants) {
  Access access;
  const isl::map here = elements.intersect_domain(domain);
  const auto iterators = static_cast<size_t>(isl_set_dim(domain.get(), isl_dim_set));
  access.dimensions = static_cast<size_t>(isl_map_dim(here.get(), isl_dim_out));
  for (size_t iterator = 0; iterator < iterators; ++iterator) {
    const auto moved = distances(here, domain, iterator, slants);
    std::vector<size_t> moving;
    for (size_t d = 0; d < moved.size(); ++d) {
      if (moved[d] != 0) {
        moving.push_back(d);
      }
    }
    const bool by_one = moving.size() == 1 && moved[moving.front()] == 1;
    access.along.push_back(by_one ? std::optional(moving.front()) : std::nullopt);
    access.steps.push_back(moving.empty()                                      ? Step::None
                           : by_one && moving.front() + 1 == access.dimensions ? Step::Unit
                                                                               : Step::Other);
    const auto elements = elements_moved(moved, buffer.extents);
    access.near.push_back(elements.value_or(0) > 0 && *elements <= most_apart);
  }
  return access;
}

ElementSteps::ElementSteps(const Program &program, const std::string &computation,
                           const std::vector<Slant> &slants) {
  std::set<size_t> overwritten;
  for (const Statement &statement : program.statements) {
    overwritten.insert(statement.buffer);
  }
  for (const Statement &statement : program.statements) {
    if (statement.computation->name != computation) {
      continue;
    }
    const Access written = access_of(written_element(program, statement), statement.domain,
                                     program.buffers[statement.buffer], slants);
    writes_.resize(std::max(written.steps.size(), writes_.size()), Step::None);
    writes_apart_.resize(writes_.size(), true);
    const bool is_alone = std::all_of(
        program.statements.begin(), program.statements.end(), [&](const Statement &other) {
          return other.buffer != statement.buffer || other.computation->name == computation;
        });
    for (size_t d = 0; d < written.steps.size(); ++d) {
      writes_[d] = worse(writes_[d], written.steps[d]);
      writes_apart_[d] = writes_apart_[d] && written.near[d] && is_alone;
    }
    for (const ReadAccess &read : read_accesses(statement)) {
      const Program::Place &place = program.places.at(read.producer->name);
      reads_.push_back(access_of(read.relation.apply_range(place.relation), statement.domain,
                                 program.buffers[place.buffer], slants));
      Access &access = reads_.back();
      access.array = read.producer->name;
      access.is_constant = read.producer->is_input && !overwritten.contains(place.buffer);
      if (!read.exact) {
        access.is_constant = false;
        access.steps.assign(access.steps.size(), Step::Other);
        access.near.assign(access.near.size(), false);
      }
    }
  }
}

bool ElementSteps::side_by_side(size_t iterator) const {
  return writes_[iterator] != Step::Other &&
         std::all_of(reads_.begin(), reads_.end(), [&](const Access &read) {
           return iterator < read.steps.size() && read.steps[iterator] != Step::Other;
         });
}

bool ElementSteps::reads_near(size_t iterator) const {
  return std::all_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    return iterator < read.steps.size() &&
           (read.steps[iterator] != Step::Other || read.near[iterator]);
  });
}

bool ElementSteps::lies_near(size_t iterator) const {
  return writes_[iterator] != Step::Other && reads_near(iterator);
}

bool ElementSteps::is_written_apart(size_t iterator) const {
  return writes_apart_[iterator] && reads_near(iterator);
}

bool ElementSteps::reads_apart(size_t iterator, const std::set<std::string> &own,
                               const std::vector<size_t> &inner) const {
  return std::any_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    if (own.contains(read.array)) {
      return false;
    }
    return iterator >= read.steps.size() ||
           (read.steps[iterator] == Step::Other && !read.near[iterator] &&
            std::any_of(inner.begin(), inner.end(),
                        [&](size_t loop) { return read.steps[loop] != Step::None; }));
  });
}

bool ElementSteps::is_same(const std::string &array, const std::vector<size_t> &iterators) const {
  return std::all_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    return read.array != array ||
           std::all_of(iterators.begin(), iterators.end(), [&](size_t iterator) {
             return iterator < read.steps.size() && read.steps[iterator] == Step::None;
           });
  });
}

bool ElementSteps::streams(size_t column, const std::set<std::string> &own,
                           const std::vector<size_t> &inner) const {
  return std::any_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    return !own.contains(read.array) && column < read.steps.size() &&
           read.steps[column] == Step::Unit &&
           std::any_of(
               inner.begin(), inner.end(),
               [&](size_t loop) { return read.steps[loop] != Step::None; });
  });
}

bool ElementSteps::is_shared(size_t row, size_t column) const {
  return std::any_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    return read.along[column] && read.steps[row] == Step::None;
  });
}

bool ElementSteps::is_shared_inside(size_t row, size_t column, const std::set<std::string> &own,
                                    const std::vector<size_t> &inner) const {
  return std::any_of(reads_.begin(), reads_.end(), [&](const Access &read) {
    return !own.contains(read.array) && read.along[column] && read.steps[row] == Step::None &&
           std::any_of(inner.begin(), inner.end(),
                       [&](size_t loop) { return read.steps[loop] != Step::None; });
  });
}

namespace {

/// The dimensions of an array with this one behind all others.
std::vector<std::int64_t> with_last(size_t dimensions, size_t last) {
  std::vector<std::int64_t> order;
  for (size_t d = 0; d < dimensions; ++d) {
    if (d != last) {
      order.push_back(static_cast<std::int64_t>(d));
    }
  }
  order.push_back(static_cast<std::int64_t>(last));
  return order;
}

} // namespace

std::optional<std::vector<ElementSteps::Copy>>
ElementSteps::panels(size_t row, size_t column, const std::set<std::string> &own,
                     const std::vector<size_t> &inner) const {
  std::map<std::string, Copy> copies;
  std::set<std::string> others; // are read in another way, too
  std::set<std::string> needed;
  for (const Access &read : reads_) {
    if (own.contains(read.array)) {
      continue;
    }
    if (column >= read.steps.size() || row >= read.steps.size()) {
      return std::nullopt;
    }
    const bool moves = std::any_of(inner.begin(), inner.end(),
                                   [&](size_t loop) { return read.steps[loop] != Step::None; });
    const auto along = read.along[column];
    const bool is_panel = moves && read.is_constant && along && read.steps[row] == Step::None;
    if (moves && read.steps[column] == Step::Other) {
      needed.insert(read.array);
    }
    if (!is_panel) {
      others.insert(read.array);
      continue;
    }
    const Copy copy{read.array, with_last(read.dimensions, *along)};
    if (copies.emplace(read.array, copy).first->second.order != copy.order) {
      others.insert(read.array);
    }
  }
  for (const std::string &array : others) {
    copies.erase(array);
  }
  std::vector<Copy> all;
  for (auto &[array, copy] : copies) {
    needed.erase(array);
    all.push_back(std::move(copy));
  }
  return needed.empty() ? std::optional(std::move(all)) : std::nullopt;
}

std::optional<std::vector<ElementSteps::Copy>> ElementSteps::copies_for(size_t iterator) const {
  std::map<std::string, Copy> copies;
  for (const Access &read : reads_) {
    if (read.steps[iterator] != Step::Other) {
      continue;
    }
    const auto along = read.along[iterator];
    if (!read.is_constant || !along) {
      return std::nullopt;
    }
    const Copy copy{read.array, with_last(read.dimensions, *along)};
    const auto [known, is_new] = copies.emplace(read.array, copy);
    if (!is_new && known->second.order != copy.order) {
      return std::nullopt;
    }
  }
  std::vector<Copy> all;
  for (auto &[array, copy] : copies) {
    // A read that goes along the last dimension would lose what the copy gains.
    if (std::any_of(reads_.begin(), reads_.end(), [&, &name = array](const Access &read) {
          return read.array == name && read.steps[iterator] == Step::Unit;
        })) {
      return std::nullopt;
    }
    all.push_back(std::move(copy));
  }
  return all;
}

} // namespace tilewright
