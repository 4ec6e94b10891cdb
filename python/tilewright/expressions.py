"""Expressions: what a computation's element is made of.

Iterators, parameters and reads of arrays are combined with Python's operators and the functions
below. Types follow NumPy: a Python number is weak (it takes the other operand's type), a NumPy
scalar is not; `//` and `%` round towards minus infinity, integer division by zero gives 0, minimum
and maximum pass NaN on. Nothing is computed here: an expression is a description.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TypeAlias, Union

import numpy as np

from . import _core
from ._core import Op
from .errors import DeclarationError, DeclarationTypeError
from .source import caller_location
from .types import DType, DTypeLike, as_dtype, bool_

__all__ = [
    "Expression",
    "ExpressionLike",
    "Iterator",
    "Parameter",
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
    "iter",
    "iters",
    "log",
    "log2",
    "log10",
    "make_complex",
    "maximum",
    "minimum",
    "param",
    "params",
    "real",
    "rint",
    "select",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]

ExpressionLike: TypeAlias = Union["Expression", int, float, complex, "np.generic"]
Operand: TypeAlias = _core.Expr | bool | int | float | complex


class Expression:
    """A typed expression over iterators, parameters and reads; immutable.

    Comparisons give expressions of type bool, joined with `&`, `|`, `^` and `~`. An expression has
    no truth value: `and`, `or`, `not`, `if` and chained comparisons raise.
    """

    __slots__ = ("__weakref__", "_handle")

    _handle: _core.Expr

    def __init__(self, handle: _core.Expr) -> None:
        self._handle = handle

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return as_dtype(self._handle.type)

    def astype(self, dtype: DTypeLike) -> Expression:
        """The value as another type (`tw.cast`)."""
        return cast(self, dtype)

    @property
    def real(self) -> Expression:
        """The real part."""
        return real(self)

    @property
    def imag(self) -> Expression:
        """The imaginary part."""
        return imag(self)

    def conj(self) -> Expression:
        """The complex conjugate."""
        return conj(self)

    def __repr__(self) -> str:
        return str(self._handle)

    def __reduce__(self) -> tuple[object, ...]:
        from .pickling import reduced_expression

        return reduced_expression(self)

    def __copy__(self) -> Expression:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Expression:
        return self

    def __bool__(self) -> NoReturn:
        raise DeclarationTypeError(
            f"the expression {self!r} has no truth value while a computation is declared: join "
            "conditions with & | ~ instead of and, or, not; write 0 <= i < N as "
            "(0 <= i) & (i < N); "
            "choose between values with tw.select"
        )

    # Python compares keys of a dictionary by identity first; iterators of one name are one object.
    __hash__ = object.__hash__

    # Arithmetic.
    def __add__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Add, self, other)

    def __radd__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Add, other, self)

    def __sub__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Sub, self, other)

    def __rsub__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Sub, other, self)

    def __mul__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Mul, self, other)

    def __rmul__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Mul, other, self)

    def __truediv__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.TrueDiv, self, other)

    def __rtruediv__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.TrueDiv, other, self)

    def __floordiv__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.FloorDiv, self, other)

    def __rfloordiv__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.FloorDiv, other, self)

    def __mod__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Mod, self, other)

    def __rmod__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Mod, other, self)

    def __divmod__(self, other: ExpressionLike) -> tuple[Expression, Expression]:
        return self // other, self % other

    def __rdivmod__(self, other: ExpressionLike) -> tuple[Expression, Expression]:
        return other // self, other % self

    def __pow__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Pow, self, other)

    def __rpow__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Pow, other, self)

    def __neg__(self) -> Expression:
        return _unary(Op.Neg, self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return _unary(Op.Abs, self)

    # Bits, and the logic of conditions.
    def __invert__(self) -> Expression:
        return _unary(Op.Not, self)

    def __and__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.And, self, other)

    def __rand__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.And, other, self)

    def __or__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Or, self, other)

    def __ror__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Or, other, self)

    def __xor__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Xor, self, other)

    def __rxor__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Xor, other, self)

    def __lshift__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Shl, self, other)

    def __rlshift__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Shl, other, self)

    def __rshift__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Shr, self, other)

    def __rrshift__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Shr, other, self)

    # Comparisons.
    def __lt__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Lt, self, other)

    def __le__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Le, self, other)

    def __gt__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Gt, self, other)

    def __ge__(self, other: ExpressionLike) -> Expression:
        return _binary(Op.Ge, self, other)

    def __eq__(self, other: ExpressionLike) -> Expression:  # type: ignore[override]
        return _binary(Op.Eq, self, other)

    def __ne__(self, other: ExpressionLike) -> Expression:  # type: ignore[override]
        return _binary(Op.Ne, self, other)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Expression | tuple[Expression, Expression]:
        """np.float32(2) * e and np.sqrt(e) are expressions too."""
        function = _UFUNCS.get(ufunc.__name__)
        if method != "__call__" or options or function is None:
            raise DeclarationTypeError(f"np.{ufunc.__name__} has no counterpart on expressions")
        return function(*inputs)


class Iterator(Expression):
    """An iterator of domains and reductions, an int64 value; one object for each name."""

    __slots__ = ("_name",)

    _name: str
    _known: ClassVar[dict[str, Iterator]] = {}

    def __new__(cls, name: str) -> Iterator:
        known = cls._known.get(name)
        if known is None:
            check_identifier(name, "iterator")
            known = super().__new__(cls)
            Expression.__init__(known, _core.iterator(name))
            known._name = name
            cls._known[name] = known
        return known

    def __init__(self, name: str) -> None:
        pass

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def __reduce__(self) -> tuple[object, ...]:
        return Iterator, (self._name,)


class Parameter(Expression):
    """A size that the arrays' shapes give when the function is called; an int64 value."""

    __slots__ = ("_constraint", "_name")

    _name: str
    _constraint: str

    def __init__(self, name: str, constraint: str = "") -> None:
        super().__init__(_core.parameter(name, constraint))
        self._name = name
        self._constraint = constraint

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def constraint(self) -> str:
        """What is known of the parameter, as isl text; empty for nothing."""
        return self._constraint

    def __reduce__(self) -> tuple[object, ...]:
        return Parameter, (self._name, self._constraint)


