#include "planning/auto/matrices_read_once.h"

#include "algorithm/reductions.h"
#include "planning/computation_shape.h"
#include "planning/register_tiles.h"

#include <algorithm>

namespace tilewright {

namespace {

/// Rows of a block: what it sums of the columns is as large as one of them.
constexpr std::int64_t block_rows = 256;
/// Columns that are summed side by side where the sums of blocks become one.
constexpr std::int64_t block_columns = 1024;

/// A reduction over one iterator with one iterator of results.
struct Sums {
  const Computation *computation = nullptr;
  std::string row; ///< of the matrix
  std::string column;
  std::int64_t lanes = 1;
  std::set<std::string> matrices; ///< what it reads at [row, column]
};

std::set<std::string> matrices_of(const Computation &computation, const std::string &row,
                                  const std::string &column) {
  std::set<std::string> found;
  const auto is_iterator = [](const ExprPtr &index, const std::string &name) {
    return index->kind == ExprKind::Iterator && index->name == name;
  };
  visit(computation.pieces.front().value, [&](const ExprPtr &node) {
    if (node->kind == ExprKind::Access && node->operands.size() == 2 &&
        is_iterator(node->operands[0], row) && is_iterator(node->operands[1], column)) {
      found.insert(node->producer->name);
    }
  });
  return found;
}

/// The sums of rows (`of_rows`), or of columns, that a computation is; nothing if it is neither, or
/// its loops are tiled otherwise.
std::optional<Sums> sums_of(const Computation &computation, bool of_rows) {
  if (computation.pieces.size() != 1 || computation.rank() != 1) {
    return std::nullopt;
  }
  const Shape shape(computation);
  if (!shape.simple() || shape.reduced() != 1 || shape.states() > 0 || shape.has_condition() ||
      shape.has_border() || !shape.is_associative() || has_small_window(shape)) {
    return std::nullopt;
  }
  const size_t along = of_rows ? 1 : 0;
  const bool fits = of_rows ? find_streamed_row(shape) == size_t{0} && !shape.all_contiguous(0)
                            : shape.any_contiguous(0);
  if (!fits || !shape.all_contiguous(along) ||
      shape.extent(along).value_or(shape.lanes()) < shape.lanes()) {
    return std::nullopt;
  }
  Sums sums{&computation, shape.name(1 - along), shape.name(along), shape.lanes(), {}};
  sums.matrices = matrices_of(computation, sums.row, sums.column);
  return sums;
}

/// The loops of `name` over blocks of rows, some rows of each, the columns, and these rows.
void add_loops(std::vector<Command> &commands, const std::string &name, const std::string &row,
               const Sums &sums, std::int64_t rows) {
  const std::string &column = sums.column;
  const std::string block = sums.row + "0";
  commands.push_back({name, "split", {row, rows}, {}});
  commands.push_back({name, "split", {column, sums.lanes}, {}});
  commands.push_back(
      {name, "reorder", {block, row + "0", column + "0", row + "1", column + "1"}, {}});
  commands.push_back({name, "unroll", {row + "1", rows}, {}});
  commands.push_back({name, "vectorize", {column + "1", sums.lanes}, {}});
  commands.push_back({name, "parallelize", {block}, {}});
}

std::vector<Command> commands_for(const Sums &of_rows, const Sums &of_columns,
                                  const std::string &blocks, bool wide, bool rows_first) {
  const std::int64_t rows = wide ? 8 : 4;
  const std::string &r = of_rows.computation->name;
  const std::string &c = of_columns.computation->name;
  const std::string &column = of_columns.column;
  const std::string block = of_columns.row + "0";
  std::vector<Command> commands;
  commands.push_back({c, "split", {of_columns.row, block_rows}, {}});
  commands.push_back({c, "rfactor", {block, blocks}, {}});
  add_loops(commands, blocks, of_columns.row + "1", of_columns, rows);
  commands.push_back({blocks,
                      "set_access",
                      {"{ " + blocks + "[column, block] -> " + blocks + "[block, column] }"},
                      {}});
  commands.push_back({r, "split", {of_rows.row, block_rows}, {}});
  add_loops(commands, r, of_rows.row + "1", of_rows, rows);
  commands.push_back(rows_first ? Command{blocks, "after", {r, of_rows.row + "10"}, {}}
                                : Command{r, "after", {blocks, of_columns.row + "10"}, {}});
  commands.push_back({c, "split", {column, block_columns}, {}});
  commands.push_back({c, "split", {column + "1", of_columns.lanes}, {}});
  commands.push_back({c, "reorder", {column + "0", block, column + "10", column + "11"}, {}});
  commands.push_back({c, "vectorize", {column + "11", of_columns.lanes}, {}});
  commands.push_back({c, "parallelize", {column + "0"}, {}});
  return commands;
}

std::string common_matrix(const Sums &one, const Sums &other) {
  const auto found = std::find_if(one.matrices.begin(), one.matrices.end(),
                                  [&](const auto &name) { return other.matrices.contains(name); });
  return found == one.matrices.end() ? "" : *found;
}

bool reads_computation(const Computation &reader, const Computation &producer) {
  return reads(reader.pieces.front().value, producer);
}

bool shares_loops(const Mapping &mapping, const std::string &name) {
  const auto &placements = mapping.state().placements;
  return std::any_of(placements.begin(), placements.end(), [&](const Placement &placement) {
    return placement.computation == name || placement.other == name;
  });
}

} // namespace

LegalMapping with_matrices_read_once(const LegalMapping &before, const Mapping &standard, bool wide,
                                     std::set<std::string> &planned, Decisions &decisions) {
  const Function &function = before.mapping.function();
  std::vector<Sums> rows;
  std::vector<Sums> columns;
  for (const ComputationPtr &computation : function.computations) {
    if (planned.contains(computation->name) || shares_loops(standard, computation->name)) {
      continue;
    }
    if (auto sums = sums_of(*computation, true)) {
      rows.push_back(std::move(*sums));
    } else if (auto others = sums_of(*computation, false)) {
      columns.push_back(std::move(*others));
    }
  }
  LegalMapping now = before;
  for (const Sums &of_rows : rows) {
    for (const Sums &of_columns : columns) {
      const std::string matrix = common_matrix(of_rows, of_columns);
      const std::string &r = of_rows.computation->name;
      const std::string &c = of_columns.computation->name;
      const std::string blocks = c + "_blocks";
      if (matrix.empty() || planned.contains(r) || planned.contains(c) ||
          function.find(blocks) != nullptr ||
          reads_computation(*of_rows.computation, *of_columns.computation)) {
        continue;
      }
      const bool rows_first = reads_computation(*of_columns.computation, *of_rows.computation);
      auto found = after_commands(now, commands_for(of_rows, of_columns, blocks, wide, rows_first));
      if (found) {
        now = std::move(*found);
        planned.insert({r, c});
        decisions.push_back({listed({r, c}), matrix +
                                                 " is read once for both, some rows at a "
                                                 "time; blocks of " +
                                                 std::to_string(block_rows) +
                                                 " rows run in parallel, with sums of their own"});
      }
    }
  }
  return now;
}

} // namespace tilewright
