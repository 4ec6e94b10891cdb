#include "planning/sums_inside.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"

#include <isl/aff.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace tilewright {

namespace {

class Beside {
public:
  Beside(const Computation &computation, size_t dimension)
      : name_(computation.name), along_(computation.iterators.at(dimension)) {}

  /// Whether all of an expression goes into lanes.
  bool fits(const ExprPtr &node, const std::vector<std::string> &iterators) {
    if (!seen_.insert(node.get()).second) {
      return true; // it was looked at, and nothing goes on behind what does not fit
    }
    switch (node->kind) {
    case ExprKind::Access:
      return lies_beside(*node, iterators);
    case ExprKind::Reduce:
      has_sums_ = true;
      // In a branch it would have a loop that lanes do not enter together.
      return !in_choice_ && fits_sum(*node, iterators);
    case ExprKind::Select:
      return fits_choice(*node, iterators);
    case ExprKind::Constant:
    case ExprKind::Parameter:
      return true;
    case ExprKind::Iterator:
    case ExprKind::Unary:
    case ExprKind::Binary:
    case ExprKind::Cast:
    case ExprKind::Call:
      return std::all_of(node->operands.begin(), node->operands.end(),
                         [&](const ExprPtr &each) { return fits(each, iterators); });
    default:
      return false;
    }
  }

  bool has_sums() const { return has_sums_; }

private:
  /// The branches ask for sums only that are computed anyway: those of the condition, as the
  /// logistic function does.
  bool fits_choice(const Expr &choice, const std::vector<std::string> &iterators) {
    if (!fits(choice.operands[0], iterators)) {
      return false;
    }
    const bool around = in_choice_;
    in_choice_ = true;
    const bool both = fits(choice.operands[1], iterators) && fits(choice.operands[2], iterators);
    in_choice_ = around;
    return both;
  }

  bool fits_sum(const Expr &sum, std::vector<std::string> iterators) {
    if (sum.op == Op::ReduceFold || sum.predicate || depends(sum.condition)) {
      return false;
    }
    for (const ReduceRange &range : sum.ranges) {
      if (depends(range.lower) || depends(range.upper) || range.iterator == along_) {
        return false;
      }
      iterators.push_back(range.iterator);
    }
    return fits(sum.operands.front(), iterators);
  }

  bool depends(const ExprPtr &value) const {
    bool found = false;
    if (value) {
      visit(value, [&](const ExprPtr &node) {
        found = found || (node->kind == ExprKind::Iterator && node->name == along_);
      });
    }
    return found;
  }

  bool lies_beside(const Expr &read, const std::vector<std::string> &iterators) const {
    for (size_t d = 0; d < read.operands.size(); ++d) {
      const auto step = step_of(read.operands[d], iterators);
      const bool is_last = d + 1 == read.operands.size();
      if (!step || (*step != 0 && !(is_last && *step == 1))) {
        return false;
      }
    }
    return true;
  }

  /// By how much a subscript grows with the dimension; nothing if that is no number.
  std::optional<long> step_of(const ExprPtr &subscript,
                              const std::vector<std::string> &iterators) const {
    const auto affine = to_affine(subscript, {name_, iterators});
    if (!affine || isl_pw_aff_isa_aff(affine->get()) != isl_bool_true) {
      return std::nullopt;
    }
    const isl::aff one = isl::manage(isl_pw_aff_as_aff(affine->copy()));
    const auto own = std::find(iterators.begin(), iterators.end(), along_) - iterators.begin();
    const isl::val step =
        isl::manage(isl_aff_get_coefficient_val(one.get(), isl_dim_in, static_cast<int>(own)));
    for (int d = 0; d < isl_aff_dim(one.get(), isl_dim_div); ++d) {
      const isl::val factor = isl::manage(isl_aff_get_coefficient_val(one.get(), isl_dim_div, d));
      if (!factor.is_zero().is_true()) {
        return std::nullopt; // a quotient may grow with it
      }
    }
    return step.is_int().is_true() ? std::optional(isl_val_get_num_si(step.get())) : std::nullopt;
  }

  std::string name_;
  std::string along_;
  bool has_sums_ = false;
  bool in_choice_ = false;
  std::unordered_set<const Expr *> seen_; ///< expressions share their parts
};

} // namespace

bool has_sums_beside(const Computation &computation, size_t dimension) {
  Beside beside(computation, dimension);
  return std::all_of(computation.pieces.begin(), computation.pieces.end(),
                     [&](const Piece &piece) {
                       require_stack(piece.value);
                       return beside.fits(piece.value, computation.iterators);
                     }) &&
         beside.has_sums();
}

} // namespace tilewright
