// How much work a loop is, as a value that can be computed before it runs: the question whether
// threads are worth their start. An estimate, made of the extents of the loops inside and of what
// their statements compute; nobody may rely on more than its order of magnitude.
#pragma once

#include "lowering/loop_ir.h"

namespace tilewright {

/// In operations of a processor on one register, at most 2^40 for a loop; int64, of what is known
/// outside of `statement`.
ValuePtr estimated_work(const LoopStatement &statement);

/// The body of `large` with that of `simple` for less than `little` work. Both compute the same;
/// `large` has all buffers of `simple`, by name.
StmtPtr by_work(const Kernel &simple, const Kernel &large, std::int64_t little);

} // namespace tilewright
