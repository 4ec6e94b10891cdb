#include "passes/lane_places.h"

#include "loops/build.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>

namespace tilewright {

namespace {

using Places = std::vector<std::int64_t>;

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && a < 0); }

/// Values of the lanes: as they are, or from a number on that is the same for all.
class LanePlaces {
public:
  explicit LanePlaces(int lanes) : lanes_(static_cast<size_t>(lanes)) {}

  std::optional<Places> from_any(const ValuePtr &value) const {
    if (value->type.lanes == 1 || is<Broadcast>(value)) {
      return Places(lanes_, 0);
    }
    if (const auto *ramp = as<Ramp>(value)) {
      return of(*ramp, 0);
    }
    const auto *node = as<Binary>(value);
    if (node != nullptr && (node->op == Op::Add || node->op == Op::Sub)) {
      return joined(
          from_any(node->left()), from_any(node->right()),
          [&](std::int64_t a, std::int64_t b) { return node->op == Op::Add ? a + b : a - b; });
    }
    if (node != nullptr && node->op == Op::Mul) {
      for (const bool left : {true, false}) {
        const auto factor = as_integer(left ? node->left() : node->right());
        if (factor) {
          const auto places = from_any(left ? node->right() : node->left());
          return joined(places, places, [&](std::int64_t a, std::int64_t) { return *factor * a; });
        }
      }
    }
    return exact(value);
  }

private:
  std::optional<Places> exact(const ValuePtr &value) const {
    const auto *spread = as<Broadcast>(value);
    if (const auto number = as_integer(spread == nullptr ? value : spread->operands[0])) {
      return Places(lanes_, *number);
    }
    if (const auto *ramp = as<Ramp>(value)) {
      const auto first = as_integer(ramp->base());
      return first ? std::optional(of(*ramp, *first)) : std::nullopt;
    }
    const auto *node = as<Binary>(value);
    if (node == nullptr) {
      return std::nullopt;
    }
    const auto a = exact(node->left());
    const auto b = exact(node->right());
    switch (node->op) {
    case Op::Add:
      return joined(a, b, std::plus<>());
    case Op::Sub:
      return joined(a, b, std::minus<>());
    case Op::Mul:
      return joined(a, b, std::multiplies<>());
    case Op::FloorDiv:
    case Op::Mod:
      if (!b || std::ranges::any_of(*b, [](std::int64_t by) { return by <= 0; })) {
        return std::nullopt;
      }
      return joined(a, b, [&](std::int64_t x, std::int64_t by) {
        return node->op == Op::FloorDiv ? floor_of(x, by) : x - by * floor_of(x, by);
      });
    default:
      return std::nullopt;
    }
  }

  Places of(const Ramp &ramp, std::int64_t first) const {
    Places places;
    for (size_t lane = 0; lane < lanes_; ++lane) {
      const auto at = static_cast<std::int64_t>(lane);
      places.push_back(first + ramp.stride * (at / ramp.inner) +
                       ramp.inner_stride * (at % ramp.inner));
    }
    return places;
  }

  template <typename Operation>
  static std::optional<Places> joined(const std::optional<Places> &a,
                                      const std::optional<Places> &b, Operation operation) {
    if (!a || !b) {
      return std::nullopt;
    }
    Places places;
    for (size_t lane = 0; lane < a->size(); ++lane) {
      places.push_back(operation((*a)[lane], (*b)[lane]));
    }
    return places;
  }

  size_t lanes_;
};

} // namespace

bool lanes_are_apart(const std::vector<ValuePtr> &subscripts, int lanes) {
  const LanePlaces places(lanes);
  std::vector<Places> known(static_cast<size_t>(lanes));
  for (const ValuePtr &subscript : subscripts) {
    if (const auto along = places.from_any(subscript)) {
      for (size_t lane = 0; lane < known.size(); ++lane) {
        known[lane].push_back((*along)[lane]);
      }
    }
  }
  return std::set<Places>(known.begin(), known.end()).size() == known.size();
}

} // namespace tilewright
