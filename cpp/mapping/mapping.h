// Layers II and III of one function: for each computation a time-space map (a list of named, tagged
// loop dimensions, each a quasi-affine function of the computation's instances), its placement
// relative to other computations, and an access relation into a buffer. Commands compose such maps;
// a command that does not make sense throws Error(Schedule) and leaves the mapping as it was.
// Whether the result is legal is decided in analysis/legality.h, not here.
#pragma once

#include "algorithm/function.h"
#include "mapping/schedule.h"
#include "polyhedral/isl.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {

enum class Tag {
  Sequential,
  Parallel,
  Vector,
  Unroll,
  GpuBlock,  ///< one axis of the grid of blocks of a GPU's kernel
  GpuThread, ///< one axis of the threads of a block: a value v is thread v modulo their number
  GpuSpread, ///< dealt out to all threads of the block, together with the spread loops beside it
  GpuMma     ///< of a tile that the 32 threads of a warp have together: its rows, columns or sum
};

/// How the iterations of a parallel loop are dealt out to threads: ranges or chunks that are the
/// same for the same extent, or chunks to whoever is free (OpenMP's static and dynamic).
enum class Dealing { Static, Dynamic };

struct LoopTag {
  Tag tag = Tag::Sequential;
  std::int64_t factor = 0;           ///< Vector: lanes; Unroll: the constant extent
  Dealing dealing = Dealing::Static; ///< Parallel
  std::int64_t chunk = 0;            ///< Parallel: iterations; 0: equal ranges, single ones
  bool joined = false; ///< Parallel: runs as one with the parallel loop directly outside
  /// GpuBlock, GpuThread: 0 is x, 1 y, 2 z. GpuMma: 0 rows, 1 columns, 2 the sum, 3 the sum of
  /// products of float32 that are rounded to tf32 before.
  int axis = 0;
  /// join, where isl knows no product of the extents: the loop runs as one with so many loops
  /// directly inside of it; -1 in each of these. To isl and to legality they stay what they were.
  /// All have the tag of the loop that they are, or of the one over its strips.
  int counts = 0;
  std::int64_t strip = 0;       ///< of such loops: so many iterations are a strip; 0: not cut
  Tag strips = Tag::Sequential; ///< what the iterations of a strip are

  bool operator==(const LoopTag &) const = default;
};

/// Whether no order is promised between two iterations of such a loop.
bool is_concurrent(Tag tag);
bool is_concurrent(const LoopTag &tag);
/// Whether such a loop belongs to a GPU's kernel.
bool is_gpu(Tag tag);
/// "gpu_block_x" of such a tag.
std::string gpu_tag_name(Tag tag, int axis);

/// prefetch: what an iteration of the loop reads of `array` is asked for `distance` iterations
/// ahead.
struct Prefetch {
  std::string array;
  std::int64_t distance = 1;

  bool operator==(const Prefetch &) const = default;
};

/// One loop of a computation: its value as a function of the instance, outermost first in
/// TimeSpaceMap::dimensions.
struct LoopDimension {
  std::string name;
  isl::pw_aff value;
  LoopTag tag;
  std::int64_t extent =
      0; ///< the constant number of iterations a split gave it; 0 when it is not a constant
  std::vector<Prefetch> prefetches = {};
};

struct TimeSpaceMap {
  std::vector<LoopDimension> dimensions;
  bool explicit_time =
      false; ///< given by set_schedule: shares one time space with all other such computations
  /// With explicit_time, if the function iterates until data say so: 0 in the iterations, less in
  /// front of them, more behind. Such phases are times one after the other.
  int phase = 0;
  /// A one-to-many map, by which an instance runs at several times, has C[loops..., iterators...],
  /// the values of its outermost loops before those of the instance: what all its loops are
  /// functions of. Nothing: each instance runs once.
  std::optional<isl::set> copies = std::nullopt;

  /// How many of the outermost loops tell the copies of an instance apart.
  size_t copying_loops(size_t iterators) const;
};

/// Order among computations: `computation` follows (or precedes) `other` and shares its outermost
/// `shared` loops. With `compute_at` it runs, inside each iteration of those loops of `other`, just
/// the instances that are read there, anew where several iterations read the same one.
struct Placement {
  std::string computation;
  std::string other;
  int shared = 0;
  bool before = false;
  bool compute_at = false;
};

