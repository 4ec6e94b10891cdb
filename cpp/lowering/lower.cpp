#include "lowering/lower.h"

#include "algorithm/block.h"
#include "loops/joined_loops.h"
#include "lowering/ast_generation.h"
#include "lowering/parameter_ranges.h"
#include "lowering/split_buffers.h"
#include "lowering/translate.h"
#include "passes/pass_texts.h"

#include <algorithm>
#include <chrono>

namespace tilewright {

namespace {

/// What a block writes is written by its call: no code is made of it.
Program without_block_results(Program program) {
  std::erase_if(program.statements,
                [](const Statement &statement) { return is_block_result(*statement.computation); });
  return program;
}

Kernel translated(const Program &program, const LoweringOptions &options) {
  std::optional<std::int64_t> buffer;
  std::optional<Kernel> beside_others;
  for (const Together together : {Together::Used, Together::Between, Together::Whole}) {
    Kernel kernel = translate(program, generate_ast(program, together), options);
    buffer = first_split_buffer(kernel);
    if (!buffer && !stand_beside_others(kernel)) {
      return kernel;
    }
    if (!buffer && !beside_others) {
      beside_others = std::move(kernel);
    }
  }
  if (beside_others) {
    return *std::move(beside_others); // if they still are when the passes ask, this is an error
  }
  const Buffer &split = program.buffers.at(static_cast<size_t>(*buffer));
  throw Error(ErrorKind::Limit,
              "no loops are found that keep each iteration together in which '" + split.name +
                  "' lives; give it a place further out (store_at)",
              split.where);
}

/// Loops whose bounds have many cases are many loops, and what is unrolled in them is that once for
/// each.
void require_few_statements(const Kernel &kernel, size_t most) {
  size_t count = 0;
  visit_statements(kernel.body, [&](const LoopStatement & /*statement*/) { ++count; });
  if (count > most) {
    throw Error(ErrorKind::Limit, kernel.name + ": its loops are " + std::to_string(count) +
                                      " statements, more than " + std::to_string(most));
  }
}

} // namespace

Kernel lower(const Program &scheduled, const LoweringOptions &options) {
  const bool has_blocks = scheduled.function != nullptr && !blocks_of(*scheduled.function).empty();
  if (has_blocks && options.gpu) {
    require_no_blocks(*scheduled.function, "a GPU");
  }
  const Program without = has_blocks ? without_block_results(scheduled) : Program();
  const Program &program = has_blocks ? without : scheduled;
  const auto start = std::chrono::steady_clock::now();
  Kernel kernel = translated(program, options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (options.most_loops > 0) {
    require_few_statements(kernel, options.most_loops * program.statements.size());
  }
  PassObserver observer = options.observer;
  const bool dumps = options.vectorize && !observer && !options.dump_to.empty();
  if (dumps) {
    observer = dumping_observer(options.dump_to, kernel.name);
  }
  if (observer) {
    observer("translate", kernel, taken.count());
  }
  PassOptions passes;
  passes.known = parameter_ranges(program);
  passes.vectors = options.vectors;
  passes.asynchronous_copies = options.asynchronous_copies;
  passes.is_instrumented = options.instrumentation != Instrumentation{};
  passes.for_people = !options.vectorize;
  passes.for_source = options.for_source;
  run_passes(kernel, passes, observer, options.verifies || dumps);
  return kernel;
}

} // namespace tilewright
