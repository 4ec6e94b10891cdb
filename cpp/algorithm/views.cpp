#include "algorithm/views.h"

#include "algorithm/affine.h"
#include "algorithm/block.h"
#include "algorithm/expression_depth.h"
#include "algorithm/function_copy.h"
#include "algorithm/reads.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace tilewright {

namespace {

constexpr const char *doing_views = "views";

/// Larger ones are not made by reading through views.
constexpr size_t largest_reader = 20'000;

bool is_read(const ExprPtr &value) { return value->kind == ExprKind::Access; }

bool has_affine_subscripts(const Expr &read, const IterationSpace &space) {
  return std::all_of(read.operands.begin(), read.operands.end(), [&](const ExprPtr &subscript) {
    return to_affine(subscript, space).has_value();
  });
}

/// `value`, which is written in the iterators of the computation that `read` reads, for that read.
ExprPtr at_subscripts(const ExprPtr &value, const Expr &read) {
  const std::vector<std::string> &iterators = read.producer->iterators;
  return substitute(value, [&](const std::string &name) -> ExprPtr {
    const auto found = std::find(iterators.begin(), iterators.end(), name);
    return found == iterators.end() ? nullptr
                                    : read.operands[static_cast<size_t>(found - iterators.begin())];
  });
}

void append_parts(const Computation &view, const isl::set &domain, const ExprPtr &value,
                  const SourceLocation &where, std::vector<std::pair<isl::set, ExprPtr>> &parts) {
  if (checked(domain.is_empty(), doing_views)) {
    return;
  }
  if (value->kind == ExprKind::Select) {
    const auto holds = to_set(value->operands[0], {view.name, view.iterators});
    if (holds) {
      append_parts(view, domain.intersect(*holds), value->operands[1], where, parts);
      append_parts(view, domain.subtract(*holds), value->operands[2], where, parts);
      return;
    }
    throw Error(ErrorKind::Declaration,
                "the view " + view.name + " chooses by " + to_string(value->operands[0]) +
                    ", which is not affine in its iterators: data decide; declare it with "
                    "tw.computation",
                where);
  }
  if (!is_read(value)) {
    throw Error(ErrorKind::Declaration,
                "the view " + view.name + " computes " + to_string(value) +
                    "; a view only reads, and chooses what by affine conditions; declare it with "
                    "tw.computation",
                where);
  }
  if (!(value->type == view.type)) {
    throw Error(ErrorKind::Type,
                "the view " + view.name + " is " + type_name(view.type) + " and cannot show " +
                    to_string(value) + " of " + type_name(value->type) +
                    ": a view converts nothing; declare it with tw.computation",
                where);
  }
  parts.emplace_back(checked(domain, doing_views), value);
}

/// The elements that a computed subscript may name: the box of an array. Nothing where its extents
/// are not affine.
std::optional<isl::set> box_of(const Computation &array) {
  const IterationSpace space{array.name, array.iterators};
  isl::set box = isl::set::universe(array.domain.space());
  for (size_t d = 0; d < array.rank(); ++d) {
    const auto extent = to_affine(array.extents[d], space);
    const auto origin = array.origin.empty() ? to_affine(constant(std::int64_t{0}, Int64), space)
                                             : to_affine(array.origin[d], space);
    const auto index = to_affine(iterator(array.iterators[d]), space);
    if (!extent || !origin || !index) {
      return std::nullopt;
    }
    box = box.intersect(index->ge_set(*origin)).intersect(index->lt_set(origin->add(*extent)));
  }
  return checked(box, doing_views);
}

/// Whether a subscript is one iterator or its negation, shifted. Of an index from data such a one
/// is in range in 64 bits only where it is in all integers.
bool only_moves(const isl::pw_aff &subscript) {
  if (!checked(subscript.isa_aff(), doing_views)) {
    return false;
  }
  const isl::aff value = subscript.as_aff();
  int iterators = 0;
  for (int d = 0; d < static_cast<int>(isl_aff_dim(value.get(), isl_dim_in)); ++d) {
    const isl::val step = isl::manage(isl_aff_get_coefficient_val(value.get(), isl_dim_in, d));
    if (!checked(step, doing_views).is_zero().is_true()) {
      iterators += step.abs().is_one().is_true() ? 1 : 2;
    }
  }
  return iterators <= 1 && isl_aff_dim(value.get(), isl_dim_div) == 0;
}

/// Each view is read through, one after the other; those that read other views come later.
class Resolution {
public:
  explicit Resolution(const Function &function) : result_(copy_function(function, copies_)) {
    for (const ComputationPtr &computation : result_->computations) {
      if (computation->is_view) {
        waiting_.push_back(computation);
      }
    }
  }

