#include "polyhedral/error.h"

#include <cctype>

namespace tilewright {

std::string printable(const std::string &text) {
  constexpr const char *digits = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (std::iscntrl(code) != 0 && c != '\n' && c != '\t') {
      result += {'\\', 'x', digits[code / 16], digits[code % 16]};
    } else {
      result += c;
    }
  }
  return result;
}

} // namespace tilewright
