// Blocks in the scheduled program (algorithm/block.h). The call is a statement as any other: it
// reads all elements of its parts, and stores what the function returns. What it writes is a
// statement of its own, which legality asks about and of which no code is made
// (lowering/lower.cpp): it runs directly behind the call of its instance, all elements at the
// call's time, so that reads and writes of a call are those of one point in time however instances
// are ordered, and the declared parts say which instances meet.
#include "algorithm/affine.h"
#include "algorithm/block.h"
#include "mapping/command_handlers.h"
#include "mapping/program_builder.h"

#include <isl/aff.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_program_blocks = "the parts of a block";

/// Where the elements of a part lie.
struct PartPlace {
  const Computation &array;
  std::vector<ExprPtr> index; ///< over the instance's iterators and those of the part
  std::vector<std::string> iterators;
};

/// Whether divisions or remainders of these dimensions are in the value.
bool rounds(const isl::aff &value, unsigned first, unsigned count) {
  for (int d = 0; d < static_cast<int>(isl_aff_dim(value.get(), isl_dim_div)); ++d) {
    const isl::aff division = isl::manage(isl_aff_get_div(value.get(), d));
    if (isl_aff_involves_dims(checked(division, doing_program_blocks).get(), isl_dim_in, first,
                              count) != isl_bool_false) {
      return true;
    }
  }
  return false;
}

/// Whether a part lies in its buffer as it must; the reason where it does not.
std::string problem_of(const PartPlace &part, const IterationSpace &space, bool without_gaps) {
  const size_t rank = part.iterators.size();
  const size_t outer = space.iterators.size() - rank;
  const size_t dimensions = part.index.size();
  for (size_t d = 0; d < dimensions; ++d) {
    const std::optional<isl::pw_aff> value = to_affine(part.index[d], space);
    if (!value || !checked(value->isa_aff(), doing_program_blocks) ||
        rounds(value->as_aff(), static_cast<unsigned>(outer), static_cast<unsigned>(rank))) {
      return "subscript " + to_string(part.index[d]) + " of its memory is not linear";
    }
    for (size_t t = 0; without_gaps && t < rank; ++t) {
      const isl::val step = isl::manage(isl_aff_get_coefficient_val(
          value->as_aff().get(), isl_dim_in, static_cast<int>(outer + t)));
      const long wanted = dimensions >= rank && d == dimensions - rank + t ? 1 : 0;
      if (isl_val_cmp_si(checked(step, doing_program_blocks).get(), wanted) != 0) {
        return "its dimension " + std::to_string(t) + " is not dimension " +
               std::to_string(dimensions - rank + t) + " of its memory (" +
               to_string(part.index[d]) + ")";
      }
    }
  }
  return "";
}

/// The instances with the iterators of a part.
IterationSpace space_of(const Computation &call, const PartPlace &part) {
  IterationSpace space{call.name, call.iterators};
  space.iterators.insert(space.iterators.end(), part.iterators.begin(), part.iterators.end());
  return space;
}

/// instance -> element of the buffer. `points`: over `space`, the instances and the part's
/// iterators.
isl::map elements_of(const PartPlace &part, const IterationSpace &space, const isl::set &points) {
  isl::map elements = isl::map::from_domain(points);
  for (const ExprPtr &index : part.index) {
    elements = elements.flat_range_product(to_affine(index, space).value().as_map());
  }
  const auto rank = static_cast<unsigned>(part.iterators.size());
  const auto outer = static_cast<unsigned>(space.iterators.size()) - rank;
  return checked(elements.project_out(isl::dim::in, outer, rank), doing_program_blocks);
}

/// Index expressions of a computation's place, at these subscripts.
std::vector<ExprPtr> at(const std::vector<ExprPtr> &index, const Computation &array,
                        const std::vector<ExprPtr> &subscripts) {
  std::vector<ExprPtr> result;
  for (const ExprPtr &expression : index) {
    result.push_back(substitute(expression, [&](const std::string &name) -> ExprPtr {
      const auto found = std::find(array.iterators.begin(), array.iterators.end(), name);
      return found == array.iterators.end()
                 ? nullptr
                 : subscripts.at(static_cast<size_t>(found - array.iterators.begin()));
    }));
  }
  return result;
}

} // namespace