/// The placement of a computation, or null.
const Placement *find_placement(const struct MappingState &state, const std::string &computation);

/// The instances that are scheduled for one computation. A computation that is made of a reduction
/// (scheduled_reduction, algorithm/reductions.h) is scheduled by its terms: its instances are
/// C[i..., k...].
struct InstanceSpace {
  std::vector<std::string> iterators; ///< reduced ones last
  std::vector<Stride> strides;        ///< of all of them
  size_t reduced = 0;                 ///< how many of them are reduced
  isl::set domain;                    ///< tuple name = computation name
};
InstanceSpace instance_space(const Computation &computation);

/// The loop of an iterator as it is declared: its value; if its range has a step, the number of its
/// value in the range, from 0 on, so that loops have no gaps.
isl::pw_aff declared_loop(const InstanceSpace &instances, size_t position);

/// A buffer that is a field of an array of structures: each of its elements lies `offset` bytes
/// into a record of `size` bytes, beside the elements of the record's other fields.
struct Record {
  std::string name; ///< empty: a buffer of its own
  std::int64_t offset = 0;
  std::int64_t size = 0;

  bool operator==(const Record &) const = default;
};

/// How the last two indices [i, j] of a buffer become its address: a row of equal length for each
/// i, or of a triangle, 0 <= j <= i, only what there is: i * (i + 1) / 2 + j.
enum class Packing { None, Triangle };

/// Layer III of one computation: element [index...] of `buffer` holds the computation's element;
/// index is quasi-affine in the computation's own iterators (not the reduced ones). Temporaries may
/// have elements of negative index: the buffer begins at `origin`.
struct Storage {
  std::string buffer;
  std::vector<ExprPtr> index;
  std::vector<ExprPtr> extents; ///< of the buffer; affine in parameters
  std::vector<ExprPtr> origin;  ///< the buffer's first element, affine in parameters; empty: zeros
  isl::map relation;            ///< computation[iterators] -> buffer[index]
  Record record;                ///< of the buffer
  Packing packing = Packing::None; ///< of the buffer

  /// A buffer of the computation's own name and shape.
  static Storage identity(const Computation &computation);
};

/// store_at: the buffer of a computation lives inside one iteration of the `levels` outermost loops
/// it shares with `other`, as large as what is read there. private: the same for a computation that
/// stands beside its readers, as large as what is written and read there; `loop` is the innermost
/// of those loops.
struct Allocation {
  std::string other; ///< empty: private
  int levels = 0;
  std::string memory =
      "auto"; ///< "auto", "registers", "stack", "heap"; in a GPU's kernel "shared", "private"
  std::vector<int>
      order; ///< which dimension of the computation each one of the buffer is; empty: alike
  std::string command;  ///< that asked for it, for messages
  SourceLocation where; ///< of that command
  std::int64_t pad = 0; ///< elements more along the innermost dimension of the buffer
  int stages = 1;       ///< so many of it; more than one: a GPU's threads copy ahead (cache)
  std::string loop;     ///< private: the loop as the computation itself has it

  bool is_private() const { return other.empty(); }
};

/// independent(i): in no two different iterations of the loop do instances of these computations
/// touch one element. The loop is kept as functions of the instances, so that the promise holds
/// whatever becomes of the loop later. (PENCIL: #pragma pencil independent.)
struct IndependencePromise {
  std::string loop;
  std::map<std::string, isl::pw_aff> values; ///< by computation
};

/// assume(...): what `computation` reads from `array` and uses as a subscript: array[...] ->
/// [value]. (PENCIL: __pencil_assume.)
struct ValuePromise {
  std::string computation;
  std::string array;
  isl::map values;
};

/// A fact about one call's arrays: element [i...] of `array`, an input or an output, is element
/// [i + offset...] of `input`, an input with the same element type and rank.
struct SharedArray {
  std::string array;
  std::string input;
  std::vector<std::int64_t> offset;

  bool operator==(const SharedArray &) const = default;
};

/// specialize: where the condition holds of the parameters, the same loops with that known.
struct Variant {
  std::string text;   ///< of the condition, as the command has it
  isl::set condition; ///< on parameters
};

/// when_work: what is too little work (loops/estimate_work.h) for the loops of a schedule.
struct WorkLimits {
  std::int64_t declared = 0; ///< less than this runs as declared; 0: nothing does
  std::int64_t threads = 0;  ///< parallel loops of less than this run in one thread; 0: none do
  int around = 0;            ///< `declared` counts one iteration of so many outermost loops

