// What isl's scheduler finds for computations: nests of loops that may be interchanged and tiled
// (bands), with those of them whose iterations need nothing of each other (coincident). Pluto's
// algorithm (Bondhugula et al., PLDI 2008) as isl implements it: component by component, as many
// loops in a band as there can be, and components fused where values go from one to the other.
#pragma once

#include "planning/auto/flow_graph.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Band {
  std::vector<std::string> computations; ///< in the order of the function
  bool permutable = false;
  std::vector<bool> coincident; ///< of each loop, outermost first
  /// The loops of each computation as functions of its instances.
  std::map<std::string, std::vector<isl::pw_aff>> loops;

  size_t depth() const { return coincident.size(); }
};

/// What one call of isl's scheduler may take; orders that are found need less than a tenth.
inline constexpr std::uint64_t band_operation_limit = 400'000;

/// The outermost bands for these computations of the graph, in the order in which they run.
/// Nothing where isl finds no order within `operations`.
std::optional<std::vector<Band>> find_bands(const FlowGraph &graph,
                                            const std::vector<std::string> &computations,
                                            std::uint64_t operations = band_operation_limit);

} // namespace tilewright
