#include "mapping/program.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "mapping/accesses.h"
#include "mapping/command_handlers.h"
#include "mapping/command_table.h"
#include "mapping/footprint.h"
#include "mapping/local_memory.h"
#include "mapping/static_order.h"
#include "polyhedral/relevant_context.h"
#include "polyhedral/set_text.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tilewright {

namespace {

isl::pw_aff zero_on(const isl::set &domain) {
  return isl::pw_aff(isl::set::universe(domain.space()), isl::val(isl_context(), 0L));
}

/// An extent and so many elements more.
ExprPtr padded(const ExprPtr &extent, std::int64_t pad) {
  const auto *known =
      extent->kind == ExprKind::Constant ? std::get_if<std::int64_t>(&extent->value) : nullptr;
  return known != nullptr ? constant(*known + pad, Int64)
                          : binary(Op::Add, extent, constant(pad, Int64));
}

class ProgramBuilder {
public:
  explicit ProgramBuilder(const MappingState &state) : state_(state), function_(*state.function) {}

  Program build() {
    program_.function = state_.function;
    program_.parameters = function_.parameters;
    program_.context = function_.context;
    relevant_.emplace(program_.context);
    for (const IndependencePromise &promise : state_.independent) {
      program_.independent_loops.push_back(promise.loop);
    }
    add_buffers();
    order_ = static_order(state_);
    for (const ComputationPtr &computation : function_.computations) {
      names_.insert(computation->name);
    }
    // Readers first: where a computation runs inside its readers' loops, its instances follow from
    // what they read.
    for (auto computation = function_.computations.rbegin();
         computation != function_.computations.rend(); ++computation) {
      add_statements(*computation);
    }
    put_in_order();
    for (Statement &statement : program_.statements) {
      program_.depth = std::max(program_.depth, static_cast<int>(statement.loops.size()));
    }
    for (Statement &statement : program_.statements) {
      finish(statement);
    }
    return std::move(program_);
  }

private:
  void add_buffers() {
    for (const ComputationPtr &input : function_.inputs) {
      Program::Place place;
      place.buffer = program_.buffers.size();
      for (const std::string &name : input->iterators) {
        place.index.push_back(iterator(name));
      }
      place.relation =
          checked(isl::map::identity(input->domain.space().map_from_set()), "place of an input");
      program_.buffers.push_back(
          buffer_of(input->name, input->type, BufferKind::Input, input->extents));
      program_.places[input->name] = std::move(place);
    }
    for (const auto &[name, storage] : state_.shared) {
      // The argument stays; it is read where it lies in the other one's array.
      const Program::Place &other = program_.places.at(storage.buffer);
      program_.places[name] = {other.buffer, storage.index, storage.relation};
    }
    for (const ComputationPtr &output : function_.outputs) {
      const size_t own = program_.buffers.size();
      add_place(*output, BufferKind::Output);
      if (program_.buffers.size() == own) {
        // In place of an input: its own argument is the same array once more.
        program_.buffers.push_back(
            buffer_of(output->name, output->type, BufferKind::Output, output->extents));
      }
    }
    for (const ComputationPtr &computation : function_.computations) {
      if (program_.places.count(computation->name) == 0) {
        add_place(*computation, BufferKind::Temporary);
      }
    }
  }

  static Buffer buffer_of(const std::string &name, ScalarType type, BufferKind kind,
                          const std::vector<ExprPtr> &extents) {
    Buffer buffer;
    buffer.name = name;
    buffer.type = type;
    buffer.kind = kind;
    buffer.extents = extents;
    return buffer;
  }

  void add_place(const Computation &computation, BufferKind kind) {
    const Storage &storage = state_.storage.at(computation.name);
    auto found = std::find_if(program_.buffers.begin(), program_.buffers.end(),
                              [&](const Buffer &buffer) { return buffer.name == storage.buffer; });
    if (found == program_.buffers.end()) {
      program_.buffers.push_back(
          buffer_of(storage.buffer, computation.type, kind, storage.extents));
      found = program_.buffers.end() - 1;
      found->record = storage.record;
      require_place_in_record(computation, *found);
    } else {
      share(computation, storage, *found, kind);
    }
    program_.places[computation.name] = {static_cast<size_t>(found - program_.buffers.begin()),
                                         storage.index, storage.relation};
  }

