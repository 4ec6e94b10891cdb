#include "lowering/lower.h"

#include "lowering/ast_generation.h"
#include "lowering/parameter_ranges.h"
#include "lowering/translate.h"
#include "passes/pass_texts.h"

#include <chrono>

namespace tilewright {

Kernel lower(const Program &program, const LoweringOptions &options) {
  const auto start = std::chrono::steady_clock::now();
  const GeneratedAst ast = generate_ast(program);
  Kernel kernel = translate(program, ast, options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
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
  run_passes(kernel, passes, observer, options.verifies || dumps);
  return kernel;
}

} // namespace tilewright
