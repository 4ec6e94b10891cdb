#include "planning/auto/time_tiles.h"

#include "hardware/processor.h"
#include "mapping/footprint.h"
#include "planning/chains.h"
#include "planning/computation_shape.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/val.h>

#include <algorithm>
#include <numeric>

namespace tilewright {

namespace {

constexpr const char *doing_time_tiles = "tiles in time";
/// Iterations of a tile: of the outermost loop, few of which save most of what goes through memory
/// and leave tiles for all threads, of the next one, and of a third one, of which many make long
/// runs.
struct TileSize {
  std::int64_t time;
  std::int64_t space;
  std::int64_t rows = 0;

  std::int64_t of(size_t loop) const { return loop == 0 ? time : loop == 1 ? space : rows; }
};
/// The largest first: of planes, of volumes, and of lines, of which the innermost loop is tiled.
const std::vector<TileSize> plane_sizes = {{8, 32}, {8, 16}, {8, 8}, {4, 8}, {4, 4}};
const std::vector<TileSize> volume_sizes = {
    {8, 8, 64}, {4, 8, 64}, {4, 4, 64}, {4, 4, 16}, {4, 4, 4}};
const std::vector<TileSize> line_sizes = {{32, 2048}};
/// Length of rows whose extent is a parameter, when footprints are counted: in planes, in volumes.
constexpr std::int64_t assumed_row = 1024;
constexpr std::int64_t assumed_short_row = 256;
/// Values of time that a tile is counted with.
constexpr std::int64_t kept_steps = 2;

/// A loop of a band as a combination of iterators.
struct Row {
  std::vector<std::int64_t> coefficients; ///< of the iterators
  std::int64_t constant = 0;
};

/// Nothing where there are parameters, divisions or several pieces in it.
std::optional<Row> row_of(const isl::pw_aff &loop, size_t iterators) {
  if (isl_pw_aff_n_piece(loop.get()) != 1) {
    return std::nullopt;
  }
  const isl::aff value = isl::manage(isl_pw_aff_as_aff(loop.copy()));
  if (value.is_null() || isl_aff_dim(value.get(), isl_dim_div) != 0 ||
      isl_aff_involves_dims(value.get(), isl_dim_param, 0,
                            static_cast<unsigned>(isl_aff_dim(value.get(), isl_dim_param))) !=
          isl_bool_false) {
    return std::nullopt;
  }
  Row row;
  for (size_t d = 0; d < iterators; ++d) {
    const auto coefficient =
        whole_number(isl_aff_get_coefficient_val(value.get(), isl_dim_in, static_cast<int>(d)));
    if (!coefficient) {
      return std::nullopt;
    }
    row.coefficients.push_back(*coefficient);
  }
  const auto constant = whole_number(isl_aff_get_constant_val(value.get()));
  if (!constant) {
    return std::nullopt;
  }
  row.constant = *constant;
  return row;
}

/// How a member of a band is tiled: by loops that are iterators plus multiples of the loops before.
struct Member {
  std::string name;
  Shape shape;
  std::vector<size_t> order; ///< of the iterators as loops; those of tiled loops first
  std::vector<std::vector<std::int64_t>> skews; ///< of a tiled loop by each one before it
  std::vector<std::int64_t> shifts;             ///< of each tiled loop