  /// A buffer of several computations: one type, one rank, the larger extents. An output's or an
  /// input's buffer is the caller's array: one output to a buffer, and what else is stored there
  /// must fit.
  void share(const Computation &computation, const Storage &storage, Buffer &buffer,
             BufferKind kind) const {
    const bool taken = std::any_of(
        function_.outputs.begin(), function_.outputs.end(), [&](const ComputationPtr &output) {
          return output->name != computation.name && program_.places.count(output->name) != 0 &&
                 state_.storage.at(output->name).buffer == buffer.name;
        });
    if (kind == BufferKind::Output && (taken || buffer.kind != BufferKind::Input)) {
      throw Error(ErrorKind::Schedule,
                  computation.name + " is an output and cannot share buffer '" + buffer.name +
                      "' with another output",
                  computation.where);
    }
    if (!(buffer.record == storage.record)) {
      throw Error(ErrorKind::Schedule,
                  "buffer '" + buffer.name + "' is declared as a field of a record in one way by " +
                      computation.name + " and in another by what is stored there already",
                  computation.where);
    }
    if (buffer.type != computation.type || buffer.extents.size() != storage.extents.size()) {
      throw Error(ErrorKind::Schedule,
                  computation.name + " (" + type_name(computation.type) + ", " +
                      std::to_string(storage.extents.size()) +
                      " dimensions) cannot be stored in buffer '" + buffer.name + "' of " +
                      type_name(buffer.type) + " with " + std::to_string(buffer.extents.size()) +
                      " dimensions",
                  computation.where);
    }
    if (buffer.kind == BufferKind::Output) {
      require_room(computation, storage, buffer);
    }
    if (buffer.kind != BufferKind::Temporary) {
      return;
    }
    for (size_t d = 0; d < buffer.extents.size(); ++d) {
      if (to_string(buffer.extents[d]) != to_string(storage.extents[d])) {
        buffer.extents[d] = binary(Op::Max, buffer.extents[d], storage.extents[d]);
      }
    }
  }

  /// The fields of a record lie side by side, and their arrays have one shape.
  void require_place_in_record(const Computation &computation, const Buffer &field) const {
    if (field.record.name.empty()) {
      return;
    }
    for (const Buffer &other : program_.buffers) {
      if (&other == &field || other.record.name != field.record.name) {
        continue;
      }
      bool same =
          other.record.size == field.record.size && other.extents.size() == field.extents.size();
      for (size_t d = 0; same && d < field.extents.size(); ++d) {
        same = to_string(other.extents[d]) == to_string(field.extents[d]);
      }
      const bool apart = other.record.offset + other.type.bytes() <= field.record.offset ||
                         field.record.offset + field.type.bytes() <= other.record.offset;
      if (!same || !apart) {
        throw Error(ErrorKind::Schedule,
                    "buffers '" + other.name + "' and '" + field.name + "' are fields of '" +
                        field.record.name + "' and " +
                        (same ? "overlap in its records" : "differ in shape"),
                    computation.where);
      }
    }
  }

  /// The elements in which a computation is stored.
  isl::set stored(const Computation &computation, const Storage &storage) const {
    isl::set written = isl::set::empty(computation.domain.space());
    for (const Piece &piece : computation.pieces) {
      written = written.unite(piece.domain);
    }
    return checked(written.intersect_params(function_.context).apply(storage.relation),
                   "elements of a buffer");
  }

  /// What an output's computation does not write stays as the caller gave it, so nobody else may
  /// write it either.
  void require_room(const Computation &computation, const Storage &storage,
                    const Buffer &buffer) const {
    isl::set room = isl::set::empty(storage.relation.range().space());
    for (const ComputationPtr &output : function_.outputs) {
      const Storage &other = state_.storage.at(output->name);
      if (other.buffer == buffer.name) {
        room = room.unite(stored(*output, other));
      }
    }
    Point point;
    if (sample_point(checked(stored(computation, storage).subtract(room), "room in an output"),
                     point)) {
      throw Error(ErrorKind::Schedule,
                  computation.name + " cannot be stored in the output '" + buffer.name +
                      "', which does not write element " +
                      instance_text(buffer.name, point.coordinates) + " of the caller's array" +
                      (point.parameters.empty() ? "" : " (" + parameter_text(point) + ")"),
                  computation.where);
    }
  }

