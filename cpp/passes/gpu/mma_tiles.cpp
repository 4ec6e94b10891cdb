#include "passes/gpu/mma_tiles.h"

#include "loops/traverse.h"
#include "mapping/mma_shapes.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tilewright {

namespace {

constexpr std::int64_t half_of_rows = mma_rows / 2;

using Values = std::unordered_map<std::int64_t, ValuePtr>;

ValuePtr substitute(const ValuePtr &value, const Values &variables) {
  ValueRewriter rewrite([&](const ValuePtr &inner) -> ValuePtr {
    const auto *own = as<Variable>(inner);
    const auto found = own != nullptr ? variables.find(own->id) : variables.end();
    return found == variables.end() ? nullptr : found->second;
  });
  return rewrite(value);
}

bool depends(const ValuePtr &value, std::int64_t variable) {
  bool found = false;
  visit_value(value, [&](const Value &inner) { found = found || (is_variable(inner, variable)); });
  return found;
}

/// A factor without the conversion to the sum's type.
ValuePtr unconverted(const ValuePtr &value) {
  const bool converts = is<Cast>(value) && (value->operands[0]->type.scalar == Float16 ||
                                            value->operands[0]->type.scalar == BFloat16);
  return converts ? value->operands[0] : value;
}

class ProductTile {
public:
  ProductTile(const LanePlace &lane, const Kernel &kernel, const Ranges &ranges, Numbers &numbers)
      : lane_(lane), kernel_(kernel), ranges_(ranges), numbers_(numbers) {}

  StmtPtr operator()(const For &rows) {
    collect(rows);
    if (rows_ == nullptr || columns_ == nullptr || sum_ == nullptr || store_ == nullptr) {
      throw Error(ErrorKind::Internal, "a tile's product has not all of its loops");
    }
    take_factors();
    sort_conditions();
    StmtPtr result = product(true);
    ValuePtr full = boolean(true);
    for (const For *loop : {rows_, columns_, sum_}) {
      const std::int64_t count = loop == rows_      ? mma_rows
                                 : loop == columns_ ? mma_columns
                                                    : layout_->depth;
      full =
          both(full, binary_value(Op::Ge, expanded(sub(loop->upper, loop->lower)), integer(count)));
    }
    if (!is_certain(full) && others_.empty()) {
      result = if_then(full, product(false), result);
    }
    return if_then(uniform_, result);
  }

private:
  [[noreturn]] void refuse(const std::string &message) const {
    const std::string name =
        store_ == nullptr ? "" : " of " + kernel_.buffers[static_cast<size_t>(store_->buffer)].name;
    throw Error(ErrorKind::Schedule, "gpu_mma: the tile" + name + " " + message);
  }

  ValuePtr expanded(const ValuePtr &value) const { return substitute(value, lets_); }

  /// The loops, what is defined and asked between them, and the update inside.
  void collect(const LoopStatement &statement) {
    switch (statement.kind) {
    case StatementKind::For:
      collect_loop(cast<For>(statement));
      return;
    case StatementKind::If: {
      const auto &test = cast<If>(statement);
      if (test.has_otherwise()) {
        refuse("has two cases inside");
      }
      operands_of(Op::And, expanded(test.condition), conditions_);
      collect(*test.then());
      return;
    }
    case StatementKind::Block:
      for (size_t k = 0; k < statement.children.size(); ++k) {
        const LoopStatement &child = *statement.children[k];
        if (const auto *let = as<Let>(child)) {
          lets_[let->id] = expanded(let->value);
        } else if (k + 1 == statement.children.size()) {
          collect(child);
        } else {
          refuse(
              "has more inside of its loops than one sum of products; give other computations "
              "(and the start of the sums) loops of their own: reorder a loop over terms outside");
        }
      }
      return;
    case StatementKind::Store:
      store_ = &cast<Store>(statement);
      return;
    default:
      refuse("has more inside of its loops than one sum of products");
    }
  }

