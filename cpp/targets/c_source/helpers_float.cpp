// Floats: Python's floor division and modulo, minima that keep NaN, casts to integers that end at
// their range, and the narrow formats, which are computed in float and rounded.
#include "polyhedral/error.h"
#include "targets/c_source/helpers.h"
#include "targets/c_source/names.h"

#include <fmt/format.h>

#include <cstdlib>

namespace tilewright {

namespace {

// $F float or double, $s the suffix of its functions ("f" or nothing), $n that of its numbers.

const char *definition(Op op) {
  switch (op) {
  case Op::FloorDiv:
    return R"(static inline $F $name($F a, $F b) {
  const $F rest = fmod$s(a, b);
  if (b == 0) {
    return a / b;
  }
  $F quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) {
    quotient -= 1;
  }
  if (!(quotient != 0)) {
    return copysign$s(0, a / b);
  }
  const $F whole = floor$s(quotient);
  return quotient - whole > 0.5$n ? whole + 1 : whole;
}
)";
  case Op::Mod:
    return R"(static inline $F $name($F a, $F b) {
  const $F rest = fmod$s(a, b);
  if (b == 0) {
    return rest;
  }
  if (!(rest != 0)) {
    return copysign$s(0, b);
  }
  return (b < 0) != (rest < 0) ? rest + b : rest;
}
)";
  case Op::Min:
    return "static inline $F $name($F a, $F b) { return a != a || a <= b ? a : b; }\n";
  case Op::Max:
    return "static inline $F $name($F a, $F b) { return a != a || a >= b ? a : b; }\n";
  case Op::Fmin:
    return "static inline $F $name($F a, $F b) { return b != b || a <= b ? a : b; }\n";
  case Op::Fmax:
    return "static inline $F $name($F a, $F b) { return b != b || a >= b ? a : b; }\n";
  case Op::Sign:
    return R"(static inline $F $name($F a) {
  return a < 0 || a > 0 ? copysign$s(1, a) : fabs$s(a);
}
)";
  case Op::Square:
    return "static inline $F $name($F a) { return a * a; }\n";
  default:
    return nullptr;
  }
}

const char *verb(Op op) {
  switch (op) {
  case Op::FloorDiv:
    return "floor_divide";
  case Op::Mod:
    return "modulo";
  case Op::Min:
    return "min";
  case Op::Max:
    return "max";
  default:
    return operation(op).spelling;
  }
}

} // namespace

std::string CHelpers::real(Op op, ScalarType type) {
  const bool is_double = type.bits == 64;
  const char *text = definition(op);
  if (text == nullptr) {
    throw Error(ErrorKind::Internal, "no C for " + op_name(op) + " of " + type_name(type));
  }
  const std::string kind = is_double ? "double" : "float";
  const std::string name = std::string("tw_") + verb(op) + "_" + kind;
  return need(name, [&] {
    return filled(
        text,
        {{"name", name}, {"F", kind}, {"s", is_double ? "" : "f"}, {"n", is_double ? "" : "f"}});
  });
}

std::string CHelpers::float_power(int factors) {
  const std::string name =
      fmt::format("tw_power_{}{}_float", factors < 0 ? "minus_" : "", std::abs(factors));
  return need(name, [&] {
    // The products that the targets of LLVM make, in their order.
    std::string lines;
    std::string result;
    std::string square = "x";
    for (int rest = std::abs(factors), power = 1; rest > 0; rest /= 2, power *= 2) {
      if (rest % 2 == 1) {
        result = result.empty() ? square : fmt::format("({} * {})", result, square);
      }
      if (rest > 1) {
        lines += fmt::format("  const double x{} = {} * {};\n", 2 * power, square, square);
        square = fmt::format("x{}", 2 * power);
      }
    }
    return fmt::format("static inline float {}(float base) {{\n  const double x = base;\n{}"
                       "  return (float)({}{});\n}}\n",
                       name, lines, factors < 0 ? "1 / " : "", result);
  });
}

std::string CHelpers::saturating(ScalarType from, ScalarType to) {
  const std::string kind = c_type(from);
  const std::string name = fmt::format("tw_{}_from_{}", type_name(to), kind);
  return need(name, [&] {
    const bool is_signed = to.is_signed_integer();
    const std::string own = fmt::format("{}{}", is_signed ? "INT" : "UINT", to.bits);
    const int digits = is_signed ? to.bits - 1 : to.bits;
    return filled(R"(/* Towards zero; the ends of the range for what is outside, 0 for NaN. */
static inline $T $name($F x) {
  if (x != x) {
    return 0;
  }
  return x <= $below ? $least : x >= $above ? $most : ($T)x;
}
)",
                  {{"name", name},
                   {"T", c_type(to)},
                   {"F", kind},
                   {"below", is_signed ? fmt::format("-0x1p{}", digits) : std::string("0")},
                   {"above", fmt::format("0x1p{}", digits)},
                   {"least", is_signed ? own + "_MIN" : std::string("0")},
                   {"most", own + "_MAX"}});
  });
}

