// Complex numbers: NumPy's formulas for the operators, which C would make slower and other numbers
// of where infinities meet, and the C library's functions for the rest (as runtime/exported has
// them).
#include "polyhedral/error.h"
#include "targets/c_source/helpers.h"
#include "targets/c_source/names.h"

namespace tilewright {

namespace {

// $C the complex type, $F its parts', $s the suffix of C's functions, $make the constructor.

std::vector<std::pair<std::string, std::string>> words(ScalarType type, const std::string &name) {
  const bool is_double = type.bits == 128;
  return {{"name", name},
          {"C", c_type(type)},
          {"F", is_double ? "double" : "float"},
          {"s", is_double ? "" : "f"},
          {"make", "tw_" + type_name(type)}};
}

const char *arithmetic(Op op) {
  switch (op) {
  case Op::Mul:
    return R"(static inline $C $name($C a, $C b) {
  return $make(creal$s(a) * creal$s(b) - cimag$s(a) * cimag$s(b),
               creal$s(a) * cimag$s(b) + cimag$s(a) * creal$s(b));
}
)";
  case Op::TrueDiv:
    return R"(/* Smith's method: nothing overflows before the result does. */
static inline $C $name($C a, $C b) {
  const $F re = creal$s(b);
  const $F im = cimag$s(b);
  if (fabs$s(re) >= fabs$s(im)) {
    if (re == 0 && im == 0) {
      return $make(creal$s(a) / fabs$s(re), cimag$s(a) / fabs$s(re));
    }
    const $F ratio = im / re;
    const $F scale = 1 / (re + im * ratio);
    return $make((creal$s(a) + cimag$s(a) * ratio) * scale,
                 (cimag$s(a) - creal$s(a) * ratio) * scale);
  }
  const $F ratio = re / im;
  const $F scale = 1 / (im + re * ratio);
  return $make((creal$s(a) * ratio + cimag$s(a)) * scale,
               (cimag$s(a) * ratio - creal$s(a)) * scale);
}
)";
  case Op::Neg:
    return "static inline $C $name($C a) { return $make(-creal$s(a), -cimag$s(a)); }\n";
  case Op::Conj:
    return "static inline $C $name($C a) { return $make(creal$s(a), -cimag$s(a)); }\n";
  case Op::Rint:
    return "static inline $C $name($C a) { return $make(rint$s(creal$s(a)), rint$s(cimag$s(a))); "
           "}\n";
  case Op::Add:
    return "static inline $C $name($C a, $C b) {\n"
           "  return $make(creal$s(a) + creal$s(b), cimag$s(a) + cimag$s(b));\n}\n";
  case Op::Sub:
    return "static inline $C $name($C a, $C b) {\n"
           "  return $make(creal$s(a) - creal$s(b), cimag$s(a) - cimag$s(b));\n}\n";
  case Op::Eq:
    return "static inline bool $name($C a, $C b) {\n"
           "  return creal$s(a) == creal$s(b) && cimag$s(a) == cimag$s(b);\n}\n";
  case Op::Ne:
    return "static inline bool $name($C a, $C b) {\n"
           "  return creal$s(a) != creal$s(b) || cimag$s(a) != cimag$s(b);\n}\n";
  case Op::Isnan:
    return "static inline bool $name($C a) { return isnan(creal$s(a)) || isnan(cimag$s(a)); }\n";
  default:
    return nullptr;
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
  case Op::TrueDiv:
    return "divide";
  case Op::Neg:
    return "negate";
  case Op::Eq:
    return "equal";
  case Op::Ne:
    return "differ";
  default:
    return operation(op).spelling;
  }
}