  std::string loop(size_t position) const { return shape.name(order[position]); }
};

/// Solves each of the first `tiled` rows for an iterator of its own. Nothing where a row has none.
std::optional<Member> member_of(const Computation &computation, const Band &band, size_t tiled) {
  const size_t rank = computation.rank();
  if (!may_have_time_tiles(computation) || rank < tiled || rank > tiled + 1) {
    return std::nullopt;
  }
  Member member{computation.name, Shape(computation), {}, {}, {}};
  std::vector<Row> rows;
  for (size_t r = 0; r < tiled; ++r) {
    std::optional<Row> row = row_of(band.loops.at(computation.name)[r], rank);
    if (!row) {
      return std::nullopt;
    }
    Row rest = *row;
    std::vector<std::int64_t> skews(r, 0);
    for (size_t before = r; before-- > 0;) {
      const std::int64_t factor = rest.coefficients[member.order[before]];
      skews[before] = factor;
      for (size_t d = 0; d < rank; ++d) {
        rest.coefficients[d] -= factor * rows[before].coefficients[d];
      }
      rest.constant -= factor * rows[before].constant;
    }
    const auto own = std::find(rest.coefficients.begin(), rest.coefficients.end(), 1);
    const bool alone =
        std::accumulate(rest.coefficients.begin(), rest.coefficients.end(), std::int64_t{0},
                        [](std::int64_t sum, std::int64_t coefficient) {
                          return sum + std::abs(coefficient);
                        }) == 1;
    if (own == rest.coefficients.end() || !alone) {
      return std::nullopt;
    }
    member.order.push_back(static_cast<size_t>(own - rest.coefficients.begin()));
    member.skews.push_back(std::move(skews));
    member.shifts.push_back(rest.constant);
    rows.push_back(std::move(*row));
  }
  for (size_t d = 0; d < rank; ++d) {
    if (std::find(member.order.begin(), member.order.end(), d) == member.order.end()) {
      member.order.push_back(d);
    }
  }
  return member;
}

/// Do two instances of one edge run at the same values of the first `levels` loops of the band?
isl::map at_once(const FlowGraph::Edge &edge, const Band &band, size_t levels) {
  isl::map pairs = edge.relation;
  for (size_t level = 0; level < levels; ++level) {
    pairs = pairs.intersect(isl::manage(isl_pw_aff_eq_map(band.loops.at(edge.source)[level].copy(),
                                                          band.loops.at(edge.sink)[level].copy())));
  }
  return checked(pairs, doing_time_tiles);
}

/// How many loops of a band are tiled: the innermost one stays whole where there are others.
size_t tiled_loops(const Band &band) { return band.depth() > 2 ? band.depth() - 1 : 2; }

/// The plan of one recurrence.
class TimeTiles {
public:
  TimeTiles(const LegalMapping &before, const FlowGraph &graph, const Band &band,
            Decisions &decisions)
      : before_(before), graph_(graph), band_(band), decisions_(decisions),
        about_(listed(band.computations)), tiled_(tiled_loops(band)) {}

  std::optional<LegalMapping> plan() {
    for (const std::string &name : in_order()) {
      members_.push_back(*member_of(**before_.mapping.function().find(name), band_, tiled_));
    }
    for (const Member &member : members_) {
      if (!has_neighbours(member)) {
        decisions_.push_back({about_, "the loops are not tiled in time, since those of " +
                                          member.name + " are not neighbours"});
        return std::nullopt;
      }
    }
    const std::vector<TileSize> &sizes = is_inner_tiled() ? line_sizes
                                         : tiled_ > 2     ? volume_sizes
                                                          : plane_sizes;
    TileSize size = sizes.back();
    for (auto candidate = sizes.begin(); candidate != sizes.end(); ++candidate) {
      if (bytes_of_tile(*candidate) <= cache_bytes()) {
        size = *candidate;
        break;
      }
    }
    return tiled(size);
  }

private:
  /// The order within one iteration of the band: writers before readers.
  std::vector<std::string> in_order() const {
    std::vector<std::string> order;
    std::vector<std::string> waiting = band_.computations;
    while (!waiting.empty()) {
      const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const auto &name) {
        return std::none_of(graph_.flow.begin(), graph_.flow.end(), [&](const auto &edge) {
          const bool is_open =
              std::find(waiting.begin(), waiting.end(), edge.source) != waiting.end();
          return edge.sink == name && edge.source != name && is_open &&
                 !checked(at_once(edge, band_, shared_levels()).is_empty(), doing_time_tiles);
        });
      });
      const auto next = ready == waiting.end() ? waiting.begin() : ready;
      order.push_back(*next);
      waiting.erase(next);
    }
    return order;
  }