  bool operator==(const WorkLimits &) const = default;
};

/// Everything that commands change. Commands work on a copy, so that a failure changes nothing.
/// What set_schedule made of the maps that it was given last, by computation: a planner gives many
/// times to a function, most of which are the same.
struct GivenTimes {
  struct Known {
    std::shared_ptr<const Function> function;
    isl::map given;
    TimeSpaceMap times; ///< without tags
  };
  std::map<std::string, std::vector<Known>> by_computation;
  /// The maps of single computations that were read, by their text with its parameters.
  std::unordered_map<std::string, isl::map> read;
};

struct MappingState {
  std::shared_ptr<const Function> function;
  Schedule schedule;
  std::map<std::string, TimeSpaceMap> time_space;
  std::map<std::string, Storage> storage;
  std::vector<Placement> placements; ///< at most one for each computation, in the order given
  std::vector<std::string> order;    ///< of the computations at the outermost level
  std::map<std::string, Allocation> allocations;
  std::vector<IndependencePromise> independent;
  std::vector<ValuePromise> assumed;
  std::set<std::string> streamed;            ///< computations whose elements go past the caches
  std::set<std::string> atomic;              ///< reductions whose updates of one element may meet
  std::map<std::string, Storage> shared;     ///< inputs that lie in another input's array (sharing)
  std::map<std::string, std::int64_t> fixed; ///< parameters that have one value (fix)
  std::vector<Variant> variants;             ///< the first that holds runs (specialize)
  WorkLimits work;                           ///< (when_work)
  std::shared_ptr<GivenTimes> given_times;   ///< shared by all that were made of one mapping
};

/// isl operations that one command, or building one program, may take.
inline constexpr std::uint64_t mapping_operation_limit = 20'000'000;

class Mapping {
public:
  /// Every computation in its own loop nest, in iterator order, producers first, stored in a buffer
  /// of its own shape. Recurrences may need more: planning/default_mapping.h gives a mapping that
  /// is legal.
  explicit Mapping(const std::shared_ptr<const Function> &function);

  /// The mapping after one more command, or after all commands of a transaction. Strong guarantee:
  /// *this is never changed.
  Mapping with(const Command &command) const;

  /// The same mapping with another list of commands: that of a transaction where its commands were,
  /// or none, as what a planner did is where a person starts.
  Mapping recorded_as(Schedule schedule) const;

  /// The mapping for calls whose arrays share memory in this way. Whether it is legal is to be
  /// asked again. Throws Error(Schedule) where types or ranks differ.
  Mapping sharing(const std::vector<SharedArray> &arrays) const;

  /// The same loops with other limits of work, which `when_work` does not give where arrays of a
  /// call share memory.
  Mapping with_work(const WorkLimits &limits) const;

  /// The same loops, of one version: for parameters of which `condition` holds.
  Mapping where(const isl::set &condition) const;

  const Function &function() const { return *state_.function; }
  const std::shared_ptr<const Function> &function_pointer() const { return state_.function; }
  const Schedule &schedule() const { return state_.schedule; }
  const TimeSpaceMap &time_space(const std::string &computation) const;
  const Storage &storage(const std::string &computation) const;
  const MappingState &state() const { return state_; }

private:
  MappingState state_;
};

/// The loops for one case of the parameters.
struct Version {
  Mapping mapping;                   ///< without variants
  std::optional<isl::set> condition; ///< nothing: for what is left
};

/// The cases that a call tells apart, in the order in which it asks (specialize); the last one is
/// for what is left. Conditions that what is known of parameters decides are not asked.
std::vector<Version> versions(const Mapping &mapping);

/// Whether all instances run in the order in which `mapping` has them after one more command, too:
/// split or unroll of a sequential loop that no other computation shares.
bool keeps_order(const Mapping &mapping, const Command &command);

/// Whether some loop is over a GPU's blocks or threads.
bool has_gpu_loops(const Mapping &mapping);

/// Layers II and III in the notation of the papers, one line a computation:
/// "{ C[i,j,k] -> [0, i0, 0, j0(cpu), ...] }" and "{ C[i,j] -> C_buf[i,j] }".
std::string layer_two(const Mapping &mapping);
std::string layer_three(const Mapping &mapping);

} // namespace tilewright
