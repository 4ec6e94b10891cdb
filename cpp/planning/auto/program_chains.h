// Chains side by side (planning/chains.h) in the nests of a program over memory: of statements that
// share two innermost loops, which nothing else is in.
#pragma once

#include "planning/auto/legal_mapping.h"
#include "planning/auto/nest_candidates.h"
#include "planning/auto/nest_times.h"
#include "planning/chains.h"

#include <string>
#include <vector>

namespace tilewright {

struct ProgramChains {
  std::vector<std::string> members;
  size_t depth = 0; ///< of the loop around
  Chains chains;

  /// The nests with these chains.
  Nests in(Nests nests) const;
  /// The loop of a member that is written out.
  Command command(const Nests &nests, const std::string &member) const;
  std::string why(const Nests &nests) const;
};

/// Where iterations of an innermost loop wait for each other. Sums that are added up in one element
/// are left out: their terms have loops of their own (nest_candidates.h). `program` is in `nests`;
/// whether other nests are legal is not asked.
std::vector<ProgramChains> find_program_chains(const LegalMapping &program, const Nests &nests,
                                               const std::vector<Part> &parts);

} // namespace tilewright