  /// Loops of the band that members share; of the others each has its own.
  size_t shared_levels() const { return band_.depth() > 2 ? tiled_ : tiled_ - 1; }

  static Command command(const std::string &computation, const std::string &name,
                         std::vector<Argument> arguments) {
    return {computation, name, std::move(arguments), {}};
  }

  bool is_inner_tiled() const { return band_.depth() == 2; }
  /// Tiles of volumes that fit into a smaller one have borders that cost more than they save.
  std::int64_t cache_bytes() const {
    return tiled_ > 2 ? last_cache_share_bytes : second_cache_bytes;
  }

  std::vector<Command> commands_for(const TileSize &size) const {
    std::vector<Command> commands;
    for (const Member &member : members_) {
      append_skews(member, commands);
      append_tiles(member, size, commands);
      append_chains(member, commands);
    }
    append_order(commands);
    append_vectors(is_inner_tiled() ? "1" : "", commands);
    return commands;
  }

  /// The innermost loops of a member that is alone, if its iterations wait for each other there.
  std::optional<Chains> chains_for(const TileSize &size) const {
    const Member &member = members_.front();
    const size_t loops = is_inner_tiled() ? tiled_ : tiled_ + 1;
    if (members_.size() > 1 || member.order.size() != loops || has_vector(member)) {
      return std::nullopt;
    }
    const std::string &inner = member.loop(loops - 1);
    if (!is_worth_chains(iteration_cost(before_.mapping.function(), {{member.name, inner}}))) {
      return std::nullopt;
    }
    const std::vector<isl::pw_aff> &band = band_.loops.at(member.name);
    const auto around = band.begin() + static_cast<std::ptrdiff_t>(loops - 2);
    const isl::pw_aff along =
        is_inner_tiled()
            ? band[loops - 1]
            : declared_loop(instance_space(**before_.mapping.function().find(member.name)),
                            member.order.back());
    auto chains = find_chains(graph_, {{member.name, {{band.begin(), around}, *around, along}}});
    if (chains) {
      chains->count = std::min(chains->count, size.of(loops - 2));
    }
    return chains;
  }

  void append_chains(const Member &member, std::vector<Command> &commands) const {
    if (chains_) {
      const auto [chain, along] = chain_loops(member);
      const std::vector<Command> own =
          chains_->commands(member.name, chain + "1", along + (is_inner_tiled() ? "1" : ""));
      commands.insert(commands.end(), own.begin(), own.end());
    }
  }

  std::pair<std::string, std::string> chain_loops(const Member &member) const {
    return {member.loop(member.order.size() - 2), member.loop(member.order.size() - 1)};
  }

  /// Where the loops of a member, in the order of the band, stand in its nest: isl's scheduler may
  /// have put them into another order than the declared one (a recurrence).
  std::vector<size_t> positions_of(const Member &member) const {
    const auto &loops = before_.mapping.state().time_space.at(member.name).dimensions;
    std::vector<size_t> positions;
    for (size_t d = 0; d < member.order.size(); ++d) {
      positions.push_back(static_cast<size_t>(
          std::find_if(loops.begin(), loops.end(),
                       [&](const LoopDimension &loop) { return loop.name == member.loop(d); }) -
          loops.begin()));
    }
    return positions;
  }

  bool has_neighbours(const Member &member) const {
    std::vector<size_t> positions = positions_of(member);
    std::sort(positions.begin(), positions.end());
    return positions.back() - positions.front() + 1 == positions.size();
  }

  /// The loops of the band in place of the present ones.
  void append_skews(const Member &member, std::vector<Command> &commands) const {
    const auto give = [&](const std::string &name, std::vector<Argument> arguments) {
      commands.push_back(command(member.name, name, std::move(arguments)));
    };
    const std::vector<size_t> positions = positions_of(member);
    if (!std::is_sorted(positions.begin(), positions.end())) {
      std::vector<Argument> loops;
      for (size_t d = 0; d < member.order.size(); ++d) {
        loops.emplace_back(member.loop(d));
      }
      give("reorder", loops);
    }
    for (size_t d = 0; d < tiled_; ++d) {
      for (size_t before = 0; before < d; ++before) {
        if (const std::int64_t factor = member.skews[d][before]; factor != 0) {
          give("skew", {member.loop(before), member.loop(d), factor});
        }
      }
      if (member.shifts[d] != 0) {
        give("shift", {member.loop(d), member.shifts[d]});
      }
    }
  }

