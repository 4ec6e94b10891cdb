#include "planning/auto/strips.h"

#include "algorithm/block.h"
#include "hardware/processor.h"
#include "planning/computation_shape.h"
#include "planning/register_tiles.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

constexpr const char *doing_strips = "stages in strips";

/// The stages that lead to one result.
struct Pipeline {
  std::string result;
  std::vector<std::string> stages; ///< in the order of the function, without the result
  size_t dimension = 0;            ///< along which there are strips
  std::vector<std::int64_t> rows;  ///< of each stage: more than the result has, for a strip
  std::vector<bool> by_row;        ///< of each stage: it is read in its own row only
};

/// Rows of a strip, of which those around it are at most a part.
constexpr std::int64_t least_rows = 64;
constexpr std::int64_t least_of_halo = 8;
constexpr std::int64_t most_rows = 256;
/// A stage that is read in more rows around than these is no stencil.
constexpr std::int64_t most_rows_around = 16;
/// Windows of windows have rows at the borders of strips that need code of their own at each level.
constexpr size_t most_windows = 1;
/// Stages with windows: each takes isl some time.
constexpr size_t most_stages = 12;
/// Elements of a row whose length is a parameter, and of what a dimension between has.
constexpr std::int64_t assumed_elements = 2048;
/// What is known to be smaller altogether stays in a cache anyway.
constexpr std::int64_t small_bytes = second_cache_bytes;

/// How much lower and higher a reader's index may be than that of the element it reads.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool is_zero() const { return low == 0 && high == 0; }
};

/// Of an edge, read minus reader along one dimension; nothing where it is not bounded.
std::optional<Range> range_along(const FlowGraph::Edge &edge, size_t dimension) {
  isl_map *relation = isl_map_copy(edge.relation.get());
  const auto keep_one = [&](isl_dim_type type) {
    const auto all = static_cast<unsigned>(isl_map_dim(relation, type));
    const auto own = static_cast<unsigned>(dimension);
    relation = isl_map_project_out(relation, type, own + 1, all - own - 1);
    relation = isl_map_project_out(relation, type, 0, own);
  };
  keep_one(isl_dim_in);
  keep_one(isl_dim_out);
  relation = isl_map_reset_tuple_id(isl_map_reset_tuple_id(relation, isl_dim_in), isl_dim_out);
  // reader - read
  const isl::set distances = checked(isl::manage(isl_map_deltas(relation)), doing_strips);
  if (checked(distances.is_empty(), doing_strips)) {
    return Range{};
  }
  const auto low = whole_number(isl_set_dim_min_val(distances.copy(), 0));
  const auto high = whole_number(isl_set_dim_max_val(distances.copy(), 0));
  return low && high ? std::optional(Range{-*high, -*low}) : std::nullopt;
}

class PipelineSearch {
public:
  PipelineSearch(const Mapping &mapping, const FlowGraph &graph)
      : mapping_(mapping), function_(mapping.function()), graph_(graph) {}

  std::vector<Pipeline> find() {
    std::vector<Pipeline> found;
    const auto &all = function_.computations;
    for (auto result = all.rbegin(); result != all.rend(); ++result) {
      if (taken_.contains((*result)->name) || !is_plain(**result)) {
        continue;
      }
      std::optional<Pipeline> pipeline = pipeline_of(**result);
      if (pipeline) {
        taken_.insert((*result)->name);
        taken_.insert(pipeline->stages.begin(), pipeline->stages.end());
        found.push_back(std::move(*pipeline));
      }
    }
    return found;
  }

private:
  bool is_output(const std::string &name) const {
    return std::any_of(function_.outputs.begin(), function_.outputs.end(),
                       [&](const auto &output) { return output->name == name; });
  }

  /// Loops of its own as they were declared, and arithmetic of vectors.
  bool is_plain(const Computation &computation) const {
    const MappingState &state = mapping_.state();
    const bool is_placed = std::any_of(
        state.placements.begin(), state.placements.end(), [&](const Placement &placement) {
          return placement.computation == computation.name || placement.other == computation.name;
        });
    const Shape shape(computation);
    return !is_placed && !state.time_space.at(computation.name).explicit_time &&
           block_node(computation) == nullptr && !computation.is_view && shape.simple() &&
           shape.rank() >= 2 && shape.states() == 0 &&
           (shape.reduced() == 0 || has_small_window(shape)) && !reads_itself(computation.name);
  }

  bool reads_itself(const std::string &name) const {
    return std::any_of(graph_.flow.begin(), graph_.flow.end(),
                       [&](const auto &edge) { return edge.source == name && edge.sink == name; });
  }

  std::vector<const FlowGraph::Edge *> readers_of(const std::string &name) const {
    std::vector<const FlowGraph::Edge *> edges;
    for (const FlowGraph::Edge &edge : graph_.flow) {
      if (edge.source == name) {
        edges.push_back(&edge);
      }
    }
    return edges;
  }

  /// Does a reader need rows around its own?
  static bool is_window(const FlowGraph::Edge &edge, size_t rank) {
    for (size_t d = 0; d + 1 < rank; ++d) {
      const auto range = range_along(edge, d);
      if (!range || !range->is_zero()) {
        return true;
      }
    }
    return false;
  }