  std::shared_ptr<const Function> run() {
    while (!waiting_.empty()) {
      const auto next =
          std::find_if(waiting_.begin(), waiting_.end(),
                       [&](const ComputationPtr &view) { return !reads_waiting(*view); });
      // Views in a circle need each other's elements, and so their own.
      const bool in_circle = next == waiting_.end();
      const ComputationPtr view = in_circle ? waiting_.front() : *next;
      std::erase(waiting_, view);
      view->is_view = !in_circle && can_be_read_through(*view) && resolve(view);
    }
    return result_;
  }

private:
  bool is_output(const ComputationPtr &computation) const {
    const auto &outputs = result_->outputs;
    return std::find(outputs.begin(), outputs.end(), computation) != outputs.end();
  }

  bool reads_waiting(const Computation &view) const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const ComputationPtr &other) { return reads(view, *other); });
  }

  /// Whether all reads of it have subscripts that isl sees, and its own have loops of no kind.
  bool can_be_read_through(const Computation &view) const {
    const auto has_loops = [](const Piece &piece) {
      return contains_kind(piece.value, ExprKind::Reduce) ||
             contains_kind(piece.value, ExprKind::Fold) ||
             contains_kind(piece.value, ExprKind::WhileResult) ||
             contains_kind(piece.value, ExprKind::Extern);
    };
    if (std::any_of(view.pieces.begin(), view.pieces.end(), has_loops)) {
      return false;
    }
    std::optional<bool> is_asked;
    const auto may_compute_subscripts = [&] {
      is_asked = is_asked ? is_asked : selects_what_exists(view) && !needs_a_reader(view);
      return *is_asked;
    };
    return std::all_of(result_->computations.begin(), result_->computations.end(),
                       [&](const ComputationPtr &reader) {
                         // A block reads elements where they lie.
                         const bool is_passed = is_block_call(*reader) && reads(*reader, view);
                         return !is_passed &&
                                (reads_affinely(*reader, view) || may_compute_subscripts());
                       });
  }

  /// Whether a computed subscript that names no element of the view names none of what is read in
  /// its place either, so that the call still says so.
  bool selects_what_exists(const Computation &view) const {
    isl::set rest = isl::set::universe(view.domain.space());
    isl::set named = isl::set::empty(view.domain.space());
    for (size_t p = 0; p < view.pieces.size(); ++p) {
      const Piece &piece = view.pieces[p];
      isl::set here = rest;
      if (const ExprPtr condition =
              p + 1 < view.pieces.size() ? condition_of(view, piece) : nullptr) {
        here = here.intersect(to_set(condition, {view.name, view.iterators}).value());
      }
      rest = rest.subtract(here);
      const std::optional<isl::set> box =
          is_read(piece.value) ? box_of(*piece.value->producer) : std::nullopt;
      isl::map subscripts = isl::map::from_domain(here);
      for (const ExprPtr &subscript : piece.value->operands) {
        const auto value = to_affine(subscript, {view.name, view.iterators});
        if (!value || !box || !only_moves(*value)) {
          return false;
        }
        subscripts = subscripts.flat_range_product(value->as_map());
      }
      if (!box) {
        return false;
      }
      subscripts = isl::manage(
          isl_map_set_tuple_id(subscripts.release(), isl_dim_out, box->tuple_id().release()));
      named = named.unite(subscripts.intersect_range(*box).domain());
    }
    return checked(named.intersect_params(result_->context).is_subset(view.domain), doing_views);
  }

  /// Whether what a view shows is computed from what reads the view: with elements that data
  /// choose, all of it would seem to need itself.
  bool needs_a_reader(const Computation &view) const {
    std::vector<const Computation *> needed;
    const auto need = [&](const Computation &computation) {
      for (const Piece &piece : computation.pieces) {
        visit(piece.value, [&](const ExprPtr &node) {
          if (is_read(node) &&
              std::find(needed.begin(), needed.end(), node->producer.get()) == needed.end()) {
            needed.push_back(node->producer.get());
          }
        });
      }
    };
    need(view);
    for (size_t n = 0; n < needed.size(); ++n) {
      need(*needed[n]);
    }
    return std::any_of(needed.begin(), needed.end(), [&](const Computation *computation) {
      return computation == &view || reads(*computation, view);
    });
  }

  static bool reads_affinely(const Computation &reader, const Computation &view) {
    const IterationSpace space = space_of_reads(reader);
    bool affine = true;
    for (const Piece &piece : reader.pieces) {
      visit(piece.value, [&](const ExprPtr &node) {
        if (is_read(node) && node->producer.get() == &view) {
          affine = affine && has_affine_subscripts(*node, space);
        }
      });
    }
    return affine;
  }

  /// False, and nothing is changed, where readers would become too large.
  bool resolve(const ComputationPtr &view) {
    std::vector<std::pair<Computation *, std::vector<Piece>>> changed;
    for (const ComputationPtr &reader : result_->computations) {
      if (reader == view || !reads(*reader, *view)) {
        continue;
      }
      std::vector<Piece> pieces;
      for (const Piece &piece : reader->pieces) {
        append_read_through(*reader, piece, view, pieces);
      }
      size_t nodes = 0;
      for (const Piece &piece : pieces) {
        visit(piece.value, [&](const ExprPtr &) { ++nodes; });
      }
      if (nodes > largest_reader) {
        return false;
      }
      changed.emplace_back(reader.get(), std::move(pieces));
    }
    for (auto &[reader, pieces] : changed) {
      reader->pieces = std::move(pieces);
      reader->is_view =
          reader->is_view && std::all_of(reader->pieces.begin(), reader->pieces.end(),
                                         [](const Piece &p) { return is_read(p.value); });
    }
    if (!is_output(view)) {
      std::erase(result_->computations, view);
    }
    return true;
  }

  /// A view of a view has a piece for each piece that it shows; other readers select.
  static void append_read_through(const Computation &reader, const Piece &piece,
                                  const ComputationPtr &view, std::vector<Piece> &pieces) {
    const bool shows = reader.is_view && is_read(piece.value) && piece.value->producer == view;
    if (!shows) {
      pieces.push_back(piece);
      pieces.back().value = rewrite_accesses(piece.value, [&](const ExprPtr &node) {
        return node->producer == view ? selected(*view, *node) : node;
      });
      return;
    }
    for (const Piece &shown : view->pieces) {
      Piece part = piece;
      if (const ExprPtr condition = condition_of(*view, shown)) {
        const auto holds =
            to_set(at_subscripts(condition, *piece.value), {reader.name, reader.iterators});
        part.domain = checked(part.domain.intersect(holds.value()), doing_views);
      }
      if (!checked(part.domain.is_empty(), doing_views)) {
        part.value = at_subscripts(shown.value, *piece.value);
        pieces.push_back(std::move(part));
      }
    }
  }

  /// Null where the piece is all of the view.
  static ExprPtr condition_of(const Computation &view, const Piece &piece) {
    return from_set(checked(piece.domain.gist(view.domain), doing_views), view.iterators);
  }

  static ExprPtr selected(const Computation &view, const Expr &read) {
    ExprPtr result = at_subscripts(view.pieces.back().value, read);
    for (size_t p = view.pieces.size() - 1; p-- > 0;) {
      const ExprPtr value = at_subscripts(view.pieces[p].value, read);
      const ExprPtr condition = condition_of(view, view.pieces[p]);
      result = condition ? select(at_subscripts(condition, read), value, result) : value;
    }
    return result;
  }

  Copies copies_;
  std::shared_ptr<Function> result_;
  std::vector<ComputationPtr> waiting_;
};

} // namespace

