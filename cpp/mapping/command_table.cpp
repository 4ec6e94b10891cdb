#include "mapping/command_table.h"

#include "mapping/command_handlers.h"

namespace tilewright {

const std::map<std::string, CommandTraits> &command_table() {
  static const std::map<std::string, CommandTraits> table = {
      // When and where instances run.
      {"after", {.handler = after_command, .places = true}},
      {"apply_schedule", {.handler = apply_schedule_command, .maps_to_gpu = true}},
      {"before", {.handler = before_command, .places = true}},
      {"compute_at", {.handler = compute_at_command, .places = true, .needs_one_time = true}},
      {"fission", {.handler = fission_command, .needs_one_time = true}},
      {"fuse_with", {.handler = fuse_with_command, .places = true}},
      {"interchange", {.handler = interchange_command}},
      {"join", {.handler = join_command}},
      {"reorder", {.handler = reorder_command}},
      {"reverse", {.handler = reverse_command}},
      {"scale", {.handler = scale_command}},
      {"set_schedule",
       {.handler = set_schedule_command,
        .of_function = set_schedules_command,
        .takes_map = true,
        .times_all = true,
        .maps_to_gpu = true}},
      {"shift", {.handler = shift_command}},
      {"skew", {.handler = skew_command}},
      {"split", {.handler = split_command, .cuts = true, .keeps_order = true}},
      {"then", {.handler = then_command, .places = true, .turns = true}},
      {"tile", {.handler = tile_command, .cuts = true}},
      {"transform", {.handler = transform_command}},
      // What holds of parameters, and when which loops run.
      {"fix", {.of_function = fix_command, .takes_pairs = true}},
      {"specialize", {.of_function = specialize_command}},
      {"when_work",
       {.of_function = when_work_command, .positional = 1, .keywords = {"threads", "around"}}},
      // What loops become.
      {"gpu", {.handler = gpu_command, .maps_to_gpu = true}},
      {"gpu_block", {.handler = gpu_block_command, .tag = Tag::GpuBlock, .maps_to_gpu = true}},
      {"gpu_mma", {.handler = gpu_mma_command, .tag = Tag::GpuMma, .maps_to_gpu = true}},
      {"gpu_spread", {.handler = gpu_spread_command, .tag = Tag::GpuSpread, .maps_to_gpu = true}},
      {"gpu_thread", {.handler = gpu_thread_command, .tag = Tag::GpuThread, .maps_to_gpu = true}},
      {"gpu_tile", {.handler = gpu_tile_command, .maps_to_gpu = true}},
      {"parallelize", {.handler = parallelize_command, .tag = Tag::Parallel}},
      {"unroll",
       {.handler = unroll_command, .cuts = true, .keeps_order = true, .tag = Tag::Unroll}},
      {"vectorize",
       {.handler = vectorize_command, .cuts = true, .keeps_order = true, .tag = Tag::Vector}},
      // What is computed.
      {"inline", {.handler = inline_command, .needs_one_time = true}},
      {"rfactor", {.handler = rfactor_command, .makes = 1, .needs_one_time = true}},
      // Where elements are.
      {"auto_allocate_map", {.handler = auto_allocate_map_command}},
      {"cache",
       {.handler = cache_command,
        .reads = true,
        .makes = 2,
        .needs_one_time = true,
        .positional = 2,
        .keywords = {"name", "memory", "order", "pad", "stages", "keeps"}}},
      {"private", {.handler = private_command}},
      {"set_access", {.handler = set_access_command, .takes_map = true}},
      {"storage_fold",
       {.handler = storage_fold_command, .needs_one_time = true, .completed = true}},
      {"store_at", {.handler = store_at_command, .places = true}},
      {"store_in", {.handler = store_in_command}},
      // Hints and promises.
      {"assume", {.handler = assume_command}},
      {"atomic", {.handler = atomic_command}},
      {"independent", {.handler = independent_command, .needs_one_time = true}},
      {"prefetch", {.handler = prefetch_command, .needs_one_time = true}},
      {"stream", {.handler = stream_command}},
  };
  return table;
}

const CommandTraits &traits(const Command &command) {
  static const CommandTraits none;
  const auto row = command_table().find(command.name);
  return row == command_table().end() ? none : row->second;
}

} // namespace tilewright