  void collect_loop(const For &loop) {
    if (loop.loop != LoopKind::GpuMma) {
      refuse("has another loop, '" + loop.name + "', inside of its own; reorder it outside");
    }
    (loop.axis == 0 ? rows_ : loop.axis == 1 ? columns_ : sum_) = &loop;
    const ValuePtr number = variable(loop.id, loop.name);
    if (loop.axis >= 2) {
      depth_ = loop.factor;
    } else if (as_integer(loop.lower) != 0) {
      conditions_.push_back(binary_value(Op::Ge, number, expanded(loop.lower)));
    }
    conditions_.push_back(binary_value(Op::Lt, number, expanded(loop.upper)));
    collect(*loop.body());
  }

  void take_factors() {
    shape_ = static_cast<MmaShape>(depth_);
    layout_ = &layout_of(shape_);
    const ValuePtr value = expanded(store_->value);
    for (const ValuePtr &subscript : store_->subscripts) {
      place_.push_back(expanded(subscript));
      if (depends(place_.back(), sum_->id)) {
        refuse("has another sum in each iteration of '" + sum_->name + "'");
      }
    }
    const auto *sum = as_binary(value, Op::Add);
    const auto *product = sum != nullptr && is_load_of(sum->left(), store_->buffer)
                              ? as_binary(sum->right(), Op::Mul)
                              : nullptr;
    if (product == nullptr) {
      refuse("is no sum of products");
    }
    left_ = unconverted(product->left());
    right_ = unconverted(product->right());
    if (depends(left_, columns_->id)) {
      std::swap(left_, right_);
    }
    for (const auto &[factor, loop] : {std::make_pair(left_, columns_), {right_, rows_}}) {
      if (depends(factor, loop->id)) {
        refuse("needs one factor that is the same for all of '" + columns_->name +
               "' and one that is for all of '" + rows_->name + "', but both change with '" +
               loop->name + "'");
      }
      if (!(factor->type == ValueType{layout_->type, 1})) {
        throw Error(ErrorKind::Internal, "a factor of a tile has another type than its shape");
      }
    }
  }

  void sort_conditions() {
    for (const ValuePtr &condition : conditions_) {
      const bool of_row = depends(condition, rows_->id);
      const bool of_column = depends(condition, columns_->id);
      const bool of_term = depends(condition, sum_->id);
      if (of_row + of_column + of_term > 1) {
        refuse("has an edge that is not straight: bounds of its loops '" + rows_->name + "', '" +
               columns_->name + "' and '" + sum_->name +
               "' depend on one another; write the condition into a factor (tw.select), or give "
               "bounds that do not");
      }
      if (!of_row && !of_column && !of_term) {
        uniform_ = both(uniform_, condition);
        continue;
      }
      (of_row ? on_rows_ : of_column ? on_columns_ : on_terms_).push_back(condition);
      // Those of the loops' ends are no others: a full tile meets them.
      const For *loop = of_row ? rows_ : of_column ? columns_ : sum_;
      const auto *less = as_binary(condition, Op::Lt);
      if (less == nullptr || !is_variable(less->left(), loop->id)) {
        others_.push_back(condition);
      }
    }
  }

  bool is_certain(const ValuePtr &condition) const {
    std::vector<ValuePtr> parts;
    operands_of(Op::And, condition, parts);
    return std::all_of(parts.begin(), parts.end(), [&](const ValuePtr &part) {
      if (const auto known = as_boolean(part)) {
        return *known;
      }
      const auto *test = as<Binary>(part);
      if (test == nullptr || !is_index(test->left()) || !is_index(test->right())) {
        return false;
      }
      const ValuePtr &a = test->left();
      const ValuePtr &b = test->right();
      const auto least = [&](const ValuePtr &x, const ValuePtr &y) {
        return ranges_.of(sub(x, y)).lower.value_or(std::numeric_limits<std::int64_t>::min());
      };
      return (test->op == Op::Lt && least(b, a) >= 1) || (test->op == Op::Le && least(b, a) >= 0) ||
             (test->op == Op::Ge && least(a, b) >= 0) || (test->op == Op::Gt && least(a, b) >= 1);
    });
  }

