#include "planning/auto/nest_candidates.h"

#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <optional>
#include <set>

namespace tilewright {

namespace {

/// Terms of a block: its columns stay in a first-level cache.
constexpr std::int64_t block_terms = 256;
/// Terms that are added one after the other to a vector before it goes back to memory.
constexpr std::int64_t terms_at_once = 8;
/// Sums that are made at once where each takes its terms one by one: none waits for the one before.
constexpr std::int64_t sums_at_once = 8;
using Names = std::vector<std::string>;

/// Does the loop over an iterator begin with one value, whatever those around it are?
bool begins_everywhere(const isl::set &domain, size_t iterator, std::int64_t value) {
  const auto dimension = static_cast<unsigned>(iterator);
  const isl::set around =
      isl::manage(isl_set_project_out(domain.copy(), isl_dim_set, dimension, 1));
  const isl::set there = isl::manage(isl_set_project_out(
      isl_set_fix_si(domain.copy(), isl_dim_set, dimension, static_cast<int>(value)), isl_dim_set,
      dimension, 1));
  return isl_set_is_equal(around.get(), there.get()) == isl_bool_true;
}

/// The ways in which one statement might run, the best first.
class Candidates {
public:
  Candidates(const Part &part, const Nests &nests, const std::map<std::string, size_t> &depths,
             bool wide)
      : part_(part), nests_(nests), wide_(wide), shared_(nests.shared(part.name)) {
    const auto depth_of = [&](const std::string &name) {
      const auto known = depths.find(name);
      return known == depths.end() ? nests.times(name).loops.size() : known->second;
    };
    for (; fixed_ < shared_; ++fixed_) {
      const Names members = nests.sharing(part.name, fixed_ + 1);
      if (std::none_of(members.begin(), members.end(), [&](const std::string &name) {
            return depth_of(name) > depth_of(part.name);
          })) {
        break;
      }
    }
  }

  /// Loops that others share who have more loops stay as they are.
  std::vector<Candidate> find() {
    std::vector<size_t> columns = part_.columns;
    const NestTimes &times = nests_.times(part_.name);
    std::sort(columns.begin(), columns.end(), [&](size_t one, size_t other) {
      return times.position(one) > times.position(other);
    });
    for (const size_t column : columns) {
      add_tiles(column, {});
    }
    for (const auto &[column, copies] : part_.packed) {
      add_tiles(column, copies);
    }
    for (const size_t column : columns) {
      add_vector(column);
    }
    if (columns.empty()) {
      add_interleaved(part_.interleaved);
      if (wide_ && part_.interleaved.empty()) {
        add_interleaved(part_.apart); // by stores under masks
      }
    }
    add_terms_in_lanes();
    add_sums_at_once();
    return std::move(found_);
  }

private:
  std::string loop(size_t iterator) const { return part_.shape.name(iterator); }
  size_t position(size_t iterator) const { return *nests_.times(part_.name).position(iterator); }

  /// Does the statement add to one element all along the iterator?
  bool is_term(size_t iterator) const { return part_.steps.written(iterator) == Step::None; }

  /// The iterators of the loops from `depth` on; nothing where a loop runs over something else.
  std::optional<std::vector<size_t>> iterators_from(const Nests &nests, size_t depth) const {
    std::vector<size_t> iterators;
    const std::vector<NestLoop> &loops = nests.times(part_.name).loops;
    for (size_t d = depth; d < loops.size(); ++d) {
      if (!loops[d].iterator) {
        return std::nullopt;
      }
      iterators.push_back(*loops[d].iterator);
    }
    return iterators;
  }

  /// The statement alone in its loops from `depth` on.
  Nests apart(size_t depth) const {
    Nests nests = nests_;
    if (depth < shared_) {
      nests.distribute(part_.name, depth);
    }
    return nests;
  }

  /// With its loops over terms slanted that are its own.
  Nests slanted(Nests nests, size_t depth) const {
    for (const Slant &slant : part_.slants) {
      if (nests.times(part_.name).position(slant.iterator).value_or(0) >= depth) {
        nests.slant(part_.name, slant);
      }
    }
    return nests;
  }

  Command command(const std::string &name, std::vector<Argument> arguments) const {
    return {part_.name, name, std::move(arguments), {}};
  }

