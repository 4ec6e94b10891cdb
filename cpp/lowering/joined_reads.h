// A choice between elements that lie in one place. The dataflow of a program that overwrites its
// arrays names the statement that wrote what is read, one for the first iteration, another one for
// the others; storage then puts the elements of all of them where the program had them. What was
// one read there is one again:
//     select(i == 0, first[], select(i + 1 == k, last[k - 1], rest[k - 1, i])), all in y
// is y[i].
#pragma once

#include "algorithm/affine.h"
#include "mapping/program.h"

namespace tilewright {

/// Of the reads among which `choice` decides, one that, for each of the instances, is of the memory
/// that the chosen one is of. Subscripts that data say are the same if they are written alike, or
/// if the choice asks whether they are. Null where there is none, or where something else than a
/// read may be chosen. Branches that no instance takes do not count.
const Expr *joined_read(const Expr &choice, const isl::set &instances, const IterationSpace &space,
                        const Program &program);

} // namespace tilewright
