// Integers as NumPy has them: they wrap, division goes towards minus infinity and by zero gives 0,
// shifts take any amount.
#include "polyhedral/error.h"
#include "targets/c_source/helpers.h"
#include "targets/c_source/names.h"

namespace tilewright {

namespace {

// $T the type, $W an unsigned one of at least 32 bits in which it is computed without overflow, $U
// the unsigned one of its size, $B its bits, $L and $H its ends.

const char *wrapping(Op op) {
  switch (op) {
  case Op::Add:
    return "static inline $T $name($T a, $T b) { return ($T)(($W)a + ($W)b); }\n";
  case Op::Sub:
    return "static inline $T $name($T a, $T b) { return ($T)(($W)a - ($W)b); }\n";
  case Op::Mul:
    return "static inline $T $name($T a, $T b) { return ($T)(($W)a * ($W)b); }\n";
  case Op::Neg:
    return "static inline $T $name($T a) { return ($T)(0 - ($W)a); }\n";
  case Op::Abs:
    return "static inline $T $name($T a) { return a < 0 ? ($T)(0 - ($W)a) : a; }\n";
  default:
    return nullptr;
  }
}

const char *signed_division(Op op) {
  switch (op) {
  case Op::FloorDiv:
    return R"(static inline $T $name($T a, $T b) {
  if (b == 0) {
    return 0;
  }
  if (b == -1) {
    return ($T)(0 - ($W)a);
  }
  return ($T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
)";
  case Op::Mod:
    return R"(static inline $T $name($T a, $T b) {
  if (b == 0 || b == -1) {
    return 0;
  }
  const $T rest = ($T)(a % b);
  return ($T)(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}
)";
  case Op::Fmod:
    return R"(static inline $T $name($T a, $T b) {
  return b == 0 || b == -1 ? 0 : ($T)(a % b);
}
)";
  case Op::TruncatedDivide:
    return R"(static inline $T $name($T a, $T b) {
  if (b == 0) {
    return 0;
  }
  return b == -1 ? ($T)(0 - ($W)a) : ($T)(a / b);
}
)";
  default:
    return nullptr;
  }
}

const char *unsigned_division(Op op) {
  switch (op) {
  case Op::FloorDiv:
  case Op::TruncatedDivide:
    return "static inline $T $name($T a, $T b) { return b == 0 ? 0 : ($T)(a / b); }\n";
  case Op::Mod:
  case Op::Fmod:
    return "static inline $T $name($T a, $T b) { return b == 0 ? 0 : ($T)(a % b); }\n";
  default:
    return nullptr;
  }
}

const char *power(bool is_signed) {
  return is_signed ? R"(static inline $T $name($T a, $T b) {
  if (b < 0) {
    return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1;
  uint64_t square = (uint64_t)a;
  for (uint64_t rest = (uint64_t)b; rest != 0; rest >>= 1) {
    result *= (rest & 1) != 0 ? square : 1;
    square *= square;
  }
  return ($T)result;
}
)"
                   : R"(static inline $T $name($T a, $T b) {
  uint64_t result = 1;
  uint64_t square = a;
  for (uint64_t rest = b; rest != 0; rest >>= 1) {
    result *= (rest & 1) != 0 ? square : 1;
    square *= square;
  }
  return ($T)result;
}
)";
}

const char *shift(Op op, bool is_signed) {
  if (op == Op::Shl) {
    return R"(static inline $T $name($T a, $T b) {
  return ($U)b < $B ? ($T)(($W)a << b) : 0;
}
)";
  }
  return is_signed ? R"(static inline $T $name($T a, $T b) {
  return ($T)(a >> (($U)b < $B ? b : $B - 1));
}
)"
                   : R"(static inline $T $name($T a, $T b) {
  return b < $B ? ($T)(a >> b) : 0;
}
)";
}

const char *saturating_sum(Op op, bool is_signed) {
  if (op == Op::SaturatingAdd) {
    return is_signed ? R"(static inline $T $name($T a, $T b) {
  if (b < 0 ? a < $L - b : a > $H - b) {
    return b < 0 ? $L : $H;
  }
  return ($T)(a + b);
}
)"
                     : "static inline $T $name($T a, $T b) { return a > $H - b ? $H : ($T)(a + b); "
                       "}\n";
  }
  return is_signed ? R"(static inline $T $name($T a, $T b) {
  if (b < 0 ? a > $H + b : a < $L + b) {
    return b < 0 ? $H : $L;
  }
  return ($T)(a - b);
}
)"
                   : "static inline $T $name($T a, $T b) { return a < b ? 0 : ($T)(a - b); }\n";
}

