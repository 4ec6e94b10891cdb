#include "loops/speculation.h"

#include "loops/traverse.h"

namespace tilewright {

bool is_speculable(const StmtPtr &root) {
  bool all = true;
  visit_statements(root, [&](const LoopStatement &statement) {
    visit_values(statement, [&](const Value &value) { all = all && is_speculable(value); });
  });
  return all;
}

} // namespace tilewright
