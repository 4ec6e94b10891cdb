// compute_at: computations that run inside of the loops of what reads them.
#include "mapping/accesses.h"
#include "mapping/command_handlers.h"
#include "mapping/local_memory.h"
#include "mapping/program_builder.h"
#include "mapping/windows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tilewright {

namespace {

/// An extent and so many elements more.
ExprPtr padded(const ExprPtr &extent, std::int64_t pad) {
  const auto *known =
      extent->kind == ExprKind::Constant ? std::get_if<std::int64_t>(&extent->value) : nullptr;
  return known != nullptr ? constant(*known + pad, Int64)
                          : binary(Op::Add, extent, constant(pad, Int64));
}

} // namespace

void ProgramBuilder::require_computed_alone(const Computation &computation) const {
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

const Statement &
ProgramBuilder::reader_around(const Computation &computation, const Placement &placement,
                              const std::vector<const Statement *> &readers) const {
  const std::vector<int> &order = order_.at(computation.name);
  const Statement *found = nullptr;
  for (const Statement *reader : readers) {
    bool inside = reader->loops.size() >= shared_;
    for (size_t level = 0; inside && level < shared_; ++level) {
      inside = reader->order[level] == order_at(order[level]);
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
                computation.name + " is read by no computation in the loops of " + placement.other,
                computation.where);
  }
  return *found;
}

void ProgramBuilder::replicate(const Computation &computation, const Placement &placement,
                               size_t first) {
  require_computed_alone(computation);
  const std::vector<Statement> built(program_.statements.begin(),
                                     program_.statements.begin() +
                                         static_cast<std::ptrdiff_t>(first));
  const std::vector<const Statement *> readers = readers_of(built, computation);
  const Statement &around = reader_around(computation, placement, readers);
  const isl::map read = footprint(readers, computation, shared_);
  const auto allocation = state_.allocations.find(computation.name);
  size_t anew = shared_;
  isl::map needed;
  if (allocation != state_.allocations.end()) {
    anew = computed_anew(static_cast<size_t>(allocation->second.levels), readers);
    const isl::map exact = read.intersect_params(relevant_->of({read.range()})).coalesce();
    const auto window = anew < shared_ ? first_read(exact, anew) : std::nullopt;
    if (window) {
      needed = plain_footprint(*window, defined(computation), false);
    } else {
      anew = shared_;
    }
  }
  if (anew == shared_) {
    needed = plain_footprint(read, defined(computation), may_compute_more(computation));
  }
  if (allocation != state_.allocations.end()) {
    allocate_inside(computation, allocation->second, readers, needed, first);
    if (anew < shared_ && static_cast<size_t>(allocation->second.levels) == anew) {
      fold_window(computation, read, needed, anew, first);
    }
    require_fits(program_.buffers[program_.places.at(computation.name).buffer], allocation->second);
  }
  for (size_t s = first; s < program_.statements.size(); ++s) {
    run_inside(program_.statements[s], around, needed);
    program_.statements[s].anew = anew;
  }
}

size_t ProgramBuilder::computed_anew(size_t stored,
                                     const std::vector<const Statement *> &readers) const {
  size_t anew = stored;
  for (const Statement *reader : readers) {
    for (size_t level = 0; level < reader->loop_names.size(); ++level) {
      if (is_gpu(reader->tags[level].tag)) {
        return shared_;
      }
      if (level < shared_ && is_concurrent(reader->tags[level])) {
        anew = std::max(anew, level + 1);
      }
    }
  }
  return anew;
}

void ProgramBuilder::fold_window(const Computation &computation, const isl::map &read,
                                 const isl::map &made, size_t kept, size_t first) {
  isl::map alive = read.unite(made);
  for (size_t s = first; s < program_.statements.size(); ++s) {
    const Statement &statement = program_.statements[s];
    for (const ReadAccess &own : read_accesses(statement)) {
      if (own.producer.get() == &computation) {
        const isl::map by_values = defined_value(statement).reverse().apply_range(own.relation);
        alive = alive.unite(made.apply_range(by_values));
      }
    }
  }
  const std::vector<std::int64_t> folds =
      folds_of_window(checked(alive.coalesce(), "a window"), kept, program_.context);
  const Allocation &allocation = state_.allocations.at(computation.name);
  const std::vector<int> &order = allocation.order;
  Program::Place &place = program_.places.at(computation.name);
  Buffer &buffer = program_.buffers[place.buffer];
  for (size_t d = 0; d < folds.size(); ++d) {
    const bool is_padded = allocation.pad > 0 && d + 1 == folds.size();
    const size_t of = order.empty() ? d : static_cast<size_t>(order[d]);
    const auto *whole = buffer.extents[d]->kind == ExprKind::Constant
                            ? std::get_if<std::int64_t>(&buffer.extents[d]->value)
                            : nullptr;
    if (folds[of] == 0 || is_padded || (whole != nullptr && *whole <= folds[of])) {
      continue;
    }
    const ExprPtr modulus = constant(folds[of], Int64);
    buffer.extents[d] = modulus;
    place.index[d] = binary(Op::Mod, iterator(computation.iterators[of]), modulus);
    place.relation = folded(place.relation, static_cast<unsigned>(of), folds[of]);
    break;
  }
  for (size_t s = first; s < program_.statements.size(); ++s) {
    program_.statements[s].index = place.index;
  }
}

void ProgramBuilder::run_inside(Statement &statement, const Statement &around,
                                const isl::map &needed) const {
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
                                                      isl::dim::set, static_cast<unsigned>(level)));
  }
}