std::string CHelpers::bits_of_float() {
  return need("tw_bits_of_float", [] {
    return std::string(R"(static inline uint32_t tw_bits_of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
)");
  });
}

std::string CHelpers::float_of_bits() {
  return need("tw_float_of_bits", [] {
    return std::string(R"(static inline float tw_float_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
)");
  });
}

std::string CHelpers::bits_of_double() {
  return need("tw_bits_of_double", [] {
    return std::string(R"(static inline uint64_t tw_bits_of_double(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
)");
  });
}

std::string CHelpers::double_of_bits() {
  return need("tw_double_of_bits", [] {
    return std::string(R"(static inline double tw_double_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
)");
  });
}

std::string CHelpers::rounded(ScalarType narrow) {
  if (narrow.kind == TypeKind::BFloat) {
    return need("tw_bfloat16", [&] {
      bits_of_float();
      float_of_bits();
      return std::string(R"(/* The nearest bfloat16, ties to even. */
static inline float tw_bfloat16(float x) {
  const uint32_t bits = tw_bits_of_float(x);
  if (x != x) {
    return tw_float_of_bits((bits | 0x400000u) & 0xffff0000u);
  }
  return tw_float_of_bits((bits + (bits >> 16 & 1) + 0x7fff) & 0xffff0000u);
}
)");
    });
  }
  return need("tw_float16", [&] {
    bits_of_double();
    double_of_bits();
    return std::string(
        R"(/* The nearest float16, ties to even: what is added pushes out the digits that it lacks. */
static inline float tw_float16(double x) {
  const int exponent = (int)(tw_bits_of_double(x) >> 52 & 0x7ff) - 1023;
  if (x == 0 || x != x || exponent > 15) {
    return x == 0 || x != x ? (float)x : copysignf(INFINITY, (float)x);
  }
  const int unit = exponent - 10 < -24 ? -24 : exponent - 10;
  const double pusher = tw_double_of_bits((uint64_t)(unit + 52 + 1023) << 52 | 0x8000000000000u);
  const double nearest = (x + pusher) - pusher;
  return copysignf(fabs(nearest) > 65504 ? INFINITY : (float)nearest, (float)x);
}
)");
  });
}

std::string CHelpers::to_bits(ScalarType narrow) {
  bits_of_float();
  if (narrow.kind == TypeKind::BFloat) {
    return need("tw_bits_of_bfloat16", [] {
      return std::string(R"(static inline uint16_t tw_bits_of_bfloat16(float x) {
  return (uint16_t)(tw_bits_of_float(x) >> 16);
}
)");
    });
  }
  return need("tw_bits_of_float16", [] {
    return std::string(R"(static inline uint16_t tw_bits_of_float16(float x) {
  const uint32_t bits = tw_bits_of_float(x);
  const uint32_t sign = bits >> 16 & 0x8000;
  const float size = fabsf(x);
  if (x != x || size > 65504) {
    return (uint16_t)(sign | (x != x ? 0x7e00 : 0x7c00));
  }
  return (uint16_t)(sign | (size < 0x1p-14f ? (uint32_t)(size * 0x1p24f)
                                            : ((bits & 0x7fffffff) >> 13) - 0x1c000));
}
)");
  });
}

std::string CHelpers::from_bits(ScalarType narrow) {
  float_of_bits();
  if (narrow.kind == TypeKind::BFloat) {
    return need("tw_bfloat16_of_bits", [] {
      return std::string(R"(static inline float tw_bfloat16_of_bits(uint16_t bits) {
  return tw_float_of_bits((uint32_t)bits << 16);
}
)");
    });
  }
  return need("tw_float16_of_bits", [] {
    return std::string(R"(static inline float tw_float16_of_bits(uint16_t bits) {
  const uint32_t rest = bits & 0x7fff;
  const float size = rest < 0x400    ? (float)rest * 0x1p-24f
                     : rest < 0x7c00 ? tw_float_of_bits((rest << 13) + 0x38000000)
                     : rest > 0x7c00 ? NAN
                                     : INFINITY;
  return (bits & 0x8000) != 0 ? -size : size;
}
)");
  });
}

} // namespace tilewright