/// The C library's function of this name, or what is made of it; null: there is none.
const char *library(Op op) {
  switch (op) {
  case Op::Sqrt:
    return "csqrt$s(z)";
  case Op::Exp:
    return "cexp$s(z)";
  case Op::Exp2:
    return "cexp$s($make(creal$s(z) * log$s(2), cimag$s(z) * log$s(2)))";
  case Op::Log:
    return "clog$s(z)";
  case Op::Log2:
    return "$make(creal$s(clog$s(z)) / log$s(2), cimag$s(clog$s(z)) / log$s(2))";
  case Op::Log10:
    return "$make(creal$s(clog$s(z)) / log$s(10), cimag$s(clog$s(z)) / log$s(10))";
  case Op::Sin:
    return "csin$s(z)";
  case Op::Cos:
    return "ccos$s(z)";
  case Op::Tan:
    return "ctan$s(z)";
  case Op::Arcsin:
    return "casin$s(z)";
  case Op::Arccos:
    return "cacos$s(z)";
  case Op::Arctan:
    return "catan$s(z)";
  case Op::Sinh:
    return "csinh$s(z)";
  case Op::Cosh:
    return "ccosh$s(z)";
  case Op::Tanh:
    return "ctanh$s(z)";
  case Op::Arcsinh:
    return "casinh$s(z)";
  case Op::Arccosh:
    return "cacosh$s(z)";
  case Op::Arctanh:
    return "catanh$s(z)";
  default:
    return nullptr;
  }
}

} // namespace

std::string CHelpers::make_complex(ScalarType type) {
  uses_complex_ = true;
  const std::string name = "tw_" + type_name(type);
  return need(name, [&] {
    return filled(R"(/* Of its parts: a sum with a multiple of I would lose signs of zeros. */
static inline $C $name($F real, $F imaginary) {
  const $F parts[2] = {real, imaginary};
  $C z;
  memcpy(&z, parts, sizeof z);
  return z;
}
)",
                  words(type, name));
  });
}

std::string CHelpers::is_nonzero(ScalarType type) {
  uses_complex_ = true;
  const std::string name = "tw_nonzero_" + type_name(type);
  return need(name, [&] {
    return filled("static inline bool $name($C a) { return creal$s(a) != 0 || cimag$s(a) != 0; }\n",
                  words(type, name));
  });
}

std::string CHelpers::complex(Op op, ScalarType type) {
  uses_complex_ = true;
  if (op == Op::Pow) {
    return complex_power(type);
  }
  const char *text = arithmetic(op);
  if (text == nullptr) {
    return complex_library(op, type);
  }
  const std::string name = std::string("tw_") + verb(op) + "_" + type_name(type);
  return need(name, [&] {
    make_complex(type);
    return filled(text, words(type, name));
  });
}

std::string CHelpers::complex_library(Op op, ScalarType type) {
  const char *text = library(op);
  if (text == nullptr) {
    throw Error(ErrorKind::Internal, "no C for " + op_name(op) + " of complex numbers");
  }
  const std::string name = std::string("tw_") + operation(op).spelling + "_" + type_name(type);
  return need(name, [&] {
    make_complex(type);
    return filled("static $C $name($C z) { return " + std::string(text) + "; }\n",
                  words(type, name));
  });
}

std::string CHelpers::complex_power(ScalarType type) {
  const std::string name = "tw_power_" + type_name(type);
  return need(name, [&] {
    make_complex(type);
    return filled(R"(/* Small whole exponents by multiplication, powers of zero by cases. */
static $C $name($C base, $C exponent) {
  const $F n = creal$s(exponent);
  if (n == 0 && cimag$s(exponent) == 0) {
    return 1;
  }
  if (creal$s(base) == 0 && cimag$s(base) == 0) {
    return n > 0 ? $make(0, 0) : $make(NAN, NAN);
  }
  if (cimag$s(exponent) == 0 && n == trunc$s(n) && n < 100 && n > -100) {
    $C result = 1;
    $C square = base;
    for (int rest = abs((int)n); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) {
        result *= square;
      }
      square *= square;
    }
    return n < 0 ? ($F)1 / result : result;
  }
  return cpow$s(base, exponent);
}
)",
                  words(type, name));
  });
}

} // namespace tilewright
