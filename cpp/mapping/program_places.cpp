// Where elements lie: the buffers of a program and the place of each computation in them.
#include "algorithm/affine.h"
#include "algorithm/function_extents.h"
#include "mapping/command_handlers.h"
#include "mapping/number_limits.h"
#include "mapping/packed_storage.h"
#include "mapping/program_builder.h"
#include "polyhedral/counted.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/val.h>

#include <algorithm>
#include <optional>
#include <set>

namespace tilewright {

void ProgramBuilder::add_buffers() {
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
  for (auto &[name, place] : program_.places) {
    const std::vector<ExprPtr> &origin = program_.buffers[place.buffer].origin;
    for (size_t d = 0; d < origin.size(); ++d) {
      if (!is_zero(origin[d])) {
        place.index[d] = binary(Op::Sub, place.index[d], origin[d]);
      }
    }
    if (program_.buffers[place.buffer].packing == Packing::Triangle) {
      pack_index(place.index);
    }
  }
  for (Buffer &buffer : program_.buffers) {
    if (buffer.packing == Packing::Triangle) {
      pack_extents(buffer.extents);
    }
  }
}

Buffer ProgramBuilder::buffer_of(const std::string &name, ScalarType type, BufferKind kind,
                                 const std::vector<ExprPtr> &extents) const {
  Buffer buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.kind = kind;
  for (const ExprPtr &extent : extents) {
    buffer.extents.push_back(known_extent(extent));
  }
  return buffer;
}

ExprPtr ProgramBuilder::known_extent(const ExprPtr &extent) const {
  if (program_.fixed.empty() || extent->kind == ExprKind::Constant) {
    return extent;
  }
  constexpr const char *doing = "the extent of a buffer";
  const std::optional<isl::pw_aff> value = to_affine(extent, {});
  if (!value) {
    return extent;
  }
  const isl::pw_aff known = checked(value->intersect_params(program_.context), doing);
  const isl::val least = isl::manage(isl_pw_aff_min_val(known.copy()));
  const isl::val most = isl::manage(isl_pw_aff_max_val(known.copy()));
  const isl::val widest(isl_context(), static_cast<long>(largest_number));
  const bool is_one = !least.is_null() && !most.is_null() && least.is_int().is_true() &&
                      least.eq(most).is_true() && most.abs().le(widest).is_true();
  return is_one ? constant(std::int64_t{isl_val_get_num_si(most.get())}, Int64) : extent;
}

void ProgramBuilder::add_place(const Computation &computation, BufferKind kind) {
  const Storage &storage = state_.storage.at(computation.name);
  auto found = std::find_if(program_.buffers.begin(), program_.buffers.end(),
                            [&](const Buffer &buffer) { return buffer.name == storage.buffer; });
  if (found == program_.buffers.end()) {
    program_.buffers.push_back(buffer_of(storage.buffer, computation.type, kind, storage.extents));
    found = program_.buffers.end() - 1;
    found->origin = storage.origin;
    found->record = storage.record;
    found->packing = storage.packing;
    require_place_in_record(computation, *found);
  } else {
    share(computation, storage, *found, kind);
  }
  program_.places[computation.name] = {static_cast<size_t>(found - program_.buffers.begin()),
                                       storage.index, storage.relation};
}

void ProgramBuilder::share(const Computation &computation, const Storage &storage, Buffer &buffer,
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
  if (buffer.packing != storage.packing) {
    throw Error(ErrorKind::Schedule,
                "buffer '" + buffer.name + "' is a packed triangle " +
                    (buffer.packing == Packing::None ? "for " + computation.name + " only"
                                                     : "for all but " + computation.name) +
                    "; give each computation in it a place buffer[i*(i+1)//2 + j], or none",
                computation.where);
  }
  if (buffer.type != computation.type || buffer.extents.size() != storage.extents.size()) {
    throw Error(ErrorKind::Schedule,
                computation.name + " (" + type_name(computation.type) + ", " +
                    counted(storage.extents.size(), "dimension") +
                    ") cannot be stored in buffer '" + buffer.name + "' of " +
                    type_name(buffer.type) + " with " + counted(buffer.extents.size(), "dimension"),
                computation.where);
  }
  if (buffer.kind == BufferKind::Output) {
    require_room(computation, storage, buffer);
  }
  if (buffer.kind != BufferKind::Temporary) {
    return;
  }
  std::vector<ExprPtr> origin;
  for (size_t d = 0; d < buffer.extents.size(); ++d) {
    const ExprPtr first = first_index(buffer.origin, d);
    const ExprPtr own_first = first_index(storage.origin, d);
    ExprPtr &extent = buffer.extents[d];
    if (to_string(first) != to_string(own_first)) {
      origin.push_back(combined(Op::Min, first, own_first));
      const ExprPtr end = combined(Op::Max, combined(Op::Add, first, extent),
                                   combined(Op::Add, own_first, storage.extents[d]));
      extent = known_extent(combined(Op::Sub, end, origin.back()));
      continue;
    }
    origin.push_back(first);
    if (to_string(extent) != to_string(storage.extents[d])) {
      extent = binary(Op::Max, extent, storage.extents[d]);
    }
  }
  if (!std::all_of(origin.begin(), origin.end(), is_zero)) {
    buffer.origin = std::move(origin);
  }
}

void ProgramBuilder::require_place_in_record(const Computation &computation,
                                             const Buffer &field) const {
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

isl::set ProgramBuilder::stored(const Computation &computation, const Storage &storage) const {
  isl::set written = isl::set::empty(computation.domain.space());
  for (const Piece &piece : computation.pieces) {
    written = written.unite(piece.domain);
  }
  return checked(written.intersect_params(function_.context).apply(storage.relation),
                 "elements of a buffer");
}

void ProgramBuilder::require_room(const Computation &computation, const Storage &storage,
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

} // namespace tilewright
