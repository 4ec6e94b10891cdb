"""Blocks: opaque functions on whole parts of arrays, with what they read and write declared.

The idea is that of PENCIL's summary functions (Baghdadi et al., PENCIL report, section 3.5): a
function whose code nobody looks into, and whose accesses stand in for it. What a function takes is
found here; `tw.block` declares it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..base.checks import described
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.plurals import counted
from .arrays import Array, Part, whole
from .expressions import Expression, as_dtype, as_expression, operand
from .externs import _NUMBERS, _address, _checked, _from_ctype
from .names import check_identifier
from .reductions import range_operands

__all__ = ["Declaration", "declaration"]

_READ, _RESULT, _NUMBER = range(3)

_FORMS = "a ctypes function with argtypes and restype, a Numba cfunc, or a Python function of NumPy views"

# Numbers of two components have no type of C's in ctypes: pointers to one of them.
_COMPONENTS = {"complex64": "float32", "complex128": "float64"}


class _Passed(NamedTuple):
    """One argument: a part by its kind and number, or a number by its value."""

    kind: int
    position: int
    dtype: str
    shown: str


class Declaration(NamedTuple):
    """What `_core.declare_block` takes."""

    instances: list[Any]
    reads: list[Any]
    results: list[Any]
    arguments: list[tuple[int, int, bool]]
    numbers: list[tuple[Any, str]]
    target: tuple[bool, bool, int, Callable[..., object], object]


def declaration(
    name: str,
    function: object,
    instances: object,
    reads: object,
    updates: object,
    writes: object,
    arguments: object,
) -> Declaration:
    """The declaration of a block; `tw.block` says what the arguments are.

    Raises:
        DeclarationError: where the parts, results and arguments do not fit the function.
        DeclarationTypeError: for arguments of other types.
    """
    check_identifier(name, "computation")
    ranges = _instances(name, instances)
    parts = _reads(name, reads)
    results = _results(name, updates, writes)
    known = _known(name, parts, results)
    passed, values = _arguments(name, arguments, known)
    target, by_reference, numbers = _target(name, function, passed, values)
    return Declaration(
        ranges,
        [part.operands(f"{name}_{label}") for label, part in parts.items()],
        [
            (
                label,
                dtype,
                [operand(extent) for extent in extents],
                None if part is None else part.operands(f"{name}_{label}"),
            )
            for label, (dtype, extents, part) in results.items()
        ],
        [(one.kind, one.position, flag) for one, flag in zip(passed, by_reference, strict=True)],
        numbers,
        target,
    )


def _instances(name: str, instances: object) -> list[Any]:
    if not isinstance(instances, Mapping):
        raise DeclarationTypeError(
            f"the instances of {name} are iterators with ranges, {{b: B}}, or {{}} for one call, not "
            f"{described(instances)}"
        )
    ranges = []
    for iterator, bounds in instances.items():
        label, lower, upper, step = range_operands(iterator, bounds, f"the instances of {name}")
        if step != 1:
            raise DeclarationError(
                f"the range of {label} in the instances of {name} has the step {step}: count the "
                "instances from 0, and multiply in the parts"
            )
        ranges.append((label, lower, upper))
    return ranges


def _part(name: str, value: object, what: str) -> Part:
    if isinstance(value, Part):
        return value
    if isinstance(value, Array):
        return whole(value)
    raise DeclarationTypeError(
        f"{what} of {name} must be an array or a part of one, A.part[b, :, :], not {described(value)}"
    )


def _reads(name: str, reads: object) -> dict[str, Part]:
    if isinstance(reads, Mapping):
        return {
            _label(name, label): _part(name, part, f"the read {label!r}")
            for label, part in reads.items()
        }
    if not isinstance(reads, Iterable) or isinstance(reads, str | Array | Part):
        raise DeclarationTypeError(
            f"reads= of {name} must be a list of parts, [A.part[b, :, :]], or a dict that names them, "
            f"not {described(reads)}"
        )
    parts: dict[str, Part] = {}
    for value in reads:
        part = _part(name, value, "a read")
        if part.array.name in parts:
            raise DeclarationError(
                f"{name} reads two parts of {part.array.name}: give them names, "
                f"reads={{'first': {part!r}, 'second': ...}}"
            )
        parts[part.array.name] = part
    return parts


def _label(name: str, label: object) -> str:
    if not isinstance(label, str):
        raise DeclarationTypeError(
            f"the parts of {name} are named by str, not by {described(label)}"
        )
    check_identifier(label, "computation")
    return label


_Results = dict[str, tuple[str, tuple[Expression, ...], Part | None]]


def _results(name: str, updates: object, writes: object) -> _Results:
    results: _Results = {}
    for given, what in ((updates, "updates"), (writes, "writes")):
        if given is not None and not isinstance(given, Mapping):
            raise DeclarationTypeError(
                f"{what}= of {name} must be a dict of names, not {described(given)}"
            )
    for label, value in (updates or {}).items():  # type: ignore[attr-defined]
        part = _part(name, value, f"the array that {label!r} starts with, an update")
        results[_label(name, label)] = (part.array.dtype.name, part.extents, part)
    for label, value in (writes or {}).items():  # type: ignore[attr-defined]
        if label in results:
            raise DeclarationError(f"{name} has two results named {label}")
        if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[0], Sequence):
            raise DeclarationTypeError(
                f"the result {label!r} of {name} must be its shape in one call and its type, "
                f"([N, M], tw.float64), not {described(value)}"
            )
        shape, dtype = value
        extents = tuple(as_expression(extent) for extent in shape)
        results[_label(name, label)] = (as_dtype(dtype).name, extents, None)
    if not results:
        raise DeclarationError(
            f"{name} writes nothing, so nobody can see that it ran: name what it writes, "
            "writes={'X': ([N], tw.float64)}"
        )
    return results


def _known(name: str, parts: Mapping[str, Part], results: _Results) -> dict[str, _Passed]:
    known = {
        label: _Passed(_READ, r, part.array.dtype.name, label)
        for r, (label, part) in enumerate(parts.items())
    }
    for r, (label, (dtype, _, _)) in enumerate(results.items()):
        if label in known:
            raise DeclarationError(
                f"{name} reads and writes a part named {label}: what it writes is an array of its own; "
                f"name that otherwise, or say updates={{'{label}_new': ...}} where it changes in place"
            )
        known[label] = _Passed(_RESULT, r, dtype, label)
    return known


def _arguments(
    name: str, arguments: object, known: Mapping[str, _Passed]
) -> tuple[list[_Passed], list[Any]]:
    if arguments is None:
        return list(known.values()), []
    if not isinstance(arguments, Sequence) or isinstance(arguments, str):
        raise DeclarationTypeError(
            f"arguments= of {name} must be a list of names of parts and of numbers, in the order in "
            f"which the function takes them, not {described(arguments)}"
        )
    passed: list[_Passed] = []
    values: list[Any] = []
    for one in arguments:
        if isinstance(one, str):
            if one not in known:
                raise DeclarationError(
                    f"arguments= of {name} names {one!r}, and its parts are {', '.join(known)}"
                )
            passed.append(known[one])
        else:
            passed.append(_Passed(_NUMBER, len(values), "", repr(one)))
            values.append(_number(name, one))
    missing = [label for label in known if all(one.shown != label for one in passed)]
    if missing:
        raise DeclarationError(
            f"arguments= of {name} leaves out {', '.join(missing)}: the function is given every part"
        )
    return passed, values


def _number(name: str, value: object) -> _core.Expr:
    if isinstance(value, bytes) and len(value) == 1:
        return Expression(_core.strengthen(value[0]))._handle
    handle = operand(value)
    expression = handle if isinstance(handle, _core.Expr) else _core.strengthen(handle)
    if _core.reads_data(expression):
        raise DeclarationError(
            f"the number {value!r} among the arguments of {name} reads an array: pass the part that "
            "holds it"
        )
    if expression.type.startswith(("complex", "bool")):
        raise DeclarationTypeError(
            f"the number {value!r} among the arguments of {name} is {expression.type}: pass integers "
            "and floats, and other values in a part"
        )
    return expression


_Target = tuple[bool, bool, int, Callable[..., object], object]


def _target(
    name: str, function: object, passed: Sequence[_Passed], values: Sequence[Any]
) -> tuple[_Target, list[bool], list[tuple[Any, str]]]:
    """The function; which numbers go by reference; the numbers with their types."""
    native, address = _native(name, function)
    if native is None:
        if not callable(function) or isinstance(function, Expression | Array):
            raise DeclarationTypeError(
                f"tw.block({name!r}, ...) takes {_FORMS}, got {described(function)}"
            )
        for one in passed:
            if one.dtype == "bfloat16":
                raise DeclarationTypeError(
                    f"{name} is a Python function, and NumPy has no bfloat16 for the part {one.shown}: "
                    "convert it in a computation before, as tw.float32(...) does"
                )
        for value in values:
            if value.type.startswith("float"):
                raise DeclarationTypeError(
                    f"a Python function takes integers and parts, and {name} is given the float "
                    f"{value!r}: let the function know it"
                )
        runs: _Target = (True, False, 0, _python_runner(function), function)
        return runs, [False] * len(passed), [(value, "int64") for value in values]
    types = native.argtypes
    if types is None:
        raise DeclarationError(
            f"what {name} takes is not known: set argtypes and restype of the ctypes function"
        )
    if len(types) != len(passed):
        raise DeclarationError(
            f"{name} takes {counted(len(types), 'argument')} by its argtypes, and is given {len(passed)}: "
            f"{', '.join(one.shown for one in passed)}; arguments= says which, and in which order"
        )
    if native.restype not in (None, ctypes.c_int):
        raise DeclarationTypeError(
            f"{name} must return nothing or an int (a code that can be read as an element of "
            f"{name}), not {getattr(native.restype, '__name__', native.restype)}"
        )
    by_reference = [_by_reference(name, one, kind) for one, kind in zip(passed, types, strict=True)]
    numbers = [
        (values[one.position], _number_type(name, kind))
        for one, kind in zip(passed, types, strict=True)
        if one.kind == _NUMBER
    ]
    runner = _native_runner(native, passed, by_reference)
    target: _Target = (False, native.restype is not None, address, runner, function)
    return target, by_reference, numbers


def _native(name: str, function: Any) -> tuple[Any, int]:
    """The function as ctypes has it, and its address; nothing for a Python function."""
    if isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return function, _address(name, function)
    address = getattr(function, "address", None)
    if isinstance(address, int) and hasattr(function, "ctypes"):  # Numba
        return function.ctypes, _checked(name, address)
    if isinstance(function, int | np.integer):
        raise DeclarationTypeError(
            f"tw.block({name!r}, ...) does not know what the function at an address takes: say it, "
            "ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.c_int)(address)"
        )
    return None, 0


def _pointed(kind: Any) -> Any:
    """What a pointer type of ctypes points to; None for no pointer."""
    if kind in (ctypes.c_void_p, ctypes.c_char_p):
        return ctypes.c_char
    is_pointer = isinstance(kind, type) and issubclass(kind, ctypes._Pointer)
    return kind._type_ if is_pointer else None


def _by_reference(name: str, argument: _Passed, kind: Any) -> bool:
    pointed = _pointed(kind)
    if argument.kind == _NUMBER:
        return pointed is not None
    shown = getattr(kind, "__name__", described(kind))
    if pointed is None:
        raise DeclarationTypeError(
            f"{name} takes {shown} where it is given the part {argument.shown}: parts are passed as "
            "pointers, ctypes.POINTER(ctypes.c_double)"
        )
    if kind is ctypes.c_void_p:
        return False
    code = getattr(pointed, "_type_", None)
    dtype = np.dtype(pointed) if isinstance(code, str) and code in _NUMBERS else None
    own = (argument.dtype, _COMPONENTS.get(argument.dtype, argument.dtype))
    if dtype is None or dtype.name not in own:
        raise DeclarationTypeError(
            f"{name} takes {shown}, and the part {argument.shown} is of {argument.dtype}: convert it "
            "in a computation before, or correct argtypes (ctypes.c_void_p takes any part)"
        )
    return False


def _number_type(name: str, kind: Any) -> str:
    pointed = _pointed(kind)
    if pointed is ctypes.c_char:
        return "int8"
    return _from_ctype(name, kind if pointed is None else pointed, "a number among the arguments")


def _python_runner(function: Callable[..., object]) -> Callable[..., None]:
    def run(*arguments: object) -> None:
        function(*arguments)

    return run


def _native_runner(
    function: Any, passed: Sequence[_Passed], by_reference: Sequence[bool]
) -> Callable[..., object]:
    """The call of a function of C with NumPy views and numbers, for the evaluator."""
    types = function.argtypes

    def run(*arguments: Any) -> object:
        given: list[Any] = []
        for value, kind, one, reference in zip(arguments, types, passed, by_reference, strict=True):
            if one.kind != _NUMBER:
                given.append(ctypes.cast(value.ctypes.data, kind))
            elif not reference:
                given.append(value)
            else:
                pointed = _pointed(kind)
                slot = (
                    pointed(value.to_bytes(1, "little"))
                    if pointed is ctypes.c_char
                    else pointed(value)
                )
                given.append(ctypes.cast(ctypes.pointer(slot), kind))
        return function(*given)

    return run