void ProgramBuilder::require_block_places(const Computation &call) const {
  const Expr &node = *block_node(call);
  const BlockFunction &block = *node.external->block;
  const BlockOperands operands = operands_of_call(node);
  const auto fail = [&](const std::string &message) {
    throw Error(ErrorKind::Schedule, "block " + block.name + message, block.where);
  };
  const auto require = [&](const PartPlace &part, bool is_passed) {
    const bool without_gaps = is_passed && !block.is_described;
    const std::string problem = problem_of(part, space_of(call, part), without_gaps);
    if (!problem.empty()) {
      fail(" is given a part of " + part.array.name + ", and " + problem + ": " +
           (without_gaps ? "a function of C takes parts as they are declared; leave the dimensions "
                           "of the part last and in order"
                         : "a part has one stride in each dimension") +
           ", or copy " + part.array.name + " into a computation of its own");
    }
  };
  const auto part_read = [&](const ExprPtr &value) {
    const ExprPtr &read = value->operands.front();
    if (read->kind != ExprKind::Access) {
      fail(" is given a part of an array that is in no memory: " + to_string(value) +
           "; do not inline what a block reads");
    }
    const std::vector<ExprPtr> &index = program_.places.at(read->producer->name).index;
    PartPlace part{*read->producer, at(index, *read->producer, read->operands), {}};
    for (const ReduceRange &range : value->ranges) {
      part.iterators.push_back(range.iterator);
    }
    return part;
  };
  for (const ExprPtr &read : operands.reads) {
    require(part_read(read), true);
  }
  for (const ExprPtr &initial : operands.initial) {
    if (initial) {
      require(part_read(initial), false);
    }
  }
  for (size_t r = 0; r < block.results.size(); ++r) {
    const Computation &array = **function_.find(block.results[r].name);
    const Program::Place &place = program_.places.at(array.name);
    const PartPlace part{array,
                         place.index,
                         {array.iterators.begin() + static_cast<std::ptrdiff_t>(call.rank()),
                          array.iterators.end()}};
    require(part, true);
    for (size_t other = 0; other < r; ++other) {
      const std::string &name = block.results[other].name;
      if (program_.places.at(name).buffer == place.buffer) {
        fail(" writes " + name + " and " + array.name +
             ", which are stored in one buffer: in which order one call writes is not known; leave "
             "one of them where it was");
      }
    }
    // A call may write before it has read everything.
    const isl::set written = array.domain.set_tuple_id(isl::id(isl_context(), call.name))
                                 .intersect_params(function_.context);
    for (const ExprPtr &value : operands.reads) {
      const PartPlace read = part_read(value);
      if (program_.places.at(read.array.name).buffer != place.buffer) {
        continue;
      }
      const isl::set points = reduction_domain(
          *value, call.domain.intersect_params(function_.context), call.iterators, block.where);
      const isl::map both = elements_of(read, space_of(call, read), points)
                                .intersect(elements_of(part, space_of(call, part), written));
      Point point;
      if (sample_point(checked(both.domain(), doing_program_blocks), point)) {
        fail(": " + instance_text(call.name, point) + " writes elements of " + array.name +
             " where elements of " + read.array.name +
             " lie that it reads, and may write before it has read them; store " + array.name +
             " elsewhere, or declare what changes in place as an update");
      }
    }
  }
}

void ProgramBuilder::add_block_result(const ComputationPtr &computation) {
  const Computation &call = *call_of_result(*block_node(*computation));
  Statement statement = statement_of(computation, 0);
  const Piece &piece = computation->pieces.front();
  statement.iterators = computation->iterators;
  statement.domain = piece.domain;
  statement.value = piece.value;
  const auto extra = static_cast<unsigned>(computation->rank() - call.rank());
  const isl::id name = piece.domain.tuple_id();
  for (const LoopDimension &loop : state_.time_space.at(call.name).dimensions) {
    isl_pw_aff *value = isl_pw_aff_add_dims(loop.value.copy(), isl_dim_in, extra);
    value = isl_pw_aff_set_tuple_id(value, isl_dim_in, name.copy());
    add_loop(statement,
             {loop.name, checked(isl::manage(value), doing_program_blocks), loop.tag, loop.extent});
  }
  for (const int position : order_.at(call.name)) {
    statement.order.push_back(order_at(position));
  }
  ++statement.order.back(); // behind the call
  program_.statements.push_back(std::move(statement));
}

} // namespace tilewright