  /// What is left to ask of `conditions` at some element; null for nothing.
  ValuePtr asked(const std::vector<const std::vector<ValuePtr> *> &conditions,
                 const Values &at) const {
    ValuePtr all;
    for (const std::vector<ValuePtr> *some : conditions) {
      for (const ValuePtr &condition : *some) {
        const ValuePtr here = substitute(condition, at);
        if (!is_certain(here)) {
          all = all ? both(all, here) : here;
        }
      }
    }
    return all;
  }

  /// `value` where `condition` holds, else 0.
  ValuePtr guarded(const ValuePtr &value, const ValuePtr &condition, const std::string &name) {
    if (!condition) {
      return value;
    }
    const std::int64_t id = numbers_.next();
    before_.push_back(declare_local(id, name, zero_of(value->type.scalar)));
    before_.push_back(if_then(condition, assign_local(id, name, value)));
    return local(id, name, value->type);
  }

  ValuePtr row_at(int offset) const { return add(lane_.row, integer(offset)); }

  /// The value of the loop over terms at a place of the depth.
  ValuePtr term_at(int place, const Values &at) const {
    const ValuePtr within = add(mul(integer(layout_->step), lane_.column), integer(place));
    return add(substitute(expanded(sum_->lower), at), within);
  }

  /// How a factor lies in shared memory, where a warp can load it by matrices of 8 x 8.
  struct Stored {
    bool is_possible = false;
    bool transposed = false; ///< terms are rows of memory
  };

  /// `across`: the factor's other loop, over rows or columns of the tile.
  Stored stored(const ValuePtr &value, const For &across) const {
    constexpr std::int64_t side = 8;
    const auto *factor = as<Load>(value);
    if (factor == nullptr || factor->type.scalar.bytes() != 2 || factor->operands.size() < 2) {
      return {};
    }
    const KernelBuffer &buffer = kernel_.buffers[static_cast<size_t>(factor->buffer)];
    const auto width = as_integer(buffer.extents.back());
    if (!buffer.is_scoped || buffer.memory != "shared" || !width || *width % side != 0) {
      return {};
    }
    // Each of the two loops is in one dimension, as it is, and one of them in the last.
    const size_t last = factor->operands.size() - 1;
    std::array<int, 2> seen{};
    std::array<bool, 2> in_last{};
    for (size_t d = 0; d <= last; ++d) {
      const ValuePtr &subscript = factor->operands[d];
      for (size_t which = 0; which < 2; ++which) {
        const std::int64_t id = which == 0 ? across.id : sum_->id;
        if (!depends(subscript, id)) {
          continue;
        }
        ++seen[which];
        in_last[which] = d == last;
        const auto linear = is_index(subscript) ? linear_of(subscript) : std::nullopt;
        if (!linear || std::none_of(linear->terms.begin(), linear->terms.end(), [&](const auto &t) {
              return is_variable(t.atom, id) && t.coefficient == 1;
            })) {
          return {};
        }
      }
    }
    if (seen != std::array<int, 2>{1, 1} || in_last[0] == in_last[1]) {
      return {};
    }
    // Rows of eight begin on 16 bytes.
    const auto first = linear_of(substitute(
        factor->operands[last], {{across.id, integer(0)}, {sum_->id, expanded(sum_->lower)}}));
    const bool aligned =
        first && first->constant % side == 0 &&
        std::all_of(first->terms.begin(), first->terms.end(),
                    [](const Linear::Term &term) { return term.coefficient % side == 0; });
    return {aligned, in_last[0]};
  }

