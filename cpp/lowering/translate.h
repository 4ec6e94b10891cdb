// From isl's loops and the statements' expressions to the loop IR, without any optimisation: loops
// keep the kinds that the schedule's tags give them (the outermost parallel loop stays parallel,
// those inside it become serial).
#pragma once

#include "loops/loop_ir.h"
#include "lowering/ast_generation.h"
#include "lowering/lower.h"

namespace tilewright {

Kernel translate(const Program &program, const GeneratedAst &ast, const LoweringOptions &options);

/// Whether the parameters, in this order, keep the constraints of a parameter set.
ValuePtr holds(const isl::set &context, const std::vector<std::string> &parameters);

} // namespace tilewright
