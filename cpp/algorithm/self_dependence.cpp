#include "algorithm/self_dependence.h"

#include "algorithm/affine.h"
#include "algorithm/declaration_checks.h"
#include "algorithm/instance_walk.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tilewright {

namespace {

constexpr const char *doing_self_dependence = "looking for instances that need themselves";
/// isl operations for one function: what takes more is left undecided.
constexpr std::uint64_t search_limit = 500'000;
/// Reads that are followed one after the other.
constexpr size_t longest_circle = 6;

/// From an instance to those whose values it needs for certain.
struct Edge {
  size_t from;
  size_t to;
  isl::map reads;
};

/// The affine reads of a piece that happen wherever the piece is computed, or in a branch of a
/// select that an affine condition decides.
class CertainReads {
public:
  CertainReads(const Computation &computation, const std::map<const Computation *, size_t> &numbers,
               std::vector<Edge> &edges)
      : computation_(computation), numbers_(numbers), edges_(edges) {}

  void collect(const Piece &piece, const isl::set &context) {
    InstanceWalk walk;
    walk.name = computation_.name;
    walk.where = piece.where;
    walk.visit = [&](const InstanceNode &at) {
      if (!at.certain || at.node->kind == ExprKind::While) {
        return false; // the number of iterations is that of data
      }
      if (at.node->kind == ExprKind::Access) {
        add(*at.node, {at.domain, at.iterators});
      }
      return true;
    };
    walk({piece.value}, piece.domain.intersect_params(context), computation_.iterators);
  }

private:
  void add(const Expr &read, const Scope &scope) {
    const auto producer = numbers_.find(read.producer.get());
    if (producer == numbers_.end()) {
      return;
    }
    const isl::set domain = checked(scope.domain, doing_self_dependence);
    isl_map *map = isl_map_from_domain(domain.copy());
    for (const ExprPtr &subscript : read.operands) {
      const auto affine = to_affine(subscript, {computation_.name, scope.iterators});
      if (!affine) {
        isl_map_free(map);
        return;
      }
      map = isl_map_flat_range_product(map, isl_map_from_pw_aff(affine->copy()));
    }
    const auto rank = static_cast<unsigned>(computation_.rank());
    map = isl_map_project_out(map, isl_dim_in, rank,
                              static_cast<unsigned>(scope.iterators.size()) - rank);
    map = isl_map_set_tuple_name(map, isl_dim_in, computation_.name.c_str());
    map = isl_map_set_tuple_name(map, isl_dim_out, read.producer->name.c_str());
    const isl::map reads = checked(isl::manage(map), doing_self_dependence);
    const size_t from = numbers_.at(&computation_);
    const auto same = std::find_if(edges_.begin(), edges_.end(), [&](const Edge &edge) {
      return edge.from == from && edge.to == producer->second;
    });
    if (same == edges_.end()) {
      edges_.push_back({from, producer->second, reads});
    } else {
      same->reads = same->reads.unite(reads);
    }
  }

  const Computation &computation_;
  const std::map<const Computation *, size_t> &numbers_;
  std::vector<Edge> &edges_;
};

/// The groups of nodes that reach each other, each with the edges inside it; those without edges
/// are left out.
std::vector<std::vector<Edge>> circles_of(const std::vector<Edge> &edges) {
  std::map<size_t, std::set<size_t>> reached;
  for (const Edge &edge : edges) {
    std::set<size_t> &found = reached[edge.from];
    std::vector<size_t> stack;
    if (found.empty()) {
      stack.push_back(edge.from);
    }
    while (!stack.empty()) {
      const size_t node = stack.back();
      stack.pop_back();
      for (const Edge &next : edges) {
        if (next.from == node && found.insert(next.to).second) {
          stack.push_back(next.to);
        }
      }
    }
  }
  std::map<std::set<size_t>, std::vector<Edge>> groups;
  for (const Edge &edge : edges) {
    if (reached[edge.to].contains(edge.from)) {
      groups[reached[edge.to]].push_back(edge); // those in a circle reach the same ones
    }
  }
  std::vector<std::vector<Edge>> circles;
  for (auto &[nodes, inside] : groups) {
    circles.push_back(std::move(inside));
  }
  return circles;
}

class CircleSearch {
public:
  explicit CircleSearch(const Function &function) : function_(function) {}

