#include "lowering/joined_reads.h"

#include "lowering/expression_forms.h"
#include "lowering/expressions.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

constexpr size_t most_branches = 8;
constexpr const char *doing = "finding what is read in one place";

struct Branch {
  const Expr *read = nullptr;
  isl::set instances; ///< that take it
  size_t buffer = 0;
  std::vector<isl::pw_aff> index; ///< in the buffer
};

class Branches {
public:
  Branches(const IterationSpace &space, const Program &program)
      : space_(space), program_(program) {}

  /// False where something is chosen that is no read of the memory of the others.
  bool add(const Expr &value, const isl::set &instances) {
    if (checked(instances.is_empty(), doing)) {
      return true;
    }
    if (value.kind == ExprKind::Select) {
      const auto holds = to_set(value.operands[0], space_);
      return holds && add(*value.operands[1], instances.intersect(*holds)) &&
             add(*value.operands[2], instances.subtract(*holds));
    }
    auto branch = branch_of(value);
    if (!branch || (!found_.empty() && branch->buffer != found_.front().buffer)) {
      return false;
    }
    branch->instances = instances;
    found_.push_back(std::move(*branch));
    return true;
  }

  const Expr *joined() const {
    for (const Branch &one : found_) {
      const bool stands_for_all =
          std::all_of(found_.begin(), found_.end(),
                      [&](const Branch &other) { return &other == &one || are_same(one, other); });
      if (stands_for_all) {
        return one.read;
      }
    }
    return nullptr;
  }

private:
  std::optional<Branch> branch_of(const Expr &value) const {
    if (value.kind != ExprKind::Access || value.position != 0) {
      return std::nullopt;
    }
    const auto place = program_.places.find(value.producer->name);
    if (place == program_.places.end()) {
      return std::nullopt;
    }
    Branch branch;
    branch.read = &value;
    branch.buffer = place->second.buffer;
    for (const ExprPtr &index : index_of_read(value, place->second)) {
      auto affine = to_affine(index, space_);
      if (!affine) {
        return std::nullopt;
      }
      branch.index.push_back(std::move(*affine));
    }
    return branch;
  }

  /// Whether `one` is what `other` is, for the instances that take `other`.
  static bool are_same(const Branch &one, const Branch &other) {
    for (size_t d = 0; d < one.index.size(); ++d) {
      const isl::set same = one.index[d].eq_set(other.index[d]);
      if (!checked(other.instances.is_subset(same), doing)) {
        return false;
      }
    }
    return true;
  }

  const IterationSpace &space_;
  const Program &program_;
  std::vector<Branch> found_;
};

/// What is chosen, as far as it is read; false where it is computed.
bool collect_reads(const Expr &value, std::vector<const Expr *> &reads) {
  if (value.kind == ExprKind::Select) {
    return collect_reads(*value.operands[1], reads) && collect_reads(*value.operands[2], reads);
  }
  if (value.kind == ExprKind::Access) {
    reads.push_back(&value);
  }
  return reads.size() <= most_branches &&
         (value.kind == ExprKind::Access || value.kind == ExprKind::Constant);
}

} // namespace

const Expr *joined_read(const Expr &choice, const isl::set &instances, const IterationSpace &space,
                        const Program &program) {
  std::vector<const Expr *> reads;
  if (!collect_reads(choice, reads) || reads.size() < 2) {
    return nullptr; // without asking isl
  }
  Branches branches(space, program);
  return branches.add(choice, instances) ? branches.joined() : nullptr;
}

const Expr *ExpressionTranslator::joined(const Expr &choice) const {
  if (is_traced_ || state_.instrumentation.bounds || frame_.domain.is_null()) {
    return nullptr;
  }
  return joined_read(choice, frame_.domain.intersect_params(state_.program.context),
                     {statement_.name, frame_.names}, state_.program);
}

} // namespace tilewright