  /// Vectors begin where the loop over the column does.
  std::vector<Command> from_begin(const Nests &nests, size_t column,
                                  std::vector<Command> commands) const {
    const auto begin = part_.begins.find(column);
    const NestTimes &times = nests.times(part_.name);
    const bool is_plain =
        times.loops[*times.position(column)].value == "{" + std::to_string(column) + "}";
    if (begin != part_.begins.end() && is_plain) {
      commands.insert(commands.begin(),
                      command("shift", {Argument(loop(column)), Argument(-begin->second)}));
    }
    return commands;
  }

  /// Register tiles over rows and columns, with all terms inside.
  void add_tiles(size_t column, const std::vector<ElementSteps::Copy> &copies) {
    if (part_.shape.has_chosen()) {
      return;
    }
    std::vector<size_t> rows;
    for (size_t row = 0; row < part_.shape.rank(); ++row) {
      if (row != column && !is_term(row) && nests_.times(part_.name).position(row) &&
          part_.steps.is_shared(row, column)) {
        rows.push_back(row);
      }
    }
    std::sort(rows.begin(), rows.end(),
              [&](size_t one, size_t other) { return position(one) > position(other); });
    for (const size_t row : rows) {
      add_tile(row, column, copies);
    }
  }

  void add_tile(size_t row, size_t column, const std::vector<ElementSteps::Copy> &copies) {
    const size_t depth = std::min(position(row), position(column));
    const auto iterators = iterators_from(nests_, depth);
    if (!iterators || depth < fixed_) {
      return;
    }
    std::vector<size_t> terms;
    std::vector<size_t> order;
    for (const size_t iterator : *iterators) {
      if (iterator != row && iterator != column) {
        (is_term(iterator) ? terms : order).push_back(iterator);
      }
    }
    if (terms.empty()) {
      return;
    }
    order.insert(order.end(), {row, column});
    order.insert(order.end(), terms.begin(), terms.end());
    Candidate made{slanted(apart(depth), depth), {}, {}};
    made.nests.reorder(part_.name, depth, order);
    const auto panels = copies.empty() ? part_.steps.panels(row, column, {}, terms) : std::nullopt;
    const std::int64_t height = wide_ ? wide_rows : narrow_rows;
    const std::int64_t lanes = part_.shape.lanes() * (wide_ ? 2 : 1);
    const std::string i = loop(row);
    const std::string j = loop(column);
    made.commands = {command("split", {i, block_rows}), command("split", {i + "1", height}),
                     command("split", {j, lanes})};
    std::vector<Argument> loops = {i + "0", j + "0"};
    std::vector<Argument> inner = {i + "10"};
    for (const size_t term : terms) {
      inner.emplace_back(loop(term));
    }
    if (terms.size() == 1) { // of several, the first one has to stay outside of all others
      const std::string k = loop(terms.front());
      made.commands.push_back(command("split", {k, block_terms}));
      loops.emplace_back(k + "0");
      inner.back() = k + "1";
    }
    const Argument block = loops.back();
    loops.insert(loops.end(), inner.begin(), inner.end());
    loops.insert(loops.end(), {Argument(i + "11"), Argument(j + "1")});
    made.commands.insert(made.commands.end(),
                         {command("reorder", loops), command("unroll", {i + "11", height}),
                          command("vectorize", {j + "1", lanes})});
    for (const ElementSteps::Copy &copy : panels ? *panels : copies) {
      made.copies.push_back(part_.name + "_" + copy.array);
      made.commands.push_back(command(
          "cache", {copy.array, block, made.copies.back(), std::string("auto"), copy.order}));
    }
    made.why = "tiles of " + std::to_string(height) + " x " + std::to_string(lanes) +
               " elements of " + i + " x " + j +
               " stay in registers while their terms are added in their order";
    found_.push_back(std::move(made));
  }

  /// Vectors of which something is chosen from others, along the innermost of these loops.
  void add_interleaved(const std::vector<size_t> &iterators) {
    const NestTimes &times = nests_.times(part_.name);
    const auto last =
        std::max_element(iterators.begin(), iterators.end(), [&](size_t one, size_t other) {
          return times.position(one) < times.position(other);
        });
    if (last != iterators.end()) {
      add_vector(*last);
    }
  }

