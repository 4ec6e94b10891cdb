#include "algorithm/size_parameters.h"

#include "polyhedral/interruption.h"

#include <isl/set.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace tilewright {

namespace {

class SizeSearch {
public:
  void extents(const Computation &computation) {
    for (const ExprPtr &extent : computation.extents) {
      all_of(extent);
      remember_bound(extent);
    }
    std::for_each(computation.origin.begin(), computation.origin.end(),
                  [&](const ExprPtr &first) { all_of(first); });
  }

  void domain(const isl::set &set) {
    const auto count = isl_set_dim(set.get(), isl_dim_param);
    for (isl_size p = 0; p < count; ++p) {
      const auto position = static_cast<unsigned>(p);
      if (isl_set_involves_dims(set.get(), isl_dim_param, position, 1) != isl_bool_false) {
        sizes_.insert(isl_set_get_dim_name(set.get(), isl_dim_param, position));
      }
    }
  }

  /// `is_read`: others read the value, and may compute with it in its place.
  void value(const ExprPtr &root, bool is_read) {
    if (root->kind == ExprKind::Parameter && is_read) {
      sizes_.insert(root->name);
    }
    visit(root, [&](const ExprPtr &node) { look_at(*node); });
  }

  bool is_size(const std::string &name) const { return sizes_.contains(name); }
  ExprPtr bound(const std::string &name) const {
    const auto found = bounds_.find(name);
    return found == bounds_.end() ? nullptr : found->second;
  }

private:
  void all_of(const ExprPtr &root) {
    visit(root, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::Parameter) {
        sizes_.insert(node->name);
      }
    });
  }

  /// Kept when it is made of parameters alone.
  void remember_bound(const ExprPtr &bound) {
    if (bound->kind == ExprKind::Parameter) {
      return;
    }
    std::set<std::string> names;
    bool computable = true;
    visit(bound, [&](const ExprPtr &node) {
      computable = computable && node->kind != ExprKind::Iterator &&
                   node->kind != ExprKind::Access && node->kind != ExprKind::Call &&
                   node->kind != ExprKind::Extern;
      if (node->kind == ExprKind::Parameter) {
        names.insert(node->name);
      }
    });
    for (const std::string &name : names) {
      if (computable) {
        bounds_.try_emplace(name, bound);
      }
    }
  }

  void look_at(const Expr &node) {
    for (const ReduceRange &range : node.ranges) {
      for (const ExprPtr &bound : {range.lower, range.upper}) {
        all_of(bound);
        remember_bound(bound);
      }
    }
    if (node.condition) {
      all_of(node.condition);
    }
    const bool is_arithmetic = node.kind == ExprKind::Unary || node.kind == ExprKind::Binary;
    if (node.kind != ExprKind::Access && !is_arithmetic) {
      return; // what a cast, a choice or a call makes of a number is no index
    }
    const bool meets_data =
        is_arithmetic && std::any_of(node.operands.begin(), node.operands.end(),
                                     [&](const ExprPtr &operand) { return has_data(*operand); });
    for (const ExprPtr &operand : node.operands) {
      if (operand->kind == ExprKind::Parameter && !meets_data) {
        sizes_.insert(operand->name);
      }
    }
  }

  /// Whether it reads an input, or a state of a loop. (Other computations may be computed in place,
  /// from indices alone.)
  bool has_data(const Expr &node) {
    const auto known = has_data_.find(&node);
    if (known != has_data_.end()) {
      return known->second;
    }
    count_visit();
    const bool found = (node.kind == ExprKind::Access && node.producer->is_input) ||
                       node.kind == ExprKind::Extern || node.kind == ExprKind::State ||
                       node.kind == ExprKind::WhileResult ||
                       std::any_of(node.operands.begin(), node.operands.end(),
                                   [&](const ExprPtr &operand) { return has_data(*operand); });
    has_data_[&node] = found;
    return found;
  }

  std::set<std::string> sizes_;
  std::map<std::string, ExprPtr> bounds_;
  std::unordered_map<const Expr *, bool> has_data_;
};

std::set<const Computation *> read_computations(const Function &function) {
  std::set<const Computation *> read;
  for (const ComputationPtr &computation : function.computations) {
    for (const Piece &piece : computation->pieces) {
      visit(piece.value, [&](const ExprPtr &node) {
        if (node->kind == ExprKind::Access) {
          read.insert(node->producer.get());
        }
      });
    }
  }
  return read;
}

} // namespace

std::vector<SizeParameter> size_parameters(const Function &function) {
  SizeSearch search;
  const std::set<const Computation *> read = read_computations(function);
  for (const auto *list : {&function.inputs, &function.computations}) {
    for (const ComputationPtr &declared : *list) {
      search.extents(*declared);
      search.domain(declared->domain);
      for (const Piece &piece : declared->pieces) {
        search.domain(piece.domain);
        search.value(piece.value, read.contains(declared.get()));
      }
    }
  }
  std::vector<SizeParameter> sizes;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const std::string &name = function.parameters[i];
    if (search.is_size(name)) {
      sizes.push_back({i, search.bound(name)});
    }
  }
  return sizes;
}

} // namespace tilewright
