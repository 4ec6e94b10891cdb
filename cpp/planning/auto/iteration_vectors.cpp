#include "planning/auto/iteration_vectors.h"

#include "algorithm/repeated_parts.h"
#include "planning/auto/decision.h"
#include "planning/tagging.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace tilewright {

namespace {

using Names = std::vector<std::string>;

/// Loops of so few iterations around the vectors are written out.
constexpr std::int64_t most_unrolled = 8;
/// Sums of more terms are made for several rows at once, if these read the same.
constexpr std::int64_t most_terms = 64;
/// Of a strip beside which something runs iteration by iteration.
constexpr std::int64_t vectors_of_strip = 16;
/// Sums of more terms rather go along whole rows of what they read, one after the other.
constexpr std::int64_t most_streamed = 32;

class VectorSearch {
public:
  VectorSearch(const Mapping &given, const Nests &nests, const std::vector<Part> &parts,
               const std::set<std::string> &bound, bool wide)
      : given_(given), nests_(nests), bound_(bound), wide_(wide) {
    for (const Part &part : parts) {
      parts_[part.name] = &part;
    }
  }

  std::vector<IterationVectors> find() {
    Names all;
    for (const auto &[name, part] : parts_) {
      all.push_back(name);
    }
    search(all, 0);
    return std::move(found_);
  }

private:
  /// In nests of these, which share `depth` loops.
  void search(const Names &names, size_t depth) {
    std::map<std::int64_t, Names> nests;
    for (const std::string &name : names) {
      if (nests_.times(name).loops.size() > depth) {
        nests[nests_.times(name).places[depth]].push_back(name);
      }
    }
    for (const auto &[place, members] : nests) {
      if (members.size() < 2) {
        continue;
      }
      size_t shared = nests_.times(members.front()).loops.size();
      for (const std::string &name : members) {
        shared = std::min(shared, nests_.shared(members.front(), name));
      }
      // All that is in the loop is planned here.
      const bool is_known = nests_.sharing(members.front(), shared).size() == members.size();
      auto vectors = is_known ? vectors_of(members, shared - 1) : std::nullopt;
      if (!vectors && is_known) {
        vectors = strips_of(members, shared - 1);
      }
      if (vectors) {
        found_.push_back(std::move(*vectors));
      } else {
        search(members, shared);
      }
    }
  }

  size_t iterator_of(const std::string &name, size_t depth) const {
    return *nests_.times(name).loops[depth].iterator;
  }

  bool is_over_results(const std::string &name, size_t depth) const {
    const NestLoop &loop = nests_.times(name).loops[depth];
    const Part &part = *parts_.at(name);
    return loop.iterator && *loop.iterator < part.shape.rank() &&
           loop.value == "{" + std::to_string(*loop.iterator) + "}" && !part.shape.has_chosen() &&
           !part.shape.is_ranged(*loop.iterator);
  }