  void append_tiles(const Member &member, const TileSize &size,
                    std::vector<Command> &commands) const {
    const auto give = [&](const std::string &name, std::vector<Argument> arguments) {
      commands.push_back(command(member.name, name, std::move(arguments)));
    };
    std::vector<Argument> tile;
    std::vector<Argument> diagonals;
    for (size_t d = 0; d < tiled_; ++d) {
      tile.emplace_back(member.loop(d));
      diagonals.insert(diagonals.begin(), member.loop(d) + "0");
    }
    for (size_t d = 0; d < tiled_; ++d) {
      tile.emplace_back(size.of(d));
    }
    give("tile", tile);
    for (size_t d = 1; d < tiled_; ++d) {
      give("skew", {member.loop(d - 1) + "0", member.loop(d) + "0", std::int64_t{1}});
    }
    give("reorder", diagonals);
    give("parallelize", {member.loop(tiled_ - 2) + "0", std::string("dynamic")});
  }

  /// What else runs in the loops of the band gets loops of its own, before them, or behind them if
  /// it reads what they make: tiles would not wait for it, nor it for them.
  std::vector<Command> commands_apart() const {
    const auto is_member = [&](const std::string &name) { return band_.loops.contains(name); };
    const std::vector<Statement> &statements = before_.legal->program.statements;
    const std::string &base = members_.front().name;
    const std::vector<size_t> positions = positions_of(members_.front());
    const auto levels = std::min_element(positions.begin(), positions.end());
    const auto own = std::find_if(statements.begin(), statements.end(), [&](const Statement &one) {
      return one.computation->name == base;
    });
    std::vector<std::string> earlier;
    std::vector<std::string> later;
    for (const Statement &other : statements) {
      const std::string &name = other.computation->name;
      const auto end = own->order.begin() + static_cast<std::ptrdiff_t>(*levels) + 1;
      if (is_member(name) || !std::equal(own->order.begin(), end, other.order.begin())) {
        continue;
      }
      const bool reads = std::any_of(graph_.flow.begin(), graph_.flow.end(), [&](const auto &edge) {
        return edge.sink == name && is_member(edge.source);
      });
      std::vector<std::string> &side = reads ? later : earlier;
      if (std::find(side.begin(), side.end(), name) == side.end()) {
        side.push_back(name);
      }
    }
    std::vector<Command> commands;
    for (const std::string &name : earlier) {
      commands.push_back(command(name, "before", {base}));
    }
    for (auto name = later.rbegin(); name != later.rend(); ++name) {
      commands.push_back(command(*name, "after", {base}));
    }
    return commands;
  }

  /// Members follow each other within the loops that they share. One of them is where it was: the
  /// others may be placed relative to it.
  void append_order(std::vector<Command> &commands) const {
    const auto &placements = before_.mapping.state().placements;
    const auto is_placed = [&](const Member &member) {
      return std::any_of(placements.begin(), placements.end(), [&](const Placement &placement) {
        return placement.computation == member.name;
      });
    };
    const auto base = std::find_if_not(members_.begin(), members_.end(), is_placed);
    if (base == members_.end()) {
      return;
    }
    const auto place = [&](const Member &member, const Member &other, const char *how) {
      const std::string level = other.loop(shared_levels() - 1) + "1";
      commands.push_back(command(member.name, how, {other.name, level}));
    };
    for (auto each = base; each != members_.begin(); --each) {
      place(each[-1], each[0], "before");
    }
    for (auto each = base; each + 1 != members_.end(); ++each) {
      place(each[1], each[0], "after");
    }
  }

