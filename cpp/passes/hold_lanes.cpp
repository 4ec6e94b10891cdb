#include "passes/hold_lanes.h"

#include "loops/enclosing_loops.h"
#include "loops/summing_loops.h"
#include "loops/traverse.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace tilewright {

namespace {

/// Of a longer loop over terms, most have all lanes: these go without masks (separate_tiles).
constexpr std::int64_t longest_window = 16;

/// The linear forms of which `value` is the least (`Op::Min`) or the greatest (`Op::Max`).
std::optional<std::vector<Linear>> bounds_of(const ValuePtr &value, Op op) {
  std::vector<ValuePtr> values;
  operands_of(op, value, values);
  std::vector<Linear> bounds;
  for (const ValuePtr &each : values) {
    auto linear = is_index(each) ? linear_of(each) : std::nullopt;
    if (!linear) {
      return std::nullopt;
    }
    bounds.push_back(std::move(*linear));
  }
  return bounds;
}

ValuePtr joined(const std::vector<Linear> &bounds, Op op) {
  ValuePtr all = value_of(bounds.front());
  for (size_t b = 1; b < bounds.size(); ++b) {
    all = op == Op::Min ? minimum(all, value_of(bounds[b])) : maximum(all, value_of(bounds[b]));
  }
  return all;
}

/// The multiple of a variable; nothing if it is hidden in an atom.
std::optional<std::int64_t> multiple_of(const Linear &linear, std::int64_t variable) {
  std::int64_t multiple = 0;
  for (const Linear::Term &term : linear.terms) {
    if (is_variable(term.atom, variable)) {
      multiple = term.coefficient;
    } else if (mentions(term.atom, variable)) {
      return std::nullopt;
    }
  }
  return multiple;
}

/// `linear` with `value` in the place of the variable.
std::optional<Linear> with_value(const Linear &linear, const For &loop, const Linear &value) {
  const auto multiple = multiple_of(linear, loop.id);
  const Linear own{{{variable(loop.id, loop.name), 1}}, 0};
  const auto rest = multiple ? combine(linear, own, -*multiple) : std::nullopt;
  return rest ? combine(*rest, value, *multiple) : std::nullopt;
}

/// The lanes of a vector loop: not below any of `lowers`, below all of `uppers`.
struct Lanes {
  std::vector<Linear> lowers;
  std::vector<Linear> uppers;
};

/// One vector loop that sums, and the loops around it that have nothing else in their bodies.
class SummingVector {
public:
  SummingVector(const For &vector, const std::vector<const For *> &around,
                const EnclosingLoops &known, Numbers &numbers)
      : vector_(vector), store_(as<Store>(vector.body())), around_(around), known_(known),
        numbers_(numbers) {}

  /// The vector of the lanes of all terms; null where it has them, or where that is not known.
  StmtPtr held() {
    const auto *sum = store_ != nullptr ? as_binary(store_->value, store_->op) : nullptr;
    const auto *element = sum != nullptr ? as_load_of(sum->left(), store_->buffer) : nullptr;
    const auto lowers = bounds_of(vector_.lower, Op::Max);
    const auto uppers = bounds_of(vector_.upper, Op::Min);
    if (element == nullptr || store_->mask || !lowers || !uppers ||
        !std::equal(element->subscripts().begin(), element->subscripts().end(),
                    store_->subscripts.begin(), store_->subscripts.end(), same_value)) {
      return nullptr;
    }
    Lanes lanes{*lowers, *uppers};
    std::vector<const For *> terms; // whose lanes are united
    for (auto loop = around_.rbegin(); loop != around_.rend(); ++loop) {
      const bool moves = depends_on(lanes, (*loop)->id);
      if ((*loop)->loop == LoopKind::Unrolled && !moves) {
        continue;
      }
      if ((*loop)->loop != LoopKind::Serial || !sums_over(**loop)) {
        break;
      }
      if (!moves) {
        continue;
      }
      if (!is_window(**loop) || !unite(lanes, **loop)) {
        return nullptr;
      }
      terms.push_back(*loop);
    }
    const auto width = terms.empty() ? std::nullopt : width_of(lanes);
    if (!width || *width > vector_.factor || !has_lanes(*lowers, *uppers, terms)) {
      return nullptr;
    }
    return in_lanes(lanes, *width, test_of(*lowers, *uppers, terms), *sum);
  }

private:
  static bool depends_on(const Lanes &lanes, std::int64_t variable) {
    const auto is_in = [&](const Linear &linear) { return multiple_of(linear, variable) != 0; };
    return std::any_of(lanes.lowers.begin(), lanes.lowers.end(), is_in) ||
           std::any_of(lanes.uppers.begin(), lanes.uppers.end(), is_in);
  }

