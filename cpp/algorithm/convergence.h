// Functions that iterate until their data say so: a parameter T is the number of iterations, which
// nobody knows before they are made. Computations over t in [0, T) are the loop's; a bool
// computation of t says after which t it ends; what reads them at T - 1, or T itself, comes after
// the loop. In meaning, T is 1 + the first t where the test holds, or the limit. What iteration t
// computes depends on earlier iterations and itself alone, so the first iterations are the same
// whatever T is: the loop can run while T is not known, and all that is asked about the function
// for every T (a schedule's legality) is asked for the right one. (A stream with a stop condition.)
#pragma once

#include "algorithm/function.h"

#include <cstdint>
#include <optional>

namespace tilewright {

/// The limit where none is given: a parameter that is a size has no larger value.
std::int64_t most_iterations(const StopTest &stop);

/// The test as a computation of its own for all t in [0, T): false where the person's is not
/// defined. Throws Error(Declaration) for one that is no bool computation of one iterator.
ComputationPtr total_test(const StopTest &stop);

/// make_function of function.h for a function that iterates. The test of `stop` is a person's,
/// which may be defined for some iterations only; the function's is total_test's.
std::shared_ptr<Function> make_function(const std::string &name,
                                        std::vector<ComputationPtr> outputs,
                                        std::vector<ComputationPtr> inputs,
                                        const std::vector<ExprPtr> &context, SourceLocation where,
                                        std::optional<StopTest> stop);

/// parameter >= 1
isl::set at_least_one(const std::string &parameter);

/// Whether its instances are made by iterations of the loop: its domain is in [0, T).
bool is_iterated(const Function &function, const Computation &computation);

/// Whether an expression of the computation uses T, and it is not iterated.
bool uses_count(const Function &function, const Computation &computation);

/// Throws Error(Declaration) where the function is none of these: a domain that T bounds otherwise,
/// values that depend on T or on later iterations, arrays of the caller's whose shape is T.
void check_convergence(const Function &function);

/// Over how many iterations values of an iterated computation are read: 1 where all who read them
/// do so in the same iteration, 2 where the next one does. Nothing where that has no bound. Readers
/// after the loop count from the last iteration.
std::optional<std::int64_t> iterations_kept(const Function &function,
                                            const Computation &computation);

} // namespace tilewright
