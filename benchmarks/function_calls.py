"""Calls of Python functions on arrays of their own, and first calls with nothing in any cache of ours."""

from __future__ import annotations

import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw

__all__ = ["first_call", "repeated"]

Call = Callable[[], Any]


def _copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(each.copy() if isinstance(each, np.ndarray) else each for each in arguments)


def repeated(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Call:
    """Calls it on arrays of its own, which begin as they were given each time if it changes them; what it returns
    comes first, and then what it changes."""
    own = _copied(arguments)
    function(*own)
    changed = [
        (mine, given)
        for mine, given in zip(own, arguments, strict=True)
        if isinstance(mine, np.ndarray) and not np.array_equal(mine, given)
    ]

    def call() -> Any:
        for mine, given in changed:
            mine[...] = given
        found = function(*own)
        parts = found if isinstance(found, tuple) else () if found is None else (found,)
        return (*parts, *(mine for mine, _ in changed))

    return call


def first_call(made: Callable[[], Callable[..., Any]], arguments: tuple[Any, ...]) -> Call:
    """The seconds from the decorator, which `made` calls, to the first result, each time with an empty cache."""

    def sample() -> dict[str, float]:
        own = _copied(arguments)
        before = tw.settings.cache_directory
        with tempfile.TemporaryDirectory() as folder:
            tw.settings.cache_directory = pathlib.Path(folder)
            tw.cache.clear_memory()
            try:
                start = time.perf_counter()
                made()(*own)
                return {"first call": time.perf_counter() - start}
            finally:
                tw.settings.cache_directory = before

    return sample
