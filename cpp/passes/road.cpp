#include "passes/road.h"

#include "loops/joined_loops.h"
#include "loops/verify.h"
#include "passes/add_chosen_terms.h"
#include "passes/carry_elements.h"
#include "passes/check_ahead.h"
#include "passes/choose_by_lanes.h"
#include "passes/contract_arrays.h"
#include "passes/count_joined_loops.h"
#include "passes/count_turns.h"
#include "passes/cut_idle_iterations.h"
#include "passes/find_first.h"
#include "passes/find_last.h"
#include "passes/fuse_block_ends.h"
#include "passes/gpu/map_launches.h"
#include "passes/gpu/single_blocks.h"
#include "passes/gpu/spread_elements.h"
#include "passes/gpu/staged_copies.h"
#include "passes/gpu/thread_reductions.h"
#include "passes/gpu/vector_accesses.h"
#include "passes/gpu/wide_copies.h"
#include "passes/hold_lanes.h"
#include "passes/join_masked_stores.h"
#include "passes/keep_extremes.h"
#include "passes/leave_loops.h"
#include "passes/lift_guards.h"
#include "passes/loop_ranges.h"
#include "passes/narrow_integers.h"
#include "passes/promote_accumulators.h"
#include "passes/registers.h"
#include "passes/scalars_to_locals.h"
#include "passes/search_blocks.h"
#include "passes/separate_tiles.h"
#include "passes/settle_tests.h"
#include "passes/simplify_indices.h"
#include "passes/split_borders.h"
#include "passes/sum_in_lanes.h"
#include "passes/tighten_guards.h"
#include "passes/unroll_loops.h"
#include "passes/unroll_short_tiles.h"
#include "passes/unswitch.h"
#include "passes/vectorize_loops.h"
#include "passes/walk_arrays.h"

#include <array>
#include <chrono>
#include <string>

