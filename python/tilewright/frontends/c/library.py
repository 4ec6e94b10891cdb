"""The functions of math.h and stdlib.h that stand in expressions, by what Layer I has for them.

Values of transcendental functions are those of this library (docs/math.md), or with ``math="libm"``
those of the C library, called element by element: bit for bit what gcc's programs give.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools

import numpy as np

from ..tree import Call, Literal, Location, Operation
from .c_types import DOUBLE, FLOAT, INT, LONG, Number
from .refusals import refuse
from .values import Value, as_condition, compared, converted

__all__ = ["EFFECTS", "is_known", "library_call"]

# C's name -> the operation, for double; the name with an f is that for float. Their results are
# exact, or rounded correctly, in both libraries.
_EXACT = {
    "sqrt": "sqrt",
    "fabs": "abs",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
    "nearbyint": "rint",
    "fmin": "fmin",
    "fmax": "fmax",
    "fmod": "fmod",
    "copysign": "copysign",
}
_ROUNDED = {
    "acos": "arccos",
    "asin": "arcsin",
    "atan": "arctan",
    "atan2": "arctan2",
    "acosh": "arccosh",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "cos": "cos",
    "sin": "sin",
    "tan": "tan",
    "cosh": "cosh",
    "sinh": "sinh",
    "tanh": "tanh",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "cbrt": "cbrt",
    "erf": "erf",
    "hypot": "hypot",
    "pow": "**",
}
# In the C library only.
_FOREIGN = {"erfc": 1, "lgamma": 1, "tgamma": 1, "remainder": 2, "fma": 3, "fdim": 2, "round": 1}
_TWO = {"atan2", "fmin", "fmax", "fmod", "copysign", "hypot", "pow"}
_COMPLEX = {"cabs": "abs", "creal": "real", "cimag": "imag", "conj": "conj"}
_INTEGERS = {"abs": INT, "labs": LONG, "llabs": LONG}
_TESTS = {"isnan", "isinf", "isfinite", "signbit"}

# Functions that do something beside giving a value.
EFFECTS = frozenset(
    "printf fprintf sprintf snprintf scanf fscanf puts putchar fputs fflush fopen fclose rand srand "
    "exit abort atoi atof strtol realloc memcpy memmove memset memcmp strlen strcmp strncmp sleep "
    "time clock clock_gettime gettimeofday polybench_timer_start polybench_timer_stop "
    "polybench_timer_print polybench_flush_cache polybench_prepare_instruments".split()
)


def _known(name: str) -> tuple[str, Number] | None:
    """C's name without the letter of its type, and the type."""
    for table in (_EXACT, _ROUNDED, _FOREIGN):
        if name in table:
            return name, DOUBLE
    base = name[:-1]
    if name.endswith("f") and any(base in table for table in (_EXACT, _ROUNDED, _FOREIGN)):
        return base, FLOAT
    return None


def is_known(name: str) -> bool:
    """Whether the name is a function of the C library that has a translation."""
    return (
        _known(name) is not None
        or name in _INTEGERS
        or name in _COMPLEX
        or (name.endswith("f") and name[:-1] in _COMPLEX)
        or name.removeprefix("__tilewright_") in _TESTS
    )


def library_call(name: str, arguments: list[Value], location: Location, libm: bool) -> Value:
    """The value of a call.

    Raises:
        TranslationError: for more or fewer arguments than the function has.
    """
    if name in _INTEGERS:
        _count(name, arguments, 1, location)
        value = converted(arguments[0], _INTEGERS[name], location)
        dtype = value.type.dtype
        return Value(value.type, Operation("abs", (value.tree,), dtype, location))
    if (test := name.removeprefix("__tilewright_")) in _TESTS:
        _count(test, arguments, 1, location)
        return _test(test, arguments[0], location)
    if name in _COMPLEX or name.removesuffix("f") in _COMPLEX:
        return _complex(name, arguments, location)
    known = _known(name)
    assert known is not None
    base, number = known
    count = _FOREIGN.get(base) or (2 if base in _TWO else 1)
    _count(name, arguments, count, location)
    operands = tuple(converted(each, number, location).tree for each in arguments)
    if base in _FOREIGN or (libm and base in _ROUNDED):
        function = _foreign(base if number == DOUBLE else base + "f", count, number.dtype.name)
        return Value(number, Call(function, operands, number.dtype, location))
    operation = _EXACT.get(base) or _ROUNDED[base]
    return Value(number, Operation(operation, operands, number.dtype, location))


def _count(name: str, arguments: list[Value], wanted: int, location: Location) -> None:
    if len(arguments) != wanted:
        many = "argument" if wanted == 1 else "arguments"
        refuse(location, f"{name} has {wanted} {many}, not {len(arguments)}")


def _test(name: str, value: Value, location: Location) -> Value:
    if value.type.dtype.kind != "f":
        refuse(location, f"{name} is asked of a {value.type}", "ask it of a float or double")
    if name == "signbit":
        one = Literal(1.0, value.type.dtype)
        sign = Operation("copysign", (one, value.tree), value.type.dtype, location)
        zero = Value(value.type, Literal(0.0, value.type.dtype))
        return as_condition(compared("<", Value(value.type, sign), zero, value.type, location))
    return as_condition(Operation(name, (value.tree,), np.dtype("bool"), location))


def _complex(name: str, arguments: list[Value], location: Location) -> Value:
    base = name if name in _COMPLEX else name[:-1]
    _count(name, arguments, 1, location)
    number = Number(np.dtype("complex128" if base == name else "complex64"))
    value = converted(arguments[0], number, location)
    dtype = number.dtype if base == "conj" else (DOUBLE if base == name else FLOAT).dtype
    return Value(Number(dtype), Operation(_COMPLEX[base], (value.tree,), dtype, location))


@functools.cache
def _foreign(name: str, count: int, dtype: str) -> object:
    """A function of the C library as an expression's."""
    import tilewright as tw

    library = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
    function = library[name]
    number = ctypes.c_double if dtype == "float64" else ctypes.c_float
    function.argtypes, function.restype = [number] * count, number
    return tw.extern(name, function)