  bool sums_over(const For &loop) const {
    return std::none_of(store_->subscripts.begin(), store_->subscripts.end(),
                        [&](const ValuePtr &subscript) { return mentions(subscript, loop.id); });
  }

  bool is_window(const For &loop) const {
    const auto lowers = bounds_of(loop.lower, Op::Max);
    const auto uppers = bounds_of(loop.upper, Op::Min);
    const auto is_short = [&](const Linear &upper) {
      return std::any_of(lowers->begin(), lowers->end(), [&](const Linear &each) {
        const auto extent = combine(upper, each, -1);
        const auto most = extent ? known_.ranges().of(*extent).upper : std::nullopt;
        return most && *most <= longest_window;
      });
    };
    return lowers && uppers && std::any_of(uppers->begin(), uppers->end(), is_short);
  }

  /// The lanes that some iteration of `loop` has: its variable is between bounds of its own, and
  /// those that a lane gives. Each lower one with each upper one must leave room for it.
  bool unite(Lanes &lanes, const For &loop) const {
    const auto firsts = bounds_of(loop.lower, Op::Max);
    auto lasts = bounds_of(loop.upper, Op::Min);
    if (!firsts || !lasts) {
      return false;
    }
    for (Linear &last : *lasts) {
      --last.constant;
    }
    Lanes united;
    int direction = 0; // in which the lanes move
    const auto take = [&](const std::vector<Linear> &bounds, bool is_lower,
                          std::vector<Linear> &into) {
      return std::all_of(bounds.begin(), bounds.end(), [&](const Linear &bound) {
        const auto multiple = multiple_of(bound, loop.id);
        if (!multiple || std::abs(*multiple) > 1 || *multiple * direction < 0) {
          return false;
        }
        if (*multiple == 0) {
          into.push_back(bound);
          return true;
        }
        direction = static_cast<int>(*multiple);
        const auto &ends = is_lower == (*multiple > 0) ? *firsts : *lasts;
        return std::all_of(ends.begin(), ends.end(), [&](const Linear &end) {
          auto at_end = with_value(bound, loop, end);
          if (at_end) {
            into.push_back(std::move(*at_end));
          }
          return at_end.has_value();
        });
      });
    };
    const bool known =
        take(lanes.lowers, true, united.lowers) && take(lanes.uppers, false, united.uppers);
    // No lane between two terms is left out.
    const bool meets =
        std::all_of(lanes.lowers.begin(), lanes.lowers.end(), [&](const Linear &lower) {
          return multiple_of(lower, loop.id) == 0 ||
                 std::all_of(lanes.uppers.begin(), lanes.uppers.end(), [&](const Linear &upper) {
                   const auto extent = combine(upper, lower, -1);
                   return multiple_of(upper, loop.id) == 0 ||
                          (extent && known_.is_positive(*extent));
                 });
        });
    lanes = std::move(united);
    return known && meets;
  }

  /// The most lanes that there may be.
  std::optional<std::int64_t> width_of(const Lanes &lanes) const {
    std::optional<std::int64_t> width;
    for (const Linear &upper : lanes.uppers) {
      for (const Linear &lower : lanes.lowers) {
        const auto distance = combine(upper, lower, -1);
        const auto most = distance ? known_.ranges().of(*distance).upper : std::nullopt;
        width = most && (!width || *most < *width) ? most : width;
      }
    }
    return width;
  }

