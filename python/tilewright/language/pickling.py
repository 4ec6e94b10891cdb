"""Pickles of computations and expressions: what `pickle` keeps of them, in plain values.

A computation that belongs to a function comes back as that function's where both are in one pickle.
"""

from __future__ import annotations

import weakref
from typing import Any, Protocol, TypeVar

from .. import _core
from .owners import owners_of

__all__ = ["reduced_array", "reduced_expression"]


class _Array(Protocol):
    _handle: _core.Computation


class _Expression(Protocol):
    _handle: _core.Expr


_SomeArray = TypeVar("_SomeArray", bound=_Array)
_SomeExpression = TypeVar("_SomeExpression", bound=_Expression)

# ---- arrays ----

# One object for each array of a loaded function, as there is of a declared one.
_loaded: weakref.WeakKeyDictionary[_core.Function, dict[str, Any]] = weakref.WeakKeyDictionary()


def reduced_array(array: _Array) -> tuple[Any, ...]:
    """What `pickle` keeps of an input or computation: the function that it belongs to, if there is
    one, else what it is made of."""
    for function in owners_of(_core.computation_identity(array._handle)):
        return _array_of, (type(array), function, array._handle.name)
    return _array, (type(array), _core.pack([array._handle], []))


def _array_of(kind: type[_SomeArray], function: _core.Function, name: str) -> _SomeArray:
    known: dict[str, _SomeArray] = _loaded.setdefault(function, {})
    if name not in known:
        known[name] = _made(kind, function._array(name))
    return known[name]


def _array(kind: type[_SomeArray], state: tuple[Any, ...]) -> _SomeArray:
    arrays, _ = _core.unpack(state)
    return _made(kind, arrays[0])


def _made(kind: type[_SomeArray], handle: _core.Computation) -> _SomeArray:
    array = kind.__new__(kind)
    array._handle = handle
    return array


# ---- expressions ----


def reduced_expression(expression: _Expression) -> tuple[Any, ...]:
    """What `pickle` keeps of an expression."""
    return _expression, (type(expression), _core.pack([], [expression._handle]))


def _expression(kind: type[_SomeExpression], state: tuple[Any, ...]) -> _SomeExpression:
    _, values = _core.unpack(state)
    expression = kind.__new__(kind)
    expression._handle = values[0]
    return expression