# ---- operands ----


def check_identifier(name: object, what: str) -> None:
    """Refuses a name that is no identifier or a word of isl's notation; `what` says whose it is."""
    article = "an" if what[0] in "aeiou" else "a"
    if not isinstance(name, str):
        raise DeclarationTypeError(f"the name of {article} {what} must be a str, not {name!r}")
    if not _core.is_identifier(name):
        raise DeclarationError(
            f"{name!r} cannot be the name of {article} {what}: names are letters, digits and _, "
            "do not start with a digit, and are no word of isl's notation (and, mod, exists ...)"
        )


def _numpy_scalar(value: np.generic | np.ndarray[Any, Any]) -> _core.Expr:
    dtype = as_dtype(value.dtype)
    item = value.item()
    if not isinstance(item, bool | int | float | complex):
        item = float(item)  # bfloat16
    return _core.constant(item, dtype.name)


def operand(value: object) -> Operand:
    """What the core takes for an operand: an expression's handle or a Python number.

    Raises:
        DeclarationTypeError: for anything else, saying what to write instead.
    """
    if isinstance(value, Expression):
        return value._handle
    if isinstance(value, np.generic):
        return _numpy_scalar(value)
    if isinstance(value, bool | int | float | complex):
        return value
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return _numpy_scalar(value)
        raise DeclarationTypeError(
            f"an array of shape {value.shape} cannot be part of an expression: declare it with "
            "tw.input, read its elements as A[i, j], and pass the array when the function is called"
        )
    as_expression = getattr(value, "_as_expression", None)
    if as_expression is not None:
        found = as_expression()
        assert isinstance(found, Expression)
        return found._handle
    raise DeclarationTypeError(
        f"an operand must be an expression or a number, not {_describe(value)}"
    )


def _describe(value: object) -> str:
    if isinstance(value, str):
        return f"the str {value!r}"
    return f"{type(value).__name__}"


def as_expression(value: ExpressionLike) -> Expression:
    """The value as an expression; a Python number becomes bool, int64, float64 or complex128."""
    if isinstance(value, Expression):
        return value
    return Expression(_core.strengthen(operand(value)))


def condition_operand(condition: ExpressionLike | None, what: str) -> Operand | None:
    """The operand of a condition; None and True hold everywhere and give None."""
    if condition is None or condition is True:
        return None
    handle = operand(condition)
    if isinstance(handle, _core.Expr):
        if handle.type != bool_.name:
            raise DeclarationTypeError(
                f"{what} must be a condition such as i < N, but {handle} is of type {handle.type}"
            )
        return handle
    if handle is False:
        return handle
    raise DeclarationTypeError(f"{what} must be a condition such as i < N, not {condition!r}")


