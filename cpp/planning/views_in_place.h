// Where the producers of an output that only reads (algorithm/views.h) are stored: in the output's
// own array, so that nothing has to be copied.
#pragma once

#include "analysis/unchanged.h"
#include "mapping/mapping.h"

#include <functional>
#include <memory>

namespace tilewright {

/// The program of a mapping that is legal, else null.
using FindLegal = std::function<std::shared_ptr<const LegalProgram>(const Mapping &)>;

/// Stores each producer that an output of `mapping` shows in that output, where that is legal under
/// the loops of `mapping`: a recurrence S[t, i], of which out[i] = S[T, i] shows the last values,
/// in S[t, i] -> out[i], if no later value is written too early. The first output that shows a
/// producer has it. Null, and `mapping` is as it was, where there is nothing to store.
std::shared_ptr<const LegalProgram> store_views_in_place(Mapping &mapping,
                                                         const FindLegal &find_legal);

/// Whether there is a producer that it may store in an output, as far as `mapping` says where
/// producers are stored.
bool may_store_views_in_place(const Mapping &mapping);

} // namespace tilewright
