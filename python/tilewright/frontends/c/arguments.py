"""A call's arguments: checked against the C declaration, and split into what the program takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ... import _core
from ...base.errors import ArgumentError, ArgumentOverflowError, ArgumentTypeError
from ...base.plurals import counted
from .. import known_calls, tree
from ..translated import TranslatedFunction
from ..whiles import LIMIT
from .c_types import Structure
from .programs import Argument, Translated

__all__ = ["bind", "evaluated", "remember"]


def bind(translated: Translated, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters and arrays of the program by name: parameters are ints, arrays views of the caller's."""
    name = translated.program.name
    values = _by_name(name, translated.arguments, given, named)
    bound: dict[str, Any] = {}
    for each in translated.arguments:
        if not each.arrays:
            bound[each.name] = _integer(name, each, values[each.name])
    arrays: dict[str, np.ndarray] = {}
    for each in translated.arguments:
        if each.arrays:
            arrays[each.name] = _array(name, each, values[each.name], bound)
    for each in translated.arguments:
        if each.arrays:
            _check_shape(name, each, arrays[each.name], bound)
            for path, array in each.arrays.items():
                bound[array] = _field(arrays[each.name], path)
    _check_overlaps(name, translated.arguments, arrays)
    _check_context(translated.program, bound)
    return bound


def remember(
    door: _core.KnownCalls,
    translated: Translated,
    function: TranslatedFunction,
    given: Sequence[Any],
    named: Mapping[str, Any],
    bound: Mapping[str, Any],
    exact: Sequence[str] = (),
) -> None:
    """Lets calls like this one, which `bind` has looked at, come to the kernel without Python.

    Args:
        exact: the parameters that have to have the same values.
    """
    values = _by_name(translated.program.name, translated.arguments, given, named)
    values = {each.name: values[each.name] for each in translated.arguments}
    alike: list[known_calls.Given] = []
    origins: dict[str, known_calls.Origin] = {}
    for at, each in enumerate(translated.arguments):
        value = values[each.name]
        if not each.arrays:
            origins[each.name] = known_calls.Origin(at)
            limits = np.iinfo(each.dtype)
            low, high = max(int(limits.min), -LIMIT), min(int(limits.max), LIMIT)
            if not function.knows_sizes or each.name in exact:
                low = high = bound[each.name]
            alike.append(known_calls.integer(low, high))
            continue
        if list(each.arrays) != [()]:
            return  # the fields of structures are arrays of their own
        origins[each.arrays[()]] = known_calls.Origin(at)
        if bound[each.arrays[()]] is value:
            sizes = () if function.knows_sizes else map(known_calls.exactly, value.shape)
            alike.append(known_calls.array(tuple(sizes), contiguous=True))
            if each.extents and isinstance(each.extents[0], tree.Variable):
                origins.setdefault(each.extents[0].name, known_calls.Origin(at, 0))
        elif type(value) in (int, float) or (
            isinstance(value, np.generic) and value.dtype == each.dtype
        ):
            alike.append(known_calls.number(each.dtype))
        else:
            return
    result = translated.result
    known_calls.remember(
        door,
        tuple(values.values()),
        alike,
        function,
        origins,
        results=[(result, False, False)] if result else None,
    )


def _check_context(program: tree.Program, bound: Mapping[str, Any]) -> None:
    """What the program takes for granted: sizes that are not negative, accesses within arrays."""
    for condition in program.context:
        if not evaluated(condition, bound):
            place = (
                condition.location if isinstance(condition, tree.Operation) else program.location
            )
            named = {each.name for each in _below(condition) if isinstance(each, tree.Variable)}
            values = ", ".join(f"{name} = {bound[name]}" for name in sorted(named))
            raise ArgumentError(
                f"{program.name}: with {values}, the program leaves an array at {place}, or gives one a "
                "negative size"
            )


def _below(expression: tree.Expression) -> Iterator[tree.Expression]:
    yield expression
    for part in tree.parts_of(expression):
        yield from _below(part)


