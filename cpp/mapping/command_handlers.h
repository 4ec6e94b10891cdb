// The handlers behind the table in commands.cpp; each applies one command to a state.
#pragma once

#include "mapping/mapping.h"

#include <string>

namespace tilewright {

// loop_commands.cpp
void split_command(MappingState &state, const Command &command);
void tile_command(MappingState &state, const Command &command);
void join_command(MappingState &state, const Command &command);
void interchange_command(MappingState &state, const Command &command);
void reverse_command(MappingState &state, const Command &command);
void scale_command(MappingState &state, const Command &command);
void shift_command(MappingState &state, const Command &command);
void skew_command(MappingState &state, const Command &command);
void reorder_command(MappingState &state, const Command &command);
void transform_command(MappingState &state, const Command &command);
void parallelize_command(MappingState &state, const Command &command);
void vectorize_command(MappingState &state, const Command &command);
void unroll_command(MappingState &state, const Command &command);

// block_commands.cpp
/// Refuses what blocks and what they write cannot do.
void require_fits_blocks(const MappingState &state, const Command &command);
/// The computation whose loops a computation runs in: the call for what a block writes.
const std::string &loops_owner(const MappingState &state, const std::string &computation);

// set_schedule_command.cpp
void set_schedule_command(MappingState &state, const Command &command);
void set_schedules_command(MappingState &state, const Command &command);

// apply_schedule_command.cpp
void apply_schedule_command(MappingState &state, const Command &command);

// order_commands.cpp
void after_command(MappingState &state, const Command &command);
void before_command(MappingState &state, const Command &command);
void then_command(MappingState &state, const Command &command);

void compute_at_command(MappingState &state, const Command &command);
void store_at_command(MappingState &state, const Command &command);
void private_command(MappingState &state, const Command &command);
void fuse_with_command(MappingState &state, const Command &command);
void fission_command(MappingState &state, const Command &command);

// rewrite_commands.cpp
void inline_command(MappingState &state, const Command &command);
void rfactor_command(MappingState &state, const Command &command);
/// Removes a computation that the function has no more.
void forget(MappingState &state, const std::string &name);
/// Factors the command's computation over its loop at position `factored`: `partial` takes all of
/// its loops, and it keeps those that no reduced iterator drives, and the one factored.
void factor_loop(MappingState &state, const Command &command, size_t factored,
                 const std::string &partial);
/// Gives a computation that has become a reduction scheduled by its body loops for its reduced
/// iterators, inside those it has.
void add_reduced_loops(MappingState &state, const Computation &computation);

// gpu_commands.cpp
void gpu_command(MappingState &state, const Command &command);
void gpu_tile_command(MappingState &state, const Command &command);
void gpu_block_command(MappingState &state, const Command &command);
void gpu_thread_command(MappingState &state, const Command &command);
void gpu_spread_command(MappingState &state, const Command &command);
void gpu_mma_command(MappingState &state, const Command &command);

// cache_command.cpp
void cache_command(MappingState &state, const Command &command);

// storage_commands.cpp
/// Is a computation stored in an array that the caller gives, or gets?
bool is_callers_array(const MappingState &state, const Computation &computation);
void set_access_command(MappingState &state, const Command &command);
void storage_fold_command(MappingState &state, const Command &command);
void auto_allocate_map_command(MappingState &state, const Command &command);
void store_in_command(MappingState &state, const Command &command);

// function_commands.cpp
void fix_command(MappingState &state, const Command &command);
void specialize_command(MappingState &state, const Command &command);
void when_work_command(MappingState &state, const Command &command);
/// Refuses a test of work beside what the declared loops cannot replace.
void require_replaceable(const MappingState &state, const Command &command);

// hint_commands.cpp
void stream_command(MappingState &state, const Command &command);
void prefetch_command(MappingState &state, const Command &command);

// promise_commands.cpp
void independent_command(MappingState &state, const Command &command);
void assume_command(MappingState &state, const Command &command);
void atomic_command(MappingState &state, const Command &command);

/// "A, B, C": what a function computes.
std::string computation_list(const MappingState &state);

/// "C[0,1] (N = 2)".
std::string instance_text(const std::string &name, const Point &point);

} // namespace tilewright