  /// The thread's elements of a factor by one instruction of the warp; nothing where it cannot.
  std::vector<ValuePtr> loaded(const ValuePtr &value, const For &across, size_t count) {
    const Stored how = stored(value, across);
    if (!how.is_possible) {
      return {};
    }
    const auto &factor = cast<Load>(value);
    constexpr std::int64_t side = 8;
    const auto matrices = static_cast<std::int64_t>(count / 2);
    const bool is_left = &across == rows_;
    const ValuePtr thread = gpu_index(3);
    const ValuePtr row = floor_mod(thread, integer(side));
    const ValuePtr matrix = floor_mod(floor_div(thread, integer(side)), integer(matrices));
    // Of the left factor those of the upper and lower rows take turns.
    const ValuePtr half_of_rows = is_left ? floor_mod(matrix, integer(2)) : integer(0);
    const ValuePtr half_of_depth = is_left ? floor_div(matrix, integer(2)) : matrix;
    ValuePtr at_across = mul(integer(side), half_of_rows);
    ValuePtr at_term = add(expanded(sum_->lower), mul(integer(side), half_of_depth));
    (how.transposed ? at_term : at_across) = add(how.transposed ? at_term : at_across, row);
    std::vector<ValuePtr> subscripts;
    for (const ValuePtr &subscript : factor.subscripts()) {
      subscripts.push_back(substitute(subscript, {{across.id, at_across}, {sum_->id, at_term}}));
    }
    const std::int64_t id = numbers_.next();
    const ValueType type{factor.type.scalar, static_cast<int>(count)};
    const std::string name = is_left ? "left" : "right";
    before_.push_back(declare_local(
        id, name,
        matrices_value(factor.buffer, factor.name, type, how.transposed, std::move(subscripts))));
    std::vector<ValuePtr> elements;
    for (size_t k = 0; k < count; ++k) {
      elements.push_back(lane_value(local(id, name, type), static_cast<std::int64_t>(k)));
    }
    return elements;
  }

  /// Whether a comparison has a variable in sums only: it holds everywhere between two places where
  /// it holds.
  static bool is_monotone(const ValuePtr &condition, std::int64_t variable) {
    return std::all_of(condition->operands.begin(), condition->operands.end(),
                       [&](const ValuePtr &side) {
                         const auto linear = is_index(side) ? linear_of(side) : std::nullopt;
                         return linear && std::all_of(linear->terms.begin(), linear->terms.end(),
                                                      [&](const Linear::Term &term) {
                                                        return is<Variable>(term.atom) ||
                                                               !depends(term.atom, variable);
                                                      });
                       });
  }

  /// Whether every element of the factor is there.
  bool is_whole(const For &across, bool may_be_short) const {
    std::vector<ValuePtr> all = &across == rows_ ? on_rows_ : on_columns_;
    all.insert(all.end(), on_terms_.begin(), on_terms_.end());
    return !may_be_short || std::all_of(all.begin(), all.end(), [&](const ValuePtr &condition) {
      if (!is_monotone(condition, across.id) || !is_monotone(condition, sum_->id)) {
        return false;
      }
      Values last = {{across.id, integer((&across == rows_ ? mma_rows : mma_columns) - 1)}};
      last[sum_->id] = add(expanded(sum_->lower), integer(layout_->depth - 1));
      Values first = {{across.id, integer(0)}, {sum_->id, expanded(sum_->lower)}};
      return is_certain(substitute(condition, last)) && is_certain(substitute(condition, first));
    });
  }