  void add_statements(const ComputationPtr &computation) {
    const InstanceSpace instances = instance_space(*computation);
    const TimeSpaceMap &map = state_.time_space.at(computation->name);
    const Placement *placement = find_placement(state_, computation->name);
    shared_ =
        placement != nullptr && placement->compute_at ? static_cast<size_t>(placement->shared) : 0;
    const size_t first = program_.statements.size();
    if (instances.reduced > 0) {
      add_reduction(computation, instances, map);
    } else {
      add_values(computation, map);
    }
    for (size_t s = first; s < program_.statements.size(); ++s) {
      add_promises(program_.statements[s]);
      name_tuple(program_.statements[s]);
    }
    if (placement != nullptr && placement->compute_at) {
      replicate(*computation, *placement, first);
    }
  }

  void add_values(const ComputationPtr &computation, const TimeSpaceMap &map) {
    for (size_t p = 0; p < computation->pieces.size(); ++p) {
      const Piece &piece = computation->pieces[p];
      Statement statement = statement_of(computation, p);
      if (computation->pieces.size() > 1) {
        statement.name = unique_name(computation->name + "_" + std::to_string(p));
      }
      statement.iterators = computation->iterators;
      statement.domain = piece.domain;
      statement.value = piece.value;
      for (const LoopDimension &loop : map.dimensions) {
        add_loop(statement, loop);
      }
      for (int position : order_.at(computation->name)) {
        statement.order.push_back(2 * position + 1);
      }
      program_.statements.push_back(std::move(statement));
    }
  }

  /// Initialise and update of a reduction scheduled by its body. The initialisation shares the
  /// loops outside the first one that a reduced iterator drives and comes before it; it also runs
  /// where the reduction is empty.
  void add_reduction(const ComputationPtr &computation, const InstanceSpace &instances,
                     const TimeSpaceMap &map) {
    const Piece &piece = computation->pieces.front();
    const Expr &root = *piece.value;
    const auto outer = static_cast<unsigned>(computation->iterators.size());
    const auto involves = [](const LoopDimension &loop, unsigned first, size_t count) {
      return checked(isl::manage(isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, first,
                                                          static_cast<unsigned>(count))),
                     "loops of a reduction");
    };
    const auto driven = [&](const LoopDimension &loop) {
      return involves(loop, outer, instances.reduced);
    };
    Statement update = statement_of(computation, 0);
    update.role = StatementRole::Update;
    update.iterators = instances.iterators;
    update.domain = instances.domain;
    update.value = cast(root.operands.front(), root.type);
    update.predicate = root.predicate;
    update.combine = reduction_combiner(root.op);
    for (const LoopDimension &loop : map.dimensions) {
      add_loop(update, loop);
    }
    for (int position : order_.at(computation->name)) {
      update.order.push_back(2 * position + 1);
    }

    Statement init = statement_of(computation, 0);
    init.name = unique_name(computation->name + "_init");
    init.role = StatementRole::Initialise;
    init.iterators = computation->iterators;
    init.domain = piece.domain;
    init.value = cast(reduction_identity(root.op, root.type), computation->type);
    size_t prefix = 0;
    while (prefix < map.dimensions.size() && !driven(map.dimensions[prefix])) {
      ++prefix;
    }
    init.order.assign(update.order.begin(),
                      update.order.begin() + static_cast<std::ptrdiff_t>(shared_ + prefix) + 1);
    init.order.back() -= 1;
    for (size_t d = 0; d < map.dimensions.size(); ++d) {
      if (d < prefix || !driven(map.dimensions[d])) {
        add_loop(init, outer_loop(map.dimensions[d], piece.domain, outer));
      }
    }
    init.order.resize(shared_ + init.loops.size() + 1, 0);
    // Where loops mix reduced and other iterators (a skew), or were given as a map, the rest may
    // not tell instances apart.
    const bool mixed =
        std::any_of(map.dimensions.begin(), map.dimensions.end(), [&](const LoopDimension &loop) {
          return driven(loop) && involves(loop, 0, outer);
        });
    if (mixed || map.explicit_time) {
      complete(init, prefix);
    }
    program_.statements.push_back(std::move(init));
    program_.statements.push_back(std::move(update));
  }