const char *bits(Op op) {
  switch (op) {
  case Op::BitCount:
    return R"(static inline uint8_t $name($T a) {
  uint8_t count = 0;
  for ($U rest = $size; rest != 0; rest = ($U)(rest & (rest - 1))) {
    ++count;
  }
  return count;
}
)";
  case Op::CountLeadingZeros:
    return R"(static inline uint8_t $name($T a) {
  uint8_t count = $B;
  for ($U rest = ($U)a; rest != 0; rest = ($U)(rest >> 1)) {
    --count;
  }
  return count;
}
)";
  case Op::CountTrailingZeros:
    return R"(static inline uint8_t $name($T a) {
  uint8_t count = 0;
  for ($U rest = ($U)a; count < $B && (rest & 1) == 0; rest = ($U)(rest >> 1)) {
    ++count;
  }
  return count;
}
)";
  default:
    return nullptr;
  }
}

const char *definition(Op op, bool is_signed) {
  switch (op) {
  case Op::Min:
  case Op::Fmin:
    return "static inline $T $name($T a, $T b) { return a < b ? a : b; }\n";
  case Op::Max:
  case Op::Fmax:
    return "static inline $T $name($T a, $T b) { return a > b ? a : b; }\n";
  case Op::Sign:
    return is_signed ? "static inline $T $name($T a) { return ($T)((a > 0) - (a < 0)); }\n"
                     : "static inline $T $name($T a) { return a > 0; }\n";
  case Op::Pow:
    return power(is_signed);
  case Op::Shl:
  case Op::Shr:
    return shift(op, is_signed);
  case Op::SaturatingAdd:
  case Op::SaturatingSubtract:
    return saturating_sum(op, is_signed);
  case Op::FloorDiv:
  case Op::Mod:
  case Op::Fmod:
  case Op::TruncatedDivide:
    return is_signed ? signed_division(op) : unsigned_division(op);
  default:
    return wrapping(op) != nullptr ? wrapping(op) : bits(op);
  }
}

const char *verb(Op op) {
  switch (op) {
  case Op::Add:
    return "add";
  case Op::Sub:
    return "subtract";
  case Op::Mul:
    return "multiply";
  case Op::Neg:
    return "negate";
  case Op::FloorDiv:
    return "floor_divide";
  case Op::Mod:
    return "modulo";
  case Op::Pow:
    return "power";
  case Op::Min:
  case Op::Fmin:
    return "min";
  case Op::Max:
  case Op::Fmax:
    return "max";
  case Op::Shl:
    return "shift_left";
  case Op::Shr:
    return "shift_right";
  default:
    return operation(op).spelling;
  }
}

} // namespace

std::string CHelpers::integer(Op op, ScalarType type) {
  const bool is_signed = type.is_signed_integer();
  const char *text = definition(op, is_signed);
  if (text == nullptr) {
    throw Error(ErrorKind::Internal, "no C for " + op_name(op) + " of " + type_name(type));
  }
  const bool of_indices = type == Int64 && (op == Op::Min || op == Op::Max);
  const std::string name =
      std::string("tw_") + verb(op) + (of_indices ? "" : "_" + type_name(type));
  return need(name, [&] {
    const std::string own = is_signed ? "INT" : "UINT";
    const std::string width = std::to_string(type.bits);
    const std::string unsigned_type = "uint" + width + "_t";
    std::string made = filled(text, {{"name", name},
                                     {"size", is_signed ? "($U)(a < 0 ? 0 - ($W)a : ($W)a)" : "a"},
                                     {"T", c_type(type)},
                                     {"W", type.bits == 64 ? "uint64_t" : "uint32_t"},
                                     {"U", unsigned_type},
                                     {"B", width},
                                     {"L", own + width + "_MIN"},
                                     {"H", own + width + "_MAX"}});
    return made;
  });
}

} // namespace tilewright
