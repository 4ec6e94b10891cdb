#include "planning/auto/inlining.h"

#include "algorithm/affine.h"
#include "algorithm/block.h"
#include "algorithm/expression.h"
#include "planning/auto/row_blocks.h"
#include "planning/computation_shape.h"

#include <isl/aff.h>
#include <isl/val.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

namespace {

/// Of a stage that is computed again at each place where it is read: its operations, and those at
/// all places together.
constexpr std::int64_t few_operations = 2;
constexpr std::int64_t few_repeated = 32;
/// Operations of a reader that makes several rows at once, with those of subscripts: they are
/// written out.
constexpr std::int64_t most_in_rows = 128;
/// What a reader may become: more would be long to compile, and need too many registers.
constexpr size_t most_nodes = 600;

struct Cost {
  std::int64_t operations = 0;
  bool is_cheap = true; ///< additions, multiplications, conversions, choices
};

Cost cost_of(const ExprPtr &value) {
  static const std::set<Op> cheap = {Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::Neg};
  Cost cost;
  visit(value, [&](const ExprPtr &node) {
    switch (node->kind) {
    case ExprKind::Unary:
    case ExprKind::Binary:
    case ExprKind::Call:
      ++cost.operations;
      cost.is_cheap = cost.is_cheap && cheap.contains(node->op);
      break;
    case ExprKind::Select:
      ++cost.operations;
      break;
    case ExprKind::Constant:
    case ExprKind::Iterator:
    case ExprKind::Parameter:
    case ExprKind::Access:
    case ExprKind::Cast:
      break;
    default:
      cost.is_cheap = false;
    }
  });
  return cost;
}

std::int64_t operations_of(const Computation &computation) {
  std::int64_t operations = 0;
  for (const Piece &piece : computation.pieces) {
    operations += cost_of(piece.value).operations;
  }
  return operations;
}

size_t nodes_of(const Computation &computation) {
  size_t nodes = 0;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &) { ++nodes; });
  }
  return nodes;
}

/// The iterator of `i`, `i + 1` and the like, or nothing.
const std::string *shifted_iterator(const ExprPtr &subscript) {
  const std::string *iterator = nullptr;
  bool is_shift = true;
  visit(subscript, [&](const ExprPtr &node) {
    if (node->kind == ExprKind::Iterator) {
      is_shift = is_shift && iterator == nullptr;
      iterator = &node->name;
      return;
    }
    const bool is_sum =
        node->kind == ExprKind::Binary && (node->op == Op::Add || node->op == Op::Sub);
    is_shift = is_shift && (node->kind == ExprKind::Constant || is_sum ||
                            (node->kind == ExprKind::Unary && node->op == Op::Neg));
  });
  return is_shift ? iterator : nullptr;
}

/// Who reads a stage, and at how many places.
struct Reads {
  std::vector<const Computation *> readers;
  std::int64_t places = 0;
  bool once_each = true; ///< at each place, no element is read by two instances
};

Reads reads_of(const Function &function, const std::string &stage) {
  Reads reads;
  for (const ComputationPtr &reader : function.computations) {
    std::set<std::string> places;
    for (const Piece &piece : reader->pieces) {
      visit(piece.value, [&](const ExprPtr &node) {
        if (node->kind != ExprKind::Access || node->producer->name != stage) {
          return;
        }
        places.insert(to_string(node));
        std::set<std::string> used;
        for (const ExprPtr &subscript : node->operands) {
          const std::string *iterator = shifted_iterator(subscript);
          reads.once_each = reads.once_each && iterator != nullptr;
          used.insert(iterator == nullptr ? "" : *iterator);
        }
        reads.once_each = reads.once_each && used.size() == reader->rank() &&
                          node->operands.size() == reader->rank();
      });
    }
    if (!places.empty()) {
      reads.readers.push_back(reader.get());
      reads.places += static_cast<std::int64_t>(places.size());
    }
  }
  return reads;
}

/// How far a subscript is from the iterator of its dimension; nothing where that is no number.
std::optional<std::int64_t> offset_of(const ExprPtr &subscript, const IterationSpace &space,
                                      size_t dimension) {
  const auto value = to_affine(subscript, space);
  const auto own = to_affine(iterator(space.iterators[dimension]), space);
  if (!value || !own) {
    return std::nullopt;
  }
  const isl::pw_aff apart = value->sub(*own);
  if (isl_pw_aff_is_cst(apart.get()) != isl_bool_true || isl_pw_aff_n_piece(apart.get()) != 1) {
    return std::nullopt;
  }
  const isl::aff constant = isl::manage(isl_pw_aff_as_aff(apart.copy()));
  const isl::val number = isl::manage(isl_aff_get_constant_val(constant.get()));
  return isl_val_get_num_si(number.get());
}

/// From the first to the last row of a stage that a reader needs, where all of them are of one
/// column: 0 where there are others, or one row only.
std::int64_t rows_of_one_column(const Computation &reader, const std::string &stage) {
  const size_t rank = reader.rank();
  if (rank < 2) {
    return 0;
  }
  const IterationSpace space{reader.name, reader.iterators};
  std::set<std::int64_t> rows;
  bool is_column = true;
  for (const Piece &piece : reader.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind != ExprKind::Access || node->producer->name != stage) {
        return;
      }
      is_column = is_column && node->operands.size() == rank;
      for (size_t d = 0; is_column && d < rank; ++d) {
        const auto offset = offset_of(node->operands[d], space, d);
        is_column = offset && (*offset == 0 || d + 2 == rank);
        if (is_column && d + 2 == rank) {
          rows.insert(*offset);
        }
      }
    });
  }
  return is_column && rows.size() > 1 ? *rows.rbegin() - *rows.begin() + 1 : 0;
}