  /// What nobody reads but the result and other stages, from the last one on.
  std::set<std::string> stages_of(const Computation &result) const {
    std::set<std::string> members = {result.name};
    std::map<std::string, size_t> windows = {{result.name, 0}}; // behind each other
    const auto &all = function_.computations;
    for (auto each = all.rbegin(); each != all.rend(); ++each) {
      const Computation &computation = **each;
      const auto edges = readers_of(computation.name);
      const bool is_inside =
          !edges.empty() && std::all_of(edges.begin(), edges.end(),
                                        [&](auto *e) { return members.contains(e->sink); });
      if (!is_inside || taken_.contains(computation.name) || is_output(computation.name) ||
          computation.rank() != result.rank() || !is_plain(computation)) {
        continue;
      }
      size_t behind = 0;
      for (const FlowGraph::Edge *edge : edges) {
        behind = std::max(behind, windows.at(edge->sink) +
                                      (is_window(*edge, result.rank()) ? size_t{1} : 0));
      }
      if (behind <= most_windows) {
        members.insert(computation.name);
        windows[computation.name] = behind;
      }
    }
    return members;
  }

  std::optional<Pipeline> pipeline_of(const Computation &result) const {
    const std::set<std::string> members = stages_of(result);
    if (members.size() < 2) {
      return std::nullopt;
    }
    Pipeline pipeline;
    pipeline.result = result.name;
    for (const ComputationPtr &computation : function_.computations) {
      if (computation->name != result.name && members.contains(computation->name)) {
        pipeline.stages.push_back(computation->name);
      }
    }
    // Along the outermost dimension in which rows around are read; not along the innermost one.
    for (size_t d = 0; d + 1 < result.rank(); ++d) {
      if (!measure(pipeline, d)) {
        return std::nullopt;
      }
      if (std::any_of(pipeline.rows.begin(), pipeline.rows.end(),
                      [](std::int64_t rows) { return rows > 0; })) {
        pipeline.dimension = d;
        return pipeline;
      }
    }
    return std::nullopt;
  }

  /// The rows around a strip along a dimension that each stage needs.
  bool measure(Pipeline &pipeline, size_t dimension) const {
    std::map<std::string, Range> around = {{pipeline.result, {}}};
    std::map<std::string, bool> by_row = {{pipeline.result, true}};
    for (auto name = pipeline.stages.rbegin(); name != pipeline.stages.rend(); ++name) {
      Range own;
      bool row = true;
      for (const FlowGraph::Edge *edge : readers_of(*name)) {
        const auto known = around.find(edge->sink);
        const auto range = range_along(*edge, dimension);
        if (known == around.end() || !range || range->low < -most_rows_around ||
            range->high > most_rows_around) {
          return false;
        }
        own.low = std::min(own.low, known->second.low + range->low);
        own.high = std::max(own.high, known->second.high + range->high);
        row = row && by_row.at(edge->sink) && range->is_zero();
      }
      around[*name] = own;
      by_row[*name] = row;
    }
    pipeline.rows.clear();
    pipeline.by_row.clear();
    for (const std::string &name : pipeline.stages) {
      pipeline.rows.push_back(around.at(name).high - around.at(name).low);
      pipeline.by_row.push_back(by_row.at(name));
    }
    return true;
  }

  const Mapping &mapping_;
  const Function &function_;
  const FlowGraph &graph_;
  std::set<std::string> taken_;
};

/// Elements of the dimensions inside of `dimension`.
std::int64_t elements_of_row(const Shape &shape, size_t dimension) {
  std::int64_t elements = 1;
  bool is_known = true;
  for (size_t d = dimension + 1; d < shape.rank(); ++d) {
    is_known = is_known && shape.extent(d);
    elements *= shape.extent(d).value_or(1);
  }
  return is_known ? elements : elements * assumed_elements;
}

class Strips {
public:
  Strips(const Mapping &mapping, const Pipeline &pipeline, const StandardCommands &standard)
      : mapping_(mapping), pipeline_(pipeline), standard_(standard),
        result_(**mapping.function().find(pipeline.result)),
        row_(result_.name(pipeline.dimension)) {}

  std::int64_t halo() const {
    return *std::max_element(pipeline_.rows.begin(), pipeline_.rows.end());
  }

  /// What stages keep for the row at hand.
  std::int64_t bytes() const {
    std::int64_t bytes = 0;
    for (size_t s = 0; s < pipeline_.stages.size(); ++s) {
      bytes += bytes_of_row(s) * (1 + pipeline_.rows[s]);
    }
    return bytes;
  }

  /// Is all that goes from stage to stage known to be little?
  bool is_small() const {
    std::int64_t bytes = 0;
    for (size_t s = 0; s < pipeline_.stages.size(); ++s) {
      const Shape shape(stage(s));
      std::int64_t own = stage(s).type.bytes();
      for (size_t d = 0; d < shape.rank(); ++d) {
        if (!shape.extent(d)) {
          return false;
        }
        own *= *shape.extent(d);
      }
      bytes += own;
    }
    return bytes <= small_bytes;
  }

