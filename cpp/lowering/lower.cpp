#include "lowering/lower.h"

#include "loops/joined_loops.h"
#include "lowering/ast_generation.h"
#include "lowering/parameter_ranges.h"
#include "lowering/translate.h"
#include "passes/gpu/map_launches.h"
#include "passes/gpu/staged_copies.h"
#include "passes/gpu/thread_reductions.h"
#include "passes/gpu/vector_accesses.h"
#include "passes/gpu/wide_copies.h"
#include "passes/loop_ranges.h"
#include "passes/passes.h"
#include "passes/registers.h"

namespace tilewright {

Kernel lower(const Program &program, const LoweringOptions &options) {
  const GeneratedAst ast = generate_ast(program);
  Kernel kernel = translate(program, ast, options);
  const Ranges known = parameter_ranges(program);

  kernel.body = settle_loop_ranges(kernel, known);
  kernel.body = simplify_indices(kernel.body, known);
  kernel.body = simplify_indices(tighten_guards(kernel.body), known);
  check_joined_loops(kernel);
  if (!options.vectorize) {
    return kernel;
  }
  check_register_loops(kernel);
  kernel.body = narrow_integers(kernel.body, known);
  kernel.body = simplify_indices(unroll_tile_shapes(kernel.body), known);
  const bool masks = options.vectors.masked_bytes > 0;
  kernel.body = split_borders(unswitch(kernel.body), known, masks);
  kernel.body = simplify_indices(kernel.body, known);
  kernel.body = separate_tiles(kernel.body, options.vectors.masked_bytes, kernel.is_gpu);
  if (kernel.is_gpu) {
    kernel.body = unroll_short_tiles(simplify_indices(kernel.body, known));
  }
  kernel.body = simplify_indices(kernel.body, known);
  kernel.body = unroll_loops(kernel.body);
  kernel.body = simplify_indices(kernel.body, known);
  kernel.body = vectorize_loops(kernel.body, options.vectors);
  kernel.body = simplify_indices(kernel.body, known);
  if (options.instrumentation == Instrumentation{}) {
    check_registers(kernel); // beside checks, a tile may stay in memory
  }
  kernel.body = promote_accumulators(gather_thread_terms(kernel.body, kernel));
  kernel.body = simplify_indices(kernel.body, known);
  if (kernel.is_gpu) {
    align_vectors(kernel);
    widen_copies(kernel);
    map_launches(kernel, known);
    stage_copies(kernel, options.asynchronous_copies);
    kernel.body = simplify_indices(kernel.body, known);
  }
  return kernel;
}

} // namespace tilewright