  StmtPtr product(bool may_be_short) {
    before_.clear();
    const auto ask = [&](const std::vector<const std::vector<ValuePtr> *> &conditions,
                         const Values &at) {
      return may_be_short ? asked(conditions, at) : nullptr;
    };
    std::vector<ValuePtr> operands;
    if (is_whole(*rows_, may_be_short)) {
      operands = loaded(left_, *rows_, layout_->left.size());
    }
    const bool left_is_loaded = !operands.empty();
    for (const MmaLayout::Element &element :
         left_is_loaded ? std::vector<MmaLayout::Element>() : layout_->left) {
      Values at = {{rows_->id, row_at(element.row)}};
      at[sum_->id] = term_at(element.place, at);
      operands.push_back(guarded(substitute(left_, at), ask({&on_rows_, &on_terms_}, at), "left"));
    }
    std::vector<ValuePtr> right;
    if (is_whole(*columns_, may_be_short)) {
      right = loaded(right_, *columns_, layout_->right.size());
    }
    operands.insert(operands.end(), right.begin(), right.end());
    for (const int place : right.empty() ? layout_->right : std::vector<int>()) {
      Values at = {{columns_->id, lane_.row}};
      at[sum_->id] = term_at(place, at);
      operands.push_back(
          guarded(substitute(right_, at), ask({&on_columns_, &on_terms_}, at), "right"));
    }
    const KernelBuffer &buffer = kernel_.buffers[static_cast<size_t>(store_->buffer)];
    const bool is_own = buffer.is_scoped && buffer.memory == "private";
    std::vector<StmtPtr> stores;
    const std::int64_t id = numbers_.next();
    const ValuePtr sums = local(id, "sums", {Float32, 4});
    for (int element = 0; element < 4; ++element) {
      const Values at = {{rows_->id, row_at(element / 2 * static_cast<int>(half_of_rows))},
                         {columns_->id, add(mul(integer(2), lane_.column), integer(element % 2))}};
      std::vector<ValuePtr> place;
      for (const ValuePtr &subscript : place_) {
        place.push_back(substitute(subscript, at));
      }
      // A thread's own sums outside of a short tile are nobody's.
      const ValuePtr condition = is_own ? nullptr : ask({&on_rows_, &on_columns_}, at);
      operands.push_back(
          guarded(load(store_->buffer, buffer.name, {buffer.type, 1}, place), condition, "sum"));
      const StmtPtr one = store(store_->buffer, buffer.name, place, lane_value(sums, element));
      stores.push_back(condition ? if_then(condition, one) : one);
    }
    std::vector<StmtPtr> all = std::move(before_);
    all.push_back(declare_local(id, "sums", mma_value(shape_, std::move(operands))));
    all.insert(all.end(), stores.begin(), stores.end());
    return block(std::move(all));
  }

  LanePlace lane_;
  const Kernel &kernel_;
  const Ranges &ranges_;
  Numbers &numbers_;
  const For *rows_ = nullptr;
  const For *columns_ = nullptr;
  const For *sum_ = nullptr;
  const Store *store_ = nullptr;
  std::int64_t depth_ = 0;
  MmaShape shape_{};
  const MmaLayout *layout_ = nullptr;
  Values lets_;
  std::vector<ValuePtr> conditions_;
  std::vector<ValuePtr> on_rows_;
  std::vector<ValuePtr> on_columns_;
  std::vector<ValuePtr> on_terms_;
  std::vector<ValuePtr> others_; ///< of those, the ones that are no end of a loop
  ValuePtr uniform_ = boolean(true);
  std::vector<ValuePtr> place_;
  ValuePtr left_;
  ValuePtr right_;
  std::vector<StmtPtr> before_; ///< what a product's operands need
};

} // namespace

bool is_product_tile(const For &rows) {
  bool found = rows.axis >= 2;
  for (const StmtPtr &child : rows.children) {
    visit_statements(child, [&](const LoopStatement &inner) {
      const auto *tile = as_loop(inner, LoopKind::GpuMma);
      found = found || (tile != nullptr && tile->axis >= 2);
    });
  }
  return found;
}

StmtPtr lower_product_tile(const For &rows, const LanePlace &lane, const Kernel &kernel,
                           const Ranges &ranges, Numbers &numbers) {
  return ProductTile(lane, kernel, ranges, numbers)(rows);
}

} // namespace tilewright