  /// The same loop as a function of the computation's own iterators only.
  static LoopDimension outer_loop(const LoopDimension &loop, const isl::set &domain,
                                  unsigned outer) {
    isl_pw_aff *value = loop.value.copy();
    const auto count =
        static_cast<unsigned>(std::max(isl_size(0), isl_pw_aff_dim(value, isl_dim_in)));
    value = isl_pw_aff_drop_dims(value, isl_dim_in, outer, count - outer);
    value = isl_pw_aff_set_tuple_id(value, isl_dim_in, domain.tuple_id().release());
    // A reduction over nothing is initialised too, also where the schedule of its updates says
    // nothing about it, or gives no whole number.
    const isl::pw_aff given = checked(isl::manage(value), "loops of an initialisation");
    const isl::pw_aff known = given.intersect_domain(given.as_map().domain());
    const isl::set unknown = checked(domain.subtract(known.domain()), "loops of an initialisation");
    const isl::pw_aff everywhere =
        known.union_add(isl::pw_aff(unknown, isl::val(isl_context(), 0L)));
    return {loop.name, checked(everywhere, "loops of an initialisation"), loop.tag, loop.extent};
  }

  /// Makes the loops of an initialisation tell its instances apart, where those left over from the
  /// update do not.
  void complete(Statement &init, size_t prefix) const {
    isl::map time = isl::map::from_domain(init.domain);
    for (const isl::pw_aff &loop : init.loops) {
      time = time.flat_range_product(loop.as_map());
    }
    if (checked(time.is_injective(), "loops of an initialisation")) {
      return;
    }
    init.loops.resize(prefix);
    init.tags.resize(prefix);
    init.loop_names.resize(prefix);
    init.order.resize(shared_ + prefix + 1);
    for (size_t d = 0; d < init.iterators.size(); ++d) {
      init.loops.push_back(isl::pw_aff::var_on_domain(isl::local_space(init.domain.space()),
                                                      isl::dim::set, static_cast<unsigned>(d)));
      init.tags.emplace_back();
      init.loop_names.push_back(init.iterators[d]);
      init.order.push_back(0);
    }
  }

  Statement statement_of(const ComputationPtr &computation, size_t piece) const {
    Statement statement;
    statement.name = computation->name;
    statement.computation = computation;
    statement.piece = piece;
    const Program::Place &place = program_.places.at(computation->name);
    statement.buffer = place.buffer;
    statement.index = place.index;
    return statement;
  }

  static void add_loop(Statement &statement, const LoopDimension &loop) {
    statement.loops.push_back(loop.value);
    statement.tags.push_back(loop.tag);
    statement.loop_names.push_back(loop.name);
    if (!loop.prefetches.empty()) {
      statement.prefetches[loop.name] = loop.prefetches;
    }
  }

  std::string unique_name(std::string name) {
    while (!names_.insert(name).second) {
      name += "_";
    }
    return name;
  }

  /// Of computations that depend on each other, what an earlier one reads is not known here.
  void require_computed_alone(const Computation &computation) const {
    for (const ComputationPtr &earlier : function_.computations) {
      if (earlier.get() == &computation) {
        return;
      }
      for (const Piece &piece : earlier->pieces) {
        visit(piece.value, [&](const ExprPtr &node) {
          if (node->kind == ExprKind::Access && node->producer.get() == &computation) {
            throw Error(ErrorKind::Schedule,
                        computation.name + " and " + earlier->name +
                            " depend on each other, so a part of " + computation.name +
                            " cannot be computed alone (compute_at)",
                        computation.where);
          }
        });
      }
    }
  }

  /// The reader in whose loops the computation runs. All others must be in them, too.
  const Statement &reader_around(const Computation &computation, const Placement &placement,
                                 const std::vector<const Statement *> &readers) const {
    const std::vector<int> &order = order_.at(computation.name);
    const Statement *found = nullptr;
    for (const Statement *reader : readers) {
      bool inside = reader->loops.size() >= shared_;
      for (size_t level = 0; inside && level < shared_; ++level) {
        inside = reader->order[level] == 2 * order[level] + 1;
      }
      if (!inside) {
        throw Error(ErrorKind::Schedule,
                    computation.name + " is computed inside the loops of " + placement.other +
                        ", but " + reader->computation->name + " reads it outside of them",
                    computation.where);
      }
      found = found == nullptr || reader->computation->name == placement.other ? reader : found;
    }
    if (found == nullptr) {
      throw Error(ErrorKind::Schedule,
                  computation.name + " is read by no computation in the loops of " +
                      placement.other,
                  computation.where);
    }
    return *found;
  }