  std::optional<IterationVectors> vectors_of(const Names &members, size_t depth) const {
    if (!std::all_of(members.begin(), members.end(), [&](const std::string &name) {
          return is_over_results(name, depth) && parts_.at(name)->can_be_vector() &&
                 parts_.at(name)->shape.simple() && !parts_.at(name)->shape.has_condition();
        })) {
      return std::nullopt;
    }
    IterationVectors vectors;
    vectors.members = members;
    vectors.depth = depth;
    vectors.lanes = lanes_of(members, depth);
    vectors.locals = locals_of(members, depth);
    const bool are_own =
        std::all_of(vectors.locals.begin(), vectors.locals.end(), [&](const ExpandedScalar &local) {
          return is_for_one_iteration(local, members, depth);
        });
    if (!are_own) {
      return std::nullopt;
    }
    if (vectors.lanes < fewest_lanes ||
        (vectors.locals.empty() && !add_up_briefly(members, depth))) {
      return std::nullopt;
    }
    std::set<std::string> own;
    for (const ExpandedScalar &local : vectors.locals) {
      own.insert(local.writers.begin(), local.writers.end());
    }
    note_short_loops(vectors);
    const bool has_loops = std::any_of(members.begin(), members.end(), [&](const auto &name) {
      return nests_.times(name).loops.size() > depth + 1;
    });
    const bool in_tiles = std::any_of(members.begin(), members.end(),
                                      [&](const auto &name) {
                                        return gains_by_tiles(*parts_.at(name), depth, own);
                                      }) &&
                          take_rows(vectors);
    for (const std::string &name : members) {
      const Part &part = *parts_.at(name);
      const size_t iterator = iterator_of(name, depth);
      const std::vector<size_t> inner = inner_iterators(name, depth);
      const Step written = part.steps.written(iterator);
      // What runs once for many iterations of loops inside may gather and scatter.
      const bool is_outside = has_loops && inner.empty();
      if (!own.contains(name) && written != Step::Unit && (written == Step::None || !is_outside)) {
        return std::nullopt;
      }
      if (in_tiles) {
        auto panels = part.steps.panels(iterator_of(name, depth - 1), iterator, own, inner);
        if (!panels) {
          return std::nullopt;
        }
        vectors.panels[name] = std::move(*panels);
      } else if (gains_by_tiles(part, depth, own) || (terms_in(name, depth) > most_streamed &&
                                                      part.steps.streams(iterator, own, inner))) {
        return std::nullopt;
      } else if (!is_outside && !is_costly(name) && part.steps.reads_apart(iterator, own, inner)) {
        auto copies = copies_for_nest(part, depth, iterator);
        if (copies.empty()) {
          return std::nullopt;
        }
        vectors.panels[name] = std::move(copies);
      }
      const auto begin = part.begins.find(iterator);
      vectors.begin = begin == part.begins.end() ? vectors.begin : begin->second;
    }
    return vectors;
  }

  /// In a loop that has no others inside: vectors of what can be one, and the other members beside
  /// them. If these have loops around, which might take its place, there are no others.
  std::optional<IterationVectors> strips_of(const Names &members, size_t depth) const {
    IterationVectors strips;
    strips.members = members;
    strips.depth = depth;
    strips.lanes = lanes_of(members, depth);
    std::set<std::string> own;
    for (const ExpandedScalar &local : locals_of(members, depth)) {
      if (is_for_one_iteration(local, members, depth)) {
        own.insert(local.writers.begin(), local.writers.end());
        strips.locals.push_back(local);
      }
    }
    bool has_columns = false;
    for (const std::string &name : members) {
      const Part &part = *parts_.at(name);
      if (bound_.contains(name) || nests_.times(name).loops.size() != depth + 1 ||
          !is_over_results(name, depth)) {
        return std::nullopt;
      }
      const size_t iterator = iterator_of(name, depth);
      const bool is_column =
          !needs_itself(name) &&
          std::find(part.columns.begin(), part.columns.end(), iterator) != part.columns.end();
      const bool is_vector = is_column || (own.contains(name) && part.can_be_vector() &&
                                           part.steps.side_by_side(iterator));
      if (!is_vector) {
        strips.serial.insert(name);
      }
      has_columns = has_columns || is_column;
      const auto begin = part.begins.find(iterator);
      strips.begin = begin == part.begins.end() ? strips.begin : begin->second;
    }
    // What is computed one by one would go through memory to reach the vectors.
    const bool are_mixed = !strips.serial.empty() && (depth > 0 || !strips.locals.empty());
    if (!has_columns || strips.lanes < fewest_lanes || are_mixed ||
        !are_elements_apart(members, depth)) {
      return std::nullopt;
    }
    strips.strip = strips.serial.empty() ? 0 : vectors_of_strip * strips.lanes;
    strips.needs_threads = strips.serial.empty();
    return strips;
  }

  /// Does each iteration of the loops around write elements of its own? No terms are added up.
  bool are_elements_apart(const Names &members, size_t depth) const {
    return std::all_of(members.begin(), members.end(), [&](const std::string &name) {
      const std::vector<NestLoop> &loops = nests_.times(name).loops;
      return std::all_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(depth),
                         [&](const NestLoop &loop) {
                           return !loop.iterator ||
                                  *loop.iterator >= parts_.at(name)->shape.rank() ||
                                  parts_.at(name)->steps.written(*loop.iterator) != Step::None;
                         });
    });
  }

