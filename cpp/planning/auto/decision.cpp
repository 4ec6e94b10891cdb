#include "planning/auto/decision.h"

namespace tilewright {

std::string listed(const std::vector<std::string> &names) {
  std::string text;
  for (size_t n = 0; n < names.size(); ++n) {
    text += (n == 0 ? "" : n + 1 == names.size() ? " and " : ", ") + names[n];
  }
  return text;
}

} // namespace tilewright
