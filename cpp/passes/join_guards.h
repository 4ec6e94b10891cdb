// Statements that follow each other under tests of data which begin with the same parts stand in
// one test of these: the body of a loop that several computations share can lose it, or be bounded
// by it, as that of a loop of one can (lift_guards, tighten_guards).
//     if row[i] <= p: val2[p] = ...          if row[i] <= p:
//     if row[i] <= p: y[i] += val2[p]          val2[p] = ...; y[i] += val2[p]
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// `statement` itself where no two of its children are joined.
StmtPtr join_guards(const StmtPtr &statement);

} // namespace tilewright