  /// compute_at: for each iteration of the shared loops, the instances that are read in it.
  void replicate(const Computation &computation, const Placement &placement, size_t first) {
    require_computed_alone(computation);
    const std::vector<Statement> built(program_.statements.begin(),
                                       program_.statements.begin() +
                                           static_cast<std::ptrdiff_t>(first));
    const std::vector<const Statement *> readers = readers_of(built, computation);
    const Statement &around = reader_around(computation, placement, readers);
    const isl::map read = footprint(readers, computation, shared_);
    const isl::map needed =
        plain_footprint(read, defined(computation), may_compute_more(computation));
    const auto allocation = state_.allocations.find(computation.name);
    if (allocation != state_.allocations.end()) {
      allocate_inside(computation, allocation->second, readers, needed, first);
    }
    for (size_t s = first; s < program_.statements.size(); ++s) {
      run_inside(program_.statements[s], around, needed);
    }
  }

  /// Puts a statement into the shared loops of `around`: in each of their iterations it has the
  /// instances that are `needed` there.
  void run_inside(Statement &statement, const Statement &around, const isl::map &needed) const {
    const isl::map iterations = defined_value(statement).apply_range(needed.reverse());
    statement.domain =
        checked(isl::manage(isl_set_flatten(isl_map_wrap(iterations.reverse().release()))),
                "instances of compute_at");
    const isl::id name(isl_context(), statement.name);
    statement.domain = isl::manage(isl_set_set_tuple_id(statement.domain.release(), name.copy()));
    const auto with_replicas = [&](isl::pw_aff &loop) {
      isl_pw_aff *value =
          isl_pw_aff_insert_dims(loop.release(), isl_dim_in, 0, static_cast<unsigned>(shared_));
      loop = checked(isl::manage(isl_pw_aff_set_tuple_id(value, isl_dim_in, name.copy())),
                     "loops of compute_at");
    };
    std::for_each(statement.loops.begin(), statement.loops.end(), with_replicas);
    for (auto &[promise, value] : statement.independent) {
      with_replicas(value);
    }
    statement.replicas = shared_;
    for (size_t level = shared_; level-- > 0;) {
      // Loops of one name are there where the reader is itself computed inside loops.
      std::string iterator = "@" + around.loop_names[level];
      while (std::find(statement.iterators.begin(), statement.iterators.end(), iterator) !=
             statement.iterators.end()) {
        iterator += "_";
      }
      statement.iterators.insert(statement.iterators.begin(), iterator);
      statement.loop_names.insert(statement.loop_names.begin(), around.loop_names[level]);
      statement.tags.insert(statement.tags.begin(), around.tags[level]);
      statement.loops.insert(statement.loops.begin(),
                             isl::pw_aff::var_on_domain(isl::local_space(statement.domain.space()),
                                                        isl::dim::set,
                                                        static_cast<unsigned>(level)));
    }
  }

  /// The elements of a computation.
  isl::set defined(const Computation &computation) const {
    isl::set all = isl::set::empty(computation.domain.space());
    for (const Piece &piece : computation.pieces) {
      all = all.unite(piece.domain);
    }
    return checked(all.intersect_params(relevant_->of({all})), "the domain of a computation");
  }

