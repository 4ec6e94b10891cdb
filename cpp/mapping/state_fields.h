// One visitor over all that a mapping holds. `visit` gets each field with its name, in a fixed
// order; `aside` gets what says where something came from and decides neither loops nor memory.
// What keys of caches, comparisons and texts of mappings are made of. A structured binding names
// every field of its struct: one that is added and not visited here does not compile.
#pragma once

#include "mapping/mapping.h"

namespace tilewright {

template <class Visitor>
void visit_fields(const LoopTag &given, Visitor &&visitor) {
  const auto &[tag, factor, dealing, chunk, joined, axis, counts, strip, strips] = given;
  visitor.visit("tag", tag);
  visitor.visit("factor", factor);
  visitor.visit("dealing", dealing);
  visitor.visit("chunk", chunk);
  visitor.visit("joined", joined);
  visitor.visit("axis", axis);
  visitor.visit("counts", counts);
  visitor.visit("strip", strip);
  visitor.visit("strips", strips);
}

template <class Visitor>
void visit_fields(const Prefetch &given, Visitor &&visitor) {
  const auto &[array, distance] = given;
  visitor.visit("array", array);
  visitor.visit("distance", distance);
}

template <class Visitor>
void visit_fields(const LoopDimension &given, Visitor &&visitor) {
  const auto &[name, value, tag, extent, prefetches] = given;
  visitor.visit("name", name);
  visitor.visit("value", value);
  visitor.visit("tag", tag);
  visitor.visit("extent", extent);
  visitor.visit("prefetches", prefetches);
}

template <class Visitor>
void visit_fields(const TimeSpaceMap &given, Visitor &&visitor) {
  const auto &[dimensions, explicit_time, phase, copies] = given;
  visitor.visit("explicit_time", explicit_time);
  visitor.visit("phase", phase);
  visitor.visit("copies", copies);
  visitor.visit("dimensions", dimensions);
}

template <class Visitor>
void visit_fields(const Placement &given, Visitor &&visitor) {
  const auto &[computation, other, shared, before, compute_at] = given;
  visitor.visit("computation", computation);
  visitor.visit("other", other);
  visitor.visit("shared", shared);
  visitor.visit("before", before);
  visitor.visit("compute_at", compute_at);
}

template <class Visitor>
void visit_fields(const Record &given, Visitor &&visitor) {
  const auto &[name, offset, size] = given;
  visitor.visit("name", name);
  visitor.visit("offset", offset);
  visitor.visit("size", size);
}

template <class Visitor>
void visit_fields(const Storage &given, Visitor &&visitor) {
  const auto &[buffer, index, extents, origin, relation, record, packing] = given;
  visitor.visit("buffer", buffer);
  visitor.visit("index", index);
  visitor.visit("extents", extents);
  visitor.visit("origin", origin);
  visitor.aside("relation", relation); // what `index` says, as a map
  visitor.visit("record", record);
  visitor.visit("packing", packing);
}

template <class Visitor>
void visit_fields(const Allocation &given, Visitor &&visitor) {
  const auto &[other, levels, memory, order, command, where, pad, stages, loop] = given;
  visitor.visit("other", other);
  visitor.visit("levels", levels);
  visitor.visit("memory", memory);
  visitor.visit("order", order);
  visitor.aside("command", command);
  visitor.aside("where", where);
  visitor.visit("pad", pad);
  visitor.visit("stages", stages);
  visitor.visit("loop", loop);
}

template <class Visitor>
void visit_fields(const IndependencePromise &given, Visitor &&visitor) {
  const auto &[loop, values] = given;
  visitor.visit("loop", loop);
  visitor.visit("values", values);
}

template <class Visitor>
void visit_fields(const ValuePromise &given, Visitor &&visitor) {
  const auto &[computation, array, values] = given;
  visitor.visit("computation", computation);
  visitor.visit("array", array);
  visitor.visit("values", values);
}

template <class Visitor>
void visit_fields(const Variant &given, Visitor &&visitor) {
  const auto &[text, condition] = given;
  visitor.aside("text", text); // what `condition` says
  visitor.visit("condition", condition);
}

template <class Visitor>
void visit_fields(const WorkLimits &given, Visitor &&visitor) {
  const auto &[declared, threads, around] = given;
  visitor.visit("declared", declared);
  visitor.visit("threads", threads);
  visitor.visit("around", around);
}

/// Promises are visited, too: by what they say of reads, compute_at and store_at leave instances
/// and elements out, which a function without them needs.
template <class Visitor>
void visit_fields(const MappingState &given, Visitor &&visitor) {
  const auto &[function, schedule, time_space, storage, placements, order, allocations, independent,
               assumed, streamed, atomic, shared, fixed, variants, work, given_times] = given;
  static_cast<void>(given_times); // follows from the maps that were given
  visitor.aside("function", function);
  visitor.aside("schedule", schedule);
  visitor.visit("time_space", time_space);
  visitor.visit("storage", storage);
  visitor.visit("placements", placements);
  visitor.visit("order", order);
  visitor.visit("allocations", allocations);
  visitor.visit("independent", independent);
  visitor.visit("assumed", assumed);
  visitor.visit("streamed", streamed);
  visitor.visit("atomic", atomic);
  visitor.visit("shared", shared);
  visitor.visit("fixed", fixed);
  visitor.visit("variants", variants);
  visitor.visit("work", work);
}

} // namespace tilewright