  void search(std::vector<Edge> edges) {
    std::erase_if(edges, [](const Edge &edge) {
      return checked(edge.reads.is_empty(), doing_self_dependence);
    });
    for (std::vector<Edge> &circle : circles_of(edges)) {
      if (std::optional<std::vector<Edge>> left = without_progress(circle)) {
        search(std::move(*left));
      } else {
        follow(circle);
      }
    }
  }

private:
  /// The reads that do not advance along a dimension in which none goes back (or none forward),
  /// where some do.
  static std::optional<std::vector<Edge>> without_progress(const std::vector<Edge> &circle) {
    unsigned rank = ~0U;
    for (const Edge &edge : circle) {
      rank = std::min(rank, static_cast<unsigned>(isl_map_dim(edge.reads.get(), isl_dim_in)));
    }
    for (unsigned d = 0; d < rank; ++d) {
      bool earlier = false;
      bool later = false;
      for (const Edge &edge : circle) {
        const auto some = [&](auto *order) {
          return !checked(isl::manage(order(edge.reads.copy(), isl_dim_in, static_cast<int>(d),
                                            isl_dim_out, static_cast<int>(d)))
                              .is_empty(),
                          doing_self_dependence);
        };
        earlier = earlier || some(isl_map_order_gt);
        later = later || some(isl_map_order_lt);
      }
      if (earlier != later) {
        std::vector<Edge> left = circle;
        for (Edge &edge : left) {
          edge.reads =
              isl::manage(isl_map_equate(edge.reads.release(), isl_dim_in, static_cast<int>(d),
                                         isl_dim_out, static_cast<int>(d)));
        }
        return left;
      }
    }
    return std::nullopt;
  }

  /// Follows the reads, shortest circles first.
  void follow(const std::vector<Edge> &circle) {
    std::map<std::pair<size_t, size_t>, isl::map> chains; ///< from the first node to the last
    for (const Edge &edge : circle) {
      chains.emplace(std::pair(edge.from, edge.to), edge.reads);
    }
    for (size_t length = 1; length <= longest_circle; ++length) {
      // Outputs stand last, and are what a person asked for.
      for (auto chain = chains.rbegin(); chain != chains.rend(); ++chain) {
        if (chain->first.first == chain->first.second) {
          report_if_any(circle, chain->first.first, chain->second, length);
        }
      }
      std::map<std::pair<size_t, size_t>, isl::map> longer;
      for (const auto &[ends, chain] : chains) {
        for (const Edge &edge : circle) {
          if (edge.from == ends.second) {
            const isl::map next = chain.apply_range(edge.reads);
            const auto [known, is_new] = longer.try_emplace({ends.first, edge.to}, next);
            if (!is_new) {
              known->second = known->second.unite(next);
            }
          }
        }
      }
      for (auto &[ends, chain] : longer) {
        chain = checked(chain.coalesce(), doing_self_dependence);
      }
      chains = std::move(longer);
    }
  }

