"""Expressions: what a computation's element is made of.

Iterators, parameters and reads of arrays are combined with Python's operators and the functions of
`tilewright.language.elementary`. Types follow NumPy: a Python number is weak (it takes the other operand's
type), a NumPy scalar is not; `//` and `%` round towards minus infinity, integer division by zero
gives 0, minimum and maximum pass NaN on. Nothing is computed here: an expression is a description.
"""

from __future__ import annotations

import functools
import re
from typing import Any, ClassVar, NoReturn, TypeAlias, Union

import numpy as np

from .. import _core
from .._core import Op
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.source import caller_location
from .types import DType, DTypeLike, as_dtype, bool_

__all__ = [
    "Expression",
    "ExpressionLike",
    "Iterator",
    "Parameter",
    "cast",
    "iter",
    "iters",
    "param",
    "params",
    "select",
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
        return Expression(_core.cast(self._handle, as_dtype(dtype).name))

    @property
    def real(self) -> Expression:
        """The real part."""
        return call(Op.Real, self)

    @property
    def imag(self) -> Expression:
        """The imaginary part."""
        return call(Op.Imag, self)

    def conj(self) -> Expression:
        """The complex conjugate."""
        return call(Op.Conj, self)

    def round(self, decimals: int = 0, out: None = None) -> Expression:
        """The value to so many digits behind the point, as `tw.round` and np.round have it."""
        if out is not None:
            raise DeclarationTypeError("np.round of an expression takes no out=")
        return call(Op.Round, self, decimals)

    def __repr__(self) -> str:
        return str(self._handle)

    def __reduce__(self) -> tuple[object, ...]:
        from ..functions.pickling import reduced_expression

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
        return binary(Op.Add, self, other)

    def __radd__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Add, other, self)

    def __sub__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Sub, self, other)

    def __rsub__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Sub, other, self)

    def __mul__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Mul, self, other)

    def __rmul__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Mul, other, self)

    def __truediv__(self, other: ExpressionLike) -> Expression:
        return binary(Op.TrueDiv, self, other)

    def __rtruediv__(self, other: ExpressionLike) -> Expression:
        return binary(Op.TrueDiv, other, self)

    def __floordiv__(self, other: ExpressionLike) -> Expression:
        return binary(Op.FloorDiv, self, other)

    def __rfloordiv__(self, other: ExpressionLike) -> Expression:
        return binary(Op.FloorDiv, other, self)

    def __mod__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Mod, self, other)

    def __rmod__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Mod, other, self)

    def __divmod__(self, other: ExpressionLike) -> tuple[Expression, Expression]:
        return self // other, self % other

    def __rdivmod__(self, other: ExpressionLike) -> tuple[Expression, Expression]:
        return other // self, other % self

    def __pow__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Pow, self, other)

    def __rpow__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Pow, other, self)

    def __neg__(self) -> Expression:
        return unary(Op.Neg, self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return unary(Op.Abs, self)

    # Bits, and the logic of conditions.
    def __invert__(self) -> Expression:
        return unary(Op.Not, self)

    def __and__(self, other: ExpressionLike) -> Expression:
        return binary(Op.And, self, other)

    def __rand__(self, other: ExpressionLike) -> Expression:
        return binary(Op.And, other, self)

    def __or__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Or, self, other)

    def __ror__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Or, other, self)

    def __xor__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Xor, self, other)

    def __rxor__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Xor, other, self)

    def __lshift__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Shl, self, other)

    def __rlshift__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Shl, other, self)

    def __rshift__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Shr, self, other)

    def __rrshift__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Shr, other, self)

    # Comparisons.
    def __lt__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Lt, self, other)

    def __le__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Le, self, other)

    def __gt__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Gt, self, other)

    def __ge__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Ge, self, other)

    def __eq__(self, other: ExpressionLike) -> Expression:  # type: ignore[override]
        return binary(Op.Eq, self, other)

    def __ne__(self, other: ExpressionLike) -> Expression:  # type: ignore[override]
        return binary(Op.Ne, self, other)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Expression | tuple[Expression, Expression]:
        """np.float32(2) * e and np.sqrt(e) are expressions too."""
        name = ufunc.__name__
        if method != "__call__":
            raise DeclarationTypeError(f"np.{name}.{method} has no counterpart on expressions")
        if options:
            given = ", ".join(f"{option}=" for option in options)
            raise DeclarationTypeError(f"np.{name} of an expression takes no {given}")
        if name == "divmod":
            return binary(Op.FloorDiv, *inputs), binary(Op.Mod, *inputs)
        if name == "positive":
            return as_expression(*inputs)
        op = operations_of_ufuncs().get(name)
        if op is None:
            raise DeclarationTypeError(f"np.{name} has no counterpart on expressions")
        return call(op, *inputs)


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


def unary(op: Op, a: ExpressionLike) -> Expression:
    return Expression(_core.unary(op, operand(a)))


def binary(op: Op, a: ExpressionLike, b: ExpressionLike) -> Expression:
    return Expression(_core.binary(op, operand(a), operand(b)))


def call(op: Op, *arguments: ExpressionLike) -> Expression:
    return Expression(_core.call(op, *[operand(argument) for argument in arguments]))


@functools.cache
def operations_of_ufuncs() -> dict[str, Op]:
    """The operations that answer NumPy's universal functions, by the names of these."""
    return {name: row["op"] for row in _core.operations() for name in row["ufuncs"].split()}


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


# ---- names ----


def _split_names(names: tuple[str, ...], what: str) -> list[str]:
    result: list[str] = []
    for text in names:
        if not isinstance(text, str):
            raise DeclarationTypeError(f"names of {what}s must be a str, not {text!r}")
        result += re.split(r"[\s,]+", text.strip())
    if not any(result):
        example = "tw.iters('i j')" if what == "iterator" else "tw.params('N M')"
        raise DeclarationError(f"give the names of the {what}s: {example}")
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
    satisfiable = _core.check_constraint(constraint, split, text, caller_location())
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