  /// May elements that nobody reads be computed beside the others (compute_at)? Where each
  /// iteration has them in memory of its own, and what they read is there as it is for the others:
  /// then they cannot change what is legal.
  bool may_compute_more(const Computation &computation) const {
    const std::string &name = computation.name;
    const Placement *placement = find_placement(state_, name);
    const bool apart = placement != nullptr && placement->compute_at &&
                       state_.allocations.contains(name) && state_.independent.empty() &&
                       !state_.atomic.contains(name);
    if (!apart ||
        std::any_of(state_.assumed.begin(), state_.assumed.end(), [&](const ValuePromise &promise) {
          return promise.computation == name || promise.array == name;
        })) {
      return false;
    }
    for (const Piece &piece : computation.pieces) {
      bool repeats = false;
      visit(piece.value,
            [&](const ExprPtr &node) { repeats = repeats || node->kind == ExprKind::While; });
      Statement whole;
      whole.name = name;
      whole.iterators = computation.iterators;
      whole.domain = piece.domain;
      whole.value = piece.value;
      const std::vector<ReadAccess> reads = read_accesses(whole);
      if (repeats || !std::all_of(reads.begin(), reads.end(), [&](const ReadAccess &read) {
            return read.exact && is_ready(*read.producer, computation);
          })) {
        return false;
      }
    }
    return true;
  }

  /// Has every element of `producer` its value, for good, before the loops of `reader` begin, or in
  /// each iteration of them?
  bool is_ready(const Computation &producer, const Computation &reader) const {
    const auto shares = [&](const auto &entry) {
      return entry.first != producer.name && entry.second.buffer == producer.name;
    };
    if (producer.name == reader.name ||
        std::any_of(state_.storage.begin(), state_.storage.end(), shares)) {
      return false;
    }
    if (producer.is_input) {
      return true;
    }
    const Storage &storage = state_.storage.at(producer.name);
    if (order_.at(producer.name).front() < order_.at(reader.name).front()) {
      return storage.buffer == producer.name &&
             checked(storage.relation.is_injective(), "place of a computation");
    }
    return may_compute_more(producer);
  }

  /// store_at: a buffer inside the outermost loops of the readers, as large as what is read in one
  /// iteration of them.
  void allocate_inside(const Computation &computation, const Allocation &allocation,
                       const std::vector<const Statement *> &readers, const isl::map &needed,
                       size_t first) {
    const auto levels = static_cast<size_t>(allocation.levels);
    Program::Place &place = program_.places.at(computation.name);
    Buffer &buffer = program_.buffers[place.buffer];
    const auto inner = static_cast<unsigned>(shared_ - levels);
    const isl::map computed = isl::manage(
        isl_map_project_out(needed.copy(), isl_dim_in, static_cast<unsigned>(levels), inner));
    const isl::map held =
        inner == 0 ? needed : footprint(readers, computation, levels).unite(computed).coalesce();
    const FootprintBox box = footprint_box(checked(held, "a footprint"), program_.context);
    buffer.level = allocation.levels;
    buffer.memory = allocation.memory;
    buffer.command = allocation.command;
    buffer.where = allocation.where;
    buffer.stages = allocation.stages;
    buffer.extents.clear();
    place.index.clear();
    for (size_t d = 0; d < computation.rank(); ++d) {
      const size_t of = allocation.order.empty() ? d : static_cast<size_t>(allocation.order[d]);
      buffer.extents.push_back(box.extents[of]);
      place.index.push_back(binary(Op::Sub, iterator(computation.iterators[of]), box.lower[of]));
    }
    if (allocation.pad > 0) {
      buffer.extents.back() = padded(buffer.extents.back(), allocation.pad);
    }
    require_fits(buffer, allocation);
    for (size_t s = first; s < program_.statements.size(); ++s) {
      program_.statements[s].index = place.index;
    }
  }

  /// What was promised of a statement's computation, where the statement has its instances.
  void add_promises(Statement &statement) const {
    const std::string &name = statement.computation->name;
    const auto dimensions = static_cast<isl_size>(statement.iterators.size());
    for (size_t p = 0; p < state_.independent.size(); ++p) {
      const auto value = state_.independent[p].values.find(name);
      if (value != state_.independent[p].values.end() &&
          isl_pw_aff_dim(value->second.get(), isl_dim_in) == dimensions) {
        statement.independent.emplace(p, value->second);
      }
    }
    for (const ValuePromise &promise : state_.assumed) {
      if (promise.computation == name) {
        statement.assumed.push_back(promise);
      }
    }
    statement.streamed = statement.role == StatementRole::Value && state_.streamed.contains(name);
    statement.atomic = statement.role == StatementRole::Update && state_.atomic.contains(name);
    statement.mapped_at = statement.computation->where;
    for (const Command &command : state_.schedule.commands) {
      if (command.computation == name && traits(command).maps_to_gpu) {
        statement.mapped_at = command.where;
      }
    }
  }

