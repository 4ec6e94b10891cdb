"""The elementary functions, named as in NumPy where it has them.

Written by scripts/operations.py from cpp/algorithm/operations.def, where each has its row.
"""

from __future__ import annotations

from .._core import Op
from .expressions import Expression, ExpressionLike, call

__all__ = [
    "abs",
    "absolute_difference",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "bit_count",
    "cbrt",
    "ceil",
    "clamp",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_leading_zeros",
    "count_trailing_zeros",
    "degrees",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "make_complex",
    "maximum",
    "minimum",
    "radians",
    "real",
    "reciprocal",
    "remainder",
    "rint",
    "round",
    "rsqrt",
    "saturating_add",
    "saturating_subtract",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "truncated_divide",
]


def abs(value: ExpressionLike) -> Expression:
    """The absolute value; of complex numbers the modulus."""
    return call(Op.Abs, value)


def remainder(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The remainder of floor division, a % b: it has the sign of `b` (np.remainder)."""
    return call(Op.Mod, a, b)


def minimum(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The smaller of two values; NaN if either is (np.minimum)."""
    return call(Op.Min, a, b)


def maximum(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The larger of two values; NaN if either is (np.maximum)."""
    return call(Op.Max, a, b)


def sqrt(value: ExpressionLike) -> Expression:
    """The square root; NaN for negative numbers."""
    return call(Op.Sqrt, value)


def rsqrt(value: ExpressionLike) -> Expression:
    """The reciprocal of the square root: 1 / sqrt(value). The steps of float16 and bfloat16 are taken in float32."""
    return call(Op.Rsqrt, value)


def cbrt(value: ExpressionLike) -> Expression:
    """The cube root, of negative numbers too (np.cbrt)."""
    return call(Op.Cbrt, value)


def hypot(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """sqrt(a * a + b * b), without overflow of its steps (np.hypot)."""
    return call(Op.Hypot, a, b)


def exp(value: ExpressionLike) -> Expression:
    """e to the power of the value."""
    return call(Op.Exp, value)


def exp2(value: ExpressionLike) -> Expression:
    """2 to the power of the value."""
    return call(Op.Exp2, value)


def expm1(value: ExpressionLike) -> Expression:
    """exp(value) - 1, to the last digits of values near 0 too (np.expm1)."""
    return call(Op.Expm1, value)


def log(value: ExpressionLike) -> Expression:
    """The natural logarithm."""
    return call(Op.Log, value)


def log2(value: ExpressionLike) -> Expression:
    """The logarithm to base 2."""
    return call(Op.Log2, value)


def log10(value: ExpressionLike) -> Expression:
    """The logarithm to base 10."""
    return call(Op.Log10, value)


def log1p(value: ExpressionLike) -> Expression:
    """log(1 + value), to the last digits of values near 0 too (np.log1p)."""
    return call(Op.Log1p, value)


def logaddexp(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """log(exp(a) + exp(b)), without overflow of its steps (np.logaddexp).

    It is maximum(a, b) + log1p(exp(-abs(a - b))).
    """
    return call(Op.Logaddexp, a, b)


def sin(value: ExpressionLike) -> Expression:
    """The sine; the angle in radians."""
    return call(Op.Sin, value)


def cos(value: ExpressionLike) -> Expression:
    """The cosine; the angle in radians."""
    return call(Op.Cos, value)


def tan(value: ExpressionLike) -> Expression:
    """The tangent; the angle in radians."""
    return call(Op.Tan, value)


def arcsin(value: ExpressionLike) -> Expression:
    """The inverse sine, in radians."""
    return call(Op.Arcsin, value)


def arccos(value: ExpressionLike) -> Expression:
    """The inverse cosine, in radians."""
    return call(Op.Arccos, value)


def arctan(value: ExpressionLike) -> Expression:
    """The inverse tangent, in radians."""
    return call(Op.Arctan, value)


def arctan2(y: ExpressionLike, x: ExpressionLike) -> Expression:
    """The angle of the point (x, y), in radians from -pi to pi."""
    return call(Op.Arctan2, y, x)


def sinh(value: ExpressionLike) -> Expression:
    """The hyperbolic sine."""
    return call(Op.Sinh, value)


def cosh(value: ExpressionLike) -> Expression:
    """The hyperbolic cosine."""
    return call(Op.Cosh, value)


def tanh(value: ExpressionLike) -> Expression:
    """The hyperbolic tangent."""
    return call(Op.Tanh, value)


def arcsinh(value: ExpressionLike) -> Expression:
    """The inverse hyperbolic sine."""
    return call(Op.Arcsinh, value)


def arccosh(value: ExpressionLike) -> Expression:
    """The inverse hyperbolic cosine; NaN below 1."""
    return call(Op.Arccosh, value)


def arctanh(value: ExpressionLike) -> Expression:
    """The inverse hyperbolic tangent; NaN beyond 1."""
    return call(Op.Arctanh, value)


def degrees(value: ExpressionLike) -> Expression:
    """The angle in degrees, of one in radians (np.degrees): a product with 180 / pi."""
    return call(Op.Degrees, value)


def radians(value: ExpressionLike) -> Expression:
    """The angle in radians, of one in degrees (np.radians): a product with pi / 180."""
    return call(Op.Radians, value)


def erf(value: ExpressionLike) -> Expression:
    """The error function (scipy.special.erf)."""
    return call(Op.Erf, value)


def sigmoid(value: ExpressionLike) -> Expression:
    """The logistic function 1 / (1 + exp(-value)) (scipy.special.expit), down to the smallest numbers of its type."""
    return call(Op.Sigmoid, value)


def floor(value: ExpressionLike) -> Expression:
    """The largest whole number not above the value; the type stays."""
    return call(Op.Floor, value)


def ceil(value: ExpressionLike) -> Expression:
    """The smallest whole number not below the value; the type stays."""
    return call(Op.Ceil, value)


def trunc(value: ExpressionLike) -> Expression:
    """The value without its fraction; the type stays."""
    return call(Op.Trunc, value)


def rint(value: ExpressionLike) -> Expression:
    """The nearest whole number, halves to the even one; integers become floats (np.rint)."""
    return call(Op.Rint, value)


def round(value: ExpressionLike, decimals: ExpressionLike = 0) -> Expression:
    """The value to so many digits behind the point, halves to the even digit; integers stay as they are (np.round)."""
    return call(Op.Round, value, decimals)


def sign(value: ExpressionLike) -> Expression:
    """-1, 0 or 1, as the value is below, at or above 0, and NaN of NaN; of a complex number z, z / abs(z) (np.sign)."""
    return call(Op.Sign, value)


def copysign(value: ExpressionLike, sign: ExpressionLike) -> Expression:
    """The first value with the sign of the second one, which is that of its sign bit (np.copysign)."""
    return call(Op.Copysign, value, sign)


def fmod(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The remainder of division towards zero: it has the sign of `a`; of integers 0 where `b` is 0 (np.fmod)."""
    return call(Op.Fmod, a, b)


def truncated_divide(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The quotient of integers rounded towards zero, C's a / b; 0 where `b` is 0.

    Its remainder, C's a % b, is fmod(a, b).
    """
    return call(Op.TruncatedDivide, a, b)


def fmin(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The smaller of two values; the other one where one is NaN (np.fmin)."""
    return call(Op.Fmin, a, b)


def fmax(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The larger of two values; the other one where one is NaN (np.fmax)."""
    return call(Op.Fmax, a, b)


def clamp(value: ExpressionLike, low: ExpressionLike, high: ExpressionLike) -> Expression:
    """The value, not below `low` nor above `high`: minimum(maximum(value, low), high) (np.clip)."""
    return call(Op.Clamp, value, low, high)


def square(value: ExpressionLike) -> Expression:
    """value * value (np.square)."""
    return call(Op.Square, value)


def reciprocal(value: ExpressionLike) -> Expression:
    """1 / value in the value's type: of integers 1 and -1 themselves, of others 0 (np.reciprocal; here of 0, too)."""
    return call(Op.Reciprocal, value)


def absolute_difference(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The distance abs(a - b), which cannot wrap: of signed integers an unsigned one of as many bits."""
    return call(Op.AbsoluteDifference, a, b)


def isnan(value: ExpressionLike) -> Expression:
    """Whether the value is not a number."""
    return call(Op.Isnan, value)


def isinf(value: ExpressionLike) -> Expression:
    """Whether the value, or a part of a complex one, is infinite."""
    return call(Op.Isinf, value)


def isfinite(value: ExpressionLike) -> Expression:
    """Whether the value, and each part of a complex one, is neither infinite nor NaN."""
    return call(Op.Isfinite, value)


def bit_count(value: ExpressionLike) -> Expression:
    """How many bits of the absolute value are set, a uint8 (np.bitwise_count)."""
    return call(Op.BitCount, value)


def count_leading_zeros(value: ExpressionLike) -> Expression:
    """How many bits above the highest one that is set are 0, a uint8; all bits of 0, none of a negative number."""
    return call(Op.CountLeadingZeros, value)


def count_trailing_zeros(value: ExpressionLike) -> Expression:
    """How many bits below the lowest one that is set are 0, a uint8; all bits of 0."""
    return call(Op.CountTrailingZeros, value)


def saturating_add(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """a + b of integers, or the end of their type's range that it passes."""
    return call(Op.SaturatingAdd, a, b)


def saturating_subtract(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """a - b of integers, or the end of their type's range that it passes."""
    return call(Op.SaturatingSubtract, a, b)


def real(value: ExpressionLike) -> Expression:
    """The real part."""
    return call(Op.Real, value)


def imag(value: ExpressionLike) -> Expression:
    """The imaginary part."""
    return call(Op.Imag, value)


def conj(value: ExpressionLike) -> Expression:
    """The complex conjugate."""
    return call(Op.Conj, value)


def make_complex(real: ExpressionLike, imag: ExpressionLike) -> Expression:
    """real + imag * 1j, without the rounding and the NaNs of that formula."""
    return call(Op.MakeComplex, real, imag)
