"""Pickles of functions, computations and expressions, for other processes of the same version.

A function is pickled as its declaration, flat and in plain values, with its settings and the
commands of its schedule; no code. The process that loads it proves the schedule again (or finds the
proof among those remembered beside the kernels), and finds the kernel itself in the cache. Functions
are independent of each other once they are loaded, but a computation that belongs to a function comes
back as that function's where both are in one pickle.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .. import _core
from ..base.source import SourceLocation
from ..schedule.commands import owners_of, register_owner
from ..schedule.schedules import Schedule

if TYPE_CHECKING:
    import numpy as np

    from ..language.computations import Array
    from ..language.expressions import Expression
    from .functions import Function

__all__ = ["reduced_array", "reduced_expression", "reduced_function"]


def reduced_function(function: Function) -> tuple[Any, ...]:
    """What `pickle` keeps of a function."""
    from .structs import StructFunction, record_dtype

    records: dict[str, np.dtype[Any]] = {}
    slots: Any = None
    if isinstance(function, StructFunction):
        slots = function._slots_state()
        for name, record, _ in function._fields:
            if record:
                identity = _core.computation_identity(function._array(name))
                records[name] = record_dtype(identity)
    state = (
        function._packed,
        tuple(function.schedule.commands),
        function.threads,
        function.check_bounds,
        function._declared,
        _plain(function._where),
        records,
        slots,
    )
    return _function, (type(function), state)


def _plain(where: SourceLocation | None) -> tuple[Any, ...] | None:
    return None if where is None else tuple(where)


def _function(kind: type[Function], state: tuple[Any, ...]) -> Function:
    from .structs import StructFunction, register_record

    packed, commands, threads, checks, declared, where, records, slots = state
    function = kind.__new__(kind)
    _core.Function.__init__(function, *packed)
    function._declared = declared
    function._where = None if where is None else SourceLocation(*where)
    for name, dtype in records.items():
        register_record(function._array(name), dtype)
    if isinstance(function, StructFunction):
        function._restore_slots(slots)
    register_owner(function, function._identities)
    function.threads = threads
    function.check_bounds = checks
    if commands:
        Schedule(commands).apply_to(function)
    return function


# ---- arrays ----

# One object for each array of a loaded function, as there is of a declared one.
_loaded: weakref.WeakKeyDictionary[Function, dict[str, Array]] = weakref.WeakKeyDictionary()


def reduced_array(array: Array) -> tuple[Any, ...]:
    """What `pickle` keeps of an input or computation: the function that it belongs to, if there is
    one, else what it is made of."""
    for function in owners_of(_core.computation_identity(array._handle)):
        return _array_of, (type(array), function, array.name)
    return _array, (type(array), _core.pack([array._handle], []))


def _array_of(kind: type[Array], function: Function, name: str) -> Array:
    known = _loaded.setdefault(function, {})
    if name not in known:
        known[name] = _made(kind, function._array(name))
    return known[name]


def _array(kind: type[Array], state: tuple[Any, ...]) -> Array:
    arrays, _ = _core.unpack(state)
    return _made(kind, arrays[0])


def _made(kind: type[Array], handle: _core.Computation) -> Array:
    array = kind.__new__(kind)
    array._handle = handle
    return array


# ---- expressions ----


def reduced_expression(expression: Expression) -> tuple[Any, ...]:
    """What `pickle` keeps of an expression."""
    return _expression, (type(expression), _core.pack([], [expression._handle]))


def _expression(kind: type[Expression], state: tuple[Any, ...]) -> Expression:
    _, values = _core.unpack(state)
    expression = kind.__new__(kind)
    expression._handle = values[0]
    return expression