  /// The statements in the order of their computations.
  void put_in_order() {
    std::vector<Statement> ordered;
    for (const ComputationPtr &computation : function_.computations) {
      for (Statement &statement : program_.statements) {
        if (statement.computation == computation) {
          ordered.push_back(statement);
        }
      }
    }
    program_.statements = std::move(ordered);
  }

  /// The tuple of the statement instead of the computation's.
  void name_tuple(Statement &statement) const {
    const isl::id name(isl_context(), statement.name);
    const isl::set context = relevant_->of({statement.domain});
    statement.domain =
        checked(statement.domain.intersect_params(context).set_tuple_id(name), "a statement");
    const auto rename = [&](isl::pw_aff &loop) {
      loop = checked(isl::manage(isl_pw_aff_set_tuple_id(loop.release(), isl_dim_in, name.copy())),
                     "a loop");
    };
    std::for_each(statement.loops.begin(), statement.loops.end(), rename);
    for (auto &[promise, value] : statement.independent) {
      rename(value);
    }
  }

  /// Every instance has one time: each loop is a whole number wherever the statement runs. Commands
  /// see to it; isl would leave an instance without a time out of the loops, without a word.
  void require_total(const Statement &statement) const {
    for (size_t level = 0; level < statement.loop_names.size(); ++level) {
      const isl::pw_aff &value = statement.loops[level];
      if (checked(value.isa_aff(), "the time of a statement") &&
          checked(isl::manage(isl_aff_get_denominator_val(value.as_aff().get())),
                  "the time of a statement")
              .is_one()
              .is_true()) {
        continue; // whole numbers everywhere
      }
      const isl::set timed = value.as_map().domain();
      Point point;
      if (!checked(statement.domain.is_subset(timed), "the time of a statement") &&
          sample_point(checked(statement.domain.subtract(timed), "the time of a statement"),
                       point)) {
        throw Error(ErrorKind::Schedule,
                    "loop '" + statement.loop_names[level] + "' of " + statement.computation->name +
                        " gives no time to " + instance_text(statement.name, point),
                    statement.mapped_at);
      }
    }
  }

  /// Pads to the common depth.
  void finish(Statement &statement) const {
    require_total(statement);
    statement.loops.resize(static_cast<size_t>(program_.depth), zero_on(statement.domain));
    statement.tags.resize(static_cast<size_t>(program_.depth));
    statement.order.resize(static_cast<size_t>(program_.depth) + 1, 0);
  }

  const MappingState &state_;
  const Function &function_;
  Program program_;
  std::optional<RelevantContext> relevant_; ///< of program_.context
  std::map<std::string, std::vector<int>> order_;
  std::set<std::string> names_;
  size_t shared_ = 0; ///< loops that the computation at hand shares by compute_at
};

} // namespace

isl::map time_map(const Statement &statement) {
  const size_t depth = statement.loops.size();
  isl_pw_aff_list *values =
      isl_pw_aff_list_alloc(isl_context().get(), static_cast<int>(2 * depth + 1));
  for (size_t level = 0; level <= depth; ++level) {
    const isl::pw_aff constant(isl::set::universe(statement.domain.space()),
                               isl::val(isl_context(), static_cast<long>(statement.order[level])));
    values = isl_pw_aff_list_add(values, constant.copy());
    if (level < depth) {
      values = isl_pw_aff_list_add(values, statement.loops[level].copy());
    }
  }
  isl_space *space = isl_space_from_domain(statement.domain.space().release());
  space = isl_space_add_dims(space, isl_dim_out, static_cast<unsigned>(2 * depth + 1));
  const isl::multi_pw_aff time = isl::manage(isl_multi_pw_aff_from_pw_aff_list(space, values));
  return checked(time.as_map().intersect_domain(statement.domain), "the time of a statement");
}

Program build_program(const MappingState &state) {
  require_stack(*state.function);
  const OperationLimit limit(mapping_operation_limit);
  return ProgramBuilder(state).build();
}

Program build_program(const Mapping &mapping) { return build_program(mapping.state()); }

} // namespace tilewright