  void append_vectors(const std::string &suffix, std::vector<Command> &commands) const {
    for (const Member &member : members_) {
      if (has_vector(member)) {
        commands.push_back(
            command(member.name, "vectorize",
                    {member.loop(member.order.size() - 1) + suffix, member.shape.lanes()}));
      }
    }
  }

  /// Are iterations of the innermost loop independent of each other, and side by side in memory?
  bool has_vector(const Member &member) const {
    const size_t inner = member.order.back();
    if (member.order.size() <= shared_levels() || !member.shape.simple() ||
        inner + 1 != member.shape.rank() || !member.shape.all_contiguous(inner) ||
        member.shape.extent(inner).value_or(member.shape.lanes()) < member.shape.lanes()) {
      return false;
    }
    return std::none_of(graph_.flow.begin(), graph_.flow.end(), [&](const auto &edge) {
      return edge.source == member.name && edge.sink == member.name &&
             !checked(at_once(edge, band_, shared_levels()).is_empty(), doing_time_tiles);
    });
  }

  /// [the first iterations of a tile] -> the instances of a computation in it.
  isl::map instances_of_tile(const std::string &computation, const TileSize &size) const {
    isl::map loops =
        isl::map::from_domain(isl::set::universe(graph_.find(computation)->domain.space()));
    std::string first;
    std::string last;
    std::string bounds;
    for (size_t d = 0; d < tiled_; ++d) {
      loops = loops.flat_range_product(band_.loops.at(computation)[d].as_map());
      const std::string at = std::to_string(d);
      first += (d == 0 ? "o" : ", o") + at;
      last += (d == 0 ? "r" : ", r") + at;
      bounds += (d == 0 ? "o" : " and o") + at + " <= r" + at + " < o" + at + " + " +
                std::to_string(size.of(d));
    }
    const isl::map tile(isl_context(), "{ [" + first + "] -> [" + last + "] : " + bounds + " }");
    return checked(tile.apply_range(loops.reverse()), doing_time_tiles);
  }

  /// Of the band's own values that one tile reads: those of as many steps as are kept, and of rows
  /// of unknown length some elements.
  std::int64_t bytes_of_tile(const TileSize &size) const {
    const Mapping &mapping = before_.mapping;
    std::int64_t bytes = 0;
    for (const Member &member : members_) {
      const Computation &computation = **mapping.function().find(member.name);
      isl::map read;
      for (const FlowGraph::Edge &edge : graph_.flow) {
        if (edge.source == member.name && band_.loops.contains(edge.sink)) {
          const isl::map inside = isl::map::from_domain_and_range(graph_.find(edge.source)->domain,
                                                                  graph_.find(edge.sink)->domain);
          const isl::map here =
              instances_of_tile(edge.sink, size).apply_range(edge.relation.gist(inside).reverse());
          read = read.is_null() ? here : read.unite(here);
        }
      }
      if (read.is_null()) {
        continue;
      }
      std::int64_t elements = 1;
      for (size_t d = 0; d < computation.rank(); ++d) {
        const std::int64_t extent = constant_extent(read, static_cast<unsigned>(d));
        const std::int64_t unknown = tiled_ > 2 ? assumed_short_row : assumed_row;
        elements *= d == member.order.front() ? kept_steps : extent > 0 ? extent : unknown;
      }
      bytes += elements * computation.type.bytes();
    }
    return bytes;
  }

  std::optional<LegalMapping> tiled(const TileSize &size) {
    std::vector<Command> apart = commands_apart();
    LegalMapping alone = before_;
    if (auto moved = after_commands(before_, apart)) {
      alone = std::move(*moved);
    } else {
      apart.clear();
    }
    Decisions folds;
    LegalMapping start = alone;
    for (const Member &member : members_) {
      start = with_folded_storage(start, member.name, member.loop(0), folds);
    }
    chains_ = chains_for(size);
    std::optional<LegalMapping> found = tiled_from(start, size);
    if (!found && !folds.empty()) { // tiles may need more values at a time
      folds.clear();
      chains_ = chains_for(size);
      found = tiled_from(alone, size);
    }
    if (!found) {
      decisions_.push_back({about_, "the loops are not tiled in time, since the tiles that isl's "
                                    "scheduler finds are not legal where the values are stored, or "
                                    "beside what runs in the same loops"});
      return std::nullopt;
    }
    for (const Command &each : apart) {
      decisions_.push_back(
          {each.computation,
           "has loops of its own, since tiles of " + about_ +
               " would not wait for what runs in the same loops, nor it for them"});
    }
    explain(size);
    decisions_.insert(decisions_.end(), folds.begin(), folds.end());
    return found;
  }

