"""Names outside of a Python function: where their values are, and what another process knows them by.

A kernel of a function with loops holds for the values that such names had. Within a process they are
compared where they stand (`known_calls`); for the next one they are said in plain values: numbers and
texts by what they are, modules, NumPy's functions and types by their names, functions by their text.
"""

from __future__ import annotations

import builtins
import linecache
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core

__all__ = ["Constant", "described", "places_of", "resolved", "text_of"]


@dataclass(frozen=True)
class Constant:
    """A value outside of the function: of a cell (`key` is None), or in a dictionary."""

    container: Any
    key: str | None
    value: Any
    is_there: bool = True


def places_of(function: types.FunctionType, name: str) -> list[Constant]:
    """Where the function finds such a name now.

    Raises:
        ValueError, KeyError: it finds none.
    """
    code, names = function.__code__, function.__globals__
    if name in code.co_freevars and function.__closure__ is not None:
        cell = function.__closure__[code.co_freevars.index(name)]
        return [Constant(cell, None, cell.cell_contents)]
    if name in names:
        return [Constant(names, name, names[name])]
    own = vars(builtins)
    return [Constant(names, name, None, False), Constant(own, name, own[name])]


# ---- what a function is known by ----


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def text_of(function: types.FunctionType) -> str:
    """What tells the function from others: its lines, as far as there is code on them. "" where Python
    keeps no text of it."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    numbers = [line for each in _codes(code) for _, _, line in each.co_lines() if line]
    first, last = code.co_firstlineno, max(numbers, default=0)
    if not 0 < first <= last <= len(lines):
        return ""
    # Comments above it are in its text, too, where they stand between decorators and `def`.
    return f"{function.__name__}\n{''.join(lines[first - 1 : last])}"


def _digest(function: types.FunctionType) -> str | None:
    """The same, with the values that arguments have if nobody gives others."""
    text = text_of(function)
    defaults = _described_value((function.__defaults__ or (), _pairs(function.__kwdefaults__)))
    if not text or defaults is None:
        return None
    return _core.text_digest(f"{defaults}\n{text}".encode(errors="backslashreplace"))


def _pairs(named: dict[str, Any] | None) -> tuple[Any, ...]:
    return tuple((named or {}).items())


def _function_in(value: Any) -> types.FunctionType | None:
    """The Python function that a value is, or was made of by `tw.jit`."""
    function = getattr(value, "py_func", value)
    return function if isinstance(function, types.FunctionType) else None


# ---- values ----

_NUMBERS = (bool, int, float, complex, str, type(None))


def _named(value: Any) -> list[Any] | None:
    """A function or type of a module that is loaded, by its name."""
    name = getattr(value, "__name__", None)
    for module in (getattr(value, "__module__", None), "numpy", "math", "builtins"):
        if isinstance(name, str) and isinstance(module, str) and module in sys.modules:
            if vars(sys.modules[module]).get(name) is value:
                return ["named", module, name]
    return None


def _described_value(value: Any) -> list[Any] | None:
    """A value in plain ones; None for one that another process would not know again."""
    if type(value) in _NUMBERS:
        return ["value", type(value).__name__, repr(value)]
    if isinstance(value, types.ModuleType):
        return ["module", value.__name__]
    if isinstance(value, np.dtype):
        return ["dtype", str(value)]
    if isinstance(value, np.generic):
        return ["number", str(value.dtype), repr(value.item())]
    if isinstance(value, tuple):
        parts = [_described_value(each) for each in value]
        return None if None in parts else ["tuple", parts]
    function = _function_in(value)
    if function is not None and not str(value.__module__).startswith("tilewright."):
        digest = _digest(function)
        return None if digest is None else ["function", type(value).__name__, digest]
    return _named(value)


def described(
    function: types.FunctionType, used: Sequence[tuple[Any, str, Any]]
) -> list[list[Any]] | None:
    """What `resolved` takes; None where another process could not know the values again.

    Args:
        function: that uses them.
        used: each with what has looked it up (an object with a `function`, or the names of a module
            as `names`), its name and its value.
    """
    functions = [function]
    found: list[list[Any]] = []
    for scope, name, value in used:
        said = _described_value(value)
        names = getattr(scope, "names", None)
        own = getattr(scope, "function", None)
        if names is not None and isinstance(names.get("__name__"), str):
            place: list[Any] = ["module", names["__name__"]]
        elif own in functions:
            place = ["function", functions.index(own)]
        else:
            return None
        if said is None:
            return None
        found.append([place, name, said])
        inner = _function_in(value)
        if inner is not None and said[0] == "function":
            functions.append(inner)
    return found


def resolved(
    function: types.FunctionType, said: Sequence[Sequence[Any]]
) -> list[tuple[Any, str | None, Any, bool]] | None:
    """Where the constants of a call are now, if their values are those that were described."""
    functions = [function]
    found: list[Constant] = []
    for (kind, where), name, value in said:
        if kind == "module":
            if where not in sys.modules:
                return None
            names = vars(sys.modules[where])
            places = [Constant(names, name, names[name])]
        else:
            places = places_of(functions[where], name)
        now = places[-1].value
        if _described_value(now) != value:
            return None
        found.extend(places)
        inner = _function_in(now)
        if inner is not None and value[0] == "function":
            functions.append(inner)
    return [(each.container, each.key, each.value, each.is_there) for each in found]
