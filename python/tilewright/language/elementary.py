"""Functions of expressions: conversions, choices, and the elementary functions, named as in NumPy."""

from __future__ import annotations

from collections.abc import Callable

from .. import _core
from .._core import Op
from .expressions import Expression, ExpressionLike, as_expression, binary, call, operand, unary
from .types import (
    DTypeLike,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
)

__all__ = [
    "abs",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "cast",
    "ceil",
    "clamp",
    "conj",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "floor",
    "imag",
    "isnan",
    "log",
    "log2",
    "log10",
    "make_complex",
    "maximum",
    "minimum",
    "real",
    "rint",
    "rsqrt",
    "select",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


def cast(value: ExpressionLike, dtype: DTypeLike) -> Expression:
    """The value as another type.

    Integers wrap; a float becomes an integer by truncation towards zero, NaN gives 0 and what lies
    outside the type's range the nearest value in it; complex to real drops the imaginary part.
    """
    return Expression(_core.cast(operand(value), as_dtype(dtype).name))


def select(
    condition: ExpressionLike, then: ExpressionLike, otherwise: ExpressionLike
) -> Expression:
    """`then` where `condition` holds, else `otherwise` (np.where); only that one is read."""
    return Expression(_core.select(operand(condition), operand(then), operand(otherwise)))


def minimum(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The smaller of two values; NaN if either is (np.minimum)."""
    return binary(Op.Min, a, b)


def maximum(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The larger of two values; NaN if either is (np.maximum)."""
    return binary(Op.Max, a, b)


def clamp(value: ExpressionLike, low: ExpressionLike, high: ExpressionLike) -> Expression:
    """The value, not below `low` nor above `high`: minimum(maximum(value, low), high) (np.clip)."""
    return minimum(maximum(value, low), high)


def abs(value: ExpressionLike) -> Expression:
    """The absolute value; of complex numbers the modulus."""
    return unary(Op.Abs, value)


def sqrt(value: ExpressionLike) -> Expression:
    """The square root; NaN for negative numbers."""
    return call(Op.Sqrt, value)


def _composed(value: ExpressionLike, formula: Callable[[ExpressionLike], Expression]) -> Expression:
    """formula(value); of float16 and bfloat16 in float32, so that only its result is rounded, and no step overflows."""
    dtype = as_expression(value).dtype
    if dtype in (float16, bfloat16):
        return cast(formula(cast(value, float32)), dtype)
    return formula(value)


def rsqrt(value: ExpressionLike) -> Expression:
    """The reciprocal of the square root: 1 / sqrt(value). The steps of float16 and bfloat16 are taken in float32."""
    return _composed(value, lambda x: 1 / sqrt(x))


def exp(value: ExpressionLike) -> Expression:
    """e to the power of the value."""
    return call(Op.Exp, value)


def exp2(value: ExpressionLike) -> Expression:
    """2 to the power of the value."""
    return call(Op.Exp2, value)


def log(value: ExpressionLike) -> Expression:
    """The natural logarithm."""
    return call(Op.Log, value)


def log2(value: ExpressionLike) -> Expression:
    """The logarithm to base 2."""
    return call(Op.Log2, value)


def log10(value: ExpressionLike) -> Expression:
    """The logarithm to base 10."""
    return call(Op.Log10, value)


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


def sigmoid(value: ExpressionLike) -> Expression:
    """The logistic function 1 / (1 + exp(-value)) (scipy.special.expit), down to the smallest numbers of its type."""
    return _composed(value, _logistic)


def _logistic(value: ExpressionLike) -> Expression:
    minus = binary(Op.Mul, -1.0, value)
    if minus.dtype in (complex64, complex128):
        return 1 / (1 + exp(minus))
    # exp(-value) overflows where the function is small and not zero; exp(-|value|) does nowhere.
    decayed = exp(-abs(minus))
    return select(minus > 0, decayed, 1.0) / (1 + decayed)


def erf(value: ExpressionLike) -> Expression:
    """The error function (scipy.special.erf)."""
    return call(Op.Erf, value)


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
    """The nearest whole number, halves to the even one; the type stays."""
    return call(Op.Rint, value)


def isnan(value: ExpressionLike) -> Expression:
    """Whether the value is not a number."""
    return call(Op.Isnan, value)


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


def _by_operator(op: Op) -> Callable[..., Expression]:
    return lambda a, b: binary(op, a, b)


def _logical(op: Op) -> Callable[..., Expression]:
    return lambda a, b: binary(op, cast(a, bool_), cast(b, bool_))


#: NumPy's universal functions that mean something on expressions, by name.
UFUNCS: dict[str, Callable[..., Expression | tuple[Expression, Expression]]] = {
    "add": _by_operator(Op.Add),
    "subtract": _by_operator(Op.Sub),
    "multiply": _by_operator(Op.Mul),
    "divide": _by_operator(Op.TrueDiv),
    "true_divide": _by_operator(Op.TrueDiv),
    "floor_divide": _by_operator(Op.FloorDiv),
    "remainder": _by_operator(Op.Mod),
    "power": _by_operator(Op.Pow),
    "minimum": minimum,
    "maximum": maximum,
    "bitwise_and": _by_operator(Op.And),
    "bitwise_or": _by_operator(Op.Or),
    "bitwise_xor": _by_operator(Op.Xor),
    "left_shift": _by_operator(Op.Shl),
    "right_shift": _by_operator(Op.Shr),
    "less": _by_operator(Op.Lt),
    "less_equal": _by_operator(Op.Le),
    "greater": _by_operator(Op.Gt),
    "greater_equal": _by_operator(Op.Ge),
    "equal": _by_operator(Op.Eq),
    "not_equal": _by_operator(Op.Ne),
    "logical_and": _logical(Op.And),
    "logical_or": _logical(Op.Or),
    "logical_xor": _logical(Op.Xor),
    "logical_not": lambda a: unary(Op.Not, cast(a, bool_)),
    "divmod": lambda a, b: (binary(Op.FloorDiv, a, b), binary(Op.Mod, a, b)),
    "negative": lambda a: unary(Op.Neg, a),
    "positive": as_expression,
    "invert": lambda a: unary(Op.Not, a),
    "absolute": abs,
    "sqrt": sqrt,
    "exp": exp,
    "exp2": exp2,
    "log": log,
    "log2": log2,
    "log10": log10,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "arcsin": arcsin,
    "arccos": arccos,
    "arctan": arctan,
    "arctan2": arctan2,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "floor": floor,
    "ceil": ceil,
    "trunc": trunc,
    "rint": rint,
    "isnan": isnan,
    "conjugate": conj,
}
