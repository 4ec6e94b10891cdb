#include "mapping/static_order.h"

#include <algorithm>
#include <memory>

namespace tilewright {

namespace {

struct Node {
  Node *parent = nullptr;
  std::vector<std::unique_ptr<Node>> children;

  int position() const {
    const auto &siblings = parent->children;
    return static_cast<int>(
        std::find_if(siblings.begin(), siblings.end(),
                     [this](const auto &child) { return child.get() == this; }) -
        siblings.begin());
  }
};

class OrderTree {
public:
  explicit OrderTree(const MappingState &state) : state_(state) {}

  std::map<std::string, std::vector<int>> build() {
    // What is not placed first: where a computation is put must not move the one that it is put
    // beside.
    for (const bool placed : {false, true}) {
      for (const std::string &name : state_.order) {
        if (is_placed(name) == placed) {
          insert(name);
        }
      }
    }
    std::map<std::string, std::vector<int>> order;
    for (const auto &[name, path] : paths_) {
      for (const Node *node : path) {
        order[name].push_back(node->position());
      }
    }
    return order;
  }

private:
  bool is_placed(const std::string &name) const {
    return !state_.time_space.at(name).explicit_time &&
           std::any_of(state_.placements.begin(), state_.placements.end(),
                       [&](const Placement &p) { return p.computation == name; });
  }

  void insert(const std::string &name) {
    if (paths_.count(name) != 0) {
      return;
    }
    const TimeSpaceMap &map = state_.time_space.at(name);
    if (map.explicit_time) {
      insert_explicit(name);
      return;
    }
    const Placement *placement = find_placement(state_, name);
    size_t length = map.dimensions.size() + 1;
    if (placement == nullptr) {
      paths_[name] = chain(&root_, root_.children.size(), length, {});
      return;
    }
    insert(placement->other);
    const std::vector<Node *> other = paths_.at(placement->other);
    if (placement->compute_at) {
      length += static_cast<size_t>(placement->shared);
    }
    const auto shared =
        std::min({static_cast<size_t>(placement->shared), other.size() - 1, length - 1});
    const std::vector<Node *> common(other.begin(),
                                     other.begin() + static_cast<std::ptrdiff_t>(shared));
    Node *parent = common.empty() ? &root_ : common.back();
    const auto at = static_cast<size_t>(other[shared]->position()) + (placement->before ? 0 : 1);
    paths_[name] = chain(parent, at, length, common);
  }

  void insert_explicit(const std::string &name) {
    if (explicit_paths_.empty()) {
      std::map<int, size_t> lengths;
      for (const auto &[other, map] : state_.time_space) {
        if (map.explicit_time) {
          lengths[map.phase] = std::max(lengths[map.phase], map.dimensions.size() + 1);
        }
      }
      for (const auto &[phase, length] : lengths) {
        explicit_paths_[phase] = chain(&root_, root_.children.size(), length, {});
      }
    }
    paths_[name] = explicit_paths_.at(state_.time_space.at(name).phase);
  }

  /// A new branch below `parent` at sibling position `at`, completing `path` to `length` nodes.
  static std::vector<Node *> chain(Node *parent, size_t at, size_t length,
                                   std::vector<Node *> path) {
    while (path.size() < length) {
      auto node = std::make_unique<Node>();
      node->parent = parent;
      Node *raw = node.get();
      parent->children.insert(parent->children.begin() + static_cast<std::ptrdiff_t>(at),
                              std::move(node));
      path.push_back(raw);
      parent = raw;
      at = 0;
    }
    return path;
  }

  const MappingState &state_;
  Node root_;
  std::map<std::string, std::vector<Node *>> paths_;
  std::map<int, std::vector<Node *>> explicit_paths_; ///< by phase
};

} // namespace

std::map<std::string, std::vector<int>> static_order(const MappingState &state) {
  return OrderTree(state).build();
}

} // namespace tilewright
