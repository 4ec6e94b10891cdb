"""Pickles of functions, for other processes of the same version.

A function is pickled as its declaration, flat and in plain values, with its settings and the
commands of its schedule; no code. The process that loads it proves the schedule again (or finds the
proof among those remembered beside the kernels), and finds the kernel itself in the cache. Functions
are independent of each other once they are loaded.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from .. import _core
from ..base.source import SourceLocation
from ..language.owners import register_owner
from ..language.records import record_dtype, register_record
from ..schedule.scheduled_functions import ScheduledFunction
from ..schedule.schedules import Schedule

__all__ = ["reduced_function"]

Kind = TypeVar("Kind", bound=ScheduledFunction)


def reduced_function(function: ScheduledFunction) -> tuple[Any, ...]:
    """What `pickle` keeps of a function."""
    function._require_no_transaction()
    records: dict[str, np.dtype[Any]] = {}
    for name, record, _ in function._fields:
        if record:
            identity = _core.computation_identity(function._array(name))
            records[name] = record_dtype(identity)
    state = (
        function._packed,
        tuple(function.schedule.commands),
        function._threads,
        function._declared,
        _plain(function._where),
        records,
        function._own_state(),
    )
    return _function, (type(function), state)


def _plain(where: SourceLocation | None) -> tuple[Any, ...] | None:
    return None if where is None else tuple(where)


def _function(kind: type[Kind], state: tuple[Any, ...]) -> Kind:
    packed, commands, threads, declared, where, records, own = state
    function = kind.__new__(kind)
    _core.Function.__init__(function, *packed)
    function._declared = declared
    function._where = None if where is None else SourceLocation(*where)
    for name, dtype in records.items():
        register_record(function._array(name), dtype)
    function._restore_own(own)
    register_owner(function, function._identities)
    function._threads = threads
    if commands:
        Schedule(commands).apply_to(function)
    return function