  /// With chains if they are legal, else without them.
  std::optional<LegalMapping> tiled_from(const LegalMapping &start, const TileSize &size) {
    std::optional<LegalMapping> found = after_commands(start, commands_for(size));
    if (!found && chains_) {
      chains_.reset();
      found = after_commands(start, commands_for(size));
    }
    return found;
  }

  void explain(const TileSize &size) {
    std::string loops;
    std::string sizes;
    for (size_t d = 0; d < tiled_; ++d) {
      const std::string join = d == 0 ? "" : " x ";
      loops += join + members_.front().loop(d);
      sizes += join + std::to_string(size.of(d));
    }
    decisions_.push_back({about_, "tiles of " + sizes + " iterations of " + loops +
                                      ", skewed so that they can run one after the other: a tile "
                                      "touches " +
                                      std::to_string(bytes_of_tile(size) / 1024) +
                                      (tiled_ > 2 ? " KiB, for a share in a last-level cache of "
                                                  : " KiB, for a second-level cache of ") +
                                      std::to_string(cache_bytes() / 1024) + " KiB"});
    decisions_.push_back({about_, "tiles on a diagonal run in parallel, since no loop of the "
                                  "recurrence is parallel by itself"});
    if (chains_) {
      const auto [around, inner] = chain_loops(members_.front());
      decisions_.push_back({about_, chains_->why(around, inner)});
      return;
    }
    for (const Member &member : members_) {
      const std::string &inner = member.loop(member.order.size() - 1);
      decisions_.push_back(
          {member.name,
           has_vector(member)
               ? inner + " is a vector loop of " + std::to_string(member.shape.lanes()) +
                     " iterations, which lie side by side and do not need each other"
               : inner + " is no vector loop, since its iterations need each other or do not lie "
                         "side by side"});
    }
  }

  const LegalMapping &before_;
  const FlowGraph &graph_;
  const Band &band_;
  Decisions &decisions_;
  std::string about_;
  size_t tiled_; ///< loops
  std::vector<Member> members_;
  std::optional<Chains> chains_;
};

} // namespace

bool may_have_time_tiles(const Computation &computation) {
  const InstanceSpace space = instance_space(computation);
  const bool steps = std::any_of(space.strides.begin(), space.strides.end(),
                                 [](const Stride &stride) { return stride.step != 1; });
  return space.reduced == 0 && !steps && space.iterators.size() > 1;
}

bool can_have_time_tiles(const Mapping &mapping, const Band &band, Decisions &decisions) {
  const auto no = [&](const std::string &why) {
    decisions.push_back(
        {listed(band.computations), "the loops are not tiled in time, since " + why});
    return false;
  };
  if (!band.permutable || band.depth() < 2) {
    return no("they cannot be interchanged");
  }
  if (std::find(band.coincident.begin(), band.coincident.end(), true) != band.coincident.end()) {
    return no("one of them is parallel without it");
  }
  for (const std::string &name : band.computations) {
    if (!member_of(**mapping.function().find(name), band, tiled_loops(band))) {
      return no(name + " does not have one loop for each loop of the band");
    }
  }
  return true;
}

std::optional<LegalMapping> with_time_tiles(const LegalMapping &before, const FlowGraph &graph,
                                            const Band &band, Decisions &decisions) {
  return TimeTiles(before, graph, band, decisions).plan();
}

} // namespace tilewright
