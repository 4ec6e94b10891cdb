#include "analysis/mma_tiles.h"

#include "mapping/footprint.h"

#include <isl/aff.h>
#include <isl/set.h>

#include <algorithm>
#include <array>

namespace tilewright {

namespace {

constexpr const char *doing_mma_tiles = "the tile of a warp";

[[noreturn]] void refuse(const Statement &statement, const std::string &message) {
  throw Error(ErrorKind::Schedule, "gpu_mma: " + message, statement.mapped_at);
}

/// Of a loop over rows or columns: its values are the tile's own numbers.
void require_values(const Statement &statement, size_t level, std::int64_t count) {
  const isl::set values =
      checked(statement.domain.apply(statement.loops[level].as_map()), "the values of a loop");
  isl::set allowed = isl::set::universe(values.space());
  allowed = isl::manage(isl_set_lower_bound_si(allowed.release(), isl_dim_set, 0, 0));
  allowed = isl::manage(
      isl_set_upper_bound_si(allowed.release(), isl_dim_set, 0, static_cast<int>(count - 1)));
  if (!checked(values.is_subset(allowed), doing_mma_tiles)) {
    refuse(statement, loop_text(statement, level) + " counts " +
                          (count == mma_rows ? "rows" : "columns") + " of a tile, of which there " +
                          "are " + std::to_string(count) + ": its values must be 0 to " +
                          std::to_string(count - 1) + "; split it by " + std::to_string(count) +
                          " and take the inner loop");
  }
}

/// A factor without the conversion to the sum's type.
const Expr &factor_of(const ExprPtr &value) {
  const bool converts = value->kind == ExprKind::Cast && (value->operands[0]->type == Float16 ||
                                                          value->operands[0]->type == BFloat16);
  return converts ? *value->operands[0] : *value;
}

} // namespace

std::string loop_text(const Statement &statement, size_t level) {
  return "loop '" + statement.loop_names[level] + "' of " + statement.computation->name;
}

std::optional<MmaLoops> mma_loops(const Statement &statement) {
  std::array<std::optional<size_t>, 3> found;
  for (size_t level = 0; level < statement.loop_names.size(); ++level) {
    const LoopTag &tag = statement.tags[level];
    if (tag.tag != Tag::GpuMma) {
      continue;
    }
    std::optional<size_t> &own = found.at(static_cast<size_t>(std::min(tag.axis, 2)));
    if (own) {
      refuse(statement, loop_text(statement, level) + " is the second one tagged " +
                            gpu_tag_name(tag.tag, tag.axis));
    }
    own = level;
  }
  const auto &[rows, columns, sum] = found;
  if (!rows && !columns && !sum) {
    return std::nullopt;
  }
  if (!rows || !columns) {
    refuse(statement, statement.computation->name + " has no loop over " +
                          (rows ? "columns" : "rows") +
                          " of the tile; give gpu_mma(i, j), or gpu_mma(i, j, k) for a product");
  }
  const bool in_order = *columns == *rows + 1 && (!sum || *sum == *columns + 1);
  if (!in_order || (sum && *sum + 1 != statement.loop_names.size())) {
    refuse(
        statement, "the loops of a tile of " + statement.computation->name +
                       " must stand directly inside each other, rows outermost" +
                       (sum ? ", and the one over terms innermost" : "") + ", but the order is " +
                       [&] {
                         std::string names;
                         for (const std::string &name : statement.loop_names) {
                           names += (names.empty() ? "" : ", ") + name;
                         }
                         return names;
                       }() +
                       "; use reorder");
  }
  require_values(statement, *rows, mma_rows);
  require_values(statement, *columns, mma_columns);
  return MmaLoops{*rows, *columns, sum};
}

bool is_mma_product(const Statement &statement) {
  return std::any_of(statement.tags.begin(), statement.tags.end(),
                     [](const LoopTag &tag) { return tag.tag == Tag::GpuMma && tag.axis >= 2; });
}

MmaShape mma_shape(const Statement &statement) {
  const std::string &name = statement.computation->name;
  const auto level = static_cast<size_t>(
      std::find_if(statement.tags.begin(), statement.tags.end(),
                   [](const LoopTag &tag) { return tag.tag == Tag::GpuMma && tag.axis >= 2; }) -
      statement.tags.begin());
  const bool rounds = statement.tags.at(level).axis == 3;
  const auto is_product = [](const Expr &value) {
    return value.kind == ExprKind::Binary && value.op == Op::Mul;
  };
  const auto types_text = [&](const std::string &factors) {
    return name + " sums " + factors + " in " + type_name(statement.value->type) +
           "; tensor cores sum in float32: write tw.cast(a, tw.float32) * tw.cast(b, tw.float32) "
           "of factors of one type. There are " +
           mma_shapes_text();
  };
  const bool is_sum = statement.role == StatementRole::Update && statement.combine == Op::Add;
  const Expr *body = statement.value.get();
  while (is_sum && body->kind == ExprKind::Cast) {
    body = body->operands[0].get();
  }
  if (is_sum && is_product(*body) && !is_product(*statement.value)) {
    refuse(statement, types_text("products of " + type_name(body->type)));
  }
  if (!is_sum || !is_product(*statement.value)) {
    refuse(statement, name + " is no sum of products, tw.sum(a * b, over=...), which a tile with " +
                          loop_text(statement, level) + " must be; leave out that loop otherwise");
  }
  if (statement.predicate) {
    refuse(statement, name + " has a condition that reads arrays (where=), which tensor cores do "
                             "not ask; put it into a factor, tw.select(condition, a, 0)");
  }
  if (statement.atomic) {
    refuse(statement, name + " is atomic, which sums of tensor cores are not; add them up in a "
                             "computation of their own (cache)");
  }
  const Expr &left = factor_of(statement.value->operands[0]);
  const Expr &right = factor_of(statement.value->operands[1]);
  const std::string factors = type_name(left.type) + " * " + type_name(right.type);
  const bool is_single = left.type == Float32;
  if (!(statement.value->type == Float32) || !(left.type == right.type)) {
    refuse(statement, types_text(factors));
  }
  if (is_single != rounds) {
    refuse(statement, is_single
                          ? name + " multiplies float32, which tensor cores round to tf32 (10 bits "
                                   "of fraction): say so by gpu_mma(i, j, k, \"tf32\")"
                          : "precision \"tf32\" is for factors of float32, but " + name +
                                " multiplies " + factors);
  }
  const std::int64_t width = constant_width(statement, level, level);
  const int shape = mma_shape_for(left.type, width);
  if (shape < 0) {
    refuse(statement,
           loop_text(statement, level) + " has " +
               (width == 0 ? std::string("no constant number of") : std::to_string(width)) +
               " iterations, and the factors are " + factors + "; there are " + mma_shapes_text() +
               "; split it");
  }
  return static_cast<MmaShape>(shape);
}

isl::pw_aff mma_lane(const Statement &statement, const MmaLoops &loops) {
  const auto number = [](std::int64_t value) {
    return isl::val(isl_context(), static_cast<long>(value));
  };
  const isl::pw_aff row = statement.loops[loops.rows].mod(number(mma_rows / 2));
  const isl::pw_aff column =
      statement.loops[loops.columns].scale_down(number(mma_columns / lanes_of_row)).floor();
  return checked(row.scale(number(lanes_of_row)).add(column), doing_mma_tiles);
}

} // namespace tilewright