std::vector<std::pair<isl::set, ExprPtr>> parts_of_view(const Computation &view,
                                                        const isl::set &domain,
                                                        const ExprPtr &value,
                                                        const SourceLocation &where) {
  std::vector<std::pair<isl::set, ExprPtr>> parts;
  append_parts(view, domain, value, where, parts);
  return parts;
}

ExprPtr phi(const std::vector<ExprPtr> &reads, const SourceLocation &where) {
  const OperationLimit limit(5'000'000);
  ExprPtr result;
  for (const ExprPtr &read : reads) {
    if (!is_read(read)) {
      throw Error(ErrorKind::Declaration,
                  "phi chooses among reads such as A[i], and " + to_string(read) + " is none",
                  where);
    }
    if (result == nullptr) {
      result = read;
      continue;
    }
    if (!(read->type == result->type)) {
      throw Error(ErrorKind::Type,
                  "phi chooses among reads of one type; " + to_string(read) + " is " +
                      type_name(read->type) + ", and those before it are " +
                      type_name(result->type),
                  where);
    }
    const Computation &producer = *read->producer;
    const ExprPtr exists = from_set(producer.domain, producer.iterators);
    const ExprPtr condition = exists ? at_subscripts(exists, *read) : constant(true, Bool);
    result = select(condition, read, result);
  }
  return result;
}

std::shared_ptr<const Function> resolve_views(const std::shared_ptr<const Function> &function) {
  const bool has_views =
      std::any_of(function->computations.begin(), function->computations.end(),
                  [](const ComputationPtr &computation) { return computation->is_view; });
  if (has_views) {
    require_stack(*function);
  }
  return has_views ? Resolution(*function).run() : function;
}

} // namespace tilewright