def _unary(op: Op, a: ExpressionLike) -> Expression:
    return Expression(_core.unary(op, operand(a)))


def _binary(op: Op, a: ExpressionLike, b: ExpressionLike) -> Expression:
    return Expression(_core.binary(op, operand(a), operand(b)))


def _call(op: Op, *arguments: ExpressionLike) -> Expression:
    return Expression(_core.call(op, *[operand(argument) for argument in arguments]))


# ---- names ----


def _split_names(names: tuple[str, ...], what: str) -> list[str]:
    result: list[str] = []
    for text in names:
        if not isinstance(text, str):
            raise DeclarationTypeError(f"names of {what}s must be a str, not {text!r}")
        result += re.split(r"[\s,]+", text.strip())
    if not any(result):
        raise DeclarationError(f"give the names of the {what}s: tw.{what[:4]}s('i j')")
    for name in result:
        check_identifier(name, what)
    if len(set(result)) != len(result):
        raise DeclarationError(f"the names {' '.join(result)} contain one twice")
    return result


def iter(name: str) -> Iterator:
    """One iterator."""
    return Iterator(name)


def iters(*names: str) -> tuple[Iterator, ...]:
    """Iterators by name: `i, j = tw.iters("i j")`."""
    return tuple(Iterator(name) for name in _split_names(names, "iterator"))


def params(
    names: str, constraint: str | None = None, *, minimum: int | None = 0
) -> tuple[Parameter, ...]:
    """Parameters by name: `N, M = tw.params("N M", "N > 3 and M >= N")`.

    Args:
        names: names, separated by spaces or commas.
        constraint: what is known of them, as isl text over these names. A call that breaks it is
            refused, and analysis may rely on it.
        minimum: a lower bound of each; None for none.

    Raises:
        DeclarationError: when a name is no identifier, or no values satisfy the constraint.
    """
    split = _split_names((names,), "parameter")
    known = [] if minimum is None else [f"{name} >= {int(minimum)}" for name in split]
    tuple_text = ", ".join(split)
    if constraint is None:
        return (
            tuple(
                Parameter(name, f"[{name}] -> {{ : {bound} }}")
                for name, bound in zip(split, known, strict=True)
            )
            if known
            else tuple(Parameter(name) for name in split)
        )
    if not isinstance(constraint, str):
        raise DeclarationTypeError(
            f"the constraint of parameters must be isl text such as 'N > 3', not {constraint!r}; "
            "a comparison of parameters goes into context= of tw.function"
        )
    text = f"[{tuple_text}] -> {{ : {' and '.join([*known, f'({constraint})'])} }}"
    try:
        satisfiable = _core.check_constraint(text, caller_location())
    except DeclarationError:
        raise DeclarationError(
            f"isl cannot read the constraint {constraint!r}: a syntax error, or a name other than "
            f"{tuple_text}; write it as in '{split[0]} > 3 and {split[-1]} % 8 = 0'"
        ) from None
    if not satisfiable:
        bounds = "" if minimum is None else f" with minimum={minimum}"
        raise DeclarationError(f"no values of {tuple_text} satisfy {constraint!r}{bounds}")
    return tuple(Parameter(name, text) for name in split)


def param(name: str, constraint: str | None = None, *, minimum: int | None = 0) -> Parameter:
    """One parameter; see `params`."""
    found = params(name, constraint, minimum=minimum)
    if len(found) != 1:
        raise DeclarationError(f"tw.param takes one name, not {name!r}; use tw.params")
    return found[0]


# ---- functions ----


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
    return _binary(Op.Min, a, b)


def maximum(a: ExpressionLike, b: ExpressionLike) -> Expression:
    """The larger of two values; NaN if either is (np.maximum)."""
    return _binary(Op.Max, a, b)


def clamp(value: ExpressionLike, low: ExpressionLike, high: ExpressionLike) -> Expression:
    """The value, not below `low` nor above `high`: minimum(maximum(value, low), high) (np.clip)."""
    return minimum(maximum(value, low), high)


def abs(value: ExpressionLike) -> Expression:
    """The absolute value; of complex numbers the modulus."""
    return _unary(Op.Abs, value)


def sqrt(value: ExpressionLike) -> Expression:
    """The square root; NaN for negative numbers."""
    return _call(Op.Sqrt, value)


def rsqrt(value: ExpressionLike) -> Expression:
    """The reciprocal of the square root: 1 / sqrt(value)."""
    return 1 / sqrt(value)