/// One formula of arithmetic for all elements. Where data choose the one element that it changes,
/// it takes no loop, and within a reader's formula that would have to look at all of them.
bool is_stage(const Computation &computation) {
  if (computation.pieces.size() != 1 || computation.is_view || computation.rank() == 0 ||
      block_node(computation) != nullptr) {
    return false;
  }
  const Shape shape(computation);
  return shape.simple() && shape.reduced() == 0 && shape.states() == 0 && !shape.has_chosen();
}

bool takes(const Computation &reader) {
  const Shape shape(reader);
  return shape.simple() && shape.reduced() == 0 && shape.states() == 0 && !reader.is_view &&
         block_node(reader) == nullptr;
}

class Inlining {
public:
  Inlining(const Mapping &given, const FlowGraph &graph) : now_(given) {
    for (const std::vector<std::string> &group : components(graph)) {
      if (is_recurrent(graph, group)) {
        recurrent_.insert(group.begin(), group.end());
      }
    }
    for (const ComputationPtr &output : given.function().outputs) {
      kept_.insert(output->name);
    }
    for (const Placement &placement : given.state().placements) {
      kept_.insert(placement.computation);
      kept_.insert(placement.other);
    }
  }

  Mapping inlined(std::set<std::string> &rows, Decisions &decisions) {
    std::vector<std::string> names;
    for (const ComputationPtr &computation : now_.function().computations) {
      names.insert(names.begin(), computation->name);
    }
    for (const std::string &name : names) {
      const std::string why = reason_for(name);
      if (why.empty()) {
        continue;
      }
      try {
        const std::vector<const Computation *> readers = reads_of(now_.function(), name).readers;
        const std::string reader = readers.front()->name;
        const bool in_rows = is_for_rows(name, *readers.front()) && readers.size() == 1;
        now_ = now_.with({name, "inline", {}, {}});
        if (in_rows || rows.contains(name)) {
          rows.insert(reader);
        }
        decisions.push_back({name, "computed where it is read, since " + why});
      } catch (const Error &error) {
        if (error.kind != ErrorKind::Schedule && error.kind != ErrorKind::Limit) {
          throw;
        }
      }
    }
    return now_;
  }

private:
  bool is_mentioned(const std::string &name) const {
    const std::vector<Command> &commands = now_.schedule().commands;
    return std::any_of(commands.begin(), commands.end(),
                       [&](const Command &command) { return mentions(command, name); });
  }

  /// Why a stage is inlined; "" where it is not.
  std::string reason_for(const std::string &name) const {
    const Computation &stage = **now_.function().find(name);
    if (kept_.contains(name) || recurrent_.contains(name) || !is_stage(stage) ||
        now_.time_space(name).explicit_time || is_mentioned(name)) {
      return "";
    }
    const Reads reads = reads_of(now_.function(), name);
    if (reads.readers.empty() || !reads.once_each) {
      return "";
    }
    for (const Computation *reader : reads.readers) {
      const size_t nodes = nodes_of(*reader) + static_cast<size_t>(reads.places) * nodes_of(stage);
      if (!takes(*reader) || nodes > most_nodes) {
        return "";
      }
    }
    const Cost cost = cost_of(stage.pieces.front().value);
    if (reads.places == 1) {
      return "nobody else reads it";
    }
    if (reads.readers.size() == 1 && is_for_rows(name, *reads.readers.front())) {
      return "rows of " + reads.readers.front()->name + " that are made at once share it";
    }
    if (cost.is_cheap && cost.operations <= few_operations &&
        cost.operations * reads.places <= few_repeated) {
      return "it takes no more than " + std::to_string(few_operations) + " operations";
    }
    return "";
  }

  /// Is a stage cheap enough to be computed for each block of rows of its only reader? Who is read
  /// in turn may do better in strips.
  bool is_for_rows(const std::string &name, const Computation &reader) const {
    const Computation &stage = **now_.function().find(name);
    const Cost cost = cost_of(stage.pieces.front().value);
    const std::int64_t rows = rows_of_one_column(reader, name);
    return rows > 1 && cost.is_cheap && cost.operations > few_operations &&
           reads_of(now_.function(), reader.name).readers.empty() &&
           may_have_row_blocks(now_, reader) &&
           operations_of(reader) + cost.operations * reads_of(now_.function(), name).places <=
               most_in_rows &&
           cost.operations * (rows_of_block + rows - 1) <= few_repeated * rows_of_block;
  }

  Mapping now_;
  std::set<std::string> recurrent_;
  std::set<std::string> kept_; ///< results, and what shares loops
};

} // namespace

Mapping with_inlined_stages(const Mapping &given, const FlowGraph &graph,
                            std::set<std::string> &rows, Decisions &decisions) {
  return Inlining(given, graph).inlined(rows, decisions);
}

} // namespace tilewright
