// For each dependence, what each loop does for it: the table behind `f.legality`. Strict: every
// pair that the outer loops left open is ordered here. Weak: some are, none is reversed. Zero: none
// is. Violated: some are reversed, or the loop is parallel and separates them. (Polyhedral notes:
// strictly and weakly satisfied dependences.)
#pragma once

#include "analysis/legality.h"

#include <string>
#include <vector>

namespace tilewright {

enum class Satisfaction { Strict, Weak, Zero, Violated };

struct DependenceRow {
  Dependence dependence;
  std::string text;                    ///< the relation, simplified
  std::vector<std::string> loops;      ///< names of the sink's loops looked at, outermost first
  std::vector<Satisfaction> satisfied; ///< one for each of them; ends where nothing is left open
  bool by_order = false;               ///< what the loops left open is ordered by static position
};

std::vector<DependenceRow> dependence_table(const Program &program);

} // namespace tilewright
