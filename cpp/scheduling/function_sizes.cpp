// A function whose sizes are known: parameters that its schedule fixes, and the narrow arrays of a
// call.
#include "algorithm/block.h"
#include "algorithm/reductions.h"
#include "scheduling/scheduled_function.h"

#include <algorithm>

namespace tilewright {

namespace {

Command fix_command(const std::map<std::string, std::int64_t> &values) {
  Command fix{"", "fix", {}, {}};
  for (const auto &[name, value] : values) {
    fix.arguments.insert(fix.arguments.end(), {Argument(name), Argument(value)});
  }
  return fix;
}

} // namespace

std::shared_ptr<const Mapping> ScheduledFunction::declared_loops() const {
  if (!current_ || current_->mapping.state().work.declared == 0) {
    return nullptr;
  }
  if (declared_loops_ == nullptr) {
    const auto &fixed = current_->mapping.state().fixed;
    Mapping mapping = default_state().mapping;
    mapping = fixed.empty() ? mapping : mapping.with(fix_command(fixed));
    declared_loops_ = make_isl_shared<Mapping>(std::move(mapping));
  }
  return declared_loops_;
}

Mapping ScheduledFunction::mapping_for(const std::map<std::string, std::int64_t> &sizes) const {
  const bool is_general = sizes.empty() || !uses_default_schedule();
  return is_general ? mapping() : mapping().with(fix_command(sizes));
}

std::vector<NarrowSize> ScheduledFunction::narrow_sizes() const {
  constexpr std::int64_t short_rows = 17; // elements: longer ones fill vectors
  constexpr std::int64_t few_rows = 2;
  std::map<std::string, std::int64_t> found;
  const auto add = [&](const ExprPtr &extent, std::int64_t below) {
    if (extent->kind == ExprKind::Parameter) {
      found[extent->name] = std::max(found[extent->name], below);
    }
  };
  if (!uses_default_schedule() || has_gpu_loops() || isolated_->stop ||
      !blocks_of(*isolated_).empty()) {
    return {};
  }
  const auto add_array = [&](const Computation &array) {
    if (array.extents.size() > 1) {
      add(array.extents.back(), short_rows);
    }
  };
  std::for_each(isolated_->inputs.begin(), isolated_->inputs.end(),
                [&](const ComputationPtr &input) { add_array(*input); });
  for (const ComputationPtr &computation : isolated_->computations) {
    add_array(*computation);
    if (computation->extents.size() > 1 && scheduled_reduction(*computation)) {
      std::for_each(computation->extents.begin(), computation->extents.end(),
                    [&](const ExprPtr &extent) { add(extent, few_rows); });
    }
  }
  std::vector<NarrowSize> sizes;
  for (const auto &[parameter, below] : found) {
    sizes.push_back({parameter, below});
  }
  return sizes;
}

bool is_number(const ExprPtr &extent, const std::map<std::string, std::int64_t> &fixed,
               const std::map<std::string, std::int64_t> &sizes) {
  bool known = true;
  visit(extent, [&](const ExprPtr &node) {
    known = known && (node->kind != ExprKind::Parameter || fixed.contains(node->name) ||
                      sizes.contains(node->name));
  });
  return known;
}

std::vector<ArrayLayout> row_major_layouts(const Function &function,
                                           const std::map<std::string, std::int64_t> &fixed) {
  std::vector<ArrayLayout> layouts;
  const auto add = [&](const Computation &computation) {
    const int rank = static_cast<int>(computation.extents.size());
    int packed = 0; // inner dimensions of constant extents
    for (int d = rank - 1; d > 0 && is_number(computation.extents[static_cast<size_t>(d)], fixed);
         --d) {
      ++packed;
    }
    layouts.push_back({rank - 1, packed});
  };
  for (const ComputationPtr &input : function.inputs) {
    add(*input);
  }
  for (const ComputationPtr &output : function.outputs) {
    add(*output);
  }
  return layouts;
}

} // namespace tilewright