def exp(value: ExpressionLike) -> Expression:
    """e to the power of the value."""
    return _call(Op.Exp, value)


def exp2(value: ExpressionLike) -> Expression:
    """2 to the power of the value."""
    return _call(Op.Exp2, value)


def log(value: ExpressionLike) -> Expression:
    """The natural logarithm."""
    return _call(Op.Log, value)


def log2(value: ExpressionLike) -> Expression:
    """The logarithm to base 2."""
    return _call(Op.Log2, value)


def log10(value: ExpressionLike) -> Expression:
    """The logarithm to base 10."""
    return _call(Op.Log10, value)


def sin(value: ExpressionLike) -> Expression:
    """The sine; the angle in radians."""
    return _call(Op.Sin, value)


def cos(value: ExpressionLike) -> Expression:
    """The cosine; the angle in radians."""
    return _call(Op.Cos, value)


def tan(value: ExpressionLike) -> Expression:
    """The tangent; the angle in radians."""
    return _call(Op.Tan, value)


def arcsin(value: ExpressionLike) -> Expression:
    """The inverse sine, in radians."""
    return _call(Op.Arcsin, value)


def arccos(value: ExpressionLike) -> Expression:
    """The inverse cosine, in radians."""
    return _call(Op.Arccos, value)


def arctan(value: ExpressionLike) -> Expression:
    """The inverse tangent, in radians."""
    return _call(Op.Arctan, value)


def arctan2(y: ExpressionLike, x: ExpressionLike) -> Expression:
    """The angle of the point (x, y), in radians from -pi to pi."""
    return _call(Op.Arctan2, y, x)


def sinh(value: ExpressionLike) -> Expression:
    """The hyperbolic sine."""
    return _call(Op.Sinh, value)


def cosh(value: ExpressionLike) -> Expression:
    """The hyperbolic cosine."""
    return _call(Op.Cosh, value)


def tanh(value: ExpressionLike) -> Expression:
    """The hyperbolic tangent."""
    return _call(Op.Tanh, value)


def sigmoid(value: ExpressionLike) -> Expression:
    """The logistic function 1 / (1 + exp(-value)) (scipy.special.expit)."""
    return 1 / (1 + exp(_binary(Op.Mul, -1.0, value)))


def erf(value: ExpressionLike) -> Expression:
    """The error function (scipy.special.erf)."""
    return _call(Op.Erf, value)


def floor(value: ExpressionLike) -> Expression:
    """The largest whole number not above the value; the type stays."""
    return _call(Op.Floor, value)


def ceil(value: ExpressionLike) -> Expression:
    """The smallest whole number not below the value; the type stays."""
    return _call(Op.Ceil, value)


def trunc(value: ExpressionLike) -> Expression:
    """The value without its fraction; the type stays."""
    return _call(Op.Trunc, value)


def rint(value: ExpressionLike) -> Expression:
    """The nearest whole number, halves to the even one; the type stays."""
    return _call(Op.Rint, value)


def isnan(value: ExpressionLike) -> Expression:
    """Whether the value is not a number."""
    return _call(Op.Isnan, value)


def real(value: ExpressionLike) -> Expression:
    """The real part."""
    return _call(Op.Real, value)


def imag(value: ExpressionLike) -> Expression:
    """The imaginary part."""
    return _call(Op.Imag, value)


def conj(value: ExpressionLike) -> Expression:
    """The complex conjugate."""
    return _call(Op.Conj, value)


def make_complex(real: ExpressionLike, imag: ExpressionLike) -> Expression:
    """real + imag * 1j, without the rounding and the NaNs of that formula."""
    return _call(Op.MakeComplex, real, imag)


def _by_operator(op: Op) -> Callable[..., Expression]:
    return lambda a, b: _binary(op, a, b)


def _logical(op: Op) -> Callable[..., Expression]:
    return lambda a, b: _binary(op, cast(a, bool_), cast(b, bool_))


#: NumPy's universal functions that mean something on expressions, by name.
_UFUNCS: dict[str, Callable[..., Expression | tuple[Expression, Expression]]] = {
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
    "logical_not": lambda a: _unary(Op.Not, cast(a, bool_)),
    "divmod": lambda a, b: (_binary(Op.FloorDiv, a, b), _binary(Op.Mod, a, b)),
    "negative": lambda a: _unary(Op.Neg, a),
    "positive": as_expression,
    "invert": lambda a: _unary(Op.Not, a),
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