  /// A vector along the column, and some terms at once.
  void add_vector(size_t column) {
    if (part_.shape.has_chosen() && part_.shape.is_choosing(column)) {
      return; // what is chosen differs from lane to lane
    }
    const size_t depth = position(column);
    if (depth >= shared_) {
      add_vector(column, shared_, nests_);
      add_vector_below(column, depth, nests_);
      return;
    }
    if (depth < fixed_) {
      return;
    }
    add_vector(column, depth, apart(depth));
    // Another of its iterators takes the place of the column in the loop that others share.
    const auto iterators = iterators_from(nests_, depth);
    for (size_t d = 1; iterators && d < iterators->size(); ++d) {
      std::vector<size_t> order = {(*iterators)[d]};
      for (const size_t iterator : *iterators) {
        if (iterator != (*iterators)[d] && iterator != column) {
          order.push_back(iterator);
        }
      }
      order.push_back(column);
      for (const Nests &nests : in_a_shared_loop(nests_, depth, depth, order)) {
        add_vector(column, depth + 1, nests);
      }
    }
  }

  /// The statement with another order of its loops from `depth` on, the first of which others
  /// share; what stood before it in the loop at `outer` stays there, or leaves it.
  std::vector<Nests> in_a_shared_loop(const Nests &nests, size_t outer, size_t depth,
                                      const std::vector<size_t> &order) const {
    std::vector<Nests> all = {nests, nests};
    all.back().distribute_before(part_.name, outer);
    std::vector<Nests> found;
    for (const Nests &each : all) {
      for (const bool before : {false, true}) {
        Nests made = each;
        if (depth > outer) {
          made.strip(part_.name, outer, sums_at_once, true);
        }
        made.reorder(part_.name, depth, order, before);
        if (made.shared(part_.name) == depth + 1) {
          found.push_back(std::move(made));
        }
      }
    }
    return found;
  }

  /// If the loops from `depth` on are its own: those over other results, over terms, the column.
  void add_vector(size_t column, size_t depth, Nests nests) {
    const auto iterators = iterators_from(nests, depth);
    if (!iterators) {
      return;
    }
    std::vector<size_t> terms;
    std::vector<size_t> order;
    std::vector<size_t> chosen; // by what is read in the loops around
    for (const size_t iterator : *iterators) {
      if (iterator != column) {
        (part_.shape.is_chosen(iterator) ? chosen
         : is_term(iterator)             ? terms
                                         : order)
            .push_back(iterator);
      }
    }
    order.insert(order.end(), terms.begin(), terms.end());
    order.insert(order.end(), chosen.begin(), chosen.end());
    order.push_back(column);
    if (order != *iterators) {
      nests = slanted(std::move(nests), depth);
      nests.reorder(part_.name, depth, order);
    }
    const std::string j = loop(column);
    const std::int64_t lanes = part_.shape.lanes();
    const std::string vector = vector_along(column);
    if (!terms.empty() && chosen.empty()) {
      const std::string k = loop(terms.back());
      found_.push_back(
          {nests,
           from_begin(nests, column,
                      {command("split", {k, terms_at_once}), command("split", {j, lanes}),
                       command("reorder", {k + "0", j + "0", k + "1", j + "1"}),
                       command("unroll", {k + "1", terms_at_once}),
                       command("vectorize", {j + "1", lanes})}),
           vector + "; " + std::to_string(terms_at_once) + " iterations of " + k +
               " add to it one after the other"});
    }
    found_.push_back(
        {nests, from_begin(nests, column, {command("vectorize", {j, lanes})}), vector, {}});
  }

  /// Only the column moves inside.
  void add_vector_below(size_t column, size_t depth, Nests nests) {
    auto order = iterators_from(nests, depth);
    if (!order) {
      return;
    }
    std::rotate(order->begin(), order->begin() + 1, order->end());
    nests.reorder(part_.name, depth, *order);
    const std::int64_t lanes = part_.shape.lanes();
    const std::vector<Command> commands =
        from_begin(nests, column, {command("vectorize", {loop(column), lanes})});
    found_.push_back({std::move(nests), commands, vector_along(column), {}});
  }