namespace tilewright {

namespace {

using Options = PassOptions;

// ---- when a pass runs ----

bool always(const Kernel & /*kernel*/, const Options & /*options*/) { return true; }
bool compiled(const Kernel & /*kernel*/, const Options &options) { return !options.for_people; }
/// What a compiler of C would not find by itself.
bool compiled_or_source(const Kernel &kernel, const Options &options) {
  return compiled(kernel, options) || options.for_source;
}
bool on_cpu(const Kernel &kernel, const Options &options) {
  return !kernel.is_gpu && compiled(kernel, options);
}
bool for_gpu(const Kernel &kernel, const Options & /*options*/) { return kernel.is_gpu; }
bool on_gpu(const Kernel &kernel, const Options &options) {
  return kernel.is_gpu && compiled(kernel, options);
}
/// Beside checks, a tile may stay in memory.
bool unwatched(const Kernel &kernel, const Options &options) {
  return !options.is_instrumented && compiled(kernel, options);
}
bool on_cpu_unwatched(const Kernel &kernel, const Options &options) {
  return on_cpu(kernel, options) && !options.is_instrumented;
}
bool unwatched_cpu_or_source(const Kernel &kernel, const Options &options) {
  return !kernel.is_gpu && !options.is_instrumented && compiled_or_source(kernel, options);
}
/// Lanes may be left out, and what they update is not counted.
bool masked_and_unwatched(const Kernel &kernel, const Options &options) {
  return on_cpu(kernel, options) && options.vectors.masked_bytes > 0 && !options.is_instrumented;
}

// ---- what the table calls ----

/// A pass over the body alone.
template <StmtPtr (*rewrite)(const StmtPtr &)>
void over_body(Kernel &kernel, const Options & /*options*/) {
  kernel.body = rewrite(kernel.body);
}
template <StmtPtr (*rewrite)(const StmtPtr &, const Ranges &)>
void over_body(Kernel &kernel, const Options &options) {
  kernel.body = rewrite(kernel.body, options.known);
}
/// A check, which throws.
template <void (*check)(const Kernel &)>
void asked(Kernel &kernel, const Options & /*options*/) {
  check(kernel);
}
/// A pass over the kernel, which may change its buffers, too.
template <void (*rewrite)(Kernel &)>
void over_kernel(Kernel &kernel, const Options & /*options*/) {
  rewrite(kernel);
}

constexpr auto simplify = over_body<simplify_indices>;

constexpr auto table = std::to_array<Pass>({
    {"settle_loop_ranges",
     [](Kernel &kernel, const Options &options) {
       kernel.body = settle_loop_ranges(kernel, options.known);
     },
     always},
    {"simplify_indices", simplify, always},
    {"count_joined_loops",
     [](Kernel &kernel, const Options &options) { count_joined_loops(kernel, options.for_people); },
     always},
    {"lift_guards", over_body<lift_guards>, always},
    {"tighten_guards", over_body<tighten_guards>, always},
    {"simplify_indices", simplify, always},
    {"check_joined_loops", asked<check_joined_loops>, always},
    {"take_out_single_blocks", over_kernel<take_out_single_blocks>, for_gpu},
    {"spread_elements", over_kernel<spread_elements>, for_gpu},
    {"check_register_loops", asked<check_register_loops>, compiled},
    {"contract_arrays", over_kernel<contract_arrays>, unwatched_cpu_or_source},
    {"narrow_integers", over_body<narrow_integers>, compiled},
    {"unroll_tile_shapes", over_body<unroll_tile_shapes>, compiled},
    {"simplify_indices", simplify, compiled},
    {"choose_by_lanes",
     [](Kernel &kernel, const Options &options) {
       kernel.body = choose_by_lanes(kernel.body, options.vectors.masked_bytes);
     },
     on_cpu},
    {"fuse_block_ends", over_body<fuse_block_ends>, on_cpu},
    {"unswitch", over_body<unswitch>, compiled_or_source},
    {"split_borders",
     [](Kernel &kernel, const Options &options) {
       const bool masks = options.vectors.masked_bytes > 0;
       kernel.body = split_borders(kernel.body, options.known, masks);
     },
     compiled_or_source},
    {"simplify_indices", simplify, compiled_or_source},
    {"hold_lanes", over_body<hold_lanes>, masked_and_unwatched},
    {"simplify_indices", simplify, masked_and_unwatched},
    {"separate_tiles",
     [](Kernel &kernel, const Options &options) {
       kernel.body = separate_tiles(kernel.body, options.vectors.masked_bytes, kernel.is_gpu);
     },
     compiled},
    {"simplify_indices", simplify, on_gpu},
    {"unroll_short_tiles", over_body<unroll_short_tiles>, on_gpu},
    {"simplify_indices", simplify, compiled},
    {"unroll_loops", over_body<unroll_loops>, compiled},
    {"simplify_indices", simplify, compiled},
    {"vectorize_loops",
     [](Kernel &kernel, const Options &options) {
       kernel.body = vectorize_loops(kernel.body, options.vectors, options.known);
     },
     compiled},
    {"simplify_indices", simplify, compiled},
    {"join_masked_stores", over_body<join_masked_stores>, masked_and_unwatched},
    {"lift_guards", over_body<lift_guards>, masked_and_unwatched},
    {"check_registers", asked<check_registers>, unwatched},
    {"gather_thread_terms",
     [](Kernel &kernel, const Options & /*options*/) {
       kernel.body = gather_thread_terms(kernel.body, kernel);
     },
     on_gpu},
    {"count_turns", over_kernel<count_turns>, compiled_or_source},
    {"leave_loops", over_kernel<leave_loops>, compiled_or_source},
    {"scalars_to_locals", over_kernel<scalars_to_locals>, unwatched_cpu_or_source},
    {"cut_idle_iterations", over_body<cut_idle_iterations>, unwatched_cpu_or_source},
    {"carry_elements", over_body<carry_elements>, on_cpu_unwatched},
    {"promote_accumulators", over_body<promote_accumulators>, compiled},
    {"settle_tests", over_body<settle_tests>, on_cpu},
    {"add_chosen_terms", over_body<add_chosen_terms>, on_cpu_unwatched},
    {"sum_in_lanes", over_body<sum_in_lanes>, on_cpu_unwatched},
    {"search_blocks", over_body<search_blocks>, on_cpu_unwatched},
    {"keep_extremes", over_body<keep_extremes>, on_cpu_unwatched},
    {"find_last", over_body<find_last>, on_cpu_unwatched},
    {"walk_arrays", over_kernel<walk_arrays>, on_cpu_unwatched},
    {"find_first", over_kernel<find_first>, on_cpu_unwatched},
    {"check_ahead", over_body<check_ahead>, on_cpu_unwatched},
    {"simplify_indices", simplify, compiled},
    {"align_vectors", over_kernel<align_vectors>, on_gpu},
    {"widen_copies", over_kernel<widen_copies>, on_gpu},
    {"map_launches",
     [](Kernel &kernel, const Options &options) { map_launches(kernel, options.known); }, on_gpu},
    {"stage_copies",
     [](Kernel &kernel, const Options &options) {
       stage_copies(kernel, options.asynchronous_copies);
     },
     on_gpu},
    {"simplify_indices", simplify, on_gpu},
});

void verify_after(const Pass &pass, const Kernel &kernel) {
  try {
    verify_kernel(kernel);
  } catch (const Error &error) {
    throw Error(ErrorKind::Internal, std::string("pass ") + pass.name + " broke " + error.what());
  }
}

} // namespace

std::span<const Pass> road() { return table; }

void run_passes(Kernel &kernel, const PassOptions &options, const PassObserver &observer,
                bool verifies) {
  for (const Pass &pass : table) {
    if (!pass.runs(kernel, options)) {
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    pass.run(kernel, options);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (verifies) {
      verify_after(pass, kernel);
    }
    if (observer) {
      observer(pass.name, kernel, taken.count());
    }
  }
}

} // namespace tilewright