  std::int64_t rows() const { return std::max(least_rows, least_of_halo * halo()); }

  /// Nothing where the default schedule does something else with rows.
  std::optional<std::vector<Command>> commands(std::int64_t rows) const {
    std::vector<Command> all = {{pipeline_.result, "split", {row_, rows}, {}}};
    const auto own = rest_of(pipeline_.result, row_);
    if (!own) {
      return std::nullopt;
    }
    all.insert(all.end(), own->begin(), own->end());
    const bool is_outermost = pipeline_.dimension == 0;
    all.push_back(
        {pipeline_.result, "parallelize", {is_outermost ? row_ + "0" : result_.name(0)}, {}});
    for (size_t s = pipeline_.stages.size(); s-- > 0;) {
      const std::string &name = pipeline_.stages[s];
      // Each row once in a strip, kept as long as it is read.
      const std::string kept = row_ + (pipeline_.by_row[s] ? "1" : "0");
      all.push_back({name, "compute_at", {pipeline_.result, row_ + "1"}, {}});
      all.push_back({name, "store_at", {pipeline_.result, kept, std::string("auto")}, {}});
      const auto inside = rest_of(name, Shape(stage(s)).name(pipeline_.dimension));
      if (!inside) {
        return std::nullopt;
      }
      all.insert(all.end(), inside->begin(), inside->end());
    }
    return all;
  }

private:
  const Computation &stage(size_t s) const {
    return **mapping_.function().find(pipeline_.stages[s]);
  }
  std::int64_t bytes_of_row(size_t s) const {
    return elements_of_row(Shape(stage(s)), pipeline_.dimension) * stage(s).type.bytes();
  }

  /// Vectors and what belongs to them; nothing where other commands speak of rows.
  std::optional<std::vector<Command>> rest_of(const std::string &name,
                                              const std::string &row) const {
    static const std::set<std::string> left = {"parallelize", "after",   "before",
                                               "store_in",    "private", "cache"};
    std::vector<Command> kept;
    for (const Command &command : standard_(name)) {
      if (left.contains(command.name)) {
        continue;
      }
      for (const Argument &argument : command.arguments) {
        const auto *text = std::get_if<std::string>(&argument);
        if (text != nullptr && text->starts_with(row) && command.name != "reorder") {
          return std::nullopt;
        }
      }
      kept.push_back(command);
    }
    return kept;
  }

  const Mapping &mapping_;
  const Pipeline &pipeline_;
  const StandardCommands &standard_;
  Shape result_;
  std::string row_;
};

std::optional<StripPlan> plan_one(const Mapping &mapping, const Pipeline &pipeline,
                                  const StandardCommands &standard, Decisions &decisions) {
  const Strips strips(mapping, pipeline, standard);
  const auto no = [&](const std::string &why) {
    decisions.push_back({listed(pipeline.stages),
                         "not computed strip by strip of " + pipeline.result + ", since " + why});
    return std::nullopt;
  };
  if (strips.is_small()) {
    return no("all values of it fit into a cache");
  }
  const std::int64_t rows = strips.rows();
  if (rows > most_rows) {
    return no(std::to_string(strips.halo()) + " rows around a strip are read");
  }
  if (strips.bytes() > second_cache_bytes) {
    return no("the rows that are read at a time take " + std::to_string(strips.bytes() / 1024) +
              " KiB, and a second-level cache has " + std::to_string(second_cache_bytes / 1024));
  }
  auto commands = strips.commands(rows);
  if (!commands) {
    return no("its rows are tiled otherwise");
  }
  StripPlan plan{{pipeline.stages.begin(), pipeline.stages.end()}, std::move(*commands), {}};
  plan.members.insert(pipeline.result);
  plan.decision = {
      listed(pipeline.stages),
      "computed row by row just before " + pipeline.result + " needs them, in strips of " +
          std::to_string(rows) + " rows that run in parallel: the rows kept take " +
          std::to_string((strips.bytes() + 1023) / 1024) + " KiB, for a second-level cache of " +
          std::to_string(second_cache_bytes / 1024) + " KiB; " + std::to_string(strips.halo()) +
          " rows around a strip are computed again"};
  return plan;
}

} // namespace

std::vector<StripPlan> plan_pipelines(const Mapping &mapping, const FlowGraph &graph,
                                      const StandardCommands &standard, Decisions &decisions) {
  std::vector<StripPlan> plans;
  size_t stages = 0;
  for (const Pipeline &pipeline : PipelineSearch(mapping, graph).find()) {
    stages += pipeline.stages.size();
    if (stages > most_stages) {
      decisions.push_back({listed(pipeline.stages),
                           "not computed strip by strip of " + pipeline.result + ", since " +
                               std::to_string(most_stages) + " stages of others are"});
      continue;
    }
    if (auto plan = plan_one(mapping, pipeline, standard, decisions)) {
      plans.push_back(std::move(*plan));
    }
  }
  return plans;
}

} // namespace tilewright