  std::string vector_along(size_t column) const {
    const bool is_apart =
        std::find(part_.apart.begin(), part_.apart.end(), column) != part_.apart.end();
    return loop(column) + " is a vector loop of " + std::to_string(part_.shape.lanes()) +
           " iterations, which " +
           (is_apart ? "store elements a few places apart, under masks," : "lie side by side") +
           " and do not need each other";
  }

  /// A reduction whose terms lie side by side: each lane adds up some of them.
  void add_terms_in_lanes() {
    const NestTimes &times = nests_.times(part_.name);
    if (!part_.is_reduction() || !part_.can_be_vector() || times.loops.empty()) {
      return;
    }
    const std::optional<size_t> term = times.loops.back().iterator;
    if (!term || *term < part_.shape.rank() || !part_.steps.side_by_side(*term) ||
        part_.shape.extent(*term).value_or(part_.shape.lanes()) < part_.shape.lanes()) {
      return;
    }
    found_.push_back({nests_,
                      {command("vectorize", {loop(*term), part_.shape.lanes()})},
                      loop(*term) + " is a vector loop of " + std::to_string(part_.shape.lanes()) +
                          " iterations, each of whose lanes adds up its own terms",
                      {}});
  }

  /// Sums whose terms come one by one, several of them at once.
  void add_sums_at_once() {
    const NestTimes &times = nests_.times(part_.name);
    if (!part_.can_be_vector() || part_.is_reduction() || times.loops.empty() ||
        !times.loops.back().iterator || !is_term(*times.loops.back().iterator) ||
        part_.shape.has_chosen()) {
      return;
    }
    for (size_t depth = times.loops.size() - 1; depth-- > 0;) {
      const std::optional<size_t> row = times.loops[depth].iterator;
      if (row && !is_term(*row)) {
        add_sums_at_once(*row, depth);
        return;
      }
    }
  }

  void add_sums_at_once(size_t row, size_t depth) {
    auto order = iterators_from(nests_, depth);
    if (!order || depth < fixed_) {
      return;
    }
    std::rotate(order->begin(), order->begin() + 1, order->end());
    Candidate made{nests_, {command("unroll", {loop(row), sums_at_once})}, {}, {}};
    made.why = std::to_string(sums_at_once) + " sums along " + loop(row) +
               " are made at once, each in the order of its terms";
    if (depth < shared_) {
      made.nests.strip(part_.name, depth, sums_at_once);
      if (made.nests.shared(part_.name) > depth + 1) {
        made.nests.distribute(part_.name, depth + 1);
      }
      made.nests.reorder(part_.name, depth + 1, *order);
    } else {
      order->insert(order->begin(), row);
      order->pop_back();
      std::vector<Argument> loops = {loop(row) + "0"};
      std::transform(order->begin() + 1, order->end(), std::back_inserter(loops),
                     [&](size_t iterator) { return Argument(loop(iterator)); });
      loops.emplace_back(loop(row) + "1");
      made.commands = {command("split", {loop(row), sums_at_once}), command("reorder", loops),
                       command("unroll", {loop(row) + "1", sums_at_once})};
    }
    found_.push_back(made);
    if (depth < shared_) { // in a triangle, each sum needs those before it in the strip
      for (Nests &nests : in_a_shared_loop(nests_, depth, depth + 1, *order)) {
        found_.push_back({std::move(nests), made.commands, made.why, {}});
      }
    }
  }

  const Part &part_;
  const Nests &nests_;
  bool wide_;
  size_t shared_;    ///< loops
  size_t fixed_ = 0; ///< of these, the outermost ones are not the statement's to change
  std::vector<Candidate> found_;
};

/// Is a value what lies where a computation stores? Of an element that is one for all iterations,
/// such as a[0] that was set before, the conditions around say that it is that one.
class StoredBefore {
public:
  StoredBefore(const Program &program, const Computation &computation) : program_(program) {
    const auto own = program.places.find(computation.name);
    if (own == program.places.end()) {
      return;
    }
    buffer_ = own->second.buffer;
    for (const ExprPtr &index : own->second.index) {
      index_.push_back(index->kind == ExprKind::Iterator ? index->name : "");
    }
  }

  std::set<std::string> iterators() const { return {index_.begin(), index_.end()}; }