  /// Has each term a lane? What all of its lanes share is read without a test.
  bool has_lanes(const std::vector<Linear> &lowers, const std::vector<Linear> &uppers,
                 const std::vector<const For *> &terms) const {
    return std::all_of(lowers.begin(), lowers.end(), [&](const Linear &lower) {
      return std::all_of(uppers.begin(), uppers.end(), [&](const Linear &upper) {
        const auto extent = combine(upper, lower, -1);
        return extent && (known_.is_positive(*extent) || is_positive(*extent, terms));
      });
    });
  }

  /// The same at the first iteration of a loop of which it is a multiple.
  bool is_positive(const Linear &extent, const std::vector<const For *> &terms) const {
    return std::any_of(terms.begin(), terms.end(), [&](const For *term) {
      const auto multiple = multiple_of(extent, term->id);
      const auto firsts = bounds_of(term->lower, Op::Max);
      return multiple && *multiple > 0 && firsts &&
             std::any_of(firsts->begin(), firsts->end(), [&](const Linear &first) {
               const auto least = with_value(extent, *term, first);
               return least && known_.is_positive(*least);
             });
    });
  }

  /// Which lanes have a term.
  ValuePtr test_of(const std::vector<Linear> &lowers, const std::vector<Linear> &uppers,
                   const std::vector<const For *> &terms) const {
    const auto moves = [&](const Linear &bound) {
      return std::any_of(terms.begin(), terms.end(),
                         [&](const For *term) { return multiple_of(bound, term->id) != 0; });
    };
    const ValuePtr lane = variable(vector_.id, vector_.name);
    ValuePtr all = boolean(true);
    for (const Linear &lower : lowers) {
      all = moves(lower) ? both(all, binary_value(Op::Le, value_of(lower), lane)) : all;
    }
    for (const Linear &upper : uppers) {
      all = moves(upper) ? both(all, binary_value(Op::Lt, lane, value_of(upper))) : all;
    }
    return all;
  }

  StmtPtr in_lanes(const Lanes &lanes, std::int64_t width, const ValuePtr &test,
                   const Binary &update) {
    std::vector<StmtPtr> body;
    const std::int64_t number = numbers_.next();
    const ValuePtr sum = local(number, "sum", update.left()->type);
    body.push_back(declare_local(number, "sum", update.left()));
    // What all lanes share is read once for them.
    ValueRewriter share([&](const ValuePtr &value) -> ValuePtr {
      if (!is<Load>(value) || mentions(value, vector_.id)) {
        return nullptr;
      }
      const std::int64_t shared = numbers_.next();
      body.push_back(declare_local(shared, "shared", value));
      return local(shared, "shared", value->type);
    });
    const ValuePtr term = share(update.right());
    body.push_back(
        if_then(test, assign_local(number, "sum", binary_value(store_->op, sum, term), store_->op),
                assign_local(number, "sum", sum)));
    body.push_back(store(store_->buffer, store_->name, store_->subscripts, sum));
    const ValuePtr lower = joined(lanes.lowers, Op::Max);
    const ValuePtr upper = minimum(joined(lanes.uppers, Op::Min), add(lower, integer(width)));
    return for_loop(vector_, lower, upper, block(std::move(body)));
  }

  const For &vector_;
  const Store *store_;
  const std::vector<const For *> &around_;
  const EnclosingLoops &known_;
  Numbers &numbers_;
};

class HeldLanes {
public:
  HeldLanes(const StmtPtr &root, const Ranges &known) : numbers_(root), known_(known) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    const auto *loop = as<For>(statement);
    if (loop == nullptr) {
      const std::vector<const For *> outside = std::exchange(around_, {});
      StmtPtr result = map_children(statement, *this);
      around_ = outside;
      return result;
    }
    if (loop->loop == LoopKind::Vector && is<Store>(loop->body())) {
      const StmtPtr held = SummingVector(*loop, around_, known_, numbers_).held();
      return held ? held : statement;
    }
    known_.enter(*loop);
    around_.push_back(loop);
    StmtPtr result = map_children(statement, *this);
    around_.pop_back();
    known_.leave(*loop);
    return result;
  }

private:
  Numbers numbers_;
  EnclosingLoops known_;
  std::vector<const For *> around_; ///< with nothing between them
};

} // namespace

StmtPtr hold_lanes(const StmtPtr &body, const Ranges &known) {
  return HeldLanes(body, known)(body);
}

} // namespace tilewright
