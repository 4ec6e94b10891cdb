#include "targets/llvm/pipelines.h"

#include "polyhedral/error.h"
#include "targets/llvm/alignments.h"
#include "targets/llvm/carried_sums.h"
#include "targets/llvm/gathers.h"
#include "targets/llvm/half_comparisons.h"
#include "targets/llvm/seldom_wraps.h"
#include "targets/llvm/shared_loads.h"

#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

namespace tilewright {

namespace {

/// Ours, where addresses are what they will be, and nothing simplifies any more.
void add_last(llvm::FunctionPassManager &passes, const llvm::TargetMachine &machine) {
  passes.addPass(AddCarriedLast());
  passes.addPass(MergeGathers());
  passes.addPass(ShareLoads());
  passes.addPass(WidenHalfComparisons(machine));
  passes.addPass(WrapSeldom());
}

/// A pass builder and the analyses that its passes ask for.
struct Passes {
  explicit Passes(llvm::TargetMachine &machine,
                  llvm::PassInstrumentationCallbacks *callbacks = nullptr)
      : builder(&machine, llvm::PipelineTuningOptions(), std::nullopt, callbacks) {
    builder.registerPipelineParsingCallback([&machine](llvm::StringRef name,
                                                       llvm::FunctionPassManager &passes,
                                                       const auto & /*inner*/) {
      if (name == "last") {
        add_last(passes, machine);
      } else if (name == "share-alignments") {
        passes.addPass(ShareAlignments());
      } else {
        return false;
      }
      return true;
    });
    builder.registerOptimizerLastEPCallback(
        [&machine](llvm::ModulePassManager &passes, llvm::OptimizationLevel /*level*/) {
          llvm::FunctionPassManager last;
          add_last(last, machine);
          passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(last)));
        });
    builder.registerVectorizerStartEPCallback(
        [](llvm::FunctionPassManager &passes, llvm::OptimizationLevel /*level*/) {
          passes.addPass(AddCarriedLast());
        });
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
};

void run_pipeline(llvm::Module &module, llvm::TargetMachine &machine, const char *pipeline) {
  Passes with(machine);
  llvm::ModulePassManager passes;
  if (llvm::Error error = with.builder.parsePassPipeline(passes, pipeline)) {
    throw Error(ErrorKind::Internal,
                "LLVM refused the pass pipeline: " + llvm::toString(std::move(error)));
  }
  passes.run(module, with.modules);
}

} // namespace

void optimise_light(llvm::Module &module, llvm::TargetMachine &machine) {
  run_pipeline(
      module, machine,
      "function<eager-inv>(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
      "loop-mssa(loop-rotate,licm),gvn,simplifycfg,instcombine<no-verify-fixpoint>,last)");
}

void optimise_for_gpu(llvm::Module &module, llvm::TargetMachine &machine) {
  // Neighbouring loads become one where it is known that they are shared memory's, and aligned.
  run_pipeline(
      module, machine,
      "always-inline,"
      "function<eager-inv>(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
      "loop-mssa(loop-rotate,licm),gvn,simplifycfg,infer-address-spaces,"
      "instcombine<no-verify-fixpoint>,infer-alignment,share-alignments)");
}

void optimise_full(llvm::Module &module, llvm::TargetMachine &machine, void (*between_passes)()) {
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerBeforeNonSkippedPassCallback(
      [between_passes](llvm::StringRef, const llvm::Any &) { between_passes(); });
  Passes with(machine, &callbacks);
  with.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, with.modules);
}

} // namespace tilewright