  bool operator()(const ExprPtr &value) const {
    if (value->kind == ExprKind::Select) {
      return (*this)(value->operands[1]) && (*this)(value->operands[2]);
    }
    if (value->kind != ExprKind::Access || value->position != 0) {
      return false;
    }
    const auto place = program_.places.find(value->producer->name);
    if (place == program_.places.end() || place->second.buffer != buffer_) {
      return false;
    }
    const std::vector<ExprPtr> index = index_of_read(*value, place->second);
    return std::equal(index.begin(), index.end(), index_.begin(), index_.end(),
                      [](const ExprPtr &there, const std::string &iterator) {
                        return there->kind == ExprKind::Constant ||
                               (there->kind == ExprKind::Iterator && there->name == iterator);
                      });
  }

private:
  const Program &program_;
  std::optional<size_t> buffer_;
  std::vector<std::string> index_; ///< the iterator along each dimension, or none
};

} // namespace

Shape shape_in_memory(const Program &program, const Computation &computation) {
  Shape shape(computation);
  const StoredBefore stays(program, computation);
  for (const Piece &piece : computation.pieces) {
    for (ExprPtr value = piece.value; value->kind == ExprKind::Select && stays(value->operands[2]);
         value = value->operands[1]) {
      shape.choose(value->operands[0], stays.iterators());
    }
  }
  return shape;
}

Part::Part(const Program &program, const Computation &computation, const Nests &nests)
    : name(computation.name), shape(shape_in_memory(program, computation)), steps(program, name),
      loops(nests.times(name).loops.size()) {
  for (size_t d = 0; can_be_vector() && d < shape.rank(); ++d) {
    const bool is_long = shape.extent(d).value_or(shape.lanes()) >= shape.lanes();
    if (!is_long || shape.is_chosen(d) || !nests.times(name).position(d)) {
      continue;
    }
    if (steps.written(d) != Step::Unit) {
      if (steps.written(d) == Step::Other && steps.is_written_apart(d)) {
        apart.push_back(d);
        find_begin(program, d);
      }
      continue;
    }
    if (steps.side_by_side(d)) {
      columns.push_back(d);
      continue;
    }
    if (auto copies = steps.copies_for(d)) {
      packed[d] = std::move(*copies);
    }
    if (steps.lies_near(d)) {
      interleaved.push_back(d);
    }
  }
  if (!columns.empty()) {
    find_slants(program, computation);
  }
  for (const size_t column : columns) {
    find_begin(program, column);
  }
  for (const auto &[column, copies] : packed) {
    find_begin(program, column);
  }
  for (const size_t column : interleaved) {
    find_begin(program, column);
  }
}

/// If all lies side by side along the columns as before: not of the diagonals of a matrix.
void Part::find_slants(const Program &program, const Computation &computation) {
  std::vector<Slant> found = tilewright::find_slants(instance_space(computation), 0);
  std::erase_if(found,
                [&](const Slant &slant) { return steps.written(slant.iterator) != Step::None; });
  if (found.empty()) {
    return;
  }
  ElementSteps moved(program, name, found);
  const bool are_beside = std::all_of(columns.begin(), columns.end(),
                                      [&](size_t column) { return moved.side_by_side(column); });
  if (are_beside) {
    slants = std::move(found);
    steps = std::move(moved);
  }
}

void Part::find_begin(const Program &program, size_t iterator) {
  std::optional<std::int64_t> first;
  for (const Statement &statement : program.statements) {
    if (statement.computation->name == name) {
      const isl::set domain = slants.empty() ? statement.domain
                                             : statement.domain.preimage(from_begin(
                                                   instance_space(*statement.computation), slants));
      const auto low = whole_number(isl_set_dim_min_val(domain.copy(), static_cast<int>(iterator)));
      if (!low || !begins_everywhere(domain, iterator, *low)) {
        return; // as in a triangle
      }
      first = std::min(first.value_or(*low), *low);
    }
  }
  if (first.value_or(0) % shape.lanes() != 0) {
    begins[iterator] = *first;
  }
}

std::vector<Candidate> candidates_for(const Part &part, const Nests &nests,
                                      const std::map<std::string, size_t> &depths, bool wide) {
  return Candidates(part, nests, depths, wide).find();
}

} // namespace tilewright