  void report_if_any(const std::vector<Edge> &circle, size_t node, const isl::map &chain,
                     size_t length) const {
    const isl::set space = chain.domain();
    isl::map same = isl::manage(isl_set_identity(space.copy()));
    const isl::set needing = checked(chain.intersect(same).domain(), doing_self_dependence);
    Point point;
    if (checked(needing.is_empty(), doing_self_dependence) || !sample_point(needing, point)) {
      return;
    }
    // What is reached from there in so many steps, for these parameters; then back along it.
    std::vector<std::map<size_t, isl::set>> reached(length + 1);
    const isl::set start = at(needing, point, true);
    reached[0].emplace(node, start);
    for (size_t step = 0; step < length; ++step) {
      for (const Edge &edge : circle) {
        const auto from = reached[step].find(edge.from);
        if (from != reached[step].end()) {
          const isl::set next = from->second.apply(edge.reads);
          const auto [known, is_new] = reached[step + 1].try_emplace(edge.to, next);
          if (!is_new) {
            known->second = known->second.unite(next);
          }
        }
      }
    }
    const std::string own = instance_text(name_of(node), point.coordinates);
    std::string text = own;
    isl::set target = start;
    size_t target_node = node;
    for (size_t step = length; step-- > 0;) {
      for (const Edge &edge : circle) {
        const auto from = reached[step].find(edge.from);
        if (edge.to != target_node || from == reached[step].end()) {
          continue;
        }
        const isl::set before = from->second.intersect(target.apply(edge.reads.reverse()));
        Point instance;
        if (checked(before.is_empty(), doing_self_dependence) || !sample_point(before, instance)) {
          continue;
        }
        text = instance_text(name_of(edge.from), instance.coordinates) + " -> " + text;
        instance.parameters = point.parameters;
        target = at(before, instance, false);
        target_node = edge.from;
        break;
      }
    }
    const std::string parameters = parameter_text(point);
    Error error(ErrorKind::Cycle,
                "computation '" + name_of(node) + "' needs its own value at " + own +
                    (parameters.empty() ? "" : " (with " + parameters + ")") + ": " + text,
                piece_of(node, start).where);
    error.details["computation"] = name_of(node);
    error.details["point"] = own;
    error.details["parameters"] = parameters;
    error.details["chain"] = text;
    throw error;
  }

  /// The one point of `set` that is `point`.
  static isl::set at(const isl::set &set, const Point &point, bool fix_parameters) {
    isl_set *fixed = set.copy();
    const auto fix = [&](isl_dim_type type, int position, std::int64_t value) {
      fixed = isl_set_fix_val(fixed, type, static_cast<unsigned>(position),
                              isl_val_int_from_si(isl_context().get(), value));
    };
    for (const auto &[name, value] : point.parameters) {
      const int position = isl_set_find_dim_by_name(fixed, isl_dim_param, name.c_str());
      if (fix_parameters && position >= 0) {
        fix(isl_dim_param, position, value);
      }
    }
    for (size_t d = 0; d < point.coordinates.size(); ++d) {
      fix(isl_dim_set, static_cast<int>(d), point.coordinates[d]);
    }
    return checked(isl::manage(fixed), doing_self_dependence);
  }

  const std::string &name_of(size_t node) const { return function_.computations[node]->name; }

  const Piece &piece_of(size_t node, const isl::set &instance) const {
    const std::vector<Piece> &pieces = function_.computations[node]->pieces;
    const auto found = std::find_if(pieces.begin(), pieces.end(), [&](const Piece &piece) {
      return !checked(instance.intersect(piece.domain).is_empty(), doing_self_dependence);
    });
    return found == pieces.end() ? pieces.front() : *found;
  }

  const Function &function_;
};

/// Whether some computation reads itself, directly or through others: few do, and only those are
/// asked.
bool may_have_circles(const Function &function,
                      const std::map<const Computation *, size_t> &numbers) {
  for (size_t i = 0; i < function.computations.size(); ++i) {
    bool found = false;
    for (const Piece &piece : function.computations[i]->pieces) {
      visit(piece.value, [&](const ExprPtr &node) {
        if (node->kind == ExprKind::Access) {
          // Producers stand before consumers but in a circle.
          const auto producer = numbers.find(node->producer.get());
          found = found || (producer != numbers.end() && producer->second >= i);
        }
      });
    }
    if (found) {
      return true;
    }
  }
  return false;
}

} // namespace

void check_self_dependence(const Function &function) {
  std::map<const Computation *, size_t> numbers;
  for (size_t i = 0; i < function.computations.size(); ++i) {
    numbers.emplace(function.computations[i].get(), i);
  }
  if (!may_have_circles(function, numbers)) {
    return;
  }
  const OperationLimit limit(search_limit);
  try {
    std::vector<Edge> edges;
    for (const ComputationPtr &computation : function.computations) {
      CertainReads reads(*computation, numbers, edges);
      for (const Piece &piece : computation->pieces) {
        reads.collect(piece, function.context);
      }
    }
    CircleSearch(function).search(std::move(edges));
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
  }
}

} // namespace tilewright