isl::set ProgramBuilder::defined(const Computation &computation) const {
  isl::set all = isl::set::empty(computation.domain.space());
  for (const Piece &piece : computation.pieces) {
    all = all.unite(piece.domain);
  }
  return checked(all.intersect_params(relevant_->of({all})), "the domain of a computation");
}

bool ProgramBuilder::may_compute_more(const Computation &computation,
                                      std::set<std::string> asked) const {
  const std::string &name = computation.name;
  if (!asked.insert(name).second) {
    return false;
  }
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
          return read.exact && is_ready(*read.producer, computation, asked);
        })) {
      return false;
    }
  }
  return true;
}

bool ProgramBuilder::is_ready(const Computation &producer, const Computation &reader,
                              const std::set<std::string> &asked) const {
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
  return may_compute_more(producer, asked);
}

void ProgramBuilder::allocate_inside(const Computation &computation, const Allocation &allocation,
                                     const std::vector<const Statement *> &readers,
                                     const isl::map &needed, size_t first) {
  const auto levels = static_cast<size_t>(allocation.levels);
  const auto inner = static_cast<unsigned>(shared_ - levels);
  const isl::map computed = isl::manage(
      isl_map_project_out(needed.copy(), isl_dim_in, static_cast<unsigned>(levels), inner));
  const isl::map held =
      inner == 0 ? needed : footprint(readers, computation, levels).unite(computed).coalesce();
  hold(computation, allocation, held);
  const Program::Place &place = program_.places.at(computation.name);
  for (size_t s = first; s < program_.statements.size(); ++s) {
    program_.statements[s].index = place.index;
  }
}

void ProgramBuilder::allocate_private() {
  std::map<size_t, std::vector<const Computation *>> members;
  for (const auto &[name, allocation] : state_.allocations) {
    if (allocation.is_private()) {
      members[program_.places.at(name).buffer].push_back(function_.find(name)->get());
    }
  }
  KnownReads known;
  for (const auto &[buffer, computations] : members) {
    allocate_private(computations, known);
  }
}

