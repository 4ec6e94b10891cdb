#include "bindings/watched_sites.h"

#include "algorithm/function_extents.h"

#include <algorithm>
#include <cstdlib>
#include <variant>

namespace tilewright {

namespace {

std::string access_text(const Expr &access) {
  std::string text = access.producer->name + "[";
  for (size_t d = 0; d < access.operands.size(); ++d) {
    text += (d == 0 ? "" : ", ") + to_string(access.operands[d]);
  }
  return text + "]";
}

/// The line of the first such read in the values of a piece, where there is one.
SourceLocation line_of_read(const Piece &piece, const std::string &text) {
  SourceLocation where;
  visit(piece.value, [&](const ExprPtr &expr) {
    const bool is_checked = expr->kind == ExprKind::Checked;
    if (where.known() || !expr->where.known() || (!is_checked && expr->kind != ExprKind::Access)) {
      return;
    }
    if ((is_checked ? index_text(*expr) : access_text(*expr)) == text) {
      where = expr->where;
    }
  });
  return where;
}

/// The first index of the array along the axis that a check is about; null for 0.
ExprPtr first_of(const IndexSite &site, const Function &function) {
  const ComputationPtr *array = site.from_origin ? function.find(site.array) : nullptr;
  return array == nullptr ? nullptr
                          : first_index((*array)->origin, static_cast<size_t>(site.dimension));
}

} // namespace

// Found again in the function at hand rather than kept with the code: a kernel from the cache may
// have been compiled for the same program in another file.
SourceLocation location_of(const IndexSite &site, const Function &function) {
  if (site.computation.empty()) { // a check that every kernel has says what it reads only
    for (const ComputationPtr &computation : function.computations) {
      for (const Piece &piece : computation->pieces) {
        const SourceLocation where = line_of_read(piece, site.text);
        if (where.known()) {
          return where;
        }
      }
    }
    return {};
  }
  const ComputationPtr *found = function.find(site.computation);
  if (found == nullptr || site.piece < 0 ||
      static_cast<size_t>(site.piece) >= (*found)->pieces.size()) {
    return {};
  }
  const Piece &piece = (*found)->pieces[static_cast<size_t>(site.piece)];
  const SourceLocation read = site.writes ? SourceLocation() : line_of_read(piece, site.text);
  return read.known() ? read : piece.where.known() ? piece.where : (*found)->where;
}

WatchedInstance instance_of(const IndexSite &site, const KernelFailure &failure) {
  WatchedInstance instance;
  instance.element = site.computation + "[";
  const size_t count = std::min(site.iterators.size(),
                                static_cast<size_t>(std::max<std::int64_t>(failure.reported, 0)));
  for (size_t k = 0; k < count; ++k) {
    const std::string number = std::to_string(failure.reports[k]);
    if (static_cast<int>(k) < site.rank) {
      instance.element += (k == 0 ? "" : ", ") + number;
    } else {
      instance.reduced +=
          (instance.reduced.empty() ? "" : ", ") + site.iterators[k] + " = " + number;
    }
    instance.iterators.emplace_back(site.iterators[k], failure.reports[k]);
  }
  instance.element += "]";
  return instance;
}

std::string subscript_text(const IndexSite &site, const KernelFailure &failure,
                           const Function &function) {
  if (const ExprPtr first = first_of(site, function)) {
    const auto *known = std::get_if<std::int64_t>(&first->value);
    const bool is_number = first->kind == ExprKind::Constant && known != nullptr;
    return is_number ? std::to_string(*known + failure.value)
                     : to_string(first) + (failure.value < 0 ? " - " : " + ") +
                           std::to_string(std::abs(failure.value));
  }
  return site.is_unsigned ? std::to_string(static_cast<std::uint64_t>(failure.value))
                          : std::to_string(failure.value);
}

std::string origin_text(const IndexSite &site, const Function &function) {
  const ExprPtr first = first_of(site, function);
  return first ? " from " + to_string(first) + " on" : "";
}

} // namespace tilewright