  /// Is what the writers of a scalar leave read in the same iteration of the loop alone?
  bool is_for_one_iteration(const ExpandedScalar &local, const Names &members, size_t depth) const {
    const auto is_in = [](const Names &names, const std::string &name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    bool is_local = true;
    for (const ComputationPtr &reader : given_.function().computations) {
      const bool is_member = is_in(members, reader->name);
      const bool is_apart = !is_member && nests_.all().contains(reader->name);
      for (const Piece &piece : reader->pieces) {
        visit(piece.value, [&](const ExprPtr &node) {
          if (node->kind != ExprKind::Access || !is_in(local.writers, node->producer->name)) {
            return;
          }
          const ExprPtr &index = node->operands[iterator_of(node->producer->name, depth)];
          is_local =
              is_local && !is_apart && index->kind == ExprKind::Iterator &&
              (!is_member || index->name == reader->iterators[iterator_of(reader->name, depth)]);
        });
      }
    }
    return is_local;
  }

  /// Does an iteration of the loop need an earlier one of the same statement?
  bool needs_itself(const std::string &name) const {
    std::set<std::string> seen;
    Names open = {name};
    while (!open.empty()) {
      const ComputationPtr *next = given_.function().find(open.back());
      open.pop_back();
      if (next == nullptr) {
        continue;
      }
      for (const Piece &piece : (**next).pieces) {
        visit(piece.value, [&](const ExprPtr &node) {
          // through what has no loops of its own
          if (node->kind == ExprKind::Access && seen.insert(node->producer->name).second &&
              !nests_.all().contains(node->producer->name)) {
            open.push_back(node->producer->name);
          }
        });
      }
    }
    return seen.contains(name);
  }

  /// Has it elementary functions, beside which it costs little to gather what they are of?
  bool is_costly(const std::string &name) const {
    bool costly = false;
    for (const Piece &piece : (**given_.function().find(name)).pieces) {
      visit(piece.value,
            [&](const ExprPtr &part) { costly = costly || RepeatedParts::is_costly(*part); });
    }
    return costly;
  }

  /// Copies for each iteration of the outermost loop, of what many iterations inside of it read;
  /// after them all lies side by side. None if there are no such.
  std::vector<ElementSteps::Copy> copies_for_nest(const Part &part, size_t depth,
                                                  size_t column) const {
    auto copies = part.steps.copies_for(column);
    std::vector<size_t> around;
    for (size_t d = 0; d < depth; ++d) {
      if (const auto iterator = nests_.times(part.name).loops[d].iterator) {
        around.push_back(*iterator);
      }
    }
    const std::vector<size_t> inner = inner_iterators(part.name, depth);
    const bool is_one =
        copies && std::all_of(copies->begin(), copies->end(), [&](const ElementSteps::Copy &copy) {
          return part.steps.is_same(copy.array, around) &&
                 (depth >= 2 || std::any_of(inner.begin(), inner.end(), [&](size_t iterator) {
                    return part.steps.is_same(copy.array, {iterator});
                  }));
        });
    return is_one ? std::move(*copies) : std::vector<ElementSteps::Copy>();
  }

  /// Several iterations of the loop around run at once, too: nothing else is in it.
  bool take_rows(IterationVectors &vectors) const {
    const Names &members = vectors.members;
    if (vectors.depth == 0 ||
        nests_.sharing(members.front(), vectors.depth).size() != members.size()) {
      return false;
    }
    const size_t around = vectors.depth - 1;
    const bool are_rows = std::all_of(members.begin(), members.end(), [&](const auto &name) {
      return is_over_results(name, around) &&
             nests_.times(name).places[vectors.depth] ==
                 nests_.times(members.front()).places[vectors.depth];
    });
    if (!are_rows) {
      return false;
    }
    const auto columns =
        parts_.at(members.front())->shape.extent(iterator_of(members.front(), vectors.depth));
    const bool has_pairs = wide_ && columns.value_or(2 * vectors.lanes) >= 2 * vectors.lanes;
    vectors.lanes = has_pairs ? 2 * vectors.lanes : vectors.lanes;
    vectors.rows = wide_ ? wide_rows : narrow_rows;
    vectors.written_out.clear();
    vectors.locals = locals_of(members, vectors.depth, true);
    return true;
  }

  /// The innermost loops that are written out: all that is in one has few iterations of it.
  void note_short_loops(IterationVectors &vectors) const {
    using Short = IterationVectors::ShortLoop;
    for (const std::string &name : vectors.members) {
      const std::vector<NestLoop> &loops = nests_.times(name).loops;
      if (loops.size() == vectors.depth + 1) {
        continue;
      }
      Short all{0, std::numeric_limits<std::int64_t>::max()};
      for (const std::string &other : nests_.sharing(name, loops.size())) {
        const std::vector<NestLoop> &theirs = nests_.times(other).loops;
        const auto iterator = theirs[loops.size() - 1].iterator;
        const Shape &shape = parts_.at(other)->shape;
        const bool is_innermost = iterator && theirs.size() == loops.size();
        const auto extent = is_innermost ? shape.extent(*iterator) : std::nullopt;
        const auto begin = is_innermost ? shape.begin(*iterator) : std::nullopt;
        all.count =
            begin ? std::max(all.count, extent.value_or(most_unrolled + 1)) : most_unrolled + 1;
        all.begin = std::min(all.begin, begin.value_or(0));
      }
      if (all.count > 1 && all.count <= most_unrolled) {
        vectors.written_out[name] = all;
      }
    }
  }

  /// Do they begin and go on with few terms of sums in one array? Its elements stay in registers.
  bool add_up_briefly(const Names &members, size_t depth) const {
    const std::string &buffer = given_.storage(members.front()).buffer;
    return std::all_of(members.begin(), members.end(),
                       [&](const std::string &name) {
                         return given_.storage(name).buffer == buffer &&
                                terms_in(name, depth) <= most_terms;
                       }) &&
           std::any_of(members.begin(), members.end(),
                       [&](const std::string &name) { return terms_in(name, depth) > 1; });
  }

  /// Of the loops inside of the one at `depth`.
  std::vector<size_t> inner_iterators(const std::string &name, size_t depth) const {
    std::vector<size_t> iterators;
    const std::vector<NestLoop> &loops = nests_.times(name).loops;
    for (size_t d = depth + 1; d < loops.size(); ++d) {
      if (loops[d].iterator) {
        iterators.push_back(*loops[d].iterator);
      }
    }
    return iterators;
  }

  /// Does it add up many terms, of what is the same in other rows? Several rows load that once.
  bool gains_by_tiles(const Part &part, size_t depth, const std::set<std::string> &own) const {
    const size_t column = iterator_of(part.name, depth);
    const std::vector<size_t> inner = inner_iterators(part.name, depth);
    bool has_rows = false;
    for (size_t d = 0; d < depth; ++d) {
      const auto row = nests_.times(part.name).loops[d].iterator;
      has_rows = has_rows || (row && part.steps.is_shared_inside(*row, column, own, inner));
    }
    return has_rows && terms_in(part.name, depth) > most_terms;
  }

  /// Iterations of the loops inside of the one at `depth`, as far as they count.
  std::int64_t terms_in(const std::string &name, size_t depth) const {
    std::int64_t terms = 1;
    for (const size_t iterator : inner_iterators(name, depth)) {
      terms *= parts_.at(name)->shape.extent(iterator).value_or(most_terms + 1);
      terms = std::min(terms, most_terms + 1);
    }
    return terms;
  }

  std::int64_t lanes_of(const Names &members, size_t depth) const {
    std::int64_t lanes = parts_.at(members.front())->shape.lanes();
    std::optional<std::int64_t> extent;
    for (const std::string &name : members) {
      const Shape &shape = parts_.at(name)->shape;
      lanes = std::min(lanes, shape.lanes());
      extent = shape.extent(iterator_of(name, depth));
    }
    if (extent && *extent < lanes) {
      const bool is_power = *extent > 0 && (*extent & (*extent - 1)) == 0;
      return is_power ? *extent : 0;
    }
    const bool is_short = std::all_of(members.begin(), members.end(), [&](const std::string &name) {
      return terms_in(name, depth) <= most_terms;
    });
    return wide_ && is_short && extent.value_or(2 * lanes) >= 2 * lanes ? 2 * lanes : lanes;
  }

  /// The scalars and small arrays of the program that only these write, and that have one place for
  /// all iterations; none if one of them cannot have a place for each.
  std::vector<ExpandedScalar> locals_of(const Names &members, size_t depth,
                                        bool has_rows = false) const {
    std::map<std::string, Names> writers;
    for (const std::string &name : members) {
      if (has_one_place(given_, nests_, name, 0, depth)) {
        writers[given_.storage(name).buffer].push_back(name);
      }
    }
    std::vector<ExpandedScalar> locals;
    for (const auto &[buffer, names] : writers) {
      ExpandedScalar local{names, {}};
      for (const std::string &name : names) {
        const Computation &computation = **given_.function().find(name);
        std::string place = buffer + "_of_" + names.front() + "[";
        for (const ExprPtr &index : given_.storage(name).index) {
          place += to_string(index) + ", ";
        }
        place += has_rows ? computation.iterators[iterator_of(name, depth - 1)] + ", " : "";
        place += computation.iterators[iterator_of(name, depth)] + "]";
        local.stores.push_back({name, "store_in", {place}, {}});
      }
      locals.push_back(std::move(local));
    }
    return locals;
  }

  const Mapping &given_;
  const Nests &nests_;
  const std::set<std::string> &bound_;
  bool wide_;
  std::map<std::string, const Part *> parts_;
  std::vector<IterationVectors> found_;
};

} // namespace