void ProgramBuilder::allocate_private(const std::vector<const Computation *> &members,
                                      KnownReads &known) {
  const Allocation &allocation = state_.allocations.at(members.front()->name);
  const auto levels = static_cast<size_t>(allocation.levels);
  const Statement *first = nullptr;
  const auto require_inside = [&](const Computation &computation, const Statement &statement,
                                  const std::string &does) {
    if (statement.loop_names.size() < levels ||
        !std::equal(statement.order.begin(),
                    statement.order.begin() + static_cast<std::ptrdiff_t>(levels),
                    first->order.begin())) {
      throw Error(ErrorKind::Schedule,
                  computation.name + " is private to an iteration of loop '" + allocation.loop +
                      "', but " + statement.computation->name + " " + does +
                      " outside of that loop; fuse them first (after, fuse_with), or choose a loop "
                      "that they share",
                  allocation.where);
    }
  };
  const bool share = members.size() > 1;
  const bool has_places =
      share || state_.storage.at(members.front()->name).buffer != members.front()->name;
  isl::map held;
  for (const Computation *member : members) {
    std::vector<const Statement *> own;
    for (const Statement &statement : program_.statements) {
      if (statement.computation.get() == member) {
        own.push_back(&statement);
        first = first == nullptr ? &statement : first;
        require_inside(*members.front(), statement,
                       share ? "is stored in the same buffer" : "begins or ends");
      }
    }
    const std::vector<const Statement *> readers = readers_of(program_.statements, *member);
    for (const Statement *reader : readers) {
      require_inside(*member, *reader, "reads it");
    }
    isl::map touched = written_footprint(own, levels);
    if (!readers.empty()) {
      touched = touched.unite(footprint(readers, *member, levels, known)).coalesce();
    }
    touched = has_places ? touched.apply_range(state_.storage.at(member->name).relation) : touched;
    held = held.is_null() ? touched : held.unite(touched).coalesce();
  }
  if (has_places) {
    hold_at_places(members, allocation, held);
  } else {
    hold(*members.front(), allocation, held);
  }
  require_fits(program_.buffers[first->buffer], allocation);
  for (Statement &statement : program_.statements) {
    if (std::find(members.begin(), members.end(), statement.computation.get()) != members.end()) {
      statement.index = program_.places.at(statement.computation->name).index;
    }
  }
}

void ProgramBuilder::hold_at_places(const std::vector<const Computation *> &members,
                                    const Allocation &allocation, const isl::map &held) {
  Buffer &buffer = program_.buffers[program_.places.at(members.front()->name).buffer];
  const FootprintBox box = footprint_box(checked(held, "a footprint"), program_.context);
  live_inside(buffer, allocation);
  for (const ExprPtr &extent : box.extents) {
    buffer.extents.push_back(known_extent(extent));
  }
  for (const Computation *member : members) {
    const std::vector<ExprPtr> &index = state_.storage.at(member->name).index;
    std::vector<ExprPtr> &inside = program_.places.at(member->name).index;
    for (size_t d = 0; d < index.size(); ++d) {
      inside[d] = binary(Op::Sub, index[d], box.lower[d]);
    }
  }
}

void ProgramBuilder::live_inside(Buffer &buffer, const Allocation &allocation) {
  buffer.level = allocation.levels;
  buffer.memory = allocation.memory;
  buffer.command = allocation.command;
  buffer.where = allocation.where;
  buffer.stages = allocation.stages;
  buffer.extents.clear();
}

void ProgramBuilder::hold(const Computation &computation, const Allocation &allocation,
                          const isl::map &held) {
  Program::Place &place = program_.places.at(computation.name);
  Buffer &buffer = program_.buffers[place.buffer];
  const FootprintBox box = footprint_box(checked(held, "a footprint"), program_.context);
  live_inside(buffer, allocation);
  place.index.clear();
  for (size_t d = 0; d < computation.rank(); ++d) {
    const size_t of = allocation.order.empty() ? d : static_cast<size_t>(allocation.order[d]);
    buffer.extents.push_back(known_extent(box.extents[of]));
    place.index.push_back(binary(Op::Sub, iterator(computation.iterators[of]), box.lower[of]));
  }
  if (allocation.pad > 0) {
    buffer.extents.back() = padded(buffer.extents.back(), allocation.pad);
  }
}

} // namespace tilewright