def _by_name(
    function: str, arguments: Sequence[Argument], given: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    names = [each.name for each in arguments]
    if len(given) > len(names):
        raise ArgumentTypeError(
            f"{function} takes {counted(len(names), 'argument')} ({', '.join(names)}), not {len(given)}"
        )
    values = dict(zip(names, given, strict=False))
    for name, value in named.items():
        if not _core.is_identifier(name):  # a word of isl, behind which a variable has underscores
            own = [each for each in names if each.rstrip("_") == name.rstrip("_")]
            name = max(own, key=len, default=name)
        if name not in names:
            raise ArgumentTypeError(
                f"{function} has no argument {name!r}: its arguments are {', '.join(names)}"
            )
        if name in values:
            raise ArgumentTypeError(f"{function} is given {name!r} twice")
        values[name] = value
    values |= {
        each.name: each.values
        for each in arguments
        if each.values is not None and each.name not in values
    }
    missing = [name for name in names if name not in values]
    if missing:
        raise ArgumentTypeError(f"{function} lacks the arguments {', '.join(missing)}")
    return values


def _integer(function: str, argument: Argument, value: Any) -> int:
    is_array = isinstance(value, np.ndarray) and (value.ndim or value.dtype.kind not in "iu")
    is_none = not hasattr(value, "__index__") or isinstance(value, type)
    if is_array or isinstance(value, bool | np.bool_) or is_none:
        raise ArgumentTypeError(
            f"{function}: {argument.name} is an integer ({argument.type}), not {_described(value)}"
        )
    number = int(value.__index__())
    limits = np.iinfo(argument.dtype)
    if not int(limits.min) <= number <= int(limits.max):
        raise ArgumentOverflowError(
            f"{function}: {argument.name} = {number} does not fit its type, {argument.type}"
        )
    return number


def _array(function: str, argument: Argument, value: Any, bound: dict[str, Any]) -> np.ndarray:
    if argument.kind == "number" or (not argument.extents and not argument.written):
        if not isinstance(argument.type, Structure):
            return _number(function, argument, value)
    if not isinstance(value, np.ndarray):
        raise ArgumentTypeError(
            f"{function}: {argument.name} is a NumPy array of {argument.dtype}, not {_described(value)}"
        )
    if value.dtype != argument.dtype:
        raise ArgumentTypeError(
            f"{function}: {argument.name} has elements of type {argument.dtype} in C, and this array "
            f"has {value.dtype}: give {argument.name}.astype({argument.dtype.name!r}) and take the "
            "result from it"
        )
    if argument.written and not value.flags.writeable:
        raise ArgumentError(f"{function}: {argument.name} is changed, and this array is read-only")
    if not value.flags.c_contiguous:
        raise ArgumentError(
            f"{function}: {argument.name} is contiguous in C, and this array is not: give "
            f"np.ascontiguousarray({argument.name}) and take the result from it"
        )
    if argument.extents and isinstance(argument.extents[0], tree.Variable):
        first = argument.extents[0].name
        if first not in bound:  # a pointer: as long as the array is
            rows = _count(argument.extents[1:], bound)
            if value.ndim != len(argument.extents):
                rest = [evaluated(each, bound) for each in argument.extents[1:]]
                if min(rest, default=1) <= 0 or value.size % rows:
                    raise ArgumentError(
                        f"{function}: {argument.name} has rows of {counted(rows, 'element')} in C, and this "
                        f"array has {counted(value.size, 'element')}"
                    )
                rows_of: np.ndarray = value.reshape(-1, *rest)
                value = rows_of
            bound[first] = value.shape[0]
    array: np.ndarray = value
    return array


def _number(function: str, argument: Argument, value: Any) -> np.ndarray:
    """A number that is passed by value, as an array without dimensions."""
    dtype = argument.dtype
    given = np.asarray(value)
    if (
        given.ndim
        or given.dtype.kind not in "biufc"
        or (given.dtype.kind == "c" and dtype.kind != "c")
        or (given.dtype.kind in "fc" and dtype.kind in "iu")
    ):
        raise ArgumentTypeError(
            f"{function}: {argument.name} is a number ({argument.type}), not {_described(value)}"
        )
    if dtype.kind in "iu":
        _integer(function, argument, int(given))
    with np.errstate(over="ignore"):
        return given.astype(dtype)


def _check_shape(
    function: str, argument: Argument, array: np.ndarray, bound: Mapping[str, Any]
) -> None:
    wanted = tuple(evaluated(each, bound) for each in argument.extents)
    if array.shape != wanted:
        raise ArgumentError(
            f"{function}: {argument.name} has the shape {wanted} in C, and this array has {array.shape}"
        )


def _check_overlaps(
    function: str, arguments: Sequence[Argument], arrays: Mapping[str, np.ndarray]
) -> None:
    """Arrays that are changed share no memory with others; read-only ones may."""
    listed = [each for each in arguments if each.arrays and each.extents]
    for at, first in enumerate(listed):
        for second in listed[at + 1 :]:
            if (first.written or second.written) and np.may_share_memory(
                arrays[first.name], arrays[second.name]
            ):
                raise ArgumentError(
                    f"{function}: {first.name} and {second.name} share memory, and one of them is "
                    "changed: the translation takes different arrays to be different memory; give a copy"
                )


def _field(array: np.ndarray, path: tuple[str, ...]) -> np.ndarray:
    for name in path:
        array = array[name]
    return array


def _count(extents: Sequence[tree.Expression], bound: Mapping[str, Any]) -> int:
    return math.prod(evaluated(each, bound) for each in extents)


def evaluated(expression: tree.Expression, values: Mapping[str, int]) -> int:
    """The integer that an extent is, with the parameters' values."""
    match expression:
        case tree.Literal():
            return int(expression.value.real)
        case tree.Variable():
            return int(values[expression.name])
        case tree.Convert():
            return _wrapped(evaluated(expression.value, values), expression.dtype)
        case tree.Select():
            chosen = evaluated(expression.condition, values)
            return evaluated(expression.if_true if chosen else expression.if_false, values)
        case tree.Operation():
            operands = [evaluated(each, values) for each in expression.operands]
            return _wrapped(_operation(expression.name, operands), expression.dtype)
    raise ArgumentError(f"{expression} is no extent")


def _operation(name: str, operands: list[int]) -> int:
    a = operands[0]
    b = operands[-1]
    match name:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "neg":
            return -a
        case "~":
            return ~a
        case "abs":
            return abs(a)
        case "minimum":
            return min(a, b)
        case "maximum":
            return max(a, b)
        case "//" | "%":
            return 0 if b == 0 else a // b if name == "//" else a % b
        case "truncated_divide":
            return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        case "fmod":
            return 0 if b == 0 else a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))
        case "&" | "|" | "^":
            return {"&": a & b, "|": a | b, "^": a ^ b}[name]
        case "<<":
            return a << b if 0 <= b < 64 else 0
        case ">>":
            return a >> min(max(b, 0), 64)
    return int(
        {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[name]
    )


def _wrapped(value: int, dtype: np.dtype) -> int:
    if dtype.kind not in "iu":
        return value
    bits = 8 * dtype.itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return f"{type(value).__name__} {value!r}"[:80]