Nests IterationVectors::in(Nests nests) const {
  if (rows > 0) {
    nests.sink_tiles(members.front(), depth - 1, block_rows, rows, lanes);
  } else {
    nests.sink(members.front(), depth, strip > 0 ? strip : lanes, begin);
  }
  return nests;
}

std::vector<Command> IterationVectors::commands(const Nests &nests,
                                                const std::string &member) const {
  const std::vector<NestLoop> &loops = nests.times(member).loops;
  const size_t outer = rows > 0 ? depth + 1 : depth;
  std::vector<Command> all;
  for (const ExpandedScalar &local : locals) {
    if (local.writers.front() == member) {
      all.push_back({member, "private", {loops[outer].name}, {}});
    }
  }
  if (serial.contains(member)) {
    return all;
  }
  all.push_back({member, "vectorize", {loops.back().name, lanes}, {}});
  if (rows > 0) {
    all.push_back({member, "unroll", {loops[loops.size() - 2].name, rows}, {}});
  }
  if (const auto unrolled = written_out.find(member); unrolled != written_out.end()) {
    const std::string &loop = loops[loops.size() - 2].name;
    if (unrolled->second.begin != 0) {
      all.push_back({member, "shift", {loop, -unrolled->second.begin}, {}});
    }
    all.push_back({member, "unroll", {loop, unrolled->second.count}, {}});
  }
  if (const auto copied = panels.find(member); copied != panels.end()) {
    for (const ElementSteps::Copy &copy : copied->second) {
      all.push_back({member,
                     "cache",
                     {copy.array, loops[rows > 0 ? depth : 0].name, copy_name(member, copy),
                      std::string("auto"), copy.order},
                     {}});
    }
  }
  return all;
}

std::string IterationVectors::copy_name(const std::string &member, const ElementSteps::Copy &copy) {
  return member + "_" + copy.array;
}

std::string IterationVectors::why(const Nests &nests) const {
  const std::vector<NestLoop> &loops = nests.times(members.front()).loops;
  const std::string both = rows > 0 ? loops[depth - 1].name + " x " : "";
  const std::string size = rows > 0 ? std::to_string(rows) + " x " : "";
  const std::string what = size + std::to_string(strip > 0 ? strip : lanes) + " iterations of " +
                           both + loops[depth].name;
  if (strip > 0) {
    return what + " run statement by statement, " + listed({serial.begin(), serial.end()}) +
           " one after the other and the others in vectors of " + std::to_string(lanes);
  }
  return what + " run at once, statement by statement, and what each has for itself stays in "
                "registers";
}

std::vector<IterationVectors> find_iteration_vectors(const Mapping &given, const Nests &nests,
                                                     const std::vector<Part> &parts,
                                                     const std::set<std::string> &bound,
                                                     bool wide) {
  return VectorSearch(given, nests, parts, bound, wide).find();
}

} // namespace tilewright
